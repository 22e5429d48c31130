"""Bounds: against the naive oracle, against printed numbers, and the errata that concern them."""

import math

import hypothesis.strategies as st
import naive_bounds
import numpy as np
import pytest
from bound_cases import CLOSE, EASY, HARD, arms, arms_and_gaps, corollary_3_rates, costs, gap_list, horizons
from hypothesis import given

from holdfast import InvalidParameter, bounds
from holdfast.numerics import schedules


@pytest.mark.parametrize(
    ("case", "adversarial", "constrained"), [(EASY, 12357, 82324), (HARD, 28369, 3_271_489)], ids=["easy", "hard"]
)
def test_printed_values(case, adversarial, constrained):
    fixed = {"n_arms": 8, "horizon": 1e5}
    assert round(bounds.theorem_1(**fixed, switching_cost=case["switching_cost"])) == adversarial
    assert round(bounds.theorem_1_constrained(**fixed, **case)) == constrained


@given(arms_and_gaps(), costs, horizons)
def test_theorem_1_agrees_with_naive(arms_and_gaps, lam, T):
    K, gaps = arms_and_gaps
    case = {"n_arms": K, "switching_cost": lam, "horizon": T}
    assert bounds.theorem_1(**case) == pytest.approx(naive_bounds.theorem_1_adversarial(T, K, lam), rel=CLOSE)
    expected = naive_bounds.theorem_1_constrained(T, K, lam, gap_list(gaps, K))
    assert bounds.theorem_1_constrained(**case, gaps=gaps) == pytest.approx(expected, rel=CLOSE)
    assert bounds.blocks(**case) == pytest.approx(min(naive_bounds.theorem_1_blocks_bound(T, K, lam), T), rel=CLOSE)


@given(arms, costs, horizons)
def test_last_constant_can_be_one(K, lam, T):
    """Errata 9: the proof ends with (3√2 + 1)λN + 3√(2KN) + 1, or 4√(2KT) + 2√(KT)/3 + 1 without blocks."""
    case = {"n_arms": K, "switching_cost": lam, "horizon": T}
    tight = bounds.theorem_1(**case, constants="tight")
    assert bounds.theorem_1(**case) - tight == pytest.approx(5.25, rel=1e-3, abs=1e-12 * tight)
    if lam > 2 / 3 * math.sqrt(K / T):
        most = K ** (1 / 3) * (T / lam) ** (2 / 3) + 1
        proved = (3 * math.sqrt(2) + 1) * lam * most + 3 * math.sqrt(2 * K * most) + 1
    else:
        proved = (4 * math.sqrt(2) + 2 / 3) * math.sqrt(K * T) + 1
    assert proved <= tight * (1 + CLOSE)


@pytest.mark.parametrize(("lam", "gap", "decades"), [(0.025, 0.2, 7.74), (1.0, 0.05, 11.42), (0.0, 0.05, 7.29)])
def test_constrained_bound_leads_only_at_long_horizons(lam, gap, decades):
    """Numerically the constrained bound is the larger one in every experiment of the paper (T = 10⁵)."""

    def constrained_leads(exponent):
        case = {"n_arms": 8, "switching_cost": lam, "horizon": round(10**exponent)}
        return bounds.theorem_1_constrained(**case, gaps=gap) < bounds.theorem_1(**case)

    assert not constrained_leads(5)
    assert not constrained_leads(decades - 0.01)
    assert constrained_leads(decades + 0.01)


def test_last_block_term_is_kept():
    """Errata 31: beyond λ ≈ √K T^{1/4} the bound grows with λ², though the theorem's headline is λ^{2/3}."""

    def at(lam):
        return bounds.theorem_1_constrained(n_arms=8, switching_cost=lam, horizon=10**6, gaps=0.1)

    leads = math.sqrt(8) * 10**1.5
    assert at(200 * leads) / at(100 * leads) == pytest.approx(4, rel=0.02)
    assert at(0.02 * leads) / at(0.01 * leads) == pytest.approx(2 ** (2 / 3), rel=0.05)


