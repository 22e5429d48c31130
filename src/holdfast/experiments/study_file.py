"""A user's own experiment, read from a TOML file: every mistake is answered with the field, the rule and the value.

    name = "regions"                     # of the files; the name of this file unless given
    horizon = 100_000                    # may be left out with a loss table: all its rows
    replications = 100                   # 10 unless given
    seed = 0
    switching_cost = 1.0                 # or one cost a block, [1.0, 0.5, ...], or { power = 0.5, scale = 1.0 }
    checkpoints = "log"                  # "linear", a number, { spacing = "log", count = 50 }, or the rounds
    policies = ["tsallis-switch", "exp3"]

    [environment]
    kind = "bernoulli"                   # constrained-bernoulli, reversal, loss-table
    n_arms = 8
    gap = 0.05                           # or, for bernoulli, mean_losses = [0.45, 0.5, ...]

    [grid]                               # every combination is a cell
    switching_cost = [0.1, 1.0]
    environment.gap = [0.05, 0.2]
    policies.rv.loss_bound = [1.0, 2.0]  # of the policy with that name or id

A policy with parameters is a table, ``[[policies]]`` with ``policy = "tsallis-inf"``, its parameters by name, and
perhaps a ``name``. Its n_arms, horizon and switching_cost are the study's unless given.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from holdfast.checks import whole_number
from holdfast.environments import Environment
from holdfast.errors import HoldfastError, InvalidParameter, nearest
from holdfast.experiments.study_environments import make_environment
from holdfast.experiments.validation import validated
from holdfast.policies import POLICIES, Policy, make_policy
from holdfast.rng import check_seed
from holdfast.simulation.checkpoints import checkpoint_rounds
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.run import MOST_REPLICATIONS, MOST_ROUNDS, checked_horizon, fitted

MOST_CELLS = 10_000
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=,+-]{0,150}")
FOLLOWED = ("n_arms", "horizon", "switching_cost")
"""Parameters of a policy that are the study's unless given."""


@dataclass(frozen=True)
class Cell:
    """One combination of the grid: what one call of `simulate` takes."""

    name: str
    """The name of its file, without the suffix."""
    values: dict[str, Any]
    """What the grid set, by field."""
    environment: Environment
    source: dict[str, Any]
    """The file of a loss table and its check sum, or nothing."""
    policies: dict[str, Policy]
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
        }
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        return plain


@dataclass(frozen=True)
class Study:
    """A checked study: its cells, in the order of the grid."""

    name: str
    cells: tuple[Cell, ...]
    named: bool
    """Whether the file gives the name; otherwise it is the file's own, which may change."""

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
    if not isinstance(value, str) or not FILE_NAME.fullmatch(value):
        raise InvalidParameter("name", "must be letters, digits, '.', '_' and '-', as a file name has", value)
    if value == "summary":
        raise InvalidParameter("name", "must not be that of the summary's own file", value)
    return value


def _entries(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise InvalidParameter("policies", 'must be a list such as ["tsallis-switch"], or [[policies]] tables', value)
    return [{"policy": entry} if isinstance(entry, str) else entry for entry in value]


class Fields(BaseModel):
    """The fields of a study file without its grid."""

    model_config = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)

    name: Annotated[str, BeforeValidator(_name)]
    horizon: Annotated[int, BeforeValidator(lambda v: whole_number("", v, least=1, most=MOST_ROUNDS))] | None = None
    replications: Annotated[int, BeforeValidator(lambda v: whole_number("", v, least=1, most=MOST_REPLICATIONS))] = 10
    seed: Annotated[int, BeforeValidator(check_seed)] = 0
    switching_cost: Annotated[Costs, BeforeValidator(_cost)]
    checkpoints: Any = None
    environment: dict[str, Any]
    policies: Annotated[list[Any], BeforeValidator(_entries)]


def read_study(path: str | Path) -> Study:
    """The study that the file describes, with every cell checked before any is played."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HoldfastError(f"{file} is not TOML: {error}") from None
    except OSError as error:
        raise HoldfastError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HoldfastError(f"{file} cannot be read: {error}") from None
    where = file.name
    try:
        grid = _flat(content.pop("grid", {}))
        number = math.prod(len(values) for values in grid.values())
        if number > MOST_CELLS:
            raise InvalidParameter("grid", f"must not have more than {MOST_CELLS} combinations", number)
        named = "name" in content
        content.setdefault("name", re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("-.") or "study")
        combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        names = _file_names(content["name"], combinations)
        environments: dict[str, Any] = {}

        def cell(name: str, values: dict[str, Any]) -> Cell:
            settings = deepcopy(content)
            for key, value in values.items():
                _put(settings, key, value)
            return _cell(name, values, settings, file.parent, environments)

        cells = []
        for name, values in zip(names, combinations, strict=True):
            try:
                cells.append(cell(name, values))
            except HoldfastError as error:
                ends = (combinations[0], combinations[-1])
                if values and not any(_refused(cell, other) == str(error) for other in ends if other != values):
                    where += ", at " + ", ".join(f"{key} = {value!r}" for key, value in values.items())
                raise
    except HoldfastError as error:
        raise HoldfastError(f"{error} ({where})") from None
    return Study(str(content["name"]), tuple(cells), named)


def _refused(cell: Callable[[str, dict[str, Any]], Cell], values: dict[str, Any]) -> str:
    """What is said of another combination: the same, where the grid is not to blame."""
    try:
        cell("", values)
    except HoldfastError as error:
        return str(error)
    return ""


def _flat(grid: Any, under: str = "") -> dict[str, list[Any]]:
    """The grid's fields by dotted name, with their lists of values."""
    if not isinstance(grid, dict):
        raise InvalidParameter("grid", "must be a table of lists, [grid]", grid)
    flat: dict[str, list[Any]] = {}
    for key, values in grid.items():
        name = f"{under}{key}"
        if isinstance(values, dict):
            flat |= _flat(values, f"{name}.")
            continue
        if not isinstance(values, list) or not values:
            raise InvalidParameter(f"grid.{name}", "must be a list of the values to try", values)
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            raise InvalidParameter(f"grid.{name}", "must not have a value twice", twice[0])
        if name == "name":
            raise InvalidParameter("grid.name", "cannot vary: it names the whole study", values)
        flat[name] = values
    return flat


