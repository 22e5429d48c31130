"""What every bound is given: arms, rounds, gaps, and which constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array

Gaps: TypeAlias = float | Sequence[float] | NDArray[Any]
Constants: TypeAlias = Literal["corrected", "printed"]
CONSTANTS = ("corrected", "printed")

LONGEST = 10**30
"""Horizons beyond this would overflow a double in some term."""

COSTLIEST = 1e100
"""The square of a switching cost must fit in a double."""

AT_MOST_A_QUARTER = 0.25 * (1 + 1e-12)
"""η_t b_t ≤ 1/4 with room for rounding: Corollary 3 meets it with equality at t = 64 (errata, point 36)."""


def arms(n_arms: object, least: int = 1) -> int:
    """K; a constrained bound speaks of suboptimal arms and needs two."""
    return whole_number("n_arms", n_arms, least=least)


def rounds(horizon: object, most: int = LONGEST) -> int:
    """T."""
    return whole_number("horizon", horizon, least=1, most=most)


def cost(value: object, parameter: str = "switching_cost") -> float:
    """λ."""
    number = real_number(parameter, value, least=0)
    if number > COSTLIEST:
        raise InvalidParameter(parameter, f"must be at most {COSTLIEST:g}", value)
    return number


def single(value: object) -> bool:
    """Whether `value` is to be read as one number rather than a sequence."""
    return isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0


@dataclass(frozen=True)
class GapSizes:
    """What the bounds need of the gaps of the suboptimal arms; all zero where there are none."""

    inverse_sum: float = 0.0
    smallest: float = 0.0
    largest: float = 0.0


def gap_sizes(gaps: object, count: int) -> GapSizes:
    """Of the gaps of the `count` suboptimal arms, each in (0, 1]; a single number is the gap of all of them."""
    if single(gaps) or not isinstance(gaps, Iterable):
        gap = real_number("gaps", gaps, above=0)
        sizes = GapSizes(count * (1 / gap), gap, gap) if count else GapSizes()  # one number, however many the arms
    else:
        values = [real_number(f"gaps[{i}]", gap, above=0) for i, gap in enumerate(gaps)]
        if len(values) != count:
            raise InvalidParameter("gaps", f"must have one gap for each of the {count} suboptimal arms", gaps)
        inverse = math.fsum(1 / gap for gap in values)
        sizes = GapSizes(inverse, min(values), max(values)) if values else GapSizes()
    if sizes.largest > 1:
        raise InvalidParameter("gaps", "must be at most 1, as losses are (divide by the range of yours)", gaps)
    return sizes


def inverse_gaps(gaps: object, n_arms: int) -> float:
    """Σ_{i≠i*} 1/Δ_i."""
    return gap_sizes(gaps, n_arms - 1).inverse_sum


def sequence(parameter: str, values: object, *, above: float | None = None) -> Array:
    """A finite one-dimensional array, not empty and not negative (or strictly `above` a number)."""
    rule = "must be a sequence of finite numbers" + (", none negative" if above is None else f" above {above:g}")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidParameter(parameter, rule, values) from None
    if array.dtype.kind not in "iuf" or array.ndim != 1 or array.size == 0:
        raise InvalidParameter(parameter, rule, values)
    array = array.astype(np.float64)
    if not np.isfinite(array).all() or (array <= above if above is not None else array < 0).any():
        raise InvalidParameter(parameter, rule, values)
    return array
