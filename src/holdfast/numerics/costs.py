"""Switching costs for each pair of arms: a checked table, with shortest paths where a detour is cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter

CostTable = tuple[tuple[float, ...], ...]

ROUNDING = 1e-12
"""Relative difference below which a detour does not count as cheaper."""


def checked_costs(given: Any, n_arms: int, most: float) -> tuple[CostTable, tuple[int, int, int] | None]:
    """Return the table of shortest paths between arms; and three arms (from, via, to) whose detour was cheaper, if any.

    >>> checked_costs([[0, 1, 5], [1, 0, 1], [5, 1, 0]], 3, 1e50)
    (((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0)), (0, 1, 2))
    """
    size = f"{n_arms} x {n_arms}"
    rule = f"must be a table of {size} numbers from 0 to {most:g}, with zeros from each arm to itself"
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("switching_cost", rule, given) from None
    if table.shape != (n_arms, n_arms) or not ((table >= 0) & (table <= most)).all() or np.diag(table).any():
        raise InvalidParameter("switching_cost", rule, given)
    short: NDArray[np.float64] = table.copy()
    for way in range(n_arms):  # Floyd and Warshall
        np.minimum(short, short[:, [way]] + short[[way], :], out=short)
    longer = table > short * (1 + ROUNDING)
    if not longer.any():
        return as_rows_of(table), None
    a, c = (int(arm) for arm in np.argwhere(longer)[0])
    by = short[a] + short[:, c]
    by[[a, c]] = np.inf
    return as_rows_of(short), (a, int(np.argmin(by)), c)


def as_rows_of(table: NDArray[np.float64]) -> CostTable:
    """Return an array as rows of plain numbers."""
    return tuple(tuple(row) for row in table.tolist())
