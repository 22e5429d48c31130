"""The paper in one call: settings → games → tables → ledger → pages; and the pages again from the tables alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.extras import need
from holdfast.files import claimed, reason, write_whole
from holdfast.paper.figures import chosen
from holdfast.paper.findings import PaperFindings
from holdfast.paper.games import Figure
from holdfast.paper.pages import chart_of, write_report
from holdfast.paper.tables import JUDGED, Table, play_table, read_table, tables_of, write_tables
from holdfast.report.drawing import KINDS, write_images
from holdfast.runs.outputs import Outputs
from holdfast.runs.record import document
from holdfast.simulation import Backend
from holdfast.simulation.backends import find_backend
from holdfast.simulation.run import progress_bar, shows_progress
from holdfast.text import counted
from holdfast.verdicts.ledger import CONFIDENCE, Verdict
from holdfast.verdicts.settings import RunSettings

LEDGER = "ledger.json"
REPORT = "report.html"
MANIFEST = "reproduction.json"


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind."""

    out: Path
    findings: PaperFindings

    @property
    def report(self) -> Path:
        """The page."""
        return self.out / REPORT

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """On each claim that could be judged."""
        return self.findings.verdicts


def reproduce(
    figures: Sequence[str] | None = None,
    *,
    out: Path | str = Path("reproduction"),
    replications: int = 10,
    horizon: int = 100_000,
    n_arms: int = 8,
    seed: int = 0,
    further: Sequence[str] = (),
    backend: str | Backend = "threads",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
    echo: Callable[[str], None] = lambda line: None,
    verbose: bool = False,
) -> Reproduction:
    """Play the paper's experiments, or some of them by name, judge its claims, and write tables, figures and report.

    The folder gets ``<figure>.parquet`` (further rows ``<figure>.<row>.parquet``), ``<figure>.png``, ``.svg`` and
    ``.pdf``, ``ledger.json``, ``report.html``, under ``ledger/`` the tables that only claims need, and
    ``reproduction.json``, which lists these files; no other file is changed. An earlier run is replaced only once the
    new one is complete. Figures of an earlier run with the same settings stay, and the report shows them too; with
    other settings they are refused, unless all of them are played again.

    Parameters
    ----------
    figures
        Names of figures; all unless given.
    out
        The folder.
    replications, horizon, n_arms, seed
        The size of the run; the defaults are the paper's.
    further
        Policies to play and draw beside the paper's six: ``"adaptive"``.
    backend, workers, scheduler, progress
        As in `simulate`.
    echo, verbose
        Called with each message; with `verbose` also for each table that was played.
    """
    need("matplotlib")
    asked = chosen(figures)
    settings = RunSettings(replications, horizon, n_arms, seed, tuple(further))
    where = find_backend(backend, workers=workers, scheduler=scheduler)
    with claimed(out, "reproducing the paper") as folder:
        outputs = Outputs(folder, "a reproduction", MANIFEST)
        outputs.recover()
        others = _others(outputs, asked, settings)
        kept = {figure.name for figure in others if _sound(figure, outputs, settings, echo)}
        together = tuple(figure for figure in chosen(None) if figure in (*asked, *others))
        tables = tables_of(together, settings)
        new = [table for table in tables if table.figure not in kept]
        outputs.refuse_foreign(_files(together, tables))
        count = sum(len(table.matches(settings)) for table in new)
        tell = echo if verbose and not shows_progress(progress) else lambda line: None
        results = {}
        with progress_bar(progress, count, "matches") as advance, where:  # one cluster for all games
            for table in tables:
                if table.figure in kept:
                    results[table.name] = read_table(table, folder)
                else:
                    results[table.name] = play_table(table, settings, backend=where, advance=advance)
                    tell(f"played {table.name}")
        findings = PaperFindings(settings, together, results)
        _write(outputs, findings, new)
    return Reproduction(folder, findings)


