"""Forecasts of losses: which were issued when, for which rounds.

A table with a row for each round that was forecast: `issued`, the first round in which the forecast is known; `round`,
the round that it is for, both counted from 0 or both times of the record; then a column for each arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.data.csv_format import PLAIN, CsvFormat
from holdfast.data.traces import Trace, read_frame
from holdfast.errors import InvalidParameter, parameter_named
from holdfast.extras import pl
from holdfast.layouts import Array

ISSUED, ROUND = "issued", "round"
NOT_IN_RECORD = -1


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts in the order in which they become known; one for a round that is over by then is left out."""

    known_at: NDArray[np.int64]
    """The round, from 0, in which each is first known."""
    rounds: NDArray[np.int64]
    """The round that each is for."""
    losses: Array
    """What each arm was thought to lose in it."""

    @classmethod
    def of(cls, known_at: Any, rounds: Any, losses: Any) -> Self:
        """In order; those of rounds that are over are left out."""
        when, what, table = np.asarray(known_at, np.int64), np.asarray(rounds, np.int64), np.asarray(losses, np.float64)
        keep = np.flatnonzero((what >= when) & (what >= 0))
        keep = keep[np.argsort(when[keep], kind="stable")]
        return cls(when[keep], what[keep], table[keep])

    def part(self, first: int, stop: int) -> Forecasts:
        """What is known in the rounds from `first` on, counted from there; earlier forecasts that still hold too."""
        known = self.known_at < stop
        return Forecasts.of(np.maximum(self.known_at[known] - first, 0), self.rounds[known] - first, self.losses[known])


def read_forecasts(source: Any, trace: Trace, form: CsvFormat = PLAIN, *, negative: bool = False) -> Forecasts:
    """The forecasts in a file or a data frame, for the rounds and arms of a trace; `negative` if they are rewards."""
    arms = trace.arm_names
    with parameter_named(lambda _: "forecasts"):
        frame = read_frame(source, numbers=arms, form=form)
    for name in (ISSUED, ROUND, *arms):
        if name not in frame.columns:
            rule = f"must have the columns {ISSUED}, {ROUND} and one for each arm; there is no {name!r}"
            raise InvalidParameter("forecasts", rule, ", ".join(frame.columns))
    for name in (ISSUED, ROUND):
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0) + 1
            raise InvalidParameter("forecasts", f"must have a value in row {row}, column {name!r}", None)
    when, what = (_numbered(frame[name], trace, name) for name in (ISSUED, ROUND))
    table = frame.select(pl.col(arms).cast(pl.Float64, strict=False)).to_numpy()
    wrong = ~np.isfinite(table)
    if wrong.any():
        row, arm = (int(i) for i in np.argwhere(wrong)[0])
        rule = f"must have a finite number in row {row + 1}, column {arms[arm]!r}"
        raise InvalidParameter("forecasts", rule, frame[arms[arm]][row])
    found = Forecasts.of(when, what, -table if negative else table)
    if not (found.rounds < trace.shape[0]).any():
        rule = f"must be about the rounds 0 to {trace.shape[0] - 1} of the record, or about its times"
        raise InvalidParameter("forecasts", rule, f"{ROUND} from {frame[ROUND].min()!s} to {frame[ROUND].max()!s}")
    return found


def _numbered(column: pl.Series, trace: Trace, name: str) -> NDArray[np.int64]:
    """Rounds from 0: whole numbers as they are, times by their place in the record."""
    if column.dtype.is_integer():
        return column.to_numpy().astype(np.int64)
    rule = f"must have in column {name!r} the numbers of rounds, from 0, or times as the record has them"
    if not column.dtype.is_temporal() or trace.labels is None or trace.labels.dtype.kind != "M":
        raise InvalidParameter("forecasts", rule, column.dtype)
    times, labels = column.to_numpy().astype("datetime64[us]"), trace.labels.astype("datetime64[us]")
    places = np.searchsorted(labels, times).astype(np.int64)  # issued between two rounds, it is known in the next
    if name == ISSUED:
        return places
    there = labels[np.minimum(places, len(labels) - 1)] == times
    return np.where(there, places, NOT_IN_RECORD)
