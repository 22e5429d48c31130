"""Switching costs of a simulation: a number, a sequence λ_1, λ_2, … by block (Theorem 4), or one per pair of arms."""

from __future__ import annotations

import math
import threading
import warnings
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.checks import LARGEST, CostTable, check_fields, checked_costs, real, real_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array

SwitchingCost = float | Sequence[float] | Sequence[Sequence[float]] | Callable[[int], float]
FIRST_TABLE = 4096
"""Entries of a function tabulated at first; a game that needs more restarts with twice as many."""

_TABULATING = threading.RLock()
"""Lock under which a user's function is called, once per block; reentrant, as it may itself simulate."""


@dataclass(frozen=True)
class Power:
    """λ_n = `scale` · n^`alpha`, the sequence of Corollary 5.

    >>> Power(0.5)(4)
    2.0
    """

    alpha: float = field(metadata=real())
    scale: float = field(default=1.0, metadata=real(least=0))

    def __post_init__(self) -> None:
        check_fields(self)

    def __call__(self, n: int) -> float:
        """Return λ_n of block n. Not by NumPy, whose vectorised powers differ in the last bit between processors."""
        try:
            cost: float = self.scale * float(n) ** self.alpha
        except OverflowError:
            return math.inf
        return cost


@dataclass(frozen=True)
class Costs:
    """A checked switching cost: `constant` is λ, or None for a sequence.

    A function is tabulated for one simulation only: what it closes over may have changed by the next one.
    """

    given: Any
    constant: float | None
    blocks: int | None = None
    """Most blocks a game can have, the limit of calls to a function; None if unknown."""
    unit: float = 1.0
    """Divisor of `table`: the width of the losses' range, where policies receive shares of it."""
    pairs: CostTable | None = None
    """Cost for each pair of arms; λ is then unused."""
    _known: Any = field(default_factory=lambda: array("d"), init=False, repr=False, compare=False)
    """λ_1, λ_2, … of a function, as far as tabulated."""
    _failed: list[InvalidParameter] = field(default_factory=list, init=False, repr=False, compare=False)
    """Error for the first invalid λ_n, raised only if a game reaches block n."""

    @classmethod
    def of(cls, switching_cost: SwitchingCost | Costs, *, blocks: int | None = None) -> Costs:
        """Check a switching cost for games of at most `blocks` blocks."""
        if isinstance(switching_cost, Costs):
            return replace(switching_cost, blocks=blocks)
        if callable(switching_cost):
            return cls(switching_cost, None, blocks)
        if _is_table(switching_cost):
            pairs, detour = checked_costs(switching_cost, len(switching_cost), LARGEST)  # type: ignore[arg-type]
            if detour is not None:
                said = (
                    "switching_cost from arm {} to arm {} is more than by way of arm {}: shortest ways are used instead"
                )
                warnings.warn(said.format(detour[0], detour[2], detour[1]), UserWarning, stacklevel=3)
            return cls(pairs, None, blocks, pairs=pairs)
        if isinstance(switching_cost, (list, tuple, np.ndarray)) and np.ndim(switching_cost) > 0:
            if len(switching_cost) < 2:
                rule = "must have an entry for every block, so at least two; give a number for a constant cost"
                raise InvalidParameter("switching_cost", rule, switching_cost)
            values = tuple(
                real_number(f"switching_cost[{i}]", value, least=0) for i, value in enumerate(switching_cost)
            )
            return cls(values, None, blocks)
        number = real_number("switching_cost", switching_cost, least=0)
        return cls(number, number, blocks)

    def table(self, blocks: int = FIRST_TABLE) -> Array:
        """Return λ alone, or λ_1 … λ_n for n = `blocks`, or as far as a list or the longest game reaches.

        0 where there is a cost for each pair of arms instead.
        """
        if self.pairs is not None:
            return np.zeros(1)
        if self.constant is not None:
            return np.array([self.constant / self.unit])
        if isinstance(self.given, tuple):
            return np.array(self.given) / self.unit
        with _TABULATING:
            self._tabulate(blocks if self.blocks is None else min(blocks, self.blocks))
            return np.array(self._known) / self.unit

    def pair_table(self) -> Array:
        """Return the costs of all pairs of arms, row by row; a single 0 if there are none."""
        return np.zeros(1) if self.pairs is None else np.array(self.pairs).ravel() / self.unit

    def longer(self, table: Array) -> Array:
        """Return twice the table, for a game that has reached its end."""
        if isinstance(self.given, tuple):
            raise InvalidParameter(
                "switching_cost",
                "must have an entry for every block played; give a function of n",
                f"{len(table)} entries",
            )
        longer = self.table(2 * len(table))
        if len(longer) == len(table):
            raise self._failed[0]
        return longer

    def _tabulate(self, blocks: int) -> None:
        """Call the function for entries up to λ_n, n = `blocks`, or to the first invalid one."""
        while len(self._known) < blocks and not self._failed:
            n = len(self._known) + 1
            try:
                cost = self.given(n)
            except Exception as error:
                rule = f"must be a finite number and not negative; the function raised {type(error).__name__}"
                failed = InvalidParameter(f"switching_cost at n={n}", rule, str(error))
                failed.__cause__ = error
                self._failed.append(failed)
                break
            try:
                self._known.append(real_number(f"switching_cost at n={n}", cost, least=0))
            except InvalidParameter as error:
                self._failed.append(error)
        if self._failed and len(self._known) < 2:  # a table of one entry means a constant
            raise self._failed[0]

    def described(self) -> Any:
        """Describe the cost for the provenance of a result."""
        if isinstance(self.given, Power):
            return {"power": self.given.alpha, "scale": self.given.scale}
        if self.pairs is not None:
            return [list(row) for row in self.pairs]
        if isinstance(self.given, tuple):
            return list(self.given)
        return self.constant if self.constant is not None else getattr(self.given, "__qualname__", repr(self.given))


def _is_table(given: object) -> bool:
    """Tell whether this is a list of rows."""
    if isinstance(given, np.ndarray):
        return given.ndim == 2
    return isinstance(given, (list, tuple)) and len(given) > 0 and isinstance(given[0], (list, tuple, np.ndarray))
