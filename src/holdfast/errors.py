"""Every error Holdfast raises on purpose.

    HoldfastError
    ├── InvalidParameter   (also a ValueError)    a value breaks a rule
    ├── OutOfTurn          (also a RuntimeError)  ask and tell called in the wrong order
    │   └── NoArmAvailable                        every arm is paused or not available
    ├── BadSavedState      (also a ValueError)    saved data that is damaged, foreign or of another version
    ├── MissingExtra       (also an ImportError)  an optional dependency, program or device is not there
    ├── BackendLost        (also a ConnectionError)  the machines that play are gone; `result` has what was finished
    ├── DecisionError                             a loss that cannot be recorded
    │   ├── UnknownDecision  (also a LookupError)   an id that this game never issued
    │   ├── AlreadyTold      (also a ValueError)    another loss is recorded under this id
    │   ├── TooLate          (also a ValueError)    its block was settled without it (only with in_time=True)
    │   └── Forgotten        (also a LookupError)   whether it counted is no longer known (only with in_time=True)
    ├── SomeRefused                               of several losses in one call, some were refused
    ├── UnknownGame        (also a LookupError)   no game of this name in the store
    ├── OtherSettings      (also a ValueError)    the game exists with different settings
    ├── OtherRequest       (also a ValueError)    another call was made under this idempotency key
    ├── NotAllowed         (also a PermissionError)  a server wants a token, or another one
    └── StoreError         (also an OSError)      a store that cannot be read or written now
        └── BadStore                              or at all: damaged, foreign or of another version

Each message names the parameter, the rule and the value it got. What it advises is data (`Set`, `Call`, `Form`,
`Changes`), which each surface words for itself: ``str(error)`` for Python, ``error.worded(...)`` for the others.

>>> error = InvalidParameter("loss", Words("must be from 0 to 1; ", Set("units", RANGE)), 7.0)
>>> str(error)
'loss must be from 0 to 1; give units=(lowest, highest); got 7.0'
>>> error.worded(lambda advice: f"--{advice.name} {advice.value.shell}")
'loss must be from 0 to 1; --units LO,HI; got 7.0'
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, TypeAlias

HINT = "; did you mean "

MOST_COMPARED = 1000
"""Most names compared with a wrong one: comparing is the slowest part."""


CLOSE = 0.65
"""Similarity required of two names: enough for 'lgo' and 'log', not for 'nope' and 'openai'."""

PASSWORD = re.compile(r"(\w:/+[^/@\s:]*):[^\s]*(?=@)|(?<=password=)[^&\s'\"]*")


# ---- advice ----


@dataclass(frozen=True)
class Form:
    """Notation of a kind of value: in Python, in text such as JSON, and in a command if that differs."""

    python: str
    text: str
    shell: str = ""

    def __str__(self) -> str:
        return self.python


RANGE = Form("(lowest, highest)", "[lowest, highest]", "LO,HI")
NAMES = Form("[...]", "[…]", "A,B")
DURATION = Form("a timedelta or text such as '10m'", "a time such as 10m")
MOMENT = Form("a datetime with its zone", "a time such as 2026-03-01T12:00:00Z")
TRUTH = Form("True or False", "true or false")


@dataclass(frozen=True)
class Set:
    """Advice to give a parameter this value; an ellipsis means any."""

    name: str
    value: object = ...
    verb: str = "give "

    def __str__(self) -> str:
        value = "..." if self.value is ... else self.value if isinstance(self.value, Form) else repr(self.value)
        return f"{self.verb}{self.name}={value}"


@dataclass(frozen=True)
class Call:
    """Advice to use a method of the router, with this argument if one matters."""

    method: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.method}({f'{self.argument}=...' if self.argument else ''})"


@dataclass(frozen=True)
class Changes:
    """Advice to change settings of a game, each from its stored value to the one given."""

    differences: Mapping[str, tuple[Any, Any]]
    wanted: Mapping[str, object]
    """Arguments of `Router.change`; None if the caller knows the value."""

    @property
    def settings(self) -> list[Set]:
        """Each change as a parameter."""
        return [Set(name, ... if value is None else value, verb="") for name, value in self.wanted.items()]

    def __str__(self) -> str:
        # What `holdfast.open` takes itself, and what only a router changes.
        by_open = {"add_arms": "{}", "retire_arms": "{}", "switching_cost": "change_{}"}
        return ", ".join(by_open.get(one.name, "router.change({})").format(one) for one in self.settings)


Advice: TypeAlias = Form | Set | Call | Changes
Wording: TypeAlias = Callable[[Advice], str]


class Words(str):
    """Text with advice among its parts; as a string it is worded for Python."""

    __slots__ = ("parts",)
    parts: tuple[str | Advice, ...]

    def __new__(cls, *parts: str | Advice) -> Words:
        """Join parts, flattening other `Words`."""
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Words) else [part]))
        return made

    def __add__(self, other: str) -> Words:
        return Words(self, other)

    def __reduce__(self) -> tuple[Any, ...]:
        return Words, self.parts

    def worded(self, wording: Wording) -> str:
        """Return the text with its advice worded by `wording`."""
        return "".join(part if isinstance(part, str) else wording(part) for part in self.parts)


# ---- errors ----


class HoldfastError(Exception):
    """Base of all errors of this package."""

    made_of: ClassVar[tuple[str, ...]] = ()
    """Attributes in constructor order; empty if it is made of its message."""
    exit_code: ClassVar[int] = 2
    """Exit code of a command that ends in it."""
    status: int = 400
    """Status of an HTTP answer."""

    def worded(self, wording: Wording) -> str:
        """Return the message with its advice worded by `wording`."""
        text = self.args[0] if self.args else ""
        return text.worded(wording) if isinstance(text, Words) else str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = tuple(getattr(self, name) for name in self.made_of) if self.made_of else self.args
        return type(self), parts, self.__dict__


class InvalidParameter(HoldfastError, ValueError):
    """A parameter breaks a rule: `parameter`, `rule` and `value` are attributes too."""

    made_of = ("parameter", "rule", "value")
    status = 422

    def __init__(self, parameter: str, rule: str, value: object) -> None:
        rule = without_password(rule) if PASSWORD.search(rule) else rule
        self.parameter, self.rule, self.value = parameter, rule, _without_password(value)
        hint = ""
        if HINT in rule:  # the nearest name is read last
            rule, mark, name = rule.partition(HINT)
            hint = mark + name
        super().__init__(Words(f"{parameter} ", rule, f"; got {_shown(self.value)}{hint}"))


@contextmanager
def parameter_named(name_of: Callable[[str], str]) -> Iterator[None]:
    """Rename the parameter of an `InvalidParameter` raised in the block to what the user knows."""
    try:
        yield
    except InvalidParameter as error:
        raise InvalidParameter(name_of(error.parameter), error.rule, error.value) from None


class OutOfTurn(HoldfastError, RuntimeError):
    """A player's methods were called in an order that makes no sense."""

    exit_code, status = 6, 409


