"""Checks of user input: each returns the value in its right type, or raises an error that names the rule."""

from __future__ import annotations

import importlib
import inspect
import math
import operator
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import RANGE, TRUTH, InvalidParameter, Words, nearest
from holdfast.files import sha256

T = TypeVar("T")

LARGEST = 1e50
"""Largest range or cost (and inverse of the smallest), lest squares and products overflow."""

CHECK = "check"
"""Metadata key of a field's check."""

MOST_SHOWN = 20
"""Most names an error lists before it counts the rest."""


def whole_number(parameter: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int within limits. 1e6 is a whole number; True, 2.5 and "8" are not."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    rule = f"must be a whole number {limits}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidParameter(parameter, rule, value)
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise InvalidParameter(parameter, rule, value)
    number = int(value) if isinstance(value, (float, np.floating)) else operator.index(value)
    if number < least or (most is not None and number > most):
        raise InvalidParameter(parameter, rule, value)
    return number


def real_number(
    parameter: str, value: object, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> float:
    """Return `value` as a finite float of at least `least`, or strictly above `above`, and at most `most`."""
    if type(value) is float and least is above is most is None and math.isfinite(value):
        return value
    rule = "must be a finite number"
    if least is not None:
        rule += " and not negative" if least == 0 else f" of at least {least:g}"
    if above is not None:
        rule += f" above {above:g}"
    if most is not None:
        rule += f", at most {most:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidParameter(parameter, rule, value)
    try:
        number = float(value)
    except OverflowError:  # an int beyond every float
        raise InvalidParameter(parameter, rule, value) from None
    if not math.isfinite(number) or (least is not None and number < least) or (above is not None and number <= above):
        raise InvalidParameter(parameter, rule, value)
    if most is not None and number > most:
        raise InvalidParameter(parameter, rule, value)
    return number


def whole(least: int, most: int | None = None) -> dict[str, Any]:
    """Return metadata of a dataclass field for `check_fields`: ``field(default=1, metadata=whole(least=1))``."""
    return {CHECK: partial(whole_number, least=least, most=most)}


def real(*, least: float | None = None, above: float | None = None, most: float | None = None) -> dict[str, Any]:
    """Like `whole`, for a finite number."""
    return {CHECK: partial(real_number, least=least, above=above, most=most)}


def flag() -> dict[str, Any]:
    """Like `whole`, for True or False."""
    return {CHECK: _true_or_false}


def among(known: Iterable[str]) -> dict[str, Any]:
    """Like `whole`, for one of these names."""
    return {CHECK: partial(one_of, known=known)}


def or_none(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a field that may be None, and is checked otherwise."""
    check = metadata[CHECK]
    return {CHECK: lambda parameter, value: None if value is None else check(parameter, value)}


def _true_or_false(parameter: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(parameter, Words("must be ", TRUTH), value)
    return bool(value)


def check_fields(made: Any) -> None:
    """Check the fields of a frozen dataclass, while it is being made, by the checks in their metadata."""
    for one in fields(made):
        if CHECK in one.metadata:
            object.__setattr__(made, one.name, one.metadata[CHECK](one.name, getattr(made, one.name)))


def array_of(parameter: str, given: object, rule: str) -> NDArray[np.float64]:
    """Return numbers, or rows of numbers, as a new array of floats; `rule` is what they must be."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(parameter, rule, given) from None


def number_range(parameter: str, value: object) -> tuple[float, float]:
    """Return `value` as (lowest, highest)."""
    rule = Words("must be two numbers ", RANGE, f", the first smaller, from {-LARGEST:g} to {LARGEST:g}")
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidParameter(parameter, rule, value)
    try:
        lowest, highest = (real_number(parameter, bound, least=-LARGEST, most=LARGEST) for bound in value)
    except InvalidParameter:
        raise InvalidParameter(parameter, rule, value) from None
    if not highest - lowest >= 1 / LARGEST:
        raise InvalidParameter(parameter, rule, value)
    return lowest, highest


def written_range(option: str, text: str) -> tuple[float, float]:
    """Parse (lowest, highest) as given to a command: ``0,500``."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter(option, "must be two numbers LO,HI, such as 0,500", text) from None
    return number_range(option, (low, high))


def one_of(parameter: str, value: object, known: Iterable[str]) -> str:
    """Return `value` if it is one of the `known` names."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    rule = f"must be one of {', '.join(map(repr, names[:MOST_SHOWN]))}{more}{nearest(value, names)}"
    raise InvalidParameter(parameter, rule, value)


def different_names(parameter: str, given: Any, *, least: int = 0) -> tuple[str, ...]:
    """Return a list of at least `least` different names, none of them empty."""
    rule = "must be a list of different names, each a non-empty string"
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    if not listed or len(given) < least or not all(isinstance(name, str) and name for name in given):
        raise InvalidParameter(parameter, rule, given)
    if len(set(given)) < len(given):
        twice = next(name for name, count in Counter(given).items() if count > 1)
        raise InvalidParameter(parameter, f"{rule}; {twice!r} is there twice", list(given))
    return tuple(given)


def is_own(name: object) -> TypeGuard[str]:
    """Tell whether a name is of the form ``"module:Class"``."""
    return isinstance(name, str) and ":" in name


def class_at(parameter: str, address: str, base: type[T]) -> type[T]:
    """Return the class named by ``"module:Class"``, if it is a kind of `base`."""
    module, _, name = address.partition(":")
    try:
        if module.startswith("."):
            raise ImportError("it begins with a dot")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        rule = f'must be "module:Class", of a module that Python finds ({error})'
        raise InvalidParameter(parameter, rule, address) from None
    if not (isinstance(found, type) and issubclass(found, base)):
        raise InvalidParameter(parameter, f"must name a class derived from holdfast.{base.__name__}", address)
    return found


def address_of(thing: Any) -> str:
    """Return the name of a policy or environment: its id, or ``"module:Class"`` for a user's class."""
    kind = type(thing)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return str(thing.id) if ours else f"{kind.__module__}:{kind.__qualname__}"


def settings_of(thing: Any, kind: str) -> dict[str, Any]:
    """Return a policy or an environment as plain values: its name under its kind, then its parameters."""
    values = {one.name: getattr(thing, one.name) for one in fields(thing) if one.init}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {kind: address_of(thing)} | {name: value for name, value in plain.items() if value is not None}


def import_from(folder: Path) -> None:
    """Let modules in this folder be imported, after everything installed."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def parameters_of(kind: type) -> tuple[str, ...]:
    """Return the names of the parameters that a class takes."""
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else ()


def code_of(kind: Any) -> dict[str, str]:
    """Return the module of a class or function and the checksum of its source, if it has one: they identify a run."""
    kind = kind if isinstance(kind, type) or inspect.isroutine(kind) else type(kind)
    file = inspect.getsourcefile(kind) if hasattr(kind, "__code__") or isinstance(kind, type) else None
    return {kind.__module__: sha256(Path(file))} if file and Path(file).exists() else {}


def made(kind: type[T], name: str, values: Mapping[str, Any]) -> T:
    """Return an object of a dataclass from its parameters by name; `name` is what users call it."""
    known = {field.name: field for field in fields(kind) if field.init}  # type: ignore[arg-type]  # a dataclass
    for parameter, value in values.items():
        if parameter not in known:
            raise InvalidParameter(parameter, f"is not a parameter of {name}{nearest(parameter, known)}", value)
    for parameter, field in known.items():
        if parameter not in values and field.default is MISSING and field.default_factory is MISSING:
            raise InvalidParameter(parameter, f"must be given to {name}", None)
    try:
        return kind(**values)
    except TypeError as error:  # an abstract class of the user's own
        raise InvalidParameter(name, f"cannot be made ({error})", dict(values)) from None


def cores() -> int:
    """Return the processor cores this process may use, or all of them if the system does not say."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS, Windows
        return os.cpu_count() or 1


# ---- switching costs for each pair of arms ----

CostTable = tuple[tuple[float, ...], ...]

ROUNDING = 1e-12
"""Relative difference below which a detour does not count as cheaper."""


def checked_costs(given: Any, n_arms: int, most: float) -> tuple[CostTable, tuple[int, int, int] | None]:
    """Return the table of shortest paths between arms; and three arms (from, via, to) whose detour was cheaper, if any.

    >>> checked_costs([[0, 1, 5], [1, 0, 1], [5, 1, 0]], 3, 1e50)
    (((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0)), (0, 1, 2))
    """
    size = f"{n_arms} x {n_arms}"
    rule = f"must be a table of {size} numbers from 0 to {most:g}, with zeros from each arm to itself"
    table = array_of("switching_cost", given, rule)
    if table.shape != (n_arms, n_arms) or not ((table >= 0) & (table <= most)).all() or np.diag(table).any():
        raise InvalidParameter("switching_cost", rule, given)
    short: NDArray[np.float64] = table.copy()
    for way in range(n_arms):  # Floyd and Warshall
        np.minimum(short, short[:, [way]] + short[[way], :], out=short)
    longer = table > short * (1 + ROUNDING)
    if not longer.any():
        return as_rows_of(table), None
    a, c = (int(arm) for arm in np.argwhere(longer)[0])
    by = short[a] + short[:, c]
    by[[a, c]] = np.inf
    return as_rows_of(short), (a, int(np.argmin(by)), c)


def as_rows_of(table: NDArray[np.float64]) -> CostTable:
    """Return an array as rows of plain numbers."""
    return tuple(tuple(row) for row in table.tolist())
