"""The contract of a store, and the queries and transactions that both kinds share.

A store promises (`tests/decisions/test_store_contract.py` runs over every kind):

* `transaction(game, writing=True)` locks one game: no one else changes it until the transaction ends. If it succeeds,
  what was saved is durable and visible to everyone. If it fails, nothing was changed.
* Without `writing` it sees the game as it was at one moment, and cannot change it.
* An error of the store is a `StoreError`. It is a `ConnectionLost` if the transaction may be tried again by a caller
  who can find out whether it had happened after all.

A transaction has the `head`, and reads `state`, `blocks`, `losses`, `asks`; it writes by `save`.
"""

from __future__ import annotations

import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import compress, starmap
from operator import ne
from threading import RLock, local
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, get_type_hints
from weakref import WeakSet

from holdfast.decisions.models import (
    FORMAT,
    MOST_COUNT,
    MOST_TIME,
    Block,
    ChangeMade,
    Day,
    Events,
    Game,
    HandedOut,
    Head,
    Loss,
    Seen,
)
from holdfast.decisions.options import types_of
from holdfast.errors import BadStore, StoreError

# The tables of a store.

SCHEMA_TABLE = "holdfast_schema"
VERSION = FORMAT
ANOTHER = "another Holdfast has taken the store over"

TABLES: dict[type, str] = {
    Game: "holdfast_games",
    Head: "holdfast_heads",
    Block: "holdfast_blocks",
    HandedOut: "holdfast_asks",
    Loss: "holdfast_losses",
    Seen: "holdfast_seen",
    ChangeMade: "holdfast_changes",
    Day: "holdfast_days",
}

COLUMNS: dict[Any, str] = {int: "BIGINT", float: "{float}", str: "TEXT", tuple[float, ...]: "TEXT"}
"""The column of a field, by its type; a sum is JSON. NOT NULL unless the field may be None."""

# {serial}: a number given by the store, never twice; {float}: 64 bits; {compact}: rows in the order of their key;
# {hot}: room for a row that changes often
SCHEMA: tuple[tuple[type, str, str, str], ...] = (
    (Game, "id {serial}", "UNIQUE (name), UNIQUE (uid)", ""),
    (Head, "game BIGINT NOT NULL", "PRIMARY KEY (game)", "{hot}"),
    (Block, "game BIGINT NOT NULL", "PRIMARY KEY (game, number)", "{compact}"),
    (HandedOut, "game BIGINT NOT NULL", "PRIMARY KEY (game, block, first)", "{compact}"),
    (Loss, "game BIGINT NOT NULL", "PRIMARY KEY (game, block, round)", "{compact}"),
    (Seen, "game BIGINT NOT NULL", "PRIMARY KEY (game, block, round)", "{compact}"),
    (ChangeMade, "id {serial}, game BIGINT NOT NULL", "", ""),
    (Day, "game BIGINT NOT NULL", "PRIMARY KEY (game, day)", "{compact}"),
)
"""Of each table the rows, the columns before those of a row's fields, its keys, and how it is kept."""

STATES = """CREATE TABLE holdfast_states (
    game BIGINT NOT NULL PRIMARY KEY, version TEXT NOT NULL, data TEXT NOT NULL) {hot}"""
INDEXES = (
    "CREATE INDEX holdfast_blocks_open ON holdfast_blocks (game, due, number) WHERE settled_order IS NULL",
    "CREATE UNIQUE INDEX holdfast_blocks_keys ON holdfast_blocks (game, key) WHERE live = 1",
    "CREATE INDEX holdfast_blocks_idle ON holdfast_blocks (game, expires) WHERE live = 1",
    "CREATE INDEX holdfast_blocks_settled ON holdfast_blocks (game, settled_order) WHERE settled_order IS NOT NULL",
    "CREATE INDEX holdfast_asks_request ON holdfast_asks (game, request)",
    "CREATE INDEX holdfast_changes_game ON holdfast_changes (game, id)",
)


def _table(kind: type, begin: str, keys: str, kept: str) -> str:
    """Return the statement that creates the table of these rows."""
    columns = [begin]
    for name, hint in get_type_hints(kind).items():
        (written,) = types_of(hint)
        if name != "id":
            columns.append(f"{name} {COLUMNS[written]}{' NOT NULL' * (written == hint)}")
    return f"CREATE TABLE {TABLES[kind]} ({', '.join([*columns, *filter(None, [keys])])}) {kept}"


