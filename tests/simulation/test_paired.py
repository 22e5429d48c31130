"""Paired games: every policy meets the same losses, of the same distribution as other games; and traces.

Pulls, switch times and realised regret are those of players that are told loss after loss.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import naive_pairs
import numpy as np
import pytest

import holdfast as hf
from holdfast.kernels import COMPILED
from holdfast.numerics.random import started, stream_key, uniform
from holdfast.simulation.costs import Costs
from holdfast.simulation.game import compose_by_round
from holdfast.simulation.tasks import WORTH_ALL_LANES, Task, run_task

pytestmark = pytest.mark.plain


class ByRound(hf.Bernoulli):
    """An environment without a kernel for paired games."""

    paired_kernel = None


BY_ROUND = ByRound([0.2, 0.5, 0.7])


def streams(replication=3, seed=7):
    """The two streams of an environment in a game, the second not begun."""
    begun = started(stream_key(seed, "environment"), replication)
    return np.concatenate([begun, np.zeros(4, np.uint64)]).reshape(-1, 1)


def drawn(world, total, arm, start, stop, given):
    found = np.zeros(1)
    total(world.tables, np.array([float(arm)]), float(start), float(stop), given, found)
    return found[0]


def test_a_block_counts_the_losses_of_its_rounds():
    """Of each phase that it meets, certain or not, and whatever the rounds are cut into."""
    starts, means = [0, 70, 100, 160], [[0.25, 0.5], [1.0, 0.0], [0.5, 1.0], [0.9, 0.45]]
    world, given = hf.PiecewiseConstant(starts, means), streams()
    key = int(given[0, 0]), int(given[1, 0])
    for arm in (0, 1):
        p = [means[sum(t >= start for start in starts) - 1][arm] for t in range(300)]
        losses = [naive_pairs.loss(key, arm, p[t], t) for t in range(300)]
        for start, stop in [(0, 1), (0, 64), (63, 72), (5, 28), (64, 192), (10, 300), (80, 95), (99, 170), (7, 7)]:
            assert drawn(world, world.paired_kernel, arm, start, stop, given) == sum(losses[start:stop])
    assert np.array_equal(given, streams())


def test_an_environment_without_a_kernel_of_its_own_draws_each_round_by_itself():
    world, given = BY_ROUND, streams()
    total = compose_by_round(world.total_kernel)
    rounds = [drawn(world, total, 1, t, t + 1, given) for t in range(40)]
    assert 0 < sum(rounds) < 40
    assert drawn(world, total, 1, 3, 31, given) == sum(rounds[3:31])
    assert np.array_equal(given[:4], streams()[:4])


@pytest.mark.slow
@pytest.mark.parametrize("world", [hf.Bernoulli([0.2, 0.5, 0.5], shuffled=True), BY_ROUND], ids=["own", "by round"])
def test_paired_games_are_the_same_side_by_side_and_alone(world):
    horizon = 400 if COMPILED else 40
    task = Task("exp3", hf.Exp3(3), world, horizon, Costs.of(0.5), (7, horizon), 5, 2, WORTH_ALL_LANES + 2, paired=True)
    together = run_task(task)
    for i in (0, 5, task.count - 1):
        alone = run_task(replace(task, first=task.first + i, count=1))
        assert np.array_equal(alone.excess[0], together.excess[i])
        assert np.array_equal(alone.switches[0], together.switches[i])
    unpaired = run_task(replace(task, paired=False))
    assert not np.array_equal(unpaired.excess, together.excess)


def test_policies_that_do_the_same_meet_the_same_losses_whatever_their_blocks():
    """UCB1 that looks every round, and the same behind another name: unpaired they share a stream too."""
    policies = {"a": hf.Ucb1(3, cooldown=5), "b": hf.Ucb1(3, cooldown=5)}
    how = {"horizon": 60, "switching_cost": 0.1, "replications": 3, "progress": False, "paired": True}
    result = hf.simulate(policies, hf.Bernoulli([0.2, 0.5, 0.5]), **how)
    frames = [result.frame.filter(result.frame["policy"] == name).drop("policy") for name in policies]
    assert frames[0].equals(frames[1])
    assert result.provenance["paired"] is True


def test_worlds_that_draw_their_path_are_not_paired():
    with pytest.raises(hf.InvalidParameter, match=r"paired cannot be True where each game draws a path"):
        hf.simulate(hf.Exp3(2), hf.RandomChanges(2), horizon=9, switching_cost=0, paired=True)
    with pytest.raises(hf.InvalidParameter, match=r"paired must be True or False; got 'yes'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), horizon=9, switching_cost=0, paired="yes")


# ---- pulls, switch times and realised regret

T, K, MARKS = 150, 3, [1, 40, 41, 150]
RECORD = ("pulls", "realised", "switch_times")
MEANS = [0.2, 0.5, 0.45]
HOW = {"horizon": T, "switching_cost": 0.5, "seed": 3, "checkpoints": MARKS, "replications": 2, "paired": True}


def slow(policy: hf.Policy, replication: int, *, shuffled: bool) -> list[dict[str, object]]:
    """The rows of one game: a player asked and told round by round, and the losses of all arms counted."""
    stream = started(stream_key(3, "environment"), replication)
    shift = int(uniform(stream) * K) if shuffled else 0
    key = int(stream[0]), int(stream[1])
    player, rows, times = policy.player(seed=3, replication=replication), [], []
    pulls, sums, own, before = [0] * K, [0.0] * K, 0.0, None
    for t in range(T):
        losses = [naive_pairs.loss(key, place, MEANS[place], t) for place in (((i + shift) % K) for i in range(K))]
        arm = player.ask()
        player.tell(losses[arm])
        times += [t + 1] if arm != before else []
        pulls[arm], own, before = pulls[arm] + 1, own + losses[arm], arm
        sums = [a + b for a, b in zip(sums, losses, strict=True)]
        if t + 1 in MARKS:
            rows.append({"pulls": list(pulls), "realised": own - min(sums), "switch_times": times})
            times = []
    return rows


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("policy", [hf.Exp3(K), hf.TsallisSwitch(K, switching_cost=0.5)], ids=lambda policy: policy.id)
def test_traces_are_those_of_a_player(policy: hf.Policy, shuffled: bool):
    world = hf.Bernoulli(MEANS, shuffled=shuffled)
    frame = hf.simulate(policy, world, record=RECORD, **HOW).frame
    rows = [row for replication in (0, 1) for row in slow(policy, replication, shuffled=shuffled)]
    assert frame.select(*RECORD).to_dicts() == rows
    assert frame.drop(*RECORD).equals(hf.simulate(policy, world, **HOW).frame)


def test_traces_agree_with_what_every_result_has():
    """In the units of a table, whose losses are not drawn; unpaired too, but for what needs the losses of all arms."""
    world = hf.LossTable(np.random.default_rng(1).random((T, K)) * 4 - 1, units=(-1.0, 3.0))
    policy = hf.Exp3(K, units=(-1.0, 3.0))
    for paired in (True, False):
        how = HOW | {"paired": paired, "checkpoints": 50}
        frame = hf.simulate(policy, world, record=RECORD if paired else ["switch_times", "pulls"], **how).frame
        game = frame.filter(frame["replication"] == 1)
        assert game["pulls"].list.sum().to_list() == game["round"].to_list()
        assert game["switch_times"].list.len().cum_sum().to_list() == game["switches"].to_list()
        if paired:
            assert frame["realised"].to_list() == pytest.approx(frame["pseudo_regret"].to_list(), abs=1e-9)


@pytest.mark.slow
def test_traces_in_tables_files_and_pieces(tmp_path):
    policies, world = [hf.Exp3(K), hf.Ucb1(K)], hf.Bernoulli(MEANS)
    whole = hf.simulate(policies, world, record=RECORD, **HOW)
    assert whole.frame.columns[-3:] == ["realised", "pulls", "switch_times"]
    assert whole.measures[-1] == "realised"  # lists have no mean
    assert whole.grid == []
    assert "realised regret" in whole.table()
    for suffix in ("csv", "parquet", "arrow"):
        assert hf.Result.read(whole.write(tmp_path / f"result.{suffix}")).frame.equals(whole.frame)
    pieces = [
        hf.simulate(policies, world, record=RECORD, first_replication=i, **HOW | {"replications": 1}) for i in (0, 1)
    ]
    assert hf.Result.concat(pieces).frame.equals(whole.frame)
    with ThreadPoolExecutor(2) as executor:
        for backend in (hf.Threads(workers=2, quick=0), executor):
            assert hf.simulate(policies, world, record=RECORD, backend=backend, **HOW).frame.equals(whole.frame)


def test_traces_that_cannot_be_had():
    how = {"horizon": 9, "switching_cost": 0}
    with pytest.raises(hf.InvalidParameter, match="paired must be True to record the realised regret"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), record=["realised"], **how)
    with pytest.raises(hf.InvalidParameter, match=r"record\[0\] must be one of .*; did you mean 'pulls'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), record=["pull"], **how)
    pytest.importorskip("numba_cuda")
    from holdfast.simulation.cuda import Cuda

    task = Task("exp3", hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), 9, Costs.of(0), (9,), 0, 0, 1, ("pulls",))
    with pytest.raises(hf.InvalidParameter, match=r"record must leave out .* on a GPU; got 'pulls'"):
        Cuda().run([task], print)
