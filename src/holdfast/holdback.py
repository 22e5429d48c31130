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
stopped by 0 stays one. So the sizes to come need not be known.

**What a unit must be.** Conversations are good units: nothing is switched between them. Single rounds of one game are
not, since a rule in between causes switches that neither would have alone: assign stretches of many rounds, count the
losses and the switches inside each, and not the switch at its border. A unit counts when its cost is final. Units after
the first that is not final wait, since the late ones may be the expensive ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import number_range, real_number
from holdfast.errors import InvalidParameter
from holdfast.statistics import checked_confidence

Numbers = NDArray[np.float64]

MIXTURE = 2.0 ** (-0.5 * np.arange(80)) * 0.75
"""The λ that are mixed, in units of 1/c; each √½ of the one before."""

PSI = -np.log1p(-MIXTURE) - MIXTURE
"""ψ(λ) for c = 1."""

OF_THE_LEVEL = 0.2
"""The part of the error rate that is spent on the level of the rule's cost, of which a saving is a share."""


@dataclass(frozen=True)
class Saving:
    """How the cost of a policy compares with that of the rule that was held back, up to now."""

    units: int
    """Units that count: those up to the first whose cost is not final."""
    held_back: int
    """How many of them were the rule's."""
    difference: float
    """Average cost of a unit by the policy less that by the rule: negative where the policy saves."""
    low: float
    high: float
    """The confidence interval of the difference."""
    share: float
    """What is saved, as a share of the rule's cost."""
    share_low: float
    share_high: float
    """Its confidence interval; infinite while the level of the rule's cost is not known well enough."""
    confidence: float
    since: date | None = None
    """When the first unit began, where that is known."""

    def words(self, since: date | None = None) -> str:
        """In a sentence: ``saves 7 % (2 to 12), since 3 March``.

        >>> Saving(9000, 900, -0.02, -0.03, -0.01, 0.07, 0.02, 0.12, 0.95).words(date(2026, 3, 3))
        'saves 7 % (2 to 12), since 3 March'
        """
        since = self.since if since is None else since
        when = "" if since is None else f", since {since.day} {since:%B}"
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
    probability: float,
    *,
    weights: ArrayLike | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Saving:
    """The policy's cost less that of the rule held back, per unit, with a confidence interval valid at any time.

    Parameters
    ----------
    costs
        The cost of each unit in the order in which they were assigned; NaN where it is not final yet. With weights, the
        cost of each round of it.
    held_back
        Whether each was given to the old rule.
    probability
        π, with which each was: 0.1 for a tenth.
    weights
        The size of each unit, such as its rounds, 1 at least; known before it was assigned.
    bounds
        The lowest and the highest cost that a unit, or a round of it, can have.
    confidence
        Of the interval of the difference and of that of the share together.

    >>> rng = np.random.default_rng(1)
    >>> held_back = rng.random(20_000) < 0.1
    >>> costs = rng.random(20_000) * np.where(held_back, 1.0, 0.8)
    >>> compare(costs, held_back, 0.1).words()
    'saves 19 % (12 to 25)'
    """
    low, high = number_range("bounds", bounds)
    pi = real_number("probability", probability, above=0)
    if pi >= 1.0:
        raise InvalidParameter("probability", "must be between 0 and 1", probability)
    error = 1.0 - checked_confidence(confidence)
    cost, rule = np.asarray(costs, dtype=np.float64), np.asarray(held_back)
    if cost.ndim != 1 or rule.shape != cost.shape or rule.dtype != np.bool_:
        raise InvalidParameter("held_back", "must be True or False for each of the costs", held_back)
    size = np.ones_like(cost) if weights is None else np.asarray(weights, dtype=np.float64)
    if size.shape != cost.shape or not (size >= 1.0).all():
        raise InvalidParameter("weights", "must be a number of at least 1 for each of the costs", weights)
    cost, rule, size = cost[: final(cost)], rule[: final(cost)], size[: final(cost)]
    if len(cost) and not (low <= cost.min() and cost.max() <= high):
        raise InvalidParameter("costs", f"must be from {low:g} to {high:g}", float(cost[np.argmax(np.abs(cost))]))
    n = len(cost)
    if n == 0:
        unknown = (math.nan, -math.inf, math.inf)
        return Saving(0, 0, *unknown, *unknown, confidence)
    y = cost - low
    gains, spreads = contributions(y, rule, pi, (high - low) / 2, size)
    scale, largest, of_all = (high - low) / min(pi, 1.0 - pi), float(size.max()), float(size.sum())
    half = float(radius(np.sum(spreads**2), scale, error * (1.0 - OF_THE_LEVEL), largest)) / of_all
    difference = float(gains.sum()) / of_all
    mean = earlier_mean(y, rule, (high - low) / 2, size)
    off = np.where(rule, size * (y - mean) / pi, 0.0)
    level = float((size * mean + off).sum()) / of_all
    level_half = float(radius(np.sum(off**2), scale, error * OF_THE_LEVEL, largest)) / of_all
    ends = difference - half, difference + half
    share = -difference / (low + level) if low + level > 0.0 else math.nan
    least, most = low + max(level - level_half, 0.0), low + level + level_half
    if least > 0.0:
        shares = [-end / of for end in ends for of in (least, most)]
        return Saving(n, int(rule.sum()), difference, *ends, share, min(shares), max(shares), confidence)
    return Saving(n, int(rule.sum()), difference, *ends, share, -math.inf, math.inf, confidence)


def final(costs: Numbers) -> int:
    """How many units come before the first whose cost is not final."""
    unknown = np.isnan(costs)
    return int(unknown.argmax()) if unknown.any() else len(costs)


def contributions(
    y: Numbers, rule: NDArray[np.bool_], pi: float, first: float, size: Numbers
) -> tuple[Numbers, Numbers]:
    """D_t of each unit, and how far it is from what was expected before.

    Parameters
    ----------
    y
        Costs, for each unit of size.
    rule
        Which are the rule's.
    pi
        The probability of that.
    first
        What is expected of the first of each.
    size
        Of each unit.
    """
    policy_mean, rule_mean = earlier_mean(y, ~rule, first, size), earlier_mean(y, rule, first, size)
    spread = size * np.where(rule, (rule_mean - y) / pi, (y - policy_mean) / (1.0 - pi))
    return size * (policy_mean - rule_mean) + spread, spread


def earlier_mean(y: Numbers, mine: NDArray[np.bool_], first: float, size: Numbers) -> Numbers:
    """For each unit the mean of the earlier ones that are `mine`, with `first` as one more of size 1."""
    sizes = np.where(mine, size, 0.0)
    taken = sizes * y
    return np.asarray((first + np.cumsum(taken) - taken) / (1.0 + np.cumsum(sizes) - sizes))


def radius(V: ArrayLike, scale: float, error: float, largest: float = 1.0) -> Numbers:
    """The least u with Σ_k w_k exp(λ_k u − ψ(λ_k) V) ≥ 2/error: |S| stays below it at all times, but for `error`.

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
