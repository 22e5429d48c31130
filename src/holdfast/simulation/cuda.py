"""One game a thread on an NVIDIA GPU: the same kernels and the same loop, compiled for it.

The random numbers are those of the CPU; a rounding difference in a probability soon plays another arm, so the results
are equal in distribution, not bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 imports a name that NumPy 2.5 has dropped
    setattr(np, "row_stack", np.vstack)  # noqa: B010

from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.policies.protocol import N_SCALARS
from holdfast.rng import STATE_SIZE, start_stream
from holdfast.simulation.game import COSTS_EXHAUSTED, Kernel, compose_play
from holdfast.simulation.tasks import Played, Task

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numba_cuda  # noqa: F401  from here on numba.cuda is its
        from numba import cuda
except ImportError:
    raise MissingExtra("backend 'cuda' needs the extra: pip install 'holdfast[cuda]'") from None

THREADS_PER_BLOCK = 64
MOST_REPLICATIONS_AT_ONCE = 2**20
BYTES_AT_ONCE = 2**31
"""Results of one launch: more are computed in several, so that memory does not grow with the replications."""

MOST_ARMS = 16_384
"""Two numbers an arm in each thread's local memory, which is 512 KiB."""


def require_device() -> None:
    """An error that says what is missing, where there is no GPU."""
    if not cuda.is_available():
        raise MissingExtra(
            "backend 'cuda' finds no NVIDIA GPU with its driver on this machine; use backend='threads' instead"
        )


@cache
def compose_launch(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel, n_arms: int) -> Any:
    """The GPU kernel of one policy, environment and number of arms."""
    play = compose_play(choose, observe, total, gap)

    @cuda.jit  # type: ignore[untyped-decorator]
    def launch(
        params: Any,
        tables: Any,
        costs: Any,
        announces_cost: bool,
        shuffled: bool,
        horizon: float,
        checkpoints: Any,
        policy_key: Any,
        environment_key: Any,
        first: int,
        stop: Any,
        excess: Any,
        switches: Any,
        paid: Any,
        blocks: Any,
    ) -> None:
        row = cuda.grid(1)
        if row >= blocks.shape[0]:
            return
        policy_stream = cuda.local.array(STATE_SIZE, np.uint64)
        environment_stream = cuda.local.array(STATE_SIZE, np.uint64)
        x = cuda.local.array(N_SCALARS, np.float64)
        C = cuda.local.array(n_arms, np.float64)
        w = cuda.local.array(n_arms, np.float64)
        for i in range(N_SCALARS):
            x[i] = 0.0
        for i in range(n_arms):
            C[i] = 0.0
            w[i] = 0.0
        start_stream(policy_key, first + row, policy_stream)
        start_stream(environment_key, first + row, environment_stream)
        blocks[row] = play(
            params,
            tables,
            costs,
            announces_cost,
            shuffled,
            horizon,
            checkpoints,
            policy_stream,
            environment_stream,
            x,
            C,
            w,
            stop,
            excess[row],
            switches[row],
            paid[row],
        )

    return launch


def run_on_gpu(task: Task) -> Played:
    """Play a task with one thread a replication."""
    require_device()
    if task.policy.n_arms > MOST_ARMS:
        raise InvalidParameter("n_arms", f"must be at most {MOST_ARMS} on a GPU", task.policy.n_arms)
    launch = compose_launch(
        task.policy.choose,
        task.policy.observe,
        task.environment.total_kernel,
        task.environment.gap_kernel,
        task.policy.n_arms,
    )
    shape = (task.count, len(task.checkpoints))
    excess, paid = cuda.device_array(shape, np.float64), cuda.device_array(shape, np.float64)
    switches, blocks = cuda.device_array(shape, np.int64), cuda.device_array(task.count, np.int64)
    tables = tuple(cuda.to_device(np.ascontiguousarray(array)) for array in task.environment.tables)
    costs = task.costs.table()
    while True:
        with warnings.catch_warnings():  # few replications leave a large GPU idle: the user knows
            warnings.simplefilter("ignore")
            launch[-(-task.count // THREADS_PER_BLOCK), THREADS_PER_BLOCK](
                cuda.to_device(task.policy.parameters(horizon=task.horizon)),
                tables,
                cuda.to_device(costs),
                task.announces_cost,
                task.environment.shuffled,
                float(task.horizon),
                cuda.to_device(np.array(task.checkpoints, dtype=np.float64)),
                cuda.to_device(task.policy_key()),
                cuda.to_device(task.environment_key()),
                task.first,
                cuda.to_device(np.zeros(1, dtype=np.uint8)),
                excess,
                switches,
                paid,
                blocks,
            )
        played = blocks.copy_to_host()
        if played.min() != COSTS_EXHAUSTED:
            break
        costs = task.costs.longer(costs)
    return Played(task, excess.copy_to_host(), switches.copy_to_host(), paid.copy_to_host(), int(played.sum()))


@dataclass
class Cuda:
    """The GPU of this machine."""

    name: str = "cuda"

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play `tasks` in launches of a million replications at most."""
        require_device()
        for task in tasks:
            row_bytes = 24 * len(task.checkpoints) + 8
            size = max(1, min(MOST_REPLICATIONS_AT_ONCE, BYTES_AT_ONCE // row_bytes))
            for begin in range(0, task.count, size):
                done(run_on_gpu(replace(task, first=task.first + begin, count=min(size, task.count - begin))))
