"""No switching costs, losses of any range: Theorem 2, Corollary 3, and the bounds of the baselines."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from holdfast.bounds import inputs
from holdfast.bounds.inputs import Constants, Gaps
from holdfast.checks import one_of, real_number
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array


def theorem_2(*, n_arms: int, learning_rates: ArrayLike, ranges: ArrayLike) -> float:
    """Theorem 2, any losses in [0, b_t]: the regret of Tsallis-INF with rates η_1 ≥ η_2 ≥ … > 0.

    R_T ≤ √K (Σ_t η_t b_t²/2 + 4/η_T) + 1.

    `ranges` holds b_1 … b_T, or is one b for all rounds. The paper says "non-decreasing" rates for what its
    Algorithm 1 and its Lemma 7 require to be non-increasing (errata, point 2).

    Parameters
    ----------
    n_arms, learning_rates, ranges
        K; η_1, …, η_T, which must not increase; b_1, …, b_T, or one b for all rounds.
    """
    K = inputs.arms(n_arms)
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
    """Theorem 2, fixed gaps and one best arm i*: the mean gap of arm i in round t is b_t Δ_i (errata, point 6).

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
    one_of("constants", constants, inputs.CONSTANTS)
    K = inputs.arms(n_arms, least=2)
    inverse = inputs.inverse_gaps(gaps, K)
    eta, b = _rates_and_ranges(learning_rates, ranges)
    rise = np.diff(1 / eta, prepend=0.0)
    passes = 1.25 * eta * b**2 >= 2 * rise
    c = np.where(passes if constants == "corrected" else passes.all(), 2.0, 4.0)
    root = 3.5 * eta * b**2 + 2 * c * rise
    with np.errstate(divide="ignore"):  # b_t = 0 costs nothing where η_t stays, and cannot be bounded where it falls
        terms = np.divide(root**2, 4 * b, out=np.zeros_like(root), where=root > 0)
    late = np.flatnonzero(eta * b > inputs.AT_MOST_A_QUARTER)
    T_0 = min(int(late[-1]) + 2, eta.size) if late.size else 1
    return float(np.sum(terms)) * inverse + float(np.sum(eta[:T_0] * b[:T_0] ** 2)) + 2


def _rates_and_ranges(learning_rates: Any, ranges: Any) -> tuple[Array, Array]:
    eta = inputs.sequence("learning_rates", learning_rates, above=0)
    if (np.diff(eta) > 0).any():
        raise InvalidParameter("learning_rates", "must not increase", learning_rates)
    if inputs.single(ranges):
        return eta, np.full_like(eta, real_number("ranges", ranges, least=0))
    b = inputs.sequence("ranges", ranges)
    if b.size != eta.size:
        raise InvalidParameter("ranges", f"must have as many entries as learning_rates ({eta.size})", ranges)
    return eta, b


def corollary_3(*, n_arms: int, horizon: float, loss_bound: float = 1.0) -> float:
    """Corollary 3, any losses in [0, B]: R_T ≤ 4B√(KT) + 1 for Tsallis-INF with η_t = 2/(B√t).

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    loss_bound
        B, the largest loss of one round.
    """
    K, T = inputs.arms(n_arms), inputs.rounds(horizon)
    B = real_number("loss_bound", loss_bound, above=0)
    return 4 * B * math.sqrt(K * T) + 1


def corollary_3_constrained(
    *, n_arms: int, horizon: float, gaps: Gaps, loss_bound: float = 1.0, constants: Constants = "corrected"
) -> float:
    """Corollary 3, fixed gaps and one best arm: R_T ≤ 21B (ln T + 1) Σ_{i≠i*} 1/Δ_i + 32B + 2.

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
    one_of("constants", constants, inputs.CONSTANTS)
    K, T = inputs.arms(n_arms, least=2), inputs.rounds(horizon)
    B = real_number("loss_bound", loss_bound, above=0)
    start = 32 * B if constants == "corrected" else 8 * math.sqrt(B)
    return 21 * B * (math.log(T) + 1) * inputs.inverse_gaps(gaps, K) + start + 2


Estimator = Literal["importance-weighted", "reduced-variance"]
_ESTIMATORS = ("importance-weighted", "reduced-variance")


def tsallis_inf(*, n_arms: int, horizon: float, estimator: Estimator = "importance-weighted") -> float:
    """Tsallis-INF, any losses in [0, 1] (Zimmert and Seldin 2021): R_T ≤ 4√(KT) + 1.

    With the reduced-variance estimator: 2√(KT) + 10K ln T + 16. Switches are not bounded.

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    estimator
        The policy's own: importance-weighted or reduced-variance.
    """
    one_of("estimator", estimator, _ESTIMATORS)
    K, T = inputs.arms(n_arms), inputs.rounds(horizon)
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
    """Tsallis-INF, fixed gaps up to a `corruption` C, one best arm (Zimmert and Seldin 2021).

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
    K, T = inputs.arms(n_arms, least=2), inputs.rounds(horizon)
    log, C = math.log(T), real_number("corruption", corruption, least=0)
    sizes = inputs.gap_sizes(gaps, K - 1)
    shared = 1 / sizes.smallest + 1.5 * math.sqrt(K) + C
    if estimator == "importance-weighted":
        return (4 * log + 12) * sizes.inverse_sum + 4 * log + shared + 8
    return (log + 3) * sizes.inverse_sum + 28 * K * log + shared + 32


def exp3(*, n_arms: int, horizon: float) -> float:
    """EXP3 with η_t = √(ln K/(tK)), any losses in [0, 1] (Bubeck and Cesa-Bianchi 2012): R_T ≤ 2√(TK ln K)."""
    K, T = inputs.arms(n_arms), inputs.rounds(horizon)
    return 2 * math.sqrt(T * K * math.log(K))
