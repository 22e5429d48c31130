"""Bounds for a switching cost that varies: Theorem 4, Corollary 5 and Lemma 8."""

import math

import hypothesis.strategies as st
import naive
import naive_bounds
import numpy as np
import pytest
from bound_cases import CLOSE, arms, arms_and_gaps, gap_list, short
from hypothesis import assume, given

from holdfast import InvalidParameter, bounds
from holdfast.bounds.paper import UNSTABLE, N, most_blocks, run_of_blocks
from holdfast.kernels import COMPILED
from holdfast.numerics import schedules

COSTS = {
    "none": 0.0,
    "constant": 1.3,
    "rising": lambda n: n**0.5,
    "falling": lambda n: 10.0 / n,
    "jumping": lambda n: (0.0, 2.5, 0.4, 7.0)[n % 4],
    "high": 500.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTS)
@given(arms_and_gaps(), short)
def test_theorem_4_agrees_with_naive(name, arms_and_gaps, T):
    K, gaps = arms_and_gaps
    lam = COSTS[name]
    each = lam if callable(lam) else lambda n: lam
    case = {"n_arms": K, "costs": lam, "horizon": T}
    assert bounds.theorem_4(**case) == pytest.approx(naive_bounds.theorem_4_adversarial(T, K, each), rel=CLOSE)
    expected = naive_bounds.theorem_4_constrained(T, K, each, gap_list(gaps, K))
    assert bounds.theorem_4_constrained(**case, gaps=gaps) == pytest.approx(expected, rel=CLOSE)
    beyond = each(len(naive_bounds.theorem_4_schedule(T, K, each)[0]) + 1)
    expected = naive_bounds.theorem_4_constrained(T, K, each, gap_list(gaps, K), beyond, truncated=False)
    printed = bounds.theorem_4_constrained(**case, gaps=gaps, constants="printed")
    assert printed == pytest.approx(expected, rel=CLOSE)


def test_theorem_4_with_costs_that_fall():
    """Blocks of 7, 4 and 4 rounds; 14 rounds end in the third."""
    costs, lam = [8.0] + [2.0] * 9, lambda n: 8.0 if n == 1 else 2.0
    assert naive_bounds.theorem_4_schedule(14, 2, lam)[:2] == ([8.0, 2.0, 2.0], [7, 4, 4])
    adversarial = 7 * (8 + 2 + 2) + 12 * math.sqrt(2 * 3) + 2
    assert bounds.theorem_4(n_arms=2, costs=costs, horizon=14) == pytest.approx(adversarial)
    found = bounds.theorem_4_constrained(n_arms=2, costs=costs, horizon=14, gaps=0.5)
    assert found == pytest.approx(naive_bounds.theorem_4_constrained(14, 2, lam, [0.5]), rel=CLOSE)


@pytest.mark.slow
@given(arms, short, st.data())
def test_theorem_4_takes_costs_in_three_ways(K, T, data):
    given_costs = data.draw(st.lists(st.floats(0.0, 30.0), min_size=T, max_size=T))
    for f, more in ((bounds.theorem_4, {}), (bounds.theorem_4_constrained, {"gaps": 0.3})):
        value = f(n_arms=K, costs=given_costs, horizon=T, **more)
        assert f(n_arms=K, costs=np.array(given_costs), horizon=T, **more) == value
        assert f(n_arms=K, costs=lambda n: given_costs[n - 1], horizon=T, **more) == value


def test_costs_are_asked_for_played_blocks_only():
    asked = []

    def lam(n):
        asked.append(n)
        return 2.0

    bounds.theorem_4_constrained(n_arms=3, costs=lam, horizon=500, gaps=0.1)
    blocks = len(naive_bounds.theorem_4_schedule(500, 3, lambda n: 2.0)[0])
    assert asked == list(range(1, blocks + 1))
    bounds.theorem_4(n_arms=3, costs=[2.0] * blocks, horizon=500)
    with pytest.raises(InvalidParameter, match=f"costs must have a cost for each block: {blocks - 1} blocks cover"):
        bounds.theorem_4(n_arms=3, costs=[2.0] * (blocks - 1), horizon=500)
    with pytest.raises(InvalidParameter, match=f"costs must have at least {blocks + 1} entries"):
        bounds.theorem_4_constrained(n_arms=3, costs=[2.0] * blocks, horizon=500, gaps=0.1, constants="printed")


