"""Errors as problem documents (RFC 9457) that carry the library's errors as they are."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from holdfast import errors
from holdfast.decisions.errors_json import error_to_json
from holdfast.errors import HoldfastError

STATUS: dict[type[HoldfastError], int] = {
    errors.UnknownGame: 404,
    errors.UnknownDecision: 404,
    errors.AlreadyTold: 409,
    errors.OtherSettings: 409,
    errors.OutOfTurn: 409,
    errors.TooLate: 410,
    errors.Forgotten: 410,
    errors.InvalidParameter: 422,
    errors.BadStore: 500,  # before StoreError, of which it is one
    errors.StoreError: 503,
    errors.MissingExtra: 501,
    HoldfastError: 400,
}
"""The first kind that an error is of."""

MOST_KNOWN = 100
"""Names of games that an answer lists."""

RETRY_AFTER = 1
"""Seconds after which a client may try again."""


class Refused(HoldfastError):
    """A request that is refused before it reaches the library."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def status_of(error: HoldfastError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def problem_of(error: HoldfastError) -> dict[str, Any]:
    """An error as a problem document."""
    status = status_of(error)
    if isinstance(error, Refused):
        kind, title, carried = "about:blank", HTTPStatus(status).phrase, {"error": "HoldfastError"}
    else:
        carried = error_to_json(error)
        del carried["message"]
        if isinstance(error, errors.UnknownGame):
            carried["known"] = carried["known"][:MOST_KNOWN]
        kind, title = f"urn:holdfast:{carried['error']}", (type(error).__doc__ or "").split(";")[0].split(":")[0]
    return {"type": kind, "title": title.strip().rstrip("."), "status": status, "detail": str(error), **carried}


def response_to(error: HoldfastError) -> Response:
    """The answer to a request that ended in an error."""
    status = status_of(error)
    headers = {"retry-after": str(RETRY_AFTER)} if status in (429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(problem_of(error)), status, headers, "application/problem+json")
