"""The game: one loop over blocks, composed with the kernels of a policy and of an environment.

This loop is the only one. Threads and Dask workers run it through `compose_games`, a GPU thread through its own
few lines in `holdfast.simulation.cuda`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from holdfast._kernel import kernel
from holdfast.policies.protocol import ROUNDS
from holdfast.regret import NO_ARM, is_switch
from holdfast.rng import start_stream, uniform

STOPPED, COSTS_EXHAUSTED = -1, -2
"""What a game returns instead of its number of blocks when it was told to stop, or ran out of λ_n."""

Kernel = Callable[..., Any]


@cache
def compose_play(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel) -> Kernel:
    """The game of one replication."""

    @kernel
    def play(
        params: Any,
        tables: Any,
        costs: Any,
        announces_cost: bool,
        shuffled: bool,
        horizon: float,
        checkpoints: Any,
        policy_stream: Any,
        environment_stream: Any,
        x: Any,
        C: Any,
        w: Any,
        stop: Any,
        excess: Any,
        switches: Any,
        paid: Any,
    ) -> int:
        """Play to the horizon; at each checkpoint record the expected excess loss, the switches and their cost.

        `costs` is λ alone, or λ_1, λ_2, … of the blocks. `x`, `C` and `w` come in as zeros.
        """
        K = C.shape[0]
        shift = int(uniform(environment_stream) * K) if shuffled else 0
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
            arm = choose(params, x, C, w, lam if announces_cost else 1.0, policy_stream)
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
                excess[mark] = gained + (gain if at == end else gap(tables, place, t, at))
                switches[mark] = switched
                paid[mark] = cost
                mark += 1
            gained += gain
            if end < horizon:  # what the last block loses is never used
                observe(params, x, C, w, total(tables, place, t, end, environment_stream), end - t)
            t = end
        return n

    return play


@cache
def compose_games(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel) -> Kernel:
    """The games of a run of replications, one after the other."""
    play = compose_play(choose, observe, total, gap)

    @kernel
    def games(
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
        policy_stream: Any,
        environment_stream: Any,
        x: Any,
        C: Any,
        w: Any,
        stop: Any,
        excess: Any,
        switches: Any,
        paid: Any,
    ) -> int:
        """Fill one row of `excess`, `switches` and `paid` for each replication from `first` on."""
        blocks = 0
        for row in range(excess.shape[0]):
            start_stream(policy_key, first + row, policy_stream)
            start_stream(environment_key, first + row, environment_stream)
            x[:] = 0.0
            C[:] = 0.0
            w[:] = 0.0
            played: int = play(
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
            if played < 0:
                return played
            blocks += played
        return blocks

    return games
