"""What `AdaptiveHedgeSwitch` costs more than the best of its paths: ``docs/visible.md`` has the proofs."""

from __future__ import annotations

import math
from typing import NamedTuple

from holdfast.checks import real_number, whole_number

START = 0.1
"""Δ_0 in units of (1 + λ) ln N, as the policy begins."""


def mixture_overhead(n_paths: int, switching_cost: float, spread: float) -> float:
    """Theorem 2's bound on Δ_T, half the certificate, with the best of several B: about √(W ln N) for large W.

    Parameters
    ----------
    n_paths, switching_cost
        N paths, λ for losses from 0 to 1; with a table of costs its largest entry.
    spread
        W = Σ v_t with v_t = Var_p(c_t) + λ·E_p|c_t − E_p c_t|: how much the costs of the paths differed.

    Examples
    --------
    >>> round(mixture_overhead(17, 1.0, 1000.0), 1)
    82.1
    """
    N, lam = _checked(n_paths, switching_cost)
    W = real_number("spread", spread, least=0)
    ln_N = math.log(N)
    levels = [_Level.of(B, ln_N, lam) for B in _grid(ln_N, lam, W)]
    least = min(math.hypot(at.begun, math.sqrt(at.kappa * W * ln_N)) + at.extra for at in levels)
    return max(least, START * (1.0 + lam) * ln_N)


def mixture_excess(n_paths: int, switching_cost: float, best_cost: float, *, rounds: float | None = None) -> float:
    """Theorem 3's bound on the expected cost over that of the best path: about 2√((1 + 3λ)·L*·ln N) for large L*.

    Parameters
    ----------
    n_paths, switching_cost
        N paths, λ for losses from 0 to 1; with a table of costs its largest entry.
    best_cost
        L*, the cost of the best path, its switches included.
    rounds
        T; if given, the trivial bound (1 + λ)T counts too.

    Examples
    --------
    >>> mixture_excess(17, 1.0, 1e4) / 1e4 < 0.08
    True
    """
    N, lam = _checked(n_paths, switching_cost)
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
    """What step 6 of the proof has for one B."""

    x: float
    kappa: float
    begun: float
    """Δ two rounds after B was passed, at most."""
    extra: float
    """m: what does not grow with the root."""

    @classmethod
    def of(cls, B: float, ln_N: float, lam: float) -> _Level:
        x, rho = (1.0 + lam) * ln_N / B, (1.0 + 2.0 * lam) / B
        kappa = (1.0 + rho) * (1.0 + x / 2) * (1.0 + x)
        return cls(x, kappa, B + 2.0 + 4.0 * lam, 1.0 + 2.0 * lam + 2.0 * lam * (1.0 + rho) * ln_N)


def _grid(ln_N: float, lam: float, spread: float) -> list[float]:
    """Levels B ≥ (1 + λ) ln N to choose from, up to the root."""
    least = (1.0 + lam) * ln_N
    doublings = max(0.0, math.log2(math.sqrt(spread * ln_N) / least)) if spread > 0 else 0.0
    return [least * 2.0 ** (i / 4) for i in range(4 * math.ceil(doublings) + 17)]


def _checked(n_paths: int, switching_cost: float) -> tuple[int, float]:
    return whole_number("n_paths", n_paths, least=2), real_number("switching_cost", switching_cost, least=0)


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

    Examples
    --------
    >>> work_function_cost(2, 1.0, 100.0)
    403.0
    """
    K = whole_number("n_arms", n_arms, least=1)
    lam = real_number("switching_cost", switching_cost, above=0)
    plan = real_number("plan_cost", plan_cost, least=0)
    return (2 * K - 1 + (K - 1) / lam) * plan + (K - 1) * (2 * lam + 1)
