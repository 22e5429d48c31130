"""What the commands of a store show on a terminal. Names are escaped where a terminal would obey them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.decisions.router import Router
from holdfast.decisions.why import why_conversations
from holdfast.errors import printable
from holdfast.number_format import counted

RECENT = 60
"""Blocks in the chart of a game."""

MARKS, PLAIN_MARKS = "●■▲◆○□△◇", "ABCDEFGH"
"""What stands for an arm in the chart; the second where the terminal has no such signs."""

HEADINGS = ("name", "policy", "rounds", "switches", "out", "missing", "cost")


def row_of(router: Router) -> tuple[Any, ...]:
    """The line of a game, under the headings."""
    totals = router.history.totals
    counts = (totals.rounds, totals.switches, totals.out, totals.missing)
    return router.name, router.policy.label, *counts, totals.cost


def show_games(rows: Sequence[Sequence[Any]], damaged: Mapping[str, str], console: Console) -> None:
    """A line for each game, and why some cannot be shown."""
    table = Table(box=None, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right", overflow="fold")
    for name, label, *numbers, cost in rows:
        cells = (Text(printable(name)), Text(printable(label)))
        table.add_row(*cells, *(f"{number:,}" for number in numbers), f"{cost:,.6g}")
    console.print(table)
    for name, why in damaged.items():
        print(f"{printable(name)}: {printable(why)}")


def show_game(router: Router, console: Console) -> None:
    """Where a game stands: its current arm, its cost, its arms, its last blocks."""
    totals, policy = router.history.totals, router.policy
    holding = "nothing yet" if router.arm is None else f"{printable(router.arm)} for {router.hold} more rounds"
    talks = router.executor.read(why_conversations)
    console.print(Text(f"{printable(router.name)}: {printable(policy.label)}, {policy.n_arms} arms", style="bold"))
    if router.arm is not None or talks is None:
        console.print(f"holding {holding}", markup=False, highlight=False)
    if talks is not None:
        console.print(printable(talks), markup=False, highlight=False)
    console.print(
        f"{totals.rounds:,} rounds in {totals.blocks:,} blocks; {totals.out:,} losses open, {totals.missing:,} missing"
    )
    if totals.overdue:
        late = f"they come {totals.lateness:,.3g} rounds late on average"
        waits = f"{counted(totals.overdue, 'block waits', 'blocks wait')} for losses that are long overdue ({late})"
        console.print(f"warning: {waits}, for ever. Give a patience:", style="bold")
        names = shlex.join([router.store.url, router.name])
        console.print(f"holdfast store change {printable(names)} --patience 10m", soft_wrap=True, markup=False)
    paused = [
        printable(arm) + ("" if until == inf else f" until {_when(until)}") for arm, until in router.paused.items()
    ]
    if paused:
        console.print(f"paused: {', '.join(paused)}", style="bold", markup=False, highlight=False)
    if router.pinned is not None:
        console.print(f"pinned: {printable(router.pinned)}", style="bold", markup=False, highlight=False)
    share = router.holdback
    if share:
        saving = f": the policy {router.history.compare().words()}" if share < 1.0 else ": a shadow, nothing is learnt"
        console.print(f"holdback: {share:.3g} by the rule{saving}", style="bold", markup=False, highlight=False)
    paid = f"{totals.switching:,.6g} for {totals.switches:,} switches"
    missing = f" + {totals.missing_losses:,.6g} for missing ones" if totals.missing else ""
    console.print(f"cost {totals.cost:,.6g} = losses {totals.losses:,.6g}{missing} + {paid}")
    marks = MARKS if console.encoding.startswith("utf") else PLAIN_MARKS
    table = Table(box=None, header_style="bold")
    for heading in ("", "arm", "rounds", "missing", "mean loss", "blocks", "last used"):
        table.add_column(heading, justify="left" if heading in ("", "arm") else "right", overflow="fold")
    for number, arm in enumerate(totals.arms):
        mean = "" if arm.mean is None else f"{arm.mean:.4f}"
        label = f"{printable(arm.arm)}{' (retired)' if arm.retired else ''}"
        mark = marks[number % len(marks)]
        counts = (f"{arm.rounds:,}", f"{arm.missing:,}")
        table.add_row(mark, Text(label), *counts, mean, f"{arm.blocks:,}", _when(arm.last_used))
    console.print(table)
    blocks = router.history.recent(RECENT)
    if blocks:
        console.print(chart(blocks, len(totals.arms), console.width, marks))


def show_together(routers: Sequence[Router], console: Console) -> None:
    """Several games side by side: a line for each, and the mean loss of each arm in each game, with its rounds."""
    show_games([row_of(router) for router in routers], {}, console)
    cells: dict[int | str, dict[str, str]] = {}
    for router in routers:
        for arm in router.history.totals.arms:
            mean = "" if arm.mean is None else f"{arm.mean:.4f} "
            cells.setdefault(arm.arm, {})[router.name] = f"{mean}({arm.rounds:,})"
    table = Table(box=None, header_style="bold", title="mean loss (rounds)", title_justify="left")
    table.add_column("arm", overflow="fold")
    for router in routers:
        table.add_column(Text(printable(router.name)), justify="right", overflow="fold")
    for name, own in cells.items():
        table.add_row(Text(printable(name)), *(own.get(router.name, "") for router in routers))
    console.print(table)


def chart(blocks: Sequence[Any], n_arms: int, width: int, marks: str = MARKS) -> Text:
    """The last blocks, one mark each, by arm from top to bottom: when an arm was held, and when it was left."""
    shown = blocks[-max(1, min(len(blocks), width - 4)) :]
    other = "·" if marks == MARKS else "."
    lines = []
    for arm in range(min(n_arms, 16)):
        mark = marks[arm % len(marks)]
        lines.append(f"{mark} " + "".join(mark if block.arm == arm else other for block in shown))
    first, last = shown[0].number, shown[-1].number
    lines.append(f"  blocks {first} to {last}, oldest on the left")
    return Text("\n".join(lines))


def _when(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