def test_no_division_by_a_cost_of_zero():
    """Errata 7: λ = 0 means T blocks of one round; both bounds are finite there."""
    case = {"n_arms": 8, "switching_cost": 0, "horizon": 10**5}
    assert bounds.blocks(**case) == schedules.number_of_blocks(8, 0, 10**5) == 10**5
    assert bounds.theorem_1(**case) == pytest.approx(6.4 * math.sqrt(8e5) + 12 + 6.25)
    assert math.isfinite(bounds.theorem_1_constrained(**case, gaps=0.1))


def test_lower_bound_has_its_logarithm():
    """Errata 21: the upper bound is larger by a factor that grows like log T, not by a constant."""

    def ratio(T):
        case = {"n_arms": 8, "switching_cost": 1.0, "horizon": T}
        return bounds.theorem_1(**case) / bounds.lower_bound(**case)

    value = bounds.lower_bound(n_arms=8, switching_cost=1.0, horizon=10**5)
    assert value == pytest.approx(2 * 10 ** (10 / 3) / (50 * math.log2(10**5)), rel=CLOSE)
    assert value == pytest.approx(5.19, abs=0.01)
    eightfold = bounds.lower_bound(n_arms=8, switching_cost=8.0, horizon=10**5)
    assert eightfold == pytest.approx(2 * value, rel=CLOSE)
    assert ratio(10**24) / ratio(10**12) == pytest.approx(2, rel=0.03)


@given(arms_and_gaps(), st.data())
def test_theorem_2_agrees_with_naive(arms_and_gaps, data):
    K, gaps = arms_and_gaps
    b = data.draw(st.lists(st.floats(1e-3, 100.0), min_size=1, max_size=200))
    rates = sorted(data.draw(st.lists(st.floats(1e-5, 10.0), min_size=len(b), max_size=len(b))), reverse=True)
    case = {"n_arms": K, "learning_rates": rates, "ranges": b}
    assert bounds.theorem_2(**case) == pytest.approx(naive_bounds.theorem_2_adversarial(K, rates, b), rel=CLOSE)
    for constants, c in (("printed", "global"), ("corrected", "per-round")):
        value = bounds.theorem_2_constrained(**case, gaps=gaps, constants=constants)
        assert value == pytest.approx(naive_bounds.theorem_2_constrained(rates, b, gap_list(gaps, K), c), rel=CLOSE)


def test_rates_must_not_increase():
    """Errata 2: "non-decreasing" is a slip."""
    bounds.theorem_2(n_arms=2, learning_rates=[1.0, 1.0, 0.5], ranges=1)
    with pytest.raises(InvalidParameter, match="learning_rates must not increase"):
        bounds.theorem_2(n_arms=2, learning_rates=[0.5, 1.0], ranges=1)


def test_small_rounds_start_after_the_last_large_one():
    """Errata 4: a single late round with η b > 1/4 moves T₀ behind it; the last round large means T₀ = T."""
    rates = np.full(10, 0.1)
    gaps, K = 1.0, 2

    def early(b):
        b = np.asarray(b, dtype=float)
        rise = np.diff(1 / rates, prepend=0.0)
        c = np.where(1.25 * rates * b**2 >= 2 * rise, 2, 4)
        main = np.sum((3.5 * rates * b**2 + 2 * c * rise) ** 2 / (4 * b))
        return bounds.theorem_2_constrained(n_arms=K, learning_rates=rates, ranges=b, gaps=gaps) - main - 2

    assert early([1.0] * 10) == pytest.approx(0.1)  # T₀ = 1
    assert early([1.0] * 5 + [3.0] + [1.0] * 4) == pytest.approx(0.1 * (5 + 9 + 1))  # T₀ = 7
    assert early([1.0] * 9 + [3.0]) == pytest.approx(0.1 * (9 + 9))  # none: T₀ = T


@pytest.mark.parametrize("B", [0.1, 0.3, 0.7, 1.0, 3.0, 49.0])
def test_small_rounds_include_equality(B):
    """Errata 36: with Corollary 3's rates η_t B is 1/4 exactly at t = 64, whatever the rounding of 2/(B√t) · B."""
    T = 1000
    rates = corollary_3_rates(T, B)
    value = bounds.theorem_2_constrained(n_arms=2, learning_rates=rates, ranges=B, gaps=1.0)
    main = sum((7 + 2 * 2 * (t - math.sqrt(t * (t - 1))) / 2) ** 2 / (4 * t) for t in range(1, T + 1)) * B
    assert value - main - 2 == pytest.approx(sum(2 * B / math.sqrt(t) for t in range(1, 65)), rel=1e-9)


