"""Sums that keep their digits: compensated, as two floats, or exact as a few numbers that do not overlap.

An exact sum is a few numbers that add up to exactly what was added, in whatever order (Shewchuk 1997): in plain Python
by `math.fsum`, compiled in a fixed number of places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from holdfast._numba.compile import kernel


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b rounded, and exactly what rounding took away (Knuth)."""
    total = a + b
    added = total - a
    return total, (a - (total - added)) + (b - added)


@kernel
def plus(high: float, low: float, x: float) -> tuple[float, float]:
    """Return (high + low) + x, again as two floats: the sum rounded, and what is left of it."""
    total, error = two_sum(high, x)
    rest = error + low
    rounded = total + rest
    return rounded, rest - (rounded - total)


@kernel
def compensated(total: float, rest: float, x: float) -> tuple[float, float]:
    """Add x to a total that remembers what its last rounding took away (Kahan)."""
    step = x + rest
    more = total + step
    return more, step - (more - total)


def exact_sum(pieces: Iterable[float]) -> list[float]:
    """Return a few numbers whose sum is exactly that of `pieces`, in whatever order they came."""
    left = list(pieces)
    parts: list[float] = []
    while (part := math.fsum(left)) != 0.0:
        parts.append(part)
        left.append(-part)
    return parts


@kernel
def add_exactly(parts: Any, used: int, x: float) -> int:
    """Add x to a sum of numbers that do not overlap, the smallest first; return how many there are now."""
    kept = 0
    for i in range(used):
        y = parts[i]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    if x != 0.0 or kept == 0:
        parts[kept] = x
        kept += 1
    return kept


@kernel
def rounded_sum(parts: Any, used: int) -> float:
    """Return the sum of numbers that do not overlap, rounded once to the nearest, halves to even."""
    if used == 0:
        return 0.0
    n = used - 1
    high: float = parts[n]
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = 2.0 * low
        x = high + y
        if y == x - high:
            high = x
    return high
