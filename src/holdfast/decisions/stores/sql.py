"""What the SQL stores share: rows read and written through a session, each change one transaction.

Inside a transaction rows are kept as they were read and as they are to be written; only the columns that changed are
written, all together at the end. So an ask or a tell inside a block is one read of a few small rows and one write of a
few small rows, however much a caller changes on the way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Protocol, cast, get_type_hints

from holdfast.decisions.rows import (
    KEY_ENDS,
    KEYS,
    MOST_TOGETHER,
    Arm,
    Ask,
    BlockRow,
    Fresh,
    Head,
    Identity,
    Row,
    RowKey,
    State,
    Tell,
)
from holdfast.decisions.stores.schema import MIGRATIONS, TABLES, VERSION_TABLE, Migration
from holdfast.decisions.stores.store import NOTHING_WANTED, R, Rows, Store, Wanted
from holdfast.errors import BadStore

SPREAD = 4
"""Rows are read together when at least one in so many is asked for."""

OPEN, SETTLED, REQUESTS = "holdfast_blocks_open", "holdfast_blocks_place", "holdfast_asks_request"
"""Indexes. SQLite supposes that a player has ten rows, and would read all of them rather than use one."""

LISTED = (Ask, Tell)
"""Rows that are found in lists and never got by their key."""

Key = tuple[Any, ...]

TELLS_IN = "WHERE player = ? AND block = ? AND first BETWEEN ? AND ? ORDER BY first DESC LIMIT ?"


def spans(wanted: Wanted) -> list[tuple[int, int, int, int]]:
    """Values for `TELLS_IN`: block, first, last and most rows, to read those with all rounds that are wanted."""
    found = []
    for block, rounds in wanted.items():
        first, last = min(rounds), max(rounds)
        before = MOST_TOGETHER - 1  # a row that begins so early may reach a round
        if len(rounds) == 1 or last - first >= SPREAD * len(rounds):
            found += [(block, number - before, number, 1) for number in rounds]
        else:
            found.append((block, first - before, last, before + last - first + 1))
    return found


class Session(Protocol):
    """A connection inside a transaction. In SQL, ``?`` stands for a value."""

    def fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Do something; it may wait until the next `fetch` or the end, and so may the next two."""

    def insert(self, kind: Any, rows: Sequence[Row]) -> None:
        """New rows of one table."""

    def update(self, kind: Any, columns: tuple[str, ...], many: Sequence[Sequence[Any]]) -> None:
        """Other values in some columns of rows: for each row these values and its key."""

    def by(self, index: str) -> str:
        """What makes a query use an index, where that must be said."""


@cache
def select_from(kind: Any) -> str:
    """The beginning of a query for rows."""
    return f"SELECT {', '.join(kind._fields)} FROM {TABLES[kind]} "


@cache
def _select_one(kind: Any) -> str:
    return select_from(kind) + "WHERE " + " AND ".join(f"{name} = ?" for name in KEYS[kind])


@cache
def insert_into(kind: Any) -> str:
    """A new row."""
    return f"INSERT INTO {TABLES[kind]} ({', '.join(kind._fields)}) VALUES ({', '.join('?' * len(kind._fields))})"


@cache
def update_of(kind: Any, columns: tuple[str, ...]) -> str:
    """A change of some columns of a row."""
    changes = ", ".join(f"{name} = ?" for name in columns)
    return f"UPDATE {TABLES[kind]} SET {changes} WHERE {' AND '.join(f'{name} = ?' for name in KEYS[kind])}"


_seen_types: dict[Any, set[tuple[type, ...]]] = {kind: set() for kind in KEYS}


def row_of(kind: Any, values: Sequence[Any]) -> Any:
    """A row that was read: SQLite keeps whatever somebody writes into a column, so types are looked at."""
    types = tuple(map(type, values))
    if types not in _seen_types[kind]:
        for name, hint in get_type_hints(kind).items():
            value = values[kind._fields.index(name)]
            if not isinstance(value, hint) or isinstance(value, bool):
                raise BadStore(f"the store is damaged: {name} in {TABLES[kind]} is {value!r}")
        _seen_types[kind].add(types)
    return kind._make(values)


