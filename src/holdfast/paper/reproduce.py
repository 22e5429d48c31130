"""Run figures and probes, and judge the claims: all that `holdfast reproduce` finds out, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from holdfast.experiments.claims import CLAIMS
from holdfast.experiments.games import Experiment, Matches, play
from holdfast.experiments.ledger import Evidence, Verdict, judge
from holdfast.experiments.probes import PROBES
from holdfast.experiments.settings import Settings
from holdfast.results import Result
from holdfast.simulation import Backend


@dataclass(frozen=True)
class Findings:
    """What was played and what it decides.

    `tables` are the rows of the figures by name; `ledger` has the probes, and of the rows the replications the
    claims are judged by where those are more than the figures show.
    """

    settings: Settings
    experiments: tuple[Experiment, ...]
    tables: dict[str, Result]
    ledger: dict[str, Result]
    verdicts: list[Verdict]


@dataclass(frozen=True)
class Job:
    """One table to fill."""

    name: str
    matches: Matches
    replications: int
    shown: bool
    """Whether it is a row of a figure."""


def jobs(experiments: Sequence[Experiment], settings: Settings) -> list[Job]:
    """The tables of these figures and of the probes that go with them."""
    rows = [(name, row) for experiment in experiments for name, row in experiment.tables().items()]
    names = {experiment.name for experiment in experiments}
    probes = [probe for probe in PROBES if probe.figure in names]
    return [Job(name, row.matches, settings.judged, True) for name, row in rows] + [
        Job(probe.name, probe.matches, settings.probed if probe.long else settings.judged, False) for probe in probes
    ]


def find_out(
    experiments: Sequence[Experiment],
    settings: Settings,
    *,
    backend: str | Backend = "threads",
    advance: Callable[[str], None] = lambda name: None,
) -> Findings:
    """Play every match of these figures and their probes, then judge; `advance` hears the table of each match."""
    tables: dict[str, Result] = {}
    ledger: dict[str, Result] = {}
    for job in jobs(experiments, settings):
        result = play(
            job.name,
            job.matches(settings),
            replications=job.replications,
            seed=settings.seed,
            backend=backend,
            advance=advance,
        )
        if job.shown:
            tables[job.name] = first_replications(result, settings.replications)
        if not job.shown or job.replications > settings.replications:
            ledger[job.name] = result
    return judged(experiments, settings, tables, ledger)


def judged(
    experiments: Sequence[Experiment], settings: Settings, tables: Mapping[str, Result], ledger: Mapping[str, Result]
) -> Findings:
    """The findings of tables that are there already."""
    verdicts = judge(CLAIMS, Evidence({**tables, **ledger}, settings))
    return Findings(settings, tuple(experiments), dict(tables), dict(ledger), verdicts)


def first_replications(result: Result, count: int) -> Result:
    """The first replications of a result: the same rows as if no more had been played."""

    def fewer(provenance: dict[str, Any]) -> dict[str, Any]:
        if "parts" in provenance:
            return {**provenance, "parts": [fewer(part) for part in provenance["parts"]]}
        return {**provenance, "replications": min(count, provenance["replications"])}

    return Result(result.frame.filter(pl.col("replication") < count), fewer(result.provenance))