def _put(settings: dict[str, Any], key: str, value: Any) -> None:
    """Set the field with the dotted name `key`; one of a policy as ``policies.<its name or id>.<parameter>``."""
    head, _, rest = key.partition(".")
    if head == "policies" and rest:
        name, _, parameter = rest.rpartition(".")
        entries = settings["policies"] = _entries(settings.get("policies"))
        found = [entry for entry in entries if isinstance(entry, dict) and _called(entry) == name]
        if len(found) != 1 or not parameter:
            known = [str(_called(entry)) for entry in entries if isinstance(entry, dict)]
            rule = f"must be policies.<name>.<parameter> with one of the names {', '.join(map(repr, known))}"
            raise InvalidParameter("grid", rule + nearest(name, known), key)
        found[0][parameter] = deepcopy(value)
        return
    while rest:
        settings = settings.setdefault(head, {})
        if not isinstance(settings, dict):
            raise InvalidParameter("grid", f"has {key!r}, but {head} is no table", settings)
        head, _, rest = rest.partition(".")
    settings[head] = deepcopy(value)


def _called(entry: Mapping[str, Any]) -> Any:
    return entry.get("name", entry.get("policy"))


def _cell(
    name: str, values: dict[str, Any], settings: dict[str, Any], folder: Path, environments: dict[str, Any]
) -> Cell:
    fields = validated(Fields, settings, "a study")
    made, source = make_environment(fields.environment, fields.horizon, folder, environments)
    horizon = checked_horizon(fields.horizon, made)
    policies: dict[str, Policy] = {}
    for i, entry in enumerate(fields.policies):
        label, policy = _policy(f"policies[{i}]", entry, made, horizon, fields.switching_cost)
        if label in policies:
            raise InvalidParameter(f"policies[{i}].name", "must differ from those of the policies before it", label)
        policies[label] = policy
    games = fields.replications * len(policies)
    marks = checkpoint_rounds(fields.checkpoints, horizon, games)
    return Cell(
        name,
        values,
        made,
        source,
        policies,
        horizon,
        fields.replications,
        fields.seed,
        fields.switching_cost,
        marks,
    )


def _policy(place: str, entry: Any, environment: Environment, horizon: int, costs: Costs) -> tuple[str, Policy]:
    if not isinstance(entry, dict):
        raise InvalidParameter(place, "must be a policy's id, or a table with it under policy", entry)
    given = dict(entry)
    label = given.pop("name", None)
    if label is not None and (not isinstance(label, str) or not label):
        raise InvalidParameter(f"{place}.name", "must be a text that is not empty", label)
    if "policy" not in given:
        raise HoldfastError(f"{place}.policy must be given: one of {', '.join(map(repr, POLICIES))}")
    study = {"n_arms": environment.n_arms, "horizon": horizon, "switching_cost": costs.constant}
    known = POLICIES[given["policy"]][0].__dataclass_fields__ if given["policy"] in POLICIES else ()
    for parameter in FOLLOWED:
        if parameter in known and parameter not in given and not (parameter == "n_arms" and "arms" in given):
            if study[parameter] is None:
                raise HoldfastError(f"{place}.{parameter} must be given, because the study's is a sequence")
            given[parameter] = study[parameter]
    try:
        policy = make_policy(given)
        policy = fitted(policy, environment, horizon)
    except InvalidParameter as error:
        raise InvalidParameter(f"{place}.{error.parameter}", error.rule, error.value) from None
    return label or policy.label, policy


def _file_names(study: str, combinations: list[dict[str, Any]]) -> list[str]:
    """Readable names where every value makes one, such as ``switching_cost=0.1,gap=0.05``; numbered ones otherwise."""
    if len(combinations) == 1 and not combinations[0]:
        return [study]
    short = short_names(combinations[0])
    names = [",".join(f"{short[key]}={_word(value)}" for key, value in cell.items()) for cell in combinations]
    if len(set(names)) == len(names) and all(FILE_NAME.fullmatch(name) for name in names):
        return names
    return [f"cell-{i:0{len(str(len(combinations)))}}" for i in range(1, len(combinations) + 1)]


def short_names(keys: Mapping[str, Any]) -> dict[str, str]:
    """The last word of each dotted name, or all of it where two end alike."""
    ends = [key.rpartition(".")[2] for key in keys]
    return {key: end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
