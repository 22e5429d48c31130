"""PostgreSQL: games shared by several machines.

Every change locks the row of the game's head, so that one writer at a time sees the game as it is. What a change reads
first is asked for in one go, and what it writes is sent in one go with the commit: two journeys to the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from math import isfinite
from threading import local
from typing import Any, get_args, get_type_hints

from holdfast.decisions.rows import KEYS, Arm, BlockRow, Head, Row, Tell
from holdfast.decisions.stores.address import parse_address
from holdfast.decisions.stores.forks import never_within
from holdfast.decisions.stores.schema import MIGRATIONS, TABLES, VERSION_TABLE, Migration
from holdfast.decisions.stores.sql import (
    TELLS_IN,
    SqlRows,
    SqlStore,
    insert_into,
    row_of,
    select_from,
    spans,
    update_of,
)
from holdfast.decisions.stores.store import ConnectionLost, Wanted, gone
from holdfast.errors import BadStore, MissingExtra, StoreError

try:
    import psycopg
    from psycopg import errors as failures
except ImportError as error:
    raise MissingExtra("a store in PostgreSQL needs the extra 'store': pip install 'holdfast[store]'") from error

SESSION = {
    "synchronous_commit": "on",  # what is acknowledged is on the server's disk, whatever its default
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",  # a lost client's lock is let go of
    "default_transaction_isolation": "read\\ committed",
}

LINE = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""How soon a cut line is noticed; a URL may say otherwise."""

TYPES = {int: "bigint", float: "double precision", str: "text"}

MIGRATING = 0x686F6C64
"""The advisory lock of whoever brings the tables up to date."""

PASSING = (failures.DeadlockDetected, failures.SerializationFailure, failures.AdminShutdown, failures.CrashShutdown)
LASTING = (failures.DiskFull, failures.InvalidPassword, failures.InvalidCatalogName, failures.LockNotAvailable)


NOT_OURS = (failures.UndefinedTable, failures.UndefinedColumn)


class PostgresSession:
    """A connection inside a transaction; what is written waits until something is read.

    Statements are put together here and sent as one text: a journey for each statement, or psycopg's pipeline, which
    waits a little for each, would cost more than all of them take on the server.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._cursor = psycopg.ClientCursor(connection)
        self._waiting: list[str] = []

    def fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""
        return self.read_together([(sql, values)])[0]

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Do something, later."""
        self._waiting.append(self._text(sql, values))

    def insert(self, kind: Any, rows: Sequence[Row]) -> None:
        """New rows of one table."""
        before, values, _ = insert_into(kind).partition("VALUES ")
        self._waiting.append(f"{before}{values}{self._groups(rows)}")

    def update(self, kind: Any, columns: tuple[str, ...], many: Sequence[Sequence[Any]]) -> None:
        """Other values in some columns of rows."""
        if len(many) == 1:
            self.write(update_of(kind, columns), many[0])
        else:
            before, after = _update_each(kind, columns)
            self._waiting.append(f"{before}{self._groups(many)}{after}")

    def read_together(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[tuple[Any, ...]]]:
        """Write what waits and read what several queries find, in one journey."""
        written, self._waiting = self._waiting, []
        texts = [*written, *(self._text(sql, values) for sql, values in queries)]
        self._cursor.execute("; ".join(texts))
        found = []
        for number in range(len(texts)):
            if number >= len(written):
                found.append(self._cursor.fetchall())
            self._cursor.nextset()
        return found

    def by(self, index: str) -> str:
        """Nothing: the server knows how many rows there are."""
        return ""

    def commit(self) -> None:
        """Write what waits, for good."""
        self.write("COMMIT")
        self.read_together([])

    def _text(self, sql: str, values: Sequence[Any]) -> str:
        return sql.replace("?", "{}").format(*map(self._literal, values)) if values else sql

    def _groups(self, rows: Iterable[Sequence[Any]]) -> str:
        """Rows between brackets."""
        return ", ".join(f"({', '.join(map(self._literal, values))})" for values in rows)

    def _literal(self, value: Any) -> str:
        """A value in SQL. Finite numbers and plain words, nearly all there is to write, need no driver's detour."""
        kind = type(value)
        if kind is int or (kind is float and isfinite(value)):
            return repr(value)
        if kind is str and value.isascii() and not ("'" in value or "\\" in value or "\0" in value):
            return f"'{value}'"
        return "NULL" if value is None else self._cursor.mogrify("%s", (value,))


