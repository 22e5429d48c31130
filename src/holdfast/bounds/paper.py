"""The paper's bounds, and their inputs: arms, rounds, gaps, and which constants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import kernel
from holdfast.checks import one_of, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.schedules import theorem_4_increment, theorem_4_length, theorem_4_rate, whole_rounds

Gaps: TypeAlias = float | Sequence[float] | NDArray[Any]
Constants: TypeAlias = Literal["corrected", "printed"]
CONSTANTS = ("corrected", "printed")

LONGEST = 10**30
"""Largest horizon: beyond it some term would overflow a double."""

COSTLIEST = 1e100
"""Largest switching cost: its square must fit in a double."""

AT_MOST_A_QUARTER = 0.25 * (1 + 1e-12)
"""Limit 1/4 on η_t b_t, with room for rounding: Corollary 3 meets it with equality at t = 64 (errata, point 36)."""


def arms(n_arms: object, least: int = 1) -> int:
    """Return K; a constrained bound needs two arms."""
    return whole_number("n_arms", n_arms, least=least)


def rounds(horizon: object, most: int = LONGEST) -> int:
    """Return T."""
    return whole_number("horizon", horizon, least=1, most=most)


def cost(value: object, parameter: str = "switching_cost") -> float:
    """Return λ."""
    number = real_number(parameter, value, least=0)
    if number > COSTLIEST:
        raise InvalidParameter(parameter, f"must be at most {COSTLIEST:g}", value)
    return number


def single(value: object) -> bool:
    """Tell whether `value` is one number rather than a sequence."""
    return isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0


@dataclass(frozen=True)
class GapSizes:
    """Summary of the gaps of the suboptimal arms; all zero if there are none."""

    inverse_sum: float = 0.0
    smallest: float = 0.0
    largest: float = 0.0


def gap_sizes(gaps: object, count: int) -> GapSizes:
    """Summarise the gaps of the `count` suboptimal arms, each in (0, 1]; a single number is the gap of all of them."""
    if single(gaps) or not isinstance(gaps, Iterable):
        gap = real_number("gaps", gaps, above=0)
        sizes = GapSizes(count * (1 / gap), gap, gap) if count else GapSizes()  # one number, however many the arms
    else:
        values = [real_number(f"gaps[{i}]", gap, above=0) for i, gap in enumerate(gaps)]
        if len(values) != count:
            raise InvalidParameter("gaps", f"must have one gap for each of the {count} suboptimal arms", gaps)
        inverse = math.fsum(1 / gap for gap in values)
        sizes = GapSizes(inverse, min(values), max(values)) if values else GapSizes()
    if sizes.largest > 1:
        raise InvalidParameter("gaps", "must be at most 1, as losses are (divide by the range of yours)", gaps)
    return sizes


def inverse_gaps(gaps: object, n_arms: int) -> float:
    """Return Σ_{i≠i*} 1/Δ_i."""
    return gap_sizes(gaps, n_arms - 1).inverse_sum


def sequence(parameter: str, values: object, *, above: float | None = None) -> Array:
    """Return a finite one-dimensional array, not empty and not negative (or strictly `above` a number)."""
    rule = "must be a sequence of finite numbers" + (", none negative" if above is None else f" above {above:g}")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidParameter(parameter, rule, values) from None
    if array.dtype.kind not in "iuf" or array.ndim != 1 or array.size == 0:
        raise InvalidParameter(parameter, rule, values)
    array = array.astype(np.float64)
    if not np.isfinite(array).all() or (array <= above if above is not None else array < 0).any():
        raise InvalidParameter(parameter, rule, values)
    return array


# A fixed switching cost λ: Theorem 1, its number of blocks, and the lower bound for any policy.


def blocks(*, n_arms: int, switching_cost: float, horizon: float) -> float:
    """Return the largest number of blocks of Theorem 1 over T rounds, K^{1/3}(T/λ)^{2/3} + 1 (first step of its proof).

    A block has at least one round, so never more than T; and exactly T where λ = 0, which the paper's
    expression would divide by (errata, point 7). `schedules.number_of_blocks` counts them exactly.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    """
    K, lam, T = arms(n_arms), cost(switching_cost), float(rounds(horizon))
    if lam == 0:
        return T
    return min(math.cbrt(K) * math.cbrt(T / lam) ** 2 + 1, T)


def theorem_1(
    *,
    n_arms: int,
    switching_cost: float,
    horizon: float,
    constants: Literal["corrected", "printed", "tight"] = "corrected",
) -> float:
    """Return Theorem 1's bound for any losses on regret and switching cost of Tsallis-Switch in T rounds.

    R_T + λS_T ≤ 5.25 (λK)^{1/3} T^{2/3} + 6.4 √(KT) + 3√(2K) + 5.25λ + 6.25.

    The printed constants hold, so "corrected" is "printed". The proof needs only + 1 at the end, not + 6.25:
    "tight" (errata, point 9).

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, ("corrected", "printed", "tight"))
    K, lam, T = arms(n_arms), cost(switching_cost), float(rounds(horizon))
    growing = 5.25 * math.cbrt(lam * K) * math.cbrt(T) ** 2 + 6.4 * math.sqrt(K * T)
    return growing + 3 * math.sqrt(2 * K) + 5.25 * lam + (1.0 if constants == "tight" else 6.25)


