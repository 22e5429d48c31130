"""A long game of the mixture, added up again in other ways: costs of experts exactly, Δ in long doubles.

python tests/support/long_mixture.py 10000000
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import holdfast as hf
from holdfast.experts import FixedArm, Smoothed, WorkFunction
from holdfast.kernels import kernel
from holdfast.players.game import Game, one_game

CHUNK = 100_000
"""Rounds that are looked at together: memory does not grow with the game."""
LAM = 0.5


class Chunk(NamedTuple):
    """Weights and arms of the experts in each round, and Δ before it."""

    p: np.ndarray
    at: np.ndarray
    delta: np.ndarray


def playing(game: Game) -> Callable[[np.ndarray], Chunk]:
    """A function that plays the next rounds of `game` by a compiled loop."""
    K, state = game.K, game.state  # which shares the memory of the game
    choose, _, observe = one_game(game.policy.kernels)
    N = len(state.p)

    @kernel
    def play(
        packed: Any, numbers: Any, vectors: Any, stream: Any, block: Any, now: Any, table: Any, losses: Any, chunk: Any
    ) -> None:
        for t in range(table.shape[0]):
            chunk.delta[t] = now.delta[0]
            choose(packed, numbers, vectors, K, 0.0, stream, block)
            for j in range(N):
                chunk.p[t, j] = now.p[j]
                chunk.at[t, j] = now.at[j]
            for i in range(K):
                losses[i] = table[t, i]
            observe(packed, numbers, vectors, K, block, losses, 0.0, 1.0, 0.0)

    def next_rounds(table: np.ndarray) -> Chunk:
        T = len(table)
        chunk = Chunk(np.empty((T, N)), np.empty((T, N)), np.empty(T))
        now = Chunk(state.p, state.at, state.delta)
        play(game._packed, game.numbers, game.vectors, game.stream, game.block, now, table, np.zeros(K), chunk)
        return chunk

    return next_rounds


def check_long_game(T: int) -> float:
    """Play T rounds of losses that are multiples of 1/8; returns the largest relative error of G."""
    draw, lam = np.random.default_rng(6), LAM
    experts = [FixedArm(0), FixedArm(1), WorkFunction(4.0), Smoothed(0.02)]
    player = hf.AdaptiveHedgeSwitch(2, switching_cost=lam, experts=experts).player(seed=1)
    play, state, N = playing(player._game), player._state, len(experts)
    C, gaps, before, was, error = np.zeros(N), [], 0.0, None, 0.0
    for first in range(0, T, CHUNK):
        rounds = np.arange(first, min(first + CHUNK, T))
        table = draw.integers(0, 9, (len(rounds), 2)) / 8
        table[:, 0] = np.where((rounds // 5000) % 2, table[:, 0], np.minimum(table[:, 0], 0.5))
        p, at, delta = play(table)
        if first == 0:
            delta[0] = 0.1 * (1 + lam) * math.log(N)
        moves = np.vstack([np.ones(N) if was is None else at[0] != was, at[1:] != at[:-1]])
        c = np.take_along_axis(table, at.astype(int), axis=1) + lam * moves
        C += c.sum(axis=0)  # multiples of 1/8: exact
        assert state.C.tolist() == (C - C.min()).tolist()
        eta, weights = (math.log(N) / delta).astype(np.longdouble)[:, None], p.astype(np.longdouble)
        P0 = (weights * (at == 0)).sum(axis=1)
        moved = np.abs(P0 - np.concatenate([[before], P0[:-1]]))
        if first == 0:
            moved[0] = 1.0
        mean = (weights * c).sum(axis=1, keepdims=True)
        x = eta * (c - mean)
        mixed = np.log1p((weights * (np.expm1(-x) + x)).sum(axis=1)) / eta[:, 0]
        gaps.append(float((lam * moved - lam * (weights * moves).sum(axis=1) + mixed).sum()))
        before, was, gap = P0[-1], at[-1], math.fsum(gaps)
        error = max(error, abs(float(state.gap[0] + state.gap_low[0]) / gap - 1.0))
        assert error < 1e-10
        assert player.certificate >= 2 * gap * (1 - 1e-10)
    return error


if __name__ == "__main__":
    print(f"{int(sys.argv[1]):,} rounds: G to {check_long_game(int(sys.argv[1])):.1e}, costs of experts exactly")
