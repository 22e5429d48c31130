"""Block lengths and learning rates of each theorem, used by the policies *and* by the bounds.

The paper's a_n is one thing in Theorem 1 and another in Theorem 4; both are here under their theorem's name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from holdfast._numba.compile import kernel

LONGEST = 2.0**53
"""Longest game: rounds are counted in doubles, exact up to here."""


@kernel
def whole_rounds(a: float) -> float:
    """Return max(⌈a⌉, 1), forgiving the last eight bits of rounding in `a`.

    A plain ⌈a⌉ in floating point is one too many where `a` should be an exact integer (λ = 1, K = 3, n = 12
    gives 4 for 3). The schedules below are within four units in the last place of their exact values.
    """
    rounds = math.ceil((a if a < LONGEST else LONGEST) * (1.0 - 8.9e-16)) * 1.0
    return rounds if rounds > 1.0 else 1.0


@kernel
def theorem_1_length(n: float, K: float, lam: float) -> float:
    """Return a_n = (3λ/2)√(n/K) of Theorem 1; the block has max(⌈a_n⌉, 1) rounds."""
    return 1.5 * lam * math.sqrt(n / K)  # a_n = (3λ/2)√(n/K)    Theorem 1


@kernel
def theorem_1_rate(n: float, a: float) -> float:
    """Return η_n = 2/(a_n + 1) · √(2/n) of Theorem 1; at λ = 0 it is 2√2/√n."""
    return 2.0 / (a + 1.0) * math.sqrt(2.0 / n)  # η_n = 2/(a_n + 1)·√(2/n)    Theorem 1


@kernel
def theorem_4_increment(n: float, K: float, lam: float) -> float:
    """Return λ_n + √(K/n), by which a_n of Theorem 4 grows: a_n = Σ_{s≤n} (λ_s + √(K/s)) (errata, point 1)."""
    return lam + math.sqrt(K / n)  # a_n − a_{n−1}    Theorem 4


@kernel
def theorem_4_length(K: float, lam: float, a: float) -> float:
    """Return √(λ_n a_n/K) of Theorem 4; the block has max(⌈·⌉, 1) rounds."""
    return math.sqrt(lam * a / K)  # √(λ_n a_n/K)    Theorem 4


@kernel
def theorem_4_rate(K: float, a: float) -> float:
    """Return η_n = 2√(2K)/(3a_n) of Theorem 4."""
    return 2.0 * math.sqrt(2.0 * K) / (3.0 * a)  # η_n = 2√(2K)/(3a_n)    Theorem 4


@kernel
def corollary_3_rate(t: float, B: float) -> float:
    """Return η_t = 2/(B√t) of Corollary 3."""
    return 2.0 / (B * math.sqrt(t))  # η_t = 2/(B√t)    Corollary 3


@kernel
def theorem_2_rate(sum_of_squares: float) -> float:
    """Return η_t = 2/√(Σ_{s≤t} b_s²) for the announced ranges b_t of Theorem 2.

    The theorem leaves the rate open. This one balances its two terms, needs nothing in advance, is
    non-increasing, and is Corollary 3's when every b_t = B: regret ≤ 4√(K Σ b_t²) + 1.
    """
    return 2.0 / math.sqrt(sum_of_squares)


@kernel
def exp3_rate(t: float, K: float) -> float:
    """Return η_t = √(ln K/(tK)): EXP3 for losses with a rate that needs no horizon (Bubeck and Cesa-Bianchi 2012)."""
    return math.sqrt(math.log(K) / (t * K))


def exp3_block(switching_cost: float, horizon: float, n_arms: int) -> int:
    """Return max(1, ⌈λ^{2/3}(T/K)^{1/3}⌉), the block length of the paper's block EXP3, T known (errata, point 24)."""
    cubed = as_written(switching_cost) ** 2 * int(horizon) / n_arms
    return max(1, least_root(cubed, 3))


def as_written(number: float) -> Fraction:
    """Return the decimal as written: 0.025 is 1/40, not the nearest double."""
    return Fraction(repr(float(number)))


def least_root(number: Fraction, k: int, near: float | None = None) -> int:
    """Return the least integer m ≥ 0 with m^k ≥ `number`, exactly, searched from `near` in steps that double."""
    m = max(0, math.floor(float(number) ** (1 / k) if near is None else near))
    low, high, step = m - 1, m, 1  # sought: low^k < number ≤ high^k
    while low >= 0 and low**k >= number:
        low, high, step = low - step, low, 2 * step
    while high**k < number:
        low, high, step = high, high + step, 2 * step
    low = max(low, -1)
    while high - low > 1:
        m = (low + high) // 2
        low, high = (low, m) if m**k >= number else (m, high)
    return high


def floor_power(base: int, exponent: Fraction) -> int:
    """Return ⌊base^exponent⌋: the largest m with m^q ≤ base^p, exactly while the powers stay writable."""
    p, q = exponent.as_integer_ratio()
    near: float = base ** float(exponent)
    if q > 4096:
        return math.floor(near * (1 + 1e-12))
    return least_root(Fraction(base**p + 1), q, near) - 1


def theorem_1_runs(n_arms: int, switching_cost: float, horizon: float) -> Iterator[tuple[int, int, int]]:
    """Yield the blocks of Theorem 1 that cover `horizon`, as runs of equal length: (first n, how many, length).

    Exact: block n has the least m ≥ 1 with 4Km² ≥ 9λ²n, in rational arithmetic. The last block is left
    untruncated. The number of runs is at most the number of different lengths.
    """
    left, n = int(horizon), 1
    if switching_cost == 0:
        yield 1, left, 1
        return
    per_length = Fraction(4 * n_arms) / (9 * as_written(switching_cost) ** 2)  # n ≤ m²·this has length ≤ m
    while left > 0:
        m = max(1, math.isqrt(math.ceil(n / per_length) - 1) + 1)
        last = math.floor(m * m * per_length)
        count = min(last - n + 1, -(-left // m))
        yield n, count, m
        n, left = n + count, left - count * m


def number_of_blocks(n_arms: int, switching_cost: float, horizon: float) -> int:
    """Return N, the number of blocks of Theorem 1 that cover `horizon` rounds, exactly.

    >>> [number_of_blocks(8, lam, 100_000) for lam in (0, 0.025, 0.1, 1, 10)]
    [100000, 42815, 18722, 4247, 925]
    """
    return sum(count for _, count, _ in theorem_1_runs(n_arms, switching_cost, horizon))
