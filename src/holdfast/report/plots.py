"""Plots of a result: on matplotlib's axes, as an image, or as an interactive page. Implements `Result.plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.checks import one_of
from holdfast.errors import InvalidParameter
from holdfast.extras import need
from holdfast.files import write_whole
from holdfast.numerics.regret import EVERY_MEASURE
from holdfast.report.charts import BANDS, DRAWN, ChartRow, LineChart, Panel, looks, result_chart
from holdfast.report.drawing import KINDS, SIZES, FigureSize, draw_chart, draw_panel, rendered, size_of, styled
from holdfast.report.html import Column, Section, line_chart, page, table
from holdfast.results import IN_WORDS, Result, rows_of
from holdfast.text import counted

SCALES = ("auto", "linear", "log")
MOST_ROWS = 40
"""Most grid combinations drawn in one figure."""

ACROSS = 3
"""Most small multiples side by side where the grid does not make rows of them."""


def chart_of(
    result: Result,
    measures: Sequence[str] | str = DRAWN,
    scale: str = "auto",
    band: str = "sd",
    x_scale: str = "linear",
    across: int = SIZES["screen"].columns,
) -> LineChart:
    """Return the chart of a result: a column of panels per measure, a row per combination of its grid.

    One measure in several combinations makes small multiples, at most `across` of them side by side.
    """
    named = [measures] if isinstance(measures, str) else list(measures)
    if not named:
        raise InvalidParameter("measures", f"must be some of {', '.join(map(repr, result.measures))}", measures)
    for measure in named:
        one_of("measures", measure, result.measures)
    one_of("scale", scale, SCALES)
    one_of("x_scale", x_scale, SCALES[1:])
    one_of("band", band, BANDS)
    if result.frame.is_empty():
        raise InvalidParameter("result", "must have rows to draw", "none")
    varying = [name for name in result.grid if result.frame[name].n_unique() > 1]
    groups = result.frame.partition_by(varying, maintain_order=True, as_dict=True) if varying else {(): result.frame}
    if len(groups) > MOST_ROWS:
        rule = f"must not have more than {MOST_ROWS} combinations in its grid to draw; filter its frame"
        raise InvalidParameter("result", rule, len(groups))
    frames = {_combination(varying, values): frame for values, frame in groups.items()}
    chart = result_chart(frames, measures=named, scale=scale, band=band)  # type: ignore[arg-type]  # checked
    if len(named) == 1 and varying:
        panels = {
            values: replace(row.panels[0], title=row.label) for values, row in zip(groups, chart.rows, strict=True)
        }
        rows = _multiples(panels, across)
        heads = [rows[0][0].label] + [""] * len(rows)
        chart = replace(chart, rows=tuple(ChartRow(head, row) for head, row in zip(heads, rows, strict=False)))
    return replace(chart, x_scale=x_scale)  # type: ignore[arg-type]  # checked


def _multiples(panels: Mapping[Any, Panel], across: int) -> list[tuple[Panel, ...]]:
    """Return rows of panels, given by the values that vary: a row for each value of all but the last, or even rows."""
    rows: dict[Any, list[Panel]] = {}
    for values, panel in panels.items():
        rows.setdefault(values[:-1], []).append(panel)
    if len(rows) > 1 and max(map(len, rows.values())) <= across:
        return [tuple(row) for row in rows.values()]
    flat = list(panels.values())
    most = min(across, ACROSS)
    each = -(-len(flat) // -(-len(flat) // most))
    return [tuple(flat[i : i + each]) for i in range(0, len(flat), each)]


def _combination(grid: Sequence[str], values: Sequence[Any]) -> str:
    shown = (f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    return ", ".join(f"{IN_WORDS.get(name, name)} = {value}" for name, value in zip(grid, shown, strict=True))


def plot_result(
    result: Result,
    path: str | Path | None = None,
    *,
    measures: Sequence[str] | str = DRAWN,
    scale: str = "auto",
    x_scale: str = "linear",
    band: str = "sd",
    size: FigureSize = "screen",
    axes: Any = None,
    title: str = "",
) -> Any:
    """Implement `Result.plot`: return a figure, or draw on `axes`, or write the file named by `path`."""
    chart = chart_of(result, measures, scale, band, x_scale, size_of(size).columns)
    if axes is not None:
        if path is not None:
            raise InvalidParameter("path", "must be left out where axes are given", str(path))
        return _on_axes(chart, axes, scale)
    if path is None:
        with styled(size):
            return draw_chart(chart, title, size)
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".html":
        return write_whole(file, _page(result, chart, title, band).encode())
    if suffix.removeprefix(".") not in (*KINDS, "pgf"):
        rule = f"must end in .html, {', '.join(f'.{kind}' for kind in KINDS)} or .pgf"
        raise InvalidParameter("path", rule, str(path))
    return write_whole(file, rendered(chart, (suffix[1:],), title=title, size=size)[suffix[1:]])


def _on_axes(chart: LineChart, axes: Any, scale: str) -> Any:
    """Draw on one pair of axes per panel, in the order of the rows."""
    need("matplotlib")
    given = list(np.ravel(np.asarray(axes, dtype=object)))
    panels = [panel for row in chart.rows for panel in row.panels]
    if len(given) != len(panels):
        rule = f"must be {counted(len(panels), 'pair')} of axes, one for each measure and combination of the grid"
        raise InvalidParameter("axes", rule, len(given))
    look = looks(chart.series)
    for one, panel in zip(given, panels, strict=True):
        along = "log" if one.get_xscale() == "log" else chart.x_scale
        draw_panel(one, panel, look, scale=scale, x_scale=along)  # type: ignore[arg-type]  # checked
        one.set_xlabel(chart.x_label)
    return axes


def _page(result: Result, chart: LineChart, title: str, band: str) -> str:
    head, *rows = rows_of(result.final())
    columns = [Column(name, numeric=name in EVERY_MEASURE.values()) for name in head]
    lead = f"{counted(len(result.policies), 'policy', 'policies')}; lines are {BANDS[band]}."  # type: ignore[index]  # checked
    sections = [
        Section("Over the rounds", [line_chart(chart, "the measures of each policy over the rounds")], name="rounds"),
        Section("At the end", [table(columns, rows, caption="Mean ± standard error at the last round.")], name="end"),
    ]
    return page(title=title or "Simulation results", lead=lead, sections=sections)
