"""Conversations: blocks that last until their key ends, each with an arm of its own."""

from __future__ import annotations

from holdfast.decisions.codec import block_text
from holdfast.decisions.models import Block, Decision, HandedOut
from holdfast.decisions.requests import End, Settle
from holdfast.decisions.rules.arms import HandOut, compared, held_back, who_play, with_stretch
from holdfast.decisions.rules.breakers import handed_out
from holdfast.decisions.rules.report import FORGET_AT_ONCE, View, settle, settle_due, wait_for
from holdfast.errors import HoldfastError, InvalidParameter

MOST_STRETCHES = 64
"""Times that a conversation may be handed to other arms; each ask reads and writes them all."""


def continue_conversation(view: View, key: str, n: int, call: HandOut) -> list[Decision] | HoldfastError:
    """Hand out rounds of a conversation. The first draws its arm, as a block that lasts until its end."""
    setup, head = view.setup, view.head
    if setup.policy.waits_for_losses:
        return InvalidParameter("key", f"is not for {setup.policy.label}, which waits for the losses of each draw", key)
    block = live_conversation(view, key)
    if block is not None and not _goes_on(view, block, call.clock):
        end_conversation(view, block, call.clock)
        block, head = None, view.head
    if block is None and setup.settings.holdback and (block := held_back(view, call, key)) is not None:
        view.events.begun[block.number] = block
        head = head._replace(block=block.number)
    if block is None:
        values = view.state().learner.begin_some(call.announced, 1.0)[0].tolist()
        number, arm, data = head.block + 1, setup.active[int(values[0])], block_text(setup, values)
        block = Block(number, key, arm, 0, values[2], call.clock, call.bound, 0, data, head.asked, live=1)
        share, price = compared(view, call)
        block = block._replace(share=share, price=price)
        view.events.begun[number] = block
        head = head._replace(block=number, drawn=head.drawn + 1)
    rounds, played = range(block.rounds, block.rounds + n), block.played
    for part, arm, probability in who_play(view, block, block.arm, rounds, call) if call.down else ():
        played = with_stretch(played, part, arm, probability)
        handed_out(view, arm, block.number, part.start, call.clock)
    if not call.down:
        handed_out(view, block.arm, block.number, rounds.start, call.clock)
    # `first` is such that the lateness of the latest round is right
    view.change(block._replace(rounds=rounds.stop, first=head.asked - rounds.start, last=call.clock, played=played))
    view.events.asks.append(HandedOut(block.number, rounds.start, n, call.clock, call.request, call.content))
    idle = call.clock + setup.settings.key_life.total_seconds() if head.next_idle is None else head.next_idle
    view.head = head._replace(asked=head.asked + n, clock=call.clock, next_idle=idle, breakers=view.head.breakers)
    return setup.decisions(view.blocks[block.number], rounds, call.clock)


def _goes_on(view: View, block: Block, clock: float) -> bool:
    """Return True unless a conversation was idle too long, lost its arm for good, or changed hands too often."""
    kept = clock - block.last <= view.setup.settings.key_life.total_seconds() and view.setup.plays(block)
    return kept and block.played.count("[") <= MOST_STRETCHES


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
    wait_for(view, block._replace(live=0), clock, view.head.asked)
    block = view.block(block.number)
    if block.told == block.rounds:
        settle(view, block, clock)


def end_idle(view: View, clock: float) -> None:
    """End conversations that were idle too long, a few in each call."""
    life = view.setup.settings.key_life.total_seconds()
    if view.head.next_idle is None or clock < view.head.next_idle:
        return
    most = FORGET_AT_ONCE + len(view.events.changed)
    stored = view.reads.blocks("longest idle", most)
    every = {block.number: block for block in stored} | view.blocks
    live = sorted((b for b in every.values() if b.live), key=lambda b: (b.last, b.number))
    idle = [block for block in live if clock - block.last > life]
    for block in idle:
        end_conversation(view, block, clock)
    left = live[len(idle)].last + life if len(live) > len(idle) else clock if len(stored) == most else None
    view.head = view.head._replace(next_idle=left, clock=clock)


def expire(view: View, request: Settle | None = None) -> int:
    """Settle what is due, end idle conversations, and keep the time. Return the number of blocks settled."""
    before, clock = view.head.settled, view.time()
    settle_due(view, clock)
    end_idle(view, clock)
    view.head = view.head._replace(clock=clock)
    return view.head.settled - before
