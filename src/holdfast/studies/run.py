"""Run a user's study: cell by cell, in chunks of replications, so that a killed run loses only the one in flight."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.files import claimed
from holdfast.results import Result
from holdfast.simulation.backends import Backend, Reporting, find_backend
from holdfast.simulation.chunks import Chunks
from holdfast.simulation.run import progress_bar, simulate
from holdfast.studies.file import Cell, Study, read_study
from holdfast.studies.folder import StudyFolder

Say = Callable[[str], None]
Missing = list[tuple[int, int]]
"""Runs of replications: the first, and how many."""


@dataclass
class StudyRun:
    """The outcome of a study."""

    name: str
    out: Path
    files: dict[str, Path]
    """The table of each cell, by its name."""
    values: dict[str, dict[str, Any]]
    """What the grid set in each cell."""
    summary: Path
    """The file with all summaries."""
    played: int = 0
    """Replications played in this run."""
    found: int = 0
    """Replications that were on disk already."""
    seconds: float = 0.0

    def results(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Each cell's grid values and result, read from its file."""
        for name, file in self.files.items():
            yield self.values[name], Result.read(file)


def run_study(
    study: str | Path | Study,
    out: str | Path,
    *,
    backend: str | Backend = "threads",
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: bool | None = None,
    echo: Say | None = None,
    finished: Say | None = None,
    chunks: Chunks | None = None,
) -> StudyRun:
    """Run a study and write its tables to a folder.

    Ctrl-C keeps the finished chunks and raises KeyboardInterrupt. Errors in the file, a missing backend and a scheduler
    that does not answer are found before anything is written.

    Parameters
    ----------
    study
        Its file, in TOML, or what `read_study` returned.
    out
        The folder; one that holds another study is refused.
    backend, workers, scheduler, progress
        As in `simulate`.
    resume
        Keep what is in the folder, and play the rest.
    echo, finished
        Called with a line for each message; `finished`, if given, for each finished cell instead.
    chunks
        How much is played between two saves.
    """
    if not isinstance(study, Study):
        study = read_study(study)
    say = echo or (lambda line: None)
    report = finished or say
    chosen = find_backend(backend, workers=workers, scheduler=scheduler)
    began = time.perf_counter()
    with claimed(out, "running a study") as place:
        folder = StudyFolder.admitted(place, study, chosen.name, resume)
        cells = folder.study.cells
        files = {cell.name: folder.table(cell) for cell in cells}
        run = StudyRun(folder.study.name, place, files, {cell.name: cell.values for cell in cells}, folder.summary)
        missing = {cell.name: folder.missing(cell, say) for cell in cells}
        total = sum(cell.replications for cell in cells)
        left = sum(count for runs in missing.values() for _, count in runs)
        run.found = total - left
        with ExitStack() as stack:
            if left:  # a device that is there, a cluster for all cells
                stack.enter_context(chosen)
            folder.begin()
            say(f"{run.name}: {len(cells)} combination{'s' * (len(cells) > 1)}, {left} of {total} replications to play")
            games = sum(count * len(cell.policies) for cell in cells for _, count in missing[cell.name])
            advance = stack.enter_context(progress_bar(progress, games, "games"))
            try:
                for cell in cells:
                    for played in _play(cell, missing[cell.name], Reporting(chosen, advance), chunks or Chunks()):
                        folder.keep(cell, played)
                        run.played += played.provenance["replications"]
                    if not folder.is_finished(cell):
                        folder.finish(cell)
                        report(f"{cell.name}: {cell.replications} replications in {files[cell.name]}")
                    missing[cell.name] = []
            except KeyboardInterrupt:
                # It may come just after a chunk was written: what is kept is what lies there.
                missing[cell.name] = folder.missing(cell, say)
                kept = total - sum(count for runs in missing.values() for _, count in runs)
                say(f"interrupted: {kept} of {total} replications are kept in {place}; go on with --resume")
                raise
        folder.close()
    run.seconds = time.perf_counter() - began
    return run


def _play(cell: Cell, missing: Missing, backend: Backend, chunks: Chunks) -> Iterator[Result]:
    """The replications that are missing, chunk by chunk."""
    for first, count in chunks.spread(missing, cell.policies.values(), len(cell.checkpoints), backend):
        yield simulate(
            cell.policies,
            cell.environment,
            horizon=cell.horizon,
            switching_cost=cell.costs.given,
            replications=count,
            first_replication=first,
            seed=cell.seed,
            checkpoints=cell.checkpoints,
            backend=backend,
            progress=False,
        )
