"""Losses told in one call: which of them count, and what is said of the others.

Each is judged as if it were told alone, one after the other. What they add to a block is written once, and blocks that
are complete are settled together, in the order in which they became so: at the end, or before a loss is refused, since
the reason may be that its block was settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.decisions.book import Book, summed
from holdfast.decisions.records import losses_of, rounds_out, told_together
from holdfast.decisions.rows import BlockRow, Recorded, Tell, as_parts
from holdfast.decisions.stores.store import Rows, Wanted
from holdfast.errors import AlreadyTold, Forgotten, HoldfastError, TooLate, UnknownDecision
from holdfast.players.losses import outside_range

NOT_HANDED_OUT = "is of a round that this store has not handed out: was it restored from a copy?"


class Receipt(NamedTuple):
    """What a told loss came to."""

    id: str
    new: bool
    """False when it had been told before."""


Answers = list[Receipt | HoldfastError]

Told = tuple[str, int, float]
"""A loss that somebody tells: id, round of its block, loss."""


class Page(NamedTuple):
    """A block of which losses are told."""

    block: BlockRow
    handed: int
    """How many of its rounds are handed out."""
    bounds: tuple[float, float]
    known: dict[int, Recorded]
    """What was told of it, by round."""
    new: dict[int, float]
    """What is to be added, by round."""

    @property
    def is_complete(self) -> bool:
        """Whether this call told what was missing."""
        return len(self.new) == self.block.rounds - self.block.told > 0


def hear(book: Book, rows: Rows, runs: Sequence[tuple[int, Sequence[Told]]], wanted: Wanted, now: float) -> Answers:
    """Take losses in this order, runs of them with the number of their block; for each a receipt, or why not.

    `wanted` are the rounds of each block.
    """
    hearing = Hearing(book, rows, book.on_time(rows, now))
    for number, losses in runs:
        hearing.take(number, losses, wanted[number])
    hearing.end()
    return hearing.answers


class Hearing:
    """One call, at one time."""

    def __init__(self, book: Book, rows: Rows, clock: float) -> None:
        self.answers: Answers = []
        self._book, self._rows, self._clock = book, rows, clock
        self._pages: dict[int, Page] = {}
        self._complete: dict[int, Page] = {}

    def take(self, number: int, losses: Sequence[Told], rounds: Sequence[int]) -> None:
        """Losses of one block, one after the other; `rounds` are all its rounds of which this call tells."""
        page = self._pages.get(number) or self._turned_to(number, rounds)
        if page is None:
            self.answers += [self._unknown(number, id) for id, _, _ in losses]
            return
        block, handed, (low, high), known, new = page
        is_open = block.place is None
        for told in losses:
            id, round, loss = told
            if is_open and low <= loss <= high and round < handed and round not in known and round not in new:
                new[round] = loss
                self.answers.append(Receipt(id, True))
            else:
                self._settle(page)
                self.answers.append(self._repeated_or_refused(page, told))
        if page.is_complete:
            self._complete[number] = page

    def end(self) -> None:
        """Write what was added."""
        self._settle()
        for number, (block, _, _, _, new) in self._pages.items():
            if new:
                self._rows.add(*told_together(block.player, number, new, self._clock))
                parts = as_parts(summed(block, new.values()))
                self._rows.set(BlockRow, number, told=block.told + len(new), parts=parts)

    def _turned_to(self, number: int, rounds: Sequence[int]) -> Page | None:
        rows, head = self._rows, self._rows.head
        block = rows.get(BlockRow, number) if number <= head.begun else None
        if block is None:
            return None
        page = Page(block, rounds_out(rows, block), self._book.bounds_of(block), losses_of(rows, block, rounds), {})
        self._pages[number] = page
        return page

    def _unknown(self, number: int, id: str) -> HoldfastError:
        if number <= self._rows.head.begun:
            return Forgotten(id, "the row of its block was compacted")
        return UnknownDecision(id, NOT_HANDED_OUT)

    def _settle(self, page: Page | None = None) -> None:
        """Settle what is complete, this block too if it is."""
        if page is not None and page.is_complete:
            self._complete[page.block.number] = page
        if self._complete:
            self._book.settle(self._rows, [(done.block, done.new) for done in self._complete.values()], self._clock)
            for settled in self._complete.values():
                settled.known.update((round, (loss, 0)) for round, loss in settled.new.items())
                settled.new.clear()
            self._complete.clear()

    def _repeated_or_refused(self, page: Page, told: Told) -> Receipt | HoldfastError:
        """The answer to a loss that does not count."""
        id, round, loss = told
        rows, number = self._rows, page.block.number
        block = rows.need(BlockRow, number)
        low, high = page.bounds
        before = (page.new[round], 0) if round in page.new else page.known.get(round)
        if round >= page.handed:
            return UnknownDecision(id, NOT_HANDED_OUT)
        if not low <= loss <= high:
            return outside_range("loss", (low, high), 1, loss)
        if block.place is not None and block.place <= rows.head.forgotten:
            return Forgotten(id, "its block is settled, and single losses are remembered for a while only")
        if before is not None and before[0] != loss:
            return AlreadyTold(id, before[0], loss)
        if before is not None and not before[1]:
            return Receipt(id, False)
        if before is None:
            page.known[round] = (loss, 1)
            rows.add(Tell(block.player, number, round, loss, self._clock, late=1))
            rows.set(BlockRow, number, late=block.late + 1)
        assert block.settled is not None
        return TooLate(id, loss, block.settled, f"block {number} was settled without it")
