"""A conversation leaves its arm: where another saves more than the move costs, or its own is down or keeps failing."""

import json
import math
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from model import Model, said_of
from service import InThread
from test_commands import run

import holdfast as hf
import holdfast_client
from holdfast.decisions.moves import Recent, cheapest, worth_moving
from holdfast.replays.logged import read_log

TWO = hf.TsallisInf(arms=["a", "b"])
LOSSES = {"a": 0.75, "b": 0.25}


def keys_of(router: hf.Router, arm: str, count: int = 1) -> list[str]:
    """Conversations that drew an arm, after one turn, which lost what that arm loses."""
    found = []
    while len(found) < count:
        key = f"conversation {router.rounds}"
        turn = router.ask(key=key)
        router.tell(turn.id, LOSSES[str(turn.arm)])
        found += [key] * (turn.arm == arm)
    return found


def turns_of(router: hf.Router, key: str, count: int, **options: Any) -> list[Any]:
    """The arms of some turns, each of which loses what its arm loses."""
    arms = []
    for _ in range(count):
        turn = router.ask(key=key, **options)
        router.tell(turn.id, LOSSES[str(turn.arm)])
        arms.append(turn.arm)
    return arms


def known(place, **options) -> hf.Router:
    """A game in which both arms have lost five times or more in conversations of one turn, all of them open."""
    router = place.open(policy=TWO, seed=1, **{"move_cost": 100.0, "patience": "forever", **options})
    keys_of(router, "a", 5)
    keys_of(router, "b", 5)
    return router


def test_a_conversation_moves_when_the_gain_is_above_the_cost(place):
    """As many turns again as it has had, at 0.75 − 0.25 each: after 3 turns that is 1.5, after 4 it is 2."""
    router = known(place)
    (key,) = keys_of(router, "a")
    assert turns_of(router, key, 3, move_cost=1.5) == ["a", "a", "a"]
    assert turns_of(router, key, 3, move_cost=1.5) == ["b", "b", "b"]
    (other,) = keys_of(router, "b")
    assert turns_of(router, other, 9, move_cost=0.0) == ["b"] * 9
    (other,) = keys_of(router, "a")
    assert turns_of(router, other, 9) == ["a"] * 9  # the game's own cost
    router.change(move_cost=1.0)
    assert turns_of(router, other, 1) == ["b"]


def test_the_turns_to_come_are_at_least_those_of_conversations_that_ended(place):
    router = known(place)
    for key in keys_of(router, "b", 2):
        turns_of(router, key, 7)
        router.end(key)  # after 8 turns
    (key,) = keys_of(router, "a")
    assert turns_of(router, key, 1, move_cost=4.0) == ["a"]
    assert turns_of(router, key, 1, move_cost=3.9) == ["b"]


def test_nobody_moves_to_an_arm_that_is_hardly_known(place):
    router = place.open(policy=TWO, seed=1, patience="forever")
    keys = keys_of(router, "a", 8)
    router.change(move_cost=0.0)
    (key,) = keys_of(router, "b")
    assert turns_of(router, key, 2) == ["b", "b"]
    for key in keys[:7]:
        turns_of(router, key, 1)
    assert turns_of(router, keys[7], 9) == ["a"] * 9  # b was heard of three times
    (key,) = keys_of(router, "b")
    assert turns_of(router, key, 4) == ["b"] * 4
    assert turns_of(router, keys[7], 1) == ["b"]


def test_a_recent_mean_is_of_about_twenty_losses():
    recent = [Recent(), Recent(), Recent()]
    for loss in (0.0, 1.0, 0.5, 0.5):
        recent[0].hear(loss, failed=False)
    assert recent[0].mean == 0.5
    assert cheapest(recent, [0, 1, 2]) is None
    for loss in [1.0] * 40:
        recent[1].hear(loss, failed=False)
    recent[1].hear(0.0, failed=False)
    assert recent[1].mean == pytest.approx(0.95)
    recent[0].hear(0.5, failed=False)
    assert cheapest(recent, [0, 1, 2]) == 0
    assert worth_moving(recent, 1, 0, turns=2.0, cost=0.89)
    assert not worth_moving(recent, 1, 0, turns=2.0, cost=0.91)
    assert worth_moving(recent, 1, 0, turns=1000.0, cost=13.49)
    assert not worth_moving(recent, 1, 0, turns=1000.0, cost=13.51)
    assert not worth_moving(recent, 2, 0, turns=1e9, cost=0.0)
    for _ in range(3):
        assert cheapest(recent, [0, 1, 2]) == 0
        recent[0].hear(1.0, failed=True)
    assert cheapest(recent, [0, 1, 2]) == 1


