"""Experts: simple full-information strategies, for a policy that mixes them.

An expert has one arm in each round. Two kernels play it:

    step(own, memory, game, costs, here)      the arm for this round; `here` is the last one, −1 at first
    learn(own, memory, game, costs, losses)   what every arm lost in this round, each from 0 to 1

`own` holds the expert's settings as an array, `memory` what it keeps between rounds, by the names it declares, and
`game` is shared by all experts of a game:

    game.n[0]                    the round, from 1
    game.lam[0]                  what a switch costs in this round; with a table of costs, the largest entry
    game.known[i, 0]             what arm i lost in the last round
    game.shut[i, 0]              1 where arm i is not available in this round, otherwise 0
    game.closed[h * K + i, 0]    the same h rounds ahead, for h below game.closed_rows[0]
    game.forecast[r * K + i, 0]  the forecast for h rounds ahead in row r = game.first[0] + h, below game.rows[0]

`price(game, costs, a, b)` is the cost of switching from arm a to arm b now. An expert that returns an arm that is not
available is moved to another one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import address_of, check_fields, class_at, is_own, made, one_of, real, whole
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Layout, PerArm, Range, Scalar, layout_of, several
from holdfast.policies.policy import Kernel

LONGEST_PERIOD = 100_000

HORIZON = 24
"""Rounds that a smoothed mean is assumed to last."""


class ExpertKernels(NamedTuple):
    """All that is needed to play an expert, apart from its settings."""

    step: Kernel
    learn: Kernel
    memory: type
    """NamedTuple of what it keeps between rounds."""
    look_ahead: int = 0
    """Rounds that it plans; 0 for an expert that does not use `first_step`."""

    @property
    def layout(self) -> Layout:
        """Layout of its memory."""
        return layout_of(self.memory)


@dataclass(frozen=True)
class Expert(ABC):
    """A strategy with one arm in each round. Its fields are its settings."""

    id: ClassVar[str]
    """Name in a saved game."""

    @property
    @abstractmethod
    def kernels(self) -> ExpertKernels:
        """The kernels that play it."""

    def own(self) -> Sequence[float]:
        """Return the settings as its kernels read them."""
        return ()

    def sizes(self) -> Mapping[str, int]:
        """Return the sizes that `holdfast.kernels.several` names in its memory."""
        return {}

    @property
    def layout(self) -> Layout:
        """Layout of its memory."""
        return self.kernels.layout.of_size(self.sizes())

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain values, enough to recreate this expert."""
        return {"expert": address_of(self)} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __post_init__(self) -> None:
        check_fields(self)


@kernel
def price(game: Any, costs: Any, origin: int, arm: int) -> float:
    """Return the cost of switching from `origin` to `arm` in this round; `origin` is −1 before the first."""
    if origin == arm:
        return 0.0
    if costs.shape[0] == 0:
        return float(game.lam[0])
    return float(costs[origin * game.known.shape[0] + arm]) if origin >= 0 else 0.0


@kernel
def cheapest_move(game: Any, costs: Any, value: Any, here: int) -> int:
    """Return the arm with the least `value` plus switching cost; on ties, `here`."""
    arm = here
    least = math.inf if here < 0 or game.shut[here, 0] > 0.0 else value[here, 0]
    for i in range(value.shape[0]):
        if i != here and game.shut[i, 0] == 0.0:
            total = value[i, 0] + price(game, costs, here, i)
            if total < least:
                arm, least = i, total
    return arm


@kernel
def first_step(game: Any, costs: Any, rounds: int, here: int) -> int:
    """Return the first arm of the cheapest plan over `rounds` rows of losses in ``game.ahead``, by dynamic programming.

    value(i) is the least cost from round h on when arm i is in play then.
    """
    K = game.value.shape[0]
    value, other = game.value, game.other
    for i in range(K):
        value[i, 0] = 0.0
    for h in range(rounds - 1, -1, -1):
        shut = h > 0 and h < game.closed_rows[0]
        least = math.inf
        for i in range(K):
            value[i, 0] += game.ahead[h * K + i, 0]
            if shut and game.closed[h * K + i, 0] > 0.0:
                value[i, 0] = math.inf
            least = min(least, value[i, 0])
        if h > 0 and costs.shape[0] == 0:
            least += game.lam[0]
            for i in range(K):
                value[i, 0] = min(value[i, 0], least)
        elif h > 0:
            for i in range(K):
                other[i, 0] = value[i, 0]
            for i in range(K):
                for j in range(K):
                    value[i, 0] = min(value[i, 0], other[j, 0] + costs[i * K + j])
    return cheapest_move(game, costs, value, here)


