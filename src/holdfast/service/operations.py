"""Operations of the service: how a handler reads a request, writes an answer or refuses, and the document of all."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import holdfast
from holdfast import errors
from holdfast.checks import whole_number
from holdfast.errors import Advice, Call, Changes, Form, HoldfastError, Set, error_to_json, nearest
from holdfast.service.messages import LOSS_SCHEMA, LossIn, Problem

if TYPE_CHECKING:
    from holdfast.service.access import Token
    from holdfast.service.app import Service

Handler = Callable[["Service", Request, "Token"], Awaitable[Response]]

T = TypeVar("T")

JSON = msgspec.json.Encoder()


@dataclass(frozen=True)
class Operation:
    """One operation: its path, who may use it, its request and answer. Its handler's docstring is its summary."""

    method: str
    path: str
    handler: Handler
    role: str | None
    """Role that a token must have; None: no token needed."""
    body: type | None = None
    gives: Any = None
    """JSON type of the answer, media types, or None."""
    statuses: tuple[int, ...] = (200,)
    query: tuple[tuple[str, str, bool], ...] = ()
    """Name, JSON type, and whether it is required."""
    headers: tuple[str, ...] = ()
    page: bool = False
    """True for pages, whose errors are pages too."""


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, role: str | None, **more: Any) -> Callable[[Handler], Handler]:
    """Register a handler."""

    def add(handler: Handler) -> Handler:
        OPERATIONS.append(Operation(method, path, handler, role, **more))
        return handler

    return add


# ---- errors as problem documents (RFC 9457), which carry the library's errors as they are

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


# ---- reading requests, writing answers


@cache
def _decoder(kind: type) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


async def body_of(service: Service, request: Request, kind: type, *, may_be_empty: bool = False) -> Any:
    """Read the body of a request, within its limits."""
    data = await service.body(request)
    if not data and may_be_empty:
        return kind()
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise Refused(415, "a body must be JSON: Content-Type: application/json")
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        wrong = str(error)
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # what comes later may be no JSON
            wrong = unknown_field(kind, msgspec.json.decode(data)) or wrong
        raise Refused(422, f"the body must be as /openapi.json says: {wrong}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body must be JSON: {error}") from None


def unknown_field(kind: Any, value: Any) -> str:
    """Name the first field of a body that its kind does not have, and those that it has; empty if there is none."""
    if not isinstance(value, dict) or not kind.__struct_config__.forbid_unknown_fields:
        return ""
    hints = get_type_hints(kind)
    for name, inner in value.items():
        if name not in hints:
            return f"unknown field {name!r}; its fields are {', '.join(kind.__struct_fields__)}{nearest(name, hints)}"
        for nested in (one for one in (hints[name], *get_args(hints[name])) if hasattr(one, "__struct_fields__")):
            if found := unknown_field(nested, inner):
                return f"{name}: {found}"
    return ""


def answer(content: Any, status: int = 200) -> Response:
    """Return content as JSON."""
    return Response(JSON.encode(content), status, media_type="application/json")


def number_in(request: Request, name: str, default: int, most: int) -> int:
    """Return a number in the query, or the default."""
    text = request.query_params.get(name)
    if text is None:
        return default
    given = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text[:40]
    return whole_number(name, given, least=0, most=most)


def page_of(rows: list[T], limit: int, place: Callable[[T], Any]) -> tuple[list[T], Any]:
    """Return the rows of a page, and the cursor of the next: the `place` of its last row.

    `rows` has one more than the page, if there are as many.
    """
    return rows[:limit], place(rows[limit - 1]) if 0 < limit < len(rows) else None


def idempotency_key(request: Request) -> str | None:
    """Return an idempotency key, which may be any UTF-8 text."""
    text = request.headers.get("idempotency-key")
    try:
        return None if text is None else text.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Refused(400, "Idempotency-Key must be UTF-8") from None


# ---- the OpenAPI 3.1 document, made from the operations and the messages

REF = "#/components/schemas/{name}"


@cache
def document(root: str = "") -> dict[str, Any]:
    """Return the document of a server under this path."""
    kinds = [Problem, *(kind for one in OPERATIONS for kind in (one.body, one.gives) if _named(kind))]
    _, schemas = msgspec.json.schema_components(dict.fromkeys(kinds), ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": holdfast.__version__,
            "description": "Decisions that a store keeps: ask which option to use, tell what it cost.",
        },
        "servers": [{"url": root or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(one: Operation) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", one.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": required, "schema": {"type": kind}}
        for name, kind, required in one.query
    ]
    parameters += [{"name": name, "in": "header", "schema": {"type": "string"}} for name in one.headers]
    found: dict[str, Any] = {
        "operationId": one.handler.__name__,
        "summary": (one.handler.__doc__ or "").removesuffix("."),
        "parameters": parameters,
        "responses": {str(status): _answer(one.gives) for status in one.statuses},
        "security": [] if one.role is None else [{"token": []}, {}],
    }
    if one.role is not None:
        found["description"] = f"Needs the role `{one.role}`, where the server has tokens."
    found["responses"]["default"] = {
        "description": "A problem (RFC 9457) with the library's error.",
        "content": {"application/problem+json": {"schema": {"$ref": REF.format(name="Problem")}}},
    }
    if one.body is not None:
        schema = LOSS_SCHEMA if one.body is LossIn else {"$ref": REF.format(name=one.body.__name__)}
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return found


def _answer(kind: Any) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done."}
    if isinstance(kind, str):
        return {"description": "A stream.", "content": {media: {} for media in kind.split(", ")}}
    description, schema = "An object.", {"type": "object"}
    if _named(kind):
        description, schema = (kind.__doc__ or "").split("\n")[0], {"$ref": REF.format(name=kind.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _named(kind: Any) -> bool:
    """Return True for a class of ours, which the document has under its name."""
    return isinstance(kind, type) and hasattr(kind, "__annotations__")