def test_conversations_leave_an_arm_that_failed_three_times_in_a_row(place):
    """Whoever saw the failures. One success ends the row; those who have left do not come back for nothing."""
    router = known(place)
    one, two, three = keys_of(router, "a", 3)
    for key in (one, two):
        assert router.tell(router.ask(key=key).id, failed=True).new
        assert router.ask(key=key).arm == "a"
    assert router.tell(router.ask(key=one).id, failed=True).new
    assert {router.ask(key=key).arm for key in (one, three)} == {"b"}
    fresh = router.ask(key="fresh", available=["a"])
    router.tell(fresh.id, 0.75)
    assert router.ask(key=two).arm == "a"
    assert router.ask(key=one).arm == "b"
    assert [move["reason"] for move in moves_of(router, three)] == ["failing"]


def test_in_a_young_game_the_most_likely_other_arm_takes_over(place):
    router = place.open(policy=hf.TsallisInf(arms=["a", "b", "c"]), seed=1, move_cost=0.3)
    first = router.ask(key="x")
    for _ in range(3):
        router.tell(router.ask(key="x").id, failed=True)
    moved = router.ask(key="x")
    assert moved.arm != first.arm
    assert moved.probability == 1.0
    other = place.open("other", hf.TsallisInf(arms=["a", "b"]), seed=1, move_cost=0.3)
    for key in ("x", "y", "z", "u", "v"):
        for _ in range(3):
            other.tell(other.ask(key=key).id, failed=True)
    assert other.ask(key="x").arm in "ab"  # both fail: there is nowhere to go
    assert not any(moves_of(other, key) for key in "xyz" if other.ask(key=key).arm is None)


def moves_of(router: hf.Router, key: str) -> list[dict]:
    blocks = router.history.frame
    numbers = {block.number for block in router.history.blocks() if block.key == key}
    found = [row["moves"] for row in blocks.iter_rows(named=True) if row["block"] in numbers]
    return json.loads(found[-1] or "[]")


def test_a_conversation_leaves_an_arm_that_is_down_and_stays_away(place):
    router = known(place)
    (key,) = keys_of(router, "a")
    router.pause("a", reason="an incident")
    assert turns_of(router, key, 2) == ["b", "b"]
    router.resume("a")
    assert turns_of(router, key, 2) == ["b", "b"]
    assert moves_of(router, key) == [{"round": 1, "arm": "b", "reason": "down"}]
    (other,) = keys_of(router, "a")
    assert router.ask(key=other, available=["b"]).arm == "b"
    assert router.ask(key=other).arm == "b"
    plain = place.open("plain", TWO, seed=1)
    first = plain.ask(key="x")
    away = [arm for arm in "ab" if arm != first.arm]
    assert plain.ask(key="x", available=away).arm == away[0]
    assert plain.ask(key="x").arm == first.arm  # without a cost it comes back, as it always did


def test_a_move_before_any_loss_is_counted_by_whichever_process(place):
    router, other = place.open(policy=TWO, seed=1, move_cost=0.5), place.open()
    first = router.ask(key="x")
    router.tell(router.ask().id, 0.5)  # so that the other process has to read the state
    assert other.ask(key="x", available=[arm for arm in "ab" if arm != first.arm]).arm != first.arm
    assert router.history.totals.moves == 1


def test_a_cold_conversation_draws_anew_and_its_life_may_be_given_each_time(place):
    router = place.open(policy=TWO, seed=1, move_cost=9.0, key_life=timedelta(minutes=5))
    first = router.ask(key="x")
    place.clock.now += 300
    assert router.ask(key="x", key_life=timedelta(hours=2)).block == first.block
    place.clock.now += 7200
    router.ask(key="y", key_life="1m")
    assert router.ask(key="x").block == first.block
    place.clock.now += 61
    assert router.ask(key="z").block == 3  # y is over, x not
    assert router.history.totals.conversations == 2
    place.clock.now += 240
    assert router.ask(key="x").block == 4
    with pytest.raises(hf.InvalidParameter, match="key_life must be"):
        router.ask(key="x", key_life=timedelta(0))


