"""Run a user's study: cell by cell, in chunks of replications, so that a killed run loses only the one in flight.

    DIR/study.json                    what is being run: `--resume` goes on only with the same study
    DIR/parts/CELL/FIRST-LAST.parquet chunks of a cell that is not finished
    DIR/CELL.parquet                  a finished cell
    DIR/summary.parquet               every cell's summary in one table, with the grid's values as columns

The numbers of a replication depend on nothing but the settings and its own number. So chunks may be of any size, and
their size follows the clock: large enough to keep the machine busy, small enough to lose little.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

import holdfast
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.experiments.study_file import FILE_NAME, Cell, Study, read_study, short_names
from holdfast.results import Result
from holdfast.simulation.backends import Backend, find_backend
from holdfast.simulation.backends.backend import Reporting
from holdfast.simulation.game import ABREAST
from holdfast.simulation.progress import progress_bar
from holdfast.simulation.run import simulate
from holdfast.simulation.tasks import WORTH_A_ROW

FORMAT, VERSION = "holdfast.study", 1
MANIFEST, LOCK, PARTS, SUMMARY = "study.json", ".lock", "parts", "summary.parquet"
CHUNK_SECONDS = 10.0
"""What a chunk should take: about the most that a killed run loses."""
ROW_SECONDS = 60.0
"""What a chunk may take so that every core plays a row of games abreast: as long as ten alone, for 32."""
GROWTH = 8
MOST_CHUNK_ROWS = 2_000_000
MOST_DIFFERENCES = 20
"""Fields named in an error about another study: an edited grid has thousands."""


@dataclass
class StudyRun:
    """What a run of a study came to."""

    name: str
    out: Path
    files: dict[str, Path]
    """The table of each cell, by its name."""
    values: dict[str, dict[str, Any]]
    """What the grid set in each cell."""
    played: int = 0
    """Replications played in this run."""
    found: int = 0
    """Replications that were on disk already."""
    seconds: float = 0.0

    def results(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Each cell's grid values and result, read from its file."""
        for name, file in self.files.items():
            yield self.values[name], Result.read(file)

    @property
    def summary(self) -> Path:
        """The file with all summaries."""
        return self.out / SUMMARY


def run_study(
    path: str | Path,
    out: str | Path,
    *,
    backend: str | Backend = "threads",
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: bool | None = None,
    echo: Callable[[str], None] | None = None,
) -> StudyRun:
    """Run the study in the file `path` and leave its tables in the folder `out`.

    With `resume`, what is already there is kept and only the rest is played; a folder with another study is refused.
    `echo` is called with a line for each finished cell. Ctrl-C keeps the finished chunks, says so, and raises
    KeyboardInterrupt. Mistakes in the file, a backend that is not there and a scheduler that does not answer are found
    before anything is written.
    """
    say = echo or (lambda line: None)
    study = read_study(path)
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    folder = Path(out)
    began = time.perf_counter()
    with _claimed(folder):
        study = _checked(folder, study, chosen.name, resume)
        files = {cell.name: folder / f"{cell.name}.parquet" for cell in study.cells}
        run = StudyRun(study.name, folder, files, {cell.name: cell.values for cell in study.cells})
        work = [(cell, gaps) for cell in study.cells if (gaps := _gaps(folder, cell, say)) is not None]
        total = sum(cell.replications for cell in study.cells)
        left = sum(count for _, gaps in work for _, count in gaps)
        run.found = total - left
        games = sum(count * len(cell.policies) for cell, gaps in work for _, count in gaps)
        with ExitStack() as stack:
            if work:  # a device that is there, a cluster for all cells
                stack.enter_context(chosen)
            _begin(folder, study, chosen.name)
            combinations = f"{len(study.cells)} combination{'s' * (len(study.cells) > 1)}"
            say(f"{study.name}: {combinations}, {left} of {total} replications to play")
            try:
                advance = stack.enter_context(progress_bar(progress, games, "games"))
                for cell, gaps in work:
                    _play_cell(folder, study.name, cell, gaps, Reporting(chosen, advance), run)
                    say(f"{cell.name}: {cell.replications} replications in {files[cell.name]}")
            except KeyboardInterrupt:
                kept = run.found + run.played
                say(f"interrupted: {kept} of {total} replications are kept in {folder}; go on with --resume")
                raise
        _write_summary(study.cells, run)
    run.seconds = time.perf_counter() - began
    return run


