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
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import number_range
from holdfast.errors import TRUTH, InvalidParameter, Words
from holdfast.numerics.statistics import checked_confidence

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

MIXTURE = 2.0 ** (-0.5 * np.arange(80)) * 0.75
"""The λ of the mixture, in units of 1/c; each is √½ times the one before."""

PSI = -np.log1p(-MIXTURE) - MIXTURE
"""ψ(λ) for c = 1."""

OF_THE_LEVEL = 0.2
"""Part of the error rate spent on the level of the rule's cost, the base of a relative saving."""


@dataclass(frozen=True)
class Saving:
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

    def to_json(self) -> dict[str, Any]:
        """Return the values as JSON carries them, with `words`; null for what is not finite."""
        content = {**vars(self), "since": None if self.since is None else self.since.isoformat(), "words": self.words()}
        finite = {
            name: value for name, value in content.items() if not isinstance(value, float) or math.isfinite(value)
        }
        return {**dict.fromkeys(content), **finite}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Saving:
        """Return the saving written by `to_json`."""
        unknown = {"difference": math.nan, "low": -math.inf, "high": math.inf}
        unknown |= {"share": math.nan, "share_low": -math.inf, "share_high": math.inf}
        values = {field.name: content[field.name] for field in fields(cls)}
        since = None if values["since"] is None else date.fromisoformat(values["since"])
        return cls(
            **{**values, "since": since, **{name: value for name, value in unknown.items() if values[name] is None}}
        )

    def words(self, since: date | None = None) -> str:
        """Return the saving as a phrase: ``saves 7 % (2 to 12), since 3 March``.

        >>> Saving(9000, 900, -0.02, -0.03, -0.01, 0.07, 0.02, 0.12, 0.95).words(date(2026, 3, 3))
        'saves 7 % (2 to 12), since 3 March'
        """
        since = self.since if since is None else since
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
        Whether each was given to the old rule.
    probability
        π, with which each was: 0.1 for a tenth; or one for each.
    weights
        The size of each unit, such as its rounds, 1 at least; known before it was assigned.
    bounds
        The lowest and the highest cost that a unit, or a round of it, can have; the highest may be one for each.
    confidence
        Of the interval of the difference and of that of the share together.

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
    units = Units(cost - low, unknown, rule, size, pi, span)
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
        Which are not.
    rule
        Which are the rule's.
    size
        Of each.
    pi
        The probability that each is the rule's.
    span
        The highest cost of each less the lowest.
    """

    def __init__(self, y: Numbers, unknown: Flags, rule: Flags, size: Numbers, pi: Numbers, span: Numbers) -> None:
        self.unknown, self.rule, self.size, self.pi, self.span = unknown, rule, size, pi, span
        first = float(span[0]) / 2
        usual = [y[~unknown & who].mean() if (~unknown & who).any() else first for who in (~rule, rule)]
        self.y = np.where(unknown, np.where(rule, usual[1], usual[0]), y)
        """Costs; an open one is given the mean of the others, as good as any value."""
        least, most = np.where(unknown, 0.0, y), np.where(unknown, span, y)
        self.means = [earlier_mean(self.y, who, first, size) for who in (~rule, rule)]
        """m₁ and m₀ of each unit."""
        self.furthest = []
        """Largest distance of a unit from m₁ and from m₀, times its size."""
        for who in (~rule, rule):
            lower, upper = (earlier_mean(end, who, first, size) for end in (least, most))
            self.furthest.append(size * np.maximum(most - lower, upper - least))

    def difference(self, n: int, error: float) -> tuple[float, float, float]:
        """Return Σ D of the first n units, and its interval."""
        pi, rule = self.pi, self.rule
        slopes = [np.where(rule, 1.0, -pi / (1.0 - pi)), np.where(rule, (1.0 - pi) / pi, -1.0)]
        return self._ends(n, error, np.where(rule, -1.0 / pi, 1.0 / (1.0 - pi)), slopes, self._variances)

    def level(self, n: int, error: float) -> tuple[float, float, float]:
        """Like `difference`, for the rule's cost above the lowest: m₀, plus (Y − m₀)/π where it is the rule's."""
        pi, rule = self.pi, self.rule
        slopes = [np.zeros(len(rule)), np.where(rule, 1.0 - 1.0 / pi, 1.0)]
        return self._ends(n, error, np.where(rule, 1.0 / pi, 0.0), slopes, np.where(rule, self._variances, 0.0))

    @property
    def _variances(self) -> Numbers:
        """Return the most that each unit adds to V."""
        policy, rule = self.furthest
        return np.asarray(np.where(self.rule, rule / self.pi, policy / (1.0 - self.pi)) ** 2)

    def _ends(
        self, n: int, error: float, own: Numbers, slopes: list[Numbers], variances: Numbers
    ) -> tuple[float, float, float]:
        """Return Σ size·(own·Y + slopes·means) over n units, and its interval at error rate `error`.

        `own` and `slopes` are the coefficients of a unit's own cost, m₁ and m₀ in its term.
        """
        value = self.size * (own * self.y + slopes[0] * self.means[0] + slopes[1] * self.means[1])
        below, above = self._open_part(n, own, slopes)
        c = self.span / np.minimum(self.pi, 1.0 - self.pi)
        half = float(radius(variances[:n].sum(), float(c[0]), error, float((self.size * (c / c[0]))[:n].max())))
        total = float(value[:n].sum())
        return total, total - below - half, total + above + half

    def _open_part(self, n: int, own: Numbers, slopes: list[Numbers]) -> tuple[float, float]:
        """Return how much lower and higher a sum may become through the open costs among n units."""
        if not self.unknown[:n].any():
            return 0.0, 0.0
        below = above = 0.0
        for slope, who in zip(slopes, (~self.rule, self.rule), strict=True):
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
        How likely it may be wrong at some time.
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
