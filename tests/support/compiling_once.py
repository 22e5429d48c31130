"""Workers that need the same machine code at the same time: one compiles it, the others wait for it and load it."""

import fcntl
from typing import Any

from holdfast._numba.internals import DiskCache, Kernel


def compile_once() -> None:
    """Hold a lock on a kernel's key from a search of the disk in vain until the kernel is there.

    The locks are on bytes of this file, one for each key. The system opens those of a process that ends.
    """
    locks = open(__file__, "rb+")  # noqa: SIM115  # closing it would open all locks
    load, compile_kernel = DiskCache.load_overload, Kernel.compile

    def load_or_lock(cache: Any, signature: Any, target: Any) -> Any:
        found, key = load(cache, signature, target), cache._key(signature, target)
        if found is None and key:
            fcntl.lockf(locks, fcntl.LOCK_EX, 1, int(key[:15], 16))
            found = load(cache, signature, target)
        return found

    def compile_and_unlock(self: Any, signature: Any) -> Any:
        try:
            return compile_kernel(self, signature)
        finally:
            fcntl.lockf(locks, fcntl.LOCK_UN)

    DiskCache.load_overload, Kernel.compile = load_or_lock, compile_and_unlock  # type: ignore[assignment, method-assign]
