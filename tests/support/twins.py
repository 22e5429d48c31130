"""A policy and its slow, obvious twin, side by side."""

from typing import Any

import naive
import naive_rivals
import numpy as np
import pytest
from every_policy import Case
from kernel_game import KernelGame
from statistics_of_samples import SEED

from holdfast.numerics.random import uniform

SEVERAL = (naive.BaSE, naive_rivals.Thompson, naive_rivals.Ts2, naive_rivals.LazyExp3)
"""Twins that may draw more than one uniform for a block."""


def coins(rounds: int, n_arms: int) -> Any:
    """Losses of 0 and 1; the last arm is the best one."""
    table = np.random.default_rng(SEED).random((rounds, n_arms)) < 0.5
    table[:, -1] &= np.arange(rounds) % 5 < 3
    return table


def play_alike(
    case: Case, game: KernelGame, table: Any, rounds: int, *, rel: float, from_same_state: bool = False
) -> None:
    """Play a policy and its twin from the same uniforms: the same arms for as long, p to `rel`.

    `table` has losses as shares. An error in p goes into the next estimates and grows, unless the twin takes the game's
    own before each block.
    """
    twin, t, n = case.oracle(), 0, 0
    while t < rounds:
        n += 1
        ahead = game.game.stream.copy()
        arm, length = game.choose(case.told(n))
        u = (lambda stream=ahead: uniform(stream)) if isinstance(twin, SEVERAL) else uniform(ahead)
        assert (arm, length) == twin.choose(u, case.told(n))
        if case.policy.knows_probabilities:
            assert game.p == pytest.approx(twin.p, rel=rel, abs=0)
        end = min(t + length, rounds)
        loss = case.highest_loss(n) * float(table[t:end, arm].sum())
        game.observe(loss, end - t)
        twin.observe(loss, end - t)
        if from_same_state and hasattr(twin, "C"):
            twin.C = game.state.C.tolist()
        t = end
    for numbers in game.state:
        assert np.isfinite(numbers).all()
