"""Names that every store can keep: of players, requests and arms."""

from __future__ import annotations

from holdfast.errors import InvalidParameter


def kept_name(parameter: str, name: object, most: int = 200) -> str:
    """`name`, if it is a text that a store can keep and a terminal show."""
    if not isinstance(name, str) or not 0 < len(name) <= most or not name.isprintable():
        raise InvalidParameter(parameter, f"must be a name of 1 to {most:,} printable characters", name)
    return name


def kept_arm(parameter: str, name: object) -> str:
    """The same for an arm, whose name may be an address."""
    return kept_name(parameter, name, most=2000)
