"""Where a game stands, inside a transaction: as values, in words, and one decision followed."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from holdfast.decisions.executor import stored_state
from holdfast.decisions.game import (
    Setup,
    assigned,
    block_numbers,
    block_values,
    chosen_by,
    moves_of,
    odds_of,
    player_of,
)
from holdfast.decisions.models import BY_RULE, PINNED, Block, Decision, HandedOut, Head, Loss, undamaged
from holdfast.decisions.rules.arms import given_under_shares, no_stand_ins
from holdfast.decisions.rules.breakers import fuses_of
from holdfast.decisions.rules.conversations import DOWN, FAILING, GAIN
from holdfast.decisions.rules.report import NOT_HANDED_OUT
from holdfast.decisions.stores.sql import Transaction, row_of, select
from holdfast.errors import Forgotten, OutOfTurn, UnknownDecision
from holdfast.numerics.layout import Array
from holdfast.text import counted, number

if TYPE_CHECKING:
    from holdfast.policies.guarded import Guard, Guarding


def paused(transaction: Transaction, setup: Setup, now: float = -math.inf) -> dict[int | str, float]:
    """Return `Router.paused` inside a transaction, as of the latest time seen."""
    clock, found = max(transaction.head.clock, now), dict(setup.paused)
    for arm, fuse in fuses_of(transaction.head.breakers).items():
        if fuse.tripped:
            found[arm] = max(found.get(arm, 0.0), fuse.until)
    return {setup.names[arm]: until for arm, until in sorted(found.items()) if until > clock}


def pinned(transaction: Transaction, setup: Setup, now: float = -math.inf) -> int | str | None:
    """Return `Router.pinned` inside a transaction, as of the latest time seen."""
    pin = setup.pin
    return None if pin is None or pin[1] <= max(transaction.head.clock, now) else setup.names[pin[0]]


def shares(transaction: Transaction, setup: Setup, now: float = -math.inf) -> dict[int | str, float]:
    """Return `Router.shares` inside a transaction, as of the latest time seen."""
    share, clock = setup.settings.share, max(transaction.head.clock, now)
    if share is None:
        return {}
    known = {setup.names[arm]: share.by_arm.get(str(setup.names[arm])) for arm in setup.active}
    return {name: ramp.at(clock) for name, ramp in known.items() if ramp is not None}


def switches_left(transaction: Transaction, setup: Setup, now: float = -math.inf) -> int | None:
    """Return `Router.switches_left` inside a transaction, as of the latest time seen."""
    budget = setup.settings.most_switches
    if budget is None:
        return None
    return budget.left(stored_state(setup, transaction).switched, max(transaction.head.clock, now))


def guard_of(transaction: Transaction, setup: Setup) -> Guard:
    """Return `Router.guard` inside a transaction."""
    if not setup.policy.has_guard:
        raise OutOfTurn(f"{setup.policy.label} has no guard: use holdfast.Guarded")
    return cast("Guarding", setup.policy).guard_of(stored_state(setup, transaction).learner.state)


def certificate_of(transaction: Transaction, setup: Setup) -> float:
    """Return `Router.certificate` inside a transaction."""
    policy = setup.policy
    if not policy.full_information:
        raise OutOfTurn(f"{policy.label} has no certificate: it does not see the losses of all arms")
    state = stored_state(setup, transaction).learner.state
    return float(policy.certificate(state))  # type: ignore[attr-defined]  # such policies have one


def probabilities_of(transaction: Transaction, setup: Setup) -> Array:
    """Return `Router.probabilities` inside a transaction."""
    head, learner = transaction.head, stored_state(setup, transaction).learner
    current = transaction.blocks("number", head.current)
    waiting = setup.policy.waits_for_losses and any(block.settled_order is None for block in current)
    if current and not current[0].forced and (head.handed < head.rounds or waiting):
        if current[0].odds:
            odds = odds_of(current[0])
            return np.array([odds.get(arm, 0.0) for arm in setup.active])
        learner.block[:] = block_values(setup, current[0])
        return learner.probabilities()
    return next_probabilities(transaction, setup)


def next_probabilities(transaction: Transaction, setup: Setup) -> Array:
    """Return the distribution of the next block or conversation, by what is known now."""
    if setup.policy.announces is not None:
        raise OutOfTurn(f"the probabilities of the next block depend on its {setup.policy.announces}")
    if not setup.policy.knows_probabilities:
        raise OutOfTurn(f"{setup.policy.label} does not know the probabilities of its arms")
    learner = stored_state(setup, transaction).learner
    learner.begin()
    p = learner.probabilities()
    if setup.settings.share is None:
        return p
    return given_under_shares(setup, p, learner.next_best(no_stand_ins(setup)), transaction.head.clock)


FIRST = 0, -1
"""Position before the first round of the first block."""


def open_decisions_of(
    transaction: Transaction, setup: Setup, after: tuple[int, int] = FIRST, limit: int | None = None
) -> list[Decision]:
    """Return at most `limit` open decisions after this block and round, inside a transaction."""
    found: list[Decision] = []
    blocks = [block for block in transaction.blocks("open") if block.number >= after[0]]
    together = len(blocks) if limit is None else limit
    while blocks and (limit is None or len(found) < limit):
        some, blocks = blocks[:together], blocks[together:]
        found += _open_of_blocks(transaction, setup, some, after)
    return found[:limit]


def _open_of_blocks(
    transaction: Transaction, setup: Setup, some: list[Block], after: tuple[int, int]
) -> Iterator[Decision]:
    blocks = {block.number: block for block in some}
    told = transaction.of_open_blocks(Loss, some[0].number, some[-1].number)
    known = {(loss.block, loss.round) for loss in told}
    counts = Counter(loss.block for loss in told)
    for handed in transaction.of_open_blocks(HandedOut, some[0].number, some[-1].number):
        block = blocks[handed.block]
        elsewhere = block.told - counts[handed.block]  # a fleet may have played it up to this round
        rounds = range(handed.first, handed.first + handed.rounds)
        given = setup.decisions(block, rounds, handed.at)
        for round, decision in zip(rounds, given, strict=True):
            place = block.number, round
            if round >= elsewhere and place not in known and place > after:
                yield decision


# ---- in words: who chose the arm, and for how long it stays

SHOWN = 5
"""Arms whose probabilities are listed; the others are summed up."""


def why(transaction: Transaction, setup: Setup, now: float = -math.inf) -> str:
    """Explain the current arm and how long it stays, and who is paused, as of the latest time seen."""
    return " ".join([_why(transaction, setup, now), *why_out(transaction.head, setup, now)])


def why_out(head: Head, setup: Setup, now: float = -math.inf) -> Iterator[str]:
    """Yield a sentence for each arm that is paused, or that a breaker keeps out of play, or would."""
    clock, written = max(head.clock, now), "%Y-%m-%d %H:%M:%S UTC"
    for arm, end in setup.paused:
        if end > clock:
            until = "it is resumed" if end == math.inf else datetime.fromtimestamp(end, UTC).strftime(written)
            yield f"{setup.name_of(arm)} is paused until {until}."
    for arm, fuse in fuses_of(head.breakers).items():
        name, until = setup.name_of(arm), datetime.fromtimestamp(fuse.until, UTC).strftime(written)
        if fuse.tried is not None:
            yield f"{name} failed too often: one request tries it, and nobody else gets it until {until} or its loss."
        elif fuse.tripped:
            yield f"{name} failed too often: " + (
                "its pause is over, and the next request for it tries it."
                if clock >= fuse.until
                else f"it is paused until {until}, and tried again then by one request."
            )
        elif fuse.stays:
            yield f"{name} fails too often, and stays in use: no other arm is left."


def _why(transaction: Transaction, setup: Setup, now: float) -> str:
    head = transaction.head
    settings = setup.settings
    limited = settings.share is not None or head.stays > max(head.clock, now)
    needed = settings.holdback or limited or setup.policy.has_guard  # the head does not say who chose its arm
    block = transaction.blocks("number", head.current) if needed else []
    said, others = why_block(head, setup, block[0] if block else None, now), why_conversations(transaction, setup)
    pinned = setup.pin is not None and setup.pin[1] > max(head.clock, now)
    if pinned:
        return said
    if others is not None:
        said = others if head.arm < 0 else f"{said} {others}"
    said = " ".join([said, *_limits(transaction, setup, now)])
    return f"{said} {guard_of(transaction, setup).why}" if setup.policy.has_guard and head.drawn else said


def _limits(transaction: Transaction, setup: Setup, now: float) -> list[str]:
    """Say what shares and a budget of switches leave."""
    said, budget = [], setup.settings.most_switches
    if caps := shares(transaction, setup, now):
        words = ", ".join(f"{name} at most {share:.3g}" for name, share in caps.items())
        said.append(f"Shares: {words}.")
    if (left := switches_left(transaction, setup, now)) is not None and budget is not None:
        stays = ": the arm in use stays unless it is down" if not left else ""
        said.append(f"{left or 'None'} of {budget.words} {'is' if left < 2 else 'are'} left{stays}.")
    return said


def why_block(head: Head, setup: Setup, block: Block | None = None, now: float = -math.inf) -> str:
    """Explain the arm of the current block, which itself is needed only where a rule or a guard may have decided."""
    now = max(head.clock, now)
    if setup.pin is not None and setup.pin[1] > now:
        return f"An operator has pinned {setup.names[setup.pin[0]]}: it is handed out, and not learnt from."
    if head.arm < 0:
        return "The policy has drawn no arm yet: the next decision begins its first block."
    played = setup.name_of(head.last_arm if head.last_arm >= 0 else head.arm)
    data = "" if block is None else block.data
    current = Block(head.current, None, head.arm, head.rounds, head.probability, 0.0, None, 0, data)
    if block is not None and (block.forced == BY_RULE or block.odds or block.played):
        return _of_block(setup, block, played, head.rounds - head.handed, len(setup.active))
    down = any(arm == head.arm and until > now for arm, until in setup.paused)
    down = down or ((arm := fuses_of(head.breakers).get(head.arm)) is not None and arm.tripped)
    return _of_block(
        setup, current, None if down else setup.name_of(head.arm), head.rounds - head.handed, len(setup.active)
    )


def why_drawn(setup: Setup, block: Block, played: int | str, left: int, n_arms: int) -> str:
    """Explain the arm of a decision as of the call that asked for it, after which its block had `left` rounds."""
    if block.forced == PINNED:
        return f"An operator has pinned {played}: it is handed out, and not learnt from."
    if block.key is not None:
        return why_conversation(setup, block, played)
    return _of_block(setup, block, played, left, n_arms)


def _of_block(setup: Setup, block: Block, played: int | str | None, left: int, n_arms: int) -> str:
    drawn_arm, probability = _draw(setup, block)
    name, stays = setup.name_of(assigned(block)[0]), "it is certain to stay for"
    drawn = _drawn(block, drawn_arm, f"{_likely(setup, probability)} among {n_arms} arms")
    if name != drawn_arm:
        reason = "more than its share" if len(odds_of(block)) > 1 else "when no switch was left"
        drawn, stays = f"{drawn}, {reason}, and went to {name}", f"{name} is certain to stay for"
    if block.forced == BY_RULE:
        drawn, stays = f"Block {number(block.number)} is left to your rule, which plays {played}", "it has"
    if played != name and not block.forced and (left or played is not None):
        instead = "the most likely other arm" if played is None else str(played)
        why = "it is paused or not available"
        why = why if setup.settings.most_switches is None else f"{why}, or no switch is left"
        return f"{drawn}; {why}, so {instead} is handed out{' meanwhile' if left else ''}."
    if left == 0:
        return f"{drawn}; all its rounds are handed out, so the next decision begins a new block."
    return f"{drawn}; {stays} {counted(left, 'round')} more, then a new block is drawn."


def _drawn(block: Block, name: int | str, chance: str) -> str:
    said, by = f"Block {number(block.number)}", chosen_by(block)
    if by == "look":
        return f"{said} is a look of the guard at {name}, drawn{chance}"
    if by == "guard":
        return f"{said} is the guard's, which has taken over: it drew {name}{chance}"
    return f"{said} drew {name}{chance}"


def _likely(setup: Setup, probability: float) -> str:
    return f" with probability {probability:.3g}" if setup.policy.knows_probabilities else ""


def _draw(setup: Setup, block: Block) -> tuple[int | str, float]:
    """Return the arm that the policy drew, and its probability, whatever became of it under a share."""
    if not block.odds:
        return setup.name_of(block.arm), block.probability
    with undamaged(f"block {block.number}"):
        arm, probability = json.loads(block.odds)["drawn"]
    return setup.name_of(arm), probability


MOVED = {
    DOWN: "which was paused or not available",
    FAILING: "which failed again and again",
    GAIN: "since that is expected to save more than the move costs",
}
"""Reasons of a move in words."""


def why_conversation(setup: Setup, block: Block, played: int | str, round: int | None = None) -> str:
    """Explain why a conversation was handed the arm `played`, in its latest round if none is given."""
    drawn, probability = _draw(setup, block)
    name = setup.name_of(assigned(block)[0])
    chosen = f"Conversation {block.key} drew {drawn}{_likely(setup, probability)}"
    chosen = chosen if name == drawn else f"{chosen}, more than its share, and went to {name}"
    if block.forced == BY_RULE:
        chosen = f"Conversation {block.key} is left to your rule, which chose {name}"
    moves = [move for move in moves_of(block) if round is None or move.round <= round]
    if moves:
        before = setup.name_of(moves[-2].arm) if len(moves) > 1 else name
        name = setup.name_of(moves[-1].arm)
        chosen = f"{chosen}; in its turn {number(moves[-1].round + 1)} it left {before}, {MOVED[moves[-1].reason]}"
    if played != name:
        which = name if moves else "that"
        return f"{chosen}; {which} is paused or not available, so {played} is handed out meanwhile."
    return f"{chosen}; it stays with {name} until it ends."


def why_conversations(transaction: Transaction, setup: Setup) -> str | None:
    """Describe the open conversations and the next one's draw; return None if there are none."""
    head, live = transaction.head, transaction.live()
    only = head.current == 0 and head.drawn > 0  # then all that the policy drew are conversations
    if not live and not only:
        return None
    counts = f"{counted(head.drawn, 'conversation')} drawn, {number(live)} open"
    counts = counts if only else f"{counted(live, 'conversation')} open"
    try:
        chances = next_probabilities(transaction, setup).tolist()
    except OutOfTurn:  # they depend on what is announced, or are not known
        return f"{counts}."
    likely = sorted(zip(chances, setup.active, strict=True), key=lambda pair: -pair[0])
    words = [f"{setup.name_of(arm)} {'' if i else 'with '}{p:.2f}" for i, (p, arm) in enumerate(likely[:SHOWN])]
    if len(likely) > SHOWN:
        words.append(f"others {math.fsum(chance for chance, _ in likely[SHOWN:]):.2f}")
    share = setup.settings.holdback
    rule = f" is your rule's with {share:.3g}, else it" if share else ""
    return f"{counts}; the next one{rule} draws {', '.join(words)}."


# ---- one decision followed: who asked for it, why its arm, what it lost, when that came, and what was learnt


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
        why=_why_then(transaction, setup, block, ask, arm, round),
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


def _why_then(
    transaction: Transaction, setup: Setup, block: Block, ask: HandedOut | None, played: int, round: int
) -> str:
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
