"""A folder of files by key, of limited size, writable by its owner alone.

Machine code is loaded into the process, so a file is trusted only if it, and the folder, belong to the user and no one
else may write to them. A cache that is full, damaged, read-only, someone else's or not there costs time and nothing
else.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from numba import config

LIMIT = 2**28
"""Bytes in the folder. Beyond, the least recently used files are removed."""

SUFFIX, DRAFT = ".kernel", ".part"
ABANDONED = 3600.0
"""Seconds after which a draft counts as abandoned by a killed process."""


class Entry(NamedTuple):
    """A file of the cache."""

    file: Path
    size: int
    used: float
    """Time of the last read or write."""


def folder() -> Path:
    """Return the folder of the cache: NUMBA_CACHE_DIR, or the user's own cache."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / "holdfast"
    from platformdirs import user_cache_path  # only here: a first ask has other things to wait for

    return user_cache_path("holdfast", appauthor=False) / "kernels"


def read(key: str) -> bytes | None:
    """Return the entry for `key` if it is there, complete and trusted."""
    file = folder() / (key + SUFFIX)
    with suppress(OSError):
        if not _trusted(file.parent):
            return None
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
            if not _only_owner_writes(os.fstat(opened.fileno())):
                return None
            content = opened.read()
        if content[:32] == _digest(key, content[32:]):
            os.utime(file)
            return content[32:]
    return None


def write(key: str, content: bytes) -> None:
    """Keep `content` under `key`, if possible."""
    file = folder() / (key + SUFFIX)
    with suppress(OSError):  # a full disk, a folder that cannot be written to
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted(file.parent):
            return
        handle, draft = tempfile.mkstemp(dir=file.parent, suffix=DRAFT)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(_digest(key, content) + content)
            os.replace(draft, file)
        except BaseException:
            os.unlink(draft)
            raise
        _evict()


def entries() -> list[Entry]:
    """Return the files of the cache, most recently used first."""
    found = []
    for file in folder().glob("*" + SUFFIX):
        with suppress(OSError):  # another process may remove it
            status = file.lstat()
            found.append(Entry(file, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: entry.used, reverse=True)


def clear() -> list[Entry]:
    """Remove all files of the cache, and return them."""
    found = entries()
    for entry in found:
        entry.file.unlink(missing_ok=True)
    return found


def _evict() -> None:
    total = 0
    for entry in entries():
        total += entry.size
        if total > LIMIT:
            entry.file.unlink(missing_ok=True)
    for draft in folder().glob("*" + DRAFT):
        if draft.stat().st_mtime < time.time() - ABANDONED:
            draft.unlink(missing_ok=True)


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _trusted(place: Path) -> bool:
    if _only_owner_writes(place.stat()):
        return True
    _warn(place)
    return False


def _only_owner_writes(status: os.stat_result) -> bool:
    """Return True if a file or folder is the user's and no one else can write to it."""
    if os.name != "posix":
        return True  # the user's own folder is private there
    mode = status.st_mode
    real = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return real and status.st_uid == os.geteuid() and not mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache  # once
def _warn(place: Path) -> None:
    warnings.warn(
        f"compiled code is not kept on disk: {place} must be a folder that belongs to you and that only you can write "
        "to; each process compiles again",
        RuntimeWarning,
        stacklevel=2,
    )
