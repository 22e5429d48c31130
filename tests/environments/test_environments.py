"""Environments: totals are distributed as sums of rounds; expectations are sums of the rounds' means."""

import math
import time
from fractions import Fraction

import hypothesis.strategies as st
import naive_games
import numpy as np
import pytest
from hypothesis import given
from statistics_of_samples import SEED, assert_distribution, assert_same_mean

from holdfast import Bernoulli, ConstrainedBernoulli, Environment, InvalidParameter, Reversal, Stream, VaryingRanges
from holdfast.environments.phased import LAST_ROUND

K = 5
WORLDS = {
    "bernoulli": (Bernoulli.with_gap(K, 0.2), lambda t: naive_games.bernoulli_means(t, K, 0.2)),
    "bernoulli, three best": (
        Bernoulli.with_gap(K, 0.05, best_arms=3),
        lambda t: naive_games.bernoulli_means(t, K, 0.05, 3),
    ),
    "constrained": (ConstrainedBernoulli(K, 0.2), lambda t: naive_games.constrained_means(t, K, 0.2)),
    "constrained, two best": (
        ConstrainedBernoulli(K, 0.05, best_arms=2),
        lambda t: naive_games.constrained_means(t, K, 0.05, 2),
    ),
    "constrained, by lengths": (
        ConstrainedBernoulli(K, 0.2, phases="spacing"),
        lambda t: naive_games.constrained_means(t, K, 0.2, reading="lengths"),
    ),
    "reversal": (Reversal(K, 1000), lambda t: naive_games.reversal_losses(t, K, 1000)),
    "ranges": (
        VaryingRanges([0.5, 0.1, 0.3, 0.9, 1.0], [0.5, 0.2, 1.0]),
        lambda t: naive_games.ranged_means(t, [0.5, 0.1, 0.3, 0.9, 1.0], [0.5, 0.2, 1.0]),
    ),
}
MEANS = {name: np.array([means(t) for t in range(1, 2001)]) for name, (_, means) in WORLDS.items()}
"""Row t holds the naive means of round t + 1: rounds count from 0 in `src/`, from 1 in the paper."""

intervals = st.tuples(st.integers(0, 2000), st.integers(0, 2000)).map(sorted)
every_world = pytest.mark.parametrize("name", WORLDS)


@pytest.mark.plain
@every_world
@given(interval=intervals)
def test_expected_totals_are_sums_over_rounds(name, interval):
    world, _ = WORLDS[name]
    start, stop = interval
    assert world.expected(start, stop) == pytest.approx(MEANS[name][start:stop].sum(axis=0), rel=1e-12, abs=1e-9)


@pytest.mark.plain
@every_world
@given(stop=st.integers(0, 2000))
def test_excess_is_measured_from_the_reference_arm(name, stop):
    world, _ = WORLDS[name]
    totals = MEANS[name][:stop].sum(axis=0)
    assert world.excess(stop) == pytest.approx(totals - totals[world.reference], rel=1e-12, abs=1e-9)
    assert world.excess(stop)[world.reference] == 0


def gap_of(world: Environment, arm: int, start: int, stop: int) -> float:
    gaps = np.empty(1)
    world.gap_kernel(world.tables, np.array([float(arm)]), float(start), float(stop), gaps)
    return gaps.item()


@pytest.mark.plain
@every_world
@given(interval=intervals, arm=st.integers(0, K - 1))
def test_gaps_are_sums_over_rounds(name, interval, arm):
    world, _ = WORLDS[name]
    start, stop = interval
    rounds = MEANS[name][start:stop]
    found = gap_of(world, arm, start, stop)
    assert found == pytest.approx(rounds[:, arm].sum() - rounds[:, world.reference].sum(), rel=1e-12, abs=1e-9)


@pytest.mark.plain
@every_world
def test_the_reference_arm_is_a_best_one_at_the_end(name):
    world, _ = WORLDS[name]
    expected = world.expected(0, 10**6)
    assert expected[world.reference] == expected.min()