def test_c_is_chosen_round_by_round():
    """Errata 5: one round that fails the test does not raise c for the others."""
    b = [1.0] * 500
    kept = {"n_arms": 3, "learning_rates": corollary_3_rates(500), "ranges": b, "gaps": 0.2}
    assert bounds.theorem_2_constrained(**kept) == bounds.theorem_2_constrained(**kept, constants="printed")
    b[250] = 0.1
    printed = bounds.theorem_2_constrained(**kept, constants="printed")
    assert bounds.theorem_2_constrained(**kept) < 0.8 * printed  # about (7 + 1)² for (7 + 2)² in late rounds


@given(arms_and_gaps(), st.floats(0.01, 100.0), st.integers(1, 500))
def test_gaps_are_in_units_of_the_range(arms_and_gaps, B, T):
    """Errata 6 and 35: the mean gap is b_t Δ_i, so losses B times as large cost B times as much."""
    K, gaps = arms_and_gaps

    def at(B):
        rates = corollary_3_rates(T, B)
        return bounds.theorem_2_constrained(n_arms=K, learning_rates=rates, ranges=B, gaps=gaps) - 2

    assert at(B) == pytest.approx(B * at(1.0), rel=1e-9)
    unit = bounds.corollary_3_constrained(n_arms=K, horizon=T, gaps=gaps) - 2
    scaled = bounds.corollary_3_constrained(n_arms=K, horizon=T, gaps=gaps, loss_bound=B) - 2
    assert scaled == pytest.approx(B * unit, rel=1e-9)
    assert at(B) <= scaled * (1 + CLOSE)


@given(arms_and_gaps(), st.floats(0.01, 100.0), horizons)
def test_corollary_3_agrees_with_naive(arms_and_gaps, B, T):
    K, gaps = arms_and_gaps
    value = bounds.corollary_3(n_arms=K, horizon=T, loss_bound=B)
    assert value == pytest.approx(naive_bounds.corollary_3_adversarial(T, K, B), rel=CLOSE)
    for constants in ("corrected", "printed"):
        value = bounds.corollary_3_constrained(n_arms=K, horizon=T, gaps=gaps, loss_bound=B, constants=constants)
        expected = naive_bounds.corollary_3_constrained(T, gap_list(gaps, K), B, corrected=constants == "corrected")
        assert value == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize("B", [0.5, 1.0, 10.0])
def test_corollary_3_start(B):
    """Errata 3: the first 64 rounds cost 29.2B, less than 32B and more than the printed 8√B."""
    rates = corollary_3_rates(64, B)
    start = sum(rate * B**2 for rate in rates)
    assert start == pytest.approx(29.2 * B, rel=0.002)
    assert 8 * math.sqrt(B) < start <= 32 * B
    case = {"n_arms": 2, "horizon": 10**4, "gaps": 1.0, "loss_bound": B}
    corrected, printed = (bounds.corollary_3_constrained(**case, constants=c) for c in ("corrected", "printed"))
    assert corrected - printed == pytest.approx(32 * B - 8 * math.sqrt(B))


def test_a_round_without_losses():
    """b_t = 0 costs nothing while the rate stays, and leaves the constrained bound infinite where it falls."""
    case = {"n_arms": 2, "ranges": [1.0, 0.0, 1.0], "gaps": 0.5}
    assert math.isfinite(bounds.theorem_2_constrained(learning_rates=[0.5, 0.5, 0.4], **case))
    assert bounds.theorem_2_constrained(learning_rates=[0.5, 0.4, 0.4], **case) == math.inf


def test_reference_bounds():
    K, T, gaps = 4, 10**4, [0.1, 0.2, 0.5]
    inverse, log = 10 + 5 + 2, math.log(10**4)
    assert bounds.tsallis_inf(n_arms=K, horizon=T) == 4 * 200 + 1
    assert bounds.tsallis_inf(n_arms=K, horizon=T, estimator="reduced-variance") == 2 * 200 + 40 * log + 16
    iw = (4 * log + 12) * inverse + 4 * log + 10 + 3 + 8
    assert bounds.tsallis_inf_constrained(n_arms=K, horizon=T, gaps=gaps) == pytest.approx(iw, rel=CLOSE)
    rv = (log + 3) * inverse + 28 * K * log + 10 + 3 + 32 + 7
    case = {"n_arms": K, "horizon": T, "gaps": gaps, "estimator": "reduced-variance", "corruption": 7}
    assert bounds.tsallis_inf_constrained(**case) == pytest.approx(rv, rel=CLOSE)
    assert bounds.exp3(n_arms=K, horizon=T) == pytest.approx(2 * math.sqrt(T * K * math.log(4)), rel=CLOSE)
    assert bounds.exp3(n_arms=1, horizon=T) == 0


