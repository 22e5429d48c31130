"""A rule's view of a game, and reports of losses: tell, observe, and the settling of blocks.

A block is settled, and observed by the policy, when all its losses are in; or, with a patience, when that has run out
since the call that handed out its last round: then with substitutes for the missing losses. Rounds of one call do not
exhaust each other's patience. Blocks that are due are settled before anything else happens in a call, in the order in
which they became due. Time never runs backwards: it is the latest that an ask saw, or that settled a block.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from holdfast.decisions.game import (
    Setup,
    State,
    assigned,
    block_text,
    block_values,
    moves_of,
    parts_of,
    player_of,
    players_of,
)
from holdfast.decisions.models import Block, ChangeMade, Day, Events, HandedOut, Head, Loss, Receipt, Seen, undamaged
from holdfast.decisions.requests import AllLosses, Compact, Observe, Outcome, Report, Tell, content_of
from holdfast.decisions.rules import breakers
from holdfast.decisions.settings import Settings
from holdfast.errors import (
    AlreadyTold,
    BadStore,
    Call,
    Forgotten,
    HoldfastError,
    InvalidParameter,
    OtherRequest,
    OutOfTurn,
    TooLate,
    UnknownDecision,
    Words,
)
from holdfast.numerics.layout import Array
from holdfast.numerics.sums import exact_sum
from holdfast.players.game import Game as Learner
from holdfast.players.player import checked_forecast, refused_loss, use_available, use_forecast
from holdfast.policies.policy import announced_value, normalised_total, outside_range

LEAST_PATIENCE, LEAST_SECONDS, TIMES, WINDOW = 50.0, 60.0, 3.0, 1000
"""``"auto"``: `TIMES` the mean lateness of about the last `WINDOW` losses, in rounds and in seconds; both must pass.

At least `LEAST_PATIENCE` rounds, and as many times those asked at once; at least `LEAST_SECONDS`.

docs/measurements/decisions.md has the measurements.
"""

FORGET_AT_ONCE = 64
"""Blocks whose single losses one call deletes at most, besides two per round it concerns."""

REMOVE_AT_ONCE = 16
"""Blocks whose rows a call removes, when there are so many more than are kept."""

DAY = 86400.0

DUE_AT_ONCE = 256
"""Blocks read at first when some have run out of patience."""

NOT_HANDED_OUT = "is of a round that this store has not handed out: was it restored from a copy?"


class Reads(Protocol):
    """Reads of the rules besides the head and the state: from a store's transaction, or from lists in a test."""

    def blocks(self, query: str, *values: float | str) -> list[Block]:
        """Return blocks by one of the named queries of `stores.sql.BLOCKS`."""

    def losses(self, first: int, last: int) -> list[Loss]:
        """Return the losses of some blocks."""

    def seen(self, first: int, last: int) -> list[Seen]:
        """Return the losses of all arms in the rounds of some blocks."""

    def asked(self, request: str) -> list[tuple[HandedOut, Block]]:
        """Return the decisions handed out under a request, in order."""


