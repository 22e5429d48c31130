"""Tasks: pieces of work that any backend can do anywhere, each a run of replications of one policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import composed, kernel
from holdfast._numba.lanes import aligned_zeros
from holdfast.environments import Environment
from holdfast.environments.changing import PATH, ChangingEnvironment
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.random import next_uniform, start_stream, stream_key
from holdfast.numerics.regret import NO_ARM
from holdfast.players.game import broken_rules, policy_key
from holdfast.policies.policy import Kernel, Policy, packed_parameters
from holdfast.simulation.costs import Costs
from holdfast.simulation.delays import DELAYS, Delay, late_numbers
from holdfast.simulation.game import (
    AGAINST_THE_RULES,
    COSTS_EXHAUSTED,
    NO_LOSS,
    SIDE_BY_SIDE,
    STOPPED,
    TWO_STATES,
    Moves,
    Parts,
    Record,
    Rules,
    compose_by_round,
    compose_games,
    vector_rows,
    world_rows,
)

WORTH_ALL_LANES = 10
"""Games from which lanes, some of them idle, beat one game after the other."""

TRACED = {"realised", "pulls", "switch_times"}
"""Measures that need the arm of every round."""

MOST_ARMS_SIDE_BY_SIDE = 2**15
"""Most arms of games side by side: their state takes 16 MiB in each thread."""


NO_DELAYS, NO_KEY = np.zeros((1, 3)), stream_key(0, DELAYS)
"""In their place where no loss is late."""


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
    record: tuple[str, ...] = ()
    """Measures to be recorded beside those of every result (`holdfast.numerics.regret.ON_REQUEST`)."""
    paired: bool = False
    """True if losses depend on replication, arm and round alone."""
    delay: Delay | None = None
    """When losses are known; None for at once."""

    def parts(self) -> Parts:
        """Return the kernels the game is composed of."""
        kernels, world = self.policy.kernels, self.environment
        if isinstance(world, ChangingEnvironment):
            moves = Moves(world.move_kernel, world.react_kernel, world.state, world.noise)
            return Parts(kernels, None, None, moves, late=self.delay is not None)
        ahead = None
        if kernels.full_information:
            ahead = world.ahead_kernel if "forecast" in kernels.state_layout.names else world.shut_kernel
        total = world.total_kernel
        if self.paired:
            total = world.paired_kernel or compose_by_round(total)
        return Parts(kernels, total, world.gap_kernel, ahead=ahead, late=self.delay is not None)

    @property
    def width(self) -> int:
        """Number of replications best played side by side."""
        alone = self.policy.n_arms > MOST_ARMS_SIDE_BY_SIDE or isinstance(self.environment, ChangingEnvironment)
        return SIDE_BY_SIDE if self.policy.kernels.side_by_side and not alone and self.delay is None else 1

    @property
    def late_numbers(self) -> int:
        """Numbers that a game keeps of blocks whose losses are not all known."""
        return late_numbers(
            None if self.delay is None else self.delay.longest, self.policy.kernels.block_layout.n_numbers
        )

    def lanes(self) -> list[tuple[int, int]]:
        """Return (replications, lanes) of each part of the task. A few left over are played one by one."""
        rest = self.count % self.width
        alone = rest if rest < WORTH_ALL_LANES else 0
        return [(count, width) for count, width in ((self.count - alone, self.width), (alone, 1)) if count]

    def few_at_once(self) -> list[tuple[int, int]]:
        """Return the parts cut to their lanes, so that the arms of few games are in memory at once."""
        return [(min(width, count - begin), width) for count, width in self.lanes() for begin in range(0, count, width)]

    def rules(self, costs: Array) -> Rules:
        """Return the inputs common to all replications. The losses' streams are the same for every policy too."""
        tables = self.environment.tables
        if not (isinstance(tables, tuple) and all(isinstance(table, np.ndarray) for table in tables)):
            raise InvalidParameter(f"tables of {type(self.environment).__name__}", "must be a tuple of arrays", tables)
        return Rules(
            params=packed_parameters(self.policy, self.policy.parameters_reaching(horizon=self.horizon)),
            tables=tables,
            costs=costs,
            pairs=self.costs.pair_table(),
            announces_cost=self.policy.announces == "switching_cost",
            ranges=np.array(self.environment.ranges),
            shuffled=self.environment.shuffled,
            horizon=float(self.horizon),
            checkpoints=np.array(self.checkpoints, dtype=np.float64),
            policy_key=policy_key(self.seed, self.label),
            environment_key=stream_key(self.seed, "environment"),
            path_key=stream_key(self.seed, PATH),
            plan_cost=float(self.costs.constant or 0.0) if "dynamic" in self.record else -1.0,
            delays=NO_DELAYS if self.delay is None else self.delay.table(self.policy.n_arms),
            delay_key=NO_KEY if self.delay is None else stream_key(self.seed, DELAYS),
            drops=self.delay is not None and self.delay.missing == "drop",
        )


