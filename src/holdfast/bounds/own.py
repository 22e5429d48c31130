"""Bounds of our own policies: Theorems A to F, H and I, each named with the page that proves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from holdfast.bounds import paper
from holdfast.bounds.paper import COUNTABLE, Costs, Gaps, cost_chunks
from holdfast.checks import one_of, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.schedules import whole_rounds
from holdfast.policies.adaptive import Constants
from holdfast.policies.guarded import EPOCH

DEFAULT = Constants()

# `AdaptiveTsallisSwitch`: Theorems A to D of ``docs/theory/adaptive.md``, for K ≥ 2 arms. They hold for any `Constants`
# of the policy whose `longest_length` is at most ½.


class Parts(NamedTuple):
    """Terms of Theorem B."""

    switches: float  # E Q: cost of the switches
    rate: float  # 2√(E KV) + 2(1 − 1/√K)·E √(KV̄)
    ledgers: float  # W + O
    last: float  # the block in which round T lies


def parts(K: int, L: float, highest: float, T: float, constants: Constants) -> Parts:
    """Return Theorem B's terms.

    Parameters
    ----------
    K
        The number of arms.
    L
        (√K Σ √λ)^{2/3}, the sum being over the rounds.
    highest
        The highest cost.
    T
        The number of rounds.
    constants
        The policy's constants.
    """
    root_K, clock = math.sqrt(K), highest + L  # Λ
    switches = (1.5 / math.sqrt(2 * constants.switch_weight)) ** (2 / 3) * L
    floor = 2 * constants.switch_weight * (switches + highest)  # √K·R is never below it, nor made larger by it
    calm = (constants.calm * clock) ** 2

    def longest(Y: float) -> float:
        """Return K times the longest block while √K·R ≤ Y."""
        return K + root_K * clock / 2 + math.sqrt(highest * K * (2.25 * clock + Y))

    long_block = 0.0
    if clock > 2 * root_K:
        b = clock / (2 * root_K) + 1
        Y_calm = _largest(lambda Y: math.sqrt(calm + floor * floor + longest(Y)))
        long_block = constants.sigma * b * Y_calm + (constants.sigma * b) ** 2 / 4 + constants.least_noise * K * b

    def KV(Y: float) -> float:
        return calm + long_block + constants.growth(K) * (K * T + math.sqrt(L * L * L * (2.25 * clock + Y)))

    Y = _largest(lambda Y: math.sqrt(KV(Y) + floor * floor + longest(Y)))
    return Parts(
        switches + highest,
        2 * math.sqrt(KV(Y)) + 2 * (1 - 1 / root_K) * Y,
        (constants.floor_budget * (1 - 1 / K) + constants.cap_budget) * clock + constants.cap_budget * math.sqrt(K * T),
        1 + clock / (2 * root_K) + math.sqrt(highest * (2.25 * clock + Y) / K),
    )


def _largest(F: Callable[[float], float]) -> float:
    """Return the largest y with y ≤ F(y), from above; F is concave, grows and is positive at 0."""
    y = 1.0
    while F(y) > y:
        y *= 2
    while (lower := F(y)) < y * (1 - 1e-14):
        y = lower
    return y


def adaptive(*, n_arms: int, switching_cost: float, horizon: float, constants: Constants = DEFAULT) -> float:
    """Return Theorem B's bound for any losses on regret and switching cost of AdaptiveTsallisSwitch in T rounds.

    Of the order of (λK)^{1/3}T^{2/3} + √(KT); at λ = 0 less than Theorem 1's bound, and at most 2.82 times it
    for all K, λ and T.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    constants
        The policy's constants; those it has by default.

    Examples
    --------
    >>> round(adaptive(n_arms=8, switching_cost=1.0, horizon=100_000))
    58487
    """
    K, lam, T = paper.arms(n_arms, least=2), paper.cost(switching_cost), float(paper.rounds(horizon))
    return _theorem_B(K, (lam * K) ** (1 / 3) * T ** (2 / 3), lam, T, constants)


def _theorem_B(K: int, L: float, highest: float, T: float, constants: Constants) -> float:
    found = parts(K, L, highest, T, constants)
    return min(sum(found), T + found.switches)


def adaptive_certificate(
    *, n_arms: int, paid: float, V: float, V_most: float, W: float | Iterable[float], cut: float
) -> float:
    """Return Theorem A's certificate for any losses, from a game: `paid` + 2√(KV) + 2(√K − 1)√V_most + W + O.

    Its mean over games bounds the mean of regret plus switching cost. V, V_most, W and `cut` (O) are those of a saved
    player between two blocks, `paid` is what its switches have cost, all in units of the range of losses. Of W the
    largest counts, as the best arm is unknown. One game may lose more than its own: only the means compare.

    Parameters
    ----------
    n_arms, paid
        K, and what switches have cost.
    V, V_most, W, cut
        The policy's own numbers; W is one number per arm, or their largest.

    Examples
    --------
    >>> adaptive_certificate(n_arms=4, paid=3.0, V=25.0, V_most=36.0, W=[0.0, 1.5, 0.0, 2.0], cut=1.0)
    38.0
    """
    K = paper.arms(n_arms, least=2)
    floors = [real_number("W", W, least=0)] if paper.single(W) else list(paper.sequence("W", W))
    paid, V, V_most, cut = (
        real_number(name, value, least=0)
        for name, value in (("paid", paid), ("V", V), ("V_most", V_most), ("cut", cut))
    )
    return float(paid + 2 * math.sqrt(K * V) + 2 * (math.sqrt(K) - 1) * math.sqrt(V_most) + max(floors) + cut)


def adaptive_constrained(
    *,
    n_arms: int,
    horizon: float,
    gaps: Gaps,
    switching_cost: float = 0.0,
    constants: Constants = DEFAULT,
) -> float:
    """Return Theorem C's bound for fixed gaps and one best arm i*: c + D(1 + ln 2T) Σ_{i≠i*} 1/Δ_i.

    It says that regret and switching cost grow with the logarithm of T. With a switching cost its constants are far too
    large to be of use as a number: for λ from 0.025 to 1 it is above T at any T one can play, and Theorem B is smaller
    up to T ≈ 10²⁵. For longest_step_down from 1 to 1.5, longest_step_up of at least ½, least_noise up to 0.1,
    switch_weight up to ½.

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    gaps
        Δ_i of the other arms: one number for all, or one for each.
    switching_cost
        λ, what one switch costs.
    constants
        The policy's constants; those it has by default.
    """
    K, T, lam = paper.arms(n_arms, least=2), float(paper.rounds(horizon)), paper.cost(switching_cost)
    a, nu, J = constants.longest_step_down, constants.least_noise, constants.longest_step_up
    real_number("longest_step_down", a, least=1, most=1.5)
    real_number("least_noise", nu, above=0, most=0.1)
    real_number("longest_step_up", J, least=0.5)
    real_number("switch_weight", constants.switch_weight, above=0, most=0.5)
    omega, root_K, sizes = 1 - a / 2, math.sqrt(K), paper.gap_sizes(gaps, K - 1)
    c_1, c_2 = 1.131 / omega + 0.56 + 1.667 / J, 1.363 / omega
    if lam == 0:
        D = (2 * c_1 + c_2 * (constants.f + nu)) / math.sqrt(nu)
        n_1 = math.ceil(4 / nu * ((1 + root_K) / omega) ** 2)
        c_0 = 4 * math.sqrt(K * (constants.growth(K) * n_1 + 1)) + constants.cap_budget * math.sqrt(K * n_1)
        return 2 * c_0 + D * D * (1 + math.log(T)) * sizes.inverse_sum
    mu, H = 8 * constants.matched_length, 2 * (1 + root_K) / omega
    R_1 = max(2 * H, (2 * max(mu, 1.0) * H) ** 2 * lam / math.sqrt(2))
    share = 16 * max(constants.floor_share, 1.0) / sizes.smallest
    t = max(R_1 * R_1 / nu, share * lam, lam * K * share**3)
    early = parts(K, (lam * K) ** (1 / 3) * t ** (2 / 3), lam, t, constants)
    D_1 = 2 * c_1 + c_2 * (constants.f + nu + 1)
    of_q = 4 * D_1 + 1 + 4 * c_2 * constants.switch_weight
    D_2 = (2 * mu + 2) * D_1 + of_q * (1 + c_2 * c_2) * K**0.25
    c_0 = sum(early) + (2 * constants.sigma + 2 * root_K) * early.last + (of_q + 3) * lam
    of_log = 5.5 * D_1**2 + 70 * D_2**4 * (lam / sizes.smallest) ** 2
    return 2 * c_0 + float(of_log) / nu * (1 + math.log(2 * T)) * sizes.inverse_sum


def adaptive_varying(*, n_arms: int, costs: Costs, horizon: float, constants: Constants = DEFAULT) -> float:
    """Return Theorem D's bound for any losses; a block begun at round t costs at most the t-th of `costs`, known then.

    As Theorem B with L = (√K Σ_t √(max_{s≤t} λ_s))^{2/3} for (λK)^{1/3}T^{2/3} and the highest cost for λ: a block
    keeps the cost it began with, so costs that fall do not count as lower. `costs` is a number, a list of T numbers, or
    a function of the round.

    Parameters
    ----------
    n_arms, horizon
        K arms, T rounds.
    costs
        λ_1, λ_2, …, by the round.
    constants
        The policy's constants; those it has by default.
    """
    K, T = paper.arms(n_arms, least=2), paper.rounds(horizon, COUNTABLE)
    if paper.single(costs) and not callable(costs):
        return adaptive(n_arms=K, switching_cost=costs, horizon=T, constants=constants)  # type: ignore[arg-type]
    total = highest = rounds = 0.0
    for chunk in cost_chunks(costs):
        used = np.maximum.accumulate(np.maximum(chunk[: int(T - rounds)], highest))  # the highest up to each round
        total, highest, rounds = total + float(np.sqrt(used).sum()), float(used[-1]), rounds + len(used)
        if rounds == T:
            break
    if rounds < T:
        raise InvalidParameter("costs", f"must have one for each of the {T} rounds", costs)
    return _theorem_B(K, (math.sqrt(K) * total) ** (2 / 3), highest, float(T), constants)


# Excess cost of `AdaptiveHedgeSwitch` over the best of its experts: ``docs/theory/full_information.md`` has the proofs.

START = 0.1
"""Initial Δ_0 of the policy, in units of (1 + λ) ln N."""


def mixture_overhead(n_experts: int, switching_cost: float, spread: float) -> float:
    """Return Theorem H2's bound on Δ_T, half the certificate, with the best of several B: about √(W ln N) for large W.

    Parameters
    ----------
    n_experts, switching_cost
        N experts, λ for losses from 0 to 1; with a table of costs its largest entry.
    spread
        W = Σ v_t with v_t = Var_p(c_t) + λ·E_p|c_t − E_p c_t|: how much the costs of the experts differed.

    Examples
    --------
    >>> round(mixture_overhead(17, 1.0, 1000.0), 1)
    82.1
    """
    N, lam = _checked(n_experts, switching_cost)
    W = real_number("spread", spread, least=0)
    ln_N = math.log(N)
    levels = [_Level.of(B, ln_N, lam) for B in _grid(ln_N, lam, W)]
    least = min(math.hypot(at.begun, math.sqrt(at.kappa * W * ln_N)) + at.extra for at in levels)
    return max(least, START * (1.0 + lam) * ln_N)


def mixture_excess(n_experts: int, switching_cost: float, best_cost: float, *, rounds: float | None = None) -> float:
    """Return Theorem H3's bound on the expected cost over the best expert's: about 2√((1 + 3λ)·L*·ln N) for large L*.

    Parameters
    ----------
    n_experts, switching_cost
        N experts, λ for losses from 0 to 1; with a table of costs its largest entry.
    best_cost
        L*, the cost of the best expert, its switches included.
    rounds
        T; if given, the trivial bound (1 + λ)T counts too.

    Examples
    --------
    >>> mixture_excess(17, 1.0, 1e4) / 1e4 < 0.08
    True
    """
    N, lam = _checked(n_experts, switching_cost)
    L = real_number("best_cost", best_cost, least=0)
    ln_N, R, Q = math.log(N), 1.0 + lam, 1.0 + 3.0 * lam
    found = []
    for B in _grid(ln_N, lam, Q * L):
        at = _Level.of(B, ln_N, lam)
        q = at.kappa * (1.0 + at.x) * Q * ln_N
        found.append(at.extra + q / 2 + math.sqrt(q * q / 4 + at.begun**2 + q * (L + at.extra)))
    excess = 2.0 * max(min(found), START * R * ln_N)
    return excess if rounds is None else min(excess, R * real_number("rounds", rounds, least=0))


class _Level(NamedTuple):
    """Quantities of step 6 of the proof for one B."""

    x: float
    kappa: float
    begun: float
    """Largest Δ two rounds after B was passed."""
    extra: float
    """m: the part that does not grow with the root."""

    @classmethod
    def of(cls, B: float, ln_N: float, lam: float) -> _Level:
        x, rho = (1.0 + lam) * ln_N / B, (1.0 + 2.0 * lam) / B
        kappa = (1.0 + rho) * (1.0 + x / 2) * (1.0 + x)
        return cls(x, kappa, B + 2.0 + 4.0 * lam, 1.0 + 2.0 * lam + 2.0 * lam * (1.0 + rho) * ln_N)


def _grid(ln_N: float, lam: float, spread: float) -> list[float]:
    """Return levels B ≥ (1 + λ) ln N to choose from, up to the root."""
    least = (1.0 + lam) * ln_N
    doublings = max(0.0, math.log2(math.sqrt(spread * ln_N) / least)) if spread > 0 else 0.0
    return [least * 2.0 ** (i / 4) for i in range(4 * math.ceil(doublings) + 17)]


def _checked(n_experts: int, switching_cost: float) -> tuple[int, float]:
    return whole_number("n_experts", n_experts, least=2), real_number("switching_cost", switching_cost, least=0)


def work_function_cost(n_arms: int, switching_cost: float, plan_cost: float) -> float:
    """Return the work function's largest cost: (2K − 1 + (K − 1)/λ) times the best plan, plus (K − 1)(2λ + 1).

    Parameters
    ----------
    n_arms
        The number of arms K.
    switching_cost
        λ, for losses from 0 to 1.
    plan_cost
        The cost of the best plan in hindsight. Neither counts the first play as a switch.

    Examples
    --------
    >>> work_function_cost(2, 1.0, 100.0)
    403.0
    """
    K = whole_number("n_arms", n_arms, least=1)
    lam = real_number("switching_cost", switching_cost, above=0)
    plan = real_number("plan_cost", plan_cost, least=0)
    return (2 * K - 1 + (K - 1) / lam) * plan + (K - 1) * (2 * lam + 1)


# Theorems E (pause and resume, ``docs/paused.md``), F (the price of safety, ``docs/safety.md``) and I (a guard).

Fallback = Literal["tsallis-switch", "adaptive"]

BEYOND = {"tsallis-switch": 1.0, "adaptive": 2.82}
"""Largest factor over Theorem 1's bound of the policy that plays while Tsallis-INF is paused."""


