"""The game: one loop over blocks, composed with the kernels of a policy and of an environment.

This loop is the only one. It plays one game, or `SIDE_BY_SIDE` games in the lanes of the processor's vector registers;
both do the same arithmetic game by game, so they give the same bits. Threads and Dask workers run it through
`compose_games`, a GPU thread through its own few lines in `holdfast.simulation.cuda`; a replay runs it with another
record, which keeps expectations (`holdfast.replays.games`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from holdfast._numba.compile import composed, kernel, takes
from holdfast._numba.lanes import as_lanes, local_lanes, local_words
from holdfast.numerics.layout import Scalar, layout_of
from holdfast.numerics.random import STATE_SIZE, next_uniform, start_keyed, start_stream
from holdfast.numerics.regret import NO_ARM, is_switch
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.policy import Kernel, Kernels, Policy, check_arguments
from holdfast.simulation.delays import comes, next_known, wait

SIDE_BY_SIDE = 32
"""Games played side by side: four registers of eight numbers. With fewer, the compiler unrolls the loops before it
can vectorise them; more gain nothing.
"""

TWO_STATES = 2 * STATE_SIZE
"""Words of an environment's stream, and of that of one round of one arm in paired games."""

STOPPED, COSTS_EXHAUSTED, AGAINST_THE_RULES, NO_LOSS = -1, -2, -3, -4
"""Return codes of a game instead of its number of blocks: it was stopped, ran out of λ_n, its policy chose an
invalid arm or block length, or a block loss was out of range.
"""

ROUNDED, ROUNDING = 1e-6, 1e-9
"""Absolute tolerance of a block total, and its growth per round, because prefix sums are rounded."""


class Rules(NamedTuple):
    """Inputs common to all replications: read-only arrays and numbers."""

    params: Any
    """Parameters of the policy in one array."""
    tables: Any
    costs: Any
    """λ alone, or λ_1, λ_2, … of the blocks."""
    pairs: Any
    """Additional cost from each arm to each other, row by row; a single 0 if none."""
    announces_cost: bool
    ranges: Any
    """b_t of the rounds, over and over: what else a policy is told at the start of a block."""
    shuffled: bool
    horizon: float
    checkpoints: Any
    policy_key: Any
    environment_key: Any
    path_key: Any
    plan_cost: float
    """λ of the best plan, or −1 if it is not wanted."""
    delays: Any
    """A row for each arm of the world: least and longest delay, share of losses that are lost."""
    delay_key: Any
    drops: bool
    """True if rounds whose loss is lost do not count; otherwise they lose all there is."""


class Scratch(NamedTuple):
    """Memory of the games in progress, one column each: streams, the policy's state, the block, the tally, the world's
    state; and, where losses are late, of one game: the stream of delays, a block that is observed, those that wait.
    """

    policy_streams: Any
    environment_streams: Any
    path_streams: Any
    numbers: Any
    vectors: Any
    block: Any
    tally: Any
    world_numbers: Any
    world_vectors: Any
    delay_streams: Any
    known: Any
    late: Any


class Record(NamedTuple):
    """Results of each game, a row each. At each checkpoint: the expected excess loss, the switches, their cost."""

    excess: Any
    switches: Any
    paid: Any
    arms: Any
    """Arm of each round; no columns if not wanted."""
    means: Any
    """At each checkpoint, of each of the world's arms: the sum of its means; of a world with a path of its own."""
    plans: Any
    """The cost of the best plan, there too."""


class Moves(NamedTuple):
    """The kernels and the state of a world that draws its path in each game."""

    move: Kernel
    react: Kernel | None
    state: type
    noise: bool


class Parts(NamedTuple):
    """The kernels a game is composed of."""

    policy: Kernels
    total: Any
    gap: Any
    """None where there is a `world`."""
    world: Moves | None = None
    """In place of `total` and `gap`: the kernels of a world that draws its path in each game."""
    ahead: Kernel | None = None
    """Kernel for what is known of a round beforehand."""
    keep: Kernel | None = None
    """Kernel that records the costs of a block; by default those of what is played (`Record`)."""
    with_arms: bool = False
    """True if the arm of each round is recorded; a compile-time constant, since a lookup costs 3 %."""
    late: bool = False
    """True if losses may be late or lost; one game at a time."""


class Tally(NamedTuple):
    """Running totals of a game."""

    arm_before: Scalar
    shift: Scalar  # number of places by which the arms are rotated
    place: Scalar  # position of the arm in play among those of the environment
    block_loss: Scalar
    block_excess: Scalar  # the expected loss of a block, or of a part of it, less the reference arm's
    excess: Scalar  # their sum
    switches: Scalar
    paid: Scalar
    seen: Scalar  # position of an arm whose loss is observed, in play or not
    due: Scalar  # where losses are late: the round in which all of a block's are known
    came: Scalar  # and how many of them come


