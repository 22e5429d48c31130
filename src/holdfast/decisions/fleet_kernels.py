"""The loops over the games of a fleet: the kernels of single games, game after game, without the interpreter.

All numbers of a game lie together in memory. Losses of a block are added up exactly, as `math.fsum` does, in a few
numbers that do not overlap (Shewchuk 1997); where these may not suffice, which takes losses over sixty decades, the
loop stops at that game and the caller goes on with it in plain Python.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from holdfast._numba.compile import frozen, kernel
from holdfast.players.game import keeps_rules, one_game
from holdfast.policies.policy import Kernel, Kernels
from holdfast.rng import start_stream

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
    """Sum of the losses told in the block."""
    used: Any
    """How many numbers of `parts` are in use."""
    left: Any
    """Rounds of the block whose losses are not told."""
    begun: Any
    rounds: Any
    switches: Any


@kernel
def add_exactly(parts: Any, used: int, x: float) -> int:
    """Add x to a sum of numbers that do not overlap, the smallest first; returns how many there are now."""
    kept = 0
    for i in range(used):
        y = parts[i]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    if x != 0.0 or kept == 0:
        parts[kept] = x
        kept += 1
    return kept


@kernel
def rounded_sum(parts: Any, used: int) -> float:
    """The sum of numbers that do not overlap, rounded once to the nearest, halves to even."""
    if used == 0:
        return 0.0
    n = used - 1
    high: float = parts[n]
    low = 0.0
    while n > 0:
        x = high
        n -= 1
        y = parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = 2.0 * low
        x = high + y
        if y == x - high:
            high = x
    return high


@kernel
def start_streams(key: Any, first: int, streams: Any) -> None:
    """The stream of each game."""
    for g in range(streams.shape[0]):
        start_stream(key, first + g, streams[g])


@cache
def _composed(kernels: Kernels, values: tuple[str, ...]) -> tuple[Kernel, Kernel]:
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


def loops(kernels: Kernels) -> tuple[Kernel, Kernel]:
    """``ask_all`` and ``tell_all`` for a policy's kernels."""
    parts = (kernels.choose, kernels.observe)
    return _composed(kernels, tuple(frozen(part) for part in parts))
