"""The rules of a game in a store: what an ask and a report of losses change. No I/O, no clock, no cache.

* A decision is one round of a block. `ask` hands out the rounds of the current block. When all are handed out, the next
  block begins with what is known then, unless the policy waits for losses.
* `tell` records the loss of a round once. A block is settled, and observed by the policy, when all its losses are in;
  or, with a patience, when that has run out since the call that handed out its last round: then with what stands for
  the missing losses. Rounds of one call do not run out each other's patience.
* Blocks that are due are settled before anything else happens in a call, in the order in which they became due. Time
  never runs back: it is the latest that an ask saw, or whatever settled a block.

So a game is a function of its seed and of the order of asks and tells (and of their times, where patience is a time),
whoever makes them. Each rule takes a `View`, changes its head and state, adds to its events, and returns an answer. A
refusal is returned as an error and has changed nothing, except that blocks which were due are settled. So several calls
can be made in one transaction. `again` says that a call may have been made before, when a connection was lost; `now` is
the time by the caller's clock.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.decisions.all_losses import last_known, learn, look_ahead, losses_by_arm
from holdfast.decisions.codec import block_text, block_values, undamaged
from holdfast.decisions.models import (
    BY_RULE,
    PINNED,
    Ask,
    Block,
    Decision,
    Events,
    Head,
    Loss,
    Receipt,
    Seen,
    new_token,
)
from holdfast.decisions.outcomes import AllLosses, Outcome
from holdfast.decisions.settings import WINDOW, Setup, State, parts_of, stand_in_for
from holdfast.errors import (
    AlreadyTold,
    BadStore,
    Call,
    Forgotten,
    HoldfastError,
    InvalidParameter,
    NoArmAvailable,
    OutOfTurn,
    TooLate,
    UnknownDecision,
    Words,
    nearest,
)
from holdfast.numerics.layout import Array
from holdfast.players.game import Game as Learner
from holdfast.players.losses import announced_value, exact_sum, normalised_total, outside_range

FORGET_AT_ONCE = 64
"""Blocks whose single losses one call deletes at most, besides two for each round that it is about."""

NOT_HANDED_OUT = "is of a round that this store has not handed out: was it restored from a copy?"


class Reads(Protocol):
    """What the rules read, besides the head and the state: a store's transaction, or lists in a test."""

    def blocks(self, query: str, *values: float | str) -> list[Block]:
        """Blocks by one of the named queries of `stores.sql.BLOCKS`."""

    def losses(self, first: int, last: int) -> list[Loss]:
        """The losses of some blocks."""

    def seen(self, first: int, last: int) -> list[Seen]:
        """The losses of all arms in the rounds of some blocks."""

    def asked(self, request: str) -> list[tuple[Ask, Block]]:
        """What was handed out under a request, in order."""


@dataclass
class View:
    """One game inside a transaction: what was read, as changed by now, and what is to be written."""

    setup: Setup
    head: Head
    reads: Reads
    load: Callable[[], State]
    """The state, which is read only by those who change it."""
    blocks: dict[int, Block]
    """Those that were read, by number: at the beginning, those of which losses are reported."""
    losses: dict[tuple[int, int], Loss]
    """What is known of the rounds whose losses are reported, by block and round."""
    seen: dict[tuple[int, int], dict[int, float]] = field(default_factory=dict)
    """The losses of all arms that are reported, by block and round."""
    events: Events = field(default_factory=Events)
    learnt: State | None = None
    """The state, where this transaction has changed it."""
    may_forget: int = FORGET_AT_ONCE
    _settled: deque[Block] = field(default_factory=deque)

    def state(self) -> State:
        """The state, to be changed."""
        if self.learnt is None:
            self.learnt = self.load()
        return self.learnt

    def learner(self) -> Learner:
        """What has learnt, to be looked at."""
        return (self.learnt or self.load()).learner

    def block(self, number: int) -> Block:
        """A block that must be there."""
        found = self.blocks.get(number)
        if found is None:
            read = self.reads.blocks("number", number)
            if not read:
                raise BadStore(f"the store is damaged: block {number} of game {self.setup.game.name!r} is missing")
            found = self.blocks[number] = read[0]
        return found

    def change(self, block: Block) -> None:
        """A block that is there with other values."""
        self.blocks[block.number] = block
        changed = self.events.begun if block.number in self.events.begun else self.events.changed
        changed[block.number] = block

    def go_on_with(self, setup: Setup) -> None:
        """Other settings, by the row of the game in `setup`."""
        self.setup, self.events.game = setup, setup.game
        self.head = self.head._replace(settings_version=setup.game.settings_version)

    def oldest_settled(self, most: int) -> Block | None:
        """The next block, in settlement order, whose single losses are still kept; at most so many are read at once."""
        if not self._settled:
            after = self.head.forgotten
            stored = self.reads.blocks("settled after", after, most)
            last = stored[-1].settled_order or 0 if len(stored) == most else math.inf
            here = [b for b in self.blocks.values() if after < (b.settled_order or 0) <= last]
            every = {block.number: block for block in [*stored, *here]}
            self._settled = deque(sorted(every.values(), key=lambda block: block.settled_order or 0))
        return self._settled.popleft() if self._settled else None


