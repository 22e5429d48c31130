"""The pages, in the design of our reports: what they share, the games, a comparison, sign-in, changes, and one game.

All of it is HTML that needs no script, but for two charts. The script refreshes what is marked `data-live` when the
game has changed.
"""

from __future__ import annotations

import json
import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import holdfast
from holdfast.checks import one_of
from holdfast.decisions.following import record_of
from holdfast.decisions.limits import checked_budget
from holdfast.decisions.models import MOST_TIME
from holdfast.decisions.settings import AUTO, FOREVER
from holdfast.errors import HoldfastError
from holdfast.report.charts import PALETTE, Line, LineChart, Look, Marker, Panel, one_panel
from holdfast.report.html import (
    Band,
    Html,
    Stretch,
    asset as report_asset,
    bands,
    element,
    joined,
    line_chart,
    palette_css,
    patch,
)
from holdfast.service import views
from holdfast.service.access import COOKIE, Token
from holdfast.service.api import change_game, changes_on_page, compared, judged, replayed
from holdfast.service.arms import Mean
from holdfast.service.messages import Changes, ChangeView, GameLine, GameView
from holdfast.service.operations import Operation
from holdfast.service.problems import Refused, words_of
from holdfast.service.views import Board, Lines
from holdfast.text import counted, five_digits, number, with_interval

if TYPE_CHECKING:
    from holdfast.service.app import Service


ASSETS = {
    **dict.fromkeys(("page.css", "uplot.css", "series.css", "service.css"), "text/css"),
    **dict.fromkeys(("theme.js", "uplot.min.js", "chart.js", "service.js"), "text/javascript"),
    "uplot-LICENSE.txt": "text/plain",
}
INK, QUIET = ("#1d2125", "#e4e6e8"), ("#5c646c", "#9aa2aa")
"""Colours of lines that belong to no arm, on white and on black."""


def page(
    root: str, title: str, *body: Html, status: int = 200, crumbs: str = "", client: Token | None = None
) -> Response:
    """Return a page with its title, as an answer; `root` is the path prefix at a proxy."""
    leave = Html("")
    if client is not None and client.id:
        leave = element("form", element("button", "Sign out", class_="plain"), method="post", action=f"{root}/logout")
    text = Template(asset_text("frame.html")).substitute(
        root=root,
        title=joined(title),
        crumbs=joined(crumbs),
        leave=leave,
        body=joined(*body),
        version=holdfast.__version__,
    )
    return Response(text, status, media_type="text/html")


@cache
def asset_text(name: str) -> str:
    """Return a file that pages need."""
    if name == "series.css":
        return palette_css()
    own = files("holdfast.service") / "assets" / name
    return own.read_text(encoding="utf-8") if own.is_file() else report_asset(name)


async def asset(service: Service, request: Request, client: Token) -> Response:
    """Style, script and licence."""
    name = request.path_params["file"]
    if name not in ASSETS:
        raise Refused(404, "there is nothing at this path")
    headers = {"cache-control": "public, max-age=3600"}
    return Response(asset_text(name), media_type=ASSETS[name], headers=headers)


def home_of(service: Service, name: str) -> str:
    """Return the path of a game's page."""
    return f"{service.root}/games/{quote(name, safe='')}"


def ago(seconds: float) -> str:
    """Return how long ago a time was, in words.

    >>> ago(30.0), ago(7300.0)
    ('30 s ago', '2 h ago')
    """
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{max(int(seconds), 0)} s ago"


def moment(at: float | None, now: float) -> Html:
    """Return how long ago a time was, with the exact time on hover."""
    if at is None:
        return Html("–")
    exact = f"{utc(at)} UTC"
    return element("time", ago(now - at), datetime=exact, title=exact)


def utc(at: float) -> str:
    """Return a time as pages write it."""
    return f"{datetime.fromtimestamp(min(at, MOST_TIME), UTC):%Y-%m-%d %H:%M:%S}"


def until_utc(end: float | None) -> str:
    """Return the end of a period, if it has one."""
    return "" if end is None else f" until {utc(end)} UTC"


