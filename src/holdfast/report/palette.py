"""How a series looks: the same colour, dash and marker for a policy wherever it is drawn.

The colours are those of Okabe and Ito (2008), told apart with any common colour blindness; dash and marker tell
the lines apart without any colour.
"""

from dataclasses import dataclass

import matplotlib
from matplotlib.colors import to_hex

from holdfast.report.summary import KNOWN, all_numbers


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


def looks(labels: list[str]) -> dict[str, Look]:
    """The look of each label: fixed for the paper's policies, a sequence of colours for numbers."""
    if len(labels) > 1 and all_numbers(labels):
        return _sequence(labels)
    chosen = {label: _LOOKS[KNOWN.index(label)] for label in labels if label in KNOWN}
    others = [label for label in labels if label not in KNOWN]
    free = [look for look in _LOOKS if look not in chosen.values()]
    for i, label in enumerate(others):
        # Past the palette the colours come again, each time with the next dash.
        look = free[i] if i < len(free) else _LOOKS[i % len(_LOOKS)]
        turn = i // len(_LOOKS)
        dash = _DASHES[(_DASHES.index(look.dash) + turn) % len(_DASHES)]
        chosen[label] = Look(look.light, look.dark, dash, look.marker)
    return {label: chosen[label] for label in labels}


def _sequence(labels: list[str]) -> dict[str, Look]:
    viridis = matplotlib.colormaps["viridis"]
    last = len(labels) - 1
    return {
        label: Look(
            # The ends that would vanish on white or on black are left out.
            to_hex(viridis(0.85 * i / last)),
            to_hex(viridis(0.3 + 0.7 * i / last)),
            _DASHES[i % len(_DASHES)],
            _MARKERS[i % len(_MARKERS)],
        )
        for i, label in enumerate(labels)
    }