def theorem_1_constrained(*, n_arms: int, switching_cost: float, horizon: float, gaps: Gaps) -> float:
    """Return Theorem 1's bound for fixed gaps and one best arm i*.

    R_T + λS_T ≤ (66 (λK)^{2/3} T^{1/3} + 32 ln T + 160 λ^{2/3} T^{1/3} K^{1/6} + 160λ + 49λ² + 32) Σ_{i≠i*} 1/Δ_i
    + 544λ/√K + λ + 66.

    It grows more slowly than the adversarial bound but from a far higher start: in the paper's experiments it is
    the smaller of the two only from T ≈ 10^7.3 (λ = 0) to 10^11.4 (λ = 1) on. The 49λ² is the last block's, which
    may be cut to one round; it leads once λ exceeds about √K T^{1/4} (errata, point 31).

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    """
    K, lam, T = arms(n_arms, least=2), cost(switching_cost), float(rounds(horizon))
    third = math.cbrt(T)
    per_gap = 66 * math.cbrt(lam * K) ** 2 * third + 32 * math.log(T)
    per_gap += 160 * math.cbrt(lam) ** 2 * third * math.pow(K, 1 / 6) + 160 * lam + 49 * lam * lam + 32
    return per_gap * inverse_gaps(gaps, K) + 544 * lam / math.sqrt(K) + lam + 66


def lower_bound(*, n_arms: int, switching_cost: float, horizon: float) -> float:
    """Return the cost of any policy against some losses: (λK)^{1/3} T^{2/3}/(50 log₂ T), for T ≥ max(K, 6) and K ≥ 2.

    Dekel, Ding, Koren and Peres (2014), for λ = 1. The constant 50 is recalled, not read in their text; the
    factor λ^{1/3} follows from the scaling of their losses and is meaningful while λK ≤ T. The paper quotes the
    bound without its logarithm, so Theorem 1 is optimal up to log T, not up to constants (errata, point 21). The
    √(KT) that holds at λ = 0 too is left out: we have no constant for it.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    """
    K, lam, T = arms(n_arms, least=2), cost(switching_cost), float(rounds(horizon))
    if max(K, 6) > T:
        raise InvalidParameter("horizon", f"must be at least max(n_arms, 6) = {max(K, 6)}", horizon)
    return math.cbrt(lam * K) * math.cbrt(T) ** 2 / (50 * math.log2(T))


# No switching costs, losses of any range: Theorem 2, Corollary 3, and the bounds of the baselines.


