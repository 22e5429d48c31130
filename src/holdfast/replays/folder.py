"""The folder of a replay.

    DIR/record.json         what is being replayed: `resume` continues only the same replay
    DIR/pieces/L-P.parquet  policy P at the L-th λ, both counted from 1

and once all pieces are there

    DIR/report.html         everything, on a page that needs nothing else
    DIR/replay.json         all numbers and sentences
    DIR/replay.parquet      a row for each λ, stretch and policy
    DIR/plans.parquet       the best plans
    DIR/pictures/           each picture as PNG and SVG
    DIR/files.json          the names and checksums of these files

Each piece says in its provenance which it is. A piece that is damaged, or holds something else, is played again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast.files import reported
from holdfast.replays.cost_table import exact
from holdfast.replays.games import COLUMNS, WHOLE, Piece, PieceRunner
from holdfast.replays.pages import page_of
from holdfast.replays.pictures import rendered_pictures
from holdfast.result_files import parquet_bytes
from holdfast.results import Result
from holdfast.runs.folder import TABLE, begin, check_resumable, earlier_record, read_piece
from holdfast.runs.outputs import Outputs
from holdfast.runs.record import checksum, plain

if TYPE_CHECKING:
    from holdfast.replays.result import Replay

FORMAT, VERSION = "holdfast.replay", 1
RECORD, PIECES = "record.json", "pieces"


def described(pieces: list[Piece], runner: PieceRunner, fingerprint: str) -> dict[str, Any]:
    """What the numbers of a replay depend on: the record of its folder."""
    table = runner.parts[WHOLE].table
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
        there = earlier_record(path, RECORD, "replay", FORMAT, VERSION)
        if there is not None:
            check_resumable(path, "replay", there, record, resume=resume)
        return cls(path, record)

    def begin(self) -> None:
        """Write the record, and remove what a killed run left half-written."""
        begin(self.path, RECORD, self.record)
        with reported(self.path):
            (self.path / PIECES).mkdir(exist_ok=True)

    def found(self, place: str, piece: Piece, runner: PieceRunner, say: Callable[[str], None]) -> Result | None:
        """The piece, if it is there and complete."""
        identity = self._identity(piece)
        return read_piece(
            self._file(place),
            holds=lambda provenance: provenance.get("replay") == identity,
            rows=lambda provenance: runner.rows,
            schema=COLUMNS,
            say=say,
        )

    def keep(self, place: str, piece: Piece, result: Result) -> Path:
        """Write a piece."""
        return Result(result.frame, result.provenance | {"replay": self._identity(piece)}).write(self._file(place))

    def _file(self, place: str) -> Path:
        return self.path / PIECES / f"{place}{TABLE}"

    def _identity(self, piece: Piece) -> str:
        same = {name: value for name, value in self.record.items() if name not in ("cells", "holdfast")}
        return checksum([same, piece.switching_cost, piece.settings()])


def data_of(replay: Replay, suffix: str) -> bytes:
    """The bytes of one file."""
    if suffix == ".json":
        return replay.json().encode()
    if suffix == ".html":
        return page_of(replay).encode()
    return parquet_bytes(replay.frame)


def write_outputs(replay: Replay, folder: Path) -> None:
    """Write every file into a claimed folder; users' files are left alone."""
    files = {
        "replay.json": data_of(replay, ".json"),
        "replay.parquet": data_of(replay, ".parquet"),
        "plans.parquet": parquet_bytes(replay.plans_frame()),
        **{f"pictures/{name}": data for name, data in rendered_pictures(replay).items()},
        "report.html": data_of(replay, ".html"),
    }
    Outputs(folder, "a replay").write(files)
