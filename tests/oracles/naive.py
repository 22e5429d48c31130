"""The naive oracle: the whole paper in plain, slow Python, to be read against it line by line.

The paper is Rouyer, Seldin, Cesa-Bianchi, "An Algorithm for Stochastic and Adversarial Bandits with Switching
Costs", ICML 2021; ZS21 is Zimmert and Seldin, JMLR 22(28), 2021. Every fast path is tested against this file;
it shares nothing with `src/`. Arms count from 0, rounds t and blocks n from 1. E3 is entry 3 of the errata.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Literal, NamedTuple

import mpmath

Number = int | float | str | Fraction
Costs = Callable[[int], float]  # n -> λ_n


# ----------------------------------------------------------------------------------------- weights and draws


def tsallis_weights(C: Sequence[float], eta: float) -> list[float]:
    """p_n of Algorithm 1: p_i = 4/(η(C_i − x))², x < min C the root of Σp = 1, sought as s = min C − x > 0.

    At s = 2/η the best arm alone has weight 1, at s = 2√K/η no arm has more than 1/K: bisect between the two, then
    polish. The root is low + δ; with x = δ/low, Newton's δ is good to x², and so are the weights that it changes.
    """
    K, smallest = len(C), min(C)
    D = [float(c - smallest) for c in C]

    def weights(s: float) -> list[float]:
        return [(2 / (eta * (d + s))) ** 2 for d in D]

    def newton(w: list[float]) -> float:
        return math.fsum([*w, -1.0]) / (eta * math.fsum(v**1.5 for v in w))

    low, high = 2 / eta, 2 * math.sqrt(K) / eta
    while high - low > 2**-15 * low:
        s = low + (high - low) / 2
        low, high = (s, high) if math.fsum(weights(s)) >= 1 else (low, s)
    low += newton(weights(low))  # now x < 2^-30
    w = weights(low)
    delta = newton(w)
    w = [v * (1 - 2 * delta / (d + low)) for v, d in zip(w, D, strict=True)]
    total = math.fsum(w)
    return [v / total for v in w]


def tsallis_weights_exact(C: Sequence[float], eta: float, digits: int = 50) -> list[Any]:
    """The same p to `digits` digits (a list of mpf); floats are taken as exact binary numbers.

    f(x) = Σp − 1 is increasing and convex on (−∞, min C), so Newton from s = 2/η, where f >= 0, moves s
    up to the root and never past it: s ← s + f/f', f' = ηΣp^{3/2} (ZS21, Algorithm 2).
    """
    with mpmath.workdps(digits + 15):
        eta = mpmath.mpmathify(eta)
        costs = [mpmath.mpmathify(c) for c in C]
        smallest = min(costs)
        s = 2 / eta
        while True:
            roots = [2 / (eta * (c - smallest + s)) for c in costs]  # √p_i
            step = (mpmath.fsum(r**2 for r in roots) - 1) / (eta * mpmath.fsum(r**3 for r in roots))
            if step <= s * mpmath.mpf(10) ** -(digits + 5):
                return [r**2 for r in roots]
            s += step


def exp3_weights(C: Sequence[float], eta: float) -> list[float]:
    """EXP3: p_i ∝ exp(−η C_i)."""
    smallest = min(C)
    w = [math.exp(-eta * (x - smallest)) for x in C]
    total = math.fsum(w)
    return [v / total for v in w]


def draw(p: Sequence[float], u: float) -> int:
    """The first arm whose cumulative probability exceeds u; past the rounded sum, the last arm with p > 0."""
    cumulative, last = 0.0, 0
    for i, p_i in enumerate(p):
        cumulative += p_i
        if cumulative > u:
            return i
        if p_i > 0:
            last = i
    return last


# ------------------------------------------------------------------------------------------- exact roundings


@cache
def rational(x: Number) -> Fraction:
    """The decimal the user wrote: 0.025 is 1/40, not the nearest binary fraction."""
    return Fraction(str(x))


def ceil_root(x: int | Fraction, k: int) -> int:
    """⌈x^{1/k}⌉, exactly: the smallest integer m >= 0 with m^k >= x, for x >= 0."""
    low, high = -1, 1
    while high**k < x:
        high *= 2
    while high - low > 1:  # low^k < x <= high^k
        m = (low + high) // 2
        low, high = (low, m) if m**k >= x else (m, high)
    return high


def floor_power(T: int, a: int, b: int) -> int:
    """⌊T^{a/b}⌋, exactly: one less than the smallest integer m with m^b > T^a."""
    return ceil_root(T**a + 1, b) - 1


def theorem_1_length(n: int, K: int, lam: Number) -> int:
    """|B_n| = max(⌈a_n⌉, 1), a_n = (3λ/2)√(n/K): the smallest integer m >= 1 with 4K m² >= 9λ²n."""
    return max(ceil_root(9 * rational(lam) ** 2 * n / (4 * K), 2), 1)


def guarded_ceil(a: float) -> int:
    """⌈a⌉ where a float a hair above an integer counts as that integer."""
    return math.ceil(a - 1e-9 * max(1.0, a))


# -------------------------------------------------------------------------------------------------- policies


class Block(NamedTuple):
    """A block as a value: what its estimate needs, whenever its loss comes."""

    arm: int
    p: list[float]  # p_n, of the draw
    baseline: float = 0.0  # b_I, which C_I has got at the draw


class Algorithm1(ABC):
    """Algorithm 1: draw I_n ~ p_n, hold it for |B_n| rounds, C_n(I_n) = C_{n−1}(I_n) + c_n / p_n(I_n)."""

    weights = staticmethod(tsallis_weights)

    def __init__(self, K: int) -> None:
        self.K, self.n, self.arm = K, 0, -1
        self.C = [0.0] * K
        self.p = [1 / K] * K
        self.eta = math.inf

    @abstractmethod
    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        """(|B_n|, η_n), the length not truncated (E30)."""

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        self.n += 1
        length, self.eta = self.schedule(self.n, announced)
        self.p = [1.0] if self.K == 1 else self.weights(self.C, self.eta)
        self.arm = draw(self.p, u)
        return self.arm, length

    def block(self) -> Block:
        return Block(self.arm, self.p)

    def observe(self, total_loss: float, rounds: int, block: Block | None = None) -> None:
        """The loss of a block: of the one begun last, unless another is given."""
        arm, p, _ = block or self.block()
        self.C[arm] += total_loss / p[arm]


class ReducedVariance(Algorithm1):
    """ℓ̂_i = 1[I=i](ℓ − b_i)/p_i + b_i, b_i = B/2 where p_i >= (ηB)² (ZS21), B the largest loss of the block.

    The b_i are added at the draw, so that a block needs its own arm's only. `reduced=False` leaves them out.
    """

    reduced = True

    @abstractmethod
    def largest_loss(self, length: int) -> float:
        """B."""

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        arm, length = super().choose(u, announced)
        B = self.largest_loss(length)
        least = (self.eta * B) ** 2 * (1 - 1e-13)  # equality included, up to rounding
        self.b = [B / 2 if self.reduced and p_i >= least else 0.0 for p_i in self.p]
        self.C = [c + b_i for c, b_i in zip(self.C, self.b, strict=True)]
        return arm, length

    def block(self) -> Block:
        return Block(self.arm, self.p, self.b[self.arm])

    def observe(self, total_loss: float, rounds: int, block: Block | None = None) -> None:
        arm, p, baseline = block or self.block()
        self.C[arm] += (total_loss - baseline) / p[arm]


class TsallisSwitch(ReducedVariance):
    """Tsallis-Switch tuned by Theorem 1: η_n = (2/(a_n + 1))·√(2/n); twice that with reduced variance (ours)."""

    def __init__(self, K: int, lam: Number, estimator: Literal["iw", "rv"] = "iw") -> None:
        super().__init__(K)
        self.lam, self.reduced = lam, estimator == "rv"

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        a = 1.5 * float(rational(self.lam)) * math.sqrt(n / self.K)
        eta = 2 / (a + 1) * math.sqrt(2 / n)
        return theorem_1_length(n, self.K, self.lam), 2 * eta if self.reduced else eta

    def largest_loss(self, length: int) -> float:
        return float(length)


class TsallisSwitchGiven(Algorithm1):
    """Algorithm 1 as it stands: block lengths and learning rates are its input."""

    def __init__(self, K: int, lengths: Sequence[int], rates: Sequence[float]) -> None:
        super().__init__(K)
        self.lengths, self.rates = lengths, rates

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return self.lengths[n - 1], self.rates[n - 1]


class VaryingTsallisSwitch(Algorithm1):
    """Theorem 4, λ_n announced before block n: a_n = Σ_{s<=n}(λ_s + √(K/s)) (E1), η_n = 2√(2K)/(3a_n)."""

    def __init__(self, K: int) -> None:
        super().__init__(K)
        self.a = 0.0

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        assert announced is not None
        self.a += announced + math.sqrt(self.K / n)
        length = max(guarded_ceil(math.sqrt(announced * self.a / self.K)), 1)
        return length, 2 * math.sqrt(2 * self.K) / (3 * self.a)


class TsallisInf(ReducedVariance):
    """Tsallis-INF (ZS21) for losses in [0, B].

    Importance-weighted estimates, Corollary 3: η_t = 2/(B√t). Reduced-variance estimates: η_t = 4/(B√t).
    """

    def __init__(self, K: int, estimator: Literal["iw", "rv"] = "iw", B: float = 1.0) -> None:
        super().__init__(K)
        self.reduced, self.B = estimator == "rv", B

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return 1, (4 if self.reduced else 2) / (self.B * math.sqrt(n))

    def largest_loss(self, length: int) -> float:
        return self.B


class TsallisInfAnnounced(ReducedVariance):
    """Theorem 2, losses in [0, b_t], b_t announced: η_t = 2/√(Σ_{s<=t} b_s²), our choice; twice that with rv."""

    def __init__(self, K: int, estimator: Literal["iw", "rv"] = "iw") -> None:
        super().__init__(K)
        self.reduced = estimator == "rv"
        self.bound = self.sum_of_squares = 0.0

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        assert announced is not None
        self.bound = announced
        self.sum_of_squares += announced**2
        if self.sum_of_squares == 0:  # every loss so far was 0, so is C: any rate gives the uniform p
            return 1, 1.0
        return 1, (4 if self.reduced else 2) / math.sqrt(self.sum_of_squares)

    def largest_loss(self, length: int) -> float:
        return self.bound


class Exp3(Algorithm1):
    """EXP3 on losses without mixing, η_t = √(ln K/(tK))."""

    weights = staticmethod(exp3_weights)

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return 1, math.sqrt(math.log(self.K) / (n * self.K))


class BlockExp3(Exp3):
    """EXP3 on blocks of B = max(1, ⌈λ^{2/3}(T/K)^{1/3}⌉) rounds (exact), η_n = √(ln K/(nK))/B."""

    def __init__(self, K: int, lam: Number, T: int) -> None:
        super().__init__(K)
        self.B = max(1, ceil_root(rational(lam) ** 2 * T / K, 3))

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return self.B, math.sqrt(math.log(self.K) / (n * self.K)) / self.B


def base_grid(T: int, grid: str, M: int | None = None) -> list[int]:
    """t_1..t_M of BaSE, t_M = T. Defaults: geometric M = ⌈ln T⌉, arithmetic M = ⌈T^{0.4}⌉, minimax none."""
    if grid == "geometric":  # ⌊T^{m/M}⌋
        M = M or max(1, math.ceil(math.log(T)))
        points = [floor_power(T, m, M) for m in range(1, M + 1)]
    elif grid == "arithmetic":  # ⌊mT/M⌋
        M = M or ceil_root(T**2, 5)
        points = [m * T // M for m in range(1, M + 1)]
    elif grid == "minimax":  # ⌊a^{2−2^{1−m}}⌋ with a = T^{1/(2−2^{1−M})}
        if M is None:
            raise ValueError("the minimax grid has no default M")
        points = [floor_power(T, (2**m - 1) * 2 ** (M - m), 2**M - 1) for m in range(1, M + 1)]
    else:
        raise ValueError(grid)
    return [*points[:-1], T]


class BaSE:
    """BaSE (Gao, Han, Ren, Zhou 2019) as algorithms.md section 3.1 reads it; rewards are 1 − loss.

    Ours: ties for the final commitment go to the smallest index; the arm with the best mean is never dropped
    (it matters for γ = 0 only); `order="random"` shuffles the order of the batch before by Fisher-Yates, from the last
    place on, with the uniforms that `choose` is handed a function for.
    """

    def __init__(
        self,
        K: int,
        T: int,
        grid: str,
        gamma: float = 0.5,
        M: int | None = None,
        order: Literal["index", "random", "round-robin"] = "index",
    ) -> None:
        self.K, self.T, self.gamma, self.order = K, T, gamma, order
        self.points = base_grid(T, grid, M)
        self.active = list(range(K))
        self.pulls, self.rewards = [0] * K, [0.0] * K
        self.s = 0  # rounds really played
        self.m = 0  # batches begun
        self.arm = -1
        self.p = [1 / K] * K
        self.plan: list[tuple[int, int]] = []

    def mean(self, i: int) -> float:
        return self.rewards[i] / self.pulls[i] if self.pulls[i] else 0.0

    def _begin_batch(self, u: Any) -> None:
        """The plan of batch m: a list of (arm, rounds), one entry a block."""
        self.m, self.j = self.m + 1, 0
        if self.m == len(self.points):  # last batch: commit
            self.active = [max(self.active, key=lambda i: (self.mean(i), -i))]
            self.plan = [(self.active[0], self.T - self.s)]
            return
        q = max(1, (self.points[self.m - 1] - self.s) // len(self.active))
        if self.order == "random":
            for i in range(len(self.active) - 1, 0, -1):
                j = int(u() * (i + 1))
                self.active[i], self.active[j] = self.active[j], self.active[i]
        in_turns = self.order == "round-robin" and len(self.active) > 1
        self.plan = [(i, 1) for _ in range(q) for i in self.active] if in_turns else [(i, q) for i in self.active]

    def choose(self, u: Any, announced: float | None = None) -> tuple[int, int]:
        if not self.plan:
            self._begin_batch(u)
        left = self.plan[self.j :] if self.order == "random" else [self.plan[self.j]]
        self.p = [sum(i == arm for arm, _ in left) / len(left) for i in range(self.K)]
        self.arm, rounds = self.plan[self.j]
        return self.arm, min(rounds, self.T - self.s)

    def observe(self, total_loss: float, rounds: int) -> None:
        self.pulls[self.arm] += rounds
        self.rewards[self.arm] += rounds - total_loss
        self.s += rounds
        self.j += 1
        if self.j == len(self.plan) and self.s < self.T:
            tau = self.pulls[self.active[0]]  # the same for every active arm
            width = math.sqrt(self.gamma * math.log(self.T * self.K) / tau)
            top = max(self.mean(i) for i in self.active)
            self.active = [i for i in self.active if self.mean(i) == top or top - self.mean(i) < width]
            self.plan = []
