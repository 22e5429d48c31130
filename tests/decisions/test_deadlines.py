"""A store that does not answer: how long a call with a deadline takes, and what it leaves behind."""

import json
import logging
import threading
import time
from contextlib import contextmanager
from statistics import median

import psycopg
import pytest
from games import SWITCH, arms_of, play, refuse
from places import fresh_schema
from postgres_server import PrivateServer
from proxy import CuttingProxy
from test_failures import busy, locked, timed
from threads import at_once
from together import SOON, Child

import holdfast as hf
from holdfast.logs import Sparse

DEADLINE = 0.05
SLACK = 0.02
"""Seconds: an answer comes within the deadline and so much more."""


def answers_in_time(router, times=9):
    """Fallbacks, each in time; the median is judged, since a busy machine may keep one thread waiting for longer."""
    found = [timed(lambda: router.ask(fallback="b", deadline=DEADLINE)) for _ in range(times)]
    for decision, _ in found:
        assert not decision.recorded
        assert (decision.arm, decision.probability, decision.block) == ("b", 1.0, 0)
    assert median(taken for _, taken in found) < DEADLINE + SLACK
    return found[0][0]


def recovers(router, rounds_before, seconds=30):
    """The router goes on, and nothing is in the store that was not answered."""
    until = time.monotonic() + seconds
    while not (decision := router.ask(fallback="b", deadline=1.0)).recorded:
        assert time.monotonic() < until
    assert router.tell(decision.id, 0.5, deadline=10.0).new
    assert router.rounds == rounds_before + 1


def threads_that_make_calls():
    return {thread for thread in threading.enumerate() if thread.name == "holdfast calls"}


@pytest.mark.slow
def test_a_server_that_is_stopped():
    server = PrivateServer().start()
    try:
        router = hf.open(server.url, "game", SWITCH, seed=1)
        play(router, 5)
        known = router.ask()
        server.kill()
        unknown = answers_in_time(router)
        with pytest.raises(hf.UnknownDecision, match=r"was not recorded: .* ask\(\) answered with its fallback"):
            router.tell(unknown.id, 0.5)
        begun = time.monotonic()
        with pytest.raises(hf.StoreError, match=r"within 0\.05 s"):
            router.tell(known.id, 0.5, deadline=DEADLINE)
        assert time.monotonic() - begun < 1.0
        server.start()
        recovers(router, 6)
        assert router.tell(known.id, 0.5).new
    finally:
        server.stop()


@contextmanager
def cut_line(url, line):
    line.silence()
    line.cut()  # connections end, and new ones get no answer
    yield
    line.silence(False)
    line.cut()  # what was swallowed is lost


@contextmanager
def silent_line(url, line):
    line.silence()
    yield
    line.silence(False)
    line.cut()


@contextmanager
def locked_table(url, line):
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE holdfast_heads IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


@pytest.mark.parametrize("trouble", [cut_line, silent_line, locked_table])
def test_a_network_that_is_cut_and_a_table_that_is_locked(postgres, trouble):
    with CuttingProxy(postgres.port) as line:
        url = fresh_schema(postgres)
        far = url.replace(f":{postgres.port}", f":{line.port}")
        router = hf.open(f"{far}&connect_timeout=2", "game", SWITCH, seed=1)
        play(router, 5)
        with trouble(url, line):
            answers_in_time(router)
        recovers(router, 5)


@pytest.mark.slow
def test_a_file_that_somebody_else_has_locked(folder):
    router = hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1)
    play(router, 5)
    with locked(folder / "g.db"):
        answers_in_time(router)
    recovers(router, 5)


@pytest.mark.slow
def test_many_callers_that_give_up_hold_one_thread_and_leave_no_queue(place):
    router, of_others = place.open(policy=SWITCH, seed=1), threads_that_make_calls()
    with busy(router):
        at_once(50, lambda _: router.ask(fallback="a", deadline=0.05))
        assert len(threads_that_make_calls() - of_others) == 1
        assert not router._executor._queue
    until = time.monotonic() + 30
    while threads_that_make_calls() - of_others:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert router.rounds == 0