@dataclass
class View:
    """One game inside a transaction: what was read, as changed by now, and what is to be written."""

    setup: Setup
    head: Head
    reads: Reads
    load: Callable[[], State]
    """Reads the state, which only some calls need."""
    blocks: dict[int, Block]
    """Blocks that were read or have begun, by number, as they are now; at first, those of reported losses."""
    losses: dict[tuple[int, int], Loss]
    """Stored losses of the reported rounds, by block and round."""
    seen: dict[tuple[int, int], dict[int, float]] = field(default_factory=dict)
    """Reported losses of all arms, by block and round."""
    events: Events = field(default_factory=Events)
    known: State | None = None
    """The state, if it is remembered."""
    learnt: State | None = None
    """The state, if this transaction changed it."""
    now: float = 0.0
    """Time of the call, by its caller's clock."""
    clock: float = 0.0
    """The game's time: the latest that was seen, by this call or before."""
    name: str = ""
    """Name that records the call: its idempotency key, or a generated one."""
    again: bool = False
    """True if the call may have been made before a connection was lost."""
    may_forget: int = FORGET_AT_ONCE
    _settled: deque[Block] = field(default_factory=deque)

    def state(self) -> State:
        """The state, for changing."""
        if self.learnt is None:
            self.learnt = self.known or self.load()
        return self.learnt

    def learner(self) -> Learner:
        """The policy's game, for reading."""
        return (self.learnt or self.known or self.load()).learner

    def block(self, number: int) -> Block:
        """Return a block that must exist."""
        found = self.blocks.get(number)
        if found is None:
            read = self.reads.blocks("number", number)
            if not read:
                raise BadStore(f"the store is damaged: block {number} of game {self.setup.game.name!r} is missing")
            found = self.blocks[number] = read[0]
        return found

    def with_setup(self, setup: Setup) -> None:
        """Continue with other settings and the game's row in `setup`."""
        self.setup, self.events.game = setup, setup.game
        self.head = self.head._replace(settings_version=setup.game.settings_version)

    def oldest_settled(self, most: int) -> Block | None:
        """Return the next block, in settlement order, whose single losses are still kept."""
        if not self._settled:
            after = self.head.forgotten
            stored = self.reads.blocks("settled after", after, most)
            last = stored[-1].settled_order or 0 if len(stored) == most else math.inf
            here = [b for b in self.blocks.values() if after < (b.settled_order or 0) <= last]
            every = {block.number: block for block in [*stored, *here]}
            self._settled = deque(sorted(every.values(), key=lambda block: block.settled_order or 0))
        return self._settled.popleft() if self._settled else None


Answers = list[Receipt | HoldfastError]


def tell(view: View, request: Tell) -> Answers | Receipt | HoldfastError:
    """Record losses one after the other. Return for each a receipt or why it was refused, as some were before."""
    reports, clock = request.reports, view.clock
    view.may_forget = FORGET_AT_ONCE + 2 * len(reports)
    if not view.setup.follows_lateness:  # which the losses change: looked at by asks only, their order does not matter
        settle_due(view, clock)
    answers = [one if isinstance(one, HoldfastError) else _tell_one(view, one, clock) for one in reports]
    return answers[0] if request.one else answers


def _tell_one(view: View, report: Report, clock: float) -> Receipt | HoldfastError:
    id, number, round, outcome = report
    head, block = view.head, view.blocks.get(number)
    try:
        loss = outcome if isinstance(outcome, float) else _loss_of(view, block, number, round, outcome)
    except InvalidParameter as wrong:
        return wrong
    if block is None:
        return _not_there(head, id, number, not isinstance(outcome, float) and outcome.in_time)
    low, high = view.setup.bounds if block.bound is None else (0.0, block.bound)
    handed = head.handed if number == head.current else block.rounds
    counts = block.settled_order is None and round < handed and low <= loss <= high
    measures = outcome.written if isinstance(outcome, Outcome) else ""
    if not counts or (number, round) in view.losses:
        in_time = not isinstance(outcome, float) and outcome.in_time
        return _late_or_refused(view, id, Loss(number, round, loss, clock, 1, measures), handed, in_time)
    if view.setup.sees_all and view.setup.plays(block):
        every = view.seen.get((number, round))
        if every is None and isinstance(outcome, Outcome) and outcome.failed:  # of the others nothing is known
            every = {**last_known(view.setup, view.learner()), players_of(block, round + 1)[round][0]: loss}
        refusal = _learn_all(view, block, every, clock)
        if refusal is not None:
            return refusal
    block = _record(view, block, Loss(number, round, loss, clock, 0, measures))
    if block.told == block.rounds and not block.live:
        settle(view, block, clock)
    elif block.live and not block.learnt and block.told == block.rounds:
        _learn_early(view, block)
    if block.moves:
        _hear(view, block, round, loss, isinstance(outcome, Outcome) and outcome.bad)
    return Receipt(id, True)


def _loss_of(view: View, block: Block | None, number: int, round: int, outcome: Outcome | AllLosses) -> float:
    """Return the loss of an outcome."""
    if isinstance(outcome, Outcome):
        return outcome.loss(view.setup, block)
    loss, view.seen[number, round] = outcome.by_arm(view.setup, block, round)
    return loss