def test_the_policy_learns_from_the_turns_before_the_move_alone(place):
    router, plain = (place.open(name, TWO, seed=3, move_cost=cost) for name, cost in (("r", 0.3), ("p", None)))
    turn, draw = router.ask(key="x"), plain.ask(key="x")
    assert turn.arm == draw.arm
    other = "b" if turn.arm == "a" else "a"
    router.tell(turn.id, 0.5)
    plain.tell(draw.id, 0.5)
    plain.end("x")
    moved = router.ask(key="x", available=[other])
    assert (moved.arm, moved.probability) == (other, 1.0)
    assert router.probabilities.tolist() == plain.probabilities.tolist()
    router.tell(moved.id, 1.0)
    router.end("x")
    assert router.probabilities.tolist() == plain.probabilities.tolist()
    untold = router.ask(key="y")  # nothing is known of the first turn: nothing is learnt
    before = router.probabilities.tolist()
    router.ask(key="y", available=[arm for arm in "ab" if arm != untold.arm])
    router.end("y")
    router.tell([(one.id, 1.0) for one in router.open_decisions])
    assert router.probabilities.tolist() == before


def test_the_first_turn_after_a_move_is_not_held_against_the_arm(place):
    """It pays for the cold cache. Only where it failed, that counts."""
    router = known(place)
    keys = keys_of(router, "a", 12)
    for key in keys:
        turn = router.ask(key=key, available=["b"])
        router.tell(turn.id, 1.0)
    (key,) = keys_of(router, "a")
    assert turns_of(router, key, 1, move_cost=0.49) == ["b"]  # 0.75 − 0.25, as if they had not been
    for key in keys[:3]:
        turn = router.ask(key=key, available=["a"])
        router.tell(turn.id, failed=True)
    (key,) = keys_of(router, "b")
    assert router.ask(key=key, available=["b"]).arm == "b"
    assert router.ask(key="w", available=["a"]).arm == "a"
    assert router.ask(key="w").arm == "b"


def test_a_rule_keeps_its_conversations(place):
    router = place.open(policy=TWO, seed=1, holdback=1.0)
    for key in map(str, range(12)):
        router.tell(router.ask(key=key, rule="ab"[int(key) % 2]).id, LOSSES["ab"[int(key) % 2]])
    assert [router.ask(key=key, move_cost=0.0).arm for key in map(str, range(12))] == ["a", "b"] * 6


def test_moves_are_told_in_history_log_and_words(place):
    router = known(place)
    (key,) = keys_of(router, "a")
    turns_of(router, key, 3, move_cost=1.5)
    turn = router.ask(key=key, move_cost=1.5)
    router.tell(turn.id, 0.25)
    assert moves_of(router, key) == [{"round": 4, "arm": "b", "reason": "gain"}]
    found = router.decision(turn.id)
    assert (found.arm, found.probability, found.by) == ("b", 1.0, "policy")
    saves = "in its turn 5 it left a, since that is expected to save more than the move costs; it stays with b until"
    assert saves in found.why
    rows = [row for row in router.history.log.iter_rows(named=True) if row["key"] == key]
    assert [row["status"] for row in rows] == ["told"] * 4 + ["moved"]
    assert [row["arm"] for row in rows] == ["a"] * 4 + ["b"]
    assert rows[-1]["probability"] == 1.0
    columns = {name: name for name in ("arm", "loss", "probability", "block")}
    log, conversations = read_log(router.history.log.filter(router.history.log["key"] == key), columns)
    assert (len(log.losses), conversations) == (4, True)  # what was not drawn says nothing of the policy
    assert router.history.totals.moves == 1
    assert router.history.totals.arms[1].losses == math.fsum(
        row["loss"] for row in router.history.log.iter_rows(named=True) if row["arm"] == "b"
    )


def test_over_http_in_the_client_and_in_a_shell(folder):
    url = f"sqlite:///{folder}/games.db"
    with InThread(url) as web, hf.open(web.url, "chat", TWO, seed=1, move_cost=0.5) as router:
        assert web("GET", "/v1/games/chat").json["move_cost"] == 0.5
        client = holdfast_client.open(web.url, "chat")
        turn = client.ask(key="x", move_cost=0.25, key_life="2h")
        other = "b" if turn.arm == "a" else "a"
        asked = web("POST", "/v1/games/chat/decisions", {"key": "x", "available": [other], "key_life": "90m"})
        assert asked.json["decisions"][0]["arm"] == other
        assert f"in its turn 2 it left {turn.arm}, which was paused or not available" in asked.json["why"]
        (block,) = web("GET", "/v1/games/chat/blocks").json["blocks"]
        assert block["moves"] == [{"round": 1, "arm": other, "reason": "down"}]
        assert moves_of(router, "x") == block["moves"]
        assert web("GET", "/v1/games/chat/summary").json["moves"] == router.history.totals.moves == 1
        assert b'holdfast_game_moves{game="chat"} 1.0' in web("GET", "/metrics").body
        assert b"conversations moved" in web("GET", "/games/chat").body
        refused = web("POST", "/v1/games/chat/decisions", {"move_cost": 0.5})
        assert (refused.status, "give its key" in refused.json["detail"]) == (422, True)
    again = json.loads(run("ask", url, "chat", "--key", "x", "--move-cost", "0.1", "--key-life", "10m", "--json"))
    assert again["arm"] == other
    run("change", url, "chat", "--move-cost", "0.75", "--reason", "longer contexts")
    with hf.open(url, "chat") as router:
        assert router.history.changes[-1]["detail"] == {"move_cost": [0.5, 0.75]}
    run("change", url, "chat", "--move-cost", "off")
    with InThread(url) as web, hf.open(web.url, "chat") as router:
        assert web("GET", "/v1/games/chat").json["move_cost"] is None
        assert web("PATCH", "/v1/games/chat", {"move_cost": 2}).json["move_cost"] == 2.0
        assert web("PATCH", "/v1/games/chat", {"move_cost": "off"}).json["move_cost"] is None
        router.change(move_cost=1.0)
        router.change(move_cost="off", shadow=True)  # which takes no conversations that move
        assert router.holdback == 1.0


