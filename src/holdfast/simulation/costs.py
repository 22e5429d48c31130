"""What a switch costs in a simulation: a number, or a sequence λ_1, λ_2, … of the blocks (Theorem 4's setting)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import real_number
from holdfast.errors import InvalidParameter

Array = NDArray[np.float64]
SwitchingCost = float | Sequence[float] | Callable[[int], float]
FIRST_TABLE = 4096


@dataclass(frozen=True)
class Power:
    """λ_n = `scale` · n^`alpha`, the sequence of Corollary 5.

    >>> Power(0.5)(4)
    2.0
    """

    alpha: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", real_number("alpha", self.alpha))
        object.__setattr__(self, "scale", real_number("scale", self.scale, least=0))

    def __call__(self, n: int) -> float:
        """λ_n of block n. Not by NumPy, whose vectorised powers differ in the last bit between processors."""
        cost: float = self.scale * float(n) ** self.alpha
        return cost


@dataclass(frozen=True)
class Costs:
    """A checked switching cost: `constant` is λ, or None for a sequence."""

    given: Any
    constant: float | None

    @classmethod
    def of(cls, switching_cost: SwitchingCost) -> Costs:
        """Check what the user gave."""
        if isinstance(switching_cost, (Power, Costs)) or callable(switching_cost):
            return switching_cost if isinstance(switching_cost, Costs) else cls(switching_cost, None)
        if isinstance(switching_cost, (list, tuple, np.ndarray)):
            if len(switching_cost) < 2:
                rule = "must have an entry for every block, so at least two; give a number for a constant cost"
                raise InvalidParameter("switching_cost", rule, switching_cost)
            values = tuple(
                real_number(f"switching_cost[{i}]", value, least=0) for i, value in enumerate(switching_cost)
            )
            return cls(values, None)
        number = real_number("switching_cost", switching_cost, least=0)
        return cls(number, number)

    def table(self, blocks: int = FIRST_TABLE) -> Array:
        """λ alone, or λ_1 … λ_n for n = `blocks`, or as far as a list reaches."""
        if self.constant is not None:
            return np.array([self.constant])
        if isinstance(self.given, tuple):
            return np.array(self.given)
        tabulated = _tabulated if isinstance(self.given, Hashable) else _tabulated.__wrapped__
        return tabulated(self.given, blocks)

    def longer(self, table: Array) -> Array:
        """Twice the table, when a game has come to its end."""
        if isinstance(self.given, tuple):
            raise InvalidParameter(
                "switching_cost",
                "must have an entry for every block played; give a function of n",
                f"{len(table)} entries",
            )
        return self.table(2 * len(table))

    def described(self) -> Any:
        """For the provenance of a result."""
        if isinstance(self.given, Power):
            return {"power": self.given.alpha, "scale": self.given.scale}
        if isinstance(self.given, tuple):
            return list(self.given)
        return self.constant if self.constant is not None else getattr(self.given, "__qualname__", repr(self.given))


@lru_cache(maxsize=32)
def _tabulated(cost: Callable[[int], float], blocks: int) -> Array:
    """λ_1 … λ_n of a function, computed once for all pieces of a simulation."""
    return np.array([real_number(f"switching_cost at n={n}", cost(n), least=0) for n in range(1, blocks + 1)])
