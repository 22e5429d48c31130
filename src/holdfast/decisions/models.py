"""The rows of a game and the values users get: plain data without behaviour.

    Game       who it is, what it plays and its settings
    Head       the counts that change with each call; its row is the lock of the game
    Block      one block: its draw, the losses reported for it, when it was settled
    HandedOut  rounds of one block that one call handed out
    Loss       the loss of one round
    Seen       the losses of all arms in one round
    ChangeMade settings that were changed, when and why
    Day        all sums at the end of a day
    Events     what one transaction adds and deletes

Sums of losses are kept as a few numbers that do not overlap (`losses`), so that they are exact in any order.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.errors import BadStore

MOST_COUNT = 2**53

MOST_TIME = 1e11
"""Seconds since 1970 in the year 5138; a larger clock value is in milliseconds or nanoseconds."""


FORMAT = 1
"""Format of a store's tables; a store, or a game, of another format is refused before anything is written."""

PINNED, BY_RULE = 1, 2
"""Origin of a block's arm, where the policy did not choose it."""


class Decision(NamedTuple):
    """One round that was handed out. All its fields are plain JSON values.

    >>> import holdfast as hf
    >>> hf.open("memory:", "chat", hf.Exp3(arms=["a", "b"]), seed=1).ask().block
    1
    """

    id: str
    """Unguessable id that names the game; quote it when reporting the loss."""
    arm: int | str
    """The arm to play: its name, or its number from 0."""
    probability: float
    """Probability with which the arm was drawn, at the start of its block: log it."""
    block: int
    """Number of the block, from 1. Decisions of one block were drawn together."""
    asked: float
    """Time it was handed out, in seconds since 1970."""

    @property
    def recorded(self) -> bool:
        """False for the fallback of an ask that failed: its loss cannot be reported."""
        return self.block > 0


class Receipt(NamedTuple):
    """The answer to a reported loss.

    >>> Receipt("a-1-0-x", new=True).new
    True
    """

    id: str
    new: bool
    """False if it changed nothing: it had been reported before, or is so late that nobody knows whether it had."""
    late: bool = False
    """True if it came after its block was settled. It counts all the same, in place of what stood for it."""


class Game(NamedTuple):
    """Identity and settings of a game; rewritten only when its settings change."""

    id: int
    name: str
    uid: str
    """Prefix of its decisions' ids."""
    secret: str
    """Key that signs these ids."""
    created: float
    policy: str
    """The policy as JSON: its settings, and the names of those that are functions."""
    arms: str
    """All arms that ever existed, as JSON.

    Each has its name (null if unnamed), whether it is retired, and the block after which it was re-added, else 0.
    """
    settings: str
    """Patience, missing and remember as JSON."""
    availability: str
    """Paused arms and the pinned one, with their ends, as JSON."""
    settings_version: str
    """Random token, replaced whenever one of these changes."""


class Head(NamedTuple):
    """The counts of one game. It includes the current block, so handing out rounds reads nothing else."""

    revision: int
    """Number of transactions. If it runs backwards, the store was restored."""
    settings_version: str
    state_version: str
    """Random token of the state: no two states ever share one."""
    block: int = 0
    """Blocks begun, by the policy or by others."""
    drawn: int = 0
    """Blocks begun by the policy."""
    current: int = 0
    """Number of the policy's current block."""
    arm: int = -1
    """Arm of the current block; −1 before the first."""
    last_arm: int = -1
    """Arm handed out last; not the block's while that is down or another is pinned."""
    rounds: int = 0
    """Rounds of the current block."""
    handed: int = 0
    """Rounds of it that were handed out."""
    probability: float = 0.0
    asked: int = 0
    """Rounds handed out in total."""
    switches: int = 0
    paid: tuple[float, ...] = ()
    """Parts of the exact sum of switching costs."""
    settled: int = 0
    """Blocks settled."""
    forgotten: int = 0
    """Settlement order up to which single losses are deleted."""
    kept: int = 0
    """Rounds of settled blocks whose single losses are kept."""
    removed: int = 0
    """Blocks whose rows were removed."""
    gone: int = 0
    """The highest number among them."""
    clock: float = 0.0
    """Latest time seen; time never runs backwards, but where a clock ran far ahead of the others (`leap`)."""
    leap: float = 0.0
    """By how much one call moved the time far ahead, last. Another that is behind by as much takes it back."""
    heard: int = 0
    """Losses received, including late ones."""
    late: int = 0
    """Losses that came after their block was settled, and count."""
    lateness: float = 0.0
    """Mean lateness in rounds, weighted to the last 1,000 losses."""
    delay: float = 0.0
    """The same in seconds."""
    next_due: float | None = None
    """Lower bound on `due` of the open blocks."""
    next_last: float = 0.0
    """Lower bound on `last` of the open blocks that are due some time."""
    next_idle: float | None = None
    """Lower bound on when a conversation has been idle too long."""
    breakers: str = ""
    """Breaker records of the arms, as JSON (`breaker.Fuse`); empty if nothing has failed."""
    stays: float = 0.0
    """Time until which the budget of switches is used up."""
    format: int = FORMAT
    """Raised with that of the store by whoever changes the tables, so that processes which are running notice."""


