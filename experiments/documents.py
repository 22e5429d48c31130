"""Pages of the documentation that are made of results:

python experiments/documents.py arena arena/arena.json      # the tables of docs/arena.md
python experiments/documents.py benchmark                   # the tables of docs/benchmark.md
python experiments/documents.py reproduction reproduction   # docs/reproduction.md and its figures
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from arena import GROUPS, KNOWS_T

from holdfast.errors import HoldfastError
from holdfast.files import write_whole
from holdfast.lab.benchmark import TRACKS, BenchmarkResult, frozen_rivals
from holdfast.lab.judge import CONFIDENCE, JUDGEMENTS, Verdict
from holdfast.lab.paper.claims import Findings
from holdfast.lab.paper.plan import Figure
from holdfast.lab.paper.report import changes, chart_of, command_of, counts, facts_of, figure_notes, title_of
from holdfast.lab.paper.reproduce import load
from holdfast.numerics.statistics import interval
from holdfast.report.charts import LineChart
from holdfast.report.drawing import rendered
from holdfast.text import decimals, number

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- tables of a run -->", "<!-- end of the tables -->"
MOST_BYTES = 120_000
"""Most bytes of an image."""


def refresh(page: str | Path, tables: str) -> Path:
    """Put tables between the marks of a page."""
    text = Path(page).read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise HoldfastError(f"{page} must have the marks {BEGIN!r} and {END!r}")
    return write_whole(page, f"{before}{BEGIN}\n\n{tables}\n{END}{after}".encode())


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "---:") -> str:
    lines = [head, ["---", *[rule] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


# ---- the arena ----


def arena_tables(told: dict[str, Any]) -> str:
    """Return the worst cases, then the ratios to the best policy in every environment, by group."""
    parts = [
        f"{told['replications']} replications, T = {told['horizon']:,}, seed {told['seed']}, "
        f"holdfast {told['holdfast']}. {KNOWS_T} knows T; ± half of a 95 % interval; percentages are of "
        "Theorem 1's bound.",
        _worst(told),
        *(f"Ratio to the best policy, {words}.\n\n{_ratios(told, group)}" for group, words in _groups(told)),
        "Worst ratio to the best policy with other floors.\n\n" + _floors(told),
        *([_long(told)] if told.get("long_games") else []),
    ]
    return "\n\n".join(parts) + "\n"


def _groups(told: dict[str, Any]) -> list[tuple[str, str]]:
    there = {row["group"] for row in told["table"]}
    return [(group, words) for group, words in GROUPS.items() if group in there]


def _marked(row: dict[str, Any]) -> str:
    return str(row["policy"]) + (KNOWS_T if row["knows_horizon"] else "")


def _worst(told: dict[str, Any]) -> str:
    head = ["policy", "worst ratio to the best", "in", "mean ratio to the paper's", "most above the paper's, %", "in"]
    head += ["99th percentile, %", "worst run, %", "found by search, %"]
    rows = [
        [
            _marked(row),
            _around(row, "to_best"),
            row["to_best_in"] or "–",
            _number(row["mean_to_paper"]),
            _around(row, "above_paper", 100),
            row["above_paper_in"] or "–",
            _number(row["q99_share"], 100),
            _number(row["worst_run_share"], 100),
            _around(row, "found_share", 100),
        ]
        for row in told["worst_cases"]
    ]
    return markdown_table(head, rows)


def _ratios(told: dict[str, Any], group: str) -> str:
    own = [row for row in told["table"] if row["group"] == group]
    environments = list(dict.fromkeys(row["environment"] for row in own))
    found = {(row["policy"], row["environment"]): row["to_best"] for row in own}
    rows = [
        [_marked(row), *(_number(found[row["policy"], name]) for name in environments)] for row in told["worst_cases"]
    ]
    return markdown_table(["policy", *environments], rows)


def _floors(told: dict[str, Any]) -> str:
    floors = list(next(iter(told["worst_ratios_by_floor"].values())))
    marked = {row["policy"]: _marked(row) for row in told["policies"]}
    rows = [
        [marked[row["policy"]], *(_number(told["worst_ratios_by_floor"][row["policy"]][floor]) for floor in floors)]
        for row in told["worst_cases"]
    ]
    return markdown_table(["policy", *(f"{float(floor):.0%}" for floor in floors)], rows)


def _long(told: dict[str, Any]) -> str:
    """Return the exponents in the long games, up to the longest T."""
    longest = max(row["horizon"] for row in told["long_games"])
    last = [row for row in told["long_games"] if row["horizon"] == longest]
    games = list(dict.fromkeys(row["environment"] for row in last))
    found = {(row["policy"], row["environment"]): _around(row, "exponent") for row in last}
    rows = [[_marked(row), *(found[row["policy"], game] for game in games)] for row in told["worst_cases"]]
    words = (
        f"Long games: the exponent of T from {last[0]['since']:,} to {longest:,}, {last[0]['replications']} games each."
    )
    return f"{words}\n\n{markdown_table(['policy', *games], rows)}"


def _around(row: dict[str, Any], name: str, times: float = 1) -> str:
    if row[name] is None:
        return "–"
    return f"{_number(row[name], times)} ± {_number((row[f'{name}_high'] - row[f'{name}_low']) / 2, times)}"


def _number(value: float | None, times: float = 1) -> str:
    if value is None:
        return "–"
    shown = value * times
    return f"{shown:.{0 if abs(shown) >= 100 else 1 if times > 1 or abs(shown) >= 10 else 2}f}".replace("-", "−")


# ---- the benchmark ----


def benchmark_tables() -> str:
    """Return the rivals' tables, one for each track."""
    parts = []
    for track in TRACKS.values():
        rivals = frozen_rivals(track)
        some = next(iter(rivals))
        ranking = BenchmarkResult(some, track, rivals[some], rivals).ranking
        rows = []
        for place, name in enumerate(ranking, 1):
            standing = BenchmarkResult(name, track, rivals[name], rivals)
            score = standing.score(name)
            open_ = [f"`{rival}`" for rival in ranking if rival != name and standing.verdict(rival) == "not decided"]
            rows.append(
                [str(place), f"`{name}`", f"{number(score.mean, 4)} ± {score.half:.4f}", ", ".join(open_) or "–"]
            )
        parts.append(f"Track `{track.name}`: {track.what}. T = {number(track.settings[0].horizon)}.\n")
        parts.append(markdown_table(["rank", "policy", "score", "not decided against"], rows, "---") + "\n")
        costs = [
            [
                setting.name,
                f"{setting.switching_cost:g}",
                *(number(interval(rivals[name][setting.name]).mean) for name in ranking),
            ]
            for setting in track.settings
        ]
        parts.append("Mean regret with switching in each setting:\n")
        parts.append(markdown_table(["setting", "λ", *(f"`{name}`" for name in ranking)], costs, "---") + "\n")
    return "\n".join(parts)


