"""Run figures and probes, and judge the claims: all that `holdfast reproduce` finds out, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.experiments.claims import CLAIMS
from holdfast.experiments.games import Experiment, Probe, play
from holdfast.experiments.ledger import Evidence, Verdict, judge
from holdfast.experiments.probes import PROBES
from holdfast.experiments.settings import Settings
from holdfast.results import Result
from holdfast.simulation import Backend


@dataclass(frozen=True)
class Findings:
    """The tables of figures and probes by name, and the verdicts on the claims they decide."""

    settings: Settings
    experiments: tuple[Experiment, ...]
    tables: dict[str, Result]
    probes: dict[str, Result]
    verdicts: list[Verdict]


def needed_probes(experiments: Sequence[Experiment]) -> tuple[Probe, ...]:
    """The probes that go with these figures."""
    names = {experiment.name for experiment in experiments}
    return tuple(probe for probe in PROBES if probe.figure in names)


def count_matches(experiments: Sequence[Experiment], settings: Settings) -> int:
    """How many matches `find_out` plays, for a progress bar."""
    rows = [row.matches for experiment in experiments for row in experiment.rows]
    return sum(len(matches(settings)) for matches in [*rows, *(p.matches for p in needed_probes(experiments))])


def find_out(
    experiments: Sequence[Experiment],
    settings: Settings,
    *,
    backend: str | Backend = "threads",
    advance: Callable[[str], None] = lambda name: None,
) -> Findings:
    """Play every match of these figures and their probes, then judge; `advance` hears the table of each match."""
    tables: dict[str, Result] = {}
    for experiment in experiments:
        for name, row in experiment.tables().items():
            tables[name] = play(
                row.matches(settings), settings, backend=backend, advance=lambda _, name=name: advance(name)
            )
    probes = {
        probe.name: play(
            probe.matches(settings),
            settings,
            replications=settings.probed if probe.long else None,
            backend=backend,
            advance=lambda _, name=probe.name: advance(name),
        )
        for probe in needed_probes(experiments)
    }
    return judged(tuple(experiments), settings, tables, probes)


def judged(
    experiments: tuple[Experiment, ...], settings: Settings, tables: dict[str, Result], probes: dict[str, Result]
) -> Findings:
    """The findings of tables that are there already."""
    verdicts = judge(CLAIMS, Evidence({**tables, **probes}, settings))
    return Findings(settings, experiments, tables, probes, verdicts)
