"""Bernoulli losses whose means stay the same within a phase: one phase, many, or two with means 0 and 1.

The total over a block within a phase is one binomial draw, and with means 0 and 1 no draw at all; a phase
boundary inside the block splits it.
"""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Literal, Self

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import among, array_of, flag, real, real_number, whole, whole_number
from holdfast.environments.environment import LAST_ROUND, Environment, Tables
from holdfast.errors import InvalidParameter, nearest
from holdfast.numerics.layout import Array
from holdfast.numerics.random import (
    CERTAIN,
    MOST_TRIALS,
    TABLED,
    Stream,
    binomial,
    binomial_from_table,
    binomial_tables,
    keyed_losses,
    next_uniform,
)

LEAST_GROWTH = 1.0001
"""Least growth of phases: 285,000 up to the last round; closer to 1 they do not fit."""

FRACTION_BITS = 128


@kernel
def phase_of(starts: Any, time: float) -> int:
    """Return the last phase that starts at or before `time`; `starts` ends with a time that is never reached."""
    low, high = 0, starts.shape[0] - 2
    while low < high:
        middle = (low + high + 1) >> 1
        if starts[middle] <= time:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def total(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Draw one binomial for each phase that [start, stop) meets."""
    starts, means, _, ways, kinds, rows, columns = tables
    for g in range(totals.shape[0]):
        totals[g] = 0.0
    phase, now = phase_of(starts, start), start
    while now < stop:
        end = min(stop, starts[phase + 1])
        rounds = end - now
        if ways[phase] == CERTAIN:
            for g in range(totals.shape[0]):
                totals[g] += rounds * means[phase, int(places[g])]
        elif rounds == 1.0:
            for g in range(totals.shape[0]):
                totals[g] += 1.0 if next_uniform(streams, g) < means[phase, int(places[g])] else 0.0
        elif ways[phase] == TABLED and rounds <= MOST_TRIALS:
            for g in range(totals.shape[0]):
                kind = kinds[phase, int(places[g])]
                drawn = binomial_from_table(rows, columns, max(kind, 0), int(rounds), next_uniform(streams, g))
                totals[g] += drawn if kind >= 0 else rounds * means[phase, int(places[g])]
        else:
            for g in range(totals.shape[0]):
                kind = kinds[phase, int(places[g])]
                if kind >= 0 and rounds <= MOST_TRIALS:
                    totals[g] += binomial_from_table(rows, columns, kind, int(rounds), next_uniform(streams, g))
                else:
                    totals[g] += binomial(rounds, means[phase, int(places[g])], streams[:, g])
        now = end
        phase += 1


@kernel
def paired_total(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Count the losses of each phase that [start, stop) meets, keyed by arm and round."""
    starts, means, ways = tables[0], tables[1], tables[3]
    for g in range(totals.shape[0]):
        totals[g] = 0.0
    phase, now = phase_of(starts, start), start
    while now < stop:
        end = min(stop, starts[phase + 1])
        for g in range(totals.shape[0]):
            arm = int(places[g])
            p = means[phase, arm]
            if ways[phase] == CERTAIN:
                totals[g] += (end - now) * p
            else:
                totals[g] += keyed_losses(streams, g, arm, p, int(now), int(end))
        now = end
        phase += 1


@kernel
def gap(tables: Any, places: Any, start: float, stop: float, gaps: Any) -> None:
    """Sum rounds times the gap of each phase that [start, stop) meets."""
    starts, gap_of = tables[0], tables[2]
    for g in range(gaps.shape[0]):
        gaps[g] = 0.0
    phase, now = phase_of(starts, start), start
    while now < stop:
        end = min(stop, starts[phase + 1])
        for g in range(gaps.shape[0]):
            gaps[g] += (end - now) * gap_of[phase, int(places[g])]
        now = end
        phase += 1


class Phased(Environment):
    """Means that are constant within phases.

    A block takes one draw for each phase that it meets; without noise, none.
    """

    total_kernel = staticmethod(total)
    gap_kernel = staticmethod(gap)
    paired_kernel: ClassVar[Callable[..., Any] | None] = staticmethod(paired_total)

    noise: bool = True
    """True if losses are 0 or 1 with these means, False if they equal them."""

    @property
    @abstractmethod
    def layout(self) -> tuple[Array, Array]:
        """First round of each phase, from 0, and the mean losses of each phase, one row each."""

    @cached_property
    def starts(self) -> Array:
        """First round of each phase, from 0."""
        return self.layout[0]

    @cached_property
    def means(self) -> Array:
        """Mean losses of each phase."""
        return self.layout[1]

    @property
    def n_arms(self) -> int:
        return int(self.means.shape[1])

    @cached_property
    def tables(self) -> Tables:
        """Phase starts with an end that is never reached, means, gaps to the reference arm, and binomial tables.

        Without noise every phase is certain.
        """
        ends = np.append(self.starts, float(LAST_ROUND))
        return ends, self.means, self.gaps, *binomial_tables(self.means if self.noise else np.zeros_like(self.means))

    @cached_property
    def gaps(self) -> Array:
        """Mean losses less that of the reference arm, in each phase."""
        return self.means - self.means[:, [self.reference]]

    @cached_property
    def reference(self) -> int:
        """The arm with the least mean in the last phase; the first of equals."""
        return int(np.argmin(self.means[-1]))

    def means_between(self, start: int, stop: int) -> Array:
        """Return a row for each phase that [start, stop) meets."""
        ends = np.append(self.starts[1:], float(LAST_ROUND))
        rounds = np.clip(np.minimum(ends, stop) - np.maximum(self.starts, start), 0.0, None)
        return np.asarray(self.means[rounds > 0.0] * rounds[rounds > 0.0, None])

    def _summed(self, per_round: Array, start: float, stop: float) -> Array:
        ends = np.append(self.starts[1:], float(LAST_ROUND))
        rounds = np.clip(np.minimum(ends, stop) - np.maximum(self.starts, start), 0.0, None)
        return np.asarray(rounds @ per_round)

    def expected(self, start: int, stop: int) -> Array:
        return self._summed(self.means, *self.checked_rounds(start, stop))

    def excess(self, stop: int) -> Array:
        return self._summed(self.gaps, *self.checked_rounds(0, stop))


@dataclass(frozen=True)
class Bernoulli(Phased):
    """Independent 0/1 losses with the same mean in every round, one mean per arm (the paper's stochastic regime).

    >>> Bernoulli.with_gap(n_arms=4, gap=0.2).mean_losses
    (0.3, 0.5, 0.5, 0.5)
    """

    id = "bernoulli"
    mean_losses: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._set("mean_losses", checked_means(self.mean_losses))

    @classmethod
    def with_gap(
        cls, n_arms: int, gap: float, *, best_arms: int = 1, mean: float = 0.5, shuffled: bool = False
    ) -> Self:
        """Build the paper's instance: `best_arms` arms of mean `mean` − `gap`, then the others of mean `mean`.

        Parameters
        ----------
        n_arms
            The number of arms.
        gap
            By how much the best arms are better.
        best_arms
            Number of best arms; they come first.
        mean
            The mean loss of the others.
        shuffled
            Rotate the arms by a random number of places, drawn in each replication.
        """
        n_arms, best_arms, gap = _checked_gap(n_arms, best_arms, gap)
        mean = real_number("mean", mean, least=0)
        if gap > mean:
            raise InvalidParameter("gap", f"must not exceed the mean of the other arms, {mean:g}", gap)
        best = round(mean - gap, 15)
        return cls((best,) * best_arms + (mean,) * (n_arms - best_arms), shuffled=shuffled)

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Build from `mean_losses`, or from the parameters of `with_gap`."""
        of_gap = [name for name in inspect.signature(cls.with_gap).parameters if name != "shuffled"]
        given = [name for name in of_gap if name in values]
        if not given:
            return super().from_settings(values)
        if "mean_losses" in values:
            raise InvalidParameter(given[0], "cannot be given with mean_losses", values[given[0]])
        for name in ("n_arms", "gap"):
            if name not in values:
                raise InvalidParameter(name, f"must be given with {given[0]}", None)
        for name in values:
            if name not in (*of_gap, "shuffled"):
                raise InvalidParameter(name, f"is not a parameter of {cls.id}{nearest(name, of_gap)}", values[name])
        if not isinstance(values.get("shuffled", False), bool):
            raise InvalidParameter("shuffled", "must be true or false", values["shuffled"])
        return cls.with_gap(**values)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        return np.zeros(1), np.array([self.mean_losses])


@dataclass(frozen=True)
class ConstrainedBernoulli(Phased):
    """The paper's stochastically constrained adversary: the means rise and fall together, the gaps stay.

    In even phases a best arm has mean 0 and the others `gap`; in odd phases 1 − `gap` and 1. Phases grow
    by `growth` = 1.6. Two readings of the paper (errata, point 25): with ``phases="index"`` phase i starts at
    round 1.6^i, counting from 1; with ``phases="spacing"``, the wording of Zimmert and Seldin, the time
    between alternations grows by 1.6, so phase i starts after (1.6^i − 1)/0.6 rounds.

    Parameters
    ----------
    n_arms
        The number of arms.
    gap
        By how much the best arms are better, in every round.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.
    best_arms
        Number of best arms; they come first.
    growth
        By how much phases grow.
    phases
        Which reading: ``"index"`` or ``"spacing"``.

    Examples
    --------
    >>> [int(s) + 1 for s in ConstrainedBernoulli(8, 0.2).starts[:8]]
    [1, 2, 3, 5, 7, 11, 17, 27]
    """

    id = "constrained-bernoulli"
    n_arms: int = 0
    gap: float = 0.0
    best_arms: int = field(default=1, kw_only=True)
    growth: float = field(default=1.6, kw_only=True, metadata=real(least=LEAST_GROWTH))
    phases: Literal["index", "spacing"] = field(default="index", kw_only=True, metadata=among(("index", "spacing")))

    def __post_init__(self) -> None:
        super().__post_init__()
        arms, best_arms, gap = _checked_gap(self.n_arms, self.best_arms, self.gap)
        for name, value in (("n_arms", arms), ("best_arms", best_arms), ("gap", gap)):
            self._set(name, value)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """Rows (0, …, gap, …) and (1 − gap, …, 1, …) in turn; phases without a round are left out."""
        number = {before: i for i, before in enumerate(_phase_starts(self.growth, self.phases))}  # of equals, the last
        best = np.arange(self.n_arms) < self.best_arms
        rows = np.array([np.where(best, 0.0, self.gap), np.where(best, 1.0 - self.gap, 1.0)])
        return np.array(list(number), dtype=np.float64), rows[np.array(list(number.values())) % 2]

    @cached_property
    def gaps(self) -> Array:
        """The gaps as given: 1 − (1 − gap) is not gap in floating point."""
        return np.tile(np.where(np.arange(self.n_arms) < self.best_arms, 0.0, self.gap), (len(self.starts), 1))


@dataclass(frozen=True)
class Reversal(Phased):
    """The paper's deterministic adversary: arm 0 loses nothing and the others 1 a round, then the reverse.

    The reversal comes after ⌊√(KT ln(KT))⌋ rounds (errata, point 26), late enough for an elimination policy to
    have dropped every arm but the first. All arms but arm 0 are best at the end.

    Parameters
    ----------
    n_arms
        The number of arms.
    horizon
        T, the number of rounds that will be played.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> Reversal(8, 100_000).reversal
    3297
    """

    id = "reversal"
    n_arms: int = field(default=0, metadata=whole(least=2))
    horizon: int = field(default=0, metadata=whole(least=1))

    @property
    def reversal(self) -> int:
        """Number of rounds before the losses are reversed."""
        KT = self.n_arms * self.horizon
        return min(math.floor(math.sqrt(KT * math.log(KT))), self.horizon)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """(0, 1, …, 1), then (1, 0, …, 0)."""
        first = np.arange(self.n_arms) == 0
        return np.array([0.0, float(self.reversal)]), np.array([np.where(first, 0.0, 1.0), np.where(first, 1.0, 0.0)])


def _phase_starts(growth: float, reading: str) -> Iterator[int]:
    """Yield the rounds before phase 0, 1, 2, …, up to the last round there is; exact.

    Powers of the growth are kept between two whole multiples of 2⁻¹²⁸. Where these do not agree on the round, which is
    where a power is almost a whole number, it is computed exactly.
    """
    ratio = Fraction(repr(growth))
    p, q = ratio.numerator, ratio.denominator
    low = high = 1 << FRACTION_BITS

    def before(power: int, one: int) -> int:
        """Return ⌈growth^i⌉ − 1, or ⌊(growth^i − 1)/(growth − 1)⌋, from growth^i = `power`/`one`."""
        return -(-power // one) - 1 if reading == "index" else (power - one) * q // (one * (p - q))

    for i in count():
        start = before(low, 1 << FRACTION_BITS)
        if start != before(high, 1 << FRACTION_BITS):
            start = before(p**i, q**i)
        if start >= LAST_ROUND:
            return
        yield start
        low, high = low * p // q, -(-high * p // q)


def checked_means(means: object) -> tuple[float, ...]:
    rule = "must be a list of probabilities, one per arm"
    if isinstance(means, (str, bytes)) or not isinstance(means, (Sequence, np.ndarray)) or len(means) == 0:
        raise InvalidParameter("mean_losses", rule, means)
    checked = tuple(real_number(f"mean_losses[{i}]", m, least=0) for i, m in enumerate(means))
    for i, mean in enumerate(checked):
        if mean > 1:
            raise InvalidParameter(f"mean_losses[{i}]", "must be from 0 to 1", mean)
    return checked


def _checked_gap(arms: object, best_arms: object, gap: object) -> tuple[int, int, float]:
    n_arms = whole_number("n_arms", arms, least=1)
    n_best = whole_number("best_arms", best_arms, least=1, most=n_arms)
    delta = real_number("gap", gap, least=0)
    if delta > 1:
        raise InvalidParameter("gap", "must be from 0 to 1", gap)
    return n_arms, n_best, delta


# Means that stay for a while and then change, with noise or without: any number of phases, listed individually.


@dataclass(frozen=True)
class PiecewiseConstant(Phased):
    """Phases listed individually: the start of each, and the mean loss of every arm in it. The last has no end.

    Parameters
    ----------
    phase_starts
        The round, from 0, in which each phase starts; the first is 0, and they increase.
    phase_means
        For each phase the mean losses, one per arm.
    noise
        True for losses of 0 and 1 with these means, False for losses that equal them.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> PiecewiseConstant([0, 10], [[0.1, 0.5], [0.9, 0.5]], noise=False).expected(5, 15).tolist()
    [5.0, 5.0]
    """

    id = "piecewise-constant"

    phase_starts: Sequence[int] = ()
    phase_means: Sequence[Sequence[float]] = ()
    noise: bool = field(default=True, kw_only=True, metadata=flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("phase_starts", _checked_starts("phase_starts", self.phase_starts))
        self._set("phase_means", _checked_piece_means("phase_means", self.phase_means))
        if len(self.phase_starts) != len(self.phase_means):
            rule = f"must have a row for each of the {len(self.phase_starts)} phases"
            raise InvalidParameter("phase_means", rule, f"{len(self.phase_means)} rows")

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        return np.array(self.phase_starts, dtype=np.float64), np.array(self.phase_means, dtype=np.float64)


def _checked_starts(name: str, starts: Any) -> tuple[int, ...]:
    """Return the rounds in which phases start, checked."""
    if isinstance(starts, (str, bytes)) or not isinstance(starts, (Sequence, np.ndarray)) or len(starts) == 0:
        raise InvalidParameter(name, "must be a list of rounds that begins with 0", starts)
    checked = tuple(whole_number(f"{name}[{i}]", t, least=0, most=LAST_ROUND - 1) for i, t in enumerate(starts))
    if checked[0] != 0:
        raise InvalidParameter(f"{name}[0]", "must be 0", checked[0])
    for i in range(1, len(checked)):
        if checked[i] <= checked[i - 1]:
            raise InvalidParameter(f"{name}[{i}]", f"must be above {checked[i - 1]}, the one before", checked[i])
    return checked


def _checked_piece_means(name: str, means: Any) -> tuple[tuple[float, ...], ...]:
    """Return rows of probabilities, all of one length."""
    rule = "must be a table of numbers from 0 to 1 with a row per phase and a column per arm"
    table = array_of(name, means, rule)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidParameter(name, rule, means)
    wrong = ~((table >= 0.0) & (table <= 1.0))
    if wrong.any():
        phase, arm = (int(i) for i in np.argwhere(wrong)[0])
        raise InvalidParameter(f"{name}[{phase}][{arm}]", "must be from 0 to 1", table.item(phase, arm))
    return tuple(tuple(row) for row in table.tolist())


# Worlds that are hard for one policy or another: corrupted, drifting, seasonal, changing, and turning unseen.
#
# All are piecewise constant, and identified by name and a few numbers, so that a table can say what was played.

MOST_PHASES = 10**7
"""Most phases of one environment kept in memory."""

HALF = real(least=0, most=0.5)


@dataclass(frozen=True)
class HardCase(Phased):
    """A piecewise-constant world that a rule generates over a horizon."""

    n_arms: int = field(default=0, metadata=whole(least=2))
    """Number of arms K."""
    horizon: int = field(default=0, metadata=whole(least=1, most=LAST_ROUND))
    """T: rounds that the rule covers; afterwards the last phase continues."""
    noise: bool = field(default=True, kw_only=True, metadata=flag())
    """True if losses are 0 or 1, False if they equal their means."""
    gap: float = field(default=0.2, kw_only=True, metadata=HALF)
    """Δ, the difference between arms."""

    def _check_phases(self, name: str, count: float) -> None:
        if count > MOST_PHASES:
            raise InvalidParameter(name, f"must not give more than {MOST_PHASES} phases", getattr(self, name))

    def _without_empty(self, starts: Any, means: Any) -> tuple[Array, Array]:
        """Drop phases without rounds."""
        first = np.asarray(starts, dtype=np.float64)
        holds = np.append(np.diff(first) > 0, True)
        return first[holds], np.asarray(means, dtype=np.float64)[holds]

    def _even(self, count: int) -> Array:
        """Return the starts of `count` phases of equal length over the horizon."""
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
        See `PiecewiseConstant`.

    Examples
    --------
    >>> Corrupted(3, 1000, corrupted=100).means.tolist()
    [[0.5, 0.3, 0.5], [0.3, 0.5, 0.5]]
    """

    id = "corrupted"

    corrupted: int = field(kw_only=True)
    stretches: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("corrupted", whole_number("corrupted", self.corrupted, least=0, most=self.horizon))
        most = min(max(self.corrupted, 1), MOST_PHASES // 2)
        self._set("stretches", whole_number("stretches", self.stretches, least=1, most=most))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
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
        See `PiecewiseConstant`.

    Examples
    --------
    >>> Drifting(2, 1000, gap=0.1, steps=3).means.round(3).tolist()
    [[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]
    """

    id = "drifting"

    steps: int = field(default=100, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("steps", whole_number("steps", self.steps, least=2, most=min(self.horizon, MOST_PHASES)))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
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
        Spread of the arms' seasons: 0 for a common season, 1 for phases spread over all of it.
    shuffled, noise
        See `PiecewiseConstant`.

    Examples
    --------
    >>> Seasonal(2, 10_000, period=2400).starts[:3].tolist()
    [0.0, 100.0, 200.0]
    """

    id = "seasonal"

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
        Number of changes of the best arm, evenly spaced.
    shuffled, noise
        See `PiecewiseConstant`.

    Examples
    --------
    >>> ChangingBest(3, 900, changes=2).means.tolist()
    [[0.3, 0.5, 0.5], [0.5, 0.3, 0.5], [0.5, 0.5, 0.3]]
    """

    id = "changing-best"

    changes: int = field(default=4, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        most = min(self.horizon, MOST_PHASES) - 1
        self._set("changes", whole_number("changes", self.changes, least=0, most=most))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
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
        See `PiecewiseConstant`.

    Examples
    --------
    >>> UnseenTurn(3, 900, noise=False).expected(299, 301).tolist()
    [0.8, 1.0, 0.7]
    """

    id = "unseen-turn"

    gap: float = field(default=0.1, kw_only=True, metadata=HALF)
    drop: float = field(default=0.3, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("drop", real_number("drop", self.drop, above=self.gap, most=0.5))

    @cached_property
    def layout(self) -> tuple[Array, Array]:
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
        Seed of the levels, which are the same in every replication.
    shuffled, noise
        See `PiecewiseConstant`, but without noise unless given.

    Examples
    --------
    >>> world = JumpingLevels(3, 2000, stretch=500, gap=0.1)
    >>> len(world.starts), world.gaps.round(12).tolist()[0]
    (4, [0.0, 0.1, 0.1])
    """

    id = "jumping-levels"

    stretch: int = field(default=500, kw_only=True, metadata=whole(least=1))
    gap: float = field(default=0.1, kw_only=True, metadata=HALF)
    seed: int = field(default=0, kw_only=True, metadata=whole(least=0))
    noise: bool = field(default=False, kw_only=True, metadata=flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_phases("stretch", self.horizon / self.stretch)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        count = -(-self.horizon // self.stretch)
        stream = Stream(self.seed, self.id)
        levels = np.array([stream.uniform() for _ in range(count)]) * (1.0 - self.gap)
        means = levels[:, None] + np.where(np.arange(self.n_arms) > 0, self.gap, 0.0)
        return np.arange(count, dtype=np.float64) * self.stretch, np.minimum(means, 1.0)
