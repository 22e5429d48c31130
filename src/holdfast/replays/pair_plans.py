"""The best plan where each pair of arms has a switching cost of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import kernel


@kernel
def forward(losses: Any, costs: Any, value: Any, other: Any, came: Any) -> None:
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
    forward(np.ascontiguousarray(table, dtype=np.float64), costs, value, np.empty(K), came)
    arms = np.empty(T, dtype=np.int32)
    arms[-1] = int(np.argmin(value))
    for t in range(T - 1, 0, -1):
        arms[t - 1] = came[t, arms[t]]
    return arms


def switching_paid(arms: NDArray[Any], costs: NDArray[np.float64]) -> float:
    """What the switches of a plan cost, rounded once."""
    return math.fsum(costs[arms[:-1], arms[1:]].tolist())
