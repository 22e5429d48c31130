"""How times are taken: warmed up, repeated, and the middle one reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(work: Callable[[], object], repetitions: int = 5) -> float:
    """The median time of `work` after one warm-up."""
    work()
    taken = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return median(taken)