def _record(view: View, block: Block, loss: Loss) -> Block:
    """Record a loss and its lateness in rounds. Return its block with it."""
    view.losses[loss.block, loss.round] = loss
    view.events.losses.append(loss)
    if (loss.block, loss.round) in view.seen:
        seen = json.dumps(view.seen[loss.block, loss.round])
        view.events.seen.append(Seen(loss.block, loss.round, loss.at, seen))
    head = view.head
    heard, since = head.heard + 1, head.asked - block.first
    late = since - loss.round - 1
    # when this round was asked is not read: between the block's start and now, at an even pace
    seconds = loss.at - block.last if block.key is not None else (loss.at - block.began) * (late + 1) / since
    weight = 1.0 / min(heard, WINDOW)
    lateness, delay = head.lateness + (late - head.lateness) * weight, head.delay + (seconds - head.delay) * weight
    view.head = head._replace(heard=heard, late=head.late + loss.late, lateness=lateness, delay=max(delay, 0.0))
    if view.setup.settings.breaker is not None:
        breakers.heard(view, block, loss)
    losses, squares = tuple(exact_sum([*block.losses, loss.loss])), block.squares + loss.loss * loss.loss
    block = block._replace(told=block.told + 1, late=block.late + loss.late, losses=losses, squares=squares)
    view.blocks[block.number] = block
    return block


# ---- full information: each block is one round, observed when the losses of all arms are in


def look_ahead(setup: Setup, learner: Learner, forecast: Any, down: frozenset[int]) -> None:
    """Tell the policy, before it draws, the forecast and which arms are unavailable."""
    state = learner.state
    if forecast is not None:
        use_forecast(state, checked_forecast(setup.policy, state, forecast))
    if down:
        use_available(state, np.array([[float(arm in down) for arm in setup.active]]))


def learn(setup: Setup, learner: Learner, block: Array, losses: Mapping[int, float]) -> InvalidParameter | None:
    """Let the policy observe a round. Return the complaint if the losses are refused; nothing has changed then."""
    policy = setup.policy
    learner.block[:] = block
    row = np.array([losses.get(arm, math.nan) for arm in setup.active])
    refused = learner.observe_all(row, policy.units[0], policy.unit, float(getattr(policy, "stale", 0)))
    return refused_loss(policy, learner.state, refused, row) if refused else None


def last_known(setup: Setup, learner: Learner) -> dict[int, float]:
    """Return substitutes for losses that never came: the last round's, or at first the middle of the range."""
    low, unit = setup.policy.units[0], setup.policy.unit
    known = learner.state.known if learner.begun > 1 else np.full(len(setup.active), 0.5)
    losses = np.minimum(low + unit * known, setup.bounds[1]).tolist()
    return dict(zip(setup.active, losses, strict=True))


def _learn_all(view: View, block: Block, losses: Mapping[int, float] | None, clock: float) -> HoldfastError | None:
    """Let the policy observe the losses of all arms. Return why it cannot, if so; then nothing has changed."""
    setup, head = view.setup, view.head
    if losses is None and not block.forced:
        rule = Words(f"must be those of all arms for {setup.policy.label}: ", Call("tell", "losses"))
        return InvalidParameter("loss", rule, "one loss")
    if not block.forced:
        return learn(setup, view.state().learner, block_values(setup, block), losses or {})
    waits = head.current != block.number and is_open(view, head.current)
    if losses is None or setup.announces is not None or waits:
        return None
    found = _as_if_asked(view, losses, 0.0, clock)
    if isinstance(found, HoldfastError):
        return found
    view.head = head._replace(drawn=head.drawn + 1)
    return None


def _as_if_asked(view: View, losses: Mapping[int, float], announced: float, clock: float) -> Array | HoldfastError:
    """Let the policy draw and observe a round that it did not decide. Return its draw."""
    setup, learner = view.setup, view.state().learner.copy()
    try:
        look_ahead(setup, learner, None, setup.down(clock, None))
    except OutOfTurn as refusal:
        return refusal
    values: Array = learner.begin_some(announced, 1.0)[0]
    refused = learn(setup, learner, values, losses)
    if refused is not None:
        return refused
    view.state().learner = learner
    return values