@pytest.mark.plain
def test_gaps_of_a_million_million_rounds_are_exact():
    """Sums of 0.2 by the round would have lost six digits."""
    for world in (Bernoulli.with_gap(K, 0.25), ConstrainedBernoulli(K, 0.25)):
        assert world.excess(10**12).tolist() == [0.0] + [0.25e12] * (K - 1)


def convolved(masses: np.ndarray) -> np.ndarray:
    """The distribution of a sum of independent 0/1 losses with these means, round by round."""
    total = np.ones(1)
    for p in masses:
        total = np.convolve(total, [1 - p, p])
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "stop", "arm"),
    [
        ("bernoulli", 0, 1, 0),
        ("bernoulli", 17, 60, 0),
        ("bernoulli", 0, 200, 3),
        ("constrained", 10, 16, 2),  # one phase
        ("constrained", 9, 11, 3),  # the last round of one and the first of the next
        ("constrained", 0, 120, 2),  # eleven phases
        ("constrained", 20, 300, 0),
        ("constrained, by lengths", 3, 90, 4),
        ("constrained, two best", 100, 200, 1),
        ("reversal", 100, 400, 2),
    ],
)
def test_block_totals_are_distributed_as_sums_of_rounds(name, start, stop, arm):
    """60 000 totals against the convolution of the rounds: a total variation distance of 0.05 is seen."""
    world, _ = WORLDS[name]
    stream = Stream(SEED, f"{name} {start} {stop} {arm}")
    totals = np.array([world.draw(arm, start, stop, stream) for _ in range(60_000)])
    assert (totals == np.round(totals)).all()
    expected = convolved(MEANS[name][start:stop, arm])
    assert totals.max() < len(expected)
    assert_distribution(np.bincount(totals.astype(int), minlength=len(expected)), expected, sees=0.05)


@pytest.mark.slow
def test_one_draw_of_a_block_is_as_many_draws_of_a_round():
    """Mean and square of totals over a phase boundary, drawn at once and drawn round by round."""
    world, _ = WORLDS["constrained"]
    at_once, by_round = Stream(SEED, "at once"), Stream(SEED, "by round")
    one = [world.draw(2, 10, 30, at_once) for _ in range(5000)]
    other = [sum(world.draw(2, t, t + 1, by_round) for t in range(10, 30)) for _ in range(5000)]
    assert_same_mean(np.column_stack([one, np.square(one)]), np.column_stack([other, np.square(other)]), sees=8.0)


def test_totals_of_different_blocks_and_arms_are_independent():
    world = Bernoulli([0.5, 0.5])
    stream = Stream(SEED, "independent")
    totals = np.array([[world.draw(0, 0, 1, stream), world.draw(1, 0, 1, stream)] for _ in range(20_000)])
    cells = (2 * totals[:, 0] + totals[:, 1]).astype(int)
    assert_distribution(np.bincount(cells, minlength=4), np.full(4, 0.25), sees=0.05)


@pytest.mark.plain
def test_an_empty_block_has_no_loss():
    for world, _ in WORLDS.values():
        assert world.draw(1, 7, 7, Stream(1, "empty")) == 0
        assert world.expected(7, 7).tolist() == [0.0] * K


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


@pytest.mark.slow
@pytest.mark.plain
def test_phases_that_grow_slowly_are_quick_to_make():
    began = time.perf_counter()
    for phases in ("index", "spacing"):
        world = ConstrainedBernoulli(2, 0.2, growth=1.0001, phases=phases)
        assert world.expected(0, 10).shape == (2,)
    assert time.perf_counter() - began < 20  # 3 s; over a minute with exact powers


@pytest.mark.plain
def test_the_readings_differ():
    by_index, by_spacing = (ConstrainedBernoulli(8, 0.2, phases=phases) for phases in ("index", "spacing"))
    assert [int(s) for s in by_spacing.starts[:7]] == [0, 1, 2, 5, 9, 15, 26]
    assert by_index.starts[:8].tolist() != by_spacing.starts[:8].tolist()


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


# -------------------------------------------------------------------------------------- wrong parameters


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
