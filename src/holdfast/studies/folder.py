"""The folder of a study: what is in it, what of it is good, and what is still missing.

    DIR/study.json                    what is being run: `--resume` goes on only with the same study
    DIR/parts/CELL/FIRST-LAST.parquet chunks of a cell that is not finished
    DIR/CELL.parquet                  a finished cell, with the grid's values as columns
    DIR/summary.csv                   every cell's summary in one table

Each table says in its provenance which study, cell and replications it holds, under its checksum. What is damaged, or
holds something else, is named and played again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import polars as pl

import holdfast
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.files import DRAFTS, LOCK, remove_drafts, reported, write_whole
from holdfast.result_files import csv_of
from holdfast.results import SCHEMA, Result
from holdfast.studies.differences import differences, has_grown
from holdfast.studies.file import Cell, Study, plain
from holdfast.studies.grid import FILE_NAME
from holdfast.studies.record import checksum, read_record, write_record

FORMAT, VERSION = "holdfast.study", 2
RECORD, PARTS, SUMMARY, TABLE = "study.json", "parts", "summary.csv", ".parquet"
KINDS = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}


@dataclass(frozen=True)
class StudyFolder:
    """The claimed folder of a study; `numbers` are a GPU's or a CPU's, which are not mixed."""

    path: Path
    study: Study
    numbers: str

    @classmethod
    def admitted(cls, path: Path, study: Study, backend: str, resume: bool) -> StudyFolder:
        """The folder, if it is free or holds this study; it has the name it began with, unless its file gives another.

        The study that goes on may have more cells, and more replications, than the one that was begun.
        """
        numbers = "gpu" if backend == "cuda" else "cpu"
        with reported(path):
            if not (path / RECORD).exists():
                names = sorted(file.name for file in path.iterdir())
                others = [name for name in names if name != LOCK and not fnmatch(name, DRAFTS)]
                if others:
                    raise HoldfastError(f"{path} must be empty or hold this study; it has {others[0]!r}")
                return cls(path, study, numbers)
            if not cls(path, study, numbers)._has_tables():
                return cls(path, study, numbers)
        there = read_record(path / RECORD, FORMAT, VERSION)
        if not study.named and FILE_NAME.fullmatch(there["study"]):
            study = study.renamed(there["study"])
        if not study.checkpoints_are_given:
            study = _recording_as_before(study, there["cells"])
        here = cls(path, study, numbers)
        more = has_grown(there, here.record())
        different = [] if more else differences(there, here.record())
        if different:
            raise HoldfastError(f"{path} holds another study: {'; '.join(different)}; give another --out")
        if not resume:
            already = (
                "in part; give --resume to play what is missing" if more else "already; give --resume to go on with it"
            )
            raise HoldfastError(f"{path} holds this study {already}, or another --out")
        return here

    def record(self) -> dict[str, Any]:
        """What the folder's numbers depend on, as JSON has it."""
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
        """Leave the record, and remove what a failed or killed run has left behind."""
        with reported(self.path):
            remove_drafts(self.path)
            if not self._has_tables():
                shutil.rmtree(self.path / PARTS, ignore_errors=True)
        write_record(self.path / RECORD, self.record())

    def table(self, cell: Cell) -> Path:
        """The file of a finished cell."""
        return self.path / f"{cell.name}{TABLE}"

    @property
    def summary(self) -> Path:
        """The file with all summaries."""
        return self.path / SUMMARY

    def missing(self, cell: Cell, say: Callable[[str], None]) -> list[tuple[int, int]]:
        """The runs of replications (first, count) that are not there; tables that do not hold what they should go."""
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
        """Which table this is: the settings of its games, whatever their number, by one checksum."""
        games = {name: value for name, value in cell.settings().items() if name != "replications"}
        digest = checksum(games | {"numbers": self.numbers})
        return plain({"name": self.study.name, "cell": cell.values, "games": digest})

    def _held(self, file: Path, cell: Cell, first: int, say: Callable[[str], None]) -> int:
        """How many replications from `first` on the table holds, every row of them; 0 for one that is not ours."""
        try:
            result = Result.read(file)
        except BadSavedState as error:
            say(f"played again: {error}")
            return 0
        count = result.provenance.get("replications")
        if (
            result.provenance.get("study") != self._identity(cell)
            or result.provenance.get("first_replication") != first
            or not isinstance(count, int)
            or first + count > cell.replications
        ):
            say(f"played again: {file} holds other games than those it is named for")
            return 0
        rows = count * len(cell.policies) * len(cell.checkpoints)
        columns = pl.Schema({name: KINDS[type(value)] for name, value in cell.columns.items()} | SCHEMA)
        if result.frame.height != rows or result.frame.schema != columns:
            say(f"played again: {file} does not hold every row that it should")
            return 0
        return count

    def _parts(self, cell: Cell) -> Iterator[tuple[int, Path]]:
        """The first replication of each chunk on disk, and its file."""
        for file in (self.path / PARTS / cell.name).glob(f"*-*{TABLE}"):
            first = file.stem.partition("-")[0]
            if first.isdecimal():
                yield int(first), file

    def _has_tables(self) -> bool:
        """Whether any replication is there: otherwise a run failed before it had played one, and the folder is free."""
        return any(self.path.glob(f"*{TABLE}")) or any((self.path / PARTS).rglob(f"*{TABLE}"))


def finished_tables(path: Path) -> Result:
    """All finished cells of the study in a folder, as one result with the grid's values as columns."""
    if not (path / RECORD).exists():
        raise HoldfastError(f"{path} must be a folder that `holdfast study run` filled; it has no {RECORD}")
    cells = read_record(path / RECORD, FORMAT, VERSION)["cells"]
    files = [file for name in cells if (file := path / f"{name}{TABLE}").exists()]
    if not files:
        raise HoldfastError(f"{path} has no finished tables yet; go on with `holdfast study run --resume`")
    return Result.concat([Result.read(file) for file in files])


def _recording_as_before(study: Study, there: dict[str, Any]) -> Study:
    """With checkpoints that nobody named, more replications are recorded where the first ones were."""

    def same(cell: Cell) -> Cell:
        before = there.get(cell.name, {})
        if before.get("horizon") != cell.horizon or before.get("replications", 0) > cell.replications:
            return cell
        return replace(cell, checkpoints=tuple(before["checkpoints"]))

    return replace(study, cells=tuple(map(same, study.cells)))