def observe(view: View, request: Observe) -> HoldfastError | None:
    """Record the losses of all arms in a round that this game did not decide, as a block without rounds."""
    setup, clock, losses = view.setup, view.clock, request.losses
    content = content_of(request) if request.request is not None else ""
    if view.again or content:
        named = [ask for ask, _ in view.reads.asked(view.name)]
        named += [ask for ask in view.events.asks if ask.request == view.name]
        before = [ask for ask in named if not ask.rounds]  # those of decisions have rounds
        if before:
            return None if before[0].content == content else OtherRequest(view.name)
    if not setup.sees_all:
        rule = f"must be told of decisions: {setup.policy.label} learns from the arms that it draws"
        return InvalidParameter("losses", rule, losses)
    settle_due(view, clock)
    if is_open(view, view.head.current):
        told, open_ones = Call("tell", "losses"), Call("open_decisions")
        return OutOfTurn(Words("a decision waits for its losses: report them with ", told, ", see ", open_ones))
    try:
        by_arm = AllLosses(losses, clip=request.clip).every(setup, None)
        value, _ = announced_value(setup.policy, {"switching_cost": request.switching_cost})
    except InvalidParameter as refusal:
        return refusal
    values = _as_if_asked(view, by_arm, value, clock)
    if isinstance(values, HoldfastError):
        return values
    at = view.now if request.at is None else request.at.timestamp()
    head, data = view.head, block_text(setup, values.tolist())
    number, order, arm = head.block + 1, head.settled + 1, setup.active[int(values[0])]
    block = Block(number, None, arm, 0, float(values[2]), clock, None, 0, data, head.asked)
    block = block._replace(settled_order=order, settled_at=clock, total=0.0)
    view.events.asks.append(HandedOut(number, 0, 0, clock, view.name, content))
    view.events.seen.append(Seen(number, 0, at, json.dumps(by_arm)))
    enter(view, block)
    view.head = view.head._replace(settled=order, clock=clock)
    return None


def _not_there(head: Head, id: str, number: int, in_time: bool) -> Receipt | HoldfastError:
    if number > head.block:
        return UnknownDecision(id, NOT_HANDED_OUT)
    return Forgotten(id, "the row of its block was compacted") if in_time else Receipt(id, False, True)


def _late_or_refused(view: View, id: str, told: Loss, handed: int, in_time: bool) -> Receipt | HoldfastError:
    """Return the answer to a loss that is repeated, late or wrong."""
    number, round, loss = told.block, told.round, told.loss
    block = view.blocks[number]
    low, high = view.setup.bounds_of(block)
    before = view.losses.get((number, round))
    if round >= handed:
        return UnknownDecision(id, NOT_HANDED_OUT)
    if not low <= loss <= high:
        return outside_range("loss", (low, high), 1, loss)
    if block.settled_order is not None and block.settled_order <= view.head.forgotten:
        said = "its block is settled, and single losses are remembered for a while only"
        return Forgotten(id, said) if in_time else Receipt(id, False, True)
    if before is not None and before.loss != loss:
        return AlreadyTold(id, before.loss, loss)
    if block.settled_at is None and (before is None or before.late):
        raise BadStore(f"the store is damaged: block {number} has a late loss and is not settled")
    if before is not None:
        return _other_losses(view, id, number, round) or Receipt(id, False, bool(before.late))
    if block.told >= block.rounds:
        raise BadStore(f"the store is damaged: block {number} is settled, and a loss of it is missing")
    if in_time:
        return TooLate(id, loss, block.settled_at or 0.0, f"block {number} was settled without it")
    _count_late(view, block, told)
    return Receipt(id, True, True)


