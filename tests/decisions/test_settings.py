"""Settings that a game continues with: some refused, costs changed, arms that come and go."""

import logging
import random
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from games import POLICIES, SWITCH, arms_of, play, refuse, replace_in_rules
from places import Clock

import holdfast as hf
from holdfast.decisions.rules import report
from holdfast.decisions.stores import store_at
from holdfast.decisions.stores.sqlite import SqliteStore


def switch(cost: float = 1.5, arms: str = "abc", **settings) -> hf.TsallisSwitch:
    return hf.TsallisSwitch(arms=list(arms), switching_cost=cost, **settings)


@pytest.mark.parametrize(
    ("other", "whose", "message"),
    [
        (hf.Exp3(3), "same store code", "policy is 'tsallis-switch', given 'exp3'"),
        (switch(2.0), "same", r"switching_cost is 1\.5, given 2\.0 \(to change it: change_switching_cost=2\.0\)"),
        (switch(arms="abcd"), "same", r"arms is \['a', 'b', 'c'\], given .* \(to change it: add_arms=\['d'\]\)"),
        (switch(arms="ac"), "same", r"retire_arms=\['b'\]"),
        (hf.TsallisSwitch(3, switching_cost=1.5), "same store code", "arms is .*, given None"),
        (switch(units=(0, 2)), "same store code", "units is"),
        (switch(estimator="reduced-variance"), "same code", "estimator"),
    ],
)
def test_other_settings_are_refused_with_the_difference(place, other, whose, message):
    router = place.open(policy=SWITCH, seed=1)
    play(router, 10)
    for settings in whose.split():
        with pytest.raises(hf.OtherSettings, match=message):
            place.open(policy=other, settings=settings)
    assert not router.history.changes
    assert router.rounds == place.open(policy=SWITCH).rounds == 10
    assert place.open(policy=switch(arms="cba")).policy == SWITCH  # names tell arms apart


def test_another_switching_cost_changes_the_blocks_to_come(place):
    router, other = place.open(policy=SWITCH, seed=1), place.open()
    play(router, 50)
    before = router.history.totals
    assert place.open(policy=switch(20.0), change_switching_cost=20.0).rounds == 50
    while router.hold:
        router.ask()
    router.tell([(d.id, 0.5) for d in router.open_decisions])
    other.ask()
    assert other.hold > 20
    assert other.policy.switching_cost == router.policy.switching_cost == 20.0
    after = router.history.totals
    assert after.switching == pytest.approx(before.switching + 20.0 * (after.switches - before.switches))
    refuse(
        [
            ("is not a parameter of exp3", lambda: place.open("e", hf.Exp3(2), change_switching_cost=1.0)),
            ("switching_cost must be", lambda: router.change(switching_cost=-1.0)),
        ]
    )


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if hasattr(policy, "switching_cost")])
def test_a_cost_changed_to_itself_changes_nothing(place, name):
    policy = POLICIES[name]
    one, two = place.open("one", policy, seed=3), place.open("two", policy, seed=3)
    assert play(one, 30) == play(two, 30)
    two.change(switching_cost=policy.settings()["switching_cost"])
    assert play(one, 100, 30) == play(two, 100, 30)


