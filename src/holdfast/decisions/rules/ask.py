"""Ask: hand out rounds of the current block; when none is left, begin the next with what is known by then."""

from __future__ import annotations

from holdfast.decisions.game import assigned, block_text
from holdfast.decisions.models import PINNED, Block, Decision, HandedOut, Head
from holdfast.decisions.requests import Ask, content_of
from holdfast.decisions.rules.arms import (
    HandOut,
    can_stay,
    changes_hands,
    compared,
    held_back,
    staying,
    who_play,
    with_arm_in_use,
    with_stretch,
    within_shares,
)
from holdfast.decisions.rules.breakers import handed_out, tripped
from holdfast.decisions.rules.conversations import continue_conversation, end_idle
from holdfast.decisions.rules.report import FORGET_AT_ONCE, View, enter, is_open, look_ahead, settle_due, wait_for
from holdfast.errors import Call, HoldfastError, InvalidParameter, OtherRequest, OutOfTurn, Words
from holdfast.numerics.sums import exact_sum
from holdfast.policies.policy import announced_value


def ask(view: View, request: Ask) -> list[Decision] | HoldfastError:
    """Hand out up to `n` decisions; fewer only where the policy waits for losses."""
    n, rule, key = request.n, request.rule, request.key
    content = content_of(request) if request.request is not None else ""
    if (view.again or content) and (before := asked_before(view, view.name, content)):
        if isinstance(before, OtherRequest):
            return before
        if len(before) < n and not view.setup.policy.waits_for_losses:
            same = "must be made again while all its decisions are remembered"
            return InvalidParameter("request", f"{same}: of {n} there are {len(before)}", view.name)
        return before
    clock = view.clock
    setup, head = view.setup, view.head
    value, bounds, ruled, down = 0.0, setup.bounds, None, frozenset[int]()
    try:
        told = rule if setup.announces == "rule" else None
        nothing = request.switching_cost is request.loss_bound is told is None
        if not nothing or (setup.announces is not None and n > head.rounds - head.handed):
            said = {"switching_cost": request.switching_cost, "loss_bound": request.loss_bound, "rule": told}
            value, bounds = announced_value(setup.policy, said)
        if request.fallback is not None and request.fallback not in setup.names:
            return setup.no_arm("fallback", request.fallback)
        if setup.settings.holdback:
            ruled = None if rule is None else setup.arm_of("rule", rule)
        if setup.paused or request.available is not None:
            down = setup.down(clock, request.available)
    except (InvalidParameter, OutOfTurn) as refusal:
        return refusal
    view.may_forget = FORGET_AT_ONCE + 2 * n
    if head.next_due is not None:
        settle_due(view, clock, n)
    if head.next_idle is not None:
        end_idle(view, clock)
    bound = None if bounds == setup.bounds else bounds[1]
    out = tripped(view, clock, down) if setup.settings.breaker is not None else frozenset[int]()
    cost, asked = request.switching_cost, head.asked + n
    call = HandOut(clock, view.name, content, cost, value, bound, down | out, out, ruled, asked)
    if request.forecast is not None and not setup.sees_all:
        left_out = f"must be left out: {setup.policy.label} does not see the losses of all arms"
        return InvalidParameter("forecast", left_out, request.forecast)
    if setup.pin is not None and setup.pin[1] > clock and setup.pin[0] not in down:
        return _hand_out_pinned(view, setup.pin[0], n, call)
    if key is not None:
        return continue_conversation(view, request, call)
    given: list[Decision] = []
    while len(given) < n:
        head = view.head
        if head.handed < head.rounds:
            given += _hand_out(view, n - len(given), call)
        elif setup.policy.waits_for_losses and is_open(view, head.current):
            break
        else:
            if setup.sees_all:
                try:
                    look_ahead(setup, view.state().learner, request.forecast, down)
                except InvalidParameter as refusal:
                    return refusal
            for block in _begin(view, n - len(given), call):
                enter(view, block)
                given += _hand_out(view, n - len(given), call)
    if not given:
        return OutOfTurn(
            Words(
                f"{setup.policy.label} cannot begin its next block before every loss of the last one is told: see ",
                Call("open_decisions"),
            )
        )
    return given


def asked_before(view: View, request: str, content: str) -> list[Decision] | OtherRequest:
    """Return the decisions of an earlier ask under this name, if there was one."""
    found = [(ask, block) for ask, block in view.reads.asked(request) if ask.rounds]
    found += [(ask, view.block(ask.block)) for ask in view.events.asks if ask.request == request and ask.rounds]
    if found and found[0][0].content != content:
        return OtherRequest(request)
    decisions = view.setup.decisions
    return [d for ask, b in found for d in decisions(b, range(ask.first, ask.first + ask.rounds), ask.at)]