def _count_late(view: View, block: Block, told: Loss) -> None:
    """Count a late loss in place of what stood for it, and let the policy learn the difference, if it can."""
    setup, state, later = view.setup, view.state(), _record(view, block, told)
    later = view.blocks[block.number] = later._replace(total=math.fsum(later.losses))
    state.arms[player_of(block, told.round)[0]].hear(told.loss, block.stand_in)
    if not setup.learns_from(block) or setup.sees_all or block.learnt:
        return
    values = block_values(setup, block)
    (was, rounds), (now, more) = (_learnt(setup, one, values, *_counted(one)) for one in (block, later))
    if rounds:
        state.learner.correct(values, was, now, more - rounds)
    else:
        state.learner.observe(values, now, more)


def _counted(block: Block) -> tuple[Sequence[float], int]:
    """Return the sum of losses that counts for a settled block, and its number of rounds."""
    missing = block.rounds - block.told
    if missing and block.stand_in is not None:
        return (*block.losses, block.stand_in * missing), block.rounds
    return block.losses, block.told


def _other_losses(view: View, id: str, number: int, round: int) -> AlreadyTold | None:
    """Return an error if different losses of the other arms are recorded."""
    given = view.seen.get((number, round), {})
    known = [*view.reads.seen(number, number), *view.events.seen] if given else []
    stored = [seen for seen in known if (seen.block, seen.round) == (number, round)]
    with undamaged(f"the losses of block {number}"):
        recorded = {int(arm): float(loss) for seen in stored for arm, loss in json.loads(seen.losses).items()}
    pairs = [(recorded[arm], loss) for arm, loss in given.items() if arm in recorded and recorded[arm] != loss]
    return AlreadyTold(id, *pairs[0]) if pairs else None


def is_open(view: View, number: int) -> bool:
    block = view.blocks.get(number)
    found = view.reads.blocks("number", number) if block is None else [block]
    return bool(found) and found[0].settled_order is None


def enter(view: View, block: Block) -> None:
    """Make a new block the policy's current one."""
    view.blocks[block.number] = block
    arm, probability = assigned(block) if block.played else (block.arm, block.probability)
    view.head = view.head._replace(
        block=block.number,
        drawn=view.head.drawn + (not block.forced),
        current=block.number,
        arm=arm,
        rounds=block.rounds,
        handed=0,
        probability=probability,
    )


def due(settings: Settings, clock: float, asked: int) -> float | None:
    """Return when a block runs out of patience if this call handed out its last round.

    A patience that follows lateness is added when the block is checked: `overdue`.
    """
    if settings.seconds is not None:
        return clock + settings.seconds
    return None if settings.forever else float(asked + (settings.rounds or 0))


def overdue(settings: Settings, clock: float, head: Head, asked: int, waits: bool) -> tuple[float, float]:
    """Return the largest `due` and the largest `last` of a block that has run out of patience.

    `asked` rounds are asked for at once. A policy that `waits` for its losses asks none meanwhile: time counts.
    """
    if settings.seconds is not None or settings.rounds is not None:
        return (float(head.asked) if settings.seconds is None else clock), math.inf
    if not head.heard:
        return -math.inf, -math.inf
    rounds = 0.0 if waits else max(long_wait(head), TIMES * asked)
    return head.asked - rounds, clock - max(LEAST_SECONDS, TIMES * head.delay)


def long_wait(head: Head) -> float:
    """Return the rounds after which a missing loss is no longer expected, by the lateness seen."""
    return max(LEAST_PATIENCE, TIMES * head.lateness) if head.heard else math.inf


def settle_due(view: View, clock: float, asked: int = 0) -> None:
    """Settle the blocks whose patience has run out, given how many rounds are asked for at once."""
    head, setup = view.head, view.setup
    if head.next_due is None:
        return
    mark, last = overdue(setup.settings, clock, head, asked, setup.policy.waits_for_losses)
    if head.next_due > mark or head.next_last > last:
        return
    here = [b for b in view.blocks.values() if b.settled_order is None and b.due is not None]
    most = DUE_AT_ONCE
    while len(stored := view.reads.blocks("due", mark, most)) == most and stored[-1].last <= last:
        most *= 16  # in the order of `due` they began to wait, so all others are due if the last one is
    waiting = sorted((*here, *(b for b in stored if b.number not in view.blocks)), key=lambda b: (b.due, b.number))
    over = [b for b in waiting if b.due is not None and b.due <= mark and b.last <= last]
    for block in over:
        settle(view, block, clock)
    left = [(b.due, b.last) for b in (*waiting[len(over) :], *view.reads.blocks("next due", mark)) if b.due is not None]
    next_due, next_last = min(left, default=(None, 0.0))
    view.head = view.head._replace(next_due=next_due, next_last=next_last, clock=clock)


