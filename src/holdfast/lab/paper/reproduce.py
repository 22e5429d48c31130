"""Reproduce the paper in one call: settings → cells → tables → verdicts → report; or again from the tables alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.extras import need
from holdfast.files import claimed, reason, write_whole
from holdfast.lab.judge import CONFIDENCE, Verdict
from holdfast.lab.paper.claims import Findings
from holdfast.lab.paper.plan import (
    LEDGER_FOLDER,
    Figure,
    PaperSettings,
    Row,
    chosen,
    first_replications,
    paper_plan,
    rows_of,
)
from holdfast.lab.paper.report import chart_of, report_of, title_of
from holdfast.lab.tables import play
from holdfast.policies.registry import POLICIES as POLICY_IDS
from holdfast.report.drawing import KINDS, write_images
from holdfast.results import Result
from holdfast.runs import Outputs, document
from holdfast.simulation import Backend
from holdfast.simulation.backends import find_backend
from holdfast.simulation.contract import check_own
from holdfast.simulation.run import progress_bar, shows_progress
from holdfast.text import counted

LEDGER = "ledger.json"
REPORT = "report.html"
MANIFEST = "reproduction.json"
WHAT = "a reproduction"


@dataclass(frozen=True)
class Reproduction:
    """Files and findings of a run."""

    out: Path
    findings: Findings

    @property
    def report(self) -> Path:
        """Path of the report page."""
        return self.out / REPORT

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """A verdict on each claim that could be judged."""
        return self.findings.verdicts


def reproduce(
    figures: Sequence[str] | None = None,
    *,
    out: Path | str = Path("reproduction"),
    replications: int = 10,
    horizon: int = 100_000,
    n_arms: int = 8,
    switching_cost: float | None = None,
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
    ``.pdf`` for each figure, the tables that only claims need below ``ledger/``, ``ledger.json`` with every verdict,
    and ``report.html``. ``reproduction.json`` lists these files; no other file is changed. An earlier run is replaced
    only once the new one is complete. Figures of an earlier run with the same settings stay, and the report shows them
    too; with other settings they are refused, unless all of them are played again.

    Parameters
    ----------
    figures
        Names of figures; all unless given.
    out
        The folder.
    replications, horizon, n_arms, seed
        The size of the run; the defaults are the paper's.
    switching_cost
        λ of every figure that has a constant λ above zero, in place of its own. Claims about the paper's λ are then not
        judged. Whatever differs from the paper stands with figures, tables and verdicts.
    further
        Policies to play and draw beside the paper's six, any number: ids, or ``"module:Class"`` for your own, with
        parameters ``"module:Class:name=value"``.
    backend, workers, scheduler, progress
        See `simulate`.
    echo, verbose
        Called with each message; with `verbose` also for each table that was played.
    """
    need("matplotlib")
    asked = chosen(figures)
    settings = PaperSettings(replications, horizon, n_arms, seed, tuple(further), switching_cost)
    where = find_backend(backend, workers=workers, scheduler=scheduler)
    with claimed(out, "reproducing the paper") as folder:
        outputs = Outputs(folder, WHAT, MANIFEST)
        check_own(*(policy for cell in paper_plan(asked, settings).cells for policy in cell.policies.values()))
        outputs.recover()
        others = _others(outputs, asked, settings)
        sound = [row for figure in others if _sound(figure, outputs, settings, echo) for row in rows_of([figure])]
        together = tuple(figure for figure in chosen(None) if figure in (*asked, *others))
        outputs.refuse_foreign(_files(together, rows_of(together), settings))
        kept = {row.table: _read(row, folder, settings) for row in sound}
        plan = paper_plan(together, settings)
        count = sum(cell.name not in kept for cell in plan.cells)
        tell = echo if verbose and not shows_progress(progress) else lambda line: None
        with progress_bar(progress, count, "matches") as advance, where:  # one cluster for all games
            finished = lambda name: tell(f"played {name}")  # noqa: E731
            tables = play(plan, backend=where, kept=kept, advance=advance, finished=finished)
        findings = Findings(tables, settings, together)
        _write(outputs, findings, [row for row in rows_of(together) if row not in sound])
    return Reproduction(folder, findings)


