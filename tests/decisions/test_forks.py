"""Forks: parent and child go on with the same games, and nothing that was acknowledged is lost."""

import gc
import os
import random
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import pytest
from games import SWITCH, play
from test_failures import alarms
from together import FORK, SOON, Child, in_child

import holdfast as hf
from holdfast.decisions.requests import Ask
from holdfast.decisions.stores import sql as forks
from holdfast.decisions.stores.sqlite import SqliteStore

pytestmark = pytest.mark.slow


def fork_and_end() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


@contextmanager
def again_and_again(count, work):
    """Threads that do `work(number)` until the end; their errors are the test's."""
    over, errors = threading.Event(), []

    def go_on(number):
        try:
            while not over.is_set():
                work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=go_on, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


def test_a_fork_while_threads_decide_leaves_no_child_waiting(place):
    router = place.open(policy=SWITCH, seed=1, patience="forever")
    with again_and_again(2, lambda _: router.tell(router.ask().id, 0.5)):
        children = [Child(lambda: play(router, 1)) for _ in range(5)]
    for child in children:
        child.answer()
    totals = router.history.totals
    assert totals.told == totals.rounds


@pytest.mark.parametrize("own", [False, True], ids=["inherited", "opened by the child"])
def test_what_a_child_is_acknowledged_stays_when_the_parent_closes(lasting_place, own):
    """Two connections to one file across a fork: SQLite's parent removed the log that the child wrote."""
    url, ready, go = lasting_place.at, FORK.Event(), FORK.Event()
    router = hf.open(url, "game", SWITCH, seed=1)
    router.ask()

    def work():
        mine = hf.open(url, "game") if own else router
        mine.ask()
        ready.set()
        assert go.wait(SOON)
        for _ in range(10):
            mine.ask()

    child = Child(work)
    assert ready.wait(SOON)
    router.close()
    go.set()
    child.answer()
    assert hf.open(url, "game").rounds == 12


def test_children_of_a_process_with_threads_find_the_file_whole(folder):
    """Forks, closes and calls at once: no call fails, and every acknowledged loss is there."""
    url, chance = f"sqlite:///{folder}/g.db", random.Random(1)
    routers = [hf.open(url, f"game {i}", SWITCH, seed=i, patience="forever") for i in range(8)]
    told = [0] * 4

    def decide(number):
        router = chance.choice(routers)
        router.tell(router.ask().id, 0.5)
        told[number] += 1
        if chance.random() < 0.1:
            router.close()

    with again_and_again(4, decide):
        children = []
        for i in range(12):
            children.append(Child(lambda i=i: play(routers[i % 8], 1)))
            time.sleep(0.02)
        for child in children:
            child.answer()
    assert sum(router.history.totals.told for router in routers) == sum(told) + 12
    routers[0].close()
    with closing(sqlite3.connect(folder / "g.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_fork_in_the_middle_of_a_call_does_not_break_it(lasting_place):
    """A signal handler may fork at any moment."""
    router, chance = hf.open(lasting_place.at, "game", SWITCH, seed=1), random.Random(1)
    forked, ids, forking = 0, set(), False

    def fork(*_):
        nonlocal forked, forking
        if forking:  # Python itself waits for ever when it forks within a fork
            return
        forking = True
        fork_and_end()
        forked, forking = forked + 1, False

    for _ in range(40):
        with alarms(fork, chance.uniform(0.0001, 0.002)):
            ids |= {d.id for d in router.ask(16)}
    assert forked > 3
    assert len(ids) == router.rounds == 40 * 16


def test_a_store_that_nobody_uses_any_more_goes_without_waiting(folder):
    """Garbage is collected anywhere, also by a thread that a fork waits for."""
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)

    def leave_a_cycle(_) -> None:
        cycle = [hf.open(SqliteStore(url), "game")]
        cycle.append(cycle)

    with again_and_again(2, leave_a_cycle):
        gc.freeze()  # what other tests left behind would be searched each time
        for _ in range(40):
            fork_and_end()
            gc.collect()
        gc.unfreeze()
    assert router.rounds == 0


def test_a_child_does_not_make_the_calls_that_wait_in_its_parent(lasting_place):
    """Its parent's threads make them: they would be made twice."""
    router = lasting_place.open(policy=SWITCH, seed=1)
    waiting = router._executor.submit(Ask(), start=False)
    in_child(router.ask)
    assert len(waiting.result(timeout=SOON)) == 1
    assert router.rounds == 2  # the child's own, and the parent's, once


def test_a_call_queued_during_a_fork_is_made_after_it(folder):
    """The fork holds the lock that a writer would hold, but makes no calls: the queue is taken up when it is over."""
    with hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1, timeout=5.0) as router:
        router.ask()
        forks._take_all()
        try:
            asked = threading.Thread(target=router.ask, daemon=True)
            asked.start()
            while not router._executor.waiting:
                time.sleep(0.001)
        finally:
            forks._continue_parent()
        asked.join(timeout=4.0)
        assert not asked.is_alive()
        assert router.rounds == 2
