"""Ways to spread replications. A backend splits and hands out tasks; it never plays a game differently."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol, cast

import numpy as np

from holdfast.checks import whole_number
from holdfast.errors import InvalidParameter, nearest
from holdfast.simulation.tasks import Played, Task, run_task, warm_up

PIECES_PER_WORKER = 8
"""Most tasks for each worker: enough that none waits long at the end, and for a progress bar to move."""


QUICK = 2**20
"""Rounds times arms, over all games, up to which no thread is started: at most some tens of milliseconds."""


class Backend(Protocol):
    """What `simulate` and studies need of a backend. In a ``with`` block all runs share what it opens."""

    name: str
    abreast: bool
    """Whether each of the `width` games at the same time may be a row of games abreast."""

    @property
    def width(self) -> int:
        """How many games it plays at the same time: at least 1."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play all of `tasks`, calling `done` on this thread for each piece that is finished, in any order."""


class Reporting:
    """Another backend that also tells `advance` how many games each finished piece had."""

    def __init__(self, backend: Backend, advance: Callable[[int], None]) -> None:
        self._backend, self._advance = backend, advance
        self.name, self.abreast = backend.name, backend.abreast

    @property
    def width(self) -> int:
        """That of the other backend."""
        return self._backend.width

    def __enter__(self) -> Reporting:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play as the other backend does."""

        def both(piece: Played) -> None:
            done(piece)
            self._advance(piece.task.count)

        self._backend.run(tasks, both)


def split(task: Task, workers: int) -> Iterator[Task]:
    """The task as a few tasks for each worker, of whole rows of games abreast where there are enough of them."""
    width = task.width if task.count >= workers * task.width else 1
    rows = -(-task.count // width)
    pieces = min(rows, workers if width < task.width else workers * PIECES_PER_WORKER)
    for i in range(pieces):
        begin, end = (min(rows * j // pieces * width, task.count) for j in (i, i + 1))
        yield replace(task, first=task.first + begin, count=end - begin)


@dataclass
class Threads:
    """All cores of this machine, or `workers` of them: the games hold no interpreter lock."""

    workers: int | None = None
    name: str = "threads"
    abreast: bool = True

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __post_init__(self) -> None:
        if self.workers is not None:
            self.workers = whole_number("workers", self.workers, least=1)

    @property
    def width(self) -> int:
        """How many threads play at the same time."""
        if self.workers is not None:
            return self.workers
        if hasattr(os, "sched_getaffinity"):  # the cores this process may use, where the system tells
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play `tasks` on threads; an interrupt ends the games in progress within a block."""
        tasks = list(tasks)
        if sum(task.count * task.horizon * task.policy.n_arms for task in tasks) <= QUICK:
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


def find_backend(backend: str | Backend, *, workers: int | None = None, scheduler: str | None = None) -> Backend:
    """The backend called `backend`, or `backend` itself when it is one."""
    if not isinstance(backend, str):
        return backend
    if scheduler is not None and backend != "dask":
        raise InvalidParameter("scheduler", "is only for the backend 'dask'", scheduler)
    if backend == "threads":
        return Threads(workers)
    if backend == "cuda":
        from holdfast.simulation.cuda import Cuda

        return Cuda()
    if backend == "dask":
        from holdfast.simulation.cluster import DaskCluster

        return DaskCluster(scheduler, workers)
    known = ("threads", "cuda", "dask")
    raise InvalidParameter("backend", f"must be one of {', '.join(map(repr, known))}{nearest(backend, known)}", backend)
