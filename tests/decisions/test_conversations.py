"""Conversations: each stays with its arm, and is learnt from when it ends, however many are open."""

import json
from datetime import timedelta
from typing import Any

import pytest
from games import arms_of
from test_commands import run

import holdfast as hf

EACH = hf.TsallisInf(arms=["a", "b", "c"])


@pytest.mark.parametrize("after", [0, -1, 1.5, "two"])
def test_a_conversation_is_learnt_from_after_a_number_of_rounds(after):
    with pytest.raises(hf.InvalidParameter, match="learn_after must be a whole number"):
        hf.open("memory:", "x", EACH, learn_after=after)


def test_a_conversation_that_is_idle_has_ended(place):
    router = place.open(policy=EACH, seed=3, key_life=timedelta(minutes=5))
    first = router.ask(key="x")
    router.ask(key="z")
    place.clock.now += 300
    assert router.ask(key="x").block == first.block
    place.clock.now += 1
    router.ask(key="y")  # ends z, of which no loss has come
    place.clock.now += 300
    assert router.ask(key="x").block not in (first.block, 2)
    with router.store.transaction(1, writing=False) as stored:
        assert sorted(block.key for block in stored.blocks("longest idle", 9)) == ["x", "y"]
    place.clock.now += 10**6
    router.settle()
    with router.store.transaction(1, writing=False) as stored:
        assert stored.blocks("longest idle", 9) == []
        assert stored.head.next_idle is None
    with pytest.raises(hf.InvalidParameter, match="key_life must be a timedelta"):
        router.change(key_life=5)


def test_a_conversation_that_a_pause_has_moved_can_be_kept_there(place):
    """As docs/production.md says: to name the arm keeps it, to end it does not where the paused arm is drawn again."""
    router = place.open(policy=hf.AdaptiveTsallisSwitch(arms=["a", "b"], switching_cost=0.0), seed=1)
    first = router.ask(key="k")
    router.pause(first.arm)
    second = router.ask(key="k")
    router.resume(first.arm)
    assert router.ask(key="k", available=[second.arm]).arm == second.arm
    assert router.ask(key="k").arm == first.arm
    router.pause(first.arm)
    for number in range(20):
        assert router.ask(key=f"{number}").arm == second.arm
    router.resume(first.arm)
    drawn = [router.ask(key=f"{number}").arm for number in range(20)]
    assert first.arm in drawn


def test_a_request_of_a_conversation_made_again_gets_the_same(place):
    router = place.open(policy=EACH, seed=3)
    assert router.ask(2, key="x", request="r") == router.ask(2, key="x", request="r")
    assert router.rounds == 2


def test_ended_conversations_leave_one_row_until_compacted(place):
    router = place.open(policy=EACH, seed=3, remember=0)
    for key in map(str, range(30)):
        router.tell([(d.id, 0.5) for d in router.ask(3, key=key)])
        router.end(key)
    assert len(router.history.frame) == 30
    assert router.history.compact(keep=0) == 30
    assert router.history.totals.told == 90


def test_many_open_conversations_are_read_one_at_a_time(folder):
    """Counted in steps of SQLite's machine: the thousandth costs what the tenth did."""
    router = hf.open(f"sqlite:///{folder}/g.db", "game", EACH, seed=1)
    store: Any = router.store
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def counted(key: str) -> int:
        nonlocal steps
        steps = 0
        store._connection.set_progress_handler(step, 1)
        router.tell(router.ask(key=key).id, 0.5)
        store._connection.set_progress_handler(None, 1)
        return steps

    few = max(counted(str(key)) for key in range(10))
    for key in range(10, 1000):
        router.ask(key=str(key))
    assert max(counted(str(key)) for key in range(500, 510)) < 1.5 * few


def test_conversations_have_a_shell(folder):
    url = f"sqlite:///{folder}/jobs.db"
    hf.open(url, "chat", EACH, seed=1).close()
    first, again = (json.loads(run("ask", url, "chat", "--key", "c 17", "--json")) for _ in range(2))
    assert (first["arm"], first["block"]) == (again["arm"], again["block"])
    run("change", url, "chat", "--key-life", "10m", "--reason", "caches live so long")
    with hf.open(url, "chat", key_life=timedelta(minutes=10)) as router:
        assert router.history.changes[0]["detail"] == {"key_life": ["3600.0s", "600.0s"]}
        assert router.history.changes[0]["reason"] == "caches live so long"
    assert run("end", url, "chat", "c 17") == "ended\n"
    assert json.loads(run("end", url, "chat", "c 17", "--json")) == {"ended": False}


def test_a_conversation_drawn_after_the_current_block_can_be_read_again(place):
    """Around a baseline, what is known of the current block does not bound the estimates."""
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=4.0, estimator="reduced-variance")
    router = place.open("chat", policy, seed=1)
    first = router.ask()
    for number in range(30):
        decision = router.ask(key=f"conversation {number}")
        router.tell(decision.id, 0.5)
        router.end(f"conversation {number}")
        router.ask(key=f"longer conversation {number}")
        assert place.open("chat").ask(key="another").probability > 0.0
        place.open("chat").end("another")
    assert router.tell(first.id, 0.25).new


def test_a_conversation_that_changes_hands_again_and_again_stays_cheap(place):
    """After 64 stretches with other arms it ends, and its key draws anew: what an ask reads and writes is bounded."""
    router = place.open(policy=EACH, seed=3)
    given = []
    for turn in range(400):
        own = given[-1].arm if given else "a"
        others = [arm for arm in "abc" if arm != own]
        given.append(router.ask(key="x", available=others if turn % 2 else None))
        router.tell(given[-1].id, 0.5)
    blocks = list(router.history.blocks())
    assert len(blocks) >= 3
    if place.kind != "http":  # a server does not send all of a block
        assert max(len(json.loads(block.played or "[]")) for block in blocks) == 64
        assert [block.live for block in blocks] == [0] * (len(blocks) - 1) + [1]
    assert [block.settled_at is None for block in blocks] == [False] * (len(blocks) - 1) + [True]
    assert router.history.log["arm"].to_list() == arms_of(given)
    assert router.history.totals.told == router.rounds == 400
