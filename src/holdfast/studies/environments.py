"""The environment of a study file: any in the registry or user-defined, with loss tables from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.checks import one_of
from holdfast.environments import Environment, LossTable
from holdfast.environments.registry import ENVIRONMENTS, find_environment, make_environment
from holdfast.errors import HoldfastError, InvalidParameter, parameter_named
from holdfast.files import sha256
from holdfast.studies.user_classes import code_of, fields_of, import_from, is_own


def study_environment(
    given: dict[str, Any], horizon: int | None, folder: Path, made: dict[str, Any]
) -> tuple[Environment, dict[str, Any]]:
    """The environment that a study's table describes, and the file or code it came from.

    Its horizon is the study's unless given. `made` remembers those already made, for the next cell.
    """
    kind = given.get("kind")
    if kind is None:
        raise HoldfastError(f"environment.kind must be given: one of {', '.join(map(repr, ENVIRONMENTS))}")
    if not is_own(kind):
        one_of("environment.kind", kind, ENVIRONMENTS)
    import_from(folder)
    with parameter_named(lambda _: "environment.kind"):
        follows = "horizon" in fields_of(find_environment(kind)) and "horizon" not in given
    key = repr((given, horizon if follows else None))
    if key not in made:
        values = {name: value for name, value in given.items() if name != "kind"}
        if follows and horizon is None:
            raise HoldfastError("horizon must be given, unless the environment is a loss table")
        if follows:
            values["horizon"] = horizon
        with parameter_named(lambda parameter: f"environment.{parameter}"):
            made[key] = _table(values, folder) if kind == LossTable.id else _named(kind, values)
    environment, source = made[key]
    return environment, dict(source)


def _named(kind: str, values: dict[str, Any]) -> tuple[Environment, dict[str, Any]]:
    environment = make_environment({"environment": kind, **values})
    return environment, {"code": code_of(type(environment))} if is_own(kind) else {}


def _table(values: dict[str, Any], folder: Path) -> tuple[Environment, dict[str, Any]]:
    """A file of losses; `path` is relative to the study file."""
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