def has_tables(url: str, tables: Collection[str], connection: Any) -> bool:
    """Return True if a database with these tables is a store. Raise an error for one that cannot be used."""
    if SCHEMA_TABLE not in tables:
        return False
    versions = [version for (version,) in connection.execute(f"SELECT version FROM {SCHEMA_TABLE}").fetchall()]
    if len(versions) != 1 or type(versions[0]) is not int or versions[0] < 1:
        raise BadStore(f"{url} is damaged: its table {SCHEMA_TABLE!r} must have one version")
    if versions[0] != VERSION:
        raise BadStore(
            f"{url} must be a store of schema {VERSION}; another Holdfast wrote this one, schema {versions[0]}"
        )
    return True


def creation(words: dict[str, str]) -> list[str]:
    """Return the statements that create the tables of a new store."""
    return [
        f"CREATE TABLE {SCHEMA_TABLE} (version BIGINT NOT NULL)",
        *(statement.format(**words) for statement in (*starmap(_table, SCHEMA), STATES, *INDEXES)),
        f"INSERT INTO {SCHEMA_TABLE} (version) VALUES ({VERSION})",
    ]


SUMS: dict[type, str] = {Head: "paid", Block: "losses"}
"""Columns with the parts of an exact sum, as JSON."""

# SQLite has no statistics here and would read a whole history: it is told which index to use
BLOCKS = {
    "number": "WHERE game = ? AND number = ?",
    "open": "{open} WHERE game = ? AND settled_order IS NULL ORDER BY number",
    "due": "{open} WHERE game = ? AND settled_order IS NULL AND due <= ? ORDER BY due, number LIMIT ?",
    "next due": "{open} WHERE game = ? AND settled_order IS NULL AND due > ? ORDER BY due LIMIT 1",
    "key": "{keys} WHERE game = ? AND live = 1 AND key = ?",
    "longest idle": "{idle} WHERE game = ? AND live = 1 ORDER BY expires LIMIT ?",
    "settled after": "{settled} WHERE game = ? AND settled_order > ? ORDER BY settled_order LIMIT ?",
    "settled up to": "WHERE game = ? AND number <= ? AND +settled_order IS NOT NULL ORDER BY number LIMIT ?",
    "after": "WHERE game = ? AND number > ? ORDER BY number LIMIT ?",
    "latest": "WHERE game = ? ORDER BY number DESC LIMIT ?",
}

CHUNK = 400
"""Keys per query."""

PATIENCE = 60.0
"""Seconds that a transaction waits for others, unless it has a deadline."""

Rounds = Sequence[tuple[int, int]]
"""Pairs of block and round."""


class ConnectionLost(StoreError):
    """A lost connection: the transaction may or may not have happened; retry it where that is safe."""


class NewGame(NamedTuple):
    """All rows of a new game."""

    game: Game
    head: Head
    state: str
    blocks: tuple[Block, ...] = ()
    """The block in play, if the game comes from elsewhere."""


def columns_of(kind: Any, alias: str) -> str:
    """Return the columns of a row, for a query that gives its table an alias."""
    return ", ".join(f"{alias}.{name}" for name in kind._fields)


@cache
def select(kind: Any) -> str:
    """Return the start of a query for rows."""
    return f"SELECT {', '.join(kind._fields)} FROM {TABLES[kind]} "


@cache
def insert(kind: Any) -> str:
    """Return the statement that inserts a row of a game."""
    return f"INSERT INTO {TABLES[kind]} (game, {', '.join(kind._fields)}) VALUES "


HEAD = select(Head) + "WHERE game = ?"
FOR_UPDATE = " FOR UPDATE"
ONE_BLOCK = select(Block) + "WHERE game = ? AND number = ?"
ONE_LOSS = select(Loss) + "WHERE game = ? AND block = ? AND round = ?"
"""The first reads of a call."""

_seen_types: dict[Any, set[tuple[type, ...]]] = {}


