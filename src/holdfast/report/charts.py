"""Charts as plain data: what is drawn, not how. `drawing` draws them on paper, `html` puts them on a page.

A `LineChart` is a grid of panels with one legend; a panel has lines with bands, or points. `result_chart` makes one of
the tables that `simulate` gives. `HeatMap` and `Ribbon` stand alone.

>>> from holdfast.report.charts import Line, Panel, one_panel
>>> frontier = Line("best plan", [0, 1, 5], [9.0, 7.5, 7.0])
>>> policies = Line("tsallis-switch", [12], [8.0], joined=False)
>>> one_panel(Panel("losses", (frontier, policies)), x_label="switches").series
['best plan', 'tsallis-switch']
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.extras import pl
from holdfast.numerics.regret import EVERY_MEASURE
from holdfast.numerics.statistics import student_quantile

Scale = Literal["auto", "linear", "log"]

Band = Literal["sd", "mean", "quantiles", "none"]
BANDS: Mapping[Band, str] = {
    "sd": "means, with bands of one standard deviation to either side",
    "mean": "means, with bands of their 95 % confidence intervals",
    "quantiles": "medians, with bands from the 10 % to the 90 % quantile",
    "none": "means",
}
"""Meanings of a line and its band."""

DRAWN = ("pseudo_regret", "switches", "regret_with_switching")
"""Default measures in a chart of a result."""


@dataclass(frozen=True)
class Line:
    """One series of a panel: `y` over `x`, with a band from `low` to `high` where they are given.

    `x` may be numbers or times (datetime64). `joined` false draws points instead of a line.
    """

    series: str
    x: Any
    y: Any
    low: Any = None
    high: Any = None
    joined: bool = True

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, np.asarray(values))

    @property
    def dated(self) -> bool:
        """True if x is time."""
        return np.issubdtype(self.x.dtype, np.datetime64)

    def thin(self, even: int, log: int) -> Line:
        """Return at most `even` points spread evenly over x and `log` over log x, including the ends."""
        if not self.joined or self.x.size <= even + log:
            return self
        x = self.x.astype(np.float64)
        wanted = np.concatenate([np.linspace(x[0], x[-1], even), np.geomspace(max(x[0], 1.0), max(x[-1], 1.0), log)])
        keep = np.unique(np.searchsorted(x, wanted).clip(0, x.size - 1))
        parts = {
            name: values[keep] for name in ("x", "y", "low", "high") if (values := getattr(self, name)) is not None
        }
        return replace(self, **parts)


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `scale` "auto" is logarithmic where a linear axis would flatten half of the lines."""

    label: str
    lines: tuple[Line, ...]
    scale: Scale = "auto"
    from_zero: bool = True
    """True if a linear axis of nonnegative values begins at zero."""
    title: str = ""
    """The setting that tells it apart, in a chart that shows one measure in several."""


@dataclass(frozen=True)
class ChartRow:
    """Panels side by side; `label` is empty if there is one row."""

    label: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class LineChart:
    """Rows of panels with one legend, `series_label`, and one meaning of x, `x_label`, linear or logarithmic."""

    rows: tuple[ChartRow, ...]
    series_label: str = "policy"
    x_label: str = "round"
    x_scale: Literal["linear", "log"] = "linear"

    @property
    def lines(self) -> list[Line]:
        """Lines of all panels."""
        return [line for row in self.rows for panel in row.panels for line in panel.lines]

    @property
    def series(self) -> list[str]:
        """Series in legend order: numbers by value, others as they come."""
        return in_order(list(dict.fromkeys(line.series for line in self.lines)))

    @property
    def dated(self) -> bool:
        """True if x is time."""
        return any(line.dated for line in self.lines)

    def sharing(self, column: int) -> list[Panel]:
        """Return the panels with the same kind of axis: those of the column, or all where all show one measure."""
        panels = [panel for row in self.rows for panel in row.panels]
        if any(panel.title for panel in panels):
            return panels
        return [row.panels[column] for row in self.rows if column < len(row.panels)]

    def logarithmic(self, column: int) -> bool:
        """Return True if the panels of this column get a logarithmic axis, on screen and on paper alike.

        Never by default if a line ends at or below zero, which has no place there.
        """
        panels = self.sharing(column)
        if any(panel.scale == "log" for panel in panels):
            return True
        ends = [float(line.y[-1]) for panel in panels for line in panel.lines if line.y.size]
        return min(ends, default=0.0) > 0 and any(panel.scale == "auto" and _flattened(panel) for panel in panels)


