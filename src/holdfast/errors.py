"""Every error Holdfast raises on purpose.

    HoldfastError
    ├── InvalidParameter   (also a ValueError)    a value breaks a rule
    ├── OutOfTurn          (also a RuntimeError)  ask and tell called in the wrong order
    ├── BadSavedState      (also a ValueError)    saved data that is damaged, foreign or from the future
    ├── MissingExtra       (also an ImportError)  an optional dependency or device is not there
    └── BackendLost        (also a ConnectionError)  the machines that play are gone; `result` has what was finished

Each message names the parameter, the rule and the value it got.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any

HINT = "; did you mean "

MOST_COMPARED = 1000
"""Names that a wrong one is compared with: comparing takes longer than all else."""


class HoldfastError(Exception):
    """Base of all errors of this package."""


class InvalidParameter(HoldfastError, ValueError):
    """A parameter breaks a rule: `parameter`, `rule` and `value` are attributes too."""

    def __init__(self, parameter: str, rule: str, value: object) -> None:
        self.parameter, self.rule, self.value = parameter, rule, value
        rule, mark, hint = rule.partition(HINT)  # the nearest name is read last
        super().__init__(f"{parameter} {rule}; got {_shown(value)}{mark}{hint}")

    def __reduce__(self) -> tuple[type[InvalidParameter], tuple[str, str, object]]:
        return type(self), (self.parameter, self.rule, self.value)


class OutOfTurn(HoldfastError, RuntimeError):
    """A player's methods were called in an order that makes no sense."""


class BadSavedState(HoldfastError, ValueError):
    """Saved data cannot be continued from."""


class MissingExtra(HoldfastError, ImportError):
    """An optional part is not installed, or its device is not there."""


class BackendLost(HoldfastError, ConnectionError):
    """The machines that play are gone in the middle of a run; `result` has the replications that were finished."""

    result: Any = None


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python writes
        text = f"{type(value).__name__} too long to show"
    text = " ".join(text.split()) if "\n" in text else text  # one line, as of a data frame
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text)} characters)"


def nearest(name: object, known: Iterable[str]) -> str:
    """``"; did you mean 'exp3'?"`` when something close to `name` is known, else nothing."""
    close = difflib.get_close_matches(str(name), list(islice(known, MOST_COMPARED)), n=1, cutoff=0.6)
    return f"{HINT}{close[0]!r}?" if close else ""
