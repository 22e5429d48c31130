"""Rivals and hard cases on the CUDA simulator: the same games as on a CPU."""

import pytest
from simulated_gpu import games_alike

pytestmark = pytest.mark.slow

SETTING = """
K, T = 4, 120
policies = [
    hf.Ucb1(K, cooldown=3, threshold=0.05), hf.FollowTheLeader(K), hf.HoldForever(K), hf.ThompsonSampling(K),
    hf.Ucb2(K), hf.BatchedThompson(K), hf.BatchedElimination(K, horizon=T), hf.LazyExp3(K, switching_cost=3.0),
    hf.AmirTsallis(K, switching_cost=9.0, horizon=T), hf.AnytimeAmirTsallis(K, switching_cost=9.0),
    hf.StabilityPenaltyMatching(K, switching_cost=0.7),
    hf.StabilityPenaltyBiasMatching(K, switching_cost=0.7, horizon=T),
    hf.TrackingSwitch(K, switching_cost=0.3), hf.Guarded(hf.Ucb2(K), switching_cost=0.0),
]
environments = [
    hf.PiecewiseConstant([0, 50], [[0.1, 0.2, 0.3, 0.4], [1.0, 0.5, 0.0, 0.5]]), hf.UnseenTurn(K, T, noise=False),
    hf.Seasonal(K, T, period=48, shuffled=True), hf.MultiScaleWalk(K, T, 3),
]
games = [(policy, environments[0], Costs.of(1.0)) for policy in policies]
games += [(policies[0], world, Costs.of(1.0)) for world in environments[1:]]
"""


def test_simulated_gpu_plays_the_same_games():
    assert games_alike(SETTING) == 17
