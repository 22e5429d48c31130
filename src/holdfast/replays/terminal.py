"""A replay as text of at most 80 columns: a table for each λ, then what it says."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import printable
from holdfast.number_format import five_digits, mean_count, number, percent, short
from holdfast.replays.cost_table import Amount, Standing
from holdfast.replays.games import WHOLE
from holdfast.report.markup import element
from holdfast.report.notebook import view
from holdfast.result_text import shortened, terminal_columns

if TYPE_CHECKING:
    from holdfast.replays.result import Replay

WIDTH = 80


def as_text(replay: Replay) -> str:
    """All of it."""
    parts = [textwrap.fill(printable(_head(replay)), WIDTH)]
    for lam in replay.switching_costs:
        parts.append(aligned(_table(replay.standings[lam, WHOLE])))
        parts.append(_filled(_said(replay, lam)))
    if replay.notes:
        parts.append(_filled([f"* {note}" for note in replay.notes]))
    parts.append(_filled([f"What to do: {replay.recommendation}"]))
    return "\n\n".join(parts)


def _filled(lines: Sequence[str]) -> str:
    return "\n".join(
        textwrap.fill(printable(line), WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines
    )


def as_html(replay: Replay) -> str:
    """All of it, for a notebook."""
    parts = [element("p", element("b", str(replay.recommendation))), element("p", _head(replay))]
    for lam in replay.switching_costs:
        head, *rows = _table(replay.standings[lam, WHOLE])
        parts.append(view("", head, rows, _said(replay, lam)))
    return element("div", *parts)


def _said(replay: Replay, lam: float) -> list[str]:
    return [f"{'·' if sentence.decided else '?'} {sentence}" for sentence in replay.advice_by_cost[lam]]


def _head(replay: Replay) -> str:
    span = "" if replay.labels is None else f", {replay.label(0)} to {replay.label(-1)}"
    return (
        f"{replay.source}: {number(replay.rounds)} rounds of {len(replay.arms)} arms{span}; "
        f"{replay.replications} replications, ± half of the {replay.confidence:.0%} interval"
        f"{f'; costs in {replay.unit}' if replay.unit else ''}"
    )


def _table(standing: Standing) -> list[list[str]]:
    at = standing.at.removeprefix("at ").removeprefix("with these ")
    return [[at, "cost", "losses", "switches", "over arm", "over plan"], *cost_rows(standing)]


def cost_rows(standing: Standing) -> list[list[str]]:
    """Name, cost, losses, switches, excess over the best arm and over the best plan: of policies, fixed arms, plans."""
    base, plan, references = standing.best_arm_cost, standing.plan_cost, standing.references
    rows = []
    for name in standing.ranking():
        cost, played = standing.amount(name), standing.played[name]
        means = five_digits(float(played.losses.mean())), mean_count(float(played.switches.mean()))
        rows.append([name, with_half(cost), *means, over(cost.mean, base), over(cost.mean, plan)])
    fixed = {
        f"best arm: {standing.best_arm}": base,
        f"worst arm: {standing.worst_arm}": standing.fixed_cost(standing.worst_arm),
        "a random arm": standing.random_fixed_cost,
    }
    known = [(name, value, five_digits(value - standing.first_play), "1") for name, value in fixed.items()]
    known.append(("best plan", plan, five_digits(references.plan_losses), number(references.plan_switches)))
    for limit, value in sorted(references.limited.items()):
        if 1 < limit < references.plan_switches:
            known.append((f"plan, ≤ {limit} switches", value, "", ""))
    return rows + [[name, five_digits(v), *cells, over(v, base), over(v, plan)] for name, v, *cells in known]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns with two spaces between them, the first to the left; its words go on below where there is no room."""
    others = [max(terminal_columns(row[i]) for row in rows) for i in range(1, len(rows[0]))]
    room = max(12, WIDTH - sum(others) - 2 * len(others))
    firsts = [_wrapped(printable(row[0]), room) for row in rows]
    first = max(terminal_columns(part) for parts in firsts for part in parts)
    lines = []
    for (name, *more), row in zip(firsts, rows, strict=True):
        cells = [" " * (w - terminal_columns(cell)) + cell for cell, w in zip(row[1:], others, strict=True)]
        lines.append("  ".join([name + " " * (first - terminal_columns(name)), *cells]).rstrip())
        lines += more
    return "\n".join(lines)


def _wrapped(name: str, room: int) -> list[str]:
    """The words of a name in lines of so many columns, all but the first indented; only a long word is cut.

    >>> _wrapped("best arm: Südländer €/MWh", 20)
    ['best arm: Südländer', '  €/MWh']
    """
    lines: list[str] = []
    for word in name.split(" "):
        if lines and terminal_columns(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            indent = "  " if lines else ""
            lines.append(indent + shortened(word, room - len(indent)))
    return lines


def with_half(amount: Amount) -> str:
    """The mean ± half of its interval."""
    half = (amount.high - amount.low) / 2
    if half == 0.0:
        return five_digits(amount.mean)
    return f"{five_digits(amount.mean)} ± {number(half) if half >= 10 else short(half, 2)}"


def over(cost: float, base: float) -> str:
    """By how much in per cent; in units where the base is not positive."""
    return percent(cost / base - 1) if base > 0 else short(cost - base, sign="+")
