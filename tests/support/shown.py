"""Values and pages as lines of text, for what is frozen."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

import numpy as np

from holdfast.errors import HoldfastError

DRAWN = re.compile(r"\b(?:[0-9a-f]{12}-(\d+-\d+)-[0-9a-f]{16}|[0-9a-f]{24})\b")
"""An id, of which block and round are shown; and the name of a call, which has the time in it."""

LONG = re.compile(r"(?<![\w.])\d+\.\d{8,}(?:e[-+]?\d+)?(?!\w)")


def shown(value: Any) -> str:
    """One line: records by their fields, arrays as lists, sets in order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.repr}
        return f"{type(value).__name__}({', '.join(f'{name}={shown(one)}' for name, one in fields.items())})"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return shown(sorted(value, key=str))
    if isinstance(value, (np.ndarray, np.generic)):
        return shown(value.tolist())
    if hasattr(value, "iter_rows"):
        return f"{value.height} rows"
    if isinstance(value, datetime):
        return value.strftime("%m-%d %H:%M:%S.%f").rstrip("0")
    if isinstance(value, str):
        return LONG.sub(lambda found: f"{float(found[0]):.10g}", DRAWN.sub(lambda id: f"#{id[1] or 'drawn'}", value))
    return "-" if value is None else f"{value:.10g}" if isinstance(value, float) else repr(value)


def table(frame: Any) -> Iterator[str]:
    """A line of columns with their types, and one for each row."""
    yield " | ".join(f"{name}:{kind}" for name, kind in frame.schema.items())
    for row in frame.iter_rows():
        yield " | ".join(map(shown, row))


def answer(call: Any) -> str:
    """What a call returns, or how it is refused."""
    try:
        return shown(call())
    except HoldfastError as error:
        return shown(f"{type(error).__name__}: {error}")
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        return type(error).__name__  # its words are Python's


def answers(calls: Any) -> Iterator[str]:
    """A line for each call, with its name."""
    for name, call in calls.items():
        yield f"{name}: {answer(call)}"


class Words(HTMLParser):
    """A page's words and numbers, a line for each element; of its scripts, the data of charts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tag = tag
        said = [f"{name}={value}" for name, value in attrs if name in ("style", "title", "value", "points", "d")]
        self.lines += [f"<{tag} {' '.join(said)}>"] if said and tag not in ("link", "meta") else []

    def handle_data(self, data: str) -> None:
        if data.strip() and self.tag != "style" and (self.tag != "script" or data.lstrip()[:1] in "{["):
            self.lines.append(" ".join(data.split()))


def lines_of_page(page: str) -> list[str]:
    return [shown(line) for line in Words(page).lines]
