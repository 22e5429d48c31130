"""Dask: replications spread over the workers of a cluster, or over processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.errors import HoldfastError, MissingExtra
from holdfast.simulation.backends import PIECES_PER_WORKER, split
from holdfast.simulation.tasks import Played, Task, run_task

RETRIES = 3
"""Workers that may be lost under one piece of work before the run gives up."""


@dataclass
class DaskCluster:
    """A scheduler's address (``tcp://host:8786``), or None for `workers` local processes of one thread each."""

    scheduler: str | None = None
    workers: int | None = None
    name: str = "dask"

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Submit pieces of `tasks`, and hand over each result as it comes; a lost worker's pieces are done again."""
        try:
            from distributed import Client, LocalCluster, as_completed
        except ImportError:
            raise MissingExtra("backend 'dask' needs the extra: pip install 'holdfast[dask]'") from None
        cluster: Any = None
        if self.scheduler is None:
            cluster = LocalCluster(n_workers=self.workers, threads_per_worker=1, dashboard_address=None)
        try:
            with self._client(Client, self.scheduler or cluster) as client:
                workers = max(1, sum(client.nthreads().values()))
                work = list(tasks)
                environment = client.scatter(work[0].environment, broadcast=True) if work else None
                futures = [
                    client.submit(_run_piece, piece, environment, retries=RETRIES, pure=False)
                    for task in work
                    for piece in split(_without_environment(task), workers * PIECES_PER_WORKER)
                ]
                for future in as_completed(futures):
                    done(future.result())
                    future.release()
        finally:
            if cluster is not None:
                cluster.close()

    def _client(self, Client: Any, address: Any) -> Any:
        try:
            return Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise HoldfastError(f"no Dask scheduler answers at {self.scheduler}: {error}") from None


def _without_environment(task: Task) -> Task:
    """The environment goes to each worker once, not with each piece: it may be a large table."""
    from dataclasses import replace

    return replace(task, environment=None)  # type: ignore[arg-type]


def _run_piece(task: Task, environment: Any) -> Played:
    from dataclasses import replace

    played = run_task(replace(task, environment=environment))
    assert played is not None  # nothing stops a worker's game
    return replace(played, task=task)
