"""Environments: totals are distributed as sums of rounds; expectations are sums of the rounds' means."""

import json
import math
from fractions import Fraction

import hypothesis.strategies as st
import naive_games
import numpy as np
import pytest
from hypothesis import given
from statistics_of_samples import SEED, assert_distribution

import holdfast as hf
from holdfast import Bernoulli, ConstrainedBernoulli, InvalidParameter, Reversal, Stream
from holdfast.environments import ENVIRONMENTS, make_environment
from holdfast.environments.phased import LAST_ROUND
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
    "bernoulli": (Bernoulli.with_gap(K, 0.2), lambda t: naive_games.bernoulli_means(t + 1, K, 0.2)),
    "bernoulli, three best": (
        Bernoulli.with_gap(K, 0.05, best_arms=3),
        lambda t: naive_games.bernoulli_means(t + 1, K, 0.05, 3),
    ),
    "constrained": (ConstrainedBernoulli(K, 0.2), lambda t: naive_games.constrained_means(t + 1, K, 0.2)),
    "constrained, two best": (
        ConstrainedBernoulli(K, 0.05, best_arms=2),
        lambda t: naive_games.constrained_means(t + 1, K, 0.05, 2),
    ),
    "constrained, by lengths": (
        ConstrainedBernoulli(K, 0.2, phases="spacing"),
        lambda t: naive_games.constrained_means(t + 1, K, 0.2, reading="lengths"),
    ),
    "reversal": (Reversal(K, 1000), lambda t: naive_games.reversal_losses(t + 1, K, 1000)),
    "ranges": (
        hf.VaryingRanges([0.5, 0.1, 0.3, 0.9], [0.5, 0.2, 1.0]),
        lambda t: naive_games.ranged_means(t + 1, [0.5, 0.1, 0.3, 0.9], [0.5, 0.2, 1.0]),
    ),
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
"""Row t holds the means of round t, from 0; the paper's rounds count from 1."""

intervals = st.tuples(st.integers(0, T), st.integers(0, T)).map(sorted)
CERTAIN = [name for name, (world, _) in WORLDS.items() if not getattr(world, "noise", name != "reversal")]


def gap_of(world: hf.Environment, arm: int, start: int, stop: int) -> float:
    gaps = np.empty(1)
    world.gap_kernel(world.tables, np.array([float(arm)]), float(start), float(stop), gaps)
    return gaps.item()


@pytest.mark.plain
@pytest.mark.parametrize("name", WORLDS)
@given(interval=intervals, arm=st.integers(0, K - 1))
def test_expectations_are_sums_over_rounds(name, interval, arm):
    world, (start, stop) = WORLDS[name][0], interval
    totals = MEANS[name][start:stop].sum(axis=0)
    assert world.expected(start, stop) == pytest.approx(totals, rel=1e-12, abs=1e-9)
    assert gap_of(world, arm, start, stop) == pytest.approx(totals[arm] - totals[world.reference], rel=1e-9, abs=1e-9)
    before = MEANS[name][:stop].sum(axis=0)
    assert world.excess(stop) == pytest.approx(before - before[world.reference], rel=1e-9, abs=1e-9)
    assert world.excess(stop)[world.reference] == 0
    assert world.draw(arm, stop, stop, Stream(1, "no rounds")) == 0


@pytest.mark.plain
@pytest.mark.parametrize("name", CERTAIN)
@given(interval=intervals, arm=st.integers(0, K - 1))
def test_totals_without_noise_are_the_sums_and_draw_nothing(name, interval, arm):
    world, (start, stop) = WORLDS[name][0], interval
    stream = Stream(1, "nothing")
    before = stream.state.copy()
    found = world.draw(arm, start, stop, stream)
    assert found == pytest.approx(MEANS[name][start:stop, arm].sum(), rel=1e-12, abs=1e-9)
    assert (stream.state == before).all()


@pytest.mark.plain
@pytest.mark.parametrize("name", [name for name in WORLDS if name.startswith(("bernoulli", "constrained", "reversal"))])
def test_the_reference_arm_is_a_best_one_at_the_end(name):
    world, _ = WORLDS[name]
    expected = world.expected(0, 10**6)
    assert expected[world.reference] == expected.min()