# Experts that follow no plan: a fixed arm, the work function, smoothed losses.

STEADY = 1e-12
"""Tolerance in comparing work functions, since a table of costs is added and subtracted again."""


@kernel
def learn_nothing(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Learn nothing, for an expert without memory."""


class Nothing(NamedTuple):
    """The memory of an expert without one."""


@kernel
def stand(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Return the one arm."""
    return int(own[0])


@dataclass(frozen=True)
class FixedArm(Expert):
    """Always the same arm; while it is unavailable, the stand-in of all experts."""

    id = "fixed-arm"
    arm: int = field(default=0, metadata=whole(least=0))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(stand, learn_nothing, Nothing)

    def own(self) -> Sequence[float]:
        return (float(self.arm),)


class WorkMemory(NamedTuple):
    """The work function: the cost of the cheapest plan so far that ends on each arm, less the least."""

    w: PerArm


@kernel
def step_work(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Move if the plan ending here is as cheap via another arm, to the arm whose own plan is cheapest."""
    if here < 0:
        return 0
    w, K, scale, least_toll = memory.w, memory.w.shape[0], own[0], own[1]
    forced = game.shut[here, 0] > 0.0
    arm, least = here, math.inf
    for i in range(K):
        if i != here and game.shut[i, 0] == 0.0 and w[i, 0] < least:
            toll = max(scale * price(game, costs, i, here), least_toll)
            if forced or (toll > 0.0 and w[here, 0] + STEADY >= w[i, 0] + toll):
                arm, least = i, w[i, 0]
    return arm


@kernel
def learn_work(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Update w ← w + ℓ, then each arm via the cheapest other; min w ← 0."""
    w, K, scale, least_toll = memory.w, memory.w.shape[0], own[0], own[1]
    least = math.inf
    for i in range(K):
        w[i, 0] += losses[i, 0]
        least = min(least, w[i, 0])
    if costs.shape[0] == 0:
        most = max(scale * game.lam[0], least_toll)
        for i in range(K):
            w[i, 0] = min(w[i, 0] - least, most)
        return
    for i in range(K):
        w[i, 0] -= least
        game.other[i, 0] = w[i, 0]
    for i in range(K):
        for j in range(K):
            if j != i:
                w[i, 0] = min(w[i, 0], game.other[j, 0] + max(scale * costs[j * K + i], least_toll))


@dataclass(frozen=True)
class WorkFunction(Expert):
    """The work function algorithm (Borodin, Linial and Saks, J. ACM 39, 1992), at `scale` times the switching cost.

    w(i) is the cost of the cheapest plan so far that ends on arm i. The expert moves when the plan that ends on its own
    arm is as cheap via another. A scale above 1 moves later; so does `least`, below which no switch is assumed to
    cost: where losses are noisy, an expert that moves for a small λ follows the noise.
    """

    id = "work-function"
    scale: float = field(default=1.0, metadata=real(above=0, most=1e9))
    least: float = field(default=0.0, metadata=real(least=0, most=1e9))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(step_work, learn_work, WorkMemory)

    def own(self) -> Sequence[float]:
        return (self.scale, self.least)


class SmoothedMemory(NamedTuple):
    mean: PerArm


@kernel
def step_smoothed(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Stay for the horizon or move once, now: constant losses need no dynamic program."""
    if here < 0:
        return 0
    for i in range(memory.mean.shape[0]):
        game.value[i, 0] = own[1] * memory.mean[i, 0]
    return cheapest_move(game, costs, game.value, here)


@kernel
def learn_smoothed(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Update the plain mean of the first rounds, then a moving one."""
    weight = max(own[0], 1.0 / game.n[0])
    for i in range(memory.mean.shape[0]):
        memory.mean[i, 0] += weight * (losses[i, 0] - memory.mean[i, 0])


@dataclass(frozen=True)
class Smoothed(Expert):
    """Assumes that every arm keeps its smoothed loss: moves when that saves more than the switch within `horizon`.

    Parameters
    ----------
    weight
        Weight of the last loss in the moving mean: 1 looks at the last loss alone.
    horizon
        Rounds over which a difference counts.
    """

    id = "smoothed"
    weight: float = field(default=1.0, metadata=real(above=0, most=1))
    horizon: int = field(default=HORIZON, metadata=whole(least=1, most=10**9))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(step_smoothed, learn_smoothed, SmoothedMemory)

    def own(self) -> Sequence[float]:
        return self.weight, float(self.horizon)


# Experts that plan on a season: losses that repeat after a period, which is given or found.

FOUND_PERIODS = (7, 12, 24, 48)
"""Days of a week, months of a year, hours and half hours of a day."""
LONGEST_FOUND, FOUND_EVERY, FOUND_MEMORY, FOUND_FROM, FOUND_BELOW = 48, 5, 200.0, 240, 0.7
"""Each is looked at in every fifth round, and remembered over 200 of these. It is found, from round 240 and ten periods
on, where the mean square of differences to one period ago is below 0.7 times that to half a period ago."""


class SeasonalMemory(NamedTuple):
    """Smoothed losses at each phase of the period, and how far the last losses were from them."""

    season: several(PerArm, "period")  # type: ignore[valid-type]
    deviation: PerArm


@kernel
def step_seasonal(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Plan on the season plus the last deviation, which fades; for a phase not seen yet, on the last loss."""
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
def learn_phase(memory: Any, phase: int, weight: float, losses: Any) -> None:
    """Move the mean of a phase towards the losses, and keep how far these are from it."""
    K = memory.deviation.shape[0]
    for i in range(K):
        at = phase * K + i
        memory.season[at, 0] += weight * (losses[i, 0] - memory.season[at, 0])
        memory.deviation[i, 0] = losses[i, 0] - memory.season[at, 0]


@kernel
def learn_seasonal(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Update the mean of the phase, plain at first, then moving."""
    K, played = memory.deviation.shape[0], int(game.n[0]) - 1
    period = memory.season.shape[0] // K
    phase, visits = played % period, played // period + 1
    weight = max(own[0], 1.0 / visits)
    learn_phase(memory, phase, weight, losses)


@dataclass(frozen=True)
class SeasonalPlan(Expert):
    """Plans two periods ahead on the smoothed loss of each arm at each phase of a period, such as the hours of a day.

    To it is added how far the last losses were from it, fading over half a period.

    Parameters
    ----------
    period
        Rounds of a period.
    weight
        Weight of the last loss in the moving mean of its phase: 1 expects what was lost one period ago.
    """

    id = "seasonal"
    period: int = field(default=24, metadata=whole(least=2, most=LONGEST_PERIOD))
    weight: float = field(default=1.0, metadata=real(above=0, most=1))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(step_seasonal, learn_seasonal, SeasonalMemory, look_ahead=2 * self.period)

    def sizes(self) -> Mapping[str, int]:
        return {"period": self.period}

    def own(self) -> Sequence[float]:
        """Return the weight, the share of a deviation left after a round, and the rounds to plan."""
        return self.weight, math.exp(-2.0 / self.period), 2.0 * self.period


class FoundMemory(NamedTuple):
    """The last losses in a ring, their distances to one period and half a period ago, and the season."""

    ring: several(PerArm, LONGEST_FOUND)  # type: ignore[valid-type]
    season: several(PerArm, LONGEST_FOUND)  # type: ignore[valid-type]
    whole: several(Scalar, len(FOUND_PERIODS))  # type: ignore[valid-type]
    half: several(Scalar, len(FOUND_PERIODS))  # type: ignore[valid-type]
    deviation: PerArm
    period: Annotated[Scalar, Range(0.0, LONGEST_FOUND, whole=True)]  # the one that was found, or 0


@kernel
def step_found(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Plan on the season of the period found; until there is one, as if the last losses stayed."""
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
    """Update each period's errors and the season, and check now and then whether another period is better."""
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
        learn_phase(memory, played % period, own[0], losses)
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
class FoundSeason(Expert):
    """A `SeasonalPlan` that detects its period of 7, 12, 24 or 48 rounds.

    A period is found when losses are much closer to those one period ago than to those half a period ago. Longer ones,
    such as the 168 hours of a week, must be given. Until one is found it plays as `Smoothed()` does.

    Parameters
    ----------
    weight
        Weight of the last loss in the moving mean of its phase.
    """

    id = "found-season"
    weight: float = field(default=0.15, metadata=real(above=0, most=1))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(step_found, learn_found, FoundMemory, look_ahead=2 * LONGEST_FOUND)

    def own(self) -> Sequence[float]:
        return (self.weight,)


# An expert that plans on given forecasts.

ERROR_WEIGHT, MOST_PERSISTENCE, LEAST_SQUARE = 0.01, 0.98, 1e-12
"""Weight of the moving mean of the persistence of forecast errors; its upper bound; the least mean square."""


class ForecastMemory(NamedTuple):
    """The error of the last round's forecast, and the share of such an error that persists to the next round."""

    error: PerArm
    squares: Scalar
    products: Scalar
    heard: Scalar  # rounds that were forecast


@kernel
def step_forecast(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Plan on the given forecast plus its last error, which fades as errors did so far; stay if there is none."""
    K, rounds = memory.error.shape[0], int(game.rows[0] - game.first[0])
    if rounds <= 0:
        return max(here, 0)
    persistence = memory.products[0] / max(memory.squares[0], LEAST_SQUARE)
    persistence = min(max(persistence, 0.0), MOST_PERSISTENCE)
    row, fade = int(game.first[0]), 1.0
    for h in range(rounds):
        fade *= persistence
        for i in range(K):
            game.ahead[h * K + i, 0] = game.forecast[(row + h) * K + i, 0] + fade * memory.error[i, 0]
    return first_step(game, costs, rounds, here)


@kernel
def learn_forecast(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """Update the error of this round and its correlation with the last one."""
    K = memory.error.shape[0]
    if game.first[0] >= game.rows[0]:
        for i in range(K):
            memory.error[i, 0] = 0.0
        return
    row, products, squares = int(game.first[0]), 0.0, 0.0
    for i in range(K):
        error = losses[i, 0] - game.forecast[row * K + i, 0]
        products += error * memory.error[i, 0]
        squares += memory.error[i, 0] * memory.error[i, 0]
        memory.error[i, 0] = error
    memory.heard[0] += 1.0
    weight = max(ERROR_WEIGHT, 1.0 / memory.heard[0])
    memory.products[0] += weight * (products - memory.products[0])
    memory.squares[0] += weight * (squares - memory.squares[0])


@dataclass(frozen=True)
class GivenForecast(Expert):
    """Plans on the forecasts given to ``ask(forecast=...)``, corrected by how wrong they just were.

    Between two forecasts it uses the rest of the last one. Without any it stays where it is.

    Parameters
    ----------
    rounds
        The most rounds of a forecast that are used.
    """

    id = "given-forecast"
    rounds: int = field(default=48, metadata=whole(least=1, most=LONGEST_PERIOD))

    @property
    def kernels(self) -> ExpertKernels:
        return ExpertKernels(step_forecast, learn_forecast, ForecastMemory, look_ahead=self.rounds)


# The experts that are mixed where none are named, and experts by their ids.

EXPERTS: Mapping[str, type[Expert]] = {
    kind.id: kind for kind in (FixedArm, WorkFunction, Smoothed, SeasonalPlan, FoundSeason, GivenForecast)
}
"""Expert classes by id."""

WORK = ((1.0, 0.0), (4.0, 0.0), (16.0, 0.0), (1.0, 16.0))
MEANS = ((1.0, HORIZON), (0.3, HORIZON), (0.1, 4 * HORIZON), (0.02, HORIZON))
SEASON_WEIGHTS = (1.0, 0.15)


def default_experts(n_arms: int, periods: Sequence[int] | None = None, forecast_rounds: int = 48) -> tuple[Expert, ...]:
    """Return the default experts: every fixed arm, work functions, and plans on smoothed, seasonal and given losses.

    Parameters
    ----------
    n_arms
        The number of arms K.
    periods
        Rounds after which losses repeat, such as 24 for hours; none, if empty. If left out, a period is searched for.
    forecast_rounds
        The most rounds of a given forecast that are used; 0 if none are given.

    Examples
    --------
    >>> [expert.id for expert in default_experts(2, forecast_rounds=0)][:4]
    ['fixed-arm', 'fixed-arm', 'work-function', 'work-function']
    """
    experts: list[Expert] = [FixedArm(arm) for arm in range(n_arms)]
    experts += [WorkFunction(scale, least) for scale, least in WORK]
    experts += [Smoothed(weight, horizon) for weight, horizon in MEANS]
    if periods is None:
        experts.append(FoundSeason())
    else:
        experts += [SeasonalPlan(period, weight) for period in periods for weight in SEASON_WEIGHTS]
    return (*experts, *([GivenForecast(forecast_rounds)] if forecast_rounds else []))


def made_expert(given: object) -> Expert:
    """Return an expert, made from its settings by name if need be: ``{"expert": "work-function", "scale": 2}``."""
    if isinstance(given, Expert):
        return given
    if not isinstance(given, Mapping):
        raise InvalidParameter("experts", "must be experts such as holdfast.experts.WorkFunction(2)", given)
    values = dict(given)
    name = values.pop("expert", None)
    if is_own(name):
        return made(class_at("expert", name, Expert), name, values)  # type: ignore[type-abstract]  # only compared with
    return made(EXPERTS[one_of("expert", name, EXPERTS)], str(name), values)
