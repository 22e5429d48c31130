"""The adaptive policy in slow Python, to be read line by line against the pseudo-code of docs/theory/adaptive.md.

It shares nothing with `src/`. The names are those of the pseudo-code: Greek letters written out, W and O the ledgers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import mpmath
import naive


def sqrt(x: Any) -> Any:
    """Return the square root of a float, or of a number with more digits."""
    return math.sqrt(x) if isinstance(x, (int, float)) else mpmath.sqrt(x)


def Z_of(p: list[float], eta: float, d: list[float]) -> float:
    """Z = Σ p_i^{3/2} d_i²/(1 + (η/2)√p_i d_i); infinite where a denominator is not positive."""
    total = 0.0
    for p_i, d_i in zip(p, d, strict=True):
        room = 1 + eta / 2 * sqrt(p_i) * d_i
        if room <= 0:
            return inf
        total += p_i**1.5 * d_i * d_i / room
    return total


@dataclass
class Block:
    """The numbers that the estimate of a block needs, whenever its loss comes."""

    arm: int
    p: list[float]
    eta: float
    m: list[float]
    u: list[float]
    V_bar: float


class Adaptive:
    """One game; λ is fixed, or announced with each block where `lam` is None.

    `number` is float, or what computes with more digits; then `weights` must, too.
    """

    weights: Callable[[list[Any], Any], list[Any]] = staticmethod(naive.tsallis_weights)

    def __init__(
        self,
        K: int,
        lam: float | None,
        *,
        a: float = 1.0,
        J: float = 4.0,
        kappa_W: float = 3.0,
        kappa_O: float = 0.5,
        nu: float = 0.05,
        memory: float = 50.0,
        deviations: float = 3.0,
        calm_length: float = 3.0,
        theta: float = 1.0,
        longest_length: float = 0.5,
        spread_weight: float = 0.05,
        least_spread: float = 0.125,
        kappa_Q: float = 0.25,
        floor_share: float = 100.0,
        matched_length: float = 1.5,
        number: Callable[[Any], Any] = float,
    ) -> None:
        self.K, self.lam, self.number = K, lam, number
        self.a, self.J, self.kappa_W, self.kappa_O, self.nu = a, J, kappa_W, kappa_O, nu
        self.memory, self.deviations, self.theta = memory, deviations, theta
        self.calm_length, self.longest_length = calm_length, longest_length
        self.spread_weight, self.least_spread = spread_weight, least_spread
        self.kappa_Q, self.floor_share, self.matched_length = kappa_Q, floor_share, matched_length
        self.C, self.W, self.level = [number(0)] * K, [number(0)] * K, [number(0.5)] * K
        self.n = self.begun = self.told = 0
        self.V = self.V_bar = self.O = self.Lam = self.G = self.A = number(0)
        self.beta, self.v, self.length = number(0.5), number(0.25), number(1)
        self.Q, self.rho, self.highest, self.last_rounds = number(0), 1 / number(64), number(0), 1
        self.p, self.last = [1 / K] * K, Block(-1, [], 0.0, [], [], 0.0)

    def plan(self, lam: Any) -> int:
        """Lines 1 to 3: the clock Λ, the rate, the weights p and b_n."""
        K, n = self.K, self.number
        self.highest = max(self.highest, lam)
        self.Lam = self.highest + self.A ** (n(2) / 3)
        self.G = self.Lam + sqrt(n(K) * self.begun)
        self.V_bar = max(self.V_bar, self.V + self.last_rounds, (2 * self.kappa_Q * (self.Q + lam)) ** 2 / K)
        R = sqrt(self.V_bar)
        self.p = p = [n(1)] if K == 1 else self.weights(self.C, 2 / R)
        leader = max(range(K), key=lambda i: p[i])
        u = sum(p[i] for i in range(K) if i != leader)
        S = sum(sqrt(p[i]) for i in range(K) if i != leader)
        q = sum(p[i] for i in range(K) if i != self.last.arm) if self.n > 1 else n(1)
        new = a = 1.5 * sqrt(lam * self.Lam / K)
        if (self.theta * self.Lam) ** 2 >= self.K * self.V:
            marginal = 2 * lam * (1 - sum(p_i * p_i for p_i in p)) / sqrt(n(K)) * R / max(self.v, self.least_spread)
            free = max(min(sqrt(self.length * marginal), 2 * self.length + 1), self.calm_length * a)
            new = max(min(free, self.longest_length * self.Lam / sqrt(n(K))), a)
        self.length = max(new, n(1))
        if K > 1:
            x = lam * u * R / S
            new = min(new, 2 * x / max(self.v, self.least_spread), self.matched_length * sqrt(x / self.rho))
            new = max(new, sqrt(lam * R / sqrt(n(K)) * max(q, u / min(S, 1))))
        b = max(naive.guarded_ceil(new), 1)
        self.A += b * sqrt(lam * K)
        self.Q += lam * q
        self.last_rounds = b
        return b

    def room(self, i: int, b: int) -> Any:
        """Return the most that the floor of arm i may be."""
        return min(
            self.p[i] * max(self.kappa_W * (1 - 1 / self.number(self.K)) * self.Lam - self.W[i], 0),
            self.floor_share * b * self.Lam / (self.begun + b),
        )

    def choose(self, uniform: float, announced: float | None = None) -> tuple[int, int]:
        """Lines 1 to 4."""
        arms = range(self.K)
        lam = self.number(announced if self.lam is None else self.lam)
        self.n += 1
        b = self.plan(lam)
        p, eta = self.p, 2 / sqrt(self.V_bar)
        slack = self.deviations * sqrt(self.v / (2 * self.memory))
        B = [b * min(self.beta, self.level[i] + slack) for i in arms]
        h = [self.a * sqrt(p[i]) / eta for i in arms]
        m = [min(B[i], h[i] + self.room(i, b)) for i in arms]
        u = [max(m[i] - h[i], 0) for i in arms]
        self.C = [self.C[i] + m[i] for i in arms]
        self.begun += b
        self.last = Block(naive.draw(p, uniform), p, eta, m, u, self.V_bar)
        return self.last.arm, b

    def block(self) -> Block:
        return self.last

    def observe(self, total_loss: float, rounds: int, block: Block | None = None) -> None:
        """Lines 5 to 7, for the block begun last unless another is given."""
        block = block or self.last
        arm, eta, m, total_loss = block.arm, block.eta, block.m, self.number(total_loss)
        p, u = block.p[arm], block.u[arm]
        full = (max(total_loss, u) - m[arm]) / p
        step = full
        if full > 0:
            step = max(min(full, self.J / (eta * sqrt(p))), full - max(self.kappa_O * self.G - self.O, 0) / p)
        self.O += p * (full - step)
        self.W[arm] += max(u - total_loss, 0) / p
        self.C[arm] += step

        def Z(x: float) -> float:
            return Z_of(block.p, eta, [m[i] - x + (step if i == arm else 0) for i in range(self.K)])

        z = min(Z(m[arm]), Z(min(m))) / sqrt(self.number(self.K))
        self.V += max(z + z * z / (4 * block.V_bar), self.nu * rounds)
        if p < 0.6:
            self.rho += (min(max(((total_loss - m[arm]) / rounds) ** 2, 1 / self.number(64)), 1) - self.rho) / 10
        self.v += self.spread_weight * ((total_loss - m[arm]) ** 2 / rounds - self.v)
        self.beta += (
            self.number(rounds) / (rounds + min(self.memory, self.told + 1)) * (total_loss / rounds - self.beta)
        )
        self.level[arm] = self.beta
        self.told += rounds

    def correct(self, was: float, now: float, block: Block) -> None:
        """Another total in place of one that was observed: the difference of two steps, each at most the longest."""
        arm = block.arm
        longest = self.J / (block.eta * sqrt(block.p[arm]))
        step = [min((max(self.number(c), block.u[arm]) - block.m[arm]) / block.p[arm], longest) for c in (was, now)]
        self.C[arm] += step[1] - step[0]
