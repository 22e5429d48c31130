"""The game: one loop over blocks, composed with the kernels of a policy and of an environment.

This loop is the only one. Threads and Dask workers run it through `compose_games`, a GPU thread through its own
few lines in `holdfast.simulation.cuda`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from holdfast._kernel import kernel
from holdfast.policies.protocol import ROUNDS
from holdfast.regret import NO_ARM, is_switch
from holdfast.rng import start_stream, uniform

STOPPED, COSTS_EXHAUSTED = -1, -2
"""What a game returns instead of its number of blocks when it was told to stop, or ran out of λ_n."""

Kernel = Callable[..., Any]


class Rules(NamedTuple):
    """What is the same in every replication: read-only arrays and numbers."""

    params: Any
    tables: Any
    costs: Any
    """λ alone, or λ_1, λ_2, … of the blocks."""
    announces_cost: bool
    shuffled: bool
    horizon: float
    checkpoints: Any
    policy_key: Any
    environment_key: Any


class Scratch(NamedTuple):
    """What one game in progress needs: two streams and the policy's state."""

    policy_stream: Any
    environment_stream: Any
    x: Any
    C: Any
    w: Any


class Record(NamedTuple):
    """At each checkpoint: the expected excess loss, the switches and what they cost."""

    excess: Any
    switches: Any
    paid: Any


@kernel
def begin_game(rules: Any, replication: int, scratch: Any) -> None:
    """Put the streams at their start and the state at zero."""
    start_stream(rules.policy_key, replication, scratch.policy_stream)
    start_stream(rules.environment_key, replication, scratch.environment_stream)
    for i in range(scratch.x.shape[0]):
        scratch.x[i] = 0.0
    for i in range(scratch.C.shape[0]):
        scratch.C[i] = 0.0
        scratch.w[i] = 0.0


@cache
def compose_play(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel) -> Kernel:
    """The game of one replication."""

    @kernel
    def play(rules: Any, replication: int, scratch: Any, stop: Any, record: Any) -> int:
        """Play to the horizon, and record at each checkpoint; returns the number of blocks."""
        begin_game(rules, replication, scratch)
        x, C, w = scratch.x, scratch.C, scratch.w
        horizon, tables, costs, checkpoints = rules.horizon, rules.tables, rules.costs, rules.checkpoints
        K = C.shape[0]
        shift = int(uniform(scratch.environment_stream) * K) if rules.shuffled else 0
        marks, mark = checkpoints.shape[0], 0
        n_costs, n = costs.shape[0], 0
        previous, switched, cost, gained, t = NO_ARM, 0, 0.0, 0.0, 0.0
        while t < horizon:
            if stop[0] != 0:
                return STOPPED
            if n_costs == 1:
                lam = costs[0]
            elif n < n_costs:
                lam = costs[n]
            else:
                return COSTS_EXHAUSTED
            n += 1
            arm = choose(rules.params, x, C, w, lam if rules.announces_cost else 1.0, scratch.policy_stream)
            if is_switch(previous, arm):
                switched += 1
                cost += lam
                previous = arm
            place = arm + shift
            if place >= K:
                place -= K
            end = min(t + x[ROUNDS], horizon)
            gain = gap(tables, place, t, end)
            while mark < marks and checkpoints[mark] <= end:
                at = checkpoints[mark]
                record.excess[mark] = gained + (gain if at == end else gap(tables, place, t, at))
                record.switches[mark] = switched
                record.paid[mark] = cost
                mark += 1
            gained += gain
            if end < horizon:  # what the last block loses is never used
                lost = total(tables, place, t, end, scratch.environment_stream)
                observe(rules.params, x, C, w, lost, end - t)
            t = end
        return n

    return play


@cache
def compose_games(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel) -> Kernel:
    """The games of a run of replications, one after the other."""
    play = compose_play(choose, observe, total, gap)

    @kernel
    def games(rules: Any, first: int, scratch: Any, stop: Any, record: Any) -> int:
        """Fill one row of `record` for each replication from `first` on; returns the number of blocks."""
        blocks = 0
        for row in range(record.excess.shape[0]):
            own = Record(record.excess[row], record.switches[row], record.paid[row])
            played: int = play(rules, first + row, scratch, stop, own)
            if played < 0:
                return played
            blocks += played
        return blocks

    return games
