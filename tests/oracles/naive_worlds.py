"""Worlds that change, in plain Python from the words of their docstrings: the means of each round, arm after arm.

`u` gives the next uniform number in [0, 1).
"""

import math
from collections.abc import Callable, Sequence

from naive_rivals import normal

Path = list[list[float]]


def clip(x: float) -> float:
    return max(0.0, min(1.0, x))


def random_changes(K: int, T: int, u: Callable[[], float], every: float | None, alone: bool) -> Path:
    means, path = [0.1 + 0.8 * u() for _ in range(K)], []
    for t in range(T):
        if t and every is not None and u() < 1 / every:
            for arm in [int(u() * K)] if alone else range(K):
                means[arm] = 0.1 + 0.8 * u()
        path.append(list(means))
    return path


def ornstein_uhlenbeck(K: int, T: int, u: Callable[[], float], time: float, sd: float) -> Path:
    phi, levels, x, path = math.exp(-1 / time), [], [], []
    for _ in range(K):
        levels.append(0.3 + 0.4 * u())
        x.append(sd * normal(u))
    for t in range(T):
        x = [phi * a + sd * math.sqrt(1 - phi**2) * normal(u) for a in x] if t else x
        path.append([clip(level + a) for level, a in zip(levels, x, strict=True)])
    return path


def outages(K: int, T: int, u: Callable[[], float], every: float, length: float) -> Path:
    levels, up, path = [0.1 + 0.3 * u() for _ in range(K)], [True] * K, []
    for t in range(T):
        for arm in range(K if t else 0):
            up[arm] = (u() >= 1 / every) if up[arm] else (u() < 1 / length)
        path.append([level if here else 1.0 for level, here in zip(levels, up, strict=True)])
    return path


def seasons(K: int, T: int, u: Callable[[], float], period: int) -> Path:
    phases = [u() for _ in range(K)]
    return [[0.5 + 0.25 * math.sin(2 * math.pi * (t / period + phase)) for phase in phases] for t in range(T)]


def common_jumps(K: int, T: int, u: Callable[[], float], every: float, gap: float) -> Path:
    apart, level, path = [gap * u() for _ in range(K)], 0.0, []
    for t in range(T):
        level = (1 - gap) * u() if not t or u() < 1 / every else level
        path.append([level + a for a in apart])
    return path


def next_state(row: Sequence[float], x: float) -> int:
    return next((s for s in range(len(row)) if x < sum(row[: s + 1])), len(row) - 1)


def markov_chain(
    T: int, u: Callable[[], float], means: Sequence[Sequence[float]], steps: Sequence[Sequence[float]]
) -> Path:
    state, path = int(u() * len(means)), []
    for t in range(T):
        state = next_state(steps[state], u()) if t else state
        path.append(list(means[state]))
    return path


def restless(K: int, T: int, u: Callable[[], float], means: Sequence[float], steps: Sequence[Sequence[float]]) -> Path:
    states, path = [int(u() * len(means)) for _ in range(K)], []
    for t in range(T):
        states = [next_state(steps[s], u()) for s in states] if t else states
        path.append([means[s] for s in states])
    return path


class Tiring:
    """Arms that tire by blocks: after n rounds the one played goes 1 − e^(−n/time) of its way to 1, others back."""

    def __init__(self, K: int, u: Callable[[], float], time: float) -> None:
        self.levels, self.time = [0.1 + 0.3 * u() for _ in range(K)], time
        self.means = list(self.levels)

    def play(self, arm: int, rounds: int) -> None:
        nearer = 1 - math.exp(-rounds / self.time)
        for i, level in enumerate(self.levels):
            self.means[i] += nearer * ((1.0 if i == arm else level) - self.means[i])


def plan_costs(path: Sequence[Sequence[float]], price: float) -> list[float]:
    """The cost of the cheapest plan of the first 1, 2, … rounds, each plan being followed arm by arm."""
    ends = [price + mean for mean in path[0]]
    found = [min(ends)]
    for row in path[1:]:
        ends = [
            min(cost + (price if other != arm else 0.0) for other, cost in enumerate(ends)) + row[arm]
            for arm in range(len(row))
        ]
        found.append(min(ends))
    return found
