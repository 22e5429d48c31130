"""Rivals that see the losses of all arms, in plain words: from the whole history at every round.

`draw()` is the next uniform number. `history` has a row of losses for each round that was played.
"""

import math
from collections.abc import Callable

Draw = Callable[[], float]
History = list[list[float]]


def first_above(weights: list[float], u: float) -> int:
    """The arm whose part of the line holds u times the total."""
    target, reached = u * math.fsum(weights), 0.0
    for arm, weight in enumerate(weights):
        reached += weight
        if weight > 0 and reached > target:
            return arm
    return max(arm for arm, weight in enumerate(weights) if weight > 0)


def lazily(before: list[float], after: list[float], here: int, u: float) -> int:
    """The coupling with the fewest switches: stay, or go where probability has grown."""
    stays = min(1.0, after[here] / before[here])
    if u < stays:
        return here
    return first_above([max(a - b, 0.0) for a, b in zip(after, before, strict=True)], (u - stays) / (1 - stays))


class Hedge:
    """p_i ∝ exp(−ηL_i)."""

    def __init__(self, K: int, lam: float, T: int) -> None:
        self.K, self.eta, self.arm = K, math.sqrt(8 * math.log(K) / ((1 + 2 * lam) * T)), -1

    def weights(self, history: History) -> list[float]:
        L = [math.fsum(row[i] for row in history) for i in range(self.K)]
        w = [math.exp(-self.eta * (x - min(L))) for x in L]
        return [x / math.fsum(w) for x in w]

    def choose(self, history: History, draw: Draw) -> int:
        p, u = self.weights(history), draw()
        self.arm = lazily(self.weights(history[:-1]), p, self.arm, u) if history else first_above(p, u)
        return self.arm


class Share(Hedge):
    """Weights times exp(−ηℓ), a share of them spread evenly, round by round."""

    def __init__(self, K: int, lam: float, T: int, m: int) -> None:
        super().__init__(K, lam, T)
        a = m / (T - 1)
        entropy = -a * math.log(a) - (1 - a) * math.log(1 - a)
        self.share = a
        self.eta = math.sqrt(8 / ((1 + 2 * lam) * T) * ((m + 1) * math.log(K) + (T - 1) * entropy))

    def weights(self, history: History) -> list[float]:
        w = [1 / self.K] * self.K
        for row in history:
            v = [x * math.exp(-self.eta * loss) for x, loss in zip(w, row, strict=True)]
            w = [(1 - self.share) * x / math.fsum(v) + self.share / self.K for x in v]
        return w


class Dartboard(Hedge):
    """Kept with probability w_t/w_{t−1}, else drawn anew."""

    def __init__(self, K: int, lam: float, T: int) -> None:
        super().__init__(K, lam, T)
        self.beta = min(0.5, math.sqrt(math.log(K) / ((1 + lam) * T)))
        self.eta = -math.log(1 - self.beta)

    def choose(self, history: History, draw: Draw) -> int:
        p, u = self.weights(history), draw()
        keeps = (1 - self.beta) ** history[-1][self.arm] if history else 0.0
        if u >= keeps:
            self.arm = first_above(p, (u - keeps) / (1 - keeps))
        return self.arm


class Leader:
    """The leader at the point of a shifted grid that lies above all losses, less than one cell away."""

    def __init__(self, K: int, lam: float, T: int) -> None:
        self.K, self.spacing, self.shift = K, 1 / math.sqrt(2 / ((1 + lam) * K * T)), []

    def choose(self, history: History, draw: Draw) -> int:
        if not history:
            self.shift = [self.spacing * draw() for _ in range(self.K)]
        points = []
        for i in range(self.K):
            point, L = self.shift[i], math.fsum(row[i] for row in history)
            while point < L:
                point += self.spacing
            points.append(point)
        return points.index(min(points))


class Walk:
    def __init__(self, K: int) -> None:
        self.K, self.walk = K, [0.0] * K

    def choose(self, history: History, draw: Draw) -> int:
        self.walk = [z + (0.5 if draw() < 0.5 else -0.5) for z in self.walk]
        sums = [math.fsum(row[i] for row in history) + z for i, z in enumerate(self.walk)]
        return sums.index(min(sums))
