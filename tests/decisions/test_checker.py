"""Ten games under attack, computed again by the checker; and rules that are broken on purpose, which it must notice.

scripts/attack_store.py does the same for an hour.
"""

from datetime import timedelta

import pytest
from attack import Trial, attack
from checker import Violation, check, watch
from conftest import place_in
from games import POLICIES, SWITCH

import holdfast as hf
from holdfast.decisions import core
from holdfast.decisions.setup import Part

SECONDS = 4.0
LIVE = ("kill", "kill", "change", "compact")
FILES = (*LIVE, "save", "put_back", "copy_closed")

TRIALS = {
    "adaptive": ("sqlite", Trial(POLICIES["adaptive"], timedelta(seconds=0.05), mischief=LIVE)),
    "adaptive in a server": ("postgresql", Trial(POLICIES["adaptive"], 30, "drop", remember=200, mischief=LIVE)),
    "tsallis-switch": ("sqlite", Trial(SWITCH, 20, 0.25, remember=100, processes=3, mischief=LIVE)),
    "tsallis-switch in a server": ("postgresql", Trial(SWITCH, timedelta(seconds=0.1), mischief=LIVE)),
    "reduced variance": ("postgresql", Trial(POLICIES["reduced variance"], 7, remember=50, threads=4, mischief=LIVE)),
    "tsallis-inf": ("sqlite", Trial(hf.TsallisInf(arms=["x", "y", "z"]), remember=0, threads=3, mischief=LIVE)),
    "exp3": ("postgresql", Trial(hf.Exp3(arms=["x", "y"]), 3, "drop", processes=3, threads=1, mischief=LIVE)),
    "exp3-blocks": ("sqlite", Trial(POLICIES["exp3-blocks"], 40, 1.0, processes=1, threads=4, mischief=FILES)),
    "base": ("sqlite", Trial(hf.BaSE(3, horizon=10**6, order="random"), timedelta(seconds=0.03), mischief=LIVE)),
    "own units": ("sqlite", Trial(POLICIES["own units"], 15, mischief=FILES, every=0.3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIALS)
def test_a_game_under_attack_is_what_the_rules_say(name, request, folder):
    kind, trial = TRIALS[name]
    place = place_in(kind, request, folder)
    checker, attacked = attack(place.at, trial, folder, SECONDS, seed=1 + list(TRIALS).index(name))
    assert checker.asked > 50
    assert len(checker.blocks) > 5
    assert checker.worst < 1e-10
    assert attacked.started >= trial.processes


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
            values = core.block_values(view.setup.policy, "game", block)
            view.state().learner.observe(values, float(block.told), float(block.rounds))

    return settle


def counted_twice(right):
    def settle(view, block, clock):
        right(view, block, clock)
        view.state().arms[block.arm].add(Part(block.rounds, block.told, block.losses), block)

    return settle


def overlooked(right):
    def settle_due(view, clock):
        if view.head.block % 4:
            right(view, clock)

    return settle_due


def free_of_charge(right):
    return lambda view, announced: right(view, 0.0 if view.head.switches == 5 else announced)


def one_round_more(right):
    def hand_out(view, n, call):
        given = right(view, n, call)
        view.head = view.head._replace(asked=view.head.asked + (view.head.block == 9))
        return given

    return hand_out


BROKEN = {
    "a loss counts twice in its block": (core, "_tell_one", doubled),
    "the policy hears of a block twice": (core, "settle", heard_twice),
    "an arm's sums count a block twice": (core, "settle", counted_twice),
    "due blocks are not settled": (core, "settle_due", overlooked),
    "a switch is not paid": (core, "_switched", free_of_charge),
    "a round is counted that nobody has": (core, "_hand_out", one_round_more),
}


def watched(place):
    with_tables = place.store()
    with_tables.create([])
    with_tables.close()
    watch(place.at)
    return place.open("game", SWITCH, seed=3, patience=4, missing=0.25)


def play_with_gaps(game, rounds):
    for t in range(rounds):
        decision = game.ask()
        if t % 4:
            game.tell(decision.id, (t % 7) / 7)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_noticed(rule, lasting_place, monkeypatch):
    module, name, broken = BROKEN[rule]
    monkeypatch.setattr(module, name, broken(getattr(module, name)))
    game = watched(lasting_place)
    play_with_gaps(game, 60)
    with pytest.raises(Violation):
        check(lasting_place.at)


def test_the_same_game_by_the_right_rules_is_right(lasting_place):
    game = watched(lasting_place)
    play_with_gaps(game, 60)
    checker = check(lasting_place.at)
    assert (checker.asked, checker.missing > 0, checker.worst < 1e-12) == (60, True, True)


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
    game, begin = watched(lasting_place), core.Block

    def edited(number, key, arm, rounds, probability, *others, **more):
        return begin(number, key, arm, rounds, probability * (1 + 1e-6 * (number == 6)), *others, **more)

    monkeypatch.setattr(core, "Block", edited)
    play_with_gaps(game, 60)
    with pytest.raises(Violation, match="block 6 has p ="):
        check(lasting_place.at)