def seconds_shown(value: float) -> str:
    """Return a duration in a suitable unit."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.2g} s" if value >= 0.1 else f"{1000 * value:.2g} ms"


def arm_shown(arm: int | str | None) -> str:
    """Return an arm, if there is one."""
    return "–" if arm is None else str(arm)


def count_shown(value: int | None) -> str:
    """Return a count, if known."""
    return "–" if value is None else number(value)


def mean_shown(mean: Mean) -> str:
    """Return a mean, and of how many losses."""
    return "–" if mean.value is None else f"{mean.value:.4g} ({number(mean.n)})"


def cost_shown(value: float | None) -> str:
    """Return a cost, if known."""
    return "–" if value is None else five_digits(value) if value else "0"


def as_table(heads: Sequence[str], rows: Sequence[Sequence[str]], live: str, numeric: int = 1) -> Html:
    """Return a table that becomes cards on a phone; columns from `numeric` on are numbers."""
    kinds = [None if i < numeric else "number" for i in range(len(heads))]
    head = element("tr", *(element("th", h, scope="col", class_=k) for h, k in zip(heads, kinds, strict=True)))
    body = []
    for row in rows:
        cells = [element("th", row[0], scope="row")]
        cells += [
            element("td", element("span", cell), class_=kind, data_label=label)
            for cell, kind, label in zip(row[1:], kinds[1:], heads[1:], strict=True)
        ]
        body.append(element("tr", *cells))
    table = element("table", element("thead", head), element("tbody", *body), class_="list")
    return element("div", table, class_="box", id=live, data_live="yes")


def bar(share: float, colour: str | None = None, class_: str | None = None) -> Html:
    """Return a share of one as a bar."""
    box = element("rect", x=0, y=0, width=f"{share:.4f}", height=1, class_=colour)
    return element("svg", box, class_=class_, viewBox="0 0 1 1", preserveAspectRatio="none", aria_hidden="true")


def input_field(label: str, wide: bool = False, **attributes: Any) -> Html:
    """Return a form field with its label."""
    return element("label", label, element("input", **attributes), class_="wide" if wide else None)


async def form_of(service: Service, request: Request) -> dict[str, str]:
    """Return the values of a submitted form."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise Refused(415, "a form must be urlencoded")
    try:
        found = parse_qs((await service.body(request)).decode(), max_num_fields=10, keep_blank_values=True)
    except ValueError:
        raise Refused(400, "the form cannot be read") from None
    return {name: values[0] for name, values in found.items()}


# The page of all games.

MOST_LISTED = 1000


async def show_list(service: Service, request: Request, client: Token) -> Response:
    """All games."""
    names = [name for name in await service.games.names() if client.sees(name)]
    lines = [await service.line(name) for name in names[:MOST_LISTED]]
    now = time.time()
    if not lines:
        words = "No game has begun yet. A PUT to /v1/games/NAME begins one; docs/service.md shows how."
        return page(service.root, "Games", element("p", words, class_="empty"), client=client)
    heads = ["game", "arm held", "since", "rounds", "switches", "cost", "today", "waiting", "missing", "last loss"]
    listing = as_table(heads, [_row(line, now, home_of(service, line.name)) for line in lines], "games", numeric=2)
    left = len(names) - len(lines)
    more = element("p", f"and {number(left)} more", class_="quiet") if left else Html("")
    shown = element("div", listing, more, data_every="5")
    return page(service.root, "Games", shown, client=client)


def _row(line: GameLine, now: float, home: str) -> list[str]:
    warnings = [element("div", words, class_="warning note") for words in line.warnings]
    link = element("a", line.name, href=home)
    label = element("span", line.label, class_="note")
    return [
        joined(link, label, *warnings),
        counted(line.conversations, "conversation") if line.arm is None and line.conversations else arm_shown(line.arm),
        moment(line.since, now),
        count_shown(line.rounds),
        count_shown(line.switches),
        cost_shown(line.cost),
        cost_shown(line.today),
        count_shown(line.out),
        count_shown(line.missing),
        moment(line.last_loss, now),
    ]


# The page of a policy next to the rule that is held back.


async def show_comparison(service: Service, request: Request, client: Token) -> Response:
    """The policy next to the rule held back."""
    name = request.path_params["name"]
    home = home_of(service, name)
    found = await compared(service, name, 0.95)
    title = f"The policy of {name} next to your rule"
    rows = [
        ["by the policy", number(found.units - found.held_back)],
        ["by your rule", number(found.held_back)],
        ["not all told yet", number(found.open)],
    ]
    parts = [
        element("p", f"The policy: {found.words}.", class_="why"),
        as_table(["", "blocks or conversations"], rows, "units"),
        element("p", "The interval has a level of 95 %, however often one looks.", class_="quiet"),
        element("p", element("a", "Back to the game", href=home)),
    ]
    return page(service.root, title, *parts, crumbs=element("a", name, href=home, class_="crumb"), client=client)


