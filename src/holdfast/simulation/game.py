"""The game: one loop over blocks, composed with the kernels of a policy and of an environment.

This loop is the only one. It plays one game, or `ABREAST` games in the lanes of the processor's vector registers: game
by game both do the same arithmetic, so they give the same bits. Threads and Dask workers run it through
`compose_games`, a GPU thread through its own few lines in `holdfast.simulation.backends.cuda`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from holdfast._numba.compile import kernel
from holdfast._numba.rows import as_rows, local_rows, local_words
from holdfast.policies.protocol import ARM, N_SCALARS, ROUNDS
from holdfast.regret import NO_ARM, is_switch
from holdfast.rng import STATE_SIZE, start_stream, uniform_abreast
from holdfast.schedules import LONGEST

ABREAST = 32
"""Games played abreast: four registers of eight numbers. With fewer the compiler unrolls its loops before it sees that
they could be vectors; more gain nothing."""

STOPPED, COSTS_EXHAUSTED, AGAINST_THE_RULES = -1, -2, -3
"""What a game returns instead of its number of blocks: it was told to stop, ran out of λ_n, or its policy named an arm
or a number of rounds that there is not."""

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
    """What the games in progress need, one column each: two streams, the policy's state and what they have come to."""

    policy_streams: Any
    environment_streams: Any
    x: Any
    C: Any
    w: Any
    tally: Any


class Record(NamedTuple):
    """At each checkpoint of each game: the expected excess loss, the switches and what they cost."""

    excess: Any
    switches: Any
    paid: Any


PREVIOUS, SHIFT, PLACE, TOTAL, GAP, GAINED, SWITCHED, PAID = range(8)
"""Rows of the tally: the arm of the last block, by how many places the arms are rotated, where the current arm stands,
what its block lost and by how much more than the reference arm; the sum of those, the switches, their cost."""

TALLIED = 8


@kernel
def begin_games(rules: Any, first: int, scratch: Any) -> None:
    """Put the streams at their start and the state at zero."""
    K = scratch.C.shape[0]
    for g in range(scratch.x.shape[1]):
        start_stream(rules.policy_key, first + g, scratch.policy_streams[:, g])
        start_stream(rules.environment_key, first + g, scratch.environment_streams[:, g])
        for i in range(N_SCALARS):
            scratch.x[i, g] = 0.0
        for i in range(K):
            scratch.C[i, g] = 0.0
            scratch.w[i, g] = 0.0
        for i in range(TALLIED):
            scratch.tally[i, g] = 0.0
        scratch.tally[PREVIOUS, g] = NO_ARM
        if rules.shuffled:
            scratch.tally[SHIFT, g] = float(int(uniform_abreast(scratch.environment_streams, g) * K))


@cache
def one_by_one(choose: Kernel, observe: Kernel) -> tuple[Kernel, Kernel]:
    """Kernels for games abreast, from those of one game."""

    @kernel
    def choose_abreast(params: Any, x: Any, C: Any, w: Any, announced: float, streams: Any) -> None:
        for g in range(x.shape[1]):
            x[ARM, g] = choose(params, x[:, g], C[:, g], w[:, g], announced, streams[:, g])

    @kernel
    def observe_abreast(params: Any, x: Any, C: Any, w: Any, totals: Any, rounds: float) -> None:
        for g in range(x.shape[1]):
            observe(params, x[:, g], C[:, g], w[:, g], totals[g], rounds)

    return choose_abreast, observe_abreast


@cache
def compose_play(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel) -> Kernel:
    """The game of a few replications, as many as `scratch` has columns."""

    @kernel
    def play(rules: Any, first: int, scratch: Any, stop: Any, record: Any) -> int:
        """Play to the horizon, and record at each checkpoint; returns the number of blocks."""
        begin_games(rules, first, scratch)
        x, C, w, tally = scratch.x, scratch.C, scratch.w, scratch.tally
        horizon, tables, costs, checkpoints = rules.horizon, rules.tables, rules.costs, rules.checkpoints
        K = float(C.shape[0])
        marks, mark = checkpoints.shape[0], 0
        n_costs, n, t = costs.shape[0], 0, 0.0
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
            choose(rules.params, x, C, w, lam if rules.announces_cost else 1.0, scratch.policy_streams)
            wrong = 0
            for g in range(x.shape[1]):
                wrong += int((x[ARM, g] < 0.0) | (x[ARM, g] >= K))
                switch = is_switch(tally[PREVIOUS, g], x[ARM, g])
                tally[SWITCHED, g] += 1.0 if switch else 0.0
                tally[PAID, g] += lam if switch else 0.0
                tally[PREVIOUS, g] = x[ARM, g]
                place = x[ARM, g] + tally[SHIFT, g]
                tally[PLACE, g] = place - K if place >= K else place
            rounds = x[ROUNDS, 0]
            if wrong > 0 or not 1.0 <= rounds <= LONGEST or rounds != math.floor(rounds):
                return AGAINST_THE_RULES
            end = min(t + rounds, horizon)
            while mark < marks and checkpoints[mark] <= end:
                gap(tables, tally[PLACE], t, checkpoints[mark], tally[GAP])
                for g in range(record.excess.shape[0]):
                    record.excess[g, mark] = tally[GAINED, g] + tally[GAP, g]
                    record.switches[g, mark] = int(tally[SWITCHED, g])
                    record.paid[g, mark] = tally[PAID, g]
                mark += 1
            if end < horizon:  # what the last block loses is never used
                gap(tables, tally[PLACE], t, end, tally[GAP])
                for g in range(x.shape[1]):
                    tally[GAINED, g] += tally[GAP, g]
                total(tables, tally[PLACE], t, end, scratch.environment_streams, tally[TOTAL])
                observe(rules.params, x, C, w, tally[TOTAL], end - t)
            t = end
        return n

    return play


@cache
def compose_games(choose: Kernel, observe: Kernel, total: Kernel, gap: Kernel, width: int) -> Kernel:
    """The games of a run of replications, `width` at a time."""
    play = compose_play(choose, observe, total, gap)

    @kernel
    def games(rules: Any, first: int, C: Any, w: Any, stop: Any, record: Any) -> int:
        """Fill one row of `record` for each replication from `first` on; returns the number of blocks.

        Where `width` does not divide the replications, the last games are played with some that nobody asked for.
        """
        scratch = Scratch(
            local_words(STATE_SIZE, width),
            local_words(STATE_SIZE, width),
            local_rows(N_SCALARS, width),
            as_rows(C, width),
            as_rows(w, width),
            local_rows(TALLIED, width),
        )
        blocks = 0
        for row in range(0, record.excess.shape[0], width):
            these = slice(row, row + width)
            own = Record(record.excess[these], record.switches[these], record.paid[these])
            played: int = play(rules, first + row, scratch, stop, own)
            if played < 0:
                return played
            blocks += played * own.excess.shape[0]
        return blocks

    return games
