"""One decision followed: who asked for it, why its arm, what it lost, when that came, and what was learnt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from holdfast.decisions.codec import block_numbers, chosen_by
from holdfast.decisions.models import PINNED, Block, HandedOut, Loss, undamaged
from holdfast.decisions.rules.report import NOT_HANDED_OUT
from holdfast.decisions.settings import Setup, player_of
from holdfast.decisions.stores.sql import Transaction, row_of, select
from holdfast.decisions.why import why_conversation, why_drawn
from holdfast.errors import Forgotten, UnknownDecision
from holdfast.text import counted


@dataclass(frozen=True)
class DecisionRecord:
    """All that is known of one decision; times are in seconds since 1970. None where it is not known, or no longer."""

    id: str
    arm: int | str
    probability: float
    by: str | None
    """Chooser of the arm: ``policy``, ``operator`` or ``rule``; under a guard also ``look`` or ``guard``."""
    why: str
    """Why this arm, as it was said when it was asked for."""
    block: int
    round: int
    """Place in the block, from 0."""
    key: str | None
    """Its conversation."""
    asked: float | None
    request: str | None
    """Idempotency key of the ask, or the name it was given."""
    status: str
    """``open``, ``told``, ``late`` or ``missing``."""
    loss: float | None
    """The loss that was reported."""
    told: float | None
    """When it was reported."""
    measures: dict[str, Any] | None
    """The report in place of a loss, as it was given."""
    counted: float | None
    """The loss that counted; the substitute for one that did not come in time."""
    settled: float | None
    """When its block was settled."""
    learnt: str
    """The lesson of the policy, in words."""


def record_of(transaction: Transaction, setup: Setup, id: str) -> DecisionRecord:
    """Collect everything known about a decision, inside a transaction."""
    head, (number, round) = transaction.head, setup.ids.parse(id)
    found = transaction.blocks("number", number)
    if not found:
        if number <= head.block:
            raise Forgotten(id, "the row of its block was compacted")
        raise UnknownDecision(id, NOT_HANDED_OUT)
    block = found[0]
    if round >= (head.handed if number == head.current else block.rounds):
        raise UnknownDecision(id, NOT_HANDED_OUT)
    where = "WHERE game = ? AND block = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    asks = transaction.fetch(select(HandedOut) + where, transaction.game, number, round)
    ask: HandedOut | None = row_of(HandedOut, asks[0]) if asks else None
    where = "WHERE game = ? AND block = ? AND round = ?"
    losses = transaction.fetch(select(Loss) + where, transaction.game, number, round)
    loss: Loss | None = row_of(Loss, losses[0]) if losses else None
    arm, probability = player_of(block, round)
    forgotten = block.settled_order is not None and block.settled_order <= head.forgotten
    if loss is not None:
        status = "late" if loss.late else "told"
    elif block.settled_order is None:
        status = "open"
    else:
        status = "told" if forgotten and block.told == block.rounds else "missing"
    with undamaged(f"a loss of block {number}"):
        measures = json.loads(loss.measures) if loss is not None and loss.measures else None
    return DecisionRecord(
        id=id,
        arm=setup.name_of(arm),
        probability=probability,
        by=chosen_by(block),
        why=_why(transaction, setup, block, ask, arm, round),
        block=number,
        round=round,
        key=block.key,
        asked=None if ask is None else ask.at,
        request=None if ask is None else ask.request,
        status=status,
        loss=None if loss is None else loss.loss,
        told=None if loss is None else loss.at,
        measures=measures,
        counted=block.stand_in if loss is None else loss.loss,
        settled=block.settled_at,
        learnt=_learnt(setup, block),
    )


def _why(transaction: Transaction, setup: Setup, block: Block, ask: HandedOut | None, played: int, round: int) -> str:
    rounds = block.rounds if block.key is not None or block.forced == PINNED else block_numbers(setup, block)["rounds"]
    left = 0 if ask is None else max(int(rounds) - ask.first - ask.rounds, 0)
    if block.key is not None:
        return why_conversation(setup, block, setup.name_of(played), round)
    return why_drawn(setup, block, setup.name_of(played), left, _arms_then(transaction, setup, block.began))


def _arms_then(transaction: Transaction, setup: Setup, moment: float) -> int:
    """Return how many arms there were: the first change after that moment says it."""
    for _, change in transaction.changes():
        if change.kind == "settings" and change.at > moment:
            with undamaged("a change of settings"):
                arms = json.loads(change.detail).get("arms")
            if arms is not None:
                return len(arms[0])
    return len(setup.active)


def _learnt(setup: Setup, block: Block) -> str:
    if block.settled_order is None and not block.learnt:
        out = f"{block.rounds - block.told} of {counted(block.rounds, 'loss', 'losses')} to come"
        waits = "the conversation goes on" if block.live else out
        return f"nothing yet: block {block.number} is open, {waits}"
    if block.forced and not setup.sees_all:
        return f"nothing: {'an operator' if block.forced == PINNED else 'your rule'} chose the arm"
    if block.settled_order is None:
        return f"block {block.number} was learnt from before its end, by the mean of its first losses"
    words = f"block {block.number} was settled with {block.told} of {counted(block.rounds, 'loss', 'losses')}"
    if block.told == block.rounds:
        return words
    others = "the others were left out" if block.stand_in is None else f"the others counted as {block.stand_in:.4g}"
    return f"{words}; {others}"
