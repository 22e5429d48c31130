"""Who plays in the arena: every policy of the package, the paper's with both estimators, and rules made by hand.

Policies that see the losses of all arms play apart from those that see the loss of their own: it would not be fair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.environments import Environment
from holdfast.errors import InvalidParameter, nearest
from holdfast.evidence.worlds import World, name_list
from holdfast.policies.policy import Feedback, Policy
from holdfast.policies.registry import POLICIES
from holdfast.results import Result
from holdfast.simulation import Backend, simulate
from holdfast.simulation.costs import Costs
from holdfast.studies.policies import study_policy
from holdfast.studies.user_classes import fields_of, is_own

PAPER = "tsallis-switch"
"""The paper's policy: all others are compared with it, so it always plays."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "tsallis-switch-rv": {"policy": "tsallis-switch", "estimator": "reduced-variance"},
    "tsallis-inf-rv": {"policy": "tsallis-inf", "estimator": "reduced-variance"},
    "ucb1-cooldown-100": {"policy": "ucb1", "cooldown": 100},
    "ucb1-threshold-0.1": {"policy": "ucb1", "threshold": 0.1},
    "thompson-cooldown-100": {"policy": "thompson", "cooldown": 100},
}
"""Policies with other options than their id stands for; cooldowns and thresholds are what practitioners add."""

IN_SIGHT: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"policy": name}
        for name in (
            "hedge-switch",
            "lazy-hedge",
            "fixed-share",
            "shrinking-dartboard",
            "lazy-leader",
            "random-walk",
            "work-function",
            "threshold",
        )
    },
    "seasonal-plan-24": {"policy": "forecast-plan", "period": 24},
}
"""Those who see the losses of all arms, as a study's table would have them."""

ENTRIES: Mapping[str, Mapping[str, Any]] = {
    **{name: {"policy": name} for name in POLICIES if all(name != entry["policy"] for entry in IN_SIGHT.values())},
    **VARIANTS,
}
"""The others by name."""

OWN_LOSS = "adaptive"
"""Plays among those who see all, to show what seeing is worth."""

QUICK = (
    "adaptive",
    "tsallis-switch",
    "tsallis-switch-rv",
    "tsallis-inf",
    "exp3-blocks",
    "base-geometric",
    "ucb1",
    "ucb1-cooldown-100",
)
"""A few for a first look: the compiler takes seconds for each."""


def chosen_policies(given: object = None, *, quick: bool = False, sees: Feedback = "own") -> tuple[str, ...]:
    """Names of the policies to play: all, a few, or these, user-defined ones as ``"module:Class"``, and the paper's."""
    known = {OWN_LOSS: {}, PAPER: {}, **IN_SIGHT} if sees == "all" else ENTRIES
    always = (OWN_LOSS, PAPER) if sees == "all" else (PAPER,)
    if given is None:
        return QUICK if quick and sees == "own" else tuple(known)
    names = name_list("policies", given, f"must be a list of names; there are {', '.join(known)}")
    for name in names:
        if name not in known and not is_own(name):
            rule = f"must be of {', '.join(known)}, or your own module:Class{nearest(str(name), known)}"
            raise InvalidParameter("policies", rule, name)
    return tuple(dict.fromkeys([*names, *always]))


def contestants(
    names: Sequence[str], environment: Environment, horizon: int, switching_cost: float
) -> tuple[dict[str, Policy], dict[str, str]]:
    """The policies for one game, with its arms, range, cost and perhaps T; and the code of user-defined ones."""
    costs = Costs.of(switching_cost)
    made: dict[str, Policy] = {}
    code: dict[str, str] = {}
    for name in names:
        entry = {"policy": name} if is_own(name) else {**{**ENTRIES, **IN_SIGHT}[name], "name": name}
        label, policy, own = study_policy(f"policy {name}", entry, environment, horizon, costs, Path())
        if label in made:
            raise InvalidParameter("policies", "must have different names", label)
        made[label] = policy
        code |= own
    return made, code


def play(
    policies: Sequence[str],
    world: World,
    *,
    replications: int,
    seed: int,
    backend: str | Backend = "threads",
    checkpoints: int | Sequence[int] = 1,
) -> Result:
    """These policies in a world, at once and not as a study."""
    made, _ = contestants(policies, world.environment, world.horizon, world.switching_cost)
    return simulate(
        made,
        world.environment,
        horizon=world.horizon,
        switching_cost=world.switching_cost,
        replications=replications,
        seed=seed,
        checkpoints=checkpoints,
        backend=backend,
        progress=False,
    )


def knows_horizon(policy: Policy) -> bool:
    """Whether a policy knows T before the first round."""
    return "horizon" in fields_of(type(policy))
