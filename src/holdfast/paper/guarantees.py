"""Which proven bounds apply to which series of a match, as functions of the round.

They hold at every round t: the policies here do not know the horizon, so a game looked at in round t is a game of
horizon t. (Block EXP3 and BaSE do know it, and nothing here is about them.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from holdfast import bounds
from holdfast.bounds.table import Proved, proved_cost, proved_regret
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment
from holdfast.numerics.layout import Array
from holdfast.paper.games import Match
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.exp3 import Exp3
from holdfast.policies.policy import Policy
from holdfast.policies.tsallis import TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.report.charts import DRAWN
from holdfast.simulation import Power

REGRET, SWITCHES, BOTH = DRAWN


@dataclass(frozen=True)
class AppliedBound:
    """At round t the mean of `measure` in the series `series` is at most `value(horizon=t)`."""

    series: str
    bound: str
    statement: str
    measure: str
    value: Callable[..., float]

    @property
    def each(self) -> bool:
        """Whether it holds in every run, not of the mean alone."""
        return self.measure == SWITCHES

    def at(self, rounds: Array) -> Array:
        """The bound at each of these rounds."""
        return np.array([self.value(horizon=int(t)) for t in rounds])


def guarantees(match: Match) -> list[AppliedBound]:
    """Every bound of `holdfast.bounds` that applies to a series of this match."""
    gap = _gap(match.environment)
    return [
        AppliedBound(series, *proved)
        for series, policy in match.policies.items()
        for proved in _bounds(policy, match.switching_cost, gap)
        if proved is not None
    ]


def _gap(environment: Environment) -> float | None:
    """The one gap, where the gaps are fixed and the best arm is unique."""
    if isinstance(environment, ConstrainedBernoulli):
        return environment.gap if environment.best_arms == 1 else None
    if isinstance(environment, Bernoulli):
        best, second, *_ = sorted(environment.mean_losses)
        return round(second - best, 15) or None
    return None


def _bounds(policy: Policy, cost: float | Power, gap: float | None) -> Iterator[Proved | None]:
    """What is proved of this policy in a game with this cost; nothing in other units than the theorems'."""
    if policy.units != (0.0, 1.0):
        return
    if isinstance(policy, TsallisSwitch):
        yield from _of_tsallis_switch(policy, cost, gap)
    elif isinstance(policy, TsallisInf):
        yield from _of_tsallis_inf(policy, gap)
    elif isinstance(policy, Exp3):
        yield proved_regret(policy)
    elif isinstance(policy, VaryingTsallisSwitch):
        yield from _of_varying(policy.n_arms, cost, gap)
    elif isinstance(policy, AdaptiveTsallisSwitch) and not isinstance(cost, Power):
        yield proved_cost(policy, cost)


def _of_tsallis_switch(policy: TsallisSwitch, cost: float | Power, gap: float | None) -> Iterator[Proved | None]:
    """Theorem 1 is proved for its own schedule, and for a game whose λ is the one the schedule was made for."""
    K, own = policy.n_arms, policy.switching_cost
    if policy.block_lengths is not None or own is None:
        return
    yield Proved("blocks", "number of blocks", SWITCHES, partial(bounds.blocks, n_arms=K, switching_cost=own))
    if isinstance(cost, Power) or cost != own:
        return
    yield proved_cost(policy, cost)
    if gap is not None:
        value = partial(bounds.theorem_1_constrained, n_arms=K, switching_cost=cost, gaps=gap)
        yield Proved("theorem-1-unique", "Theorem 1, unique best arm", BOTH, value)


def _of_tsallis_inf(policy: TsallisInf, gap: float | None) -> Iterator[Proved]:
    """Zimmert and Seldin's bound is proved where Corollary 3 is."""
    K, for_any_losses = policy.n_arms, proved_regret(policy)
    if for_any_losses is None:
        return
    yield for_any_losses
    if gap is not None:
        value = partial(bounds.corollary_3_constrained, n_arms=K, gaps=gap)
        yield Proved("corollary-3-unique", "Corollary 3, unique best arm", REGRET, value)
        value = partial(bounds.tsallis_inf_constrained, n_arms=K, gaps=gap)
        yield Proved("tsallis-inf-unique", "Zimmert and Seldin, unique best arm", REGRET, value)


def _of_varying(K: int, cost: float | Power, gap: float | None) -> Iterator[Proved]:
    yield Proved("theorem-4", "Theorem 4", BOTH, partial(bounds.theorem_4, n_arms=K, costs=cost))
    if gap is not None:
        value = partial(bounds.theorem_4_constrained, n_arms=K, costs=cost, gaps=gap)
        yield Proved("theorem-4-unique", "Theorem 4, unique best arm", BOTH, value)
        if isinstance(cost, Power) and cost.scale == 1.0:
            value = partial(bounds.corollary_5, n_arms=K, alpha=cost.alpha, gaps=gap)
            yield Proved("corollary-5", "Corollary 5", BOTH, value)
