"""Dask: replications distributed over the workers of a cluster, or over processes of this machine."""

from __future__ import annotations

import logging
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Self

import holdfast
from holdfast.checks import real_number, whole_number
from holdfast.errors import BackendLost, HoldfastError, InvalidParameter, MissingExtra
from holdfast.simulation.backends import Backend, split
from holdfast.simulation.tasks import Played, Task, run_task

LOOK_EVERY = 1.0
"""Seconds without a result after which the workers are checked."""

VERSION = "version"
MOST_FILES = 5
"""Files that an error names before it counts the rest."""

ADDRESS = re.compile(
    r"((tcp|tls|wss?|ucxx?)://)?(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):[0-9]{1,5}|inproc://[^\s/]+/[0-9]+/[0-9]+"
)
"""Addresses Dask can connect to; any other would make its client fail noisily."""


@dataclass
class DaskCluster(Backend):
    """A scheduler's address (``tcp://host:8786``), or None for `workers` local processes of one thread each.

    In a ``with`` block the connection, and a local cluster, serve every run in it; otherwise each run has its own.
    A piece of work whose worker is lost is done again elsewhere, as often as the scheduler's setting
    ``distributed.scheduler.allowed-failures`` says (3 unless changed). When all workers are lost for longer than
    `patience`, or the scheduler is, the run ends with `BackendLost`.
    """

    name: ClassVar[str] = "dask"
    scheduler: str | None = None
    workers: int | None = None
    answer_within: float = 10.0
    """Seconds a scheduler may take to answer."""
    patience: float = 60.0
    """Seconds a scheduler may be without any worker before the run gives up."""
    _cluster: Any = field(default=None, init=False, repr=False)
    _client: Any = field(default=None, init=False, repr=False)
    _held: Any = field(default=None, init=False, repr=False)
    """Environment last sent, and its future: it may be a large table, so it is sent once."""

    def __post_init__(self) -> None:
        if self.scheduler is not None and not (isinstance(self.scheduler, str) and ADDRESS.fullmatch(self.scheduler)):
            raise InvalidParameter("scheduler", "must be an address such as tcp://host:8786", self.scheduler)
        if self.workers is not None:
            self.workers = whole_number("workers", self.workers, least=1)
        self.answer_within = real_number("answer_within", self.answer_within, above=0)
        self.patience = real_number("patience", self.patience, above=0)

    def __enter__(self) -> Self:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise MissingExtra("backend 'dask' needs the extra: pip install 'holdfast[dask]'") from None
        if self.scheduler is None:
            free_port = "localhost:0"  # the default port may be another cluster's
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
        """Number of threads of the cluster that play concurrently, now."""
        return max(1, sum(self._client.nthreads().values())) if self._client is not None else 1

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Submit pieces of `tasks`, and pass on each result as it comes; pieces of a lost worker are played again."""
        if self._client is None:
            with copy(self) as own:  # other threads may be using this object
                return own.run(tasks, done)
        sent = [(task, self._environment(task)) for task in tasks]
        futures = [
            self._client.submit(_run_piece, piece, environment, SOURCES, pure=False)
            for task, environment in sent
            for piece in split(replace(task, environment=None), self.width)  # type: ignore[arg-type]  # it is sent separately
        ]
        for played in self._results(futures, [environment for _, environment in sent]):
            done(played)

    def _results(self, futures: list[Any], environments: list[Any]) -> Iterator[Played]:
        """Yield the result of each piece as it finishes; raise if there were no workers for too long."""
        from distributed import KilledWorker

        finished: SimpleQueue[Any] = SimpleQueue()
        for future in futures:
            future.add_done_callback(finished.put)
        left, alive = len(futures), time.monotonic()
        while left:
            try:
                future = finished.get(timeout=LOOK_EVERY)
            except Empty:
                alive = self._alive(alive)
                continue
            try:
                played: Played = future.result(timeout=self.patience)
            except KilledWorker as error:
                rule = "a piece of work was lost with its worker too often; are the workers short of memory?"
                raise BackendLost(f"{rule} ({error})") from None
            except (CancelledError, OSError) as error:
                if future.status == "error":  # an error of the game itself
                    raise
                for environment in environments:
                    if environment.status == "error":  # the piece could not be sent
                        unsent = environment.exception()
                        raise _not_found(unsent) or unsent from None
                if not isinstance(error, TimeoutError):
                    raise self._scheduler_lost() from None
                finished.put(future)  # its worker was lost with the result
                alive = self._alive(alive)
                continue
            except Exception as error:
                if (missing := _not_found(error)) is not None:
                    raise missing from error
                raise
            alive = time.monotonic()
            left -= 1
            future.release()
            yield played

    def _alive(self, last: float) -> float:
        """Return when there was last a worker: now, or `last`; raise if that is too long ago."""
        if self._client.status in ("closing", "closed"):
            raise self._scheduler_lost()
        workers = None
        with suppress(OSError, AttributeError):  # no answer from the scheduler
            workers = self._client.sync(
                self._client.scheduler.ncores, workers=None, callback_timeout=self.answer_within
            )
        now = time.monotonic()
        if workers:
            return now
        if now - last <= self.patience:
            return last
        if workers is None:
            raise self._scheduler_lost()
        without = f"has had no workers for {now - last:.0f} s"
        raise BackendLost(f"{self._named()} {without}, so the run was given up; what was finished is kept")

    def _scheduler_lost(self) -> BackendLost:
        return BackendLost(f"{self._named()} is gone, so the run was given up; what was finished is kept")

    def _named(self) -> str:
        return "the local Dask cluster" if self.scheduler is None else f"the Dask scheduler at {self.scheduler}"

    def _environment(self, task: Task) -> Any:
        """Return a future of the task's environment. A task makes it, so that no lost worker can take it along."""
        held = self._held
        if held is None or held[0] is not task.environment:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                held = task.environment, self._client.submit(_itself, task.environment, pure=False)
            self._held = held  # for the next run; by then it may be another thread's
        return held[1]

    def _connected(self, Client: Any) -> Any:
        try:
            client = Client(self._cluster or self.scheduler, timeout=self.answer_within, set_as_default=False)
        except (OSError, ValueError) as error:
            raise HoldfastError(f"no Dask scheduler answers at {self.scheduler}: {error}") from None
        try:
            client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError:
            client.close()
            rule = f"start some with: dask worker {self.scheduler}"
            raise HoldfastError(f"the Dask scheduler at {self.scheduler} has no workers; {rule}") from None
        return client