def row_of(kind: Any, values: Sequence[Any]) -> Any:
    """Return a row that was read. It may have been edited, so types, sums and counts are checked."""
    types = tuple(map(type, values))
    if types not in _seen_types.setdefault(kind, set()):
        stored = dict.fromkeys(SUMS.values(), str)  # as JSON
        for name, hint in get_type_hints(kind).items():
            value = values[kind._fields.index(name)]
            if not isinstance(value, stored.get(name, hint)) or isinstance(value, bool):
                raise BadStore(f"the store is damaged: {name} of a {kind.__name__} is {value!r}")
        _seen_types[kind].add(types)
    if kind not in SUMS:
        return kind._make(values)
    place = kind._fields.index(SUMS[kind])
    text = values[place]
    try:
        parts = tuple(json.loads(text))
        if not {float}.issuperset(map(type, parts)) or not math.isfinite(math.fsum(parts)):
            raise ValueError(text)
    except (ValueError, TypeError, RecursionError):
        raise BadStore(f"the store is damaged: a sum of losses cannot be read ({text[:40]!r})") from None
    row = kind._make([*values[:place], parts, *values[place + 1 :]])
    if kind is Head and row.format != VERSION:
        raise BadStore(f"{ANOTHER}, schema {row.format}; this one reads schema {VERSION}: nothing was changed")
    if kind is Head:
        possible = (
            0 <= row.handed <= row.rounds <= MOST_COUNT
            and 0 <= row.asked <= MOST_COUNT
            and 0 <= row.forgotten <= row.settled <= row.block <= MOST_COUNT
            and max(row.current, row.removed, row.gone) <= row.block
            and row.drawn <= row.block + row.heard  # rounds of a pin may be learnt from, each as a draw
            and min(row.current, row.drawn, row.removed, row.lateness, row.delay, row.leap) >= 0
            and 0 <= row.late <= row.heard
            and (row.arm >= 0 or row.current == 0)
            and 0 <= row.kept <= MOST_COUNT
            and row.revision >= 1
            and abs(row.clock) < MOST_TIME
        )
    else:
        possible = (
            0 <= row.told <= row.rounds <= MOST_COUNT
            and row.number >= 1
            and row.arm >= 0
            and abs(row.began) < MOST_TIME
            and abs(row.settled_at or 0.0) < MOST_TIME
            and math.isfinite(row.probability)
        )
    if not possible:
        where = "a game" if kind is Head else f"block {row.number}"
        raise BadStore(f"the store is damaged: the counts or times of {where} are impossible")
    return row


_NO_BLOCKS: Mapping[int, Block] = MappingProxyType({})


