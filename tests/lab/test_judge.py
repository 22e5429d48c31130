"""The ledger on made-up tables: a claim turns its verdict when the data turn."""

import ast
import inspect
import math
import pickle
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from any_tables import RUNS, SETTINGS, AnyTables
from scipy import stats

from holdfast.lab.judge import (
    Between,
    Claim,
    Less,
    Near,
    Never,
    Often,
    Question,
    Sometimes,
    Under,
    Verdict,
    judge,
    order,
    share_interval,
    slopes,
)
from holdfast.lab.paper import claims
from holdfast.lab.paper.claims import CLAIMS
from holdfast.lab.paper.plan import ALPHAS, FIGURES, LONG_ALPHAS, POLICIES, PaperTables, long_rounds, rows_of
from holdfast.results import Result

BY_ID = {claim.id: claim for claim in CLAIMS}
rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def begun_anew() -> None:
    """The same noise in a test whatever was tested before it."""
    rng.bit_generator.state = np.random.default_rng(5).bit_generator.state


def curve(
    final: float, switches: float = 100.0, *, exponent: float = 1.0, rounds: Sequence[int] = (), noise: float = 0.02
) -> pl.DataFrame:
    """A series that ends at these values and grows as a power of the round, with a little noise from run to run."""
    marks = np.array(rounds or [1000 * i for i in range(1, 101)])
    shape = (marks / marks[-1]) ** exponent
    factor = 1 + noise * rng.standard_normal((RUNS, 1))
    regret = final * factor * shape
    count = np.round(switches * factor * shape).astype(np.int64)
    return pl.DataFrame(
        {
            "replication": np.repeat(np.arange(RUNS), len(marks)),
            "round": np.tile(marks, RUNS),
            "pseudo_regret": regret.ravel(),
            "switches": count.ravel(),
            "regret_with_switching": (regret + 0.001 * count).ravel(),
        }
    )


def table(series: Mapping[str, pl.DataFrame]) -> Result:
    order = ["policy", "replication", "round", "pseudo_regret", "switches", "regret_with_switching"]
    return Result(pl.concat([frame.with_columns(policy=pl.lit(name)).select(order) for name, frame in series.items()]))


def verdict(id: str, **tables: Mapping[str, pl.DataFrame]) -> Verdict:
    named = {name.replace("__", ".").replace("_", "-"): table(series) for name, series in tables.items()}
    (one,) = judge([BY_ID[id]], PaperTables(named, SETTINGS))
    return one


def policies(**finals: float) -> dict[str, pl.DataFrame]:
    return {name: curve(finals.get(name.replace("-", "_"), 1000.0)) for name in POLICIES}


def alike(final: float, exponent: float = 1.0) -> dict[str, pl.DataFrame]:
    return {name: curve(final, exponent=exponent) for name in POLICIES}


def lost(runs: int) -> pl.DataFrame:
    """Regret 0.2 a round to the end in the first `runs` runs; in the others none after the first tenth."""
    frame = curve(20_000.0, noise=0.0)
    flat = pl.when(pl.col("replication") < runs).then(pl.col("pseudo_regret")).otherwise(2000.0)
    return frame.with_columns(pseudo_regret=flat)


def rows(geometric: int, cost: float) -> dict[str, dict[str, pl.DataFrame]]:
    paid = pl.lit(cost) + pl.col("replication")
    easy = alike(500.0, 0.3) | {"base-geometric": lost(geometric).with_columns(regret_with_switching=paid)}
    hard = alike(5000.0, 0.3) | {"base-geometric": curve(50.0, exponent=0.1)}
    names = "constrained_easy", "constrained_hard", "constrained_easy__shuffled", "constrained_hard__shuffled"
    return dict(zip(names, (easy, hard, easy, hard), strict=True))


def grown(exponent: float) -> dict[str, dict[str, pl.DataFrame]]:
    marks = long_rounds(SETTINGS)
    series = {best: curve(4e4, 0.0, exponent=exponent, rounds=marks) for best in ("1", "2", "7")}
    varying = {f"{alpha:g}": curve(1e6, 0.0, exponent=exponent, rounds=marks) for alpha in LONG_ALPHAS}
    return {"long_ties_stochastic": series, "long_ties_constrained": series, "long_varying_cost": varying}


def tuned(theorem_4: float) -> dict[str, pl.DataFrame]:
    sizes = {"Theorem 1": 600.0, "Theorem 4": theorem_4}
    return {f"{name}, {by}": curve(size) for name in ("easy", "hard", "free") for by, size in sizes.items()}


def bounded(size: float) -> dict[str, dict[str, pl.DataFrame]]:
    rising = {f"{alpha:g}": curve(20_000.0 * size, exponent=0.8) for alpha in ALPHAS}
    return {"stochastic_easy": alike(500.0 * size, 0.5), "varying_cost": rising}


