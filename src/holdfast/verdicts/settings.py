"""What every experiment of the paper can be run with: size, replications, seed, and where the games are played."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.checks import check_fields, one_of, whole
from holdfast.numerics.random import check_seed

LONGEST_PROBE = 10**8
"""Growth is fitted on horizons up to a thousand times the figures', and not beyond this."""

LEAST_JUDGED = 30
"""Replications the ledger plays at least: of ten, as many as the paper's figures have, half the claims stay open."""

FURTHER = ("adaptive",)
"""Policies of our own that can be played and drawn beside the paper's six."""

MOST_PROBED = 100
"""Replications of the long probes at most: their exponents are sharp long before."""


@dataclass(frozen=True)
class RunSettings:
    """The numbers a run is made with; the defaults are the paper's.

    >>> RunSettings().long_horizon
    100000000
    """

    replications: int = field(default=10, metadata=whole(least=1, most=10**6))
    horizon: int = field(default=100_000, metadata=whole(least=100, most=10**12))
    n_arms: int = field(default=8, metadata=whole(least=2, most=10**4))
    seed: int = 0
    further: tuple[str, ...] = ()
    """Policies of `FURTHER` beside the paper's; none by default."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "seed", check_seed(self.seed))
        for name in self.further:
            one_of("further", name, FURTHER)
        object.__setattr__(self, "further", tuple(dict.fromkeys(self.further)))

    @property
    def long_horizon(self) -> int:
        """The longest horizon of the probes."""
        return max(self.horizon, min(1000 * self.horizon, LONGEST_PROBE))

    @property
    def judged(self) -> int:
        """Replications of the tables that claims are judged by; those of the figures are the first of them."""
        return max(self.replications, LEAST_JUDGED)

    @property
    def probed(self) -> int:
        """Replications of a long probe."""
        return min(self.judged, MOST_PROBED)

    def plain(self) -> dict[str, Any]:
        """As JSON takes it; without what is not asked for."""
        numbers = asdict(self)
        further = list(numbers.pop("further"))
        return numbers | ({"further": further} if further else {})
