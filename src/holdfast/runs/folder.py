"""A folder that a run fills piece by piece, so that a killed or interrupted run can be resumed.

The record in it says which run it is: a folder with another run is refused. Each piece is a result table whose
provenance says which piece it is; a damaged piece, or one of another run, is played again.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from holdfast.errors import BadSavedState, HoldfastError
from holdfast.extras import pl
from holdfast.files import DRAFTS, LOCK, remove_drafts, reported
from holdfast.results import Result
from holdfast.runs.differences import differences, has_grown
from holdfast.runs.record import read_record, write_record

TABLE = ".parquet"


def earlier_record(path: Path, name: str, what: str, format_: str, version: int) -> dict[str, Any] | None:
    """The record of the run in a claimed folder; None where nothing was played yet.

    A folder without a record must be empty. `what` is the kind of run, for errors: ``"study"``.
    """
    with reported(path):
        if (path / name).exists():
            return read_record(path / name, format_, version) if any(path.rglob(f"*{TABLE}")) else None
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
    more = may_grow and has_grown(there, here)
    different = [] if more else differences(there, here)
    if different:
        raise HoldfastError(f"{path} holds another {what}: {'; '.join(different)}; give another --out")
    if not resume:
        already = "in part; give --resume to play what is missing" if more else "already; give --resume to go on"
        raise HoldfastError(f"{path} holds this {what} {already}, or another --out")


def begin(path: Path, name: str, record: dict[str, Any]) -> None:
    """Write the record first, since a folder without one is a user's, and remove what a killed run left."""
    with reported(path):
        remove_drafts(path)
    write_record(path / name, record)


def read_piece(
    file: Path,
    holds: Callable[[dict[str, Any]], bool],
    rows: Callable[[dict[str, Any]], int],
    schema: pl.Schema,
    say: Callable[[str], None],
) -> Result | None:
    """The piece in a file, or None, said why, where it has to be played again.

    `holds` says whether a provenance is that of this piece, `rows` how many rows the table then has.
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