# The page of one arm next to another.


async def show_judgement(service: Service, request: Request, client: Token) -> Response:
    """One arm next to another."""
    name = request.path_params["name"]
    home = home_of(service, name)
    found = await judged(service, request)
    rows = [
        [str(found.arm), number(found.of_arm)],
        [str(found.against), number(found.of_against)],
        ["not all told yet", number(found.open)],
    ]
    chances = "By the blocks and conversations begun while an arm had a share, weighted by their probabilities."
    parts = [
        element("p", found.words[0].upper() + found.words[1:] + ".", class_="why"),
        as_table(["given to", f"of {number(found.units)} blocks or conversations"], rows, "units"),
        element("p", f"{chances} The interval has a level of 95 %, however often one looks.", class_="quiet"),
        element("p", element("a", "Back to the game", href=home)),
    ]
    title = f"{found.arm} next to {found.against} in {name}"
    return page(service.root, title, *parts, crumbs=element("a", name, href=home, class_="crumb"), client=client)


# The page where a token is given, and kept in a cookie.


async def show_login(service: Service, request: Request, client: Token) -> Response:
    """Show the page that asks for a token."""
    return _login(service.root)


def _login(root: str, wrong: bool = False) -> Response:
    form = element(
        "form",
        element("input", type="text", name="user", value="holdfast", autocomplete="username", hidden=""),
        input_field("token", wide=True, type="password", name="token", required="", autocomplete="current-password"),
        element("button", "Sign in", class_="action"),
        method="post",
        action=f"{root}/login",
        class_="change",
    )
    words = element("p", "That is no valid token.", class_="warning", role="alert") if wrong else Html("")
    return page(root, "Sign in", words, form, status=401 if wrong else 200)


async def login(service: Service, request: Request, client: Token) -> Response:
    """Keep a token in a cookie that scripts cannot read."""
    written = (await form_of(service, request)).get("token", "").strip()
    if service.access.find(written) is None:
        return _login(service.root, wrong=service.access.tokens is not None)
    response = RedirectResponse(f"{service.root}/", 303)
    secure, path = request.url.scheme == "https", service.root or "/"
    response.set_cookie(COOKIE, written, httponly=True, samesite="strict", secure=secure, path=path, max_age=7 * 86400)
    return response


