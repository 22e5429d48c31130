"""Worlds that theorems are about: the lower bound's random walk, and losses whose range is announced beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real, real_number, whole
from holdfast.environments.environment import Environment, Tables
from holdfast.environments.phased import checked_means
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.random import Stream, binomial, normal

# The multi-scale random walk: the adversary that makes T^{2/3} unavoidable with switching costs.

MOST_ROUNDS = 10**9
"""Most rounds whose sums fit into the memory of a large machine."""


@kernel
def fill(sigma: float, epsilon: float, stream: Any, walk: Any, sums: Any) -> None:
    """Write W_t = W_{ρ(t)} + ξ_t to `walk`, and the sums of the clipped losses of any other arm and of the best one."""
    walk[0] = sums[0, 0] = sums[0, 1] = 0.0
    for t in range(1, walk.shape[0]):
        walk[t] = walk[t & (t - 1)] + sigma * normal(stream)  # ρ(t) = t − 2^{δ(t)} clears the lowest bit of t
        sums[t, 0] = sums[t - 1, 0] + min(max(walk[t] + 0.5, 0.0), 1.0)
        sums[t, 1] = sums[t - 1, 1] + min(max(walk[t] + 0.5 - epsilon, 0.0), 1.0)


@kernel
def total_of_walk(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Look up two sums."""
    sums, best = tables
    s, t = int(start), int(stop)
    for g in range(totals.shape[0]):
        column = 1 if places[g] == best[0] else 0
        totals[g] = sums[t, column] - sums[s, column]


@kernel
def gap_of_walk(tables: Any, places: Any, start: float, stop: float, gaps: Any) -> None:
    """Write the loss of any other arm less the best one's."""
    sums, best = tables
    s, t = int(start), int(stop)
    for g in range(gaps.shape[0]):
        more = (sums[t, 0] - sums[s, 0]) - (sums[t, 1] - sums[s, 1])
        gaps[g] = 0.0 if places[g] == best[0] else more


@dataclass(frozen=True)
class MultiScaleWalk(Environment):
    """The lower bound's adversary (Dekel, Ding, Koren and Peres, STOC 2014), drawn once for each seed.

    W_0 = 0, W_t = W_{ρ(t)} + ξ_t with ρ(t) = t − 2^{δ(t)}, 2^{δ(t)} the largest power of two that divides t, and ξ_t
    normal with mean 0 and deviation σ = 1/(9 log₂ T). In round t = 1, …, T an arm loses W_t + ½, the best arm χ, drawn
    uniformly, ε = K^{1/3}T^{−1/3}/(9 log₂ T) less, all clipped to [0, 1]. On this any policy has expected regret with
    switching cost of order K^{1/3}T^{2/3}/log T (λ = 1): to see ε through the walk it must switch.
    With another λ, ε = (λK)^{1/3}T^{−1/3}/(9 log₂ T) (Rangi and Franceschetti, AISTATS 2019).

    One realised sequence, the same in every replication: nothing is drawn when it is played. To take the expectation,
    play several seeds. At any T that can be played ε is so small that never switching costs little (εT = 29 at T = 10⁵,
    K = 8): an oddity to be played against, not a way to measure T^{2/3}.

    Parameters
    ----------
    n_arms, horizon
        K and T; there are no rounds past T.
    seed
        Seed of the walk and of χ.
    switching_cost
        λ in ε.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> walk = MultiScaleWalk(2, 1024)
    >>> round(walk.sigma * 90, 12), round(walk.epsilon * 90, 6)
    (1.0, 0.125)
    """

    id = "multi-scale-walk"
    total_kernel = staticmethod(total_of_walk)
    gap_kernel = staticmethod(gap_of_walk)

    n_arms: int = field(default=0, metadata=whole(least=2))
    horizon: int = field(default=0, metadata=whole(least=2, most=MOST_ROUNDS))
    seed: int = field(default=0, metadata=whole(least=0))
    switching_cost: float = field(default=1.0, kw_only=True, metadata=real(least=0))

    @property
    def rounds(self) -> int:
        return self.horizon

    @property
    def sigma(self) -> float:
        """σ, the deviation of one step."""
        return 1.0 / (9.0 * math.log2(self.horizon))

    @property
    def epsilon(self) -> float:
        """ε, the advantage of the best arm."""
        return float((self.switching_cost * self.n_arms / self.horizon) ** (1.0 / 3.0)) * self.sigma

    @cached_property
    def _drawn(self) -> tuple[int, Array, Array]:
        """χ, W_0 … W_T, and (T + 1) × 2 sums of losses: any other arm's, and that of χ."""
        stream = Stream(self.seed, self.id)
        best = int(stream.uniform() * self.n_arms)
        walk, sums = np.empty(self.horizon + 1), np.empty((self.horizon + 1, 2))
        fill(self.sigma, self.epsilon, stream.state, walk, sums)
        return best, walk, sums

    @property
    def walk(self) -> Array:
        """W_0 … W_T."""
        return self._drawn[1]

    @property
    def reference(self) -> int:
        """χ: no arm is better in any round."""
        return self._drawn[0]

    @cached_property
    def tables(self) -> Tables:
        return self._drawn[2], np.array([float(self.reference)])

    def _by_arm(self, pair: Array) -> Array:
        return np.asarray(np.where(np.arange(self.n_arms) == self.reference, pair[1], pair[0]))

    def expected(self, start: int, stop: int) -> Array:
        """Return the total loss of every arm over the rounds [start, stop)."""
        start, stop = self.checked_rounds(start, stop)
        sums = self._drawn[2]
        return self._by_arm(sums[stop] - sums[start])

    def excess(self, stop: int) -> Array:
        """Return the total loss of every arm over the rounds [0, stop) less that of χ."""
        _, stop = self.checked_rounds(0, stop)
        sums = self._drawn[2]
        return self._by_arm(sums[stop] - sums[stop, 1])


