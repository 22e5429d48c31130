"""Play a plan and keep its tables: in memory, or in a folder that a killed run leaves in order.

    DIR/record.json                   what is being run: `resume` continues only the same plan
    DIR/parts/CELL/FIRST-LAST.parquet chunks of a cell that is not finished
    DIR/CELL.parquet                  a finished cell, with its columns before those of every result
    DIR/summary.csv                   every cell's summary in one table

Each table names its plan, cell and replications in its provenance. A table that is damaged, or holds something else,
is reported and played again. A killed run loses only the chunk in flight.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.extras import pl
from holdfast.files import claimed, reported, write_whole
from holdfast.lab.judge import COST, Less, NotPlayed
from holdfast.lab.plan import Cell, Plan
from holdfast.numerics.layout import Array
from holdfast.policies.policy import Policy
from holdfast.results import SCHEMA, Result, csv_of
from holdfast.runs import (
    TABLE,
    check_resumable,
    checksum,
    earlier_record,
    numbers_of,
    plain,
    read_piece,
    record_of,
    write_record,
)
from holdfast.simulation.backends import Backend, Reporting, find_backend
from holdfast.simulation.game import SIDE_BY_SIDE
from holdfast.simulation.run import progress_bar
from holdfast.simulation.tasks import WORTH_ALL_LANES

PARTS, SUMMARY = "parts", "summary.csv"
KINDS = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}

Say = Callable[[str], None]


def curve_of(result: Result, policy: str, measure: str = COST) -> tuple[Array, Array]:
    """Return the rounds recorded, and `measure` with a row per replication and a column per round."""
    frame = result.frame.filter(pl.col("policy") == policy).sort("replication", "round")
    runs = frame["replication"].n_unique()
    rounds, values = (frame[name].to_numpy().reshape(runs, -1).astype(np.float64) for name in ("round", measure))
    return rounds[0], values


def costs_of(result: Result) -> dict[str, Array]:
    """Return the regret with switching of every policy at the last round, replication by replication."""
    return {policy: curve_of(result, policy)[1][:, -1] for policy in result.policies}


class Tables(Mapping[str, Result]):
    """The tables of a run by name; those in files are read when they are asked for.

    Parameters
    ----------
    results
        Results, or files of them.
    plan
        The plan that was played.
    found
        Replications that were in the folder already.

    Examples
    --------
    >>> from holdfast.lab.plan import Plan, paper_settings
    >>> setting = paper_settings(horizon=100)["stochastic-hard"]
    >>> cell = setting.cell([{"policy": "exp3"}, {"policy": "tsallis-switch"}], replications=3)
    >>> tables = play(Plan("a look", (cell,)))
    >>> tables.final("stochastic-hard", "exp3", "switches").shape
    (3,)
    """

    def __init__(self, results: Mapping[str, Result | Path], plan: Plan | None = None, *, found: int = 0) -> None:
        self._results, self.plan = dict(results), plan or Plan("", ())
        self._curves: dict[tuple[str, str, str], tuple[Array, Array]] = {}
        self.played, self.found = 0, found

    def __getitem__(self, name: str) -> Result:
        try:
            result = self._results[name]
        except KeyError:
            raise NotPlayed(name) from None
        return result if isinstance(result, Result) else Result.read(result)

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, name: object) -> bool:
        return name in self._results

    @property
    def files(self) -> dict[str, Path]:
        """The tables that are in files."""
        return {name: file for name, file in self._results.items() if isinstance(file, Path)}

    def curve(self, table: str, policy: str, measure: str = COST) -> tuple[Array, Array]:
        """Return the rounds recorded, and `measure` with a row per replication and a column per round."""
        key = table, policy, measure
        if key not in self._curves:
            self._curves[key] = curve_of(self[table], policy, measure)
        return self._curves[key]

    def final(self, table: str, policy: str, measure: str = COST) -> Array:
        """Return `measure` at the last round, one number per replication."""
        return np.asarray(self.curve(table, policy, measure)[1][:, -1])

    def less(self, what: str, table: str, first: str, second: str, measure: str = COST, *, factor: float = 1.0) -> Less:
        """Ask whether `measure` of the first policy ends below `factor` times that of the second."""
        return Less(what, self.final(table, first, measure), self.final(table, second, measure), factor)


# ---- in memory ----


def play(
    plan: Plan,
    *,
    backend: str | Backend = "threads",
    kept: Mapping[str, Result] | None = None,
    advance: Callable[[int], None] = lambda count: None,
    finished: Say = lambda name: None,
) -> Tables:
    """Play a plan in memory.

    Parameters
    ----------
    plan
        Its cells of one name become one table.
    backend
        See `simulate`.
    kept
        Tables that need not be played.
    advance, finished
        Called after each cell, and with the name of each finished table.
    """
    tables: dict[str, Result] = {}
    for name in dict.fromkeys(cell.name for cell in plan.cells):
        if kept and name in kept:
            tables[name] = kept[name]
            continue
        results = []
        for cell in (cell for cell in plan.cells if cell.name == name):
            results.append(cell.play(backend))
            advance(1)
        tables[name] = results[0] if len(results) == 1 else Result.concat(results)
        finished(name)
    return Tables(tables, plan)


# ---- in a folder ----


def play_in(
    out: str | Path,
    plan: Plan,
    *,
    backend: str | Backend = "threads",
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: bool | None = None,
    echo: Say | None = None,
    finished: Say | None = None,
    chunks: Chunks | None = None,
) -> Tables:
    """Play a plan in a folder, cell by cell, in chunks of replications.

    Ctrl-C keeps the finished chunks and raises KeyboardInterrupt. A missing backend, or a scheduler that does not
    answer, is found before anything is written.

    Parameters
    ----------
    out
        The folder; one that holds another plan is refused.
    plan
        The name of each cell is that of its file.
    backend, workers, scheduler, progress
        See `simulate`.
    resume
        Keep what is in the folder, and play the rest.
    echo, finished
        Called with a line for each message; `finished`, if given, for each finished cell instead.
    chunks
        Amount of play between two saves.
    """
    say = echo or (lambda line: None)
    report = finished or say
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    with claimed(out, "running a study") as place:
        folder = Folder.admitted(place, plan, numbers_of(chosen.name), resume)
        plan = folder.plan
        missing = {cell.name: folder.missing(cell, say) for cell in plan.cells}
        total = sum(cell.replications for cell in plan.cells)
        left = sum(count for runs in missing.values() for _, count in runs)
        tables = Tables({cell.name: folder.table(cell) for cell in plan.cells}, plan, found=total - left)
        with ExitStack() as stack:
            if left:  # a device that is there, a cluster for all cells
                stack.enter_context(chosen)
            write_record(place, folder.record())
            many = f"{len(plan.cells)} combination{'s' * (len(plan.cells) > 1)}"
            say(f"{plan.name}: {many}, {left} of {total} replications to play")
            games = sum(count * len(cell.policies) for cell in plan.cells for _, count in missing[cell.name])
            advance = stack.enter_context(progress_bar(progress, games, "games"))
            busy, sizes = Reporting(chosen, advance), chunks or Chunks()
            try:
                for cell in plan.cells:
                    spread = sizes.spread(missing[cell.name], cell.policies.values(), len(cell.checkpoints), busy)
                    for first, count in spread:
                        folder.keep(cell, cell.play(busy, first=first, count=count))
                        tables.played += count
                    if not folder.is_finished(cell):
                        file = folder.finish(cell)
                        report(f"{cell.name}: {cell.replications} replications in {file}")
                    missing[cell.name] = []
            except KeyboardInterrupt:
                # The interrupt may come just after a chunk was written: keep what is on disk.
                missing[cell.name] = folder.missing(cell, say)
                kept = total - sum(count for runs in missing.values() for _, count in runs)
                say(f"interrupted: {kept} of {total} replications are kept in {place}; go on with --resume")
                raise
        shutil.rmtree(place / PARTS, ignore_errors=True)
        frames = [table.summary() for table in tables.values()]
        write_whole(place / SUMMARY, csv_of(pl.concat(frames, how="vertical_relaxed")))
    return tables


@dataclass(frozen=True)
class Folder:
    """The claimed folder of a plan."""

    path: Path
    plan: Plan
    numbers: str

    @classmethod
    def admitted(cls, path: Path, plan: Plan, numbers: str, resume: bool) -> Folder:
        """Return the folder, if it is free or holds this plan, perhaps with fewer cells or replications.

        A plan that was not given a name keeps the one that it was begun with.
        """
        there = earlier_record(path, "study")
        if there is None:
            return cls(path, plan, numbers)
        if not plan.is_named:
            plan = plan.renamed(there["name"])
        if not plan.checkpoints_are_given:
            plan = _with_earlier_checkpoints(plan, there["cells"])
        here = cls(path, plan, numbers)
        check_resumable(path, "study", there, here.record(), resume=resume, may_grow=True)
        return here

    def record(self) -> dict[str, Any]:
        """Return everything the numbers depend on, as JSON."""
        cells = {cell.name: cell.settings() for cell in self.plan.cells}
        return record_of("study", self.plan.name, self.numbers, self.plan.written, cells)

    def table(self, cell: Cell) -> Path:
        """Return the file of a finished cell."""
        return self.path / f"{cell.name}{TABLE}"

    def missing(self, cell: Cell, say: Say) -> list[tuple[int, int]]:
        """Return the runs of missing replications (first, count); remove unusable tables."""
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
        """Tell whether no part of the cell is left; valid once nothing is missing."""
        return self.table(cell).exists() and not any(self._parts(cell))

    def keep(self, cell: Cell, result: Result) -> Path:
        """Write a chunk of the cell."""
        first, count = result.provenance["first_replication"], result.provenance["replications"]
        result.provenance["environment"] |= cell.source
        result.provenance["study"] = self._identity(cell)
        columns = [pl.lit(value, KINDS[type(value)]).alias(name) for name, value in cell.columns.items()]
        parts = self.path / PARTS / cell.name
        with reported(parts):
            parts.mkdir(parents=True, exist_ok=True)
        chunk = Result(result.frame.select(*columns, pl.all()), result.provenance)
        return chunk.write(parts / f"{first}-{first + count - 1}{TABLE}")

    def finish(self, cell: Cell) -> Path:
        """Join the chunks of a cell, and the table finished before, to one table."""
        files = [file for _, file in sorted(self._parts(cell))]
        if self.table(cell).exists():
            files.insert(0, self.table(cell))
        written = Result.concat([Result.read(file) for file in files]).write(self.table(cell))
        shutil.rmtree(self.path / PARTS / cell.name, ignore_errors=True)
        return written

    def _identity(self, cell: Cell) -> dict[str, Any]:
        """Return a cell's provenance: a checksum of all settings but the number of replications."""
        games = {name: value for name, value in cell.settings().items() if name != "replications"}
        digest = checksum(games | {"numbers": self.numbers})
        return plain({"name": self.plan.name, "cell": dict(cell.keys), "games": digest})

    def _held(self, file: Path, cell: Cell, first: int, say: Say) -> int:
        """Return how many replications from `first` on the table holds; 0 if it cannot be used."""
        identity = self._identity(cell)

        def holds(provenance: dict[str, Any]) -> bool:
            count = provenance.get("replications")
            expected = provenance.get("study") == identity and provenance.get("first_replication") == first
            return expected and isinstance(count, int) and first + count <= cell.replications

        def rows(provenance: dict[str, Any]) -> int:
            return int(provenance["replications"]) * len(cell.policies) * len(cell.checkpoints)

        columns = {name: KINDS[type(value)] for name, value in cell.columns.items()}
        schema = pl.Schema(columns | SCHEMA | dict.fromkeys(cell.record, pl.Float64))
        result = read_piece(file, holds, rows, schema, say)
        return 0 if result is None else int(result.provenance["replications"])

    def _parts(self, cell: Cell) -> Iterator[tuple[int, Path]]:
        """Yield the first replication of each chunk on disk, and its file."""
        for file in (self.path / PARTS / cell.name).glob(f"*-*{TABLE}"):
            first = file.stem.partition("-")[0]
            if first.isdecimal():
                yield int(first), file


