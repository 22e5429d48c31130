"""The tables of a run: which there are, where each is kept, how they are played and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.extras import pl
from holdfast.paper.games import Figure, Matches
from holdfast.paper.probes import PROBES
from holdfast.results import Result
from holdfast.simulation import Backend, simulate
from holdfast.verdicts.settings import RunSettings

JUDGED = "ledger"
"""The folder of the tables that only claims are judged by."""


@dataclass(frozen=True)
class Table:
    """One table to fill: a row of a figure, or a probe that goes with it."""

    name: str
    figure: str
    matches: Matches
    replications: int
    shown: int
    """Replications that a figure shows; none of a probe's."""

    def files(self) -> dict[str, int]:
        """The files it is kept in, below the folder of the run, with the replications in each."""
        kept = {f"{self.name}.parquet": self.shown} if self.shown else {}
        if self.shown < self.replications:
            kept[f"{JUDGED}/{self.name}.parquet"] = self.replications
        return kept


def tables_of(figures: Sequence[Figure], settings: RunSettings) -> list[Table]:
    """The tables of these figures and of the probes that go with them."""
    rows = [
        Table(name, figure.name, row.matches, settings.judged, settings.replications)
        for figure in figures
        for name, row in figure.tables().items()
    ]
    names = {figure.name for figure in figures}
    return rows + [
        Table(p.name, p.figure, p.matches, settings.probed if p.long else settings.judged, 0)
        for p in PROBES
        if p.figure in names
    ]


def play_table(
    table: Table,
    settings: RunSettings,
    *,
    backend: str | Backend = "threads",
    advance: Callable[[int], None] = lambda count: None,
) -> Result:
    """All replications of a table; `advance(1)` is called after each match."""
    results = []
    for match in table.matches(settings):
        checkpoints = match.checkpoints
        results.append(
            simulate(
                match.policies,
                match.environment,
                horizon=match.horizon,
                switching_cost=match.switching_cost,
                replications=table.replications,
                seed=settings.seed,
                checkpoints=min(checkpoints, match.horizon) if isinstance(checkpoints, int) else list(checkpoints),
                backend=backend,
                progress=False,
            )
        )
        advance(1)
    return results[0] if len(results) == 1 else Result.concat(results)


def write_tables(played: Mapping[str, Result], tables: Sequence[Table], folder: Path) -> list[str]:
    """Write these tables to their files in `folder`; gives their names."""
    written = []
    for table in tables:
        for name, replications in table.files().items():
            first_replications(played[table.name], replications).write(folder / name)
            written.append(name)
    return written


def read_table(table: Table, folder: Path) -> Result:
    """The table with all its replications, as it was written."""
    name, _ = max(table.files().items(), key=lambda kept: kept[1])
    return Result.read(folder / name)


def first_replications(result: Result, count: int) -> Result:
    """The first replications of a result: the same rows as if no more had been played."""

    def fewer(provenance: dict[str, Any]) -> dict[str, Any]:
        if "parts" in provenance:
            return {**provenance, "parts": [fewer(part) for part in provenance["parts"]]}
        return {**provenance, "replications": min(count, provenance["replications"])}

    return Result(result.frame.filter(pl.col("replication") < count), fewer(result.provenance))
