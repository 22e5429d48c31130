"""A study read from a TOML file: an error names the field, the rule and the value.

    name = "regions"                     # of the files; the name of this file unless given
    horizon = 100_000                    # may be left out with a loss table: all its rows
    replications = 100                   # 10 unless given
    seed = 0
    switching_cost = 1.0                 # or one cost per block, [1.0, 0.5, ...], or { power = 0.5, scale = 1.0 }
    checkpoints = "log"                  # "linear", a number, { spacing = "log", count = 50 }, or the rounds
    policies = ["tsallis-switch", "exp3"]

    [environment]
    kind = "bernoulli"                   # constrained-bernoulli, reversal, loss-table, or your own "module:Class"
    n_arms = 8
    gap = 0.05                           # or, for bernoulli, mean_losses = [0.45, 0.5, ...]

    [grid]                               # every combination is a cell
    switching_cost = [0.1, 1.0]
    environment.gap = [0.05, 0.2]
    policies.rv.loss_bound = [1.0, 2.0]  # of the policy with that name or id

A policy with parameters is a table, ``[[policies]]`` with ``policy = "tsallis-inf"`` or your own ``"module:Class"``,
its parameters by name, and perhaps a ``name``. Its n_arms, horizon and switching_cost are the study's unless given.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.checks import whole_number
from holdfast.environments import Environment
from holdfast.environments.environment import LAST_ROUND
from holdfast.errors import HoldfastError, InvalidParameter, nearest
from holdfast.files import reason
from holdfast.numerics.random import check_seed
from holdfast.policies.policy import Policy
from holdfast.runs.record import plain
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.run import MOST_REPLICATIONS, checked_horizon, checkpoint_rounds
from holdfast.studies import grid
from holdfast.studies.environments import study_environment
from holdfast.studies.policies import study_policy


@dataclass(frozen=True)
class Cell:
    """One combination of the grid: what one call of `simulate` takes."""

    name: str
    """The name of its file, without the suffix."""
    values: dict[str, Any]
    """What the grid set, by field."""
    columns: dict[str, Any]
    """The same as columns of its table."""
    environment: Environment
    source: dict[str, Any]
    """The file of a loss table and its checksum, the code of a user-defined environment, or nothing."""
    policies: dict[str, Policy]
    code: dict[str, str]
    """The modules of user-defined policies, each with the checksum of its source."""
    horizon: int
    replications: int
    seed: int
    costs: Costs
    checkpoints: tuple[int, ...]

    def settings(self) -> dict[str, Any]:
        """Everything the numbers depend on, as JSON has it."""
        settings = {
            "environment": self.environment.settings() | self.source,
            "policies": {name: policy.settings() for name, policy in self.policies.items()},
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "switching_cost": self.costs.described(),
            "checkpoints": self.checkpoints,
            "code": self.code,
        }
        return plain(settings)


@dataclass(frozen=True)
class Study:
    """A checked study: its cells, in the order of the grid."""

    name: str
    cells: tuple[Cell, ...]
    written: dict[str, Any] = field(default_factory=dict)
    """The fields as the file has them: what a user would say has changed."""

    @property
    def named(self) -> bool:
        """Whether the file gives the name; otherwise it is the file's own, which may change."""
        return "name" in self.written

    @property
    def checkpoints_are_given(self) -> bool:
        """Whether the file says where to record; otherwise that follows from the number of replications."""
        return "checkpoints" in self.written or "checkpoints" in self.cells[0].values

    def renamed(self, name: str) -> Study:
        """The same study under another name; without a grid, that is its cell's too."""
        if len(self.cells) == 1 and not self.cells[0].values:
            return replace(self, name=name, cells=(replace(self.cells[0], name=name),))
        return replace(self, name=name)


def _cost(value: Any) -> Any:
    if not isinstance(value, dict):
        return Costs.of(value)
    for key in value:
        if key not in ("power", "scale"):
            rule = f"takes 'power' and 'scale' only{nearest(key, ('power', 'scale'))}"
            raise InvalidParameter("switching_cost", rule, key)
    if "power" not in value:
        raise InvalidParameter("switching_cost", "must have a power: { power = 0.5 }", value)
    return Costs.of(Power(value["power"], value.get("scale", 1.0)))


