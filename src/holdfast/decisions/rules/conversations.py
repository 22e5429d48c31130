"""Conversations: blocks that last until their key ends, each with an arm of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence

from holdfast.decisions.game import Move, Recent, assigned, block_text, moves_of
from holdfast.decisions.models import Block, Decision, HandedOut
from holdfast.decisions.options import checked_duration
from holdfast.decisions.requests import Ask, End, Settle
from holdfast.decisions.rules.arms import (
    HandOut,
    changes_hands,
    compared,
    held_back,
    who_play,
    who_plays,
    with_shares,
    with_stretch,
    within_shares,
)
from holdfast.decisions.rules.breakers import handed_out
from holdfast.decisions.rules.report import FORGET_AT_ONCE, View, learn_so_far, settle, settle_due, wait_for
from holdfast.errors import HoldfastError, InvalidParameter

# When a conversation leaves its arm: one that is down or keeps failing, or a gain that is worth the cost of moving.
#
# What a conversation loses at an arm is compared by the latest losses of all conversations that may move. The turns
# still to come are as many as it has had, or as those that ended had on average, if that is more; but few enough that
# what arms lost of late says something of them.

KNOWN = 5
"""Losses after which an arm's recent mean is believed."""

FARTHEST = 30.0
"""Most turns to come that are counted."""

DOWN, FAILING, GAIN = "down", "failing", "gain"
"""Reasons to leave an arm."""


def cheapest(recent: Sequence[Recent], arms: Collection[int]) -> int | None:
    """Return the arm that lost least of late; None if none is known that does not fail."""
    known = [arm for arm in arms if recent[arm].heard >= KNOWN and not recent[arm].fails]
    return min(known, key=lambda arm: (recent[arm].mean, arm), default=None)


def worth_moving(recent: Sequence[Recent], home: int, other: int | None, turns: float, cost: float) -> bool:
    """Return True if a known arm is expected to save more than the cost of moving in so many turns."""
    if other is None or recent[home].heard < KNOWN:
        return False
    return min(turns, FARTHEST) * (recent[home].mean - recent[other].mean) > cost


# ---- asks with a key


def continue_conversation(view: View, request: Ask, call: HandOut) -> list[Decision] | HoldfastError:
    """Hand out rounds of a conversation. The first draws its arm, as a block that lasts until its end."""
    setup, head, n, key = view.setup, view.head, request.n, request.key or ""
    cost = setup.settings.move_cost if request.move_cost is None else request.move_cost
    life = checked_duration("key_life", request.key_life or setup.settings.key_life).total_seconds()
    if setup.policy.waits_for_losses:
        return InvalidParameter("key", f"is not for {setup.policy.label}, which waits for the losses of each draw", key)
    block = live_conversation(view, key)
    if block is not None and not _goes_on(view, block, call.clock):
        end_conversation(view, block, call.clock)
        block, head = None, view.head
    if block is None and setup.settings.holdback and (block := held_back(view, call, key)) is not None:
        head = head._replace(block=block.number)
    if block is None:
        values = view.state().learner.begin_some(call.announced, 1.0)[0].tolist()
        number, arm, data = head.block + 1, setup.active[int(values[0])], block_text(setup, values)
        block = Block(number, key, arm, 0, values[2], call.clock, call.bound, 0, data, head.asked, live=1)
        share, price = compared(view, call)
        block = block._replace(share=share, price=price)
        if setup.settings.share is not None:
            block = within_shares(view, block)
        head = head._replace(block=number, drawn=head.drawn + 1)
    if cost is not None and not block.forced:
        block = _moved(view, block, float(cost), call) if block.rounds else block._replace(moves="[]")
    rounds, played, home = range(block.rounds, block.rounds + n), block.played, home_of(block)
    first, _ = assigned(block)
    if home != first and home in setup.active and home not in call.down:
        played = with_stretch(played, rounds, home, 1.0)
        handed_out(view, home, block.number, rounds.start, call.clock)
    else:
        for part, arm, probability in who_play(view, block, block.arm, rounds, call) if call.down else ():
            played = with_stretch(played, part, arm, probability)
            handed_out(view, arm, block.number, part.start, call.clock)
        if not call.down:
            handed_out(view, first, block.number, rounds.start, call.clock)
    # `first` is such that the lateness of the latest round is right
    block = block._replace(rounds=rounds.stop, first=head.asked - rounds.start, last=call.clock, played=played)
    view.blocks[block.number] = block = block._replace(expires=call.clock + life)
    view.events.asks.append(HandedOut(block.number, rounds.start, n, call.clock, call.request, call.content))
    idle = min(call.clock + life, math.inf if head.next_idle is None else head.next_idle)
    view.head = head._replace(asked=head.asked + n, clock=call.clock, next_idle=idle, breakers=view.head.breakers)
    return setup.decisions(block, rounds, call.clock)


