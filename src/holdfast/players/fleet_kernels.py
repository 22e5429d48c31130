"""The loops over the games of a fleet: the kernels of single games, game after game, without the interpreter.

All numbers of a game lie together in memory. Losses of a block are added up exactly in a few numbers; where these may
not suffice, which takes losses over sixty decades, the loop stops at that game and the caller goes on with it in plain
Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from holdfast._numba.compile import composed, kernel
from holdfast.players.game import keeps_rules, one_game
from holdfast.players.losses import add_exactly, rounded_sum
from holdfast.policies.policy import Kernel, Kernels, Policy
from holdfast.rng import STATE_SIZE, start_stream

PARTS = 5
"""Numbers in which the losses of a block are added up."""

SPILLED = 100
"""What `used` says where they do not suffice: the losses are then kept apart."""

DONE, BROKEN = -1, -2
"""What a loop ends with: all games done, or a kernel against the rules."""


class Games(NamedTuple):
    """The arrays of a fleet, one row per game."""

    numbers: Any
    vectors: Any
    streams: Any
    blocks: Any
    parts: Any
    """Sum of the losses reported in the block."""
    used: Any
    """How many numbers of `parts` are in use."""
    left: Any
    """Rounds of the block whose losses are not reported yet."""
    begun: Any
    rounds: Any
    switches: Any

    @classmethod
    def zeros(cls, policy: Policy, n: int) -> Self:
        """`n` games that have not begun."""
        state, block = policy.state_layout, policy.kernels.block_layout
        counts = {name: np.zeros(n, dtype=np.int64) for name in ("left", "begun", "rounds", "switches")}
        return cls(
            numbers=np.zeros((n, state.n_numbers)),
            vectors=np.zeros((n, state.vector_rows(policy.n_arms))),
            streams=np.zeros((n, STATE_SIZE), dtype=np.uint64),
            blocks=np.zeros((n, block.n_numbers)),
            parts=np.zeros((n, PARTS)),
            used=np.zeros(n, dtype=np.uint8),
            **counts,
        )


@kernel
def start_streams(key: Any, first: int, streams: Any) -> None:
    """The stream of each game."""
    for g in range(streams.shape[0]):
        start_stream(key, first + g, streams[g])


@composed
def loops(kernels: Kernels) -> tuple[Kernel, Kernel]:
    """``ask_all`` and ``tell_all`` for a policy's kernels."""
    choose, _, observe = one_game(kernels)

    @kernel
    def ask_all(params: Any, games: Any, K: int, chosen: Any, announced: Any, arms: Any, numbers: Any) -> int:
        """Arm and number of the block of each chosen game; a game between blocks begins one."""
        for j in range(chosen.shape[0]):
            g = chosen[j]
            block = games.blocks[g]
            if games.left[g] == 0:
                before = block[0]
                choose(
                    params,
                    games.numbers[g],
                    games.vectors[g],
                    K,
                    announced[j % announced.shape[0]],
                    games.streams[g],
                    block,
                )
                if not keeps_rules(block, K):
                    return BROKEN
                if games.begun[g] == 0 or block[0] != before:
                    games.switches[g] += 1
                games.begun[g] += 1
                games.left[g] = int(block[1])
            arms[j] = int(block[0])
            numbers[j] = games.begun[g]
        return DONE

    @kernel
    def tell_all(
        params: Any, games: Any, K: int, chosen: Any, losses: Any, low: float, highest: float, unit: float, first: int
    ) -> int:
        """Add the loss of one round to each chosen game, from `first` on; the block of a game is observed at its end.

        Returns the place of a game whose sum may need more numbers, or DONE.
        """
        for j in range(first, chosen.shape[0]):
            g = chosen[j]
            parts, block = games.parts[g], games.blocks[g]
            used = games.used[g]
            last = games.left[g] == 1
            if used + 1 + int(last and low != 0.0) > PARTS:  # also where `used` is SPILLED
                return j
            used = add_exactly(parts, used, losses[j])
            games.rounds[g] += 1
            games.left[g] -= 1
            if last:
                length = block[1]
                if low != 0.0:
                    used = add_exactly(parts, used, -low * length)
                total = min(max(rounded_sum(parts, used), 0.0), highest * length) / unit
                used = 0
                observe(params, games.numbers[g], games.vectors[g], K, block, total, length)
            games.used[g] = used
        return DONE

    return ask_all, tell_all