def theorem_2(*, n_arms: int, learning_rates: ArrayLike, ranges: ArrayLike) -> float:
    """Return Theorem 2's bound for any losses in [0, b_t]: the regret of Tsallis-INF with rates η_1 ≥ η_2 ≥ … > 0.

    R_T ≤ √K (Σ_t η_t b_t²/2 + 4/η_T) + 1.

    `ranges` holds b_1 … b_T, or is one b for all rounds. The paper says "non-decreasing" rates for what its
    Algorithm 1 and its Lemma 7 require to be non-increasing (errata, point 2).

    Parameters
    ----------
    n_arms, learning_rates, ranges
        K; η_1, …, η_T, which must not increase; b_1, …, b_T, or one b for all rounds.
    """
    K = arms(n_arms)
    eta, b = _rates_and_ranges(learning_rates, ranges)
    return math.sqrt(K) * (float(np.sum(eta / 2 * b**2)) + 4 / float(eta[-1])) + 1


def theorem_2_constrained(
    *,
    n_arms: int,
    learning_rates: ArrayLike,
    ranges: ArrayLike,
    gaps: Gaps,
    constants: Constants = "corrected",
) -> float:
    """Return Theorem 2's bound for fixed gaps, one best arm i*; the mean gap is b_t Δ_i in round t (errata, point 6).

    R_T ≤ Σ_t Σ_{i≠i*} (7η_t b_t²/2 + 2c (1/η_t − 1/η_{t−1}))²/(4Δ_i b_t) + Σ_{t≤T₀} η_t b_t² + 2, with 1/η_0 = 0.

    T₀ is the first round from which η_t b_t ≤ 1/4 holds to the end, T if there is none (point 4). c is 2 where
    5η_t b_t²/4 ≥ 2 (1/η_t − 1/η_{t−1}), else 4: round by round if "corrected", as the argument is termwise; 4 for
    all rounds as soon as one fails the test if "printed", as in the paper's proof (point 5).

    Parameters
    ----------
    n_arms, learning_rates, ranges
        K; η_1, …, η_T, which must not increase; b_1, …, b_T, or one b for all rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, CONSTANTS)
    K = arms(n_arms, least=2)
    inverse = inverse_gaps(gaps, K)
    eta, b = _rates_and_ranges(learning_rates, ranges)
    rise = np.diff(1 / eta, prepend=0.0)
    passes = 1.25 * eta * b**2 >= 2 * rise
    c = np.where(passes if constants == "corrected" else passes.all(), 2.0, 4.0)
    root = 3.5 * eta * b**2 + 2 * c * rise
    with np.errstate(divide="ignore"):  # b_t = 0 costs nothing where η_t stays, and cannot be bounded where it falls
        terms = np.divide(root**2, 4 * b, out=np.zeros_like(root), where=root > 0)
    late = np.flatnonzero(eta * b > AT_MOST_A_QUARTER)
    T_0 = min(int(late[-1]) + 2, eta.size) if late.size else 1
    return float(np.sum(terms)) * inverse + float(np.sum(eta[:T_0] * b[:T_0] ** 2)) + 2


def _rates_and_ranges(learning_rates: Any, ranges: Any) -> tuple[Array, Array]:
    eta = sequence("learning_rates", learning_rates, above=0)
    if (np.diff(eta) > 0).any():
        raise InvalidParameter("learning_rates", "must not increase", learning_rates)
    if single(ranges):
        return eta, np.full_like(eta, real_number("ranges", ranges, least=0))
    b = sequence("ranges", ranges)
    if b.size != eta.size:
        raise InvalidParameter("ranges", f"must have as many entries as learning_rates ({eta.size})", ranges)
    return eta, b


def corollary_3(*, n_arms: int, horizon: float, loss_bound: float = 1.0) -> float:
    """Return Corollary 3's bound for any losses in [0, B]: R_T ≤ 4B√(KT) + 1 for Tsallis-INF with η_t = 2/(B√t).

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    loss_bound
        B, the largest loss of one round.
    """
    K, T = arms(n_arms), rounds(horizon)
    B = real_number("loss_bound", loss_bound, above=0)
    return 4 * B * math.sqrt(K * T) + 1


def corollary_3_constrained(
    *, n_arms: int, horizon: float, gaps: Gaps, loss_bound: float = 1.0, constants: Constants = "corrected"
) -> float:
    """Return Corollary 3's bound for fixed gaps and one best arm: R_T ≤ 21B (ln T + 1) Σ_{i≠i*} 1/Δ_i + 32B + 2.

    Printed with 8√B for 32B: the first 64 rounds give Σ η_t B² = Σ 2B/√t ≤ 32B, and a regret must scale with B
    (errata, point 3). Δ_i is the mean gap divided by B, in (0, 1] (point 35).

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    loss_bound
        B, the largest loss of one round.
    constants
        "corrected" (``docs/errata.md``), or "printed" as in the paper.
    """
    one_of("constants", constants, CONSTANTS)
    K, T = arms(n_arms, least=2), rounds(horizon)
    B = real_number("loss_bound", loss_bound, above=0)
    start = 32 * B if constants == "corrected" else 8 * math.sqrt(B)
    return 21 * B * (math.log(T) + 1) * inverse_gaps(gaps, K) + start + 2


Estimator = Literal["importance-weighted", "reduced-variance"]
_ESTIMATORS = ("importance-weighted", "reduced-variance")


def tsallis_inf(*, n_arms: int, horizon: float, estimator: Estimator = "importance-weighted") -> float:
    """Return Tsallis-INF's bound for any losses in [0, 1] (Zimmert and Seldin 2021): R_T ≤ 4√(KT) + 1.

    With the reduced-variance estimator: 2√(KT) + 10K ln T + 16. Switches are not bounded.

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    estimator
        The policy's own: importance-weighted or reduced-variance.
    """
    one_of("estimator", estimator, _ESTIMATORS)
    K, T = arms(n_arms), rounds(horizon)
    if estimator == "importance-weighted":
        return 4 * math.sqrt(K * T) + 1
    return 2 * math.sqrt(K * T) + 10 * K * math.log(T) + 16


def tsallis_inf_constrained(
    *,
    n_arms: int,
    horizon: float,
    gaps: Gaps,
    estimator: Estimator = "importance-weighted",
    corruption: float = 0.0,
) -> float:
    """Return Tsallis-INF's bound for fixed gaps up to a `corruption` C and one best arm (Zimmert and Seldin 2021).

    R_T ≤ Σ_{i≠i*} (4 ln T + 12)/Δ_i + 4 ln T + 1/Δ_min + 1.5√K + 8 + C; with the reduced-variance estimator
    Σ_{i≠i*} (ln T + 3)/Δ_i + 28K ln T + 1/Δ_min + 1.5√K + 32 + C. Switches are not bounded.

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    estimator
        The policy's own: importance-weighted or reduced-variance.
    corruption
        C, the total by which losses may differ from ones with fixed gaps.
    """
    one_of("estimator", estimator, _ESTIMATORS)
    K, T = arms(n_arms, least=2), rounds(horizon)
    log, C = math.log(T), real_number("corruption", corruption, least=0)
    sizes = gap_sizes(gaps, K - 1)
    shared = 1 / sizes.smallest + 1.5 * math.sqrt(K) + C
    if estimator == "importance-weighted":
        return (4 * log + 12) * sizes.inverse_sum + 4 * log + shared + 8
    return (log + 3) * sizes.inverse_sum + 28 * K * log + shared + 32


def exp3(*, n_arms: int, horizon: float) -> float:
    """Return EXP3's bound 2√(TK ln K), η_t = √(ln K/(tK)), losses in [0, 1] (Bubeck and Cesa-Bianchi 2012)."""
    K, T = arms(n_arms), rounds(horizon)
    return 2 * math.sqrt(T * K * math.log(K))