@dataclass(frozen=True)
class Played:
    """Results of a task's replications: one row each, one column per checkpoint."""

    task: Task
    excess: Array
    switches: NDArray[np.int64]
    paid: Array
    arms: NDArray[np.int32]
    """Arm of each round, if asked for."""
    means: Array
    plans: Array
    """Sums of all means, and costs of best plans, where the environment draws its path in each game."""
    blocks: int
    traces: Mapping[str, Any] = field(default_factory=dict)
    """Measures of `TRACED` that were asked for."""


def run_task(task: Task, stop: NDArray[np.uint8] | None = None, *, with_arms: bool = False) -> Played | None:
    """Play a task on this thread; None when `stop` was set before its end."""
    record, traced = empty_record(task, task.count, task.horizon if with_arms else 0), TRACED & set(task.record)
    traces: list[dict[str, Any]] = []
    signal = np.zeros(1, dtype=np.uint8) if stop is None else stop
    costs = task.costs.table()
    done = blocks = 0
    for count, width in task.lanes() if not traced else task.few_at_once():
        own = Record(*(column[done : done + count] for column in record))
        if traced and not with_arms:
            own = own._replace(arms=np.zeros((count, task.horizon), dtype=np.int32))
        while (played := _play(task, width, task.first + done, costs, signal, own)) == COSTS_EXHAUSTED:
            costs = task.costs.longer(costs)
        if played == STOPPED:
            return None
        check_played(task, played)
        if traced:
            traces.append(_traced(task, traced, own.arms, task.first + done))
        done += count
        blocks += played
    return Played(task, *record, blocks, {name: np.concatenate([part[name] for part in traces]) for name in traced})


def _traced(task: Task, names: set[str], arms: Any, first: int) -> dict[str, Any]:
    """Return the measures asked for of the games from `first` on, which played these arms."""
    K, marks = task.policy.n_arms, task.checkpoints
    made = {
        "pulls": lambda: pulls(arms, marks, K),
        "switch_times": lambda: switch_times(arms, marks),
        "realised": lambda: realised(arms, task.rules(task.costs.table()), task.parts().total, K, first),
    }
    return {name: made[name]() for name in names}


def check_played(task: Task, played: int) -> None:
    """Raise if a user-defined kernel ended the game."""
    if played == AGAINST_THE_RULES:
        raise broken_rules(task.label, task.policy.n_arms)
    own = type(task.environment).__name__
    if played == NO_LOSS and isinstance(task.environment, ChangingEnvironment):
        raise HoldfastError(f"{own} must keep the means of all arms from 0 to 1: look at state.mean in its move_kernel")
    if played == NO_LOSS:
        raise HoldfastError(
            f"{own} must lose from 0 to 1 in each round, as a share of its units: look at totals in its total_kernel"
        )


def warm_up(tasks: Iterable[Task]) -> None:
    """Compile, or load from disk, what `tasks` need, before threads request it all at once."""
    needed = {(task.parts(), width): task for task in tasks for _, width in task.lanes()}
    for (_, width), task in needed.items():
        traced = int(not TRACED.isdisjoint(task.record))
        _play(task, width, 0, task.costs.table(), np.zeros(1, dtype=np.uint8), empty_record(task, 0, traced))