def test_a_call_in_time_is_the_same_as_without_a_deadline(place):
    router, twin = place.open(policy=SWITCH, seed=1), place.open("twin", SWITCH, seed=1)
    for t in range(20):
        given, same = router.ask(3, deadline=30.0, fallback="a"), twin.ask(3)
        assert all(decision.recorded for decision in given)
        assert arms_of(given) == arms_of(same)
        router.tell([(d.id, t / 20) for d in given], deadline=30.0)
        twin.tell([(d.id, t / 20) for d in same])


@pytest.mark.slow
def test_calls_with_and_without_a_deadline_share_transactions_and_wait_for_each_other(place):
    router, over = place.open(policy=SWITCH, seed=1), time.monotonic() + 0.5

    def ask(number):
        found = []
        while time.monotonic() < over:
            found.append(router.ask(**({"deadline": 30.0} if number % 2 else {})).id)
        return found

    found = [id for ids in at_once(6, ask) for id in ids]
    assert len(set(found)) == len(found) == router.rounds


def test_several_decisions_and_numbered_arms(place):
    router = place.open(policy=hf.Exp3(3), seed=1)
    with busy(router):
        given = router.ask(4, fallback=2, deadline=0.01)
        refuse([(r"has not answered within 0\.01 s", lambda: router.ask(deadline=0.01))], hf.StoreError)
    assert arms_of(given) == [2] * 4
    assert len({decision.id for decision in given}) == 4
    json.dumps([decision._asdict() for decision in given])
    assert router.rounds == 0


def test_a_fallback_without_a_deadline_waits_as_long_as_the_game_says(folder, caplog, monkeypatch):
    monkeypatch.setattr("holdfast.decisions.router.LOG.filters", [Sparse()])  # which has seen no other test
    router = hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1, timeout=0.1)
    with locked(folder / "g.db"), caplog.at_level(logging.WARNING, logger="holdfast"):
        assert not router.ask(fallback="c").recorded
        router.store.patient = False
        assert not router.ask(3, fallback="c", deadline=0.01)[0].recorded
    assert len(caplog.records) == 1
    assert "the answer is the fallback 'c', which is not recorded" in caplog.text
    assert "another process has kept it locked" in caplog.text
    assert router.ask(fallback="c").recorded


def test_what_is_no_deadline_and_no_fallback(place):
    numbered, named = place.open("numbered", hf.BaSE(2, horizon=100), seed=1), place.open(policy=SWITCH, seed=1)
    numbered.ask(100)
    assert not numbered.ask(fallback=0, deadline=30.0).recorded  # no arm can be handed out before the losses are in
    wrong = (0, -1.0, float("nan"), "soon", 1e6 + 1.0)
    refuse(("deadline must be a", lambda deadline=deadline: named.ask(deadline=deadline)) for deadline in wrong)
    with busy(named):
        refuse([("fallback must be .*'a'.*; got 'd'", lambda: named.ask(fallback="d", deadline=0.01))])
    refuse(
        [
            ("available", lambda: numbered.ask(fallback=0, available=[7])),  # a refusal is no reason for a fallback
            ("fallback must be a whole number from 0 to 1", lambda: numbered.ask(fallback=2)),
            ("fallback must be an arm of the game, 'a', 'b', 'c'; got 'd'", lambda: named.ask(fallback="d")),
        ]
    )


def test_a_child_of_a_fork_has_a_thread_of_its_own(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1)
    with busy(router):
        router.ask(fallback="a", deadline=0.01)  # leaves a thread that waits
        children = []
        starting = threading.Thread(target=lambda: children.append(Child(lambda: router.ask(deadline=30.0).recorded)))
        starting.start()  # a fork waits for calls under way
        time.sleep(0.05)
    starting.join(SOON)
    assert children[0].answer()
    assert router.ask(deadline=30.0).recorded
    assert router.rounds == 2
