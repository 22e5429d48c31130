"""The paper in one call: play, judge, draw, write; and all of it again from the tables, without playing."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from holdfast.errors import BadSavedState, InvalidParameter
from holdfast.experiments.figures import FIGURES, chosen
from holdfast.experiments.games import Experiment, Row
from holdfast.experiments.guarantees import guarantees
from holdfast.experiments.ledger import CONFIDENCE, Verdict
from holdfast.experiments.reproduce import Findings, find_out, jobs, judged
from holdfast.experiments.settings import Settings
from holdfast.report import content
from holdfast.report.drawing import Drawing
from holdfast.report.files import write_whole
from holdfast.report.page import write_report
from holdfast.report.summary import number
from holdfast.results import Result
from holdfast.simulation.backends import find_backend

LEDGER = "ledger.json"
REPORT = "report.html"
PROBES = "ledger"
"""The folder of the tables that only the ledger needs."""


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind."""

    out: Path
    report: Path
    ledger: Path
    verdicts: tuple[Verdict, ...]
    findings: Findings


def reproduce(
    figures: Sequence[str] | None = None,
    *,
    out: Path | str = Path("reproduction"),
    replications: int = 10,
    horizon: int = 100_000,
    n_arms: int = 8,
    seed: int = 0,
    backend: str = "threads",
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
    echo: Callable[[str], None] = lambda line: None,
) -> Reproduction:
    """Play the paper's experiments, or some of them by name, judge its claims, and write tables, figures and report.

    `out` gets ``<figure>.parquet`` (further rows ``<figure>.<row>.parquet``), ``<figure>.png``, ``.svg`` and ``.pdf``,
    ``ledger.json``, ``report.html``, and under ``ledger/`` the tables only the claims are judged by; those of an
    earlier run are removed. Nothing is written before everything has been played, and each file is written whole.
    `progress` shows a bar, by default on a terminal only; otherwise `echo` hears of each table.
    """
    experiments = chosen(figures)
    settings = Settings(replications, horizon, n_arms, seed)
    where = find_backend(backend, workers=workers, scheduler=scheduler)
    with _directory(Path(out)) as directory:
        work = jobs(experiments, settings)
        total = sum(len(job.matches(settings)) for job in work)
        with _told(progress, total, echo) as advance, where:  # one cluster for all games
            findings = find_out(experiments, settings, backend=where, advance=advance)
        _clear(directory)
        (directory / PROBES).mkdir(exist_ok=True)
        for name, result in findings.tables.items():
            result.write(directory / f"{name}.parquet")
        for name, result in findings.ledger.items():
            result.write(directory / PROBES / f"{name}.parquet")
        made = _written(findings, directory)
    echo(summary(made))
    return made


def _clear(directory: Path) -> None:
    """Remove what an earlier run left: its figures would stand beside a report that does not know them."""
    for name in (experiment.name for experiment in chosen(None)):
        for kind in ("parquet", "png", "svg", "pdf"):
            for old in (directory / f"{name}.{kind}", *directory.glob(f"{name}.*.{kind}")):
                old.unlink(missing_ok=True)
    for old in (directory / PROBES).glob("*.parquet"):
        old.unlink()


def redraw(out: Path | str) -> Reproduction:
    """Judge, draw and write the report again from the tables that `reproduce` left in `out`."""
    directory = Path(out)
    return _written(load(directory), directory)


