"""Play an arena: games in a study's folder, then one table of them as parquet, JSON and a page.

DIR/games/        the study: a table for each environment and horizon, resumable as any study's
DIR/long/         the same for the long games that growth is measured in
DIR/arena.parquet one row for each environment and policy
DIR/arena.json    the same with worst cases and settings
DIR/arena.html    the page
DIR/files.json    the names and checksums of these files
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import holdfast
from holdfast.checks import one_of
from holdfast.environments.environment import UNIT_RANGE
from holdfast.evidence import in_sight
from holdfast.evidence.contestants import chosen_policies, knows_horizon
from holdfast.evidence.findings import ArenaFindings
from holdfast.evidence.growth import DEFAULT, QUICK, long_study, long_table, samples_of
from holdfast.evidence.measures import FLOOR, costs_of, tabulated, worst_cases, worst_ratios
from holdfast.evidence.pages import report_of
from holdfast.evidence.settings import ArenaSettings, cell_name, study_of
from holdfast.evidence.worlds import LONG, TRACE_COSTS, chosen_worlds, trace_worlds
from holdfast.extras import pl
from holdfast.files import claimed
from holdfast.numerics.layout import Array
from holdfast.policies.policy import Feedback
from holdfast.results import Result, parquet_bytes
from holdfast.runs.outputs import Outputs
from holdfast.runs.record import document
from holdfast.simulation.backends import Backend
from holdfast.studies.file import Study
from holdfast.studies.run import StudyRun, run_study

GAMES, TABLE, DOCUMENT, PAGE = "games", "arena.parquet", "arena.json", "arena.html"
FORMAT, VERSION = "holdfast.arena", 1


@dataclass(frozen=True)
class Arena:
    """What an arena came to, and its files."""

    findings: ArenaFindings
    study: StudyRun
    table: Path
    document: Path
    page: Path


def run_arena(
    out: str | Path = "arena",
    *,
    traces: Sequence[str | Path] = (),
    switching_costs: Sequence[float] = TRACE_COSTS,
    units: tuple[float, float] = UNIT_RANGE,
    index: str | None = None,
    policies: object = None,
    environments: object = None,
    replications: int | None = None,
    horizon: int | None = None,
    longest: int | None = None,
    seed: int = 0,
    quick: bool = False,
    sees: Feedback = "own",
    backend: str | Backend = "threads",
    scheduler: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    progress: bool | None = None,
    echo: Callable[[str], None] | None = None,
    verbose: bool = False,
) -> Arena:
    """Play every policy in every environment and write table, document and page to the folder `out`.

    Parameters
    ----------
    out
        The folder.
    traces, switching_costs, units, index
        Files of losses, each played with each of these costs; `units` and `index` are those of `LossTable`.
    policies, environments
        Names; all unless given. The long games are played where none are given, or ``"long"`` is among them.
    replications, horizon, seed
        As in `simulate`.
    longest
        The longest T of the long games, from 10⁴ to 10⁹; 10⁶ unless given.
    quick
        A first look: a few policies and environments, 8 replications of 10,000 rounds.
    sees
        ``"all"`` plays the policies that see the losses of all arms instead, where the best arm changes, with 20
        replications of 10,000 rounds, and compares costs with that of the best fixed arm.
    backend, scheduler, workers, progress
        As in `simulate`.
    resume
        Play only the games that are not in the folder.
    echo, verbose
        Called with each message; with `verbose` also for each finished table.
    """
    if one_of("sees", sees, ("own", "all")) == "all" and not quick:
        replications, horizon, environments = in_sight.defaults(replications, horizon, environments, bool(traces))
    settings = ArenaSettings.of(replications, horizon, seed, quick=quick)
    given = trace_worlds(traces, switching_costs, units=units, index=index)
    worlds, with_long_games = chosen_worlds(settings.horizon, given, environments, quick=quick)
    names = chosen_policies(policies, quick=quick, sees=sees)
    study, played = study_of(worlds, names, settings)
    long = (
        long_study(names, settings, longest or (QUICK if quick else DEFAULT))
        if with_long_games and sees == "own"
        else None
    )
    place = Path(out)
    with claimed(place, "playing an arena"):
        Outputs(place, "an arena").refuse_foreign((TABLE, DOCUMENT, PAGE))
    how: dict[str, Any] = {
        "backend": backend,
        "scheduler": scheduler,
        "workers": workers,
        "resume": resume,
        "progress": progress,
        "echo": echo,
        "finished": None if verbose else lambda line: None,
    }
    run = run_study(study, place / GAMES, **how)
    growing = _long_games(long, run_study(long, place / LONG, **how)) if long else None
    costs, switches, curves = {}, {}, {}
    for world in played:
        result = Result.read(run.files[cell_name(world)])
        costs[world.name, world.horizon] = costs_of(result)
        if world in worlds:
            final = result.final()
            switches[world.name] = dict(zip(final["policy"], final["switches_mean"], strict=True))
            curves[world.name] = result.summary()
    made = study.cells[0].policies
    table = tabulated(worlds, costs, switches, made)
    findings = ArenaFindings(
        settings=settings,
        worlds=tuple(worlds),
        policies={name: knows_horizon(policy) for name, policy in made.items()},
        table=table,
        worst=worst_cases(table),
        floors=worst_ratios(worlds, costs),
        curves=curves,
        in_sight=in_sight.compared(worlds, costs, switches) if sees == "all" else None,
        long=growing,
        provenance={"backend": Result.read(run.files[cell_name(worlds[0])]).provenance["backend"]},
    )
    with claimed(place, "writing an arena"):
        Outputs(place, "an arena").write(
            {
                TABLE: parquet_bytes(findings.table),
                DOCUMENT: document(_document(findings)),
                PAGE: report_of(findings).encode(),
            }
        )
    return Arena(findings, run, place / TABLE, place / DOCUMENT, place / PAGE)


def _long_games(study: Study, run: StudyRun) -> pl.DataFrame:
    """The table of long games from their files."""
    samples: dict[tuple[str, str], dict[int, Array]] = {}
    for cell in study.cells:
        for policy, by_T in samples_of(Result.read(run.files[cell.name])).items():
            samples.setdefault((str(cell.values["environment"]), policy), {}).update(by_T)
    return long_table(samples)


def _document(findings: ArenaFindings) -> dict[str, Any]:
    settings = findings.settings
    return {
        "format": FORMAT,
        "version": VERSION,
        "holdfast": holdfast.__version__,
        "replications": settings.replications,
        "horizon": settings.horizon,
        "shorter_horizons": list(settings.shorter),
        "seed": settings.seed,
        "confidence": 0.95,
        "floor": FLOOR,
        "policies": [{"policy": name, "knows_horizon": knows} for name, knows in findings.policies.items()],
        "worst_cases": findings.worst.to_dicts(),
        "worst_ratios_by_floor": {
            name: {f"{floor:g}": value for floor, value in row.items()} for name, row in findings.floors.items()
        },
        "table": findings.table.to_dicts(),
        **({} if findings.in_sight is None else {"in_sight": findings.in_sight.to_dicts()}),
        "long_games": [] if findings.long is None else findings.long.to_dicts(),
    }