@pytest.mark.plain
def test_gaps_of_a_million_million_rounds_are_exact():
    """Sums of 0.2 by the round would have lost six digits."""
    for world in (Bernoulli.with_gap(K, 0.25), ConstrainedBernoulli(K, 0.25)):
        assert world.excess(10**12).tolist() == [0.0] + [0.25e12] * (K - 1)


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "start", "stop", "arm"),
    [
        ("bernoulli", 17, 60, 0),
        ("constrained", 9, 11, 3),  # the last round of one phase and the first of the next
        ("constrained", 0, 120, 2),  # eleven phases
        ("constrained, by lengths", 3, 90, 3),
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
    stream, expected = Stream(SEED, f"{name} {start}"), np.ones(1)
    totals = [WORLDS[name][0].draw(arm, start, stop, stream) for _ in range(40_000 if COMPILED else 1000)]
    for p in MEANS[name][start:stop, arm]:
        expected = np.convolve(expected, [1 - p, p])
    counts = np.bincount(np.array(totals, dtype=int), minlength=len(expected))
    assert_distribution(counts, np.abs(expected), sees=0.06 if COMPILED else 0.35)


@pytest.mark.plain
def test_bernoulli_means():
    """Suboptimal arms ½, best arms ½ − Δ (errata, point 27), the best first."""
    assert Bernoulli.with_gap(8, 0.2).mean_losses == (0.3,) + (0.5,) * 7
    assert Bernoulli.with_gap(8, 0.05).mean_losses == (0.45,) + (0.5,) * 7
    assert Bernoulli.with_gap(4, 0.2, best_arms=3).mean_losses == (0.3, 0.3, 0.3, 0.5)
    assert Bernoulli.with_gap(3, 0.1, mean=0.9).mean_losses == (0.8, 0.9, 0.9)
    assert Bernoulli([0.1, 0.2]).mean_losses == Bernoulli(np.array([0.1, 0.2])).mean_losses == (0.1, 0.2)
    assert Bernoulli([0, 1]).draw(0, 0, 100, Stream(1, "sure")) == 0
    assert Bernoulli([0, 1]).draw(1, 0, 100, Stream(1, "sure")) == 100


@pytest.mark.plain
def test_phase_starts():
    """Phase i starts at ⌈1.6^i⌉, counting rounds from 1; the 24th, an even one, at 79 229."""
    world = ConstrainedBernoulli(8, 0.2)
    assert [int(s) + 1 for s in world.starts[:8]] == [1, 2, 3, 5, 7, 11, 17, 27]
    assert int(world.starts[24]) + 1 == 79_229
    assert world.starts[25] >= 100_000
    assert world.means[24].tolist() == [0.0] + [0.2] * 7
    assert world.means[25].tolist() == [0.8] + [1.0] * 7
    assert world.means[0].tolist() == [0.0] + [0.2] * 7  # the first phase is (0, Δ) (errata, point 25)
    assert [int(s) + 1 for s in world.starts[:60]] == [math.ceil(Fraction(8, 5) ** i) for i in range(60)]


@pytest.mark.plain
@given(st.integers(1, 10**12))
def test_both_readings(t):
    """ "The i-th phase starts at 1.6^i" and "the time between alternations grows by 1.6" (errata, point 25)."""
    for phases, reading in (("index", "starts"), ("spacing", "lengths")):
        world = ConstrainedBernoulli(2, 0.2, phases=phases)
        phase = int(np.searchsorted(world.starts, t - 1, side="right")) - 1
        assert phase % 2 == naive_games.phase(t, reading) % 2
        assert world.expected(t - 1, t).tolist() == pytest.approx(
            naive_games.constrained_means(t, 2, 0.2, reading=reading)
        )


@pytest.mark.plain
@pytest.mark.parametrize("growth", [1.6, 2.0, 1.5, 1.2, 1.05, 3.0, 1.618033988749895, 1e6])
@pytest.mark.parametrize("phases", ["index", "spacing"])
def test_phase_starts_are_exact_for_any_growth(growth, phases):
    """Against powers in rational arithmetic; phases that hold no round are left out, and keep their turn."""
    world = ConstrainedBernoulli(2, 0.25, growth=growth, phases=phases)
    ratio, power, starts = Fraction(repr(growth)), Fraction(1), {}
    for i in range(10**6):
        before = math.ceil(power) - 1 if phases == "index" else math.floor((power - 1) / (ratio - 1))
        if before >= LAST_ROUND:
            break
        starts[before] = i % 2
        power *= ratio
    assert world.starts.tolist() == list(starts)
    assert world.means[:, 0].tolist() == [0.75 * turn for turn in starts.values()]


@pytest.mark.plain
def test_reversal_round():
    """t0 = ⌊√(KT ln(KT))⌋ (errata, point 26); arm 0 loses T − t0 in all, every other arm t0."""
    world = Reversal(8, 100_000)
    assert world.reversal == 3297
    assert world.expected(0, 3297).tolist() == [0.0] + [3297.0] * 7
    assert world.expected(0, 3298).tolist() == [1.0] + [3297.0] * 7
    assert world.expected(0, 100_000).tolist() == [100_000.0 - 3297] + [3297.0] * 7
    assert world.reference != 0
    stream = Stream(1, "reversal")
    before = stream.state.copy()
    assert [world.draw(arm, 3000, 4000, stream) for arm in range(3)] == [703.0, 297.0, 297.0]
    assert (stream.state == before).all()  # nothing about it is random


@pytest.mark.plain
@given(st.integers(2, 100), st.integers(1, 10**9))
def test_the_reversal_comes_within_the_horizon(n_arms, horizon):
    KT = n_arms * horizon
    assert Reversal(n_arms, horizon).reversal == min(math.floor(math.sqrt(KT * math.log(KT))), horizon)


MADE = [world for world, _ in WORLDS.values()] + [
    hf.Bernoulli.with_gap(4, 0.1, best_arms=2, shuffled=True),
    hf.ConstrainedBernoulli(3, 0.2, growth=2.0, phases="spacing"),
    hf.Reversal(3, 100, shuffled=True),
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
@pytest.mark.parametrize(
    ("make", "parameter", "got"),
    [
        (lambda: Bernoulli(()), "mean_losses", "()"),
        (lambda: Bernoulli("ab"), "mean_losses", "'ab'"),
        (lambda: Bernoulli(0.5), "mean_losses", "0.5"),
        (lambda: Bernoulli([0.5, 1.5]), "mean_losses[1]", "1.5"),
        (lambda: Bernoulli([-0.5]), "mean_losses[0]", "-0.5"),
        (lambda: Bernoulli([math.nan]), "mean_losses[0]", "nan"),
        (lambda: Bernoulli([True]), "mean_losses[0]", "True"),
        (lambda: Bernoulli(np.ma.masked_array([0.5], mask=[True])), "mean_losses[0]", "masked"),
        (lambda: Bernoulli.with_gap(0, 0.1), "n_arms", "0"),
        (lambda: Bernoulli.with_gap(3, 1.5), "gap", "1.5"),
        (lambda: Bernoulli.with_gap(3, 0.6), "gap", "0.6"),  # the best arm would have a mean below 0
        (lambda: Bernoulli.with_gap(3, 0.1, best_arms=4), "best_arms", "4"),
        (lambda: ConstrainedBernoulli(0, 0.1), "n_arms", "0"),
        (lambda: ConstrainedBernoulli(3, -0.1), "gap", "-0.1"),
        (lambda: ConstrainedBernoulli(3, 0.1, growth=1.0), "growth", "1.0"),
        (lambda: ConstrainedBernoulli(3, 0.1, phases="indices"), "phases", "'indices'"),
        (lambda: Reversal(1, 100), "n_arms", "1"),
        (lambda: Reversal(3, 0), "horizon", "0"),
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
    with pytest.raises(InvalidParameter) as error:
        make()
    assert error.value.parameter == parameter
    assert str(error.value).partition("; did you mean")[0].endswith(f"; got {got}")


@pytest.mark.plain
@pytest.mark.parametrize(
    ("start", "stop"), [(-1, 3), (5, 3), (0, math.inf), (math.nan, 3), (0, 2 * LAST_ROUND), (0, 2.5)]
)
def test_rounds_that_are_no_rounds_are_refused(start, stop):
    """Also those past 2⁵³, where rounds are no longer counted exactly and the phases end."""
    for world in (Bernoulli([0.5, 0.5]), ConstrainedBernoulli(2, 0.2)):
        with pytest.raises(InvalidParameter, match=r"start|stop"):
            world.draw(0, start, stop, Stream(1, "a"))


@pytest.mark.plain
@pytest.mark.parametrize("arm", [-1, 2, 0.5, "0", None])
def test_an_arm_that_is_none_is_refused(arm):
    with pytest.raises(InvalidParameter, match="arm must be"):
        Bernoulli([0.5, 0.5]).draw(arm, 0, 1, Stream(1, "a"))
    with pytest.raises(InvalidParameter, match=r"stream must be a holdfast\.Stream; got None"):
        Bernoulli([0.5, 0.5]).draw(0, 0, 1, None)