def _play_cell(
    folder: Path, study: str, cell: Cell, gaps: list[tuple[int, int]], backend: Reporting, run: StudyRun
) -> None:
    """Play the replications that are missing, write each chunk, and join them."""
    parts = folder / PARTS / cell.name
    parts.mkdir(parents=True, exist_ok=True)
    most = max(1, MOST_CHUNK_ROWS // (len(cell.checkpoints) * len(cell.policies)))
    size = width = backend.width
    row = width * ABREAST if backend.abreast and any(p.kernels.abreast for p in cell.policies.values()) else 1
    for first, count in gaps:
        end = first + count
        while first < end:
            chunk = min(size, most, end - first)
            began = time.perf_counter()
            result = simulate(
                cell.policies,
                cell.environment,
                horizon=cell.horizon,
                switching_cost=cell.costs.given,
                replications=chunk,
                first_replication=first,
                seed=cell.seed,
                checkpoints=cell.checkpoints,
                backend=backend,
                progress=False,
            )
            result.provenance["environment"] |= cell.source
            result.provenance["study"] = {"name": study, "cell": cell.values}
            result.write(parts / f"{first}-{first + chunk - 1}.parquet")
            first += chunk
            run.played += chunk
            taken = max(time.perf_counter() - began, 1e-9)
            size = _next_chunk(chunk, taken, width, row)
    pieces = [Result.read(file) for _, file in sorted(_parts(parts))]
    Result.concat(pieces).write(run.files[cell.name])
    shutil.rmtree(parts)
    if not any((folder / PARTS).iterdir()):
        (folder / PARTS).rmdir()


def _next_chunk(chunk: int, taken: float, width: int, row: int) -> int:
    """How many replications to play next: what takes ten seconds, in rows of games abreast on every core where it can.

    `chunk` of them took `taken` seconds on `width` cores, which together play `row` abreast.
    """
    size = max(1, int(chunk * min(CHUNK_SECONDS / taken, GROWTH)))
    if size >= row:
        return size - size % row
    alone = min(max(1.0, chunk / width), WORTH_A_ROW)  # games in turn on each core; from WORTH_A_ROW on it was a row
    row_seconds = taken * min(1.0, row / chunk) * WORTH_A_ROW / alone
    return row if row_seconds <= ROW_SECONDS else size


def _parts(folder: Path) -> Iterator[tuple[int, Path]]:
    """The first replication of each chunk on disk, and its file."""
    for file in folder.glob("[0-9]*-*.parquet"):
        yield int(file.stem.partition("-")[0]), file


def _gaps(folder: Path, cell: Cell, say: Callable[[str], None]) -> list[tuple[int, int]] | None:
    """The runs of replications (first, count) not yet on disk; None for a finished cell. Damaged tables are removed."""
    finished = folder / f"{cell.name}.parquet"
    if finished.exists():
        if _holds(finished, cell, 0, cell.replications, say):
            return None
        finished.unlink()
    covered, gaps = 0, []
    for first, file in sorted(_parts(folder / PARTS / cell.name)):
        count = int(file.stem.partition("-")[2]) - first + 1
        if first < covered or not _holds(file, cell, first, count, say):
            file.unlink()
            continue
        if first > covered:
            gaps.append((covered, first - covered))
        covered = first + count
    if covered < cell.replications:
        gaps.append((covered, cell.replications - covered))
    return gaps


def _holds(file: Path, cell: Cell, first: int, count: int, say: Callable[[str], None]) -> bool:
    """Whether a table has these replications of the cell, every row of them."""
    try:
        result = Result.read(file)
    except BadSavedState as error:
        say(f"played again: {error}")
        return False
    rows = count * len(cell.policies) * len(cell.checkpoints)
    found = (result.provenance.get("first_replication"), result.provenance.get("replications"), result.frame.height)
    return found == (first, count, rows)


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other processes from running a study in it at the same time.

    A folder made here goes again with an error that left nothing in it.
    """
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / LOCK).open("a")
    except OSError as error:
        raise HoldfastError(f"out must be a folder that can be written to; got {folder} ({error.strerror})") from None
    with opened:
        _lock(opened, folder)
        try:
            yield
        except BaseException:
            if made and os.listdir(folder) == [LOCK]:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _lock(opened: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # gone with the process, however it ends
    except OSError:
        raise HoldfastError(f"another process is running a study in {folder}: wait for it to end") from None


def _manifest(study: Study, backend: str) -> dict[str, Any]:
    """What the folder's numbers depend on, as JSON has it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "holdfast": holdfast.__version__,
        "numbers": "gpu" if backend == "cuda" else "cpu",
        "study": study.name,
        "cells": {cell.name: cell.settings() for cell in study.cells},
    }


