"""The naive oracle: the whole paper in plain, slow Python, to be read against it line by line.

The paper is Rouyer, Seldin, Cesa-Bianchi, "An Algorithm for Stochastic and Adversarial Bandits with Switching
Costs", ICML 2021; ZS21 is Zimmert and Seldin, JMLR 22(28), 2021. Every fast path is tested against this file;
it shares nothing with `src/`. Arms count from 0, rounds t and blocks n from 1. E3 is entry 3 of the errata.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import mpmath

Number = int | float | str | Fraction
Costs = Callable[[int], float]  # n -> λ_n


# ----------------------------------------------------------------------------------------- weights and draws


def tsallis_weights(C: Sequence[float], eta: float) -> list[float]:
    """p_n of Algorithm 1: p_i = 4/(η(C_i − x))², x < min C the root of Σp = 1, sought as s = min C − x > 0.

    At s = 2/η the best arm alone has weight 1, at s = 2√K/η no arm has more than 1/K: bisect between the two.
    """
    K, smallest = len(C), min(C)
    D = [float(c - smallest) for c in C]

    def weights(s: float) -> list[float]:
        return [(2 / (eta * (d + s))) ** 2 for d in D]

    low, high = 2 / eta, 2 * math.sqrt(K) / eta
    while low < (s := low + (high - low) / 2) < high:  # until low and high are neighbouring floats
        low, high = (s, high) if math.fsum(weights(s)) >= 1 else (low, s)
    w = weights(low)
    # Polish: the root is low + δ, δ below the resolution of floats; one Newton step applied to w itself.
    delta = math.fsum([*w, -1.0]) / (eta * math.fsum(v**1.5 for v in w))
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


def exp3_weights(L: Sequence[float], eta: float) -> list[float]:
    """EXP3: p_i ∝ exp(−η L_i)."""
    smallest = min(L)
    w = [math.exp(-eta * (x - smallest)) for x in L]
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
        """The block that was begun last."""
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
    (it matters for γ = 0 only); `order="random"` shuffles by Fisher-Yates: position j = 0, 1, ... of a batch
    exchanges with position j + ⌊u·(|A| − j)⌋ at the start of its own block, with the u of that block.
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
        self._begin_batch()

    def mean(self, i: int) -> float:
        return self.rewards[i] / self.pulls[i] if self.pulls[i] else 0.0

    def _begin_batch(self) -> None:
        """The plan of batch m: a list of (arm, rounds), one entry a block."""
        self.m, self.j = self.m + 1, 0
        if self.m == len(self.points):  # last batch: commit
            best = max(self.active, key=lambda i: (self.mean(i), -i))
            self.plan = [(best, self.T - self.s)]
            return
        q = max(1, (self.points[self.m - 1] - self.s) // len(self.active))
        if self.order == "round-robin":
            self.plan = [(i, 1) for _ in range(q) for i in self.active]
        else:
            self.plan = [(i, q) for i in self.active]

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        j, plan = self.j, self.plan
        shuffled = self.order == "random" and self.m < len(self.points)
        candidates = plan[j:] if shuffled else [plan[j]]
        self.p = [sum(i == arm for arm, _ in candidates) / len(candidates) for i in range(self.K)]
        if shuffled:
            other = j + int(u * (len(plan) - j))
            plan[j], plan[other] = plan[other], plan[j]
        self.arm, rounds = plan[j]
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
            self._begin_batch()


# ---------------------------------------------------------------------------------------------- environments


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


# -------------------------------------------------------------------------------------------------- the game


class Game(NamedTuple):
    """One entry a round: J_t, switches up to t, pseudo-regret and cost at t against the best arm up to t."""

    arms: list[int]
    switches: list[int]
    pseudo_regret: list[float]
    cost: list[float]


def play(policy: Any, means: Callable[[int], list[float]], T: int, rng: random.Random, lam: Number | Costs) -> Game:
    """T rounds with binary losses; J_0 is no arm: the first play is a switch; a callable λ_n is announced."""
    game = Game([], [], [], [])
    t = n = switches = 0
    switching_cost = played = 0.0
    expected: list[float] = []  # Σ_{s<=t} E ℓ_{s,i}
    while t < T:
        n += 1
        announced = lam(n) if callable(lam) else None
        arm, rounds = policy.choose(rng.random(), announced)
        if not game.arms or arm != game.arms[-1]:
            switches += 1
            switching_cost += float(rational(lam)) if announced is None else announced
        m, total_loss = min(rounds, T - t), 0.0
        for _ in range(m):
            t += 1
            mu = means(t)
            total_loss += 1.0 if rng.random() < mu[arm] else 0.0
            played += mu[arm]
            expected = [x + y for x, y in zip(expected, mu, strict=True)] if expected else list(mu)
            game.arms.append(arm)
            game.switches.append(switches)
            game.pseudo_regret.append(played - min(expected))
            game.cost.append(played - min(expected) + switching_cost)
        policy.observe(total_loss, m)
    return game


# ---------------------------------------------------------------------------------------------------- bounds
# `gaps` lists Δ_i of the arms i ≠ i*; the constrained bounds need a unique best arm and K >= 2.


def theorem_1_blocks(T: int, K: int, lam: Number) -> int:
    """N: the smallest integer with |B_1| + ... + |B_N| >= T."""
    n = covered = 0
    while covered < T:
        n += 1
        covered += theorem_1_length(n, K, lam)
    return n


def theorem_1_blocks_bound(T: int, K: int, lam: float) -> float:
    """N <= K^{1/3}(T/λ)^{2/3} + 1 (proof of Theorem 1); N = T for λ = 0 (E7)."""
    return K ** (1 / 3) * (T / lam) ** (2 / 3) + 1 if lam > 0 else float(T)


def theorem_1_adversarial(T: int, K: int, lam: float) -> float:
    main = 5.25 * (lam * K) ** (1 / 3) * T ** (2 / 3) + 6.4 * math.sqrt(K * T)
    return main + 3 * math.sqrt(2 * K) + 5.25 * lam + 6.25


def theorem_1_constrained(T: int, K: int, lam: float, gaps: Iterable[float]) -> float:
    first = 66 * (lam * K) ** (2 / 3) * T ** (1 / 3) + 32 * math.log(T)
    second = 160 * lam ** (2 / 3) * T ** (1 / 3) * K ** (1 / 6) + 160 * lam + 49 * lam**2 + 32
    return (first + second) * sum(1 / gap for gap in gaps) + 544 * lam / math.sqrt(K) + lam + 66


def first_small(etas: Sequence[float], b: Sequence[float]) -> int:
    """T_0, N_0: the smallest T_0 with η_t b_t <= 1/4 (1e-12 for rounding) for T_0 <= t <= T, else T (E4)."""
    T_0 = len(etas) + 1
    while T_0 > 1 and etas[T_0 - 2] * b[T_0 - 2] <= 0.25 * (1 + 1e-12):
        T_0 -= 1
    return min(T_0, len(etas))


def theorem_2_adversarial(K: int, etas: Sequence[float], b: Sequence[float]) -> float:
    stability = sum(eta / 2 * b_t**2 for eta, b_t in zip(etas, b, strict=True))
    return math.sqrt(K) * (stability + 4 / etas[-1]) + 1


def theorem_2_constrained(
    etas: Sequence[float],
    b: Sequence[float],
    gaps: Sequence[float],
    c: Literal["global", "per-round"] = "global",
) -> float:
    """The mean gap at round t is b_t Δ_i (E6). c: one for all t as in the proof, or one for each t (E5)."""
    inverse = [0.0] + [1 / eta for eta in etas]  # η_0^{-1} = 0
    rise = [inverse[t] - inverse[t - 1] for t in range(1, len(inverse))]
    two = [1.25 * eta * b_t**2 >= 2 * r for eta, b_t, r in zip(etas, b, rise, strict=True)]
    bound = 2.0 + sum(etas[t] * b[t] ** 2 for t in range(first_small(etas, b)))
    for t, (eta, b_t) in enumerate(zip(etas, b, strict=True)):
        c_t = 2 if (all(two) if c == "global" else two[t]) else 4
        for gap in gaps:
            bound += (3.5 * eta * b_t**2 + 2 * c_t * rise[t]) ** 2 / (4 * gap * b_t)
    return bound


def corollary_3_adversarial(T: int, K: int, B: float = 1.0) -> float:
    return 4 * B * math.sqrt(K * T) + 1


def corollary_3_constrained(T: int, gaps: Iterable[float], B: float = 1.0, *, corrected: bool = True) -> float:
    """Printed with 8√B; the proof gives Σ_{t<=64} η_t B² <= 32B (E3). The mean gaps are BΔ_i (E6)."""
    start = 32 * B if corrected else 8 * math.sqrt(B)
    return 21 * B * (math.log(T) + 1) * sum(1 / gap for gap in gaps) + start + 2


def theorem_4_schedule(T: int, K: int, lam: Costs) -> tuple[list[float], list[int], list[float]]:
    """λ_n, |B_n| and η_n for n = 1..N, no block truncated."""
    policy = VaryingTsallisSwitch(K)
    lams: list[float] = []
    lengths: list[int] = []
    etas: list[float] = []
    covered = 0
    while covered < T:
        n = len(lams) + 1
        lams.append(lam(n))
        length, eta = policy.schedule(n, lams[-1])
        lengths.append(length)
        etas.append(eta)
        covered += length
    return lams, lengths, etas


def theorem_4_adversarial(T: int, K: int, lam: Costs) -> float:
    lams, _, _ = theorem_4_schedule(T, K, lam)
    return sum(7 * lam_n for lam_n in lams) + 12 * math.sqrt(K * len(lams)) + 2


def theorem_4_constrained(
    T: int, K: int, lam: Costs, gaps: Sequence[float], beyond: float = 0.0, *, truncated: bool = True
) -> float:
    """λ_{N+1} = `beyond`, 0 as there is no such switch (E14).

    |B_n| in the denominator is from R_T = Σ_n |B_n| Σ_i Δ_i E p_{n,i}, where B_N is truncated at T;
    `truncated=False` divides by the planned |B_N| instead, which the proof does not support.
    """
    lams, lengths, etas = theorem_4_schedule(T, K, lam)
    N, N_0 = len(lams), first_small(etas, lengths)
    following = [*lams[1:], beyond]
    played = lengths.copy()
    if truncated:
        played[-1] = T - sum(lengths[:-1])
    bound = sum(2 * math.sqrt(2) * lams[n] / math.sqrt(K) for n in range(N_0))
    bound += 4 * math.sqrt(2 * N_0) + lams[0] + 2
    for n in range(1, N + 1):
        for gap in gaps:
            root = 11 * lams[n - 1] + following[n - 1] + 10 * math.sqrt(2) / math.sqrt(n)
            bound += root**2 / (4 * gap * played[n - 1])
    return bound


def lemma_8(lams: Sequence[float], P: Sequence[Sequence[float]], j: int, beyond: float = 0.0) -> float:
    """λ_1 + Σ_n (λ_n + λ_{n+1}) Σ_{i≠j} P(I_n = i), with P[n − 1][i] = P(I_n = i) and λ_{N+1} = `beyond`."""
    following = [*lams[1:], beyond]
    bound = lams[0]
    for lam_n, lam_next, P_n in zip(lams, following, P, strict=True):
        bound += (lam_n + lam_next) * sum(P_n[i] for i in range(len(P_n)) if i != j)
    return bound
