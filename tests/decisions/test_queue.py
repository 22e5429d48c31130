"""The queue of processes before a SQLite file: first come, first served, and nobody waits for the dead."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from games import SWITCH
from together import FORK

import holdfast as hf
from holdfast.decisions.stores.queue import FIRST, Queue

SOON = 60.0
"""Seconds; nobody waits so long."""


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "log").touch()
    if Queue.at(str(tmp_path / "log")) is None:
        pytest.skip("this system has no locks of open files")
    return str(tmp_path / "log")


def test_who_came_first_is_served_first(log):
    serving, served = Queue(log), []
    serving.wait(time.monotonic() + SOON)
    queues = [Queue(log) for _ in range(5)]

    def work(number: int) -> None:
        queues[number].wait(time.monotonic() + SOON)
        served.append(number)
        queues[number].leave()

    with ThreadPoolExecutor(5) as threads:
        for number in range(5):
            threads.submit(work, number)
            while serving._before(FIRST, 1 << 62) < number + 1:
                time.sleep(0.001)
        assert served == []
        serving.leave()
    assert served == [0, 1, 2, 3, 4]


def test_a_place_is_given_up_at_the_deadline(log):
    first, second = Queue(log), Queue(log)
    first.wait(time.monotonic() + SOON)
    second.wait(time.monotonic() + 0.01)
    second.leave()
    assert first._before(FIRST, 1 << 62) == 0


def hold(url: str, ready: Any) -> None:
    store: Any = hf.open(url, "game").store
    store.names()
    store._queue.wait(time.monotonic() + SOON)
    ready.send(True)
    time.sleep(SOON)


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
