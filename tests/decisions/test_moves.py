"""A conversation leaves its arm: where another saves more than the move costs, or its own is down or keeps failing."""

import json
import math
from typing import Any

import pytest
from games import refuse
from service import InThread
from test_commands import run

import holdfast as hf
import holdfast_client
from holdfast.decisions.game import Recent
from holdfast.decisions.rules.conversations import cheapest, worth_moving
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


def known(place) -> hf.Router:
    """A game in which both arms have lost five times or more in conversations of one turn, all of them open."""
    router = place.open(policy=TWO, seed=1, move_cost=100.0, patience="forever")
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


def test_a_conversation_is_expected_to_go_on_as_long_as_those_that_have_ended(place):
    """Eight turns, at a gain of 0.5 each, though nothing was known of the arms when it ended."""
    first = place.open(policy=TWO, seed=1, move_cost=100.0, patience="forever")
    first.ask(8, key="long")
    assert first.end("long")
    router = known(place)
    one, two = keys_of(router, "a", 2)
    assert turns_of(router, one, 1, move_cost=4.0) == ["a"]
    assert turns_of(router, two, 1, move_cost=3.9) == ["b"]


def test_conversations_leave_an_arm_that_failed_five_times_in_a_row(place):
    """Whoever saw the failures. One success ends the row; those who have left do not come back for nothing."""
    router = known(place)
    one, two, three = keys_of(router, "a", 3)
    for key in (one, two, one, two):
        assert router.tell(router.ask(key=key).id, failed=True).new
        assert router.ask(key=key).arm == "a"
    assert router.tell(router.ask(key=one).id, failed=True).new
    assert {router.ask(key=key).arm for key in (one, three)} == {"b"}
    fresh = router.ask(key="fresh", available=["a"])
    router.tell(fresh.id, 0.75)
    assert router.ask(key=two).arm == "a"
    assert router.ask(key=one).arm == "b"
    assert [move["reason"] for move in moves_of(router, three)] == ["failing"]


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
    router, base = hf.open("memory:", "x", TWO), hf.BaSE(2, horizon=60)
    refuse(
        [
            ("is for a conversation: give its key", lambda: router.ask(move_cost=0.5)),
            ("is for a conversation: give its key", lambda: router.ask(key_life="5m")),
            ("move_cost must be", lambda: router.ask(key="k", move_cost=-1.0)),
            ("move_cost must be", lambda: router.change(move_cost=-1.0)),
            ("not for a shadow, a holdback of 1", lambda: hf.open("memory:", "x", TWO, move_cost=0.5, shadow=True)),
            ("move_cost is not for base", lambda: hf.open("memory:", "x", base, move_cost=0.5)),
        ]
    )


def test_when_moving_is_worth_it_in_numbers():
    """Means of the latest twenty, about; known from five on; 30 turns to come at most; five failures in a row."""
    one, other, losses = Recent(), Recent(), [0.9] + [0.1] * 24
    mean = 0.0
    for n, loss in enumerate(losses, 1):
        one.hear(loss, n in (20, 22, 23, 24, 25))
        mean += (loss - mean) * (1 / n if n < 20 else 0.05)
    assert one.mean == pytest.approx(mean, rel=1e-12)
    assert not one.fails
    one.hear(0.1, True)
    assert one.fails
    one.hear(0.1, False)
    home = Recent(mean=0.5, heard=5)
    for heard, known in ((4, None), (5, 1)):
        other.heard = heard
        assert cheapest([home, other], {1}) == known
        assert not worth_moving([Recent(mean=0.5, heard=4), other], 0, 1, 20.0, 1.0)
    assert [worth_moving([home, other], 0, 1, turns, 10.0) for turns in (20.0, 20.5)] == [False, True]
    assert [worth_moving([home, other], 0, 1, 1e6, cost) for cost in (14.9, 15.0)] == [True, False]
    assert not worth_moving([home, other], 0, None, 1e6, 0.0)
    other.failures = 5
    assert cheapest([home, other], {1}) is None
    assert cheapest([home, home], {1, 0}) == 0