class Transaction(ABC):
    """One game, locked and read. Its writes take effect together when it succeeds, or not at all."""

    words: ClassVar[dict[str, str]]
    """Replacements for the words in braces in SQL."""
    game: int
    head: Head
    told_blocks: dict[int, Block]
    """Blocks of the rounds it began with, by number."""
    told_losses: dict[tuple[int, int], Loss]
    """Stored losses of these rounds, by block and round."""
    _stored: dict[int, Block]
    """Blocks as they were read, by number."""

    @abstractmethod
    def fetch_each(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each query."""

    @abstractmethod
    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row of values, tuples as JSON; an INSERT ends in ``VALUES``."""

    def fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of one query."""
        return self.fetch_each([(sql, values)])[0]

    def start(self, rounds: Rounds, lock: str = "") -> None:
        """Read the head, and the blocks and losses of some rounds, together."""
        queries: list[tuple[str, Sequence[Any]]] = [(HEAD + lock, (self.game,))]
        parts = 0
        if len(rounds) == 1:
            block, round = rounds[0]
            queries += [(ONE_BLOCK, (self.game, block)), (ONE_LOSS, (self.game, block, round))]
            parts = 1
        elif rounds:
            blocks, losses = _queries_about(self.game, rounds)
            queries += [*blocks, *losses]
            parts = len(blocks)
        heads, *others = self.fetch_each(queries)
        if not heads:
            raise BadStore(f"game number {self.game} is gone from the store")
        self.head = row_of(Head, heads[0])
        self.told_blocks = {values[0]: row_of(Block, values) for found in others[:parts] for values in found}
        self.told_losses = {values[:2]: row_of(Loss, values) for found in others[parts:] for values in found}
        self._stored = dict(self.told_blocks)

    def read_game(self) -> Game:
        """Read the game's row."""
        found = self.fetch(select(Game) + "WHERE id = ?", self.game)
        if not found:
            raise BadStore(f"game number {self.game} is gone from the store")
        game: Game = row_of(Game, found[0])
        return game

    def state_text(self) -> str:
        """Read the state as text."""
        found = self.fetch("SELECT version, data FROM holdfast_states WHERE game = ?", self.game)
        if not found or found[0][0] != self.head.state_version or not isinstance(found[0][1], str):
            raise BadStore("the store is damaged: the state of a game is not that of its last block")
        return str(found[0][1])

    def blocks(self, query: str, *values: float | str) -> list[Block]:
        """Read blocks by one of the named queries."""
        rest = BLOCKS[query].format(**self.words)
        found = [row_of(Block, row) for row in self.fetch(select(Block) + rest, self.game, *values)]
        self._stored |= {block.number: block for block in found}
        return found

    def live(self) -> int:
        """Return the number of open conversations."""
        where = f"{self.words['idle']} WHERE game = ? AND live = 1"
        return int(self.fetch(f"SELECT COUNT(*) FROM holdfast_blocks {where}", self.game)[0][0])

    def losses(self, first: int, last: int) -> list[Loss]:
        """Read the losses of blocks from `first` to `last`, in order."""
        return self._between(Loss, first, last)

    def seen(self, first: int, last: int) -> list[Seen]:
        """Read the losses of all arms in the rounds of blocks from `first` to `last`, in order."""
        return self._between(Seen, first, last)

    def _between(self, kind: Any, first: int, last: int) -> list[Any]:
        where = "WHERE game = ? AND block BETWEEN ? AND ? ORDER BY block, round"
        return [row_of(kind, values) for values in self.fetch(select(kind) + where, self.game, first, last)]

    def of_open_blocks(self, kind: Any, first: int, last: int) -> list[Any]:
        """Read all asks, or all losses, of the unsettled blocks from `first` to `last`, in order."""
        within = "first" if kind is HandedOut else "round"
        found = self.fetch(
            f"SELECT {columns_of(kind, 'x')} FROM holdfast_blocks b {self.words['open']} CROSS JOIN {TABLES[kind]} x "
            f"WHERE b.game = ? AND b.settled_order IS NULL AND b.number BETWEEN ? AND ? "
            f"AND x.game = b.game AND x.block = b.number ORDER BY x.block, x.{within}",
            self.game,
            first,
            last,
        )
        return [row_of(kind, values) for values in found]

    def asked(self, request: str) -> list[tuple[HandedOut, Block]]:
        """Read the decisions handed out under a request, in order, by one query."""
        found = self.fetch(
            f"SELECT {columns_of(HandedOut, 'a')}, {columns_of(Block, 'b')} "
            f"FROM holdfast_asks a {self.words['requests']} JOIN holdfast_blocks b "
            "ON b.game = a.game AND b.number = a.block WHERE a.game = ? AND a.request = ? ORDER BY a.block, a.first",
            self.game,
            request,
        )
        n = len(HandedOut._fields)
        return [(row_of(HandedOut, values[:n]), row_of(Block, values[n:])) for values in found]

    def changes(self, after: int = 0, limit: int = MOST_COUNT) -> list[tuple[int, ChangeMade]]:
        """Read the changes of settings after a number, in order, each with its own."""
        query = f"SELECT id, {', '.join(ChangeMade._fields)} FROM holdfast_changes "
        found = self.fetch(query + "WHERE game = ? AND id > ? ORDER BY id LIMIT ?", self.game, after, limit)
        return [(number, row_of(ChangeMade, values)) for number, *values in found]

    def days(self) -> list[Day]:
        """Read the sums at the end of each day, in order."""
        found = self.fetch(select(Day) + "WHERE game = ? ORDER BY day", self.game)
        return [row_of(Day, values) for values in found]

    def number_of_change(self, back: int) -> int:
        """Return the number of the change followed by this many others; 0 if there is none."""
        query = "SELECT id FROM holdfast_changes WHERE game = ? ORDER BY id DESC LIMIT 1 OFFSET ?"
        found = self.fetch(query, self.game, back)
        return int(found[0][0]) if found else 0

    def save(self, head: Head, state: str | None, events: Events, blocks: Mapping[int, Block] = _NO_BLOCKS) -> int:
        """Write the head, the state if it changed, the blocks that differ from what was read, and all events.

        Return the game's revision: the next one, unless nothing is to be written.
        Only columns that differ are updated: a server parses and plans all that it is sent, each time.
        """
        game, stored = self.game, self._stored
        begun = [block for number, block in blocks.items() if number not in stored]
        changed = [block for number, block in blocks.items() if stored.get(number, block) != block]
        if head == self.head and not changed:
            return head.revision
        head = head._replace(revision=head.revision + 1)
        columns: dict[str, None] = {}
        for block in changed:
            columns |= dict.fromkeys(compress(Block._fields, map(ne, stored[block.number], block)))
        if columns:  # first: a conversation that ends makes room for the next one with its key
            rows = [(*(getattr(block, name) for name in columns), game, block.number) for block in changed]
            sets = " = ?, ".join(columns)
            self.write(f"UPDATE holdfast_blocks SET {sets} = ? WHERE game = ? AND number = ?", rows)
        for kind, added in (
            (Block, begun),
            (HandedOut, events.asks),
            (Loss, events.losses),
            (Seen, events.seen),
            (ChangeMade, events.changes),
            (Day, events.days),
        ):
            if added:
                self.write(insert(kind), [(game, *row) for row in added])
        if gone := [(game, number) for number in (*events.forgotten, *events.removed)]:
            for table in ("asks", "losses", "seen"):
                self.write(f"DELETE FROM holdfast_{table} WHERE game = ? AND block = ?", gone)
        if events.removed:
            self.write("DELETE FROM holdfast_blocks WHERE game = ? AND number = ?", [(game, n) for n in events.removed])
        if events.game is not None:
            names = ("policy", "arms", "settings", "availability", "settings_version")
            values = [getattr(events.game, name) for name in names]
            self.write(f"UPDATE holdfast_games SET {' = ?, '.join(names)} = ? WHERE id = ?", [(*values, game)])
        if state is not None:
            row = (head.state_version, state, game)
            self.write("UPDATE holdfast_states SET version = ?, data = ? WHERE game = ?", [row])
        differ = list(map(ne, self.head, head))
        sets = " = ?, ".join(compress(Head._fields, differ))
        self.write(f"UPDATE holdfast_heads SET {sets} = ? WHERE game = ?", [(*compress(head, differ), game)])
        return head.revision


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(values), CHUNK):
        yield values[first : first + CHUNK]