# A switching cost λ_n for each block: Theorem 4, Corollary 5 and Lemma 8.

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
    """Return the sums of both bounds after the N blocks of Theorem 4's schedule that cover T rounds."""
    x = np.zeros(10)
    for chunk in cost_chunks(costs):
        advance(x, chunk, float(K), float(T))
        if x[COVERED] >= T:
            return x
    rule = f"must have a cost for each block: {x[N]:.0f} blocks cover only {x[COVERED]:.0f} of {T} rounds"
    raise InvalidParameter("costs", rule, costs)


def cost_chunks(costs: object) -> Iterator[Array]:
    """Yield λ_1, λ_2, … piece by piece; a callable is never called for a block that is not played."""
    if callable(costs):
        for n in itertools.count(1):
            yield np.array([_cost_of(costs, n)])
    elif single(costs):
        yield from itertools.repeat(np.full(4096, _cost_of(costs, 1)))
    else:
        yield _given(costs)


def _given(costs: object, least: int = 1) -> Array:
    """Return λ_1, λ_2, … of a sequence with at least `least` entries."""
    lam = sequence("costs", costs)
    cost(float(lam.max()), "costs")
    if lam.size < least:
        raise InvalidParameter("costs", f"must have at least {least} entries", costs)
    return lam


def _cost_of(costs: object, n: int) -> float:
    """Return λ_n alone."""
    if callable(costs):
        return cost(costs(n), f"costs({n})")
    return cost(costs, "costs") if single(costs) else float(_given(costs, n)[n - 1])


