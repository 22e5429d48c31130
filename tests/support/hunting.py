"""Losses that make mixing dear: they hunt the likeliest arm, alternate, rotate, or jump."""

from collections.abc import Callable

import numpy as np

Losses = Callable[[int, np.ndarray], np.ndarray]
"""The losses of a round, from its number and the distribution of its arm."""

KINDS = ("hunt", "hunt half", "alternate", "rotate", "rotate slowly", "coins", "rare")


def hunting(kind: str, K: int, seed: int) -> Losses:
    draw = np.random.default_rng(seed)
    kinds: dict[str, Losses] = {
        "hunt": lambda t, P: (np.arange(K) == np.argmax(P)).astype(float),
        "hunt half": lambda t, P: (np.median(P) < P).astype(float) * 0.5,
        "alternate": lambda t, P: np.array([(t + i) % 2 for i in range(K)], dtype=float),
        "rotate": lambda t, P: (np.arange(K) != (t // 7) % K).astype(float),
        "rotate slowly": lambda t, P: 0.8 * (np.arange(K) != (t // 150) % K) + 0.2 * draw.random(K),
        "coins": lambda t, P: (draw.random(K) < 0.5).astype(float),
        "rare": lambda t, P: draw.random(K) ** 8,
    }
    return kinds[kind]
