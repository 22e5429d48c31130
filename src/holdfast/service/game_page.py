"""The page of a game, with what it holds and why, lanes, costs, draws, arms and late losses; the page of a decision."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from holdfast.decisions.settings import AUTO, FOREVER, checked_budget
from holdfast.decisions.status import record_of
from holdfast.report.charts import PALETTE, Line, LineChart, Look, Marker, Panel, one_panel
from holdfast.report.html import Band, Html, Stretch, bands, element, joined, line_chart, patch
from holdfast.service.access import Token
from holdfast.service.messages import GameLine, GameView
from holdfast.service.operations import Operation
from holdfast.service.pages import (
    arm_shown,
    arms_in_play,
    as_table,
    bar,
    change_arms,
    change_cost,
    cost_shown,
    home_of,
    input_field,
    last_changes,
    mean_shown,
    moment,
    page,
    page_on_game,
    seconds_shown,
    utc,
)
from holdfast.service.views import Board, Lines
from holdfast.text import counted, number, with_interval

if TYPE_CHECKING:
    from holdfast.service.app import Service


INK, QUIET = ("#1d2125", "#e4e6e8"), ("#5c646c", "#9aa2aa")
"""Colours of lines that belong to no arm, on white and on black."""
SHOWN_ARMS = len(PALETTE)
"""Arms that are shown in charts and at first in the table, each in a colour of its own."""
MOST_ROWS = 1000
"""Other arms in the table."""
MOST_JUDGED = 12
"""Links to judgements."""
LANES = 256
"""Columns of the lanes that show which arm was held."""
DOT = Marker("o", "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z")
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
"""Upper limits in seconds of the rows of the lateness table."""


async def show_game(service: Service, request: Request, client: Token) -> Response:
    """One game."""
    name = request.path_params["name"]
    board = await service.see(name, service.dashboard)
    by_time, (often, _) = request.query_params.get("axis") == "time", _often(board)
    line = await service.line(name)
    view, home = board.view, home_of(service, name)
    parts = [
        element("p", _settings(view), class_="quiet"),
        _standing(board, line, f"{service.root}/v1/games/{quote(name, safe='')}/events"),
        _section("Arm held", _lanes(board)),
        element(
            "div",
            _section(
                "Cost so far",
                _about_cost(view, board.lines),
                _link_to_comparison(view, home),
                _links_to_judgements(view, home),
                _axis(home, by_time),
                _cost_chart(view, board.lines, often, by_time),
                id="cost",
            ),
            _section(
                "Drawn with probability",
                _about_draws(view, board.lines),
                _draws_chart(view, board.lines, often, by_time),
                id="drawn",
            ),
            class_="two",
        ),
        _section("Arms", _arms(board)),
        _section("How late losses come", _lateness(board.waits)),
        _section("Switching cost λ", change_cost(view, client, home)),
        _section("Pause or pin an arm", change_arms(view, client, home)),
        _section("Add or retire an arm", arms_in_play(view, client, home)),
        _section("Follow a decision", _lookup(home)),
        _section("Last changes", last_changes(board.changes, home)),
    ]
    return page(service.root, name, *parts, crumbs=element("span", name, class_="crumb"), client=client)


def _section(title: str, *parts: Html, **attributes: str) -> Html:
    return element("section", element("h2", title), *parts, **attributes)


def _facts(named: Mapping[str, str], class_: str) -> Html:
    """Return names and their values, each pair in a box."""
    rows = [element("div", element("dt", term), element("dd", value)) for term, value in named.items()]
    return element("dl", *rows, class_=class_)


def _lookup(home: str) -> Html:
    field = input_field("id", wide=True, type="text", name="id", required="", maxlength=200, autocomplete="off")
    words = element("p", "Who asked for it, why this arm, what it lost and when, and what was learnt.")
    button = element("button", "Follow it", class_="action")
    return joined(words, element("form", field, button, method="get", action=f"{home}/decision", class_="change"))


async def show_decision(service: Service, request: Request, client: Token) -> Response:
    """One decision."""
    name = request.path_params["name"]
    home, id = home_of(service, name), request.query_params.get("id", "").strip()
    if not id:
        return page_on_game(service, name, "Follow a decision", _lookup(home), client=client, back=False)
    found = await service.games.look(name, partial(record_of, id=id))
    named = {
        "asked for": f"{utc(found.asked)} UTC" if found.asked is not None else "no longer known",
        "by the call": found.request or "no longer known",
        "conversation": found.key or "–",
        "arm": f"{found.arm}, with probability {found.probability:.4g}, chosen by the {found.by}",
        "block": f"{number(found.block)}, round {number(found.round + 1)} of it",
        "loss": f"{found.status}, {found.loss!r}" if found.loss is not None else found.status,
        "measured": json.dumps(found.measures, ensure_ascii=False) if found.measures else "–",
        "reported": "–" if found.told is None else f"{utc(found.told)} UTC",
        "counted as": "–" if found.counted is None else repr(found.counted),
        "learnt": found.learnt,
    }
    parts = [element("p", found.why, class_="why"), _facts(named, "facts")]
    return page_on_game(service, name, f"Decision {found.id}", *parts, client=client)


def _settings(view: GameView) -> str:
    cost = view.policy.get("switching_cost")
    if isinstance(view.patience, int):
        patience = f"waits {counted(view.patience, 'round')}"
    elif view.patience == AUTO:
        patience = "waits as long as losses are usually late"
    elif view.patience == FOREVER:
        patience = "waits forever for losses"
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
        **({"conversations moved": counted(totals.moves, "time")} if totals.moves else {}),
        "rounds": number(totals.rounds),
        "switches": number(totals.switches),
        "cost": cost_shown(totals.cost),
        "of it for switches": cost_shown(totals.switching),
        "cost today (UTC)": cost_shown(line.today),
        "losses waited for": number(totals.out),
        "losses missing": number(totals.missing),
    }
    for one in view.shares:
        figures[f"{arm_shown(one.arm)}: drawn at most"] = f"{100 * one.share:.3g} %"
    if (budget := checked_budget("most_switches", view.most_switches or {})) is not None:
        figures["switches left"] = f"{number(view.switches_left or 0)} of {budget.words}"
    if view.certificate is not None:
        figures["certificate: over its best expert, at most"] = cost_shown(view.certificate)
    if lines is not None and lines.bound is not None:
        figures["proved, on average: at most"] = cost_shown(lines.bound[-1] or 0.0)
    warnings = [element("ul", *(element("li", words) for words in line.warnings), class_="warnings")]
    return element(
        "div",
        element("p", board.why, class_="why"),
        *(warnings if line.warnings else []),
        _facts(figures, "figures"),
        id="standing",
        data_live="yes",
        data_events=events,
        data_revision=view.revision,
        data_again=None if lines is None or lines.whole else "yes",
    )


def _arm_look(place: int, dash: tuple[float, ...] = (), marker: Marker = Marker()) -> Look:  # noqa: B008  # frozen
    """Return the look of an arm by its place among those shown."""
    return Look(*PALETTE[place], dash, marker)


def _axis(home: str, by_time: bool) -> Html:
    """Return the choice between rounds and time along the charts."""
    other = element("a", "Show rounds", href=home) if by_time else element("a", "Show time", href=f"{home}?axis=time")
    return element("p", other, f" instead of {'time (UTC)' if by_time else 'rounds'} along the charts.", class_="quiet")


def _along(lines: Lines, by_time: bool) -> Any:
    """Return where the ends of stretches lie along a chart."""
    return (np.array(lines.times) * 1000).astype("datetime64[ms]") if by_time else np.array(lines.rounds)


def _cost_chart(view: GameView, lines: Lines | None, often: Sequence[int], by_time: bool) -> Html:
    look = {"paid": Look(*INK), **{f"only {view.names[i]}": _arm_look(n, (3, 2)) for n, i in enumerate(often)}}
    found: list[list[float | None] | list[float]] = []
    if lines is not None:
        others = {
            "your rule": (lines.rule, Look(*INK, (4, 1.5, 1, 1.5))),
            "best plan": (lines.plan, Look(*INK, (1, 1.5))),
            "proved bound": (_within_sight(lines), Look(*QUIET)),
        }
        look |= {name: style for name, (values, style) in others.items() if values is not None}
        found = [
            lines.cost,
            *(lines.fixed[i] for i in often),
            *(values for values, _ in others.values() if values is not None),
        ]
    drawn = tuple(
        Line(name, _along(lines, by_time), np.array(values, dtype=np.float64))
        for name, values in zip(look, found, strict=False)
        if lines is not None
    )
    return line_chart(_one_chart("cost", drawn, by_time), "cost so far", look=look, live="cost-numbers")


def _draws_chart(view: GameView, lines: Lines | None, often: Sequence[int], by_time: bool) -> Html:
    look = {str(view.names[i]): _arm_look(n, marker=DOT) for n, i in enumerate(often)}
    drawn = []
    if lines is not None:
        for arm, name in zip(often, look, strict=True):
            at = [i for i, one in enumerate(lines.sample) if one is not None and one[0] == arm]
            values = [one[1] for one in lines.sample if one is not None and one[0] == arm]
            drawn += [Line(name, _along(lines, by_time)[at], values, joined=False)] if at else []
    return line_chart(_one_chart("probability", tuple(drawn), by_time), "arms drawn", look=look, live="drawn-numbers")


def _one_chart(label: str, lines: tuple[Line, ...], by_time: bool) -> LineChart:
    return one_panel(Panel(label, lines, "linear"), x_label="time (UTC)" if by_time else "round")


def _within_sight(lines: Lines) -> list[float | None] | None:
    """Return the bound as far as it does not flatten the other lines; None if nothing is left of it."""
    if lines.bound is None:
        return None
    highest = 1.1 * max(lines.cost[-1], *(line[-1] or 0.0 for line in lines.fixed))
    shown = [value if value is not None and value <= highest else None for value in lines.bound]
    return shown if sum(value is not None for value in shown) > 1 else None


def _about_cost(view: GameView, lines: Lines | None) -> Html:
    """Describe the lines of the chart."""
    if lines is None:
        return _caption("cost", "No block has begun yet.")
    known = lines.known_from is not None
    held = "each arm, had it been held" if known else "each arm's mean loss so far, as if it had been held all along"
    words = [f"What was paid, switches included. Dashed: {held}.{_of_how_many(view)}"]
    if known:
        since = f" from round {number(lines.known_from + 1)} on" if lines.known_from else ""
        words += [f"Dotted: the best plan in hindsight{since}."]
    if lines.rule is not None:
        words += ["Dash-dotted: your rule, by the mean of the blocks that it was given."]
    if lines.bound is not None:
        seen, now = _within_sight(lines), cost_shown(lines.bound[-1] or 0.0)
        where = "" if seen is not None and seen[-1] is not None else f", now {now} and far above"
        bound = f"Proved bound{where}: the best arm's cost and what the policy costs more at most, on average"
        words += [f"{bound} ({lines.proved}; for losses that come before the next block begins)."]
    if not lines.whole:
        words += [f"Earlier rounds than {number(lines.rounds[0])} are being added up."]
    return _caption("cost", " ".join(words))


def _link_to_comparison(view: GameView, home: str) -> Html:
    """Return a link for games with a rule to compare. The page itself has no comparison: it reads all blocks."""
    if not 0.0 < view.holdback < 1.0:
        return joined()
    return element("p", element("a", "What does the policy save next to your rule?", href=f"{home}/compare"))


def _links_to_judgements(view: GameView, home: str) -> Html:
    """Return a link for each arm with a share, next to the arms without."""
    capped = [one.arm for one in view.shares]
    others = [arm for arm in view.arms if arm not in capped]
    pairs = [(arm, other) for arm in capped for other in others][:MOST_JUDGED]
    links = [
        element("a", f"Is {one} better than {other}?", href=f"{home}/judge?{urlencode({'arm': one, 'against': other})}")
        for one, other in pairs
    ]
    return joined(*(element("p", link) for link in links))


def _about_draws(view: GameView, lines: Lines | None) -> Html:
    every = "Each block" if lines is None or lines.every == 1 else f"One of {number(lines.every)} blocks"
    words = f"{every} is a point: the probability its arm was drawn with."
    return _caption("drawn", f"{words}{_of_how_many(view)}")


def _caption(chart: str, words: str) -> Html:
    return element("p", words, class_="caption", id=f"{chart}-caption", data_live="yes")


def _lanes(board: Board) -> Html:
    """Return a lane for each arm, filled where it was held; paler where other arms were held in between."""
    lines, view, rounds = board.lines, board.view, board.totals.rounds
    if lines is None:
        return element("p", "No block has begun yet.", class_="empty", id="lanes", data_live="yes")
    together = -(-len(lines.held) // LANES)
    held = np.add.reduceat(lines.held, range(0, len(lines.held), together), axis=0)
    lengths = held.sum(axis=1)
    total, starts = lengths.sum(), np.cumsum(lengths) - lengths
    shares = np.round(held / np.maximum(lengths, 1.0)[:, None], 1)
    rows = []
    for place, arm in enumerate(_often(board)[0]):
        name = view.names[arm]
        boxes = []
        for share, columns in groupby(range(len(held)), key=lambda i, arm=arm: shares[i, arm]):  # type: ignore[misc]
            some = list(columns)
            if share:
                boxes.append(Stretch(starts[some[0]], lengths[some].sum(), _arm_look(place), share))
        label = f"{name}: held in {held[:, arm].sum() / max(total, 1.0):.0%} of the rounds shown"
        shown = element("b", str(name)) if name == view.arm else joined(str(name))
        rows.append(Band(shown, label, boxes))
    ends = (f"round {number(max(rounds - total, 0) + 1)}", f"round {number(rounds)}")
    shown = bands(rows, max(total, 1), ends, id="lanes", data_live="yes")
    return joined(shown, element("p", _of_how_many(view), class_="caption"))


def _arms(board: Board) -> Html:
    drawn = dict(zip(board.view.arms, board.view.probabilities or [], strict=False))
    rows = []
    measured = sorted({name for recent in board.recent for name in recent.measures})
    often, others = _often(board)
    for i, (arm, interval) in enumerate(zip(board.totals.arms, board.intervals, strict=True)):
        recent = board.recent[i]
        mean = arm.mean if arm.told else None  # a substitute for missing losses is no evidence
        chance, place = drawn.get(arm.arm), often.index(i) if i in often else None
        meter = Html("–")
        if chance is not None:
            meter = joined(bar(chance, None if place is None else f"s{place}", class_="meter"), f"{chance:.3f}")
        colour = "" if place is None else patch(_arm_look(place))
        name = joined(colour, str(arm.arm), element("span", " retired", class_="quiet") if arm.retired else "")
        rows.append(
            [
                name,
                meter,
                number(arm.rounds),
                number(arm.told),
                with_interval(mean, interval),
                *(mean_shown(some) for some in (recent.hour, recent.day, recent.latest)),
                number(recent.failures),
                *(f"{recent.measures[name]:.4g}" if name in recent.measures else "–" for name in measured),
                moment(arm.last_used, board.now),
            ]
        )
    heads = ["arm", "drawn with", "rounds", "losses", "mean loss (95 %)"]
    heads += ["last hour", "last day", "last 1,000", "failed", *measured, "last begun"]
    words = "Means of an hour and a day are made of the game's last 5,000 losses at most. "
    words += f"{' and '.join(['Failures', *measured])} are of the game's last 1,000 losses, which all arms share. "
    words += "Intervals are made of the last 2,000 blocks, a block being one observation."
    parts = [as_table(heads, [rows[i] for i in often], "arms")]
    if others:
        summary = element("summary", f"The {counted(len(others), 'arm')} played less")
        parts += [element("details", summary, as_table(heads, [rows[i] for i in others[:MOST_ROWS]], "other-arms"))]
    return joined(*parts, element("p", words, class_="caption"))


def _often(board: Board) -> tuple[list[int], list[int]]:
    """Return the arms that are shown at once, in their order: those played most; and the others, the same way."""
    ranked = sorted(range(len(board.totals.arms)), key=lambda i: (-board.totals.arms[i].rounds, i))
    return sorted(ranked[:SHOWN_ARMS]), ranked[SHOWN_ARMS:]


def _of_how_many(view: GameView) -> str:
    """Say that not all arms are shown, where that is so."""
    return f" The {SHOWN_ARMS} arms played most, of {number(len(view.names))}." if len(view.names) > SHOWN_ARMS else ""


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


OPERATIONS = [
    Operation("GET", "/games/{name}", show_game, "read", page=True),
    Operation("GET", "/games/{name}/decision", show_decision, "read", page=True),
]