BEST, ALIKE, SOME = "easy-tsallis-inf-best", "free-alike", "constrained-arithmetic-some-runs"
CASES: list[tuple[str, str, Callable[[], Mapping[str, Any]]]] = [
    (BEST, "holds", lambda: {"stochastic_easy": policies(tsallis_inf=500.0)}),
    (BEST, "fails", lambda: {"stochastic_easy": policies(tsallis_inf=2000.0)}),
    (ALIKE, "holds", lambda: {"stochastic_free": policies(tsallis_switch=1020.0)}),
    (ALIKE, "holds", lambda: {"stochastic_free": policies(tsallis_switch=990.0)}),
    (ALIKE, "fails", lambda: {"stochastic_free": policies(tsallis_switch=2000.0)}),
    (ALIKE, "fails", lambda: {"stochastic_free": policies(tsallis_switch=400.0)}),
    (SOME, "fails", lambda: {"constrained_easy": alike(500.0, 0.3) | {"base-arithmetic": lost(0)}}),
    (SOME, "holds", lambda: {"constrained_easy": alike(500.0, 0.3) | {"base-arithmetic": lost(12)}}),
    (SOME, "fails", lambda: {"constrained_easy": alike(500.0, 0.3) | {"base-arithmetic": lost(RUNS)}}),
    ("constrained-geometric-well", "holds", lambda: rows(0, 50.0)),
    ("constrained-geometric-well", "conditional", lambda: rows(20, 15_000.0)),
    ("adversarial-base-linear", "holds", lambda: {"adversarial": alike(100_000.0)}),
    ("adversarial-base-linear", "fails", lambda: {"adversarial": alike(1000.0, 0.5)}),
    (
        "ties-stochastic-cost",
        "holds",
        lambda: {"ties_stochastic": {str(n): curve(3000.0 + 300 * n) for n in range(1, 8)}},
    ),
    (
        "ties-stochastic-cost",
        "fails",
        lambda: {"ties_stochastic": {str(n): curve(3000.0 - 300 * n) for n in range(1, 8)}},
    ),
    ("growth-unique", "holds", lambda: grown(1 / 3)),
    ("growth-unique", "fails", lambda: grown(2 / 3)),
    ("growth-unique", "fails", lambda: grown(0.1)),
    ("growth-worst-case", "holds", lambda: grown(2 / 3)),
    ("varying-sublinear", "holds", lambda: grown(0.7)),
    ("varying-sublinear", "fails", lambda: grown(1.2)),
    ("bound-blocks", "holds", lambda: {"stochastic_easy": policies()}),
    ("bound-blocks", "fails", lambda: {"stochastic_easy": policies() | {"tsallis-switch": curve(500.0, 99_000.0)}}),
    ("varying-tuning-loses", "holds", lambda: {"constant_cost": tuned(2000.0)}),
    ("varying-tuning-loses", "fails", lambda: {"constant_cost": tuned(400.0)}),
]


@pytest.mark.parametrize(("id", "expected", "tables"), CASES)
def test_a_verdict_turns_with_the_tables(id: str, expected: str, tables: Callable[[], Mapping[str, Any]]) -> None:
    assert verdict(id, **tables()).verdict == expected


@pytest.mark.slow
@pytest.mark.parametrize("id", ["bound-theorem-1", "bound-corollary-3", "bound-theorem-4"])
def test_bounds(id: str) -> None:
    assert [verdict(id, **bounded(size)).verdict for size in (1.0, 100.0)] == ["holds", "fails"]


def test_a_condition_says_for_what_a_claim_holds_and_what_is_not_decided() -> None:
    """It holds only where every part is decided, and one replication decides no comparison."""
    mixed = verdict(BEST, stochastic_easy=policies(tsallis_inf=500.0, base_arithmetic=300.0))
    assert (mixed.verdict, mixed.replications) == ("conditional", RUNS)
    assert mixed.condition == (
        "holds against tsallis-switch, exp3, exp3-blocks, base-geometric; fails against base-arithmetic"
    )
    close = verdict(ALIKE, stochastic_free=policies(tsallis_switch=1250.0, tsallis_inf=1000.0))
    assert (close.verdict, close.condition) == ("conditional", f"not decided at {RUNS} replications: at the horizon")
    one_open = verdict(BEST, stochastic_easy=policies(tsallis_inf=500.0, exp3=500.0))
    assert one_open.verdict == "conditional"
    assert one_open.condition.partition(";")[2] == f" not decided at {RUNS} replications: against exp3"
    one = {name: frame.filter(pl.col("replication") == 0) for name, frame in policies(tsallis_inf=1.0).items()}
    judged = verdict(BEST, stochastic_easy=one)
    assert (judged.verdict, judged.replications) == ("conditional", 1)
    some = verdict(SOME, constrained_easy=alike(500.0, 0.3) | {"base-arithmetic": lost(12)})
    assert f"in 12 of {RUNS} runs" in some.measurement


