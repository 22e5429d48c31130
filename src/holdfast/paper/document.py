"""`docs/reproduction.md`: the ledger and the figures of a run, as a page of the repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from holdfast.experiments.ledger import CONFIDENCE, Verdict
from holdfast.experiments.reproduce import Findings
from holdfast.report.content import Figure
from holdfast.report.figures import png
from holdfast.report.files import write_whole
from holdfast.report.reproduction import command_of, counted, figures_of, load
from holdfast.report.summary import curves, decimals, number

LARGEST = 120_000
"""Bytes an image may have."""

_SIGNS = {"holds": "✓ holds", "conditional": "◐ conditional", "fails": "✗ fails"}


def write_document(out: Path | str, path: Path | str = Path("docs/reproduction.md")) -> Path:
    """Write the page from what `reproduce` left in `out`, with its images in ``figures/`` beside it."""
    target = Path(path)
    images = target.parent / "figures"
    images.mkdir(parents=True, exist_ok=True)
    findings = load(Path(out))
    figures = figures_of(findings)
    for figure in figures:
        write_whole(images / f"{figure.name}.png", _small(figure))
    return write_whole(target, _text(findings, figures).encode())


def _small(figure: Figure) -> bytes:
    """As sharp an image as `LARGEST` allows."""
    image = b""
    for dpi in (110, 95, 80, 65, 50):
        image = png(figure, dpi)
        if len(image) <= LARGEST:
            break
    return image


def _text(findings: Findings, figures: Sequence[Figure]) -> str:
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
        "by `python -c \"from holdfast.report.document import write_document; write_document('reproduction')\"`.",
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
        f"{len(verdicts)} claims: {counted(verdicts)}.",
        "",
        "## The ledger",
        "",
        "| verdict | claim | condition | measured |",
        "|---|---|---|---|",
        *(_row(verdict) for verdict in verdicts),
        "",
        "## The figures",
    ]
    for figure in figures:
        parts += ["", *_figure(figure)]
    return "\n".join(parts) + "\n"


def _row(verdict: Verdict) -> str:
    numbers = "<br>".join(_cell(part.shown) for part in verdict.parts)
    runs = f"{verdict.replications} replications" if verdict.replications else "formulas alone"
    measured = f"<details><summary>{_cell(verdict.rule)} {runs}</summary>{numbers}</details>"
    claim = f"{_cell(verdict.claim)}<br>`{verdict.id}`, {_cell(verdict.place)}"
    return f"| {_SIGNS[verdict.verdict]} | {claim} | {_cell(verdict.condition)} | {measured} |"


def _figure(figure: Figure) -> list[str]:
    told = ", ".join(f"{name} {value}" for name, value in figure.settings.items())
    parts = [
        f"### {figure.title}",
        "",
        f"`{figure.name}` ({figure.place}): {_cell(told)}.",
        "",
        f"![{figure.title}](figures/{figure.name}.png)",
        "",
        figure.see,
    ]
    for row in figure.rows:
        lines = curves(row.frame)
        places = [decimals([float(line.mean[m, -1]) for line in lines]) for m in range(3)]
        label = f" ({row.label})" if row.label else ""
        parts += [
            "",
            f"| {figure.series_label}{label} | pseudo-regret | switches | with switching cost |",
            "|---|---:|---:|---:|",
        ]
        for line in lines:
            cells = [
                f"{number(float(line.mean[m, -1]), places[m])} ± {number(float(line.sd[m, -1]), places[m])}"
                for m in range(3)
            ]
            parts.append(f"| {line.label} | {' | '.join(cells)} |")
    return parts


def _cell(words: str) -> str:
    """Text for a table: powers raised, and nothing that Markdown would take for its own."""
    raised = re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", words.replace("<", "&lt;"))
    return raised.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
