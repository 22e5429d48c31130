"""Losses written down beforehand: any T × K table, in memory or mapped from a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from holdfast._numba.compile import kernel
from holdfast.environments.environment import Array, Environment, Tables
from holdfast.errors import InvalidParameter

IN_MEMORY = 2**30
"""Bytes of prefix sums above which they are kept in a temporary file mapped into memory."""

ROWS_AT_ONCE = 2**16

TABLE_RULE = "must be a table of numbers with one row a round and one column an arm"

SUFFIXES = (".npy", ".parquet", ".csv")


@kernel
def total(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Two lookups in the prefix sums."""
    sums, _ = tables
    s, t = int(start), int(stop)
    for g in range(totals.shape[0]):
        totals[g] = sums[t, int(places[g])] - sums[s, int(places[g])]


@kernel
def gap(tables: Any, places: Any, start: float, stop: float, gaps: Any) -> None:
    """What the arm really lost more than the reference arm."""
    sums, reference = tables
    s, t, best = int(start), int(stop), int(reference[0])
    for g in range(gaps.shape[0]):
        gaps[g] = (sums[t, int(places[g])] - sums[s, int(places[g])]) - (sums[t, best] - sums[s, best])


@dataclass(frozen=True, eq=False)
class LossTable(Environment):
    """Losses given round by round: T rows and K columns of numbers in [0, 1].

    The source is an array or a polars DataFrame, or the path of a ``.npy``, ``.parquet`` or ``.csv`` file, the last
    with a header line of arm names. A ``.npy`` file is mapped, not read, and only the prefix sums are kept (in a
    temporary mapped file too when they are large). The losses are one fixed sequence, so the pseudo-regret is the
    regret.

    >>> table = LossTable([[0.0, 1.0], [0.5, 0.0]])
    >>> [float(total) for total in table.expected(0, 2)]
    [0.5, 1.0]
    """

    id: ClassVar[str] = "loss-table"
    total_kernel: ClassVar[Callable[..., Any]] = staticmethod(total)
    gap_kernel: ClassVar[Callable[..., Any]] = staticmethod(gap)

    source: ArrayLike | str | Path = ()
    sums: Array = field(init=False, repr=False)
    """(T + 1) × K prefix sums."""

    def __post_init__(self) -> None:
        table = self._opened()
        if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
            raise InvalidParameter("source", TABLE_RULE, f"shape {table.shape} of {table.dtype}")
        object.__setattr__(self, "sums", _prefix_sums(table))
        if isinstance(self.source, (str, Path)):
            object.__setattr__(self, "source", str(self.source))
        else:
            object.__setattr__(self, "source", f"{table.shape[0]} x {table.shape[1]} array")

    def _opened(self) -> np.ndarray[Any, Any]:
        if not isinstance(self.source, (str, Path)):
            try:
                return np.asanyarray(self.source)
            except ValueError:  # rows of different lengths
                raise InvalidParameter("source", TABLE_RULE, self.source) from None
        return _read(Path(self.source))

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        return int(self.sums.shape[1])

    @property
    def rounds(self) -> float:
        """T, the rows of the table."""
        return float(self.sums.shape[0] - 1)

    @cached_property
    def tables(self) -> Tables:
        """Prefix sums and the reference arm."""
        return self.sums, np.array([float(self.reference)])

    @cached_property
    def reference(self) -> int:
        """The best arm over all rounds."""
        return int(np.argmin(self.sums[-1]))

    def expected(self, start: int, stop: int) -> Array:
        """Total loss of every arm over the rounds [start, stop)."""
        start, stop = self.checked_rounds(start, stop)
        return np.asarray(self.sums[stop] - self.sums[start])

    def excess(self, stop: int) -> Array:
        """Total loss of every arm over the rounds [0, stop) less that of the reference arm."""
        _, stop = self.checked_rounds(0, stop)
        return np.asarray(self.sums[stop] - self.sums[stop, self.reference])


def _read(file: Path) -> np.ndarray[Any, Any]:
    """The table in a file; a ``.npy`` file is mapped."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidParameter("source", f"must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}", str(file))
    if not file.is_file():
        raise InvalidParameter("source", "must be a file; there is none", str(file))
    if suffix != ".npy":
        return _columns(file, suffix)
    try:
        return np.asanyarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise InvalidParameter("source", f"must be the path of a .npy file ({error})", str(file)) from None


def _columns(file: Path, suffix: str) -> np.ndarray[Any, Any]:
    """All columns of a parquet or CSV file."""
    import polars as pl

    try:
        if suffix == ".parquet":
            frame = pl.read_parquet(file)
        else:
            first = pl.read_csv(file, has_header=False, n_rows=1, infer_schema=False)
            _check_header([cell or "" for cell in first.row(0)])
            frame = pl.read_csv(file, infer_schema_length=None)  # 0 and 1 for long, and 0.5 at last
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidParameter("source", f"must be a {suffix} table ({reason})", str(file)) from None
    for name, kind in frame.schema.items():
        if frame.height and not kind.is_numeric():
            rule = f"must have a column of numbers for each arm, and no other; {name!r} is one of {kind}"
            raise InvalidParameter("source", rule, str(file))
    return frame.select(pl.all().cast(pl.Float64, strict=False).fill_null(float("nan"))).to_numpy()


def _check_header(cells: list[str]) -> None:
    """A first line of numbers is a round, which would be lost as the names of the columns."""
    try:
        for cell in cells:
            float(cell or "nan")
    except ValueError:
        return
    raise InvalidParameter("source", "must have a header line of arm names before the first round", ",".join(cells))


def _prefix_sums(table: np.ndarray[Any, Any]) -> Array:
    """Sums of the first t rows for t = 0 … T, read and checked piece by piece."""
    T, K = table.shape
    if 8 * (T + 1) * K <= IN_MEMORY:
        sums = np.zeros((T + 1, K))
    else:
        with tempfile.TemporaryFile() as file:  # the mapping outlives the handle
            sums = np.memmap(file, dtype=np.float64, shape=(T + 1, K))
    for first in range(0, T, ROWS_AT_ONCE):
        piece = np.asarray(table[first : first + ROWS_AT_ONCE], dtype=np.float64)
        wrong = ~((piece >= 0.0) & (piece <= 1.0))
        if wrong.any():
            row, arm = (int(i) for i in np.argwhere(wrong)[0])
            raise InvalidParameter(
                f"loss at row {first + row}, column {arm}",
                "must be a number from 0 to 1",
                float(piece[row, arm]),
            )
        np.cumsum(piece, axis=0, out=sums[first + 1 : first + 1 + len(piece)])
        sums[first + 1 : first + 1 + len(piece)] += sums[first]
    return np.asarray(sums)
