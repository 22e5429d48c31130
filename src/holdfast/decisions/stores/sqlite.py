"""SQLite: one file on this machine, shared by all its processes; or a database in memory.

Write-ahead log, so that readers and the writer do not wait for each other; ``synchronous=FULL``, so that what was
acknowledged is on disk; ``BEGIN IMMEDIATE``, so that one writer at a time sees the game as it is. Processes that wait
to write stand in a queue (`Queue`).

SQLite cannot know that its files were replaced underneath it, or that its log was deleted. (It drops its locks where
the process itself opens and closes the file, say to copy it; another process that closes the file then deletes the
log.) So each transaction looks at them before it begins and before it is acknowledged: another file or another log, or
older content, is refused (`_lost`).
"""

from __future__ import annotations

import os
import random
import sqlite3
import struct
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast.decisions.stores import Address, parse_address
from holdfast.decisions.stores.sql import (
    PATIENCE,
    SCHEMA_TABLE,
    ConnectionLost,
    Rounds,
    Store,
    Transaction,
    creation,
    has_tables,
    nested,
)
from holdfast.errors import BadStore, InvalidParameter, StoreError

if sys.platform == "linux":
    import fcntl
    from socket import AF_UNIX, MSG_DONTWAIT, SO_RCVTIMEO, SOCK_DGRAM, SOL_SOCKET, socket

BUSY = 0.1
"""Seconds that SQLite itself waits for others; Python repeats this and handles Ctrl-C in between."""

LONGEST_NAME = 247
"""Bytes in a file name: systems allow 255, and SQLite appends ``-journal``."""

REASONS = {
    sqlite3.SQLITE_BUSY: "another process has kept it locked for too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file, or its folder, cannot be written",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened or made",
}

UNUSABLE = {
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
}

CLOSED = "Cannot operate on a closed database."

WORDS = {
    "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",  # a number is never given twice
    "float": "REAL",
    "compact": "WITHOUT ROWID",
    "hot": "",
    "open": "INDEXED BY holdfast_blocks_open",
    "settled": "INDEXED BY holdfast_blocks_settled",
    "keys": "INDEXED BY holdfast_blocks_keys",
    "idle": "INDEXED BY holdfast_blocks_idle",
    "requests": "INDEXED BY holdfast_asks_request",
}


@dataclass
class SqliteTransaction(Transaction):
    """A transaction on a connection."""

    connection: sqlite3.Connection
    game: int
    words = WORDS

    def fetch_each(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[tuple[Any, ...]]]:
        return [self.connection.execute(sql, values).fetchall() for sql, values in queries]

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if sql.endswith("VALUES "):
            sql += f"({', '.join('?' * len(rows[0]))})"
        self.connection.executemany(sql, [[dumps(v) if type(v) is tuple else v for v in row] for row in rows])


