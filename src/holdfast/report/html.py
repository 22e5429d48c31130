"""The parts of a page, each a function that gives HTML: text, tables, folded parts, charts, heat maps, ribbons.

    parts = [paragraph("What came out."), line_chart(chart, "cost over the rounds"), table(columns, rows)]
    write_whole(path, page(title="My page", sections=[Section("Costs", parts)]).encode())

Words are escaped; ``T^{2/3}`` is shown as a power by `raised`. Charts bring their numbers with them and become
interactive where scripts run; on paper, and without scripts, their drawn twin is shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise, zip_longest
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np

from holdfast.report.charts import PALETTE, HeatMap, Line, LineChart, Look, Ribbon, looks
from holdfast.report.drawing import WIDEST, rendered

# HTML that is safe by construction: whatever is not `Html` already is escaped when it is put into an element.

VOID = frozenset({"br", "img", "input", "path", "rect"})
"""Elements without contents; those of SVG must be closed."""


class Html(str):
    """Text that is HTML; made by `element`, `raised` and the functions of `holdfast.report.html` alone."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | int | None) -> Html:
    """Return an element with its children. Attributes: ``class_`` for class, ``data_row`` for data-row; None omits one.

    >>> element("p", "a < b", element("b", "c"), class_="note", data_row=1)
    '<p class="note" data-row="1">a &lt; b<b>c</b></p>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Html(f"<{tag}{named}/>")
    return Html(f"<{tag}{named}>{joined(*children)}</{tag}>")


def joined(*children: str, between: str = "") -> Html:
    """Join children, escaped unless they are HTML."""
    return Html(between.join(child if isinstance(child, Html) else _kept_together(escape(child)) for child in children))


def _kept_together(text: str) -> str:
    """Put non-breaking spaces between a number and its per cent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", text)


