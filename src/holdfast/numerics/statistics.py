"""Statistics of samples: means with Student's confidence intervals, and two policies compared in pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import real_number
from holdfast.errors import InvalidParameter
from holdfast.text import level, short

FEW_DEGREES = 300
"""Degrees of freedom up to which Student's quantile is computed by quadrature."""


@dataclass(frozen=True)
class Comparison:
    """The paired difference of two policies, first less second, at one round."""

    first: str
    second: str
    measure: str
    round: int
    difference: float
    """Mean over replications of first − second: negative when the first is better."""
    low: float
    high: float
    """Upper end of the mean difference's confidence interval; `low` is the lower end."""
    confidence: float
    replications: int
    p: float = math.nan
    """Student's two-sided p-value of no difference."""

    NUMBERS = ("round", "difference", "low", "high", "p", "replications")

    def numbers(self) -> dict[str, float]:
        """Return the difference, its interval, p and the replications by name."""
        return {name: getattr(self, name) for name in self.NUMBERS}

    @property
    def decided(self) -> bool:
        """True if the interval excludes zero."""
        return not self.low <= 0.0 <= self.high

    def __str__(self) -> str:
        return (
            f"{self.first} − {self.second}: {self.measure} {short(self.difference, 6, sign='+')} "
            f"[{short(self.low, 6, sign='+')}, {short(self.high, 6, sign='+')}] at round {self.round} "
            f"({level(self.confidence)} confidence, {self.replications} replications)"
        )


class Estimate(NamedTuple):
    """A mean and the ends of its confidence interval; three equal numbers if it is known exactly."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def sign(self) -> int:
        """1 or −1 when the interval lies above or below zero, 0 when that is not decided."""
        return int(self.low > 0.0) - int(self.high < 0.0)

    @property
    def decided(self) -> bool:
        """True if the interval excludes zero, or the mean is known exactly."""
        return self.sign != 0 or self.low == self.high

    def less(self, number: float) -> Estimate:
        """Subtract a number that is known exactly."""
        return Estimate(*(end - number for end in self))

    def named(self, name: str) -> dict[str, float]:
        """Return the numbers as columns of a table."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


def interval(sample: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Return the mean of a sample of at least two, and its Student confidence interval."""
    share = checked_confidence(confidence)
    values = np.asarray(sample, dtype=np.float64)
    mean = float(values.mean())
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student_quantile(0.5 + share / 2, len(values) - 1) * spread if spread > 0.0 else 0.0
    return Estimate(mean, mean - half, mean + half)


def p_value(sample: ArrayLike) -> float:
    """Return Student's two-sided p-value of a mean of 0; 0 or 1 for a sample without spread.

    >>> round(p_value([0.1, 0.4, 0.3, -0.1]), 6)
    0.212573
    """
    values = np.asarray(sample, dtype=np.float64)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    if error == 0.0:
        return float(mean == 0.0)
    degrees, nodes, weights = len(values) - 1, *_nodes()
    low = math.atan(abs(mean) / error / math.sqrt(degrees))
    high = min(math.pi / 2, low + 12 / math.sqrt(degrees))  # beyond, there is less than 10⁻³⁰ of it
    half = (high - low) / 2
    inside = np.cos(low + half * (nodes + 1)) ** (degrees - 1)
    scale = _student_scale(degrees)
    return min(1.0, 2 * scale * half * float(weights @ inside))


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method for all of them together, in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, least, found = sorted(range(len(p)), key=lambda i: p[i]), 0.0, [0.0] * len(p)
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p) - rank) * p[i]))
        found[i] = least
    return found


def quantile(sample: ArrayLike, share: float, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the ⌈share·n⌉-th smallest of a sample of n, and a distribution-free confidence interval of the quantile.

    The ends are values of the sample, found by the binomial number of values below the quantile; an end that the sample
    is too small for is infinite.

    >>> quantile(range(1, 101), 0.5)
    (50.0, 40.0, 61.0)
    """
    rest = (1.0 - checked_confidence(confidence)) / 2
    values = np.sort(np.asarray(sample, dtype=np.float64))
    n = len(values)
    place = min(max(math.ceil(share * n - 1e-9), 1), n)
    chances = [math.exp(log_choose(n, k) + k * math.log(share) + (n - k) * math.log1p(-share)) for k in range(n + 1)]
    below = list(itertools.accumulate(chances))  # P(B ≤ k)
    first = sum(chance <= rest for chance in below)  # the largest l with P(B < l) ≤ rest
    last = next((k + 1 for k in range(n) if below[k] >= 1.0 - rest), n + 1)  # the smallest u with P(B ≥ u) ≤ rest
    low = float(values[first - 1]) if first else -math.inf
    high = float(values[last - 1]) if last <= n else math.inf
    return float(values[place - 1]), low, high


def _student_scale(degrees: int) -> float:
    """Return the factor of Student's density in terms of the angle θ."""
    return math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)


def log_choose(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def checked_confidence(confidence: object) -> float:
    """Return a confidence above 0 and below 1: 0.95, not 95."""
    rule = "must be a number between 0 and 1, such as 0.95"
    try:
        share = real_number("confidence", confidence)
    except InvalidParameter:
        raise InvalidParameter("confidence", rule, confidence) from None
    if not 0.0 < share < 1.0:
        raise InvalidParameter("confidence", rule, confidence)
    return share


@lru_cache(maxsize=4096)  # a report asks for a few of them thousands of times
def student_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t, above one half.

    By bisection on its distribution function; with many degrees of freedom, where that integrand is too narrow, by
    the Cornish-Fisher expansion around the normal (Abramowitz and Stegun 26.7.5). Good to eight digits.

    >>> round(student_quantile(0.975, 9), 6)
    2.262157
    """
    if probability >= 1.0:  # a confidence of 1 − 10⁻¹⁶
        return math.inf
    if degrees > FEW_DEGREES:
        z = NormalDist().inv_cdf(probability)
        terms = (
            z,
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return math.fsum(term / degrees**power for power, term in enumerate(terms))
    angle_low, angle_high = 0.0, math.pi / 2
    nodes, weights = _nodes()
    scale = _student_scale(degrees)
    for _ in range(60):  # with t = √ν tan θ the density is scale · cos^{ν−1} θ
        angle = (angle_low + angle_high) / 2
        inside = np.cos(angle / 2 * (nodes + 1)) ** (degrees - 1)
        if 0.5 + scale * angle / 2 * float(weights @ inside) < probability:
            angle_low = angle
        else:
            angle_high = angle
    return math.sqrt(degrees) * math.tan(angle_low)


@cache
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss and Legendre's nodes and weights."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights
