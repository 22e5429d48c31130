"""Which proven bounds apply to which series of a match, as functions of the round.

They hold at every round t: the policies here do not know the horizon, so a game looked at in round t is a game of
horizon t. (Block EXP3 and BaSE do know it, and nothing here is about them.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import bounds
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment
from holdfast.experiments.games import Match
from holdfast.policies import Exp3, Policy, TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.simulation import Power

Array = NDArray[np.float64]
Measure = Literal["pseudo_regret", "switches", "regret_with_switching"]


@dataclass(frozen=True)
class Guarantee:
    """At round t the mean of `measure` in the series `series` is at most `value(horizon=t)`; in every run if `each`."""

    bound: str
    statement: str
    series: str
    measure: Measure
    value: Callable[..., float]
    each: bool = False

    def at(self, rounds: Array) -> Array:
        """The bound at each of these rounds."""
        return np.array([self.value(horizon=int(t)) for t in rounds])


def guarantees(match: Match) -> list[Guarantee]:
    """Every bound of `holdfast.bounds` that applies to a series of this match."""
    gap = _gap(match.environment)
    return [
        Guarantee(bound, statement, series, measure, value, each=measure == "switches")
        for series, policy in match.policies.items()
        for bound, statement, measure, value in _bounds(policy, match.switching_cost, gap)
    ]


def _gap(environment: Environment) -> float | None:
    """The one gap, where the gaps are fixed and the best arm is unique."""
    if isinstance(environment, ConstrainedBernoulli):
        return environment.gap if environment.best_arms == 1 else None
    if isinstance(environment, Bernoulli):
        best, second, *_ = sorted(environment.mean_losses)
        return round(second - best, 15) or None
    return None


def _bounds(
    policy: Policy, cost: float | Power, gap: float | None
) -> Iterator[tuple[str, str, Measure, Callable[..., float]]]:
    K = policy.n_arms
    if isinstance(policy, TsallisSwitch):
        fixed = {"n_arms": K, "switching_cost": policy.switching_cost}
        yield "theorem-1", "Theorem 1", "regret_with_switching", partial(bounds.theorem_1, **fixed)  # type: ignore[arg-type]
        yield "blocks", "number of blocks", "switches", partial(bounds.blocks, **fixed)  # type: ignore[arg-type]
        if gap is not None:
            value = partial(bounds.theorem_1_constrained, **fixed, gaps=gap)  # type: ignore[arg-type]
            yield "theorem-1-unique", "Theorem 1, unique best arm", "regret_with_switching", value
    elif isinstance(policy, TsallisInf):
        yield "corollary-3", "Corollary 3", "pseudo_regret", partial(bounds.corollary_3, n_arms=K)
        if gap is not None:
            value = partial(bounds.corollary_3_constrained, n_arms=K, gaps=gap)
            yield "corollary-3-unique", "Corollary 3, unique best arm", "pseudo_regret", value
            value = partial(bounds.tsallis_inf_constrained, n_arms=K, gaps=gap)
            yield "tsallis-inf-unique", "Zimmert and Seldin, unique best arm", "pseudo_regret", value
    elif isinstance(policy, Exp3):
        yield "exp3", "Bubeck and Cesa-Bianchi", "pseudo_regret", partial(bounds.exp3, n_arms=K)
    elif isinstance(policy, VaryingTsallisSwitch):
        yield "theorem-4", "Theorem 4", "regret_with_switching", partial(_theorem_4, K, cost, None)
        if gap is not None:
            yield (
                "theorem-4-unique",
                "Theorem 4, unique best arm",
                "regret_with_switching",
                partial(_theorem_4, K, cost, gap),
            )
            if isinstance(cost, Power) and cost.scale == 1.0:
                value = partial(bounds.corollary_5, n_arms=K, alpha=cost.alpha, gaps=gap)
                yield "corollary-5", "Corollary 5", "regret_with_switching", value


def _theorem_4(K: int, cost: float | Power, gap: float | None, horizon: int) -> float:
    if gap is None:
        return bounds.theorem_4(n_arms=K, costs=cost, horizon=horizon)
    return bounds.theorem_4_constrained(n_arms=K, costs=cost, horizon=horizon, gaps=gap)
