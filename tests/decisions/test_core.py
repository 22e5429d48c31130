"""The rules alone, without a store: rows are lists, and every call is one view."""

from dataclasses import replace

import holdfast as hf
from holdfast.decisions.game import ArmSums, State, first_head, new_game, setup_of
from holdfast.decisions.models import Block
from holdfast.decisions.requests import Ask, Settle, Tell
from holdfast.decisions.rules import TRANSITIONS, View
from holdfast.decisions.rules.report import FORGET_AT_ONCE
from holdfast.decisions.settings import Settings
from holdfast.players.game import Game as Learner

POLICIES = [
    hf.TsallisSwitch(3, switching_cost=1.5),
    hf.Exp3(2),
    hf.BaSE(2, horizon=60, grid="arithmetic", batches=6),
]


class Lists:
    """A game in lists, which the rules read and change."""

    def __init__(self, policy: hf.Policy, chosen: Settings, seed: int) -> None:
        game = new_game("game", policy, chosen, 0.0, "uid", "secret")
        self.setup, self.head = setup_of(game, policy), first_head(game, 0.0)
        self.state = State(Learner(policy, seed), [ArmSums() for _ in range(policy.n_arms)])
        self.rows: dict[int, Block] = {}
        self.told, self.asks = {}, []
        self.forgotten = 0

    def blocks(self, query, *values):
        rows = sorted(self.rows.values())
        unsettled = [b for b in rows if b.settled_order is None]
        if query == "number":
            return [b for b in rows if b.number == values[0]]
        if query == "due":
            due = [b for b in unsettled if b.due is not None and b.due <= values[0]]
            return sorted(due, key=lambda b: (b.due or 0.0, b.number))[: values[1]]
        if query == "next due":
            return sorted(
                (b for b in unsettled if b.due is not None and b.due > values[0]), key=lambda b: b.due or 0.0
            )[:1]
        if query == "key":
            return [b for b in rows if b.live and b.key == values[0]]
        if query == "longest idle":
            return sorted((b for b in rows if b.live), key=lambda b: b.last)[: values[0]]
        if query == "open":
            return unsettled
        assert query == "settled after"
        later = [b for b in rows if b.settled_order is not None and b.settled_order > values[0]]
        return sorted(later, key=lambda b: b.settled_order or 0)[: values[1]]

    def asked(self, request):
        return [(ask, self.rows[ask.block]) for ask in self.asks if ask.request == request]

    def losses(self, first, last):
        return [loss for loss in self.told.values() if first <= loss.block <= last]

    def call(self, *rules):
        """Several calls in one transaction."""
        view = View(self.setup, self.head, self, lambda: self.state, dict(self.rows), dict(self.told))
        answers = [rule(view) for rule in rules]
        moved = view.head.clock - self.head.clock
        self.head, self.setup = view.head._replace(leap=moved) if moved > 600.0 else view.head, view.setup
        self.rows |= view.blocks
        self.told |= {(loss.block, loss.round): loss for loss in view.events.losses}
        self.asks += view.events.asks
        self.forgotten += len(view.events.forgotten)
        assert all(type(row) is Block for row in self.rows.values())
        return answers


def made(request, now):
    def make(view):
        view.now, view.clock = now, max(now, view.head.clock)
        view.name = getattr(request, "request", "")
        return TRANSITIONS[type(request)](view, request)

    return make


def asking(n, now, request, key=None):
    return made(Ask(n, request=request, key=key), now)


def telling(reports, now):
    return made(Tell(reports), now)


def test_calls_in_one_transaction_are_those_made_one_after_the_other():
    """A refused call changes nothing for the others."""
    together, single = (Lists(POLICIES[0], Settings(patience=4, remember=3), 1) for _ in range(2))
    ids = [d.id for d in together.call(asking(9, 1.0, "a"))[0]]
    assert [d.id for d in single.call(asking(9, 1.0, "a"))[0]] == ids
    places = [(id, int(id.split("-")[1]), int(id.split("-")[2])) for id in ids]
    rules = [telling([(*place, 0.5)], 2.0) for place in places]
    rules.insert(3, telling([(*places[0], 0.25)], 2.0))
    rules.insert(5, telling([("x", 99, 0, 0.5)], 2.0))
    rules += [asking(5, 3.0, "b"), made(Settle(), 4.0)]
    answers = together.call(*rules)
    assert [str(answer) for answer in answers] == [str(single.call(rule)[0]) for rule in rules]
    assert isinstance(answers[3][0], hf.AlreadyTold | hf.Forgotten)
    assert isinstance(answers[5][0], hf.UnknownDecision)
    assert together.head[3:] == single.head[3:]  # but for their versions
    assert together.rows == single.rows


def test_one_call_forgets_a_bounded_number_of_blocks():
    lists = Lists(hf.Exp3(2), Settings(), 1)
    for number in range(20):
        given_out = lists.call(asking(50, 1.0, f"r{number}"))[0]
        lists.call(telling([(d.id, d.block, 0, 0.5) for d in given_out], 1.0))
    lists.setup = replace(lists.setup, settings=Settings(remember=10))
    calls = 0
    while lists.head.kept > 10:
        before, decision = lists.forgotten, lists.call(asking(1, 2.0, f"last {calls}"))[0][0]
        lists.call(telling([(decision.id, decision.block, 0, 0.5)], 2.0))
        assert 0 < lists.forgotten - before <= FORGET_AT_ONCE + 2
        calls += 1
    assert 14 <= calls <= 20
