"""Errors as JSON and back: a client raises what the router on the server raised.

>>> from holdfast.errors import AlreadyTold
>>> sent = json.dumps(error_to_json(AlreadyTold("a-1-0-x", 0.25, 0.5)))
>>> raise error_from_json(json.loads(sent))
Traceback (most recent call last):
    ...
holdfast.errors.AlreadyTold: loss of decision a-1-0-x was told before: 0.25 is recorded; got 0.5
"""

from __future__ import annotations

import json
from typing import Any

from holdfast import errors
from holdfast.errors import HoldfastError, SomeRefused


def error_to_json(error: HoldfastError) -> dict[str, Any]:
    """Return an error as JSON: its kind, its message and its arguments."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    content: dict[str, Any] = {"error": kind.__name__, "message": str(error)}
    if isinstance(error, SomeRefused):
        return content | {"told": error.told, "refused": [error_to_json(one) for one in error.refused]}
    return content | {name: _plain(getattr(error, name)) for name in error.made_of}


def error_from_json(content: dict[str, Any]) -> HoldfastError:
    """Return the error written by `error_to_json`."""
    kind = getattr(errors, str(content.get("error")), None)
    if not (isinstance(kind, type) and issubclass(kind, HoldfastError)):
        return HoldfastError(str(content.get("message")))
    if kind is SomeRefused:
        return SomeRefused(content["told"], [error_from_json(one) for one in content["refused"]])
    return kind(*(content[name] for name in kind.made_of)) if kind.made_of else kind(content["message"])


def _plain(value: Any) -> Any:
    """Return `value` if JSON can carry it, else its repr."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return repr(value)