class PostgresStore(SqlStore):
    """Games in a PostgreSQL database: ``postgresql://user@host:port/database``.

    As many connections as there are threads in a call at once.
    """

    words = {  # noqa: RUF012  # never changed
        "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "float": "DOUBLE PRECISION",
        "compact": "",
        "hot": "WITH (fillfactor = 50)",
    }

    def __init__(self, url: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        address = parse_address(url)
        super().__init__(address.shown, migrations)
        self._given = url
        self._calls = local()
        self._idle: list[psycopg.Connection[Any]] = []
        self._process = 0  # whose connections they are: those from before a fork are left alone
        self._line: dict[str, Any] = {**LINE, **address.conninfo}
        settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
        self._line["options"] = f"{self._line.get('options', '')} {settings}".strip()

    def is_shared_as(self) -> tuple[Any, ...]:
        """By the same words, the same server."""
        return self._given, *(place for place in sorted(os.environ.items()) if place[0].startswith("PG"))

    def close(self) -> None:
        """Close the connections that no call uses."""
        self._let_go()

    def _let_go(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            if self._process == os.getpid():
                connection.close()

    def _idle_connection(self) -> psycopg.Connection[Any] | None:
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(**self._line, autocommit=True)
        try:
            self._bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _bring_up_to_date(self, connection: psycopg.Connection[Any]) -> None:
        if self._version(connection) == len(self._migrations):
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            session = PostgresSession(connection)
            self.migrate(session, self._version(connection))
            session.read_together([])

    def _version(self, connection: psycopg.Connection[Any]) -> int | None:
        query = "SELECT 1 FROM pg_tables WHERE schemaname = ANY(current_schemas(false)) AND tablename = %s"
        if connection.execute(query, (VERSION_TABLE,)).fetchone() is None:
            return None
        row = connection.execute(f"SELECT version FROM {VERSION_TABLE}").fetchone()
        return 0 if row is None else int(row[0])

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[PostgresSession]:
        with never_within(self._calls, self.url):
            known = self._idle_connection()
            try:
                connection = known or self._connect()
            except psycopg.Error as error:
                raise self._explained(error) from error
            try:
                session = PostgresSession(connection)
                session.write("BEGIN" if writing else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield session
                session.commit()
            except BaseException as error:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                if known is not None and isinstance(error, failures.UndefinedTable):
                    connection.close()  # somebody took the tables away: a new one makes them
                    raise ConnectionLost(f"{self.url}: its tables are gone ({str(error).strip()})") from error
                if isinstance(error, psycopg.Error):
                    raise self._explained(error) from error
                raise
            finally:
                self._put_by(connection)

    def _put_by(self, connection: psycopg.Connection[Any]) -> None:
        """For the next call, which must find a clean one."""
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            with suppress(psycopg.Error):
                connection.close()
            self.close()  # whatever happened to it, others may have met with

    def _explained(self, error: psycopg.Error) -> StoreError:
        lost = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, *PASSING))
        if lost and not isinstance(error, LASTING):
            return ConnectionLost(f"{self.url} cannot be reached ({str(error).strip()})")
        if isinstance(error, failures.DiskFull):
            return StoreError(f"{self.url}: the server's disk is full ({str(error).strip()}); nothing was changed")
        if isinstance(error, failures.LockNotAvailable):
            return StoreError(f"{self.url}: another process has kept the game locked for too long; nothing was changed")
        if isinstance(error, NOT_OURS):
            return BadStore(f"{self.url} cannot be used: its tables are not Holdfast's ({str(error).strip()})")
        return StoreError(f"{self.url}: {str(error).strip()}; nothing was changed")

    def _begin(self, session: Any, player: int, *, locked: bool, wanted: Wanted) -> SqlRows:
        queries: list[tuple[str, Sequence[Any]]] = [
            (select_from(Head) + "WHERE player = ?" + (" FOR UPDATE" if locked else ""), (player,))
        ]
        several = len(wanted) > 1 or any(len(rounds) > 1 for rounds in wanted.values())
        among, places = ("= ?", list(wanted)) if len(wanted) == 1 else ("= ANY(?)", [_array(wanted)])
        if wanted:
            queries.append((select_from(BlockRow) + f"WHERE player = ? AND number {among}", (player, *places)))
            queries.append(_tells_at(player, wanted))
        elif locked:  # an ask is about the current block
            current = f"(SELECT begun FROM {TABLES[Head]} WHERE player = ?)"
            queries.append((select_from(BlockRow) + f"WHERE player = ? AND number = {current}", (player, player)))
        if several:  # some block may be settled, and its arm with it
            theirs = f"(SELECT arm FROM {TABLES[BlockRow]} WHERE player = ? AND number {among})"
            queries.append((select_from(Arm) + f"WHERE player = ? AND arm IN {theirs}", (player, player, *places)))
        heads, *others = session.read_together(queries)
        if not heads:
            raise gone(player, self.url)
        rows, found = SqlRows(session, row_of(Head, heads[0])), iter(others)
        if locked:
            rows.read_along(BlockRow, next(found))
        if wanted:
            rows.tells_read_along(wanted, next(found))
        if several:
            rows.read_along(Arm, next(found))
        return rows


@cache
def _update_each(kind: Any, columns: tuple[str, ...]) -> tuple[str, str]:
    """What stands before and after values and keys of several rows."""
    types = {name: next(iter(get_args(hint)), hint) for name, hint in get_type_hints(kind).items()}
    changes = ", ".join(f"{name} = each.{name}::{TYPES[types[name]]}" for name in columns)  # all of it may be NULL
    same = " AND ".join(f"{TABLES[kind]}.{name} = each.{name}" for name in KEYS[kind])
    names = ", ".join((*columns, *KEYS[kind]))
    return f"UPDATE {TABLES[kind]} SET {changes} FROM (VALUES ", f") AS each ({names}) WHERE {same}"


def _tells_at(player: int, wanted: Wanted) -> tuple[str, Sequence[Any]]:
    """A query for the tells of some decisions, each span of which is looked up by itself: a join might read all."""
    each = spans(wanted)
    if len(each) == 1:
        return select_from(Tell) + TELLS_IN, (player, *each[0])
    places = TELLS_IN.replace("block = ?", "block = w.b").replace("BETWEEN ? AND ?", "BETWEEN w.f AND w.l")
    one = select_from(Tell) + places.replace("LIMIT ?", "LIMIT w.n")
    columns = [_array(column) for column in zip(*each, strict=True)]
    arrays = ", ".join(["?::bigint[]"] * len(columns))
    return f"SELECT t.* FROM unnest({arrays}) AS w (b, f, l, n) CROSS JOIN LATERAL ({one}) AS t", (*columns, player)


def _array(numbers: Iterable[int]) -> str:
    """Whole numbers as text that the server reads as an array."""
    return "{" + ",".join(map(str, numbers)) + "}"
