"""Recorded losses: any T × K table, in memory or mapped from a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import kernel
from holdfast.checks import number_range, whole_number
from holdfast.data.records import FINITE, ROWS_AT_ONCE, Trace, read_trace
from holdfast.environments.environment import UNIT_RANGE, Environment, Tables
from holdfast.errors import InvalidParameter
from holdfast.files import reported
from holdfast.numerics.layout import Array

IN_MEMORY = 2**30
"""Bytes of prefix sums above which they are kept in a temporary mapped file."""


@kernel
def total(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Look up two prefix sums, as a share of the units."""
    sums, facts = tables[0], tables[1]
    s, t, unit = int(start), int(stop), facts[1]
    for g in range(totals.shape[0]):
        totals[g] = (sums[t, int(places[g])] - sums[s, int(places[g])]) / unit


@kernel
def gap(tables: Any, places: Any, start: float, stop: float, gaps: Any) -> None:
    """Write the arm's actual loss less the reference arm's."""
    sums, facts = tables[0], tables[1]
    s, t, best = int(start), int(stop), int(facts[0])
    for g in range(gaps.shape[0]):
        gaps[g] = (sums[t, int(places[g])] - sums[s, int(places[g])]) - (sums[t, best] - sums[s, best])


@dataclass(frozen=True, eq=False)
class Summed:
    """A table that has been read: the part of its source that a `LossTable` keeps."""

    source: str
    """Path of its file, or a description of the source."""
    sums: Array
    """(T + 1) × K prefix sums of each loss above the lowest of `units`. Only differences of rows count: a part of a
    table does not start with zeros.
    """
    arms: tuple[str, ...] | None
    labels: NDArray[Any] | None
    units: tuple[float, float]
    index: str | None

    def __repr__(self) -> str:
        return repr(self.source)


