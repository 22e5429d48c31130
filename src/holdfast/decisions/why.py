"""Where a game stands, in words: who chose the arm, and for how long it stays."""

from __future__ import annotations

import math

from holdfast.decisions.models import BY_RULE, Block, Head
from holdfast.decisions.router import next_probabilities
from holdfast.decisions.setup import Setup
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import OutOfTurn
from holdfast.number_format import counted, number

SHOWN = 5
"""Arms whose probabilities are said; the others are said together."""


def why(transaction: Transaction, setup: Setup, now: float = -math.inf) -> str:
    """Why this arm now, and until when; by the latest time that was seen."""
    head = transaction.head
    block = transaction.blocks("number", head.current) if setup.settings.holdback else []
    said, others = why_block(head, setup, block[0] if block else None, now), why_conversations(transaction, setup)
    pinned = setup.pin is not None and setup.pin[1] > max(head.clock, now)
    if others is None or pinned:
        return said
    return others if head.arm < 0 else f"{said} {others}"


def why_block(head: Head, setup: Setup, block: Block | None = None, now: float = -math.inf) -> str:
    """Why the arm of the current block. The block itself is needed only where a rule may have decided."""
    now = max(head.clock, now)
    if setup.pin is not None and setup.pin[1] > now:
        return f"An operator has pinned {setup.names[setup.pin[0]]}: it is handed out, and not learnt from."
    if head.arm < 0:
        return "The policy has drawn no arm yet: the next decision begins its first block."
    name, left, n = setup.name_of(head.arm), head.rounds - head.handed, len(setup.active)
    drawn = f"Block {number(head.current)} drew {name} with probability {head.probability:.3g} among {n} arms"
    stays = "it is certain to stay for"
    if block is not None and block.forced == BY_RULE:
        played = setup.name_of(head.last_arm if head.last_arm >= 0 else head.arm)
        drawn, stays = f"Block {number(head.current)} is left to your rule, which plays {played}", "it has"
    if left == 0:
        return f"{drawn}; all its rounds are handed out, so the next decision begins a new block."
    if any(arm == head.arm and until > now for arm, until in setup.paused):
        return f"{drawn}; it is paused, so the most likely other arm is handed out meanwhile."
    return f"{drawn}; {stays} {counted(left, 'round')} more, then a new block is drawn."


def why_conversation(setup: Setup, block: Block, played: int | str) -> str:
    """Why a conversation was handed the arm `played`."""
    name = setup.name_of(block.arm)
    chosen = f"Conversation {block.key} drew {name} with probability {block.probability:.3g}"
    if block.forced == BY_RULE:
        chosen = f"Conversation {block.key} is left to your rule, which chose {name}"
    if played != name:
        return f"{chosen}; that is paused or not available, so {played} is handed out meanwhile."
    return f"{chosen}; it stays with {name} until it ends."


def why_conversations(transaction: Transaction, setup: Setup) -> str | None:
    """How many conversations are open, and what the next one draws; None where there are none."""
    head, live = transaction.head, transaction.live()
    only = head.current == 0 and head.drawn > 0  # then all that the policy drew are conversations
    if not live and not only:
        return None
    counts = f"{counted(head.drawn, 'conversation')} drawn, {number(live)} open"
    counts = counts if only else f"{counted(live, 'conversation')} open"
    try:
        chances = next_probabilities(transaction, setup).tolist()
    except OutOfTurn:  # they depend on what is announced
        return f"{counts}."
    likely = sorted(zip(chances, setup.active, strict=True), key=lambda pair: -pair[0])
    words = [f"{setup.name_of(arm)} {'' if i else 'with '}{p:.2f}" for i, (p, arm) in enumerate(likely[:SHOWN])]
    if len(likely) > SHOWN:
        words.append(f"others {math.fsum(chance for chance, _ in likely[SHOWN:]):.2f}")
    share = setup.settings.holdback
    rule = f" is your rule's with {share:.3g}, else it" if share else ""
    return f"{counts}; the next one{rule} draws {', '.join(words)}."