def test_only_what_was_played_is_judged() -> None:
    ids = {v.id for v in judge(CLAIMS, PaperTables({"stochastic-easy": table(policies())}, SETTINGS))}
    assert "easy-tsallis-inf-best" in ids
    assert "bound-theorem-1" in ids
    assert not ids & {"hard-trade-off", "hard-more-switches", "bound-theorem-4", "growth-unique", "base-log-switches"}


def test_every_claim_is_well_formed() -> None:
    assert len(BY_ID) == len(CLAIMS)
    known = {row.table for row in rows_of(list(FIGURES.values()))}
    for claim in CLAIMS:
        tables = AnyTables()
        claim.questions(tables)
        assert tables.asked <= known, claim.id
        assert claim.figure in {"", *FIGURES}, claim.id
        assert claim.sentence.endswith("."), claim.id
        assert not claim.rule.endswith("."), claim.id


def test_a_verdict_rests_on_the_fewest_replications_of_its_parts() -> None:
    samples = [rng.standard_normal(n) for n in (30, 9, 12)]
    claim = Claim("a", "A.", "p", "r", lambda tables: [Less("", sample, 0.0) for sample in samples])
    assert judge([claim], None)[0].replications == 9


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_what_may_go_wrong_is_shared_by_the_parts(parts: int) -> None:
    sample = rng.standard_normal(RUNS)
    claim = Claim("a", "A.", "p", "r", lambda tables: [Less(f"{n}", sample, 0.0) for n in range(parts)])
    low, high = stats.t.interval(1 - 0.01 / parts, RUNS - 1, sample.mean(), stats.sem(sample))
    for part in judge([claim], None)[0].parts:
        assert (part.low, part.high) == pytest.approx((low, high), rel=1e-7)


ONES = np.ones(RUNS)


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        (Less("", ONES, ONES), "no"),  # what is equal is not less
        (Near("", ONES, 1.25 * ONES, 1.25), "no"),
        (Between("", ONES, 1.0, 2.0), "yes"),
        (Between("", ONES, 0.0, 1.0), "yes"),
        (Under("", ((np.ones((RUNS, 2)), np.ones(2)),)), "yes"),
        (Under("", ((np.ones((RUNS, 2)), np.ones(2)),), each=True), "yes"),
        (Under("", ((np.ones((1, 2)), np.ones(2)),)), "open"),
    ],
)
def test_what_lies_exactly_on_a_threshold(question: Question, outcome: str) -> None:
    assert question.answer(0.95).outcome == outcome


def test_an_order_is_told_at_the_confidence_of_a_claim_of_two_questions() -> None:
    noise = np.random.default_rng(3).standard_normal(9)
    half = stats.t.ppf(1 - 0.01 / 4, 8) * stats.sem(noise)
    shifts = (-half - TURN, -half + TURN, half - TURN, half + TURN)
    found = [order(noise - noise.mean() + shift, np.zeros(9)) for shift in shifts]
    assert found == ["lower", "open", "open", "higher"]


def test_questions_that_have_no_turn() -> None:
    assert Between("", np.array([1.0, math.nan]), 0.0).answer(0.95).outcome == "open"
    assert [Sometimes("", k, 30).answer(0.99).outcome for k in (0, 1, 30)] == ["no", "yes", "no"]


TURN = 1e-6


def outcomes_around(question: Callable[[float], Question], turns: Sequence[float], confidence: float) -> list[str]:
    """The outcome just below and just above each value at which it should turn."""
    return [question(turn + step).answer(confidence).outcome for turn in turns for step in (-TURN, TURN)]


