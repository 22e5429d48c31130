"""What an arena says on a terminal: a line for each policy, within 80 columns and a screen of forty lines."""

from __future__ import annotations

from typing import Any

from holdfast.errors import printable
from holdfast.evidence.findings import KNOWS_T, ArenaFindings
from holdfast.evidence.in_sight import summary as in_sight_summary
from holdfast.evidence.measures import FLOOR
from holdfast.text import number

MOST_POLICIES = 30
"""Lines for policies."""

WIDTHS = (25, 7, 7, 22, 7, 6, 6)
"""Columns of the summary: with the spaces between them they fill 80."""


def summary(findings: ArenaFindings) -> list[str]:
    """The worst cases of each policy, those of least worst ratio first."""
    if findings.in_sight is not None:
        return in_sight_summary(findings)
    lines = [
        findings.size(),
        "",
        _line("", "worst ratio", "", "in environment", "mean", "above", "found"),
        _line("policy", "to the best", "", "", "ratio", "paper", "share"),
    ]
    rows = findings.worst.to_dicts()
    lines += [_policy(findings.marked(row["policy"]), row) for row in rows[:MOST_POLICIES]]
    if len(rows) > MOST_POLICIES:
        lines.append(f"and {len(rows) - MOST_POLICIES} more in the page")
    return [
        *lines,
        "",
        f"{KNOWS_T} is told T. Ratio: of costs above the cheapest plan in hindsight, the best",
        f"policy's taken as at least {FLOOR:.0%} of Theorem 1's bound. Mean ratio: to the paper's",
        "policy, over its settings. Above paper: the most that is paid more than it.",
        "Found: worst in worlds made by search, not counted before. Both: % of the bound.",
    ]


def _line(*cells: str) -> str:
    """Cells in their columns; numbers stand to the right, and a heading may run into the empty cell after it."""
    name, ratio, around, where, *numbers = map(printable, cells)
    begin = f"{name:{WIDTHS[0]}.{WIDTHS[0]}}"
    middle = f"{ratio:>{WIDTHS[1]}}{around:<{WIDTHS[2]}}" if around else f"{ratio:<{WIDTHS[1] + WIDTHS[2]}}"
    ends = "".join(f"{cell:>{width}}" for cell, width in zip(numbers, WIDTHS[4:], strict=True))
    return f"{begin}{middle}{where:{WIDTHS[3]}.{WIDTHS[3]}}{ends}".rstrip()


def _policy(name: str, row: dict[str, Any]) -> str:
    return _line(
        name,
        _number(row["to_best"]),
        " " if row["to_best"] is None else f" ±{_number((row['to_best_high'] - row['to_best_low']) / 2)}",
        row["to_best_in"] or "–",
        _number(row["mean_to_paper"]),
        _percent(row["above_paper"]),
        _percent(row["found_share"]),
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return number(value, 2 if abs(value) < 100 else 0)


def _percent(value: float | None) -> str:
    return "–" if value is None else number(100 * value, 1)
