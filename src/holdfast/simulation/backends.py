"""Backends: ways to split tasks into pieces and distribute them, never to play a game differently.

    with backend:                   opens what all runs share: a cluster, a check that the device is there
        backend.run(tasks, done)    plays all tasks; `done` is called for each piece that is finished

`run` outside a ``with`` block opens and closes for itself. `tests/simulation/test_backends.py` tests all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, ClassVar, Self, cast

import numpy as np

from holdfast.checks import check_fields, cores, one_of, or_none, whole
from holdfast.errors import InvalidParameter
from holdfast.simulation.tasks import Played, Task, run_task, warm_up

PIECES_PER_WORKER = 8
"""Most tasks per worker: enough for balanced endings and a moving progress bar."""


WORKERS = or_none(whole(least=1))


class Backend(ABC):
    """A way to distribute replications. Derive from it for a user-defined one."""

    name: ClassVar[str]
    """Name in a result's provenance."""
    side_by_side: ClassVar[bool] = True
    """True if each of the `width` concurrent games may fill all vector lanes."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of games played concurrently, at least 1."""

    @abstractmethod
    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play all of `tasks`, and call `done` on the caller's thread for each finished piece, in any order.

        Together the pieces are the replications of the tasks, each once. An error of a game, or of `done`, ends the run
        and is raised here; so is KeyboardInterrupt. What `done` was given before stays good.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Reporting(Backend):
    """A backend that also reports to `advance` how many games each finished piece had."""

    def __init__(self, backend: Backend, advance: Callable[[int], None]) -> None:
        self._backend, self._advance = backend, advance
        self.name, self.side_by_side = backend.name, backend.side_by_side  # type: ignore[misc]  # those of this one object

    @property
    def width(self) -> int:
        return self._backend.width

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        def both(piece: Played) -> None:
            done(piece)
            self._advance(piece.task.count)

        self._backend.run(tasks, both)


def split(task: Task, workers: int) -> Iterator[Task]:
    """Split the task into a few for each worker, of full lanes where there are enough games."""
    width = task.width if task.count >= workers * task.width else 1
    filled = -(-task.count // width)
    pieces = min(filled, workers if width < task.width else workers * PIECES_PER_WORKER)
    for i in range(pieces):
        begin, end = (min(filled * j // pieces * width, task.count) for j in (i, i + 1))
        yield replace(task, first=task.first + begin, count=end - begin)


# Threads of this machine: the games release the interpreter lock.

QUICK = 2**20
"""Rounds times arms that take at most some tens of milliseconds."""


@dataclass
class Threads(Backend):
    """All cores of this machine, or `workers` of them.

    >>> import holdfast as hf
    >>> games = {"horizon": 100, "switching_cost": 0.1, "backend": Threads(workers=2)}
    >>> hf.simulate(hf.Exp3(2), hf.Bernoulli([0.3, 0.5]), **games).frame.height > 0
    True
    """

    name = "threads"
    workers: int | None = field(default=None, metadata=WORKERS)
    quick: int = field(default=QUICK, metadata=whole(least=0))
    """Rounds times arms, over all games, up to which no thread is started."""

    @property
    def width(self) -> int:
        """Number of threads that play concurrently."""
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
    """Return the next result, polling: once polars is loaded, an interrupt does not end an unlimited wait."""
    while True:
        with suppress(Empty):
            return results.get(timeout=0.1)


def _play_what_is_left(left: SimpleQueue[Task | None], results: SimpleQueue[Any], stop: Any) -> None:
    """Play tasks until one is None. Bare threads and two queues start and end faster than a pool."""
    try:
        for piece in iter(left.get, None):
            results.put(None if stop[0] else run_task(piece, stop))
    except BaseException as error:
        results.put(error)


BACKENDS = ("threads", "cuda", "dask")
"""Names that `find_backend` knows."""


def find_backend(
    backend: str | Backend | Executor, *, workers: int | None = None, scheduler: str | None = None
) -> Backend:
    """Return the backend of this name, one that plays on this executor, or `backend` itself when it is one."""
    if isinstance(backend, Backend):
        return backend
    if isinstance(backend, Executor):
        from holdfast.simulation.executors import Executors

        return Executors(backend, workers)
    if one_of("backend", backend, BACKENDS) != "dask" and scheduler is not None:
        raise InvalidParameter("scheduler", "is only for the backend 'dask'", scheduler)
    if backend == "threads":
        return Threads(workers)
    if backend == "cuda":
        from holdfast.simulation.cuda import Cuda

        return Cuda()
    from holdfast.simulation.executors import DaskCluster

    return DaskCluster(scheduler, workers)
