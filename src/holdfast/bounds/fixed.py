"""A fixed switching cost λ: Theorem 1, its number of blocks, and what no policy can beat."""

from __future__ import annotations

import math
from typing import Literal

from holdfast.bounds import inputs
from holdfast.bounds.inputs import Gaps
from holdfast.checks import one_of
from holdfast.errors import InvalidParameter


def blocks(*, n_arms: int, switching_cost: float, horizon: float) -> float:
    """At most K^{1/3}(T/λ)^{2/3} + 1 blocks of Theorem 1 cover T rounds (first step of its proof).

    A block has at least one round, so never more than T; and exactly T where λ = 0, which the paper's
    expression would divide by (errata, point 7). `schedules.number_of_blocks` counts them exactly.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    """
    K, lam, T = inputs.arms(n_arms), inputs.cost(switching_cost), float(inputs.rounds(horizon))
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
    """Theorem 1, any losses: what Tsallis-Switch loses and pays in T rounds.

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
    K, lam, T = inputs.arms(n_arms), inputs.cost(switching_cost), float(inputs.rounds(horizon))
    growing = 5.25 * math.cbrt(lam * K) * math.cbrt(T) ** 2 + 6.4 * math.sqrt(K * T)
    return growing + 3 * math.sqrt(2 * K) + 5.25 * lam + (1.0 if constants == "tight" else 6.25)


def theorem_1_constrained(*, n_arms: int, switching_cost: float, horizon: float, gaps: Gaps) -> float:
    """Theorem 1, fixed gaps and one best arm i*.

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
    K, lam, T = inputs.arms(n_arms, least=2), inputs.cost(switching_cost), float(inputs.rounds(horizon))
    third = math.cbrt(T)
    per_gap = 66 * math.cbrt(lam * K) ** 2 * third + 32 * math.log(T)
    per_gap += 160 * math.cbrt(lam) ** 2 * third * math.pow(K, 1 / 6) + 160 * lam + 49 * lam * lam + 32
    return per_gap * inputs.inverse_gaps(gaps, K) + 544 * lam / math.sqrt(K) + lam + 66


def lower_bound(*, n_arms: int, switching_cost: float, horizon: float) -> float:
    """What every policy pays against some losses: (λK)^{1/3} T^{2/3}/(50 log₂ T), for T ≥ max(K, 6) and K ≥ 2.

    Dekel, Ding, Koren and Peres (2014), for λ = 1. The constant 50 is recalled, not read in their text; the
    factor λ^{1/3} follows from the scaling of their losses and is meaningful while λK ≤ T. The paper quotes the
    bound without its logarithm, so Theorem 1 is optimal up to log T, not up to constants (errata, point 21). The
    √(KT) that holds at λ = 0 too is left out: we have no constant for it.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    """
    K, lam, T = inputs.arms(n_arms, least=2), inputs.cost(switching_cost), float(inputs.rounds(horizon))
    if max(K, 6) > T:
        raise InvalidParameter("horizon", f"must be at least max(n_arms, 6) = {max(K, 6)}", horizon)
    return math.cbrt(lam * K) * math.cbrt(T) ** 2 / (50 * math.log2(T))