def raised(text: str) -> Html:
    """Return text with its powers raised.

    >>> raised("at most T^{2/3} & K^{1/3}")
    'at most T<sup>2/3</sup> &amp; K<sup>1/3</sup>'
    """
    return Html(re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", escape(text)))


def plain_powers(text: str) -> str:
    """Like `raised`, for a terminal without superscripts.

    >>> plain_powers("K^{1/3}(T/λ)^{2/3} and 10^{7.3}")
    'K^(1/3)·(T/λ)^(2/3) and 10^7.3'
    """

    def power(found: re.Match[str]) -> str:
        inner, following = found.groups()
        written = inner if re.fullmatch(r"[\w.]+", inner) else f"({inner})"
        return f"^{written}" + ("·" if following == "(" else " " if following else "")

    return re.sub(r"_\{([^{}]*)\}", r"_(\1)", re.sub(r"\^\{([^{}]*)\}(?=([\w(]?))", power, text))


def anchor(text: str) -> str:
    """Return a name for links to point at.

    >>> anchor("Stochastic losses, small gap")
    'stochastic-losses-small-gap'
    """
    return re.sub(r"[^\w-]+", "-", text).strip("-").lower() or "part"


SIGNS = {"good": "✓", "partial": "◐", "bad": "✗"}
"""The mark of each kind of outcome, distinguished by shape as well as by colour."""

MOST_ROWS_TOGETHER = 20
"""Rows up to which a table is not split between printed pages."""

_FINE = re.compile(r"(\d\.\d\d)\d+")


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers are right-aligned."""

    label: str
    numeric: bool = False
    minor: bool = False
    """True to omit it on narrow screens."""

    @property
    def classes(self) -> str | None:
        """CSS classes of its cells."""
        names = {"number": self.numeric, "minor": self.minor}
        return " ".join(name for name, has in names.items() if has) or None


@dataclass(frozen=True)
class Bar:
    """One line of `bars`: a number with its interval, beside zero, and how it is written."""

    label: str
    value: float
    low: float
    high: float
    shown: str


def paragraph(*words: str, class_: str | None = None) -> Html:
    """Return a paragraph."""
    return element("p", *words, class_=class_)


def heading(words: str) -> Html:
    """Return a small heading inside a section."""
    return element("h3", words)


def mark(kind: str, words: str) -> Html:
    """Return an outcome ("good", "partial" or "bad") with its sign and colour."""
    sign = element("span", SIGNS[kind], class_="sign", aria_hidden="true")
    return element("span", sign, words, class_="mark", data_mark=kind)


def listed(items: Sequence[str], class_: str | None = None, *, numbered: bool = False) -> Html:
    """Return a list."""
    return element("ol" if numbered else "ul", *(element("li", item) for item in items), class_=class_)


def pairs(values: Mapping[str, str], class_: str = "pairs") -> Html:
    """Return names and their meanings, side by side."""
    rows = (joined(element("dt", name), element("dd", value)) for name, value in values.items())
    return element("dl", *rows, class_=class_)


def code(text: str) -> Html:
    """Return a command or a program."""
    return element("pre", element("code", text))


def folded(summary: str, *contents: str, open_: bool = False, class_: str = "folded") -> Html:
    """Return contents behind a line to click on; printed in full."""
    return element("details", element("summary", summary), *contents, class_=class_, open="" if open_ else None)


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    anchors: Sequence[str | None] = (),
    stacked: bool = False,
) -> Html:
    """Return a table; the first cell of a row is its heading.

    Too wide a table scrolls sideways under a hint that it does; a `stacked` one shows its rows as cards on a phone
    instead. `anchors` are the names of rows that links lead to.
    """
    head = element("tr", *(element("th", column.label, scope="col", class_=column.classes) for column in columns))
    body = []
    for (first, *others), name in zip_longest(rows, anchors):
        cells = (element("td", cell, class_=one.classes) for one, cell in zip(columns[1:], others, strict=True))
        body.append(element("tr", element("th", first, scope="row"), *cells, id=name))
    together = "together" if len(rows) <= MOST_ROWS_TOGETHER else None
    shown = element("table", element("thead", head), element("tbody", *body), class_="stacked" if stacked else together)
    return joined(paragraph(caption, class_="caption") if caption else Html(""), _scrolling(shown))


def _scrolling(contents: Html) -> Html:
    """Return a box that scrolls sideways; the script shows the hint if it must."""
    hint = element("p", "scroll sideways for the rest →", class_="scroll-hint", hidden="")
    return joined(hint, element("div", contents, class_="box", tabindex=0, role="region", aria_label="table"))


# ---- one of several at a time ----


def choice(words: str, names: Sequence[str]) -> Html:
    """Return buttons that select which parts made by `chosen` are shown; nothing for a single name.

    Without scripts, and on paper, all parts are shown one after the other.
    """
    if len(names) < 2:
        return Html("")
    group = _buttons(names, names[0], "data_chooses", aria_label=words)
    return element("div", element("span", words, class_="heading"), group, class_="choice controls")


def _buttons(names: Sequence[str], pressed: str, attribute: str, **attributes: str) -> Html:
    """Return buttons of which one is pressed; the script finds them by an attribute with their names."""
    buttons = (
        element("button", name, type="button", **{attribute: name}, aria_pressed=str(name == pressed).lower())
        for name in names
    )
    return element("span", *buttons, class_="buttons", role="group", **attributes)


def chosen(parts: Mapping[str, Sequence[Html]], title: str = "{}") -> Html:
    """Return parts by name, of which the selected one is shown; several have their names as headings."""
    return joined(
        *(
            element(
                "div",
                *([heading(title.format(name))] if len(parts) > 1 else []),
                *some,
                class_="chosen" if i == 0 else "chosen other",
                data_choice=name,
            )
            for i, (name, some) in enumerate(parts.items())
        )
    )


# ---- charts ----


def bars(groups: Mapping[str, Sequence[Bar]], zero: str) -> Html:
    """Return numbers as bars beside zero, in groups under a heading: less to the left, more to the right.

    Drawn without a script. `zero` labels the zero line.
    """
    rows = [bar for group in groups.values() for bar in group]
    least = min(0.0, *(bar.low for bar in rows))
    most = max(0.0, *(bar.high for bar in rows))
    span = (most - least) or 1.0

    def at(value: float) -> str:
        return f"{100 * (value - least) / span:.2f}%"

    def width(first: float, second: float) -> str:
        return f"{100 * abs(second - first) / span:.2f}%"

    def drawn(bar: Bar) -> Html:
        colour = "better" if bar.value < 0 else "worse"
        box = element(
            "span", class_=f"bar {colour}", style=f"left:{at(min(bar.value, 0.0))};width:{width(0.0, bar.value)}"
        )
        whisker = element("span", class_="whisker", style=f"left:{at(bar.low)};width:{width(bar.low, bar.high)}")
        line = element("span", class_="zero", style=f"left:{at(0.0)}")
        track = element(
            "span", line, box, *([whisker] if bar.high > bar.low else []), class_="track", aria_hidden="true"
        )
        return element(
            "div",
            element("dt", bar.label),
            element("dd", track, element("span", bar.shown, class_="shown")),
            class_="line",
        )

    parts = [
        joined(element("p", name, class_="above"), element("dl", *map(drawn, group)))
        for name, group in groups.items()
        if group
    ]
    return element("div", *parts, element("p", zero, class_="note"), class_="bars")


def line_chart(chart: LineChart, what: str, *, look: Mapping[str, Look] | None = None, live: str = "") -> Html:
    """Return a chart of lines and points; `what` describes it.

    The script draws it and adds legend and scales. For paper, and where no script runs, there is a drawn twin; a
    `live` chart, whose numbers have this id and may change, has neither twin nor scales.
    """
    look = look or looks(chart.series)
    columns = max((len(row.panels) for row in chart.rows), default=1)
    numbers = _json(_data(chart, look) | {"live": bool(live)}, id=live or None, data_live="yes" if live else None)
    rows = (
        _row(i, row.label, [panel.title or panel.label for panel in row.panels], what)
        for i, row in enumerate(chart.rows)
    )
    twin = Html("") if live else element("img", class_="static", alt=what, src=_drawn(chart))
    return element("div", numbers, *rows, twin, class_="chart", style=f"--columns: {columns}" if columns > 1 else None)


def _drawn(chart: LineChart) -> str:
    """Return the drawn twin as a data URL; a hundredth of a point is finer than any printer."""
    svg = rendered(chart, ("svg",))["svg"].decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' d="[^"]*"', lambda path: _FINE.sub(r"\1", path[0]).replace("\n", ""), svg)
    svg = re.sub(r' [xy]="[^"]*"', lambda place: _FINE.sub(r"\1", place[0]), svg)
    return "data:image/svg+xml," + quote(re.sub(r">\s+<", "><", svg), safe=" =:/;,.()-+!*?@$[]{}|~^")


def _row(row: int, label: str, panels: Sequence[str], what: str) -> Html:
    drawn = (
        element(
            "figure",
            element("figcaption", name, " ", element("span", class_="scale")),
            element("div", class_="plot", role="img", aria_label=f"{what}: {name}", data_row=row, data_panel=i),
            class_="panel",
        )
        for i, name in enumerate(panels)
    )
    head = element("h3", label) if label else Html("")
    return element("div", head, element("div", *drawn, class_="panels"), class_="row")


def _json(data: object, **attributes: str | None) -> Html:
    # A label with "</script>" in it must not end the script.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return element("script", Html(text), type="application/json", **attributes)


def _data(chart: LineChart, look: Mapping[str, Look]) -> dict[str, object]:
    """Return the numbers of a chart for the script; lines with the same x share one list of it."""
    series = {label: i for i, label in enumerate(look)}
    shared: dict[bytes, int] = {}
    lists: list[list[Any]] = []

    def place(x: np.ndarray) -> int:
        if x.tobytes() not in shared:
            shared[x.tobytes()] = len(lists)
            lists.append((x.astype("datetime64[ms]").astype(np.int64) / 1000).tolist() if chart.dated else _list(x))
        return shared[x.tobytes()]

    def plain(line: Line) -> dict[str, object]:
        thin = line.thin(even=120, log=80)
        told: dict[str, object] = {"series": series[line.series], "x": place(thin.x), "y": _list(thin.y)}
        if thin.low is not None and thin.high is not None:
            up, down = thin.high - thin.y, thin.y - thin.low
            if np.allclose(up, down, rtol=1e-6, equal_nan=True):
                told["spread"] = _list(up)
            else:
                told |= {"low": _list(thin.low), "high": _list(thin.high)}
        return told if line.joined else told | {"points": True}

    return {
        "label": chart.series_label,
        "x": {"label": chart.x_label, "dated": chart.dated, "scale": chart.x_scale, "lists": lists},
        "series": [
            {
                "label": label,
                "light": style.light,
                "dark": style.dark,
                # Dash lengths are in widths of the line, which is two pixels wide.
                "dash": [2 * length for length in style.dash],
                "marker": style.marker.path,
            }
            for label, style in look.items()
        ],
        "rows": [
            [
                {
                    "log": chart.logarithmic(column),
                    "fromZero": panel.from_zero,
                    "lines": [plain(line) for line in panel.lines],
                }
                for column, panel in enumerate(row.panels)
            ]
            for row in chart.rows
        ],
    }


def _list(values: np.ndarray) -> list[float | None]:
    return [_short(value) for value in values.tolist()]


def _short(value: float) -> float | None:
    """Return six digits, more than any screen shows; None for what is not finite."""
    if not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.6g}")


def heat_map(heat: HeatMap) -> Html:
    """Return a coloured table: it needs no script, and can be read aloud, printed and scrolled."""
    head = element(
        "tr", element("th", heat.corner, scope="col"), *(element("th", c, scope="col") for c in heat.columns)
    )
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(_heat_cell(heat, float(value), text) for value, text in zip(values, texts, strict=True)),
        )
        for name, values, texts in zip(heat.rows, heat.values, heat.shown, strict=True)
    ]
    return _scrolling(element("table", element("thead", head), element("tbody", *rows), class_="heat"))


def _heat_cell(heat: HeatMap, value: float, text: str) -> Html:
    if not math.isfinite(value) or value <= 0:
        return element("td", text)
    depth = math.log(value / heat.middle) / math.log(heat.limit)
    strength = round(100 * min(abs(depth), 1.0))
    return element("td", text, class_="worse" if depth > 0 else "better", style=f"--strength: {strength}%")


@dataclass(frozen=True)
class Stretch:
    """Rounds of one arm in a band, drawn paler where the arm was held in only a share of them."""

    begin: float
    length: float
    look: Look
    share: float = 1.0
    arm: str | None = None


@dataclass(frozen=True)
class Band:
    """Stretches beside a name; `label` says to a screen reader what they show."""

    name: Html
    label: str
    stretches: Sequence[Stretch]


def ribbon(what: Ribbon) -> Html:
    """Return bands of colour over time, one for each name."""
    look = list(looks(what.arms).items())
    rows = []
    for name in what.held:
        changes, arms, steps = what.stretches(name, WIDEST)
        ends = [(end - begin) / steps for begin, end in pairwise(changes)]
        boxes = [
            Stretch(begin / steps, width, look[arm][1], arm=look[arm][0])
            for begin, width, arm in zip(changes, ends, arms, strict=False)
        ]
        rows.append(Band(joined(name), name, boxes))
    keys = (element("span", patch(style), arm, class_="key") for arm, style in look)
    return bands(rows, 1.0, what.ticks, element("div", *keys, class_="legend"))


def bands(rows: Sequence[Band], length: float, ends: Sequence[str], *above: Html, **attributes: str) -> Html:
    """Return bands one below the other, with labels at their ends; drawn as SVG, so that they need no script."""
    drawn = (
        element("div", element("span", row.name, class_="name"), _band(row, length), class_="band") for row in rows
    )
    under = element("div", *(element("span", end) for end in ends), class_="ends")
    return element("div", *above, *drawn, under, class_="ribbon", **attributes)


def _band(row: Band, length: float) -> Html:
    boxes = (
        element(
            "rect",
            x=f"{one.begin:.6g}",
            y=0,
            width=f"{one.length:.6g}",
            height=1,
            fill_opacity=None if one.share == 1.0 else f"{one.share:g}",
            data_arm=one.arm,
            **_coloured(one.look),
        )
        for one in row.stretches
    )
    box = f"0 0 {length:g} 1"
    return element("svg", *boxes, viewBox=box, preserveAspectRatio="none", role="img", aria_label=row.label)


def patch(look: Look) -> Html:
    """Return a square of a series' colour."""
    colour = _coloured(look)
    return element("span", class_=" ".join(["patch", *colour.pop("class_", "").split()]), aria_hidden="true", **colour)


def _coloured(look: Look) -> dict[str, str]:
    """Colour by a palette class, which strict pages allow; other colours by style."""
    pair = (look.light, look.dark)
    if pair in PALETTE:
        return {"class_": f"s{PALETTE.index(pair)}"}
    return {"style": f"--on-light:{look.light};--on-dark:{look.dark}"}


def palette_css() -> str:
    """Return the style sheet of the palette: classes s0, s1, …"""
    return "\n".join(f".s{i} {{ --on-light: {light}; --on-dark: {dark}; }}" for i, (light, dark) in enumerate(PALETTE))


# A page that needs nothing but itself: title, lead, sections and how it was made, in one HTML file.
#
# The look and the behaviour are in `page.css`, `theme.js` and `page.js`, the frame in `page.html`. Charts are drawn by
# `chart.js` and uPlot, which go along only where a page has a chart.


@dataclass(frozen=True)
class Section:
    """A section of the page with an entry in its navigation.

    `name` is the link target, by default made from the title; `above` a small line over the title.
    """

    title: str
    parts: Sequence[Html]
    name: str = ""
    above: str = ""

    @property
    def anchor(self) -> str:
        """Target of links."""
        return self.name or anchor(self.title)


def page(*, title: str, lead: str = "", opening: Sequence[Html] = (), sections: Sequence[Section] = ()) -> str:
    """Return the page as text: the lead under its title, the opening parts, then the sections.

    Parameters
    ----------
    title
        Its heading.
    lead
        The text below it; `Html` is used as it is.
    opening
        Parts before the first section.
    sections
        The sections, each with a place in the navigation.
    """
    body = joined(*(_section(section) for section in sections))
    begin = joined(*opening)
    plotting = 'class="chart"' in body or 'class="chart"' in begin
    plots = [f"/*\n{asset('uplot-LICENSE.txt')}*/", asset("uplot.min.js"), asset("chart.js")] if plotting else []
    return Template(asset("page.html")).substitute(
        title=joined(title),
        css="\n".join([asset("page.css"), palette_css(), *([asset("uplot.css")] if plotting else [])]),
        scripts="\n".join([asset("theme.js"), *plots, asset("page.js")]),
        contents=joined(*(element("li", element("a", s.title, href=f"#{s.anchor}")) for s in sections)),
        lead=lead if isinstance(lead, Html) else element("p", lead, class_="lead") if lead else "",
        opening=begin,
        sections=body,
    )


def _section(section: Section) -> Html:
    above = element("p", section.above, class_="above") if section.above else Html("")
    return element("section", above, element("h2", section.title), *section.parts, id=section.anchor)


def asset(name: str) -> str:
    """Return the text of a style sheet, script or frame of the pages."""
    return files("holdfast.report").joinpath(name).read_text(encoding="utf-8")


# Notebook views of a result, a player or a game: a small table, in the colours of the notebook.

MOST_ROWS = 24
"""Most rows shown, from the first."""


def view(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> Html:
    """Return a table with text above and below it; the first column is text, the others are numbers.

    >>> view("two arms", ["arm", "rounds"], [["<a>", "3"]]).count("&lt;a&gt;")
    1
    """
    shown = rows[:MOST_ROWS]
    more = [f"… and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    table = element(
        "table",
        element("thead", _notebook_row("th", head)),
        element("tbody", *(_notebook_row("td", row) for row in shown)),
    )
    lines = [element("div", line) for line in (*more, *notes)]
    return element("div", element("div", caption), table if rows else Html(""), *lines)


def bar(share: float) -> Html:
    """Return a probability as a number and a bar."""
    style = f"display:inline-block;height:0.7em;width:{80 * share:.0f}px;background:currentColor;opacity:0.45"
    return joined(
        f"{share:.3f} ", element("span", element("span", style=style), style="display:inline-block;width:80px")
    )


def _notebook_row(tag: str, cells: Sequence[str]) -> Html:
    sides = ["left", *["right"] * (len(cells) - 1)]
    return element(
        "tr", *(element(tag, cell, style=f"text-align:{side}") for cell, side in zip(cells, sides, strict=True))
    )
