"""Claims judged by measurement: the questions that a claim asks of the tables, and the one rule that decides it.

A question is answered yes, no, or open. A comparison of means is answered by Student's interval of the paired
differences, replication by replication: yes if the whole interval lies on the claimed side, no if none of it does,
open if zero is inside.

A claim is a list of questions. It holds if every answer is yes, fails if some answer is no and none is yes, and is
conditional otherwise: the condition then says for what it holds, for what it fails, and what is not decided. All
intervals of a claim hold together with probability 99 % (Bonferroni: m questions share the 1 % evenly), so that among
a hundred claims about one would be judged wrongly by chance. Nothing is shared between claims.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval, log_choose, student_quantile
from holdfast.text import three_digits

COST = "regret_with_switching"
"""The measure most claims are about: pseudo-regret and what was paid for switching."""

CONFIDENCE = 0.99
"""Joint confidence of all the intervals of one claim."""

RARELY = 0.01
"""Share of runs below which a failing run is an accident."""

Outcome = Literal["yes", "no", "open"]


class NotPlayed(LookupError):
    """Raised when a run does not have a table."""


# ---- questions ----


@dataclass(frozen=True)
class Answer:
    """One decided or undecided part of a claim; `low` and `high` enclose `estimate` where an interval was needed."""

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
        """Answer the question at this confidence."""


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
        """Decide by the interval of the mean of first − factor · second."""
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
        """Test both one-sided comparisons, splitting the error probability between them."""
        half = (1 + confidence) / 2
        outcomes = [
            Less(self.what, self.first, self.second, self.factor).answer(half).outcome,
            Less(self.what, self.second, self.first, self.factor).answer(half).outcome,
        ]
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
        """Decide by the interval of the mean; a sample with no number for some run leaves it open."""
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
    def outcome(self, low: float, high: float) -> Outcome:
        """Decide by the count, or by the interval of the share."""

    def shown(self, low: float, high: float) -> str:
        """Describe how often it happened."""
        return f"{self.what}: in {self.count} of {self.runs} runs"

    def answer(self, confidence: float) -> Answer:
        """Find the interval of the share, and decide."""
        low, high = share_interval(self.count, self.runs, confidence)
        share = self.count / self.runs
        return Answer(self.what, self.outcome(low, high), self.shown(low, high), share, low, high, self.runs)


class Never(Share):
    """Did it happen in no run? No, once the interval of its share lies above `RARELY`."""

    def outcome(self, low: float, high: float) -> Outcome:
        """Decide by the count alone, or the interval."""
        return "yes" if self.count == 0 else "no" if low > RARELY else "open"


class Often(Share):
    """Does it happen in more than the share `RARELY` of runs? The opposite of `Never`."""

    def outcome(self, low: float, high: float) -> Outcome:
        """Decide by the interval, or the count alone."""
        return "no" if self.count == 0 else "yes" if low > RARELY else "open"


class Sometimes(Share):
    """Did it happen in some of the runs, but not in all?"""

    def outcome(self, low: float, high: float) -> Outcome:
        """Decide by the count alone."""
        return "yes" if 0 < self.count < self.runs else "no" if self.runs > 1 else "open"


@dataclass(frozen=True)
class Under:
    """Does the mean of each series stay at or below its bound at every checkpoint?

    A series has a row per replication and a column per checkpoint, its bound a number per checkpoint; all comparisons
    share the error probability. With `each`, every single run is checked, which needs no interval.
    """

    what: str
    series: tuple[tuple[Array, Array], ...]
    each: bool = False

    def answer(self, confidence: float) -> Answer:
        """Decide by the largest fraction of a bound that was used."""
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
    """A part of a claim that needs no sample: an inequality between two formulas."""

    what: str
    holds: bool
    value: float
    shown: str

    def answer(self, confidence: float) -> Answer:
        """Return the computed answer."""
        return Answer(self.what, "yes" if self.holds else "no", f"{self.what}: {self.shown}", self.value, None, None, 0)


def share_interval(count: int, runs: int, confidence: float) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson for a share, by bisection on the binomial tail.

    >>> [round(limit, 4) for limit in share_interval(5, 10, 0.99)]
    [0.1283, 0.8717]
    """
    tail = (1 - confidence) / 2
    logs = np.array([log_choose(runs, k) for k in range(runs + 1)])

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
    """Return the exponent of growth of each row: least squares of log value on log round, NaN where a value is ≤ 0.

    >>> slopes([1, 10, 100], np.array([[2.0, 20.0, 200.0]]))
    array([1.])
    """
    x = np.log(np.asarray(rounds, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.log(values)
    x = x - x.mean()
    return np.asarray(np.round((y - y.mean(axis=1, keepdims=True)) @ x / (x @ x), 12))


# ---- claims and verdicts ----

Judgement = Literal["fails", "conditional", "holds"]
JUDGEMENTS: dict[Judgement, tuple[str, str, str]] = {
    "fails": ("✗", "fails", "fail"),
    "conditional": ("◐", "is conditional", "are conditional"),
    "holds": ("✓", "holds", "hold"),
}
"""Each verdict with its sign and its words for one claim and for several, in the order in which to read them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Claim(Generic[T]):
    """One checkable sentence about what was played."""

    id: str
    sentence: str
    place: str
    rule: str
    """Measurement and thresholds, in words."""
    questions: Callable[[T], Sequence[Question]]
    """Questions to ask; without any, or without a table they need, the claim is not judged."""
    figure: str = ""
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A claim judged."""

    id: str
    claim: str
    place: str
    rule: str
    measurement: str
    """Rule and result of the measurement."""
    verdict: Judgement
    condition: str
    replications: int
    """Fewest replications of any part; 0 where formulas alone decide."""
    figure: str
    confidence: float
    thresholds: Mapping[str, float]
    parts: tuple[Answer, ...]

    def plain(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        return asdict(self)


def judge(claims: Sequence[Claim[T]], played: T) -> list[Verdict]:
    """Judge each claim whose tables were played."""
    verdicts = []
    for claim in claims:
        with suppress(NotPlayed):
            questions = claim.questions(played)
            if questions:
                verdicts.append(_judged(claim, questions))
    return verdicts


def agree(parts: Sequence[Answer]) -> bool:
    """Tell whether every answer is yes."""
    return bool(parts) and all(part.outcome == "yes" for part in parts)


def answers(questions: Sequence[Question]) -> tuple[Answer, ...]:
    """Answer questions whose intervals hold together at `CONFIDENCE`."""
    share = 1 - (1 - CONFIDENCE) / max(len(questions), 1)
    return tuple(question.answer(share) for question in questions)


def order(own: Array, other: Array) -> Literal["lower", "higher", "open"]:
    """Tell whether the mean of `own` is lower or higher than that of `other`."""
    below, above = answers([Less("", own, other), Less("", other, own)])
    return "lower" if below.outcome == "yes" else "higher" if above.outcome == "yes" else "open"


def judgements(verdicts: Sequence[Verdict]) -> str:
    """Count the claims that hold, hold under a condition, and fail.

    >>> judgements([])
    '0 hold, 0 are conditional, 0 fail'
    """
    count = {kind: sum(verdict.verdict == kind for verdict in verdicts) for kind in JUDGEMENTS}
    return ", ".join(f"{count[kind]} {JUDGEMENTS[kind][1 + (count[kind] != 1)]}" for kind in reversed(JUDGEMENTS))


def _judged(claim: Claim[T], questions: Sequence[Question]) -> Verdict:
    parts = answers(questions)
    outcomes = {part.outcome for part in parts}
    verdict: Judgement = "conditional"
    if agree(parts):
        verdict = "holds"
    elif "no" in outcomes and "yes" not in outcomes:
        verdict = "fails"
    replications = min((part.replications for part in parts if part.replications), default=0)
    rule = f"{claim.rule[0].upper()}{claim.rule[1:]}."
    return Verdict(
        id=claim.id,
        claim=claim.sentence,
        place=claim.place,
        rule=rule,
        measurement=f"{rule} {'; '.join(part.shown for part in parts)}",
        verdict=verdict,
        condition=_condition(parts, replications) if verdict == "conditional" else "",
        replications=replications,
        figure=claim.figure,
        confidence=CONFIDENCE,
        thresholds=claim.thresholds,
        parts=parts,
    )


def _condition(parts: Sequence[Answer], replications: int) -> str:
    """Say for what the claim holds, for what it fails, and what is left open."""
    said = []
    for outcome, words in (("yes", "holds"), ("no", "fails"), ("open", f"not decided at {replications} replications")):
        names = [part.what for part in parts if part.outcome == outcome]
        if names:
            said.append(f"{words} {_listed(names)}" if outcome != "open" else f"{words}: {_listed(names)}")
    return "; ".join(said)


def _listed(names: Sequence[str]) -> str:
    """Join names; a first word that all of them share ("against") is written once."""
    first = names[0].split(" ", 1)
    if len(names) > 1 and len(first) == 2 and all(name.startswith(first[0] + " ") for name in names):
        return f"{first[0]} {', '.join(name.split(' ', 1)[1] for name in names)}"
    return ", ".join(names)
