"""SQLite: one file on this machine, shared by all its processes.

Write-ahead log, so that readers and the writer do not wait for each other; ``synchronous=FULL``, so that what was
acknowledged is on disk; ``BEGIN IMMEDIATE``, so that one writer at a time sees the game as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from holdfast.decisions.rows import Arm, BlockRow, Head, Row
from holdfast.decisions.stores.address import parse_address
from holdfast.decisions.stores.forks import STORE, alone, close_before_forks, lock_across_forks
from holdfast.decisions.stores.schema import MIGRATIONS, VERSION_TABLE, Migration
from holdfast.decisions.stores.sql import SqlRows, SqlStore, insert_into, row_of, select_from, update_of
from holdfast.decisions.stores.store import ConnectionLost, Wanted, gone
from holdfast.errors import BadStore, StoreError

BUSY = 60.0
"""Seconds to wait for other processes."""

REASONS = {
    sqlite3.SQLITE_BUSY: "another process has kept it locked for too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file, or its folder, cannot be written",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened or made",
}

USELESS = {
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
}


CLOSED = "Cannot operate on a closed database."


class SqliteSession:
    """A connection inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        return self._connection.execute(sql, values).fetchall()

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Do something."""
        self._connection.execute(sql, values)

    def insert(self, kind: Any, rows: Sequence[Row]) -> None:
        """New rows of one table."""
        self._connection.executemany(insert_into(kind), map(tuple, rows))  # tuples with names are bound more slowly

    def update(self, kind: Any, columns: tuple[str, ...], many: Sequence[Sequence[Any]]) -> None:
        """Other values in some columns of rows."""
        self._connection.executemany(update_of(kind, columns), many)

    def by(self, index: str) -> str:
        """What makes a query use an index."""
        return f"INDEXED BY {index} "


class SqliteStore(SqlStore):
    """Games in a file: ``sqlite:///relative.db`` or ``sqlite:////absolute/path.db``.

    One connection: the file has one writer at a time in any case.
    """

    words = {  # noqa: RUF012  # never changed
        "serial": "INTEGER PRIMARY KEY",
        "float": "REAL",
        "compact": "WITHOUT ROWID",
        "hot": "",
    }

    def __init__(self, url: str, migrations: Sequence[Migration] = MIGRATIONS, busy: float = BUSY) -> None:
        address = parse_address(url)
        super().__init__(address.shown, migrations)
        self.path = Path(address.path)
        try:
            self.place = Path(os.path.abspath(self.path))  # wherever the process goes
        except OSError as error:
            raise StoreError(f"{self.path}: the working folder is gone ({error}); nothing was changed") from None
        self._busy = busy
        self._lock = lock_across_forks(STORE)
        close_before_forks(self)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which one it was when it was first opened

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def is_shared_as(self) -> tuple[Any, ...]:
        """By the same words, the same file."""
        return self.url, self.place

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.place.exists()

    def replaced(self) -> bool:
        """Whether the file that was in use is there no more."""
        return self._file is not None and self._file != self._file_now()

    def _connected(self) -> sqlite3.Connection:
        if self.replaced():
            raise BadStore(f"{self.path} was deleted or replaced while it was in use; open the player anew")
        if self._connection is not None:
            return self._connection
        connection = sqlite3.connect(self.place, timeout=self._busy, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            self._version(connection)  # before anything is written: the file may be another program's
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise BadStore(f"{self.path} must be on a disk that can keep a write-ahead log; it is in mode {mode!r}")
            self._bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, self._file_now()
        return connection

    def _file_now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.place)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        if self._version(connection) == len(self._migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            self.migrate(SqliteSession(connection), self._version(connection))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _version(self, connection: sqlite3.Connection) -> int | None:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if VERSION_TABLE not in tables:
            if tables:
                raise BadStore(f"{self.path} is a database of something else: it has the table {tables[0]!r}")
            return None
        found = connection.execute(f"SELECT version FROM {VERSION_TABLE}").fetchall()
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise BadStore(f"{self.path} is damaged: its table {VERSION_TABLE!r} must have one version")
        return found[0][0]

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[SqliteSession]:
        with alone(self._lock, self.url):
            try:
                connection = self._connected()
            except sqlite3.Error as error:
                raise self._explained(error) from error
            try:
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield SqliteSession(connection)
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    connection.rollback()  # nothing, where it had not begun
                if isinstance(error, sqlite3.Error):
                    raise self._explained(error) from error
                raise

    def _explained(self, error: sqlite3.Error) -> StoreError:
        if str(error) == CLOSED:
            return ConnectionLost(f"{self.path} was closed in the middle of the call, by a fork; nothing was changed")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in USELESS:
            return BadStore(f"{self.path} cannot be used: {USELESS[code]} ({error})")
        if str(error).startswith("no such"):
            return BadStore(f"{self.path} cannot be used: its tables are not Holdfast's ({error})")
        reason = REASONS.get(code, "SQLite reports an error")
        return StoreError(f"{self.path}: {reason} ({error}); nothing was changed")

    def _begin(self, session: Any, player: int, *, locked: bool, wanted: Wanted) -> SqlRows:
        found = session.fetch(select_from(Head) + "WHERE player = ?", (player,))
        if not found:
            raise gone(player, self.url)
        rows = SqlRows(session, row_of(Head, found[0]))
        blocks = rows.read_near(BlockRow, "number", wanted)  # others are read when they are asked for
        rows.read_near(Arm, "arm", {block.arm for block in blocks})
        return rows