def _goes_on(view: View, block: Block, clock: float) -> bool:
    """Return True unless a conversation was idle too long, lost its arm for good, or changed hands too often."""
    kept = clock <= block.expires and view.setup.plays(block) and assigned(block)[0] in view.setup.active
    return kept and not changes_hands(block)


def home_of(block: Block) -> int:
    """Return the arm that has the cache of a conversation."""
    return moves_of(block)[-1].arm if len(block.moves) > len("[]") else assigned(block)[0]


def _moved(view: View, block: Block, cost: float, call: HandOut) -> Block:
    """Move a conversation if its arm is down or keeps failing, or another is worth the cost.

    The policy hears of no round after that: its draw was of another arm.
    """
    setup, home, state = view.setup, home_of(block), view.learnt or view.known or view.load()
    recent, down = state.recently(), call.down | {home}
    block = block._replace(moves=block.moves or "[]")
    best = cheapest(recent, {*setup.active} - down - with_shares(setup))
    if home in call.down or home not in setup.active:
        reason = DOWN
    elif recent[home].fails and (down := down | {arm for arm in setup.active if recent[arm].fails}) < {*setup.active}:
        reason = FAILING
    elif worth_moving(recent, home, best, state.turns_to_come(block.rounds), cost):
        reason = GAIN
    else:
        return block
    arm = who_plays(view, block, block.arm, call._replace(down=frozenset(down)))[0] if best is None else best
    if not block.learnt and setup.learns_from(block):
        block = learn_so_far(view, block)
    view.state().moves += 1
    return block._replace(moves=json.dumps([*moves_of(block), Move(block.rounds, arm, reason)]))


def live_conversation(view: View, key: str) -> Block | None:
    """Return the block of an open conversation."""
    here = [block for block in view.blocks.values() if block.key == key and block.live]
    stored = [] if here else [b for b in view.reads.blocks("key", key) if b.number not in view.blocks]
    return next(iter(here + stored), None)


def end(view: View, request: End) -> bool:
    """End a conversation. Return False if it was not open."""
    expire(view)
    block = live_conversation(view, request.key)
    if block is not None:
        end_conversation(view, block, view.head.clock)
    return block is not None


def end_conversation(view: View, block: Block, clock: float) -> None:
    """Hand out no more rounds, so that the block is settled once its losses are in or patience runs out."""
    if block.moves:
        view.state().count_conversation(block.rounds)
    wait_for(view, block._replace(live=0), clock, view.head.asked)
    block = view.block(block.number)
    if block.told == block.rounds:
        settle(view, block, clock)


def end_idle(view: View, clock: float) -> None:
    """End conversations that were idle too long, a few in each call."""
    if view.head.next_idle is None or clock < view.head.next_idle:
        return
    most = FORGET_AT_ONCE + len(view.blocks)
    stored = view.reads.blocks("longest idle", most)
    every = {block.number: block for block in stored} | view.blocks
    live = sorted((b for b in every.values() if b.live), key=lambda b: (b.expires, b.number))
    idle = [block for block in live if clock > block.expires]
    for block in idle:
        end_conversation(view, block, clock)
    left = live[len(idle)].expires if len(live) > len(idle) else clock if len(stored) == most else None
    view.head = view.head._replace(next_idle=left, clock=clock)


def expire(view: View, request: Settle | None = None) -> int:
    """Settle what is due, end idle conversations, and keep the time. Return the number of blocks settled."""
    before, clock = view.head.settled, view.clock
    settle_due(view, clock)
    end_idle(view, clock)
    view.head = view.head._replace(clock=clock)
    return view.head.settled - before
