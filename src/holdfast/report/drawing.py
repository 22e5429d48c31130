"""Figures for paper and README: mean and one standard deviation in three panels a row, as PNG, SVG and PDF.

Where a linear axis would flatten half of the curves (`summary.dwarfed`), as the linear regret of BaSE against the
adversary does, the values are drawn linear near zero and logarithmic above, and the axis label says so.
"""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, SymmetricalLogLocator

from holdfast.report.content import Figure
from holdfast.report.files import write_whole
from holdfast.report.palette import Look, looks
from holdfast.report.summary import MEASURE_LABELS, Curve, curves, dwarfed, number, ordered

_INK, _QUIET, _GRID = "#222222", "#666666", "#e6e6e6"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "holdfast",  # else the ids in an SVG are drawn at random
    "text.parse_math": False,  # a dollar in a label is a dollar
    "axes.unicode_minus": True,
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same bytes on every machine
    "font.size": 9.5,
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.7,
    "text.color": _INK,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}
_STEPS = [1, 2, 2.5, 5, 10]
# Without these, files would carry the time they were made.
_UNDATED: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(figure: Figure, directory: Path) -> tuple[Path, ...]:
    """Write `<name>.png`, `.svg` and `.pdf` into `directory`; the same figure gives the same bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    return tuple(
        write_whole(directory / f"{figure.name}.{kind}", data)
        for kind, data in _rendered(figure, ("png", "svg", "pdf")).items()
    )


def svg(figure: Figure) -> bytes:
    """The figure as one SVG document without its title, for a page that has the title in its text."""
    return _rendered(replace(figure, title=""), ("svg",))["svg"]


def png(figure: Figure, dpi: int) -> bytes:
    """The figure as one PNG image without its title: a smaller `dpi` for a smaller file."""
    return _rendered(replace(figure, title=""), ("png",), dpi)["png"]


def _rendered(figure: Figure, kinds: tuple[str, ...], dpi: int = 130) -> dict[str, bytes]:
    with matplotlib.rc_context(_STYLE):
        canvas = _canvas(figure)
        # The layout is solved once, not once for each format.
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")
        files = {}
        for kind in kinds:
            buffer = BytesIO()
            canvas.savefig(buffer, format=kind, dpi=dpi, metadata=_UNDATED[kind])
            files[kind] = buffer.getvalue()
    return files


def _canvas(figure: Figure) -> Canvas:
    rows = [curves(row.frame) for row in figure.rows]
    labels = ordered(list(dict.fromkeys(line.label for lines in rows for line in lines)))
    look = looks(labels)
    canvas = Canvas(figsize=(10.5, 1.15 + 2.6 * len(rows)), layout="constrained")
    FigureCanvasAgg(canvas)
    canvas.get_layout_engine().set(w_pad=0.12, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    axes = canvas.subplots(len(rows), 3, squeeze=False)
    for row, lines, panels in zip(figure.rows, rows, axes, strict=True):
        panels[0].set_title(row.label, loc="left", fontsize=9.5, fontweight="bold")
        for measure, panel in enumerate(panels):
            _lines(panel, lines, measure, look)
            _axes(panel, lines, measure, _threshold(rows, measure))
    for panel in axes[-1]:
        panel.set_xlabel("round")
    if figure.title:
        canvas.suptitle(figure.title, fontsize=12, fontweight="bold")
    _legend(canvas, figure.series_label, look)
    return canvas


def _lines(panel: Axes, lines: Sequence[Curve], measure: int, look: dict[str, Look]) -> None:
    for order, line in enumerate(lines):
        # A hundred points are as smooth as the print, and keep the files small.
        thin, style = line.thin(even=80, log=20), look[line.label]
        mean, sd = thin.mean[measure], thin.sd[measure]
        # One replication has no deviation, and so no band.
        if np.isfinite(sd).any():
            panel.fill_between(thin.rounds, mean - sd, mean + sd, color=style.light, alpha=0.16, linewidth=0)
        # Each line starts its markers a little later, so that those of neighbours do not cover each other.
        panel.plot(thin.rounds, mean, markevery=(0.04 + 0.02 * order, 0.16), **_stroke(style))


def _axes(panel: Axes, lines: Sequence[Curve], measure: int, threshold: float | None) -> None:
    label = MEASURE_LABELS[measure]
    if threshold is None:
        panel.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    else:
        panel.set_yscale("symlog", linthresh=threshold, linscale=0.6)
        top = max(line.mean[measure].max() for line in lines)
        # Decades alone would leave a short range with a tick or two.
        subs = [1, 2, 5] if top < 100 * threshold else [1]
        panel.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=threshold, subs=subs))
        panel.yaxis.set_minor_locator(NullLocator())
        label += f"\n(log scale above {_tick(threshold)})"
    panel.set_ylabel(label)
    if all((line.mean[measure] >= 0).all() for line in lines):
        panel.set_ylim(bottom=0)
    panel.set_xlim(left=0)
    panel.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS, integer=True))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    panel.grid(color=_GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _threshold(rows: Sequence[Sequence[Curve]], measure: int) -> float | None:
    """A power of ten below which no curve ends, or None where a linear axis will do."""
    if not dwarfed(rows, measure):
        return None
    ends = [abs(line.mean[measure, -1]) for lines in rows for line in lines]
    return float(10 ** np.floor(np.log10(min(end for end in ends if end > 0))))


def _stroke(style: Look) -> dict[str, Any]:
    return {
        "color": style.light,
        "linewidth": 1.6,
        "linestyle": (0, style.dash) if style.dash else "-",
        "marker": style.marker.matplotlib,
        "markersize": 4,
    }


def _tick(value: float) -> str:
    return number(value) if float(value).is_integer() else f"{value:g}".replace("-", "−")


def _legend(canvas: Canvas, title: str, look: dict[str, Look]) -> None:
    # A first entry without a line is the heading, on the line of the entries.
    handles = [Line2D([], [], linestyle="none")]
    handles += [Line2D([], [], **_stroke(style)) for style in look.values()]
    canvas.legend(
        handles,
        [f"{title}:", *look],
        loc="outside lower center",
        ncols=min(len(handles), 8),
        frameon=False,
        handlelength=3.4,
        columnspacing=1.4,
        fontsize=9,
    )
