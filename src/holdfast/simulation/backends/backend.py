"""What every backend is: it splits tasks into pieces and hands them out; it never plays a game differently.

    with backend:                   opens what all runs share: a cluster, a check that the device is there
        backend.run(tasks, done)    plays all tasks; `done` is called for each piece that is finished

`run` outside a ``with`` block opens and closes for itself. `tests/simulation/test_backends.py` tests
that all backends do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import ClassVar, Self

from holdfast.simulation.tasks import Played, Task

PIECES_PER_WORKER = 8
"""Most tasks for each worker: enough that none waits long at the end, and for a progress bar to move."""


class Backend(ABC):
    """A way to spread replications. Derive from it for a user-defined one."""

    name: ClassVar[str]
    """What it is called in a result's provenance."""
    side_by_side: ClassVar[bool] = True
    """Whether each of the `width` games at the same time may be a row of games side by side."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many games it plays at the same time: at least 1."""

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
    """Another backend that also tells `advance` how many games each finished piece had."""

    def __init__(self, backend: Backend, advance: Callable[[int], None]) -> None:
        self._backend, self._advance = backend, advance
        self.name, self.side_by_side = backend.name, backend.side_by_side  # type: ignore[misc]  # those of this one object

    @property
    def width(self) -> int:
        """That of the other backend."""
        return self._backend.width

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play as the other backend does."""

        def both(piece: Played) -> None:
            done(piece)
            self._advance(piece.task.count)

        self._backend.run(tasks, both)


def split(task: Task, workers: int) -> Iterator[Task]:
    """The task as a few tasks for each worker, of whole rows of games side by side where there are enough of them."""
    width = task.width if task.count >= workers * task.width else 1
    rows = -(-task.count // width)
    pieces = min(rows, workers if width < task.width else workers * PIECES_PER_WORKER)
    for i in range(pieces):
        begin, end = (min(rows * j // pieces * width, task.count) for j in (i, i + 1))
        yield replace(task, first=task.first + begin, count=end - begin)
