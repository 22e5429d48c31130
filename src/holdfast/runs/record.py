"""The record of a run: a JSON document with a checksum that says what the numbers in a folder depend on."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import write_whole


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON has them; what JSON has no type for becomes text."""
    same: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    return same


def document(value: Any) -> bytes:
    """A value as an indented JSON file; NaN and infinities become null.

    >>> document({"a": float("nan")}).decode().split()
    ['{', '"a":', 'null', '}']
    """
    return (json.dumps(_finite(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def checksum(value: Any) -> str:
    """SHA-256 of a value as JSON has it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_record(file: Path, record: dict[str, Any]) -> Path:
    """Write a record, which has ``format``, ``version`` and ``holdfast`` among its fields, with its checksum."""
    text = json.dumps(record | {"checksum": checksum(record)}, indent=1)
    return write_whole(file, f"{text}\n".encode())


def read_record(file: Path, format_: str, version: int) -> dict[str, Any]:
    """Read what `write_record` wrote; a damaged record, or one of another format, is an error."""
    try:
        record = json.loads(file.read_bytes())
        found = record["format"], record["version"]
        begun_by = str(record["holdfast"])
        expected = record.pop("checksum", None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(file, f"{type(error).__name__}") from None
    if expected != checksum(record):
        raise _damaged(file, "its checksum does not match its contents")
    if found != (format_, version):
        raise HoldfastError(
            f"{file.parent} was begun by holdfast {begun_by}: finish it with that version, or give another --out"
        )
    return dict(record)


def _damaged(file: Path, why: str) -> BadSavedState:
    return BadSavedState(f"{file} is damaged ({why}); give another --out")
