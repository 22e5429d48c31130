"""Make docs/reproduction.md of the run in a folder: python scripts/reproduction_document.py FOLDER"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.files import write_whole
from holdfast.paper.figure_notes import figure_notes
from holdfast.paper.findings import PaperFindings
from holdfast.paper.games import Figure
from holdfast.paper.pages import chart_of, command_of, facts_of
from holdfast.paper.reproduce import load
from holdfast.report.charts import LineChart
from holdfast.report.drawing import rendered
from holdfast.text import decimals, number
from holdfast.verdicts.ledger import CONFIDENCE, JUDGEMENTS, Verdict, judgements

MOST_BYTES = 120_000
"""Bytes an image may have."""


def write_document(out: Path | str, path: Path | str = Path("docs/reproduction.md")) -> Path:
    """Write the page from what `reproduce` left in `out`, with its images in ``figures/`` beside it."""
    target = Path(path)
    images = target.parent / "figures"
    images.mkdir(parents=True, exist_ok=True)
    findings = load(Path(out))
    charts = {figure.name: chart_of(figure, findings) for figure in findings.figures}
    for name, chart in charts.items():
        write_whole(images / f"{name}.png", _small(chart))
    return write_whole(target, _text(findings, charts).encode())


def _small(chart: LineChart) -> bytes:
    """As sharp an image as `MOST_BYTES` allows."""
    image = b""
    for dpi in (110, 95, 80, 65, 50):
        image = rendered(chart, ("png",), dpi=dpi)["png"]
        if len(image) <= MOST_BYTES:
            break
    return image


def _text(findings: PaperFindings, charts: Mapping[str, LineChart]) -> str:
    settings, verdicts = findings.settings, findings.verdicts
    parts = [
        "# The paper, reproduced",
        "",
        "The ledger and the figures of one run, kept here for reading. `make reproduce` makes them with fewer",
        "replications, so that some verdicts may differ, and with an interactive report. This page is made of the",
        "tables of",
        "",
        "```",
        f"{command_of([], settings)} --out reproduction",
        "```",
        "",
        "by `python scripts/reproduction_document.py reproduction`.",
        "",
        "## How a claim is judged",
        "",
        "A claim is put as one or more comparisons of what was measured. It **holds** if all of them come out as",
        "claimed, **fails** if some come out the other way and none as claimed, and is **conditional** otherwise; the",
        "condition is computed too. A comparison is decided when Student's interval of the paired differences leaves",
        f"out zero. All intervals of one claim hold together with probability {CONFIDENCE:.0%} (Bonferroni); nothing",
        f"is shared between claims, so that one or none of the {len(verdicts)} may be judged wrongly by chance. The",
        f"figures show {settings.replications} replications, the verdicts rest on {settings.judged}, and those on",
        f"growth on {settings.probed} games of up to {number(settings.long_horizon)} rounds. What the paper's words",
        '("similar", "much better") were taken to mean stands with each measurement.',
        "",
        f"{len(verdicts)} claims: {judgements(verdicts)}.",
        "",
        "## The ledger",
        "",
        "| verdict | claim | condition | measured |",
        "|---|---|---|---|",
        *(_row(verdict) for verdict in verdicts),
        "",
        "## The figures",
    ]
    for figure in findings.figures:
        parts += ["", *_figure(figure, findings, charts[figure.name])]
    return "\n".join(parts) + "\n"


def _row(verdict: Verdict) -> str:
    numbers = "<br>".join(_cell(part.shown) for part in verdict.parts)
    runs = f"{verdict.replications} replications" if verdict.replications else "formulas alone"
    measured = f"<details><summary>{_cell(verdict.rule)} {runs}</summary>{numbers}</details>"
    claim = f"{_cell(verdict.claim)}<br>`{verdict.id}`, {_cell(verdict.place)}"
    return f"| {JUDGEMENTS[verdict.verdict][0]} {verdict.verdict} | {claim} | {_cell(verdict.condition)} | {measured} |"


def _figure(figure: Figure, findings: PaperFindings, chart: LineChart) -> list[str]:
    told = ", ".join(f"{name} {value}" for name, value in facts_of(figure, findings.settings).items())
    parts = [
        f"### {figure.title}",
        "",
        f"`{figure.name}` ({figure.place}): {_cell(told)}.",
        "",
        f"![{figure.title}](figures/{figure.name}.png)",
        "",
        " ".join(figure_notes(figure.name, findings.evidence)),
    ]
    for row in chart.rows:
        ends = [[(float(line.y[-1]), line) for line in panel.lines] for panel in row.panels]
        places = [decimals(mean for mean, _ in column) for column in ends]
        label = f" ({row.label})" if row.label else ""
        parts += [
            "",
            f"| {figure.series_label}{label} | {' | '.join(panel.label for panel in row.panels)} |",
            "|---|---:|---:|---:|",
        ]
        for i, line in enumerate(row.panels[0].lines):
            cells = []
            for column, place in zip(ends, places, strict=True):
                mean, of = column[i]
                sd = "" if of.high is None else f" ± {number(float(of.high[-1]) - mean, place)}"
                cells.append(f"{number(mean, place)}{sd}")
            parts.append(f"| {line.series} | {' | '.join(cells)} |")
    return parts


def _cell(words: str) -> str:
    """Text for a table: powers raised, and nothing that Markdown would take for its own."""
    raised = re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", words.replace("<", "&lt;"))
    return raised.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    write_document(sys.argv[1])