@dataclass(frozen=True)
class HeatMap:
    """A table whose cells are coloured by `values`, a row per name in `rows`; `shown` is the text of the cells.

    `middle` is the value without colour: smaller ones are good (blue), larger ones bad (orange), each on a
    logarithmic scale up to `limit` times the middle. NaN has no colour.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[np.float64]
    shown: Sequence[Sequence[str]]
    corner: str = ""
    middle: float = 1.0
    limit: float = 10.0


@dataclass(frozen=True)
class Ribbon:
    """Which arm was held when: a band per name, `held` having an arm (an index into `arms`) per round.

    `ticks` are the times or numbers below the rounds, from the first to the last and evenly spaced.
    """

    arms: Sequence[str]
    held: Mapping[str, Any]
    ticks: Sequence[str] = ("1", "")

    def stretches(self, name: str, most: int) -> tuple[list[int], list[int], int]:
        """Return the band in a limited number of steps: starts of arms and the end, the arms, and the step count.

        Each step shows the arm held for most of its rounds.
        """
        held = np.asarray(self.held[name])
        steps = min(held.size, most)
        edges = np.linspace(0, held.size, steps + 1).astype(int)
        arms = [int(np.bincount(held[a:b], minlength=len(self.arms)).argmax()) for a, b in pairwise(edges)]
        changes = [0, *(i for i in range(1, steps) if arms[i] != arms[i - 1]), steps]
        return changes, [arms[i] for i in changes[:-1]], steps


def in_order(labels: list[str]) -> list[str]:
    """Return numbers by value, everything else as it comes."""
    return sorted(labels, key=float) if all_numbers(labels) else labels


def all_numbers(labels: Sequence[str]) -> bool:
    """Return True if every label is a number, as the series of a sweep are."""
    try:
        return all(np.isfinite(float(label)) for label in labels)
    except ValueError:
        return False


def one_panel(panel: Panel, *, x_label: str = "round", x_scale: Literal["linear", "log"] = "linear") -> LineChart:
    """Return a chart of one panel."""
    return LineChart((ChartRow("", (panel,)),), "", x_label, x_scale)


def result_chart(
    tables: Mapping[str, pl.DataFrame],
    *,
    series_label: str = "policy",
    measures: Sequence[str] = DRAWN,
    scale: Scale = "auto",
    band: Band = "sd",
) -> LineChart:
    """Return a chart of one or more result tables: each is a row of panels, one per measure.

    With one replication there is no band.
    """
    rows = (ChartRow(label, _panels(frame, measures, scale, band)) for label, frame in tables.items())
    return LineChart(tuple(rows), series_label)


def _panels(frame: pl.DataFrame, measures: Sequence[str], scale: Scale, band: Band) -> tuple[Panel, ...]:
    values = [pl.col(measure).cast(pl.Float64) for measure in measures]
    found = {"mean": pl.Expr.mean, "sd": pl.Expr.std}
    if band == "quantiles":
        shares = {"q10": 0.1, "q50": 0.5, "q90": 0.9}
        found = {name: partial(pl.Expr.quantile, quantile=at, interpolation="linear") for name, at in shares.items()}
    columns = [make(value).name.suffix(f"_{what}") for value in values for what, make in found.items()]
    table = (
        frame.with_columns(pl.col("policy").cast(pl.String))
        .group_by("policy", "round", maintain_order=True)
        .agg(pl.len().alias("n"), *columns)
        .sort("round", maintain_order=True)
    )
    policies = in_order([str(label) for label in frame["policy"].unique(maintain_order=True)])
    parts = {policy: table.filter(pl.col("policy") == policy) for policy in policies}
    return tuple(
        Panel(EVERY_MEASURE.get(name, name), tuple(_line(p, part, name, band) for p, part in parts.items()), scale)
        for name in measures
    )


def _line(policy: str, part: pl.DataFrame, measure: str, band: Band) -> Line:
    def column(what: str) -> NDArray[np.float64]:
        return part[f"{measure}_{what}"].fill_null(np.nan).to_numpy()

    rounds, n = part["round"].cast(pl.Int64).to_numpy(), part["n"].to_list()
    if band == "quantiles":
        middle, low, high = column("q50"), column("q10"), column("q90")
    else:
        middle, half = column("mean"), column("sd")
        if band == "mean":
            half = half * [student_quantile(0.975, k - 1) / math.sqrt(k) if k > 1 else np.nan for k in n]
        low, high = middle - half, middle + half
    if band == "none" or max(n, default=1) == 1 or not np.isfinite(low).any():
        return Line(policy, rounds, middle)
    return Line(policy, rounds, middle, low, high)


def _flattened(panel: Panel) -> bool:
    """Return True if half of the lines end below a tenth of the highest."""
    ends = np.array([abs(float(line.y[-1])) for line in panel.lines if line.joined and line.y.size])
    return bool(ends.size > 1 and np.mean(ends < ends.max() / 10) >= 0.5)


# How a series looks: the same colour, dash and marker for a policy wherever it is drawn.
#
# The colours are those of Okabe and Ito (2008), distinguishable with any common colour blindness; dash and marker tell
# the lines apart without any colour.


@dataclass(frozen=True)
class Marker:
    """One marker by its name in matplotlib and as an SVG path around the origin; both may be empty for none."""

    matplotlib: str = ""
    path: str = ""


@dataclass(frozen=True)
class Look:
    """Colour on white and on black, dash lengths (none: solid) and marker of a line."""

    light: str
    dark: str
    dash: tuple[float, ...] = ()
    marker: Marker = Marker()


_MARKERS = (
    Marker("o", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z"),
    Marker("s", "M-3-3h6v6h-6z"),
    Marker("^", "M0-4L4 3H-4z"),
    Marker("D", "M0-4.5L4.5 0L0 4.5L-4.5 0z"),
    Marker("v", "M0 4L4-3H-4z"),
    Marker("P", "M-1.5-4h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5z"),
    Marker("X", "M-4-2L-2-4L0-2L2-4L4-2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0z"),
)
_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (6, 2.5),
    (1.5, 2),
    (7, 2, 1.5, 2),
    (11, 3),
    (7, 2, 1.5, 2, 1.5, 2),
    (3, 1.5),
)
PALETTE = (
    ("#d55e00", "#f0803c"),
    ("#0072b2", "#4da3e0"),
    ("#009e73", "#2fc79a"),
    ("#56b4e9", "#9bd6f7"),
    ("#cc79a7", "#e39cc3"),
    ("#1a1a1a", "#e8e8e8"),
    ("#e69f00", "#f2c14e"),
)
"""Colours on white and on black. Orange comes last, being the nearest to vermilion."""
_LOOKS = tuple(
    Look(light, dark, dash, marker) for (light, dark), dash, marker in zip(PALETTE, _DASHES, _MARKERS, strict=True)
)
_FIXED = {
    "tsallis-switch": _LOOKS[0],
    "tsallis-inf": _LOOKS[1],
    "exp3": _LOOKS[2],
    "exp3-blocks": _LOOKS[3],
    "base-arithmetic": _LOOKS[4],
    "base-geometric": _LOOKS[5],
    "adaptive": _LOOKS[6],
}
"""Looks of policies that are often drawn; the others take what is left."""

# Matplotlib's viridis at seventeen places: a page needs no matplotlib for its colours.
_VIRIDIS = (
    "#440154", "#48186a", "#472d7b", "#424086", "#3b528b", "#33638d", "#2c728e", "#26828e", "#21918c",
    "#1fa088", "#28ae80", "#3fbc73", "#5ec962", "#84d44b", "#addc30", "#d8e219", "#fde725",
)  # fmt: skip


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """Return the look of each label: fixed for known policies, a sequence of colours for numbers."""
    if len(labels) > 1 and all_numbers(labels):
        return _sequence(labels)
    chosen = {label: _FIXED[label] for label in labels if label in _FIXED}
    free = [look for look in _LOOKS if look not in chosen.values()]
    for i, label in enumerate(label for label in labels if label not in _FIXED):
        # Past the palette the colours come again, each time with the next dash and marker.
        beyond = i - len(free)
        look, turn = (free[i], 0) if beyond < 0 else (_LOOKS[beyond % len(_LOOKS)], 1 + beyond // len(_LOOKS))
        dash, marker = (
            (named.index(of) + turn) % len(_LOOKS) for named, of in ((_DASHES, look.dash), (_MARKERS, look.marker))
        )
        chosen[label] = replace(look, dash=_DASHES[dash], marker=_MARKERS[marker])
    return {label: chosen[label] for label in labels}


def sequence_colour(share: float) -> str:
    """Return the colour at `share`, from 0 to 1, of a sequence that also reads in grey."""
    places = np.linspace(0, 1, len(_VIRIDIS))
    channels = ([int(colour[i : i + 2], 16) for colour in _VIRIDIS] for i in (1, 3, 5))
    return "#" + "".join(f"{round(np.interp(share, places, channel)):02x}" for channel in channels)


def _sequence(labels: Sequence[str]) -> dict[str, Look]:
    last = len(labels) - 1
    return {
        label: Look(
            # The ends that would vanish on white or on black are left out.
            sequence_colour(0.85 * i / last),
            sequence_colour(0.3 + 0.7 * i / last),
            _DASHES[i % len(_DASHES)],
            _MARKERS[i % len(_MARKERS)],
        )
        for i, label in enumerate(labels)
    }
