"""A store in this process: for trying things out, and the simplest twin of the others."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.decisions.rows import Arm, Ask, BlockRow, Fresh, Head, Identity, Row, RowKey, Tell, key_of
from holdfast.decisions.stores.forks import STORE, lock_across_forks
from holdfast.decisions.stores.store import NOTHING_WANTED, R, Rows, Store, Wanted, gone


@dataclass
class Tables:
    """All rows of one game."""

    rows: dict[RowKey, Any] = field(default_factory=dict)
    open: list[int] = field(default_factory=list)
    """Numbers of blocks that are not settled."""
    numbers: list[int] = field(default_factory=list)
    """Of all blocks."""
    places: dict[int, int] = field(default_factory=dict)
    """Number of the block settled as the how-manieth."""
    asks: dict[int, list[Ask]] = field(default_factory=dict)
    requests: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    tells: dict[int, list[Tell]] = field(default_factory=dict)


class MemoryRows(Rows):
    """Rows in dictionaries. Changes are kept aside until the transaction has ended well."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._changed: dict[RowKey, Any] = {}
        super().__init__(self.need(Head))

    def get(self, kind: type[R], *key: Any) -> R | None:
        """The row with this key."""
        place = (kind, key)
        found: R | None = self._changed[place] if place in self._changed else self._tables.rows.get(place)
        return found

    def add(self, *rows: Row) -> None:
        """New rows of one table."""
        self._changed.update((key_of(row), row) for row in rows)

    def set(self, kind: type[Row], *key: Any, **values: Any) -> None:
        """Other values in some columns."""
        whole: Any = self.get(kind, *key)
        self._changed[kind, key] = whole._replace(**values)

    def arms(self) -> list[Arm]:
        """All arms."""
        found: list[Arm] = []
        while (arm := self.get(Arm, len(found))) is not None:
            found.append(arm)
        return found

    def _changed_rows(self, kind: type[R]) -> dict[Any, Any]:
        return {key: row for (k, key), row in self._changed.items() if k is kind}

    def open_blocks(self) -> list[BlockRow]:
        """Blocks that are not settled."""
        numbers = set(self._tables.open) | {key[0] for key in self._changed_rows(BlockRow)}
        blocks = [self.get(BlockRow, number) for number in sorted(numbers)]
        return [block for block in blocks if block is not None and block.place is None]

    def due_blocks(self, mark: float) -> list[BlockRow]:
        """Open blocks whose patience has run out."""
        due = [block for block in self.open_blocks() if block.due is not None and block.due <= mark]
        return sorted(due, key=lambda block: (block.due, block.number))

    def earliest_due(self) -> float | None:
        """When the first open block is due."""
        return min((block.due for block in self.open_blocks() if block.due is not None), default=None)

    def settled_at(self, place: int) -> BlockRow | None:
        """The block settled as the how-manieth."""
        for row in self._changed_rows(BlockRow).values():
            if row is not None and row.place == place:
                return row  # type: ignore[no-any-return]  # rows of one table
        number = self._tables.places.get(place)
        return None if number is None else self.get(BlockRow, number)

    def blocks(self, after: int, limit: int, *, settled_only: bool = False) -> list[BlockRow]:
        """Blocks in order."""
        found = []
        numbers = self._tables.numbers
        for place in range(bisect_right(numbers, after), len(numbers)):
            block = self.get(BlockRow, numbers[place])
            if block is not None and not (settled_only and block.place is None):
                found.append(block)
            if len(found) == limit:
                break
        return found

    def latest_blocks(self, limit: int) -> list[BlockRow]:
        """The last blocks."""
        numbers = self._tables.numbers[-limit:] if limit else []
        return [block for block in (self.get(BlockRow, n) for n in numbers) if block is not None]

    def asks_of(self, block: int) -> list[Ask]:
        """What was handed out of a block."""
        new = [row for row in self._changed_rows(Ask).values() if row is not None and row.block == block]
        return [*self._tables.asks.get(block, ()), *new]

    def asks_under(self, request: str) -> list[Ask]:
        """What was handed out under a request."""
        keys = self._tables.requests.get(request, [])
        return [ask for ask in (self.get(Ask, *key) for key in keys) if ask is not None]

    def tells_of(self, block: int) -> list[Tell]:
        """What was told of a block."""
        kept = {tell.round: tell for tell in self._tables.tells.get(block, [])}
        kept |= {key[1]: row for key, row in self._changed_rows(Tell).items() if key[0] == block}
        return [kept[number] for number in sorted(kept) if kept[number] is not None]

    def tells_at(self, block: int, rounds: Sequence[int]) -> list[Tell]:
        """What was told of some rounds of a block."""
        tells = self._tables.tells.get(block, [])
        places = {bisect_right(tells, number, key=lambda tell: tell.round) - 1 for number in rounds}
        return [tells[place] for place in places if place >= 0]

    def forget(self, block: int) -> None:
        """Remove asks and tells."""
        rows: list[Row] = [*self.asks_of(block), *self.tells_of(block)]
        for row in rows:
            self._changed[key_of(row)] = None

    def remove(self, number: int) -> None:
        """Remove a block."""
        self._changed[BlockRow, (number,)] = None

    def commit(self) -> None:
        """Let the changes be seen."""
        for place, row in self._changed.items():
            before = self._tables.rows.pop(place, None)
            if row is not None:
                self._tables.rows[place] = row
            kind = place[0]
            if kind is BlockRow:
                self._index_block(before, row)
            elif kind is Ask:
                self._index_ask(before, row)
            elif kind is Tell:
                self._index_tell(before, row)

    def _index_block(self, before: BlockRow | None, row: BlockRow | None) -> None:
        tables = self._tables
        if before is None and row is not None:
            insort(tables.numbers, row.number)
            insort(tables.open, row.number)
        if row is None and before is not None:
            tables.numbers.remove(before.number)
            tables.places.pop(before.place or 0, None)
        if row is not None and row.place is not None and row.place not in tables.places:
            tables.open.remove(row.number)
            tables.places[row.place] = row.number

    def _index_ask(self, before: Ask | None, row: Ask | None) -> None:
        if row is not None:
            self._tables.asks.setdefault(row.block, []).append(row)
            self._tables.requests.setdefault(row.request, []).append((row.block, row.first))
        elif before is not None:
            self._tables.asks.pop(before.block, None)
            keys = self._tables.requests[before.request]
            keys.remove((before.block, before.first))
            if not keys:
                del self._tables.requests[before.request]

    def _index_tell(self, before: Tell | None, row: Tell | None) -> None:
        if row is not None:
            insort(self._tables.tells.setdefault(row.block, []), row)
        elif before is not None:
            self._tables.tells.pop(before.block, None)


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
        with self._lock:
            return sorted(self._numbers)

    def find(self, name: str) -> Identity | None:
        """The player of this name."""
        with self._lock:
            number = self._numbers.get(name)
            return None if number is None else self._games[number].rows[Identity, ()]

    def create(self, fresh: Sequence[Fresh]) -> list[Identity]:
        """Begin games."""
        with self._lock:
            found = []
            for game in fresh:
                name = game.identity.name
                if name not in self._numbers:
                    self._last += 1
                    numbered = game.numbered(self._last)
                    rows: list[Row] = [numbered.identity, numbered.head, numbered.state, *numbered.arms]
                    tables = self._games[self._last] = Tables({key_of(row): row for row in [*rows, *numbered.blocks]})
                    tables.open = [block.number for block in numbered.blocks]
                    tables.numbers = list(tables.open)
                    self._numbers[name] = self._last
                found.append(self._games[self._numbers[name]].rows[Identity, ()])
            return found

    def delete(self, player: int) -> None:
        """Remove a game."""
        with self._lock:
            self._numbers = {name: number for name, number in self._numbers.items() if number != player}
            self._games.pop(player, None)

    def _tables(self, player: int) -> Tables:
        if player not in self._games:
            raise gone(player, self.url)
        return self._games[player]

    @contextmanager
    def change(self, player: int, wanted: Wanted = NOTHING_WANTED) -> Iterator[Rows]:
        """Rows to be changed."""
        with self._lock:
            rows = MemoryRows(self._tables(player))
            yield rows
            rows.commit()

    @contextmanager
    def look(self, player: int) -> Iterator[Rows]:
        """Rows to be read."""
        with self._lock:
            yield MemoryRows(self._tables(player))

    def close(self) -> None:
        """Nothing to let go of."""