def _queries_about(game: int, rounds: Rounds) -> tuple[list[Any], list[Any]]:
    """Return queries for the blocks and for the losses of some rounds, each looked up by its key."""
    numbers = list(dict.fromkeys(block for block, _ in rounds))
    among = select(Block) + "WHERE game = ? AND number IN"
    blocks = [(f"{among} ({_marks(some)})", (game, *some)) for some in _chunks(numbers)]
    losses = []
    for some in _chunks(rounds):
        sql = (
            f"SELECT {columns_of(Loss, 'l')} FROM (VALUES {', '.join(['(?, ?)'] * len(some))}) AS w "
            "CROSS JOIN holdfast_losses AS l WHERE l.game = ? AND l.block = w.column1 AND l.round = w.column2"
        )
        losses.append((sql, [number for place in some for number in place] + [game]))
    return blocks, losses


class Store(ABC):
    """Games by name. One object serves all threads of a process.

    >>> from holdfast.decisions.stores import store_at
    >>> store_at("memory:").names()
    []
    """

    url: str
    """The URL as it may be shown."""
    stale = False
    """True if it must be reopened because its file is gone."""
    patient = True
    """True if lost connections are retried; False while a server stops."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._calls = local()
        self._lock: Any = RLock()
        take_part_in_forks(STORE, self)

    @abstractmethod
    def transaction(
        self, game: int, rounds: Rounds = (), *, writing: bool, deadline: float | None = None
    ) -> AbstractContextManager[Transaction]:
        """Open a transaction on one game and `start` it: read its head, with `rounds` also their blocks and losses.

        Parameters
        ----------
        game
            Its number; 0 for a transaction that reads nothing first.
        rounds
            Blocks and rounds whose losses are about to be reported.
        writing
            Lock the game, to change it.
        deadline
            When to give up waiting for others, by `time.monotonic`; `PATIENCE` from now, if left out.
        """

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. The store can be used again, and reopens them."""

    def shrink(self) -> None:  # noqa: B027
        """Give the system back what deleted rows have taken, where the store does not do so itself."""

    # ---- games by name

    def replaced(self) -> bool:
        """Return True if the file in use is no longer there."""
        return False

    def exists(self) -> bool:
        """Return True if there is anything at the URL; checked before reading, so that reading creates nothing."""
        return True

    def names(self, deadline: float | None = None) -> list[str]:
        """Return the names of all games, sorted."""
        if not self.exists():
            return []
        with self.transaction(0, writing=False, deadline=deadline) as transaction:
            return sorted(str(name) for (name,) in transaction.fetch("SELECT name FROM holdfast_games"))

    def find(self, name: str, deadline: float | None = None) -> Game | None:
        """Return the game of this name."""
        if not self.exists():
            return None
        with self.transaction(0, writing=False, deadline=deadline) as transaction:
            return _named(transaction, name)

    def create(self, fresh: Sequence[NewGame], deadline: float | None = None) -> list[Game]:
        """Create games, all or none. Where a name is taken, return the existing game unchanged."""
        with self.transaction(0, writing=True, deadline=deadline) as transaction:
            return [_named(transaction, one.game.name) or _created(transaction, one) for one in fresh]

    def check_writing(self) -> None:
        """Commit a write that changes nothing. Raise an error if that is impossible."""
        with self.transaction(0, writing=True, deadline=time.monotonic() + 5.0) as transaction:
            # SQLite writes nothing for a row that stays the same, so one comes and goes.
            transaction.write(f"INSERT INTO {SCHEMA_TABLE} (version) VALUES ", [(-1,)])
            transaction.write(f"DELETE FROM {SCHEMA_TABLE} WHERE version = ?", [(-1,)])

    def delete(self, game: int) -> None:
        """Remove a game and all its rows."""
        with self.transaction(0, writing=True) as transaction:
            for table in ("holdfast_states", *TABLES.values()):
                key = "id" if table == TABLES[Game] else "game"
                transaction.write(f"DELETE FROM {table} WHERE {key} = ?", [(game,)])


