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

from holdfast._kernel import kernel
from holdfast.environments.protocol import Array, Environment, Tables
from holdfast.errors import InvalidParameter

IN_MEMORY = 2**30
"""Bytes of prefix sums above which they are kept in a temporary file mapped into memory."""

ROWS_AT_ONCE = 2**16

TABLE_RULE = "must be a table of numbers with one row a round and one column an arm"


@kernel
def total(tables: Any, arm: int, start: float, stop: float, stream: Any) -> float:
    """Two lookups in the prefix sums."""
    sums, _ = tables
    return sums[int(stop), arm] - sums[int(start), arm]  # type: ignore[no-any-return]


@kernel
def gap(tables: Any, arm: int, start: float, stop: float) -> float:
    """What the arm really lost more than the reference arm."""
    sums, reference = tables
    s, t, best = int(start), int(stop), int(reference[0])
    return (sums[t, arm] - sums[s, arm]) - (sums[t, best] - sums[s, best])  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class LossTable(Environment):
    """Losses given round by round: an array of T rows and K columns in [0, 1], or the path of a ``.npy`` file.

    A file is mapped, not read, and only its prefix sums are kept (in a temporary mapped file too when they
    are large). The losses are one fixed sequence, so the pseudo-regret is the regret.

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
        try:
            return np.asanyarray(np.load(self.source, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise InvalidParameter("source", f"must be the path of a .npy file ({error})", str(self.source)) from None

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
