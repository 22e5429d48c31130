"""Checks of what users give: a number comes back in its right type, or an error that names the rule."""

from __future__ import annotations

import math
import operator

import numpy as np

from holdfast.errors import InvalidParameter


def whole_number(parameter: str, value: object, *, least: int, most: int | None = None) -> int:
    """`value` as an int within limits. 1e6 is a whole number; True, 2.5 and "8" are not."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    rule = f"must be a whole number {limits}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidParameter(parameter, rule, value)
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise InvalidParameter(parameter, rule, value)
    number = int(value) if isinstance(value, (float, np.floating)) else operator.index(value)
    if number < least or (most is not None and number > most):
        raise InvalidParameter(parameter, rule, value)
    return number


def real_number(
    parameter: str, value: object, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> float:
    """`value` as a finite float of at least `least`, or strictly above `above`, and at most `most`."""
    rule = "must be a finite number"
    if least is not None:
        rule += " and not negative" if least == 0 else f" of at least {least:g}"
    if above is not None:
        rule += f" above {above:g}"
    if most is not None:
        rule += f", at most {most:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidParameter(parameter, rule, value)
    try:
        number = float(value)
    except OverflowError:  # an int beyond every float
        raise InvalidParameter(parameter, rule, value) from None
    if not math.isfinite(number) or (least is not None and number < least) or (above is not None and number <= above):
        raise InvalidParameter(parameter, rule, value)
    if most is not None and number > most:
        raise InvalidParameter(parameter, rule, value)
    return number
