"""What `AdaptiveHedgeSwitch` costs more than the best of its paths: ``docs/visible.md`` has the proofs."""

from __future__ import annotations

import math

from holdfast.checks import real_number, whole_number

START = 0.1
"""Δ_0 in units of (1 + λ) ln N, as the policy begins."""


def mixture_overhead(n_paths: int, switching_cost: float, spread: float, delta: float) -> float:
    """Theorem 2's bound on Δ_T: √(2 ln N·W) + 3(1 + λ) ln N + 1 + 3λ + λ ln N·ln⁺(Δ_T/B).

    B = √(½ W ln N) + (1 + λ) ln N.

    Parameters
    ----------
    n_paths, switching_cost
        N paths, λ for losses from 0 to 1; with a table of costs its largest entry.
    spread
        W = Σ v_t with v_t = Var_p(c_t) + λ·E_p|c_t − E_p c_t|: how much the costs of the paths differed.
    delta
        Δ_T itself, of which only the logarithm counts: half the certificate.

    >>> round(mixture_overhead(17, 1.0, 1000.0, 80.0), 1)
    98.0
    """
    N = whole_number("n_paths", n_paths, least=2)
    lam = real_number("switching_cost", switching_cost, least=0)
    W = real_number("spread", spread, least=0)
    ln_N, R = math.log(N), 1.0 + lam
    B = math.sqrt(0.5 * W * ln_N) + R * ln_N
    grown = max(0.0, math.log(real_number("delta", delta, above=0) / B))
    return math.sqrt(2.0 * W * ln_N) + 3.0 * R * ln_N + 1.0 + 3.0 * lam + lam * ln_N * grown


def mixture_excess(n_paths: int, switching_cost: float, best_cost: float, *, rounds: float | None = None) -> float:
    """Theorem 3's bound on the expected cost over that of the best path: about 2√(2(1 + 3λ) ln N·L*) for large L*.

    Parameters
    ----------
    n_paths, switching_cost
        N paths, λ for losses from 0 to 1; with a table of costs its largest entry.
    best_cost
        L*, the cost of the best path, its switches included.
    rounds
        T; if given, the trivial bound (1 + λ)T counts too.

    >>> mixture_excess(17, 1.0, 1e4) / 1e4 < 0.12
    True
    """
    N = whole_number("n_paths", n_paths, least=2)
    lam = real_number("switching_cost", switching_cost, least=0)
    L = real_number("best_cost", best_cost, least=0)
    ln_N, R, Q = math.log(N), 1.0 + lam, 1.0 + 3.0 * lam
    root = math.sqrt(0.5 * Q * ln_N * L)
    least = min(_delta_beyond(root * 2.0 ** (i / 4) + 3.0 * Q * ln_N, ln_N, lam, L) for i in range(9))
    excess = 2.0 * max(least, START * R * ln_N)
    return excess if rounds is None else min(excess, R * real_number("rounds", rounds, least=0))


def _delta_beyond(B: float, ln_N: float, lam: float, L: float) -> float:
    """The largest Δ_T that step 6 of the proof allows for this B."""
    R, Q = 1.0 + lam, 1.0 + 3.0 * lam
    x = R * ln_N / B
    y = 0.5 * Q * ln_N / B * (1.0 + 2.0 * x) * (1.0 + x)
    fixed = B + 1.0 + 3.0 * lam + y * L
    delta = fixed / (1.0 - y)
    for _ in range(200):  # Δ = (fixed + λ ln N ln⁺(Δ/B))/(1 − y): rises to its fixed point
        delta = (fixed + lam * ln_N * max(0.0, math.log(delta / B))) / (1.0 - y)
    return delta


def work_function_cost(n_arms: int, switching_cost: float, plan_cost: float) -> float:
    """What the work function path costs at most: (2K − 1 + (K − 1)/λ) times the best plan, plus (K − 1)(2λ + 1).

    Parameters
    ----------
    n_arms
        The number of arms K.
    switching_cost
        λ, for losses from 0 to 1.
    plan_cost
        The cost of the best plan in hindsight. Neither counts the first play as a switch.

    >>> work_function_cost(2, 1.0, 100.0)
    403.0
    """
    K = whole_number("n_arms", n_arms, least=1)
    lam = real_number("switching_cost", switching_cost, above=0)
    plan = real_number("plan_cost", plan_cost, least=0)
    return (2 * K - 1 + (K - 1) / lam) * plan + (K - 1) * (2 * lam + 1)
