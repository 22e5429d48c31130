"""How a series looks: the same colour, dash and marker for a policy wherever it is drawn.

The colours are those of Okabe and Ito (2008), distinguishable with any common colour blindness; dash and marker tell
the lines apart without any colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.report.charts import all_numbers


@dataclass(frozen=True)
class Marker:
    """One marker by its name in matplotlib and in plotly, and as an SVG path around the origin."""

    matplotlib: str
    plotly: str
    path: str


@dataclass(frozen=True)
class Look:
    """Colour on white and on black, dash lengths (none: solid) and marker of a line."""

    light: str
    dark: str
    dash: tuple[float, ...]
    marker: Marker


_MARKERS = (
    Marker("o", "circle", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z"),
    Marker("s", "square", "M-3-3h6v6h-6z"),
    Marker("^", "triangle-up", "M0-4L4 3H-4z"),
    Marker("D", "diamond", "M0-4.5L4.5 0L0 4.5L-4.5 0z"),
    Marker("v", "triangle-down", "M0 4L4-3H-4z"),
    Marker("P", "cross", "M-1.5-4h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5z"),
    Marker("X", "x", "M-4-2L-2-4L0-2L2-4L4-2L2 0L4 2L2 4L0 2L-2 4L-4 2L-2 0z"),
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
# On white and on black; orange comes last, being the nearest to vermilion.
_COLOURS = (
    ("#d55e00", "#f0803c"),
    ("#0072b2", "#4da3e0"),
    ("#009e73", "#2fc79a"),
    ("#56b4e9", "#9bd6f7"),
    ("#cc79a7", "#e39cc3"),
    ("#1a1a1a", "#e8e8e8"),
    ("#e69f00", "#f2c14e"),
)
_LOOKS = tuple(
    Look(light, dark, dash, marker) for (light, dark), dash, marker in zip(_COLOURS, _DASHES, _MARKERS, strict=True)
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
"""Policies that are often drawn; the others take what is left."""

# Matplotlib's viridis at seventeen places: a page needs no matplotlib for its colours.
_VIRIDIS = (
    "#440154", "#48186a", "#472d7b", "#424086", "#3b528b", "#33638d", "#2c728e", "#26828e", "#21918c",
    "#1fa088", "#28ae80", "#3fbc73", "#5ec962", "#84d44b", "#addc30", "#d8e219", "#fde725",
)  # fmt: skip


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """The look of each label: fixed for known policies, a sequence of colours for numbers."""
    if len(labels) > 1 and all_numbers(labels):
        return _sequence(labels)
    chosen = {label: _FIXED[label] for label in labels if label in _FIXED}
    free = [look for look in _LOOKS if look not in chosen.values()]
    for i, label in enumerate(label for label in labels if label not in _FIXED):
        # Past the palette the colours come again, each time with the next dash.
        look = free[i] if i < len(free) else _LOOKS[i % len(_LOOKS)]
        turn = i // len(_LOOKS)
        chosen[label] = replace(look, dash=_DASHES[(_DASHES.index(look.dash) + turn) % len(_DASHES)])
    return {label: chosen[label] for label in labels}


def sequence_colour(share: float) -> str:
    """The colour at `share`, from 0 to 1, of a sequence that also reads in grey."""
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
