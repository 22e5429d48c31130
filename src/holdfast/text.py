"""Numbers for display, on pages and in terminals alike: ``12,346``, ``−0.5``, ``+1.2 %``; and tables for terminals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

PLAIN_UP_TO = 1e12
"""Largest number written without an exponent."""


def number(value: float, places: int = 0, *, sign: str = "") -> str:
    """Format with this many decimals; ``sign="+"`` also marks positive numbers.

    >>> number(12345.6), number(-0.5, 1), number(-0.01), number(3.14159, 2, sign="+")
    ('12,346', '−0.5', '0', '+3.14')
    """
    # Adding zero turns the minus zero that rounding can leave into zero.
    return f"{round(value, places) + 0.0:{sign},.{places}f}".replace("-", "−")


def short(value: float, digits: int = 4, *, sign: str = "") -> str:
    """Format with this many significant digits, and an exponent where it is shorter.

    >>> short(1e-05), short(-1234567), short(0.25)
    ('1e−05', '−1.235e+06', '0.25')
    """
    return f"{value:{sign}.{digits}g}".replace("-", "−")


def three_digits(value: float) -> str:
    """Format with three or four digits, whatever the size.

    >>> three_digits(0.12345), three_digits(12.345), three_digits(-123.45)
    ('0.123', '12.3', '−123')
    """
    size = abs(value)
    return number(value, 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3)


def five_digits(value: float) -> str:
    """Format with about five digits.

    >>> five_digits(17544.4), five_digits(6297.22), five_digits(0.0123456), five_digits(1.234e-4)
    ('17,544', '6,297.2', '0.0123', '0.0001234')
    """
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return short(value)
    return number(value, 0 if size >= 1e4 else 1 if size >= 100 else 2 if size >= 10 else 4)


def percent(share: float) -> str:
    """Format a relative difference in per cent.

    >>> percent(0.0412), percent(-0.5), percent(12.3)
    ('+4.1 %', '−50.0 %', '+1,230 %')
    """
    value = 100 * share
    return f"{number(value, 1 if abs(value) < 1000 else 0, sign='+')} %"


def level(confidence: float) -> str:
    """Format a confidence with the digits that it has.

    >>> level(0.95), level(0.999)
    ('95%', '99.9%')
    """
    return f"{short(100 * confidence, 6)}%"


def finite(value: Any) -> Any:
    """Return a value for JSON: NaN and infinities, however deep inside, become None.

    >>> finite({"a": [float("nan"), 1.0]})
    {'a': [None, 1.0]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def with_error(mean: float | None, error: float | None) -> str:
    """Format a mean with decimals for four digits, and its error, unknown for one game.

    >>> with_error(1234.4, 5.64), with_error(0.012345, 0.0012), with_error(7.0, None), with_error(None, None)
    ('1,234 ± 6', '0.01235 ± 0.00120', '7.000', '–')
    """
    if mean is None:
        return "–"
    places = _places(mean)
    if places is None:
        return short(mean) if error is None else f"{short(mean)} ± {short(error, 2)}"
    return number(mean, places) if error is None else f"{number(mean, places)} ± {number(error, places)}"


def with_interval(mean: float | None, interval: tuple[float, float] | None) -> str:
    """Format a mean with decimals for four digits, and its interval, which may be cut at one end.

    >>> with_interval(0.1387, (0.0, 1.0)), with_interval(1234.4, (1230, 1239)), with_interval(7.0, None)
    ('0.1387 (0.0000 to 1.0000)', '1,234 (1,230 to 1,239)', '7.000')
    """
    if mean is None or interval is None:
        return with_error(mean, None)
    places = _places(mean)
    write = short if places is None else partial(number, places=places)
    return f"{write(mean)} ({write(interval[0])} to {write(interval[1])})"


def _places(mean: float) -> int | None:
    """Return the decimals for four digits; None for a number written with an exponent."""
    if not abs(mean) < PLAIN_UP_TO:
        return None
    size = math.floor(math.log10(abs(mean))) if mean else 0
    return min(max(3 - size, 0), 6)


def decimals(values: Iterable[float]) -> int:
    """Return the decimals for a column: enough for the smallest value, without noise in the largest."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0] or [100.0]
    wanted = 0 if min(sizes) >= 100 else 1 if min(sizes) >= 10 else 2
    return max(0, wanted - (max(sizes) >= 1000))


def counted(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun.

    >>> counted(1, "claim"), counted(3, "claim")
    ('1 claim', '3 claims')
    """
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def listed_words(items: Sequence[str]) -> str:
    """Join words with commas, and "and" before the last."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def mean_count(mean: float) -> str:
    """Format a mean of counts, a small one with one decimal.

    >>> mean_count(12.34), mean_count(123.4), mean_count(7.0)
    ('12.3', '123', '7')
    """
    return number(mean, 0 if mean >= 100 or mean == int(mean) else 1)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, width: int = 80, labels: int = 1) -> str:
    """Align columns for a terminal: the first `labels` to the left, their words wrapped; numbers to the right.

    >>> print(table(["arm", "rounds"], [["east", "1,200"], ["west", "7"]]))
    arm   rounds
    east   1,200
    west       7
    """
    from rich.console import Console

    written = StringIO()
    console = Console(file=written, width=width, color_system=None, force_terminal=False)
    console.print(columns(head, rows, labels=labels))
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], *, labels: int = 1, title: str | None = None) -> Table:
    """Return the same for a console of rich, which may show the head in bold."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title=title, title_justify="left")
    for i, name in enumerate(head):
        if i < labels:
            made.add_column(Text(name), overflow="fold")
        else:
            made.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row))
    return made
