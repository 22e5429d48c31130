"""A game's status in words: who chose the arm, and for how long it stays."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime

from holdfast.decisions.breaker import fuses_of
from holdfast.decisions.codec import chosen_by
from holdfast.decisions.models import BY_RULE, PINNED, Block, Head, undamaged
from holdfast.decisions.moves import DOWN, FAILING, GAIN
from holdfast.decisions.settings import Setup, assigned, moves_of, odds_of
from holdfast.decisions.status import guard_of, next_probabilities, shares, switches_left
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import OutOfTurn
from holdfast.text import counted, number

SHOWN = 5
"""Arms whose probabilities are listed; the others are summed up."""


def why(transaction: Transaction, setup: Setup, now: float = -math.inf) -> str:
    """Explain the current arm and how long it stays, and what breakers do, as of the latest time seen."""
    return " ".join([_why(transaction, setup, now), *why_breakers(transaction.head, setup, now)])


def why_breakers(head: Head, setup: Setup, now: float = -math.inf) -> Iterator[str]:
    """Yield a sentence for each arm that a breaker keeps out of play, or would."""
    clock = max(head.clock, now)
    for arm, fuse in fuses_of(head.breakers).items():
        name, until = setup.name_of(arm), datetime.fromtimestamp(fuse.until, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
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