def _by_key(kind: Any, rows: Iterable[Any]) -> dict[Key, Any]:
    """Rows of one table, by what tells them apart in their game."""
    end = KEY_ENDS[kind]
    return {row[1:end]: row for row in rows}


class SqlRows(Rows):
    """The rows of one game in a transaction."""

    def __init__(self, session: Session, head: Head) -> None:
        """Start from a head, which is locked where the transaction changes anything."""
        super().__init__(head)
        self._session = session
        self._player = head.player
        self._known: dict[type, dict[Key, Any]] = {kind: {} for kind in KEYS}
        self._known[Head][()] = head
        self._tells: dict[int, list[Tell]] = {}
        self._new: dict[type, dict[Key, Any]] = {kind: {} for kind in KEYS}
        self._changed: dict[RowKey, dict[str, Any]] = {}

    def get(self, kind: type[R], *key: Any) -> R | None:
        """The row with this key."""
        known = self._known[kind]
        if key not in known:
            one = _select_one(cast(Any, kind))
            found = self._session.fetch(one, (self._player, *key))  # what waits to be written has other keys
            known[key] = row_of(kind, found[0]) if found else None
        row = known[key]
        changes = self._changed.get((kind, key))
        return cast("R | None", row._replace(**changes) if changes and row is not None else row)

    def add(self, *rows: Row) -> None:
        """New rows of one table."""
        if rows:
            kind = type(rows[0])
            new = _by_key(kind, rows)
            self._new[kind].update(new)
            if kind not in LISTED:
                self._known[kind].update(new)

    def set(self, kind: type[Row], *key: Any, **values: Any) -> None:
        """Other values in some columns."""
        new = self._new[kind]
        if key in new:
            new[key] = self._known[kind][key] = new[key]._replace(**values)
        elif (changes := self._changed.get((kind, key))) is not None:
            changes.update(values)
        else:
            self._changed[kind, key] = values

    def flush(self) -> None:
        """Write what has changed."""
        for kind, new in self._new.items():
            if new:
                self._session.insert(kind, list(new.values()))
                self._new[kind] = {}
        updates: dict[tuple[type, tuple[str, ...]], list[Any]] = {}
        for (kind, key), changes in self._changed.items():
            updates.setdefault((kind, tuple(changes)), []).append((*changes.values(), self._player, *key))
            self._known[kind].pop(key, None)
        self._changed = {}
        for (kind, names), values in updates.items():
            self._session.update(kind, names, values)

    def read_along(self, kind: Any, found: Iterable[Sequence[Any]]) -> list[Any]:
        """Know rows that were read."""
        rows = [row_of(kind, values) for values in found]
        if kind not in LISTED:
            self._known[kind].update(_by_key(kind, rows))
        return rows

    def read_near(self, kind: Any, column: str, numbers: Collection[int]) -> list[Any]:
        """Read rows by one query, and perhaps some between them, if there are several near each other."""
        if len(numbers) < 2 or max(numbers) - min(numbers) >= SPREAD * len(numbers):
            return []
        where = f"WHERE player = ? AND {column} BETWEEN ? AND ?"
        return self._find(kind, where, self._player, min(numbers), max(numbers))

    def tells_read_along(self, blocks: Iterable[int], found: Iterable[Sequence[Any]]) -> None:
        """Know all that was told of what is wanted of some blocks."""
        self._tells = {block: [] for block in blocks}
        for tell in self.read_along(Tell, found):
            self._tells[tell.block].append(tell)

    def _find(self, kind: Any, rest: str, *values: Any, by: str = "") -> list[Any]:
        self.flush()
        begins = select_from(kind) + (self._session.by(by) if by else "")
        return self.read_along(kind, self._session.fetch(begins + rest, values))

    def arms(self) -> list[Arm]:
        """All arms."""
        return self._find(Arm, "WHERE player = ? ORDER BY arm", self._player)

    def open_blocks(self) -> list[BlockRow]:
        """Blocks that are not settled."""
        return self._find(BlockRow, "WHERE player = ? AND place IS NULL ORDER BY number", self._player, by=OPEN)

    def due_blocks(self, mark: float) -> list[BlockRow]:
        """Open blocks whose patience has run out."""
        where = "WHERE player = ? AND place IS NULL AND due <= ? ORDER BY due, number"
        return self._find(BlockRow, where, self._player, mark, by=OPEN)

    def earliest_due(self) -> float | None:
        """When the first open block is due."""
        where = "WHERE player = ? AND place IS NULL AND due IS NOT NULL ORDER BY due, number LIMIT 1"
        found = self._find(BlockRow, where, self._player, by=OPEN)
        return found[0].due if found else None

    def settled_at(self, place: int) -> BlockRow | None:
        """The block settled as the how-manieth."""
        found = self._find(BlockRow, "WHERE player = ? AND place = ?", self._player, place, by=SETTLED)
        return found[0] if found else None

    def blocks(self, after: int, limit: int, *, settled_only: bool = False) -> list[BlockRow]:
        """Blocks in order."""
        settled = "AND place IS NOT NULL " if settled_only else ""
        where = f"WHERE player = ? AND number > ? {settled}ORDER BY number LIMIT ?"
        return self._find(BlockRow, where, self._player, after, limit)

    def latest_blocks(self, limit: int) -> list[BlockRow]:
        """The last blocks."""
        return self._find(BlockRow, "WHERE player = ? ORDER BY number DESC LIMIT ?", self._player, limit)[::-1]

    def asks_of(self, block: int) -> list[Ask]:
        """What was handed out of a block."""
        return self._find(Ask, "WHERE player = ? AND block = ? ORDER BY first", self._player, block)

    def asks_under(self, request: str) -> list[Ask]:
        """What was handed out under a request."""
        where = "WHERE player = ? AND request = ? ORDER BY block, first"
        return self._find(Ask, where, self._player, request, by=REQUESTS)

    def tells_of(self, block: int) -> list[Tell]:
        """What was told of a block."""
        return self._find(Tell, "WHERE player = ? AND block = ? ORDER BY first", self._player, block)

    def tells_at(self, block: int, rounds: Sequence[int]) -> list[Tell]:
        """What was told of some rounds of a block."""
        if block in self._tells:
            return self._tells[block]
        return [tell for span in spans({block: rounds}) for tell in self._find(Tell, TELLS_IN, self._player, *span)]

    def forget(self, block: int) -> None:
        """Remove asks and tells."""
        self.flush()
        for kind in (Ask, Tell):
            where = f"DELETE FROM {TABLES[kind]} WHERE player = ? AND block = ?"
            self._session.write(where, (self._player, block))

    def remove(self, number: int) -> None:
        """Remove a block."""
        self.flush()
        self._session.write(f"DELETE FROM {TABLES[BlockRow]} WHERE player = ? AND number = ?", (self._player, number))
        self._known[BlockRow].pop((number,), None)


