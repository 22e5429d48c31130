"""Paths that plan on a season: losses that repeat after a period, which is given or found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import real, whole
from holdfast.layouts import PerArm, Range, Scalar, several
from holdfast.policies.path import HORIZON, LONGEST_PERIOD, Path, PathKernels, cheapest_move, first_step

FOUND_PERIODS = (7, 12, 24, 48)
"""Days of a week, months of a year, hours of a day, half hours of a day."""
LONGEST_FOUND, FOUND_EVERY, FOUND_MEMORY, FOUND_FROM, FOUND_BELOW = 48, 5, 200.0, 240, 0.7
"""Each is looked at in every fifth round, and remembered over 200 of these. It is found, from round 240 and ten periods
on, where the mean square of differences to one period ago is below 0.7 times that to half a period ago."""


class SeasonalMemory(NamedTuple):
    """Smoothed losses at each phase of the period, and how far the last losses were from them."""

    season: several(PerArm, "period")  # type: ignore[valid-type]
    deviation: PerArm


@kernel
def step_seasonal(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Plan on the season plus the last deviation, which fades; where a phase was not seen yet, on the last loss."""
    if here < 0:
        return 0
    K, rounds, played = memory.deviation.shape[0], int(own[2]), int(game.n[0]) - 1
    period = memory.season.shape[0] // K
    phase, fade = played % period, 1.0
    for h in range(rounds):
        fade *= own[1]
        seen = phase < played
        for i in range(K):
            expected = memory.season[phase * K + i, 0] + fade * memory.deviation[i, 0]
            game.ahead[h * K + i, 0] = expected if seen else game.known[i, 0]
        phase = phase + 1 if phase + 1 < period else 0
    return first_step(game, costs, rounds, here)


