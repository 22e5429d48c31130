"""What is kept of a game that lasts, as rows: one class for each table, the same in every store.

    Identity   who it is and what it plays; changes with its settings only
    Head       counts that change with each ask; its row is the lock of the game
    State      the policy's numbers and the random stream; rewritten when a block begins or is observed
    Arm        what became of one arm so far
    BlockRow   one block: its draw, what was told of it, when it was settled
    Ask        rounds handed out by one call
    Tell       the loss of one decision, and of those after it that were told in the same call (`records.py` says when
               there is none)

Asks and tells of settled blocks are forgotten in time (`remember`), so that what is kept grows by blocks. Sums of
losses are kept as `parts`: a few numbers, as JSON, whose sum is exactly that of all losses told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from holdfast.errors import BadStore
from holdfast.players.losses import exact_sum

NOTHING = "[]"
"""No numbers, as JSON."""


class Identity(NamedTuple):
    """Who a game is and what it plays."""

    player: int
    name: str
    uid: str
    """What its decisions' ids begin with."""
    secret: str
    """What they are signed with."""
    made: float
    policy: str
    """The policy as JSON: settings, and names of those that are functions."""
    options: str
    """Patience, missing and remember as JSON."""
    edition: int
    """Another one when policy or options change; a random number at first, so that two games never have the same."""


class Head(NamedTuple):
    """The counts of one game."""

    player: int
    edition: int
    """As in `Identity`."""
    version: int
    """That of the state."""
    begun: int
    """Blocks begun; the current one has this number."""
    arm: int
    """The current block's arm; −1 before the first."""
    rounds: int
    """Rounds of the current block."""
    handed: int
    """How many of them are handed out."""
    asked: int
    """Rounds handed out in all."""
    switches: int
    paid: str
    """Parts of what the switches cost."""
    settled: int
    """Blocks settled."""
    forgotten: int
    """How many of them, in the order of settling, have lost their single losses."""
    kept: int
    """Rounds of settled blocks whose losses are still kept one by one."""
    removed: int
    """Blocks whose rows were removed."""
    clock: float
    """The latest time seen: time never runs back."""
    next_due: float | None
    """No open block runs out of patience before this."""


FIRST_VERSION = 1
"""Of the state of a game that begins."""


class State(NamedTuple):
    """The policy's numbers."""

    player: int
    version: int
    data: str


class Arm(NamedTuple):
    """One arm so far, without the blocks that are still open."""

    player: int
    arm: int
    name: str | None
    retired: int
    blocks: int
    rounds: int
    told: int
    parts: str
    last_used: float | None
    """When its latest block began."""


class BlockRow(NamedTuple):
    """One block."""

    player: int
    number: int
    arm: int
    rounds: int
    probability: float
    began: float
    bound: float | None
    """The highest loss, where it was announced with the block."""
    data: str
    """The block as the policy wants it back."""
    told: int = 0
    parts: str = NOTHING
    late: int = 0
    """Losses that came after it was settled."""
    due: float | None = None
    """When it is settled with what is known: a time, or a number of rounds asked. None while rounds are left."""
    place: int | None = None
    """The how-manieth block to be settled it was; None while it is open."""
    settled: float | None = None
    total: float | None = None
    """The sum of the losses told, rounded once."""
    whole: int = 0
    """1 when all losses were told in one call: then `parts` are the losses, by round."""


class Ask(NamedTuple):
    """Rounds from the `first` of a block on, those of the blocks after it too, handed out together."""

    player: int
    block: int
    first: int
    handed: int
    """How many."""
    at: float
    request: str


MOST_TOGETHER = 100
"""Losses in one row: so many are read to know one of them."""


class Tell(NamedTuple):
    """The loss of one decision, and of those after it that were told in the same call."""

    player: int
    block: int
    first: int
    """Its round."""
    loss: float
    at: float
    late: int
    """1 when the block was settled before."""
    more: str = NOTHING
    """The losses of the rounds that follow, as JSON."""


Row = Identity | Head | State | Arm | BlockRow | Ask | Tell

KEYS: dict[type, tuple[str, ...]] = {
    Identity: ("player",),
    Head: ("player",),
    State: ("player",),
    Arm: ("player", "arm"),
    BlockRow: ("player", "number"),
    Ask: ("player", "block", "first"),
    Tell: ("player", "block", "first"),
}
"""What tells the rows of a table apart: the first columns, the player first of all."""

KEY_ENDS = {kind: len(columns) for kind, columns in KEYS.items()}

RowKey = tuple[type, tuple[Any, ...]]


def key_of(row: Row) -> RowKey:
    """What tells a row apart from the others of its game."""
    kind = type(row)
    return kind, row[1 : KEY_ENDS[kind]]


@dataclass(slots=True)
class Gain:
    """What blocks that were settled add to their arm."""

    blocks: int = 0
    rounds: int = 0
    told: int = 0
    parts: list[float] = field(default_factory=list)
    last_used: float = 0.0

    def add(self, block: BlockRow, told: int, parts: list[float]) -> None:
        """One block more."""
        self.blocks += 1
        self.rounds += block.rounds
        self.told += told
        self.parts += parts
        self.last_used = max(self.last_used, block.began)

    def to(self, arm: Arm) -> dict[str, Any]:
        """What changes of the arm's row."""
        return {
            "blocks": arm.blocks + self.blocks,
            "rounds": arm.rounds + self.rounds,
            "told": arm.told + self.told,
            "parts": as_parts(exact_sum([*parts_of(arm.parts), *self.parts])),
            "last_used": max(arm.last_used or 0.0, self.last_used),
        }


class Fresh(NamedTuple):
    """All rows of a game that begins, but for its number."""

    identity: Identity
    head: Head
    state: State
    arms: tuple[Arm, ...]
    blocks: tuple[BlockRow, ...] = ()
    """One in play, where the game comes from elsewhere."""

    def numbered(self, player: int) -> Fresh:
        """The same rows under the number that the store gave."""
        return Fresh(
            self.identity._replace(player=player),
            self.head._replace(player=player),
            self.state._replace(player=player),
            tuple(arm._replace(player=player) for arm in self.arms),
            tuple(block._replace(player=player) for block in self.blocks),
        )


Recorded = tuple[float, int]
"""What is known of a decision that was told: its loss, and whether it came late."""


def parts_of(text: str) -> list[float]:
    """The numbers that `as_parts` wrote."""
    if text == NOTHING:
        return []
    try:
        parts = [float(part) for part in text[1:-1].split(",")]
        if text[0] + text[-1] != NOTHING or not all(map(isfinite, parts)):
            raise ValueError(text)
        return parts
    except (ValueError, TypeError, IndexError):
        raise BadStore(f"the store is damaged: a sum of losses cannot be read ({text!r})") from None


def as_parts(parts: list[float]) -> str:
    """Finite numbers as JSON, exactly: Python writes a list of them in the same way."""
    return str(parts)