class SqlStore(Store):
    """A store behind connections of this process, which are opened when needed and opened anew when lost."""

    words: dict[str, str]
    """What stands for the words in braces in a migration."""

    def __init__(self, url: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self.url = url
        self._migrations = migrations

    def __del__(self) -> None:
        with suppress(Exception):  # whatever state the interpreter is in
            self._let_go()

    @abstractmethod
    def _let_go(self) -> None:
        """Close connections, without a lock: whoever removes a store may hold others."""

    def is_shared_as(self) -> tuple[Any, ...]:
        """What two stores have in common that need not be two."""
        return (self.url,)

    def replaced(self) -> bool:
        """Whether what was in use is there no more, so that it must be opened anew."""
        return False

    @abstractmethod
    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Session]:
        """A session in a transaction, which nobody else in this process uses."""
        yield  # type: ignore[misc]  # never reached: it makes a generator

    @abstractmethod
    def _begin(self, session: Any, player: int, *, locked: bool, wanted: Wanted) -> SqlRows:
        """The rows of a game, its head read."""

    def exists(self) -> bool:
        """Whether there is anything at the URL; asked before reading, so that reading makes nothing."""
        return True

    def migrate(self, session: Session, version: int | None) -> None:
        """Bring the tables up to date; `version` is None where there are none."""
        done = version or 0
        if done > len(self._migrations):
            raise BadStore(
                f"url must be of a store that this version of Holdfast can read, up to schema {len(self._migrations)}; "
                f"this one has schema {done}: a newer Holdfast wrote it"
            )
        if version is None:
            session.write(f"CREATE TABLE {VERSION_TABLE} (version BIGINT NOT NULL)")
            session.write(f"INSERT INTO {VERSION_TABLE} (version) VALUES (?)", (0,))
        for migration in self._migrations[done:]:
            for statement in migration:
                session.write(statement.format(**self.words))
        if done < len(self._migrations):
            session.write(f"UPDATE {VERSION_TABLE} SET version = ?", (len(self._migrations),))

    def names(self) -> list[str]:
        """All players."""
        if not self.exists():
            return []
        with self._transaction(writing=False) as session:
            rows = session.fetch(f"SELECT name FROM {TABLES[Identity]}", ())
        return sorted(str(name) for (name,) in rows)

    def find(self, name: str) -> Identity | None:
        """The player of this name."""
        if not self.exists():
            return None
        with self._transaction(writing=False) as session:
            return self._named(session, name)

    def _named(self, session: Session, name: str) -> Identity | None:
        found = session.fetch(select_from(Identity) + "WHERE name = ?", (name,))
        return row_of(Identity, found[0]) if found else None

    def create(self, fresh: Sequence[Fresh]) -> list[Identity]:
        """Begin games."""
        made = []
        with self._transaction(writing=True) as session:
            for game in fresh:
                found = self._named(session, game.identity.name)
                made.append(found if found is not None else self._created(session, game))
        return made

    def _created(self, session: Session, game: Fresh) -> Identity:
        columns = Identity._fields[1:]
        marks = ", ".join("?" * len(columns))
        names = f"{TABLES[Identity]} ({', '.join(columns)})"
        taken = session.fetch(
            f"INSERT INTO {names} VALUES ({marks}) ON CONFLICT (name) DO NOTHING RETURNING player", game.identity[1:]
        )
        if not taken:  # somebody else was quicker
            other = self._named(session, game.identity.name)
            if other is None:
                raise BadStore(f"player {game.identity.name!r} came and went while it was being made")
            return other
        numbered = game.numbered(taken[0][0])
        session.insert(Head, [numbered.head])
        session.insert(State, [numbered.state])
        session.insert(Arm, numbered.arms)
        if numbered.blocks:
            session.insert(BlockRow, numbered.blocks)
        return numbered.identity

    def delete(self, player: int) -> None:
        """Remove a game."""
        with self._transaction(writing=True) as session:
            for table in TABLES.values():
                session.write(f"DELETE FROM {table} WHERE player = ?", (player,))

    @contextmanager
    def change(self, player: int, wanted: Wanted = NOTHING_WANTED) -> Iterator[Rows]:
        """Rows to be changed."""
        with self._transaction(writing=True) as session:
            rows = self._begin(session, player, locked=True, wanted=wanted)
            yield rows
            rows.flush()

    @contextmanager
    def look(self, player: int) -> Iterator[Rows]:
        """Rows to be read."""
        with self._transaction(writing=False) as session:
            yield self._begin(session, player, locked=False, wanted=NOTHING_WANTED)
