"""Environments that draw their path anew: paths against their twins, games against those on the path as a table."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import naive_worlds
import numpy as np
import pytest

import holdfast as hf
from holdfast.environments import make_environment
from holdfast.environments.changing import PATH, Load
from holdfast.kernels import COMPILED, PerArm, Scalar, kernel
from holdfast.numerics.random import started, stream_key, uniform
from holdfast.players.game import Game
from holdfast.simulation.game import lost, plan_on

K, T = 3, 400
CHAIN = ((0.95, 0.04, 0.01), (0.1, 0.85, 0.05), (0.0, 0.3, 0.7))
ROWS = ((0.1, 0.5, 0.7), (0.9, 0.2, 0.5), (0.4, 0.4, 0.0))

Uniforms = Callable[[], float]
WORLDS: dict[str, tuple[Any, Callable[[Uniforms], naive_worlds.Path]]] = {
    "never": (hf.RandomChanges(K), lambda u: naive_worlds.random_changes(K, T, u, None, False)),
    "all": (hf.RandomChanges(K, every=20), lambda u: naive_worlds.random_changes(K, T, u, 20, False)),
    "one": (hf.RandomChanges(K, every=5, alone=True), lambda u: naive_worlds.random_changes(K, T, u, 5, True)),
    "drift": (
        hf.OrnsteinUhlenbeck(K, time=30, deviation=0.3),
        lambda u: naive_worlds.ornstein_uhlenbeck(K, T, u, 30, 0.3),
    ),
    "outages": (hf.Outages(K, every=40, length=10), lambda u: naive_worlds.outages(K, T, u, 40, 10)),
    "seasons": (hf.Seasons(K, period=50), lambda u: naive_worlds.seasons(K, T, u, 50)),
    "jumps": (hf.CommonJumps(K, every=30, gap=0.3), lambda u: naive_worlds.common_jumps(K, T, u, 30, 0.3)),
    "chain": (hf.MarkovChain(ROWS, CHAIN), lambda u: naive_worlds.markov_chain(T, u, ROWS, CHAIN)),
    "restless": (
        hf.MarkovChain((0.1, 0.5, 0.9), CHAIN, n_arms=K),
        lambda u: naive_worlds.restless(K, T, u, (0.1, 0.5, 0.9), CHAIN),
    ),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", WORLDS)
def test_paths_are_the_naive_ones(name: str):
    world, naive = WORLDS[name]
    for replication in (0, 5):
        stream = started(stream_key(3, PATH), replication)
        path = world.path(T, seed=3, replication=replication)
        assert path == pytest.approx(np.array(naive(lambda stream=stream: uniform(stream))), abs=1e-12)  # type: ignore[misc]
        assert path.min() >= 0.0
        assert path.max() <= 1.0
    assert len(np.unique(world.path(1, seed=4))) > 1 or name == "restless"


def replayed(world: Any, policy: hf.Policy, cost: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """The measures of one game without noise, and of the same game on its path as a table of losses."""
    settings = {"switching_cost": cost, "seed": 3, "checkpoints": [1, 130, T], "record": ["dynamic"]}
    moving = hf.simulate(policy, world, horizon=T, replications=1, **settings)
    table = hf.simulate(policy, hf.LossTable(world.path(T, seed=3)), replications=1, **settings)
    return moving.frame.to_dict(as_series=False), table.frame.to_dict(as_series=False)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize(
    "policy",
    [
        hf.AdaptiveTsallisSwitch(K, switching_cost=0.5),
        hf.Ewma(K, switching_cost=0.5),
        hf.TsallisSwitch(K, switching_cost=0.5),
        hf.LazyHedge(K, switching_cost=0.5, horizon=T),
    ],
    ids=lambda policy: policy.id,
)
def test_a_game_without_noise_is_that_on_its_path_as_a_table(policy: hf.Policy):
    """One by one, side by side on the table, and with the losses of all arms: every measure, and the plan."""
    if COMPILED and policy.id in ("ewma", "tsallis-switch"):
        pytest.skip("takes seconds to compile")
    worlds = hf.RandomChanges(K, every=50, noise=False), hf.OrnsteinUhlenbeck(K, time=30, noise=False)
    for world in worlds[: 1 if COMPILED else 2]:
        moving, table = replayed(world, policy, 0.5)
        assert moving["switches"] == table["switches"]
        for measure in ("pseudo_regret", "total_loss", "total_cost", "regret_with_switching", "dynamic"):
            assert moving[measure] == pytest.approx(table[measure], abs=1e-9)


@pytest.mark.slow
@pytest.mark.plain
def test_dynamic_regret_against_every_plan():
    """The cheapest plan by a slow dynamic programme over single rounds, in worlds of every kind."""
    rows = np.random.default_rng(1).random((T, K)) * 4 - 1
    marks, price = [1, 7, 150, 390, T], 0.8
    worlds = [
        hf.Bernoulli([0.2, 0.5, 0.3]),
        hf.PiecewiseConstant(
            [0, 3, 160, 161, 300], [[0.1, 0.9, 0.5], [0.9, 0.1, 0.5], [0.0, 1, 1], [1, 0, 1], [1, 1, 0]]
        ),
        hf.ConstrainedBernoulli(K, 0.3, growth=1.5),
        hf.Drifting(K, T, shuffled=True),
        hf.LossTable(rows, units=(-1.0, 3.0)),
        hf.MultiScaleWalk(K, T),
        hf.Outages(K, every=50, length=10, shuffled=True),
    ]
    for world in worlds:
        policy = hf.Exp3(K, units=world.units)
        settings = {"switching_cost": price, "replications": 2, "seed": 3, "checkpoints": marks}
        frame = hf.simulate(policy, world, horizon=T, record=("dynamic",), **settings).frame
        for replication in (0, 1):
            if isinstance(world, hf.ChangingEnvironment):
                means = world.path(T, seed=3, replication=replication).tolist()
            else:
                means = [world.expected(t, t + 1).tolist() for t in range(T)]
            game = frame.filter(frame["replication"] == replication)
            plan = (game["total_cost"] - game["dynamic"]).to_list()
            costs = naive_worlds.plan_costs(means, price)
            assert plan == pytest.approx([costs[mark - 1] for mark in marks], abs=1e-8)
            assert min(game["dynamic"]) >= -1e-9
        asked_for_nothing = hf.simulate(policy, world, horizon=T, **settings)
        assert frame.drop("dynamic").equals(asked_for_nothing.frame)
        assert asked_for_nothing.measures == list(asked_for_nothing.frame.columns[3:])


@pytest.mark.plain
def test_the_cheapest_plan_so_far_pays_for_its_first_arm_too():
    """What each game of a world with a path of its own adds up, round by round, and where nothing changes."""
    path, values = np.random.default_rng(2).random((60, K)), np.full((K, 1), 99.0)
    for t, cost in enumerate(naive_worlds.plan_costs(path.tolist(), 0.4)):
        plan_on(values, path[t][:, None], 0.4, float(t))
        assert values.min() == pytest.approx(cost, rel=1e-12)
    game = {"horizon": 50, "switching_cost": 0.5, "checkpoints": [20], "record": ["dynamic"], "replications": 2}
    frame = hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), **game).frame
    least = (0.5 + 0.2 * frame["round"]).to_list()
    assert (frame["total_cost"] - frame["dynamic"]).to_list() == pytest.approx(least, abs=1e-12)


def test_dynamic_regret_in_words_tables_and_files(tmp_path):
    settings = {"horizon": 50, "switching_cost": 0.5, "record": ["dynamic"], "replications": 3}
    result = hf.simulate([hf.Exp3(2), hf.Ucb1(2)], hf.Bernoulli([0.2, 0.6]), **settings)
    assert "dynamic regret" in str(result.final())
    assert "dynamic regret" in result.table()
    assert result.compare("exp3", "ucb1", measure="dynamic").measure == "dynamic"
    assert result.grid == []
    assert result.provenance["record"] == ["dynamic"]
    assert hf.Result.read(result.write(tmp_path / "result.parquet")).frame.equals(result.frame)
    for change, said in (
        ({"record": ["dynamics"]}, r"record\[0\] must be one of 'dynamic', .*; got 'dynamics'; did you mean"),
        ({"record": "dynamic"}, r"record must be a list of some of 'dynamic', .*; got 'dynamic'"),
        ({"switching_cost": [0.5] * 50}, "switching_cost must be one number to record the dynamic regret"),
    ):
        with pytest.raises(hf.InvalidParameter, match=said):
            hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), **settings | change)
    with pytest.raises(hf.InvalidParameter, match=r"must be one of 'pseudo_regret', .*; got 'dynamic'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), **settings | {"record": ()}).table(measures=["dynamic"])


@pytest.mark.slow
@pytest.mark.plain
def test_all_policies_meet_the_same_path_and_any_chunking_the_same_games():
    world = hf.CommonJumps(K, every=20, shuffled=True)
    policies = [hf.Exp3(K), hf.TsallisSwitch(K, switching_cost=1.0), hf.LazyHedge(K, switching_cost=1, horizon=150)]
    settings = {"horizon": 150, "switching_cost": 1.0, "record": ["dynamic"], "checkpoints": 3}
    whole = hf.simulate(policies, world, replications=7, **settings)
    plans = (whole.frame["total_cost"] - whole.frame["dynamic"]).to_numpy().reshape(3, -1)
    assert plans == pytest.approx(np.broadcast_to(plans[0], plans.shape), abs=1e-9)
    assert len(np.unique(plans[0].round(9))) == 21
    pieces = [
        hf.simulate(policies, world, replications=n, first_replication=at, **settings) for at, n in ((0, 4), (4, 3))
    ]
    assert hf.Result.concat(pieces).frame.equals(whole.frame)
    with ThreadPoolExecutor(2) as executor:
        for backend in (hf.Threads(workers=2, quick=0), executor):
            assert hf.simulate(policies, world, replications=7, backend=backend, **settings).frame.equals(whole.frame)


@pytest.mark.plain
def test_noise_is_a_coin_of_the_mean():
    streams = started(stream_key(1, "x"), 0).reshape(-1, 1)
    losses = [lost(streams, 0.3, True) for _ in range(4000)]
    assert set(losses) == {0.0, 1.0}
    assert abs(np.mean(losses) - 0.3) < 0.03  # four standard errors
    assert lost(streams, 0.3, False) == 0.3


class Chased(NamedTuple):
    mean: PerArm
    arm: Scalar


@kernel
def chase(tables: Any, state: Any, t: float, streams: Any):
    for i in range(state.mean.shape[0]):
        state.mean[i, 0] = 1.0 if t > 0.0 and i == state.arm[0] else 0.0


@kernel
def notice(tables: Any, state: Any, arm: int, start: float, stop: float):
    state.arm[0] = float(arm)


@dataclass(frozen=True)
class Chase(hf.ChangingEnvironment):
    """The arm of the last block loses 1, the others nothing."""

    id: ClassVar[str] = "chase"
    state: ClassVar[type] = Chased
    move_kernel: ClassVar[Any] = staticmethod(chase)
    react_kernel: ClassVar[Any] = staticmethod(notice)

    @property
    def tables(self) -> tuple[Any, ...]:
        return ()


@pytest.mark.plain
def test_an_adversary_reacts_between_blocks():
    frame = hf.simulate(hf.HoldForever(2), Chase(2), horizon=50, switching_cost=1.0, replications=2).frame
    assert frame.filter(frame["round"] == 50)["total_loss"].to_list() == [49.0, 49.0]
    play = hf.simulate(hf.Ucb1(2, exploration=0.0), Chase(2), horizon=50, switching_cost=1.0, replications=1)
    assert play.final()["switches_mean"][0] > 1


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("policy", [hf.TsallisSwitch(K, switching_cost=2.0), hf.Exp3(K)], ids=lambda policy: policy.id)
def test_arms_tire_as_they_are_played(policy: hf.Policy):
    """Whole games without noise, block by block against the naive world."""
    world = hf.TiringArms(K, time=7, noise=False)
    how = {"horizon": T, "switching_cost": 2.0, "seed": 3, "replications": 2, "checkpoints": [1, 99, T]}
    frame = hf.simulate(policy, world, **how).frame
    for replication in (0, 1):
        stream, game = started(stream_key(3, PATH), replication), Game(policy, 3, replication)
        naive, losses, means = naive_worlds.Tiring(K, lambda stream=stream: uniform(stream), 7), [], []  # type: ignore[misc]
        while len(losses) < T:
            arm, hold = game.begin(0.0)
            rounds = min(int(hold), T - len(losses))
            losses += [naive.means[arm]] * rounds
            means += [list(naive.means)] * rounds
            game.observe(game.block, rounds * naive.means[arm], float(rounds))
            naive.play(arm, rounds)
        found = frame.filter(frame["replication"] == replication)
        assert found["total_loss"].to_list() == pytest.approx([sum(losses[:n]) for n in (1, 99, T)], abs=1e-9)
        best = [min(np.sum(means[:n], axis=0)) for n in (1, 99, T)]
        regret = [sum(losses[:n]) - least for n, least in zip((1, 99, T), best, strict=True)]
        assert found["pseudo_regret"].to_list() == pytest.approx(regret, abs=1e-9)
    assert world.path(3, seed=3).tolist() == [world.path(1, seed=3)[0].tolist()] * 3
    stream = started(stream_key(3, PATH), 0)
    naive, expected = naive_worlds.Tiring(K, lambda: uniform(stream), 7), []
    for arm in (0, 0, 2, 1):
        expected.append(list(naive.means))
        naive.play(arm, 1)
    assert world.path(4, seed=3, played=[0, 0, 2, 1]) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.plain
def test_an_arm_tires_in_one_block_as_in_many():
    """By e^(−n/time) of its way to 1 in n rounds, and the other arm as far back."""
    world, state = hf.TiringArms(2, time=7), Load(*(np.full((2, 1), 0.25) for _ in Load._fields))
    world.react_kernel(world.tables, state, 1, 3.0, 10.0)
    assert state.tired[:, 0].tolist() == pytest.approx([0.25 / math.e, 1.0 - 0.75 / math.e])


@kernel
def too_high(tables: Any, state: Any, t: float, streams: Any):
    state.mean[1, 0] = t / 2


@dataclass(frozen=True)
class TooHigh(Chase):
    move_kernel: ClassVar[Any] = staticmethod(too_high)
    react_kernel: ClassVar[Any] = None


class Nameless(NamedTuple):
    arm: Scalar


@dataclass(frozen=True)
class NoMean(Chase):
    state: ClassVar[type] = Nameless


NO_WORLDS = [
    (lambda: hf.Seasons(2).expected(0, 1), "Seasons draws a new path in each game, so it has no expected: path"),
    (lambda: hf.Seasons(2).excess(1), "Seasons draws a new path"),
    (lambda: hf.Seasons(2).reference, "Seasons draws a new path"),
    (lambda: hf.Seasons(2).draw(0, 0, 1, None), "Seasons draws a new path"),
    (lambda: hf.RandomChanges(2, low=0.5, high=0.4), "high must be a finite number of at least 0.5"),
    (lambda: hf.RandomChanges(2, every=0.5), "every must be"),
    (
        lambda: hf.MarkovChain([0.1, 0.2], [[0.5, 0.5], [0.5, 0.4]], n_arms=2),
        r"transitions\[1\] must sum to 1; got 0.9",
    ),
    (
        lambda: hf.MarkovChain([0.1, 0.2], [[1.0]], n_arms=2),
        "transitions must have a row and a column for each of the 2 states",
    ),
    (lambda: hf.MarkovChain([[0.1, 0.2]], [[1.0]], n_arms=3), "n_arms must be left out, or 2"),
    *(
        (
            lambda wrong=wrong: hf.MarkovChain(wrong, [[1.0]], n_arms=2),
            "state_means must be a table of numbers from 0 to 1",
        )
        for wrong in (["a"], [[0.1, 2.0]], [], 0.5)
    ),
]


@pytest.mark.plain
def test_what_cannot_be_played_is_refused():
    game = {"horizon": 10, "switching_cost": 1.0, "replications": 1}
    with pytest.raises(hf.HoldfastError, match=r"^TooHigh must keep the means of all arms from 0 to 1: look at state"):
        hf.simulate(hf.Exp3(2), TooHigh(2), **game)
    with pytest.raises(hf.InvalidParameter, match=r"^state of NoMean must have a field mean: PerArm"):
        hf.simulate(hf.Exp3(2), NoMean(2), **game)
    for make, said in NO_WORLDS:
        with pytest.raises(hf.HoldfastError, match=f"^{said}"):
            make()


@pytest.mark.plain
@pytest.mark.parametrize("name", WORLDS)
def test_settings_make_the_same_world_again(name: str):
    world = WORLDS[name][0]
    again: Any = make_environment(world.settings())
    assert again.settings() == world.settings()
    assert np.array_equal(again.path(30, seed=1), world.path(30, seed=1))
