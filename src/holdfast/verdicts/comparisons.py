"""What a claim asks of the data, part by part, and how a part is answered: yes, no, or open.

A comparison of means is answered by Student's interval of the paired differences, replication by replication: yes if
the whole interval lies on the claimed side, no if none of it does, open if zero is inside.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval, student_quantile
from holdfast.text import three_digits

Outcome = Literal["yes", "no", "open"]

RARELY = 0.01
"""A run that goes wrong is an accident while it happens in fewer runs than this share."""


@dataclass(frozen=True)
class Answer:
    """One part of a claim, decided or not. `low` and `high` enclose `estimate` where an interval was needed."""

    what: str
    outcome: Outcome
    shown: str
    estimate: float | None
    low: float | None
    high: float | None
    replications: int


class Question(Protocol):
    """One part of a claim."""

    @property
    def what(self) -> str:
        """Its name in a condition: "against exp3"."""

    def answer(self, confidence: float) -> Answer:
        """What the data say, at this confidence."""


@dataclass(frozen=True)
class Less:
    """Is the mean of `first` less than `factor` times that of `second` (a sample, or a number)?

    >>> Less("here", np.array([1.0, 2.0, 3.0]), 10.0).answer(0.95).outcome
    'yes'
    """

    what: str
    first: Array
    second: Array | float
    factor: float = 1.0

    def answer(self, confidence: float) -> Answer:
        """By the interval of the mean of first − factor · second."""
        difference = self.first - self.factor * np.asarray(self.second)
        own, other = float(self.first.mean()), float(np.mean(self.second))
        sides = f"{three_digits(own)} {'<' if own < self.factor * other else '≥'} "
        sides += f"{self.factor:g} × {three_digits(other)}" if self.factor != 1 else three_digits(other)
        if len(difference) < 2:
            return Answer(self.what, "open", f"{self.what}: {sides}", float(difference.mean()), None, None, 1)
        mean, low, high = interval(difference, confidence)
        outcome: Outcome = "yes" if high < 0 else "no" if low >= 0 else "open"
        shown = f"{self.what}: {sides} (difference {three_digits(mean)}, {three_digits(low)} to {three_digits(high)})"
        return Answer(self.what, outcome, shown, mean, low, high, len(difference))


@dataclass(frozen=True)
class Near:
    """Are the means of two samples within `factor` of each other?"""

    what: str
    first: Array
    second: Array
    factor: float

    def answer(self, confidence: float) -> Answer:
        """By two comparisons, one for each side, that share what may go wrong."""
        half = (1 + confidence) / 2
        sides = [
            Less(self.what, self.first, self.second, self.factor).answer(half),
            Less(self.what, self.second, self.first, self.factor).answer(half),
        ]
        outcomes = [side.outcome for side in sides]
        outcome: Outcome = "no" if "no" in outcomes else "open" if "open" in outcomes else "yes"
        means = float(self.first.mean()), float(self.second.mean())
        shown = f"{self.what}: {three_digits(means[0])} to {three_digits(means[1])}"
        ratio = means[0] / means[1] if means[1] else math.inf
        return Answer(self.what, outcome, f"{shown}, a factor of {ratio:.2f}", ratio, None, None, len(self.first))


@dataclass(frozen=True)
class Between:
    """Does the mean of a sample lie from `low` to `high`?"""

    what: str
    sample: Array
    low: float = -math.inf
    high: float = math.inf

    def answer(self, confidence: float) -> Answer:
        """By the interval of the mean; a sample with no number for some run leaves it open."""
        mean = float(self.sample.mean())
        if len(self.sample) < 2 or not np.isfinite(self.sample).all():
            return Answer(self.what, "open", f"{self.what}: {three_digits(mean)}", None, None, None, len(self.sample))
        mean, low, high = interval(self.sample, confidence)
        outcome: Outcome = "open"
        if self.low <= low and high <= self.high:
            outcome = "yes"
        elif high < self.low or self.high < low:
            outcome = "no"
        shown = f"{self.what}: {three_digits(mean)} ({three_digits(low)} to {three_digits(high)})"
        return Answer(self.what, outcome, shown, mean, low, high, len(self.sample))


@dataclass(frozen=True)
class Share(ABC):
    """In how many of `runs` runs did it happen? The exact interval of Clopper and Pearson goes with the answer."""

    what: str
    count: int
    runs: int

    @abstractmethod
    def outcome(self, low: float) -> Outcome:
        """The answer, where the interval of the share begins at `low`."""

    def answer(self, confidence: float) -> Answer:
        """By the count, or by the interval of the share."""
        low, high = share_interval(self.count, self.runs, confidence)
        shown = f"{self.what}: in {self.count} of {self.runs} runs"
        return Answer(self.what, self.outcome(low), shown, self.count / self.runs, low, high, self.runs)


class Never(Share):
    """Did it happen in no run? No, once the interval of its share lies above `RARELY`."""

    def outcome(self, low: float) -> Outcome:
        """By the count alone, or the interval."""
        return "yes" if self.count == 0 else "no" if low > RARELY else "open"


class Often(Share):
    """Does it happen in more than the share `RARELY` of runs? The opposite of `Never`."""

    def outcome(self, low: float) -> Outcome:
        """By the interval, or the count alone."""
        return "no" if self.count == 0 else "yes" if low > RARELY else "open"


class Sometimes(Share):
    """Did it happen in some of the runs, but not in all? What was seen decides."""

    def outcome(self, low: float) -> Outcome:
        """By the count alone."""
        return "yes" if 0 < self.count < self.runs else "no" if self.runs > 1 else "open"


@dataclass(frozen=True)
class Under:
    """Does the mean of each series stay at or below its bound at every checkpoint?

    A series has a row per replication and a column per checkpoint, its bound a number per checkpoint; what may go
    wrong is shared among all of them. `each` asks it of every single run, which needs no interval.
    """

    what: str
    series: tuple[tuple[Array, Array], ...]
    each: bool = False

    def answer(self, confidence: float) -> Answer:
        """By the largest part of a bound that was used."""
        used = np.concatenate([(v.max(axis=0) if self.each else v.mean(axis=0)) / b for v, b in self.series])
        runs = min(len(values) for values, _ in self.series)
        at = int(np.argmax(used))
        shown = f"{self.what}: at most {100 * float(used[at]):.3g} %"
        low = high = used
        if not self.each:
            if runs < 2:
                return Answer(self.what, "open", shown, float(used[at]), None, None, runs)
            error = np.concatenate([v.std(axis=0, ddof=1) / math.sqrt(len(v)) / b for v, b in self.series])
            quantile = student_quantile(1 - (1 - confidence) / (2 * len(used)), runs - 1)
            low, high = used - quantile * error, used + quantile * error
        outcome: Outcome = "yes" if (high <= 1).all() else "no" if (low > 1).any() else "open"
        return Answer(self.what, outcome, shown, float(used[at]), float(low[at]), float(high[at]), runs)


@dataclass(frozen=True)
class Computed:
    """A part that needs no sample: an inequality between two formulas."""

    what: str
    holds: bool
    value: float
    shown: str

    def answer(self, confidence: float) -> Answer:
        """As computed."""
        return Answer(self.what, "yes" if self.holds else "no", f"{self.what}: {self.shown}", self.value, None, None, 0)


def share_interval(count: int, runs: int, confidence: float) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for a share, by bisection on the binomial tail.

    >>> [round(limit, 4) for limit in share_interval(5, 10, 0.99)]
    [0.1283, 0.8717]
    """
    tail = (1 - confidence) / 2
    logs = np.array([math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1) for k in range(runs + 1)])

    def at_least(k: int, share: float) -> float:
        number = np.arange(k, runs + 1)
        return float(np.exp(logs[k:] + number * math.log(share) + (runs - number) * math.log1p(-share)).sum())

    def solve(k: int, target: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(50):  # P(X ≥ k) rises with the share
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(k, middle) < target else (low, middle)
        return (low + high) / 2

    return (
        solve(count, tail) if count > 0 else 0.0,
        solve(count + 1, 1 - tail) if count < runs else 1.0,
    )


def slopes(rounds: Any, values: Array) -> Array:
    """The exponent of growth of each row: least squares of log value on log round; not a number where a value is ≤ 0.

    >>> slopes([1, 10, 100], np.array([[2.0, 20.0, 200.0]]))
    array([1.])
    """
    x = np.log(np.asarray(rounds, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.log(values)
    x = x - x.mean()
    return np.asarray(np.round((y - y.mean(axis=1, keepdims=True)) @ x / (x @ x), 12))
