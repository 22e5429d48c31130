"""Replications on any `concurrent.futures.Executor`: processes of this machine, loky, MPI, a Dask cluster."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import holdfast
from holdfast.checks import cores
from holdfast.errors import BackendLost, HoldfastError, MissingExtra
from holdfast.simulation.backends import WORKERS, Backend, split
from holdfast.simulation.tasks import Played, Task, run_task

LOOK_EVERY = 0.2
"""Seconds between checks for Ctrl-C."""

ANSWER_WITHIN, PATIENCE = 10.0, 60.0
"""Seconds for a Dask scheduler to answer, and to have a worker."""


@dataclass
class Executors(Backend):
    """Play on an executor that the caller owns, with `workers` concurrent games; by default one per core."""

    name = "executor"
    executor: Executor
    workers: int | None = field(default=None, metadata=WORKERS)

    @property
    def width(self) -> int:
        """Number of games played concurrently."""
        return cores() if self.workers is None else self.workers

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Submit pieces of `tasks`, and pass on each result as it comes."""
        play(self.executor, tasks, self.width, done)


def play(
    executor: Executor,
    tasks: Iterable[Task],
    width: int,
    done: Callable[[Played], None],
    send: Callable[[Any], Any] = lambda environment: environment,
) -> None:
    """Submit pieces of `tasks`; `send` returns a handle of an environment, which may be a large table."""
    waiting: set[Future[Played]] = set()
    try:
        for task in tasks:
            sent = send(task.environment)
            for piece in split(replace(task, environment=None), width):  # type: ignore[arg-type]  # it is sent separately
                waiting.add(executor.submit(_run_piece, piece, sent, SOURCES))
        while waiting:
            finished, waiting = wait(waiting, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            for future in finished:
                done(future.result())
    except (BrokenExecutor, CancelledError) as error:
        lost = "the workers are gone, so the run was given up; what was finished is kept"
        raise BackendLost(f"{lost} ({error!r})") from None
    except Exception as error:
        raise _explained(error) from error.__cause__
    finally:
        for future in waiting:
            future.cancel()


def _explained(error: BaseException) -> BaseException:
    """Return the error, or advice if a worker lacks a module of the user's."""
    cause = error.__cause__ or error  # Dask's own words are about Dask
    if not isinstance(cause, ModuleNotFoundError) or isinstance(error, HoldfastError):
        return error
    return HoldfastError(f"{cause} on a worker: the scheduler and every worker must find the module, as here")


@dataclass
class DaskCluster(Backend):
    """A scheduler's address (``tcp://host:8786``), or None for `workers` local processes of one thread each.

    In a ``with`` block the connection, and a local cluster, serve every run in it; otherwise each run has its own. Dask
    handles lost workers: ``distributed.scheduler.allowed-failures`` and its timeouts.
    """

    name = "dask"
    scheduler: str | None = None
    workers: int | None = field(default=None, metadata=WORKERS)
    _cluster: Any = field(default=None, init=False, repr=False)
    _client: Any = field(default=None, init=False, repr=False)

    def __enter__(self) -> Self:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise MissingExtra("backend 'dask' needs the extra: pip install 'holdfast[dask]'") from None
        if self.scheduler is None:
            options = {"threads_per_worker": 1, "dashboard_address": "localhost:0", "silence_logs": logging.ERROR}
            self._cluster = LocalCluster(n_workers=self.workers, **options)
        try:
            self._client = Client(self._cluster or self.scheduler, timeout=ANSWER_WITHIN, set_as_default=False)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            self.__exit__()
            raise HoldfastError(f"no Dask scheduler with workers answers at {self.scheduler}: {error}") from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        client, cluster = self._client, self._cluster
        self._client = self._cluster = None
        for opened in (client, cluster):
            if opened is not None:
                opened.close()

    @property
    def width(self) -> int:
        """Number of threads of the cluster that play concurrently, now."""
        return max(1, sum(self._client.nthreads().values())) if self._client is not None else 1

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play on the cluster's executor; an environment is sent once."""
        if self._client is None:
            with copy(self) as own:  # other threads may be using this object
                return own.run(tasks, done)
        from distributed import KilledWorker

        client, sent = self._client, {}

        def send(environment: Any) -> Any:
            if id(environment) not in sent:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="Sending large graph")
                    sent[id(environment)] = client.submit(_itself, environment, pure=False)
            return sent[id(environment)]

        try:
            with client.get_executor(pure=False) as executor:
                play(executor, list(tasks), self.width, done, send)
        except KilledWorker as error:
            rule = "a piece of work was lost with its worker too often; are the workers short of memory?"
            raise BackendLost(f"{rule} ({error})") from None
        except BackendLost:
            for environment in sent.values():
                if environment.status == "error":  # it could not be sent
                    raise _explained(environment.exception()) from None
            raise


def _itself(environment: Any) -> Any:
    return environment


def _run_piece(task: Task, environment: Any, sources: str) -> Played:
    if sources != SOURCES:
        raise HoldfastError(
            f"a worker has another holdfast than {sources}: {SOURCES}; install the same on every worker"
        )
    played = run_task(replace(task, environment=environment))
    assert played is not None  # nothing stops a worker's game
    return replace(played, task=task)


def _sources() -> str:
    """Return the version, and a hash of the package's sources as this process found them."""
    root, digest = Path(holdfast.__file__).parent, sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return f"{holdfast.__version__} ({digest.hexdigest()[:12]})"


SOURCES = _sources()
"""Sources when this module was loaded: a worker keeps its code in memory when files change."""