def nested(url: str) -> StoreError:
    """Return the error for a call inside a call."""
    return StoreError(f"{url} cannot be used from within a call that uses it, as by a signal handler")


def _named(transaction: Transaction, name: str) -> Game | None:
    found = [row_of(Game, values) for values in transaction.fetch(select(Game) + "WHERE name = ?", name)]
    return found[0] if found else None


def _created(transaction: Transaction, fresh: NewGame) -> Game:
    columns, name = Game._fields[1:], fresh.game.name
    taken = transaction.fetch(
        f"INSERT INTO holdfast_games ({', '.join(columns)}) VALUES ({_marks(columns)}) "
        "ON CONFLICT (name) DO NOTHING RETURNING id",
        *fresh.game[1:],
    )
    if not taken:  # another process was quicker
        other = _named(transaction, name)
        if other is None:
            raise BadStore(f"game {name!r} was created and deleted at the same time")
        return other
    game, head = taken[0][0], fresh.head
    transaction.write(insert(Head), [(game, *head)])
    transaction.write(
        "INSERT INTO holdfast_states (game, version, data) VALUES ", [(game, head.state_version, fresh.state)]
    )
    if fresh.blocks:
        transaction.write(insert(Block), [(game, *b) for b in fresh.blocks])
    return fresh.game._replace(id=game)


# Locks and forks: a fork waits until no call is in progress, so that no child inherits a half-made one.
#
# A lock held by a thread at a fork would never be released in the child, which has no such thread. And no connection
# may be open at a fork: with SQLite the child would rely on locks that are its parent's, with a server both would share
# a socket.

ROUTER, STORE = range(2)
"""Lock order: a router's lock is held while waiting for a store's."""

_members: tuple[WeakSet[Any], WeakSet[Any]] = (WeakSet(), WeakSet())
_registering = RLock()
_held: list[Any] = []


def take_part_in_forks(rank: int, member: Any) -> None:
    """Make each fork wait for `member._lock`, which is then free in the child.

    A store is closed before a fork; its next user, in the parent or the child, reopens it. A router drops the
    queued calls in the child: the parent's threads make them.
    """
    with _registering:
        _members[rank].add(member)


def _take_all() -> None:
    _registering.acquire()
    for member in [*_members[ROUTER], *_members[STORE]]:
        member._lock.acquire()
        _held.append(member._lock)
    for store in list(_members[STORE]):
        store.close()


def _free_all() -> None:
    while _held:
        _held.pop().release()
    _registering.release()


def _continue_parent() -> None:
    executors = list(_members[ROUTER])  # while no thread can add one
    _free_all()
    for executor in executors:
        if executor.waiting:  # queued during the fork: its caller took the holder of the lock for a writer
            executor.start()


def _begin_child() -> None:
    for executor in list(_members[ROUTER]):
        executor.drop_waiting()
    _free_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_continue_parent, after_in_child=_begin_child)
