"""Worlds that are hard for one policy or another: corrupted, drifting, seasonal, changing, and turning unseen.

All are piecewise constant, and all are known by name and a few numbers, so that a table can say what was played.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from holdfast.checks import flag, real, real_number, whole, whole_number
from holdfast.environments.environment import LAST_ROUND
from holdfast.environments.phases import Phased
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array
from holdfast.rng import Stream

MOST_PHASES = 10**7
"""Phases of one environment that are kept in memory."""

HALF = real(least=0, most=0.5)


@dataclass(frozen=True)
class HardCase(Phased):
    """A piecewise constant world that a rule lays out over a horizon."""

    n_arms: int = field(default=0, metadata=whole(least=2))
    """The number of arms K."""
    horizon: int = field(default=0, metadata=whole(least=1, most=LAST_ROUND))
    """T: the rounds that the rule is laid out over. After them the last phase continues."""
    noise: bool = field(default=True, kw_only=True, metadata=flag())
    """Whether losses are 0 or 1, or equal their means."""
    gap: float = field(default=0.2, kw_only=True, metadata=HALF)
    """Δ, by how much arms differ."""

    def _check_phases(self, name: str, count: float) -> None:
        if count > MOST_PHASES:
            raise InvalidParameter(name, f"must not give more than {MOST_PHASES} phases", getattr(self, name))

    def _without_empty(self, starts: Any, means: Any) -> tuple[Array, Array]:
        """The phases without those of no round."""
        first = np.asarray(starts, dtype=np.float64)
        holds = np.append(np.diff(first) > 0, True)
        return first[holds], np.asarray(means, dtype=np.float64)[holds]

    def _even(self, count: int) -> Array:
        """Starts of `count` phases of equal length over the horizon."""
        return np.array([i * self.horizon // count for i in range(count)], dtype=np.float64)


@dataclass(frozen=True)
class Corrupted(HardCase):
    """Bernoulli losses with one best arm, except in C rounds, in which its gap is another's.

    Arm 0 has mean ½ − gap and the others ½; in corrupted rounds arm 1 has ½ − gap and arm 0 has ½. With one stretch
    they are the first C rounds, the classic worst case of stochastic bandits with adversarial corruption (Lykouris,
    Mirrokni and Paes Leme, STOC 2018); with more they lie evenly over the horizon, each stretch first.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    corrupted
        C, at most T.
    gap
        Δ, at most ½.
    stretches
        Into how many equal runs of rounds the corruption is cut.
    shuffled, noise
        As in `PiecewiseConstant`.

    Examples
    --------
    >>> Corrupted(3, 1000, corrupted=100).means.tolist()
    [[0.5, 0.3, 0.5], [0.3, 0.5, 0.5]]
    """

    id: ClassVar[str] = "corrupted"

    corrupted: int = field(kw_only=True)
    stretches: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("corrupted", whole_number("corrupted", self.corrupted, least=0, most=self.horizon))
        most = min(max(self.corrupted, 1), MOST_PHASES // 2)
        self._set("stretches", whole_number("stretches", self.stretches, least=1, most=most))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """A corrupted and a clean phase for each stretch."""
        starts, sizes = self._even(self.stretches), np.diff(np.append(self._even(self.stretches), self.horizon))
        before = np.array([i * self.corrupted // self.stretches for i in range(self.stretches + 1)])
        rows = np.full((2, self.n_arms), 0.5)
        rows[0, 1] = rows[1, 0] = round(0.5 - self.gap, 15)
        ends = starts + np.minimum(np.diff(before), sizes)
        return self._without_empty(np.column_stack([starts, ends]).ravel(), np.tile(rows, (self.stretches, 1)))


@dataclass(frozen=True)
class Drifting(HardCase):
    """Means that move in straight lines: the first arm from best to worst, the last from worst to best.

    At the start arm i has mean ½ − gap + 2·gap·i/(K − 1), at the end that of arm K − 1 − i; all arms are equally good
    over the whole horizon, though none is at any time. `steps` small steps make the line.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    gap
        Half of the spread of the means, at most ½.
    steps
        Phases of equal length.
    shuffled, noise
        As in `PiecewiseConstant`.

    Examples
    --------
    >>> Drifting(2, 1000, gap=0.1, steps=3).means.round(3).tolist()
    [[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]
    """

    id: ClassVar[str] = "drifting"

    steps: int = field(default=100, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("steps", whole_number("steps", self.steps, least=2, most=min(self.horizon, MOST_PHASES)))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """One phase per step."""
        place = np.linspace(-1.0, 1.0, self.n_arms)
        turn = np.linspace(1.0, -1.0, self.steps)
        return self._without_empty(self._even(self.steps), 0.5 + self.gap * np.outer(turn, place))


@dataclass(frozen=True)
class Seasonal(HardCase):
    """Means that swing with the season, every arm at its own time, as prices and loads do over a day.

    In hour h of a season of 24, arm i has mean ½ + swing·sin(2π(h/24 + lag·i/K)), and each but the first `gap` more.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    period
        Rounds of one season, at least 24.
    swing, gap
        Together at most ½.
    lag
        How far the seasons of the arms are apart: 0 for one season, 1 for arms spread over the whole of it.
    shuffled, noise
        As in `PiecewiseConstant`.

    Examples
    --------
    >>> Seasonal(2, 10_000, period=2400).starts[:3].tolist()
    [0.0, 100.0, 200.0]
    """

    id: ClassVar[str] = "seasonal"

    period: int = field(default=1000, kw_only=True, metadata=whole(least=24))
    swing: float = field(default=0.3, kw_only=True, metadata=real(least=0, most=0.5))
    gap: float = field(default=0.05, kw_only=True)
    lag: float = field(default=1.0, kw_only=True, metadata=real(least=0, most=1))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("gap", real_number("gap", self.gap, least=0, most=0.5 - self.swing))
        self._check_phases("period", 24 * self.horizon / self.period)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """24 phases per season."""
        count = -(-24 * self.horizon // self.period)
        arms = np.arange(self.n_arms)
        angle = 2.0 * np.pi * (np.arange(24)[:, None] / 24.0 + self.lag * arms / self.n_arms)
        day = np.clip(0.5 + self.swing * np.sin(angle) + self.gap * (arms > 0), 0.0, 1.0)
        starts = np.array([i * self.period // 24 for i in range(count)], dtype=np.float64)
        return self._without_empty(starts, day[np.arange(count) % 24])


@dataclass(frozen=True)
class ChangingBest(HardCase):
    """A best arm that changes: in each stretch another one has mean ½ − gap, in turn, and the others ½.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    gap
        Δ, at most ½.
    changes
        How often the best arm changes, at equal distances.
    shuffled, noise
        As in `PiecewiseConstant`.

    Examples
    --------
    >>> ChangingBest(3, 900, changes=2).means.tolist()
    [[0.3, 0.5, 0.5], [0.5, 0.3, 0.5], [0.5, 0.5, 0.3]]
    """

    id: ClassVar[str] = "changing-best"

    changes: int = field(default=4, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        most = min(self.horizon, MOST_PHASES) - 1
        self._set("changes", whole_number("changes", self.changes, least=0, most=most))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """One phase per stretch."""
        means = np.full((self.changes + 1, self.n_arms), 0.5)
        stretch = np.arange(self.changes + 1)
        means[stretch, stretch % self.n_arms] = round(0.5 - self.gap, 15)
        return self._without_empty(self._even(self.changes + 1), means)


@dataclass(frozen=True)
class UnseenTurn(HardCase):
    """An arm that becomes good unnoticed: after a third of the rounds, the last arm drops below the best one.

    Arm 0 has mean ½ − gap and the others ½; from round ⌊T/3⌋ on the last arm has ½ − drop. A policy that has settled
    on an arm sees that only if it still explores. Without noise nothing prompts it to.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    gap, drop
        At most ½, and `drop` the larger.
    shuffled, noise
        As in `PiecewiseConstant`.

    Examples
    --------
    >>> UnseenTurn(3, 900, noise=False).expected(299, 301).tolist()
    [0.8, 1.0, 0.7]
    """

    id: ClassVar[str] = "unseen-turn"

    gap: float = field(default=0.1, kw_only=True, metadata=HALF)
    drop: float = field(default=0.3, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("drop", real_number("drop", self.drop, above=self.gap, most=0.5))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """Before and after."""
        means = np.full((2, self.n_arms), 0.5)
        means[:, 0] = round(0.5 - self.gap, 15)
        means[1, -1] = round(0.5 - self.drop, 15)
        return self._without_empty([0, self.horizon // 3], means)


@dataclass(frozen=True)
class JumpingLevels(HardCase):
    """Losses that are constant over stretches and then all jump together, to a level drawn for each stretch.

    In a stretch arm 0 loses its level, uniform between 0 and 1 − gap, and the others `gap` more: the gaps never change,
    yet a policy that compares an arm seen now with one seen before the jump is misled.

    Parameters
    ----------
    n_arms, horizon
        K and T.
    stretch
        Rounds between two jumps.
    gap
        Δ, at most ½.
    seed
        Of the levels: they are the same in every replication.
    shuffled, noise
        As in `PiecewiseConstant`, but without noise unless given.

    Examples
    --------
    >>> world = JumpingLevels(3, 2000, stretch=500, gap=0.1)
    >>> len(world.starts), world.gaps.round(12).tolist()[0]
    (4, [0.0, 0.1, 0.1])
    """

    id: ClassVar[str] = "jumping-levels"

    stretch: int = field(default=500, kw_only=True, metadata=whole(least=1))
    gap: float = field(default=0.1, kw_only=True, metadata=HALF)
    seed: int = field(default=0, kw_only=True, metadata=whole(least=0))
    noise: bool = field(default=False, kw_only=True, metadata=flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_phases("stretch", self.horizon / self.stretch)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """One phase per level."""
        count = -(-self.horizon // self.stretch)
        stream = Stream(self.seed, self.id)
        levels = np.array([stream.uniform() for _ in range(count)]) * (1.0 - self.gap)
        means = levels[:, None] + np.where(np.arange(self.n_arms) > 0, self.gap, 0.0)
        return np.arange(count, dtype=np.float64) * self.stretch, np.minimum(means, 1.0)