class NoArmAvailable(OutOfTurn):
    """Every arm is paused or not available."""


class BadSavedState(HoldfastError, ValueError):
    """Saved data cannot be continued from."""

    exit_code, status = 8, 500


class MissingExtra(HoldfastError, ImportError):
    """An optional part is not installed, or a program or device that it needs is not there. The message says which."""

    exit_code, status = 9, 501


class BackendLost(HoldfastError, ConnectionError):
    """The machines that play are gone in the middle of a run; `result` has the replications that were finished."""

    exit_code = 7
    result: Any = None


class DecisionError(HoldfastError):
    """A loss that cannot be recorded; `id` is the decision's."""

    id: str


class UnknownDecision(DecisionError, LookupError):
    """An id that this game never issued."""

    made_of = ("id", "reason")
    exit_code, status = 3, 404

    def __init__(self, id: str, reason: str) -> None:
        self.id, self.reason = id, reason
        super().__init__(Words("id ", reason, f"; got {_shown(id)}"))


class AlreadyTold(DecisionError, ValueError):
    """Another loss is recorded under this id: `recorded`."""

    made_of = ("id", "recorded", "loss")
    exit_code, status = 4, 409

    def __init__(self, id: str, recorded: float, loss: float) -> None:
        self.id, self.recorded, self.loss = id, recorded, loss
        super().__init__(f"loss of decision {id} was told before: {recorded!r} is recorded; got {loss!r}")


class TooLate(DecisionError, ValueError):
    """The decision's block was settled without it; `settled` is when, and the loss is kept on record."""

    made_of = ("id", "loss", "settled", "reason")
    exit_code, status = 5, 410

    def __init__(self, id: str, loss: float, settled: float, reason: str) -> None:
        self.id, self.loss, self.settled, self.reason = id, loss, settled, reason
        super().__init__(f"loss of decision {id} came too late: {reason}; got {loss!r}")


class Forgotten(DecisionError, LookupError):
    """Individual losses of the decision's block are no longer stored, so a repeated loss cannot be recognised."""

    made_of = ("id", "reason")
    exit_code, status = 5, 410

    def __init__(self, id: str, reason: str) -> None:
        self.id, self.reason = id, reason
        super().__init__(f"individual losses of the block of decision {id} are no longer stored: {reason}")


class SomeRefused(HoldfastError):
    """Some losses of one call were refused; `refused` has an error for each, and the others are recorded."""

    made_of = ("told", "refused")
    exit_code = 4

    def __init__(self, told: int, refused: Sequence[HoldfastError]) -> None:
        self.told, self.refused = told, list(refused)
        more = f" (and {len(self.refused) - 1} more)" if len(self.refused) > 1 else ""
        first = self.refused[0].args[0]
        super().__init__(Words(f"{len(self.refused)} of {told} losses were refused: ", first, more))


