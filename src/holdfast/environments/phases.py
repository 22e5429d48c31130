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
from holdfast.checks import one_of, real, real_number, whole, whole_number
from holdfast.environments.binomial_table import CERTAIN, LARGEST, TABLED, binomial_from_table, binomial_tables
from holdfast.environments.environment import LAST_ROUND, Environment, Tables
from holdfast.errors import InvalidParameter, nearest
from holdfast.layouts import Array
from holdfast.rng import binomial, next_uniform

LEAST_GROWTH = 1.0001
"""Of the phases of the constrained adversary: 285,000 of them up to the last round; closer to 1 they do not fit."""

FRACTION_BITS = 128


@kernel
def phase_of(starts: Any, time: float) -> int:
    """The last phase that starts at or before `time`; `starts` ends with a time that is never reached."""
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
    """One binomial draw for each phase that [start, stop) meets."""
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
        elif ways[phase] == TABLED and rounds <= LARGEST:
            for g in range(totals.shape[0]):
                kind = kinds[phase, int(places[g])]
                drawn = binomial_from_table(rows, columns, max(kind, 0), int(rounds), next_uniform(streams, g))
                totals[g] += drawn if kind >= 0 else rounds * means[phase, int(places[g])]
        else:
            for g in range(totals.shape[0]):
                kind = kinds[phase, int(places[g])]
                if kind >= 0 and rounds <= LARGEST:
                    totals[g] += binomial_from_table(rows, columns, kind, int(rounds), next_uniform(streams, g))
                else:
                    totals[g] += binomial(rounds, means[phase, int(places[g])], streams[:, g])
        now = end
        phase += 1


@kernel
def gap(tables: Any, places: Any, start: float, stop: float, gaps: Any) -> None:
    """Rounds times the gap of each phase that [start, stop) meets."""
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

    total_kernel: ClassVar[Callable[..., Any]] = staticmethod(total)
    gap_kernel: ClassVar[Callable[..., Any]] = staticmethod(gap)

    noise: bool = True
    """Whether losses are 0 or 1 with these means, or the means themselves."""

    @property
    @abstractmethod
    def layout(self) -> tuple[Array, Array]:
        """The first round of each phase, from 0, and the mean losses of each phase, one row each."""

    @cached_property
    def starts(self) -> Array:
        """The first round of each phase, from 0."""
        return self.layout[0]

    @cached_property
    def means(self) -> Array:
        """The mean losses of each phase."""
        return self.layout[1]

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
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
        """The arm with the least mean in the last phase; of several, the first."""
        return int(np.argmin(self.means[-1]))

    def _summed(self, per_round: Array, start: float, stop: float) -> Array:
        ends = np.append(self.starts[1:], float(LAST_ROUND))
        rounds = np.clip(np.minimum(ends, stop) - np.maximum(self.starts, start), 0.0, None)
        return np.asarray(rounds @ per_round)

    def expected(self, start: int, stop: int) -> Array:
        """Expected total loss of every arm over the rounds [start, stop)."""
        return self._summed(self.means, *self.checked_rounds(start, stop))

    def excess(self, stop: int) -> Array:
        """Expected total loss of every arm over the rounds [0, stop) less that of the reference arm."""
        return self._summed(self.gaps, *self.checked_rounds(0, stop))