def test_what_makes_no_sense_is_refused():
    router = hf.open("memory:", "x", TWO)
    for given in ({"move_cost": 0.5}, {"key_life": "5m"}):
        with pytest.raises(hf.InvalidParameter, match="is for a conversation: give its key"):
            router.ask(**given)
    with pytest.raises(hf.InvalidParameter, match="move_cost must be"):
        router.ask(key="k", move_cost=-1.0)
    with pytest.raises(hf.InvalidParameter, match="move_cost is not for a shadow, a holdback of 1"):
        hf.open("memory:", "x", TWO, move_cost=0.5, shadow=True)
    with pytest.raises(hf.InvalidParameter, match="move_cost is not for base"):
        hf.open("memory:", "x", hf.BaSE(2, horizon=60), move_cost=0.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_day_of_conversations_is_the_models(place, seed):
    """Three providers, one fails for a while, one gets worse; pauses, long idle times and costs by chance."""
    chance, clock = random.Random(seed), place.clock
    policy = hf.TsallisInf(arms=["a", "b", "c"])
    after = chance.choice([None, 1, 3])
    router = place.open(policy=policy, seed=seed, move_cost=1.0, learn_after=after, patience=timedelta(minutes=9))
    model = Model(policy, seed, 540.0, None, "highest", learn_after=after, move_cost=1.0)
    model.clock = model.seen = clock.now
    reasons, given = Counter(), []
    for turn in range(400):
        clock.now += chance.expovariate(1 / 20)
        key = f"{chance.randrange(8)}"
        out = {chance.randrange(3)} if chance.random() < 0.1 else set()
        options = {"move_cost": chance.choice([None, 0.5, 2.0])}
        life = chance.choice([None, None, 60.0])
        model.at(clock.now)
        ((arm, block, place_),) = model.ask(1, {0, 1, 2} - out, key, move_cost=options["move_cost"], key_life=life)
        options |= {"key_life": life and timedelta(seconds=life), "available": ["abc"[i] for i in {0, 1, 2} - out]}
        turn_ = router.ask(key=key, **options)
        assert (turn_.arm, turn_.block) == ("abc"[arm], block)
        given.append((turn_.id, block, place_, arm))
        if chance.random() < 0.1:
            assert router.end(key) == model.end(key, clock.now)
        if chance.random() < 0.95:
            id, block, place_, arm = given.pop(chance.randrange(len(given)) if chance.random() < 0.1 else -1)
            failed = arm == 0 and 100 < turn < 160
            loss = round(min(chance.random() * 0.4 + (0.5 if arm == 1 and turn > 200 else 0.1 * arm), 1.0), 3)
            model.at(clock.now)
            found = router.tell([(id, {"failed": True} if failed else loss)])[0]
            assert said_of(found) == model.tell(block, place_, 1.0 if failed else loss, failed)
    for one in model.blocks:
        reasons.update(reason for _, _, reason in one.moves or [])
    frame = router.history.frame
    told = [[(m["round"], "abc".index(m["arm"]), m["reason"]) for m in json.loads(x or "[]")] for x in frame["moves"]]
    assert told == [one.moves or [] for one in model.blocks]
    assert reasons.keys() == {"down", "failing", "gain"}
    assert router.probabilities.tolist() == model_probabilities(model)


def model_probabilities(model: Model) -> list[float]:
    game = model.game.copy()
    game.begin()
    return game.probabilities().tolist()
