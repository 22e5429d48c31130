"""Machine code kept on disk, so that a second process starts at once.

Numba finds cached code by the file a function stands in, and does not look at the kernels it calls or at the values it
closes over. Ours is found by *what Numba freezes into the code*: the function's own instructions and constants, and,
recursively, every kernel it calls and every global or closed-over value it reads, arrays by their contents. So code
that any edit, reload or changed constant has made stale is never found; a function typed into a notebook is as good as
one in a file; and editing a line that no kernel reads compiles nothing anew. A function that reads something whose
contents cannot be told is compiled in each process.

A cache that is full, damaged, read-only or not there costs time and nothing else.
"""

from __future__ import annotations

import dis
import hashlib
import os
import pickle
import pkgutil
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import config, serialize
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type
from numba.misc.appdirs import AppDirs

FOLDER = "holdfast"
SUFFIX = ".kernel"

LIBRARIES = ("builtins", "holdfast._numba", "llvmlite", "math", "numba", "numpy")
"""What stands in these is told by its name: their versions, or their sources, are in the key."""


class Untellable(Exception):
    """A value whose contents cannot be told from outside: a kernel that reads it is not kept."""


def identity(function: Callable[..., Any]) -> str:
    """A hash of everything that Numba freezes into the code of `function`.

    Computed anew in each call, for a value that a kernel reads may have changed since; but only once for a kernel of
    this package, whose constants are constant.
    """
    return _identity(function, ())


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
    """Whether a kernel, and whatever it closes over, is this package's."""
    if not isinstance(value, FunctionType):
        return _is_own(value.py_func) if isinstance(value, Dispatcher) else isinstance(value, (int, float, str))
    own = str(value.__module__).startswith("holdfast.")  # exec may leave no module
    return own and all(_is_own(cell.cell_contents) for cell in value.__closure__ or ())


def _of_function(function: Any, callers: tuple[Any, ...]) -> Iterator[bytes]:
    code = function.__code__
    yield from _of_code(code)
    yield from _of_value(function.__defaults__, callers)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name.encode()
        yield from _of_global(cell.cell_contents, _names(code), callers)
    for name in _globals_read(code):
        if name in function.__globals__:
            yield name.encode()
            yield from _of_global(function.__globals__[name], _names(code), callers)


def _of_global(value: Any, names: list[str], callers: tuple[Any, ...]) -> Iterator[bytes]:
    """A value; or what a kernel may read of a module: its attributes of any name that the kernel mentions."""
    if not isinstance(value, ModuleType):
        yield from _of_value(value, callers)
        return
    yield value.__name__.encode()
    if value.__name__.partition(".")[0] in LIBRARIES:
        return
    for name in names:
        if hasattr(value, name):
            yield name.encode()
            yield from _of_global(getattr(value, name), names, callers)


@cache  # a code never changes, and reading it takes longer than all else here
def _globals_read(code: CodeType) -> list[str]:
    instructions = dis.get_instructions(code)
    names = {i.argval for i in instructions if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return sorted(names.union(*(_globals_read(inner) for inner in _inner(code))))


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
    """What a global or a closed-over value is to a kernel."""
    function = value.py_func if isinstance(value, Dispatcher) else getattr(value, "_defn", value)
    if isinstance(value, (FunctionType, BuiltinFunctionType, type, np.ufunc)) and _library(value) in LIBRARIES:
        yield f"{_library(value)}.{value.__name__}".encode()
    elif isinstance(function, FunctionType) and function is not value:  # what a plain one stands for, Numba alone knows
        if isinstance(value, Dispatcher):
            yield repr((sorted(value.targetoptions.items()), sorted(value.locals.items()))).encode()
        yield b"itself" if function in callers else _identity(function, callers).encode()
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, np.dtype, Type)):
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
        raise Untellable(repr(type(value)))


def _library(value: Any) -> str:
    module = "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", None))  # a ufunc has none
    return "holdfast._numba" if module.startswith("holdfast._numba.") else module.partition(".")[0]


def folder() -> Path:
    """Where code is kept: NUMBA_CACHE_DIR, or the user's own cache."""
    return Path(config.CACHE_DIR or AppDirs(FOLDER, appauthor=False).user_cache_dir) / FOLDER


VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())


def _how_compiled() -> str | None:
    """A hash of the sources that make a kernel machine code; None where Python runs without its sources."""
    try:
        sources = [pkgutil.get_data(__package__, f"{name}.py") or b"" for name in ("compile", "records", "rows")]
    except OSError:
        return None
    return hashlib.sha256(b"".join(sources)).hexdigest()


HOW_COMPILED = _how_compiled()


def _called_from_outside(library: Any) -> list[str]:
    """The functions that machine code calls and does not have itself."""
    functions = library._final_module.functions
    return [f.name for f in functions if f.is_declaration and not f.name.startswith("llvm.")]


class DiskCache(_Cache):  # type: ignore[misc]  # Numba has no types
    """The compiled overloads of one kernel, a file each, named by the hash of all that they depend on."""

    cache_path = ""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def _file(self, signature: Any, target: Any) -> Path | None:
        """The file of an overload. Looked up anew each time: a value that a kernel reads may have changed since."""
        if HOW_COMPILED is None:
            return None
        try:
            machine = target.codegen().magic_tuple()
            parts = (identity(self._function), str(signature), machine, VERSIONS, HOW_COMPILED)
        except (Untellable, ValueError, RecursionError):  # ValueError: a closure whose cell is still empty
            return None
        return folder() / (hashlib.sha256(repr(parts).encode()).hexdigest() + SUFFIX)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled overload, if it was kept and is whole."""
        file = self._file(signature, target)
        if file is None:
            return None
        try:
            content = file.read_bytes()
            if hashlib.sha256(content[32:]).digest() != content[:32]:
                return None
            symbols, reduced = pickle.loads(content[32:])
            if any(llvm.address_of_symbol(name) is None for name in symbols):
                target.refresh()  # which makes the rest of Numba known, and takes longer than all else here
            return CompileResult._rebuild(target, *reduced)
        except Exception:  # whatever is wrong with a cache, the kernel can be compiled
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled overload, if that can be done."""
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return  # addresses of this process
        file = self._file(signature, compiled.target_context)
        if file is None:
            return
        with suppress(Exception):  # a full disk, a folder that cannot be written to
            payload = serialize.dumps((_called_from_outside(compiled.library), compiled._reduce()))
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as part:
                    part.write(hashlib.sha256(payload).digest() + payload)
                os.replace(name, file)
            except BaseException:
                os.unlink(name)
                raise

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Nothing is held in memory."""
