"""What all pages are made of: the frame, tables, figures, times, fields of forms; and their styles and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import Response

import holdfast
from holdfast.decisions.models import MOST_TIME
from holdfast.number_format import five_digits, number
from holdfast.report.markup import Html, element, joined
from holdfast.report.palette import looks
from holdfast.service.problems import Refused
from holdfast.service.tokens import Token

if TYPE_CHECKING:
    from holdfast.service.app import Service

COLOURS = 7
"""Those that arms take in turn; the script knows their number too."""
ASSETS = {
    **dict.fromkeys(("page.css", "uplot.css", "series.css", "service.css"), "text/css"),
    **dict.fromkeys(("theme.js", "uplot.min.js", "service.js"), "text/javascript"),
    "uplot-LICENSE.txt": "text/plain",
}


def page(
    root: str, title: str, *body: Html, status: int = 200, crumbs: str = "", client: Token | None = None
) -> Response:
    """A page with its title above, as an answer; `root` is the path under which a proxy has the server."""
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
    """A file that pages need."""
    if name == "series.css":
        colours = looks([f"arm {i}" for i in range(COLOURS)]).values()
        rules = (f".s{i} {{ --on-light: {look.light}; --on-dark: {look.dark}; }}" for i, look in enumerate(colours))
        return "\n".join(rules)
    shared = name in ("page.css", "theme.js")
    folder = files("holdfast.report") if shared else files("holdfast.service") / "assets"
    return (folder / name).read_text(encoding="utf-8")


async def asset(service: Service, request: Request, client: Token) -> Response:
    """Style, script and licence."""
    name = request.path_params["file"]
    if name not in ASSETS:
        raise Refused(404, "there is nothing at this path")
    headers = {"cache-control": "public, max-age=3600"}
    return Response(asset_text(name), media_type=ASSETS[name], headers=headers)


def home_of(service: Service, name: str) -> str:
    """Where a game's page is."""
    return f"{service.root}/games/{quote(name, safe='')}"


def ago(seconds: float) -> str:
    """How long ago, in words.

    >>> ago(30.0), ago(7300.0)
    ('30 s ago', '2 h ago')
    """
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{max(int(seconds), 0)} s ago"


def moment(at: float | None, now: float) -> Html:
    """How long ago, the exact time on pointing at it."""
    if at is None:
        return Html("–")
    exact = f"{utc(at)} UTC"
    return element("time", ago(now - at), datetime=exact, title=exact)


def utc(at: float) -> str:
    """A time, as it is written on pages."""
    return f"{datetime.fromtimestamp(min(at, MOST_TIME), UTC):%Y-%m-%d %H:%M:%S}"


def until_utc(end: float | None) -> str:
    """Until when, where it ends."""
    return "" if end is None else f" until {utc(end)} UTC"


def seconds_shown(value: float) -> str:
    """A length of time, in the unit that suits it."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= length:
            return f"{value / length:.3g} {unit}"
    return f"{value:.2g} s" if value >= 0.1 else f"{1000 * value:.2g} ms"


def arm_shown(arm: int | str | None) -> str:
    """An arm, where there is one."""
    return "–" if arm is None else str(arm)


def count_shown(value: int | None) -> str:
    """A count, where it is known."""
    return "–" if value is None else number(value)


def cost_shown(value: float | None) -> str:
    """A cost, where it is known."""
    return "–" if value is None else five_digits(value) if value else "0"


def as_table(heads: Sequence[str], rows: Sequence[Sequence[str]], live: str, numeric: int = 1) -> Html:
    """A table that becomes cards on a phone; columns from `numeric` on are numbers."""
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
    """A share of one, as a bar."""
    box = element("rect", x=0, y=0, width=f"{share:.4f}", height=1, class_=colour)
    return element("svg", box, class_=class_, viewBox="0 0 1 1", preserveAspectRatio="none", aria_hidden="true")


def input_field(label: str, wide: bool = False, **attributes: Any) -> Html:
    """A field of a form, with its label."""
    return element("label", label, element("input", **attributes), class_="wide" if wide else None)


async def form_of(service: Service, request: Request) -> dict[str, str]:
    """What a form was filled in with."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise Refused(415, "a form must be urlencoded")
    try:
        found = parse_qs((await service.body(request)).decode(), max_num_fields=10, keep_blank_values=True)
    except ValueError:
        raise Refused(400, "the form cannot be read") from None
    return {name: values[0] for name, values in found.items()}
