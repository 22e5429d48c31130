"""A user's own experiments: a TOML file that describes a plan, and how it is run. Errors name field, rule and value.

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

import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from holdfast.checks import code_of, import_from, is_own, one_of, parameters_of, whole_number
from holdfast.environments import ENVIRONMENTS, Environment, LossTable, find_environment, make_environment
from holdfast.environments.environment import LAST_ROUND
from holdfast.errors import HoldfastError, InvalidParameter, nearest, parameter_named
from holdfast.files import reason, sha256
from holdfast.lab.plan import Cell, Plan
from holdfast.lab.tables import Tables, play_in
from holdfast.numerics.random import check_seed
from holdfast.numerics.regret import EVERY_MEASURE, ON_REQUEST
from holdfast.results import SCHEMA, Result
from holdfast.runs import RECORD, TABLE, plain, read_record
from holdfast.simulation.contract import check_own
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.run import (
    MOST_REPLICATIONS,
    checked_horizon,
    checked_record,
    checkpoint_rounds,
    described_policies,
)

MOST_CELLS = 10_000
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=,+-]{0,150}")
INT64 = range(-(2**63), 2**63)
TAKEN = {
    *SCHEMA,
    *ON_REQUEST,
    "replications",
    *(f"{measure}_{part}" for measure in EVERY_MEASURE for part in ("mean", "sd", "se")),
}
"""Column names that tables and summaries use."""


def run_study(study: str | Path | Plan, out: str | Path, **how: Any) -> Tables:
    """Run a study and write its tables to a folder.

    Errors in the file are found before anything is written.

    Parameters
    ----------
    study
        Its file, in TOML, or what `read_study` returned.
    out
        The folder; one that holds another study is refused.
    **how
        See `holdfast.lab.tables.play_in`.
    """
    plan = study if isinstance(study, Plan) else read_study(study)
    check_own(*(thing for cell in plan.cells for thing in (*cell.policies.values(), cell.environment)))
    return play_in(out, plan, **how)


def finished_tables(path: Path) -> Result:
    """Return all finished cells of the study in a folder, as one result with the grid's values as columns."""
    if not (path / RECORD).exists():
        raise HoldfastError(f"{path} must be a folder that `holdfast study run` filled; it has no {RECORD}")
    files = [file for name in read_record(path)["cells"] if (file := path / f"{name}{TABLE}").exists()]
    if not files:
        raise HoldfastError(f"{path} has no finished tables yet; go on with `holdfast study run --resume`")
    return Result.concat([Result.read(file) for file in files])


def read_study(path: str | Path) -> Plan:
    """Read the plan that the file describes, with every cell checked before any is played."""
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
        combinations = _combinations(written.get("grid", {}))
        names, columns = _file_names(content["name"], combinations), _columns(combinations)
        environments: dict[str, Any] = {}

        def cell(name: str, keys: dict[str, Any], columns: dict[str, Any]) -> Cell:
            settings = deepcopy(content)
            for key, value in keys.items():
                _put(settings, key, value)
            return _cell(name, keys, columns, settings, file.parent, environments)

        cells = []
        for name, keys, as_columns in zip(names, combinations, columns, strict=True):
            try:
                cells.append(cell(name, keys, as_columns))
            except HoldfastError as error:
                ends = (combinations[0], combinations[-1])
                if keys and not any(_refusal(cell, other) == str(error) for other in ends if other != keys):
                    where += ", at " + ", ".join(f"{key} = {value!r}" for key, value in keys.items())
                raise
    except HoldfastError as error:
        raise HoldfastError(f"{error} ({where})") from None
    return Plan(str(content["name"]), tuple(cells), plain(written))


def _refusal(cell: Callable[..., Cell], keys: dict[str, Any]) -> str:
    """Return the error of another combination: the same error means that the grid is not to blame."""
    try:
        cell("", keys, {})
    except HoldfastError as error:
        return str(error)
    return ""


def _cell(
    name: str,
    keys: dict[str, Any],
    columns: dict[str, Any],
    settings: dict[str, Any],
    folder: Path,
    environments: dict[str, Any],
) -> Cell:
    fields = _checked(settings)
    costs: Costs = fields["switching_cost"]
    environment, source = _environment(fields["environment"], fields.get("horizon"), folder, environments)
    horizon = checked_horizon(fields.get("horizon"), environment)
    replications = fields.get("replications", 10)
    policies, code = described_policies(fields["policies"], environment, horizon, costs, folder)
    return Cell(
        policies=policies,
        environment=environment,
        switching_cost=costs.given,
        horizon=horizon,
        checkpoints=checkpoint_rounds(fields.get("checkpoints"), horizon, replications * len(policies)),
        replications=replications,
        seed=fields.get("seed", 0),
        name=name,
        keys=keys,
        columns=columns,
        source=source,
        code=code,
        record=fields.get("record", ()),
    )


# ---- fields ----


def _cost(value: Any) -> Costs:
    if not isinstance(value, dict):
        return Costs.of(value)
    for key in value:
        if key not in ("power", "scale"):
            rule = f"takes 'power' and 'scale' only{nearest(key, ('power', 'scale'))}"
            raise InvalidParameter("switching_cost", rule, key)
    if "power" not in value:
        raise InvalidParameter("switching_cost", "must have a power: { power = 0.5 }", value)
    return Costs.of(Power(value["power"], value.get("scale", 1.0)))


def _name(value: Any) -> str:
    if not isinstance(value, str) or not FILE_NAME.fullmatch(value):
        raise InvalidParameter("name", "must be letters, digits, '.', '_' and '-', as a file name has", value)
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParameter("environment", "must be a table", value)
    return value


