"""The grid of a study: its fields, the combinations of their values, and what those are called."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from holdfast.errors import InvalidParameter, nearest
from holdfast.results import MEASURES, SCHEMA

MOST_CELLS = 10_000
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=,+-]{0,150}")
INT64 = range(-(2**63), 2**63)
TAKEN = {*SCHEMA, "replications", *(f"{measure}_{part}" for measure in MEASURES for part in ("mean", "sd", "se"))}
"""Columns of tables and summaries."""


def combinations(grid: Any) -> list[dict[str, Any]]:
    """Every combination of the grid's values, by the dotted names of their fields; one that is empty without a grid."""
    fields = _flat(grid)
    number = math.prod(len(values) for values in fields.values())
    if number > MOST_CELLS:
        raise InvalidParameter("grid", f"must not have more than {MOST_CELLS} combinations", number)
    return [dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())]


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


def entries(policies: Any) -> list[Any]:
    """The study's policies, each as a table."""
    if not isinstance(policies, list) or not policies:
        rule = 'must be a list such as ["tsallis-switch"], or [[policies]] tables'
        raise InvalidParameter("policies", rule, policies)
    return [{"policy": entry} if isinstance(entry, str) else entry for entry in policies]


def put(settings: dict[str, Any], key: str, value: Any) -> None:
    """Set the field with the dotted name `key`; one of a policy as ``policies.<its name or id>.<parameter>``."""
    head, _, rest = key.partition(".")
    if head == "policies" and rest:
        name, _, parameter = rest.rpartition(".")
        tables = settings["policies"] = entries(settings.get("policies"))
        found = [entry for entry in tables if isinstance(entry, dict) and _called(entry) == name]
        if len(found) != 1 or not parameter:
            known = [str(_called(entry)) for entry in tables if isinstance(entry, dict)]
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


def file_names(study: str, cells: list[dict[str, Any]]) -> list[str]:
    """Readable names where every value makes one, such as ``switching_cost=0.1,gap=0.05``; numbered ones otherwise."""
    if len(cells) == 1 and not cells[0]:
        return [study]
    short = _short_names(cells[0])
    names = [",".join(f"{short[key]}={_word(value)}" for key, value in cell.items()) for cell in cells]
    if len({name.lower() for name in names}) == len(names) and all(FILE_NAME.fullmatch(name) for name in names):
        return names
    return [f"cell-{i:0{len(str(len(cells)))}}" for i in range(1, len(cells) + 1)]


def columns(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The values of each cell as columns of its table: of one type in all cells, by the last word of their field.

    A value that is no number or text is written as JSON; a name that every table has gets ``grid.`` before it.
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
    """The last word of each dotted name, or all of it where two end alike."""
    ends = [key.rpartition(".")[2] for key in keys]
    return {key: end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
