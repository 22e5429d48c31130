"""The policies of a study: by id or by ``"module:Class"``, with the study's own settings where none are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.environments import Environment
from holdfast.errors import HoldfastError, InvalidParameter, parameter_named
from holdfast.policies.policy import Policy
from holdfast.policies.registry import POLICIES, find_policy, make_policy
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import fitted
from holdfast.studies.user_classes import code_of, fields_of, import_from, is_own

FOLLOWED = ("n_arms", "horizon", "switching_cost", "units")
"""Parameters of a policy that are the study's unless given."""


def study_policy(
    place: str, entry: Any, environment: Environment, horizon: int, costs: Costs, folder: Path
) -> tuple[str, Policy, dict[str, str]]:
    """Name, policy and user-defined code of the table `entry`; `place` names the entry in errors."""
    if not isinstance(entry, dict):
        raise InvalidParameter(place, "must be a policy's id, or a table with it under policy", entry)
    given = dict(entry)
    label = given.pop("name", None)
    if label is not None and (not isinstance(label, str) or not label):
        raise InvalidParameter(f"{place}.name", "must be a text that is not empty", label)
    if "policy" not in given:
        raise HoldfastError(f"{place}.policy must be given: one of {', '.join(map(repr, POLICIES))}")
    name = given["policy"]
    import_from(folder)
    with parameter_named(lambda _: f"{place}.policy"):
        kind, _ = find_policy(name)
    study = {
        "n_arms": environment.n_arms,
        "horizon": horizon,
        "switching_cost": costs.constant,
        "units": environment.units,
    }
    for parameter in FOLLOWED:
        if parameter in fields_of(kind) and parameter not in given and not (parameter == "n_arms" and "arms" in given):
            if study[parameter] is None:
                raise HoldfastError(f"{place}.{parameter} must be given, because the study's is a sequence")
            given[parameter] = study[parameter]
    with parameter_named(lambda parameter: f"{place}.{parameter}"):
        policy = fitted(make_policy(given), environment, horizon)
    return label or policy.label, policy, code_of(kind) if is_own(name) else {}