@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize("runs", [2, 5, 30])
def test_a_question_turns_where_scipys_interval_does(runs: int, confidence: float) -> None:
    noise = 0.01 * np.random.default_rng(runs).standard_normal(runs)
    noise -= noise.mean()

    def half(error: float) -> float:
        return float(stats.t.ppf(1 - error / 2, runs - 1) * stats.sem(noise))

    h = half(1 - confidence)
    less = lambda mean: Less("", noise + mean, 0.0)  # noqa: E731
    assert outcomes_around(less, [-h, h], confidence) == ["yes", "open", "open", "no"]
    factor = lambda mean: Less("", noise + mean, np.full(runs, 3.0), 0.5)  # noqa: E731
    assert outcomes_around(factor, [1.5 - h, 1.5 + h], confidence) == ["yes", "open", "open", "no"]
    between = lambda mean: Between("", noise + mean, 0.0, 10.0)  # noqa: E731
    assert outcomes_around(between, [-h, h], confidence) == ["no", "open", "open", "yes"]
    assert outcomes_around(between, [10 - h, 10 + h], confidence) == ["yes", "open", "open", "no"]
    both, scale = half((1 - confidence) / 2), 1e-3  # either side has half of the error
    near = lambda mean: Near("", scale * noise + mean, np.full(runs, 1.0), 1.25)  # noqa: E731
    ends = [0.8 - scale * both, 0.8 + scale * both, 1.25 - scale * both, 1.25 + scale * both]
    turned = [near(end + step * TURN * scale).answer(confidence).outcome for end in ends for step in (-1, 1)]
    assert turned == ["no", "open", "open", "yes", "yes", "open", "open", "no"]
    answer = Near("", noise + 1.5, np.full(runs, 2.0), 1.25).answer(confidence)
    assert (answer.estimate, answer.shown) == (pytest.approx(0.75), ": 1.50 to 2.00, a factor of 0.75")


@pytest.mark.parametrize("runs", [2, 9])
def test_a_bound_is_kept_where_all_intervals_together_are_below_it(runs: int) -> None:
    """Five checkpoints in two series share the error; `each` looks at single runs, without any."""
    draw = np.random.default_rng(runs)
    series, bounds = [draw.uniform(1.0, 2.0, (runs, n)) for n in (2, 3)], [np.full(2, 1e6), np.full(3, 1e6)]
    quantile = stats.t.ppf(1 - 0.05 / (2 * 5), runs - 1)
    edge = series[1][:, 1].mean() + quantile * stats.sem(series[1][:, 1])
    lower = series[1][:, 1].mean() - quantile * stats.sem(series[1][:, 1])
    most = series[1][:, 1].max()

    def under(bound: float, each: bool = False) -> Question:
        limits = bounds[1].copy()
        limits[1] = bound
        return Under("", ((series[0], bounds[0]), (series[1], limits)), each)

    assert outcomes_around(under, [edge], 0.95) == ["open", "yes"]
    if lower > 0:
        assert outcomes_around(under, [lower], 0.95) == ["no", "open"]
    assert outcomes_around(lambda bound: under(bound, True), [most], 0.95) == ["no", "yes"]


@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize("runs", [1, 10, 300])
def test_a_share_has_the_exact_interval_and_is_rare_below_a_hundredth(runs: int, confidence: float) -> None:
    tail = (1 - confidence) / 2
    for count in {0, 1, 2, 5, 7, 8, 9, 10, 11, 12, runs - 1, runs} & set(range(runs + 1)):
        low = stats.beta.ppf(tail, count, runs - count + 1) if count else 0.0
        high = stats.beta.ppf(1 - tail, count + 1, runs - count) if count < runs else 1.0
        assert share_interval(count, runs, confidence) == pytest.approx((low, high), abs=1e-9)
        never, often = (kind("", count, runs).answer(confidence).outcome for kind in (Never, Often))
        assert never == ("yes" if count == 0 else "no" if low > 0.01 else "open")
        assert often == {"yes": "no", "no": "yes", "open": "open"}[never]


def test_slopes() -> None:
    rounds = [10, 100, 1000]
    found = slopes(rounds, np.array([[10.0, 100.0, 1000.0], [5.0, 5.0, 5.0], [-1.0, 1.0, 2.0]]))
    assert found[:2].tolist() == [1.0, 0.0]
    assert math.isnan(found[2])


def claims_with(constant: str, value: float) -> dict[str, Claim[PaperTables]]:
    """The claims as they would be with another threshold."""
    module = types.ModuleType(claims.__name__)
    tree = ast.parse(inspect.getsource(claims))
    (place,) = (one for one in tree.body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == constant)
    place.value = ast.copy_location(ast.Constant(value), place.value)
    exec(compile(tree, str(claims.__file__), "exec"), module.__dict__)
    return {claim.id: claim for claim in module.CLAIMS}


@pytest.mark.parametrize("constant", ["SIMILAR", "COINCIDE", "COMPETITIVE", "FAR", "FEW", "LOW", "WITHIN", "LINEAR"])
def test_a_threshold_that_a_page_prints_is_applied(constant: str) -> None:
    """With another value the questions of just those claims change that print it."""

    def asked(claim: Claim[PaperTables]) -> str:
        return "".join(pickle.dumps(question).hex() for question in claim.questions(AnyTables()))

    others = claims_with(constant, getattr(claims, constant) * 1.125)
    printed = {id for id, claim in others.items() if claim.thresholds != BY_ID[id].thresholds}
    assert printed
    assert {id for id, claim in others.items() if asked(claim) != asked(BY_ID[id])} == printed
    assert all(others[id].rule != BY_ID[id].rule for id in printed)
