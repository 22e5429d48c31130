"""A matplotlib figure that notebooks show as an image and that saves with our settings. Needs matplotlib."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from holdfast.report.drawing import styled

PIXELS = 200
"""Dots per inch in a notebook, shown at half size to be sharp on any screen."""


class ShownFigure(Figure):
    """A matplotlib figure that keeps its settings whenever it is drawn again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        with styled():
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the image that a notebook shows, and its size."""
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=PIXELS)
        width, height = (round(PIXELS / 2 * inches) for inches in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
