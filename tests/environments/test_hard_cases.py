"""Hard cases: totals are sums of rounds, with noise in distribution and without exactly; each by its definition."""

import json
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from statistics_of_samples import SEED, assert_distribution, assert_mean

import holdfast as hf
from holdfast.environments import ENVIRONMENTS, make_environment
from holdfast.kernels import COMPILED

T, K = 2000, 4


def corrupted_means(t: int) -> list[float]:
    return [0.5, 0.3, 0.5, 0.5] if t < 300 else [0.3, 0.5, 0.5, 0.5]


def spread_means(t: int) -> list[float]:
    """Ten stretches of 200 rounds; the first 30 of each are corrupted."""
    return corrupted_means(0 if t % 200 < 30 else T)


def drifting_means(t: int) -> list[float]:
    """A hundred steps of 20 rounds from turn 1 to −1."""
    turn = 1 - 2 * (t // 20) / 99
    return [0.5 + 0.2 * turn * (2 * i / 3 - 1) for i in range(K)]


def seasonal_means(t: int) -> list[float]:
    """Hours of ten rounds."""
    return [0.5 + 0.3 * math.sin(2 * math.pi * (t // 10 % 24 / 24 + i / 4)) + 0.05 * (i > 0) for i in range(K)]


def changing_means(t: int) -> list[float]:
    """Five stretches of 400 rounds."""
    return [0.3 if i == t // 400 % 4 else 0.5 for i in range(K)]


def turning_means(t: int) -> list[float]:
    return [0.4, 0.5, 0.5, 0.5 if t < 666 else 0.2]


def jumping_means(t: int) -> list[float]:
    stream = hf.Stream(7, "jumping-levels")
    level = [stream.uniform() for _ in range(t // 500 + 1)][-1] * 0.9
    return [level + (0.1 if i else 0.0) for i in range(K)]


GIVEN = ((0, 7, 1000), ((0.1, 0.9, 0.25, 0.5), (1.0, 0.0, 0.5, 0.5), (0.0, 0.6, 0.7, 0.8)))
WORLDS = {
    "given": (hf.PiecewiseConstant(*GIVEN), lambda t: list(GIVEN[1][0 if t < 7 else 1 if t < 1000 else 2])),
    "given, no noise": (
        hf.PiecewiseConstant(*GIVEN, noise=False),
        lambda t: list(GIVEN[1][0 if t < 7 else 1 if t < 1000 else 2]),
    ),
    "corrupted": (hf.Corrupted(K, T, corrupted=300), corrupted_means),
    "corrupted, spread": (hf.Corrupted(K, T, corrupted=300, stretches=10), spread_means),
    "drifting": (hf.Drifting(K, T), drifting_means),
    "seasonal": (hf.Seasonal(K, T, period=240), seasonal_means),
    "seasonal, no noise": (hf.Seasonal(K, T, period=240, noise=False), seasonal_means),
    "changing": (hf.ChangingBest(K, T), changing_means),
    "turning": (hf.UnseenTurn(K, T), turning_means),
    "turning, no noise": (hf.UnseenTurn(K, T, noise=False), turning_means),
    "jumping": (hf.JumpingLevels(K, T, seed=7), jumping_means),
    "jumping, noise": (hf.JumpingLevels(K, T, seed=7, noise=True), jumping_means),
}
MEANS = {name: np.array([means(t) for t in range(T)]) for name, (_, means) in WORLDS.items()}
"""Row t holds the means of round t, from 0."""

every_world = pytest.mark.parametrize("name", WORLDS)
intervals = st.tuples(st.integers(0, T), st.integers(0, T)).map(sorted)
CERTAIN = [name for name, (world, _) in WORLDS.items() if not world.noise]


def gap_of(world: hf.Environment, arm: int, start: int, stop: int) -> float:
    gaps = np.empty(1)
    world.gap_kernel(world.tables, np.array([float(arm)]), float(start), float(stop), gaps)
    return gaps.item()


@pytest.mark.slow
@pytest.mark.plain
@every_world
@given(interval=intervals, arm=st.integers(0, K - 1))
def test_expectations_are_sums_over_rounds(name, interval, arm):
    world, (start, stop) = WORLDS[name][0], interval
    totals = MEANS[name][start:stop].sum(axis=0)
    assert world.expected(start, stop) == pytest.approx(totals, rel=1e-12, abs=1e-9)
    assert gap_of(world, arm, start, stop) == pytest.approx(totals[arm] - totals[world.reference], rel=1e-9, abs=1e-9)
    before = MEANS[name][:stop].sum(axis=0)
    assert world.excess(stop) == pytest.approx(before - before[world.reference], rel=1e-9, abs=1e-9)
    assert world.excess(stop)[world.reference] == 0


@pytest.mark.plain
@pytest.mark.parametrize("name", CERTAIN)
@given(interval=intervals, arm=st.integers(0, K - 1))
def test_totals_without_noise_are_the_sums_and_draw_nothing(name, interval, arm):
    world, (start, stop) = WORLDS[name][0], interval
    stream = hf.Stream(1, "nothing")
    before = stream.state.copy()
    found = world.draw(arm, start, stop, stream)
    assert found == pytest.approx(MEANS[name][start:stop, arm].sum(), rel=1e-12, abs=1e-9)
    assert (stream.state == before).all()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="many draws")
@pytest.mark.parametrize(
    ("name", "start", "stop", "arm"),
    [
        ("given", 3, 40, 0),
        ("given", 990, 1010, 1),
        ("corrupted, spread", 20, 260, 1),  # the ends of two corrupted stretches
        ("drifting", 15, 90, 3),
        ("seasonal", 5, 47, 2),
        ("changing", 395, 410, 0),
        ("turning", 600, 700, 3),
        ("jumping, noise", 480, 520, 1),
    ],
)
def test_totals_with_noise_are_distributed_as_sums_of_rounds(name, start, stop, arm):
    """40 000 totals against the convolution of the rounds: a total variation distance of 0.06 is seen."""
    stream, expected = hf.Stream(SEED, f"{name} {start}"), np.ones(1)
    totals = [WORLDS[name][0].draw(arm, start, stop, stream) for _ in range(40_000)]
    for p in MEANS[name][start:stop, arm]:
        expected = np.convolve(expected, [1 - p, p])
    counts = np.bincount(np.array(totals, dtype=int), minlength=len(expected))
    assert_distribution(counts, np.abs(expected), sees=0.06)


MADE = [world for world, _ in WORLDS.values()] + [
    hf.MultiScaleWalk(3, 100, 5, switching_cost=0.5),
]


@pytest.mark.plain
@pytest.mark.parametrize("world", MADE, ids=lambda world: world.id)
def test_settings_make_the_same_environment(world):
    settings = world.settings()
    assert settings["environment"] == world.id
    assert make_environment(settings) == world
    assert make_environment(json.loads(json.dumps(settings))) == world
    assert ENVIRONMENTS[world.id] is type(world)


@pytest.mark.plain
@pytest.mark.parametrize("world", MADE, ids=lambda world: world.id)
def test_a_game_is_played_on_every_one(world):
    horizon = 90 if not COMPILED or isinstance(world, hf.MultiScaleWalk) else 1500
    policies = [hf.TsallisSwitch(world.n_arms, switching_cost=0.3), hf.HoldForever(world.n_arms)]
    result = hf.simulate(policies, world, horizon=horizon, switching_cost=0.3, replications=3, seed=1)
    assert result.frame["pseudo_regret"].is_finite().all()
    arms = np.full(horizon, world.reference)
    expected = np.array([world.expected(t, t + 1) for t in range(horizon)])
    assert hf.regret.regret(expected, arms)["pseudo_regret"][-1] >= -1e-9


@pytest.mark.plain
@pytest.mark.parametrize(
    ("make", "parameter", "got"),
    [
        (lambda: hf.PiecewiseConstant([], []), "phase_starts", "[]"),
        (lambda: hf.PiecewiseConstant([1], [[0.5]]), "phase_starts[0]", "1"),
        (lambda: hf.PiecewiseConstant([0, 5, 5], [[0.5]] * 3), "phase_starts[2]", "5"),
        (lambda: hf.PiecewiseConstant([0, 2.5], [[0.5]] * 2), "phase_starts[1]", "2.5"),
        (lambda: hf.PiecewiseConstant([0, 5], [[0.5]]), "phase_means", "'1 rows'"),
        (lambda: hf.PiecewiseConstant([0], [[0.5, 1.5]]), "phase_means[0][1]", "1.5"),
        (lambda: hf.PiecewiseConstant([0], [[math.nan]]), "phase_means[0][0]", "nan"),
        (lambda: hf.PiecewiseConstant([0, 1], [[0.5], [0.5, 0.5]]), "phase_means", "[[0.5], [0.5, 0.5]]"),
        (lambda: hf.PiecewiseConstant([0], [[0.5]], noise=1), "noise", "1"),
        (lambda: hf.Corrupted(3, 100, corrupted=101), "corrupted", "101"),
        (lambda: hf.Corrupted(3, 100, corrupted=5, stretches=6), "stretches", "6"),
        (lambda: hf.Corrupted(1, 100, corrupted=5), "n_arms", "1"),
        (lambda: hf.Drifting(3, 100, gap=0.6), "gap", "0.6"),
        (lambda: hf.Drifting(3, 100, steps=101), "steps", "101"),
        (lambda: hf.Seasonal(3, 100, period=23), "period", "23"),
        (lambda: hf.Seasonal(3, 100, swing=0.4, gap=0.2), "gap", "0.2"),
        (lambda: hf.Seasonal(3, 10**12), "period", "1000"),
        (lambda: hf.ChangingBest(3, 100, changes=100), "changes", "100"),
        (lambda: hf.UnseenTurn(3, 100, drop=0.05), "drop", "0.05"),
        (lambda: hf.JumpingLevels(3, 0), "horizon", "0"),
        (lambda: hf.JumpingLevels(3, 100, seed=-1), "seed", "-1"),
        (lambda: hf.MultiScaleWalk(1, 100), "n_arms", "1"),
        (lambda: hf.MultiScaleWalk(2, 1), "horizon", "1"),
    ],
)
def test_bad_parameters_are_refused(make, parameter, got):
    with pytest.raises(hf.InvalidParameter) as error:
        make()
    assert error.value.parameter == parameter
    assert str(error.value).partition("; did you mean")[0].endswith(f"; got {got}")


# --------------------------------------------------------------------------------- the multi-scale random walk


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
        assert gap_of(world, arm, start, stop) == pytest.approx(totals[arm] - totals[world.reference], abs=1e-9)
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


@pytest.mark.skipif(not COMPILED, reason="many walks")
def test_the_best_arm_of_a_walk_is_uniform():
    """20 000 seeds; a total variation distance of 0.05 is seen."""
    best = [hf.MultiScaleWalk(4, 2, seed).reference for seed in range(20_000)]
    assert_distribution(np.bincount(best, minlength=4), np.full(4, 0.25), sees=0.05)