def test_no_switch_after_the_last_block():
    """Errata 14: what λ_{N+1} would be does not change the corrected bound."""
    K, T = 4, 200
    blocks = len(naive_bounds.theorem_4_schedule(T, K, lambda n: 1.0)[0])
    values = {
        constants: [
            bounds.theorem_4_constrained(
                n_arms=K, costs=[1.0] * blocks + [beyond], horizon=T, gaps=0.1, constants=constants
            )
            for beyond in (0.0, 1.0, 100.0)
        ]
        for constants in ("corrected", "printed")
    }
    assert len(set(values["corrected"])) == 1
    assert sorted(set(values["printed"])) == values["printed"]


def test_last_block_counts_as_played():
    """Errata 34: a last block of which one round is played is divided by 1, not by its planned length."""
    K, gap, lam = 2, 1.0, lambda n: 0.0 if n == 1 else 400.0
    planned = naive_bounds.theorem_4_schedule(2, K, lam)[1][-1]
    assert planned > 100
    case = {"n_arms": K, "costs": lam, "gaps": gap}
    one = bounds.theorem_4_constrained(**case, horizon=2)
    whole = bounds.theorem_4_constrained(**case, horizon=1 + planned)
    numerator = (11 * 400 + 10) ** 2 / 4
    assert one - whole == pytest.approx(numerator * (1 - 1 / planned), rel=1e-9)


def test_costs_beyond_any_horizon():
    """A block longer than 2⁶³ rounds is still one block."""
    assert bounds.theorem_4(n_arms=2, costs=1e60, horizon=100) == pytest.approx(7e60)
    assert bounds.theorem_4_constrained(n_arms=2, costs=1e60, horizon=100, gaps=1.0) == pytest.approx(121e120 / 400)


@pytest.mark.slow
@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=30), arms, st.data())
def test_lemma_8_agrees_with_naive(lams, K, data):
    P = [naive.exp3_weights(data.draw(st.lists(st.floats(0, 3), min_size=K, max_size=K)), 1.0) for _ in lams]
    j = data.draw(st.integers(0, K - 1))
    elsewhere = [1 - p[j] for p in P]
    expected = naive_bounds.lemma_8(lams, P, j)
    assert bounds.lemma_8(costs=lams, elsewhere=elsewhere) == pytest.approx(expected, rel=1e-9)
    printed = bounds.lemma_8(costs=[*lams, 3.5], elsewhere=elsewhere, constants="printed")
    assert printed == pytest.approx(naive_bounds.lemma_8(lams, P, j, 3.5), rel=1e-9)


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6), st.data())
def test_lemma_8_bounds_the_expected_cost(lams, data):
    """Three arms drawn independently: the exact expected switching cost is below the bound for every j."""
    P = [naive.exp3_weights(data.draw(st.lists(st.floats(0, 5), min_size=3, max_size=3)), 1.0) for _ in lams]
    exact = lams[0]
    for n in range(1, len(lams)):
        exact += lams[n] * (1 - sum(a * b for a, b in zip(P[n - 1], P[n], strict=True)))
    for j in range(3):
        assert exact <= bounds.lemma_8(costs=lams, elsewhere=[1 - p[j] for p in P]) + 1e-9


def test_lemma_8_with_one_cost():
    assert bounds.lemma_8(costs=2.0, elsewhere=[0.5, 0.25]) == 2 + 4 * 0.5 + 2 * 0.25
    assert bounds.lemma_8(costs=lambda n: 2.0, elsewhere=[0.5, 0.25], constants="printed") == 2 + 4 * 0.75


ALPHAS = [0.05, 0.25, 0.5, 1.0, 1.5, 2.5]


