"""Losses in the user's units: validity, announcements, and normalisation for a policy's kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.checks import LARGEST, one_of, real_number, whole_number
from holdfast.errors import RANGE, Call, InvalidParameter, Set, Words
from holdfast.policies.policy import Policy


def announced_value(policy: Policy, given: Mapping[str, Any]) -> tuple[float, tuple[float, float]]:
    """Return the announcement for a block in normalised units, and the range of the block's losses."""
    wanted = policy.announces
    for name, value in given.items():
        if value is not None and name != wanted:
            raise InvalidParameter(name, f"is not announced to {policy.label}", value)
    if wanted is None:
        return 0.0, policy.bounds
    value = given.get(wanted)
    if value is None:
        raise InvalidParameter(wanted, Words("must be announced when a block begins: ", Call("ask", wanted)), None)
    if wanted == "rule":
        return float(number_of(policy, value, wanted)), policy.bounds
    if wanted == "loss_bound":
        bound = real_number("loss_bound", value, least=1 / LARGEST, most=LARGEST)
        return bound, (0.0, bound)
    return policy.checked_cost(value) / policy.unit, policy.bounds


def number_of(policy: Policy, arm: object, parameter: str = "arm") -> int:
    """Return the number of an arm, given as `parameter`."""
    if policy.arms is None:
        return whole_number(parameter, arm, least=0, most=policy.n_arms - 1)
    return policy.arms.index(one_of(parameter, arm, policy.arms))


def normalised_total(policy: Policy, bounds: tuple[float, float], pieces: Sequence[float], rounds: float) -> float:
    """Return the sum of `pieces`, lost over `rounds` rounds, as the kernels take it; rounded once."""
    low = policy.units[0]
    highest = bounds[1] - low
    total = math.fsum([*pieces, -low * rounds]) if low else math.fsum(pieces)
    return min(max(total, 0.0), highest * rounds) / policy.unit


def outside_range(name: str, bounds: tuple[float, float], count: int, value: object) -> InvalidParameter:
    """Return the error for a loss, or a sum of losses, outside its range."""
    low, high = bounds
    of = "one round" if count == 1 else f"{count} rounds"
    hint = ("; ", Set("units", RANGE), " to use your own units") if (low, high) == (0.0, 1.0) else ()
    rule = Words(f"of {of} must be from {count * low:g} to {count * high:g}", *hint)
    return InvalidParameter(name, rule, value)
