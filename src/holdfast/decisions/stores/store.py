"""The contract of a store: rows of games, changed in transactions that happen whole or not at all.

`tests/decisions/test_store_contract.py` runs over every store. What a store promises:

* `change` hands out the rows of one game, alone: nobody else changes them until it ends. When it ends well, what was
  changed is durable, as far as the store is, and seen by everyone; when it ends in an error, nothing was changed.
* `look` hands out rows as they were at one moment; they cannot be changed.
* An error of the store is a `StoreError`. It is a `ConnectionLost` when the transaction may be tried again by a caller
  who can tell whether it had happened after all.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, TypeVar, cast

from holdfast.decisions.rows import Arm, Ask, BlockRow, Fresh, Gain, Head, Identity, Row, Tell, key_of
from holdfast.errors import BadStore, StoreError

R = TypeVar("R", bound=Row)
T = TypeVar("T")

Wanted = Mapping[int, Sequence[int]]
"""Rounds of blocks, by the numbers of the blocks."""

NOTHING_WANTED: Wanted = MappingProxyType({})

WAIT = 0.05
"""Seconds before the first new attempt after a lost connection; twice as many before each further one."""


class ConnectionLost(StoreError):
    """Whether the transaction happened is not known: it may be tried again where that is safe."""


def persistently(work: Callable[[bool], T], retry: float) -> T:
    """`work`, tried again for `retry` seconds while connections are lost; it is told whether it is tried again."""
    begun, delay, again = time.monotonic(), WAIT, False
    while True:
        try:
            return work(again)
        except ConnectionLost:
            if time.monotonic() - begun + delay > retry:
                raise
        time.sleep(delay)
        again, delay = True, min(2 * delay, 1.0)


def gone(player: int, url: str) -> BadStore:
    """What is said when a game has been removed."""
    return BadStore(f"player number {player} is gone from the store {url}")


class Rows(ABC):
    """The rows of one game inside a transaction."""

    stored_head: Head
    """As it was when the transaction began."""
    head: Head
    """As it is by now; whoever changes it writes it at the end."""
    gains: dict[int, Gain]
    """What arms gained, to be added at the end."""

    def __init__(self, head: Head) -> None:
        self.stored_head = self.head = head
        self.gains = {}

    @abstractmethod
    def get(self, kind: type[R], *key: Any) -> R | None:
        """The row with this key, the game's number left out."""

    def need(self, kind: type[R], *key: Any) -> R:
        """The row with this key, which must be there."""
        row = self.get(kind, *key)
        if row is None:
            raise BadStore(f"the store is damaged: a row of {kind.__name__} {key} is missing")
        return row

    @abstractmethod
    def add(self, *rows: Row) -> None:
        """New rows of one table."""

    @abstractmethod
    def set(self, kind: type[Row], *key: Any, **values: Any) -> None:
        """Other values in some columns of the row with this key, which need not have been read."""

    def replace(self, row: R, **changes: Any) -> R:
        """The row with other values in some columns; only these are written."""
        kind, key = key_of(row)
        self.set(kind, *key, **changes)
        return self.need(cast("type[R]", kind), *key)

    @abstractmethod
    def arms(self) -> list[Arm]:
        """All arms, in order."""

    @abstractmethod
    def open_blocks(self) -> list[BlockRow]:
        """Blocks that are not settled, in order."""

    @abstractmethod
    def due_blocks(self, mark: float) -> list[BlockRow]:
        """Open blocks whose patience has run out by `mark`: those due first, first."""

    @abstractmethod
    def earliest_due(self) -> float | None:
        """When the first of the open blocks is due."""

    @abstractmethod
    def settled_at(self, place: int) -> BlockRow | None:
        """The block that was settled as the how-manieth."""

    @abstractmethod
    def blocks(self, after: int, limit: int, *, settled_only: bool = False) -> list[BlockRow]:
        """Blocks with numbers above `after`, in order, at most `limit`."""

    @abstractmethod
    def latest_blocks(self, limit: int) -> list[BlockRow]:
        """The last blocks, in order."""

    @abstractmethod
    def asks_of(self, block: int) -> list[Ask]:
        """What was handed out of a block, in order."""

    @abstractmethod
    def asks_under(self, request: str) -> list[Ask]:
        """What was handed out under a request, in order."""

    @abstractmethod
    def tells_of(self, block: int) -> list[Tell]:
        """What was told of a block, by round."""

    @abstractmethod
    def tells_at(self, block: int, rounds: Sequence[int]) -> list[Tell]:
        """What was told of some rounds of a block before this transaction, and perhaps of others."""

    @abstractmethod
    def forget(self, block: int) -> None:
        """Remove the asks and tells of a block."""

    @abstractmethod
    def remove(self, number: int) -> None:
        """Remove a block."""


class Store(ABC):
    """Games by name. One object serves the threads of one process."""

    url: str

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all players, sorted."""

    @abstractmethod
    def find(self, name: str) -> Identity | None:
        """The player of this name."""

    @abstractmethod
    def create(self, fresh: Sequence[Fresh]) -> list[Identity]:
        """Begin games, all or none; where a name is taken, the game that has it is left as it is and returned."""

    @abstractmethod
    def delete(self, player: int) -> None:
        """Remove a game and all its rows."""

    @abstractmethod
    def change(self, player: int, wanted: Wanted = NOTHING_WANTED) -> AbstractContextManager[Rows]:
        """The rows of a game, to be changed. Blocks and tells that are `wanted` will be asked for first."""

    @abstractmethod
    def look(self, player: int) -> AbstractContextManager[Rows]:
        """The rows of a game, to be read."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; the store can be used again, and opens them anew."""
