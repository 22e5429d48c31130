"""A switching cost λ_n for each block: Theorem 4, Corollary 5 and Lemma 8."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from holdfast._numba.compile import kernel
from holdfast.bounds import inputs
from holdfast.bounds.inputs import AT_MOST_A_QUARTER, Constants, Gaps
from holdfast.checks import one_of, real_number
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array
from holdfast.schedules import theorem_4_increment, theorem_4_length, theorem_4_rate, whole_rounds

Costs: TypeAlias = float | Sequence[float] | Array | Callable[[int], float]

COUNTABLE = 2**53
"""Rounds are counted in doubles: exact up to here."""

N, COVERED, A, TOTAL, FIRST, COST, LENGTH, UNSTABLE, EARLY, SQUARES = range(10)


@kernel
def advance(x: Any, costs: Any, K: float, T: float) -> None:
    """Add blocks with the next λ_n of `costs` until T rounds are covered."""
    for lam in costs:
        if x[COVERED] >= T:
            return
        if x[N] > 0.0:  # the term of block n − 1 needs λ_n
            x[SQUARES] += (11.0 * x[COST] + lam + math.sqrt(200.0 / x[N])) ** 2 / (4.0 * x[LENGTH])
        else:
            x[FIRST] = lam
        x[N] += 1.0
        x[A] += theorem_4_increment(x[N], K, lam)
        length = theorem_4_length(K, lam, x[A])
        if length < COUNTABLE:
            length = whole_rounds(length)
        x[TOTAL] += lam
        unstable = theorem_4_rate(K, x[A]) * length > AT_MOST_A_QUARTER  # η_n|B_n| > 1/4
        if unstable or x[UNSTABLE] == x[N] - 1.0:
            x[EARLY] = x[TOTAL]  # Σ_{n≤N₀} λ_n, N₀ the block after the last unstable one
        if unstable:
            x[UNSTABLE] = x[N]
        x[COVERED] += length
        x[COST], x[LENGTH] = lam, length


def run_of_blocks(K: int, costs: object, T: int) -> Array:
    """The sums of both bounds after the N blocks of Theorem 4's schedule that cover T rounds."""
    x = np.zeros(10)
    for chunk in cost_chunks(costs):
        advance(x, chunk, float(K), float(T))
        if x[COVERED] >= T:
            return x
    rule = f"must have a cost for each block: {x[N]:.0f} blocks cover only {x[COVERED]:.0f} of {T} rounds"
    raise InvalidParameter("costs", rule, costs)


def cost_chunks(costs: object) -> Iterator[Array]:
    """λ_1, λ_2, … piece by piece; a callable is never asked for a block that is not played."""
    if callable(costs):
        for n in itertools.count(1):
            yield np.array([_cost_of(costs, n)])
    elif inputs.single(costs):
        yield from itertools.repeat(np.full(4096, _cost_of(costs, 1)))
    else:
        yield _given(costs)


def _given(costs: object, least: int = 1) -> Array:
    """λ_1, λ_2, … of a sequence with at least so many entries."""
    lam = inputs.sequence("costs", costs)
    inputs.cost(float(lam.max()), "costs")
    if lam.size < least:
        raise InvalidParameter("costs", f"must have at least {least} entries", costs)
    return lam


def _cost_of(costs: object, n: int) -> float:
    """λ_n alone."""
    if callable(costs):
        return inputs.cost(costs(n), f"costs({n})")
    return inputs.cost(costs, "costs") if inputs.single(costs) else float(_given(costs, n)[n - 1])


def theorem_4(*, n_arms: int, costs: Costs, horizon: float) -> float:
    """Theorem 4, any losses, block n costing λ_n if the arm changes: Σ_{n≤N} 7λ_n + 12√(KN) + 2.

    `costs` is λ_n as a function of n = 1, 2, …, as a sequence, or one number for all blocks. N is counted by
    running Theorem 4's schedule until it covers T rounds. The costs must not depend on the policy's own
    draws (errata, point 20).

    Parameters
    ----------
    n_arms, costs, horizon
        K arms, λ_n for block n, T rounds.
    """
    K = inputs.arms(n_arms)
    x = run_of_blocks(K, costs, inputs.rounds(horizon, COUNTABLE))
    return float(7 * x[TOTAL] + 12 * math.sqrt(K * x[N]) + 2)


