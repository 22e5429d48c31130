"""How many replications to play between two saves: enough to keep a backend busy, few enough to lose little.

The numbers of a replication depend on nothing but the settings and its own number, so chunks may be of any size, and
their size follows the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from holdfast.policies.policy import Policy
from holdfast.simulation.backends import Backend
from holdfast.simulation.game import SIDE_BY_SIDE
from holdfast.simulation.tasks import WORTH_A_ROW


@dataclass(frozen=True)
class Chunks:
    """What a chunk may take and hold."""

    seconds: float = 10.0
    """What a chunk should take: about the most that a killed run loses."""
    row_seconds: float = 60.0
    """What it may take so that every core plays a row of games side by side: as long as ten alone, for 32."""
    growth: int = 8
    """How much larger than the one before it a chunk may be."""
    most_rows: int = 2_000_000
    """Rows of one chunk's table."""
    clock: Callable[[], float] = time.perf_counter

    def spread(
        self, missing: Iterable[tuple[int, int]], policies: Iterable[Policy], checkpoints: int, backend: Backend
    ) -> Iterator[tuple[int, int]]:
        """The runs of replications (first, count) in `missing`, cut into chunks to be played one after the other.

        The time between two of them is taken for what the first of the two took.
        """
        played = list(policies)
        most = max(1, self.most_rows // (checkpoints * len(played)))
        size = width = backend.width
        row = (
            width * SIDE_BY_SIDE
            if backend.side_by_side and any(policy.kernels.side_by_side for policy in played)
            else 1
        )
        for first, count in missing:
            end = first + count
            while first < end:
                chunk = min(size, most, end - first)
                began = self.clock()
                yield first, chunk
                size = self.next_size(chunk, max(self.clock() - began, 1e-9), width, row)
                first += chunk

    def next_size(self, chunk: int, taken: float, width: int, row: int) -> int:
        """How many replications to play next: whole rows of games side by side on every core where they fit.

        `chunk` of them took `taken` seconds on `width` cores, which together play `row` side by side.
        """
        size = max(1, int(chunk * min(self.seconds / taken, self.growth)))
        if size >= row:
            return size - size % row
        alone = min(max(1.0, chunk / width), WORTH_A_ROW)  # games in turn on each core; from WORTH_A_ROW on a row
        row_seconds = taken * min(1.0, row / chunk) * WORTH_A_ROW / alone
        return row if row_seconds <= self.row_seconds else size