def _name(value: Any) -> Any:
    if not isinstance(value, str) or not grid.FILE_NAME.fullmatch(value):
        raise InvalidParameter("name", "must be letters, digits, '.', '_' and '-', as a file name has", value)
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParameter("environment", "must be a table", value)
    return value


@dataclass(frozen=True)
class Fields:
    """The fields of a study file without its grid."""

    name: str
    switching_cost: Costs
    environment: dict[str, Any]
    policies: list[Any]
    horizon: int | None = None
    replications: int = 10
    seed: int = 0
    checkpoints: Any = None


CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": _name,
    "horizon": lambda value: whole_number("horizon", value, least=1, most=LAST_ROUND),
    "replications": lambda value: whole_number("replications", value, least=1, most=MOST_REPLICATIONS),
    "seed": check_seed,
    "switching_cost": _cost,
    "checkpoints": lambda value: value,  # once the horizon is known
    "environment": _table,
    "policies": grid.entries,
}
NEEDED = ("switching_cost", "environment", "policies")


def _checked(given: dict[str, Any]) -> Fields:
    """The fields, or an error about the first mistake; a wrong name comes before a missing one."""
    for name, value in given.items():
        if name not in CHECKS:
            raise InvalidParameter(name, f"is not a field of a study{nearest(name, CHECKS)}", value)
    values = {}
    for name, check in CHECKS.items():
        if name not in given:
            if name in NEEDED:
                raise HoldfastError(f"{name} must be given")
            continue
        try:
            values[name] = check(given[name])
        except InvalidParameter as error:  # it may know the place in a list
            place = error.parameter if error.parameter.startswith(name) else name
            raise InvalidParameter(place, error.rule, error.value) from None
    return Fields(**values)


def read_study(path: str | Path) -> Study:
    """The study that the file describes, with every cell checked before any is played."""
    file = Path(path)
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HoldfastError(f"{file} is not TOML: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise HoldfastError(f"{file} cannot be read: {reason(error)}") from None
    where = file.name
    try:
        content = {key: value for key, value in written.items() if key != "grid"}
        content.setdefault("name", re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("-.") or "study")
        combinations = grid.combinations(written.get("grid", {}))
        names = grid.file_names(content["name"], combinations)
        columns = grid.columns(combinations)
        environments: dict[str, Any] = {}

        def cell(name: str, values: dict[str, Any], columns: dict[str, Any]) -> Cell:
            settings = deepcopy(content)
            for key, value in values.items():
                grid.put(settings, key, value)
            return _cell(name, values, columns, settings, file.parent, environments)

        cells = []
        for name, values, as_columns in zip(names, combinations, columns, strict=True):
            try:
                cells.append(cell(name, values, as_columns))
            except HoldfastError as error:
                ends = (combinations[0], combinations[-1])
                if values and not any(_refused(cell, other) == str(error) for other in ends if other != values):
                    where += ", at " + ", ".join(f"{key} = {value!r}" for key, value in values.items())
                raise
    except HoldfastError as error:
        raise HoldfastError(f"{error} ({where})") from None
    return Study(str(content["name"]), tuple(cells), plain(written))


def _refused(cell: Callable[..., Cell], values: dict[str, Any]) -> str:
    """What is said of another combination: the same, where the grid is not to blame."""
    try:
        cell("", values, {})
    except HoldfastError as error:
        return str(error)
    return ""


def _cell(
    name: str,
    values: dict[str, Any],
    columns: dict[str, Any],
    settings: dict[str, Any],
    folder: Path,
    environments: dict[str, Any],
) -> Cell:
    fields = _checked(settings)
    made, source = study_environment(fields.environment, fields.horizon, folder, environments)
    horizon = checked_horizon(fields.horizon, made)
    policies: dict[str, Policy] = {}
    code: dict[str, str] = {}
    for i, entry in enumerate(fields.policies):
        place = f"policies[{i}]"
        label, policy, own = study_policy(place, entry, made, horizon, fields.switching_cost, folder)
        if label in policies:
            raise InvalidParameter(f"{place}.name", "must differ from those of the policies before it", label)
        policies[label] = policy
        code |= own
    return Cell(
        name=name,
        values=values,
        columns=columns,
        environment=made,
        source=source,
        policies=policies,
        code=code,
        horizon=horizon,
        replications=fields.replications,
        seed=fields.seed,
        costs=fields.switching_cost,
        checkpoints=checkpoint_rounds(fields.checkpoints, horizon, fields.replications * len(policies)),
    )