# ---- ask


def ask(
    view: View,
    again: bool,
    *,
    n: int,
    now: float,
    announced: Mapping[str, float],
    request: str,
    named: bool,
    available: Collection[int | str] | None = None,
    key: str | None = None,
    rule: int | str | None = None,
    forecast: Any = None,
    fallback: int | str | None = None,
) -> list[Decision] | HoldfastError:
    """Up to `n` decisions; fewer only where the policy waits for losses.

    `announced` is what the policy is told at the beginning of a block, by name; `named` whether the caller gave
    `request`, so that others may have made the call; `fallback` what the caller would answer without a store, if it
    does not know that arm: others may have added it. The rest is as in `Router.ask`.
    """
    if (again or named) and (before := asked_before(view, request)):
        if len(before) < n and not view.setup.policy.waits_for_losses:
            same = "must be made again with the same n and while all its decisions are remembered"
            return InvalidParameter("request", f"{same}: of {n} there are {len(before)}", request)
        return before
    setup, head = view.setup, view.head
    clock = max(now, head.clock)
    value, bounds, ruled, down = 0.0, setup.bounds, None, frozenset[int]()
    try:
        if announced or (setup.announces is not None and n > head.rounds - head.handed):
            value, bounds = announced_value(setup.policy, {"switching_cost": None, "loss_bound": None, **announced})
        if fallback is not None:
            arm_of("fallback", setup, fallback)
        if setup.settings.holdback:
            if rule is None:
                raise InvalidParameter("rule", "must be given, since there is a holdback: what your rule chooses", None)
            ruled = arm_of("rule", setup, rule)
        if setup.paused or available is not None:
            down = _down(setup, clock, available)
    except (InvalidParameter, OutOfTurn) as refusal:
        return refusal
    view.may_forget = FORGET_AT_ONCE + 2 * n
    settle_due(view, clock, n)
    if head.next_idle is not None:
        _end_idle(view, clock)
    bound = None if bounds == setup.bounds else bounds[1]
    call = Handing(clock, request, announced.get("switching_cost"), value, bound, down, ruled, head.asked + n)
    if forecast is not None and not setup.sees_all:
        left_out = f"must be left out: {setup.policy.label} does not see the losses of all arms"
        return InvalidParameter("forecast", left_out, forecast)
    if setup.pin is not None and setup.pin[1] > clock and setup.pin[0] not in down:
        return _hand_out_pinned(view, setup.pin[0], n, call)
    if key is not None:
        return _go_on(view, key, n, call)
    given: list[Decision] = []
    while len(given) < n:
        head = view.head
        if head.handed < head.rounds:
            given += _hand_out(view, n - len(given), call)
        elif setup.policy.waits_for_losses and _is_open(view, head.current):
            break
        else:
            if setup.sees_all:
                try:
                    look_ahead(setup, view.state().learner, forecast, down)
                except InvalidParameter as refusal:
                    return refusal
            for block in _begin(view, n - len(given), call):
                _enter(view, block)
                given += _hand_out(view, n - len(given), call)
    if not given:
        label = setup.policy.label
        waits = f"{label} cannot begin its next block before every loss of the last one is told: see "
        return OutOfTurn(Words(waits, Call("open_decisions")))
    return given


