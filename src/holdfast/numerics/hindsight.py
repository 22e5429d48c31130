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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import kernel
from holdfast.checks import CostTable, checked_costs, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.sums import plus

NO_LAYER = -1
"""e_j of a layer that cannot be entered by a switch."""


@kernel
def advance(
    losses: Any, enters: Any, prices: Any, high: Any, low: Any, leads: Any, leaders: Any, switched: Any
) -> None:
    """Play the rows of `losses`: V in `high` + `low`, the arm of its minimum in `leads`, one number for each layer.

    For each row and layer, `leaders` gets the best arm before the row, `switched` for each arm whether it is best
    reached by a switch. On equal cost it stays with the arm; of equal arms the first leads.
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
    """Write the arms of one piece, last row to first; return the layer and arm of the row before it."""
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
    """Return 4√T, which balances the pointers of one piece (a byte each) against V at the start of each (16)."""
    return min(rounds, max(256, 4 * math.isqrt(rounds)))


def memory_needed(rounds: int, n_arms: int, layers: int) -> int:
    """Return the bytes a programme keeps besides the losses and the plans."""
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
        """Least cost of each layer over all rounds."""

    def _piece(self, first: int) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._table[first : first + self._rows], dtype=np.float64)

    def _play(self, first: int) -> int:
        """Play one piece from V at its start; return the number of its rows."""
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
        """Return the cheapest plan of each of these layers: one row for each, one arm for each round."""
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


def plan_costs(pieces: Iterable[NDArray[np.float64]], switching_cost: float) -> NDArray[np.float64]:
    """Return the least cost of a plan after each piece of a table of losses; the first play costs λ too."""
    enters, prices = np.zeros(1, dtype=np.int64), np.array([switching_cost])
    high = np.zeros((0, 0))
    low, leads = high, np.zeros(1, dtype=np.int64)
    least: list[float] = []
    for piece in pieces:
        T, K = piece.shape
        if not least:
            high, low = np.full((1, K), float(switching_cost)), np.zeros((1, K))
        leaders, switched = np.zeros((T, 1), dtype=np.int32), np.zeros((T, 1, K), dtype=np.uint8)
        advance(np.ascontiguousarray(piece), enters, prices, high, low, leads, leaders, switched)
        least.append(float(high[0, leads[0]]))
    return np.array(least)


# ---- a cost for each pair of arms ----


@kernel
def advance_pairs(losses: Any, costs: Any, value: Any, other: Any, came: Any) -> None:
    """Advance value(i), the least cost so far of a plan ending on arm i; came[t, i] is the arm it came from."""
    T, K = losses.shape
    for t in range(T):
        for i in range(K):
            other[i] = value[i]
        for i in range(K):
            arm, least = i, other[i]  # prefer to stay
            for j in range(K):
                if other[j] + costs[j, i] < least:
                    arm, least = j, other[j] + costs[j, i]
            came[t, i] = arm
            value[i] = least + losses[t, i]


def cheapest_arms(table: NDArray[Any], costs: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the arms of the cheapest plan; the first play costs nothing. Of several last arms, the lowest-numbered."""
    T, K = table.shape
    value, came = np.zeros(K), np.empty((T, K), dtype=np.int32)
    advance_pairs(np.ascontiguousarray(table, dtype=np.float64), costs, value, np.empty(K), came)
    arms = np.empty(T, dtype=np.int32)
    arms[-1] = int(np.argmin(value))
    for t in range(T - 1, 0, -1):
        arms[t - 1] = came[t, arms[t]]
    return arms


# The best plans in hindsight: the arms to hold, and when, if all losses were known beforehand.
#
# A plan names one arm for each round and costs its losses plus λ for each switch. As everywhere in Holdfast the first
# play counts as a switch, so staying with one arm throughout has one switch and costs one λ.

LARGEST_LOSS = 1e100
"""Largest loss: sums beyond this could overflow."""

ROWS_AT_ONCE = 2**15

