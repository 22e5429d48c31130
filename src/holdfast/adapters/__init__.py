"""Holdfast inside tools that people have: one module for each, which imports its partner when it is imported.

Here is what they share: rewards as losses of a policy.
"""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.policies.policy import Policy


def bandit(policy: Policy) -> Policy:
    """Return a policy that sees its own losses only; refuse another."""
    if not isinstance(policy, Policy) or policy.full_information or policy.announces is not None:
        raise InvalidParameter("policy", "must be a policy with bandit feedback, such as holdfast.Exp3(8)", policy)
    return policy


def check_arms(arms: list[Any], policy: Policy) -> None:
    """Refuse a number of arms that is not the policy's."""
    if len(arms) != policy.n_arms:
        raise InvalidParameter("policy", f"must have the {len(arms)} arms that there are", policy)


def loss_of(reward: Any, rewards: tuple[float, float], policy: Policy) -> float:
    """Return the loss of a reward in the policy's units."""
    low, high = rewards
    share = (high - min(max(float(reward), low), high)) / (high - low)
    return policy.units[0] + share * (policy.units[1] - policy.units[0])
