"""Conversations: each stays with its arm, and is learnt from when it ends, however many are open."""

import json
from datetime import timedelta

from games import arms_of
from test_commands import run

import holdfast as hf

EACH = hf.TsallisInf(arms=["a", "b", "c"])


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


def test_those_that_are_idle_longest_are_ended_first(place):
    """However many live longer and began before or after them."""
    router = place.open(policy=EACH, seed=3)
    for number in range(90):
        router.ask(key=f"{number}", key_life="5s" if 60 <= number < 70 else "2h")
    place.clock.now += 5.0
    router.settle()
    assert router.history.totals.conversations == 90
    place.clock.now += 0.5
    router.settle()
    assert router.history.totals.conversations == 80