def _with_earlier_checkpoints(plan: Plan, there: dict[str, Any]) -> Plan:
    """Keep the checkpoints of the earlier replications if none were given."""

    def same(cell: Cell) -> Cell:
        before = there.get(cell.name, {})
        if before.get("horizon") != cell.horizon or before.get("replications", 0) > cell.replications:
            return cell
        return replace(cell, checkpoints=tuple(before["checkpoints"]))

    return replace(plan, cells=tuple(map(same, plan.cells)))


# ---- chunk sizes ----


@dataclass(frozen=True)
class Chunks:
    """Sizes of chunks: enough to keep a backend busy, few enough to lose little.

    The numbers of a replication depend on nothing but the settings and its own number, so chunks may be of any size,
    and their size follows the clock.
    """

    seconds: float = 10.0
    """Seconds that a chunk should take: about the most that a killed run loses."""
    row_seconds: float = 60.0
    """Upper limit in seconds for a chunk that fills all vector lanes: 32 games take as long as 10 single ones."""
    growth: int = 8
    """Largest ratio of a chunk to the one before it."""
    most_rows: int = 2_000_000
    """Rows of one chunk's table."""
    clock: Callable[[], float] = time.perf_counter

    def spread(
        self, missing: Iterable[tuple[int, int]], policies: Iterable[Policy], checkpoints: int, backend: Backend
    ) -> Iterator[tuple[int, int]]:
        """Cut the runs of replications (first, count) in `missing` into chunks to be played one after the other.

        The time between two of them is taken for what the first of the two took.
        """
        played = list(policies)
        most = max(1, self.most_rows // (checkpoints * len(played)))
        size = width = backend.width
        row = (
            width * SIDE_BY_SIDE
            if backend.side_by_side and any(policy.kernels.side_by_side for policy in played)
            else 1
        )
        for first, count in missing:
            end = first + count
            while first < end:
                chunk = min(size, most, end - first)
                began = self.clock()
                yield first, chunk
                size = self.next_size(chunk, max(self.clock() - began, 1e-9), width, row)
                first += chunk

    def next_size(self, chunk: int, taken: float, width: int, row: int) -> int:
        """Return how many replications to play next: whole rows of games side by side on every core where they fit.

        `chunk` of them took `taken` seconds on `width` cores, which together play `row` side by side.
        """
        size = max(1, int(chunk * min(self.seconds / taken, self.growth)))
        if size >= row:
            return size - size % row
        alone = min(
            max(1.0, chunk / width), WORTH_ALL_LANES
        )  # games in turn on each core; from WORTH_ALL_LANES on a row
        row_seconds = taken * min(1.0, row / chunk) * WORTH_ALL_LANES / alone
        return row if row_seconds <= self.row_seconds else size
