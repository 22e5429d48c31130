"""Which proven bounds apply to which series of a match, as functions of the round.

All but the trivial ones hold at every round t: the policies do not know the horizon, so a game cut at t is a game of
horizon t (block EXP3 and BaSE do know it, and nothing here is about them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import bounds
from holdfast.environments import Bernoulli, ConstrainedBernoulli
from holdfast.experiments.games import Match
from holdfast.policies import Exp3, Policy, TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.simulation import Power

Measure = Literal["pseudo_regret", "switches", "cost"]


@dataclass(frozen=True)
class Guarantee:
    """At round t the mean of `measure` in the series `series` is at most `value(t)`; of every run if `each`."""

    bound: str
    statement: str
    series: str
    measure: Measure
    value: Callable[[int], float]
    each: bool = False

    def at(self, rounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """The bound at each of these rounds."""
        return np.array([self.value(int(t)) for t in rounds])


def guarantees(match: Match) -> list[Guarantee]:
    """Every bound of `holdfast.bounds` that applies to a series of this match."""
    found: list[Guarantee] = []
    gaps = _gaps(match)
    for series, policy in match.policies.items():
        if isinstance(policy, TsallisSwitch):
            found += _theorem_1(series, policy, gaps)
        elif isinstance(policy, TsallisInf):
            found += _corollary_3(series, policy, gaps)
        elif isinstance(policy, Exp3):
            found.append(
                Guarantee(
                    "exp3", "EXP3", series, "pseudo_regret", lambda t, K=policy.n_arms: bounds.exp3(n_arms=K, horizon=t)
                )
            )
        elif isinstance(policy, VaryingTsallisSwitch):
            found += _theorem_4(series, policy, match.switching_cost, gaps)
    return found


def _gaps(match: Match) -> float | None:
    """The one gap, where the gaps are fixed and the best arm is unique."""
    environment = match.environment
    if isinstance(environment, ConstrainedBernoulli):
        return environment.gap if environment.best_arms == 1 else None
    if isinstance(environment, Bernoulli):
        best, *others = sorted(environment.mean_losses)
        return round(others[0] - best, 15) or None
    return None


def _theorem_1(series: str, policy: TsallisSwitch, gap: float | None) -> list[Guarantee]:
    K, lam = policy.n_arms, policy.switching_cost
    found = [
        Guarantee(
            "theorem-1",
            "Theorem 1",
            series,
            "cost",
            lambda t: bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=t),
        ),
        Guarantee(
            "blocks",
            "blocks of Theorem 1",
            series,
            "switches",
            lambda t: bounds.blocks(n_arms=K, switching_cost=lam, horizon=t),
            each=True,
        ),
    ]
    if gap is not None:
        found.append(
            Guarantee(
                "theorem-1-constrained",
                "Theorem 1, unique best arm",
                series,
                "cost",
                lambda t: bounds.theorem_1_constrained(n_arms=K, switching_cost=lam, horizon=t, gaps=gap),
            )
        )
    return found


def _corollary_3(series: str, policy: Policy, gap: float | None) -> list[Guarantee]:
    K = policy.n_arms
    found = [
        Guarantee(
            "corollary-3", "Corollary 3", series, "pseudo_regret", lambda t: bounds.corollary_3(n_arms=K, horizon=t)
        )
    ]
    if gap is not None:
        for bound, statement, function in (
            ("corollary-3-constrained", "Corollary 3, unique best arm", bounds.corollary_3_constrained),
            ("tsallis-inf", "Zimmert and Seldin, unique best arm", bounds.tsallis_inf_constrained),
        ):
            found.append(
                Guarantee(
                    bound,
                    statement,
                    series,
                    "pseudo_regret",
                    lambda t, f=function: f(n_arms=K, horizon=t, gaps=gap),  # type: ignore[misc]
                )
            )
    return found


def _theorem_4(series: str, policy: Policy, cost: float | Power, gap: float | None) -> list[Guarantee]:
    K = policy.n_arms

    def costs(t: int) -> float | NDArray[np.float64]:
        if not isinstance(cost, Power):
            return cost
        # At most N̄ + 1 blocks cover t rounds (proof of Corollary 5, for λ_n = n^α).
        power = 2 * cost.alpha + 3
        most = ((cost.alpha + 1.5) ** 2 * (cost.alpha + 1) * K * t**2) ** (1 / power) + 2
        return np.asarray(cost(np.arange(1.0, min(most, t) + 1)))

    found = [
        Guarantee(
            "theorem-4",
            "Theorem 4",
            series,
            "cost",
            lambda t: bounds.theorem_4(n_arms=K, costs=costs(t), horizon=t),
        )
    ]
    if gap is not None:
        found.append(
            Guarantee(
                "theorem-4-constrained",
                "Theorem 4, unique best arm",
                series,
                "cost",
                lambda t: bounds.theorem_4_constrained(n_arms=K, costs=costs(t), horizon=t, gaps=gap),
            )
        )
        if isinstance(cost, Power) and cost.scale == 1.0:
            found.append(
                Guarantee(
                    "corollary-5",
                    "Corollary 5",
                    series,
                    "cost",
                    lambda t: bounds.corollary_5(n_arms=K, alpha=cost.alpha, horizon=t, gaps=gap),
                )
            )
    return found