def empty_record(task: Task, count: int, rounds: int = 0) -> Record:
    """Return room for the results of `count` games, and for the arms of `rounds` rounds."""
    shape, moves = (count, len(task.checkpoints)), isinstance(task.environment, ChangingEnvironment)
    means = np.zeros((*shape, task.policy.n_arms if moves else 0))
    plans = np.zeros(shape if moves and "dynamic" in task.record else (count, 0))
    arms = np.zeros((count, rounds), dtype=np.int32)
    return Record(np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape), arms, means, plans)


def _play(task: Task, width: int, first: int, costs: Array, stop: NDArray[np.uint8], record: Record) -> int:
    parts, K = task.parts()._replace(with_arms=record.arms.shape[1] > 0), task.policy.n_arms
    vectors, world = aligned_zeros(vector_rows(task.policy) * width), aligned_zeros(world_rows(parts.world, K) * width)
    games = compose_games(parts, width)
    return int(games(task.rules(costs), first, vectors, world, np.zeros(task.late_numbers), K, stop, record))


# Measures that need the arm of every round of a game: pulls, switch times, realised regret.


def pulls(arms: Any, marks: Any, n_arms: int) -> Any:
    """Return how often each arm was played up to each checkpoint, a list for each game and checkpoint."""
    ends = [0, *marks]
    counts = [[np.bincount(own[a:b], minlength=n_arms) for a, b in zip(ends, marks, strict=False)] for own in arms]
    return _cells([np.cumsum(own, axis=0) for own in counts])


def switch_times(arms: Any, marks: Any) -> Any:
    """Return the rounds, from 1, of the switches since the checkpoint before; the first play is a switch."""
    times = [np.flatnonzero(np.diff(own, prepend=NO_ARM)) + 1 for own in arms]
    return _cells([np.split(own, np.searchsorted(own, marks[:-1], side="right")) for own in times])


def realised(arms: Any, rules: Rules, total: Kernel, n_arms: int, first: int) -> Any:
    """Return the losses drawn in paired games less those of the arm with the least of them, up to each checkpoint."""
    found, memory = np.zeros((len(arms), len(rules.checkpoints))), np.zeros((TWO_STATES, 1), dtype=np.uint64)
    compose_realised(total)(rules, first, arms, memory, np.zeros(1), np.zeros(1), np.zeros(n_arms), found)
    return found


def _cells(lists: list[Any]) -> Any:
    """Return an array with a list in each cell, even where all lists are equally long."""
    cells = np.empty((len(lists), len(lists[0])), dtype=object)
    for row, own in zip(cells, lists, strict=True):
        for m, cell in enumerate(own):
            row[m] = cell
    return cells


@composed
def compose_realised(total: Kernel) -> Kernel:
    """Return the kernel that draws again the losses of paired games, of what was played and of every arm."""

    @kernel
    def draw(rules: Any, first: int, arms: Any, streams: Any, place: Any, lost: Any, sums: Any, found: Any) -> None:
        K = sums.shape[0]
        for g in range(arms.shape[0]):
            start_stream(rules.environment_key, first + g, streams[:, 0])
            shift = int(next_uniform(streams, 0) * K) if rules.shuffled else 0
            played, begin = 0.0, 0
            for i in range(K):
                sums[i] = 0.0
            for mark in range(rules.checkpoints.shape[0]):
                stop, t = int(rules.checkpoints[mark]), begin
                for i in range(K):
                    place[0] = float(i)
                    total(rules.tables, place, float(begin), float(stop), streams, lost)
                    sums[i] += lost[0]
                while t < stop:
                    end = t + 1
                    while end < stop and arms[g, end] == arms[g, t]:
                        end += 1
                    place[0] = float((arms[g, t] + shift) % K)
                    total(rules.tables, place, float(t), float(end), streams, lost)
                    played += lost[0]
                    t = end
                least = sums[0]
                for i in range(1, K):
                    least = min(least, sums[i])
                found[g, mark] = played - least
                begin = stop

    return draw