def theorem_4_constrained(
    *, n_arms: int, costs: Costs, horizon: float, gaps: Gaps, constants: Constants = "corrected"
) -> float:
    """Theorem 4, fixed gaps and one best arm i*.

    Σ_{n≤N} Σ_{i≠i*} (11λ_n + λ_{n+1} + 10√2/√n)²/(4Δ_i|B_n|) + Σ_{n≤N₀} 2√2 λ_n/√K + 4√(2N₀) + λ_1 + 2.

    N₀ is the first block from which η_n|B_n| ≤ 1/4 holds to the end, N if there is none. "corrected": there is
    no switch after block N, so λ_{N+1} = 0 (errata, point 14), and |B_N| is what is left of T, as in the
    identity for R_T that the proof starts from (point 34). "printed": λ_{N+1} and |B_N| as scheduled.

    Parameters
    ----------
    n_arms, costs, horizon
        K arms, λ_n for block n, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, inputs.CONSTANTS)
    K, T = inputs.arms(n_arms, least=2), inputs.rounds(horizon, COUNTABLE)
    inverse = inputs.inverse_gaps(gaps, K)
    x = run_of_blocks(K, costs, T)
    if constants == "corrected":
        following, last = 0.0, T - (x[COVERED] - x[LENGTH])
    else:
        following, last = _cost_of(costs, int(x[N]) + 1), x[LENGTH]
    squares = x[SQUARES] + (11 * x[COST] + following + math.sqrt(200 / x[N])) ** 2 / (4 * last)
    N_0 = min(x[UNSTABLE] + 1, x[N])
    start = 2 * math.sqrt(2 / K) * x[EARLY] + 4 * math.sqrt(2 * N_0) + x[FIRST] + 2
    return float(squares * inverse + start)


def corollary_5(*, n_arms: int, alpha: float, horizon: float, gaps: Gaps, constants: Constants = "corrected") -> float:
    """Corollary 5: Theorem 4's constrained bound in closed form for λ_n = n^α, α > 0, constants as in its proof.

    With N̄ = (α + 3/2)^{2/(2α+3)} ((α + 1)K)^{1/(2α+3)} T^{2/(2α+3)}, N = N̄ + 1 ≥ the number of blocks,
    S = 1 + N^{α+1/2}/(α + 1/2) ≥ Σ_{n<N} n^{α−1/2} and N₀ = ⌈128/9 (√(α+1) + 1)²⌉:

    Σ_{i≠i*} (36·4^α √((α+1)K) S + 36(N+1)^{2α} + 60√2·2^α (S + max(1, N^{α−1/2})) + 50 ln N + 50)/Δ_i
    + 2√2 (N₀+1)^{α+1}/((α+1)√K) + 4√(2N₀) + 3.

    "printed" is the last display of the proof with N̄ + 1 for its N: (α + 1/2)N^{α+1/2} for the sum, too small for
    α < 1/2 (errata, point 17), and 32/9 for 128/9 (point 33). A bound too large for a double is infinite.

    Parameters
    ----------
    n_arms, alpha, horizon
        K arms, λ_n = n^α, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, inputs.CONSTANTS)
    K, T = inputs.arms(n_arms, least=2), inputs.rounds(horizon)
    alpha = real_number("alpha", alpha, above=0)
    inverse = inputs.inverse_gaps(gaps, K)
    try:
        return (_corollary_5 if constants == "corrected" else _corollary_5_printed)(K, alpha, T, inverse)
    except OverflowError:
        return math.inf


def most_blocks(K: int, alpha: float, T: int) -> float:
    """N̄ of Corollary 5's proof."""
    exponent = 2 * alpha + 3
    return float((alpha + 1.5) ** (2 / exponent) * ((alpha + 1) * K) ** (1 / exponent) * T ** (2 / exponent))


def _corollary_5(K: int, alpha: float, T: int, inverse: float) -> float:
    blocks = min(most_blocks(K, alpha, T) + 1, float(T))
    sums = 1 + blocks ** (alpha + 0.5) / (alpha + 0.5)
    per_gap = 36 * 4**alpha * math.sqrt((alpha + 1) * K) * sums + 36 * (blocks + 1) ** (2 * alpha)
    per_gap += 60 * math.sqrt(2) * 2**alpha * (sums + max(1.0, blocks ** (alpha - 0.5))) + 50 * math.log(blocks) + 50
    N_0 = math.ceil(128 / 9 * (math.sqrt(alpha + 1) + 1) ** 2)
    start = 2 * math.sqrt(2 / K) * (N_0 + 1) ** (alpha + 1) / (alpha + 1) + 4 * math.sqrt(2 * N_0) + 3
    return float(per_gap * inverse + start)


