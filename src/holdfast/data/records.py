"""Records as users have them: long or wide, with gaps, repeated times and missing values, made one row per round.

`read_records` reads what `holdfast.data.records` can read, and more shapes of it. What it fills in is said in `notes`;
what it may not fill in is refused with its place.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import different_names, one_of
from holdfast.data.csv import FIRST_LINE, IF_MISSING, PLAIN, CsvFormat, read_csv
from holdfast.errors import RANGE, InvalidParameter, Set, Words
from holdfast.extras import pl
from holdfast.numerics.layout import Array

# Tables of losses from arrays, data frames and files: one row per round, one column per arm, and names for both.
#
# What is wrong with a table is said with the row, the column and what to do. CSV files are read in
# `holdfast.data.csv`.

ROWS_AT_ONCE = 2**16

FINITE = (-sys.float_info.max, sys.float_info.max)
"""Units of losses of any size."""

TABLE_RULE = "must be a table of numbers with one row per round and one column per arm"

ARROW = (".arrow", ".feather", ".ipc")
SUFFIXES = (".csv", ".csv.gz", ".parquet", *ARROW, ".npy")


@dataclass(frozen=True, eq=False)
class Trace:
    """The losses of every arm in every round, as given."""

    table: NDArray[Any]
    """A row per round and a column per arm, perhaps memory-mapped; NaN is missing."""
    arms: tuple[str, ...] | None
    """Names of the columns, if any."""
    labels: NDArray[Any] | None
    """Time or name of each round, if a column has them."""
    source: str
    """Path of a file, or another description."""
    first_line: int | None = None
    """Line of the first round in a CSV file."""
    if_missing: str = IF_MISSING
    """Advice if a loss is missing."""
    if_outside: str = Words(Set("units", RANGE), " for losses in units of your own")
    """Advice if a loss is not between 0 and 1."""

    @property
    def arm_names(self) -> list[str]:
        """Names of the columns, or else their numbers."""
        return list(self.arms or map(str, range(self.shape[1])))

    @property
    def shape(self) -> tuple[int, int]:
        """Rounds and arms."""
        return int(self.table.shape[0]), int(self.table.shape[1])

    def range(self) -> tuple[float, float]:
        """Return the lowest and the highest loss; refuse missing or infinite ones."""
        ends = [(piece.min(), piece.max()) for _, piece in self.checked_pieces(FINITE)]
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    def checked_pieces(self, units: tuple[float, float], rows: int = ROWS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield pieces of rounds: the number of the first, and their losses, all within `units`."""
        lowest, highest = units
        for first in range(0, self.shape[0], rows):
            piece = np.asarray(self.table[first : first + rows], dtype=np.float64)
            wrong = ~((piece >= lowest) & (piece <= highest))
            if wrong.any():
                row, arm = (int(i) for i in np.argwhere(wrong)[0])
                raise self._refusal(first + row, arm, float(piece[row, arm]), units)
            yield first, piece

    def _refusal(self, row: int, arm: int, loss: float, units: tuple[float, float]) -> InvalidParameter:
        """Return the error for a loss that is missing or outside `units`."""
        number = "a number" if units == FINITE else f"a number from {units[0]:g} to {units[1]:g}"
        what_to_do = Words("; ", self.if_outside) if units == (0.0, 1.0) else Words()
        if np.isnan(loss):
            what_to_do = Words("; ", self.if_missing)
        elif np.isinf(loss) and units == FINITE:
            number = "a finite number"
        return InvalidParameter("source", Words(f"must have {number} in {self.place(row, arm)}", what_to_do), loss)

    def place(self, row: int, arm: int) -> str:
        """Return the place of a loss as a user would look for it."""
        if self.arms is None:
            return f"row {row}, column {arm} (counted from 0)"
        label = "" if self.labels is None else f" ({self.label(row)})"
        file = f" of {Path(self.source).name}" if self.first_line is not None else ""
        return f"{self.line(row)}{file}{label}, column {self.arms[arm]!r}"

    def line(self, row: int) -> str:
        """Return the line of a CSV file, or the row of another table, of a round."""
        return f"row {row + 1}" if self.first_line is None else f"line {self.first_line + row}"

    def label(self, row: int) -> str:
        """Return the time or name of a round, for display."""
        return "" if self.labels is None else label_text(self.labels, row)


