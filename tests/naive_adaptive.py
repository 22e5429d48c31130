"""The adaptive policy in plain, slow Python, to be read against the pseudo-code of docs/adaptive.md line by line.

It shares nothing with `src/`. The names are those of the pseudo-code: Greek letters written out, W and O the ledgers.
"""

from dataclasses import dataclass
from math import floor, inf, sqrt
from typing import Any

import naive


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
    """What the estimate of a block needs, whenever its loss comes."""

    arm: int
    p: list[float]
    eta: float
    m: list[float]
    u: list[float]
    V_bar: float


class Adaptive:
    """One game; λ is fixed, or announced with each block where `lam` is None."""

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
        calm_length: float = 2.0,
        theta: float = 1.0,
        longest_length: float = 0.5,
        spread_weight: float = 0.1,
        least_spread: float = 0.25,
    ) -> None:
        self.K, self.lam = K, lam
        self.a, self.J, self.kappa_W, self.kappa_O, self.nu = a, J, kappa_W, kappa_O, nu
        self.memory, self.deviations, self.theta = memory, deviations, theta
        self.calm_length, self.longest_length = calm_length, longest_length
        self.spread_weight, self.least_spread = spread_weight, least_spread
        self.C, self.W, self.level = [0.0] * K, [0.0] * K, [0.5] * K
        self.n = self.begun = self.told = 0
        self.V = self.V_bar = self.O = self.Lam = self.G = self.A = 0.0
        self.beta, self.v, self.length, self.open = 0.5, 0.25, 1.0, 1 - 1 / K
        self.p, self.last = [1 / K] * K, Block(-1, [], 0.0, [], [], 0.0)

    def paper_length(self, lam: float) -> tuple[float, int]:
        """a_n and ā_n: Theorem 1's, or Theorem 4's where costs are announced."""
        if self.lam is not None:
            return 1.5 * lam * sqrt(self.n / self.K), naive.theorem_1_length(self.n, self.K, lam)
        self.A += lam + sqrt(self.K / self.n)
        a_n = sqrt(lam * self.A / self.K)
        return a_n, max(naive.guarded_ceil(a_n), 1)

    def next_length(self, lam: float) -> int:
        """b_n (line 1)."""
        a_n, shortest = self.paper_length(lam)
        if sqrt(self.K * self.V) > self.theta * self.Lam:
            self.length = max(a_n, 1)
            return shortest
        marginal = 2 * lam * self.open / sqrt(self.K) * sqrt(self.V) / max(self.v, self.least_spread)
        new = sqrt(self.length * marginal)
        new = min(new, 2 * self.length + 1)
        new = max(new, self.calm_length * a_n)
        new = min(new, self.longest_length * self.Lam / sqrt(self.K))
        self.length = max(new, a_n, 1)
        return max(shortest, floor(self.length))

    def choose(self, uniform: float, announced: float | None = None) -> tuple[int, int]:
        """Lines 1 to 4."""
        K, arms = self.K, range(self.K)
        lam = self.lam if announced is None or self.lam is not None else announced
        self.n += 1
        self.Lam += lam
        self.G = self.Lam + sqrt(K * self.begun)
        b = self.next_length(lam)
        self.V_bar = max(self.V_bar, self.V + b)
        eta = 2 / sqrt(self.V_bar)
        self.p = p = [1.0] if K == 1 else naive.tsallis_weights(self.C, eta)
        self.open = 1 - sum(p_i * p_i for p_i in p)
        slack = self.deviations * sqrt(self.v / (2 * self.memory))
        B = [b * min(self.beta, self.level[i] + slack) for i in arms]
        h = [self.a * sqrt(p[i]) / eta for i in arms]
        m = [min(B[i], h[i] + p[i] * max(self.kappa_W * self.Lam - self.W[i], 0)) for i in arms]
        u = [max(m[i] - h[i], 0) for i in arms]
        self.C = [self.C[i] + m[i] for i in arms]
        self.begun += b
        self.last = Block(naive.draw(p, uniform), p, eta, m, u, self.V_bar)
        return self.last.arm, b

    def block(self) -> Block:
        """The block that was begun last."""
        return self.last

    def observe(self, total_loss: float, rounds: int, block: Block | None = None) -> None:
        """Lines 5 to 7, for the block begun last unless another is given."""
        block = block or self.last
        arm, eta, m = block.arm, block.eta, block.m
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

        z = min(Z(m[arm]), Z(min(m))) / sqrt(self.K)
        self.V += max(z + z * z / (4 * block.V_bar), self.nu * rounds)
        self.v += self.spread_weight * ((total_loss - m[arm]) ** 2 / rounds - self.v)
        self.beta += rounds / (rounds + min(self.memory, self.told + 1)) * (total_loss / rounds - self.beta)
        self.level[arm] = self.beta
        self.told += rounds


def with_the_numbers_of(oracle: Adaptive, state: Any) -> None:
    """Put every number of a game's state into the twin."""
    oracle.C, oracle.W, oracle.level = (list(map(float, numbers)) for numbers in (state.C, state.W, state.level))
    for name, number in (
        ("V", state.V),
        ("V_bar", state.V_most),
        ("O", state.cut),
        ("beta", state.beta),
        ("v", state.spread),
        ("length", state.length),
        ("open", state.undecided),
    ):
        setattr(oracle, name, float(number[0]))
