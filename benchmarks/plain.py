"""Tsallis-INF as a researcher would write it in NumPy, and a minimal compiled loop: what ours is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.numerics.random import uniform


class PlainTsallisInf:
    """Tsallis-INF with importance weighting, round by round, Newton's method from the last solution."""

    def __init__(self, n_arms: int, seed: int) -> None:
        self.losses = np.zeros(n_arms)
        self.rng = np.random.default_rng(seed)
        self.x = -np.sqrt(n_arms)
        self.t = 0
        self.p = np.full(n_arms, 1 / n_arms)

    def ask(self) -> int:
        """Draw an arm."""
        self.t += 1
        eta = 2 / np.sqrt(self.t)
        for _ in range(50):
            w = 4 / (eta * (self.losses - self.x)) ** 2
            step = (w.sum() - 1) / (eta * (w**1.5).sum())
            self.x -= step
            if abs(step) < 1e-9:
                break
        self.p = w / w.sum()
        self.arm = int(self.rng.choice(len(self.p), p=self.p))
        return self.arm

    def tell(self, loss: float) -> None:
        """Add the importance-weighted loss."""
        self.losses[self.arm] += loss / self.p[self.arm]


def play_plain(means: Any, rounds: int, seed: int = 0) -> float:
    """One game of `PlainTsallisInf` on Bernoulli losses."""
    policy, rng, total = PlainTsallisInf(len(means), seed), np.random.default_rng(seed + 1), 0.0
    for _ in range(rounds):
        loss = float(rng.random() < means[policy.ask()])
        policy.tell(loss)
        total += loss
    return total


@kernel
def minimal_loop(blocks: int, C: Any, stream: Any) -> float:
    """The least a block can cost: K reciprocals and two uniform numbers."""
    total = 0.0
    for _ in range(blocks):
        u = uniform(stream) + uniform(stream)
        for i in range(C.shape[0]):
            total += 1.0 / (C[i] + u)
    return total
