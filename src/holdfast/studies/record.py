"""The record of a run in its folder: a JSON document under a checksum that says what the folder's numbers depend on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import write_whole


def checksum(value: Any) -> str:
    """SHA-256 of a value as JSON has it."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_record(file: Path, record: dict[str, Any]) -> Path:
    """Write a record, with its ``format``, ``version`` and ``holdfast`` among its fields, under its checksum."""
    text = json.dumps(record | {"checksum": checksum(record)}, indent=1)
    return write_whole(file, f"{text}\n".encode())


def read_record(file: Path, format_: str, version: int) -> dict[str, Any]:
    """What `write_record` wrote; an error for one that is damaged, or was begun by a version that wrote another."""
    try:
        record = json.loads(file.read_bytes())
        found = record["format"], record["version"]
        begun_by = str(record["holdfast"])
        told = record.pop("checksum", None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(file, f"{type(error).__name__}") from None
    if found[0] == format_ and found[1] in range(1, version):
        raise HoldfastError(
            f"{file.parent} was begun by holdfast {begun_by}: finish it with that, or give another --out"
        )
    if told != checksum(record):
        raise _damaged(file, "its contents do not have the checksum that was written with them")
    return dict(record)


def _damaged(file: Path, why: str) -> BadSavedState:
    return BadSavedState(f"{file} is damaged ({why}); give another --out")