@kernel
def learn_seasonal(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """The mean of the phase, plain at first, then moving."""
    K, played = memory.deviation.shape[0], int(game.n[0]) - 1
    period = memory.season.shape[0] // K
    phase, visits = played % period, played // period + 1
    weight = max(own[0], 1.0 / visits)
    for i in range(K):
        memory.season[phase * K + i, 0] += weight * (losses[i, 0] - memory.season[phase * K + i, 0])
        memory.deviation[i, 0] = losses[i, 0] - memory.season[phase * K + i, 0]


@dataclass(frozen=True)
class SeasonalPlan(Path):
    """Plans two periods ahead on the smoothed loss of each arm at each phase of a period, such as the hours of a day.

    To it is added how far the last losses were from it, fading over half a period.

    Parameters
    ----------
    period
        Rounds of a period.
    weight
        Weight of the last loss in the moving mean of its phase: 1 expects what was lost one period ago.
    """

    id: ClassVar[str] = "seasonal"
    period: int = field(default=24, metadata=whole(least=2, most=LONGEST_PERIOD))
    weight: float = field(default=1.0, metadata=real(above=0, most=1))

    @property
    def kernels(self) -> PathKernels:
        """A number for each arm and phase."""
        return PathKernels(step_seasonal, learn_seasonal, SeasonalMemory, look_ahead=2 * self.period)

    def sizes(self) -> Mapping[str, int]:
        """The period."""
        return {"period": self.period}

    def own(self) -> Sequence[float]:
        """Weight, what is left of a deviation after a round, and the rounds to plan."""
        return self.weight, math.exp(-2.0 / self.period), 2.0 * self.period


class FoundMemory(NamedTuple):
    """The last losses in a ring, how far losses were from those one period and half a period ago, and the season."""

    ring: several(PerArm, LONGEST_FOUND)  # type: ignore[valid-type]
    season: several(PerArm, LONGEST_FOUND)  # type: ignore[valid-type]
    whole: several(Scalar, len(FOUND_PERIODS))  # type: ignore[valid-type]
    half: several(Scalar, len(FOUND_PERIODS))  # type: ignore[valid-type]
    deviation: PerArm
    period: Annotated[Scalar, Range(0.0, LONGEST_FOUND, whole=True)]  # the one that was found, or 0


@kernel
def step_found(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """As a season of the period that was found; until there is one, as if the last losses stayed."""
    K, period = memory.deviation.shape[0], int(memory.period[0])
    if here < 0:
        return 0
    if period == 0:
        for i in range(K):
            game.value[i, 0] = HORIZON * game.known[i, 0]
        return cheapest_move(game, costs, game.value, here)
    phase, fade, left = (int(game.n[0]) - 1) % period, 1.0, math.exp(-2.0 / period)
    for h in range(2 * period):
        fade *= left
        for i in range(K):
            game.ahead[h * K + i, 0] = memory.season[phase * K + i, 0] + fade * memory.deviation[i, 0]
        phase = phase + 1 if phase + 1 < period else 0
    return first_step(game, costs, 2 * period, here)


@kernel
def learn_found(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Errors of each period, the season, and now and then whether another period is better."""
    K, played, ring = memory.deviation.shape[0], int(game.n[0]) - 1, memory.ring
    c = played % FOUND_EVERY
    if c < len(FOUND_PERIODS) and played >= FOUND_PERIODS[c]:
        P = FOUND_PERIODS[c]
        looks = (played - c) // FOUND_EVERY - (P - 1 - c) // FOUND_EVERY
        weight = max(1.0 / FOUND_MEMORY, 1.0 / looks)
        ago, less = (played - P) % LONGEST_FOUND, (played - P // 2) % LONGEST_FOUND
        whole, half = 0.0, 0.0
        for i in range(K):
            whole += (losses[i, 0] - ring[ago * K + i, 0]) ** 2
            half += (losses[i, 0] - ring[less * K + i, 0]) ** 2
        memory.whole[c, 0] += weight * (whole - memory.whole[c, 0])
        memory.half[c, 0] += weight * (half - memory.half[c, 0])
    for i in range(K):
        ring[played % LONGEST_FOUND * K + i, 0] = losses[i, 0]
    period, found, best = int(memory.period[0]), int(memory.period[0]), FOUND_BELOW
    if period > 0:
        phase = played % period
        for i in range(K):
            memory.season[phase * K + i, 0] += own[0] * (losses[i, 0] - memory.season[phase * K + i, 0])
            memory.deviation[i, 0] = losses[i, 0] - memory.season[phase * K + i, 0]
    if played < FOUND_FROM or played % FOUND_EVERY > 0:
        return
    for c in range(len(FOUND_PERIODS)):
        if played >= 10 * FOUND_PERIODS[c] and memory.whole[c, 0] < best * memory.half[c, 0]:
            found, best = FOUND_PERIODS[c], memory.whole[c, 0] / memory.half[c, 0]
    if found != period:
        memory.period[0] = found
        for k in range(found):
            for i in range(K):
                memory.season[(played - k) % found * K + i, 0] = ring[(played - k) % LONGEST_FOUND * K + i, 0]
        for i in range(K):
            memory.deviation[i, 0] = 0.0


@dataclass(frozen=True)
class FoundSeason(Path):
    """A `SeasonalPlan` whose period of 7, 12, 24 or 48 rounds is found from what was seen.

    A period is found when losses are much closer to those one period ago than to those half a period ago. Longer ones,
    as the 168 hours of a week, have to be given. Until then it plays as `Smoothed()` does.

    Parameters
    ----------
    weight
        Weight of the last loss in the moving mean of its phase.
    """

    id: ClassVar[str] = "found-season"
    weight: float = field(default=0.15, metadata=real(above=0, most=1))

    @property
    def kernels(self) -> PathKernels:
        """The last losses, and a number for each arm and phase."""
        return PathKernels(step_found, learn_found, FoundMemory, look_ahead=2 * LONGEST_FOUND)

    def own(self) -> Sequence[float]:
        """The weight."""
        return (self.weight,)