def corollary_5_from_the_proof(K, alpha, T, gaps, *, corrected):
    """Term by term; printed: the last display with N̄ + 1 for N."""
    most = (alpha + 1.5) ** (2 / (2 * alpha + 3)) * (alpha + 1) ** (1 / (2 * alpha + 3))
    most *= K ** (1 / (2 * alpha + 3)) * T ** (2 / (2 * alpha + 3))
    n = min(most + 1, T) if corrected else most + 1
    if corrected:
        first = 36 * 4**alpha * math.sqrt(alpha + 1) * math.sqrt(K) * (1 + n ** (alpha + 0.5) / (alpha + 0.5))
        second = 60 * math.sqrt(2) * 2**alpha * (1 + n ** (alpha + 0.5) / (alpha + 0.5) + max(1, n ** (alpha - 0.5)))
        third = 50 * math.log(n) + 50
        N_0 = math.ceil(128 / 9 * (math.sqrt(alpha + 1) + 1) ** 2)
        rest = 2 * math.sqrt(2) * (N_0 + 1) ** (alpha + 1) / ((alpha + 1) * math.sqrt(K)) + 4 * math.sqrt(2 * N_0) + 3
    else:
        first = 36 * 4**alpha * math.sqrt(alpha + 1) * (alpha + 0.5)
        first *= (alpha + 1.5) ** ((2 * alpha + 1) / (2 * alpha + 3))
        first *= (alpha + 1) ** ((alpha + 0.5) / (2 * alpha + 3))
        first *= T ** ((2 * alpha + 1) / (2 * alpha + 3)) * K ** ((2 * alpha + 2) / (2 * alpha + 3))
        first += 36 * (alpha + 2) * 4**alpha * math.sqrt(alpha + 1) * math.sqrt(K)
        second = 60 * math.sqrt(2) * 2**alpha * ((alpha + 0.5) * n ** (alpha + 0.5) + 1 + n ** (alpha - 0.5))
        third = 50 * math.log(T) + 50
        base = 32 / 9 * (math.sqrt(alpha + 1) + 1) ** 2 + 2
        rest = 2 * math.sqrt(2) * base ** (alpha + 1) / ((alpha + 1) * math.sqrt(K)) + 11 * math.sqrt(alpha + 1) + 20
    return sum((first + 36 * (n + 1) ** (2 * alpha) + second + third) / gap for gap in gaps) + rest


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize(("K", "T"), [(2, 1), (2, 50), (8, 10**5), (30, 10**9)])
def test_corollary_5_is_its_proof(alpha, corrected, K, T):
    gaps = [0.5 / i for i in range(1, K)]
    constants = "corrected" if corrected else "printed"
    value = bounds.corollary_5(n_arms=K, alpha=alpha, horizon=T, gaps=gaps, constants=constants)
    assert value == pytest.approx(corollary_5_from_the_proof(K, alpha, T, gaps, corrected=corrected), rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS)
@given(arms, st.integers(1, 10**5), st.floats(0.01, 1.0))
def test_corollary_5_bounds_theorem_4(alpha, K, T, gap):
    """Errata 16, 17, 33 and 38: the corrected closed form is above the theorem it simplifies."""
    assume(COMPILED or T <= 2000)
    case = {"n_arms": K, "horizon": T, "gaps": gap}
    closed = bounds.corollary_5(**case, alpha=alpha)
    for constants in ("corrected", "printed"):
        assert closed >= bounds.theorem_4_constrained(**case, costs=lambda n: n**alpha, constants=constants)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("K", [2, 8, 50])
def test_corollary_5_is_stable_from_its_N_0(alpha, K):
    """Errata 33: η_n|B_n| ≤ 1/4 needs n ≥ 128/9 (√(α+1) + 1)²; the printed 32/9 is where it is about 1/2."""
    unstable = run_of_blocks(K, lambda n: n**alpha, 20_000)[UNSTABLE]
    size = (math.sqrt(alpha + 1) + 1) ** 2
    assert unstable < math.ceil(128 / 9 * size)
    at_printed = 2 * math.sqrt(2) / (3 * math.sqrt(32 / 9 * size)) * math.sqrt(size)
    assert at_printed == pytest.approx(0.5)
    if 0.5 <= alpha <= 1.5 and K == 2:
        assert unstable >= math.ceil(32 / 9 * size)