class SqliteStore(Store):
    """Games in a file: ``sqlite:///relative.db`` or ``sqlite:////absolute/path.db``; or in memory: ``memory:``.

    It uses one connection: the file has one writer at a time in any case.

    >>> SqliteStore("memory:").names()
    []
    """

    def __init__(self, url: str) -> None:
        address = parse_address(url)
        self.place = None if address.kind == "memory" else _place(address)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which one it was when it was first opened
        self._path, self._log_path = str(self.place), f"{self.place}-wal"
        self._log: int | None = None  # which log this connection writes
        self._queue: Queue | None = None
        self._what = ""  # what happened to the file, where it is stale
        self._stamp: tuple[int, int] | None = None  # when the file was written and its size, as its content was checked
        self._written: dict[int, int] = {}  # revisions in the file itself, without its log
        super().__init__(address.shown)

    def __del__(self) -> None:
        try:  # noqa: SIM105  # whatever state the interpreter is in: at its end even `suppress` is gone
            self._close()
        except Exception:
            pass

    def close(self) -> None:
        """Close the connection. A database in memory stays."""
        if self.place is not None:
            with self._lock:
                self._close()

    def _close(self) -> None:
        """Close the connection. The last one of any process moves its log into the file, if both are still its own."""
        connection, self._connection = self._connection, None
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()
        if connection is not None:
            if self.stale or self._lost():
                connection.interrupt()  # closing then leaves the file alone
            connection.close()

    def shrink(self) -> None:
        with self.transaction(0, writing=False) as transaction:
            connection = transaction.connection
        if self.place is not None:
            with self._lock, suppress(sqlite3.Error):  # another process is in the way: a later call does it
                connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")

    def exists(self) -> bool:
        return self.place is None or self.place.exists()

    def replaced(self) -> bool:
        if self._file is None or self.place is None:
            return False
        try:
            found = os.stat(self.place)
        except OSError:
            return True
        return self._file != (found.st_dev, found.st_ino)

    # ---- connection

    def _connected(self) -> sqlite3.Connection:
        if self.replaced():
            raise self._taken_away("was deleted or replaced")
        connection = self._opened()
        try:
            self._create_tables(connection)
            if self.place is not None:
                connection.execute(f"SELECT version FROM {SCHEMA_TABLE}").fetchall()  # now the log is there
                found = os.stat(self.place)
                self._file, self._log = (found.st_dev, found.st_ino), os.stat(self._log_path).st_ino
                self._queue = Queue.at(self._log_path)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _opened(self) -> sqlite3.Connection:
        if self.place is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with suppress(FileExistsError):
            try:
                os.close(os.open(self.place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # it holds a secret
            except FileExistsError:
                raise
            except OSError as error:
                raise StoreError(
                    f"{self.url}: the file cannot be opened or made ({error}); nothing was changed"
                ) from None
        connection = sqlite3.connect(self.place, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            self._has_tables(connection)  # before anything is written: the file may be another program's
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a file that is new; others stay as they are
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise BadStore(f"{self.url} must be on a disk that can keep a write-ahead log; it is in mode {mode!r}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        if self._has_tables(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not self._has_tables(connection):  # else another process was quicker
                for statement in creation(WORDS):
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _has_tables(self, connection: sqlite3.Connection) -> bool:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = has_tables(self.url, tables, connection)
        if not found and tables:
            raise BadStore(f"{self.url} is a database of something else: it has the table {tables[0]!r}")
        return found

    # ---- replaced files

    def _lost(self) -> str:
        """Return what happened, if the file or its log was replaced while in use, or has older content; else empty."""
        if self.place is None:
            return ""
        try:
            found, log = os.stat(self._path), os.stat(self._log_path).st_ino
        except OSError:
            return "was deleted or replaced, or its write-ahead log,"
        if self._file != (found.st_dev, found.st_ino):
            return "was deleted or replaced"
        if self._log != log:
            return "has lost its write-ahead log: it was deleted or replaced"
        stamp = found.st_mtime_ns, found.st_size
        return "" if self._stamp == stamp or self._is_newer(stamp) else "was overwritten with an older copy"

    def _is_newer(self, stamp: tuple[int, int]) -> bool:
        """Look at a file that was written: by SQLite, moving its log into it, or by someone copying another over it.

        An immutable connection reads the file without its log. SQLite closes it without releasing locks.
        """
        try:
            where = f"file:{quote(str(self.place))}?immutable=1"
            with closing(sqlite3.connect(where, uri=True)) as raw:
                written = dict(raw.execute("SELECT game, revision FROM holdfast_heads").fetchall())
        except sqlite3.OperationalError:  # all of it is in the log by now
            written = {}
        except sqlite3.Error:  # while it is being written: the next call looks again
            return True
        for game, revision in written.items():
            if isinstance(revision, int) and revision < self._written.get(game, 0):
                return False
        self._stamp, self._written = stamp, written
        return True

    def _taken_away(self, what: str) -> StoreError:
        if self._connection is None and self._file is not None and not self.stale and not self.replaced():
            return ConnectionLost(f"{self.url} was closed in the middle of the call, by a fork; nothing was changed")
        self.stale, self._what = True, what
        self._close()
        return BadStore(
            f"{self.url} {what} while it was in use; open the game again (copy and restore it with "
            "holdfast store backup and restore)"
        )

    # ---- transactions

    @contextmanager
    def transaction(
        self, game: int, rounds: Rounds = (), *, writing: bool, deadline: float | None = None
    ) -> Iterator[SqliteTransaction]:
        if getattr(self._calls, "busy", False):
            raise nested(self.url)
        if deadline is None:
            deadline = time.monotonic() + PATIENCE
        try:
            if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
                raise StoreError(f"{self.url}: other threads have kept it busy for too long; nothing was changed")
            self._calls.busy = True
            connection = self._begun(writing, deadline)
            try:
                transaction = SqliteTransaction(connection, game)
                if game:
                    transaction.start(rounds)
                yield transaction
                connection.execute("COMMIT")
                if writing and (queue := self._queue) is not None:
                    queue.leave()  # the next one starts while this one looks at its files
                if writing and self._connection is connection and (what := self._lost()):
                    raise self._taken_away(what)  # what was written to a deleted log is not acknowledged
            except BaseException as error:
                with suppress(sqlite3.Error):
                    connection.rollback()  # nothing, where it had not begun
                if isinstance(error, (sqlite3.Error, OverflowError)):
                    raise self._explained(error) from error
                raise
        finally:
            self._calls.busy = False
            if writing and (queue := self._queue) is not None and self._lock._is_owned():
                queue.leave()
            if self._lock._is_owned():
                self._lock.release()

    def _begun(self, writing: bool, deadline: float) -> sqlite3.Connection:
        """Return a connection in a transaction, as soon as others allow."""
        while True:
            try:
                if self.stale:
                    raise self._taken_away(self._what)
                connection = self._connection or self._connected()
                if what := self._lost():
                    raise self._taken_away(what)
                if writing and (queue := self._queue) is not None:
                    queue.wait(deadline)  # last: what one does in one's turn all others wait for
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                return connection
            except sqlite3.Error as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() >= deadline:
                    raise self._explained(error) from error
            time.sleep(0.001)

    def _explained(self, error: Exception) -> StoreError:
        if isinstance(error, OverflowError):
            return BadStore(f"the store is damaged: a count is beyond what can be stored ({error})")
        if str(error) == CLOSED:
            return ConnectionLost(f"{self.url} was closed in the middle of the call, by a fork; nothing was changed")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in UNUSABLE:
            return BadStore(f"{self.url} cannot be used: {UNUSABLE[code]} ({error})")
        if str(error).startswith("no such"):
            return BadStore(f"{self.url} cannot be used: its tables are not Holdfast's ({error})")
        if code == sqlite3.SQLITE_CONSTRAINT:
            return BadStore(f"the store is damaged: {error}; nothing was changed")
        reason = REASONS.get(code, "SQLite reports an error")
        return StoreError(f"{self.url}: {reason} ({error}); nothing was changed")


def _place(address: Address) -> Path:
    """Return the absolute path of an address, which stays right if the process changes its directory."""
    try:
        place = Path(os.path.abspath(address.path))
        longest = max(len(os.fsencode(part)) for part in place.parts)
    except OSError as error:
        raise StoreError(f"{address.shown}: the working folder is gone ({error}); nothing was changed") from None
    except UnicodeEncodeError:
        raise InvalidParameter("url", "must name a file that this system can have", address.shown) from None
    if longest > LONGEST_NAME:
        raise InvalidParameter("url", f"must name files and folders of at most {LONGEST_NAME} bytes", address.shown)
    return place


# The queue of processes that wait to write one SQLite file: who came first is served first.
#
# SQLite lets waiting processes try again after a while, so those that come at the right moment overtake all others.
# Here a process locks bytes of the write-ahead log: the first one says when it came, their number at which address it
# can be rung. It waits until no earlier byte is locked; who leaves rings for the next one. SQLite locks other files,
# and the system frees the locks of a process that ends. The queue only keeps order: should two ever be served at once,
# SQLite's own lock decides.

FIRST, END = 1 << 61, 1 << 62
"""The first place, as an offset, and the end of all places; the log never gets there."""

LOOK = struct.pack("ll", 0, 4000)
"""Seconds and microseconds after which one looks that was not rung for: a process that was killed does not ring."""


class Queue:
    """The places of one process. It is made where the system has locks that belong to an open file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._bell = socket(AF_UNIX, SOCK_DGRAM)
        self._shut = weakref.finalize(self, _shut, self._bell, self._file)  # also where nobody closes it
        self._bell.setsockopt(SOL_SOCKET, SO_RCVTIMEO, LOOK)  # `settimeout` would poll before each call
        self._number = random.SystemRandom().randrange(1, 1 << 31)
        self._bell.bind(_address(self._number))
        self._place = 0

    @staticmethod
    def at(path: str) -> Queue | None:
        """Return a queue at a write-ahead log; None where the system lacks what it needs."""
        with suppress(OSError):
            return Queue(path) if sys.platform == "linux" else None
        return None

    def close(self) -> None:
        """Leave it for good."""
        self._shut()

    def wait(self, deadline: float) -> None:
        """Return when everyone who came before is gone, or at the deadline, by `time.monotonic`."""
        if self._place:
            return  # SQLite was busy all the same: another program has locked the file
        self._place = FIRST + time.monotonic_ns()
        place = LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, self._place, self._number, 0)
        with suppress(OSError):  # a fork has closed it in the middle of the call
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, place)
            while self._first_before(self._place) and time.monotonic() < deadline:
                with suppress(BlockingIOError):
                    self._bell.recv(1)

    def leave(self) -> None:
        """Let the next one go on."""
        if self._place:
            place = LOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, self._place, self._number, 0)
            self._place = 0
            with suppress(OSError):  # closed as above; or the next one is elsewhere, or was rung for often enough
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, place)
                if number := self._first_before(END):
                    self._bell.sendto(b"", MSG_DONTWAIT, _address(number))
                    os.sched_yield()  # else it may have to wait for this processor

    def _first_before(self, end: int) -> int:
        """Return the number of the first one in the queue, if it came before `end`; else 0."""
        places = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, FIRST, end - FIRST, 0)
        kind, _, _, number, _ = LOCK.unpack(fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, places))
        return 0 if kind == fcntl.F_UNLCK else int(number)


LOCK = struct.Struct("hhqqi")
"""Kind, origin, first byte, bytes and process of a lock."""


def _shut(bell: socket, file: int) -> None:
    bell.close()
    os.close(file)


def _address(number: int) -> bytes:
    """Return an address of this machine that is in no folder."""
    return b"\0holdfast %d" % number
