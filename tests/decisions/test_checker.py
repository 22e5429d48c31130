"""Ten games under attack, computed again by the checker; and rules that are broken on purpose, which it must notice.

scripts/attack_store.py does the same for an hour.
"""

import json
from contextlib import closing
from datetime import timedelta

import pytest
from attack import SCALE, Trial, attack
from checker import Violation, check, watch
from conftest import place_in
from games import POLICIES, SWITCH, replace_in_rules
from places import Place

import holdfast as hf
from holdfast.decisions.breaker import Fuse
from holdfast.decisions.codec import block_values
from holdfast.decisions.moves import Recent
from holdfast.decisions.requests import ONE
from holdfast.decisions.rules import arms, ask, conversations, report
from holdfast.decisions.settings import Part, Settings, Setup
from holdfast.decisions.stores import store_at

SECONDS = 2.5
FAR = hf.TsallisSwitch(arms=["a", "b", "c"], units=(10.0, 20.0), switching_cost=6.0)
LIVE = ("kill", "kill", "change", "operate", "compact", "deploy")
FILES = (*LIVE, "save", "put_back", "copy_closed")
BREAKER = hf.Breaker(failures=2, within=6, pause="0.05s", most="0.3s", level=0.6)

TRIALS = {
    "adaptive": (
        "sqlite",
        Trial(POLICIES["adaptive"], timedelta(seconds=0.05), keys=8, learn_after=2, holdback=0.2, mischief=LIVE),
    ),
    "adaptive in a server": ("postgresql", Trial(POLICIES["adaptive"], 30, "drop", remember=200, mischief=LIVE)),
    "tsallis-switch": ("sqlite", Trial(SWITCH, 20, 0.25, remember=100, processes=3, mischief=LIVE)),
    "tsallis-switch in a server": (
        "postgresql",
        Trial(SWITCH, "auto", keys=8, learn_after=1, holdback=0.3, mischief=LIVE),
    ),
    "reduced variance": (
        "postgresql",
        Trial(POLICIES["reduced variance"], 7, remember=50, threads=4, keys=5, mischief=LIVE),
    ),
    "tsallis-inf": (
        "sqlite",
        Trial(hf.TsallisInf(arms=["x", "y", "z"]), holdback=0.5, remember=0, threads=3, mischief=LIVE),
    ),
    "exp3": ("postgresql", Trial(hf.Exp3(arms=["x", "y"]), 3, "drop", processes=3, threads=1, mischief=LIVE)),
    "exp3-blocks": ("sqlite", Trial(POLICIES["exp3-blocks"], 40, 1.0, processes=1, threads=4, mischief=FILES)),
    "base": ("sqlite", Trial(hf.BaSE(3, horizon=10**6, order="random"), timedelta(seconds=0.03), mischief=LIVE)),
    "own units": ("sqlite", Trial(POLICIES["own units"], 15, mischief=FILES, every=0.3)),
    "units above 0": (
        "sqlite",
        Trial(FAR, timedelta(seconds=0.05), "drop", keys=3, holdback=0.4, learn_after=1, mischief=LIVE),
    ),
    "breakers": ("sqlite", Trial(SWITCH, 20, keys=5, holdback=0.2, breaker=BREAKER, mischief=LIVE)),
    "breakers in a server": (
        "postgresql",
        Trial(hf.TsallisInf(arms=["x", "y", "z"]), "auto", keys=5, learn_after=1, breaker=BREAKER, mischief=LIVE),
    ),
    "moves": (
        "sqlite",
        Trial(hf.TsallisInf(arms=["x", "y", "z"]), 40, keys=6, learn_after=2, move_cost=0.3, mischief=LIVE),
    ),
    "moves in a server": (
        "postgresql",
        Trial(SWITCH, "auto", keys=12, holdback=0.2, move_cost=1.0, mischief=LIVE),
    ),
    "shares": (
        "sqlite",
        Trial(SWITCH, 20, keys=8, holdback=0.2, share={"a": 0.1, "b": (0.02, 0.9, "2s")}, mischief=LIVE),
    ),
    "shares and moves": (
        "postgresql",
        Trial(POLICIES["adaptive"], "auto", keys=8, move_cost=0.3, share={1: 0.3}, mischief=LIVE),
    ),
    "a budget of switches": (
        "sqlite",
        Trial(hf.TsallisInf(arms=["x", "y", "z"]), 20, keys=3, holdback=0.2, most_switches=(3, "1s"), mischief=FILES),
    ),
    "a scale": ("postgresql", Trial(SWITCH, 12, "drop", scale=SCALE, keys=3, holdback=0.2, mischief=LIVE)),
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


# ---- broken on purpose


def doubled(right):
    def tell_one(view, report, clock):
        answer = right(view, report, clock)
        if isinstance(answer, hf.Receipt) and answer.new and report[1] % 3 == 0:
            block = view.blocks[report[1]]
            view.change(block._replace(losses=(*block.losses, report[3])))
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
    def settle_due(view, clock, asked=0):
        if view.head.block % 4:
            right(view, clock)

    return settle_due


def free_of_charge(right):
    return lambda view, arm, call: right(view, arm, call._replace(cost=0.0) if view.head.switches == 5 else call)


def one_round_more(right):
    def hand_out(view, n, call):
        given = right(view, n, call)
        view.head = view.head._replace(asked=view.head.asked + (view.head.block == 9))
        return given

    return hand_out


BROKEN = {
    "a loss counts twice in its block": (report, "_tell_one", doubled),
    "the policy hears of a block twice": (report, "settle", heard_twice),
    "an arm's sums count a block twice": (report, "settle", counted_twice),
    "due blocks are not settled": (report, "settle_due", overlooked),
    "a switch is not paid": (ask, "_switched", free_of_charge),
    "a round is counted that nobody has": (ask, "_hand_out", one_round_more),
}


def one_too_many(right):
    return lambda view, call: right(view, call) and view.head.switches != 4


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


LIMITED = {
    "a switch too many": (ask, "can_stay", one_too_many, {"most_switches": (3, "1d")}),
    "another probability under shares": (ask, "within_shares", a_little_more, {"share": {0: 0.2}}),
    "an arm that has more than its share": (ask, "within_shares", not_given_away, {"share": {0: 0.05}}),
}


@pytest.mark.parametrize("rule", LIMITED)
def test_a_broken_limit_is_noticed(rule, lasting_place, monkeypatch):
    module, name, broken, limit = LIMITED[rule]
    with closing(store_at(lasting_place.at)) as store:
        store.create([])
    watch(lasting_place.at)
    game = lasting_place.open("game", hf.TsallisInf(3), seed=2, patience="forever", **limit)
    play_with_gaps(game, 40)
    assert check(lasting_place.at).asked
    monkeypatch.setattr(module, name, broken(getattr(module, name)))
    other = lasting_place.open("other", hf.TsallisInf(3), seed=2, patience="forever", **limit)
    play_with_gaps(other, 60)
    with pytest.raises(Violation):
        check(lasting_place.at, "other")


def paused_all_the_same(right):
    def hand_out(view, n, call):
        return right(view, n, call._replace(down=frozenset()))

    return hand_out


def learnt_from_all(right):
    return lambda setup, block: setup.plays(block) and block.data != "{}"


def learnt_by_the_sum(right):
    def settle(view, block, clock):
        right(view, block._replace(key=None), clock)

    return settle


def never_given_up(right):
    return lambda settings, clock, head, asked, waits: (-1.0, -1.0)


def learnt_too_early(right):
    def learn_early(view, block):
        if not view.setup.learns_from(block):
            return
        report._observe(view, block, block.losses, block.told)
        view.change(block._replace(learnt=view.head.settled + 1))

    return learn_early


def learnt_again(right):
    return lambda view, block, pieces, rounds: right(view, block._replace(learnt=0), pieces, rounds)


def more_than_its_share(right):
    return lambda stream, number: 0.5 * right(stream, number)


OPERATORS = {
    "the rule gets more than its share": (arms, "chance", more_than_its_share),
    "a paused arm is handed out": (ask, "_hand_out", paused_all_the_same),
    "the policy hears of the rule's blocks": (Setup, "learns_from", learnt_from_all),
    "a conversation is learnt from by the sum": (report, "settle", learnt_by_the_sum),
    "a conversation is learnt from too early": (report, "_learn_early", learnt_too_early),
    "a conversation is learnt from twice": (report, "_observe", learnt_again),
    "what is long overdue is not given up": (Settings, "overdue", never_given_up),
}


def watched(place, policy=SWITCH, **options):
    with_tables = place.store()
    with_tables.create([])
    with_tables.close()
    watch(place.at)
    return place.open("game", policy, seed=3, **{"patience": 4, "missing": policy.bounds[0] + 0.25, **options})


def play_as_operators_do(place, rounds, **options):
    """Conversations, a rule, pauses, pins, and losses that never come; a round a second."""
    game = watched(place, holdback=0.3, **options)
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


def play_with_gaps(game, rounds):
    for t in range(rounds):
        decision = game.ask()
        if t % 4:
            game.tell(decision.id, (t % 7) / 7)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_noticed(rule, lasting_place, monkeypatch):
    module, name, broken = BROKEN[rule]
    if isinstance(module, type):
        monkeypatch.setattr(module, name, broken(getattr(module, name)))
    else:
        replace_in_rules(monkeypatch, name, broken(getattr(module, name)))
    game = watched(lasting_place)
    play_with_gaps(game, 60)
    with pytest.raises(Violation):
        check(lasting_place.at)


@pytest.mark.slow
@pytest.mark.parametrize("rule", OPERATORS)
def test_a_broken_rule_for_operators_is_noticed(rule, folder, monkeypatch):
    place = Place("sqlite", f"sqlite:///{folder}/games.db")
    module, name, broken = OPERATORS[rule]
    if isinstance(module, type):
        monkeypatch.setattr(module, name, broken(getattr(module, name)))
    else:
        replace_in_rules(monkeypatch, name, broken(getattr(module, name)))
    play_as_operators_do(place, 600, patience="auto", learn_after=2)
    with pytest.raises(Violation):
        check(place.at)


@pytest.mark.slow
@pytest.mark.parametrize("learn_after", [None, 2])
@pytest.mark.parametrize("patience", ["auto", 6, timedelta(seconds=1), "forever"])
def test_what_operators_do_by_the_right_rules_is_right(lasting_place, patience, learn_after):
    play_as_operators_do(lasting_place, 300, patience=patience, learn_after=learn_after)
    checker = check(lasting_place.at)
    assert any(block.learnt for block in checker.blocks.values()) == (learn_after is not None)
    assert (checker.asked, checker.by_rule > 5, checker.units > 40, checker.worst < 1e-12) == (300, True, True, True)


TRIPPED = {
    "an arm that has tripped is handed out": (ask, "tripped", lambda right: lambda *given: frozenset()),
    "many requests try an arm": (ask, "handed_out", lambda right: lambda *given: None),
    "no pause is longer than the first": (Fuse, "paused", lambda right: lambda fuse, *given: right(Fuse(), *given)),
}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("rule", [None, *TRIPPED])
def test_a_broken_rule_for_breakers_is_noticed(rule, together, folder, monkeypatch):
    place = Place("sqlite", f"sqlite:///{folder}/games.db")
    if rule is not None:
        module, name, broken = TRIPPED[rule]
        change = monkeypatch.setattr if isinstance(module, type) else replace_in_rules
        change(*((module, name) if isinstance(module, type) else (monkeypatch, name)), broken(getattr(module, name)))
    breaker = hf.Breaker(failures=2, within=6, pause="3s", most="20s", level=0.7)
    game = watched(place, breaker=breaker)
    for t in range(300):
        place.clock.now += 1.0
        asked = game.executor.submit(ONE, start=not together)
        if together:  # with the loss of the round before, in one transaction
            game.executor.write()
        (decision,) = asked.result()
        if t % 4:
            loss = 0.75 if decision.arm == "a" or t % 90 > 80 else 0.25
            told = game.executor.submit(game.telling(decision.id, loss)[0], start=not together)
            assert together or told.result()
    game.executor.write()
    if rule is None:
        assert check(place.at).trips > 3
    else:
        with pytest.raises(Violation):
            check(place.at)


def play_conversations(game, clock, turns):
    """Seven conversations: arm a gets worse, b fails for a while, c is paused now and then; each turn is told."""
    for t in range(turns):
        clock.now += 1.0
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


def for_half_the_cost(right):
    return lambda recent, home, other, turns, cost: right(recent, home, other, turns, 0.5 * cost)


def learnt_from_all_of_it(right):
    return lambda view, block: block


MOVES = {
    "a conversation moves for half of what that costs": (conversations, "worth_moving", for_half_the_cost),
    "a conversation comes back": (conversations, "home_of", lambda right: lambda block: block.arm),
    "the policy hears of what came after a move": (conversations, "learn_so_far", learnt_from_all_of_it),
    "two failures are enough": (Recent, "fails", lambda right: property(lambda recent: recent.failures >= 2)),
    "the first turn after a move counts": (report, "moves_of", lambda right: lambda block: []),
}


@pytest.mark.parametrize("rule", MOVES)
def test_a_broken_rule_of_moves_is_noticed(rule, folder, monkeypatch):
    place = Place("sqlite", f"sqlite:///{folder}/games.db")
    module, name, broken = MOVES[rule]
    monkeypatch.setattr(module, name, broken(getattr(module, name)))
    game = watched(place, move_cost=1.0, patience="forever")
    play_conversations(game, place.clock, 300)
    with pytest.raises(Violation):
        check(place.at)


@pytest.mark.parametrize("learn_after", [None, 1])
def test_moves_by_the_right_rules_are_right(lasting_place, learn_after):
    game = watched(lasting_place, move_cost=1.0, patience="forever", learn_after=learn_after)
    play_conversations(game, lasting_place.clock, 300)
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
    game, begin = watched(lasting_place), report.Block

    def edited(number, key, arm, rounds, probability, *others, **more):
        return begin(number, key, arm, rounds, probability * (1 + 1e-6 * (number == 6)), *others, **more)

    replace_in_rules(monkeypatch, "Block", edited)
    play_with_gaps(game, 60)
    with pytest.raises(Violation, match="block 6 has p ="):
        check(lasting_place.at)
