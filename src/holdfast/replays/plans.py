"""The best plans in hindsight: what someone who knew all losses beforehand would have held, and when.

A plan names one arm for each round and costs its losses plus λ for each switch. As everywhere in Holdfast the first
play counts as a switch, so staying with one arm throughout has one switch and costs one λ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.policies.switching_costs import CostTable, checked_costs
from holdfast.replays.dynamic_program import NO_LAYER, Programme, add_up, cheapest_arms, memory_needed
from holdfast.report.notebook import view

LARGEST_LOSS = 1e100
"""Losses beyond this could overflow in a sum."""

ROWS_AT_ONCE = 2**15

MEMORY = 2**30
"""Bytes a plan with limited switches may take besides the table, or three times the table when that is more."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """One arm for each round, and what holding them costs."""

    arms: NDArray[Any]
    """The arm of each round, from 0."""
    losses: float
    """The sum of the losses of these arms, rounded once."""
    switches: int
    """Changes of arm; the first play is one."""
    switching_cost: float | CostTable
    """λ, or what each switch costs from arm to arm."""

    @property
    def cost(self) -> float:
        """Losses plus λ for each switch; with a cost for each pair of arms the first play costs nothing."""
        if isinstance(self.switching_cost, tuple):
            return self.losses + switching_paid(self.arms, np.array(self.switching_cost))
        return self.losses + self.switching_cost * self.switches

    def runs(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The rounds, from 0, at which an arm is taken up, and the arms."""
        starts = np.concatenate([[0], np.flatnonzero(self.arms[1:] != self.arms[:-1]) + 1])
        return starts, self.arms[starts]

    def __repr__(self) -> str:
        one = "" if isinstance(self.switching_cost, tuple) else f"{self.switching_cost:g} × "
        return (
            f"<Plan of {len(self.arms)} rounds: cost {self.cost:.6g} = losses {self.losses:.6g} "
            f"+ {one}{self.switches} switches>"
        )

    def _repr_html_(self) -> str:
        starts, arms = self.runs()
        rounds = np.diff(starts, append=len(self.arms))
        rows = [[str(arm), str(start + 1), str(n)] for arm, start, n in zip(arms, starts, rounds, strict=True)]
        return view(repr(self).strip("<>"), ["arm", "from round", "rounds"], rows)


@dataclass(frozen=True, eq=False)
class Hindsight:
    """Best plans of one table of losses, for several switching costs and limits."""

    free: tuple[Plan, ...]
    """The best plan of all for each switching cost asked for."""
    least_losses: NDArray[np.float64]
    """The least losses of a plan with at most 1, 2, … switches, whatever they cost: the frontier."""

    def cost_within(self, limit: int, switching_cost: float) -> float:
        """The least cost of a plan with at most `limit` switches."""
        losses = self.least_losses[:limit]
        return float((losses + switching_cost * np.arange(1, len(losses) + 1)).min())


def switching_paid(arms: NDArray[Any], costs: NDArray[np.float64]) -> float:
    """What the switches of a plan cost by a table of costs, rounded once."""
    return math.fsum(costs[arms[:-1], arms[1:]].tolist())


def best_plan(losses: ArrayLike, switching_cost: float | ArrayLike, max_switches: int | None = None) -> Plan:
    """The cheapest plan in hindsight, exactly, by dynamic programming.

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
    """The best plan for each switching cost, and the frontier up to `most` switches, all in one pass.

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
    """A limit of many thousands is refused before it fills the memory."""
    T, K = table.shape
    allowed = max(MEMORY, 24 * T * K)
    if memory_needed(T, K, layers) > allowed:
        most = int(allowed // memory_needed(T, K, 1))
        raise InvalidParameter("max_switches", f"must be at most {most} for a table of {T} x {K}", layers)


def _counting_layers(most: int) -> tuple[list[int], list[float]]:
    """Layers of at most 1, 2, … switches that cost nothing: where each is entered from, and its price."""
    return [NO_LAYER, *range(most - 1)][:most], [0.0] * most


def _plan(table: NDArray[Any], arms: NDArray[Any], switching_cost: float | CostTable) -> Plan:
    """The plan of these arms, its losses added up anew."""
    total = np.zeros(2)
    for first in range(0, len(table), ROWS_AT_ONCE):
        piece = np.ascontiguousarray(table[first : first + ROWS_AT_ONCE], dtype=np.float64)
        add_up(piece, arms[first : first + ROWS_AT_ONCE], total)
    switches = 1 + int(np.count_nonzero(arms[1:] != arms[:-1]))
    return Plan(arms, float(total[0]), switches, switching_cost)


def checked_losses(losses: ArrayLike) -> NDArray[Any]:
    """`losses` as a table of finite numbers, not copied when it is an array; mapped files are checked in pieces."""
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
