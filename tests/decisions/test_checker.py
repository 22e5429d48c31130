"""Ten games under attack, computed again by the checker; and rules that are broken on purpose, which it must notice.

scripts/attack_store.py does the same for an hour.
"""

import json
from datetime import timedelta
from functools import partial

import pytest
from attack import SCALE, Attack, Trial, attack
from checker import Violation, check, watch
from conftest import place_in
from games import POLICIES, SWITCH, replace_in_rules
from places import KINDS, Place

import holdfast as hf
from holdfast.decisions.game import Part, Recent, Setup, block_values
from holdfast.decisions.requests import ONE
from holdfast.decisions.rules import arms, ask, conversations, report
from holdfast.decisions.rules.breakers import Fuse

SECONDS = 2.5
FAR = hf.TsallisSwitch(arms=["a", "b", "c"], units=(10.0, 20.0), switching_cost=6.0)
LIVE = ("kill", "kill", "change", "operate", "compact", "deploy")
FILES = (*LIVE, "save", "put_back", "copy_closed")
BREAKER = hf.Breaker(failures=2, within=6, pause="0.05s", most="0.3s", level=0.6)

XYZ, ADAPTIVE = hf.TsallisInf(arms=["x", "y", "z"]), POLICIES["adaptive"]
SHORTLY, RAMP = timedelta(seconds=0.05), {"a": 0.1, "b": (0.02, 0.9, "2s")}
live, files = partial(Trial, mischief=LIVE), partial(Trial, mischief=FILES)
SQLITE, SERVER = KINDS[1:]