MEMORY = 2**30
"""Bytes a plan with limited switches may take besides the table, or three times the table if more."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """One arm for each round, and the cost of holding them."""

    arms: NDArray[Any]
    """Arm of each round, from 0."""
    losses: float
    """Sum of the losses of these arms, rounded once."""
    switches: int
    """Changes of arm; the first play is one."""
    switching_cost: float | CostTable
    """λ, or the cost of each switch from arm to arm."""

    @property
    def cost(self) -> float:
        """Losses plus λ for each switch; with a cost for each pair of arms the first play costs nothing."""
        if isinstance(self.switching_cost, tuple):
            return self.losses + switching_paid(self.arms, np.array(self.switching_cost))
        return self.losses + self.switching_cost * self.switches

    def runs(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the rounds, from 0, at which an arm is taken up, and the arms."""
        return runs_of(self.arms)

    def __repr__(self) -> str:
        one = "" if isinstance(self.switching_cost, tuple) else f"{self.switching_cost:g} × "
        return (
            f"<Plan of {len(self.arms)} rounds: cost {self.cost:.6g} = losses {self.losses:.6g} "
            f"+ {one}{self.switches} switches>"
        )

    def _repr_html_(self) -> str:
        from holdfast.report.html import view

        starts, arms = self.runs()
        rounds = np.diff(starts, append=len(self.arms))
        rows = [[str(arm), str(start + 1), str(n)] for arm, start, n in zip(arms, starts, rounds, strict=True)]
        return view(repr(self).strip("<>"), ["arm", "from round", "rounds"], rows)


@dataclass(frozen=True, eq=False)
class Hindsight:
    """Best plans of one table of losses, for several switching costs and limits."""

    free: tuple[Plan, ...]
    """The best plan without a limit, for each switching cost."""
    least_losses: NDArray[np.float64]
    """Least losses of plans with at most 1, 2, … switches, free of charge: the frontier."""

    def cost_within(self, limit: int, switching_cost: float) -> float:
        """Return the least cost of a plan with at most `limit` switches."""
        losses = self.least_losses[:limit]
        return float((losses + switching_cost * np.arange(1, len(losses) + 1)).min())


