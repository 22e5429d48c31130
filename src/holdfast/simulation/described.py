"""Policies as users describe them: an id or ``"module:Class"``, parameters by name, and the game's own for the rest."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.environments import Environment
from holdfast.errors import HoldfastError, InvalidParameter, parameter_named
from holdfast.files import sha256
from holdfast.policies.policy import Policy
from holdfast.policies.registry import POLICIES, find_policy, make_policy
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import fitted

FOLLOWED = ("n_arms", "horizon", "switching_cost", "units")
"""Parameters of a policy that default to the game's."""


class Described(NamedTuple):
    """A policy and its name in results."""

    name: str
    policy: Policy
    code: dict[str, str]
    """Module of a user-defined policy, with the checksum of its source."""


def described_policy(
    place: str, entry: Any, environment: Environment, horizon: int, costs: Costs, folder: Path = Path()
) -> Described:
    """Make the policy that the table `entry` describes for a game.

    Parameters
    ----------
    place
        The name of the entry in errors.
    entry
        A table with the policy's id, or ``"module:Class"``, under ``policy``, parameters by name, and perhaps a
        ``name``.
    environment, horizon, costs
        The game: its arms, T, λ and units are the policy's unless given.
    folder
        Folder searched for users' modules, after everything installed.
    """
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
    game = {
        "n_arms": environment.n_arms,
        "horizon": horizon,
        "switching_cost": costs.constant,
        "units": environment.units,
    }
    for parameter in FOLLOWED:
        if (
            parameter in parameters_of(kind)
            and parameter not in given
            and (parameter != "n_arms" or "arms" not in given)
        ):
            if game[parameter] is None:
                raise HoldfastError(f"{place}.{parameter} must be given, because the study's is a sequence")
            given[parameter] = game[parameter]
    with parameter_named(lambda parameter: f"{place}.{parameter}"):
        policy = fitted(make_policy(given), environment, horizon)
    return Described(label or policy.label, policy, code_of(kind) if is_own(name) else {})


# ---- user-defined classes ----


def is_own(name: object) -> bool:
    """Tell whether a name is of the form ``"module:Class"``."""
    return isinstance(name, str) and ":" in name


def import_from(folder: Path) -> None:
    """Let modules in this folder be imported, after everything installed."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def parameters_of(kind: type) -> tuple[str, ...]:
    """Return the names of the parameters that a class takes."""
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


def code_of(kind: Any) -> dict[str, str]:
    """Return the module of a class or function and the checksum of its source, if it has one: they identify a run."""
    kind = kind if isinstance(kind, type) or inspect.isroutine(kind) else type(kind)
    file = inspect.getsourcefile(kind) if hasattr(kind, "__code__") or isinstance(kind, type) else None
    return {kind.__module__: sha256(Path(file))} if file and Path(file).exists() else {}
