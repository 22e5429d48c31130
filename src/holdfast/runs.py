"""Folders of results: the record that says which run a folder holds, resuming it, and its output files.

Studies, replays, the paper's reproduction and the arena all write their folders through here. A run that is played
piece by piece keeps a record, and `--resume` continues that run only. Output files are written to a hidden folder
first and then moved into place; users' files stay as they are:

    DIR/files.json          the manifest: every output file with its checksum
    DIR/.holdfast-new/      outputs being written; complete as soon as it has a manifest

A process that is killed while moving leaves complete outputs in the hidden folder, and the next run moves the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import holdfast
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.extras import pl
from holdfast.files import DRAFTS, LOCK, reason, remove_drafts, reported, sha256, write_whole
from holdfast.results import Result
from holdfast.text import finite

RECORD = "record.json"
TABLE = ".parquet"
NEW = ".holdfast-new"
MOST_NAMED = 5
"""Files named in an error."""
MOST_DIFFERENCES = 20
"""Fields named in one error."""
LONG = 60
"""Length above which values are shortened; of longer lists only the difference is shown."""
ABSENT = object()


# ---- values as JSON ----


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Convert values to JSON types; functions become their names, other types text."""
    same: dict[str, Any] = json.loads(
        json.dumps(settings, default=lambda value: getattr(value, "__qualname__", str(value)))
    )
    return same