def _begin(view: View, n: int, call: HandOut) -> list[Block]:
    """Begin blocks with `n` rounds together; only one if the next depends on it or may be the rule's."""
    setup, head = view.setup, view.head
    settings = setup.settings
    if settings.holdback and (held := held_back(view, call)) is not None:
        return [held]
    single = settings.holdback or settings.share is not None or settings.most_switches is not None
    stays = call.clock < head.stays and can_stay(view, call)
    left = 1.0 if setup.policy.waits_for_losses or single else float(n)
    drawn = view.state().learner.begin_some(call.announced, left).tolist()
    blocks, first = [], head.asked
    for number, values in enumerate(drawn, head.block + 1):
        arm, rounds, probability = setup.active[int(values[0])], int(values[1]), values[2]
        data = block_text(setup, values)
        blocks.append(Block(number, None, arm, rounds, probability, call.clock, call.bound, 0, data, first))
        if setup.settings.holdback:
            share, price = compared(view, call)
            blocks[-1] = blocks[-1]._replace(share=share, price=price)
        if settings.share is not None:
            blocks[-1] = within_shares(view, blocks[-1])
        if stays:
            blocks[-1] = with_arm_in_use(view, blocks[-1])
        first += rounds
    return blocks


def _hand_out(view: View, n: int, call: HandOut) -> list[Decision]:
    """Hand out at most `n` rounds of the current block."""
    head, setup = view.head, view.setup
    number, arm, probability = head.current, head.arm, head.probability
    rounds = every = range(head.handed, min(head.handed + n, head.rounds))
    if call.clock < head.stays and can_stay(view, call):
        block = view.block(number)
        arm, probability = staying(block, rounds.start, head.last_arm)
        if (arm, probability) != assigned(block):
            view.blocks[number] = block._replace(played=with_stretch(block.played, rounds, arm, probability))
    elif (call.down and not setup.sees_all) or call.rule is not None:  # which has drawn among the others
        block = view.block(number)
        rule = block.arm if call.rule is None else call.rule
        rounds, arm, probability = next(who_play(view, block, rule, rounds, call))
        if call.down or arm != block.arm:
            block = block._replace(played=with_stretch(block.played, rounds, arm, probability))
            if changes_hands(block) and rounds == every:
                block = block._replace(rounds=rounds.stop)
                head = view.head = head._replace(rounds=rounds.stop)
            view.blocks[number] = block
    if head.breakers:
        handed_out(view, arm, number, rounds.start, call.clock)
    asked = head.asked + len(rounds)
    view.events.asks.append(HandedOut(number, rounds.start, len(rounds), call.clock, call.request, call.content))
    if rounds.stop == head.rounds and not setup.settings.forever:
        # a policy that waits hands out no more in this call, however many were asked for
        wait_for(view, view.block(number), call.clock, asked if setup.policy.waits_for_losses else call.asked)
    head = view.head if arm == head.last_arm else _switched(view, arm, call)
    view.head = head._replace(handed=rounds.stop, last_arm=arm, asked=asked, clock=call.clock)
    name, id_of = setup.names[arm], setup.ids.id_of
    given = [Decision(id_of(number, round), name, probability, number, call.clock) for round in rounds]
    return given if rounds == every else given + _hand_out(view, len(every) - len(rounds), call)


def _switched(view: View, arm: int, call: HandOut) -> Head:
    """Return the head after paying for a switch to `arm`."""
    head, setup = view.head, view.setup
    cost = getattr(setup.policy, "switching_cost", None) if call.cost is None else call.cost
    if isinstance(cost, tuple):  # a table: the first play costs nothing
        cost = cost[setup.active.index(head.last_arm)][setup.active.index(arm)] if head.last_arm >= 0 else 0.0
    paid = tuple(exact_sum([*head.paid, float(cost)])) if cost else head.paid
    view.state().arms[arm].switches += 1
    if (budget := setup.settings.most_switches) is not None and head.last_arm >= 0:
        switched = view.state().switched = budget.kept([*view.state().switched, call.clock])
        head = head._replace(stays=budget.stays(switched))
    return head._replace(switches=head.switches + 1, paid=paid)


def _hand_out_pinned(view: View, arm: int, n: int, call: HandOut) -> list[Decision]:
    """Hand out rounds of the pinned arm as a block of their own. The policy's block continues afterwards."""
    head, setup = view.head, view.setup
    number, asked = head.block + 1, head.asked + n
    block = Block(number, None, arm, n, 1.0, call.clock, call.bound, PINNED, "{}", head.asked)
    wait_for(view, block, call.clock, asked)
    handed_out(view, arm, number, 0, call.clock)
    view.events.asks.append(HandedOut(number, 0, n, call.clock, call.request, call.content))
    head = view.head if arm == head.last_arm else _switched(view, arm, call)
    view.head = head._replace(block=number, last_arm=arm, asked=asked, clock=call.clock)
    return setup.decisions(block, range(n), call.clock)
