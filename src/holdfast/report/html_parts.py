"""The parts of a page, each a function that gives HTML: text, tables, folded parts, charts, heat maps, ribbons.

    parts = [paragraph("What came out."), line_chart(chart, "cost over the rounds"), table(columns, rows)]
    write_page(path, title="My page", sections=[Section("Costs", parts)])

Words are escaped; ``T^{2/3}`` is shown as a power by `raised`. Charts bring their numbers with them and become
interactive where scripts run; on paper, and without scripts, their drawn twin is shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any
from urllib.parse import quote

import numpy as np

from holdfast.report.charts import HeatMap, Line, LineChart, Ribbon
from holdfast.report.drawing import WIDEST, rendered
from holdfast.report.markup import Html, element, joined
from holdfast.report.palette import Look, looks

SIGNS = {"good": "✓", "partial": "◐", "bad": "✗"}
"""The mark of each kind of outcome, distinguished by shape as well as by colour."""

MOST_ROWS_TOGETHER = 20
"""Rows of a table that is not divided between two sheets of paper."""

_FINE = re.compile(r"(\d\.\d\d)\d+")


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers stand to the right."""

    label: str
    numeric: bool = False
    minor: bool = False
    """Left out where the screen is narrow."""

    @property
    def classes(self) -> str | None:
        """Of its cells."""
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
    """A paragraph."""
    return element("p", *words, class_=class_)


def heading(words: str) -> Html:
    """A small heading inside a section."""
    return element("h3", words)


def mark(kind: str, words: str) -> Html:
    """An outcome ("good", "partial" or "bad") with its sign and colour."""
    sign = element("span", SIGNS[kind], class_="sign", aria_hidden="true")
    return element("span", sign, words, class_="mark", data_mark=kind)


def listed(items: Sequence[str], class_: str | None = None, *, numbered: bool = False) -> Html:
    """A list."""
    return element("ol" if numbered else "ul", *(element("li", item) for item in items), class_=class_)


def pairs(values: Mapping[str, str], class_: str = "pairs") -> Html:
    """Names and what they stand for, side by side."""
    rows = (joined(element("dt", name), element("dd", value)) for name, value in values.items())
    return element("dl", *rows, class_=class_)


def code(text: str) -> Html:
    """A command or a program."""
    return element("pre", element("code", text))


def folded(summary: str, *contents: str, open_: bool = False, class_: str = "folded") -> Html:
    """Contents behind a line to click on; printed in full."""
    return element("details", element("summary", summary), *contents, class_=class_, open="" if open_ else None)


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    anchors: Sequence[str | None] = (),
    stacked: bool = False,
) -> Html:
    """A table; the first cell of a row is its heading.

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
    """A box that scrolls sideways; the script shows the hint where it has to."""
    hint = element("p", "scroll sideways for the rest →", class_="scroll-hint", hidden="")
    return joined(hint, element("div", contents, class_="box", tabindex=0, role="region", aria_label="table"))


# ---- one of several at a time ----


def choice(words: str, names: Sequence[str]) -> Html:
    """Buttons that choose which of the parts made by `chosen` are shown; nothing where there is one name.

    Without scripts, and on paper, all parts are shown one after the other.
    """
    if len(names) < 2:
        return Html("")
    group = _buttons(names, names[0], "data_chooses", aria_label=words)
    return element("div", element("span", words, class_="heading"), group, class_="choice controls")


def _buttons(names: Sequence[str], pressed: str, attribute: str, **attributes: str) -> Html:
    """Buttons of which one is pressed; the script finds them by an attribute, which has their names."""
    buttons = (
        element("button", name, type="button", **{attribute: name}, aria_pressed=str(name == pressed).lower())
        for name in names
    )
    return element("span", *buttons, class_="buttons", role="group", **attributes)


def chosen(parts: Mapping[str, Sequence[Html]], title: str = "{}") -> Html:
    """Parts by name, of which the one chosen is shown; each has its name for a heading where there are several."""
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
    """Numbers beside zero, in groups under a heading: to the left what is less, to the right what is more.

    Drawn without a script. `zero` says what zero is.
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


def line_chart(chart: LineChart, what: str) -> Html:
    """A chart of lines and points: interactive, with its drawn twin for paper; `what` says what it shows."""
    look = looks(chart.series)
    columns = max((len(row.panels) for row in chart.rows), default=1)
    keys = [
        element("button", _swatch(style), label, type="button", class_="key", aria_pressed="true", data_series=i)
        for i, (label, style) in enumerate(look.items())
    ]
    heading = element("span", chart.series_label, class_="heading") if chart.series_label else Html("")
    legend = element("div", heading, *keys, class_="legend", role="group", aria_label="Show or hide a series")
    x_scales = Html("") if chart.dated else _scales("x", chart.x_label, ("linear", "log"), chart.x_scale)
    scales = element("div", x_scales, _scales("y", "values", ("auto", "linear", "log"), "auto"), class_="scales")
    return element(
        "div",
        _json(_data(chart, look)),
        element("div", legend, scales, class_="controls"),
        *(_row(i, row.label, [panel.label for panel in row.panels]) for i, row in enumerate(chart.rows)),
        element("img", class_="static", alt=what, src=_drawn(chart)),
        class_="chart",
        style=f"--columns: {columns}",
    )


