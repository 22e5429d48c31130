"""The folder of a replay: what is being replayed, the pieces that are finished, and what is made of them.

    DIR/record.json         what is being replayed: `resume` goes on only with the same
    DIR/pieces/L-P.parquet  policy P at the L-th λ, both counted from 1
    DIR/replay.json …       what `holdfast.replays.outputs` writes once all pieces are there

Each piece says in its provenance which it is, under its checksum. What is damaged, or holds something else, is named
and played again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import holdfast
from holdfast.environments import LossTable
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import DRAFTS, LOCK, remove_drafts, reported
from holdfast.replays.cost_table import exact
from holdfast.replays.games import COLUMNS, Piece, PieceRunner
from holdfast.results import SCHEMA, Result
from holdfast.studies.differences import differences
from holdfast.studies.file import plain
from holdfast.studies.record import checksum, read_record, write_record

FORMAT, VERSION = "holdfast.replay", 1
RECORD, PIECES = "record.json", "pieces"


def described(table: LossTable, pieces: list[Piece], runner: PieceRunner, fingerprint: str) -> dict[str, Any]:
    """What the numbers of a replay depend on, in the shape in which studies compare theirs."""
    written = {
        "trace": fingerprint,
        "rounds": table.rounds,
        "arms": list(table.arms or ()),
        "units": list(table.units),
        "switching_cost": list(dict.fromkeys(piece.switching_cost for piece in pieces)),
        "policies": list(dict.fromkeys(piece.name for piece in pieces)),
        "replications": runner.replications,
        "seed": runner.seed,
        "recorded rounds": len(runner.marks),
    }
    cells = {f"{piece.name} at {exact(piece.switching_cost)}": piece.settings() for piece in pieces}
    return plain(
        {
            "format": FORMAT,
            "version": VERSION,
            "holdfast": holdfast.__version__,
            "numbers": "gpu" if runner.backend.name == "cuda" else "cpu",
            "study": "replay",
            "written": written,
            "cells": {"all": written, **cells},
        }
    )


@dataclass(frozen=True)
class ReplayFolder:
    """A claimed folder with the pieces of one replay."""

    path: Path
    record: dict[str, Any]

    @classmethod
    def admitted(cls, path: Path, record: dict[str, Any], resume: bool) -> ReplayFolder:
        """The folder, if it is free or holds this replay."""
        here = cls(path, record)
        with reported(path):
            if not (path / RECORD).exists():
                names = sorted(file.name for file in path.iterdir())
                others = [name for name in names if name != LOCK and not fnmatch(name, DRAFTS)]
                if others:
                    raise HoldfastError(f"{path} must be empty or hold this replay; it has {others[0]!r}")
                return here
            if not any((path / PIECES).glob("*.parquet")):  # a run that failed before it had played anything
                return here
        different = differences(read_record(path / RECORD, FORMAT, VERSION), record)
        if different:
            raise HoldfastError(f"{path} holds another replay: {'; '.join(different)}; give another --out")
        if not resume:
            raise HoldfastError(f"{path} holds this replay already; give --resume to go on with it, or another --out")
        return here

    def begin(self) -> None:
        """Leave the record, and remove what a killed run has left half-written."""
        with reported(self.path):
            remove_drafts(self.path)
        write_record(self.path / RECORD, self.record)  # first: a folder without it is somebody else's
        with reported(self.path):
            (self.path / PIECES).mkdir(exist_ok=True)

    def found(self, place: str, piece: Piece, runner: PieceRunner, say: Callable[[str], None]) -> Result | None:
        """The piece, if it is there and whole."""
        file = self._file(place)
        if not file.exists():
            return None
        try:
            result = Result.read(file)
        except BadSavedState as error:
            say(f"played again: {error}")
            return None
        if result.provenance.get("replay") != self._identity(piece):
            say(f"played again: {file} holds other games than those it is named for")
            return None
        if result.frame.height != runner.rows or result.frame.columns != [*COLUMNS, *SCHEMA]:
            say(f"played again: {file} does not hold every row that it should")
            return None
        return result

    def keep(self, place: str, piece: Piece, result: Result) -> Path:
        """Write a piece."""
        return Result(result.frame, result.provenance | {"replay": self._identity(piece)}).write(self._file(place))

    def _file(self, place: str) -> Path:
        return self.path / PIECES / f"{place}.parquet"

    def _identity(self, piece: Piece) -> str:
        same = {name: value for name, value in self.record.items() if name not in ("cells", "holdfast")}
        return checksum([same, piece.switching_cost, piece.settings()])