def label_text(labels: NDArray[Any], row: int) -> str:
    """Return the time or name of a round, for display."""
    if labels.dtype.kind == "M":
        return str(np.datetime_as_string(labels[row], unit="m")).replace("T", " ")
    return str(labels[row])


def read_trace(
    source: object, *, index: str | None = None, arms: Sequence[str] | None = None, form: CsvFormat = PLAIN
) -> Trace:
    """Return the table that `source` is, or that the file it names holds.

    Parameters
    ----------
    source
        An array, a data frame (polars, pandas, Arrow), or the path of a file that ends as `SUFFIXES` says.
    index
        The column with the time or name of each round, which is not an arm; times and numbers must not run backwards.
    arms
        Names of the columns of an array, or the columns to take of a table that has names; others may hold anything.
    form
        Format of a CSV file.
    """
    names = None if arms is None else list(different_names("arms", arms))
    if isinstance(source, (str, Path)):
        trace = _from_file(Path(source), index, names, form)
    elif (frame := _as_frame(source)) is not None:
        trace = _from_frame(frame, index, names)
    else:
        trace = _from_array(source, index, names)
    if 0 in trace.shape:
        what = "rows: it needs one per round" if trace.shape[1] else "columns of losses: it needs one per arm"
        raise InvalidParameter("source", f"{TABLE_RULE}; it has no {what}", trace.source)
    return trace


def read_frame(source: object, *, numbers: Sequence[str], form: CsvFormat = PLAIN) -> pl.DataFrame:
    """Return a data frame of any kind, or the one in a file, with its columns as they are.

    In a CSV file, those of `numbers` must be numbers.
    """
    if isinstance(source, (str, Path)):
        suffix = _suffix(Path(source), tuple(s for s in SUFFIXES if s != ".npy"))
        return _frame_in(Path(source), suffix, None, numbers, form)
    frame = _as_frame(source)
    if frame is None:
        raise InvalidParameter("source", "must be a data frame or the path of a file", type(source).__name__)
    return frame


def _suffix(file: Path, known: Sequence[str]) -> str:
    name = file.name.lower()
    suffix = max((s for s in known if name.endswith(s)), key=len, default=None)
    if suffix is None:
        raise InvalidParameter("source", f"must end in {', '.join(known[:-1])} or {known[-1]}", str(file))
    if not file.is_file():
        raise InvalidParameter("source", "must be a file; there is none", str(file))
    return suffix


def _frame_in(
    file: Path, suffix: str, index: str | None, numbers: Sequence[str] | None = None, form: CsvFormat = PLAIN
) -> pl.DataFrame:
    with unreadable(file, suffix):
        if suffix in ARROW:
            return pl.read_ipc(file)
        return pl.read_parquet(file) if suffix == ".parquet" else read_csv(file, index, numbers, form)


def _from_file(file: Path, index: str | None, arms: list[str] | None, form: CsvFormat) -> Trace:
    suffix = _suffix(file, SUFFIXES)
    if suffix == ".npy":
        try:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InvalidParameter("source", f"must be the path of a .npy file ({error})", str(file)) from None
        return _from_array(array, index, arms, str(file))
    trace = _from_frame(_frame_in(file, suffix, index, arms, form), index, arms, str(file))
    if trace.shape[1] == 1:
        only = trace.arms[0] if trace.arms else ""
        raise InvalidParameter("source", "must have at least two columns of losses, one per arm", f"only {only!r}")
    return replace(trace, first_line=FIRST_LINE) if suffix.startswith(".csv") else trace


