"""Charts on paper: lines with bands on matplotlib's axes, and whole charts as PNG, SVG and PDF.

On existing axes: ``draw_panel(axes, panel, looks(names))``. A whole chart: ``write_images(chart, folder, name)``,
or ``rendered(chart, ("svg",))`` for its bytes. Where a linear axis would flatten half of the lines, values are drawn
linear near zero and logarithmic above, and the label of the axis says so.
"""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.checks import one_of, real_number
from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.extras import need
from holdfast.files import write_whole
from holdfast.report.charts import LineChart, Look, Panel, Ribbon, Scale, looks
from holdfast.text import number, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


KINDS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Size:
    """Dimensions of a figure: lengths in inches, text in points."""

    width: float | None
    """Width; None: as wide as its panels need."""
    row: float
    """Height of a row of panels."""
    columns: int
    """Most panels side by side."""
    text: float
    height: float | None = None
    """Height; None: as high as its rows need."""


SIZES = {
    "screen": Size(None, 2.6, 1000, 9.5),
    "column": Size(3.25, 1.9, 1, 8.0),
    "page": Size(6.75, 2.0, 3, 8.0),
    "icml": Size(3.25, 1.9, 1, 8.0),
    "icml-wide": Size(6.75, 2.0, 3, 8.0),
    "aistats": Size(3.25, 1.9, 1, 8.0),
    "neurips": Size(5.5, 1.9, 2, 8.0),
    "iclr": Size(5.5, 1.9, 2, 8.0),
    "jmlr": Size(6.0, 2.0, 2, 9.0),
}
"""Sizes for a screen, for one or both columns of a two-column paper, and for the text of venues."""

PANEL = 2.25
"""Inches that a panel of a paper needs: three are as wide as a page."""

FigureSize = str | tuple[float, float]
"""One of `SIZES`, or width and height in inches."""

WIDEST = 1000
"""Most steps of a ribbon: more would be narrower than a pixel."""

_INK, _QUIET, _GRID = "#222222", "#666666", "#e6e6e6"
_STYLE: dict[Any, Any] = {
    "pdf.fonttype": 42,  # TrueType: conferences refuse matplotlib's Type 3
    "ps.fonttype": 42,
    "pgf.rcfonts": False,  # the fonts of the paper
    "svg.hashsalt": "holdfast",  # else the ids in an SVG are drawn at random
    "axes.unicode_minus": True,
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same bytes on every machine
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.7,
    "text.color": _INK,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
}
_STEPS = [1, 2, 2.5, 5, 10]
# Without these, files would carry the time they were made.
_UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
LATEX = ("pdflatex", "lualatex", "xelatex")
"""Programs that can measure a figure's text for LaTeX, in order of preference."""


def size_of(size: FigureSize) -> Size:
    """Return the size of this name, or of these inches; refuse anything else."""
    if isinstance(size, str):
        return SIZES[one_of("size", size, SIZES)]
    if not isinstance(size, Sequence) or len(size) != 2:
        rule = f"must be one of {', '.join(map(repr, SIZES))}, or width and height in inches such as (3.5, 2.5)"
        raise InvalidParameter("size", rule, size)
    width, height = (real_number("size", inches, least=1, most=100) for inches in size)
    return replace(SIZES["column"], width=width, columns=max(1, int(width / PANEL)), height=height)