# Losses whose range differs from round to round and is announced beforehand, as in Theorem 2.


@kernel
def sum_before(ranges: Any, upto: Any, stop: float) -> float:
    """Return b_1 + … of the rounds [0, stop)."""
    turns = stop // ranges.shape[0]
    found: float = turns * upto[ranges.shape[0]] + upto[int(stop - turns * ranges.shape[0])]
    return found


@kernel
def total_in_turn(tables: Any, arms: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Draw one binomial for each place in the turn that [start, stop) meets."""
    ranges, means, rounds = tables[0], tables[2], stop - start
    for g in range(totals.shape[0]):
        totals[g] = 0.0
        for i in range(int(min(rounds, float(ranges.shape[0])))):
            times = (rounds - 1.0 - i) // ranges.shape[0] + 1.0
            b = ranges[int((start + i) % ranges.shape[0])]
            totals[g] += b * binomial(times, means[int(arms[g])], streams[:, g])


@kernel
def gap_in_turn(tables: Any, arms: Any, start: float, stop: float, gaps: Any) -> None:
    """Multiply the arm's gap by the sum of the ranges."""
    ranges, upto, _, gap_of = tables
    most = sum_before(ranges, upto, stop) - sum_before(ranges, upto, start)
    for g in range(gaps.shape[0]):
        gaps[g] = gap_of[int(arms[g])] * most


@dataclass(frozen=True)
class VaryingRanges(Environment):
    """Losses of 0 or b_t in round t: b_t with an arm's mean as probability, and b_t is announced (Theorem 2).

    ``TsallisInf(K, loss_bound="announced")`` hears b_t before each round. An arm's expected gap is b_t times
    that of the means.

    Parameters
    ----------
    mean_losses
        The mean of each arm, as a share of the range.
    ranges
        b_1, b_2, …, each above 0 and at most 1; then again from the first.
    shuffled
        Rotate the arms by a random number of places, drawn in each replication.

    Examples
    --------
    >>> world = VaryingRanges([0.3, 0.5], ranges=[1.0, 0.1, 0.1])
    >>> world.expected(0, 4).round(2).tolist()
    [0.66, 1.1]
    """

    id = "varying-ranges"
    total_kernel = staticmethod(total_in_turn)
    gap_kernel = staticmethod(gap_in_turn)

    mean_losses: Sequence[float] = ()
    ranges: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("mean_losses", checked_means(self.mean_losses))
        if isinstance(self.ranges, (str, bytes)) or not isinstance(self.ranges, (Sequence, np.ndarray)):
            raise InvalidParameter("ranges", "must be a list of numbers", self.ranges)
        ranges = tuple(real_number(f"ranges[{i}]", b, above=0, most=1) for i, b in enumerate(self.ranges))
        if not ranges:
            raise InvalidParameter("ranges", "must not be empty", self.ranges)
        self._set("ranges", ranges)

    @property
    def n_arms(self) -> int:
        return len(self.mean_losses)

    @cached_property
    def tables(self) -> Tables:
        """The ranges, their sums from the first on, the means, and the gaps to the best arm."""
        ranges, means = np.array(self.ranges), np.array(self.mean_losses)
        return ranges, np.concatenate([[0.0], np.cumsum(ranges)]), means, means - means.min()

    @property
    def reference(self) -> int:
        return int(np.argmin(self.mean_losses))

    def _sum(self, start: int, stop: int) -> float:
        ranges, upto = self.tables[:2]
        return float(sum_before(ranges, upto, float(stop)) - sum_before(ranges, upto, float(start)))

    def expected(self, start: int, stop: int) -> Array:
        return np.asarray(self.tables[2] * self._sum(*self.checked_rounds(start, stop)))

    def excess(self, stop: int) -> Array:
        return np.asarray(self.tables[3] * self._sum(*self.checked_rounds(0, stop)))