TALLY = layout_of(Tally)


@kernel
def begin_games(rules: Any, first: int, scratch: Any) -> None:
    """Put the streams at their start and all else at zero."""
    for g in range(scratch.numbers.shape[1]):
        start_stream(rules.policy_key, first + g, scratch.policy_streams[:, g])
        start_stream(rules.environment_key, first + g, scratch.environment_streams[:, g])
        for i in range(scratch.numbers.shape[0]):
            scratch.numbers[i, g] = 0.0
        for i in range(scratch.vectors.shape[0]):
            scratch.vectors[i, g] = 0.0
        for i in range(scratch.block.shape[0]):
            scratch.block[i, g] = 0.0
        for i in range(scratch.tally.shape[0]):
            scratch.tally[i, g] = 0.0


@kernel
def record_arms(arms: Any, held: Any, start: float, stop: float) -> None:
    """Record the arm that each game holds from round `start` to `stop`."""
    for g in range(arms.shape[0]):
        for t in range(int(start), int(stop)):
            arms[g, t] = int(held[g])


@kernel
def pay_pairs(pairs: Any, arms: Any, tally: Any, K: int) -> None:
    """Add the cost of this block's switch from the arm of the block before; the first play is free."""
    for g in range(arms.shape[0]):
        if tally.arm_before[g] >= 0.0 and arms[g] >= 0.0 and arms[g] < K:
            tally.paid[g] += pairs[int(tally.arm_before[g]) * K + int(arms[g])]


@kernel
def possible(losses: Any, start: float, stop: float) -> bool:
    """Tell whether these are possible losses of the rounds from `start` to `stop`, in every game."""
    wrong, least = 0, -ROUNDED - ROUNDING * stop
    most = stop - start - least
    for g in range(losses.shape[0]):
        inside = (losses[g] >= least) & (losses[g] <= most)  # a NaN is not
        wrong += 1 - int(inside)
    return wrong == 0


def _keep_played(parts: Parts) -> Kernel:
    """Compose the kernel that records the costs up to each checkpoint of a block."""
    gap = parts.gap

    @kernel
    def keep(rules: Any, state: Any, tally: Any, t: float, end: float, mark: int, record: Any) -> int:
        while mark < rules.checkpoints.shape[0] and rules.checkpoints[mark] <= end:
            gap(rules.tables, tally.place, t, rules.checkpoints[mark], tally.block_excess)
            for g in range(record.excess.shape[0]):
                record.excess[g, mark] = tally.excess[g] + tally.block_excess[g]
                record.switches[g, mark] = int(tally.switches[g])
                record.paid[g, mark] = tally.paid[g]
            mark += 1
        return mark

    return keep


def _hear_own(parts: Parts) -> Kernel:
    """Compose the kernel that observes the loss of the arm in play."""
    total, observe = parts.total, parts.policy.observe

    @kernel
    def hear(
        rules: Any, params: Any, scratch: Any, state: Any, block: Any, tally: Any, start: float, stop: float, K: int
    ) -> bool:
        total(rules.tables, tally.place, start, stop, scratch.environment_streams, tally.block_loss)
        if not possible(tally.block_loss, start, stop):
            return False
        observe(params, state, block, tally.block_loss, stop - start)
        return True

    return hear


def _hear_all(parts: Parts) -> Kernel:
    """Compose the kernel that observes every arm: each is drawn, so the losses do not depend on what is played."""
    total, observe = parts.total, parts.policy.observe

    @kernel
    def hear(
        rules: Any, params: Any, scratch: Any, state: Any, block: Any, tally: Any, start: float, stop: float, K: int
    ) -> bool:
        losses = scratch.vectors[scratch.vectors.shape[0] - K :]
        for i in range(K):
            for g in range(tally.seen.shape[0]):
                place = i + tally.shift[g]
                tally.seen[g] = place - K if place >= K else place
            total(rules.tables, tally.seen, start, stop, scratch.environment_streams, tally.block_loss)
            if not possible(tally.block_loss, start, stop):
                return False
            for g in range(tally.seen.shape[0]):
                losses[i, g] = min(max(tally.block_loss[g], 0.0), stop - start)
        observe(params, state, block, losses, stop - start)
        return True

    return hear


