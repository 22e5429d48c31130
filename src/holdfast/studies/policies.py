"""The policies of a study: by id or by ``"module:Class"``, with the study's own settings where none are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.checks import one_of
from holdfast.environments import Environment
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.policies import POLICIES, Policy, make_policy
from holdfast.simulation.costs import Costs
from holdfast.studies.own import check_names, code_of, fields_of, find_own, is_own, make_own

FOLLOWED = ("n_arms", "horizon", "switching_cost")
"""Parameters of a policy that are the study's unless given."""


def study_policy(
    place: str, entry: Any, environment: Environment, horizon: int, costs: Costs, folder: Path
) -> tuple[str, Policy, dict[str, str]]:
    """The name and the policy that the table `entry` describes, and the code of one's own; `place` says which it is."""
    if not isinstance(entry, dict):
        raise InvalidParameter(place, "must be a policy's id, or a table with it under policy", entry)
    given = dict(entry)
    label = given.pop("name", None)
    if label is not None and (not isinstance(label, str) or not label):
        raise InvalidParameter(f"{place}.name", "must be a text that is not empty", label)
    if "policy" not in given:
        raise HoldfastError(f"{place}.policy must be given: one of {', '.join(map(repr, POLICIES))}")
    name = given.pop("policy")
    own = None
    if is_own(name):
        own = find_own(f"{place}.policy", name, Policy, folder)  # type: ignore[type-abstract]  # looked up, not made
    kind = own or POLICIES[one_of(f"{place}.policy", name, POLICIES)][0]
    study = {"n_arms": environment.n_arms, "horizon": horizon, "switching_cost": costs.constant}
    for parameter in FOLLOWED:
        if parameter in fields_of(kind) and parameter not in given and not (parameter == "n_arms" and "arms" in given):
            if study[parameter] is None:
                raise HoldfastError(f"{place}.{parameter} must be given, because the study's is a sequence")
            given[parameter] = study[parameter]
    try:
        check_names(kind, name, given)
        policy = make_own(own, name, given) if own else make_policy({"policy": name, **given})
        policy.parameters(horizon=horizon)
    except InvalidParameter as error:
        raise InvalidParameter(f"{place}.{error.parameter}", error.rule, error.value) from None
    if policy.n_arms != environment.n_arms:
        rule = f"must be {environment.n_arms}, as many as the environment has"
        raise InvalidParameter(f"{place}.n_arms", rule, policy.n_arms)
    return label or policy.label, policy, code_of(own) if own else {}
