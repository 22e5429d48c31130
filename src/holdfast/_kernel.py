"""The one decorator of every compiled function, and the cache that lets a second process start at once.

A kernel is a small scalar function in the subset of Python that Numba compiles: it changes buffers its
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


def _identity(function: Callable[..., Any]) -> tuple[str, ...]:
    """What a kernel is made of: its name and, for a composed one, the names and sources of its parts."""
    parts = [f"{function.__module__}.{function.__qualname__}"]
    for cell in function.__closure__ or ():
        part = cell.cell_contents
        part = getattr(part, "py_func", part)
        if inspect.isfunction(part):
            parts.append(f"{part.__module__}.{part.__qualname__}")
            source = inspect.getsourcefile(part)
            if source is not None and not part.__module__.startswith("holdfast."):
                parts.append(_source_of(source))
        else:
            parts.append(repr(part))
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
    """Compile `function` without the interpreter lock; in plain Python, let unsigned integers wrap."""
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    _remember(dispatcher, function)
    return cast(F, dispatcher)
