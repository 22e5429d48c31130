"""The queue of processes before a SQLite file: first come, first served, and nobody waits for the dead."""

import gc
import os
import signal
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from games import SWITCH
from together import FORK

import holdfast as hf
from holdfast.decisions.stores.sqlite import Queue

SOON = 60.0
"""Seconds; nobody waits so long."""


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "log").touch()
    queue = Queue.at(str(tmp_path / "log"))
    if queue is None:
        pytest.skip("this system lacks what a queue needs")
    queue.close()
    return str(tmp_path / "log")


def standing(log: str) -> int:
    """How many stand in the queue."""
    file = f":{os.stat(log).st_ino} "
    return sum(file in line for line in Path("/proc/locks").read_text().splitlines())


@pytest.fixture
def queues(log: str) -> Iterator[list[Queue]]:
    """Those of six processes."""
    found = [Queue(log) for _ in range(6)]
    yield found
    for queue in found:
        queue.close()


def test_who_came_first_is_served_first_and_rung_for(log, queues):
    served, (serving, *queues) = [], queues
    for queue in queues:
        queue._bell.settimeout(SOON)  # nobody looks by himself
    serving.wait(time.monotonic() + SOON)

    def work(number: int) -> None:
        queues[number].wait(time.monotonic() + SOON)
        served.append(number)
        queues[number].leave()

    began = time.monotonic()
    with ThreadPoolExecutor(5) as threads:
        for number in range(5):
            threads.submit(work, number)
            while standing(log) < number + 2:
                time.sleep(0.001)
        assert served == []
        serving.leave()
    assert served == [0, 1, 2, 3, 4]
    assert time.monotonic() - began < SOON


def test_one_that_is_not_rung_looks(log, queues, monkeypatch):
    first, second, *_ = queues
    monkeypatch.setattr("holdfast.decisions.stores.sqlite._address", lambda number: b"\0nobody")
    first.wait(time.monotonic() + SOON)
    with ThreadPoolExecutor(1) as thread:
        waited = thread.submit(second.wait, time.monotonic() + SOON)
        while standing(log) < 2:
            time.sleep(0.001)
        first.leave()
        waited.result(SOON / 2)


def test_a_place_is_given_up_at_the_deadline(log, queues):
    first, second, *_ = queues
    first.wait(time.monotonic() + SOON)
    second.wait(time.monotonic() + 0.01)
    second.leave()
    assert standing(log) == 1


def test_a_queue_that_a_fork_closes_in_the_middle_of_a_call_says_nothing(log):
    """The connection that was closed with it says so."""
    serving, waiting = Queue(log), Queue(log)
    serving.wait(time.monotonic() + SOON)
    for queue in (serving, waiting):
        queue.close()
    serving.leave()
    waiting.wait(time.monotonic() + SOON)
    assert standing(log) == 0


def hold(url: str, ready: Any) -> None:
    store: Any = hf.open(url, "game").store
    store.names()
    store._queue.wait(time.monotonic() + SOON)
    ready.send(True)
    time.sleep(SOON)


def test_a_queue_that_is_forgotten_in_a_cycle_leaves_nothing_open(log):
    def forgotten() -> None:
        cycle: list[Any] = [Queue(log)]
        cycle.append(cycle)

    gc.collect()
    known = set(os.listdir("/proc/self/fd"))
    forgotten()
    assert len(os.listdir("/proc/self/fd")) == len(known) + 2
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gc.collect()
    assert not said
    assert set(os.listdir("/proc/self/fd")) == known


def test_nobody_waits_for_a_process_that_was_killed(tmp_path, log):
    url = f"sqlite:///{tmp_path}/games.db"
    with hf.open(url, "game", SWITCH, seed=1) as router:
        router.ask()
        store: Any = router.store
        here, there = FORK.Pipe()
        holder = FORK.Process(target=hold, args=(url, there))
        holder.start()
        assert here.recv()
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(router.ask)
            while store._queue is None or not store._queue._place:
                time.sleep(0.001)
            assert not asked.done()
            os.kill(holder.pid, signal.SIGKILL)
            assert asked.result(SOON).block == 1
        holder.join()