def load(out: Path | str) -> PaperFindings:
    """The findings that `reproduce` left in `out`, judged anew; a table that is not as it was written is refused."""
    folder = Path(out)
    settings, figures, _ = _saved(folder)
    tables = tables_of(figures, settings)
    damaged = _damaged(Outputs(folder, "a reproduction", MANIFEST), tables)
    if damaged:
        raise BadSavedState(f"{folder} must have its tables as they were written; these differ: {', '.join(damaged)}")
    return PaperFindings(settings, figures, {table.name: read_table(table, folder) for table in tables})


# ---- what is there already ----


def _saved(folder: Path) -> tuple[RunSettings, tuple[Figure, ...], str | None]:
    """Settings and figures of the run in a folder, and the version of Holdfast that made it."""
    try:
        saved = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
        return RunSettings(**saved["settings"]), chosen(saved["figures"]), saved.get("holdfast")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSavedState(f"{folder} must be a folder that `holdfast reproduce` filled ({reason(error)})") from None


def _others(outputs: Outputs, asked: Sequence[Figure], settings: RunSettings) -> list[Figure]:
    """Figures of an earlier run that were not asked for; refused where they were made with other settings."""
    folder = outputs.folder
    if LEDGER not in outputs.unchanged():
        return []
    before, figures, version = _saved(folder)
    others = [figure for figure in figures if figure not in asked]
    changed = [f"{name} {value}" for name, value in before.plain().items() if value != settings.plain().get(name)]
    changed += ["no further policies"] if settings.further and not before.further else []
    changed += [f"holdfast {version}"] if version != holdfast.__version__ else []
    if others and changed:
        raise HoldfastError(
            f"{folder} has {counted(len(figures), 'figure')} made with {', '.join(changed)}: "
            f"choose another folder, or reproduce all of them ({', '.join(figure.name for figure in others)} too)"
        )
    return others


def _sound(figure: Figure, outputs: Outputs, settings: RunSettings, echo: Callable[[str], None]) -> bool:
    """Whether the tables of a figure are as they were written, so that it need not be played again."""
    damaged = _damaged(outputs, tables_of([figure], settings))
    if damaged:
        echo(f"{figure.name} is played again: {', '.join(damaged)} not as written")
    return not damaged


def _damaged(outputs: Outputs, tables: Sequence[Table]) -> list[str]:
    """Files of these tables that are missing or not as they were written."""
    sound = outputs.unchanged()
    return [name for table in tables for name in table.files() if name not in sound]


# ---- what is written ----


def _files(figures: Sequence[Figure], tables: Sequence[Table]) -> list[str]:
    """Every file that a run with these figures and tables writes."""
    images = [f"{figure.name}.{kind}" for figure in figures for kind in KINDS]
    return [*(name for table in tables for name in table.files()), *images, LEDGER, REPORT]


def _write(outputs: Outputs, findings: PaperFindings, played: Sequence[Table]) -> None:
    """Write what is new; tables of the findings that were not played stay as they are."""
    kept = {name for table in tables_of(findings.figures, findings.settings) for name in table.files()}

    def fill(new: Path) -> list[str]:
        (new / JUDGED).mkdir()
        names = write_tables(findings.tables, played, new)
        for figure in findings.figures:
            write_images(chart_of(figure, findings), new, figure.name, figure.title)
        write_whole(new / LEDGER, _ledger(findings))
        write_report(findings, new / REPORT)
        return [*names, *_files(findings.figures, [])]

    outputs.replace(fill, keep=lambda name: name in kept)


def _ledger(findings: PaperFindings) -> bytes:
    return document(
        {
            "holdfast": holdfast.__version__,
            "settings": findings.settings.plain(),
            "figures": [figure.name for figure in findings.figures],
            "confidence": CONFIDENCE,
            "replications judged": findings.settings.judged,
            "verdicts": [verdict.plain() for verdict in findings.verdicts],
        }
    )