@dataclass(frozen=True, eq=False)
class LossTable(Environment):
    """Losses given round by round: T rows and K columns of numbers in [0, 1], or in `units`.

    The losses are one fixed sequence, so the pseudo-regret is the regret. Only their prefix sums are kept, in a
    temporary mapped file when they are large.

    Parameters
    ----------
    source
        An array, a data frame (polars, pandas, Arrow), or the path of a file: ``.csv`` or ``.csv.gz`` with a header
        line of arm names, ``.parquet``, ``.arrow``, ``.feather`` or ``.ipc``, or ``.npy``, which is mapped.
    units
        The lowest and the highest loss that one round can have. Policies need the same `units`; the switching cost
        and all results are in these units too.
    index
        The column with the time or name of each round, kept as `labels`. It is no arm.
    arms
        Names for the columns of an array, or the columns to take from a table that has names.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> table = LossTable([[0.0, 1.0], [0.5, 0.0]])
    >>> [float(total) for total in table.expected(0, 2)]
    [0.5, 1.0]
    """

    id = "loss-table"
    total_kernel = staticmethod(total)
    gap_kernel = staticmethod(gap)
    paired_kernel = staticmethod(total)

    source: Any = ()
    units: tuple[float, float] = field(default=UNIT_RANGE, kw_only=True)
    index: str | None = field(default=None, kw_only=True)
    arms: Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        units = number_range("units", self.units)
        held = self.source
        if not isinstance(held, Summed):
            held = type(self).of(read_trace(held, index=self.index, arms=self.arms), units, self.index).source
        arms = held.arms if self.arms is None else tuple(self.arms)
        for name, value in (("units", units), ("index", self.index), ("arms", arms)):
            if value != getattr(held, name):
                raise InvalidParameter(name, "cannot be changed once a table is read; make another LossTable", value)
            self._set(name, value)
        self._set("source", held)

    @property
    def sums(self) -> Array:
        """(T + 1) × K prefix sums of each loss above the lowest of `units`."""
        sums: Array = self.source.sums
        return sums

    @property
    def labels(self) -> NDArray[Any] | None:
        """Time or name of each round, from the column `index`."""
        labels: NDArray[Any] | None = self.source.labels
        return labels

    @property
    def n_arms(self) -> int:
        return int(self.sums.shape[1])

    @property
    def rounds(self) -> int:
        """T, the rows of the table."""
        return int(self.sums.shape[0]) - 1

    @cached_property
    def tables(self) -> Tables:
        """Prefix sums; the reference arm and the width of the units."""
        return self.sums, np.array([float(self.reference), self.units[1] - self.units[0]])

    @cached_property
    def reference(self) -> int:
        return int(np.argmin(self.sums[-1] - self.sums[0]))

    def expected(self, start: int, stop: int) -> Array:
        """Return the total loss of every arm over the rounds [start, stop)."""
        start, stop = self.checked_rounds(start, stop)
        return np.asarray(self.sums[stop] - self.sums[start] + self.units[0] * (stop - start))

    def excess(self, stop: int) -> Array:
        """Return the total loss of every arm over the rounds [0, stop) less that of the reference arm."""
        _, stop = self.checked_rounds(0, stop)
        sums = self.sums[stop] - self.sums[0]
        return np.asarray(sums - sums[self.reference])

    @classmethod
    def of(cls, trace: Trace, units: tuple[float, float] = UNIT_RANGE, index: str | None = None) -> Self:
        """Build from a table that has already been read.

        Parameters
        ----------
        trace
            What `read_trace` gave.
        units
            The lowest and the highest loss of a round.
        index
            The name of the column that is no arm, if any.
        """
        held = Summed(trace.source, prefix_sums(trace, units), trace.arms, trace.labels, units, index)
        return cls(held, units=units, index=index, arms=trace.arms)

    def part(self, start: int, stop: int) -> Self:
        """Return the rounds [start, stop) as a table of their own, which shares the memory of this one."""
        start, stop = self.checked_rounds(start, stop)
        if start == stop:
            raise InvalidParameter("stop", f"must be above start, {start}", stop)
        labels = None if self.labels is None else self.labels[start:stop]
        held = replace(self.source, sums=self.sums[start : stop + 1], labels=labels)
        return replace(self, source=held)

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values; only a table read from a file can be restored from them."""
        return super().settings() | {"source": self.source.source}


def prefix_sums(
    trace: Trace,
    units: tuple[float, float] = UNIT_RANGE,
    *,
    rows: int = ROWS_AT_ONCE,
    in_memory: int = IN_MEMORY,
    checked: bool = True,
) -> Array:
    """Return sums of the first t rows for t = 0 … T, of each loss above the lowest; read and checked piece by piece.

    Losses outside `units` are refused unless `checked` is False. Sums of more than `in_memory` bytes are kept in a
    temporary file mapped into memory.
    """
    T, K = trace.shape
    if in_memory >= 8 * (T + 1) * K:
        sums = np.zeros((T + 1, K))
    else:
        size = 8 * (T + 1) * K
        with tempfile.TemporaryFile() as file, reported(Path(tempfile.gettempdir())):  # the mapping outlives the handle
            if hasattr(os, "posix_fallocate"):  # a full disk raises here; later it would end the process
                os.posix_fallocate(file.fileno(), 0, size)
            sums = np.memmap(file, dtype=np.float64, shape=(T + 1, K))
    lowest = units[0]
    for first, piece in trace.checked_pieces(units if checked else FINITE, rows):
        above = piece - lowest if lowest else piece
        np.cumsum(above, axis=0, out=sums[first + 1 : first + 1 + len(piece)])
        sums[first + 1 : first + 1 + len(piece)] += sums[first]
    return np.asarray(sums)


# A table of losses with the forecasts and the available arms of each round.


@kernel
def close(state: Any, closed: Any, t: float, shift: float) -> None:
    """Mark the arms that are closed in round t: a row for each round, or a single number where all are open."""
    K = state.shut.shape[0]
    if closed.size > 1:
        for i in range(K):
            state.shut[i, 0] = closed[int(t), (i + int(shift)) % K]


@kernel
def inform(state: Any, closed: Any, t: float, shift: float, rows: Any, places: Any, first: int, count: int) -> None:
    """Tell a policy that plans which arms are closed, and `count` rows of a forecast, if any, from `first` on."""
    K = state.shut.shape[0]
    close(state, closed, t, shift)
    if state.closed.shape[0] > 0:
        for i in range(K):
            state.closed[i, 0] = state.shut[i, 0]
        state.closed_rows[0] = 1.0
    if count > 0:
        for h in range(count):
            for i in range(K):
                state.forecast[h * K + i, 0] = rows[places[first + h], (i + int(shift)) % K]
        state.first[0], state.rows[0] = 0.0, count


@kernel
def shut(tables: Any, state: Any, t: float, shift: float) -> None:
    """Mark the arms that are unavailable in round t."""
    close(state, tables[5], t, shift)


@kernel
def ahead(tables: Any, state: Any, t: float, shift: float) -> None:
    """Tell of unavailable arms, and of the forecast that is issued in round t, if any."""
    issued, rows, places, closed, r = tables[2], tables[3], tables[4], tables[5], int(t)
    count = min(int(issued[r, 1]), state.forecast.shape[0] // state.shut.shape[0])
    inform(state, closed, t, shift, rows, places, int(issued[r, 0]), count)


@dataclass(frozen=True, eq=False)
class ForecastTable(Environment):
    """A `LossTable` with forecasts and available arms, given online to ``ask(forecast=..., available=...)``.

    Policies that plan see both, others with full information the available arms. A bandit policy is refused where some
    arm is unavailable. Regret is counted from the best fixed arm of the table, as if it were
    always available.

    Parameters
    ----------
    table
        The losses.
    forecasts
        For the rounds in which a forecast is issued, from 0: expected losses, a row for this and each of the next
        rounds, a column for each arm.
    available
        True and False: a row for each round, a column for each arm. All arms, if left out.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> import holdfast as hf
    >>> losses = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]
    >>> world = ForecastTable(LossTable(losses), forecasts={0: losses})
    >>> result = hf.simulate(hf.ForecastPlan(2, switching_cost=0.1), world, switching_cost=0.1, progress=False)
    >>> round(result.frame["total_loss"][-1], 6)
    0.4
    """

    id = "forecast-table"
    total_kernel = staticmethod(total)
    gap_kernel = staticmethod(gap)
    paired_kernel = staticmethod(total)
    shut_kernel = staticmethod(shut)
    ahead_kernel = staticmethod(ahead)

    table: LossTable = field()
    forecasts: Mapping[int, ArrayLike] = field(default_factory=dict, kw_only=True)
    available: ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.table, LossTable):
            raise InvalidParameter("table", "must be a LossTable", self.table)
        T, K = self.table.rounds, self.table.n_arms
        low, rows = self.units[0], {}
        for issued, given in self.forecasts.items():
            number = whole_number("round of a forecast", issued, least=0, most=T - 1)
            found = np.array(given, dtype=np.float64)
            if found.ndim != 2 or found.shape[1] != K or len(found) == 0 or not np.isfinite(found).all():
                raise InvalidParameter(f"forecast of round {number}", f"must be rows of {K} finite numbers", given)
            rows[number] = np.clip((found - low) / self.unit, -1e6, 1e6)
        self._set("forecasts", rows)
        if self.available is not None:
            flags = np.array(self.available)
            if flags.dtype != bool or flags.shape != (T, K) or not flags.any(axis=1).all():
                rule = f"must be {T} rows of {K} True and False, at least one True in each"
                raise InvalidParameter("available", rule, self.available)
            self._set("available", flags)

    @property
    def closes_arms(self) -> bool:
        return self.available is not None

    @property
    def n_arms(self) -> int:
        return self.table.n_arms

    @property
    def arms(self) -> Sequence[str] | None:
        return self.table.arms

    @property
    def rounds(self) -> int:
        return self.table.rounds

    @property
    def units(self) -> tuple[float, float]:
        return self.table.units

    @cached_property
    def tables(self) -> Tables:
        """Tables of the losses; start and rows of each round's forecast; all rows and their places; the closed arms."""
        issued, begin = np.zeros((self.rounds, 2)), 0
        for number, rows in self.forecasts.items():
            issued[number] = begin, len(rows)  # type: ignore[arg-type]  # an array since it was checked
            begin += len(rows)  # type: ignore[arg-type]
        rows = np.concatenate([np.zeros((1, self.n_arms)), *self.forecasts.values()])[1 if begin else 0 :]
        closed = np.zeros((1, 1)) if self.available is None else 1.0 - np.asarray(self.available)
        return *self.table.tables, issued, np.ascontiguousarray(rows), np.arange(len(rows)), closed

    @property
    def reference(self) -> int:
        return self.table.reference

    def expected(self, start: int, stop: int) -> Array:
        return self.table.expected(start, stop)

    def excess(self, stop: int) -> Array:
        return self.table.excess(stop)

    def settings(self) -> dict[str, Any]:
        """Return the table's settings, and how much is known ahead. They cannot restore it."""
        known = {"forecasts": len(self.forecasts), "some_arms_closed": self.closes_arms}
        return self.table.settings() | {"environment": self.id} | known
