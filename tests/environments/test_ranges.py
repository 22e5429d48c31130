"""Losses of announced ranges: totals against sums of rounds, and the policy of Theorem 2, which hears the ranges."""

import naive
import numpy as np
import pytest
from statistics_of_samples import SEED, assert_distribution

import holdfast as hf
from holdfast.environments import make_environment
from holdfast.kernels import COMPILED
from holdfast.numerics.random import started, stream_key, uniform
from holdfast.players.game import policy_key

RANGES = (1.0, 0.25, 0.5, 0.25)
WORLD = hf.VaryingRanges([0.2, 0.6, 1.0], RANGES)


@pytest.mark.plain
def test_totals_are_distributed_as_sums_of_rounds() -> None:
    """In quarters, against the convolution of the rounds; a total variation distance of 0.05 is seen."""
    stream, draws = hf.Stream(SEED, "ranges"), 30_000 if COMPILED else 1000
    for arm, start, stop in ((0, 0, 1), (1, 2, 5), (0, 3, 14), (2, 1, 9)):
        quarters = [round(4 * RANGES[t % 4]) for t in range(start, stop)]
        masses = np.ones(1)
        for b in quarters:
            masses = np.convolve(masses, [1 - WORLD.mean_losses[arm], *[0.0] * (b - 1), WORLD.mean_losses[arm]])
        totals = np.array([WORLD.draw(arm, start, stop, stream) for _ in range(draws)]) * 4
        assert (totals == totals.round()).all()
        counts = np.bincount(totals.astype(int), minlength=sum(quarters) + 1)
        assert_distribution(counts, masses, sees=0.05 if COMPILED else 0.25)
        assert WORLD.expected(start, stop)[arm] * 4 == pytest.approx(masses @ np.arange(len(masses)))


@pytest.mark.plain
def test_the_policy_of_theorem_2_hears_each_range() -> None:
    """A whole game, round by round, against the naive policy on the same numbers."""
    T, seed = 300, 5
    policy = hf.TsallisInf(3, loss_bound="announced")
    marks, name = list(range(1, T + 1)), policy.label
    played = hf.simulate(policy, WORLD, horizon=T, switching_cost=0, replications=1, seed=seed, checkpoints=marks)
    own, world = started(policy_key(seed, name), 0), started(stream_key(seed, "environment"), 0)
    twin, regret, switches, before = naive.TsallisInfAnnounced(3), 0.0, [], -1
    found = []
    for t in range(T):
        b = RANGES[t % 4]
        arm, _ = twin.choose(uniform(own), b)
        mean = WORLD.mean_losses[arm]
        certain = mean in (0.0, 1.0)
        twin.observe(b * (mean if certain else float(uniform(world) < mean)), 1)
        regret += b * (mean - 0.2)
        switches.append((switches[-1] if switches else 0) + (arm != before))
        before = arm
        found.append(regret)
    assert played.frame["pseudo_regret"].to_list() == pytest.approx(found, abs=1e-9)
    assert played.frame["switches"].to_list() == switches


@pytest.mark.plain
def test_settings_and_refusals() -> None:
    assert make_environment(WORLD.settings()) == WORLD
    for wrong, rule in (
        ([0.0], r"ranges\[0\] must be a finite number above 0, at most 1"),
        ([0.5, 1.5], r"ranges\[1\] must be"),
        ([], "ranges must not be empty"),
        ("ab", "ranges must be a list of numbers"),
    ):
        with pytest.raises(hf.InvalidParameter, match=rule):
            hf.VaryingRanges([0.1, 0.2], wrong)