async def logout(service: Service, request: Request, client: Token) -> Response:
    """Forget it."""
    response = RedirectResponse(f"{service.root}/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path=service.root or "/")
    return response


# Changes of a game: asked for on its page, shown first, then made; and the list of those that were made.

ACTS = {
    "pause": "It is not handed out meanwhile: the most likely other arm is, also in the middle of a block.",
    "resume": "It is handed out again from now on.",
    "pin": "Only this arm is handed out meanwhile. These rounds are not learnt from.",
    "unpin": "The policy chooses again from now on.",
}
"""Operator actions on an arm, and their meaning."""


def change_cost(view: GameView, client: Token, home: str) -> Html:
    """Return λ and the form that changes it."""
    cost = view.policy.get("switching_cost")
    if not isinstance(cost, float | int):
        return element("p", f"{view.label} has no single switching cost.")
    words = element("p", f"λ is {cost:g}. Another one counts from the next block on; what was learnt stays.")
    if client.role != "admin":
        return joined(words, _needs_admin())
    field = input_field("new λ", type="number", name="cost", min="0", step="any", required="", value=f"{cost:g}")
    return joined(words, _change_form(home, "Look at the change", field))


def change_arms(view: GameView, client: Token, home: str) -> Html:
    """Return the paused and pinned arms and the form that changes them."""
    now = [f"{one.arm} is paused{until_utc(one.until)}." for one in view.paused]
    now += [] if view.pinned is None else [f"{view.pinned} is pinned."]
    words = element("p", " ".join(now) or "No arm is paused or pinned.", id="stands", data_live="yes")
    if client.role != "admin":
        return joined(words, _needs_admin())
    acts = element("select", *(element("option", act, value=act) for act in ACTS), name="act")
    arms = element("select", *(element("option", str(arm), value=str(arm)) for arm in view.arms), name="arm")
    until = input_field(
        "for how long", type="text", name="until", placeholder="10m, 2h, 1d", size=8, autocomplete="off"
    )
    fields = (element("label", "do", acts), element("label", "arm", arms), until)
    return joined(words, _change_form(home, "Look at the change", *fields))


def _change_form(home: str, button: str, *fields: Html) -> Html:
    reason = input_field("why", wide=True, type="text", name="reason", required="", maxlength=150, autocomplete="off")
    asked = element("button", button, class_="action")
    return element("form", *fields, reason, asked, method="post", action=f"{home}/change", class_="change")


def _needs_admin() -> Html:
    return element("p", "Changing it needs a token with the role admin.", class_="quiet")


async def change(service: Service, request: Request, client: Token) -> Response:
    """Show what a change means; make it when it is confirmed."""
    name, form = request.path_params["name"], await form_of(service, request)
    home = home_of(service, name)
    reason = form.get("reason", "").strip()
    if not reason:
        raise Refused(422, "a change needs a reason")
    view = await service.see(name, views.game_view)
    wanted = _wanted(form, view)
    if form.get("confirmed") == "yes":
        await change_game(service, client, name, Changes(**wanted, reason=reason))
        return RedirectResponse(home, 303)
    if "cost" in form:
        was, cost = view.policy.get("switching_cost"), wanted["switching_cost"]
        if not isinstance(was, float | int):
            raise Refused(422, f"{view.label} has no single switching cost")
        title = f"Change λ of {name} from {was:g} to {cost:g}?"
        meaning, button = element("p", "All processes follow from their next block on."), "Change λ"
        meaning = joined(meaning, await _estimated(service, name, cost))
    elif "add" in form:
        title, button = f"Add {form['add'].strip()} to {name}?", "Add it"
        meaning = element("p", "It can be drawn from the next block on, in all processes. What was learnt stays.")
    elif "retire" in form:
        title, button = f"Retire {form['retire']} in {name}?", "Retire it"
        words = "Its block ends with the rounds handed out, and it is never drawn again, in all processes. "
        meaning = element("p", f"{words}Added again, it begins as a new arm. To stop it for a while, pause it.")
    else:
        act, until = form["act"], f" for {wanted['until']}" if "until" in wanted else ""
        title = f"Unpin {name}?" if act == "unpin" else f"{act.capitalize()} {wanted[act]} of {name}{until}?"
        meaning, button = element("p", f"{ACTS[act]} All processes follow at once."), act.capitalize()
    hidden = {**form, "confirmed": "yes"}
    form_shown = element(
        "form",
        *(element("input", type="hidden", name=key, value=value) for key, value in hidden.items()),
        element("button", button, class_="action", autofocus=""),
        element("a", "Leave it as it is", href=home),
        method="post",
        action=f"{home}/change",
        class_="change",
    )
    words = element("p", f"Reason: {reason}.")
    crumbs = element("a", name, href=home, class_="crumb")
    return page(service.root, title, words, meaning, form_shown, crumbs=crumbs, client=client)


def _wanted(form: dict[str, str], view: GameView) -> dict[str, Any]:
    """Return the change that a form asks for."""
    if "cost" in form:
        return _cost_wanted(form)
    if "add" in form:
        return {"add_arms": [form["add"].strip()]}
    return {"retire_arms": [form["retire"]]} if "retire" in form else _act_wanted(form, view)


def _cost_wanted(form: dict[str, str]) -> dict[str, Any]:
    try:
        return {"switching_cost": float(form["cost"])}
    except ValueError:
        raise Refused(422, "λ must be a number") from None


def _act_wanted(form: dict[str, str], view: GameView) -> dict[str, Any]:
    act = one_of("act", form.get("act", ""), ACTS)
    if act == "unpin":
        return {"unpin": True}
    arms = {str(arm): arm for arm in view.arms}
    arm, until = arms[one_of("arm", form.get("arm", ""), arms)], form.get("until", "").strip()
    return {act: arm, **({"until": until} if until and act != "resume" else {})}


async def _estimated(service: Service, name: str, cost: float) -> Html:
    """Return the estimated cost of each arm at this λ, if the log allows."""
    try:
        found = await replayed(service, name, cost)
    except HoldfastError as error:
        return element("p", f"The log cannot tell yet what each arm would have cost: {error}", class_="quiet")
    rows = []
    for row in found["rows"]:
        if row.get("estimator") == "doubly_robust" and row["policy"].startswith("only "):
            half = (row["cost_high"] - row["cost_low"]) / 2
            rows.append([row["policy"], f"{five_digits(row['cost'])} ± {five_digits(half)}"])
    paid = element("p", f"The {number(found['rounds'])} rounds in the log cost {five_digits(found['paid'])} at this λ.")
    return joined(paid, as_table(["had one arm been held", "estimated cost ± 95 %"], rows, "estimates"))


def last_changes(changes: list[ChangeView], home: str) -> Html:
    """Return the latest changes, for the page of the game."""
    if not changes:
        return element("p", "Nothing was changed yet.", class_="empty", id="changes", data_live="yes")
    every = element("p", element("a", "All changes", href=f"{home}/changes"))
    return element("div", _table_of_changes(changes), every, id="changes", data_live="yes")


async def show_changes(service: Service, request: Request, client: Token) -> Response:
    """All changes, in order, in pages."""
    name = request.path_params["name"]
    home = home_of(service, name)
    found = await changes_on_page(service, request)
    title = f"Changes of {name}"
    table = _table_of_changes(found.changes) if found.changes else element("p", "There are no more.", class_="empty")
    later = f"{home}/changes?cursor={found.next}&limit={len(found.changes)}"
    more = Html("") if found.next is None else element("p", element("a", "Later ones", href=later))
    back = element("p", element("a", "Back to the game", href=home))
    crumbs = element("a", name, href=home, class_="crumb")
    return page(service.root, title, table, more, back, crumbs=crumbs, client=client)


def _table_of_changes(changes: list[ChangeView]) -> Html:
    rows = [[utc(one.at), _changed(one), one.reason or "–"] for one in changes]
    return as_table(["when (UTC)", "what", "why"], rows, "table-of-changes", numeric=3)


def _changed(change: ChangeView) -> str:
    """Return a change in words."""
    if change.kind == "restore":
        return f"restored from {change.detail['copy']}; what was there is in {change.detail['kept']}"
    if change.kind == "clock":
        was, now = change.detail["clock"]
        return f"clock: {utc(was)} → {utc(now)}"
    if change.kind != "settings":
        arm = "" if change.detail["arm"] is None else f" {change.detail['arm']}"
        return f"{change.kind}{arm}{until_utc(change.detail['until'])}"
    return "; ".join(f"{name}: {_value(name, was)} → {_value(name, now)}" for name, (was, now) in change.detail.items())


def _value(name: str, value: Any) -> str:
    if name in ("key_life", "patience") and isinstance(value, str) and value[-1] == "s":
        return seconds_shown(float(value[:-1]))
    if name == "patience" and isinstance(value, int):
        return counted(value, "round")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# The page of one game: what it holds and why, its lanes, costs, draws, arms, late losses and changes.

SHOWN_ARMS = 8
"""Arms that are shown in charts and at first in the table."""
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
        element("section", element("h2", "Arm held"), _lanes(board)),
        element(
            "div",
            element(
                "section",
                element("h2", "Cost so far"),
                _about_cost(view, board.lines),
                _link_to_comparison(view, home),
                _links_to_judgements(view, home),
                _axis(home, by_time),
                _cost_chart(view, board.lines, often, by_time),
                id="cost",
            ),
            element(
                "section",
                element("h2", "Drawn with probability"),
                _about_draws(view, board.lines),
                _draws_chart(view, board.lines, often, by_time),
                id="drawn",
            ),
            class_="two",
        ),
        element("section", element("h2", "Arms"), _arms(board)),
        element("section", element("h2", "How late losses come"), _lateness(board.waits)),
        element("section", element("h2", "Switching cost λ"), change_cost(view, client, home)),
        element("section", element("h2", "Pause or pin an arm"), change_arms(view, client, home)),
        element("section", element("h2", "Add or retire an arm"), _arms_in_play(view, client, home)),
        element("section", element("h2", "Follow a decision"), _lookup(home)),
        element("section", element("h2", "Last changes"), last_changes(board.changes, home)),
    ]
    return page(service.root, name, *parts, crumbs=element("span", name, class_="crumb"), client=client)


