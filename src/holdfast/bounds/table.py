"""All bounds of one case in a table, and which of them binds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from holdfast.bounds import own, paper
from holdfast.bounds.paper import Gaps
from holdfast.checks import whole_number
from holdfast.numerics import schedules
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.exp3 import Exp3
from holdfast.policies.guarded import Guarding
from holdfast.policies.paused import PausedTsallis
from holdfast.policies.policy import Policy
from holdfast.policies.tsallis import TsallisInf, TsallisSwitch

MOST_BLOCKS = 10**8
"""Blocks above which a table leaves out Theorem 4's bounds, whose schedule must be run."""

VARYING, ADAPTIVE = "holds for VaryingTsallisSwitch", "holds for AdaptiveTsallisSwitch"
PAUSED = "holds for PausedTsallis"

MOST_LENGTHS = 10**6
"""Block lengths above which the exact number of blocks is left out."""


@dataclass(frozen=True)
class Bound:
    """One statement evaluated: an upper or lower bound on R_T + λS_T, or a number of blocks.

    `applies` says whether it speaks of Tsallis-Switch in the case asked about; `note` says why not, or what to
    know when it does. An upper bound above T + λ `says_nothing`: holding any one arm costs no more.
    """

    name: str
    statement: str
    value: float
    applies: bool
    note: str = ""
    kind: Literal["upper", "trivial", "lower", "blocks"] = "upper"
    says_nothing: bool = False