def runs_of(arms: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the rounds, from 0, at which an arm is taken up, and the arms."""
    starts = np.concatenate([[0], np.flatnonzero(arms[1:] != arms[:-1]) + 1])
    return starts, arms[starts]


def switching_paid(arms: NDArray[Any], costs: NDArray[np.float64]) -> float:
    """Return the cost of a plan's switches by a table of costs, rounded once."""
    return math.fsum(costs[arms[:-1], arms[1:]].tolist())


def best_plan(losses: ArrayLike, switching_cost: float | ArrayLike, max_switches: int | None = None) -> Plan:
    """Return the cheapest plan in hindsight, exactly, by dynamic programming.

    Parameters
    ----------
    losses
        One row for each round, one column for each arm: any finite numbers, in any units. An array mapped from a file
        is read in pieces, twice.
    switching_cost
        λ, in the units of the losses; or a table with a row of costs for each arm to leave and a column for each arm to
        go to. Where a detour is cheaper than a cost of the table, the plan takes it at once; it takes O(T K²) time.
    max_switches
        The most changes of arm the plan may have, if limited. It limits `Plan.switches`, in which the first play
        counts: 1 is the best fixed arm, 2 allows one change.

    Notes
    -----
    Takes O(T K) time without a limit and at most O(T K max_switches) with one. Of plans that cost the same, the result
    is always the same one: going back from the last round, it holds the lowest-numbered of the best arms, and stays
    with an arm rather than switches to it. A limit that the best plan of all keeps changes nothing; among plans at a
    limit that binds, one of fewer switches is preferred.

    Examples
    --------
    >>> plan = best_plan([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], switching_cost=0.5)
    >>> plan.arms.tolist(), plan.switches, plan.cost
    ([0, 0, 1, 1], 2, 1.0)
    >>> best_plan([[0.0, 1.0], [1.0, 0.0]], switching_cost=0.5, max_switches=1).cost
    1.5
    """
    table = checked_losses(losses)
    if np.ndim(switching_cost) > 0:
        if max_switches is not None:
            raise InvalidParameter("max_switches", "must be left out with a cost for each pair of arms", max_switches)
        pairs, _ = checked_costs(switching_cost, table.shape[1], LARGEST_LOSS)
        return _plan(table, cheapest_arms(table, np.array(pairs)), pairs)
    lam = real_number("switching_cost", switching_cost, least=0, most=LARGEST_LOSS)
    free = _plan(table, Programme(table, [0], [lam]).arms([0])[0], lam)
    if max_switches is None:
        return free
    most = whole_number("max_switches", max_switches, least=1)
    if free.switches <= most:
        return free
    _check_memory(table, most)
    counted = Programme(table, *_counting_layers(most))
    best = int(np.argmin(counted.least + lam * np.arange(1, most + 1)))
    return _plan(table, counted.arms([best])[0], lam)


def hindsight(losses: ArrayLike, switching_costs: Sequence[float], most: int = 0) -> Hindsight:
    """Return the best plan for each switching cost, and the frontier up to `most` switches, all in one pass.

    >>> found = hindsight([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 1.0], most=3)
    >>> [plan.switches for plan in found.free], found.least_losses.tolist()
    ([3, 1], [1.0, 1.0, 0.0])
    >>> found.cost_within(3, switching_cost=1.0)
    2.0
    """
    table = checked_losses(losses)
    _check_memory(table, most)
    enters, prices = _counting_layers(most)  # layer s − 1 counts to s
    free = range(most, most + len(switching_costs))
    layers = Programme(table, [*enters, *free], [*prices, *switching_costs])
    plans = tuple(_plan(table, *found) for found in zip(layers.arms(free), switching_costs, strict=True))
    return Hindsight(plans, layers.least[:most])


def _check_memory(table: NDArray[Any], layers: int) -> None:
    """Refuse a limit of many thousands before it fills the memory."""
    T, K = table.shape
    allowed = max(MEMORY, 24 * T * K)
    if memory_needed(T, K, layers) > allowed:
        most = int(allowed // memory_needed(T, K, 1))
        raise InvalidParameter("max_switches", f"must be at most {most} for a table of {T} x {K}", layers)


def _counting_layers(most: int) -> tuple[list[int], list[float]]:
    """Return layers of at most 1, 2, … free switches: where each is entered from, and its price."""
    return [NO_LAYER, *range(most - 1)][:most], [0.0] * most


def _plan(table: NDArray[Any], arms: NDArray[Any], switching_cost: float | CostTable) -> Plan:
    """Return the plan of these arms, with its losses summed again."""
    total = np.zeros(2)
    for first in range(0, len(table), ROWS_AT_ONCE):
        piece = np.ascontiguousarray(table[first : first + ROWS_AT_ONCE], dtype=np.float64)
        add_up(piece, arms[first : first + ROWS_AT_ONCE], total)
    switches = 1 + int(np.count_nonzero(arms[1:] != arms[:-1]))
    return Plan(arms, float(total[0]), switches, switching_cost)


def checked_losses(losses: ArrayLike) -> NDArray[Any]:
    """Return `losses` as a table of finite numbers; arrays are not copied, and mapped files are checked in pieces."""
    rule = "must be a table of numbers with one row for each round and one column for each arm"
    if isinstance(losses, np.ma.MaskedArray):
        raise InvalidParameter("losses", f"{rule}, none of them masked", f"masked array of shape {losses.shape}")
    try:
        table = np.asanyarray(losses)
    except (TypeError, ValueError):  # rows of different lengths
        raise InvalidParameter("losses", rule, losses) from None
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
        raise InvalidParameter("losses", rule, f"shape {table.shape} of {table.dtype}")
    for first in range(0, len(table), ROWS_AT_ONCE):
        piece = table[first : first + ROWS_AT_ONCE]
        if not (float(piece.min()) >= -LARGEST_LOSS and float(piece.max()) <= LARGEST_LOSS):
            row, arm = (int(i) for i in np.argwhere(~(np.abs(piece.astype(np.float64)) <= LARGEST_LOSS))[0])
            raise InvalidParameter(
                f"losses at row {first + row}, column {arm}",
                f"must be a finite number of size at most {LARGEST_LOSS:g}",
                float(piece[row, arm]),
            )
    return table
