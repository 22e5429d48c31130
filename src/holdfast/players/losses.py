"""Losses in the user's units: which are valid, what is announced, and what a policy's kernels are given.

They are added up without rounding: a few numbers have exactly the sum of all that were added (Shewchuk 1997). In plain
Python by `math.fsum`; compiled, for fleets, in a fixed number of places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST, real_number
from holdfast.errors import RANGE, Call, InvalidParameter, Set, Words
from holdfast.policies.policy import Policy


def exact_sum(pieces: Iterable[float]) -> list[float]:
    """A few numbers whose sum is exactly that of `pieces`, in whatever order they came."""
    left = list(pieces)
    parts: list[float] = []
    while (part := math.fsum(left)) != 0.0:
        parts.append(part)
        left.append(-part)
    return parts


@kernel
def add_exactly(parts: Any, used: int, x: float) -> int:
    """Add x to a sum of numbers that do not overlap, the smallest first; returns how many there are now."""
    kept = 0
    for i in range(used):
        y = parts[i]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    if x != 0.0 or kept == 0:
        parts[kept] = x
        kept += 1
    return kept


@kernel
def rounded_sum(parts: Any, used: int) -> float:
    """The sum of numbers that do not overlap, rounded once to the nearest, halves to even."""
    if used == 0:
        return 0.0
    n = used - 1
    high: float = parts[n]
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = 2.0 * low
        x = high + y
        if y == x - high:
            high = x
    return high


def announced_value(policy: Policy, given: Mapping[str, float | None]) -> tuple[float, tuple[float, float]]:
    """What the policy must know when a block begins, in normalised units, and the range of the block's losses."""
    wanted = policy.announces
    for name, value in given.items():
        if value is not None and name != wanted:
            raise InvalidParameter(name, f"is not announced to {policy.label}", value)
    if wanted is None:
        return 0.0, policy.bounds
    value = given[wanted]
    if value is None:
        raise InvalidParameter(wanted, Words("must be announced when a block begins: ", Call("ask", wanted)), None)
    if wanted == "loss_bound":
        bound = real_number("loss_bound", value, least=1 / LARGEST, most=LARGEST)
        return bound, (0.0, bound)
    return policy.checked_cost(value) / policy.unit, policy.bounds


def normalised_total(policy: Policy, bounds: tuple[float, float], pieces: Sequence[float], rounds: float) -> float:
    """The sum of `pieces`, lost over `rounds` rounds, as the kernels take it; rounded once."""
    low = policy.units[0]
    highest = bounds[1] - low
    total = math.fsum([*pieces, -low * rounds]) if low else math.fsum(pieces)
    return min(max(total, 0.0), highest * rounds) / policy.unit


def outside_range(name: str, bounds: tuple[float, float], count: int, value: object) -> InvalidParameter:
    """What is said of a loss, or a sum of losses, that cannot be."""
    low, high = bounds
    of = "one round" if count == 1 else f"{count} rounds"
    hint = ("; ", Set("units", RANGE), " to use your own units") if (low, high) == (0.0, 1.0) else ()
    rule = Words(f"of {of} must be from {count * low:g} to {count * high:g}", *hint)
    return InvalidParameter(name, rule, value)