def asked_before(view: View, request: str) -> list[Decision]:
    """What a request got, if it was made before."""
    found = view.reads.asked(request)
    found += [(ask, view.block(ask.block)) for ask in view.events.asks if ask.request == request]
    decisions = view.setup.decisions
    return [d for ask, b in found for d in decisions(b, range(ask.first, ask.first + ask.rounds), ask.at)]


def _begin(view: View, n: int, call: Handing) -> list[Block]:
    """New blocks with `n` rounds together; or one, where the next one depends on it or may be the rule's."""
    setup, head = view.setup, view.head
    if setup.settings.holdback and (held := _held_back(view, call)) is not None:
        return [held]
    left = 1.0 if setup.policy.waits_for_losses or setup.settings.holdback else float(n)
    drawn = view.state().learner.begin_some(call.announced, left).tolist()
    blocks, first = [], head.asked
    for number, values in enumerate(drawn, head.block + 1):
        arm, rounds, probability = setup.active[int(values[0])], int(values[1]), values[2]
        data = block_text(setup, values)
        blocks.append(Block(number, None, arm, rounds, probability, call.clock, call.bound, 0, data, first))
        first += rounds
    return blocks


def _held_back(view: View, call: Handing, key: str | None = None) -> Block | None:
    """The next block, where it is the rule's. The policy does not hear of it: its draw is recorded and taken back."""
    setup, number = view.setup, view.head.block + 1
    learner = view.learner()
    if call.rule is None or chance(learner.stream, number) >= setup.settings.holdback:
        return None
    values = learner.copy().begin_some(0.0, 1.0)[0].tolist()
    values[0] = float(setup.active[int(values[0])])
    rounds, data = int(values[1]) if key is None else 0, block_text(setup, values)
    live = int(key is not None)
    return Block(number, key, call.rule, rounds, 1.0, call.clock, None, BY_RULE, data, view.head.asked, live=live)