def load(out: Path) -> Findings:
    """The findings that `reproduce` left in `out`, judged anew."""
    try:
        saved = json.loads((out / LEDGER).read_text(encoding="utf-8"))
        settings, experiments = Settings(**saved["settings"]), chosen(saved["figures"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSavedState(f"{out} must be a directory that `holdfast reproduce` filled ({error})") from None
    tables, ledger = {}, {}
    for job in jobs(experiments, settings):
        if job.shown:
            tables[job.name] = Result.read(out / f"{job.name}.parquet")
        if not job.shown or job.replications > settings.replications:
            ledger[job.name] = Result.read(out / PROBES / f"{job.name}.parquet")
    return judged(experiments, settings, tables, ledger)


def summary(made: Reproduction) -> str:
    """One line on what came out."""
    figures = len(made.findings.experiments)
    return f"{figures} figure{'s' * (figures != 1)}; {len(made.verdicts)} claims: {counted(made.verdicts)}"


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many hold, hold under a condition, and fail."""
    count = {kind: sum(verdict.verdict == kind for verdict in verdicts) for kind in content.VERDICTS}
    words = {
        "holds": ("holds", "hold"),
        "conditional": ("is conditional", "are conditional"),
        "fails": ("fails", "fail"),
    }
    return ", ".join(f"{count[kind]} {words[kind][count[kind] != 1]}" for kind in content.VERDICTS)


def ledger_table(verdicts: Sequence[Verdict]) -> Table:
    """The ledger for a terminal."""
    looks = {"holds": ("✓ holds", "green"), "conditional": ("◐ conditional", "yellow"), "fails": ("✗ fails", "red")}
    table = Table(
        title="Claims of the paper",
        caption=f"All intervals of a claim hold together with probability {CONFIDENCE:.0%}.",
        show_lines=True,
    )
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", ratio=3)
    table.add_column("condition", ratio=2)
    table.add_column("runs", justify="right")
    for verdict in verdicts:
        words, colour = looks[verdict.verdict]
        claim = Text.assemble(verdict.claim, "\n", (f"{verdict.id} · {verdict.place}", "dim"))
        runs = str(verdict.replications) if verdict.replications else "–"
        table.add_row(Text(words, style=colour), claim, Text(verdict.condition), runs)
    return table


# ---- from findings to the report ----


def figures_of(findings: Findings) -> list[content.Figure]:
    """The figures of the report."""
    return [_figure(experiment, findings) for experiment in findings.experiments]


def _figure(experiment: Experiment, findings: Findings) -> content.Figure:
    settings = findings.settings
    facts = dict(experiment.facts)
    if not any(name.startswith("arms") for name in facts):
        facts["arms K"] = str(settings.n_arms)
    facts |= {
        "rounds T": number(settings.horizon),
        "replications": number(settings.replications),
        "seed": str(settings.seed),
    }
    return content.Figure(
        name=experiment.name,
        title=experiment.title,
        place=experiment.place,
        see=experiment.see,
        settings=facts,
        rows=tuple(
            content.Row(row.label, findings.tables[name].frame, _bounds(row, settings))
            for name, row in experiment.tables().items()
        ),
        series_label=experiment.series_label,
        rerun=command_of([experiment.name], settings),
    )


def _bounds(row: Row, settings: Settings) -> dict[str, float]:
    """Each bound that applies, with the series it is about where it is not about all of them."""
    series: dict[tuple[str, float], list[str]] = {}
    matches = row.matches(settings)
    for guarantee in (g for match in matches for g in guarantees(match)):
        if guarantee.measure != "switches":
            words = guarantee.statement + (", regret alone" if guarantee.measure == "pseudo_regret" else "")
            series.setdefault((words, guarantee.value(horizon=settings.horizon)), []).append(guarantee.series)
    every = [name for match in matches for name in match.policies]
    return {
        words if names == every else f"{words} ({', '.join(names)})": value for (words, value), names in series.items()
    }


def command_of(names: Sequence[str], settings: Settings) -> str:
    """The command that plays these figures, or all of them for none, with these settings."""
    return " ".join(
        [
            "holdfast reproduce",
            *names,
            f"--replications {settings.replications} --horizon {settings.horizon}",
            f"--arms {settings.n_arms} --seed {settings.seed}",
        ]
    )


def _verdicts(findings: Findings) -> list[content.Verdict]:
    names = ("id", "claim", "place", "verdict", "condition", "replications", "figure")
    return [
        content.Verdict(
            **{name: getattr(verdict, name) for name in names},
            measurement=verdict.rule,
            parts=tuple((part.outcome, part.shown) for part in verdict.parts),
        )
        for verdict in findings.verdicts
    ]


def _provenance(findings: Findings) -> dict[str, str]:
    settings = findings.settings
    told = next(iter(findings.tables.values())).provenance
    told = told.get("parts", [told])[0]
    names = [] if len(findings.experiments) == len(FIGURES) else [e.name for e in findings.experiments]
    return {
        "command": command_of(names, settings),
        "replications": f"{settings.replications} in the figures; {settings.judged} behind the verdicts, of which the "
        f"figures show the first; {settings.probed} in runs of up to {number(settings.long_horizon)} rounds",
        "intervals": f"Student's, of paired differences; all intervals of a claim together at {CONFIDENCE:.0%}, "
        "nothing shared between claims",
        "backend": str(told.get("backend", "")),
        **{name: str(version) for name, version in told.get("versions", {}).items()},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _written(findings: Findings, out: Path) -> Reproduction:
    figures = figures_of(findings)
    text = {
        "settings": findings.settings.plain(),
        "figures": [experiment.name for experiment in findings.experiments],
        "confidence": CONFIDENCE,
        "replications judged": findings.settings.judged,
        "verdicts": [_finite(verdict.plain()) for verdict in findings.verdicts],
    }
    ledger = write_whole(out / LEDGER, (json.dumps(text, indent=1, ensure_ascii=False) + "\n").encode())
    with Drawing(figures, out):
        report = write_report(figures, _verdicts(findings), _provenance(findings), out / REPORT)
    return Reproduction(out, report, ledger, tuple(findings.verdicts), findings)


def _finite(value: Any) -> Any:
    """JSON has no word for what is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


# ---- where it goes, and how it is going ----


@contextmanager
def _directory(out: Path) -> Iterator[Path]:
    """`out`, made if need be and known to take files; directories made in vain are removed again."""
    missing = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        _remove_empty(missing)
        rule = f"must be a directory that can be written to ({error.strerror or error})"
        raise InvalidParameter("out", rule, str(out)) from None
    try:
        yield out
    finally:
        _remove_empty(missing)


def _remove_empty(directories: Sequence[Path]) -> None:
    for path in directories:
        if path.is_dir() and not os.listdir(path):
            path.rmdir()


@contextmanager
def _told(progress: bool | None, total: int, echo: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of the table a match was played for."""
    if progress or (progress is None and sys.stderr.isatty()):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("playing", total=total)
            yield lambda name: bar.update(task, advance=1, description=f"played {name}")
        return
    seen: set[str] = set()

    def tell(name: str) -> None:
        if name not in seen:
            seen.add(name)
            echo(f"playing {name}")

    yield tell
