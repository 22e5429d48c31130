"""One game a thread on an NVIDIA GPU: the same kernels and the same loop, compiled for it.

The random numbers are those of the CPU; a rounding difference in a probability soon plays another arm, so the results
are equal in distribution, not bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np

from holdfast.errors import InvalidParameter, MissingExtra
from holdfast.numerics.random import STATE_SIZE
from holdfast.policies.policy import Kernel, Kernels
from holdfast.simulation.backends import Backend
from holdfast.simulation.game import (
    COSTS_EXHAUSTED,
    TALLY,
    TWO_STATES,
    Moves,
    Record,
    Rules,
    Scratch,
    compose_play,
    vector_rows,
    world_numbers,
    world_rows,
)
from holdfast.simulation.tasks import TRACED, Played, Task, check_played, empty_record

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 imports a name that NumPy 2.5 has dropped
    setattr(np, "row_stack", np.vstack)  # noqa: B010


try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numba_cuda  # noqa: F401  from here on numba.cuda is its
        from numba import cuda
except ImportError:
    raise MissingExtra("backend 'cuda' needs the extra: pip install 'holdfast[cuda]'") from None

THREADS_PER_BLOCK = 64
BUSY = 4096
MOST_REPLICATIONS_AT_ONCE = 2**20
BYTES_AT_ONCE = 2**31
"""Bytes of results per launch; larger runs use several, so memory does not grow with replications."""

MOST_LATE = 16_384
"""Most numbers that a game keeps of blocks whose losses are late."""

MOST_ARMS = 16_384
"""Most arms: each takes two numbers in a thread's local memory of 512 KiB."""


def require_device() -> None:
    """Raise an error that names the missing part if there is no GPU."""
    if not cuda.is_available():
        raise MissingExtra(
            "backend 'cuda' finds no NVIDIA GPU with its driver on this machine; use the backend 'threads' instead"
        )


@cache
def compose_launch(play: Kernel, policy: Kernels, n_arms: int, n_vectors: int, world: Moves | None, n_late: int) -> Any:
    """Return the GPU kernel of one game, number of arms and rows of vectors."""
    n_world, n_rows = world_numbers(world), world_rows(world, n_arms)
    n_numbers, n_block, n_tally = policy.state_layout.n_numbers, policy.block_layout.n_numbers, TALLY.n_numbers

    @cuda.jit  # type: ignore[untyped-decorator]  # Numba has no types
    def launch(rules: Any, first: int, stop: Any, record: Any, blocks: Any) -> None:
        row = cuda.grid(1)
        if row < blocks.shape[0]:
            scratch = Scratch(
                cuda.local.array((STATE_SIZE, 1), np.uint64),
                cuda.local.array((TWO_STATES, 1), np.uint64),
                cuda.local.array((STATE_SIZE, 1), np.uint64),
                cuda.local.array((n_numbers, 1), np.float64),
                cuda.local.array((n_vectors, 1), np.float64),
                cuda.local.array((n_block, 1), np.float64),
                cuda.local.array((n_tally, 1), np.float64),
                cuda.local.array((n_world, 1), np.float64),
                cuda.local.array((n_rows, 1), np.float64),
                cuda.local.array((STATE_SIZE, 1), np.uint64),
                cuda.local.array((n_block, 1), np.float64),
                cuda.local.array(n_late, np.float64),
            )
            own = Record(
                record.excess[row : row + 1],
                record.switches[row : row + 1],
                record.paid[row : row + 1],
                record.arms[row : row + 1],
                record.means[row : row + 1],
                record.plans[row : row + 1],
            )
            blocks[row] = play(rules, first + row, scratch, n_arms, stop, own)

    return launch


def on_device(rules: Rules) -> Rules:
    """Copy the rules with their arrays to the GPU."""
    arrays = {name: cuda.to_device(value) for name, value in rules._asdict().items() if isinstance(value, np.ndarray)}
    return rules._replace(tables=tuple(cuda.to_device(np.ascontiguousarray(t)) for t in rules.tables), **arrays)


def run_on_gpu(task: Task) -> Played:
    """Play a task with one thread a replication."""
    require_device()
    if task.policy.n_arms > MOST_ARMS:
        raise InvalidParameter("n_arms", f"must be at most {MOST_ARMS} on a GPU", task.policy.n_arms)
    if task.late_numbers > MOST_LATE:
        raise InvalidParameter("delay", "must be shorter on a GPU, where a game keeps all waiting blocks", task.delay)
    n_vectors = max(1, vector_rows(task.policy))  # CUDA has no empty arrays
    parts, kernels, K = task.parts(), task.policy.kernels, task.policy.n_arms
    launch = compose_launch(compose_play(parts), kernels, K, n_vectors, parts.world, task.late_numbers)
    grid = -(-task.count // THREADS_PER_BLOCK)
    record = Record(*map(cuda.to_device, empty_record(task, task.count)))
    blocks = cuda.device_array(task.count, np.int64)
    stop = cuda.to_device(np.zeros(1, dtype=np.uint8))
    costs = task.costs.table()
    while True:
        with warnings.catch_warnings():  # few replications leave a large GPU idle: the user knows
            warnings.simplefilter("ignore")
            launch[grid, THREADS_PER_BLOCK](on_device(task.rules(costs)), task.first, stop, record, blocks)
        played = blocks.copy_to_host()
        check_played(task, int(played.min()))
        if played.min() != COSTS_EXHAUSTED:
            columns = {name: column.copy_to_host() for name, column in record._asdict().items()}
            return Played(task, **columns, blocks=int(played.sum()))
        costs = task.costs.longer(costs)


@dataclass
class Cuda(Backend):
    """The GPU of this machine; entering a ``with`` block checks that there is one."""

    name = "cuda"
    side_by_side = False

    @property
    def width(self) -> int:
        """Number of games that keep a GPU busy; it plays more concurrently if there are more."""
        return BUSY

    def __enter__(self) -> Self:
        require_device()
        return self

    def run(self, tasks: Iterable[Task], done: Callable[[Played], None]) -> None:
        """Play `tasks` in launches of a million replications at most."""
        tasks = list(tasks)
        if traced := [name for task in tasks for name in task.record if name in TRACED]:
            raise InvalidParameter("record", "must leave out what needs the arm of every round on a GPU", traced[0])
        require_device()
        for task in tasks:
            row_bytes = sum(column.nbytes for column in empty_record(task, 1)) + 8
            size = max(1, min(MOST_REPLICATIONS_AT_ONCE, BYTES_AT_ONCE // row_bytes))
            for begin in range(0, task.count, size):
                done(run_on_gpu(replace(task, first=task.first + begin, count=min(size, task.count - begin))))
