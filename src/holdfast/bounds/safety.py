"""Theorems E (pause and resume, ``docs/paused.md``), F (the price of safety, ``docs/safety.md``) and I (a guard)."""

from __future__ import annotations

import math
from typing import Literal

from holdfast.bounds import own, paper
from holdfast.bounds.paper import Gaps
from holdfast.checks import one_of, real_number, whole_number
from holdfast.numerics.schedules import whole_rounds
from holdfast.policies.guarded import EPOCH

Fallback = Literal["tsallis-switch", "adaptive"]

BEYOND = {"tsallis-switch": 1.0, "adaptive": 2.82}
"""By what factor the bound for any losses of who plays while Tsallis-INF is paused may exceed Theorem 1's."""


def paused(
    *, n_arms: int, switching_cost: float, horizon: float, budget: float = 1.0, fallback: Fallback = "tsallis-switch"
) -> float:
    """Return Theorem E's bound for any losses on regret and switching cost of PausedTsallis in T rounds.

    4√(KT) + 1 for Tsallis-INF's regret on its own rounds, and for each epoch of m rounds that has begun what its
    switches may cost, c = ⌈τ(U(m) + λ)/λ⌉ of them, U(m − c) for Tsallis-Switch, and λ for the switch back. At most λm
    where c ≥ m. With the adaptive policy in its place, Theorem B stands for U(m − c).

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    budget, fallback
        τ and who plays while Tsallis-INF is paused, the policy's own.

    Examples
    --------
    >>> round(paused(n_arms=8, switching_cost=1.0, horizon=100_000))
    88954
    """
    K, lam, T = paper.arms(n_arms), paper.cost(switching_cost), paper.rounds(horizon)
    share, other = real_number("budget", budget, above=0), one_of("fallback", fallback, BEYOND)
    total = 4 * math.sqrt(K * T) + 1
    if lam == 0:
        return total
    begun, m = 0, int(whole_rounds(lam))
    while begun < T:
        count = math.ceil(share * (_cost_of_blocks(K, lam, m) + lam) / lam)
        here = min(m, T - begun)
        total += lam * here if count >= here else lam * (count + 1) + _cost_of_blocks(K, lam, here - count, other)
        begun, m = begun + m, 2 * m
    return total


def guarded(*, n_arms: int, switching_cost: float, horizon: float) -> float:
    """Return Theorem I's bound on regret and switching cost of any rule under a guard in T rounds, for any losses.

    G(⅔)·5.25(λK)^{1/3}T^{2/3} + G(½)·6.4√(KT) for the rule's rounds, n(3√(2K) + 7.25λ + 7.25) for the n times that it
    may have led by then, and Theorem B's bound for the guard's (``docs/theory/tracking.md``).

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.

    Examples
    --------
    >>> round(guarded(n_arms=8, switching_cost=1.0, horizon=100_000))
    104701
    """
    K, lam, T = paper.arms(n_arms, least=2), paper.cost(switching_cost), paper.rounds(horizon)
    led, end = 1, math.ceil(max(lam, K))
    while end < T:
        led, end = led + 1, end * int(EPOCH)
    order = 5.25 * _phases(2 / 3) * (lam * K) ** (1 / 3) * T ** (2 / 3) + 6.4 * _phases(1 / 2) * math.sqrt(K * T)
    each = 3 * math.sqrt(2 * K) + 7.25 * lam + 7.25
    total: float = order + led * each + own.adaptive(n_arms=K, switching_cost=lam, horizon=T)
    return total


def _phases(power: float) -> float:
    """Return G(α): the most that Σ s_j^α can be in units of T^α, over phases that end in different epochs."""
    before = (1 - 1 / EPOCH) ** power / (1 - EPOCH**-power)
    return float((1 + before ** (1 / (1 - power))) ** (1 - power))


def _cost_of_blocks(K: int, lam: float, rounds: float, policy: str = "tsallis-switch") -> float:
    """Return U, the proved cost of Tsallis-Switch, or what is proved of the adaptive policy."""
    bound = own.adaptive if policy == "adaptive" else paper.theorem_1
    return bound(n_arms=K, switching_cost=lam, horizon=rounds)


