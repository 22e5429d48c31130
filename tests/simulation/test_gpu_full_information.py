"""Policies that see all losses on a GPU: step by step on the CUDA simulator, and in distribution where there is one."""

import pytest
from simulated_gpu import games_alike
from statistics_of_samples import assert_same_mean

import holdfast as hf

pytestmark = pytest.mark.slow

SETTING = """
K, T = 3, 90
pairs = [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]
policies = [
    hf.AdaptiveHedgeSwitch(K, switching_cost=0.5), hf.AdaptiveHedgeSwitch(K, switching_cost=0.5, period=(5, 7)),
    hf.LazyHedge(K, switching_cost=0.5, horizon=T), hf.FixedShare(K, switching_cost=0.5, horizon=T),
    hf.ShrinkingDartboard(K, switching_cost=0.5, horizon=T), hf.FollowLazyLeader(K, switching_cost=0.5, horizon=T),
    hf.RandomWalkPerturbation(K), hf.WorkFunctionAlone(K, switching_cost=0.5), hf.Threshold(K, switching_cost=0.5),
    hf.ForecastPlan(K, switching_cost=0.5, period=6),
]
world = hf.PiecewiseConstant([0, 30, 60], [[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.9, 0.1]], shuffled=True)
games = [(policy, world, Costs.of(0.5)) for policy in policies]
games += [(hf.AdaptiveHedgeSwitch(K, switching_cost=pairs, period=(), forecast_rounds=0), world, Costs.of(pairs))]
games += [(hf.AdaptiveHedgeSwitch(K, switching_cost="announced", period=()), world, Costs.of(Power(0.3)))]
"""


def test_simulated_gpu_plays_the_same_games():
    assert games_alike(SETTING) == 12


def test_a_gpu_gives_the_same_distribution():
    """Regret and switches of 400 games on a GPU and on a CPU; needs a GPU."""
    cuda = pytest.importorskip("holdfast.simulation.cuda")
    if not cuda.cuda.is_available():
        pytest.skip("no GPU")
    world = hf.PiecewiseConstant([0, 300, 600], [[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.9, 0.1]])
    policies = {
        "hedge": hf.AdaptiveHedgeSwitch(3, switching_cost=0.5),
        "rival": hf.FixedShare(3, switching_cost=0.5, horizon=900),
    }
    frames = {
        backend: hf.simulate(
            policies,
            world,
            horizon=900,
            switching_cost=0.5,
            replications=400,
            seed=seed,
            backend=backend,
            checkpoints=1,
        ).frame
        for backend, seed in (("threads", 1), ("cuda", 2))
    }
    for name in policies:
        for measure in ("regret_with_switching", "switches"):
            one, other = (f.filter(f["policy"] == name)[measure].to_numpy().astype(float) for f in frames.values())
            assert_same_mean(one, other, sees=0.75 * one.std())
