"""The queue of processes that wait to write one SQLite file: who came first is served first.

SQLite lets waiting processes try again after a while, so those that come at the right moment overtake all others. Here
a process locks one byte of the write-ahead log, at the time of its arrival, and waits until no earlier byte is locked.
SQLite locks other files, and the system frees the locks of a process that ends. The queue only keeps order: should two
ever be served at once, SQLite's own lock decides.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FIRST = 1 << 61
"""Offset of the first place; the log never gets there."""

NEXT, LATER = 0.00001, 0.0003
"""Seconds between looks: of the process that is next, and for each further one before it."""


class Queue:
    """The places of one process. It is made where the system has locks that belong to an open file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._place = 0

    @staticmethod
    def at(path: str) -> Queue | None:
        """Return a queue at a write-ahead log; None if the system has none."""
        with suppress(OSError):
            return Queue(path) if hasattr(fcntl, "F_OFD_SETLK") else None
        return None

    def close(self) -> None:
        """Leave it for good."""
        os.close(self._file)

    def wait(self, deadline: float) -> None:
        """Return when everyone who came before is gone, or at the deadline, by `time.monotonic`."""
        if self._place:
            return  # SQLite was busy all the same: another program has locked the file
        self._place = FIRST + time.monotonic_ns()
        while True:
            try:
                self._lock(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self._place, 1)
                break
            except BlockingIOError:  # somebody came in the same nanosecond
                self._place += 1
        while (before := self._before(FIRST, self._place)) and time.monotonic() < deadline:
            time.sleep(NEXT + LATER * (before - 1))

    def leave(self) -> None:
        """Let the next one go on."""
        if self._place:
            self._lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._place, 1)
            self._place = 0

    def _before(self, first: int, end: int) -> int:
        """Return how many wait at places from `first` to before `end`."""
        if first >= end:
            return 0
        kind, _, place, _, _ = LOCK.unpack(self._lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, first, end - first))
        return 0 if kind == fcntl.F_UNLCK else 1 + self._before(first, place) + self._before(place + 1, end)

    def _lock(self, command: int, kind: int, first: int, count: int) -> bytes:
        """Return the system's answer: a `LOCK`."""
        return fcntl.fcntl(self._file, command, LOCK.pack(kind, os.SEEK_SET, first, count, 0))


LOCK = struct.Struct("hhqqi")
"""Kind, origin, first byte, bytes and process of a lock."""