@dataclass(frozen=True)
class Bernoulli(Phased):
    """Independent 0/1 losses with the same mean in every round, one mean per arm (the paper's stochastic regime).

    >>> Bernoulli.with_gap(n_arms=4, gap=0.2).mean_losses
    (0.3, 0.5, 0.5, 0.5)
    """

    id: ClassVar[str] = "bernoulli"
    mean_losses: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._set("mean_losses", _checked_means(self.mean_losses))

    @classmethod
    def with_gap(
        cls, n_arms: int, gap: float, *, best_arms: int = 1, mean: float = 0.5, shuffled: bool = False
    ) -> Self:
        """The paper's instance: `best_arms` arms of mean `mean` − `gap`, then the others of mean `mean`.

        Parameters
        ----------
        n_arms
            The number of arms.
        gap
            By how much the best arms are better.
        best_arms
            How many arms are best; they come first.
        mean
            The mean loss of the others.
        shuffled
            Rotate the arms by a random number of places, drawn anew in each replication.
        """
        n_arms, best_arms, gap = _checked_gap(n_arms, best_arms, gap)
        mean = real_number("mean", mean, least=0)
        if gap > mean:
            raise InvalidParameter("gap", f"must not exceed the mean of the other arms, {mean:g}", gap)
        best = round(mean - gap, 15)
        return cls((best,) * best_arms + (mean,) * (n_arms - best_arms), shuffled=shuffled)

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """From `mean_losses`, or from what `with_gap` takes."""
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
        """One phase."""
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
        Rotate the arms by a random number of places, drawn anew in each replication.
    best_arms
        How many arms are best; they come first.
    growth
        By how much phases grow.
    phases
        Which reading: ``"index"`` or ``"spacing"``.

    Examples
    --------
    >>> [int(s) + 1 for s in ConstrainedBernoulli(8, 0.2).starts[:8]]
    [1, 2, 3, 5, 7, 11, 17, 27]
    """

    id: ClassVar[str] = "constrained-bernoulli"
    n_arms: int = 0
    gap: float = 0.0
    best_arms: int = field(default=1, kw_only=True)
    growth: float = field(default=1.6, kw_only=True, metadata=real(least=LEAST_GROWTH))
    phases: Literal["index", "spacing"] = field(default="index", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        arms, best_arms, gap = _checked_gap(self.n_arms, self.best_arms, self.gap)
        for name, value in (("n_arms", arms), ("best_arms", best_arms), ("gap", gap)):
            self._set(name, value)
        one_of("phases", self.phases, ("index", "spacing"))

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
        Rotate the arms by a random number of places, drawn anew in each replication.

    Examples
    --------
    >>> Reversal(8, 100_000).reversal
    3297
    """

    id: ClassVar[str] = "reversal"
    n_arms: int = field(default=0, metadata=whole(least=2))
    horizon: int = field(default=0, metadata=whole(least=1))

    @property
    def reversal(self) -> int:
        """The number of rounds before the losses are reversed."""
        KT = self.n_arms * self.horizon
        return min(math.floor(math.sqrt(KT * math.log(KT))), self.horizon)

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """(0, 1, …, 1), then (1, 0, …, 0)."""
        first = np.arange(self.n_arms) == 0
        return np.array([0.0, float(self.reversal)]), np.array([np.where(first, 0.0, 1.0), np.where(first, 1.0, 0.0)])


def _phase_starts(growth: float, reading: str) -> Iterator[int]:
    """Rounds before phase 0, 1, 2, …, up to the last round there is; exact.

    Powers of the growth are kept between two whole multiples of 2⁻¹²⁸. Where these do not agree on the round, which is
    where a power is almost a whole number, it is computed exactly.
    """
    ratio = Fraction(repr(growth))
    p, q = ratio.numerator, ratio.denominator
    low = high = 1 << FRACTION_BITS

    def before(power: int, one: int) -> int:
        """From growth^i = `power`/`one`: ⌈growth^i⌉ − 1, or ⌊(growth^i − 1)/(growth − 1)⌋."""
        return -(-power // one) - 1 if reading == "index" else (power - one) * q // (one * (p - q))

    for i in count():
        start = before(low, 1 << FRACTION_BITS)
        if start != before(high, 1 << FRACTION_BITS):
            start = before(p**i, q**i)
        if start >= LAST_ROUND:
            return
        yield start
        low, high = low * p // q, -(-high * p // q)


def _checked_means(means: object) -> tuple[float, ...]:
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
