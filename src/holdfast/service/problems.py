"""Errors as problem documents (RFC 9457) that carry the library's errors as they are."""

from __future__ import annotations

import ast
import json
import re
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
    errors.BadSavedState: 500,
    errors.BadStore: 500,  # before StoreError, of which it is one
    errors.StoreError: 503,
    errors.MissingExtra: 501,
    HoldfastError: 400,
}
"""The first kind that an error is of."""

IN_THE_API = {
    r"allow=\['([^']+)'\] imports the module .*?(?=;|$)": r"`holdfast serve --allow \1`",
    r"\bask\((\w+)=\.\.\.\)": r'"\1" of POST …/decisions',
    r"as ask\(\) gave it": "as POST …/decisions gave it",
    r"tell\(id, losses=\.\.\.\)": '{"losses": {…}}',
    r"see open_decisions": "see GET …/decisions",
    r"see Router\.resume": 'PATCH with "resume"',
    r"or error=True": 'or "error": true',
    r"must be True or False": "must be true or false",
    r"give units=\(lowest, highest\)": 'begin the game with "units": [lowest, highest]',
    r"two numbers \(lowest, highest\)": "two numbers [lowest, highest]",
    r"open the game with scale=holdfast\.Scale\(.*?\)[^)]*\)": 'begin the game with "scale": {"latency": [0.2, 8.0]}',
    r"as a datetime with its zone or a timedelta": "such as 10m, 2h or 2026-03-01T12:00:00Z",
    r"a datetime with its zone": "a time such as 2026-03-01T12:00:00Z",
    r"a timedelta such as timedelta\(seconds=\.\.\.\)": "a time such as 10m",
    r"a timedelta above 0": "a time such as 10m, above 0",
    r"give a policy": "PUT it with a policy",
}
"""What errors of the library advise in Python, and how the same is asked for over HTTP."""

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


def words_of(error: HoldfastError) -> str:
    """An error in the words of the API; `rule`, `hints` and their like stay as the library has them."""
    text, changes = str(error), ""
    if isinstance(error, errors.OtherSettings) and error.hints:
        text = text[: text.rindex(" (to change it: ")]
        changes = f" (to change it: PATCH {', '.join(map(_field, error.hints))})"
    for python, here in IN_THE_API.items():
        text = re.sub(python, here, text)
    return text + changes


def _field(hint: str) -> str:
    """What `OtherSettings` advises, as a field of PATCH."""
    name, _, value = re.sub(r"^router\.change\((.*)\)$", r"\1", hint).partition("=")
    given = "…" if value == "..." else json.dumps(ast.literal_eval(value), ensure_ascii=False)
    return f'{{"{name.removeprefix("change_")}": {given}}}'


def problem_of(error: HoldfastError) -> dict[str, Any]:
    """An error as a problem document; `message` has the library's words where a client could not make them again."""
    status, detail = status_of(error), words_of(error)
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
    """The answer to a request that ended in an error."""
    status = status_of(error)
    headers = {"retry-after": str(RETRY_AFTER)} if status in (429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(problem_of(error)), status, headers, "application/problem+json")
