"""Forks: parent and child go on with the same games, and nothing that was acknowledged is lost."""

import gc
import os
import random
import signal
import sqlite3
import threading
import time

import pytest
from games import SWITCH, play
from together import FORK

import holdfast as hf
from holdfast.decisions.requests import Ask
from holdfast.decisions.stores import forks
from holdfast.decisions.stores.sqlite import SqliteStore

pytestmark = pytest.mark.slow


def test_a_fork_while_threads_decide_leaves_no_child_waiting(place):
    router = place.open(policy=SWITCH, seed=1, patience="forever")
    over = threading.Event()

    def decide():
        while not over.is_set():
            router.tell(router.ask().id, 0.5)

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(5):
        children.append(FORK.Process(target=lambda: router.tell(router.ask().id, 0.5)))
        children[-1].start()
    over.set()
    for thread in threads:
        thread.join()
    try:
        for child in children:
            child.join(timeout=30)
        assert [child.exitcode for child in children] == [0] * len(children)
    finally:
        for child in children:
            child.kill()
    totals = router.history.totals
    assert totals.told == totals.rounds


def test_a_router_made_before_a_fork_goes_on_in_both(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1)
    router.ask()

    def child(out):
        out.send(router.ask().id)

    mine, theirs = FORK.Pipe(duplex=False)
    worker = FORK.Process(target=child, args=(theirs,))
    worker.start()
    theirs.close()
    id = mine.recv()
    mine.close()
    worker.join()
    assert worker.exitcode == 0
    assert router.tell(id, 0.5).new
    assert router.rounds == 2


@pytest.mark.parametrize("own", [False, True], ids=["inherited", "opened by the child"])
def test_what_a_child_is_acknowledged_stays_when_the_parent_closes(lasting_place, own):
    """Two connections to one file across a fork: SQLite's parent removed the log that the child wrote."""
    url = lasting_place.at
    ready, go = FORK.Event(), FORK.Event()
    router = hf.open(url, "game", SWITCH, seed=1)
    router.ask()

    def child():
        mine = hf.open(url, "game") if own else router
        mine.ask()
        ready.set()
        assert go.wait(60)
        for _ in range(10):
            mine.ask()

    worker = FORK.Process(target=child)
    worker.start()
    assert ready.wait(60)
    router.close()
    go.set()
    worker.join()
    assert worker.exitcode == 0
    assert hf.open(url, "game").rounds == 12


def test_children_of_a_process_with_threads_find_the_file_whole(folder):
    """Forks, closes and calls at once: no call fails, and every acknowledged loss is there."""
    url = f"sqlite:///{folder}/g.db"
    routers = [hf.open(url, f"game {i}", SWITCH, seed=i, patience="forever") for i in range(8)]
    over = threading.Event()
    told = [0] * 4
    errors = []

    def decide(number):
        chance = random.Random(number)
        try:
            while not over.is_set():
                router = chance.choice(routers)
                router.tell(router.ask().id, 0.5)
                told[number] += 1
                if chance.random() < 0.1:
                    router.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    children = [FORK.Process(target=lambda i=i: play(routers[i % 8], 1)) for i in range(12)]
    for child in children:
        child.start()
        time.sleep(0.02)
    for child in children:
        child.join(timeout=60)
    over.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [child.exitcode for child in children] == [0] * 12
    assert sum(router.history.totals.told for router in routers) == sum(told) + 12
    routers[0].close()
    connection = sqlite3.connect(folder / "g.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_fork_in_the_middle_of_a_call_does_not_break_it(lasting_place):
    """A signal handler may fork at any moment."""
    router, chance = hf.open(lasting_place.at, "game", SWITCH, seed=1), random.Random(1)
    forks, ids, forking = 0, set(), False

    def fork(*_):
        nonlocal forks, forking
        if forking:  # Python itself waits for ever when it forks within a fork
            return
        forking = True
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        forks, forking = forks + 1, False

    before = signal.signal(signal.SIGALRM, fork)
    try:
        for _ in range(40):
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0001, 0.002))
            ids |= {d.id for d in router.ask(16)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert forks > 3
    assert len(ids) == router.rounds == 40 * 16


def test_a_store_that_nobody_uses_any_more_goes_without_waiting(folder):
    """Garbage is collected anywhere, also by a thread that a fork waits for."""
    url, over = f"sqlite:///{folder}/g.db", threading.Event()
    router = hf.open(url, "game", SWITCH, seed=1)

    def leave_cycles() -> None:
        while not over.is_set():
            cycle = [hf.open(SqliteStore(url), "game")]
            cycle.append(cycle)

    threads = [threading.Thread(target=leave_cycles) for _ in range(2)]
    for thread in threads:
        thread.start()
    gc.freeze()  # what other tests left behind would be searched each time
    for _ in range(40):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        gc.collect()
    gc.unfreeze()
    over.set()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert router.rounds == 0


def test_a_child_does_not_make_the_calls_that_wait_in_its_parent(lasting_place):
    """Its parent's threads make them: they would be made twice."""
    router = lasting_place.open(policy=SWITCH, seed=1)
    waiting = router._executor.submit(Ask(), start=False)
    child = FORK.Process(target=router.ask)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert len(waiting.result(timeout=60)) == 1
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
