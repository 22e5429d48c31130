"""A policy next to a rule that is held back for comparison: the difference in cost, with an interval valid at any time.

Traffic is cut into *units*: conversations, or stretches of rounds. Each unit is given to the old rule with a known
probability π, whatever happened before, else to the policy. Its cost Y lies between known bounds.

**Estimate** (Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49, 2021, section 4.2). With means m₁ and m₀ of
the policy's and the rule's earlier units, unit t adds

    D_t = m₁ − m₀ + (Y − m₁)/(1 − π)  for the policy,   m₁ − m₀ − (Y − m₀)/π  for the rule.

Given all that happened before, E[D_t] = Y_t(policy) − Y_t(rule), what this unit would cost by one less by the other. So
Σ D_t/n estimates the average difference *up to now*, however costs drift and whatever the policy learnt.

**Interval** (their Theorem 4). With c = (high − low)/min(π, 1 − π) and V = Σ (D_t − m₁ + m₀)², the process
exp(λS − ψ(λ)V) is a supermartingale for S = Σ (D_t − E[D_t]), each λ in [0, 1/c) and ψ(λ) = (−ln(1 − cλ) − cλ)/c². A
mixture over λ crosses 1/α with probability at most α, at any time (Ville). Nothing else is assumed of costs, and one
may look as often as one likes.

**Weights.** Units may differ in size, as blocks of w_t rounds do, where w_t is known before the unit is assigned. Costs
are then per round, m₁ and m₀ too, and D_t is w_t times as much: Σ D_t/Σ w_t is the difference per round. The bound of
unit t is c·w_t, and a λ that is too large for it is dropped from the mixture when it comes: a supermartingale that is
stopped by 0 stays one. So the sizes to come need not be known. Nor need π and the range of costs be the same for all:
where they are those of unit t, known before it is assigned, c_t·w_t takes the place of c·w_t, in units of the first c.

**What a unit must be.** Conversations are good units: nothing is switched between them. Single rounds of one game are
not, since a rule in between causes switches that neither would have alone: assign stretches of many rounds, count the
losses and the switches inside each, and not the switch at its border.

**Units that are open.** A unit whose cost is not final may not be left out: the late ones may be the expensive ones. It
counts with all that its cost can be. S depends on each open cost in a straight line, so its least and its most are
known; of V the most is taken. What comes out contains the interval that the final costs will give, whatever they are,
and so it holds when that one does. The interval holds for all n at once, so n may be chosen by looking: it is taken
where the interval is narrow. A loss that never comes costs (high − low)/(n·min(π, 1 − π)) of width, and stops nothing.

**Two arms** (`judge`). Under shares each block is given to arm a with a probability p_t and to arm b with q_t, known
before, else to another. Then D_t = m₁ − m₀ + (Y − m₁)/p_t for a, m₁ − m₀ − (Y − m₀)/q_t for b, and m₁ − m₀ for the
others; all of the above holds with min(p_t, q_t) in place of min(π, 1 − π). Blocks in which one of the two is rare say
little and would widen the interval: so the weight of a block is its rounds times p_t·q_t/(p_t + q_t), with which no
term can exceed its rounds. What is estimated is the difference in the blocks that both might have had.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import number_range
from holdfast.errors import TRUTH, InvalidParameter, Words
from holdfast.numerics.statistics import checked_confidence
from holdfast.text import finite

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

MIXTURE = 2.0 ** (-0.5 * np.arange(80)) * 0.75
"""The λ of the mixture, in units of 1/c; each is √½ times the one before."""

PSI = -np.log1p(-MIXTURE) - MIXTURE
"""ψ(λ) for c = 1."""

OF_THE_LEVEL = 0.2
"""Part of the error rate spent on the level of the rule's cost, the base of a relative saving."""


UNKNOWN = {"difference": math.nan, "low": -math.inf, "high": math.inf}
UNKNOWN |= {"share": math.nan, "share_low": -math.inf, "share_high": math.inf}
"""Numbers that are null in JSON until they are known."""


