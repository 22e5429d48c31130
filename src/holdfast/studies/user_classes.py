"""User-defined policies and environments in a study, by ``"module:Class"``."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

from holdfast.files import sha256


def is_own(name: object) -> bool:
    """Whether a name is of the form ``"module:Class"``."""
    return isinstance(name, str) and ":" in name


def import_from(folder: Path) -> None:
    """Let modules in the folder of the study file be imported, after everything installed."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of the parameters that the class takes."""
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


def code_of(kind: type) -> dict[str, str]:
    """The module of a class and the checksum of its source: other code is another study."""
    file = inspect.getsourcefile(kind)
    return {kind.__module__: sha256(Path(file))} if file else {}