def chance(stream: NDArray[np.uint64], number: int) -> float:
    """A number from 0 to 1 that decides whose a block is: by the game's seed, and by nothing that was drawn or lost."""
    digest = hashlib.blake2b(stream.astype("<u8").tobytes() + b"%d" % number, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def _is_open(view: View, number: int) -> bool:
    block = view.blocks.get(number)
    found = view.reads.blocks("number", number) if block is None else [block]
    return bool(found) and found[0].settled_order is None


def _enter(view: View, block: Block) -> None:
    """Make a new block the policy's current one."""
    view.blocks[block.number] = view.events.begun[block.number] = block
    view.head = view.head._replace(
        block=block.number,
        drawn=view.head.drawn + (not block.forced),
        current=block.number,
        arm=block.arm,
        rounds=block.rounds,
        handed=0,
        probability=block.probability,
    )


class Handing(NamedTuple):
    """What is the same for all rounds that one call hands out."""

    clock: float
    request: str
    cost: float | None
    """Of a switch, where it was announced."""
    announced: float
    """What the policy is told when a block begins."""
    bound: float | None
    """The highest loss of blocks that begin, where it was announced."""
    down: frozenset[int]
    """Arms that are not available."""
    rule: int | None
    """The arm that the operator's rule would choose."""
    asked: int
    """Rounds handed out in all when the call is done: from there patience is counted, since none of its rounds can have
    a loss before."""


def _hand_out(view: View, n: int, call: Handing) -> list[Decision]:
    """Rounds of the current block, at most `n`."""
    head, setup = view.head, view.setup
    number, arm, probability = head.current, head.arm, head.probability
    rounds = range(head.handed, min(head.handed + n, head.rounds))
    if (call.down and not setup.sees_all) or call.rule is not None:  # which has drawn among the others
        block = view.block(number)
        arm, probability = _who_plays(view, block, block.arm if call.rule is None else call.rule, call.down)
        if call.down or arm != block.arm:
            view.change(block._replace(played=_with_stretch(block.played, rounds, arm, probability)))
    asked, next_due = head.asked + len(rounds), head.next_due
    view.events.asks.append(Ask(number, rounds.start, len(rounds), call.clock, call.request))
    if setup.has_patience and rounds.stop == head.rounds:
        due = setup.settings.due(call.clock, call.asked)
        view.change(view.block(number)._replace(due=due))
        next_due = earliest(due, next_due)
    if arm != head.last_arm:
        head = _switched(view, arm, call.cost)
    view.head = head._replace(handed=rounds.stop, last_arm=arm, asked=asked, clock=call.clock, next_due=next_due)
    name, id_of = setup.names[arm], setup.ids.id_of
    return [Decision(id_of(number, round), name, probability, number, call.clock) for round in rounds]


def earliest(*times: float | None) -> float | None:
    """The first of some times, of which some may never come."""
    return min((time for time in times if time is not None), default=None)


def _switched(view: View, arm: int, announced: float | None) -> Head:
    """The head after a switch to `arm` that was paid for."""
    head, setup = view.head, view.setup
    cost = getattr(setup.policy, "switching_cost", None) if announced is None else announced
    if isinstance(cost, tuple):  # a table: the first play costs nothing
        cost = cost[setup.active.index(head.last_arm)][setup.active.index(arm)] if head.last_arm >= 0 else 0.0
    paid = tuple(exact_sum([*head.paid, float(cost)])) if cost else head.paid
    return head._replace(switches=head.switches + 1, paid=paid)


def _hand_out_pinned(view: View, arm: int, n: int, call: Handing) -> list[Decision]:
    """Rounds of an arm that an operator chose, as a block of their own; the policy's block goes on afterwards."""
    head, setup = view.head, view.setup
    number, asked = head.block + 1, head.asked + n
    due = setup.due(call.clock, asked)
    block = Block(number, None, arm, n, 1.0, call.clock, call.bound, PINNED, "{}", head.asked, due=due)
    view.blocks[number] = view.events.begun[number] = block
    view.events.asks.append(Ask(number, 0, n, call.clock, call.request))
    if arm != head.last_arm:
        head = _switched(view, arm, call.cost)
    next_due = earliest(due, head.next_due)
    view.head = head._replace(block=number, last_arm=arm, asked=asked, clock=call.clock, next_due=next_due)
    return setup.decisions(block, range(n), call.clock)


def _down(setup: Setup, clock: float, available: Collection[int | str] | None) -> frozenset[int]:
    """The policy's arms that cannot be played now; an error if none is left."""
    down = {arm for arm, until in setup.paused if until > clock and arm in setup.active}
    if available is not None:
        known = [setup.names[arm] for arm in setup.active]
        for name in available:
            if name not in known:
                rule = f"must be arms of the game, {', '.join(map(repr, known))}{nearest(str(name), map(str, known))}"
                raise InvalidParameter("available", rule, name)
        down |= {arm for arm in setup.active if setup.names[arm] not in available}
    if len(down) == len(setup.active):
        raise NoArmAvailable(Words("no arm can be played: all are paused or not available; use ", Call("resume")))
    return frozenset(down)


def arm_of(parameter: str, setup: Setup, name: object) -> int:
    """The number of an arm that can be drawn; an error if there is none of this name."""
    known = {setup.names[arm]: arm for arm in setup.active}
    if name not in list(known):  # whatever it is
        rule = f"must be an arm of the game, {', '.join(map(repr, known))}{nearest(str(name), map(str, known))}"
        raise InvalidParameter(parameter, rule, name)
    return known[name]


def _who_plays(view: View, block: Block, rule: int, down: frozenset[int]) -> tuple[int, float]:
    """The arm that plays a round of a block, and the probability of that."""
    if block.forced and rule in down:  # what the policy would play rather, if it were its turn
        learner = view.learner().copy()
        learner.begin()
        rule = view.setup.active[learner.next_best(_mask(view.setup, down))]
    if block.forced:
        return rule, 1.0
    return _next_best(view, block, down) if down else (block.arm, block.probability)


def _with_stretch(played: str, rounds: range, arm: int, probability: float) -> str:
    """Who played a block, with some more rounds. Those that only go on are one stretch, or long outages would grow."""
    stretches = json.loads(played or "[]")
    if stretches and [sum(stretches[-1][:2]), *stretches[-1][2:]] == [rounds.start, arm, probability]:
        stretches[-1][1] += len(rounds)
    else:
        stretches.append([rounds.start, len(rounds), arm, probability])
    return json.dumps(stretches)


def _mask(setup: Setup, down: frozenset[int]) -> NDArray[np.bool_]:
    return np.array([arm in down for arm in setup.active])


def _next_best(view: View, block: Block, down: frozenset[int]) -> tuple[int, float]:
    """The arm that is played while some are down, and the probability of that: docs/availability.md."""
    setup, learner = view.setup, view.learner()
    learner.block[:] = block_values(setup, block)
    mask = _mask(setup, down)
    best, p = learner.next_best(mask), learner.probabilities()
    instead = setup.active[best]
    played, probability = (instead, float(p[best])) if block.arm in down else (block.arm, block.probability)
    return played, min(probability + float(p[mask].sum()), 1.0) if played == instead else probability


# ---- conversations


def _go_on(view: View, key: str, n: int, call: Handing) -> list[Decision] | HoldfastError:
    """Rounds of a conversation: the first draws its arm, as a block that lasts until the conversation ends."""
    setup, head = view.setup, view.head
    if setup.policy.waits_for_losses:
        return InvalidParameter("key", f"is not for {setup.policy.label}, which waits for the losses of each draw", key)
    block = _live(view, key)
    if block is not None and not (call.clock - block.last <= setup.settings.key_life and setup.plays(block)):
        end_conversation(view, block, call.clock)
        block, head = None, view.head
    if block is None and setup.settings.holdback and (block := _held_back(view, call, key)) is not None:
        view.events.begun[block.number] = block
        head = head._replace(block=block.number)
    if block is None:
        values = view.state().learner.begin_some(call.announced, 1.0)[0].tolist()
        number, arm, data = head.block + 1, setup.active[int(values[0])], block_text(setup, values)
        block = Block(number, key, arm, 0, values[2], call.clock, call.bound, 0, data, head.asked, live=1)
        view.events.begun[number] = block
        head = head._replace(block=number, drawn=head.drawn + 1)
    rounds, played = range(block.rounds, block.rounds + n), block.played
    if call.down:
        played = _with_stretch(played, rounds, *_who_plays(view, block, block.arm, call.down))
    # `first` is such that the lateness of the latest round is right
    view.change(block._replace(rounds=rounds.stop, first=head.asked - rounds.start, last=call.clock, played=played))
    view.events.asks.append(Ask(block.number, rounds.start, n, call.clock, call.request))
    idle = call.clock + setup.settings.key_life if head.next_idle is None else head.next_idle
    view.head = head._replace(asked=head.asked + n, clock=call.clock, next_idle=idle)
    return setup.decisions(view.blocks[block.number], rounds, call.clock)


def _live(view: View, key: str) -> Block | None:
    """The block of a conversation that goes on."""
    here = [block for block in view.blocks.values() if block.key == key and block.live]
    stored = [] if here else [b for b in view.reads.blocks("key", key) if b.number not in view.blocks]
    return next(iter(here + stored), None)


def end(view: View, again: bool, *, key: str, now: float) -> bool:
    """End a conversation; whether it went on."""
    expire(view, again, now=now)
    block = _live(view, key)
    if block is not None:
        end_conversation(view, block, view.head.clock)
    return block is not None


def end_conversation(view: View, block: Block, clock: float) -> None:
    """No more rounds: it is learnt from when its losses are in, or patience has run out."""
    head, due = view.head, view.setup.due(clock, view.head.asked)
    block = block._replace(live=0, due=due)
    view.change(block)
    view.head = head._replace(next_due=earliest(due, head.next_due))
    if block.told == block.rounds:
        settle(view, block, clock)


def _end_idle(view: View, clock: float) -> None:
    """End conversations that were idle for too long, some in each call."""
    life = view.setup.settings.key_life
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


# ---- tell


Report = tuple[str, int, int, float | Outcome | AllLosses]
"""What somebody reports of a round: id, block, round, its loss or what becomes one."""

Answers = list[Receipt | HoldfastError]


def tell(view: View, again: bool, *, reports: Sequence[Report | HoldfastError], now: float) -> Answers:
    """Record losses, one after the other: for each a receipt, or why it was refused, as some were before."""
    view.may_forget = FORGET_AT_ONCE + 2 * len(reports)
    clock = max(now, view.head.clock)
    if not view.setup.follows_lateness:  # which the losses change: looked at by asks only, their order does not matter
        settle_due(view, clock)
    return [one if isinstance(one, HoldfastError) else _tell_one(view, one, clock) for one in reports]


def _tell_one(view: View, report: Report, clock: float) -> Receipt | HoldfastError:
    id, number, round, outcome = report
    head, block = view.head, view.blocks.get(number)
    try:
        loss = outcome if isinstance(outcome, float) else _loss_of(view, block, number, round, outcome)
    except InvalidParameter as wrong:
        return wrong
    if block is None:
        return _not_there(head, id, number)
    low, high = view.setup.bounds if block.bound is None else (0.0, block.bound)
    handed = head.handed if number == head.current else block.rounds
    counts = block.settled_order is None and round < handed and low <= loss <= high
    if not counts or (number, round) in view.losses:
        return _repeated_or_refused(view, id, Loss(number, round, loss, clock, 1), handed)
    if view.setup.sees_all and view.setup.plays(block):
        refusal = _learn_all(view, block, view.seen.get((number, round)), clock)
        if refusal is not None:
            return refusal
    _record(view, block, Loss(number, round, loss, clock, 0))
    block = block._replace(told=block.told + 1, losses=tuple(exact_sum([*block.losses, loss])))
    view.change(block)
    if block.told == block.rounds and not block.live:
        settle(view, block, clock)
    elif block.live and not block.learnt and block.told == block.rounds:
        _learn_early(view, block)
    return Receipt(id, True)


def _loss_of(view: View, block: Block | None, number: int, round: int, outcome: Outcome | AllLosses) -> float:
    """The loss that an outcome comes to."""
    if isinstance(outcome, Outcome):
        return outcome.loss(view.setup, block)
    loss, view.seen[number, round] = outcome.by_arm(view.setup, block, round)
    return loss


def _record(view: View, block: Block, loss: Loss) -> None:
    """Keep a loss, and how many rounds late it is."""
    view.losses[loss.block, loss.round] = loss
    view.events.losses.append(loss)
    if (loss.block, loss.round) in view.seen:
        seen = json.dumps(view.seen[loss.block, loss.round])
        view.events.seen.append(Seen(loss.block, loss.round, loss.at, seen))
    head = view.head
    heard, late = head.heard + 1, head.asked - block.first - loss.round - 1
    view.head = head._replace(heard=heard, lateness=head.lateness + (late - head.lateness) / min(heard, WINDOW))


def _learn_all(view: View, block: Block, losses: Mapping[int, float] | None, clock: float) -> HoldfastError | None:
    """The policy observes what all arms lost in a round; or why it cannot, and nothing has changed."""
    setup, head = view.setup, view.head
    if losses is None and not block.forced:
        rule = Words(f"must be those of all arms for {setup.policy.label}: ", Call("tell", "losses"))
        return InvalidParameter("loss", rule, "one loss")
    if not block.forced:
        return learn(setup, view.state().learner, block_values(setup, block), losses or {})
    waits = head.current != block.number and _is_open(view, head.current)
    if losses is None or setup.announces is not None or waits:
        return None
    found = _as_if_asked(view, losses, 0.0, clock)
    if isinstance(found, HoldfastError):
        return found
    view.head = head._replace(drawn=head.drawn + 1)
    return None


def _as_if_asked(view: View, losses: Mapping[int, float], announced: float, clock: float) -> Array | HoldfastError:
    """A round that the policy did not decide: it draws, and observes what all arms lost. Its draw."""
    setup, learner = view.setup, view.state().learner.copy()
    try:
        look_ahead(setup, learner, None, _down(setup, clock, None))
    except OutOfTurn as refusal:
        return refusal
    values: Array = learner.begin_some(announced, 1.0)[0]
    refused = learn(setup, learner, values, losses)
    if refused is not None:
        return refused
    view.state().learner = learner
    return values


def observe(
    view: View,
    again: bool,
    *,
    losses: Any,
    announced: Mapping[str, float],
    now: float,
    at: float,
    request: str,
    named: bool,
) -> HoldfastError | None:
    """What all arms lost in a round at the time `at` that nobody asked for: a block without rounds.

    `announced`, `request` and `named` are as in `ask`.
    """
    setup, clock = view.setup, max(now, view.head.clock)
    if (again or named) and (view.reads.asked(request) or any(one.request == request for one in view.events.asks)):
        return None
    if not setup.sees_all:
        rule = f"must be told of decisions: {setup.policy.label} learns from the arms that it draws"
        return InvalidParameter("losses", rule, losses)
    settle_due(view, clock)
    if _is_open(view, view.head.current):
        tell, open_ones = Call("tell", "losses"), Call("open_decisions")
        return OutOfTurn(Words("a decision waits for its losses: report them with ", tell, ", see ", open_ones))
    try:
        by_arm = losses_by_arm(setup, losses, setup.bounds)
        value, _ = announced_value(setup.policy, {"switching_cost": None, **announced})
    except InvalidParameter as refusal:
        return refusal
    values = _as_if_asked(view, by_arm, value, clock)
    if isinstance(values, HoldfastError):
        return values
    head, data = view.head, block_text(setup, values.tolist())
    number, order, arm = head.block + 1, head.settled + 1, setup.active[int(values[0])]
    block = Block(number, None, arm, 0, float(values[2]), clock, None, 0, data, head.asked)
    block = block._replace(settled_order=order, settled_at=clock, total=0.0)
    view.events.asks.append(Ask(number, 0, 0, clock, request))
    view.events.seen.append(Seen(number, 0, at, json.dumps(by_arm)))
    _enter(view, block)
    view.head = view.head._replace(settled=order, clock=clock)
    return None


def _not_there(head: Head, id: str, number: int) -> HoldfastError:
    if number <= head.block:
        return Forgotten(id, "the row of its block was compacted")
    return UnknownDecision(id, NOT_HANDED_OUT)


def _repeated_or_refused(view: View, id: str, told: Loss, handed: int) -> Receipt | HoldfastError:
    """The answer to a loss that does not count; one that comes late is kept."""
    number, round, loss = told.block, told.round, told.loss
    block = view.blocks[number]
    low, high = view.setup.bounds_of(block)
    before = view.losses.get((number, round))
    if round >= handed:
        return UnknownDecision(id, NOT_HANDED_OUT)
    if not low <= loss <= high:
        return outside_range("loss", (low, high), 1, loss)
    if block.settled_order is not None and block.settled_order <= view.head.forgotten:
        return Forgotten(id, "its block is settled, and single losses are remembered for a while only")
    if before is not None and before.loss != loss:
        return AlreadyTold(id, before.loss, loss)
    if before is not None and not before.late:
        return _other_losses(view, id, number, round) or Receipt(id, False)
    if before is None:
        _record(view, block, told)
        view.change(block._replace(late=block.late + 1))
    if block.settled_at is None:
        raise BadStore(f"the store is damaged: block {number} has a late loss and is not settled")
    return TooLate(id, loss, block.settled_at, f"block {number} was settled without it")


def _other_losses(view: View, id: str, number: int, round: int) -> AlreadyTold | None:
    """An error where other losses of the other arms are recorded."""
    given = view.seen.get((number, round), {})
    known = [*view.reads.seen(number, number), *view.events.seen] if given else []
    stored = [seen for seen in known if (seen.block, seen.round) == (number, round)]
    with undamaged(f"the losses of block {number}"):
        recorded = {int(arm): float(loss) for seen in stored for arm, loss in json.loads(seen.losses).items()}
    pairs = [(recorded[arm], loss) for arm, loss in given.items() if arm in recorded and recorded[arm] != loss]
    return AlreadyTold(id, *pairs[0]) if pairs else None


# ---- settling


def expire(view: View, again: bool, *, now: float) -> int:
    """Settle what is due, and keep the time; the number of blocks."""
    before, clock = view.head.settled, max(now, view.head.clock)
    settle_due(view, clock)
    if view.head.next_idle is not None:
        _end_idle(view, clock)
    view.head = view.head._replace(clock=clock)
    return view.head.settled - before


def settle_due(view: View, clock: float, asked: int = 0) -> None:
    """Settle the blocks whose patience has run out, when so many rounds are asked for at once."""
    head, settings = view.head, view.setup.settings
    if head.next_due is None or (mark := settings.mark(clock, head, asked)) < head.next_due:
        return
    here = [b for b in view.blocks.values() if b.settled_order is None and b.due is not None]
    stored = [b for b in view.reads.blocks("due", mark) if b.number not in view.blocks]
    due = [b for b in (*here, *stored) if b.due is not None and b.due <= mark]
    for block in sorted(due, key=lambda b: (b.due, b.number)):
        view.blocks[block.number] = block
        settle(view, block, clock)
    later = [b.due for b in (*here, *view.reads.blocks("next due", mark)) if b.due is not None and b.due > mark]
    view.head = view.head._replace(next_due=min(later, default=None), clock=clock)


def settle(view: View, block: Block, clock: float) -> None:
    """End a block: the policy observes it, its arm's sums grow, and old single losses are forgotten."""
    setup, state = view.setup, view.state()
    setup.name_of(block.arm)
    sums = state.arms[block.arm]
    bounds, pieces, rounds = setup.bounds_of(block), block.losses, block.rounds
    if missing := block.rounds - block.told:
        usual = math.fsum(sums.losses) / sums.told if sums.told else 0.5 * sum(bounds)
        stand_in = stand_in_for(setup.settings.missing, block.losses, block.told, usual)
        block = block._replace(stand_in=stand_in)
        pieces, rounds = (pieces, block.told) if stand_in is None else ((*pieces, stand_in * missing), rounds)
    if setup.learns_from(block) and (rounds or setup.policy.waits_for_losses):  # else all of it was dropped
        if not setup.sees_all:
            _observe(view, block, pieces, rounds)
        elif missing:  # else it has observed the losses of all arms
            learn(setup, state.learner, block_values(setup, block), last_known(setup, state.learner))
    for arm, part in parts_of(block, block.rounds, lambda: _losses_of(view, block.number)).items():
        state.arms[arm].add(part, block)
    head = view.head
    order = head.settled + 1
    view.change(block._replace(settled_order=order, settled_at=clock, total=math.fsum(block.losses)))
    view.head = head._replace(settled=order, kept=head.kept + block.rounds, clock=clock)
    _forget(view)


def _observe(view: View, block: Block, pieces: Sequence[float], rounds: int) -> None:
    """Let the policy learn what so many rounds of a block lost, unless it has."""
    if block.learnt:
        return
    setup, values = view.setup, block_values(view.setup, block)
    total, weight = normalised_total(setup.policy, setup.bounds_of(block), pieces, float(rounds)), float(rounds)
    if block.key is not None:  # a conversation: the mean of its losses, for each round that the policy drew
        total, weight = total / rounds * values[1], values[1]
    view.state().learner.observe(values, total, weight)


def _learn_early(view: View, block: Block) -> None:
    """A conversation that goes on and has as many losses as are wanted: their mean stands for all of it."""
    after = view.setup.settings.learn_after
    if after is not None and block.told >= after and view.setup.learns_from(block):
        _observe(view, block, block.losses, block.told)
        view.change(block._replace(learnt=view.head.settled + 1))


def _losses_of(view: View, number: int) -> list[Loss]:
    """All losses of a block, those of this transaction too."""
    found = {loss.round: loss for loss in view.reads.losses(number, number)}
    found |= {round: loss for (block, round), loss in view.losses.items() if block == number}
    return list(found.values())


def _forget(view: View) -> None:
    """Drop the single losses of the blocks settled first, beyond what is to be remembered; some in each call."""
    while (beyond := view.head.kept - view.setup.settings.remember) > 0 and view.may_forget > 0:
        old = view.oldest_settled(min(view.may_forget, max(view.may_forget - FORGET_AT_ONCE, 0) + beyond))
        if old is None or old.settled_order is None:
            return
        view.may_forget -= 1
        view.events.forgotten.append(old.number)
        kept = max(view.head.kept - old.rounds, 0)
        view.head = view.head._replace(forgotten=old.settled_order, kept=kept)


def compact(view: View, again: bool, *, keep: int, most: int) -> int:
    """Remove settled blocks but for the last `keep`, at most so many; the number of blocks."""
    setup, last = view.setup, view.head.block - keep
    blocks = view.reads.blocks("settled up to", last, most)
    if blocks and setup.settings.holdback and setup.settings.held_since < last:
        # those that stay were late: no fair sample of what a policy and a rule have cost
        settings = replace(setup.settings, held_since=last)
        game = setup.game._replace(settings=json.dumps(settings.plain()), settings_version=new_token())
        view.go_on_with(replace(setup, game=game, settings=settings))
    forgotten = view.head.forgotten
    rounds = sum(b.rounds for b in blocks if b.settled_order is not None and b.settled_order > forgotten)
    view.events.removed += [block.number for block in blocks]
    kept = max(view.head.kept - rounds, 0)
    view.head = view.head._replace(removed=view.head.removed + len(blocks), kept=kept)
    return len(blocks)
