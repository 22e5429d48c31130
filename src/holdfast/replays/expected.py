"""What a mixture of paths costs on average on recorded losses, exactly.

The weights of `AdaptiveHedgeSwitch` depend on the losses alone, never on the arms that were drawn. So one pass gives
the expected cost of its game: in each round the mean loss over its distribution, and what a switch costs on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import composed, kernel
from holdfast._numba.rows import as_rows
from holdfast.layouts import Array
from holdfast.players.game import policy_key
from holdfast.policies.hedge_switch import AdaptiveHedgeSwitch
from holdfast.policies.policy import Kernel, Kernels, packed_parameters
from holdfast.replays.forecasts import Forecasts
from holdfast.rng import started

ROWS_AT_ONCE = 2**15
LOSS, SWITCHES, PAID = 0, 1, 2
OUT_OF_THE_GAME = 1e30


class ExpectedGame(NamedTuple):
    """The expected losses, switches and switching costs up to each mark; and the arms of one game that was drawn."""

    losses: Array
    switches: Array
    paid: Array
    arms: NDArray[np.int32]


class _Known(NamedTuple):
    """What is known beforehand of the rounds of a piece, by kernel."""

    closed: Any  # rounds × arms: 1 where an arm is not available; no rows where all are
    issued: Any  # the rows of forecasts that become known, in the order of that
    known_at: Any  # and when
    covers: Any  # the round that each is for
    newest: Any  # the newest forecast of each round so far, −1 for none


@composed
def _composed(kernels: Kernels) -> Kernel:
    choose, observe, *_ = kernels
    view_state, view_block = kernels.state_layout.view, kernels.block_layout.view
    view_params = kernels.params_layout.view

    @kernel
    def play(
        params: Any,
        numbers: Any,
        vectors: Any,
        K: int,
        stream: Any,
        block: Any,
        losses: Any,
        counted: Any,
        first: int,
        known: Any,
        at: int,
        horizon: int,
        totals: Any,
        steps: Any,
        arms: Any,
    ) -> int:
        """The rounds of `losses`, the first being number `first`; `at` is the next forecast that becomes known.

        `losses` are as the policy hears them, `counted` the same as they add up.
        """
        rows = as_rows(vectors, 1)
        seen = view_params(params)
        state, begun = view_state(seen, as_rows(numbers, 1), rows, K), view_block(seen, as_rows(block, 1), rows, K)
        closed, issued, known_at, covers, newest = known
        lost = as_rows(steps[3:], 1)
        for t in range(losses.shape[0]):
            now = first + t
            while at < known_at.shape[0] and known_at[at] <= now:
                newest[covers[at]] = at
                at += 1
            rounds = 0
            while rounds < horizon and now + rounds < newest.shape[0] and newest[now + rounds] >= 0:
                row = newest[now + rounds]
                for i in range(K):
                    state.forecast[rounds * K + i, 0] = issued[row, i]
                rounds += 1
            state.first[0], state.rows[0] = 0.0, float(rounds)
            if closed.shape[0] > 0:
                for i in range(K):
                    state.shut[i, 0] = float(closed[now, i])
            choose(seen, state, 0.0, as_rows(stream, 1), begun)
            steps[0], steps[1] = 0.0, 0.0
            for i in range(K):
                steps[0] += state.P[i, 0] * counted[t, i]
                steps[1] += max(state.P[i, 0] - state.before[i, 0], 0.0)
                lost[i, 0] = losses[t, i]
            steps[2] = state.moving[0]
            for what in range(3):  # compensated sums
                step = steps[what] + totals[what, 1]
                total = totals[what, 0] + step
                totals[what, 1] = step - (total - totals[what, 0])
                totals[what, 0] = total
            arms[t] = int(begun.arm[0])
            observe(seen, state, begun, lost, 1.0)
        return at

    return play


def expected_game(
    policy: AdaptiveHedgeSwitch,
    losses: NDArray[Any],
    marks: Any,
    *,
    closed: NDArray[np.bool_] | None = None,
    forecasts: Forecasts | None = None,
    only: Sequence[int] | None = None,
    seed: int = 0,
    name: str | None = None,
) -> ExpectedGame:
    """The expected cost of one game, exactly; the arms are those of replication 0 under `seed` and `name`.

    Parameters
    ----------
    policy, losses
        What is played, on a row per round and a column per arm. Losses add up as they are; the policy hears them
        clipped to its units.
    marks
        Rounds, counted from 1 and rising, up to which losses and switches are added up. The last one ends the game.
    closed
        True where an arm is not available. Its loss is that of the highest of the units.
    forecasts
        What was forecast and when, in the policy's units.
    only
        The paths that are mixed, by their place in ``policy.mixed``; all by default. The same kernels play them.
    seed, name
        The stream of the arms that are drawn; it changes no cost.
    """
    kernels, K, (low, _) = policy.kernels, policy.n_arms, policy.units
    play = _composed(kernels)
    settings = policy.parameters()
    numbers, vectors = np.zeros(policy.state_layout.n_numbers), np.zeros(policy.state_layout.vector_rows(K))
    if only is not None:  # a path that has cost so much never has any weight
        settings = settings._replace(log_paths=math.log(max(len(only), 2)))
        cost = policy.state_layout.named(numbers, vectors).C
        cost[[j for j in range(len(policy.mixed)) if j not in only]] = OUT_OF_THE_GAME
    params = packed_parameters(policy, settings)
    block, stream = np.zeros(kernels.block_layout.n_numbers), started(policy_key(seed, name or policy.label), 0)
    horizon = policy.forecast_rounds if forecasts is not None else 0
    given = Forecasts.of([], [], np.zeros((0, K))) if forecasts is None else forecasts
    newest = np.full(len(losses) + horizon if horizon else 0, -1, dtype=np.int64)
    within = given.rounds < len(newest)
    issued = np.clip((given.losses[within] - low) / policy.unit, -1e6, 1e6)
    shut = np.zeros((0, K), dtype=np.uint8) if closed is None else closed.astype(np.uint8)
    known = _Known(shut, issued, given.known_at[within], given.rounds[within], newest)
    totals, steps, arms, at = np.zeros((3, 2)), np.zeros(3 + K), np.zeros(len(losses), dtype=np.int32), 0
    ends = [int(mark) for mark in marks]
    sums, first = np.zeros((len(ends), 3)), 0
    for number, end in enumerate(ends):
        while first < end:
            stop = min(end, first + ROWS_AT_ONCE)
            piece = losses[first:stop]
            heard, counted = (
                np.ascontiguousarray((np.asarray(some, dtype=np.float64) - low) / policy.unit)
                for some in (np.clip(piece, *policy.units), piece)
            )
            at = play(
                params,
                numbers,
                vectors,
                K,
                stream,
                block,
                heard,
                counted,
                first,
                known,
                at,
                horizon,
                totals,
                steps,
                arms[first:stop],
            )
            first = stop
        sums[number] = totals.sum(axis=1)
    rounds = np.array(ends, dtype=np.float64)
    return ExpectedGame(
        sums[:, LOSS] * policy.unit + low * rounds, sums[:, SWITCHES], sums[:, PAID] * policy.unit, arms
    )