def write_images(chart: LineChart | Ribbon, folder: Path, name: str, title: str = "") -> tuple[Path, ...]:
    """Write ``name.png``, ``.svg`` and ``.pdf``; the same chart gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = rendered(chart, KINDS, title=title)
    return tuple(write_whole(folder / f"{name}.{kind}", data) for kind, data in files.items())


def rendered(
    chart: LineChart | Ribbon,
    kinds: Sequence[str] = KINDS,
    *,
    title: str = "",
    dpi: int = 130,
    size: FigureSize = "screen",
) -> dict[str, bytes]:
    """Return the chart as the bytes of files of these kinds.

    Parameters
    ----------
    chart
        The chart to draw.
    kinds
        ``"png"``, ``"svg"``, ``"pdf"``, and ``"pgf"`` for LaTeX.
    title
        Title above the chart.
    dpi
        Dots per inch of a PNG.
    size
        One of `SIZES`, or width and height in inches.
    """
    with styled(size, latex="pgf" in kinds):
        figure = draw_ribbon(chart, title, size) if isinstance(chart, Ribbon) else draw_chart(chart, title, size)
        # The layout is solved once, not once for each format, and without drawing anything for it.
        figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # a constrained one
        figure.set_layout_engine("none")
        return {kind: _printed(figure, kind, dpi) for kind in kinds}


def _printed(figure: Figure, kind: str, dpi: int) -> bytes:
    """Return the bytes of one file; `savefig` would draw everything twice, for a layout already solved."""
    from matplotlib.backend_bases import get_registered_canvas_class

    buffer = BytesIO()
    figure.set_dpi(dpi)  # for each file: an SVG leaves its own
    canvas: Any = get_registered_canvas_class(kind)
    options = {} if kind == "pgf" else {"metadata": _UNDATED.get(kind, {})}
    getattr(canvas(figure), f"print_{kind}")(buffer, **options)
    return buffer.getvalue()


@contextmanager
def styled(size: FigureSize = "screen", *, latex: bool = False) -> Iterator[None]:
    """Apply our matplotlib settings inside the block; `latex` if LaTeX must measure text."""
    need("matplotlib")
    import matplotlib

    text = size_of(size).text
    points = {"font.size": text, "xtick.labelsize": text - 1, "ytick.labelsize": text - 1}
    program: dict[Any, Any] = {}
    if latex:
        found = next(filter(shutil.which, LATEX), None)
        if found is None:
            programs = f"{', '.join(LATEX[:-1])} or {LATEX[-1]}"
            raise MissingExtra(
                f"a .pgf figure needs LaTeX, which pip does not install: {programs} on the path "
                "(on Debian: apt-get install texlive-latex-extra). A .pdf needs none"
            )
        program = {"pgf.texsystem": found, "axes.unicode_minus": False}
    with matplotlib.rc_context(_STYLE | points | program):
        yield


def draw_chart(chart: LineChart, title: str = "", size: FigureSize = "screen") -> Figure:
    """Return the chart as a matplotlib figure, with its legend below; call it inside `styled`."""

    look, sheet = looks(chart.series), size_of(size)
    rows = [
        (row.label if first == 0 else "", list(enumerate(row.panels))[first : first + sheet.columns])
        for row in chart.rows
        for first in range(0, max(len(row.panels), 1), sheet.columns)
    ]
    columns = max((len(panels) for _, panels in rows), default=1)
    width = sheet.width or {1: 6.0, 2: 8.5}.get(columns, 3.5 * columns)
    scale = sheet.text / SIZES["screen"].text
    heading, points = _fitted(title, width, 12 * scale)
    above = [[_fitted(panel.title, width / columns - 0.7, sheet.text) for _, panel in panels] for _, panels in rows]
    lines = heading.count("\n") + sum(max((text.count("\n") for text, _ in row), default=0) for row in above)
    height = sheet.height or 1.15 * scale + sheet.row * max(len(rows), 1) + lines * sheet.text / 60
    from holdfast.report.figure import ShownFigure

    figure = ShownFigure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12 * scale, h_pad=0.06)  # type: ignore[union-attr, call-arg]  # a constrained one
    axes = figure.subplots(max(len(rows), 1), columns, squeeze=False)
    thresholds = [
        _threshold(chart, column) for column in range(max((len(row.panels) for row in chart.rows), default=0))
    ]
    for (label, panels), places, titles in zip(rows, axes, above, strict=False):
        places[0].set_title(_plain(label), loc="left", fontsize=sheet.text, fontweight="bold")
        for place, (column, panel), (words, size_of_words) in zip(places, panels, titles, strict=False):
            straight: Scale = "log" if panel.scale == chart.x_scale == "log" else "auto"  # powers as straight lines
            along, line = chart.x_scale, 1.6 * scale
            draw_panel(place, panel, look, threshold=thresholds[column], scale=straight, x_scale=along, line=line)
            if panel.title:
                place.set_title(_plain(words), loc="left", fontsize=size_of_words, fontweight="bold")
                place.set_ylabel(place.get_ylabel() if place is places[0] else "")  # all show the same
        for unused in places[len(panels) :]:
            unused.set_visible(False)
    for places in axes.T:
        lowest = [place for place in places if place.get_visible()]
        lowest[-1].set_xlabel(_plain(chart.x_label))
    if title:
        figure.suptitle(_plain(heading), fontsize=points, fontweight="bold")
    heads = chart.series_label if sheet.width is None else ""  # a paper's caption says it
    _legend(figure, heads, look, sheet.text - 0.5, scale)
    return figure


def _fitted(text: str, inches: float, points: float) -> tuple[str, float]:
    """Return a bold title that fits this width, and its size: smaller by a quarter at most, then in lines."""
    letter = 0.7 / 72  # inches that a bold letter of one point is wide, at most
    size = max(0.75 * points, min(points, inches / (letter * max(len(text), 1))))
    longest = max(map(len, text.split()), default=1)
    return textwrap.fill(text, max(int(inches / (letter * size)), 1), break_long_words=False), min(
        size, inches / (letter * longest)
    )


def _plain(text: str) -> str:
    """Escape what matplotlib would take for mathematics: a dollar in a label is a dollar."""
    return text.replace("$", r"\$")


def draw_ribbon(what: Ribbon, title: str = "", size: FigureSize = "screen") -> Figure:
    """Return the bands as a matplotlib figure, one below the other, with the arms' colours above.

    Call it inside `styled`.
    """
    from matplotlib.patches import Patch

    look, sheet = list(looks(what.arms).items()), size_of(size)
    scale = sheet.text / SIZES["screen"].text
    width = sheet.width or 8.5
    names = list(what.held)
    height = sheet.height or scale * (1.3 + 0.34 * len(names))
    from holdfast.report.figure import ShownFigure

    figure = ShownFigure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(names):
        changes, arms, steps = what.stretches(name, WIDEST)
        edges = np.array(changes) / steps
        colours = [look[arm][1].light for arm in arms]
        axes.broken_barh(list(zip(edges[:-1], np.diff(edges), strict=True)), (place - 0.4, 0.8), facecolors=colours)
    axes.set(xlim=(0, 1), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), [_plain(name) for name in names])
    axes.set_xticks(np.linspace(0, 1, len(what.ticks)), [_plain(tick) for tick in what.ticks])
    axes.get_xticklabels()[0].set_horizontalalignment("left")  # inside the bands, as the last
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if title:
        heading, points = _fitted(title, width, 12 * scale)
        figure.suptitle(_plain(heading), fontsize=points, fontweight="bold")
    handles = [Patch(color=style.light, label=_plain(arm)) for arm, style in look]
    across = max(1, min(len(handles), int(7 * width / 8.5)))
    text = sheet.text - 0.5
    figure.legend(handles=handles, loc="outside lower center", ncols=across, frameon=False, fontsize=text)
    return figure


def draw_panel(
    axes: Axes,
    panel: Panel,
    look: Mapping[str, Look],
    *,
    threshold: float | None = None,
    scale: Scale = "auto",
    x_scale: str = "linear",
    line: float = 1.6,
) -> None:
    """Draw the lines, bands and points of a panel on any axes.

    `scale` "log" takes a plain logarithmic axis; otherwise `threshold` is where a logarithmic scale begins, if at all.
    `line` is the width of lines in points.
    """
    for order, series in enumerate(panel.lines):
        # A hundred points are as smooth as the print, and keep the files small.
        thin, style = series.thin(even=80, log=20), look[series.series]
        if thin.low is not None and thin.high is not None:
            axes.fill_between(thin.x, thin.low, thin.high, color=style.light, alpha=0.16, linewidth=0)
        stroke = _stroke(style, line) | {"label": series.series}
        if not series.joined:
            axes.plot(thin.x, thin.y, **{**stroke, "linestyle": "none", "markersize": 3.75 * line})
            continue
        # Each line starts its markers a little later, so that those of neighbours do not cover each other.
        axes.plot(thin.x, thin.y, markevery=(0.04 + 0.02 * order, 0.16), **stroke)
    _values(axes, panel, threshold, scale)
    _along(axes, panel, x_scale)
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _values(axes: Axes, panel: Panel, threshold: float | None, scale: Scale) -> None:
    """Set up the vertical axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, SymmetricalLogLocator

    label, tops = _plain(panel.label), [float(np.max(line.y)) for line in panel.lines if line.y.size]
    if scale == "log":
        axes.set_yscale("log")
        label += "\n(log scale)"
    elif threshold is None:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    else:
        axes.set_yscale("symlog", linthresh=threshold, linscale=0.6)
        # Decades alone would leave a short range with a tick or two.
        subs = [1, 2, 5] if max(tops, default=1.0) < 100 * threshold else [1]
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=threshold, subs=subs))
        axes.yaxis.set_minor_locator(NullLocator())
        label += f"\n(log scale above {_tick(threshold)})"
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value) if scale == "log" else _tick(value)))
    if scale != "log" and panel.from_zero and all((line.y >= 0).all() for line in panel.lines):
        axes.set_ylim(bottom=0, auto=True)


