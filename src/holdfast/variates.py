"""Random numbers of other distributions than the uniform: normal, gamma and beta, from a state the caller owns.

All three are rejection methods: exact up to the rounding of doubles, without tables.
"""

from __future__ import annotations

import math
from typing import Any

from holdfast._numba.compile import kernel
from holdfast.rng import uniform


@kernel
def normal(state: Any) -> float:
    """Mean 0, variance 1: Marsaglia's polar method (SIAM Review 6, 1964), one number of each pair."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@kernel
def gamma(shape: float, state: Any) -> float:
    """Scale 1 and a `shape` of at least 1: Marsaglia and Tsang (ACM TOMS 26, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            u = 1.0 - uniform(state)  # in (0, 1]: its logarithm is finite
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return d * v


@kernel
def beta(a: float, b: float, state: Any) -> float:
    """The share of the first in two gammas; `a` and `b` are at least 1."""
    x = gamma(a, state)
    return x / (x + gamma(b, state))