@given(arms_and_gaps(), costs, st.integers(1, 10**5))
def test_applicable_leads_with_what_binds(arms_and_gaps, lam, T):
    K, gaps = arms_and_gaps
    rows = bounds.applicable(n_arms=K, switching_cost=lam, horizon=T, gaps=gaps)
    upper = [row for row in rows if row.kind == "upper"]
    holding = [row for row in upper if row.applies]
    assert rows[0] == bounds.binding(rows) == min(holding, key=lambda row: row.value)
    assert {row.name for row in holding} == {"theorem_1", "theorem_1_constrained"}
    assert upper[: len(holding)] == holding
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.statement and row.note and row.value >= 0 for row in rows)
    counts = [row for row in rows if row.kind == "blocks"]
    assert counts[-1].value == schedules.number_of_blocks(K, lam, T) <= counts[0].value * (1 + CLOSE)


def test_applicable_values_are_the_functions():
    case = {"n_arms": 8, "switching_cost": 1, "horizon": 1e6}
    rows = {row.name: row for row in bounds.applicable(**case, gaps=0.05)}
    assert bounds.binding(rows.values()).name == "theorem_1"
    assert rows["theorem_1"].value == bounds.theorem_1(**case)
    assert rows["theorem_1_constrained"].value == bounds.theorem_1_constrained(**case, gaps=0.05)
    assert rows["theorem_4"].value == bounds.theorem_4(n_arms=8, costs=1, horizon=1e6)
    assert rows["number_of_blocks"].value == schedules.number_of_blocks(8, 1, 10**6) == 19867
    assert rows["lower_bound"].value == bounds.lower_bound(**case)
    assert rows["trivial"].value == pytest.approx(0.05 * 1e6 + 19867)
    assert rows["blocks"].value == pytest.approx(20001)
    long = bounds.applicable(n_arms=8, switching_cost=1.0, horizon=10**12, gaps=0.05)
    assert bounds.binding(long).name == "theorem_1_constrained"
    several = bounds.applicable(n_arms=3, switching_cost=1, horizon=100, gaps=[0.1, 0.4])
    blocks = schedules.number_of_blocks(3, 1, 100)
    assert next(row.value for row in several if row.name == "trivial") == pytest.approx(0.4 * 100 + blocks)


@pytest.mark.parametrize("best", [2, 7, 8])
def test_ties_leave_the_adversarial_bound(best):
    """Errata 32: with several best arms only the adversarial bound is left."""
    rows = bounds.applicable(n_arms=8, switching_cost=1.0, horizon=10**12, gaps=[0.2] * (8 - best), best_arms=best)
    assert [row.name for row in rows if row.kind == "upper" and row.applies] == ["theorem_1"]
    constrained = next(row for row in rows if row.name == "theorem_1_constrained")
    assert constrained.value == math.inf
    assert "unique best arm" in constrained.note


def test_applicable_at_the_edges():
    one = bounds.applicable(n_arms=1, switching_cost=2.0, horizon=10, gaps=[])
    assert bounds.binding(one).name == "theorem_1"
    short = bounds.applicable(n_arms=8, switching_cost=0, horizon=1)
    assert "lower_bound" not in {row.name for row in short}
    assert bounds.binding(short).name == "theorem_1"
    free = {row.name for row in bounds.applicable(n_arms=8, switching_cost=0, horizon=1e15, gaps=0.1)}
    assert "theorem_4" not in free
    assert "number_of_blocks" in free
    long = {row.name for row in bounds.applicable(n_arms=8, switching_cost=1, horizon=1e25)}
    assert "number_of_blocks" not in long
    many = bounds.applicable(n_arms=10**12, switching_cost=1.0, horizon=10**6, gaps=0.1)  # without a list of gaps
    assert bounds.binding(many).name == "theorem_1"
    for cost, applies in ((125.0, True), (125.1, False)):  # λK ≤ T
        dear = bounds.applicable(n_arms=8, switching_cost=cost, horizon=1000)
        assert next(row for row in dear if row.kind == "lower").applies == applies