def theorem_4(*, n_arms: int, costs: Costs, horizon: float) -> float:
    """Return Theorem 4's bound for any losses, block n costing λ_n if the arm changes: Σ_{n≤N} 7λ_n + 12√(KN) + 2.

    `costs` is λ_n as a function of n = 1, 2, …, as a sequence, or one number for all blocks. N is counted by
    running Theorem 4's schedule until it covers T rounds. The costs must not depend on the policy's own
    draws (errata, point 20).

    Parameters
    ----------
    n_arms, costs, horizon
        K arms, λ_n for block n, T rounds.
    """
    K = arms(n_arms)
    x = run_of_blocks(K, costs, rounds(horizon, COUNTABLE))
    return float(7 * x[TOTAL] + 12 * math.sqrt(K * x[N]) + 2)


def theorem_4_constrained(
    *, n_arms: int, costs: Costs, horizon: float, gaps: Gaps, constants: Constants = "corrected"
) -> float:
    """Return Theorem 4's bound for fixed gaps and one best arm i*.

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
    one_of("constants", constants, CONSTANTS)
    K, T = arms(n_arms, least=2), rounds(horizon, COUNTABLE)
    inverse = inverse_gaps(gaps, K)
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
    """Return Corollary 5: Theorem 4's constrained bound in closed form for λ_n = n^α, α > 0, constants as in its proof.

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
    one_of("constants", constants, CONSTANTS)
    K, T = arms(n_arms, least=2), rounds(horizon)
    alpha = real_number("alpha", alpha, above=0)
    inverse = inverse_gaps(gaps, K)
    try:
        return (_corollary_5 if constants == "corrected" else _corollary_5_printed)(K, alpha, T, inverse)
    except OverflowError:
        return math.inf


def most_blocks(K: int, alpha: float, T: int) -> float:
    """Return N̄ of Corollary 5's proof."""
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
    """Growth of the bounds for λ_n = n^α: each constrained term (times Σ 1/Δ_i), and the adversarial bound."""

    blocks: Growth
    last_block: Growth
    adversarial: Growth

    @property
    def horizon(self) -> float:
        """Exponent of T in the better of the two bounds; below 1 for every α."""
        return min(max(self.blocks.horizon, self.last_block.horizon), self.adversarial.horizon)


def corollary_5_exponents(*, alpha: float) -> Exponents:
    """Return the powers of K and T in Corollary 5, and in Theorem 4's adversarial bound under the same costs n^α.

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
    """Return Lemma 8's bound on expected switching cost, λ_1 + Σ_{n≤N} (λ_n + λ_{n+1}) P(I_n ≠ j), for any arm j.

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
    one_of("constants", constants, CONSTANTS)
    away = sequence("elsewhere", elsewhere)
    if away.max() > 1 + 1e-9:
        raise InvalidParameter("elsewhere", "must hold probabilities, at most 1", elsewhere)
    known = away.size + (constants == "printed")
    lam = np.zeros(away.size + 1)  # λ_{N+1} = 0 unless printed
    if callable(costs) or single(costs):
        lam[:known] = [_cost_of(costs, n) for n in range(1, known + 1)]
    else:
        lam[:known] = _given(costs, known)[:known]
    return float(lam[0] + np.sum((lam[:-1] + lam[1:]) * away))