def take_back(view: View, clock: float) -> None:
    """Go back to an earlier time, since a clock ran ahead: what began to wait after it waits from now."""
    head, waiting = view.head, []
    for stored in view.reads.blocks("open"):
        block = view.blocks.get(stored.number, stored)
        if block.settled_order is None and block.last > clock:
            ends = None if block.due is None else due(view.setup.settings, clock, head.asked)
            expires = block.expires - (block.last - clock) if block.live else 0.0
            block = view.blocks[block.number] = block._replace(last=clock, due=ends, expires=expires)
        if block.settled_order is None and block.due is not None:
            waiting.append((block.due, block.last))
    next_due, next_last = min(waiting, default=(None, 0.0))
    idle = None if head.next_idle is None else clock
    view.head = head._replace(clock=clock, leap=0.0, next_due=next_due, next_last=next_last, next_idle=idle)
    breakers.take_back(view, clock)
    if (budget := view.setup.settings.most_switches) is not None:
        view.state().switched = [min(at, clock) for at in view.state().switched]
        view.head = view.head._replace(stays=budget.stays(view.state().switched))
    detail = json.dumps({"clock": [head.clock, clock]})
    view.events.changes.append(ChangeMade(clock, "clock", detail, "one process's clock ran ahead of the others'"))


def wait_for(view: View, block: Block, clock: float, asked: int) -> None:
    """Begin a block's patience: its last round was handed out now, when `asked` rounds had been."""
    ends, head = due(view.setup.settings, clock, asked), view.head
    view.blocks[block.number] = block._replace(due=ends, last=clock)
    if ends is not None and (head.next_due is None or ends < head.next_due):
        view.head = head._replace(next_due=ends, next_last=clock)


