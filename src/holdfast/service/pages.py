"""The pages, in the design of our reports: what they share, all games, comparisons, sign-in, and changes.

All of it is HTML that needs no script, but for two charts. The script refreshes what is marked `data-live` when the
game has changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import holdfast
from holdfast.checks import one_of
from holdfast.decisions.models import MOST_TIME
from holdfast.errors import HoldfastError
from holdfast.report.html import Html, asset as report_asset, element, joined, palette_css
from holdfast.service import views
from holdfast.service.access import COOKIE, Token
from holdfast.service.api import change_game, changes_on_page, compared, judged, replayed
from holdfast.service.messages import Changes, ChangeView, GameLine, GameView
from holdfast.service.operations import Operation, Refused, words_of
from holdfast.service.views import Mean
from holdfast.text import counted, five_digits, number

if TYPE_CHECKING:
    from holdfast.service.app import Service


ASSETS = {
    **dict.fromkeys(("page.css", "uplot.css", "series.css", "service.css"), "text/css"),
    **dict.fromkeys(("theme.js", "uplot.min.js", "chart.js", "service.js"), "text/javascript"),
    "uplot-LICENSE.txt": "text/plain",
}


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


def page_on_game(service: Service, name: str, title: str, *parts: Html, client: Token, back: bool = True) -> Response:
    """Return a page about a game, with the way back to the game's own."""
    home = home_of(service, name)
    link = element("p", element("a", "Back to the game", href=home)) if back else Html("")
    return page(service.root, title, *parts, link, crumbs=element("a", name, href=home, class_="crumb"), client=client)


def ago(seconds: float) -> str:
    """Return how long ago a time was, in words.

    >>> ago(119.0), ago(120.0), ago(7300.0)
    ('119 s ago', '2 min ago', '2 h ago')
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
    now = service.clock()
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


# The pages of a policy next to the rule that is held back, and of one arm next to another.

LEVEL = "The interval holds at 95 %, however often you look."


async def show_comparison(service: Service, request: Request, client: Token) -> Response:
    """The policy next to the rule held back."""
    name = request.path_params["name"]
    found = await compared(service, name, 0.95)
    rows = [
        ["by the policy", number(found.units - found.held_back)],
        ["by your rule", number(found.held_back)],
        ["not all told yet", number(found.open)],
    ]
    parts = [
        element("p", f"The policy: {found.words()}.", class_="why"),
        as_table(["", "blocks or conversations"], rows, "units"),
        element("p", LEVEL, class_="quiet"),
    ]
    return page_on_game(service, name, f"The policy of {name} next to your rule", *parts, client=client)


async def show_judgement(service: Service, request: Request, client: Token) -> Response:
    """One arm next to another."""
    name, found = request.path_params["name"], await judged(service, request)
    rows = [
        [str(found.arm), number(found.of_arm)],
        [str(found.against), number(found.of_against)],
        ["not all told yet", number(found.open)],
    ]
    chances = "These are the blocks and conversations begun while an arm had a share, weighted by probability."
    parts = [
        element("p", f"{str(found)[0].upper()}{str(found)[1:]}.", class_="why"),
        as_table(["given to", f"of {number(found.units)} blocks or conversations"], rows, "units"),
        element("p", f"{chances} {LEVEL}", class_="quiet"),
    ]
    return page_on_game(service, name, f"{found.arm} next to {found.against} in {name}", *parts, client=client)


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
    words = element("p", "That is no valid token.", class_="warning", role="alert")
    words = words if wrong else element("p", "Tokens are made by `holdfast token make`.", class_="quiet")
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


def arms_in_play(view: GameView, client: Token, home: str) -> Html:
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


def _change_form(home: str, button: str, *fields: Html) -> Html:
    reason = input_field("why", wide=True, type="text", name="reason", required="", maxlength=150, autocomplete="off")
    asked = element("button", button, class_="action")
    return element("form", *fields, reason, asked, method="post", action=f"{home}/change", class_="change")


def _needs_admin() -> Html:
    return element("p", "Changing it needs a token with the role admin.", class_="quiet")


async def change(service: Service, request: Request, client: Token) -> Response:
    """Explain a change; make it once it is confirmed."""
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
    return page_on_game(service, name, title, words, meaning, form_shown, client=client, back=False)


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
    name, found = request.path_params["name"], await changes_on_page(service, request)
    table = _table_of_changes(found.changes) if found.changes else element("p", "There are no more.", class_="empty")
    later = f"{home_of(service, name)}/changes?cursor={found.next}&limit={len(found.changes)}"
    more = Html("") if found.next is None else element("p", element("a", "Later ones", href=later))
    return page_on_game(service, name, f"Changes of {name}", table, more, client=client)


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
    Operation("GET", "/games/{name}/compare", show_comparison, "read", page=True),
    Operation("GET", "/games/{name}/judge", show_judgement, "read", page=True),
    Operation("GET", "/games/{name}/changes", show_changes, "read", page=True),
    Operation("POST", "/games/{name}/change", change, "admin", page=True),
    Operation("GET", "/login", show_login, None, page=True),
    Operation("POST", "/login", login, None, page=True),
    Operation("POST", "/logout", logout, None, page=True),
    Operation("GET", "/assets/{file}", asset, None),
]
