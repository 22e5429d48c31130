"""Many figures at once, on all cores.

Matplotlib draws one figure at a time, so helpers are processes of their own. They are plain interpreters that are sent
the figures, not forks or spawns of this one: a fork would copy the locks of running threads, a spawn would run the
caller's script again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.report.content import Figure
from holdfast.report.figures import draw

_HELPER = "from holdfast.report.drawing import help_out; help_out()"


class Drawing:
    """Figures being drawn by helpers while this process does something else; leaving the block waits for them."""

    def __init__(self, figures: Sequence[Figure], directory: Path) -> None:
        self.figures, self.directory = tuple(figures), directory
        self._helpers: list[subprocess.Popen[bytes]] = []
        self._own: tuple[Figure, ...] = self.figures

    def __enter__(self) -> Drawing:
        # A helper takes a second to start: for a figure or two it is not worth it.
        helpers = min(len(os.sched_getaffinity(0)), 8, len(self.figures) // 2) if sys.executable else 0
        if helpers:
            # This process has the page to write, and takes its smaller share of the figures afterwards.
            own = len(self.figures) // (2 * helpers + 1)
            self._own, rest = self.figures[:own], self.figures[own:]
            for i in range(helpers):
                self._start(rest[i::helpers])
        return self

    def _start(self, figures: Sequence[Figure]) -> None:
        helper = subprocess.Popen(
            [sys.executable, "-c", _HELPER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self._helpers.append(helper)
        assert helper.stdin is not None
        with helper.stdin as sink:
            pickle.dump((figures, self.directory), sink, protocol=pickle.HIGHEST_PROTOCOL)

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                for figure in self._own:
                    draw(figure, self.directory)
                for helper in self._helpers:
                    assert helper.stderr is not None
                    said = helper.stderr.read().decode(errors="replace")
                    if helper.wait():
                        raise HoldfastError(f"drawing failed: {said.strip().splitlines()[-1] if said else 'no reason'}")
        finally:
            for helper in self._helpers:
                if helper.poll() is None:
                    helper.kill()
                helper.wait()
                if helper.stderr is not None:
                    helper.stderr.close()


def help_out() -> None:
    """What a helper does: draw the figures that come in on its standard input."""
    figures, directory = pickle.load(sys.stdin.buffer)
    for figure in figures:
        draw(figure, directory)