class Found:
    """What a comparison found, as JSON carries it."""

    since: date | None

    def to_json(self) -> dict[str, Any]:
        """Return the values as JSON carries them, and what they say; null for what is not finite."""
        since = None if self.since is None else self.since.isoformat()
        return cast(dict[str, Any], finite({**vars(self), "since": since, **self.said()}))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return what `to_json` wrote."""
        values = {one.name: content[one.name] for one in fields(cls)}  # type: ignore[arg-type]  # a dataclass
        values |= {name: UNKNOWN[name] for name, value in values.items() if value is None and name in UNKNOWN}
        return cls(**{**values, "since": values["since"] and date.fromisoformat(values["since"])})

    @abstractmethod
    def said(self) -> dict[str, str]:
        """Return what it says in words."""


@dataclass(frozen=True)
class Saving(Found):
    """Cost of a policy compared with that of the operator's rule, up to now."""

    units: int
    """Number of units that count, from the first."""
    held_back: int
    """Number of them that were the rule's."""
    difference: float
    """Mean cost of a unit under the policy less that under the rule; negative is a saving."""
    low: float
    high: float
    """Confidence interval of the difference, from `low` to `high`."""
    share: float
    """Saving as a share of the rule's cost."""
    share_low: float
    share_high: float
    """Confidence interval of `share`; infinite while the rule's cost is too uncertain."""
    confidence: float
    since: date | None = None
    """Start of the first unit, if known."""
    open: int = 0
    """Units without a final cost, counted with their whole possible range."""
    without_rule: int = 0
    """Units that began without a rule, and are left out."""

    def said(self) -> dict[str, str]:
        return {"words": self.words()}

    def words(self) -> str:
        """Return the saving as a phrase: ``saves 7 % (2 to 12), since 3 March``.

        >>> Saving(9000, 900, -0.02, -0.03, -0.01, 0.07, 0.02, 0.12, 0.95, date(2026, 3, 3)).words()
        'saves 7 % (2 to 12), since 3 March'
        """
        since = self.since
        when = "" if since is None else f", since {since.day} {since:%B}"
        when += f", {self.without_rule:,} without a rule left out" if self.without_rule else ""
        if not (math.isfinite(self.share_low) and math.isfinite(self.share_high)):
            if self.low <= 0.0 <= self.high:
                return f"too early to say, after {self.units:,} units{when}"
            verb, sign = ("saves", -1.0) if self.high < 0.0 else ("costs", 1.0)
            least, most = sorted((sign * self.low, sign * self.high))
            more = "" if self.high < 0.0 else " more"
            return f"{verb} {abs(self.difference):.3g}{more} each ({least:.3g} to {most:.3g}){when}"
        best, least, most = (round(100 * share) for share in (self.share, self.share_low, self.share_high))
        if self.share_high < 0.0:
            return f"costs {-best} % more ({-most} to {-least}){when}"
        if self.share_low > 0.0:
            return f"saves {best} % ({least} to {most}){when}"
        return f"no difference shown: between {-least} % more and {most} % less{when}"


