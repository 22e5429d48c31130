"""The one decorator of every compiled function.

A kernel is a small function in the subset of Python that Numba compiles: it changes buffers its caller owns, allocates
nothing, raises nothing, and draws only from the stream it is handed. The same function runs as plain Python
(``NUMBA_DISABLE_JIT=1``), compiled on CPU threads, inside a CUDA kernel and on Dask workers.

No ``fastmath``: the same game must give the same bits in every process, whatever its processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numba
import numpy as np

from holdfast._numba.identity import NotHashable, hidden_randomness, identity, kernels_of, not_compiled
from holdfast.errors import HoldfastError

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
    """Return a hash of everything a kernel reads, which distinguishes two compilations in this process.

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
        code = _source(part).__code__
        refused = not_compiled(code)
        if refused is not None:
            name, file = code.co_name, code.co_filename
            rule = f"must not {refused[0]} ({file}, line {refused[1]})"
            raise HoldfastError(f"kernel {name} {rule}: kernels allocate nothing and raise nothing")
        now = _frozen(function)
        if COMPILED and _COMPILED_WITH.setdefault(part, now) != now:
            _COMPILED_WITH[part] = now
            cast(Any, part).recompile()
    return _frozen(getattr(kernel, "py_func", kernel))


def _source(kernel: Any) -> Any:
    """Return the function of a kernel as it was written: plain Python wraps it."""
    return getattr(kernel, "py_func", getattr(kernel, "__wrapped__", kernel))


def takes(kernel: Callable[..., Any], *names: str) -> None:
    """Raise an error unless a kernel takes as many arguments as these names."""
    code = _source(kernel).__code__
    own = code.co_varnames[: code.co_argcount]
    if len(own) != len(names):
        raise HoldfastError(
            f"kernel {code.co_name} must take ({', '.join(names)}); it takes ({', '.join(own)}) "
            f"({code.co_filename}, line {code.co_firstlineno})"
        )


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
