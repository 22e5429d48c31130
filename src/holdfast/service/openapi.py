"""The OpenAPI 3.1 document, made from the operations and the messages."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

import holdfast
from holdfast.service.api import OPERATIONS
from holdfast.service.messages import LOSS_SCHEMA, LossIn, Problem
from holdfast.service.operations import Operation

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
