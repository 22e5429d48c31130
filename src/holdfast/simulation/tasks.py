"""A piece of work that any backend can do anywhere: a run of replications of one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.environments import Environment
from holdfast.players import policy_key
from holdfast.policies import Policy
from holdfast.policies.protocol import State
from holdfast.rng import STATE_SIZE, stream_key
from holdfast.simulation.costs import Costs
from holdfast.simulation.game import COSTS_EXHAUSTED, STOPPED, compose_games

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Replications `first` … `first + count − 1` of `policy`."""

    label: str
    policy: Policy
    environment: Environment
    horizon: int
    costs: Costs
    checkpoints: tuple[int, ...]
    seed: int
    first: int
    count: int

    def policy_key(self) -> NDArray[np.uint64]:
        """The streams the policy draws from."""
        return policy_key(self.seed, self.label)

    def environment_key(self) -> NDArray[np.uint64]:
        """The streams of the losses: the same for every policy."""
        return stream_key(self.seed, "environment")

    @property
    def announces_cost(self) -> bool:
        """Whether the policy is told λ_n when block n begins."""
        return self.policy.announces == "switching_cost"


@dataclass(frozen=True)
class Played:
    """What the replications of a task came to: one row each, one column a checkpoint."""

    task: Task
    excess: Array
    switches: NDArray[np.int64]
    paid: Array
    blocks: int


def run_task(task: Task, stop: NDArray[np.uint8] | None = None) -> Played | None:
    """Play a task on this thread; None when `stop` was set before its end."""
    games = compose_games(
        task.policy.choose, task.policy.observe, task.environment.total_kernel, task.environment.gap_kernel
    )
    shape = (task.count, len(task.checkpoints))
    excess, switches, paid = np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape)
    state = State.fresh(task.policy.n_arms)
    costs = task.costs.table()
    while True:
        blocks = games(
            task.policy.parameters(horizon=task.horizon),
            task.environment.tables,
            costs,
            task.announces_cost,
            task.environment.shuffled,
            float(task.horizon),
            np.array(task.checkpoints, dtype=np.float64),
            task.policy_key(),
            task.environment_key(),
            task.first,
            np.zeros(STATE_SIZE, dtype=np.uint64),
            np.zeros(STATE_SIZE, dtype=np.uint64),
            state.x,
            state.C,
            state.w,
            np.zeros(1, dtype=np.uint8) if stop is None else stop,
            excess,
            switches,
            paid,
        )
        if blocks == STOPPED:
            return None
        if blocks != COSTS_EXHAUSTED:
            return Played(task, excess, switches, paid, int(blocks))
        costs = task.costs.longer(costs)


def warm_up(task: Task) -> None:
    """Compile, or load from the disk, what `task` needs, before threads ask for it all at once."""
    from dataclasses import replace

    small: dict[str, Any] = {"count": 0}
    run_task(replace(task, **small))