def document(value: Any) -> bytes:
    """Write a value as an indented JSON file; NaN and infinities become null.

    >>> document({"a": float("nan")}).decode().split()
    ['{', '"a":', 'null', '}']
    """
    return (json.dumps(finite(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def checksum(value: Any) -> str:
    """Return the SHA-256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


# ---- the record of a run, and resuming it ----


def numbers_of(backend: str) -> str:
    """Return the kind of numbers that a backend gives: those of a GPU and of a CPU are not mixed."""
    return "gpu" if backend == "cuda" else "cpu"


def record_of(
    what: str, name: str, numbers: str, written: Mapping[str, Any], cells: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return all that the numbers in a folder depend on.

    Parameters
    ----------
    what
        The kind of run: ``"study"``.
    name
        The name of this one.
    numbers
        Kind of the numbers (`numbers_of`).
    written
        The settings in the user's words.
    cells
        Settings of each part of the run.
    """
    return plain(
        {
            "format": f"holdfast.{what}",
            "version": 1,
            "holdfast": holdfast.__version__,
            "numbers": numbers,
            "name": name,
            "written": written,
            "cells": cells,
        }
    )


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write the record that marks a folder as ours, and remove what a killed run left."""
    with reported(path):
        remove_drafts(path)
    text = json.dumps(record | {"checksum": checksum(record)}, indent=1)
    write_whole(path / RECORD, f"{text}\n".encode())


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a folder; raise if it is damaged."""
    file = path / RECORD
    try:
        record: dict[str, Any] = json.loads(file.read_bytes())
        expected = record.pop("checksum", None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadSavedState(f"{file} is damaged ({type(error).__name__}); give another --out") from None
    if expected != checksum(record):
        raise BadSavedState(f"{file} is damaged (its checksum does not match its contents); give another --out")
    return record


def earlier_record(path: Path, what: str) -> dict[str, Any] | None:
    """Return the record of the run in a claimed folder, or None where nothing was played yet.

    A folder without a record must be empty.
    """
    with reported(path):
        if (path / RECORD).exists():
            return read_record(path) if any(path.rglob(f"*{TABLE}")) else None
        others = sorted(file.name for file in path.iterdir() if file.name != LOCK and not fnmatch(file.name, DRAFTS))
    if others:
        raise HoldfastError(f"{path} must be empty or hold this {what}; it has {others[0]!r}")
    return None


def check_resumable(
    path: Path, what: str, there: dict[str, Any], here: dict[str, Any], *, resume: bool, may_grow: bool = False
) -> None:
    """Refuse a folder with another run, and one with this run unless it is to be resumed.

    With `may_grow` the new run may have more cells or replications than the record that is there.
    """
    more = may_grow and _has_grown(there, here)
    different = [] if more else _differences(there, here)
    if different:
        raise HoldfastError(f"{path} holds another {what}: {'; '.join(different)}; give another --out")
    if not resume:
        already = "in part; give --resume to play what is missing" if more else "already; give --resume to go on"
        raise HoldfastError(f"{path} holds this {what} {already}, or another --out")


def read_piece(
    file: Path,
    holds: Callable[[dict[str, Any]], bool],
    rows: Callable[[dict[str, Any]], int],
    schema: pl.Schema,
    say: Callable[[str], None],
) -> Result | None:
    """Read one piece of a run; if it cannot be used, say why and return None.

    `holds` tells from a provenance whether this is the piece, `rows` how many rows the table then has.
    """
    if not file.exists():
        return None
    try:
        result = Result.read(file)
    except BadSavedState as error:
        say(f"played again: {error}")
        return None
    if not holds(result.provenance):
        say(f"played again: {file} holds other games than its name says")
    elif result.frame.height != rows(result.provenance) or result.frame.schema != schema:
        say(f"played again: {file} does not hold every row that it should")
    else:
        return result
    return None


def _has_grown(there: dict[str, Any], here: dict[str, Any]) -> bool:
    """Tell whether `here` is the run of `there` with more cells or replications, and no fewer of any."""
    fixed = [{name: record[name] for name in record if name not in ("written", "cells")} for record in (there, here)]
    old, new = there["cells"], here["cells"]
    if fixed[0] != fixed[1] or not old.keys() <= new.keys() or old == new:
        return False
    return all(
        old[name]["replications"] <= new[name]["replications"]
        and old[name] | {"replications": new[name]["replications"]} == new[name]
        for name in old
    )


def _differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Name the user's settings that differ; if none does, settings of the cells, such as a table's checksum."""
    if {**there, "written": None} == {**here, "written": None}:
        return []
    found = [
        _said(name, there[name], here[name]) for name in ("holdfast", "numbers", "name") if there[name] != here[name]
    ]
    old, new = (_flat(record["written"]) for record in (there, here))
    changed = [_said(name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in {**old, **new} if name != "name"]
    found += [said for said in changed if said]
    if not found:
        found = _of_cells(there["cells"], here["cells"])
    more = len(found) - MOST_DIFFERENCES
    return found[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])


def _of_cells(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Name fields that differ though the settings are the same: an edited loss table, changed user code."""
    found: dict[str, str] = {}
    for name in [name for name in there if name in here]:
        old, new = _flat(there[name]), _flat(here[name])
        for key in {**old, **new}:
            said = _said(key, old.get(key, ABSENT), new.get(key, ABSENT))
            if said:
                found.setdefault(key, said)
    return list(found.values())


def _flat(settings: dict[str, Any], under: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{under}{key}.")
        else:
            flat[f"{under}{key}"] = value
    return flat


def _said(name: str, there: Any, here: Any) -> str:
    if there is ABSENT:
        return f"{name} is not set there and {_short(here)} here"
    if here is ABSENT:
        return f"{name} is {_short(there)} there and not set here"
    if isinstance(there, list) and isinstance(here, list) and max(len(json.dumps(there)), len(json.dumps(here))) > LONG:
        places = (("there", there, here), ("here", here, there))
        only = [(place, [one for one in ours if one not in theirs]) for place, ours, theirs in places]
        if parts := [f"has {_short(ones)} {place} only" for place, ones in only if ones]:
            return f"{name} {' and '.join(parts)}"
    return "" if there == here else f"{name} is {_short(there)} there and {_short(here)} here"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONG else f"{text[: LONG - 10]}…"


# ---- output files: all of them or none ----


def nothing(name: str) -> bool:
    """Keep no file of an earlier run."""
    return False


@dataclass(frozen=True)
class Outputs:
    """The output files in a claimed folder.

    Parameters
    ----------
    folder
        Folder of the files.
    what
        Name of the writer, for errors: ``"a replay"``.
    manifest
        The name of the manifest.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outputs = Outputs(Path(folder), "a replay")
    ...     outputs.write({"table.csv": b"1,2"})
    ...     _ = Path(folder, "notes.txt").write_text("a user's file")
    ...     sorted(outputs.unchanged())
    ['table.csv']
    """

    folder: Path
    what: str
    manifest: str = "files.json"

    def recover(self) -> None:
        """Finish or remove what a killed process left."""
        remove_drafts(self.folder)
        if (self._new / self.manifest).is_file():
            self._move()
        shutil.rmtree(self._new, ignore_errors=True)

    def unchanged(self) -> set[str]:
        """Return the output files unchanged since they were written; an edited one belongs to the user."""
        return _unchanged(self.folder, self._digests(self.folder))

    def refuse_foreign(self, names: Iterable[str]) -> None:
        """Refuse to continue where one of these files exists and is not ours, or was changed."""
        known = self.unchanged()
        foreign = [name for name in names if os.path.lexists(self.folder / name) and name not in known]
        # A user's file may have the name of a folder of ours.
        folders = dict.fromkeys(Path(name).parts[0] for name in names if "/" in name)
        foreign += [parent for parent in folders if (self.folder / parent).is_file()]
        if foreign:
            more = f" and {len(foreign) - MOST_NAMED} more" if len(foreign) > MOST_NAMED else ""
            raise HoldfastError(
                f"{self.folder} has files that {self.what} would replace but did not write: "
                f"{', '.join(foreign[:MOST_NAMED])}{more}; move them away, or choose another folder"
            )

    def write(self, files: Mapping[str, bytes]) -> None:
        """Replace the outputs by these files: all of them, or none."""
        self.recover()
        self.refuse_foreign(files)

        def fill(new: Path) -> Iterable[str]:
            for name, data in files.items():
                (new / name).parent.mkdir(exist_ok=True)
                write_whole(new / name, data)
            return files

        self.replace(fill)

    def replace(self, fill: Callable[[Path], Iterable[str]], keep: Callable[[str], bool] = nothing) -> None:
        """Have `fill` write files to a new folder and return their names, then move them into place.

        Earlier outputs that `keep` names stay, unless there is a new one of that name; the others are removed, if they
        are still as they were written.
        """
        old, new = self._digests(self.folder), self._new
        try:
            new.mkdir()
            digests = {name: sha256(new / name) for name in fill(new)}
            digests = {name: digest for name, digest in old.items() if keep(name)} | digests
            for name in digests:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(new / self.manifest, document(dict(sorted(digests.items()))))
        except OSError as error:
            raise HoldfastError(f"{new} cannot be written: {reason(error)}") from None
        finally:
            if not (new / self.manifest).is_file():
                shutil.rmtree(new, ignore_errors=True)
        self._move()
        shutil.rmtree(new, ignore_errors=True)

    @property
    def _new(self) -> Path:
        return self.folder / NEW

    def _move(self) -> None:
        """Move complete outputs into place: the files, then remove those no longer needed, and the manifest last."""
        old, new = self._digests(self.folder), self._digests(self._new)
        try:
            for name in new:
                if (self._new / name).is_file():
                    (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(self._new / name, self.folder / name)
            for name in _unchanged(self.folder, old) - new.keys():
                (self.folder / name).unlink()
            os.replace(self._new / self.manifest, self.folder / self.manifest)
        except OSError as error:
            raise HoldfastError(
                f"{self.folder} cannot be written: {reason(error)}; the files are in {self._new}"
            ) from None

    def _digests(self, folder: Path) -> dict[str, str]:
        """Return names and checksums in the manifest of a folder; none if there is no manifest."""
        file = folder / self.manifest
        try:
            digests = json.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise HoldfastError(f"{file} cannot be read: {reason(error)}") from None
        except ValueError:
            digests = None
        if not isinstance(digests, dict) or not all(
            isinstance(digest, str) and _is_below(name) for name, digest in digests.items()
        ):
            raise BadSavedState(
                f"{file} is damaged: it must have names of files in this folder, each with a checksum; choose another "
                "folder, since it is not known which files in this one can be replaced"
            )
        return digests


def _unchanged(folder: Path, digests: Mapping[str, str]) -> set[str]:
    return {name for name, digest in digests.items() if (folder / name).is_file() and sha256(folder / name) == digest}


def _is_below(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
