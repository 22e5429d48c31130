"""The one decorator of every compiled function.

A kernel is a small function in the subset of Python that Numba compiles: it changes buffers its caller owns, allocates
nothing, raises nothing, and draws only from the stream it is handed. The same function runs as plain Python
(``NUMBA_DISABLE_JIT=1``), compiled on CPU threads, inside a CUDA kernel and on Dask workers.

No ``fastmath``: the same game must give the same bits in every process, whatever its processor.

Numba compiles a function that another compiled function calls twice over: to machine code of its own, with wrappers to
call it from Python, and again inside its caller. Ours is compiled whole only where Python calls it; where a kernel
calls it, it is only lowered, and optimised once, inlined into the outermost kernel: nearly half the time of a first
call is saved.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba.core import config, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from holdfast._numba.cache import DiskCache, Untellable, identity
from holdfast.errors import HoldfastError

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]

COMPILED = not config.DISABLE_JIT
"""False when Numba's compiler is switched off: kernels are then plain Python."""

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}
"""Inlined into the loop that calls them, and without counting references to arrays that their caller owns: both
together make a game twice as fast."""


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """Code that is only linked into its callers, which optimise it with everything inlined."""

    def add_llvm_module(self, module: Any) -> None:
        """Take in what was lowered, made shorter; what is only declared in it needs no work."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Take in the code of what is called."""
        for other in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(other._reload_init)
            self._final_module.link_in(other._get_module_for_linking(), preserve=True)
        self._finalized = True


class PartCompiler(Compiler):  # type: ignore[misc]  # Numba has no types
    """Numba's compiler, into a library of that kind."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile `function`."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class InlinedPart(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A kernel as its callers see it: typed and lowered, never optimised or made into machine code by itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, targetoptions=OPTIONS, pipeline_class=PartCompiler)
        self._compiler._customize_flags = self._lowered_only

    def _lowered_only(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def add_overload(self, compiled: Any) -> None:
        """Make the lowered function known to callers under its descriptor: it has no address."""
        self.overloads[tuple(compiled.signature.args)] = compiled
        self.targetctx.insert_user_function(compiled.fndesc, compiled.fndesc, [compiled.library])

    def get_overload(self, signature: Any) -> Any:
        """What a caller's code refers to."""
        arguments, _ = sigutils.normalize_signature(signature)
        return self.overloads[tuple(arguments)].fndesc


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A kernel as Python calls it; compiled callers get its `InlinedPart`."""

    def __init__(
        self, function: Callable[..., Any], locals: dict[str, Any] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        super().__init__(function, locals, options or {**OPTIONS, "no_cfunc_wrapper": True})  # only Python calls it
        self._cache = DiskCache(function)
        self._parts: dict[str, InlinedPart] = {}

    @property
    def part(self) -> InlinedPart:
        """The kernel as its compiled callers see it; another one when a value that it reads has changed."""
        key = frozen(self.py_func)
        if key not in self._parts:
            self._parts = {key: InlinedPart(self.py_func)}
        return self._parts[key]

    def _compile_for_args(self, *arguments: Any) -> Any:
        """Compile for the arguments of a first call, or load from the disk.

        A tenth of it would be a search for garbage: the compiler makes objects by the million and keeps them.
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

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """How a compiled caller's call is typed."""
        return self.part.get_call_template(arguments, keywords)

    def get_overload(self, signature: Any) -> Any:
        """What a compiled caller's code refers to."""
        return self.part.get_overload(signature)


def _in_one_line(message: str) -> str:
    """Of all that Numba says of a kernel that does not compile: what is wrong, and where in the user's file."""
    lines = [line.strip() for line in message.splitlines()]
    said = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    wrong = said[0]
    if wrong.endswith(":"):  # the call that there is not
        wrong += next((f" {line[4:]}" for line in said if line.startswith(">>> ")), "")
    elif re.search(r"Untyped global name .*<class '(function|method)'>$", wrong):
        wrong += "; is it marked @kernel?"
    name = re.search(r"<function (?:\S+\.)?(\S+) at ", message)
    places = [
        (Path(file).resolve(), n) for file, n in re.findall(r'(?:File "|at )([^\s"]+)"?(?:, line | \()(\d+)', message)
    ]
    place = next((f" ({file}, line {n})" for file, n in places if PACKAGE not in file.parents), "")
    return (
        f"kernel {name[1]} does not compile: {wrong}{place}" if name else f"a kernel does not compile: {wrong}{place}"
    )


def frozen(function: Callable[..., Any]) -> str:
    """What tells apart two compilations of a kernel in this process."""
    try:
        return identity(function)
    except Untellable:
        return ""


def kernel(function: F) -> F:
    """Compile `function` without the interpreter lock; in plain Python, let unsigned integers wrap."""
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    return cast(F, KernelDispatcher(function))