def _put_off(parts: Parts) -> Kernel:
    """Compose the kernel that draws the losses of a block that come, and lets it wait for them."""
    total = parts.total

    @kernel
    def hear(
        rules: Any, params: Any, scratch: Any, state: Any, block: Any, tally: Any, start: float, stop: float, K: int
    ) -> bool:
        tally.due[0], tally.came[0] = stop, 0.0
        lost, heard, t = rules.delays[int(tally.place[0]), 2] > 0.0, 0.0, start
        while t < stop:
            if comes(rules.delays, scratch.delay_streams, tally, t) and lost:
                total(rules.tables, tally.place, t, t + 1.0, scratch.environment_streams, tally.block_loss)
                if not possible(tally.block_loss, t, t + 1.0):
                    return False
                heard += tally.block_loss[0]
            t += 1.0
        if not lost:
            total(rules.tables, tally.place, start, stop, scratch.environment_streams, tally.block_loss)
            if not possible(tally.block_loss, start, stop):
                return False
            heard = tally.block_loss[0]
        wait_for(rules, scratch, tally, heard, stop - start)
        return True

    return hear


@kernel
def wait_for(rules: Any, scratch: Any, tally: Any, heard: float, rounds: float) -> None:
    """Let a block with the losses that came wait until all of it is known."""
    came = tally.came[0]
    if not rules.drops:
        wait(scratch.late, scratch.block, tally.due[0], heard + (rounds - came), rounds)
    elif came > 0.0:
        wait(scratch.late, scratch.block, tally.due[0], heard, came)


