"""The one decorator of every compiled function, and the cache that lets a second process start at once.

A kernel is a small function in the subset of Python that Numba compiles: it changes buffers its
caller owns, allocates nothing, raises nothing, and draws only from the stream it is handed. The same
function runs as plain Python (``NUMBA_DISABLE_JIT=1``), compiled on CPU threads, inside a CUDA kernel and
on Dask workers.

No ``fastmath``: the same game must give the same bits in every process, whatever its processor.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not config.DISABLE_JIT
"""False when Numba's compiler is switched off: kernels are then plain Python."""


@cache
def _package_sources() -> str:
    """One hash over the package's sources: a cached kernel is stale when *any* of them changed.

    Numba looks only at the file a function stands in, not at the kernels it calls.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _source_of(path: str) -> str:
    """Hash of a file outside the package: a user's own policy."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _identity(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a kernel is made of: its name and, for a composed one, the identities of its parts."""
    parts: list[Any] = [f"{function.__module__}.{function.__qualname__}"]
    if not function.__module__.startswith("holdfast."):
        parts.append(_source_of(inspect.getfile(function)))
    for cell in function.__closure__ or ():
        part = getattr(cell.cell_contents, "py_func", cell.cell_contents)
        parts.append(_identity(part) if inspect.isfunction(part) else repr(part))
    return tuple(parts)


def _remember(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Cache the machine code on disk under a key that is the same in every process.

    Numba's own key of a closure holds the pickled dispatchers in its cells, which differ from process to
    process; ours names them. Where Numba's caching has changed its shape, or nothing on this machine can be
    written, kernels are compiled anew in each process: slower to start, never wrong.
    """
    try:
        from numba.core.caching import FunctionCache

        class KernelCache(FunctionCache):  # type: ignore[misc]
            def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
                return (sig, codegen.magic_tuple(), _identity(function))

        kernel_cache = KernelCache(function)
        kernel_cache._cache_file._source_stamp = _package_sources()
        dispatcher._cache = kernel_cache
    except (ImportError, AttributeError, TypeError, RuntimeError, OSError):
        return


def kernel(function: F) -> F:
    """Compile `function` without the interpreter lock; in plain Python, let unsigned integers wrap.

    Kernels are inlined into the loop that calls them, and count no references to the arrays they are handed: their
    caller owns those, and a kernel makes none. Both together make a game twice as fast.
    """
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    dispatcher = numba.njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)
    _remember(dispatcher, function)
    return cast(F, dispatcher)
