"""Numbers for reading: as many digits as help, thousands separated by a narrow space."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

NARROW_SPACE = "\u202f"


def number(value: float, places: int = 0) -> str:
    """With this many decimals.

    >>> number(12345.6).replace(NARROW_SPACE, " ")
    '12 346'
    """
    # Adding zero turns the minus zero that rounding can leave into zero.
    return f"{round(value, places) + 0.0:,.{places}f}".replace(",", NARROW_SPACE).replace("-", "−")


def three_digits(value: float) -> str:
    """With three or four digits, whatever its size.

    >>> three_digits(0.12345), three_digits(12.345), three_digits(-123.45)
    ('0.123', '12.3', '−123')
    """
    size = abs(value)
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{places}f}".replace(",", NARROW_SPACE).replace("-", "−")


def decimals(values: Iterable[float]) -> int:
    """Decimals for a column of values: enough for the smallest, none that the largest would make noise."""
    sizes = [abs(value) for value in values if np.isfinite(value) and value != 0] or [100.0]
    wanted = 0 if min(sizes) >= 100 else 1 if min(sizes) >= 10 else 2
    return max(0, wanted - (max(sizes) >= 1000))


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "claim"), counted(3, "claim")
    ('1 claim', '3 claims')
    """
    return f"{number(count)} {one if count == 1 else many or one + 's'}"
