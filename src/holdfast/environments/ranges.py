"""Losses whose range differs from round to round and is announced beforehand, as Theorem 2 has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real_number
from holdfast.environments.environment import Environment, Tables
from holdfast.environments.phased import checked_means
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.random import binomial


@kernel
def sum_before(ranges: Any, upto: Any, stop: float) -> float:
    """Return b_1 + … of the rounds [0, stop)."""
    turns = stop // ranges.shape[0]
    found: float = turns * upto[ranges.shape[0]] + upto[int(stop - turns * ranges.shape[0])]
    return found


@kernel
def total(tables: Any, arms: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Draw one binomial for each place in the turn that [start, stop) meets."""
    ranges, means, rounds = tables[0], tables[2], stop - start
    for g in range(totals.shape[0]):
        totals[g] = 0.0
        for i in range(int(min(rounds, float(ranges.shape[0])))):
            times = (rounds - 1.0 - i) // ranges.shape[0] + 1.0
            b = ranges[int((start + i) % ranges.shape[0])]
            totals[g] += b * binomial(times, means[int(arms[g])], streams[:, g])


@kernel
def gap(tables: Any, arms: Any, start: float, stop: float, gaps: Any) -> None:
    """Multiply the arm's gap by the sum of the ranges."""
    ranges, upto, _, gap_of = tables
    most = sum_before(ranges, upto, stop) - sum_before(ranges, upto, start)
    for g in range(gaps.shape[0]):
        gaps[g] = gap_of[int(arms[g])] * most


@dataclass(frozen=True)
class VaryingRanges(Environment):
    """Losses of 0 or b_t in round t: b_t with an arm's mean as probability, and b_t is announced (Theorem 2).

    ``TsallisInf(K, loss_bound="announced")`` hears b_t before each round. An arm's expected gap is b_t times
    that of the means.

    Parameters
    ----------
    mean_losses
        The mean of each arm, as a share of the range.
    ranges
        b_1, b_2, …, each above 0 and at most 1; then again from the first.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> world = VaryingRanges([0.3, 0.5], ranges=[1.0, 0.1, 0.1])
    >>> world.expected(0, 4).round(2).tolist()
    [0.66, 1.1]
    """

    id: ClassVar[str] = "varying-ranges"
    total_kernel: ClassVar[Callable[..., Any]] = staticmethod(total)
    gap_kernel: ClassVar[Callable[..., Any]] = staticmethod(gap)

    mean_losses: Sequence[float] = ()
    ranges: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("mean_losses", checked_means(self.mean_losses))
        if isinstance(self.ranges, (str, bytes)) or not isinstance(self.ranges, (Sequence, np.ndarray)):
            raise InvalidParameter("ranges", "must be a list of numbers", self.ranges)
        ranges = tuple(real_number(f"ranges[{i}]", b, above=0, most=1) for i, b in enumerate(self.ranges))
        if not ranges:
            raise InvalidParameter("ranges", "must not be empty", self.ranges)
        self._set("ranges", ranges)

    @property
    def n_arms(self) -> int:
        return len(self.mean_losses)

    @cached_property
    def tables(self) -> Tables:
        """The ranges, their sums from the first on, the means, and the gaps to the best arm."""
        ranges, means = np.array(self.ranges), np.array(self.mean_losses)
        return ranges, np.concatenate([[0.0], np.cumsum(ranges)]), means, means - means.min()

    @property
    def reference(self) -> int:
        return int(np.argmin(self.mean_losses))

    def _sum(self, start: int, stop: int) -> float:
        ranges, upto = self.tables[:2]
        return float(sum_before(ranges, upto, float(stop)) - sum_before(ranges, upto, float(start)))

    def expected(self, start: int, stop: int) -> Array:
        return np.asarray(self.tables[2] * self._sum(*self.checked_rounds(start, stop)))

    def excess(self, stop: int) -> Array:
        return np.asarray(self.tables[3] * self._sum(*self.checked_rounds(0, stop)))
