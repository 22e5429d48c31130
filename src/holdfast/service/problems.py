"""Errors as problem documents (RFC 9457) that carry the library's errors as they are."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from holdfast import errors
from holdfast.errors import Advice, Call, Changes, Form, HoldfastError, Set, error_to_json

CALLS = {
    "ask": "POST …/decisions",
    "tell": "PUT …/loss",
    "open_decisions": "GET …/decisions",
    "resume": 'PATCH with "resume"',
}
"""Request that corresponds to each router method."""
SETTINGS = frozenset({"units", "scale"})
"""Fields given once, with the game."""

MOST_KNOWN = 100
"""Most game names listed in an answer."""

RETRY_AFTER = 1
"""Seconds after which a client may retry."""


class Refused(HoldfastError):
    """A request refused before it reaches the library."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def words_of(error: HoldfastError) -> str:
    """Return the message with its advice as fields and requests; `rule` and its like stay in the library's words."""
    return error.worded(in_http)


def in_http(advice: Advice) -> str:
    """Word one piece of advice as a field or a request."""
    match advice:
        case Form():
            return advice.text
        case Set("allow", [name]):
            return f"`holdfast serve --allow {name}`"
        case Set():
            return f"{'begin the game with ' if advice.name in SETTINGS else advice.verb}{_field(advice)}"
        case Call(method="tell"):
            return f'{{"{advice.argument}": {{…}}}}' if advice.argument else CALLS["tell"]
        case Call():
            argument = f'"{advice.argument}" of ' if advice.argument else ""
            return f"{argument}{CALLS.get(advice.method, advice.method)}"
        case Changes():
            return f"PATCH {', '.join(f'{{{_field(one)}}}' for one in advice.settings)}"


def _field(advice: Set) -> str:
    value = advice.value
    shown = "…" if value is ... else value.text if isinstance(value, Form) else json.dumps(value, ensure_ascii=False)
    return f'"{advice.name}": {shown}'


def problem_of(error: HoldfastError) -> dict[str, Any]:
    """Return an error as a problem document; `message` has the library's words if a client cannot rebuild them."""
    status, detail = error.status, words_of(error)
    if isinstance(error, Refused):
        error_kind = errors.NotAllowed if status in (401, 403) else HoldfastError
        kind, title, carried = "about:blank", HTTPStatus(status).phrase, {"error": error_kind.__name__}
    else:
        carried = error_to_json(error)
        if carried["message"] == detail or error.made_of:
            del carried["message"]
        if isinstance(error, errors.UnknownGame):
            carried["known"] = carried["known"][:MOST_KNOWN]
        kind, title = f"urn:holdfast:{carried['error']}", (type(error).__doc__ or "").split(";")[0].split(":")[0]
    return {"type": kind, "title": title.strip().rstrip("."), "status": status, "detail": detail, **carried}


def response_to(error: HoldfastError) -> Response:
    """Return the answer to a request that ended in an error."""
    status = error.status
    headers = {"retry-after": str(RETRY_AFTER)} if status in (429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(problem_of(error)), status, headers, "application/problem+json")
