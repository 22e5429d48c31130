"""Many charts at once, on all cores.

Matplotlib draws one figure at a time, so helpers are processes of their own. They are plain interpreters that are sent
the charts, not forks or spawns of this one: a fork would copy the locks of running threads, a spawn would run the
caller's script again.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.checks import cores
from holdfast.errors import HoldfastError
from holdfast.report.charts import LineChart
from holdfast.report.drawing import write_images

_HELPER = "from holdfast.report.workers import help_out; help_out()"


@dataclass(frozen=True)
class Image:
    """A chart to be written to ``folder/name.png``, ``.svg`` and ``.pdf``."""

    chart: LineChart
    folder: Path
    name: str
    title: str = ""

    def write(self) -> None:
        """Draw it here."""
        write_images(self.chart, self.folder, self.name, self.title)


@contextmanager
def drawn_meanwhile(images: Sequence[Image]) -> Iterator[None]:
    """Images drawn by helpers while this process does something else; leaving the block waits for them."""
    # A helper takes a second to start: for an image or two it is not worth it.
    helpers = min(cores(), 8, len(images) // 2) if sys.executable else 0
    # This process has something else to do, and takes its smaller share of the images afterwards.
    own = len(images) // (2 * helpers + 1) if helpers else len(images)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.extend(_started(images[own:][i::helpers]) for i in range(helpers))
        yield
        for image in images[:own]:
            image.write()
        for helper in started:
            _wait(helper)
    finally:
        for helper in started:
            if helper.poll() is None:
                helper.kill()
            helper.wait()
            if helper.stderr is not None:
                helper.stderr.close()


def _started(images: Sequence[Image]) -> subprocess.Popen[bytes]:
    helper = subprocess.Popen(
        [sys.executable, "-c", _HELPER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert helper.stdin is not None
    with suppress(BrokenPipeError), helper.stdin as sink:  # of a helper that dies early its standard error tells
        pickle.dump(tuple(images), sink, protocol=pickle.HIGHEST_PROTOCOL)
    return helper


def _wait(helper: subprocess.Popen[bytes]) -> None:
    assert helper.stderr is not None
    said = helper.stderr.read().decode(errors="replace").strip()
    if helper.wait():
        raise HoldfastError(f"drawing failed: {said.splitlines()[-1] if said else 'no reason'}")


def help_out() -> None:
    """What a helper does: draw the images that come in on its standard input."""
    for image in pickle.load(sys.stdin.buffer):
        try:
            image.write()
        except HoldfastError as error:  # one line for the process that waits
            print(error, file=sys.stderr)
            sys.exit(1)
