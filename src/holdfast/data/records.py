"""Records as people have them: long or wide, with gaps, doubled times and missing values, made one row per round.

`read_records` reads what `holdfast.data.traces` can read, and more shapes of it. What it fills in is said in `notes`;
what it may not fill in is refused with its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import one_of
from holdfast.data.csv_format import PLAIN, CsvFormat
from holdfast.data.traces import Trace, read_frame, read_trace
from holdfast.errors import InvalidParameter
from holdfast.extras import pl

Fill = Literal["last", "ignore"]
Missing = Literal["unavailable"]

REGULAR = 0.9
"""Times are regular, so that gaps are seen, where so many of their steps are the same."""

FILL_HINT = "give fill='last' to take the last one known, or missing='unavailable' where the arm was not"
IF_OUTSIDE = "give units=(lowest, highest), or rescale=True to take them from the record"
IF_MISSING = f"it is missing: fill it in, or {FILL_HINT}"

UNITS_OF_TIME = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, eq=False)
class Records:
    """One row per round: the losses as an array, what was not available, and what was filled in."""

    trace: Trace
    index: str | None = None
    """The name of the column with the times."""
    closed: NDArray[np.bool_] | None = None
    """True where an arm was not available; its loss is NaN."""
    notes: tuple[str, ...] = ()
    """What was filled in or left out, and where."""


def read_records(
    source: object,
    *,
    index: str | None = None,
    arms: Sequence[str] | None = None,
    long: str | Sequence[str] | None = None,
    form: CsvFormat = PLAIN,
    fill: Fill | None = None,
    missing: Missing | None = None,
) -> Records:
    """The record in a file, a data frame or an array.

    Parameters
    ----------
    source
        What `read_trace` takes.
    index, arms
        The column with the times of the rounds; names for the columns of an array, or the columns to take.
    long
        The names of three columns, time, arm and loss, where each row has the loss of one arm at one time.
    form
        How a CSV file is written.
    fill
        Where times are missing or doubled, or values are missing: None refuses the record, ``"last"`` takes the last
        value known (of a doubled time the last row), ``"ignore"`` takes the rows as they stand.
    missing
        ``"unavailable"``: an arm without a value in a round was not available in it.

    >>> rows = "hour;east;west\\n01.01.2025 00:00;0,5;0,25\\n01.01.2025 01:00;0,75;1\\n"
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "record.csv"
    >>> _ = file.write_text(rows)
    >>> read_records(file, index="hour", form=CsvFormat(";", ",")).trace.table.tolist()
    [[0.5, 0.25], [0.75, 1.0]]
    """
    if fill is not None:
        one_of("fill", fill, ("last", "ignore"))
    if missing is not None:
        one_of("missing", missing, ("unavailable",))
    form = replace(form, missing=fill == "last" or missing is not None, if_missing=IF_MISSING)
    if long is not None and index is not None:
        raise InvalidParameter("index", "must be left out with long=..., which names the times first", index)
    if long is not None:
        index, trace = _from_long(source, long, arms, form)
    else:
        trace = read_trace(source, index=index, arms=arms, form=form)
    trace, notes = replace(trace, if_missing=IF_MISSING, if_outside=IF_OUTSIDE), list[str]()
    if trace.labels is not None and trace.labels.dtype.kind == "M" and fill != "ignore":
        trace = _regular(trace, fill, notes)
    elif trace.labels is not None and trace.labels.dtype.kind in "iu":
        notes += _skipped(trace)
    unknown = None
    if missing is not None or fill == "last":
        unknown = np.isnan(trace.table) if trace.table.dtype.kind == "f" else None
    if unknown is None or not unknown.any():
        return Records(trace, index, None, tuple(notes))
    row, arm = (int(i) for i in np.argwhere(unknown)[0])
    count = int(unknown.sum())
    if missing is not None:
        notes.append(f"{_values(count)} missing, the first in {trace.place(row, arm)}: not available there")
        return Records(trace, index, unknown, tuple(notes))
    if unknown[0].any():
        rule = f"must have a number in {trace.place(0, int(unknown[0].argmax()))}; there is none before it to fill in"
        raise InvalidParameter("source", rule, None)
    last = np.maximum.accumulate(np.where(unknown, 0, np.arange(len(unknown))[:, None]), axis=0)
    filled = np.take_along_axis(trace.table, last, axis=0)
    notes.append(f"{_values(count)} missing, the first in {trace.place(row, arm)}: filled with the last one known")
    return Records(replace(trace, table=filled), index, None, tuple(notes))


def _values(count: int) -> str:
    return "1 value was" if count == 1 else f"{count:,} values were"


# ---- long layout ----


def _from_long(
    source: object, long: str | Sequence[str], arms: Sequence[str] | None, form: CsvFormat
) -> tuple[str, Trace]:
    """The name of the column of times; one row per time and one column per arm, in order of time or as they appear."""
    names = [name.strip() for name in long.split(",")] if isinstance(long, str) else list(long)
    if len(set(names)) != 3 or not all(isinstance(name, str) for name in names):
        raise InvalidParameter("long", "must be the names of three columns: time, arm and loss", long)
    time, arm, loss = names
    frame = read_frame(source, numbers=[loss], form=form)
    for name in names:
        one_of("long", name, frame.columns)
    if not (frame[loss].dtype.is_numeric() or frame.schema[loss] == pl.Boolean):
        raise InvalidParameter("long", f"must have a column of numbers for the losses; {loss!r} has none", names)
    frame = frame.select(pl.col(time), pl.col(arm).cast(pl.String), pl.col(loss)).with_row_index("row")
    for name in (time, arm):
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise InvalidParameter("source", f"must have a value in {_line(source, row)}, column {name!r}", None)
    twice = frame.filter(pl.struct(time, arm).is_duplicated())
    if twice.height:
        first, again = twice.filter(pl.col(time) == twice[time][0], pl.col(arm) == twice[arm][0])["row"].to_list()[:2]
        rule = f"must have one loss per time and arm; {_line(source, first)} and {_line(source, again)} both have one"
        raise InvalidParameter("source", rule, f"{twice[time][0]}, {twice[arm][0]}")
    if frame[time].dtype.is_temporal() or frame[time].dtype.is_numeric():
        frame = frame.sort(time, maintain_order=True)
    kept = list(arms) if arms is not None else frame[arm].unique(maintain_order=True).to_list()
    wide = frame.pivot(on=arm, index=time, values=loss, maintain_order=True)
    named = str(source) if isinstance(source, (str, Path)) else f"{wide.height} x {wide.width - 1} table"
    trace = read_trace(wide, index=time, arms=kept)
    if trace.table.dtype.kind == "f" and form.missing is False and np.isnan(trace.table).any():
        row, column = (int(i) for i in np.argwhere(np.isnan(trace.table))[0])
        rule = f"must have a loss for {kept[column]!r} at {trace.label(row)}; {FILL_HINT}"
        raise InvalidParameter("source", rule, None)
    return time, replace(trace, source=named)


def _line(source: object, row: int) -> str:
    return f"line {row + 2}" if isinstance(source, (str, Path)) and ".csv" in str(source) else f"row {row + 1}"


# ---- times ----


def _steps(times: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64], int]:
    """The rows that the next repeats, those that a gap follows, how many rows are missing after each, and the step."""
    steps = np.diff(times)
    sizes, counts = np.unique(steps[steps > 0], return_counts=True)
    step = int(sizes[counts.argmax()]) if len(sizes) else 0
    regular = step > 0 and counts.max() >= REGULAR * counts.sum()
    missing = np.rint(steps / step).astype(np.int64) - 1 if regular else np.where(steps == 0, -1, 0)
    return np.flatnonzero(steps == 0), np.flatnonzero(missing > 0), missing, step


def _skipped(trace: Trace) -> list[str]:
    """Numbers may be anything, so what they skip or repeat is said and not refused."""
    assert trace.labels is not None
    doubled, gaps, missing, _ = _steps(trace.labels.astype(np.int64))
    said = []
    if len(doubled):
        said.append(f"numbers of rounds that are doubled: {len(doubled):,}, the first {trace.label(int(doubled[0]))}")
    if len(gaps):
        said.append(
            f"numbers of rounds that are missing: {int(missing[gaps].sum()):,}, the first after "
            f"{trace.label(int(gaps[0]))}"
        )
    return [f"{words}; the rows were played as they are" for words in said]


def _regular(trace: Trace, fill: Fill | None, notes: list[str]) -> Trace:
    """Each time once and none left out, where times are regular."""
    labels = trace.labels
    assert labels is not None
    doubled, gaps, missing, step = _steps(labels.astype("datetime64[us]").astype(np.int64))
    if len(doubled) and fill is None:
        at = int(doubled[0])
        rule = (
            f"must have each time once; {trace.line(at)} and {trace.line(at + 1)} have the same"
            f"{_more(len(doubled))}; give fill='last' to take the last of them, or fill='ignore' to play them all"
        )
        raise InvalidParameter("source", rule, trace.label(at))
    if len(gaps) and fill is None:
        at = int(gaps[0])
        rule = (
            f"must have a row for each {_span(step)}; {_missing(int(missing[at]))} between {trace.line(at)} "
            f"({trace.label(at)}) and {trace.line(at + 1)} ({trace.label(at + 1)}){_more(len(gaps))}; give "
            "fill='last' to repeat the row before, or fill='ignore' to play the rows as they are"
        )
        raise InvalidParameter("source", rule, f"{int(missing[gaps].sum())} missing in all")
    if not len(doubled) and not len(gaps):
        return trace
    if len(doubled):
        at = int(doubled[0])
        notes.append(f"doubled times: {len(doubled):,}, the first {trace.label(at)}; the last row of each was taken")
    if len(gaps):
        at = int(gaps[0])
        notes.append(
            f"missing rows: {int(missing[gaps].sum()):,}, the first after {trace.label(at)}; the row before was "
            "repeated"
        )
    times = np.concatenate([np.maximum(missing, -1) + 1, [1]])  # how often each row is played: doubled ones not at all
    rows = np.repeat(np.arange(len(labels)), times)
    since = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    filled = labels[rows] + (since * step).astype("timedelta64[us]")
    return replace(trace, table=trace.table[rows], labels=filled, first_line=None)


def _more(count: int) -> str:
    return f", and {count - 1:,} more" if count > 1 else ""


def _missing(count: int) -> str:
    return "one is missing" if count == 1 else f"{count:,} are missing"


def _span(step: int) -> str:
    """A step of time in words.

    >>> _span(3_600_000_000), _span(900_000_000)
    ('hour', '15 minutes')
    """
    for name, seconds in UNITS_OF_TIME:
        count, rest = divmod(step, seconds * 1_000_000)
        if count and not rest:
            return name if count == 1 else f"{count} {name}s"
    return f"{step / 1e6:g} seconds"