def _leave_interrupts_to_us(client: Any) -> None:
    """Make local workers ignore Ctrl-C, which reaches every process of a terminal, while this one winds up."""
    from distributed import WorkerPlugin

    class DeafToInterrupts(WorkerPlugin):  # type: ignore[misc]  # Dask has no types
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    client.register_plugin(DeafToInterrupts())


def _not_found(error: BaseException) -> HoldfastError | None:
    """Return the error for a user's module that the cluster does not have; None for any other error."""
    cause = error.__cause__ or error  # the scheduler's own words are about Dask
    if not isinstance(cause, ModuleNotFoundError) or isinstance(error, HoldfastError):
        return None
    return HoldfastError(f"{cause} on the Dask cluster: its scheduler and every worker must find the module, as here")


def _itself(environment: Any) -> Any:
    return environment


def _run_piece(task: Task, environment: Any, sources: dict[str, str]) -> Played:
    if sources != SOURCES:
        raise HoldfastError(_other_sources(sources, SOURCES))
    played = run_task(replace(task, environment=environment))
    assert played is not None  # nothing stops a worker's game
    return replace(played, task=task)


def _other_sources(here: dict[str, str], there: dict[str, str]) -> str:
    """Describe how a worker's Holdfast differs, whose numbers would differ too."""
    if here[VERSION] != there[VERSION]:
        return f"a worker has holdfast {there[VERSION]}; every worker must have {here[VERSION]}, as here"
    files = sorted(file for file in {**here, **there} if here.get(file) != there.get(file))
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    which = f"{', '.join(files[:MOST_FILES])}{more}"
    return (
        f"a worker has other sources of holdfast {here[VERSION]} than here, in {which}; "
        "install the same on every worker and start it again"
    )


def _sources() -> dict[str, str]:
    """Return the version, and a hash of each source file of the package as this process found it."""
    root = Path(holdfast.__file__).parent
    files = {str(PurePosixPath(file.relative_to(root))): file.read_bytes() for file in root.rglob("*.py")}
    return {VERSION: holdfast.__version__} | {name: sha256(text).hexdigest()[:16] for name, text in files.items()}


SOURCES = _sources()
"""Sources when this module was loaded: a worker keeps its code in memory when files change."""
