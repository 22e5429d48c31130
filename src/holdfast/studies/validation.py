"""Pydantic's findings in Holdfast's words: the field, the rule, the value, and the nearest right name."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from holdfast.errors import HoldfastError, InvalidParameter, nearest

M = TypeVar("M", bound=BaseModel)

RULES = {
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be a table",
}
"""What a value must be, for the mistakes that only the type of a field shows."""


def validated(model: type[M], given: dict[str, Any], what: str) -> M:
    """`given` as a `model`, or an error about the first mistake in it; a wrong name comes before a missing one."""
    try:
        return model.model_validate(given)
    except ValidationError as invalid:
        errors = invalid.errors()
        error = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    name = str(error["loc"][0])
    value, context = error["input"], error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        raise InvalidParameter(name, f"is not a field of {what}{nearest(name, model.model_fields)}", value)
    if error["type"] == "missing":
        raise HoldfastError(f"{name} must be given")
    cause = context.get("error")
    if isinstance(cause, InvalidParameter):  # from one of our own checks; it may know the place in a list
        place = cause.parameter if cause.parameter.startswith(name) else name
        raise InvalidParameter(place, cause.rule, cause.value)
    if "expected" in context:
        raise InvalidParameter(name, f"must be {context['expected']}", value)
    raise InvalidParameter(name, RULES.get(error["type"], f"is wrong: {error['msg']}"), value)