CASE = {"n_arms": 8, "switching_cost": 1.0, "horizon": 100}
WITH_GAPS = CASE | {"gaps": 0.1}


@pytest.mark.parametrize(
    ("function", "case", "parameter"),
    [
        (bounds.theorem_1, CASE | {"n_arms": 0}, "n_arms"),
        (bounds.theorem_1, CASE | {"n_arms": 2.5}, "n_arms"),
        (bounds.theorem_1, CASE | {"switching_cost": -1}, "switching_cost"),
        (bounds.theorem_1, CASE | {"switching_cost": math.nan}, "switching_cost"),
        (bounds.theorem_1, CASE | {"switching_cost": 1e200}, "switching_cost"),
        (bounds.theorem_1, CASE | {"horizon": 0}, "horizon"),
        (bounds.theorem_1, CASE | {"horizon": 10**400}, "horizon"),
        (bounds.theorem_1, CASE | {"constants": "prnted"}, "constants"),
        (bounds.blocks, CASE | {"horizon": "many"}, "horizon"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"n_arms": 1}, "n_arms"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": 0.0}, "gaps"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": 1.5}, "gaps"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": "0.1"}, "gaps"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": None}, "gaps"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": [0.1, 0.2]}, "gaps"),
        (bounds.theorem_1_constrained, WITH_GAPS | {"gaps": [0.1] * 6 + [-1]}, "gaps[6]"),
        (bounds.lower_bound, CASE | {"horizon": 7}, "horizon"),
        (bounds.lower_bound, CASE | {"n_arms": 1}, "n_arms"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [], "ranges": 1}, "learning_rates"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [0.0], "ranges": 1}, "learning_rates"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [[1.0], [1.0, 2.0]], "ranges": 1}, "learning_rates"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": ["a"], "ranges": 1}, "learning_rates"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [1.0], "ranges": -1}, "ranges"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [1.0], "ranges": [1, 2]}, "ranges"),
        (bounds.theorem_2, {"n_arms": 2, "learning_rates": [1.0], "ranges": [math.inf]}, "ranges"),
        (bounds.corollary_3, {"n_arms": 2, "horizon": 10, "loss_bound": 0}, "loss_bound"),
        (bounds.theorem_4, {"n_arms": 2, "horizon": 10, "costs": -1}, "costs"),
        (bounds.theorem_4, {"n_arms": 2, "horizon": 10, "costs": [1.0, -1.0]}, "costs"),
        (bounds.theorem_4, {"n_arms": 2, "horizon": 10, "costs": [1e200]}, "costs"),
        (bounds.theorem_4, {"n_arms": 2, "horizon": 10, "costs": lambda n: 0.0 if n < 3 else math.nan}, "costs(3)"),
        (bounds.theorem_4, {"n_arms": 2, "horizon": 2**60, "costs": 1}, "horizon"),
        (bounds.corollary_5, {"n_arms": 2, "horizon": 10, "alpha": 0, "gaps": 0.1}, "alpha"),
        (bounds.corollary_5_exponents, {"alpha": -1}, "alpha"),
        (bounds.lemma_8, {"costs": 1, "elsewhere": [0.5, 1.5]}, "elsewhere"),
        (bounds.lemma_8, {"costs": [1.0], "elsewhere": [0.5, 0.5]}, "costs"),
        (bounds.tsallis_inf, {"n_arms": 2, "horizon": 10, "estimator": "rv"}, "estimator"),
        (bounds.tsallis_inf_constrained, {"n_arms": 2, "horizon": 10, "gaps": 0.1, "corruption": -1}, "corruption"),
        (bounds.applicable, CASE | {"best_arms": 9}, "best_arms"),
        (bounds.applicable, WITH_GAPS | {"gaps": [0.1] * 7, "best_arms": 2}, "gaps"),
    ],
)
def test_errors_name_the_parameter(function, case, parameter):
    with pytest.raises(InvalidParameter) as caught:
        function(**case)
    assert caught.value.parameter == parameter