def _lookup(home: str) -> Html:
    field = input_field("id", wide=True, type="text", name="id", required="", maxlength=200, autocomplete="off")
    words = element("p", "Who asked for it, why this arm, what it lost and when, and what was learnt.")
    button = element("button", "Follow it", class_="action")
    return joined(words, element("form", field, button, method="get", action=f"{home}/decision", class_="change"))


async def show_decision(service: Service, request: Request, client: Token) -> Response:
    """One decision."""
    name = request.path_params["name"]
    home, id = home_of(service, name), request.query_params.get("id", "").strip()
    crumbs = element("a", name, href=home, class_="crumb")
    if not id:
        return page(service.root, "Follow a decision", _lookup(home), crumbs=crumbs, client=client)
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
    rows = [element("div", element("dt", term), element("dd", value)) for term, value in named.items()]
    parts = [
        element("p", found.why, class_="why"),
        element("dl", *rows, class_="facts"),
        element("p", element("a", "Back to the game", href=home)),
    ]
    return page(service.root, f"Decision {found.id}", *parts, crumbs=crumbs, client=client)


def _arms_in_play(view: GameView, client: Token, home: str) -> Html:
    """Return the forms that add and retire arms."""
    words = element("p", "A new arm begins as its policy does with new arms. One that is retired is never drawn again.")
    if view.policy.get("arms") is None:
        return element("p", "The arms of this game have no names, so none can be added or retired.")
    if client.role != "admin":
        return joined(words, _needs_admin())
    new = input_field("new arm", type="text", name="add", required="", maxlength=200, autocomplete="off")
    arms = element("select", *(element("option", str(arm), value=str(arm)) for arm in view.arms), name="retire")
    return joined(
        words,
        _change_form(home, "Look at the new arm", new),
        _change_form(home, "Look at what retiring means", element("label", "arm", arms)),
    )


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
        element(
            "dl",
            *(element("div", element("dt", term), element("dd", value)) for term, value in figures.items()),
            class_="figures",
        ),
        id="standing",
        data_live="yes",
        data_events=events,
        data_revision=view.revision,
        data_again=None if lines is None or lines.whole else "yes",
    )


