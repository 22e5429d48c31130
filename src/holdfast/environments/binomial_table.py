"""Binomial draws by inversion in tables made beforehand: no rejection, hence no branch to guess wrong.

A game draws millions of block totals from few distributions: a handful of means, and block lengths that change
slowly. One search in a distribution function of some 200 numbers is three times as fast as a rejection on a CPU, and
on a GPU no thread waits for another's rejections.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._kernel import kernel
from holdfast.rng import uniform

LARGEST = 1023
"""Trials up to which there are tables."""

MOST_MEANS = 8
"""Different means of one environment that get tables; each takes 1.7 MB at most and a few milliseconds."""

UNIT = 2.0**53
"""Distribution functions are kept as whole numbers of 2⁻⁵³, as uniform numbers come."""

SPREADS = 8.5
"""Half width of a table in standard deviations (and four more values): what is left out is below 2⁻⁵³, the
resolution of a uniform number."""


@kernel
def _first_and_last(n: int, p: float) -> tuple[int, int]:
    """The values the table of `n` trials covers."""
    reach = SPREADS * math.sqrt(n * p * (1.0 - p)) + 4.0 + 12.0 * abs(1.0 - 2.0 * p)
    return max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)


@kernel
def _fill(p: float, rows: Any, mass: Any, cdf: Any) -> None:
    """The distribution functions of all numbers of trials, each from ratios of neighbours outward from the mode."""
    odds = p / (1.0 - p)
    for n in range(rows.shape[0] - 1):
        begin, first = rows[n, 0], rows[n, 1]
        last = first + (rows[n + 1, 0] - begin) - 1
        mode = min(max(int((n + 1) * p), first), last)
        mass[mode - first] = 1.0
        for k in range(mode + 1, last + 1):
            mass[k - first] = mass[k - 1 - first] * (odds * (n - k + 1) / k)
        for k in range(mode - 1, first - 1, -1):
            mass[k - first] = mass[k + 1 - first] * ((k + 1) / (odds * (n - k)))
        total = 0.0
        for i in range(last - first + 1):
            total += mass[i]
        reached = 0.0
        for i in range(last - first + 1):
            reached += mass[i]
            cdf[begin + i] = int(reached / total * UNIT)
        cdf[begin + last - first] = int(UNIT)


def binomial_tables(means: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
    """For each mean the number of its table (−1: none), where each table's rows begin and at which value, the tables.

    Row n of a table holds P(X ≤ k) of n trials for the values k that matter.
    """
    inner = [p for p in np.unique(means) if 0.0 < p < 1.0][:MOST_MEANS]
    kinds = np.full(means.shape, -1, dtype=np.int64)
    rows = np.zeros((max(len(inner), 1), LARGEST + 2, 2), dtype=np.int64)
    pieces = []
    begin = 0
    for kind, p in enumerate(inner):
        kinds[means == p] = kind
        for n in range(LARGEST + 1):
            first, last = _first_and_last(n, p)
            rows[kind, n] = begin, first
            begin += last - first + 1
        rows[kind, LARGEST + 1] = begin, 0
        pieces.append(p)
    cdf = np.zeros(max(begin, 1), dtype=np.int64)
    for kind, p in enumerate(pieces):
        _fill(p, rows[kind], np.zeros(LARGEST + 1), cdf)
    return kinds, rows, cdf


@kernel
def binomial_from_table(rows: Any, cdf: Any, kind: int, n: int, stream: Any) -> float:
    """The least k with P(X ≤ k) > u, by halving.

    In integers: the sign of a difference, as a mask, moves `low` without a branch that would be guessed wrong.
    """
    u = int(uniform(stream) * UNIT)
    low, size = rows[kind, n, 0], rows[kind, n + 1, 0] - rows[kind, n, 0]
    begin = low
    while size > 1:
        half = size >> 1
        low += half & ~((u - cdf[low + half - 1]) >> 63)  # half where cdf ≤ u
        size -= half
    return float(rows[kind, n, 1] + low - begin)
