"""A table of losses with the forecasts and the available arms of each round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from holdfast._numba.compile import kernel
from holdfast.checks import whole_number
from holdfast.environments.environment import Environment, Tables
from holdfast.environments.loss_table import LossTable, gap, total
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array


@kernel
def shut(tables: Any, state: Any, t: float, shift: float) -> None:
    """Which arms are not available in round t."""
    available, K = tables[4], state.shut.shape[0]
    if available.shape[0] > 1:
        for i in range(K):
            state.shut[i, 0] = 1.0 - available[int(t), (i + int(shift)) % K]


@kernel
def ahead(tables: Any, state: Any, t: float, shift: float) -> None:
    """For a policy that plans: the same, and the forecast, if one was issued in round t."""
    issued, rows, K, r = tables[2], tables[3], state.shut.shape[0], int(t)
    shut(tables, state, t, shift)
    if state.closed.shape[0] > 0:
        for i in range(K):
            state.closed[i, 0] = state.shut[i, 0]
        state.closed_rows[0] = 1.0
    count = min(int(issued[r, 1]), state.forecast.shape[0] // K)
    if count > 0:
        for h in range(count):
            for i in range(K):
                state.forecast[h * K + i, 0] = rows[int(issued[r, 0]) + h, (i + int(shift)) % K]
        state.first[0], state.rows[0] = 0.0, count


@dataclass(frozen=True, eq=False)
class ForecastTable(Environment):
    """A `LossTable` with forecasts and available arms: what ``ask(forecast=..., available=...)`` is given online.

    Policies that plan see both, others that see all losses the available arms. A policy that sees the loss of its own
    arm is refused where some are not available. Regret is counted from the best fixed arm of the table, as if it were
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
        Rotate the arms by a random number of places, drawn anew in each replication.

    Examples
    --------
    >>> import holdfast as hf
    >>> losses = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]
    >>> world = ForecastTable(LossTable(losses), forecasts={0: losses})
    >>> result = hf.simulate(hf.ForecastPlan(2, switching_cost=0.1), world, switching_cost=0.1, progress=False)
    >>> round(result.frame["total_loss"][-1], 6)
    0.4
    """

    id: ClassVar[str] = "forecast-table"
    total_kernel: ClassVar[Callable[..., Any]] = staticmethod(total)
    gap_kernel: ClassVar[Callable[..., Any]] = staticmethod(gap)
    shut_kernel: ClassVar[Callable[..., Any] | None] = staticmethod(shut)
    ahead_kernel: ClassVar[Callable[..., Any] | None] = staticmethod(ahead)

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
        """Whether some arm is not available in some round."""
        return self.available is not None

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        return self.table.n_arms

    @property
    def arms(self) -> Sequence[str] | None:
        """Names of the arms, where they have any."""
        return self.table.arms

    @property
    def rounds(self) -> int:
        """T, the rows of the table."""
        return self.table.rounds

    @property
    def units(self) -> tuple[float, float]:
        """The lowest and the highest loss that one round can have."""
        return self.table.units

    @cached_property
    def tables(self) -> Tables:
        """Those of the losses; where each round's forecast begins and how many rows it has; the rows; what is open."""
        issued, begin = np.zeros((self.rounds, 2)), 0
        for number, rows in self.forecasts.items():
            issued[number] = begin, len(rows)  # type: ignore[arg-type]  # an array since it was checked
            begin += len(rows)  # type: ignore[arg-type]
        rows = np.concatenate([np.zeros((1, self.n_arms)), *self.forecasts.values()])[1 if begin else 0 :]
        closed = np.zeros((1, 1)) if self.available is None else np.asarray(self.available, dtype=np.float64)
        return *self.table.tables, issued, np.ascontiguousarray(rows), closed

    @property
    def reference(self) -> int:
        """The best arm over all rounds."""
        return self.table.reference

    def expected(self, start: int, stop: int) -> Array:
        """Total loss of every arm over the rounds [start, stop)."""
        return self.table.expected(start, stop)

    def excess(self, stop: int) -> Array:
        """Total loss of every arm over the rounds [0, stop) less that of the reference arm."""
        return self.table.excess(stop)

    def settings(self) -> dict[str, Any]:
        """The table's, and how much is known ahead. It cannot be made again from them."""
        known = {"forecasts": len(self.forecasts), "some_arms_closed": self.closes_arms}
        return self.table.settings() | {"environment": self.id} | known