def paused_constrained(
    *,
    n_arms: int,
    switching_cost: float,
    horizon: float,
    gaps: Gaps,
    budget: float = 1.0,
    corruption: float = 0.0,
    fallback: Fallback = "tsallis-switch",
) -> float:
    """Return Theorem E's bound for fixed gaps and one best arm: R + (1 + 1/τ)λ(1 + 2(R + Γ)/Δ_min).

    With the adaptive policy in place of Tsallis-Switch, 2.82/τ stands for 1/τ.

    R is what is proved of Tsallis-INF's regret: the smaller of Zimmert and Seldin's bound and of Corollary 3's, the
    latter with A + 2√(AΓ) for its A = 21(1 + ln T)Σ1/Δ_i where losses were corrupted by Γ in all.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    gaps
        Δ_i of the other arms: one number for all, or one for each.
    budget
        τ, the policy's own.
    corruption
        Γ = 2Σγ_t, where the losses of round t were changed by at most γ_t before it was drawn.
    fallback
        The policy that plays while Tsallis-INF is paused.

    Examples
    --------
    >>> round(paused_constrained(n_arms=2, switching_cost=1.0, horizon=1e8, gaps=0.5))
    2317
    """
    K, lam, T = paper.arms(n_arms, least=2), paper.cost(switching_cost), paper.rounds(horizon)
    share, moved = real_number("budget", budget, above=0), real_number("corruption", corruption, least=0)
    sizes = paper.gap_sizes(gaps, K - 1)
    A = 21 * (math.log(T) + 1) * sizes.inverse_sum
    bent = 2 * math.sqrt(A * moved)
    R = min(
        paper.corollary_3_constrained(n_arms=K, horizon=T, gaps=gaps) + bent,
        paper.tsallis_inf_constrained(n_arms=K, horizon=T, gaps=gaps, corruption=moved),
    )
    return R + (1 + BEYOND[one_of("fallback", fallback, BEYOND)] / share) * lam * (1 + 2 * (R + moved) / sizes.smallest)


def safe_cost_with_ties(
    *, best_arms: int, switching_cost: float, horizon: float, worst_case: float, constrained: bool = False
) -> float:
    """Return Theorem F1's least cost of switches, on independent losses with m ≥ 2 best arms of mean ½.

    λ(m − 1)/2 · ⌊T/⌈4mU/(m − 1)⌉⌋, for every policy with RS ≤ U against any losses fixed in advance. Where the common
    level may move besides, F3's (λm/2)(T²/(2560 D U²) − 1/8) too, D = d² ln(8T²), d = ⌊log₂T⌋ + 1, for U ≤ T/16.

    Parameters
    ----------
    best_arms
        m.
    switching_cost, horizon
        λ for each switch, T rounds.
    worst_case
        U, what the policy costs at most, whatever the losses are.
    constrained
        For some losses with fixed gaps whose common level moves, in place of all independent ones.

    Examples
    --------
    >>> safe_cost_with_ties(best_arms=2, switching_cost=1.0, horizon=80_000, worst_case=1_000)
    5.0
    """
    m = whole_number("best_arms", best_arms, least=2)
    lam, T = paper.cost(switching_cost), paper.rounds(horizon)
    U = real_number("worst_case", worst_case, above=0)
    least = lam * (m - 1) / 2 * (T // math.ceil(4 * m * U / (m - 1)))
    if constrained and U <= T / 16 and T >= 10:
        spread = math.frexp(T)[1] ** 2 * math.log(8 * T * T)
        return max(least, lam * m / 2 * ((T / U) ** 2 / (2560 * spread) - 1 / 8))
    return least


def safe_cost(*, gap: float, switching_cost: float, horizon: float, worst_case: float) -> float:
    """Return Theorem F2's least cost of switches, on independent losses of two arms with means ½ and ½ + Δ.

    λ max(n/2 − 1/(4Δ), 1), with n windows of ⌈4(U + Δs)⌉ rounds, s those before, in T rounds; at least
    (λ/(8Δ))(ln(1 + 4ΔT/(4U + 1)) − 2 − 4Δ). For every policy with RS ≤ U against any losses fixed in advance.

    Parameters
    ----------
    gap
        Δ, at most ½.
    switching_cost, horizon
        λ for each switch, T rounds.
    worst_case
        U, what the policy costs at most, whatever the losses are.

    Examples
    --------
    >>> safe_cost(gap=0.25, switching_cost=2.0, horizon=10**9, worst_case=1_000)
    15.0
    """
    delta, lam, T = real_number("gap", gap, above=0, most=0.5), paper.cost(switching_cost), paper.rounds(horizon)
    U = real_number("worst_case", worst_case, above=0)
    windows, begun = 0, 0
    while True:
        begun += math.ceil(4 * (U + delta * begun))
        if begun > T:
            return lam * max(windows / 2 - 1 / (4 * delta), 1.0)
        windows += 1
