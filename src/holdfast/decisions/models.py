"""What is stored of a game, and what users get: plain values without behaviour.

    Game       who it is, what it plays and its settings
    Head       the counts that change with each call; its row is the lock of the game
    Block      one block: its draw, the losses reported for it, when it was settled
    HandedOut  rounds of one block that one call handed out
    Loss       the loss of one round
    Seen       the losses of all arms in one round
    ChangeMade settings that were changed, when and why
    Events     what one transaction adds and changes

Sums of losses are kept as a few numbers that do not overlap (`losses`), so that they are exact in any order.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_COUNT = 2**53

MOST_TIME = 1e11
"""Seconds since 1970 in the year 5138; a clock beyond it counts milliseconds or nanoseconds."""


PINNED, BY_RULE = 1, 2
"""Who chose the arm of a block, where the policy did not."""


class Decision(NamedTuple):
    """One round that was handed out. All its fields are plain values that JSON carries.

    >>> import holdfast as hf
    >>> hf.open("memory:", "chat", hf.Exp3(arms=["a", "b"]), seed=1).ask().block
    1
    """

    id: str
    """Quote it when you report the loss. It names the game and cannot be guessed."""
    arm: int | str
    """The arm to play: its name, or its number from 0."""
    probability: float
    """With which the arm was drawn, at the beginning of its block: log it."""
    block: int
    """The number of the block, from 1. Decisions of one block were drawn together."""
    asked: float
    """When it was handed out, in seconds since 1970."""

    @property
    def recorded(self) -> bool:
        """False for the fallback of an ask that got no decision: its loss cannot be reported."""
        return self.block > 0


class Receipt(NamedTuple):
    """The answer to a loss that was reported.

    >>> Receipt("a-1-0-x", new=True).new
    True
    """

    id: str
    new: bool
    """False when it had been reported before."""


class Game(NamedTuple):
    """Who a game is and what it plays; changes with its settings only."""

    id: int
    name: str
    uid: str
    """What its decisions' ids begin with."""
    secret: str
    """What they are signed with."""
    created: float
    policy: str
    """The policy as JSON: settings, and names of those that are functions."""
    arms: str
    """All arms there ever were, as JSON: a name (null where arms have none), whether it is retired, and the block after
    which it came back, else 0."""
    settings: str
    """Patience, missing and remember as JSON."""
    availability: str
    """Arms that are paused, and the one that is pinned, with until when, as JSON."""
    settings_version: str
    """A random token; another one whenever one of these changes."""


class Head(NamedTuple):
    """The counts of one game. The current block is in it, so that handing out its rounds reads nothing else."""

    revision: int
    """Counts the transactions. One that runs backwards tells of a store that was restored."""
    settings_version: str
    """As in `Game`."""
    state_version: str
    """That of the state: a random token, so that no two states ever share one."""
    block: int = 0
    """Blocks begun, by the policy or an operator."""
    drawn: int = 0
    """Those of the policy."""
    current: int = 0
    """The number of the policy's current block."""
    arm: int = -1
    """The current block's arm; −1 before the first."""
    last_arm: int = -1
    """The arm that was handed out last: another one while that of the block is down, or one is pinned."""
    rounds: int = 0
    """Rounds of the current block."""
    handed: int = 0
    """How many of them are handed out."""
    probability: float = 0.0
    asked: int = 0
    """Rounds handed out in all."""
    switches: int = 0
    paid: tuple[float, ...] = ()
    """Parts of what the switches cost."""
    settled: int = 0
    """Blocks settled."""
    forgotten: int = 0
    """Settlement order up to which single losses are deleted."""
    kept: int = 0
    """Rounds of settled blocks whose losses are still kept one by one."""
    removed: int = 0
    """Blocks whose rows were removed."""
    clock: float = 0.0
    """The latest time seen: time never runs back."""
    heard: int = 0
    """Losses that came, late ones too."""
    lateness: float = 0.0
    """How many rounds late losses are: the mean, of which the last 1,000 have most of the weight."""
    next_due: float | None = None
    """No open block runs out of patience before this."""
    next_idle: float | None = None
    """No conversation was idle for too long before this."""


class Block(NamedTuple):
    """One block."""

    number: int
    key: str | None
    """Of the conversation that it is; then `rounds` grows with each ask."""
    arm: int
    rounds: int
    probability: float
    began: float
    bound: float | None
    """The highest loss, where it was announced with the block."""
    forced: int
    """1 when an operator chose the arm (`PINNED`), 2 when the rule held back did (`BY_RULE`).

    Only a policy that sees the losses of all arms learns from it."""
    data: str
    """The block as the policy wants it back, as JSON; the policy's own draw where the rule decided."""
    first: int = 0
    """Rounds that were asked before it began."""
    live: int = 0
    """1 while a conversation goes on."""
    last: float = 0.0
    """When a round of a conversation was handed out last."""
    played: str = ""
    """Rounds that were handed out while arms were down, as JSON: first round, count, arm played, its probability."""
    told: int = 0
    losses: tuple[float, ...] = ()
    """Parts of the sum of the losses reported in time."""
    late: int = 0
    """Losses that came after it was settled."""
    due: float | None = None
    """When it is settled with what is known: a time, or a number of rounds asked. None while rounds are left."""
    settled_order: int | None = None
    """Settlement order, from 1; None while it is open."""
    settled_at: float | None = None
    total: float | None = None
    """The sum of the losses reported in time, rounded once."""
    stand_in: float | None = None
    """What counted for each loss that did not come in time; None where all came, or the missing rounds were dropped."""
    learnt: int = 0
    """Where a conversation was learnt from before it ended: 1 more than the blocks that were settled by then."""


class HandedOut(NamedTuple):
    """Rounds of a block, from `first` on, that one call handed out."""

    block: int
    first: int
    rounds: int
    at: float
    request: str


class Loss(NamedTuple):
    """The loss of one round."""

    block: int
    round: int
    loss: float
    at: float
    late: int
    """1 when the block was settled before."""


class Seen(NamedTuple):
    """The losses of all arms in one round of a block."""

    block: int
    round: int
    at: float
    losses: str
    """As JSON, by the numbers of the arms."""


class ChangeMade(NamedTuple):
    """Settings that were changed."""

    at: float
    kind: str
    detail: str
    """As JSON."""
    reason: str | None


@dataclass(slots=True)
class Events:
    """What one transaction adds and changes, besides the head and the state."""

    begun: dict[int, Block] = field(default_factory=dict)
    changed: dict[int, Block] = field(default_factory=dict)
    asks: list[HandedOut] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    """Blocks whose asks and losses are deleted."""
    removed: list[int] = field(default_factory=list)
    """Blocks that are deleted altogether."""
    changes: list[ChangeMade] = field(default_factory=list)
    game: Game | None = None
    """The game with other settings."""


def new_token() -> str:
    """A random version: never one that was there before, whatever copy of a store is restored."""
    return secrets.token_hex(8)