def _along(axes: Axes, panel: Panel, x_scale: str) -> None:
    """Set up the axis of x."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if any(line.dated for line in panel.lines):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        dates = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]  # matplotlib's
        axes.xaxis.set_major_locator(dates)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]  # matplotlib's
        return
    if x_scale == "log":
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(left=0, auto=True)  # the axis may still be made logarithmic
        whole = all(np.issubdtype(line.x.dtype, np.integer) for line in panel.lines)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS, integer=whole))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value) if x_scale == "log" else _tick(value)))


def _threshold(chart: LineChart, column: int) -> float | None:
    """Return a power of ten below which no line of the column ends, or None if a linear axis suffices."""
    if not chart.logarithmic(column):
        return None
    panels = chart.sharing(column)
    ends = [abs(float(line.y[-1])) for panel in panels for line in panel.lines if line.y.size]
    above = [end for end in ends if end > 0]
    return float(10 ** np.floor(np.log10(min(above)))) if above else None


def _stroke(style: Look, width: float) -> dict[str, Any]:
    return {
        "color": style.light,
        "linewidth": width,
        "linestyle": (0, style.dash) if style.dash else "-",
        "marker": style.marker.matplotlib,
        "markersize": 2.5 * width,
    }


def _tick(value: float) -> str:
    return number(value) if float(value).is_integer() else short(value, 6)


def _power(value: float) -> str:
    """Write a power of ten above 100 or below 0.01 with its exponent, raised: 10⁵."""
    exponent = round(math.log10(value)) if value > 0 else 0
    if -2 <= exponent <= 2:
        return _tick(value)
    return "10" + f"{exponent}".replace("-", "⁻").translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _legend(figure: Figure, title: str, look: Mapping[str, Look], text: float, scale: float) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **_stroke(style, 1.6 * scale)) for style in look.values()]
    labels = [_plain(label) for label in look]
    if title:  # a first entry without a line is the heading, on the line of the entries
        handles.insert(0, Line2D([], [], linestyle="none"))
        labels.insert(0, f"{_plain(title)}:")
    # An entry is as wide as its line and its longest label, at about 0.075 inches for a letter of nine points.
    entry = scale * (0.7 + 0.075 * max(map(len, labels), default=0))
    fit = int((figure.get_figwidth() - 0.3) // entry)
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=max(1, min(len(handles), fit)),
        frameon=False,
        handlelength=3.4,
        columnspacing=1.4,
        fontsize=text,
    )
