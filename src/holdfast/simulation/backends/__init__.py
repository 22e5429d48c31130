"""Ways to spread replications: threads of this machine, a Dask cluster, a GPU."""

from __future__ import annotations

from holdfast.checks import one_of
from holdfast.errors import InvalidParameter
from holdfast.simulation.backends.backend import Backend, Reporting
from holdfast.simulation.backends.threads import Threads

__all__ = ["BACKENDS", "Backend", "Reporting", "Threads", "find_backend"]

BACKENDS = ("threads", "cuda", "dask")
"""The names that `find_backend` knows."""


def find_backend(backend: str | Backend, *, workers: int | None = None, scheduler: str | None = None) -> Backend:
    """The backend called `backend`, or `backend` itself when it is one."""
    if isinstance(backend, Backend):
        return backend
    if one_of("backend", backend, BACKENDS) != "dask" and scheduler is not None:
        raise InvalidParameter("scheduler", "is only for the backend 'dask'", scheduler)
    if backend == "threads":
        return Threads(workers)
    if backend == "cuda":
        from holdfast.simulation.backends.cuda import Cuda

        return Cuda()
    from holdfast.simulation.backends.dask import DaskCluster

    return DaskCluster(scheduler, workers)