def load(out: Path | str) -> Findings:
    """Read the findings that `reproduce` left in `out`; refuse a table that was changed since."""
    folder = Path(out)
    settings, figures, _ = _saved(folder)
    for text in settings.further:
        module, colon, _ = text.partition(":")
        if colon and module not in (*POLICY_IDS, *sys.modules):
            raise BadSavedState(f"{folder} has results of {text}, a policy of your own: import {module} first")
    damaged = _damaged(Outputs(folder, WHAT, MANIFEST), rows_of(figures), settings)
    if damaged:
        raise BadSavedState(f"{folder} must have its tables as they were written; these differ: {', '.join(damaged)}")
    tables = {row.table: _read(row, folder, settings) for row in rows_of(figures)}
    return Findings(tables, settings, figures)


# ---- existing files ----


def _read(row: Row, folder: Path, settings: PaperSettings) -> Result:
    """Read a table with all its replications, as it was written."""
    name, _ = max(row.files(settings).items(), key=lambda kept: kept[1])
    return Result.read(folder / name)


def _saved(folder: Path) -> tuple[PaperSettings, tuple[Figure, ...], str | None]:
    """Return settings and figures of the run in a folder, and the version of Holdfast that made it."""
    try:
        saved = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
        return PaperSettings(**saved["settings"]), chosen(saved["figures"]), saved.get("holdfast")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSavedState(f"{folder} must be a folder that `holdfast reproduce` filled ({reason(error)})") from None


def _others(outputs: Outputs, asked: Sequence[Figure], settings: PaperSettings) -> list[Figure]:
    """Return figures of an earlier run that were not asked for; refuse those made with other settings."""
    folder = outputs.folder
    if LEDGER not in outputs.unchanged():
        return []
    before, figures, version = _saved(folder)
    others = [figure for figure in figures if figure not in asked]
    had, has = before.plain(), settings.plain()
    changed = [f"{name} {value}" for name, value in had.items() if value != has.get(name)]
    changed += [f"no {name} given" for name in has if name not in had]
    changed += [f"holdfast {version}"] if version != holdfast.__version__ else []
    if others and changed:
        raise HoldfastError(
            f"{folder} has {counted(len(figures), 'figure')} made with {', '.join(changed)}: "
            f"choose another folder, or reproduce all of them ({', '.join(figure.name for figure in others)} too)"
        )
    return others


def _sound(figure: Figure, outputs: Outputs, settings: PaperSettings, echo: Callable[[str], None]) -> bool:
    """Tell whether the tables of a figure are unchanged, so that it need not be played again."""
    damaged = _damaged(outputs, rows_of([figure]), settings)
    if damaged:
        echo(f"{figure.name} is played again: {', '.join(damaged)} not as written")
    return not damaged


def _damaged(outputs: Outputs, rows: Sequence[Row], settings: PaperSettings) -> list[str]:
    """Return files of these tables that are missing or were changed."""
    sound = outputs.unchanged()
    return [name for row in rows for name in row.files(settings) if name not in sound]


# ---- written files ----


def _files(figures: Sequence[Figure], rows: Sequence[Row], settings: PaperSettings) -> list[str]:
    """Return every file that a run with these figures and tables writes."""
    images = [f"{figure.name}.{kind}" for figure in figures for kind in KINDS]
    return [*(name for row in rows for name in row.files(settings)), *images, LEDGER, REPORT]


def _write(outputs: Outputs, findings: Findings, played: Sequence[Row]) -> None:
    """Write new files; tables of the findings that were not played are left unchanged."""
    settings, figures = findings.settings, findings.figures
    kept = {name for row in rows_of(figures) for name in row.files(settings)}

    def fill(new: Path) -> list[str]:
        (new / LEDGER_FOLDER).mkdir()
        for row in played:
            for name, replications in row.files(settings).items():
                first_replications(findings[row.table], replications).write(new / name)
        for figure in figures:
            write_images(chart_of(figure, findings), new, figure.name, title_of(figure, settings))
        write_whole(new / LEDGER, _ledger(findings))
        write_whole(new / REPORT, report_of(findings).encode())
        return _files(figures, played, settings)

    outputs.replace(fill, keep=lambda name: name in kept)


def _ledger(findings: Findings) -> bytes:
    return document(
        {
            "holdfast": holdfast.__version__,
            "settings": findings.settings.plain(),
            "figures": [figure.name for figure in findings.figures],
            "confidence": CONFIDENCE,
            "replications judged": findings.settings.judged,
            "verdicts": [verdict.plain() for verdict in findings.verdicts],
            "not judged": list(findings.not_judged),
        }
    )