def paused(
    *, n_arms: int, switching_cost: float, horizon: float, budget: float = 1.0, fallback: Fallback = "tsallis-switch"
) -> float:
    """Return Theorem E's bound for any losses on regret and switching cost of PausedTsallis in T rounds.

    4√(KT) + 1 for Tsallis-INF's regret on its own rounds, and for each epoch of m rounds that has begun what its
    switches may cost, c = ⌈τ(U(m) + λ)/λ⌉ of them, U(m − c) for Tsallis-Switch, and λ for the switch back. At most λm
    where c ≥ m. With the adaptive policy in its place, Theorem B's bound replaces U(m − c).

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
    total: float = order + led * each + adaptive(n_arms=K, switching_cost=lam, horizon=T)
    return total


def _phases(power: float) -> float:
    """Return G(α): the most that Σ s_j^α can be in units of T^α, over phases that end in different epochs."""
    before = (1 - 1 / EPOCH) ** power / (1 - EPOCH**-power)
    return float((1 + before ** (1 / (1 - power))) ** (1 - power))


def _cost_of_blocks(K: int, lam: float, rounds: float, policy: str = "tsallis-switch") -> float:
    """Return U, the proved cost of Tsallis-Switch, or what is proved of the adaptive policy."""
    bound = adaptive if policy == "adaptive" else paper.theorem_1
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

    With the adaptive policy in place of Tsallis-Switch, 2.82/τ replaces 1/τ.

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