def binding(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest upper bound that applies, the trivial one excluded."""
    return min((b for b in bounds if b.applies and b.kind == "upper"), key=lambda b: b.value)


def smallest(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest upper bound on regret and switches, for whichever policy."""
    return min((b for b in bounds if b.kind == "upper" and "regret alone" not in b.note), key=lambda b: b.value)


def applicable(
    *, n_arms: int, switching_cost: float, horizon: float, gaps: Gaps | None = None, best_arms: int = 1
) -> list[Bound]:
    """Return every bound of the case: those that hold for Tsallis-Switch first, the smallest leading.

    `gaps` are those of the suboptimal arms (or one for all), without them only adversarial bounds are listed.
    With several `best_arms` a gap is zero and every constrained bound is infinite: the adversarial one is what
    is left (errata, point 32). Bounds of other policies do not apply and come after those that do; then the
    trivial bound, the lower bound, and the number of blocks: at most, and exactly.

    Parameters
    ----------
    n_arms, switching_cost, horizon
        K arms, λ for each switch, T rounds.
    gaps
        Δ_i of the suboptimal arms: a list, or one number for all.
    best_arms
        Number of arms that share the least mean.
    """
    K, lam, T = paper.arms(n_arms), paper.cost(switching_cost), paper.rounds(horizon)
    ties = whole_number("best_arms", best_arms, least=1, most=K)
    sizes = None if gaps is None else paper.gap_sizes(gaps, K - ties)
    rows = _of_tsallis_switch(K, lam, T, gaps, ties)
    others = _others(K, lam, T, gaps, ties)
    rows += [Bound(name, statement, value, False, note) for name, statement, value, note in others]
    rows = [replace(row, says_nothing=row.value > T + lam) for row in rows]
    at_most = paper.blocks(n_arms=K, switching_cost=lam, horizon=T)
    N = _exact_blocks(K, lam, T, at_most)
    trivial = T * (sizes.largest if sizes is not None else 1.0) + lam * (N or at_most)
    largest = "T" if sizes is None else "T max Δ_i"
    rows.append(Bound("trivial", f"{largest} + λN", trivial, True, "any policy that plays these blocks", "trivial"))
    if K >= 2 and max(K, 6) <= T:
        value = paper.lower_bound(n_arms=K, switching_cost=lam, horizon=T)
        note = "any policy, against some losses; constant recalled from Dekel et al. 2014"
        rows.append(Bound("lower_bound", "(λK)^{1/3}T^{2/3}/(50 log₂ T)", value, lam * K <= T, note, "lower"))
    rows.append(Bound("blocks", "N ≤ K^{1/3}(T/λ)^{2/3} + 1", at_most, True, "never more than T", "blocks"))
    if N is not None:
        rows.append(Bound("number_of_blocks", "N", float(N), True, "exact, Theorem 1's schedule", "blocks"))
    order = ("upper", "trivial", "lower", "blocks")
    return sorted(rows, key=lambda b: (order.index(b.kind), not b.applies, b.value if b.kind != "blocks" else 0))


def _of_tsallis_switch(K: int, lam: float, T: int, gaps: Gaps | None, ties: int) -> list[Bound]:
    game: dict[str, Any] = {"n_arms": K, "switching_cost": lam, "horizon": T}
    statement = "5.25(λK)^{1/3}T^{2/3} + 6.4√(KT) + 3√(2K) + 5.25λ + 6.25"
    note = "holds for TsallisSwitch, any losses"
    rows = [Bound("theorem_1", statement, paper.theorem_1(**game), True, note)]
    if gaps is not None and K >= 2:
        value, note = math.inf, "needs a unique best arm"
        if ties == 1:
            value = paper.theorem_1_constrained(**game, gaps=gaps)
            note = "holds for TsallisSwitch, fixed gaps, unique best arm"
        statement = (
            "(66(λK)^{2/3}T^{1/3} + 32 ln T + 160λ^{2/3}T^{1/3}K^{1/6} + 160λ + 49λ² + 32)Σ1/Δ_i + 544λ/√K + λ + 66"
        )
        rows.append(Bound("theorem_1_constrained", statement, value, ties == 1, note))
    return rows


def _others(K: int, lam: float, T: int, gaps: Gaps | None, ties: int) -> Iterator[tuple[str, str, float, str]]:
    """Yield name, statement, value and policy of the bounds of others: on regret alone where they are blind to λ."""
    game: dict[str, Any] = {"n_arms": K, "switching_cost": lam, "horizon": T}
    blind: dict[str, Any] = {"n_arms": K, "horizon": T}
    alone, few = ", regret alone" if lam > 0 else "", _few_blocks(K, lam, T)
    inf = f"holds for TsallisInf{alone}"
    yield "corollary_3", "4√(KT) + 1", paper.corollary_3(**blind), inf
    yield "tsallis_inf", "4√(KT) + 1", paper.tsallis_inf(**blind), inf
    yield "exp3", "2√(TK ln K)", paper.exp3(**blind), f"holds for Exp3{alone}"
    if few:
        value = paper.theorem_4(n_arms=K, costs=lam, horizon=T)
        yield "theorem_4", "7Σλ_n + 12√(KN) + 2", value, VARYING
    if K >= 2:
        statement = "O((λK)^{1/3}T^{2/3} + √(KT)), Theorem B of docs/theory/adaptive.md"
        yield "adaptive", statement, own.adaptive(**game), ADAPTIVE
    guarded = own.guarded(**game) if K >= 2 else math.inf
    yield "guarded", "Theorem I of docs/theory/tracking.md", guarded, "holds for Guarded and TrackingSwitch"
    statement = "4√(KT) + 1 + Σ over epochs, Theorem E of docs/paused.md"
    yield "paused", statement, own.paused(**game), PAUSED
    if gaps is None or ties > 1 or K < 2:
        return
    statement = "c + D(1 + ln 2T)Σ1/Δ_i, Theorem C of docs/theory/adaptive.md"
    yield "adaptive_constrained", statement, own.adaptive_constrained(**game, gaps=gaps), ADAPTIVE
    statement = "R + 2λ(1 + 2R/Δ_min), R of Tsallis-INF, Theorem E of docs/paused.md"
    yield "paused_constrained", statement, own.paused_constrained(**game, gaps=gaps), PAUSED
    value = paper.corollary_3_constrained(**blind, gaps=gaps)
    yield "corollary_3_constrained", "21(ln T + 1)Σ1/Δ_i + 34", value, inf
    statement = "Σ(4 ln T + 12)/Δ_i + 4 ln T + 1/Δ_min + 1.5√K + 8"
    yield "tsallis_inf_constrained", statement, paper.tsallis_inf_constrained(**blind, gaps=gaps), inf
    if few:
        value = paper.theorem_4_constrained(n_arms=K, costs=lam, horizon=T, gaps=gaps)
        statement = "ΣΣ(11λ_n + λ_{n+1} + 10√2/√n)²/(4Δ_i|B_n|) + Σ_{n≤N₀}2√2λ_n/√K + 4√(2N₀) + λ_1 + 2"
        yield "theorem_4_constrained", statement, value, VARYING


def _few_blocks(K: int, lam: float, T: int) -> bool:
    """Tell whether Theorem 4's schedule is quickly run: |B_n| ≥ λ√(n/K), so N ≤ (1.5 T√K/λ)^{2/3} + 1."""
    return T <= MOST_BLOCKS or (lam > 0 and T <= paper.COUNTABLE and 1.5 * T * math.sqrt(K) / lam <= MOST_BLOCKS**1.5)


def _exact_blocks(K: int, lam: float, T: int, at_most: float) -> int | None:
    """Return N of Theorem 1, unless it has too many different block lengths to visit."""
    lengths = min(at_most, 1.5 * lam * math.sqrt(at_most / K) + 1)
    return schedules.number_of_blocks(K, lam, T) if lengths <= MOST_LENGTHS else None


# The bound proved for a policy as configured, for any losses from 0 to 1 and a constant λ.

REGRET, COST = "pseudo_regret", "regret_with_switching"


class Proved(NamedTuple):
    """A bound on a mean."""

    bound: str
    statement: str
    measure: str
    """Column of a result whose mean is bounded."""
    value: Callable[..., float]
    """Bound as a function of `horizon`."""


def proved_cost(policy: Policy, cost: float) -> Proved | None:
    """Return the bound on regret and switches together, in games where a switch costs `cost`.

    >>> import holdfast as hf
    >>> proved_cost(hf.TsallisSwitch(8, switching_cost=1.0), 1.0).statement
    'Theorem 1'
    """
    if isinstance(policy, TsallisSwitch):
        if policy.block_lengths is not None or cost != policy.switching_cost:  # another schedule, or another λ
            return None
        value = partial(paper.theorem_1, n_arms=policy.n_arms, switching_cost=cost)
        return Proved("theorem-1", "Theorem 1", COST, value)
    if isinstance(policy, AdaptiveTsallisSwitch):
        return _proved_of_adaptive(policy, cost)
    if isinstance(policy, PausedTsallis) and cost == policy.switching_cost:
        value = partial(
            own.paused,
            n_arms=policy.n_arms,
            switching_cost=cost,
            budget=policy.budget,
            fallback=policy.fallback,
        )
        return Proved("paused", "Theorem E of docs/paused.md", COST, value)
    if isinstance(policy, Guarding) and policy.has_guard and policy.cost == cost and policy.n_arms >= 2:
        value = partial(own.guarded, n_arms=policy.n_arms, switching_cost=cost)
        return Proved("guarded", "Theorem I of docs/theory/tracking.md", COST, value)
    return proved_regret(policy) if cost == 0.0 else None


def _proved_of_adaptive(policy: AdaptiveTsallisSwitch, cost: float) -> Proved | None:
    """Return Theorem B, proved for the λ the policy was made for and for lengths up to Λ/(2√K)."""
    as_proved = policy.constants.longest_length <= 0.5 and policy.n_arms >= 2
    if not as_proved or cost != policy.switching_cost:
        return None
    value = partial(own.adaptive, n_arms=policy.n_arms, switching_cost=cost, constants=policy.constants)
    return Proved("adaptive", "Theorem B of docs/theory/adaptive.md", COST, value)


def proved_regret(policy: Policy) -> Proved | None:
    """Return the bound on regret alone, of a policy that ignores switching costs."""
    if isinstance(policy, Exp3):
        return Proved("exp3", "Bubeck and Cesa-Bianchi", REGRET, partial(paper.exp3, n_arms=policy.n_arms))
    if isinstance(policy, TsallisInf) and policy.estimator == "importance-weighted" and policy.loss_bound == 1.0:
        return Proved("corollary-3", "Corollary 3", REGRET, partial(paper.corollary_3, n_arms=policy.n_arms))
    return None