@contextmanager
def unreadable(file: Path, suffix: str) -> Iterator[None]:
    """Raise one line instead of what polars raises for a damaged file; its panics are not Exceptions."""
    try:
        yield
    except InvalidParameter:
        raise
    except (
        OSError,
        EOFError,
        UnicodeError,
        zlib.error,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidParameter("source", f"must be a {suffix} table ({reason})", str(file)) from None


def _as_frame(source: Any) -> pl.DataFrame | None:
    """Return a data frame of any kind as one of polars, or None."""
    if isinstance(source, pl.DataFrame):
        return source
    make = type(source).__module__.partition(".")[0]
    if make == "polars":
        raise InvalidParameter("source", "must be a polars DataFrame; collect a LazyFrame first", type(source).__name__)
    if make == "pandas" and hasattr(source, "columns"):
        names = [str(name) for name in source.columns]
        _refuse_twins(names, "the data frame")
        columns = {name: _of_pandas(source.iloc[:, i]) for i, name in enumerate(names)}
        rounds = source.index
        if rounds.name is not None and str(rounds.name) not in columns:
            columns = {str(rounds.name): _of_pandas(rounds), **columns}
        return pl.DataFrame(columns, nan_to_null=True)
    if make == "pyarrow" and hasattr(source, "column_names"):
        _refuse_twins(source.column_names, "the Arrow table")
        return pl.DataFrame(pl.from_arrow(source))
    return None


def _of_pandas(column: Any) -> Any:
    """Return a column as polars takes it: objects as the times, dates or numbers that they are, or else as text."""
    values = column.to_numpy()
    if values.dtype.kind != "O":
        return values
    cells = [None if missing else cell for cell, missing in zip(values.tolist(), column.isna(), strict=True)]
    try:
        found = pl.Series(cells)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):  # of several kinds
        found = pl.Series(cells, dtype=pl.Object)
    return found if found.dtype != pl.Object else pl.Series([cell if cell is None else str(cell) for cell in cells])


