"""One hash of everything that Numba freezes into the machine code of a kernel.

The function's own instructions and constants, and, recursively, every kernel it calls and every global or closed-over
value it reads, arrays by their contents. Machine code is kept on disk under this hash, and kernels are composed again
when it changes.
"""

from __future__ import annotations

import dis
import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.extending import is_jitted

LIBRARIES = ("builtins", "holdfast._numba", "llvmlite", "math", "numba", "numpy")
"""Modules whose contents are identified by name: their versions, or sources, are in the key of the cache."""


class NotHashable(Exception):
    """A value whose contents cannot be hashed: a kernel that reads it is not cached."""


def identity(function: Callable[..., Any]) -> str:
    """A hash of everything that Numba freezes into the code of `function`.

    Computed in each call, because a value that a kernel reads may have changed since; but only once for a kernel of
    this package, whose constants are constant.
    """
    return _identity(function, ())


def kernels_of(kernel: Any) -> list[Any]:
    """A kernel and those it calls that may change, each after all that it calls itself."""
    found: dict[Any, None] = {}
    _collect(kernel, found, set())
    return list(found)


def hidden_randomness(function: Callable[..., Any]) -> str | None:
    """The name by which a function reads a source of random numbers other than the stream that it is handed."""
    for name, value in _reads(function):
        if value is np and (name, "random") in _attributes(function.__code__):
            return f"{name}.random"
        if value is np.random or value is random or isinstance(getattr(value, "__self__", value), RANDOM):
            return name
    return None


@cache
def not_compiled(code: CodeType) -> tuple[str, int] | None:
    """Return an offence that Numba would take in silence or refuse in many words, and its line; else None."""
    instructions = list(dis.get_instructions(code))
    many = any(one.opname == "CALL_FUNCTION_EX" for one in instructions)  # more than thirty arguments: by way of a list
    for instruction in instructions:
        for begun, what in REFUSED.items():
            if instruction.opname.startswith(begun) and not (many and begun == "BUILD_LIST"):
                where = instruction.positions.lineno if instruction.positions else None
                return what, where or code.co_firstlineno
    inside = (not_compiled(part) for part in code.co_consts if isinstance(part, CodeType))  # comprehensions
    return next(filter(None, inside), None)


REFUSED = {
    "BUILD_MAP": "make a dict",
    "BUILD_CONST_KEY_MAP": "make a dict",
    "BUILD_LIST": "make a list",
    "BUILD_SET": "make a set",
    "BUILD_STRING": "make a text",
    "FORMAT_": "make a text",
    "RAISE_VARARGS": "raise an error",
    "PUSH_EXC_INFO": "catch an error",
}
"""Effects of instructions, by the beginning of their name."""

RANDOM = (np.random.Generator, np.random.RandomState, random.Random)


def _collect(kernel: Any, found: dict[Any, None], met: set[Any]) -> None:
    function = getattr(kernel, "py_func", kernel)
    if function in met or function in _OWN:
        return
    met.add(function)
    for _, value in _reads(function):
        if is_jitted(value):
            _collect(value, found, met)
    found[kernel] = None


def _identity(function: Any, callers: tuple[Any, ...]) -> str:
    if function in _OWN:
        return _OWN[function]
    digest = hashlib.sha256()
    for piece in _of_function(function, (*callers, function)):
        digest.update(len(piece).to_bytes(8, "little") + piece)
    found = digest.hexdigest()
    if _is_own(function):
        _OWN[function] = found
    return found


_OWN: dict[Any, str] = {}


def _is_own(value: Any) -> bool:
    """Return True if a kernel, and whatever it closes over, is this package's."""
    if not isinstance(value, FunctionType):
        return _is_own(value.py_func) if is_jitted(value) else isinstance(value, (int, float, str))
    own = str(value.__module__).startswith("holdfast.")  # exec may leave no module
    return own and all(_is_own(cell.cell_contents) for cell in value.__closure__ or ())


def _of_function(function: Any, callers: tuple[Any, ...]) -> Iterator[bytes]:
    yield from _of_code(function.__code__)
    yield from _of_value(function.__defaults__, callers)
    for name, value in _reads(function):
        yield name.encode()
        yield from _of_value(value, callers)


def _reads(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variables a function closes over and the globals it reads, by name.

    Of a module that is not in LIBRARIES: its attributes of any name that the function mentions.
    """
    code = function.__code__
    held = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    known = {name: function.__globals__[name] for name in _globals_read(code) if name in function.__globals__}
    for name, value in [*held.items(), *known.items()]:
        yield from _inside(name, value, _names(code))


def _inside(name: str, value: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in LIBRARIES:
        for attribute in names:
            if hasattr(value, attribute):
                yield from _inside(attribute, getattr(value, attribute), names)


@cache  # a code never changes, and reading it takes longer than all else here
def _globals_read(code: CodeType) -> list[str]:
    instructions = dis.get_instructions(code)
    names = {i.argval for i in instructions if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return sorted(names.union(*(_globals_read(inner) for inner in _inner(code))))


@cache
def _attributes(code: CodeType) -> set[tuple[str, str]]:
    """Each name and the attribute that is read of it at once."""
    pairs = {(one.argval, then.argval) for one, then in pairwise(dis.get_instructions(code)) if "ATTR" in then.opname}
    return pairs.union(*(_attributes(inner) for inner in _inner(code)))


@cache
def _names(code: CodeType) -> list[str]:
    return sorted({*code.co_names}.union(*(_names(inner) for inner in _inner(code))))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _of_code(code: CodeType) -> Iterator[bytes]:
    """Instructions and constants; not where they stand, nor how they are described."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        elif constant is not code.co_consts[0] or not isinstance(constant, str):  # the first text is the docstring
            yield f"{type(constant).__name__} {constant!r}".encode()


def _of_value(value: Any, callers: tuple[Any, ...]) -> Iterator[bytes]:
    """Yield the bytes that identify a global or a closed-over value in a kernel."""
    function = value.py_func if is_jitted(value) else getattr(value, "_defn", value)
    if isinstance(value, ModuleType):
        yield value.__name__.encode()
    elif isinstance(value, (FunctionType, BuiltinFunctionType, type, np.ufunc)) and _library(value) in LIBRARIES:
        yield f"{_library(value)}.{value.__name__}".encode()
    elif isinstance(function, FunctionType) and function is not value:  # what a plain one stands for, Numba alone knows
        if is_jitted(value):
            yield repr((sorted(value.targetoptions.items()), sorted(value.locals.items()))).encode()
        yield b"itself" if function in callers else _identity(function, callers).encode()
    elif value is None or isinstance(
        value, (bool, int, float, complex, str, bytes, np.generic, np.dtype, numba.types.Type)
    ):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"array {value.dtype!r} {value.shape} {value.strides}".encode()
        yield hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
    elif isinstance(value, tuple):
        yield f"{type(value).__qualname__} {getattr(value, '_fields', len(value))}".encode()
        for item in value:
            yield from _of_value(item, callers)
    elif isinstance(value, type) and hasattr(value, "_fields"):
        yield f"{value.__module__}.{value.__qualname__} {value._fields}".encode()
    else:
        raise NotHashable(repr(type(value)))


def _library(value: Any) -> str:
    module = "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", None))  # a ufunc has none
    return "holdfast._numba" if module.startswith("holdfast._numba.") else module.partition(".")[0]