def _corollary_5_printed(K: int, alpha: float, T: int, inverse: float) -> float:
    most = most_blocks(K, alpha, T)
    blocks, root = most + 1, math.sqrt(alpha + 1)
    per_gap = 36 * 4**alpha * root * math.sqrt(K) * ((alpha + 0.5) * most ** (alpha + 0.5) + alpha + 2)
    per_gap += 36 * (blocks + 1) ** (2 * alpha) + 50 * math.log(T) + 50
    per_gap += 60 * math.sqrt(2) * 2**alpha * ((alpha + 0.5) * blocks ** (alpha + 0.5) + 1 + blocks ** (alpha - 0.5))
    start = 2 * math.sqrt(2) * (32 / 9 * (root + 1) ** 2 + 2) ** (alpha + 1) / ((alpha + 1) * math.sqrt(K))
    return float(per_gap * inverse + start + 11 * root + 20)


class Growth(NamedTuple):
    """K^arms T^horizon."""

    arms: float
    horizon: float


@dataclass(frozen=True)
class Exponents:
    """How the bounds grow for λ_n = n^α: each constrained term (times Σ 1/Δ_i), and the adversarial bound."""

    blocks: Growth
    last_block: Growth
    adversarial: Growth

    @property
    def horizon(self) -> float:
        """The exponent of T in the better of the two bounds; below 1 for every α."""
        return min(max(self.blocks.horizon, self.last_block.horizon), self.adversarial.horizon)


def corollary_5_exponents(*, alpha: float) -> Exponents:
    """The powers of K and T in Corollary 5, and in Theorem 4's adversarial bound under the same costs n^α.

    Corollary 5: K^{(2α+2)/(2α+3)} T^{(2α+1)/(2α+3)} + K^{2α/(2α+3)} T^{4α/(2α+3)}, which the paper calls sublinear
    "as long as α < 3/2". The adversarial bound is K^{(α+1)/(2α+3)} T^{(2α+2)/(2α+3)}: sublinear for every α, and of
    smaller order in T than the constrained one once α > 1 (errata, point 18).

    >>> corollary_5_exponents(alpha=1.5).last_block.horizon, corollary_5_exponents(alpha=1.5).horizon
    (1.0, 0.8333333333333334)
    """
    alpha = real_number("alpha", alpha, above=0)
    d = 2 * alpha + 3
    return Exponents(
        blocks=Growth((2 * alpha + 2) / d, (2 * alpha + 1) / d),
        last_block=Growth(2 * alpha / d, 4 * alpha / d),
        adversarial=Growth((alpha + 1) / d, (2 * alpha + 2) / d),
    )


def lemma_8(*, costs: Costs, elsewhere: ArrayLike, constants: Constants = "corrected") -> float:
    """Lemma 8: the expected switching cost is at most λ_1 + Σ_{n≤N} (λ_n + λ_{n+1}) P(I_n ≠ j), for any arm j.

    `elsewhere` holds P(I_n ≠ j) for n = 1 … N. Nothing is paid after block N: λ_{N+1} = 0, or as given with
    "printed" (errata, point 14).

    Parameters
    ----------
    costs
        λ_n as a function of n = 1, 2, …, as a sequence, or one number for all blocks.
    elsewhere
        P(I_n ≠ j) for n = 1, …, N.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, inputs.CONSTANTS)
    away = inputs.sequence("elsewhere", elsewhere)
    if away.max() > 1 + 1e-9:
        raise InvalidParameter("elsewhere", "must hold probabilities, at most 1", elsewhere)
    known = away.size + (constants == "printed")
    lam = np.zeros(away.size + 1)  # λ_{N+1} = 0 unless printed
    if callable(costs) or inputs.single(costs):
        lam[:known] = [_cost_of(costs, n) for n in range(1, known + 1)]
    else:
        lam[:known] = _given(costs, known)[:known]
    return float(lam[0] + np.sum((lam[:-1] + lam[1:]) * away))