def _refuse_twins(names: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidParameter("source", f"must not have two columns of one name, as {where} has", name)
        seen.add(name)


def _from_frame(frame: pl.DataFrame, index: str | None, arms: list[str] | None, source: str | None = None) -> Trace:
    """Return columns of numbers, those of `arms` if given, and one with labels if `index` names it."""
    if index is not None:
        one_of("index", index, frame.columns)
    losses = frame if index is None else frame.drop(index)
    for name in arms or ():
        one_of("arms", name, losses.columns)
    losses = losses if arms is None else losses.select(*arms)
    source = source or f"{frame.height} x {losses.width} table"
    labels = None if index is None else _labels(frame[index], source)
    for i, (name, kind) in enumerate(losses.schema.items()):
        if not name:
            rule = Words(f"must have a name for each column; number {i + 1} has none")
            if index is None:
                rule += Words(" (pandas writes its index so: ", Set("index", ""), " if it is one)")
            raise InvalidParameter("source", rule, source)
        if losses.height and not (kind.is_numeric() or isinstance(kind, pl.Boolean)):
            rule = Words(f"must have a column of numbers for each arm, and no other; {name!r} is one of {kind}")
            if index is None:
                rule += Words(" (", Set("index", name), " if it has the times or names of the rounds)")
            raise InvalidParameter("source", rule, source)
    return Trace(_as_array(losses), tuple(losses.columns), labels, source)


def _labels(column: pl.Series, source: str) -> NDArray[Any]:
    """Return the labels of the rounds; those that have an order must not run backwards."""
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        rule = f"must have a value in every row of the index column {column.name!r}; row {row + 1} has none"
        raise InvalidParameter("source", rule, source)
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        backwards = (column < column.shift(1)).fill_null(False)
        if backwards.any():
            row = int(backwards.arg_max() or 0)
            rule = (
                f"must have an index column {column.name!r} that does not run backwards, as it does from row {row} to "
                f"row {row + 1}; sort the rows by it"
            )
            raise InvalidParameter("source", rule, f"{column[row]} after {column[row - 1]}")
    return column.to_numpy()


def _as_array(frame: pl.DataFrame) -> NDArray[Any]:
    """Return an array, in float32 if that holds every number."""
    short = (pl.Float32, pl.Boolean, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16)
    floats = pl.Float32 if all(kind in short for kind in frame.dtypes) else pl.Float64
    return frame.select(pl.all().cast(floats).fill_null(float("nan"))).to_numpy(order="c")


def _from_array(source: Any, index: str | None, arms: list[str] | None, name: str | None = None) -> Trace:
    if index is not None:
        raise InvalidParameter("index", "must be left out: an array has no names of columns", index)
    try:
        array = np.asanyarray(source)
    except ValueError:  # rows of different lengths
        raise InvalidParameter("source", f"{TABLE_RULE}; its rows differ in length", source) from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InvalidParameter("source", TABLE_RULE, f"shape {array.shape} of {array.dtype}")
    trace = Trace(np.asarray(array), None, None, name or f"{array.shape[0]} x {array.shape[1]} array")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        row, arm = (int(i) for i in np.argwhere(np.ma.getmaskarray(array))[0])
        raise InvalidParameter("source", f"must have a number in {trace.place(row, arm)}; fill it in", "a masked entry")
    if arms is None:
        return trace
    if len(arms) != trace.shape[1]:
        raise InvalidParameter("arms", f"must be {trace.shape[1]} names, one per column", arms)
    return replace(trace, arms=tuple(arms))


Fill = Literal["last", "ignore"]
Missing = Literal["unavailable"]

REGULAR = 0.9
"""Share of equal steps from which times count as regular, so that gaps show."""

LAST, IGNORE = Set("fill", "last"), Set("fill", "ignore", verb="")
UNAVAILABLE = Set("missing", "unavailable", verb="")
FILL_HINT = Words(LAST, " to take the last one known, or ", UNAVAILABLE, " where the arm was not")
IF_OUTSIDE = Words(Set("units", RANGE), ", or ", Set("rescale", True, verb=""), " to take them from the record")
IF_MISSING = Words("it is missing: fill it in, or ", FILL_HINT)

UNITS_OF_TIME = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, eq=False)
class Records:
    """One row per round: the losses as an array, what was unavailable, and what was filled in."""

    trace: Trace
    index: str | None = None
    """Name of the column with the times."""
    closed: NDArray[np.bool_] | None = None
    """True where an arm was unavailable; its loss is NaN."""
    notes: tuple[str, ...] = ()
    """Notes on values that were filled in or left out, and where."""


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
    """Return the record in a file, a data frame or an array.

    Parameters
    ----------
    source
        A source as in `read_trace`.
    index, arms
        The column with the times of the rounds; names for the columns of an array, or the columns to take.
    long
        The names of three columns, time, arm and loss, where each row has the loss of one arm at one time.
    form
        Format of a CSV file.
    fill
        Treatment of missing or doubled times and of missing values: None refuses the record, ``"last"`` takes the last
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
        raise InvalidParameter(
            "index", Words("must be left out with ", Set("long", verb=""), ", which names the times first"), index
        )
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
    """Return the name of the time column, and a table of times by arms, in order of time or of appearance."""
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
        rule = Words(f"must have a loss for {kept[column]!r} at {trace.label(row)}; ", FILL_HINT)
        raise InvalidParameter("source", rule, None)
    return time, replace(trace, source=named)


def _line(source: object, row: int) -> str:
    return f"line {row + 2}" if isinstance(source, (str, Path)) and ".csv" in str(source) else f"row {row + 1}"


# ---- times ----


def _steps(times: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64], int]:
    """Return rows repeated by the next, rows before a gap, how many rows each gap misses, and the step."""
    steps = np.diff(times)
    sizes, counts = np.unique(steps[steps > 0], return_counts=True)
    step = int(sizes[counts.argmax()]) if len(sizes) else 0
    regular = step > 0 and counts.max() >= REGULAR * counts.sum()
    missing = np.rint(steps / step).astype(np.int64) - 1 if regular else np.where(steps == 0, -1, 0)
    return np.flatnonzero(steps == 0), np.flatnonzero(missing > 0), missing, step


def _skipped(trace: Trace) -> list[str]:
    """Note what numbers skip or repeat; they may be anything, so it is not refused."""
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
    """Return each time once with none left out, if times are regular."""
    labels = trace.labels
    assert labels is not None
    doubled, gaps, missing, step = _steps(labels.astype("datetime64[us]").astype(np.int64))
    if len(doubled) and fill is None:
        at = int(doubled[0])
        same = f"{trace.line(at)} and {trace.line(at + 1)} have the same{_more(len(doubled))}"
        either = Words(LAST, " to take the last of them, or ", IGNORE, " to play them all")
        rule = Words(f"must have each time once; {same}; ", either)
        raise InvalidParameter("source", rule, trace.label(at))
    if len(gaps) and fill is None:
        at = int(gaps[0])
        gap = f"{trace.line(at)} ({trace.label(at)}) and {trace.line(at + 1)} ({trace.label(at + 1)})"
        gone = f"{_missing(int(missing[at]))} between {gap}{_more(len(gaps))}"
        either = Words(LAST, " to repeat the row before, or ", IGNORE, " to play the rows as they are")
        rule = Words(f"must have a row for each {_span(step)}; {gone}; ", either)
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
    """Return a step of time in words.

    >>> _span(3_600_000_000), _span(900_000_000)
    ('hour', '15 minutes')
    """
    for name, seconds in UNITS_OF_TIME:
        count, rest = divmod(step, seconds * 1_000_000)
        if count and not rest:
            return name if count == 1 else f"{count} {name}s"
    return f"{step / 1e6:g} seconds"