def test_corollary_5_sum():
    """Errata 17: Σ n^{α−1/2} ≤ 1 + N^{α+1/2}/(α + 1/2); the printed factor (α + 1/2) is too small below α = 1/2."""
    for alpha in (0.05, 0.25, 0.4, 0.5, 1.0, 2.0):
        blocks = 10**4
        total = sum(n ** (alpha - 0.5) for n in range(1, blocks))
        power = blocks ** (alpha + 0.5)
        assert total <= 1 + power / (alpha + 0.5)
        assert (total <= 1 + (alpha + 0.5) * power) == (alpha >= 0.5)


def test_corollary_5_number_of_blocks():
    for alpha in ALPHAS:
        for T in (1, 10, 1000, 50_000):
            assert run_of_blocks(5, lambda n, alpha=alpha: n**alpha, T)[N] <= most_blocks(5, alpha, T) + 1


def test_corollary_5_last_display():
    """Errata 38: (N̄ + 1)^β ≤ N̄^β + constant fails for β = α + 1/2 > 1. Errata 39: N^{α−1/2} may fall with N."""
    alpha, most = 1.0, 1000.0
    assert (alpha + 0.5) * (most + 1) ** (alpha + 0.5) > (alpha + 0.5) * most ** (alpha + 0.5) + alpha + 1
    alpha = 0.25
    assert (most + 1) ** (alpha - 0.5) < most ** (alpha - 0.5) < 1


@pytest.mark.parametrize("alpha", [0.1, 0.9, 1.1, 1.5, 4.0])
def test_corollary_5_exponents(alpha):
    """Errata 18: the adversarial bound is sublinear for every α and the better one beyond α = 1."""
    powers = bounds.corollary_5_exponents(alpha=alpha)
    assert powers.horizon < 1
    constrained = max(powers.blocks.horizon, powers.last_block.horizon)
    assert (constrained < 1) == (alpha < 1.5)
    assert (powers.adversarial.horizon < constrained) == (alpha > 1)
    T, K, gap = 1e20, 8, 1.0
    growth = bounds.corollary_5(n_arms=K, alpha=alpha, horizon=T * 1e6, gaps=gap)
    growth /= bounds.corollary_5(n_arms=K, alpha=alpha, horizon=T, gaps=gap)
    assert math.log10(growth) / 6 == pytest.approx(constrained, abs=0.02)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="many blocks in plain Python")
@pytest.mark.parametrize("alpha", [0.5, 1.5, 3.0])
def test_adversarial_growth_under_power_costs(alpha):
    """Errata 18, the adversarial exponents, from the schedule itself."""

    def at(T, K=8):
        return bounds.theorem_4(n_arms=K, costs=lambda n: n**alpha, horizon=T)

    power = bounds.corollary_5_exponents(alpha=alpha).adversarial
    assert math.log10(at(1e10) / at(1e8)) / 2 == pytest.approx(power.horizon, abs=0.03)
    assert math.log2(at(1e10, 64) / at(1e10, 8)) / 3 == pytest.approx(power.arms, abs=0.05)


def test_corollary_5_too_large_for_a_double():
    assert bounds.corollary_5(n_arms=2, alpha=1e3, horizon=10**6, gaps=0.1) == math.inf


def test_theorem_4_rate_at_constant_cost():
    """Errata 19: with a constant λ Theorem 4's rate is 2 (high λ) to 6 (λ = 0) times smaller than Theorem 1's."""
    K, n = 8.0, 10**6
    roots = sum(math.sqrt(K / s) for s in range(1, n + 1))
    for lam, ratio in ((0.0, 6.0), (1000.0, 2.0)):
        one = schedules.theorem_1_rate(n, schedules.theorem_1_length(n, K, lam))
        assert one / schedules.theorem_4_rate(K, n * lam + roots) == pytest.approx(ratio, rel=0.01)
