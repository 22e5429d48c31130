"""The naive oracle of environments and whole games, in plain Python (`naive` has the algorithms)."""

import math
from typing import Literal


def bernoulli_means(t: int, K: int, delta: float, n_best: int = 1) -> list[float]:
    """Stochastic losses: the first n_best arms have mean 0.5 − Δ, the others 0.5."""
    return [0.5 - delta if i < n_best else 0.5 for i in range(K)]


def phase(t: int, reading: Literal["starts", "lengths"] = "starts") -> int:
    """The phase of round t, from 0, in integers (1.6 = 8/5).

    starts: the paper's words, phase i starts at 1.6^i: ⌊log t / log 1.6⌋.
    lengths: ZS21's words, phase i lasts 1.6^i rounds: (1.6^i − 1)/0.6 < t <= (1.6^{i+1} − 1)/0.6.
    """
    i = 0
    if reading == "starts":
        while t * 5 ** (i + 1) >= 8 ** (i + 1):
            i += 1
    else:
        while 3 * t * 5**i > 8 ** (i + 1) - 5 ** (i + 1):
            i += 1
    return i


def constrained_means(
    t: int, K: int, delta: float, n_best: int = 1, reading: Literal["starts", "lengths"] = "starts"
) -> list[float]:
    """Stochastically constrained losses: even phases best 0, others Δ; odd phases best 1 − Δ, others 1."""
    best, other = (0.0, delta) if phase(t, reading) % 2 == 0 else (1 - delta, 1.0)
    return [best if i < n_best else other for i in range(K)]


def reversal_losses(t: int, K: int, T: int) -> list[float]:
    """The adversary: arm 0 loses 0 and the others 1 for t0 = ⌊√(KT ln(KT))⌋ rounds, then the reverse."""
    t0 = math.floor(math.sqrt(K * T * math.log(K * T)))
    return [0.0] + [1.0] * (K - 1) if t <= t0 else [1.0] + [0.0] * (K - 1)


def ranged_means(t: int, means: list[float], ranges: list[float]) -> list[float]:
    """Losses of 0 or b_t: the ranges b_1, b_2, … come again and again."""
    return [ranges[(t - 1) % len(ranges)] * mean for mean in means]
