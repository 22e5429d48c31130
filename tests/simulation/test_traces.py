"""Pulls, switch times and realised regret, against players that are told loss after loss."""

from concurrent.futures import ThreadPoolExecutor

import naive_pairs
import numpy as np
import pytest

import holdfast as hf
from holdfast.numerics.random import started, stream_key, uniform
from holdfast.simulation.costs import Costs
from holdfast.simulation.tasks import Task

pytestmark = pytest.mark.plain

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
def test_traces_are_those_of_a_player(policy: hf.Policy, shuffled: bool) -> None:
    world = hf.Bernoulli(MEANS, shuffled=shuffled)
    frame = hf.simulate(policy, world, record=RECORD, **HOW).frame
    rows = [row for replication in (0, 1) for row in slow(policy, replication, shuffled=shuffled)]
    assert frame.select(*RECORD).to_dicts() == rows
    assert frame.drop(*RECORD).equals(hf.simulate(policy, world, **HOW).frame)


def test_traces_agree_with_what_every_result_has() -> None:
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
def test_traces_in_tables_files_and_pieces(tmp_path) -> None:
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


def test_refusals() -> None:
    how = {"horizon": 9, "switching_cost": 0}
    with pytest.raises(hf.InvalidParameter, match="paired must be True to record the realised regret"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), record=["realised"], **how)
    with pytest.raises(hf.InvalidParameter, match=r"record\[0\] must be one of .*; did you mean 'pulls'"):
        hf.simulate(hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), record=["pull"], **how)
    pytest.importorskip("numba_cuda")
    from holdfast.simulation.cuda import Cuda

    with pytest.raises(hf.InvalidParameter, match=r"record must leave out .* on a GPU; got 'pulls'"):
        Cuda().run(
            [Task("exp3", hf.Exp3(2), hf.Bernoulli([0.2, 0.6]), 9, Costs.of(0), (9,), 0, 0, 1, ("pulls",))], print
        )