TRIALS = {
    "adaptive": (SQLITE, live(ADAPTIVE, SHORTLY, keys=8, learn_after=2, holdback=0.2)),
    "adaptive in a server": (SERVER, live(ADAPTIVE, 30, "drop", remember=200)),
    "tsallis-switch": (SQLITE, live(SWITCH, 20, 0.25, remember=100, processes=3)),
    "tsallis-switch in a server": (SERVER, live(SWITCH, "auto", keys=8, learn_after=1, holdback=0.3)),
    "reduced variance": (SERVER, live(POLICIES["reduced variance"], 7, remember=50, threads=4, keys=5)),
    "tsallis-inf": (SQLITE, live(XYZ, holdback=0.5, remember=0, threads=3)),
    "exp3": (SERVER, live(hf.Exp3(arms=["x", "y"]), 3, "drop", processes=3, threads=1)),
    "exp3-blocks": (SQLITE, files(POLICIES["exp3-blocks"], 40, 1.0, processes=1, threads=4)),
    "base": (SQLITE, live(hf.BaSE(3, horizon=10**6, order="random"), timedelta(seconds=0.03))),
    "own units": (SQLITE, files(POLICIES["own units"], 15, every=0.3)),
    "units above 0": (SQLITE, live(FAR, SHORTLY, "drop", keys=3, holdback=0.4, learn_after=1)),
    "breakers": (SQLITE, live(SWITCH, 20, keys=5, holdback=0.2, breaker=BREAKER)),
    "breakers in a server": (SERVER, live(XYZ, "auto", keys=5, learn_after=1, breaker=BREAKER)),
    "moves": (SQLITE, live(XYZ, 40, keys=6, learn_after=2, move_cost=0.3)),
    "moves in a server": (SERVER, live(SWITCH, "auto", keys=12, holdback=0.2, move_cost=1.0)),
    "shares": (SQLITE, live(SWITCH, 20, keys=8, holdback=0.2, share=RAMP)),
    "shares and moves": (SERVER, live(ADAPTIVE, "auto", keys=8, move_cost=0.3, share={1: 0.3})),
    "a budget of switches": (SQLITE, files(XYZ, 20, keys=3, holdback=0.2, most_switches=(3, "1s"))),
    "a scale": (SERVER, live(SWITCH, 12, "drop", scale=SCALE, keys=3, holdback=0.2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIALS)
def test_a_game_under_attack_is_what_the_rules_say(name, request, folder):
    kind, trial = TRIALS[name]
    place = place_in(kind, request, folder)
    checker, attacked = attack(place.at, trial, folder, SECONDS, seed=1 + list(TRIALS).index(name), asks=50)
    assert len(checker.blocks) > 5
    assert checker.worst < 1e-10
    assert attacked.started >= trial.processes
    assert (checker.trips > 0) == (trial.breaker is not None)


def test_an_attack_changes_what_may_be_changed(folder):
    for seed in (19, 26, 33):
        attacked = Attack(f"sqlite:///{folder}/{seed}.db", TRIALS["shares"][1], folder, seed, until=0.0)
        for _ in range(5):
            attacked.change()


# ---- plays, in which whatever is broken must show


def watched(place, policy=SWITCH, **options):
    with_tables = place.store()
    with_tables.create([])
    with_tables.close()
    watch(place.at)
    return place.open("game", policy, seed=3, **{"patience": 4, "missing": policy.bounds[0] + 0.25, **options})


def play_with_gaps(place, **options):
    game = watched(place, **options)
    for t in range(60):
        decision = game.ask()
        if t % 4:
            game.tell(decision.id, (t % 7) / 7)


def play_as_operators_do(place, rounds=600, **options):
    """Conversations, a rule, pauses, pins, and losses that never come; a round a second."""
    game = watched(place, **{"holdback": 0.3, "patience": "auto", "learn_after": 2, **options})
    for t in range(rounds):
        place.clock.now += 1.0
        if t % 20 == 5:
            game.pause("abc"[t % 3])
        if t % 20 == 15:
            for arm in game.paused:
                game.resume(arm)
        if t % 40 == 18:
            game.pin("c")
        if t % 40 == 22:
            game.unpin()
        if t % 16 == 0:
            game.end("y")
        decision = game.ask(key={0: "x", 3: "y"}.get(t % 8), rule="ab"[t % 2])
        if t % 7:
            game.tell(decision.id, (t % 5) / 5)
    game.end("x")


def play_with_failures(place, together=False):
    """With `together`, an ask is made in one transaction with the loss of the round before."""
    game = watched(place, breaker=hf.Breaker(failures=2, within=6, pause="3s", most="20s", level=0.7))
    for t in range(300):
        place.clock.now += 1.0
        asked = game.executor.submit(ONE, start=not together)
        if together:
            game.executor.write()
        (decision,) = asked.result()
        if t % 4:
            loss = 0.75 if decision.arm == "a" or t % 90 > 80 else 0.25
            told = game.executor.submit(game.telling(decision.id, loss), start=not together)
            assert together or told.result()
    game.executor.write()


def play_conversations(place, **options):
    """Seven conversations: arm a gets worse, b fails for a while, c is paused now and then; each turn is told."""
    game = watched(place, move_cost=1.0, patience="forever", **options)
    for t in range(300):
        place.clock.now += 1.0
        if t % 60 == 30:
            game.pause("c")
        if t % 60 == 50:
            game.resume("c")
        if t % 45 == 44:
            game.end(f"{t % 7}")
        decision = game.ask(key=f"{t % 7}")
        if decision.arm == "b" and t % 100 > 80:
            game.tell(decision.id, failed=True)
        else:
            worse = 0.5 if decision.arm == "a" and t > 200 else 0.0
            game.tell(decision.id, {"a": 0.125, "b": 0.25, "c": 0.25}[decision.arm] + worse + 0.125 * (t % 2))


def play_within(**limit):
    return partial(play_with_gaps, policy=hf.TsallisInf(3), patience="forever", **limit)


# ---- broken on purpose


def doubled(right):
    def tell_one(view, report, clock):
        answer = right(view, report, clock)
        if isinstance(answer, hf.Receipt) and answer.new and report[1] % 3 == 0:
            block = view.blocks[report[1]]
            view.blocks[block.number] = block._replace(losses=(*block.losses, report[3]))
        return answer

    return tell_one


def heard_twice(right):
    def settle(view, block, clock):
        right(view, block, clock)
        if block.number % 5 == 0:
            values = block_values(view.setup, block)
            view.state().learner.observe(values, float(block.told), float(block.rounds))

    return settle


def counted_twice(right):
    def settle(view, block, clock):
        right(view, block, clock)
        view.state().arms[block.arm].add(Part(block.rounds, block.told, block.losses, block.squares), block)

    return settle


def overlooked(right):
    return lambda view, clock, asked=0: right(view, clock) if view.head.block % 4 else None


def free_of_charge(right):
    return lambda view, arm, call: right(view, arm, call._replace(cost=0.0) if view.head.switches == 5 else call)


def one_round_more(right):
    def hand_out(view, n, call):
        given = right(view, n, call)
        view.head = view.head._replace(asked=view.head.asked + (view.head.block == 9))
        return given

    return hand_out


def a_little_more(right):
    def shares(view, block):
        found = right(view, block)
        if block.number != 12:
            return found
        odds = json.loads(found.odds)
        odds["given"] = dict.fromkeys(odds["given"], 0.5)
        return found._replace(odds=json.dumps(odds))

    return shares


def not_given_away(right):
    def shares(view, block):
        found = right(view, block)
        return found._replace(played="") if found.played else found

    return shares


def learnt_too_early(right):
    def learn_early(view, block):
        if not view.setup.learns_from(block):
            return
        report._observe(view, block, block.losses, block.told)
        view.blocks[block.number] = block._replace(learnt=view.head.settled + 1)

    return learn_early


def instead(change):
    """A rule that calls the right one with other arguments."""
    return lambda right: lambda *given: change(right, *given)


def always(value):
    return lambda right: lambda *given: value


def has_switched_less(right, view, call):
    return right(view, call) and view.head.switches != 4


def paused_all_the_same(right, view, n, call):
    return right(view, n, call._replace(down=frozenset()))


def by_the_sum(right, view, block, clock):
    return right(view, block._replace(key=None), clock)


def learnt_again(right, view, block, *others):
    return right(view, block._replace(learnt=0), *others)


def rules_too(right):
    return lambda setup, block: setup.plays(block) and block.data != "{}"


def after_two_failures(right):
    return property(lambda recent: recent.failures >= 2)


GAPS = {
    "a loss counts twice in its block": ("_tell_one", doubled),
    "the policy hears of a block twice": ("settle", heard_twice),
    "an arm's sums count a block twice": ("settle", counted_twice),
    "due blocks are not settled": ("settle_due", overlooked),
    "a switch is not paid": ("_switched", free_of_charge),
    "a round is counted that nobody has": ("_hand_out", one_round_more),
}
SWITCHES = {"a switch too many": ("can_stay", instead(has_switched_less))}
SHARES = {
    "another probability under shares": ("within_shares", a_little_more),
    "an arm that has more than its share": ("within_shares", not_given_away),
}
OPERATORS = {
    "the rule gets more than its share": ("chance", instead(lambda right, *given: 0.5 * right(*given))),
    "a paused arm is handed out": ("_hand_out", instead(paused_all_the_same)),
    "the policy hears of the rule's blocks": ("learns_from", rules_too, Setup),
    "a conversation is learnt from by the sum": ("settle", instead(by_the_sum)),
    "a conversation is learnt from too early": ("_learn_early", learnt_too_early),
    "a conversation is learnt from twice": ("_observe", instead(learnt_again)),
    "what is long overdue is not given up": ("overdue", always((-1.0, -1.0))),
}
FAILURES = {
    "an arm that has tripped is handed out": ("tripped", always(frozenset())),
    "many requests try an arm": ("handed_out", always(None)),
    "no pause is longer than the first": ("paused", instead(lambda right, fuse, *given: right(Fuse(), *given)), Fuse),
}
MOVES = {
    "a move for half of its cost": ("worth_moving", instead(lambda right, *given: right(*given[:-1], 0.5 * given[-1]))),
    "a conversation comes back": ("home_of", lambda right: lambda block: block.arm),
    "the policy hears of what came after a move": ("learn_so_far", lambda right: lambda view, block: block),
    "two failures are enough": ("fails", after_two_failures, Recent),
    "the first turn after a move counts": ("moves_of", always([]), report),
}
PLAYS = (
    (play_with_gaps, GAPS, ()),
    (play_within(most_switches=(3, "1d")), SWITCHES, ()),
    (play_within(share={0: 0.1}), SHARES, ()),
    (play_with_failures, FAILURES, ()),
    (partial(play_with_failures, together=True), FAILURES, ()),
    (play_conversations, MOVES, ()),
    (play_as_operators_do, OPERATORS, pytest.mark.slow),
)


@pytest.mark.parametrize(
    ("play", "rule"), [pytest.param(play, rules[r], id=r, marks=m) for play, rules, m in PLAYS for r in rules]
)
def test_a_broken_rule_is_noticed(play, rule, folder, monkeypatch):
    place, (name, broken, *owner) = Place("sqlite", f"sqlite:///{folder}/games.db"), rule
    if owner:
        monkeypatch.setattr(owner[0], name, broken(getattr(owner[0], name)))
    else:
        rooms = [module for module in (report, ask, arms, conversations) if hasattr(module, name)]
        replace_in_rules(monkeypatch, name, broken(getattr(rooms[0], name)))
    play(place)
    with pytest.raises(Violation):
        check(place.at)


@pytest.mark.parametrize("play", [play for play, _, marks in PLAYS[1:5]])
def test_the_same_play_by_the_right_rules_is_right(play, lasting_place):
    play(lasting_place)
    assert (check(lasting_place.at).trips > 3) == (play in (PLAYS[3][0], PLAYS[4][0]))


@pytest.mark.slow
@pytest.mark.parametrize("learn_after", [None, 2])
@pytest.mark.parametrize("patience", ["auto", 6, timedelta(seconds=1), "forever"])
def test_what_operators_do_by_the_right_rules_is_right(lasting_place, patience, learn_after):
    play_as_operators_do(lasting_place, 300, patience=patience, learn_after=learn_after)
    checker = check(lasting_place.at)
    assert any(block.learnt for block in checker.blocks.values()) == (learn_after is not None)
    assert (checker.asked, checker.by_rule > 5, checker.units > 40, checker.worst < 1e-12) == (300, True, True, True)


@pytest.mark.parametrize("learn_after", [None, 1])
def test_moves_by_the_right_rules_are_right(lasting_place, learn_after):
    play_conversations(lasting_place, learn_after=learn_after)
    checker = check(lasting_place.at)
    assert checker.moved.keys() == {"stayed", "down", "failing", "gain"}
    assert checker.worst < 1e-12


RIGHT = {
    "in rounds": {},
    "in time": {"policy": FAR, "patience": timedelta(seconds=3), "missing": "drop"},
    "by lateness": {"policy": FAR, "patience": "auto", "missing": "mean", "remember": 10, "keep": 30},
    "against a rule": {"policy": FAR, "missing": "drop", "holdback": 0.4, "learn_after": 1},
    "a rule in time": {"policy": POLICIES["adaptive"], "patience": timedelta(seconds=4), "holdback": 0.6, "keep": 20},
    "by a scale": {"scale": SCALE, "missing": "drop", "holdback": 0.3},
    "by a scale in time": {"scale": SCALE, "missing": "mean", "patience": timedelta(seconds=2), "holdback": 0.3},
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_same_game_by_the_right_rules_is_right(name, lasting_place):
    """In other units, with each kind of patience and of missing losses; the comparison too, and from a new scale on."""
    game, clock = watched(lasting_place, **RIGHT[name]), lasting_place.clock
    scaled, (low, high) = game.scale is not None, game.policy.bounds
    arms = game.policy.arms or range(game.policy.n_arms)
    for t in range(120):
        clock.now += 1.0
        keyed = {"key": f"{t // 30}"} if game.policy.arms and t % 6 == 0 else {}
        decision = game.ask(rule=arms[t % 2], **keyed)
        if t % 4:
            share = (t * 5 % 7) / 7
            game.tell(decision.id, **({"latency": 10.0 * share} if scaled else {"loss": low + (high - low) * share}))
        if t == 60 and scaled:
            game.change(scale=hf.Scale(latency=(0.0, 16.0)))
    for key in range(4 if game.policy.arms else 0):
        game.end(f"{key}")
    clock.now += 1000.0
    if game.hold:
        game.ask(game.hold, rule=arms[0])
    clock.now += 1000.0
    game.settle()
    for decision in game.open_decisions:
        game.tell(decision.id, low)
    checker = check(lasting_place.at)
    assert (checker.missing > 0, checker.worst < 1e-12) == (True, True)
    assert (checker.compared > 8) == ("holdback" in RIGHT[name])


@pytest.mark.parametrize("calls", ["taattt", "tttaat", "ttaatt"])
def test_late_losses_are_sought_between_draws(calls, lasting_place):
    """Calls that share a transaction: two asks (a), of which the second gives a block up, and late losses (t)."""
    game = watched(lasting_place, hf.TsallisInf(3))
    decisions = []
    for t in range(40):
        decisions.append(game.ask())
        if 26 <= t < 36:
            game.tell(decisions[t].id, 0.25)
    late = [game.telling(decision.id, 0.1 * n) for n, decision in enumerate(decisions[10:14])]
    made = [game.executor.submit(ONE if call == "a" else late.pop(), start=False) for call in calls]
    game.executor.write()
    assert all(call.result() for call in made)
    assert check(lasting_place.at).late == 4


class AnyVersion(str):
    """Equal to every version."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


def test_a_stale_state_is_noticed(lasting_place):
    """A process that believes what it remembers, though another one has changed the state since."""
    game = watched(lasting_place)
    other = lasting_place.open("game")
    for t in range(30):
        for mine in (game, other):
            mine.tell(mine.ask().id, (t % 3) / 3)
            if mine._executor._known is not None:
                mine._executor.keep_state(AnyVersion(), mine._executor._known[1])
    with pytest.raises(Violation, match="no order of draws and settlements explains"):
        check(lasting_place.at)


def test_an_edited_probability_is_noticed(lasting_place, monkeypatch):
    """By one part in a million."""
    begin = report.Block

    def edited(number, key, arm, rounds, probability, *others, **more):
        return begin(number, key, arm, rounds, probability * (1 + 1e-6 * (number == 6)), *others, **more)

    replace_in_rules(monkeypatch, "Block", edited)
    play_with_gaps(lasting_place)
    with pytest.raises(Violation, match="block 6 has p ="):
        check(lasting_place.at)
