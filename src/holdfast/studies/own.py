"""Policies and environments of one's own in a study, by ``"module:Class"``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from holdfast.checks import class_at
from holdfast.errors import InvalidParameter, nearest
from holdfast.files import sha256

T = TypeVar("T")


def is_own(name: object) -> bool:
    """Whether a name is of the form ``"module:Class"``."""
    return isinstance(name, str) and ":" in name


def find_own(parameter: str, address: str, base: type[T], folder: Path) -> type[T]:
    """The class; its module may lie beside the study file, where Python looks after everything installed."""
    beside = str(folder.resolve())
    if beside not in sys.path:
        sys.path.append(beside)
    return class_at(parameter, address, base)


def make_own(kind: type[T], address: str, values: Mapping[str, Any]) -> T:
    """An object of the class, from its parameters by name."""
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidParameter("parameters", f"must be those of {address} ({error})", dict(values)) from None


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of the parameters that the class takes."""
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


def check_names(kind: type, name: str, values: Mapping[str, Any]) -> None:
    """An error for the first of `values` that is no parameter of the class."""
    known = fields_of(kind)
    for parameter, value in values.items():
        if parameter not in known:
            raise InvalidParameter(parameter, f"is not a parameter of {name}{nearest(parameter, known)}", value)


def code_of(kind: type) -> dict[str, str]:
    """The module of a class and the checksum of its source: other code is another study."""
    file = inspect.getsourcefile(kind)
    return {kind.__module__: sha256(Path(file))} if file else {}