class UnknownGame(HoldfastError, LookupError):
    """No game of this name in the store."""

    made_of = ("name", "known")
    exit_code, status = 3, 404

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, list(known)
        there = f"it has {', '.join(map(repr, self.known[:8]))}{', …' if len(self.known) > 8 else ''}"
        there = there if self.known else "it has none"
        begin = Form("give a policy", "PUT it with a policy", "give a policy")
        got = f"; got {name!r}{nearest(name, self.known)}"
        super().__init__(Words(f"name must be a game of the store: {there}; to begin it, ", begin, got))


class OtherSettings(HoldfastError, ValueError):
    """The game exists with different settings; `differences` has what is stored and what was given for each."""

    made_of = ("name", "differences", "wanted")
    exit_code, status = 4, 409

    def __init__(self, name: str, differences: dict[str, Any], wanted: Mapping[str, object] | None = None) -> None:
        self.name, self.differences, self.wanted = name, differences, dict(wanted or {})
        shown = "; ".join(f"{key} is {_shown(was)}, given {_shown(given)}" for key, (was, given) in differences.items())
        advice = (" (to change it: ", Changes(differences, self.wanted), ")") if self.wanted else ()
        super().__init__(Words(f"game {name!r} exists with different settings: {shown}", *advice))

    @property
    def is_another_game(self) -> bool:
        """True where losses, or the names of arms, would mean something else."""
        return "units" in self.differences or None in self.differences.get("arms", ())


class OtherRequest(HoldfastError, ValueError):
    """Another call was made under this idempotency key."""

    made_of = ("request",)
    exit_code, status = 4, 409

    def __init__(self, request: str) -> None:
        self.request = request
        rule = "request must be a new idempotency key: another call was made under this one, and this one was not"
        super().__init__(f"{rule}; got {_shown(request)}")


class NotAllowed(HoldfastError, PermissionError):
    """A server wants a token, or one that allows more."""


class StoreError(HoldfastError, OSError):
    """A store that cannot be read or written now; nothing was changed unless the message says so."""

    exit_code, status = 7, 503


class BadStore(StoreError):
    """A store that this version cannot use: damaged, foreign or of another version."""

    exit_code, status = 8, 500


def from_users(error: BaseException) -> bool:
    """Tell whether an error passed through a user's own code, such as a class derived from `Policy`."""
    trace, modules = error.__traceback__, set()
    while trace is not None:
        modules.add(str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0])
        trace = trace.tb_next
    return not modules <= {__name__.partition(".")[0], "numpy", *sys.stdlib_module_names}


def _without_password(value: object) -> object:
    return without_password(value) if type(value) is str else value


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python writes
        text = f"{type(value).__name__} too long to show"
    text = " ".join(text.split()) if "\n" in text else text  # one line, as of a data frame
    text = without_password(text)
    return text if len(text) <= 120 else f"{text[:100]}… ({len(text)} characters)"


def without_password(text: object) -> str:
    """Remove the password of an address given in place of a file.

    >>> without_password("postgresql://me:secret@host/games")
    'postgresql://me@host/games'
    """
    return PASSWORD.sub(r"\1", str(text))


def printable(text: object) -> str:
    r"""Escape control characters, line breaks and the like, so that a terminal can show a name.

    >>> print(printable("east\x1b[31m\nwest"))
    east\x1b[31m\nwest
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text))


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'exp3'?"`` if something close to `name` is known, else nothing.

    >>> nearest("nope", ["openai"]), nearest("lgo", ["log"])
    ('', "; did you mean 'log'?")
    """
    close = difflib.get_close_matches(str(name), list(islice(known, MOST_COMPARED)), n=1, cutoff=CLOSE)
    return f"{HINT}{close[0]!r}?" if close else ""


# ---- as JSON: a client raises what the router on the server raised ----


def error_to_json(error: HoldfastError) -> dict[str, Any]:
    """Return an error as JSON: its kind, its message and its arguments.

    >>> raise error_from_json(json.loads(json.dumps(error_to_json(AlreadyTold("a-1-0-x", 0.25, 0.5)))))
    Traceback (most recent call last):
        ...
    holdfast.errors.AlreadyTold: loss of decision a-1-0-x was told before: 0.25 is recorded; got 0.5
    """
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == __name__)
    content: dict[str, Any] = {"error": kind.__name__, "message": str(error)}
    if isinstance(error, SomeRefused):
        return content | {"told": error.told, "refused": [error_to_json(one) for one in error.refused]}
    return content | {name: _plain(getattr(error, name)) for name in error.made_of}


def error_from_json(content: dict[str, Any]) -> HoldfastError:
    """Return the error written by `error_to_json`."""
    kind = globals().get(str(content.get("error")))
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
