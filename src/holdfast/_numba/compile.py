"""The one decorator of every compiled function.

A kernel is a small function in the subset of Python that Numba compiles: it changes buffers its caller owns, allocates
nothing, raises nothing, and draws only from the stream it is handed. The same function runs as plain Python
(``NUMBA_DISABLE_JIT=1``), compiled on CPU threads, inside a CUDA kernel and on Dask workers.

No ``fastmath``: the same game must give the same bits in every process, whatever its processor.
"""

from __future__ import annotations

import dis
import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache, wraps
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numba.extending import is_jitted

from holdfast.errors import HoldfastError

# What Numba freezes into the machine code of a kernel, as one hash.
#
# The function's own instructions and constants, and, recursively, every kernel it calls and every global or closed-over
# value it reads, arrays by their contents. Machine code is kept on disk under this hash, and kernels are recomposed
# when it changes.

LIBRARIES = ("builtins", "holdfast._numba", "llvmlite", "math", "numba", "numpy")
"""Modules identified by name: their versions, or their sources, are in the cache key."""


class NotHashable(Exception):
    """A value whose contents cannot be hashed: a kernel that reads it is not cached."""


def identity(function: Callable[..., Any]) -> str:
    """Return a hash of everything that Numba freezes into the code of `function`.

    Recomputed in each call, since a value that a kernel reads may have changed; but only once for a kernel of
    this package, whose constants are constant.
    """
    return _identity(function, ())


def kernels_of(kernel: Any) -> list[Any]:
    """Return a kernel and those it calls that may change, each after all that it calls itself."""
    found: dict[Any, None] = {}
    _collect(kernel, found, set())
    return list(found)


def hidden_randomness(function: Callable[..., Any]) -> str | None:
    """Return the name by which a function reads random numbers other than from its stream."""
    for name, value in _reads(function):
        if value is np and (name, "random") in _attributes(function.__code__):
            return f"{name}.random"
        if value is np.random or value is random or isinstance(getattr(value, "__self__", value), RANDOM):
            return name
    return None


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
    """Return True if a kernel, and all it closes over, is this package's."""
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
    """Return what a function closes over and the globals it reads, by name.

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
    """Return each name with the attribute read of it directly."""
    pairs = {(one.argval, then.argval) for one, then in pairwise(dis.get_instructions(code)) if "ATTR" in then.opname}
    return pairs.union(*(_attributes(inner) for inner in _inner(code)))


@cache
def _names(code: CodeType) -> list[str]:
    return sorted({*code.co_names}.union(*(_names(inner) for inner in _inner(code))))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _of_code(code: CodeType) -> Iterator[bytes]:
    """Return instructions and constants, without positions and docstrings."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        elif constant is not code.co_consts[0] or not isinstance(constant, str):  # the first text is the docstring
            yield f"{type(constant).__name__} {constant!r}".encode()


def _of_value(value: Any, callers: tuple[Any, ...]) -> Iterator[bytes]:
    """Return what identifies a global or closed-over value to a kernel."""
    function = value.py_func if is_jitted(value) else getattr(value, "_defn", value)
    if isinstance(value, ModuleType):
        yield value.__name__.encode()
    elif isinstance(value, (FunctionType, BuiltinFunctionType, type, np.ufunc)) and _library(value) in LIBRARIES:
        yield f"{_library(value)}.{value.__name__}".encode()
    elif isinstance(function, FunctionType) and function is not value:  # only Numba knows what a plain one means
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


F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT
"""False if Numba's compiler is switched off: kernels are then plain Python."""

OPTIONS = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Inlined into the loop that calls them, and without counting references to arrays that their caller owns: both
together make a game twice as fast. Nothing in C calls a kernel."""


def _dispatcher() -> Callable[[Any], Any]:
    try:
        from holdfast._numba.internals import Kernel
    except (ImportError, AttributeError, TypeError):  # another Numba: no machine code on disk, slower to compile
        return numba.njit(**OPTIONS)  # type: ignore[no-any-return]  # Numba has no types
    return lambda function: Kernel(function, targetoptions={"nopython": True, **OPTIONS})


def kernel(function: F) -> F:
    """Compile `function` without the interpreter lock; in plain Python, let unsigned integers wrap."""
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    return cast(F, _COMPILE(function))


_COMPILE = _dispatcher()


def frozen(kernel: Callable[..., Any]) -> str:
    """Return what distinguishes two compilations of a kernel in this process: a hash of what it reads.

    Kernels compiled with other values are recompiled; one that draws random numbers of its own is refused.
    """
    for part in kernels_of(kernel):
        function = getattr(part, "py_func", part)
        name = hidden_randomness(function)
        if name is not None:
            raise HoldfastError(
                f"kernel {function.__name__} must draw from the stream it is handed, as next_uniform(streams, g) "
                f"does; it reads {name}"
            )
        now = _frozen(function)
        if COMPILED and _COMPILED_WITH.setdefault(part, now) != now:
            _COMPILED_WITH[part] = now
            cast(Any, part).recompile()
    return _frozen(getattr(kernel, "py_func", kernel))


def composed(compose: F) -> F:
    """Decorate a function that makes kernels out of those in its arguments, alone or in tuples.

    Results are cached while those read the same values: what a user's kernel reads may change.
    """

    @cache
    def kept(values: tuple[str, ...], *parts: Any) -> Any:
        return compose(*parts)

    @wraps(compose)
    def made(*parts: Any) -> Any:
        return kept(tuple(map(frozen, _kernels_in(parts))), *parts)

    return cast(F, made)


def _kernels_in(parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _kernels_in(part)
        elif callable(part) and not isinstance(part, type):
            yield part


_COMPILED_WITH: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def _frozen(function: Callable[..., Any]) -> str:
    try:
        return identity(function)
    except NotHashable:
        return ""
