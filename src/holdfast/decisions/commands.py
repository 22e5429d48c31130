"""The shell verbs: ask, tell, players, player, export. `cli.py` adds them to its own with `add_to(app)`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.checks import written_range
from holdfast.decisions.models import Block
from holdfast.decisions.open_game import open as open_router
from holdfast.decisions.router import Router
from holdfast.decisions.stores import store_at
from holdfast.errors import BadSavedState, InvalidParameter
from holdfast.policies.registry import make_policy

Url = Annotated[str, typer.Argument(help="sqlite:///file or postgresql://user@host/database.")]
Name = Annotated[str, typer.Argument(help="The player's name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

RECENT = 60
"""Blocks in the chart of a player."""

MARKS = "●■▲◆○□△◇"
"""What stands for an arm in the chart."""


def add_to(app: typer.Typer) -> None:
    """Make the verbs known to a command."""
    for verb in (ask, tell, players, player, export):
        app.command()(verb)


def ask(
    url: Url,
    name: Name,
    n: Annotated[int | None, typer.Option("-n", help="Several decisions at once.")] = None,
    policy: Annotated[
        str | None, typer.Option(help="Where there is no such player yet: what it shall play, such as tsallis-switch.")
    ] = None,
    arms: Annotated[str | None, typer.Option(help="Its arms, separated by commas.")] = None,
    switching_cost: Annotated[float | None, typer.Option(help="λ, what one switch costs.")] = None,
    loss_range: Annotated[
        str | None, typer.Option(metavar="LO,HI", help="Its units: what one round loses at least and at most; 0,1.")
    ] = None,
    request: Annotated[
        str | None, typer.Option(help="A name of this call: made again it gets the same answer.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask which arm to play: prints the id of the decision and the arm."""
    begun = None
    if policy is not None:
        given = {
            "policy": policy,
            "arms": None if arms is None else [arm.strip() for arm in arms.split(",")],
            "switching_cost": switching_cost,
            "loss_range": None if loss_range is None else written_range("--loss-range", loss_range),
        }
        begun = make_policy({key: value for key, value in given.items() if value is not None})
    elif arms is not None or switching_cost is not None or loss_range is not None:
        raise InvalidParameter("--policy", "must be given to begin a player", None)
    with open_router(url, name, begun) as router:
        decisions = router.ask(1 if n is None else n, request=request)
    if as_json:
        answers = [decision._asdict() for decision in decisions]
        print(json.dumps(answers if n is not None else answers[0]))
    else:
        for decision in decisions:
            print(decision.id, decision.arm)


def tell(
    url: Url,
    name: Name,
    id: Annotated[str, typer.Argument(help="The decision's id, as ask printed it.")],
    loss: Annotated[float, typer.Argument(help="What it lost.")],
    as_json: AsJson = False,
) -> None:
    """Tell what a decision lost; told twice it counts once."""
    with open_router(url, name) as router:
        receipt = router.tell(id, loss)
    print(json.dumps(receipt._asdict()) if as_json else "told" if receipt.new else "told before")


def players(url: Url, as_json: AsJson = False) -> None:
    """List the players of a store; of one whose policy this Python does not have, why it cannot be shown."""
    store = store_at(url)
    rows, unknown = [], {}
    for name in store.names():
        try:
            router = open_router(store, name)
        except BadSavedState as error:
            unknown[name] = str(error)
            continue
        totals = router.history.totals
        counts = (totals.rounds, totals.switches, totals.out, totals.missing)
        rows.append((name, router.policy.label, *counts, totals.cost))
    store.close()
    headings = ("name", "policy", "rounds", "switches", "out", "missing", "cost")
    if as_json:
        shown = [dict(zip(headings, row, strict=True)) for row in rows]
        print(json.dumps([*shown, *({"name": name, "error": why} for name, why in unknown.items())]))
        return
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in headings[:2] else "right", overflow="fold")
    for name, label, *numbers, cost in rows:
        table.add_row(Text(name), label, *(f"{number:,}" for number in numbers), f"{cost:,.6g}")
    Console().print(table)
    for name, why in unknown.items():
        print(f"{name}: {why}")


def player(url: Url, name: Name, as_json: AsJson = False) -> None:
    """Show where a player stands: its hold, its cost so far, its arms, its last blocks."""
    with open_router(url, name) as router:
        if as_json:
            totals = asdict(router.history.totals)
            print(json.dumps({"name": name, "arm": router.arm, "hold": router.hold, **totals}))
            return
        _show(router, Console())


def _show(router: Router, console: Console) -> None:
    totals, policy = router.history.totals, router.policy
    holding = "nothing yet" if router.arm is None else f"{router.arm} for {router.hold} more rounds"
    console.print(Text(f"{router.name}: {policy.label}, {policy.n_arms} arms", style="bold"))
    console.print(f"holding {holding}", markup=False, highlight=False)
    console.print(
        f"{totals.rounds:,} rounds in {totals.blocks:,} blocks; {totals.out:,} losses out, {totals.missing:,} missing"
    )
    paid = f"{totals.switching:,.6g} for {totals.switches:,} switches"
    console.print(f"cost {totals.cost:,.6g} = losses {totals.losses:,.6g} + {paid}")
    names = [arm.arm for arm in totals.arms]
    table = Table(box=None, header_style="bold")
    for heading in ("", "arm", "rounds", "mean loss", "blocks", "last used"):
        table.add_column(heading, justify="left" if heading in ("", "arm") else "right", overflow="fold")
    for number, arm in enumerate(totals.arms):
        mean = "" if arm.mean is None else f"{arm.mean:.4f}"
        label = f"{arm.arm}{' (retired)' if arm.retired else ''}"
        mark = MARKS[number % len(MARKS)]
        table.add_row(mark, Text(label), f"{arm.rounds:,}", mean, f"{arm.blocks:,}", _when(arm.last_used))
    console.print(table)
    blocks = router.history.recent(RECENT)
    if blocks:
        console.print(chart(blocks, len(names), console.width))


def chart(blocks: list[Block], n_arms: int, width: int) -> Text:
    """The last blocks, one mark each, by arm from top to bottom: when an arm was held, and when it was left."""
    shown = blocks[-max(1, min(len(blocks), width - 4)) :]
    lines = []
    for arm in range(min(n_arms, 16)):
        mark = MARKS[arm % len(MARKS)]
        lines.append(f"{mark} " + "".join(mark if block.arm == arm else "·" for block in shown))
    first, last = shown[0].number, shown[-1].number
    lines.append(f"  blocks {first} to {last}, oldest on the left")
    return Text("\n".join(lines))


def _when(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def export(
    url: Url,
    name: Name,
    out: Annotated[Path, typer.Option(help="A file that ends in .csv or .parquet.")],
) -> None:
    """Write the log of a player: time, arm, loss, probability and block of each loss that counted."""
    with open_router(url, name) as router:
        router.history.export(out)