def _drawn(chart: LineChart) -> str:
    """The drawn twin as an address that holds all of it; a hundredth of a point is finer than any printer."""
    svg = rendered(chart, ("svg",))["svg"].decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' d="[^"]*"', lambda path: _FINE.sub(r"\1", path[0]).replace("\n", ""), svg)
    svg = re.sub(r' [xy]="[^"]*"', lambda place: _FINE.sub(r"\1", place[0]), svg)
    return "data:image/svg+xml," + quote(re.sub(r">\s+<", "><", svg), safe=" =:/;,.()-+!*?@$[]{}|~^")


def _scales(axis: str, words: str, names: Sequence[str], begun: str) -> Html:
    group = _buttons(names, begun, "data_scale", aria_label=f"Scale of {words}", data_axis=axis)
    return element("span", element("span", words, class_="heading"), group)


def _swatch(look: Look) -> Html:
    dash = " ".join(f"{length:g}" for length in look.dash)
    line = element("path", d="M-17 0H17", stroke="currentColor", stroke_width=2, stroke_dasharray=dash)
    return element(
        "svg",
        line,
        element("path", d=look.marker.path, fill="currentColor"),
        class_="swatch",
        style=_colours(look),
        width=34,
        height=12,
        viewBox="-17 -6 34 12",
        aria_hidden="true",
    )


def _row(row: int, label: str, panels: Sequence[str]) -> Html:
    drawn = (
        element(
            "figure",
            element("figcaption", name, " ", element("span", class_="scale")),
            element("div", class_="plot", data_row=row, data_panel=i),
            class_="panel",
        )
        for i, name in enumerate(panels)
    )
    head = element("h3", label) if label else Html("")
    return element("div", head, element("div", *drawn, class_="panels"), class_="row")


def _json(data: object) -> Html:
    # A label with "</script>" in it must not end the script.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return element("script", Html(text), type="application/json")


def _data(chart: LineChart, look: Mapping[str, Look]) -> dict[str, object]:
    """The numbers of a chart for the script; lines that share their x share one list of it."""
    series = {label: i for i, label in enumerate(look)}
    shared: dict[bytes, int] = {}
    lists: list[list[Any]] = []

    def place(x: np.ndarray) -> int:
        if x.tobytes() not in shared:
            shared[x.tobytes()] = len(lists)
            lists.append(np.datetime_as_string(x).tolist() if chart.dated else _list(x))
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
        "x": {"label": chart.x_label, "dated": chart.dated, "scale": chart.x_scale, "lists": lists},
        "series": [
            {
                "label": label,
                "light": style.light,
                "dark": style.dark,
                # Dash lengths are in widths of the line, which is two pixels wide.
                "dash": ",".join(f"{2 * length:g}px" for length in style.dash) or "solid",
                "symbol": style.marker.plotly,
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
    """Six digits, more than any screen shows; nothing for what is no number."""
    if not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.6g}")


def heat_map(heat: HeatMap) -> Html:
    """A coloured table: it needs no script, can be read aloud, printed and scrolled."""
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


def ribbon(what: Ribbon) -> Html:
    """Bands of colour over time, an arm each; drawn as SVG, so that it needs no script."""
    look = looks(what.arms)
    keys = (
        element("span", element("span", class_="patch", style=_colours(style)), arm, class_="key")
        for arm, style in look.items()
    )
    bands = [
        element("div", element("span", name, class_="name"), _band(what, name, list(look.items())), class_="band")
        for name in what.held
    ]
    ends = element("div", *(element("span", end) for end in what.ticks), class_="ends")
    return element("div", element("div", *keys, class_="legend"), *bands, ends, class_="ribbon")


def _colours(look: Look) -> str:
    return f"--on-light:{look.light};--on-dark:{look.dark}"


def _band(what: Ribbon, name: str, arms: Sequence[tuple[str, Look]]) -> Html:
    """Rectangles for stretches of one arm."""
    changes, held, steps = what.stretches(name, WIDEST)
    boxes = [
        element(
            "rect",
            x=str(begin),
            y=0,
            width=str(end - begin),
            height=1,
            style=_colours(arms[arm][1]),
            data_arm=arms[arm][0],
        )
        for (begin, end), arm in zip(pairwise(changes), held, strict=True)
    ]
    return element("svg", *boxes, viewBox=f"0 0 {steps} 1", preserveAspectRatio="none", role="img", aria_label=name)
