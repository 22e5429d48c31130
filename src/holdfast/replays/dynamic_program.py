"""The dynamic programme of plans in hindsight: one pass forward over the losses, one backward for the arms.

V_t(j, i) is the least cost of the rounds up to t of a plan that holds arm i in round t, in *layer* j. A plan begins on
any arm for the layer's price; then

    V_t(j, i) = ℓ_{t,i} + min{ V_{t−1}(j, i),  min_h V_{t−1}(e_j, h) + c_j }

where c_j is the price of a switch in layer j and e_j the layer it is entered from by a switch:

* e_j = j gives the cheapest plan of all at λ = c_j;
* layers chained by e_j = j − 1, the first with none, count switches: layer j has the cheapest plan of at most j.

Several switching costs and several limits share one pass. Time is O(T K) for each layer. The back-pointers of all
rounds are never kept: the forward pass keeps V at the start of every piece of about 4√T rows, the backward pass
plays a piece again when it needs its pointers. So a layer takes about 8√T K bytes.

Sums are carried as two floats (about 32 digits), so that after ten million rounds two plans are still compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import kernel

NO_LAYER = -1
"""e_j of a layer that no switch leads to."""


@kernel
def plus(high: float, low: float, x: float) -> tuple[float, float]:
    """(high + low) + x, again as two floats: the first is their sum rounded, the second what is left of it."""
    s = high + x
    b = s - high
    rest = (high - (s - b)) + (x - b) + low  # Knuth's exact error of the sum, and what was left before
    rounded = s + rest
    return rounded, rest - (rounded - s)


@kernel
def advance(
    losses: Any, enters: Any, prices: Any, high: Any, low: Any, leads: Any, leaders: Any, switched: Any
) -> None:
    """Play the rows of `losses`: V in `high` + `low`, the arm of its minimum in `leads`, one number for each layer.

    For each row and layer, `leaders` gets the best arm before the row, `switched` for each arm whether it is best
    reached by a switch. When both ways cost the same the arm is stayed with; of equal arms the first leads.
    """
    J, K = high.shape
    for r in range(losses.shape[0]):
        for j in range(J):
            leaders[r, j] = leads[j]
        for j in range(J - 1, -1, -1):  # a layer is entered from itself or the one before: both still hold round t − 1
            e = enters[j]
            if e >= 0:
                h, rest = plus(high[e, leads[e]], low[e, leads[e]], prices[j])
            else:
                h, rest = np.inf, 0.0
            for i in range(K):
                stay = high[j, i] < h or (high[j, i] == h and low[j, i] <= rest)
                a = high[j, i] if stay else h
                b = low[j, i] if stay else rest
                switched[r, j, i] = not stay
                high[j, i], low[j, i] = plus(a, b, losses[r, i])
            best = 0
            for i in range(1, K):
                if high[j, i] < high[j, best] or (high[j, i] == high[j, best] and low[j, i] < low[j, best]):
                    best = i
            leads[j] = best


@kernel
def retrace(enters: Any, leaders: Any, switched: Any, layer: int, arm: int, arms: Any) -> tuple[int, int]:
    """Arms of one piece from its last row back to its first; the layer and arm of the row before it."""
    for r in range(leaders.shape[0] - 1, -1, -1):
        arms[r] = arm
        if switched[r, layer, arm]:
            layer = enters[layer]
            arm = leaders[r, layer]
    return layer, arm


@kernel
def add_up(losses: Any, arms: Any, total: Any) -> None:
    """Add the losses of `arms` to total[0] + total[1]."""
    high, low = total[0], total[1]
    for r in range(losses.shape[0]):
        high, low = plus(high, low, losses[r, arms[r]])
    total[0], total[1] = high, low


def _rows_of_a_piece(rounds: int) -> int:
    """4√T balances the pointers of one piece (a byte each) against V at the start of each (16)."""
    return min(rounds, max(256, 4 * math.isqrt(rounds)))


def memory_needed(rounds: int, n_arms: int, layers: int) -> int:
    """Bytes a programme keeps besides the losses and the plans."""
    rows = _rows_of_a_piece(rounds)
    return layers * (n_arms * (rows + 16 * (1 + -(-rounds // rows))) + 4 * rows)


class Programme:
    """The layers over one table of losses: `least` after the forward pass, `arms` by a backward one."""

    def __init__(self, table: NDArray[Any], enters: Sequence[int], prices: Sequence[float]) -> None:
        self._table = table
        self._enters = np.array(enters, dtype=np.int64)
        self._prices = np.array(prices, dtype=np.float64)
        T, K = table.shape
        J = len(enters)
        self._rows = _rows_of_a_piece(T)
        self._leaders = np.zeros((self._rows, J), dtype=np.int32)
        self._switched = np.zeros((self._rows, J, K), dtype=np.uint8)
        self._high = np.repeat(self._prices[:, None], K, axis=1)  # the first play costs a switch, whatever its arm
        self._low = np.zeros((J, K))
        self._leads = np.zeros(J, dtype=np.int64)
        self._begun = []
        for first in range(0, T, self._rows):
            self._begun.append((self._high.copy(), self._low.copy(), self._leads.copy()))
            self._play(first)
        self._last = [(j, int(arm)) for j, arm in enumerate(self._leads)]
        self.least = np.array([self._high[j, arm] for j, arm in self._last])
        """The least cost of each layer over all rounds."""

    def _piece(self, first: int) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._table[first : first + self._rows], dtype=np.float64)

    def _play(self, first: int) -> int:
        """One piece, from V at its start; the number of its rows."""
        piece = self._piece(first)
        n = len(piece)
        advance(
            piece,
            self._enters,
            self._prices,
            self._high,
            self._low,
            self._leads,
            self._leaders[:n],
            self._switched[:n],
        )
        return n

    def arms(self, layers: Sequence[int]) -> NDArray[Any]:
        """The cheapest plan of each of these layers: one row for each, one arm for each round."""
        T, K = self._table.shape
        arms = np.empty((len(layers), T), dtype=np.int16 if K < 2**15 else np.int32)
        places = [self._last[j] for j in layers]
        for piece in range(len(self._begun) - 1, -1, -1):
            first = piece * self._rows
            for array, begun in zip((self._high, self._low, self._leads), self._begun[piece], strict=True):
                array[...] = begun
            n = self._play(first)
            for row, (layer, arm) in enumerate(places):
                places[row] = retrace(
                    self._enters, self._leaders[:n], self._switched[:n], layer, arm, arms[row, first : first + n]
                )
        return arms


# ---- a cost for each pair of arms ----


@kernel
def advance_pairs(losses: Any, costs: Any, value: Any, other: Any, came: Any) -> None:
    """value(i): the least cost of a plan so far that stands on arm i; came[t, i]: the arm it came from."""
    T, K = losses.shape
    for t in range(T):
        for i in range(K):
            other[i] = value[i]
        for i in range(K):
            arm, least = i, other[i]  # rather stay
            for j in range(K):
                if other[j] + costs[j, i] < least:
                    arm, least = j, other[j] + costs[j, i]
            came[t, i] = arm
            value[i] = least + losses[t, i]


def cheapest_arms(table: NDArray[Any], costs: NDArray[np.float64]) -> NDArray[np.int32]:
    """The arms of the cheapest plan; the first play costs nothing. Of several last arms, the lowest-numbered."""
    T, K = table.shape
    value, came = np.zeros(K), np.empty((T, K), dtype=np.int32)
    advance_pairs(np.ascontiguousarray(table, dtype=np.float64), costs, value, np.empty(K), came)
    arms = np.empty(T, dtype=np.int32)
    arms[-1] = int(np.argmin(value))
    for t in range(T - 1, 0, -1):
        arms[t - 1] = came[t, arms[t]]
    return arms