# ---- the paper, reproduced ----


def write_reproduction(out: Path | str, path: Path | str = DOCS / "reproduction.md") -> Path:
    """Write the page from what `reproduce` left in `out`, with its images in ``figures/`` beside it."""
    target = Path(path)
    images = target.parent / "figures"
    images.mkdir(parents=True, exist_ok=True)
    findings = load(Path(out))
    charts = {figure.name: chart_of(figure, findings) for figure in findings.figures}
    for name, chart in charts.items():
        write_whole(images / f"{name}.png", _small(chart))
    return write_whole(target, _reproduction(findings, charts).encode())


def _small(chart: LineChart) -> bytes:
    """Draw as sharp an image as `MOST_BYTES` allows."""
    image = b""
    for dpi in (110, 95, 80, 65, 50):
        image = rendered(chart, ("png",), dpi=dpi)["png"]
        if len(image) <= MOST_BYTES:
            break
    return image


def _reproduction(findings: Findings, charts: Mapping[str, LineChart]) -> str:
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
        "by `python experiments/documents.py reproduction reproduction`.",
        "",
        "## How a claim is judged",
        "",
        "A claim is put as one or more comparisons of what was measured. It **holds** if all of them come out as",
        "claimed, **fails** if some come out the other way and none as claimed, and is **conditional** otherwise; the",
        "condition is computed too. A comparison is decided when Student's interval of the paired differences leaves",
        f"out zero. All intervals of one claim hold together with probability {CONFIDENCE:.0%} (Bonferroni); nothing",
        "is shared between claims, so that one or none of them may be judged wrongly by chance. The",
        f"figures show {settings.replications} replications, the verdicts rest on {settings.judged}, and those on",
        f"growth on {settings.probed} games of up to {number(settings.long_horizon)} rounds. What the paper's words",
        '("similar", "much better") were taken to mean stands with each measurement.',
        "",
        f"{'; '.join(counts(verdicts))}.",
        *(f"\n{line}" for line in changes(findings)),
        "",
        "## The ledger",
        "",
        "| verdict | claim | condition | measured |",
        "|---|---|---|---|",
        *(_verdict_row(verdict) for verdict in verdicts),
        "",
        "## The figures",
    ]
    for figure in findings.figures:
        parts += ["", *_figure(figure, findings, charts[figure.name])]
    return "\n".join(parts) + "\n"


def _verdict_row(verdict: Verdict) -> str:
    numbers = "<br>".join(_cell(part.shown) for part in verdict.parts)
    runs = f"{verdict.replications} replications" if verdict.replications else "formulas alone"
    measured = f"<details><summary>{_cell(verdict.rule)} {runs}</summary>{numbers}</details>"
    claim = f"{_cell(verdict.claim)}<br>`{verdict.id}`, {_cell(verdict.place)}"
    return f"| {JUDGEMENTS[verdict.verdict][0]} {verdict.verdict} | {claim} | {_cell(verdict.condition)} | {measured} |"


def _figure(figure: Figure, findings: Findings, chart: LineChart) -> list[str]:
    told = ", ".join(f"{name} {value}" for name, value in facts_of(figure, findings.settings).items())
    title = title_of(figure, findings.settings)
    parts = [
        f"### {title}",
        "",
        f"`{figure.name}` ({figure.place}): {_cell(told)}.",
        "",
        f"![{title}](figures/{figure.name}.png)",
        "",
        " ".join(figure_notes(figure.name, findings)),
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
    """Return text for a Markdown table cell: powers raised, special characters escaped."""
    raised = re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", words.replace("<", "&lt;"))
    return raised.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    made, *given = sys.argv[1:]
    if made == "arena":
        told = json.loads(Path(given[0]).read_text(encoding="utf-8"))
        refresh(DOCS / "arena.md", arena_tables(told))
    elif made == "benchmark":
        refresh(DOCS / "benchmark.md", benchmark_tables())
    else:
        write_reproduction(given[0])
