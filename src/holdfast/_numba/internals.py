"""The one module that uses Numba classes which may change with any release. All it buys is time.

- Machine code is kept on disk, found by what is frozen into it. (Numba's own cache finds code by the file that a
  function stands in, and looks neither at the kernels it calls nor at the values it closes over.)
- A kernel that another kernel calls is only lowered, and optimised once, inlined into the outermost one. Numba would
  compile it to machine code of its own as well, with wrappers to call it from Python.
- The error of a kernel that does not compile is one line.

Where this module does not fit the Numba that is installed, kernels are plain `numba.njit` functions; where only one
part does not, that part is left out.
"""

from __future__ import annotations

import gc
import hashlib
import linecache
import pickle
import pkgutil
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import serialize, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from holdfast._numba import cache as disk
from holdfast._numba.identity import NotHashable, identity
from holdfast.errors import HoldfastError

PACKAGE = Path(__file__).resolve().parents[1]

NUMBA = Path(numba.__file__).resolve().parent

VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())

SWITCHES = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
"""Settings of Numba, each an environment variable with NUMBA_ before it, that change machine code."""


class Kernel(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A kernel as Python calls it; compiled callers get its `Part`."""

    def __init__(self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(function, locals or {}, targetoptions)
        self._cache = DiskCache(function)
        self._part: Part | None = None

    @property
    def part(self) -> Any:
        """The kernel as its compiled callers see it."""
        if self._part is None and parts_work():
            self._part = Part(self.py_func, self.targetoptions)
        return self._part or super()

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Return the typing of a compiled caller's call."""
        return self.part.get_call_template(arguments, keywords)

    def get_overload(self, signature: Any) -> Any:
        """Return the reference that a compiled caller's code holds."""
        return self.part.get_overload(signature)

    def recompile(self) -> None:
        """Recompile with the values that the kernel reads now."""
        self._part = None
        super().recompile()

    def _compile_for_args(self, *arguments: Any) -> Any:
        """Compile for the arguments of a first call, or load from disk.

        Garbage collection would take a tenth of it: the compiler makes objects by the million and keeps them.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super()._compile_for_args(*arguments)
        except NumbaError as error:
            raise HoldfastError(_in_one_line(str(error))) from error
        finally:
            if collecting:
                gc.enable()


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """Code that is only linked into its callers, which optimise it with everything inlined."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class PartCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Numba's compiler, into a `LinkedLibrary`."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class Part(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A kernel as its callers see it: typed and lowered, never optimised or made into machine code by itself."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=PartCompiler)
        self._compiler._customize_flags = self._lowered_only

    def _lowered_only(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def add_overload(self, compiled: Any) -> None:
        """Register the lowered function with callers under its descriptor: it has no address."""
        self.overloads[tuple(compiled.signature.args)] = compiled
        self.targetctx.insert_user_function(compiled.fndesc, compiled.fndesc, [compiled.library])

    def get_overload(self, signature: Any) -> Any:
        """Return the reference that a caller's code holds."""
        arguments, _ = sigutils.normalize_signature(signature)
        return self.overloads[tuple(arguments)].fndesc


@cache
def parts_work() -> bool:
    """Return True if parts fit this Numba; tried once per compiling process, on a kernel of one line."""
    options = {"nopython": True, "forceinline": True}

    def successor(x: float) -> float:
        return x + 1.0

    def called(x: float) -> Any:
        return part(x)

    try:
        part = Part(successor, options)
        return bool(CPUDispatcher(called, targetoptions=options)(1.0) == 2.0)
    except Exception:  # whatever is wrong with it, there is the plain way
        return False


class DiskCache:
    """The compiled overloads of one kernel on disk, in the shape that Numba's dispatchers use."""

    cache_path = ""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def _key(self, signature: Any, target: Any) -> str | None:
        """Return the key of an overload, computed each time: a value that a kernel reads may have changed."""
        sources, switches = _sources(), [getattr(numba.config, name, None) for name in SWITCHES]
        try:
            built = target.codegen().magic_tuple(), VERSIONS, switches
            parts = (identity(self._function), str(signature), *built, sources)
        except (NotHashable, ValueError, RecursionError):  # ValueError: a closure whose cell is still empty
            return None
        return hashlib.sha256(repr(parts).encode()).hexdigest() if sources else None

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled overload, if it was kept and is complete."""
        key = self._key(signature, target)
        content = disk.read(key) if key else None
        if content is None:
            return None
        try:
            symbols, reduced = pickle.loads(content)
            if any(llvm.address_of_symbol(name) is None for name in symbols):
                target.refresh()  # which makes the rest of Numba known, and takes longer than all else here
            return CompileResult._rebuild(target, *reduced)
        except Exception:  # whatever is wrong with it, the kernel can be compiled
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled overload, if possible."""
        key = self._key(signature, compiled.target_context)
        content = None
        with suppress(Exception):
            if not compiled.lifted and not compiled.library.has_dynamic_globals:  # else: addresses of this process
                content = serialize.dumps((_called_from_outside(compiled.library), compiled._reduce()))
        if key and content:
            disk.write(key, content)

    def flush(self) -> None:
        """Do nothing: nothing is held in memory."""


@cache
def _sources() -> str | None:
    """Return a hash of the sources that compile a kernel; None if Python runs without its sources."""
    try:
        sources = [
            pkgutil.get_data(__package__, f"{name}.py") or b"" for name in ("compile", "internals", "lanes", "identity")
        ]
    except OSError:
        return None
    return hashlib.sha256(b"".join(sources)).hexdigest()


def _called_from_outside(library: Any) -> list[str]:
    """Return the functions that machine code calls but does not contain."""
    functions = library._final_module.functions
    return [f.name for f in functions if f.is_declaration and not f.name.startswith("llvm.")]


def _in_one_line(message: str) -> str:
    """Return why a kernel does not compile, and the line in the user's file."""
    lines = [line.strip() for line in message.splitlines()]
    said = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    wrong = said[0]
    if wrong.endswith(":"):  # the call that there is not
        wrong += next((f" {line[4:]}" for line in said if line.startswith(">>> ")), "")
    elif re.search(r"Untyped global name .*<class '(function|method)'>$", wrong):
        wrong += "; is it marked @kernel?"
    if "NRT required" in wrong or re.search(
        r"array_allocate|<(built-in )?function (empty|zeros|ones|full|array)\b", wrong
    ):
        wrong = "it makes an array or a list, and a kernel allocates nothing: keep the numbers in the state, as Scratch"
    elif "setitem(readonly array" in wrong:
        wrong = "it changes an array that it was not handed: keep the numbers in the state"
    places = [
        (Path(file).resolve(), n) for file, n in re.findall(r'(?:File "|at )([^\s"]+)"?(?:, line | \()(\d+)', message)
    ]
    foreign = [(file, int(n)) for file, n in places if not {PACKAGE, NUMBA} & {*file.parents}]
    name = re.search(r"<function (?:\S+\.)?(\S+) at ", message)
    for file, n in foreign[:1]:
        wrong += f" ({file}, line {n})"
        above = "".join(linecache.getlines(str(file))[:n])
        name = next(reversed([*re.finditer(r"^ *def (\w+)", above, re.MULTILINE)]), name)
    return f"kernel {name[1]} does not compile: {wrong}" if name else f"a kernel does not compile: {wrong}"
