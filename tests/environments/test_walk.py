"""The multi-scale random walk, by its definition."""

import math

import numpy as np
import pytest
from statistics_of_samples import SEED, assert_mean

import holdfast as hf
from holdfast.kernels import COMPILED


@pytest.mark.plain
@pytest.mark.parametrize(("arms", "horizon", "lam"), [(2, 64, 1.0), (8, 1000, 1.0), (3, 777, 4.0)])
def test_the_walk_is_that_of_the_definition(arms, horizon, lam):
    """W_t = W_{t − 2^δ(t)} + ξ_t, so ξ_t is found again; losses by σ, ε and clipping, the sums of any rounds theirs."""
    world = hf.MultiScaleWalk(arms, horizon, seed=3, switching_cost=lam)
    sigma = 1 / (9 * math.log2(horizon))
    epsilon = (lam * arms) ** (1 / 3) * horizon ** (-1 / 3) / (9 * math.log2(horizon))
    assert world.sigma == pytest.approx(sigma, rel=1e-14)
    assert world.epsilon == pytest.approx(epsilon, rel=1e-14)
    W, losses = world.walk, np.zeros((horizon, arms))
    assert W[0] == 0.0
    for t in range(1, horizon + 1):
        for i in range(arms):
            losses[t - 1, i] = min(max(W[t] + 0.5 - (epsilon if i == world.reference else 0), 0.0), 1.0)
    rng, stream = np.random.default_rng(SEED), hf.Stream(1, "none")
    before = stream.state.copy()
    for _ in range(60):
        start, stop = sorted(rng.integers(0, horizon + 1, 2).tolist())
        totals = losses[start:stop].sum(axis=0)
        assert world.expected(start, stop) == pytest.approx(totals, abs=1e-9)
        arm = int(rng.integers(arms))
        assert world.draw(arm, start, stop, stream) == pytest.approx(totals[arm], abs=1e-9)
    assert (stream.state == before).all()
    assert world.rounds == horizon
    assert world.excess(horizon)[world.reference] == 0
    with pytest.raises(hf.InvalidParameter, match="stop"):
        world.expected(0, horizon + 1)


@pytest.mark.skipif(not COMPILED, reason="many draws")
def test_steps_of_the_walk_are_independent_normals():
    """ξ_t = W_t − W_{ρ(t)}, ρ(t) = t − 2^δ(t) from the definition: mean 0, variance σ², uncorrelated neighbours.

    65 535 steps of one walk, and the variance of W_t is σ² times the number of ones of t.
    """
    world = hf.MultiScaleWalk(2, 2**16 - 1, seed=SEED)
    t = np.arange(1, 2**16)
    delta = np.array([max(d for d in range(17) if n % 2**d == 0) for n in t])
    xi = (world.walk[t] - world.walk[t - 2**delta]) / world.sigma
    assert_mean(xi, 0.0, sees=0.04, deviation=1.0)
    assert_mean(xi**2, 1.0, sees=0.06)
    assert_mean(xi[1:] * xi[:-1], 0.0, sees=0.04)


@pytest.mark.plain
def test_seeds_give_other_walks_and_other_best_arms():
    walks = [hf.MultiScaleWalk(4, 50, seed) for seed in range(40)]
    assert {world.reference for world in walks} == {0, 1, 2, 3}
    assert len({world.walk[-1] for world in walks}) == 40
    assert (hf.MultiScaleWalk(4, 50, 3).walk == walks[3].walk).all()