def _checked(folder: Path, study: Study, backend: str, resume: bool) -> Study:
    """The study, if the folder is free or holds it; it has the name it began with, unless its file gives another."""
    file = folder / MANIFEST
    if not file.exists():
        others = [entry.name for entry in folder.iterdir() if entry.name != LOCK and not entry.name.endswith(".part")]
        if others:
            raise HoldfastError(f"{folder} must be empty or hold this study; it has {sorted(others)[0]!r}")
        return study
    if not _has_tables(folder):
        return study
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
        name = there["study"]
        if not study.named and isinstance(name, str) and FILE_NAME.fullmatch(name):
            study = study.renamed(name)
        different = _differences(there, _manifest(study, backend))
    except (ValueError, TypeError, KeyError) as error:
        raise BadSavedState(f"{file} is damaged ({error}); give another --out") from None
    if different:
        more = len(different) - MOST_DIFFERENCES
        shown = "; ".join(different[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        raise HoldfastError(f"{folder} holds another study: {shown}; give another --out")
    if not resume:
        raise HoldfastError(f"{folder} holds this study already; give --resume to go on with it, or another --out")
    return study


def _has_tables(folder: Path) -> bool:
    """Whether any replication is on disk: otherwise a run failed before it had played one, and the folder is free."""
    parts = (file for file in (folder / PARTS).rglob("*") if file.is_file() and not file.name.endswith(".part"))
    return any(folder.glob("*.parquet")) or any(parts)


def _begin(folder: Path, study: Study, backend: str) -> None:
    """Leave the manifest, unless the study goes on, and remove what a failed or killed run has left behind."""
    file = folder / MANIFEST
    for left_over in (*folder.glob(".*.part"), *(folder / PARTS).glob("*/.*.part")):
        left_over.unlink()
    if file.exists() and _has_tables(folder):
        return
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    part = file.with_name(f".{MANIFEST}.{os.getpid()}.part")
    part.write_text(json.dumps(_manifest(study, backend), indent=1) + "\n", encoding="utf-8")
    os.replace(part, file)


def _differences(there: Any, here: Any, place: str = "") -> list[str]:
    """Every field in which two manifests differ, in words."""
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for key in {**there, **here}:
            inner = key if not place or place == "cells" else f"{place}.{key}"
            if key not in here:
                found.append(f"it has {inner}")
            elif key not in there:
                found.append(f"it has no {inner} (this one has)")
            else:
                found += _differences(there[key], here[key], inner)
        return found
    return [] if there == here else [f"{place} is {_short(there)} there and {_short(here)} here"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:50]}…"


def _write_summary(cells: Iterable[Cell], run: StudyRun) -> None:
    """One table of all cells: the grid's values, then policy, round and the summary's columns."""
    frames = []
    for cell in cells:
        summary = Result.read(run.files[cell.name]).summary()
        short = short_names(cell.values)
        columns = {short[key]: _scalar(value) for key, value in cell.values.items() if short[key] not in summary}
        frames.append(summary.select(*(pl.lit(value).alias(name) for name, value in columns.items()), pl.all()))
    part = run.summary.with_name(f".{SUMMARY}.{os.getpid()}.part")
    pl.concat(frames, how="vertical_relaxed").write_parquet(part)
    os.replace(part, run.summary)


def _scalar(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else json.dumps(value)
