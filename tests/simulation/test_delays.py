"""Losses that come late or never: games against a twin round by round, the same everywhere, and none as before."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import naive_delays
import numpy as np
import pytest

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.numerics.random import started, stream_key, uniform
from holdfast.players.game import Game
from holdfast.simulation.contract import plain
from holdfast.simulation.delays import DELAYS, comes, late_numbers, next_known, wait
from holdfast.simulation.game import Tally, wait_for

K, T, SEED = 3, 240, 4
LOSSES = np.random.default_rng(5).random((T, K)).round(3) * [0.5, 1.0, 0.8]
POLICIES = [
    hf.TsallisSwitch(K, switching_cost=0.7),
    hf.AdaptiveTsallisSwitch(K, switching_cost=0.7),
    hf.Exp3(K),
    hf.TrackingSwitch(K, switching_cost=0.7, guarded=False),
    hf.Ewma(K, switching_cost=0.7),
    hf.ThompsonSampling(K, cooldown=5),
]
DELAYED = {
    "fixed": hf.Delay(7),
    "random": hf.Delay(0, 30),
    "by arm": hf.Delay([0, 25, 3], [0, 40, 3]),
    "lost": hf.Delay(2, 9, lost=0.3),
    "lost by arm, dropped": hf.Delay(0, 12, lost=[0.0, 0.9, 0.5], missing="drop"),
    "all lost": hf.Delay(3, lost=1.0, missing="drop"),
}
SOME = POLICIES if not COMPILED else POLICIES[1:3]


def streams(replication: int, name: str = DELAYS):
    return started(stream_key(SEED, name), replication)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("name", DELAYED)
@pytest.mark.parametrize("policy", SOME, ids=lambda policy: policy.id)
def test_games_are_those_of_the_twin(policy: hf.Policy, name: str):
    """Every arm of every round, against a table: nothing else is drawn than by the policy, and the delays."""
    delay, replications = DELAYED[name], (0, 3)
    how = {"switching_cost": 0.7, "seed": SEED, "replications": 4, "checkpoints": T, "record": ("pulls",)}
    result = hf.simulate(policy, hf.LossTable(LOSSES), delay=delay, **how)
    for replication in replications:
        frame = result.frame.filter(result.frame["replication"] == replication)
        pulls = np.vstack([np.zeros(K, dtype=int), *map(np.array, frame["pulls"].to_list())])
        stream = streams(replication)
        arms = naive_delays.played(
            Game(policy, SEED, replication),
            LOSSES.tolist(),
            [tuple(row) for row in delay.table(K).astype(object)],
            lambda stream=stream: uniform(stream),  # type: ignore[misc]
            delay.missing == "drop",
        )
        assert np.diff(pulls, axis=0).argmax(axis=1).tolist() == arms


@pytest.mark.slow
@pytest.mark.plain
def test_worlds_with_a_path_are_delayed_alike():
    """Without noise, a game on a path that is drawn is that on the path as a table."""
    world = hf.RandomChanges(K, every=30, noise=False)
    how = {"switching_cost": 0.7, "seed": SEED, "delay": DELAYED["lost by arm, dropped"], "replications": 1}
    moving = hf.simulate(POLICIES[2], world, horizon=T, **how)
    table = hf.simulate(POLICIES[2], hf.LossTable(world.path(T, seed=SEED)), **how)
    for measure in ("switches", "total_loss", "pseudo_regret"):
        assert moving.frame[measure].to_list() == pytest.approx(table.frame[measure].to_list(), abs=1e-9)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("world", [hf.Bernoulli([0.2, 0.5, 0.5], shuffled=True), hf.Outages(K, every=30, length=9)])
def test_no_delay_is_the_same_game(world: hf.Environment):
    """Bit for bit: the losses are drawn as ever, a block at a time."""
    how = {"horizon": T, "switching_cost": 0.7, "seed": SEED, "replications": 3}
    policies = POLICIES if not COMPILED else [POLICIES[0], POLICIES[2]]
    plain = hf.simulate(policies, world, **how)
    assert hf.simulate(policies, world, delay=hf.Delay(), **how).frame.equals(plain.frame)
    late = hf.simulate(policies, world, delay=hf.Delay(9), **how)
    assert not late.frame.equals(plain.frame)
    assert late.provenance["delay"] == {"least": 9, "most": 9, "lost": 0.0, "missing": "highest"}
    assert "delay" not in plain.provenance


@pytest.mark.slow
@pytest.mark.plain
def test_any_chunking_and_backend_gives_the_same_games():
    how = {"horizon": T, "switching_cost": 0.7, "seed": SEED, "delay": hf.Delay(0, 30, lost=0.1)}
    world, policy = hf.Bernoulli([0.2, 0.5, 0.5], shuffled=True), POLICIES[2]
    whole = hf.simulate(policy, world, replications=6, **how)
    parts = [hf.simulate(policy, world, replications=n, first_replication=at, **how) for at, n in ((0, 2), (2, 4))]
    assert hf.Result.concat(parts).frame.equals(whole.frame)
    with ThreadPoolExecutor(2) as executor:
        for backend in (hf.Threads(workers=2, quick=0), executor):
            assert hf.simulate(policy, world, replications=6, backend=backend, **how).frame.equals(whole.frame)


@pytest.mark.plain
def test_blocks_wait_in_the_order_in_which_they_are_complete():
    """Against a sorted list, which keeps the order of equals."""
    rng, late, block, expected = np.random.default_rng(1), np.zeros(late_numbers(8, 2)), np.zeros((2, 1)), []
    for number in range(300):
        while expected and expected[0][0] <= number:
            due, kept = expected.pop(0)
            there, total, rounds = next_known(late, float(number), block)
            assert (there, total, rounds, block[0, 0], block[1, 0]) == (True, kept, 2.0, kept, due)
        assert not next_known(late, float(number), block)[0]
        due = number + 1.0 + (8 if number < 50 else int(rng.integers(0, 9)))  # at first as many wait as can
        block[:, 0] = number, due
        wait(late, block, due, float(number), 2.0)
        expected = sorted([*expected, (due, float(number))], key=lambda one: one[0])


@pytest.mark.plain
@pytest.mark.parametrize(
    ("drops", "came", "waits"),
    [(False, 5, (2.5, 5.0)), (False, 3, (4.5, 5.0)), (False, 0, (7.5, 5.0)), (True, 3, (2.5, 3.0)), (True, 0, None)],
)
def test_a_lost_loss_counts_as_the_highest_or_its_round_does_not_count(drops, came, waits):
    """Of a block of five rounds whose losses that came are 2.5 together; without any it is not heard of."""
    tally = Tally(*(np.array([float(came)]) if name == "came" else np.full(1, 9.0) for name in Tally._fields))
    scratch = SimpleNamespace(late=np.zeros(2 + 2 * 5), block=np.array([[1.0], [2.0]]))
    plain(wait_for)(SimpleNamespace(drops=drops), scratch, tally, 2.5, 5.0)
    there, total, rounds = next_known(scratch.late, 9.0, np.zeros((2, 1)))
    assert ((total, rounds) if there else None) == waits


@pytest.mark.plain
def test_a_loss_comes_between_the_least_and_the_longest_delay_after_its_round():
    """Arm 0 from 1 to 4 rounds later, or never, arm 1 at once: by the same numbers."""
    delays, twin, stream = hf.Delay([1, 0], [4, 0], lost=[0.3, 0.0]).table(2), streams(1), streams(1)[:, None]
    for t in range(200):
        tally = Tally(*(np.zeros(1) for _ in Tally._fields))
        tally.place[0] = t % 2
        u, v = uniform(twin), uniform(twin)
        after = 0 if t % 2 else 4 if u < 0.3 else 1 + int(4 * v)
        there = comes(delays, stream, tally, float(t))
        assert (there, tally.due[0], tally.came[0]) == (t % 2 == 1 or u >= 0.3, t + 1 + after, float(there))


@pytest.mark.plain
def test_what_cannot_be_played_is_refused():
    game = {"horizon": 9, "switching_cost": 1.0, "replications": 1}
    world = hf.Bernoulli([0.1, 0.2])
    for policy in (hf.BaSE(2, horizon=9), hf.LazyHedge(2, switching_cost=1, horizon=9)):
        with pytest.raises(hf.InvalidParameter, match=rf"delay must be None for {policy.label}, which begins a block"):
            hf.simulate(policy, world, delay=hf.Delay(1), **game)
    with pytest.raises(hf.InvalidParameter, match=r"delay must be a holdfast.Delay; got 3"):
        hf.simulate(hf.Exp3(2), world, delay=3, **game)
    with pytest.raises(hf.InvalidParameter, match=r"delay must have a number for each of the 2 arms in its lists"):
        hf.simulate(hf.Exp3(2), world, delay=hf.Delay([1, 2, 3]), **game)
    for wrong, rule in (
        ({"least": -1}, "least must be a whole number from 0 to 100000"),
        ({"least": 4, "most": 3}, "most must not be less than the least delay"),
        ({"least": [1, 5], "most": [2, 4]}, "most must not be less"),
        ({"least": [1, 2], "most": [3]}, "most must be a number, or a list with one for each arm"),
        ({"least": []}, "least must be a number, or a list"),
        ({"lost": 1.5}, "lost must be"),
        ({"missing": "mean"}, "missing must be one of 'highest', 'drop'"),
    ):
        with pytest.raises(hf.InvalidParameter, match=rule):
            hf.Delay(**wrong)


@pytest.mark.plain
def test_settings():
    settings = {"least": [1, 2], "most": [3, 4], "lost": 0.5, "missing": "highest"}
    assert hf.Delay([1, 2], [3, 4], lost=0.5).settings() == settings
    assert hf.Delay([1, 2], 5).longest == 5
