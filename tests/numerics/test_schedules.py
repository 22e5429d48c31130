"""Block lengths and learning rates: the paper's numbers, exact rounding, the bound on the number of blocks."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import naive
import naive_bounds
import pytest
from every_policy import varying_cost
from hypothesis import assume, example, given
from strategies import decimal_costs, exact_lengths

from holdfast.numerics import schedules
from holdfast.numerics.schedules import number_of_blocks, theorem_1_length, theorem_1_rate, theorem_1_runs, whole_rounds

pytestmark = pytest.mark.plain


def length(n: int, K: int, lam: float | str) -> float:
    """|B_n| as the kernel plays it."""
    return whole_rounds(theorem_1_length(float(n), float(K), float(lam)))


@pytest.mark.parametrize(("lam", "blocks"), [(0, 100_000), (0.025, 42_815), (0.1, 18_722), (1, 4_247), (10, 925)])
def test_block_counts(lam, blocks):
    """N for T = 10⁵ and K = 8: in closed form, and by adding up the lengths the kernel plays."""
    assert number_of_blocks(8, lam, 100_000) == blocks
    covered, n = 0.0, 0
    while covered < 100_000:
        n += 1
        covered += length(n, 8, lam)
    assert n == blocks


@given(st.integers(1, 10**6), st.integers(1, 1000), decimal_costs)
def test_lengths_are_exact(n, K, lam):
    assert length(n, K, lam) == naive.theorem_1_length(n, K, lam)


@given(exact_lengths())
@example((12, 3, "1"))  # 3√12/(2√3) is 3, and 3.0000000000000004 in floating point
@example((51_200, 8, "0.025"))
@example((3_200, 8, "0.1"))
@example((1, 1, "2"))
@example((1, 8, "0"))
def test_lengths_are_exact_next_to_whole_numbers(case):
    """Where a_n is not a whole number it is off by at least 1/(18·numerator(λ)²·n) of itself: more than rounding."""
    n, K, lam = case
    assume(18 * Fraction(lam).numerator ** 2 * n < 10**14)
    assert length(n, K, lam) == naive.theorem_1_length(n, K, lam)


@given(st.integers(1, 64), decimal_costs, st.integers(1, 3000))
def test_runs_are_the_blocks_one_by_one(K, lam, T):
    runs = list(theorem_1_runs(K, float(lam), T))
    blocks = [m for _, count, m in runs for _ in range(count)]
    assert blocks == [naive.theorem_1_length(n, K, lam) for n in range(1, len(blocks) + 1)]
    assert [first for first, _, _ in runs] == [1 + sum(r[1] for r in runs[:i]) for i in range(len(runs))]
    assert sum(blocks) >= T > sum(blocks[:-1])
    assert len(blocks) == naive_bounds.theorem_1_blocks(T, K, lam)


@given(st.integers(1, 1000), decimal_costs, st.integers(1, 10**9))
def test_the_number_of_blocks_is_within_its_bound(K, lam, T):
    """N ≤ K^{1/3}(T/λ)^{2/3} + 1, the step of the proof of Theorem 1 that everything rests on."""
    assert number_of_blocks(K, float(lam), T) <= naive_bounds.theorem_1_blocks_bound(T, K, float(lam)) * (1 + 1e-12)


@given(st.integers(1, 1000), st.integers(1, 10**6))
def test_no_blocks_at_zero_cost(K, n):
    """λ = 0 (errata, point 7): every block is one round, N = T, and nothing is divided by λ."""
    assert length(n, K, 0) == 1
    assert number_of_blocks(K, 0, n) == n


@given(st.integers(1, 10**9), st.floats(0.1, 100))
def test_lambda_zero_rate_differs_from_corollary_3(n, B):
    """At λ = 0 Theorem 1 has 2√2/√n where Corollary 3 has 2/√t (errata, point 8): not a misprint, keep both."""
    assert schedules.corollary_3_rate(float(n), B) == pytest.approx(2 / (B * math.sqrt(n)), rel=1e-14)
    rate = math.sqrt(2) * schedules.corollary_3_rate(float(n), 1.0)
    assert theorem_1_rate(float(n), 0.0) == pytest.approx(rate, rel=1e-14)


def theorem_4(K: int, costs: list[float]) -> list[tuple[float, float]]:
    """(|B_n|, η_n) as the kernel plays them."""
    a, blocks = 0.0, []
    for n, lam in enumerate(costs, 1):
        a += schedules.theorem_4_increment(float(n), float(K), lam)
        rounds = whole_rounds(schedules.theorem_4_length(float(K), lam, a))
        blocks.append((rounds, schedules.theorem_4_rate(float(K), a)))
    return blocks


def test_theorem_4_sum_covers_both_terms():
    """a_n = Σ_{s≤n} (λ_s + √(K/s)) (errata, point 1): the sum covers the root too, so 1/a_n ≤ 1/√(Kn)."""
    K, costs = 4, [0.5, 0.0, 2.0]
    a = [0.5 + 2, 0.5 + 2 + math.sqrt(2), 2.5 + 2 + math.sqrt(2) + 2 / math.sqrt(3)]
    lengths = [1, 1, math.ceil(math.sqrt(2.0 * a[2] / K))]
    rates = [2 * math.sqrt(2 * K) / (3 * a_n) for a_n in a]
    for (rounds, eta), expected_rounds, expected_eta in zip(theorem_4(K, costs), lengths, rates, strict=True):
        assert rounds == expected_rounds
        assert eta == pytest.approx(expected_eta, rel=1e-14)
    for n, (_, eta) in enumerate(theorem_4(8, [0.0] * 200), 1):
        assert eta <= 2 * math.sqrt(2 * 8) / (3 * math.sqrt(8 * n))


@given(st.integers(1, 100), st.lists(st.floats(0, 50), min_size=1, max_size=60))
def test_theorem_4_agrees_with_the_naive_schedule(K, costs):
    oracle = naive.VaryingTsallisSwitch(K)
    for n, (block, lam) in enumerate(zip(theorem_4(K, costs), costs, strict=True), 1):
        rounds, eta = oracle.schedule(n, lam)
        assert block == (rounds, pytest.approx(eta, rel=1e-13))


@given(st.integers(1, 1000), st.floats(0, 100), st.integers(1, 10**6))
def test_rates_do_not_increase(K, lam, n):
    """Algorithm 1 asks for non-increasing rates where Theorem 2 is printed with "non-decreasing" (errata, point 2)."""

    def theorem_1(n: int) -> float:
        return theorem_1_rate(float(n), theorem_1_length(float(n), float(K), lam))

    assert theorem_1(n) == pytest.approx(2 / (1.5 * lam * math.sqrt(n / K) + 1) * math.sqrt(2 / n), rel=1e-13)
    assert theorem_1(n + 1) <= theorem_1(n)
    assert schedules.corollary_3_rate(n + 1.0, 3.0) <= schedules.corollary_3_rate(float(n), 3.0)
    assert schedules.exp3_rate(n + 1.0, float(K)) <= schedules.exp3_rate(float(n), float(K))
    assert schedules.theorem_2_rate(n + 0.25) <= schedules.theorem_2_rate(float(n))
    rates = [eta for _, eta in theorem_4(K, [varying_cost(s) for s in range(1, 40)])]
    assert rates == sorted(rates, reverse=True)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=50))
def test_theorem_2_rate_is_corollary_3s_when_the_range_stays(bounds):
    oracle = naive.TsallisInfAnnounced(2)
    for n, b in enumerate(bounds, 1):
        _, eta = oracle.schedule(n, b)
    assert schedules.theorem_2_rate(sum(b * b for b in bounds)) == pytest.approx(eta, rel=1e-12)
    n, B = len(bounds), bounds[0]
    assert schedules.theorem_2_rate(n * B * B) == pytest.approx(schedules.corollary_3_rate(float(n), B), rel=1e-14)


@given(st.fractions(0, 10**12), st.integers(1, 6))
def test_least_root(number, k):
    m = schedules.least_root(number, k)
    assert m**k >= number
    assert m == 0 or (m - 1) ** k < number


@given(st.integers(1, 10**12), st.integers(1, 40), st.integers(1, 40))
def test_floor_power(base, p, q):
    p = min(p, q)
    assert schedules.floor_power(base, Fraction(p, q)) == naive.floor_power(base, p, q)
