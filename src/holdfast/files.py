"""Atomic files, and folders that one process uses at a time."""

from __future__ import annotations

import contextlib
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
"""Name pattern of a file until `whole_file` completes it."""
STALE = 15 * 60
"""Seconds without a write after which a draft counts as abandoned by a killed process."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends without an error.

    No reader sees half a file, not even after a power cut. Threads and processes may write the same path at once: the
    last to finish wins. A full disk, or any other obstacle, is a `HoldfastError` with the file and the
    reason; what was at `path` before is then still there. Drafts that killed processes left in the folder are removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a.txt")) as out:
    ...         _ = out.write(b"all of it")
    ...     Path(folder, "a.txt").read_text()
    'all of it'
    """
    target = Path(path)
    if not target.name or "\0" in target.name:
        raise InvalidParameter("path", "must name a file", str(path))
    draft = target.with_name(DRAFTS.replace("*", secrets.token_hex(8)))
    try:
        opened = draft.open("xb")
    except (OSError, ValueError) as error:
        raise _cannot_write(target, error) from None
    try:
        with opened:
            _remove_stale_drafts(target.parent, os.fstat(opened.fileno()).st_mtime)
            yield opened
            opened.flush()
            os.fsync(opened.fileno())  # the name must not reach the disk before the data
        os.replace(draft, target)
        _sync_folder(target.parent)
    except HoldfastError:
        raise
    except OSError as error:
        raise _cannot_write(target, error) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def write_whole(path: str | Path, data: bytes) -> Path:
    """Write `data` to `path` as `whole_file` does."""
    with whole_file(path) as out:
        out.write(data)
    return Path(path)


def _cannot_write(target: Path, error: Exception) -> HoldfastError:
    return HoldfastError(f"{target} cannot be written: {reason(error)}")


def _remove_stale_drafts(folder: Path, now: float) -> None:
    """Remove stale drafts; `now` is by the file system's clock, which may differ from this machine's."""
    for draft in folder.glob(DRAFTS):
        with contextlib.suppress(OSError):
            if now - draft.stat().st_mtime > STALE:
                draft.unlink()


def remove_drafts(folder: Path) -> None:
    """Remove what killed processes left half-written in a claimed folder, at any depth."""
    for draft in folder.rglob(DRAFTS):
        draft.unlink(missing_ok=True)


@contextmanager
def reported(place: Path) -> Iterator[None]:
    """Raise what the system refuses to do with a file or folder as a `HoldfastError` of one line."""
    try:
        yield
    except OSError as error:
        raise HoldfastError(f"{error.filename or place} cannot be used: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Return why a file cannot be read or written, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _sync_folder(folder: Path) -> None:
    """Make the new name durable too. Some systems (Windows) and file systems do that for files only."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def claimed(folder: str | Path, what: str) -> Iterator[Path]:
    """Create the folder if need be, and lock it until the end of the block or of this process, however it ends.

    `what` describes the other process, if there is one: "running a study". A folder that was created here and has
    nothing in it is removed. On a file system without locks no process is kept out.
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
    """Return the folders that had to be created, deepest first."""
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
    from filelock import FileLock, Timeout

    file = folder / LOCK
    lock = FileLock(file, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0.1, poll_interval=0.02)  # a process that ends just now removes the file
    except Timeout:
        raise HoldfastError(f"another process is {what} in {folder}: wait for it to end") from None
    except OSError as error:
        if not file.exists():
            raise _no_folder(folder, error) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
        lock.release()


def sha256(path: Path) -> str:
    """Return the checksum of a file's contents, in hexadecimal digits."""
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise HoldfastError(f"{path} cannot be read: {reason(error)}") from None
