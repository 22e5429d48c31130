"""Environments: losses of K arms over rounds 0, 1, 2, … that do not depend on what is played.

    total(tables, arms, start, stop, streams, totals)   loss of an arm over the rounds [start, stop): one draw or lookup
    gap(tables, arms, start, stop, gaps)                its expectation less that of the reference arm

are its kernels, both O(1). `tables` is a tuple of read-only arrays. They serve several games played side by side over
the same rounds: `arms`, `totals` and `gaps` have one number per game, `streams` one column.

Losses have a range, [0, 1] unless an environment says otherwise. `total` is what a policy's kernels receive: each
round's loss as a share of the range, from 0 to 1. Everything else (`gap`, `expected`, `excess`, `draw`) is in the
environment's own units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import check_fields, made, number_range, settings_of, whole_number
from holdfast.errors import TRUTH, InvalidParameter, Words
from holdfast.numerics.layout import Array
from holdfast.numerics.random import Stream

LAST_ROUND = 2**53
"""Last round: rounds are counted in doubles, exact up to here."""

UNIT_RANGE = (0.0, 1.0)

Tables = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)  # each class decides whether its objects compare by their fields
class Environment(ABC):
    """Losses of `n_arms` arms, each round's within `units`, independent of what is played."""

    id: ClassVar[str]
    total_kernel: ClassVar[Callable[..., Any]]
    gap_kernel: ClassVar[Callable[..., Any]]
    shut_kernel: ClassVar[Callable[..., Any] | None] = None
    """``shut(tables, state, t, shift)`` tells a policy with full information which arms are unavailable in round t;
    None if all are available.
    """
    paired_kernel: ClassVar[Callable[..., Any] | None] = None
    """Like `total_kernel`, with losses that depend on arm, round and the start of the streams alone, which it does not
    move (`simulate(paired=True)`). None: each round is drawn by itself.
    """
    ahead_kernel: ClassVar[Callable[..., Any] | None] = None
    """The same for a policy that plans, with forecasts."""

    shuffled: bool = field(default=False, kw_only=True)
    """Rotate the arms at random in each replication, so that no policy can profit from the position of the best arm."""

    def __post_init__(self) -> None:
        check_fields(self)

    def _set(self, name: str, value: object) -> None:
        """Set a checked value on this frozen object, during construction."""
        object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """Number of arms K."""

    @property
    def arms(self) -> Sequence[str] | None:
        """Names of the arms, if any."""
        return None

    @property
    def rounds(self) -> int | None:
        """Number of rounds, or None for an environment without an end."""
        return None

    @property
    def units(self) -> tuple[float, float]:
        """Lowest and highest loss of one round."""
        return UNIT_RANGE

    @property
    def ranges(self) -> Sequence[float]:
        """b_1, b_2, … as shares of the range, over and over: no loss of round t exceeds b_t.

        A policy that is announced bounds is told that of the first round of each block.
        """
        return (1.0,)

    @property
    def closes_arms(self) -> bool:
        """True if some arm is unavailable in some round."""
        return False

    @property
    def unit(self) -> float:
        """Width of `units`."""
        return self.units[1] - self.units[0]

    @property
    @abstractmethod
    def tables(self) -> Tables:
        """Arrays that the kernels read."""

    @property
    @abstractmethod
    def reference(self) -> int:
        """Arm that gaps are measured from: a best one at the end, so that playing it adds exactly nothing."""

    @abstractmethod
    def expected(self, start: int, stop: int) -> Array:
        """Return the expected total loss of every arm over the rounds [start, stop)."""

    @abstractmethod
    def excess(self, stop: int) -> Array:
        """Return the expected total loss of every arm over the rounds [0, stop) less that of the reference arm."""

    def means_between(self, start: int, stop: int) -> Array:
        """Return the expected losses of runs of rounds within which none changes: a row for each run of [start, stop).

        By default a run is a round.
        """
        most = 10**7
        if stop > most:
            own = type(self).__name__
            raise InvalidParameter("horizon", f"must be at most {most} for dynamic regret in {own}", stop)
        return np.array([self.expected(t, t + 1) for t in range(start, stop)])

    def draw(self, arm: int, start: int, stop: int, stream: Stream) -> float:
        """Draw the total loss of `arm` over the rounds [start, stop): one draw from `stream`, or one lookup.

        Parameters
        ----------
        arm
            Its number, from 0.
        start, stop
            The rounds [start, stop).
        stream
            A `holdfast.Stream`, which moves on.
        """
        arm = whole_number("arm", arm, least=0, most=self.n_arms - 1)
        if not isinstance(stream, Stream):
            raise InvalidParameter("stream", "must be a holdfast.Stream", stream)
        start, stop = self.checked_rounds(start, stop)
        total = np.zeros(1)
        self.total_kernel(
            self.tables, np.array([float(arm)]), float(start), float(stop), stream.state.reshape(-1, 1), total
        )
        return self.units[0] * (stop - start) + float(total[0]) * self.unit

    def checked_rounds(self, start: int, stop: int) -> tuple[int, int]:
        """Return [start, stop) as integers within the environment's rounds."""
        stop = whole_number("stop", stop, least=0, most=LAST_ROUND if self.rounds is None else self.rounds)
        return whole_number("start", start, least=0, most=stop), stop

    def check_itself(self) -> None:
        """Refuse a user-defined class whose properties cannot be played."""
        own = type(self).__name__
        if not isinstance(self.shuffled, bool):
            raise InvalidParameter("shuffled", Words("must be ", TRUTH), self.shuffled)
        most = whole_number(f"n_arms of {own}", self.n_arms, least=1) - 1
        whole_number(f"reference of {own}, an arm,", self.reference, least=0, most=most)
        if self.units is not UNIT_RANGE:
            number_range(f"units of {own}", self.units)
        if self.rounds is not None:
            whole_number(f"rounds of {own}", self.rounds, least=1, most=LAST_ROUND)

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values, enough for `make_environment` to restore it."""
        return settings_of(self, "environment")

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Build the environment from its parameters by name."""
        if not isinstance(values.get("shuffled", False), bool):
            raise InvalidParameter("shuffled", "must be true or false", values["shuffled"])
        return made(cls, cls.id, values)
