"""Names that every store can keep: of players, requests and arms."""

from __future__ import annotations

from holdfast.errors import InvalidParameter


def kept_name(parameter: str, name: object) -> str:
    """The name of a player or a request, if a store can keep it and a terminal show it."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidParameter(parameter, "must be a name of 1 to 200 printable characters", name)
    return name


def kept_arm(parameter: str, name: str) -> str:
    """The name of an arm, which may be anything that a store can keep."""
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidParameter(parameter, "must be text that can be stored: no NUL, no half of a surrogate pair", name)
    return name