@composed
def compose_by_round(total: Kernel) -> Kernel:
    """Return `total` with each round drawn by itself, from a stream of its game, arm and round."""

    @kernel
    def by_round(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
        for g in range(totals.shape[0]):
            lost, t = 0.0, start
            while t < stop:
                start_keyed(streams, g, int(places[g]), int(t))
                own = streams[STATE_SIZE:, g : g + 1]
                total(tables, places[g : g + 1], t, t + 1.0, own, totals[g : g + 1])
                lost += totals[g]
                t += 1.0
            totals[g] = lost

    return by_round


@kernel
def nothing_ahead(tables: Any, state: Any, t: float, shift: float) -> None:
    """Do nothing: no round is known beforehand."""


# Worlds that draw a new path in each game, round by round, from a stream of their own.
#
# Every policy meets the same path. A world's vectors are those of its state, then for each arm the sum of its means,
# the cost of the best plan that ends on it, and what it lost in the block.


@kernel
def begin_worlds(rules: Any, first: int, scratch: Any) -> None:
    """Put the path's stream at its start and the state at zero; a plan pays for its first arm too."""
    for g in range(scratch.world_numbers.shape[1]):
        start_stream(rules.path_key, first + g, scratch.path_streams[:, g])
        for i in range(scratch.world_numbers.shape[0]):
            scratch.world_numbers[i, g] = 0.0
        for i in range(scratch.world_vectors.shape[0]):
            scratch.world_vectors[i, g] = 0.0


@kernel
def plan_on(values: Any, means: Any, price: float, t: float) -> None:
    """Let the best plan that ends on each arm play round t, which costs `means`."""
    if t == 0.0:
        for i in range(values.shape[0]):
            values[i, 0] = price
    least = values[0, 0]
    for i in range(1, values.shape[0]):
        least = min(least, values[i, 0])
    for i in range(values.shape[0]):
        values[i, 0] = min(values[i, 0], least + price) + means[i, 0]


@kernel
def lost(streams: Any, mean: float, noise: bool) -> float:
    """Return the loss of a round: 0 or 1, or its mean."""
    if not noise:
        return mean
    return 1.0 if next_uniform(streams, 0) < mean else 0.0


@composed
def compose_rounds(parts: Parts) -> Kernel:
    """Return the rounds of one block in a world that moves."""
    if parts.world is None:
        return nothing_moves
    move, react, noise = parts.world.move, parts.world.react or nothing_reacts, parts.world.noise
    every_arm, own, late = parts.policy.full_information, layout_of(parts.world.state).n_vectors, parts.late

    @kernel
    def rounds(
        rules: Any, scratch: Any, world: Any, tally: Any, start: float, stop: float, mark: int, record: Any
    ) -> int:
        """Play the rounds from `start` to `stop`, and write what was lost; return the next checkpoint, or NO_LOSS."""
        K, place, price = world.mean.shape[0], int(tally.place[0]), rules.plan_cost
        sums = scratch.world_vectors[own * K : (own + 1) * K]
        values = scratch.world_vectors[(own + 1) * K : (own + 2) * K]
        losses = scratch.world_vectors[(own + 2) * K :]
        for i in range(K):
            losses[i, 0] = 0.0
        tally.due[0], tally.came[0] = stop, 0.0
        t = start
        while t < stop:
            move(rules.tables, world, t, scratch.path_streams)
            for i in range(K):
                if not 0.0 <= world.mean[i, 0] <= 1.0:
                    return NO_LOSS
                sums[i, 0] += world.mean[i, 0]
            if price >= 0.0:
                plan_on(values, world.mean, price, t)
            tally.excess[0] += world.mean[place, 0]
            if stop < rules.horizon:
                if every_arm:
                    for i in range(K):
                        at = i + int(tally.shift[0])
                        at = at - K if at >= K else at
                        losses[i, 0] += lost(scratch.environment_streams, world.mean[at, 0], noise)
                else:
                    own_loss = lost(scratch.environment_streams, world.mean[place, 0], noise)
                    if not late or comes(rules.delays, scratch.delay_streams, tally, t):
                        losses[0, 0] += own_loss
            t += 1.0
            if mark < rules.checkpoints.shape[0] and rules.checkpoints[mark] == t:
                record.excess[0, mark] = tally.excess[0]
                record.switches[0, mark] = int(tally.switches[0])
                record.paid[0, mark] = tally.paid[0]
                for i in range(K):
                    record.means[0, mark, i] = sums[i, 0]
                if price >= 0.0:
                    least = values[0, 0]
                    for i in range(1, K):
                        least = min(least, values[i, 0])
                    record.plans[0, mark] = least
                mark += 1
        react(rules.tables, world, place, start, stop)
        return mark

    return rounds


@kernel
def nothing_moves(
    rules: Any, scratch: Any, world: Any, tally: Any, start: float, stop: float, mark: int, record: Any
) -> int:
    """Play nothing: the world has no path of its own."""
    return mark


@kernel
def nothing_reacts(tables: Any, state: Any, arm: int, start: float, stop: float) -> None:
    """Take no notice of what was played."""


def world_numbers(world: Moves | None) -> int:
    """Return the single numbers that a world keeps of a game, at least one: no array is empty."""
    return 1 if world is None else max(layout_of(world.state).n_numbers, 1)


def world_rows(world: Moves | None, n_arms: int) -> int:
    """Return the rows of vectors that a world needs in a game."""
    return 1 if world is None else (layout_of(world.state).n_vectors + 3) * n_arms


def vector_rows(policy: Policy) -> int:
    """Return the rows of vectors that a game needs: the policy's state, and the losses under full information."""
    return policy.state_layout.vector_rows(policy.n_arms) + (policy.n_arms if policy.full_information else 0)


@composed
def compose_play(parts: Parts) -> Kernel:
    """Return the game of a few replications, as many as `scratch` has columns."""
    choose, gap, with_arms, late = parts.policy.choose, parts.gap, parts.with_arms, parts.late
    check_arguments(parts.policy)
    if parts.world is None:
        takes(parts.total, "tables", "arms", "start", "stop", "streams", "totals")
        takes(gap, "tables", "arms", "start", "stop", "gaps")
    else:
        takes(parts.world.move, "tables", "state", "t", "streams")
        if parts.world.react is not None:
            takes(parts.world.react, "tables", "state", "arm", "start", "stop")
    keep = _keep_played(parts) if parts.keep is None else parts.keep
    ahead = nothing_ahead if parts.ahead is None else parts.ahead
    hear = _hear_all(parts) if parts.policy.full_information else _put_off(parts) if late else _hear_own(parts)
    moves, every_arm, rounds_of = parts.world is not None, parts.policy.full_information, compose_rounds(parts)
    view_world, observe = layout_of(Tally if parts.world is None else parts.world.state).view, parts.policy.observe
    view_params = parts.policy.params_layout.view
    view_state, view_block, view_tally = parts.policy.state_layout.view, parts.policy.block_layout.view, TALLY.view

    @kernel
    def play(rules: Any, first: int, scratch: Any, K: int, stop: Any, record: Any) -> int:
        """Play to the horizon, and record at each checkpoint; return the number of blocks."""
        begin_games(rules, first, scratch)
        params = view_params(rules.params)
        state = view_state(params, scratch.numbers, scratch.vectors, K)
        block = view_block(params, scratch.block, scratch.vectors, K)
        tally = view_tally(params, scratch.tally, scratch.vectors, K)
        width = scratch.tally.shape[1]
        for g in range(width):
            tally.arm_before[g] = NO_ARM
            if rules.shuffled:
                tally.shift[g] = float(int(next_uniform(scratch.environment_streams, g) * K))
        if moves:
            begin_worlds(rules, first, scratch)
            world = view_world(params, scratch.world_numbers, scratch.world_vectors, K)
            losses = scratch.world_vectors[scratch.world_vectors.shape[0] - K :]
        if late:
            start_stream(rules.delay_key, first, scratch.delay_streams[:, 0])
            known = view_block(params, scratch.known, scratch.vectors, K)
            scratch.late[0] = scratch.late[1] = 0.0
        horizon, tables, costs = rules.horizon, rules.tables, rules.costs
        n_ranges = rules.ranges.shape[0]
        n_costs, n, mark, t = costs.shape[0], 0, 0, 0.0
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
            ahead(tables, state, t, tally.shift[0])
            if late:
                there, total_known, rounds_known = next_known(scratch.late, t, scratch.known)
                while there:
                    tally.block_loss[0] = total_known
                    observe(params, state, known, tally.block_loss, rounds_known)
                    there, total_known, rounds_known = next_known(scratch.late, t, scratch.known)
            told = rules.ranges[0] if n_ranges == 1 else rules.ranges[int(t) % n_ranges]
            choose(params, state, lam if rules.announces_cost else told, scratch.policy_streams, block)
            wrong = 0
            if rules.pairs.shape[0] > 1:
                pay_pairs(rules.pairs, block.arm, tally, K)
            for g in range(width):
                inside = (block.arm[g] >= 0.0) & (block.arm[g] < K)  # a NaN is not
                arm = block.arm[g] if inside else 0.0
                wrong += 1 - int(inside & (arm == math.floor(arm)))
                switch = is_switch(tally.arm_before[g], block.arm[g])
                tally.switches[g] += 1.0 if switch else 0.0
                tally.paid[g] += lam if switch else 0.0
                tally.arm_before[g] = block.arm[g]
                place = block.arm[g] + tally.shift[g]
                tally.place[g] = place - K if place >= K else place
            rounds = block.rounds[0]
            if wrong > 0 or not 1.0 <= rounds <= LONGEST or rounds != math.floor(rounds):
                return AGAINST_THE_RULES
            end = min(t + rounds, horizon)
            if with_arms:
                record_arms(record.arms, block.arm, t, end)
            if moves:
                mark = rounds_of(rules, scratch, world, tally, t, end, mark, record)
                if mark < 0:
                    return NO_LOSS
                if end < horizon:
                    if late:
                        wait_for(rules, scratch, tally, losses[0, 0], end - t)
                    elif every_arm:
                        observe(params, state, block, losses, end - t)
                    else:
                        observe(params, state, block, losses[0], end - t)
                t = end
                continue
            mark = keep(rules, state, tally, t, end, mark, record)
            if end < horizon:  # the last block's loss is never used
                gap(tables, tally.place, t, end, tally.block_excess)
                for g in range(width):
                    tally.excess[g] += tally.block_excess[g]
                if not hear(rules, params, scratch, state, block, tally, t, end, K):
                    return NO_LOSS
            t = end
        return n

    return play


@composed
def compose_games(parts: Parts, width: int) -> Kernel:
    """Return the games of a run of replications, `width` at a time."""
    play = compose_play(parts)
    n_numbers, n_block = parts.policy.state_layout.n_numbers, parts.policy.block_layout.n_numbers
    n_tally, n_world = TALLY.n_numbers, world_numbers(parts.world)

    @kernel
    def games(rules: Any, first: int, vectors: Any, world: Any, late: Any, K: int, stop: Any, record: Any) -> int:
        """Fill one row of `record` for each replication from `first` on; return the number of blocks.

        Where `width` does not divide the replications, the last games are played with some that are not recorded.
        """
        scratch = Scratch(
            local_words(STATE_SIZE, width),
            local_words(TWO_STATES, width),
            local_words(STATE_SIZE, width),
            local_lanes(n_numbers, width),
            as_lanes(vectors, width),
            local_lanes(n_block, width),
            local_lanes(n_tally, width),
            local_lanes(n_world, width),
            as_lanes(world, width),
            local_words(STATE_SIZE, width),
            local_lanes(n_block, width),
            late,
        )
        blocks = 0
        for row in range(0, record.excess.shape[0], width):
            these = slice(row, row + width)
            own = Record(
                record.excess[these],
                record.switches[these],
                record.paid[these],
                record.arms[these],
                record.means[these],
                record.plans[these],
            )
            played: int = play(rules, first + row, scratch, K, stop, own)
            if played < 0:
                return played
            blocks += played * own.excess.shape[0]
        return blocks

    return games
