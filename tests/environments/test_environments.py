"""Environments: totals are distributed as sums of rounds; expectations are sums of the rounds' means."""

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import hypothesis.strategies as st
import naive
import naive_games
import numpy as np
import pytest
from hypothesis import given
from statistics_of_samples import SEED, assert_distribution, assert_mean, binomial_probabilities

import holdfast as hf
from holdfast import Bernoulli, ConstrainedBernoulli, InvalidParameter, Reversal, Stream
from holdfast.checks import cores, one_of
from holdfast.environments import ENVIRONMENTS, make_environment
from holdfast.environments.phased import LAST_ROUND, Phased
from holdfast.kernels import COMPILED
from holdfast.numerics import random
from holdfast.numerics.random import binomial_from_table, binomial_tables, started, stream_key, uniform
from holdfast.players.game import policy_key

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
    """Hour i begins in round ⌊230 i/24⌋, and the last season is cut off."""
    hour = (24 * (t + 1) - 1) // 230
    return [0.5 + 0.3 * math.sin(2 * math.pi * (hour % 24 / 24 + i / 4)) + 0.05 * (i > 0) for i in range(K)]


def changing_means(t: int) -> list[float]:
    """Five stretches of 400 rounds."""
    return [0.3 if i == t // 400 % 4 else 0.5 for i in range(K)]


def turning_means(t: int) -> list[float]:
    return [0.4, 0.5, 0.5, 0.5 if t < 666 else 0.2]


def jumping_means(t: int) -> list[float]:
    stream = hf.Stream(7, "jumping-levels")
    level = [stream.uniform() for _ in range(t // 450 + 1)][-1] * 0.9
    return [level + (0.1 if i else 0.0) for i in range(K)]


def given_means(t: int) -> tuple[float, ...]:
    return GIVEN[1][0 if t < 7 else 1 if t < 1000 else 2]


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
    "given": (hf.PiecewiseConstant(*GIVEN), given_means),
    "given, no noise": (hf.PiecewiseConstant(*GIVEN, noise=False), given_means),
    "corrupted": (hf.Corrupted(K, T, corrupted=300), corrupted_means),
    "corrupted, spread": (hf.Corrupted(K, T, corrupted=300, stretches=10), spread_means),
    "drifting": (hf.Drifting(K, T), drifting_means),
    "seasonal": (hf.Seasonal(K, T, period=230), seasonal_means),
    "seasonal, no noise": (hf.Seasonal(K, T, period=230, noise=False), seasonal_means),
    "changing": (hf.ChangingBest(K, T), changing_means),
    "turning": (hf.UnseenTurn(K, T), turning_means),
    "turning, no noise": (hf.UnseenTurn(K, T, noise=False), turning_means),
    "jumping": (hf.JumpingLevels(K, T, stretch=450, seed=7), jumping_means),
    "jumping, noise": (hf.JumpingLevels(K, T, stretch=450, seed=7, noise=True), jumping_means),
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
    if isinstance(world, Phased):
        assert world.means_between(start, stop).sum(axis=0) == pytest.approx(totals, rel=1e-12, abs=1e-9)


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
def test_the_reference_arm_is_a_best_one_at_the_end_and_gaps_of_a_million_million_rounds_are_exact():
    """Sums of 0.2 by the round would have lost six digits."""
    for name in [name for name in WORLDS if name.startswith(("bernoulli", "constrained", "reversal"))]:
        expected = WORLDS[name][0].expected(0, 10**6)
        assert expected[WORLDS[name][0].reference] == expected.min()
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
        ("jumping, noise", 430, 470, 1),
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
def test_rounds_arms_and_streams_that_are_none_are_refused():
    """Also rounds past 2⁵³, where they are no longer counted exactly and the phases end."""
    for start, stop in ((-1, 3), (5, 3), (0, math.inf), (math.nan, 3), (0, 2 * LAST_ROUND), (0, 2.5)):
        for world in (Bernoulli([0.5, 0.5]), ConstrainedBernoulli(2, 0.2)):
            with pytest.raises(InvalidParameter, match=r"start|stop"):
                world.draw(0, start, stop, Stream(1, "a"))
    for arm in (-1, 2, 0.5, "0", None):
        with pytest.raises(InvalidParameter, match="arm must be"):
            Bernoulli([0.5, 0.5]).draw(arm, 0, 1, Stream(1, "a"))
    with pytest.raises(InvalidParameter, match=r"stream must be a holdfast\.Stream; got None"):
        Bernoulli([0.5, 0.5]).draw(0, 0, 1, None)


# ---- environments by name


def test_every_id_is_known_by_its_class():
    assert {name: kind.id for name, kind in ENVIRONMENTS.items()} == {name: name for name in ENVIRONMENTS}
    assert set(ENVIRONMENTS) >= {"bernoulli", "constrained-bernoulli", "reversal", "loss-table"}


@dataclass(frozen=True)
class Coin(hf.Bernoulli):
    id: ClassVar[str] = "coin"


def test_anyones_class_is_found_by_its_address():
    sys.modules.setdefault(Coin.__module__, sys.modules[__name__])
    made = Coin((0.5, 0.25))
    address = f"{__name__}:Coin"
    assert made.settings()["environment"] == address
    assert make_environment(made.settings()) == made
    assert make_environment({"environment": address, "mean_losses": [0.5]}) == Coin((0.5,))


def test_a_bernoulli_environment_by_its_gap():
    made = make_environment({"environment": "bernoulli", "n_arms": 4, "gap": 0.1, "best_arms": 2, "shuffled": True})
    assert made == hf.Bernoulli.with_gap(4, 0.1, best_arms=2, shuffled=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"environment": "bernouli"}, r"environment must be one of 'bernoulli', .*; got 'bernouli'; did you mean"),
        ({"environment": ["bernoulli"]}, r"environment must be one of .*; got \['bernoulli'\]"),
        ({}, r"environment must be one of .*; got None"),
        ({"environment": "no.such:Thing"}, r'environment must be "module:Class", .*No module named.*; got'),
        ({"environment": "holdfast:Things"}, r'environment must be "module:Class", .*Things.*; got'),
        ({"environment": ":Things"}, r'environment must be "module:Class", .*; got'),
        ({"environment": ".here:Things"}, r'environment must be "module:Class", .*; got'),
        ({"environment": "holdfast:Exp3"}, r"must name a class derived from holdfast.Environment; got 'holdfast:Exp3'"),
        ({"environment": "reversal", "n_arm": 3}, r"n_arm is not a parameter of reversal; got 3; did you mean"),
        ({"environment": "bernoulli", "mean_loss": 3}, r"mean_loss is not a .*; got 3; did you mean 'mean_losses'"),
        ({"environment": "bernoulli", "gap": 0.1}, r"n_arms must be given with gap; got None"),
        ({"environment": "bernoulli", "gap": 0.1, "n_arms": 3, "bestarms": 1}, r"did you mean 'best_arms'"),
        ({"environment": "bernoulli", "gap": 0.1, "mean_losses": [0.1]}, r"gap cannot be given with mean_losses"),
        ({"environment": "loss-table", "source": "no such.csv"}, r"source must be a file; there is none"),
        ("bernoulli", r"settings must be a mapping"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        make_environment(settings)


def test_one_of():
    assert one_of("spacing", "log", ("linear", "log")) == "log"
    with pytest.raises(InvalidParameter, match=r"^spacing must be one of 'linear', 'log'; got 'lin'; did you mean"):
        one_of("spacing", "lin", ("linear", "log"))
    with pytest.raises(InvalidParameter, match=r"'arm19' and 9980 more; got \{\}$"):
        one_of("arm", {}, [f"arm{i}" for i in range(10_000)])


def test_cores_where_the_system_does_not_tell(monkeypatch):
    assert cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert cores() == 3
    assert hf.Threads().width == 3
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert cores() == 1


# ---- binomial draws from tables, which hold the distribution to the last bit of a uniform number

TABLED = [0.001, 0.05, 0.3, 0.45, 0.5, 0.8, 0.999] if COMPILED else [0.05, 0.5]


@pytest.fixture(scope="module")
def tables():
    return binomial_tables(np.array([TABLED]))


def probabilities_of(tables, kind: int, n: int) -> np.ndarray:
    """P(0) … P(n) as the columns of row n hold them: a column's own share, and what it gives to its alias."""
    _, _, rows, columns = tables
    rest, first = divmod(int(rows[kind, n]), 2**random.FIRST_BITS)
    begin, size = divmod(rest, 2**random.SIZE_BITS)
    share, alias = np.divmod(columns[begin : begin + size], 2**random.ALIAS_BITS)
    assert (share >= 0).all()
    assert (share < random.UNIT).all()
    own = np.where(
        alias == np.arange(size), 1.0, share / random.UNIT
    )  # whatever its share, a column that is its own alias
    found = np.zeros(n + 1)
    found[first : first + size] = own
    np.add.at(found, first + alias, 1 - own)
    return found / size


@pytest.mark.plain
@pytest.mark.parametrize("p", TABLED)
def test_tables_hold_the_distribution(tables, p):
    """To the 10⁻¹² of our own logarithms, and what they leave out is less than a uniform number can show."""
    kind = int(tables[1][0, TABLED.index(p)])
    for n in [*range(1, 40), 63, 100, 255, 256, 511, 777, 1000, random.MOST_TRIALS]:
        found, exact = probabilities_of(tables, kind, n), binomial_probabilities(n, p)
        assert np.abs(found - exact).max() < 1e-12
        assert math.fsum(exact[found == 0]) < 2.0**-52
        assert math.fsum(found) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.plain
def test_the_largest_and_the_smallest_uniform_draw_values_that_can_be(tables):
    for kind in range(len(TABLED)):
        for n in (2, 17, random.MOST_TRIALS):
            for u in (0.0, 1.0 - 2.0**-53):
                k = int(binomial_from_table(*tables[2:], kind, n, u))
                assert probabilities_of(tables, kind, n)[k] > 0


@pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")
def test_draws_from_a_table_have_its_distribution(tables):
    stream = Stream(SEED, "table draws")
    for kind, n in ((1, 40), (2, 100), (4, 7), (5, 1000)):
        draws = np.array([binomial_from_table(*tables[2:], kind, n, stream.uniform()) for _ in range(50_000)])
        counts = np.bincount(draws.astype(int), minlength=n + 1)
        assert_distribution(counts, binomial_probabilities(n, TABLED[kind]), sees=0.06)


@pytest.mark.plain
def test_certain_means_and_those_beyond_the_first_few_have_no_table():
    ways, kinds, rows, *_ = binomial_tables(np.array([[0.0, 1.0, 0.5], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    assert kinds.tolist() == [[-1, -1, 0], [0, -1, -1], [-1, -1, -1]]
    assert ways.tolist() == [random.TABLED, random.TABLED, random.CERTAIN]
    assert len(rows) == 1
    many = np.linspace(0.1, 0.9, random.MOST_MEANS + 3)[None, :]
    if COMPILED:
        ways, kinds, rows, *_ = binomial_tables(many)
        assert ways.tolist() == [random.NEITHER]
        assert len(rows) == random.MOST_MEANS
        assert (kinds == -1).sum() == 3


# ---- ranges that are announced

RANGES = (1.0, 0.25, 0.5, 0.25)
RANGED = hf.VaryingRanges([0.2, 0.6, 1.0], RANGES)


@pytest.mark.plain
def test_totals_of_varying_ranges_are_distributed_as_sums_of_rounds():
    """In quarters, against the convolution of the rounds; a total variation distance of 0.05 is seen."""
    stream, draws = hf.Stream(SEED, "ranges"), 30_000 if COMPILED else 1000
    for arm, start, stop in ((0, 0, 1), (1, 2, 5), (0, 3, 14), (2, 1, 9)):
        quarters = [round(4 * RANGES[t % 4]) for t in range(start, stop)]
        masses = np.ones(1)
        for b in quarters:
            masses = np.convolve(masses, [1 - RANGED.mean_losses[arm], *[0.0] * (b - 1), RANGED.mean_losses[arm]])
        totals = np.array([RANGED.draw(arm, start, stop, stream) for _ in range(draws)]) * 4
        assert (totals == totals.round()).all()
        counts = np.bincount(totals.astype(int), minlength=sum(quarters) + 1)
        assert_distribution(counts, masses, sees=0.05 if COMPILED else 0.25)
        assert RANGED.expected(start, stop)[arm] * 4 == pytest.approx(masses @ np.arange(len(masses)))


@pytest.mark.plain
def test_the_policy_of_theorem_2_hears_each_range():
    """A whole game, round by round, against the naive policy on the same numbers."""
    T, seed = 300, 5
    policy = hf.TsallisInf(3, loss_bound="announced")
    marks, name = list(range(1, T + 1)), policy.label
    played = hf.simulate(policy, RANGED, horizon=T, switching_cost=0, replications=1, seed=seed, checkpoints=marks)
    own, world = started(policy_key(seed, name), 0), started(stream_key(seed, "environment"), 0)
    twin, regret, switches, before = naive.TsallisInfAnnounced(3), 0.0, [], -1
    found = []
    for t in range(T):
        b = RANGES[t % 4]
        arm, _ = twin.choose(uniform(own), b)
        mean = RANGED.mean_losses[arm]
        certain = mean in (0.0, 1.0)
        twin.observe(b * (mean if certain else float(uniform(world) < mean)), 1)
        regret += b * (mean - 0.2)
        switches.append((switches[-1] if switches else 0) + (arm != before))
        before = arm
        found.append(regret)
    assert played.frame["pseudo_regret"].to_list() == pytest.approx(found, abs=1e-9)
    assert played.frame["switches"].to_list() == switches


@pytest.mark.plain
def test_ranges_that_are_none_are_refused():
    for wrong, rule in (
        ([0.0], r"ranges\[0\] must be a finite number above 0, at most 1"),
        ([0.5, 1.5], r"ranges\[1\] must be"),
        ([], "ranges must not be empty"),
        ("ab", "ranges must be a list of numbers"),
    ):
        with pytest.raises(hf.InvalidParameter, match=rule):
            hf.VaryingRanges([0.1, 0.2], wrong)


# ---- the multi-scale random walk, by its definition


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
