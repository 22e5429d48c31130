"""Many arms, many replications, very many rounds: they work, and nothing is lost to rounding."""

import math
from itertools import pairwise

import numpy as np
import pytest
from online_play import play_online

import holdfast as hf

pytestmark = pytest.mark.slow


def test_ten_thousand_arms():
    K = 10_000
    settings = {"horizon": 3000, "switching_cost": 0.5, "replications": 2, "checkpoints": 3}
    policies = [hf.TsallisSwitch(K, switching_cost=0.5), hf.TsallisInf(K), hf.Exp3(K), hf.BaSE(K, horizon=3000)]
    result = hf.simulate(policies, hf.Bernoulli.with_gap(K, 0.5), **settings)
    assert result.frame["regret_with_switching"].is_finite().all()
    assert (result.frame["pseudo_regret"] <= 0.5 * result.frame["round"]).all()
    assert result.frame.height == 4 * 2 * 3


def test_a_million_replications():
    result = hf.simulate(
        hf.TsallisSwitch(2, switching_cost=1.0),
        hf.Bernoulli([0.2, 0.5]),
        horizon=20,
        switching_cost=1.0,
        replications=10**6,
    )
    assert result.provenance["checkpoints"] == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    last = result.frame.filter(round=20)
    assert last.height == 10**6
    assert np.array_equal(last["replication"], np.arange(10**6))
    one = hf.simulate(
        hf.TsallisSwitch(2, switching_cost=1.0),
        hf.Bernoulli([0.2, 0.5]),
        horizon=20,
        switching_cost=1.0,
        replications=1,
        first_replication=777_777,
        checkpoints=result.provenance["checkpoints"],
    )
    assert one.frame.equals(result.frame.filter(replication=777_777))


T = 10**12


def eighths_lost(environment: hf.Environment, arm: int, start: int, end: int) -> int:
    """Eight times the expected loss of an arm over [start, end), as a whole number."""
    if isinstance(environment, hf.Bernoulli):
        return (end - start) * (3, 4)[arm]
    assert isinstance(environment, hf.Reversal)
    before = max(0, min(end, environment.reversal) - start)
    return 8 * (before if arm == 1 else end - start - before)


@pytest.mark.parametrize(
    "policy",
    [
        hf.TsallisSwitch(2, switching_cost=3e6),
        hf.VaryingTsallisSwitch(2),
        hf.AdaptiveTsallisSwitch(2, switching_cost=1e9),  # with 3e6 it has millions of short blocks
        hf.BlockExp3(2, switching_cost=3e6, horizon=T),
        hf.BaSE(2, horizon=T),
        hf.BaSE(2, horizon=T, grid="minimax", order="random"),
    ],
    ids=lambda policy: policy.label,
)
@pytest.mark.parametrize("environment", [hf.Reversal(2, T), hf.Bernoulli([0.375, 0.5])], ids=["reversal", "bernoulli"])
def test_a_million_million_rounds_lose_no_precision(policy, environment):
    """Every block in Python's own integers gives the very regret that the simulation gives."""
    marks = [1, 10**6, 123_456_789_012, 10**12 - 1, T]
    result = hf.simulate(
        policy, environment, horizon=T, switching_cost=3e6, replications=1, checkpoints=marks, seed=9
    ).frame
    player, blocks = play_online(policy, environment, T, lambda n: 3e6, seed=9, replication=0)
    assert sum(end - start for _, start, end, _ in blocks) == T
    assert len(blocks) < 200_000
    for mark, found in zip(marks, result.iter_rows(named=True), strict=True):
        until = [(arm, start, min(end, mark)) for arm, start, end, _ in blocks if start < mark]
        best = min(eighths_lost(environment, arm, 0, mark) for arm in (0, 1))
        regret = (sum(eighths_lost(environment, *block) for block in until) - best) / 8
        switches = 1 + sum(one[0] != other[0] for one, other in pairwise(until))
        assert (found["pseudo_regret"], found["switches"]) == (regret, switches)
        assert found["regret_with_switching"] == regret + 3e6 * switches
    p = player.probabilities
    assert abs(math.fsum(p) - 1) < 1e-12
    assert (p >= 0).all()