class Block(NamedTuple):
    number: int
    key: str | None
    """Key of its conversation, if it is one; `rounds` then grows with each ask."""
    arm: int
    rounds: int
    probability: float
    began: float
    bound: float | None
    """Highest loss, if announced with the block."""
    forced: int
    """1 if an operator chose the arm (`PINNED`), 2 if the operator's rule did (`BY_RULE`).

    Only a full-information policy learns from it.
    """
    data: str
    """The block as the policy needs it back, as JSON; under a rule, the policy's own draw."""
    first: int = 0
    """Rounds asked before it began."""
    live: int = 0
    """1 while a conversation is open."""
    expires: float = 0.0
    """Time until which an open conversation may be idle."""
    last: float = 0.0
    """Time of a conversation's latest round; once no more are handed out, when patience began."""
    played: str = ""
    """Rounds that another arm plays, as JSON: first round, count, arm played, its probability. Later ones count.

    The first is of `MOST_COUNT` rounds where the block was given to another arm altogether (`assigned`).
    """
    told: int = 0
    losses: tuple[float, ...] = ()
    """Parts of the exact sum of the losses reported."""
    late: int = 0
    """Number of them that came after it was settled."""
    due: float | None = None
    """Deadline for its losses: a time, or a count of rounds asked. None while rounds are left, or without limit."""
    settled_order: int | None = None
    """Settlement order, from 1; None while it is open."""
    settled_at: float | None = None
    total: float | None = None
    """Sum of the losses reported, rounded once."""
    stand_in: float | None = None
    """Substitute for each missing loss; None if none is missing, or missing rounds were dropped."""
    learnt: int = 0
    """Settlement order at which the policy learnt early from this conversation (`learn_after`); 0 if it did not."""
    share: float = 0.0
    """Probability with which it was given to the operator's rule; below 0 if none was given: it could not."""
    price: float = 0.0
    """λ when it began, where a rule is compared."""
    squares: float = 0.0
    """Sum of the squares of the losses reported."""
    moves: str = ""
    """Moves of a conversation as JSON: first round, arm, reason. Empty for one that cannot move."""
    odds: str = ""
    """The draw, and the probability with which each arm was given the block, as JSON; under shares, or at a limit."""


class HandedOut(NamedTuple):
    """Rounds of a block, starting at `first`, handed out by one call."""

    block: int
    first: int
    rounds: int
    at: float
    request: str
    """Idempotency key of the call, or a generated name."""
    content: str
    """Digest of a call with an idempotency key; else empty."""


class Loss(NamedTuple):
    block: int
    round: int
    loss: float
    at: float
    late: int
    """1 if the block had been settled."""
    measures: str = ""
    """The report in place of a loss, as JSON; empty for a loss."""


class Seen(NamedTuple):
    """The losses of all arms in one round of a block."""

    block: int
    round: int
    at: float
    losses: str
    """Losses by arm number, as JSON."""


class ChangeMade(NamedTuple):
    """A recorded change of settings."""

    at: float
    kind: str
    detail: str
    """Old and new values, as JSON."""
    reason: str | None


class Day(NamedTuple):
    """All sums of a game at the end of a day on which a block was settled."""

    day: int
    """Counted from 1970, in UTC."""
    sums: str
    """The sums of each arm (`ArmSums`), from the game's beginning, as JSON."""


@dataclass(slots=True)
class Events:
    """Rows that one transaction adds and deletes, besides the head, the state and the blocks."""

    asks: list[HandedOut] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    """Blocks whose asks and losses are deleted."""
    removed: list[int] = field(default_factory=list)
    """Blocks that are deleted altogether."""
    changes: list[ChangeMade] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)
    game: Game | None = None
    """The game's row with other settings."""


def new_token() -> str:
    """Return a random version that never recurs, whichever copy of a store is restored."""
    return secrets.token_hex(8)


@contextmanager
def undamaged(what: str, passing: type[Exception] | None = None) -> Iterator[None]:
    """Turn any error while reading into a store error about damage; let errors of type `passing` through."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if passing is not None and isinstance(error, passing):
            raise
        raise BadStore(f"the store is damaged: {what} cannot be read ({error})") from None