NAMED = {
    "adaptive": hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.5),
    "tsallis-switch": switch(0.5),
    "reduced variance": switch(0.5, estimator="reduced-variance"),
    "tsallis-inf": hf.TsallisInf(arms=["a", "b", "c"]),
    "exp3": hf.Exp3(arms=["a", "b", "c"]),
    "exp3-blocks": hf.BlockExp3(arms=["a", "b", "c"], switching_cost=0.5, horizon=1000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_a_new_arm_is_as_likely_as_the_best(place, name):
    """It enters with the estimate of the arm that has lost least."""
    router = place.open(policy=NAMED[name], seed=1)
    for _ in range(200):
        decision = router.ask()
        router.tell(decision.id, {"a": 0.1, "b": 0.9, "c": 0.8}[decision.arm])
    while router.hold:
        router.tell(router.ask().id, 0.5)
    router.change(add_arms=["d"])
    p = dict(zip(router.policy.arms, router.probabilities, strict=True))
    assert router.policy.arms == ("a", "b", "c", "d")
    assert p["d"] == pytest.approx(max(p.values()), rel=1e-9)
    assert sum(p.values()) == pytest.approx(1.0)
    assert "d" in arms_of(router.ask(200))
    assert place.open(policy=router.policy).rounds == router.rounds


def test_changes_of_arms_that_cannot_be(place):
    router, numbered = place.open(policy=SWITCH, seed=1), place.open("numbered", hf.Exp3(3), seed=1)
    waiting = place.open("waiting", hf.BaSE(arms=["a", "b"], horizon=100), seed=1)
    play(router, 5)
    names = "add_arms must be a list of different names"
    for game, rule, changes in (
        (router, "retire_arms must be arms of the game", {"retire_arms": ["x"]}),
        (router, "retire_arms must leave an arm to play", {"retire_arms": ["a", "b", "c"]}),
        (router, names, {"add_arms": ["d", "d"]}),
        (router, names, {"add_arms": "d"}),
        (router, names, {"add_arms": [3]}),
        (router, "retire_arms must not be added in the same change", {"add_arms": ["d"], "retire_arms": ["d"]}),
        (numbered, "arms must have names to be added or retired", {"add_arms": ["d"]}),
        (waiting, "cannot be added to a game of base-geometric", {"add_arms": ["d"]}),
    ):
        refuse([(rule, lambda game=game, changes=changes: game.change(**changes))])
    router.change(add_arms=["a"])  # it is there
    router.change(retire_arms=["b"])
    router.change(retire_arms=["b"])  # it is gone
    router.change(add_arms=["a"])
    assert router.policy.arms == ("a", "c")
    router.change(add_arms=["b"])  # it comes back
    assert (router.policy.arms, waiting.ask().block) == (("a", "b", "c"), 1)


def test_schedules_that_are_functions_are_given_at_every_opening(place):
    policy = hf.TsallisSwitch(2, block_lengths=lambda n: n, learning_rates=lambda n: 1.0 / n)
    arms = play(place.open(policy=policy, seed=1), 400)
    assert play(place.open("again", policy, seed=1), 400) == arms
    assert play(place.open(policy=policy), 20, 400) == play(place.open("again", policy), 20, 400)
    with pytest.raises(hf.BadSavedState, match="functions for block_lengths and learning_rates"):
        place.open()


def test_whose_settings_count_where_the_code_has_others(place, caplog):
    """A setting was changed live: by default workers go on, and their log says so; or it is changed back."""
    live = place.open(policy=SWITCH, seed=1, missing=1.0)
    live.change(switching_cost=0.5, add_arms=["d"], patience=7)
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        worker = place.open(policy=SWITCH, missing=1.0, patience="auto")
    assert (worker.policy, worker.ask().block) == (live.policy, 1)
    assert "the settings in the store count" in caplog.text
    assert "switching_cost is 0.5, given 1.5" in caplog.text
    assert len(live.history.changes) == 1
    for _ in range(2):  # the second worker finds nothing to change
        assert place.open(policy=SWITCH, patience="auto", settings="code").policy == SWITCH
    changes = live.history.changes
    assert (len(changes), changes[1]["reason"]) == (2, "the settings of the code that opened it")
    assert place.open(policy=SWITCH, patience="auto", settings="same").rounds == 1
    refuse([("settings must be", lambda: place.open(policy=SWITCH, settings="mine"))])


@pytest.mark.parametrize("change", [{"change_switching_cost": 0.5}, {"add_arms": ["d"]}, {"retire_arms": ["a"]}])
def test_an_opening_that_is_refused_has_changed_nothing(place, change):
    place.open(policy=SWITCH, seed=1)
    for given in ({"policy": SWITCH}, {"patience": 7}):  # what is given along with a change is what comes after it
        with pytest.raises(hf.OtherSettings):
            place.open(**given, **change)
        assert place.open().policy == SWITCH


class FullNow(SqliteStore):
    """A store that cannot keep a change while it is full."""

    full = False

    @contextmanager
    def transaction(self, game, rounds=(), *, writing, deadline=None):
        with super().transaction(game, rounds, writing=writing, deadline=deadline) as transaction:
            yield transaction
            if self.full and writing:
                raise hf.StoreError("the disk is full; nothing was changed")

    def dump(self):
        return list(self._connection.iterdump())


def test_a_change_that_was_not_kept_is_not_gone_on_with():
    store = FullNow("memory:")
    router, other = hf.open(store, "chat", SWITCH, seed=1), hf.open(store, "chat")
    store.full = True
    with pytest.raises(hf.StoreError, match="full"):
        router.change(switching_cost=5.0, patience=5)
    store.full = False
    other.change(switching_cost=7.0)
    router.ask()
    assert router.policy.settings()["switching_cost"] == 7.0


@pytest.mark.parametrize("seed", range(5))
def test_what_is_put_back_is_what_was_there(seed):
    """Each call is made first while the store is full: rows and everything that finds them are as before."""
    store, choose, clock = FullNow("memory:"), random.Random(seed), Clock()
    options = {"seed": seed, "patience": timedelta(seconds=30), "remember": 20, "clock": clock}
    router = hf.open(store, "chat", SWITCH, **options)
    out: list[hf.Decision] = []
    calls = {
        "ask": lambda step: out.extend(router.ask(1 + step % 8, request=f"request {step}")),
        "tell": lambda step: router.tell([(d.id, 0.5) for d in choose.sample(out, min(len(out), 9))]),
        "change": lambda step: router.change(switching_cost=step / 10, add_arms=[f"new {step}"]),
        "compact": lambda step: router.history.compact(3),
    }
    for step in range(60):
        call = calls[choose.choice(["ask", "ask", "tell", "tell", "change", "compact"]) if out else "ask"]
        clock.now += choose.randrange(10)
        before = store.dump()
        store.full = True
        with pytest.raises(hf.StoreError):
            call(step)
        assert store.dump() == before
        store.full = False
        with suppress(hf.SomeRefused):
            call(step)
    assert router.history.totals.missing > 0


@pytest.mark.parametrize("where", range(1, 12))
def test_an_interrupt_anywhere_leaves_the_store_whole(where, monkeypatch):
    """Ctrl-C in the middle of a change: it did not happen, and the game goes on."""
    store, twin = FullNow("memory:"), hf.open("memory:", "chat", SWITCH, seed=1)
    router = hf.open(store, "chat", SWITCH, seed=1)
    mine, others = router.ask(90), twin.ask(90)
    before, whole, left = store.dump(), report.settle, where

    def interrupted(*arguments):
        nonlocal left
        left -= 1
        if left <= 0:
            raise KeyboardInterrupt
        whole(*arguments)

    replace_in_rules(monkeypatch, "settle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        router.tell([(d.id, 0.5) for d in mine])
    replace_in_rules(monkeypatch, "settle", whole)
    assert router.rounds == 90
    assert store.dump() == before
    router.tell([(d.id, 0.5) for d in mine])
    twin.tell([(d.id, 0.5) for d in others])
    assert arms_of(router.ask(50)) == arms_of(twin.ask(50))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMED)
def test_a_game_whose_arms_come_and_go_can_be_opened_at_any_time(name, seed):
    """With blocks out that were drawn among other arms, down to one arm, and with none of the first left."""
    store, chance = store_at("memory:"), random.Random(seed)
    router = hf.open(store, "game", NAMED[name], seed=seed)
    out = []
    for step in range(40):
        arms, new = list(router.policy.arms), f"n{step}"
        change = chance.randrange(8)
        if change == 0:
            router.change(add_arms=[new])
        elif change == 1 and len(arms) > 1:
            router.change(retire_arms=chance.sample(arms, chance.randrange(1, len(arms))))
        elif change == 2:
            router.change(add_arms=[new], retire_arms=arms)
        router = chance.choice([router, hf.open(store, "game")])
        out += router.ask(chance.choice([1, 2, 7]))
        chance.shuffle(out)
        while out and chance.random() < 0.8:
            decision = out.pop()
            router.tell(decision.id, chance.random())
        again = hf.open(store, "game")
        assert again.probabilities.tolist() == router.probabilities.tolist()
        assert again.probabilities.sum() == pytest.approx(1.0)
        router = chance.choice([router, again])


class Nosy(hf.TsallisSwitch):
    """Asks in the middle of a call."""

    router: hf.Router

    def carried_over(self, state, kept):
        refuse([("from within a call that uses it", Nosy.router.ask)], hf.StoreError)
        return super().carried_over(state, kept)


def test_a_call_within_a_call_is_refused(place):
    """By code of the user's that a call runs, or by a signal handler: it would see half of the other."""
    Nosy.router = router = place.open(policy=Nosy(arms=["a", "b"], switching_cost=1.0), seed=1)
    first = router.ask(5)
    router.change(add_arms=["c"])
    assert (router.policy.arms, router.rounds, router.open_decisions) == (("a", "b", "c"), 5, first)


def test_arms_may_be_called_as_one_likes_if_every_store_can_keep_it(place):
    names = ["no\u00a0break", "two\nlines", "\U0001f469\u200d\U0001f4bb", "it's {?} %s; --", "x" * 3000]
    router = place.open(policy=hf.Exp3(arms=names), seed=1)
    assert {decision.arm for decision in router.ask(60)} == set(names)
    router.change(retire_arms=names[:1], add_arms=["tab\there"])
    assert place.open().policy.arms == (*names[1:], "tab\there")
    rule = "arms must be text that can be stored"
    for arm in ("a\0", "a\ud800"):
        refuse([(rule, lambda arm=arm: place.open("new", hf.Exp3(arms=["a", arm])))])
        refuse([(f"add_{rule}", lambda arm=arm: router.change(add_arms=[arm]))])


def test_changes_are_kept_with_time_and_reason(place):
    router = place.open(policy=SWITCH, seed=1)
    router.change(switching_cost=SWITCH.switching_cost)  # nothing differs
    place.clock.now += 5
    router.change(switching_cost=2.0, reason="caches are dearer")
    place.clock.now += 5
    place.open().change(retire_arms=["a"], patience=9)
    first, second = router.history.changes
    cost, arms = {"switching_cost": [1.5, 2.0]}, {"arms": [["a", "b", "c"], ["b", "c"]], "patience": ["auto", 9]}
    assert first == {"at": 1_000_005.0, "kind": "settings", "detail": cost, "reason": "caches are dearer"}
    assert (second["at"], second["detail"], second["reason"]) == (1_000_010.0, arms, None)
