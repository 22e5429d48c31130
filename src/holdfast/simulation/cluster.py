"""Dask: replications spread over the workers of a cluster, or over processes of this machine."""

from __future__ import annotations

import logging
import re
import signal
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import holdfast
from holdfast.checks import whole_number
from holdfast.errors import HoldfastError, InvalidParameter, MissingExtra
from holdfast.simulation.backends import split
from holdfast.simulation.tasks import Played, Task, run_task

ANSWER_WITHIN = 10.0
"""Seconds a scheduler may take to answer."""
WORKERS_WITHIN = 60.0
"""Seconds a scheduler may be without any worker before the run gives up."""

ADDRESS = re.compile(
    r"((tcp|tls|wss?|ucxx?)://)?(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):[0-9]{1,5}|inproc://[^\s/]+/[0-9]+/[0-9]+"
)
"""What Dask can connect to. It must not see another: a client that fails over the form of its address dies noisily."""


@dataclass
class DaskCluster:
    """A scheduler's address (``tcp://host:8786``), or None for `workers` local processes of one thread each.

    In a ``with`` block the connection, and a local cluster, serve every run in it; otherwise each run has its own.
    A piece of work whose worker is lost is done again elsewhere, as often as the scheduler's setting
    ``distributed.scheduler.allowed-failures`` says (3 unless changed).
    """

    scheduler: str | None = None
    workers: int | None = None
    name: str = "dask"
    abreast: bool = True
    _cluster: Any = field(default=None, init=False, repr=False)
    _client: Any = field(default=None, init=False, repr=False)
    _held: Any = field(default=None, init=False, repr=False)
    """The environment last sent, and where it is on the cluster: it may be a large table, so it goes once."""

    def __post_init__(self) -> None:
        if self.scheduler is not None and not (isinstance(self.scheduler, str) and ADDRESS.fullmatch(self.scheduler)):
            raise InvalidParameter("scheduler", "must be an address such as tcp://host:8786", self.scheduler)
        if self.workers is not None:
            self.workers = whole_number("workers", self.workers, least=1)

    def __enter__(self) -> DaskCluster:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise MissingExtra("backend 'dask' needs the extra: pip install 'holdfast[dask]'") from None
        if self.scheduler is None:
            free_port = "localhost:0"  # the usual one may be another cluster's
            self._cluster = LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                dashboard_address=free_port,
                silence_logs=logging.ERROR,
            )
        try:
            self._client = self._connected(Client)
            if self._cluster is not None:
                _leave_interrupts_to_us(self._client)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        client, cluster = self._client, self._cluster
        self._held = self._client = self._cluster = None
        for opened in (client, cluster):
            if opened is not None:
                opened.close()

    @property
    def width(self) -> int:
        """How many threads of the cluster play at the same time, now."""
        return max(1, sum(self._client.nthreads().values())) if self._client is not None else 1

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Submit pieces of `tasks`, and hand over each result as it comes; a lost worker's pieces are done again."""
        if self._client is None:
            with self:
                return self.run(tasks, done)
        from distributed import KilledWorker, as_completed

        futures = [
            self._client.submit(_run_piece, piece, self._environment(task), holdfast.__version__, pure=False)
            for task in tasks
            for piece in split(replace(task, environment=None), self.width)  # type: ignore[arg-type]
        ]
        try:
            for future in as_completed(futures, loop=self._client.loop):
                done(future.result())
                future.release()
        except KilledWorker as error:
            raise HoldfastError(
                f"a piece of work was lost with its worker too often; are the workers short of memory? ({error})"
            ) from None

    def _environment(self, task: Task) -> Any:
        """A future of the task's environment. It is made by a task of its own, so no lost worker can take it along."""
        if self._held is None or self._held[0] is not task.environment:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._held = task.environment, self._client.submit(_itself, task.environment, pure=False)
        return self._held[1]

    def _connected(self, Client: Any) -> Any:
        try:
            client = Client(self._cluster or self.scheduler, timeout=ANSWER_WITHIN, set_as_default=False)
        except (OSError, ValueError) as error:
            raise HoldfastError(f"no Dask scheduler answers at {self.scheduler}: {error}") from None
        try:
            client.wait_for_workers(1, timeout=WORKERS_WITHIN)
        except TimeoutError:
            client.close()
            rule = f"start some with: dask worker {self.scheduler}"
            raise HoldfastError(f"the Dask scheduler at {self.scheduler} has no workers; {rule}") from None
        return client


def _leave_interrupts_to_us(client: Any) -> None:
    """Ctrl-C reaches every process of a terminal: local workers must not die of it while this one winds up."""
    from distributed import WorkerPlugin

    class DeafToInterrupts(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    client.register_plugin(DeafToInterrupts())


def _itself(environment: Any) -> Any:
    return environment


def _run_piece(task: Task, environment: Any, version: str) -> Played:
    if holdfast.__version__ != version:
        raise HoldfastError(f"a worker has holdfast {holdfast.__version__}; every worker must have {version}, as here")
    played = run_task(replace(task, environment=environment))
    assert played is not None  # nothing stops a worker's game
    return replace(played, task=task)