@dataclass(frozen=True)
class Judgement(Found):
    """One arm next to another, up to now, by the blocks and conversations that either might have been given."""

    arm: int | str
    against: int | str
    units: int
    """Blocks and conversations that count, from the first."""
    of_arm: int
    """Number of them that were given to the arm."""
    of_against: int
    """Number of them that were given to the other one."""
    difference: float
    """Mean loss of the arm less that of the other; negative is better."""
    low: float
    high: float
    """Confidence interval of the difference, from `low` to `high`, valid at any time."""
    confidence: float
    since: date | None = None
    """Start of the first unit."""
    open: int = 0
    """Units of the two arms without a final loss, counted with their whole possible range."""

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``not yet``."""
        return "better" if self.high < 0.0 else "worse" if self.low > 0.0 else "not yet"

    def __str__(self) -> str:
        """Return the judgement as a phrase.

        >>> str(Judgement("new", "old", 900, 45, 810, -0.12, -0.19, -0.05, 0.95))
        'better: new loses 0.12 less than old (0.05 to 0.19); 45 and 810 of 900 blocks'
        """
        blocks = f"{self.of_arm:,} and {self.of_against:,} of {self.units:,} blocks"
        if not math.isfinite(self.difference):
            return f"not yet: no block begun under a share could have gone to {self.arm} or {self.against}"
        if self.verdict == "not yet":
            return (
                f"not yet: {self.arm} less {self.against} is {self.difference:.3g} "
                f"({self.low:.3g} to {self.high:.3g}); {blocks}"
            )
        more = "less" if self.high < 0.0 else "more"
        least, most = sorted((abs(self.low), abs(self.high)))
        said = f"{self.arm} loses {abs(self.difference):.3g} {more} than {self.against} ({least:.3g} to {most:.3g})"
        return f"{self.verdict}: {said}; {blocks}"

    def said(self) -> dict[str, str]:
        return {"verdict": self.verdict, "words": str(self)}


def judge(
    costs: ArrayLike,
    given_to: ArrayLike,
    chances: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> tuple[float, float, float]:
    """Return the mean cost of one side less that of the other, and its interval, which is valid at any time.

    Parameters
    ----------
    costs
        The cost of each unit, or of each round of it, in the order in which they were given out; NaN where it is not
        final yet.
    given_to
        0 where it was given to the one side, 1 for the other, anything else for neither.
    chances
        For each unit the probabilities, above 0, with which it was to be given to the one and to the other.
    weights
        The rounds of each unit, known before it was given out.
    bounds
        The lowest and the highest cost.
    confidence
        Confidence of the interval.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> side = rng.choice(3, 20_000, p=[0.05, 0.75, 0.2])
    >>> costs = rng.random(20_000) * np.where(side == 0, 0.6, 1.0)
    >>> [round(end, 2) for end in judge(costs, side, [(0.05, 0.75)] * 20_000)]
    [-0.2, -0.23, -0.18]
    """
    cost, side = np.asarray(costs, dtype=np.float64), np.asarray(given_to)
    p, q = np.asarray(chances, dtype=np.float64).reshape(-1, 2).T
    error, (low, high) = 1.0 - checked_confidence(confidence), number_range("bounds", bounds)
    if len(cost) == 0:
        return math.nan, -math.inf, math.inf
    rounds = np.ones_like(cost) if weights is None else np.asarray(weights, dtype=np.float64)
    both = p * q / (p + q)
    size = rounds * both / both[0]
    sides = side == 0, side == 1
    unknown = np.isnan(cost) & (sides[0] | sides[1])
    y = np.where(sides[0] | sides[1], cost - low, 0.0)
    units = Units(y, unknown, sides, size, (p, q), np.full_like(y, high - low))
    n = units.where_narrow(error)
    difference, lower, upper = (end / float(size[:n].sum()) for end in units.difference(n, error))
    return difference, lower, upper


def compare(
    costs: ArrayLike,
    held_back: ArrayLike,
    probability: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    bounds: tuple[float, ArrayLike] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Saving:
    """Return the policy's cost less that of the operator's rule, per unit, with an interval valid at any time.

    Parameters
    ----------
    costs
        The cost of each unit in the order in which they were assigned; NaN where it is not final yet. With weights, the
        cost of each round of it.
    held_back
        True for each unit that was given to the old rule.
    probability
        π, the probability of that: 0.1 for a tenth; or one for each unit.
    weights
        The size of each unit, such as its rounds, 1 at least; known before it was assigned.
    bounds
        The lowest and the highest cost that a unit, or a round of it, can have; the highest may be one for each.
    confidence
        Joint confidence of the intervals of the difference and of the share.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> held_back = rng.random(20_000) < 0.1
    >>> costs = rng.random(20_000) * np.where(held_back, 1.0, 0.8)
    >>> compare(costs, held_back, 0.1).words()
    'saves 19 % (12 to 25)'
    """
    low, most_of_all = number_range("bounds", (bounds[0], np.max(bounds[1]).item() if np.size(bounds[1]) else 1.0))
    given = np.asarray(probability, dtype=np.float64)
    if not ((given > 0.0) & (given < 1.0)).all():
        raise InvalidParameter("probability", "must be between 0 and 1", probability)
    error = 1.0 - checked_confidence(confidence)
    cost, rule = np.asarray(costs, dtype=np.float64), np.asarray(held_back)
    if cost.ndim != 1 or rule.shape != cost.shape or rule.dtype != np.bool_:
        raise InvalidParameter("held_back", Words("must be ", TRUTH, " for each of the costs"), held_back)
    size = np.ones_like(cost) if weights is None else np.asarray(weights, dtype=np.float64)
    if size.shape != cost.shape or not (size >= 1.0).all():
        raise InvalidParameter("weights", "must be a number of at least 1 for each of the costs", weights)
    unknown, pi = np.isnan(cost), np.broadcast_to(given, cost.shape)
    span = np.broadcast_to(np.asarray(bounds[1], dtype=np.float64) - low, cost.shape)
    wrong = cost[~unknown & ~((low <= cost) & (cost - low <= span))]
    if len(wrong):
        raise InvalidParameter("costs", f"must be from {low:g} to {most_of_all:g}", float(wrong[0]))
    if len(cost) == 0:
        nothing = (math.nan, -math.inf, math.inf)
        return Saving(0, 0, *nothing, *nothing, confidence)
    units = Units(cost - low, unknown, (~rule, rule), size, (1.0 - pi, pi), span)
    n = units.where_narrow(error)
    of_all = float(size[:n].sum())
    difference, lower, upper = (end / of_all for end in units.difference(n, error * (1.0 - OF_THE_LEVEL)))
    level, least, most = (low + end / of_all for end in units.level(n, error * OF_THE_LEVEL))
    share, shares = (-difference / level if level > 0.0 else math.nan), [-math.inf, math.inf]
    if max(least, low) > 0.0:
        shares = [-end / of for end in (lower, upper) for of in (max(least, low), most)]
    held, open_ones = int(rule[:n].sum()), int(unknown[:n].sum())
    return Saving(n, held, difference, lower, upper, share, min(shares), max(shares), confidence, open=open_ones)


class Units:
    """Units in the order of assignment, and the range of their sums whatever the open ones will cost.

    Parameters
    ----------
    y
        Costs above the lowest, for each unit of size; not a number where one is not final.
    unknown
        True for each unit whose cost is not final.
    sides
        Masks of the two sides: the policy's and the rule's, or those of two arms. Units of
        neither add m₁ − m₀.
    size
        Size of each unit.
    chances
        The probabilities of each unit to be of the one side and of the other.
    span
        The highest cost of each less the lowest.
    """

    def __init__(
        self,
        y: Numbers,
        unknown: Flags,
        sides: tuple[Flags, Flags],
        size: Numbers,
        chances: tuple[Numbers, Numbers],
        span: Numbers,
    ) -> None:
        self.unknown, self.sides, self.size, self.chances, self.span = unknown, sides, size, chances, span
        first = float(span[0]) / 2
        usual = [y[~unknown & who].mean() if (~unknown & who).any() else first for who in sides]
        self.y = np.where(unknown, np.where(sides[1], usual[1], usual[0]), y)
        """Costs; an open one is given the mean of the others, as good as any value."""
        least, most = np.where(unknown, 0.0, y), np.where(unknown, span, y)
        self.means = [earlier_mean(self.y, who, first, size) for who in sides]
        """m₁ and m₀ of each unit."""
        self.furthest = []
        """Largest distance of a unit from m₁ and from m₀, times its size."""
        for who in sides:
            lower, upper = (earlier_mean(end, who, first, size) for end in (least, most))
            self.furthest.append(size * np.maximum(most - lower, upper - least))

    def difference(self, n: int, error: float) -> tuple[float, float, float]:
        """Return Σ D of the first n units, and its interval."""
        (one, other), (p, q) = self.sides, self.chances
        slopes = [np.where(one, (p - 1.0) / p, 1.0), np.where(other, (1.0 - q) / q, -1.0)]
        return self._ends(n, error, np.where(one, 1.0 / p, np.where(other, -1.0 / q, 0.0)), slopes, self._variances)

    def level(self, n: int, error: float) -> tuple[float, float, float]:
        """Like `difference`, for the rule's cost above the lowest: m₀, plus (Y − m₀)/π where it is the rule's."""
        pi, rule = self.chances[1], self.sides[1]
        slopes = [np.zeros(len(rule)), np.where(rule, 1.0 - 1.0 / pi, 1.0)]
        return self._ends(n, error, np.where(rule, 1.0 / pi, 0.0), slopes, np.where(rule, self._variances, 0.0))

    @property
    def _variances(self) -> Numbers:
        """Return the most that each unit adds to V."""
        far = [np.where(who, f / p, 0.0) for who, f, p in zip(self.sides, self.furthest, self.chances, strict=True)]
        return np.asarray((far[0] + far[1]) ** 2)

    def _ends(
        self, n: int, error: float, own: Numbers, slopes: list[Numbers], variances: Numbers
    ) -> tuple[float, float, float]:
        """Return Σ size·(own·Y + slopes·means) over n units, and its interval at error rate `error`.

        `own` and `slopes` are the coefficients of a unit's own cost, m₁ and m₀ in its term.
        """
        value = self.size * (own * self.y + slopes[0] * self.means[0] + slopes[1] * self.means[1])
        below, above = self._open_part(n, own, slopes)
        c = self.span / np.minimum(*self.chances)
        half = float(radius(variances[:n].sum(), float(c[0]), error, float((self.size * (c / c[0]))[:n].max())))
        total = float(value[:n].sum())
        return total, total - below - half, total + above + half

    def _open_part(self, n: int, own: Numbers, slopes: list[Numbers]) -> tuple[float, float]:
        """Return how much lower and higher a sum may become through the open costs among n units."""
        if not self.unknown[:n].any():
            return 0.0, 0.0
        below = above = 0.0
        for slope, who in zip(slopes, self.sides, strict=True):
            sizes = np.where(who, self.size, 0.0)[:n]
            later = np.cumsum((self.size[:n] * slope[:n] / (1.0 + np.cumsum(sizes) - sizes))[::-1])[::-1]
            here = self.unknown[:n] & who[:n]  # its own term has the mean of earlier ones only
            steepness = (self.size[:n] * (own[:n] + np.append(later[1:], 0.0)))[here]
            ends = np.array([-self.y[:n][here] * steepness, (self.span[:n][here] - self.y[:n][here]) * steepness])
            below, above = below - float(ends.min(axis=0).sum()), above + float(ends.max(axis=0).sum())
        return below, above

    def where_narrow(self, error: float) -> int:
        """Return how many units to count: all, or those before one of the open ones, where the interval is narrow."""
        places, last = np.flatnonzero(self.unknown), len(self.y)
        doubling = [int(places[2**k - 1]) for k in range(len(places).bit_length())]
        candidates = [n for n in {*doubling, last} if n]
        if len(candidates) == 1:
            return candidates[0]

        def width(n: int) -> float:
            _, low, high = self.difference(n, error)
            return (high - low) / float(self.size[:n].sum())

        return min(candidates, key=width)


def earlier_mean(y: Numbers, mine: Flags, first: float, size: Numbers) -> Numbers:
    """Return for each unit the mean of earlier units in `mine`, with `first` as one more of size 1."""
    sizes = np.where(mine, size, 0.0)
    taken = sizes * y
    return np.asarray((first + np.cumsum(taken) - taken) / (1.0 + np.cumsum(sizes) - sizes))


def radius(V: ArrayLike, scale: float, error: float, largest: float = 1.0) -> Numbers:
    """Return the least u with Σ_k w_k exp(λ_k u − ψ(λ_k) V) ≥ 2/error, which bounds |S| at all times but for `error`.

    Parameters
    ----------
    V
        A number or several.
    scale
        c for a unit of size 1.
    error
        Probability that it is wrong at some time.
    largest
        The size of the largest unit so far: the first λ are too large for it, and are dropped.
    """
    dropped = math.ceil(2.0 * math.log2(largest))
    scale *= 2.0 ** (0.5 * dropped)
    k = dropped + np.arange(len(MIXTURE))
    log_weights = -np.log((k + 1.0) * (k + 2.0))  # of all, dropped ones too, the weights add up to 1
    v = np.atleast_1d(np.asarray(V, dtype=np.float64))[:, np.newaxis] / scale**2
    target = math.log(2.0 / error)
    high = ((target - log_weights + PSI * v) / MIXTURE).min(axis=1)  # where one term alone is enough
    low = np.zeros_like(high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        exponents = log_weights + MIXTURE * middle[:, np.newaxis] - PSI * v
        top = exponents.max(axis=1)
        reached = top + np.log(np.exp(exponents - top[:, np.newaxis]).sum(axis=1)) >= target
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray((high * scale).reshape(np.shape(V)))
