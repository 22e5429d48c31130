"""A store in this process: for trying things out, and the simplest twin of the others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from holdfast.decisions.rows import Arm, Ask, BlockRow, Fresh, Head, Identity, Row, RowKey, Tell, key_of
from holdfast.decisions.stores.forks import STORE, alone, lock_across_forks
from holdfast.decisions.stores.store import NOTHING_WANTED, R, Rows, Store, Wanted, gone


@dataclass
class Tables:
    """All rows of one game, and where to find them."""

    rows: dict[RowKey, Any] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    """Numbers of blocks that are not settled."""
    numbers: list[int] = field(default_factory=list)
    """Of all blocks."""
    places: dict[int, int] = field(default_factory=dict)
    """Number of the block settled as the how-manieth."""
    asks: dict[int, dict[int, Ask]] = field(default_factory=dict)
    """By block and first round."""
    requests: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    """Block and first round of what was handed out under a request."""
    tells: dict[int, list[Tell]] = field(default_factory=dict)
    """By block, in order."""
    journal: list[tuple[RowKey, Any]] = field(default_factory=list)
    """What was there before each change of the transaction under way."""

    def put(self, place: RowKey, row: Any) -> None:
        """Another row in this place, or None for none."""
        before = self.rows.get(place)
        self.journal.append((place, before))
        self._set(place, row)
        self._index(place[0], before, row)

    def keep(self) -> None:
        """The transaction has ended well."""
        self.journal.clear()

    def put_back(self) -> None:
        """Undo what was not kept, wherever it broke off: rows first, the last change first, then what finds them."""
        if self.journal:
            for place, row in reversed(self.journal):
                self._set(place, row)
            for index in (self.open, self.numbers, self.places, self.asks, self.requests, self.tells):
                index.clear()
            for (kind, _), row in self.rows.items():
                self._index(kind, None, row)
            self.journal.clear()

    def _set(self, place: RowKey, row: Any) -> None:
        if row is None:
            self.rows.pop(place, None)
        else:
            self.rows[place] = row

    def _index(self, kind: type, before: Any, row: Any) -> None:
        if kind is BlockRow:
            self._index_block(before, row)
        elif kind is Ask:
            self._index_ask(before, row)
        elif kind is Tell:
            self._index_tell(before, row)

    def _index_block(self, before: BlockRow | None, row: BlockRow | None) -> None:
        if before is not None:
            self.open.discard(before.number)
            self.places.pop(before.place or 0, None)
        if row is not None and row.place is None:
            self.open.add(row.number)
        elif row is not None and row.place is not None:
            self.places[row.place] = row.number
        if before is None and row is not None:
            insort(self.numbers, row.number)
        elif before is not None and row is None:
            del self.numbers[bisect_left(self.numbers, before.number)]

    def _index_ask(self, before: Ask | None, row: Ask | None) -> None:
        if before is not None:
            _discard(self.asks, before.block, before.first)
            self.requests[before.request].discard((before.block, before.first))
            if not self.requests[before.request]:
                del self.requests[before.request]
        if row is not None:
            self.asks.setdefault(row.block, {})[row.first] = row
            self.requests.setdefault(row.request, set()).add((row.block, row.first))

    def _index_tell(self, before: Tell | None, row: Tell | None) -> None:
        if before is not None:
            tells = self.tells[before.block]
            del tells[bisect_left(tells, before)]
            if not tells:
                del self.tells[before.block]
        if row is not None:
            insort(self.tells.setdefault(row.block, []), row)


def _discard(found: dict[int, dict[int, Ask]], block: int, first: int) -> None:
    del found[block][first]
    if not found[block]:
        del found[block]


class MemoryRows(Rows):
    """Rows in dictionaries, changed at once; what was there before is put back when the transaction fails."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        super().__init__(self.need(Head))

    def get(self, kind: type[R], *key: Any) -> R | None:
        """The row with this key."""
        found: R | None = self._tables.rows.get((kind, key))
        return found

    def add(self, *rows: Row) -> None:
        """New rows of one table."""
        for row in rows:
            self._tables.put(key_of(row), row)

    def set(self, kind: type[Row], *key: Any, **values: Any) -> None:
        """Other values in some columns."""
        whole: Any = self.get(kind, *key)
        self._tables.put((kind, key), whole._replace(**values))

    def arms(self) -> list[Arm]:
        """All arms."""
        found: list[Arm] = []
        while (arm := self.get(Arm, len(found))) is not None:
            found.append(arm)
        return found

    def open_blocks(self) -> list[BlockRow]:
        """Blocks that are not settled."""
        return [self.need(BlockRow, number) for number in sorted(self._tables.open)]

    def due_blocks(self, mark: float) -> list[BlockRow]:
        """Open blocks whose patience has run out."""
        due = [block for block in self.open_blocks() if block.due is not None and block.due <= mark]
        return sorted(due, key=lambda block: (block.due, block.number))

    def earliest_due(self) -> float | None:
        """When the first open block is due."""
        return min((block.due for block in self.open_blocks() if block.due is not None), default=None)

    def settled_at(self, place: int) -> BlockRow | None:
        """The block settled as the how-manieth."""
        number = self._tables.places.get(place)
        return None if number is None else self.get(BlockRow, number)

    def blocks(self, after: int, limit: int, *, settled_only: bool = False) -> list[BlockRow]:
        """Blocks in order."""
        numbers = self._tables.numbers
        rest = (self.need(BlockRow, numbers[i]) for i in range(bisect_right(numbers, after), len(numbers)))
        return list(islice((block for block in rest if block.place is not None or not settled_only), limit))

    def latest_blocks(self, limit: int) -> list[BlockRow]:
        """The last blocks."""
        return [self.need(BlockRow, number) for number in self._tables.numbers[-limit:]] if limit else []

    def asks_of(self, block: int) -> list[Ask]:
        """What was handed out of a block."""
        asks = self._tables.asks.get(block, {})
        return [asks[first] for first in sorted(asks)]

    def asks_under(self, request: str) -> list[Ask]:
        """What was handed out under a request."""
        return [self.need(Ask, *key) for key in sorted(self._tables.requests.get(request, ()))]

    def tells_of(self, block: int) -> list[Tell]:
        """What was told of a block."""
        return list(self._tables.tells.get(block, ()))

    def tells_at(self, block: int, rounds: Sequence[int]) -> list[Tell]:
        """What was told of some rounds of a block."""
        tells = self._tables.tells.get(block, [])
        places = {bisect_right(tells, number, key=lambda tell: tell.first) - 1 for number in rounds}
        return [tells[place] for place in places if place >= 0]

    def forget(self, block: int) -> None:
        """Remove asks and tells."""
        rows: list[Row] = [*self.asks_of(block), *self.tells_of(block)]
        for row in rows:
            self._tables.put(key_of(row), None)

    def remove(self, number: int) -> None:
        """Remove a block."""
        self._tables.put((BlockRow, (number,)), None)


