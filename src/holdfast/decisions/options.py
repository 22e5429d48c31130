"""Options: fields of a dataclass with a check and a line of help, which every surface reads.

Python, HTTP, the client and the shell take the options of a call (`Ask`) and of a game (`Settings`) from its fields, so
that an option is written once. Times are written alike everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import Field, field, fields
from datetime import datetime, timedelta
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.checks import CHECK
from holdfast.errors import DURATION, InvalidParameter, Words, nearest

HELP, METAVAR, LOCAL = "help", "metavar", "local"
"""Metadata keys of a field: its line of help, its placeholder in a shell, and whether it stays local."""

Check = Callable[[str, Any], Any]


def option(
    help: str, check: Check | None = None, *, default: Any = None, metavar: str | None = None, local: bool = False
) -> Any:
    """Return a field with its line of help and its check. A local one is not sent."""
    named = {HELP: help, METAVAR: metavar, CHECK: check, LOCAL: local or None}
    return field(default=default, metadata={name: value for name, value in named.items() if value is not None})


@cache
def _checks(kind: Any) -> list[tuple[str, Check, Any]]:
    return [(one.name, one.metadata[CHECK], one.default) for one in fields(kind) if CHECK in one.metadata]


class Checked:
    """A value that checks its fields as it is made, except those left out."""

    def __post_init__(self) -> None:
        for name, check, default in _checks(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not default:
                object.__setattr__(self, name, check(name, value))


def check_known(call: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise the error of a call that got an option it does not have."""
    for name in given:
        if name not in known:
            raise TypeError(f"{call}() got an unexpected option {name!r}{nearest(name, known)}")


def given(request: Any) -> dict[str, Any]:
    """Return the fields that were given and are sent, by name."""
    sent = [one for one in fields(request) if LOCAL not in one.metadata]
    return {one.name: value for one in sent if (value := getattr(request, one.name)) is not one.default}


Kind = str
"""Notation of a field in JSON and in a shell: number, integer, string, text (or number), object, array, arm, any."""

_KINDS: dict[Any, Kind] = {
    int: "integer",
    float: "number",
    str: "string",
    datetime: "string",
    timedelta: "string",
    bool: "boolean",
}


def options_of(kind: type[Any]) -> dict[str, tuple[Field[Any], Kind]]:
    """Return the fields that users give and that are sent, each with its kind."""
    hints, found = get_type_hints(kind), [one for one in fields(kind) if HELP in one.metadata]
    return {one.name: (one, _written(hints[one.name])) for one in found if LOCAL not in one.metadata}


def types_of(annotation: Any) -> list[Any]:
    """Return the types of a field, without None."""
    types = get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)
    return [one for one in types if one is not type(None)]


def _written(annotation: Any) -> Kind:
    left = types_of(annotation)
    if set(left) == {int, str}:
        return "arm"
    if len(left) > 1:
        return "text" if str in left else "any"
    if hasattr(left[0], "settings"):
        return "object"
    return "array" if get_origin(left[0]) in (Collection, tuple) else _KINDS.get(left[0], "any")


# ---- times


LONGEST_TIME = timedelta(days=36_500)

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def written_time(parameter: str, text: str) -> timedelta | datetime:
    """Parse a duration or a time as written in commands and requests.

    >>> written_time("until", "10m"), written_time("until", "2026-03-01T12:00:00+00:00").year
    (datetime.timedelta(seconds=600), 2026)
    """
    try:
        return duration_of(text) if text[-1:] in UNITS else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        rule = "must be a time such as 2026-03-01T12:00, or how long: 30s, 10m, 2h, 1d"
        raise InvalidParameter(parameter, rule, text) from None


def duration_of(text: str) -> timedelta:
    """Parse a duration such as 1.5h, or raise a ValueError."""
    if not re.fullmatch(r"[0-9.]+(e-[0-9]+)?[smhd]", text):
        raise ValueError(text)
    return timedelta(**{UNITS[text[-1]]: float(text[:-1])})


def checked_duration(parameter: str, given: Any) -> timedelta:
    """Return a duration above 0: a timedelta, or text such as 10m."""
    with suppress(ValueError, OverflowError):
        length = duration_of(given) if isinstance(given, str) else given
        if isinstance(length, timedelta) and timedelta(0) < length <= LONGEST_TIME:
            return length
    limits = Words("must be ", DURATION, f", above 0 and of at most {LONGEST_TIME.days} days")
    raise InvalidParameter(parameter, limits, str(given))


def written_duration(length: timedelta) -> str:
    """Return a duration as text from which it can be made again.

    >>> written_duration(timedelta(minutes=1))
    '60.0s'
    """
    return f"{length.total_seconds()!r}s"


# ---- names


def checked_name(parameter: str, name: object) -> str:
    """Return the name of a game or request if a store can keep it and a terminal can show it."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidParameter(parameter, "must be a name of 1 to 200 printable characters", name)
    return name


def checked_arm(parameter: str, name: str) -> str:
    """Return the name of an arm: any text that a store can keep."""
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidParameter(parameter, "must be text that can be stored: no NUL, no half of a surrogate pair", name)
    return name
