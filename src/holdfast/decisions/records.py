"""What is kept of single decisions: when each was handed out, and its loss.

A row for each would be many. So the rounds of blocks that begin together have one row, and so have those of a block
that goes on; rounds of a block that began with a call were handed out when it began. Losses of rounds that follow each
other share a row if they were told in one call, and a block of which all was told in one call needs none: its `parts`
are its losses, until single ones are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from holdfast.decisions.decision import Decision
from holdfast.decisions.rows import MOST_TOGETHER, Ask, BlockRow, Recorded, Tell, as_parts, parts_of
from holdfast.decisions.stores.store import Rows
from holdfast.errors import BadStore


def handed_together(player: int, given: Sequence[Decision], first: int, request: str, *, by_block: bool) -> list[Ask]:
    """Rows for decisions that one call handed out one after the other, beginning with round `first` of a block."""
    together = [list(some) for _, some in groupby(given, lambda d: d.block)] if by_block else [given]
    firsts = (first if some is together[0] else 0 for some in together)
    return [
        Ask(player, some[0].block, first, len(some), some[0].asked, request)
        for first, some in zip(firsts, together, strict=True)
    ]


def told_together(player: int, block: int, losses: Mapping[int, float], at: float) -> list[Tell]:
    """Rows for losses of a block, by round, told in time in one call."""
    ordered = sorted(losses.items())
    runs = groupby(enumerate(ordered), lambda place: (place[1][0] - place[0], place[0] // MOST_TOGETHER))
    tells = []
    for _, run in runs:
        (first, loss), *others = [told for _, told in run]
        tells.append(Tell(player, block, first, loss, at, 0, as_parts([loss for _, loss in others])))
    return tells


def recorded(tells: Iterable[Tell]) -> dict[int, Recorded]:
    """What was told, by round."""
    found = {}
    for tell in tells:
        for number, loss in enumerate([tell.loss, *parts_of(tell.more)], tell.first):
            found[number] = (loss, tell.late)
    return found


def losses_of(rows: Rows, block: BlockRow, rounds: Sequence[int] | None = None) -> dict[int, Recorded]:
    """What was told of a block and is known, by round; of some `rounds` and perhaps others, if given.

    Single losses are not known once they are forgotten, or of rounds that a fleet played.
    """
    if block.whole:
        losses = parts_of(block.parts)
        if len(losses) != block.rounds:
            raise BadStore(f"the store is damaged: the losses of block {block.number} are missing")
        return {round: (loss, 0) for round, loss in enumerate(losses)}
    forgotten = block.place is not None and block.place <= rows.head.forgotten
    if forgotten or not (block.told or block.late):
        return {}
    return recorded(rows.tells_of(block.number) if rounds is None else rows.tells_at(block.number, rounds))


def rounds_out(rows: Rows, block: BlockRow) -> int:
    """How many rounds of a block are handed out."""
    return rows.head.handed if block.number == rows.head.begun else block.rounds


def handed_out(rows: Rows, block: BlockRow) -> Iterator[tuple[range, float]]:
    """Rounds of a block that were handed out together, and when."""
    later = [(ask.first, ask.at) for ask in rows.asks_of(block.number) if ask.first]
    for (first, at), (after, _) in pairwise([(0, block.began), *later, (rounds_out(rows, block), 0.0)]):
        yield range(first, after), at


def under(rows: Rows, request: str) -> Iterator[tuple[BlockRow, range, float]]:
    """Rounds that were handed out under a request, by block, and when."""
    for ask in rows.asks_under(request):
        number, first, left = ask.block, ask.first, ask.handed
        while left > 0 and (block := rows.get(BlockRow, number)) is not None:
            count = min(left, block.rounds - first)
            yield block, range(first, first + count), ask.at
            number, first, left = number + 1, 0, left - count
