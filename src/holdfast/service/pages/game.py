"""The page of one game: what it holds and why, its lanes, costs, draws, arms, late losses and changes."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from holdfast.decisions.settings import AUTO, FOREVER
from holdfast.number_format import counted, number, with_interval
from holdfast.report.markup import Html, element, joined
from holdfast.service.course import Lines
from holdfast.service.messages import GameLine, GameView
from holdfast.service.pages.changes import change_arms, change_cost, last_changes
from holdfast.service.pages.parts import (
    COLOURS,
    arm_shown,
    as_table,
    bar,
    cost_shown,
    home_of,
    moment,
    page,
    seconds_shown,
)
from holdfast.service.tokens import Token
from holdfast.service.views import Board

if TYPE_CHECKING:
    from holdfast.service.app import Service

LANES = 256
"""Columns of the lanes that show which arm was held."""
WAITS = {
    "below 0.1 s": 0.1,
    "0.1 to 1 s": 1.0,
    "1 to 10 s": 10.0,
    "10 to 60 s": 60.0,
    "1 to 10 min": 600.0,
    "10 to 60 min": 3600.0,
    "1 to 24 h": 86400.0,
    "more": math.inf,
}
"""How late losses come: each row of the page up to so many seconds."""


async def show_game(service: Service, request: Request, client: Token) -> Response:
    """One game."""
    name = request.path_params["name"]
    board = await service.see(name, service.dashboard)
    line = await service.line(name)
    view, home = board.view, home_of(service, name)
    parts = [
        element("p", _settings(view), class_="quiet"),
        _standing(board, line, f"{service.root}/v1/games/{quote(name, safe='')}/events"),
        element("section", element("h2", "Arm held"), _lanes(board)),
        element(
            "div",
            _chart("Cost so far", "cost", joined(_about_cost(board.lines), _link_to_comparison(view, home))),
            _chart("Drawn with probability", "drawn", _about_draws(board.lines)),
            class_="two",
        ),
        element("section", element("h2", "Arms"), _arms(board)),
        element("section", element("h2", "How late losses come"), _lateness(board.waits)),
        element("section", element("h2", "Switching cost λ"), change_cost(view, client, home)),
        element("section", element("h2", "Pause or pin an arm"), change_arms(view, client, home)),
        element("section", element("h2", "Last changes"), last_changes(board.changes, home)),
    ]
    return page(service.root, name, *parts, crumbs=element("span", name, class_="crumb"), client=client)


def _settings(view: GameView) -> str:
    cost = view.policy.get("switching_cost")
    if isinstance(view.patience, int):
        patience = f"waits {counted(view.patience, 'round')}"
    elif view.patience == AUTO:
        patience = "waits as long as losses are usually late"
    elif view.patience == FOREVER:
        patience = "waits for losses for ever"
    else:
        patience = f"waits {seconds_shown(float(view.patience[:-1]))}"
    told = [view.label, f"λ = {cost:g}" if isinstance(cost, float | int) else None, patience]
    return ", ".join(filter(None, [*told, f"begun {datetime.fromtimestamp(view.created, UTC):%Y-%m-%d}"]))


def _standing(board: Board, line: GameLine, events: str) -> Html:
    view, totals, lines = board.view, board.totals, board.lines
    held = {"arm held": arm_shown(view.arm), "certain for": counted(view.hold, "round")}
    talks = {"conversations open": number(totals.conversations)}
    figures = {
        **(held if view.arm is not None or not totals.conversations else {}),
        **(talks if totals.conversations else {}),
        "rounds": number(totals.rounds),
        "switches": number(totals.switches),
        "cost": cost_shown(totals.cost),
        "of it for switches": cost_shown(totals.switching),
        "cost today (UTC)": cost_shown(line.today),
        "losses waited for": number(totals.out),
        "losses missing": number(totals.missing),
    }
    if view.certificate is not None:
        figures["certificate: over its best path, at most"] = cost_shown(view.certificate)
    if lines is not None and lines.bound is not None:
        figures["proved, on average: at most"] = cost_shown(lines.bound[-1] or 0.0)
    numbers = json.dumps({"names": view.names, "lines": None if lines is None else _numbers(lines)})
    warnings = [element("ul", *(element("li", words) for words in line.warnings), class_="warnings")]
    return element(
        "div",
        element("p", board.why, class_="why"),
        *(warnings if line.warnings else []),
        element(
            "dl",
            *(element("div", element("dt", term), element("dd", value)) for term, value in figures.items()),
            class_="figures",
        ),
        element("span", hidden="", id="numbers", data_numbers=numbers),
        id="standing",
        data_live="yes",
        data_events=events,
        data_revision=view.revision,
        data_again=None if lines is None or lines.whole else "yes",
    )


def _numbers(lines: Lines) -> dict[str, Any]:
    """What charts are drawn of."""
    return {
        "rounds": lines.rounds,
        "cost": lines.cost,
        "fixed": lines.fixed,
        "plan": lines.plan,
        "rule": lines.rule,
        "bound": lines.bound if _near(lines) else None,
        "drawn": lines.sample,
    }


def _near(lines: Lines) -> bool:
    """Whether the bound can be drawn beside the other lines without making them flat."""
    if lines.bound is None or lines.bound[-1] is None:
        return False
    return lines.bound[-1] <= 3.0 * max(lines.cost[-1], *(line[-1] or 0.0 for line in lines.fixed))


def _about_cost(lines: Lines | None) -> Html:
    """What the lines of the chart are."""
    if lines is None:
        return _caption("cost", "No block has begun yet.")
    known = lines.known_from is not None
    held = "each arm, had it been held" if known else "each arm's mean loss so far, as if it had been held all along"
    words = [f"What was paid, switches included. Dashed: {held}."]
    if known:
        since = f" from round {number(lines.known_from + 1)} on" if lines.known_from else ""
        words += [f"Dotted: the best plan in hindsight{since}."]
    if lines.rule is not None:
        words += ["Dash-dotted: your rule, by the mean of the blocks that it was given."]
    if lines.bound is not None:
        where = "" if _near(lines) else f", now {cost_shown(lines.bound[-1] or 0.0)} and far above"
        bound = f"Proved bound{where}: the best arm's cost and what the policy costs more at most, on average"
        words += [f"{bound} ({lines.proved}; for losses that come before the next block begins)."]
    if not lines.whole:
        words += [f"Earlier rounds than {number(lines.rounds[0])} are being added up."]
    return _caption("cost", " ".join(words))


def _link_to_comparison(view: GameView, home: str) -> Html:
    """For games with a rule to compare with. Not on the page itself: it reads all blocks."""
    if not 0.0 < view.holdback < 1.0:
        return joined()
    return element("p", element("a", "What does the policy save next to your rule?", href=f"{home}/compare"))


def _about_draws(lines: Lines | None) -> Html:
    every = "Each block" if lines is None or lines.every == 1 else f"One of {number(lines.every)} blocks"
    return _caption("drawn", f"{every} is a point: the probability its arm was drawn with.")


def _caption(chart: str, words: str) -> Html:
    return element("p", words, class_="caption", id=f"{chart}-caption", data_live="yes")


def _lanes(board: Board) -> Html:
    """A lane for each arm, filled where it was held; paler where other arms were held in between."""
    lines, view, rounds = board.lines, board.view, board.totals.rounds
    if lines is None:
        return element("p", "No block has begun yet.", class_="empty", id="lanes", data_live="yes")
    together = -(-len(lines.held) // LANES)
    held = np.add.reduceat(lines.held, range(0, len(lines.held), together), axis=0)
    lengths = held.sum(axis=1)
    total, starts = lengths.sum(), np.cumsum(lengths) - lengths
    shares = np.round(held / np.maximum(lengths, 1.0)[:, None], 1)
    rows = []
    for arm, name in enumerate(view.names):
        boxes, look = [], f"s{arm % COLOURS}"
        for share, columns in groupby(range(len(held)), key=lambda i, arm=arm: shares[i, arm]):  # type: ignore[misc]
            some = list(columns)
            if share:
                width = f"{lengths[some].sum():g}"
                boxes.append(element("rect", x=f"{starts[some[0]]:g}", y=0, width=width, height=1, class_=look,
                                     fill_opacity=None if share == 1.0 else f"{share:g}"))  # fmt: skip
        label = f"{name}: held in {held[:, arm].sum() / max(total, 1.0):.0%} of the rounds shown"
        band = element("svg", *boxes, viewBox=f"0 0 {max(total, 1):g} 1", preserveAspectRatio="none", role="img",
                       aria_label=label)  # fmt: skip
        now = " held" if name == view.arm else ""
        rows.append(joined(element("span", str(name), class_=f"name{now}"), band))
    span = element(
        "div",
        element("span", f"round {number(max(rounds - total, 0) + 1)}"),
        element("span", f"round {number(rounds)}"),
        class_="span",
    )
    return element("div", *rows, span, class_="lanes", id="lanes", data_live="yes")


def _chart(title: str, name: str, caption: Html) -> Html:
    plot = element("div", id=name, class_="chart", role="img", aria_label=title, aria_describedby=f"{name}-caption")
    return element("section", element("h2", title), caption, plot)


def _arms(board: Board) -> Html:
    drawn = dict(zip(board.view.arms, board.view.probabilities or [], strict=False))
    rows = []
    for i, (arm, interval) in enumerate(zip(board.totals.arms, board.intervals, strict=True)):
        mean = arm.mean if arm.told else None  # what stands for missing losses says nothing by itself
        chance = drawn.get(arm.arm)
        meter = Html("–")
        if chance is not None:
            meter = joined(bar(chance, f"s{i % COLOURS}", class_="meter"), f"{chance:.3f}")
        patch = element("span", class_=f"patch s{i % COLOURS}", aria_hidden="true")
        name = joined(patch, str(arm.arm), element("span", " retired", class_="quiet") if arm.retired else "")
        rows.append(
            [
                name,
                meter,
                number(arm.rounds),
                number(arm.told),
                with_interval(mean, interval),
                moment(arm.last_used, board.now),
            ]
        )
    heads = ["arm", "drawn with", "rounds", "losses", "mean loss (95 %)", "last begun"]
    note = element("p", "Intervals are made of the last 2,000 blocks, a block being one observation.", class_="caption")
    return joined(as_table(heads, rows, "arms"), note)


def _lateness(waits: list[float]) -> Html:
    if not waits:
        return element("p", "No loss is kept one by one yet.", class_="empty", id="lateness", data_live="yes")
    n = len(waits)
    half, most = waits[n // 2], waits[int(0.9 * (n - 1))]
    words = f"Of the last {counted(n, 'loss', 'losses')}, half came within {seconds_shown(half)}, "
    words += f"nine of ten within {seconds_shown(most)}, the latest after {seconds_shown(waits[-1])}."
    rows: list[Html] = []
    before = 0
    for label, edge in WAITS.items():
        until = bisect_left(waits, edge)
        count, before = until - before, until
        if not count:
            continue
        rows += [element("span", label), bar(count / n), element("span", number(count), class_="number")]
    return element("div", element("p", words), element("div", *rows, class_="bins"), id="lateness", data_live="yes")
