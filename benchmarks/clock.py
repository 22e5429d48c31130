"""Timing: warm up, repeat, report the middle one."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

ENOUGH = 0.2
"""Seconds that work is repeated for at least: three runs of less than a millisecond would say nothing."""


def seconds(work: Callable[[], object], repetitions: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median time of `work` after a warm-up, of `repetitions` or as many as fit into `ENOUGH` seconds."""
    work()
    taken: list[float] = []
    while len(taken) < repetitions or sum(taken) < ENOUGH:
        begun = clock()
        work()
        taken.append(clock() - begun)
    return median(taken)
