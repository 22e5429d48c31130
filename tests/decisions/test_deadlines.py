"""A store that does not answer: how long a call with a deadline takes, and what it leaves behind."""

import json
import logging
import multiprocessing
import sqlite3
import threading
import time
from contextlib import contextmanager
from statistics import median

import psycopg
import pytest
from games import SWITCH, Work, arms_of, play
from places import fresh_schema
from postgres_server import PrivateServer
from proxy import CuttingProxy
from test_failures import locked
from threads import at_once

import holdfast as hf
from holdfast.logs import Sparse

DEADLINE = 0.05
SLACK = 0.02
"""Seconds: an answer comes within the deadline and so much more."""


def timed(work):
    begun = time.monotonic()
    return work(), time.monotonic() - begun


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


@pytest.mark.parametrize("how", ["cut", "silent"])
def test_a_network_that_is_cut(postgres, how):
    with CuttingProxy(postgres.port) as line:
        url = fresh_schema(postgres).replace(f":{postgres.port}", f":{line.port}")
        router = hf.open(f"{url}&connect_timeout=2", "game", SWITCH, seed=1)
        play(router, 5)
        if how == "cut":
            line.silence()
            line.cut()  # connections end, and new ones get no answer
        else:
            line.silence()
        answers_in_time(router)
        line.silence(False)
        line.cut()  # what was swallowed is lost
        recovers(router, 5)


def test_a_table_that_is_locked(postgres):
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 5)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE holdfast_heads IN ACCESS EXCLUSIVE MODE")
        answers_in_time(router)
        other.rollback()
    recovers(router, 5)


def hold(file, ready, release):
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    ready.set()
    release.wait(60)
    connection.execute("ROLLBACK")


@pytest.mark.slow
def test_a_file_that_another_process_has_locked(folder):
    router = hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1)
    play(router, 5)
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(f"{folder}/g.db", ready, release))
    process.start()
    assert ready.wait(60)
    answers_in_time(router)
    release.set()
    process.join(60)
    recovers(router, 5)


@contextmanager
def busy(router):
    """A call of another thread that takes its time."""
    entered, go = threading.Event(), threading.Event()

    def slow(view):
        entered.set()
        assert go.wait(30)

    thread = threading.Thread(target=lambda: router._executor.execute(Work(slow)))
    thread.start()
    assert entered.wait(30)
    try:
        yield
    finally:
        go.set()
        thread.join(30)


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
    router = place.open(policy=SWITCH, seed=1)
    found, over = [], threading.Event()

    def ask(**options):
        while not over.is_set():
            found.append(router.ask(**options).id)

    threads = [threading.Thread(target=ask, kwargs=options) for options in ({}, {"deadline": 30.0}) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    over.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert len(set(found)) == len(found) == router.rounds


def test_several_decisions_and_numbered_arms(place):
    router = place.open(policy=hf.Exp3(3), seed=1)
    with busy(router):
        given = router.ask(4, fallback=2, deadline=0.01)
    assert arms_of(given) == [2] * 4
    assert len({decision.id for decision in given}) == 4
    json.dumps([decision._asdict() for decision in given])
    with pytest.raises(hf.InvalidParameter, match="fallback must be a whole number from 0 to 2"):
        router.ask(fallback=3)


def test_without_a_fallback_the_deadline_is_an_error(place):
    router = place.open(policy=SWITCH, seed=1)
    with busy(router), pytest.raises(hf.StoreError, match=r"has not answered within 0\.01 s"):
        router.ask(deadline=0.01)
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


def test_a_refusal_is_no_reason_for_a_fallback(place):
    router = place.open(policy=hf.BaSE(2, horizon=100), seed=1)
    router.ask(100)
    assert not router.ask(fallback=0, deadline=30.0).recorded  # no arm can be handed out before the losses are in
    with pytest.raises(hf.InvalidParameter, match="available"):
        router.ask(fallback=0, available=[7])


@pytest.mark.parametrize("deadline", [0, -1.0, float("nan"), "soon"])
def test_a_deadline_is_a_time(place, deadline):
    router = place.open(policy=SWITCH, seed=1)
    with pytest.raises(hf.InvalidParameter, match="deadline must be a"):
        router.ask(deadline=deadline)


def test_a_fallback_is_an_arm(place):
    with pytest.raises(hf.InvalidParameter, match="fallback must be an arm of the game, 'a', 'b', 'c'; got 'd'"):
        place.open(policy=SWITCH, seed=1).ask(fallback="d")


def test_a_child_of_a_fork_has_a_thread_of_its_own(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1)
    with busy(router):
        router.ask(fallback="a", deadline=0.01)  # leaves a thread that waits
        context = multiprocessing.get_context("fork")
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=lambda: theirs.send(router.ask(deadline=30.0).recorded))
        starting = threading.Thread(target=worker.start)  # a fork waits for calls under way
        starting.start()
        time.sleep(0.05)
    starting.join(30)
    assert mine.poll(30)
    assert mine.recv()
    worker.join(30)
    assert router.ask(deadline=30.0).recorded
    assert router.rounds == 2
