"""The folder of a study.

    DIR/study.json                    what is being run: `--resume` continues only the same study
    DIR/parts/CELL/FIRST-LAST.parquet chunks of a cell that is not finished
    DIR/CELL.parquet                  a finished cell, with the grid's values as columns
    DIR/summary.csv                   every cell's summary in one table

Each table names its study, cell and replications in its provenance. A table that is damaged, or holds something else,
is reported and played again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import holdfast
from holdfast.errors import HoldfastError
from holdfast.extras import pl
from holdfast.files import reported, write_whole
from holdfast.results import SCHEMA, Result, csv_of
from holdfast.runs.folder import TABLE, begin, check_resumable, earlier_record, read_piece
from holdfast.runs.record import checksum, plain, read_record
from holdfast.studies.file import Cell, Study
from holdfast.studies.grid import FILE_NAME

FORMAT, VERSION = "holdfast.study", 1
RECORD, PARTS, SUMMARY = "study.json", "parts", "summary.csv"
KINDS = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}


@dataclass(frozen=True)
class StudyFolder:
    """The claimed folder of a study; results of a GPU and of a CPU (`numbers`) are not mixed."""

    path: Path
    study: Study
    numbers: str

    @classmethod
    def admitted(cls, path: Path, study: Study, backend: str, resume: bool) -> StudyFolder:
        """The folder, if it is free or holds this study, perhaps with fewer cells or replications.

        A study whose file gives no name keeps the name that it was begun with.
        """
        numbers = "gpu" if backend == "cuda" else "cpu"
        there = earlier_record(path, RECORD, "study", FORMAT, VERSION)
        if there is None:
            return cls(path, study, numbers)
        if not study.named and FILE_NAME.fullmatch(there["study"]):
            study = study.renamed(there["study"])
        if not study.checkpoints_are_given:
            study = _with_earlier_checkpoints(study, there["cells"])
        here = cls(path, study, numbers)
        check_resumable(path, "study", there, here.record(), resume=resume, may_grow=True)
        return here

    def record(self) -> dict[str, Any]:
        """What the numbers depend on, as JSON has it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "holdfast": holdfast.__version__,
            "numbers": self.numbers,
            "study": self.study.name,
            "written": self.study.written,
            "cells": {cell.name: cell.settings() for cell in self.study.cells},
        }

    def begin(self) -> None:
        """Write the record, and remove what a killed run left behind."""
        begin(self.path, RECORD, self.record())

    def table(self, cell: Cell) -> Path:
        """The file of a finished cell."""
        return self.path / f"{cell.name}{TABLE}"

    @property
    def summary(self) -> Path:
        """The file with all summaries."""
        return self.path / SUMMARY

    def missing(self, cell: Cell, say: Callable[[str], None]) -> list[tuple[int, int]]:
        """The ranges of replications (first, count) that are not there; tables that cannot be used are removed."""
        missing, covered = [], 0
        for first, file in [(0, self.table(cell)), *sorted(self._parts(cell))]:
            if not file.exists():
                continue
            count = self._held(file, cell, first, say) if first >= covered else 0
            if not count:
                with reported(file):
                    file.unlink()
                continue
            if first > covered:
                missing.append((covered, first - covered))
            covered = first + count
        if covered < cell.replications:
            missing.append((covered, cell.replications - covered))
        return missing

    def is_finished(self, cell: Cell) -> bool:
        """Whether nothing of the cell lies in parts; to be asked once nothing is missing."""
        return self.table(cell).exists() and not any(self._parts(cell))

    def keep(self, cell: Cell, result: Result) -> Path:
        """Write a chunk of the cell."""
        first, count = result.provenance["first_replication"], result.provenance["replications"]
        result.provenance["environment"] |= cell.source
        result.provenance["study"] = self._identity(cell)
        grid = [pl.lit(value, KINDS[type(value)]).alias(name) for name, value in cell.columns.items()]
        parts = self.path / PARTS / cell.name
        with reported(parts):
            parts.mkdir(parents=True, exist_ok=True)
        chunk = Result(result.frame.select(*grid, pl.all()), result.provenance)
        return chunk.write(parts / f"{first}-{first + count - 1}{TABLE}")

    def finish(self, cell: Cell) -> Path:
        """Join the chunks of a cell, and what was finished of it before, to one table."""
        files = [file for _, file in sorted(self._parts(cell))]
        if self.table(cell).exists():
            files.insert(0, self.table(cell))
        written = Result.concat([Result.read(file) for file in files]).write(self.table(cell))
        shutil.rmtree(self.path / PARTS / cell.name, ignore_errors=True)
        return written

    def close(self) -> Path:
        """With every cell finished, write one table of all: the grid's values, then the columns of a summary."""
        shutil.rmtree(self.path / PARTS, ignore_errors=True)
        frames = [Result.read(self.table(cell)).summary() for cell in self.study.cells]
        return write_whole(self.summary, csv_of(pl.concat(frames, how="vertical_relaxed")))

    def _identity(self, cell: Cell) -> dict[str, Any]:
        """What a table's provenance says of its cell: a checksum of all settings but the number of replications."""
        games = {name: value for name, value in cell.settings().items() if name != "replications"}
        digest = checksum(games | {"numbers": self.numbers})
        return plain({"name": self.study.name, "cell": cell.values, "games": digest})

    def _held(self, file: Path, cell: Cell, first: int, say: Callable[[str], None]) -> int:
        """How many replications from `first` on the table holds; 0 for one that cannot be used."""
        identity = self._identity(cell)

        def holds(provenance: dict[str, Any]) -> bool:
            count = provenance.get("replications")
            expected = provenance.get("study") == identity and provenance.get("first_replication") == first
            return expected and isinstance(count, int) and first + count <= cell.replications

        def rows(provenance: dict[str, Any]) -> int:
            return int(provenance["replications"]) * len(cell.policies) * len(cell.checkpoints)

        schema = pl.Schema({name: KINDS[type(value)] for name, value in cell.columns.items()} | SCHEMA)
        result = read_piece(file, holds, rows, schema, say)
        return 0 if result is None else int(result.provenance["replications"])

    def _parts(self, cell: Cell) -> Iterator[tuple[int, Path]]:
        """The first replication of each chunk on disk, and its file."""
        for file in (self.path / PARTS / cell.name).glob(f"*-*{TABLE}"):
            first = file.stem.partition("-")[0]
            if first.isdecimal():
                yield int(first), file


def finished_tables(path: Path) -> Result:
    """All finished cells of the study in a folder, as one result with the grid's values as columns."""
    if not (path / RECORD).exists():
        raise HoldfastError(f"{path} must be a folder that `holdfast study run` filled; it has no {RECORD}")
    cells = read_record(path / RECORD, FORMAT, VERSION)["cells"]
    files = [file for name in cells if (file := path / f"{name}{TABLE}").exists()]
    if not files:
        raise HoldfastError(f"{path} has no finished tables yet; go on with `holdfast study run --resume`")
    return Result.concat([Result.read(file) for file in files])


def _with_earlier_checkpoints(study: Study, there: dict[str, Any]) -> Study:
    """Checkpoints that the file does not give stay those of the earlier replications."""

    def same(cell: Cell) -> Cell:
        before = there.get(cell.name, {})
        if before.get("horizon") != cell.horizon or before.get("replications", 0) > cell.replications:
            return cell
        return replace(cell, checkpoints=tuple(before["checkpoints"]))

    return replace(study, cells=tuple(map(same, study.cells)))
