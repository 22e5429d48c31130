"""Bounds of `AdaptiveTsallisSwitch`: Theorems A to D of ``docs/theory/adaptive.md``, for K ≥ 2 arms.

They hold for any `Constants` of the policy whose `longest_length` is at most ½.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from holdfast.bounds import paper
from holdfast.bounds.paper import COUNTABLE, Costs, Gaps, cost_chunks
from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.policies.adaptive import Constants

DEFAULT = Constants()


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
