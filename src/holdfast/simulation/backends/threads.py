"""Threads of this machine: the games hold no interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ClassVar, cast

import numpy as np

from holdfast.checks import cores, whole_number
from holdfast.simulation.backends.backend import Backend, split
from holdfast.simulation.tasks import Played, Task, run_task, warm_up

QUICK = 2**20
"""What takes at most some tens of milliseconds, in rounds times arms."""


@dataclass
class Threads(Backend):
    """All cores of this machine, or `workers` of them.

    >>> import holdfast as hf
    >>> games = {"horizon": 100, "switching_cost": 0.1, "backend": Threads(workers=2)}
    >>> hf.simulate(hf.Exp3(2), hf.Bernoulli([0.3, 0.5]), **games).frame.height > 0
    True
    """

    name: ClassVar[str] = "threads"
    workers: int | None = None
    quick: int = QUICK
    """Rounds times arms, over all games, up to which no thread is started."""

    def __post_init__(self) -> None:
        if self.workers is not None:
            self.workers = whole_number("workers", self.workers, least=1)
        self.quick = whole_number("quick", self.quick, least=0)

    @property
    def width(self) -> int:
        """How many threads play at the same time."""
        return cores() if self.workers is None else self.workers

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play `tasks` on threads; an interrupt ends the games in progress within a block."""
        tasks = list(tasks)
        if sum(task.count * task.horizon * task.policy.n_arms for task in tasks) <= self.quick:
            for task in tasks:
                done(cast(Played, run_task(task)))
            return
        workers = self.width
        stop = np.zeros(1, dtype=np.uint8)
        pieces = [piece for task in tasks for piece in split(task, workers)]
        warm_up(pieces)
        left: SimpleQueue[Task | None] = SimpleQueue()
        results: SimpleQueue[Played | BaseException | None] = SimpleQueue()
        threads = [Thread(target=_play_what_is_left, args=(left, results, stop)) for _ in pieces[:workers]]
        for piece in [*pieces, *(None for _ in threads)]:
            left.put(piece)
        try:
            for thread in threads:
                thread.start()
            for _ in pieces:
                played = _next_result(results)
                if isinstance(played, BaseException):
                    raise played
                if played is not None:
                    done(played)
        finally:
            stop[0] = 1
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


def _next_result(results: SimpleQueue[Any]) -> Any:
    """The next result. Once polars is loaded, an interrupt does not end a wait without a limit."""
    while True:
        with suppress(Empty):
            return results.get(timeout=0.1)


def _play_what_is_left(left: SimpleQueue[Task | None], results: SimpleQueue[Any], stop: Any) -> None:
    """What a thread does until it finds None. Bare threads and two queues start and end quicker than a pool."""
    try:
        for piece in iter(left.get, None):
            results.put(None if stop[0] else run_task(piece, stop))
    except BaseException as error:
        results.put(error)
