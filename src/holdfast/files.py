"""Files that are complete or absent, and folders that one process uses at a time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from holdfast.errors import HoldfastError, InvalidParameter

LOCK = ".lock"
DRAFTS = ".holdfast-*.part"
"""What `write_whole` calls a file until it is whole; one that a killed process left is `remove_drafts`'s to remove."""
HELD_BY_ANOTHER = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""How systems say that a lock is another's; any other error says that this file system has no locks."""


def write_whole(path: str | Path, data: bytes) -> Path:
    """Write `data` beside `path` and move it there: no reader, and no power cut, meets half a file.

    A disk that is full, or whatever else prevents it, is a `HoldfastError` with the file and the reason; what was at
    `path` before is then still there.
    """
    target = Path(path)
    if not target.name:
        raise InvalidParameter("path", "must name a file", str(path))
    draft = target.with_name(DRAFTS.replace("*", secrets.token_hex(8)))
    try:
        with draft.open("xb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())  # the name must not reach the disk before the data
        os.replace(draft, target)
        _sync_folder(target.parent)
    except (OSError, ValueError) as error:
        raise HoldfastError(f"{target} cannot be written: {reason(error)}") from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            draft.unlink(missing_ok=True)
    return target


def remove_drafts(folder: Path) -> None:
    """Remove what killed processes left half-written in a claimed folder, at any depth."""
    for draft in folder.rglob(DRAFTS):
        draft.unlink(missing_ok=True)


@contextmanager
def reported(place: Path) -> Iterator[None]:
    """What the system refuses to do with a file or folder, as a `HoldfastError` of one line."""
    try:
        yield
    except OSError as error:
        raise HoldfastError(f"{error.filename or place} cannot be used: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Why a file cannot be read or written, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _sync_folder(folder: Path) -> None:
    """Make the new name last too. Some systems (Windows) and file systems do that for files only."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def claimed(folder: str | Path, what: str) -> Iterator[Path]:
    """Make the folder if need be, and have it alone until the end of the block, or of this process, however it ends.

    `what` is said of the other process where there is one: "running a study". A folder that was made here and has
    nothing in it goes again. On a file system without locks nobody is kept out.
    """
    place = Path(folder)
    made = _made(place)
    try:
        with _locked(place, what):
            yield place
    finally:
        with contextlib.suppress(OSError):  # the first that is not empty ends it
            for new in made:
                new.rmdir()


def _made(folder: Path) -> list[Path]:
    """The folders that had to be made, deepest first."""
    try:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _no_folder(folder, error) from None
    return missing


def _no_folder(folder: Path, error: Exception) -> HoldfastError:
    return HoldfastError(f"out must be a folder that can be written to; got {folder} ({reason(error)})")


@contextmanager
def _locked(folder: Path, what: str) -> Iterator[None]:
    file = folder / LOCK
    while True:
        try:
            opened = file.open("a+b")
        except OSError as error:
            raise _no_folder(folder, error) from None
        with opened:
            try:
                _lock(opened)
            except OSError as error:
                if error.errno in HELD_BY_ANOTHER:
                    raise HoldfastError(f"another process is {what} in {folder}: wait for it to end") from None
            if not _still_there(opened, file):  # the process that had it has just ended and removed it
                continue
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # Windows removes no open file
                    file.unlink()
        with contextlib.suppress(OSError):
            if os.name == "nt":
                file.unlink()
        return


def _lock(opened: IO[bytes]) -> None:
    """A lock that goes with the process."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        opened.seek(0)
        msvcrt.locking(opened.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
    else:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _still_there(opened: IO[bytes], file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), file.stat())
    except OSError:
        return False


def sha256(path: Path) -> str:
    """The checksum of a file's contents, in hexadecimal digits."""
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise HoldfastError(f"{path} cannot be read: {reason(error)}") from None
