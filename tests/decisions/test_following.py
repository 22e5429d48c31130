"""One decision followed, and the log: recomputed from what callers did and heard."""

import json
from datetime import timedelta

import pytest
from games import SWITCH, refuse
from test_commands import run

import holdfast as hf
from holdfast.decisions import history
from holdfast.decisions.status import why

SCALE = hf.Scale(latency=(0.2, 8.0, 3), price=(0.0, 0.02, 1), error=1.0)


def test_a_decision_says_who_asked_when_why_and_what_came_of_it(place):
    router = place.open(policy=SWITCH, seed=1, scale=SCALE)
    place.clock.now = 1_000_000.0
    first = router.ask(request="order 1")
    then = router.executor.read(why) if place.kind != "http" else None
    place.clock.now += 7
    second = router.ask()
    router.tell(first.id, latency=1.3, price=0.004)
    waiting = router.decision(second.id)
    assert (waiting.status, waiting.loss, waiting.told, waiting.settled) == ("open", None, None, None)
    assert waiting.learnt == "nothing yet: block 1 is open, 1 of 2 losses to come"
    place.clock.now += 60
    router.tell(second.id, error=True)
    place.clock.now += 60
    router.change(add_arms=["d"], retire_arms=["b"])  # what was said stays
    router.ask(30)
    found = router.decision(first.id)
    assert (found.arm, found.probability, found.by) == (first.arm, first.probability, "policy")
    assert (found.asked, found.request, found.key) == (first.asked, "order 1", None)
    assert (found.block, found.round) == (first.block, 0)
    assert found.why.startswith(
        f"Block 1 drew {first.arm} with probability 0.333 among 3 arms; it is certain to stay for 1"
    )
    assert then in (None, found.why)
    assert found.measures == {"latency": 1.3, "price": 0.004}
    assert (found.status, found.loss, found.counted) == ("told", SCALE.loss(latency=1.3, price=0.004), found.loss)
    assert (found.told, found.settled) == (first.asked + 7, first.asked + 67)
    assert found.learnt == "block 1 was settled with 2 of 2 losses"
    late = router.decision(second.id)
    assert (late.asked, late.round, late.measures) == (second.asked, 1, {"error": True})
    assert late.request != "order 1"
    assert late.why.endswith("all its rounds are handed out, so the next decision begins a new block.")
    wrong = (("must be the id of a decision", "nonsense"), ("never handed out", first.id[:-1] + "x"))
    refuse(((rule, lambda id=id: router.decision(id)) for rule, id in wrong), hf.UnknownDecision)


def test_what_was_decided_by_others_and_what_never_came_is_said(place):
    router = place.open(policy=SWITCH, seed=1, patience=timedelta(seconds=50), missing=0.75)
    router.pin("c")
    pinned = router.ask()
    router.unpin()
    talk = router.ask(key="x")
    others = [arm for arm in ("a", "b", "c") if arm != talk.arm]
    moved = router.ask(key="x", available=others)
    router.tell(pinned.id, 0.5)
    assert router.decision(pinned.id).by == "operator"
    assert router.decision(pinned.id).learnt == "nothing: an operator chose the arm"
    assert router.decision(talk.id).learnt == "nothing yet: block 2 is open, the conversation goes on"
    found = router.decision(moved.id)
    assert (found.arm, found.probability, found.key, found.round) == (moved.arm, moved.probability, "x", 1)
    assert found.why.endswith(f"that is paused or not available, so {moved.arm} is handed out meanwhile.")
    router.end("x")
    place.clock.now += 100
    router.settle()
    lost = router.decision(talk.id)
    assert (lost.status, lost.loss, lost.counted) == ("missing", None, 0.75)
    assert lost.learnt == "block 2 was settled with 0 of 2 losses; the others counted as 0.75"


def test_a_decision_whose_row_is_gone_is_forgotten(place):
    router = place.open(policy=SWITCH, seed=1, remember=0)
    given = router.ask(12)
    router.tell([(d.id, 0.5) for d in given[:4]])
    old = router.decision(given[0].id)
    assert (old.asked, old.request, old.loss, old.status, old.arm) == (None, None, None, "told", given[0].arm)
    if place.kind != "http":
        with pytest.raises(hf.UnknownDecision):  # a round that was not handed out, though signed
            router.decision(router._executor.setup.ids.id_of(given[-1].block, int(given[-1].id.split("-")[2]) + 1))
        router.history.compact(keep=0)
        with pytest.raises(hf.Forgotten):
            router.decision(given[0].id)


def test_a_loss_that_never_came_is_missing_though_its_block_is_forgotten(place):
    router = place.open(policy=SWITCH, seed=1, patience=2, missing=0.75, remember=0)
    first, second = router.ask(2)
    router.tell(first.id, 0.5)
    place.clock.now += 1.0
    router.change(add_arms=["d"])
    later = router.ask(20)  # drawn at the same moment, after the change
    router.settle()
    assert [router.decision(one.id).status for one in (first, second)] == ["missing", "missing"]  # which is not known
    assert router.decision(second.id).counted == 0.75
    assert "among 3 arms" in router.decision(second.id).why
    assert "among 4 arms" in router.decision(later[-1].id).why


@pytest.mark.parametrize("most", [5000, 3, 1])
def test_the_log_names_every_round_whatever_is_read_at_once(place, monkeypatch, most):
    """Each row against the decision that its caller got and the loss that was told; blocks are cut anywhere."""
    monkeypatch.setattr(history, "MOST_ROUNDS", most)
    monkeypatch.setattr(history, "AT_ONCE", most)
    router = place.open(policy=SWITCH, seed=1, scale=SCALE)
    given, told = {}, {}
    for t in range(12):
        place.clock.now += 10
        key, request = ("talk" if t % 4 == 1 else None), f"r{t}"
        for decision in router.ask(1 + t % 5, key=key, request=request):
            given[decision.id] = decision, key, request
        if t % 3:
            id = next(one for one in given if one not in told)
            place.clock.now += 1
            told[id] = place.clock.now, {"latency": 0.2 + t / 10, "price": 0.001}
            router.tell(id, **told[id][1])
    rows = router.history.log.rows(named=True)
    assert sorted(row["id"] for row in rows) == sorted(given)
    for row in rows:
        decision, key, request = given[row["id"]]
        assert (row["arm"], row["probability"], row["block"]) == (decision.arm, decision.probability, decision.block)
        assert (row["key"], row["request"], row["conversation"]) == (key, request, key is not None)
        assert row["asked"].timestamp() == decision.asked
        if row["id"] in told:
            at, measures = told[row["id"]]
            assert (row["status"], row["told"].timestamp()) == ("told", at)
            assert json.loads(row["measures"]) == measures
            assert row["loss"] == SCALE.loss(**measures)
        else:
            assert (row["status"], row["told"], row["measures"], row["loss"]) == ("open", None, None, None)


def test_a_decision_is_followed_in_a_shell(folder):
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "chat", SWITCH, seed=1) as router:
        decision = router.ask(request="order 1")
        router.tell(decision.id, reward=0.25)
    shown = run("decision", url, "chat", decision.id)
    assert "request     order 1" in shown
    assert "loss        0.75" in shown
    assert 'measures    {"reward": 0.25}' in shown
    assert json.loads(run("decision", url, "chat", decision.id, "--json"))["request"] == "order 1"