# What the theorems are made of: stability, penalty, and how far one loss can move p.


def lemma_6(
    *, learning_rates: ArrayLike, ranges: ArrayLike, probabilities: ArrayLike, best: int | None = None
) -> float:
    """Return Lemma 6's bound on the stability of Tsallis-INF: Σ_n (η_n/2) b_n² Σ_i √E[p_{n,i}].

    With `best` j: Σ_n (η_n/2) b_n² [Σ_{i≠j} (√E[p_{n,i}] + 2.5 E[p_{n,i}]) + 1[η_n b_n > 1/4]], its third part,
    with the last sum over the rounds that need it.

    Parameters
    ----------
    learning_rates, ranges
        η_1 ≥ η_2 ≥ …; b_1, b_2, …, or one b for all rounds.
    probabilities
        E[p_{n,i}], a row for each round.
    best
        Arm j, any fixed one; None for the first part.
    """
    eta, b = _rates_and_ranges(learning_rates, ranges)
    p, others = _distributions(probabilities, eta.size, best)
    spread = np.sqrt(p).sum(axis=1)
    if best is not None:
        spread = (np.sqrt(others) + 2.5 * others).sum(axis=1) + (eta * b > AT_MOST_A_QUARTER)
    return float(np.sum(eta / 2 * b**2 * spread))


def lemma_7(*, learning_rates: ArrayLike, probabilities: ArrayLike, best: int | None = None) -> float:
    """Return Lemma 7's bound on the penalty of Tsallis-INF: 4√K/η_N + 1.

    With `best` i*: 4 Σ_n (1/η_n − 1/η_{n−1}) Σ_{i≠i*} (√E[p_{n,i}] − E[p_{n,i}]/2) + 1, with 1/η_0 = 0.

    Parameters
    ----------
    learning_rates
        η_1 ≥ η_2 ≥ ….
    probabilities
        E[p_{n,i}], a row for each round.
    best
        Arm i* of least loss; None for the first part.
    """
    eta, _ = _rates_and_ranges(learning_rates, 1.0)
    p, others = _distributions(probabilities, eta.size, best)
    if best is None:
        return 4 * math.sqrt(p.shape[1]) / float(eta[-1]) + 1
    rise = np.diff(1 / eta, prepend=0.0)
    return 4 * float(np.sum(rise * (np.sqrt(others) - others / 2).sum(axis=1))) + 1


def lemma_9(*, learning_rate: float, loss_bound: float) -> float:
    """Return the factor of Lemma 9, (1 − ηb/2)⁻³ ≤ 1.5: one loss of at most b raises no p_i^{3/2} by more.

    It holds where ηb ≤ 1/4.

    Parameters
    ----------
    learning_rate, loss_bound
        η and b.
    """
    eta, b = real_number("learning_rate", learning_rate, above=0), real_number("loss_bound", loss_bound, least=0)
    if eta * b > AT_MOST_A_QUARTER:
        raise InvalidParameter("learning_rate", f"must be at most 1/4 over loss_bound, {0.25 / b:g}", learning_rate)
    return (1 - eta * b / 2) ** -3


def _distributions(probabilities: Any, count: int, best: int | None) -> tuple[Array, Array]:
    """Return a row of probabilities for each round, and the same without the best arm."""
    p = np.asarray(probabilities, dtype=np.float64)
    rule = f"must have a row for each of the {count} rounds, each of numbers from 0 that sum to 1"
    if p.ndim != 2 or len(p) != count or not (p >= 0).all() or not (abs(p.sum(axis=1) - 1) < 1e-9).all():
        raise InvalidParameter("probabilities", rule, probabilities)
    if best is None:
        return p, p
    return p, np.delete(p, whole_number("best", best, least=0, most=p.shape[1] - 1), axis=1)