def settle(view: View, block: Block, clock: float) -> None:
    """Settle a block: the policy observes it, its arm's sums grow, and old single losses are forgotten."""
    setup, state = view.setup, view.state()
    setup.name_of(block.arm)
    if state.day < (day := int(clock // DAY)):
        if state.day:
            view.events.days.append(Day(state.day, json.dumps([vars(arm) for arm in state.arms])))
        state.day = day
    if missing := block.rounds - block.told:
        bounds, sums = setup.bounds_of(block), state.arms[assigned(block)[0]]
        usual = math.fsum(sums.losses) / sums.told if sums.told else 0.5 * sum(bounds)
        stand_in = _stand_in_for(setup.settings.missing, block, usual, bounds[1])
        if setup.sees_all and setup.plays(block):  # it learns that nothing has changed since
            stand_in = last_known(setup, state.learner)[block.arm]
        block = block._replace(stand_in=stand_in)
    pieces, rounds = _counted(block)
    if setup.learns_from(block) and (rounds or setup.policy.waits_for_losses):  # else all of it was dropped
        if not setup.sees_all:
            _observe(view, block, pieces, rounds)
        elif missing:  # else it has observed the losses of all arms
            learn(setup, state.learner, block_values(setup, block), last_known(setup, state.learner))
    for arm, part in parts_of(block, block.rounds, lambda: _losses_of(view, block.number)).items():
        state.arms[arm].add(part, block)
    head = view.head
    order = head.settled + 1
    settled = block._replace(settled_order=order, settled_at=clock, total=math.fsum(block.losses))
    view.blocks[block.number] = settled
    view.head = head._replace(settled=order, kept=head.kept + block.rounds, clock=clock)
    _forget(view)
    if view.head.block - view.head.removed >= setup.settings.keep + REMOVE_AT_ONCE and not view.events.removed:
        remove(view, view.head.block - setup.settings.keep, REMOVE_AT_ONCE)


def _stand_in_for(missing: str | float, block: Block, usual: float, highest: float) -> float | None:
    """Return the substitute for each missing loss of a block; None if its round is dropped.

    `usual` is the mean of the arm so far, for a block without any loss; `highest` the highest that it can have.
    """
    if missing == "drop":
        return None
    if missing == "mean":
        return math.fsum(block.losses) / block.told if block.told else usual
    return highest if missing == "highest" else float(missing)


def _observe(view: View, block: Block, pieces: Sequence[float], rounds: int) -> None:
    """Let the policy learn from a block's losses over `rounds` rounds, unless it has."""
    if not block.learnt:
        values = block_values(view.setup, block)
        view.state().learner.observe(values, *_learnt(view.setup, block, values, pieces, rounds))


def _learnt(setup: Setup, block: Block, values: Array, pieces: Sequence[float], rounds: int) -> tuple[float, float]:
    """Return the total and the rounds that a policy learns of these losses of a block."""
    if not rounds:
        return 0.0, 0.0
    total, weight = normalised_total(setup.policy, setup.bounds_of(block), pieces, float(rounds)), float(rounds)
    if block.key is not None:  # a conversation: the mean of its losses, for each round that the policy drew
        total, weight = total / rounds * values[1], values[1]
    elif setup.policy.waits_for_losses and block.rounds < values[1]:  # it was cut short, and sums are compared
        total, weight = total * values[1] / block.rounds, weight * values[1] / block.rounds
    return total, weight


def _learn_early(view: View, block: Block) -> None:
    """Learn from an open conversation that has enough losses; their mean represents all of it."""
    after = view.setup.settings.learn_after
    if after is not None and block.told >= after and view.setup.learns_from(block):
        view.blocks[block.number] = learn_so_far(view, block)


def learn_so_far(view: View, block: Block) -> Block:
    """Let the policy learn from an open conversation by the losses that have come, and from no later ones."""
    if block.told:
        _observe(view, block, block.losses, block.told)
    return block._replace(learnt=view.head.settled + 1)


def _hear(view: View, block: Block, round: int, loss: float, failed: bool) -> None:
    """Count a loss among the latest of its arm, but for what the first turn after a move has paid for it."""
    if failed or round not in {move.round for move in moves_of(block)}:
        view.state().recently()[player_of(block, round)[0]].hear(loss, failed)


def _losses_of(view: View, number: int) -> list[Loss]:
    """Return all losses of a block, including those of this transaction."""
    found = {loss.round: loss for loss in view.reads.losses(number, number)}
    found |= {round: loss for (block, round), loss in view.losses.items() if block == number}
    return list(found.values())


def _forget(view: View) -> None:
    """Delete the single losses of the blocks settled first, beyond what is remembered; a few in each call."""
    while (beyond := view.head.kept - view.setup.settings.remember) > 0 and view.may_forget > 0:
        old = view.oldest_settled(min(view.may_forget, max(view.may_forget - FORGET_AT_ONCE, 0) + beyond))
        if old is None or old.settled_order is None:
            return
        view.may_forget -= 1
        view.events.forgotten.append(old.number)
        kept = max(view.head.kept - old.rounds * (old.number not in view.events.removed), 0)
        view.head = view.head._replace(forgotten=old.settled_order, kept=kept)


def compact(view: View, request: Compact) -> int:
    """Remove settled blocks except the last `keep`, up to a limit. Return how many."""
    return remove(view, view.head.block - request.keep, request.most)


def remove(view: View, last: int, most: int) -> int:
    """Remove the rows of settled blocks up to a number, the oldest first. Return how many."""
    blocks, head = view.reads.blocks("settled up to", last, most), view.head
    rounds = sum(b.rounds for b in blocks if b.settled_order is not None and b.settled_order > head.forgotten)
    view.events.removed += [block.number for block in blocks]
    gone = max((head.gone, *(block.number for block in blocks)))
    kept = max(head.kept - rounds, 0)
    view.head = head._replace(removed=head.removed + len(blocks), kept=kept, gone=gone)
    return len(blocks)
