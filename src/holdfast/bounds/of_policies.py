"""Which of the bounds is proved for a policy as it is set, for any losses from 0 to 1 and a constant λ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from holdfast.bounds import adaptive_policy, fixed, ranges
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.exp3 import Exp3
from holdfast.policies.policy import Policy
from holdfast.policies.tsallis_inf import TsallisInf
from holdfast.policies.tsallis_switch import TsallisSwitch

REGRET, COST = "pseudo_regret", "regret_with_switching"


class Proved(NamedTuple):
    """A bound on a mean."""

    bound: str
    statement: str
    measure: str
    """Of a result: the column whose mean it is."""
    value: Callable[..., float]
    """At a `horizon`."""


def proved_cost(policy: Policy, cost: float) -> Proved | None:
    """The bound on regret and switches together, in games where a switch costs `cost`.

    >>> import holdfast as hf
    >>> proved_cost(hf.TsallisSwitch(8, switching_cost=1.0), 1.0).statement
    'Theorem 1'
    """
    if isinstance(policy, TsallisSwitch):
        if policy.block_lengths is not None or cost != policy.switching_cost:  # another schedule, or another λ
            return None
        value = partial(fixed.theorem_1, n_arms=policy.n_arms, switching_cost=cost)
        return Proved("theorem-1", "Theorem 1", COST, value)
    if isinstance(policy, AdaptiveTsallisSwitch):
        return _proved_of_adaptive(policy, cost)
    return proved_regret(policy) if cost == 0.0 else None


def _proved_of_adaptive(policy: AdaptiveTsallisSwitch, cost: float) -> Proved | None:
    """Theorem B is proved for the λ the policy was made for, and for lengths up to Λ/(2√K)."""
    as_proved = policy.longest_length <= 0.5 and policy.n_arms >= 2
    if not as_proved or cost != policy.switching_cost:
        return None
    names = ("longest_step_down", "calm", "floor_budget", "cap_budget", "switch_weight", "least_noise")
    constants = adaptive_policy.Guarantee(*(getattr(policy, name) for name in names))
    value = partial(adaptive_policy.adaptive, n_arms=policy.n_arms, switching_cost=cost, constants=constants)
    return Proved("adaptive", "Theorem B of docs/adaptive.md", COST, value)


def proved_regret(policy: Policy) -> Proved | None:
    """The bound on regret alone, of a policy that knows of no switching cost."""
    if isinstance(policy, Exp3):
        return Proved("exp3", "Bubeck and Cesa-Bianchi", REGRET, partial(ranges.exp3, n_arms=policy.n_arms))
    if isinstance(policy, TsallisInf) and policy.estimator == "importance-weighted" and policy.loss_bound == 1.0:
        return Proved("corollary-3", "Corollary 3", REGRET, partial(ranges.corollary_3, n_arms=policy.n_arms))
    return None
