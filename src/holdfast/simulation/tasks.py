"""A piece of work that any backend can do anywhere: a run of replications of one policy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.environments import Environment
from holdfast.players import policy_key
from holdfast.policies import Policy
from holdfast.policies.protocol import State
from holdfast.rng import STATE_SIZE, stream_key
from holdfast.simulation.costs import Costs
from holdfast.simulation.game import COSTS_EXHAUSTED, STOPPED, Kernel, Record, Rules, Scratch, compose_games

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

    def kernels(self) -> tuple[Kernel, Kernel, Kernel, Kernel]:
        """What the game is composed of."""
        policy, environment = self.policy, self.environment
        return policy.choose, policy.observe, environment.total_kernel, environment.gap_kernel

    def rules(self, costs: Array) -> Rules:
        """What is the same in every replication. The losses' streams are the same for every policy too."""
        return Rules(
            params=self.policy.parameters(horizon=self.horizon),
            tables=self.environment.tables,
            costs=costs,
            announces_cost=self.policy.announces == "switching_cost",
            shuffled=self.environment.shuffled,
            horizon=float(self.horizon),
            checkpoints=np.array(self.checkpoints, dtype=np.float64),
            policy_key=policy_key(self.seed, self.label),
            environment_key=stream_key(self.seed, "environment"),
        )


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
    games = compose_games(*task.kernels())
    shape = (task.count, len(task.checkpoints))
    record = Record(np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape))
    state = State.fresh(task.policy.n_arms)
    streams = np.zeros((2, STATE_SIZE), dtype=np.uint64)
    scratch = Scratch(streams[0], streams[1], state.x, state.C, state.w)
    signal = np.zeros(1, dtype=np.uint8) if stop is None else stop
    costs = task.costs.table()
    while True:
        blocks = games(task.rules(costs), task.first, scratch, signal, record)
        if blocks == STOPPED:
            return None
        if blocks != COSTS_EXHAUSTED:
            return Played(task, *record, int(blocks))
        costs = task.costs.longer(costs)


def warm_up(task: Task) -> None:
    """Compile, or load from the disk, what `task` needs, before threads ask for it all at once."""
    run_task(replace(task, count=0))