def _arm_look(arm: int, dash: tuple[float, ...] = (), marker: Marker = Marker()) -> Look:  # noqa: B008  # frozen
    return Look(*PALETTE[arm % len(PALETTE)], dash, marker)


def _axis(home: str, by_time: bool) -> Html:
    """Return the choice between rounds and time along the charts."""
    other = element("a", "Show rounds", href=home) if by_time else element("a", "Show time", href=f"{home}?axis=time")
    return element("p", other, f" instead of {'time (UTC)' if by_time else 'rounds'} along the charts.", class_="quiet")


def _along(lines: Lines, by_time: bool) -> Any:
    """Return where the ends of stretches lie along a chart."""
    return (np.array(lines.times) * 1000).astype("datetime64[ms]") if by_time else np.array(lines.rounds)


def _cost_chart(view: GameView, lines: Lines | None, often: Sequence[int], by_time: bool) -> Html:
    look = {"paid": Look(*INK), **{f"only {view.names[i]}": _arm_look(i, (3, 2)) for i in often}}
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
    look = {str(view.names[i]): _arm_look(i, marker=DOT) for i in often}
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
    for arm in _often(board)[0]:
        name = view.names[arm]
        boxes = []
        for share, columns in groupby(range(len(held)), key=lambda i, arm=arm: shares[i, arm]):  # type: ignore[misc]
            some = list(columns)
            if share:
                boxes.append(Stretch(starts[some[0]], lengths[some].sum(), _arm_look(arm), share))
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
    for i, (arm, interval) in enumerate(zip(board.totals.arms, board.intervals, strict=True)):
        recent = board.recent[i]
        mean = arm.mean if arm.told else None  # a substitute for missing losses is no evidence
        chance = drawn.get(arm.arm)
        meter = Html("–")
        if chance is not None:
            meter = joined(bar(chance, f"s{i % len(PALETTE)}", class_="meter"), f"{chance:.3f}")
        name = joined(
            patch(_arm_look(i)), str(arm.arm), element("span", " retired", class_="quiet") if arm.retired else ""
        )
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
    often, others = _often(board)
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


def error_page(root: str, error: HoldfastError) -> Response:
    """Return an error as a page."""
    status = error.status
    if status == 401:
        return RedirectResponse(f"{root}/login", 303)
    title = HTTPStatus(status).phrase
    back = element("p", element("a", "All games", href=f"{root}/"))
    return page(root, title, element("p", words_of(error)), back, status=status)


OPERATIONS = [
    Operation("GET", "/", show_list, "read", page=True),
    Operation("GET", "/games/{name}", show_game, "read", page=True),
    Operation("GET", "/games/{name}/compare", show_comparison, "read", page=True),
    Operation("GET", "/games/{name}/judge", show_judgement, "read", page=True),
    Operation("GET", "/games/{name}/decision", show_decision, "read", page=True),
    Operation("GET", "/games/{name}/changes", show_changes, "read", page=True),
    Operation("POST", "/games/{name}/change", change, "admin", page=True),
    Operation("GET", "/login", show_login, None, page=True),
    Operation("POST", "/login", login, None, page=True),
    Operation("POST", "/logout", logout, None, page=True),
    Operation("GET", "/assets/{file}", asset, None),
]
