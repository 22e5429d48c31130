"""A replay as text of at most 80 columns: a table for each λ, then what it says."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import printable
from holdfast.replays.costs import Amount, Standing
from holdfast.replays.games import WHOLE
from holdfast.result_text import shortened, terminal_columns

if TYPE_CHECKING:
    from holdfast.replays.outcome import Replay

WIDTH = 80


def as_text(replay: Replay) -> str:
    """All of it."""
    span = "" if replay.labels is None else f", {replay.label(0)} to {replay.label(-1)}"
    head = (
        f"{replay.source}: {replay.rounds:,} rounds of {len(replay.arms)} arms{span}; "
        f"{replay.replications} replications, ± half of the {replay.confidence:.0%} interval"
    )
    parts = [textwrap.fill(printable(head), WIDTH)]
    for lam in replay.switching_costs:
        parts.append(_table(replay.standings[lam, WHOLE]))
        said = (printable(f"{'·' if sentence.decided else '?'} {sentence}") for sentence in replay.advice_by_cost[lam])
        parts.append("\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in said))
    return "\n\n".join(parts)


def _table(standing: Standing) -> str:
    base, plan = standing.fixed_cost(standing.best_arm), standing.plan_cost
    head = [f"λ = {standing.switching_cost:g}", "cost", "losses", "switches", "over arm", "over plan"]
    rows = [head]
    for name in standing.ranking():
        cost, played = standing.amount(name), standing.played[name]
        means = float(played.losses.mean()), float(played.switches.mean())
        rows.append(
            [
                name,
                _with_half(cost),
                grouped(means[0]),
                f"{means[1]:,.0f}",
                over(cost.mean, base),
                over(cost.mean, plan),
            ]
        )
    marks = {
        f"best arm {standing.best_arm}": (standing.fixed_cost(standing.best_arm), 1.0),
        f"worst arm {standing.worst_arm}": (standing.fixed_cost(standing.worst_arm), 1.0),
        "a random arm": (standing.random_fixed_cost, 1.0),
        "best plan": (plan, float(standing.references.plan_switches)),
    }
    for name, (value, switches) in marks.items():
        losses = value - standing.switching_cost * switches
        rows.append([name, grouped(value), grouped(losses), f"{switches:,.0f}", over(value, base), over(value, plan)])
    for limit, value in sorted(standing.references.limited.items()):
        if limit > 1:
            rows.append([f"plan, switches ≤ {limit}", grouped(value), "", "", over(value, base), over(value, plan)])
    return aligned(rows, WIDTH)


def aligned(rows: Sequence[Sequence[str]], width: int) -> str:
    """Columns with two spaces between them, the first to the left; its words are cut where the rest needs the room."""
    others = [max(terminal_columns(row[i]) for row in rows) for i in range(1, len(rows[0]))]
    room = max(12, width - sum(others) - 2 * len(others))
    firsts = [shortened(printable(row[0]), room) for row in rows]
    first = max(map(terminal_columns, firsts))
    lines = []
    for name, row in zip(firsts, rows, strict=True):
        cells = [" " * (w - terminal_columns(cell)) + cell for cell, w in zip(row[1:], others, strict=True)]
        lines.append("  ".join([name + " " * (first - terminal_columns(name)), *cells]).rstrip())
    return "\n".join(lines)


def grouped(value: float) -> str:
    """Five digits or so: 17,544, 6,297.2, 0.01234."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return f"{value:.4g}"
    return f"{value:,.{0 if size >= 1e4 else 1 if size >= 100 else 2 if size >= 10 else 4}f}"


def count_of(mean: float) -> str:
    """A mean of counts: one decimal for a few."""
    return f"{mean:,.0f}" if mean >= 100 or mean == int(mean) else f"{mean:.1f}"


def _with_half(amount: Amount) -> str:
    half = (amount.high - amount.low) / 2
    if half == 0.0:
        return grouped(amount.mean)
    return f"{grouped(amount.mean)} ± {f'{half:,.0f}' if half >= 10 else f'{half:.2g}'}"


def over(cost: float, base: float) -> str:
    """By how much in per cent; in units where the base is not positive."""
    if base <= 0:
        return f"{cost - base:+.4g}"
    percent = 100 * (cost / base - 1)
    return f"{percent:+.1f} %" if abs(percent) < 1000 else f"{percent:+,.0f} %"