class MemoryStore(Store):
    """Games of this process."""

    def __init__(self) -> None:
        self.url = "memory:"
        self._lock = lock_across_forks(STORE)
        self._games: dict[int, Tables] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0

    def names(self) -> list[str]:
        """All players."""
        with alone(self._lock, self.url):
            return sorted(self._numbers)

    def find(self, name: str) -> Identity | None:
        """The player of this name."""
        with alone(self._lock, self.url):
            number = self._numbers.get(name)
            return None if number is None else self._tables(number).rows[Identity, ()]

    def create(self, fresh: Sequence[Fresh]) -> list[Identity]:
        """Begin games."""
        with alone(self._lock, self.url):
            found = []
            for game in fresh:
                name = game.identity.name
                if name not in self._numbers:
                    self._last += 1
                    numbered = game.numbered(self._last)
                    tables = self._games[self._last] = Tables()
                    rows: list[Row] = [numbered.identity, numbered.head, numbered.state, *numbered.arms]
                    for row in [*rows, *numbered.blocks]:
                        tables.put(key_of(row), row)
                    tables.keep()
                    self._numbers[name] = self._last
                found.append(self._games[self._numbers[name]].rows[Identity, ()])
            return found

    def delete(self, player: int) -> None:
        """Remove a game."""
        with alone(self._lock, self.url):
            self._numbers = {name: number for name, number in self._numbers.items() if number != player}
            self._games.pop(player, None)

    def _tables(self, player: int) -> Tables:
        if player not in self._games:
            raise gone(player, self.url)
        tables = self._games[player]
        tables.put_back()  # what an interrupt left
        return tables

    @contextmanager
    def change(self, player: int, wanted: Wanted = NOTHING_WANTED) -> Iterator[Rows]:
        """Rows to be changed."""
        with alone(self._lock, self.url):
            tables = self._tables(player)
            try:
                yield MemoryRows(tables)
            except BaseException:
                tables.put_back()
                raise
            tables.keep()

    @contextmanager
    def look(self, player: int) -> Iterator[Rows]:
        """Rows to be read."""
        with alone(self._lock, self.url):
            yield MemoryRows(self._tables(player))

    def close(self) -> None:
        """Nothing to let go of."""