def _entries(policies: Any) -> list[Any]:
    """Return the study's policies, each as a table."""
    if not isinstance(policies, list) or not policies:
        rule = 'must be a list such as ["tsallis-switch"], or [[policies]] tables'
        raise InvalidParameter("policies", rule, policies)
    return [{"policy": entry} if isinstance(entry, str) else entry for entry in policies]


CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": _name,
    "horizon": lambda value: whole_number("horizon", value, least=1, most=LAST_ROUND),
    "replications": lambda value: whole_number("replications", value, least=1, most=MOST_REPLICATIONS),
    "seed": check_seed,
    "switching_cost": _cost,
    "checkpoints": lambda value: value,  # once the horizon is known
    "record": lambda record: checked_record(record, ("dynamic",)),
    "environment": _table,
    "policies": _entries,
}
"""Check of each field of a study file, the grid excepted."""
NEEDED = ("switching_cost", "environment", "policies")


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the checked fields; raise for the first mistake, a wrong name before a missing one."""
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
    return values


# ---- the environment ----


def _environment(
    given: dict[str, Any], horizon: int | None, folder: Path, made: dict[str, Any]
) -> tuple[Environment, dict[str, Any]]:
    """Return the environment that a study's table describes, and the file or code it came from.

    Its horizon is the study's unless given. `made` remembers those already made, for the next cell.
    """
    kind = given.get("kind")
    if kind is None:
        raise HoldfastError(f"environment.kind must be given: one of {', '.join(map(repr, ENVIRONMENTS))}")
    if not is_own(kind):
        one_of("environment.kind", kind, ENVIRONMENTS)
    import_from(folder)
    with parameter_named(lambda _: "environment.kind"):
        follows = "horizon" in parameters_of(find_environment(kind)) and "horizon" not in given
    key = repr((given, horizon if follows else None))
    if key not in made:
        values = {name: value for name, value in given.items() if name != "kind"}
        if follows and horizon is None:
            raise HoldfastError("horizon must be given, unless the environment is a loss table")
        if follows:
            values["horizon"] = horizon
        with parameter_named(lambda parameter: f"environment.{parameter}"):
            made[key] = _loss_table(values, folder) if kind == LossTable.id else _by_name(kind, values)
    environment, source = made[key]
    return environment, dict(source)


def _by_name(kind: str, values: dict[str, Any]) -> tuple[Environment, dict[str, Any]]:
    environment = make_environment({"environment": kind, **values})
    return environment, {"code": code_of(type(environment))} if is_own(kind) else {}


def _loss_table(values: dict[str, Any], folder: Path) -> tuple[Environment, dict[str, Any]]:
    """Read a file of losses; `path` is relative to the study file."""
    path = values.pop("path", None)
    if not isinstance(path, str) or not path:
        raise InvalidParameter("path", "must be given: the file of losses", path)
    file = folder / path
    try:
        table = make_environment({"environment": LossTable.id, "source": file, **values})
    except InvalidParameter as error:
        parameter = "path" if error.parameter == "source" else error.parameter
        where = "" if error.value == str(file) else f" (in {path})"
        raise InvalidParameter(parameter, error.rule + where, error.value) from None
    return table, {"source": path, "sha256": sha256(file)}


# ---- the grid ----


def _combinations(grid: Any) -> list[dict[str, Any]]:
    """Return every combination of the grid's values by dotted field name; a single empty one without a grid."""
    fields = _flat(grid)
    number = math.prod(len(values) for values in fields.values())
    if number > MOST_CELLS:
        raise InvalidParameter("grid", f"must not have more than {MOST_CELLS} combinations", number)
    return [dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())]


def _flat(grid: Any, under: str = "") -> dict[str, list[Any]]:
    """Return the grid's fields by dotted name, with their lists of values."""
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
        tables = settings["policies"] = _entries(settings.get("policies"))
        called = [(entry.get("name", entry.get("policy")), entry) for entry in tables if isinstance(entry, dict)]
        found = [entry for own, entry in called if own == name]
        if len(found) != 1 or not parameter:
            known = [str(own) for own, _ in called]
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


def _file_names(study: str, cells: list[dict[str, Any]]) -> list[str]:
    """Return readable names where every value makes one, such as ``switching_cost=0.1,gap=0.05``; otherwise numbers."""
    if len(cells) == 1 and not cells[0]:
        return [study]
    short = _short_names(cells[0])
    names = [",".join(f"{short[key]}={_word(value)}" for key, value in cell.items()) for cell in cells]
    if len({name.lower() for name in names}) == len(names) and all(FILE_NAME.fullmatch(name) for name in names):
        return names
    return [f"cell-{i:0{len(str(len(cells)))}}" for i in range(1, len(cells) + 1)]


def _columns(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the values of each cell as columns of its table: one type in all cells, by the last word of their field.

    A value that is neither number nor text is written as JSON; a name that every table uses gets the prefix ``grid.``.
    """
    short = _short_names(cells[0])
    named = {key: name if name not in TAKEN else f"grid.{key}" for key, name in short.items()}
    values = {named[key]: _alike([cell[key] for cell in cells]) for key in cells[0]}
    return [{name: column[i] for name, column in values.items()} for i in range(len(cells))]


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values}
    if kinds == {bool} or (kinds == {int} and all(value in INT64 for value in values)):
        return values
    if kinds <= {int, float} and all(abs(value) < 2**1000 for value in values if isinstance(value, int)):
        return [float(value) for value in values]
    return [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]


def _short_names(keys: Mapping[str, Any]) -> dict[str, str]:
    """Return the last word of each dotted name, or all of it where two end alike."""
    ends = [key.rpartition(".")[2] for key in keys]
    return {key: end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
