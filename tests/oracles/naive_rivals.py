"""The rivals in plain, slow Python, to be read against their sources; they share nothing with `src/`.

As in `naive`: arms count from 0, `choose` gives an arm and its rounds, `observe` tells what they lost. Where a policy
draws more than one uniform for a block, `choose` is handed a function that gives the next one.
"""

import math
from collections.abc import Callable
from typing import Any

import naive
from naive_bounds import theorem_1_adversarial

Uniforms = Callable[[], float]


# -------------------------------------------------------------------------------------------------- variates


def normal(uniforms: Uniforms) -> float:
    while True:
        x, y = 2 * uniforms() - 1, 2 * uniforms() - 1
        s = x * x + y * y
        if 0 < s < 1:
            return x * math.sqrt(-2 * math.log(s) / s)


def gamma(shape: float, uniforms: Uniforms) -> float:
    """Marsaglia and Tsang 2000, without their squeeze: it decides as the logarithm does."""
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal(uniforms)
        v = (1 + c * x) ** 3
        if v <= 0:
            continue
        if math.log(1 - uniforms()) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v


def beta(a: float, b: float, uniforms: Uniforms) -> float:
    x = gamma(a, uniforms)
    return x / (x + gamma(b, uniforms))


# ------------------------------------------------------------------------------------------ averages of losses


class Averages:
    def __init__(self, K: int) -> None:
        self.K, self.n, self.arm = K, 0, -1
        self.losses: list[list[tuple[float, int]]] = [[] for _ in range(K)]

    def pulls(self, i: int) -> int:
        return sum(rounds for _, rounds in self.losses[i])

    def total(self, i: int) -> float:
        return sum(loss for loss, _ in self.losses[i])

    @property
    def p(self) -> list[float]:
        return [float(i == self.arm) for i in range(self.K)]

    def observe(self, total_loss: float, rounds: int) -> None:
        self.losses[self.arm].append((total_loss, rounds))


class Ucb1(Averages):
    """Mean loss − √(c ln t/N); held for `cooldown` rounds after a switch, which needs an index lower by `threshold`."""

    def __init__(self, K: int, cooldown: int = 1, threshold: float = 0.0, c: float = 2.0) -> None:
        super().__init__(K)
        self.cooldown, self.threshold, self.c = cooldown, threshold, c

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        self.n += 1
        last = self.arm
        if self.n <= self.K:
            self.arm = self.n - 1
        else:
            t = sum(self.pulls(i) for i in range(self.K))
            index = [
                self.total(i) / self.pulls(i) - math.sqrt(self.c * math.log(t) / self.pulls(i)) for i in range(self.K)
            ]
            best = index.index(min(index))
            if index[best] < index[last] - self.threshold:
                self.arm = best
        return self.arm, self.cooldown if self.arm != last else 1


class Thompson(Averages):
    """A sample of Beta(1 + C, 1 + N − C) for each arm, and the arm of the least."""

    def __init__(self, K: int, cooldown: int = 1, threshold: float = 0.0) -> None:
        super().__init__(K)
        self.cooldown, self.threshold = cooldown, threshold

    def samples(self, uniforms: Uniforms) -> list[float]:
        return [beta(1 + self.total(i), 1 + self.pulls(i) - self.total(i), uniforms) for i in range(self.K)]

    def choose(self, uniforms: Uniforms, announced: float | None = None) -> tuple[int, int]:
        self.n += 1
        last = self.arm
        theta = self.samples(uniforms)
        best = theta.index(min(theta))
        if last < 0 or theta[best] < theta[last] - self.threshold:
            self.arm = best
        return self.arm, self.cooldown if self.arm != last else 1


def tau(r: int, alpha: float) -> int:
    """⌈(1 + α)^r⌉ of the decimal α, exactly."""
    return math.ceil((1 + naive.rational(alpha)) ** r)


class Ucb2(Averages):
    """Auer et al. 2002, Figure 2; epochs of no rounds change nothing but r."""

    def __init__(self, K: int, alpha: float) -> None:
        super().__init__(K)
        self.alpha, self.r, self.started = alpha, [0] * K, [False] * K

    def epoch(self, j: int) -> int:
        self.arm = j
        if not self.started[j]:
            self.started[j] = True
            return 1
        rounds = 0
        while rounds == 0:
            rounds = tau(self.r[j] + 1, self.alpha) - tau(self.r[j], self.alpha)
            self.r[j] += 1
        return rounds

    def index(self, j: int) -> float:
        size, t = tau(self.r[j], self.alpha), sum(tau(r, self.alpha) for r in self.r)
        return self.total(j) / self.pulls(j) - math.sqrt((1 + self.alpha) * math.log(math.e * t / size) / (2 * size))

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        self.n += 1
        j = self.n - 1 if self.n <= self.K else min(range(self.K), key=self.index)
        return j, self.epoch(j)


class Ts2(Ucb2):
    """The epochs of UCB2, the arm of Thompson sampling."""

    def choose(self, uniforms: Uniforms, announced: float | None = None) -> tuple[int, int]:  # type: ignore[override]
        theta = Thompson.samples(self, uniforms)
        j = theta.index(min(theta))
        return j, self.epoch(j)


class BatchedElimination(Averages):
    """Esfandiari et al. 2021: ⌊q^i⌋ rounds of every active arm in batch i, q = T^{1/B}."""

    def __init__(self, K: int, T: int, B: int) -> None:
        super().__init__(K)
        self.T, self.B = T, B
        self.active, self.batch, self.c, self.played = list(range(K)), 0, 0, 0
        self.plan: list[tuple[int, int]] = []

    def best(self) -> int:
        return min(self.active, key=lambda i: (self.total(i), i))

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        if not self.plan:
            self.batch += 1
            share = naive.floor_power(self.T, self.batch, self.B) if self.batch < self.B else self.T
            if self.batch >= self.B or share * len(self.active) > self.T - self.played:
                self.active = [self.best()]
                self.batch, share = self.B, max(1, self.T - self.played)
            self.plan = [(i, share) for i in self.active]
            self.c += share
        self.arm, rounds = self.plan.pop(0)
        return self.arm, rounds

    def observe(self, total_loss: float, rounds: int) -> None:
        super().observe(total_loss, rounds)
        self.played += rounds
        if not self.plan and self.batch < self.B:
            width = math.sqrt(2 * math.log(2 * self.K * self.T * self.B) / self.c)
            least = self.total(self.best()) / self.c
            self.active = [i for i in self.active if self.total(i) / self.c - least < width]


class HoldForever(Averages):
    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        self.n += 1
        if self.n == 1:
            self.arm = int(u * self.K)
        return self.arm, self.n

    @property
    def p(self) -> list[float]:
        return [1 / self.K] * self.K if self.n == 1 else [float(i == self.arm) for i in range(self.K)]


# -------------------------------------------------------------------------------------------- estimates of losses


class LazyExp3:
    """Round by round: a coin of probability ε says whether to draw again; the stay's whole loss over p_I is estimated.

    ε and η are those of the round in which the arm was drawn.
    """

    def __init__(self, K: int, lam: float) -> None:
        self.K, self.lam, self.arm, self.t, self.squares = K, lam, -1, 0, 0.0
        self.C, self.p = [0.0] * K, [1 / K] * K

    def choose(self, uniforms: Uniforms, announced: float | None = None) -> tuple[int, int]:
        epsilon = 1.0 if self.lam == 0 else min(1.0, (self.K / (self.lam**2 * (self.t + 1))) ** (1 / 3))
        self.squares += (2 - epsilon) / epsilon**2
        self.p = naive.exp3_weights(self.C, math.sqrt(math.log(self.K) / (self.K * self.squares)))
        self.arm = naive.draw(self.p, uniforms())
        u, rounds, survived = uniforms(), 1, 1 - epsilon  # P(b > 1) = 1 − ε, P(b > 2) = (1 − ε)², …
        while 1 - u <= survived:
            rounds, survived = rounds + 1, survived * (1 - epsilon)
        self.t += rounds
        return self.arm, rounds

    def observe(self, total_loss: float, rounds: int) -> None:
        self.C[self.arm] += total_loss / self.p[self.arm]


class Amir:
    """Tsallis-INF until λ·switches ≥ (λK)^{1/3}T^{2/3}, then Tsallis-INF on blocks of ⌈λ^{2/3}(T/K)^{1/3}⌉ rounds.

    With `T=None` the horizon is supposed to be 1024, then 2048, …; each time everything begins anew.
    """

    def __init__(self, K: int, lam: float, T: int | None = None) -> None:
        self.K, self.lam, self.T, self.known = K, lam, T or 1024, T is not None
        self.left, self.arm, self.phase = self.T, -1, 0
        self.restart()

    def restart(self) -> None:
        self.switches, self.B = 0, 1
        self.forget()

    def forget(self) -> None:
        self.m, self.C, self.phase = 0, [0.0] * self.K, self.phase + 1

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        if not self.known and self.left == 0:
            self.T *= 2
            self.left = self.T
            self.restart()
        B = max(1, naive.ceil_root(naive.rational(self.lam) ** 2 * self.T / self.K, 3))
        if self.B == 1 < B and (self.lam * self.switches) ** 3 >= self.lam * self.K * self.T**2:
            self.B = B
            self.forget()
        self.m += 1
        self.p = [1.0] if self.K == 1 else naive.tsallis_weights(self.C, 2 / (self.B * math.sqrt(self.m)))
        last, self.arm = self.arm, naive.draw(self.p, u)
        self.switches += self.arm != last
        rounds = self.B if self.known else min(self.B, self.left)
        self.left -= rounds
        return self.arm, rounds

    def block(self) -> tuple[int, int, float]:
        """Return the weight of this block's loss, and the phase in which it counts."""
        return self.phase, self.arm, self.p[self.arm]

    def observe(self, total_loss: float, rounds: int, block: tuple[int, int, float] | None = None) -> None:
        phase, arm, p = block or self.block()
        if phase == self.phase:
            self.C[arm] += total_loss / p


class Paused:
    """Tsallis-INF until λ·switches ≥ τ(U(m) + λ) in an epoch of m rounds, then a new Tsallis-Switch to its end.

    Or `other`, of the same arguments, in place of Tsallis-Switch.
    """

    def __init__(self, K: int, lam: float, share: float = 1.0, other: Any = naive.TsallisSwitch) -> None:
        self.K, self.lam, self.share, self.other, self.m, self.left = K, lam, share, other, 0, 0
        self.inf, self.last = naive.TsallisInf(K), -1
        self.player: Any = self.inf

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        if self.left == 0:
            self.m = 2 * self.m or max(1, math.ceil(self.lam))
            self.left, self.switches, self.player = self.m, 0, self.inf
        budget = self.share * (theorem_1_adversarial(self.m, self.K, self.lam) + self.lam)
        if self.player is self.inf and self.lam * self.switches >= budget:
            self.player = self.other(self.K, self.lam)
        arm, rounds = self.player.choose(u)
        if self.player is self.inf:
            self.switches += arm != self.last
            self.last = arm
        rounds = min(rounds, self.left)
        self.left -= rounds
        self.p = self.player.p
        return arm, rounds

    @property
    def C(self) -> list[float]:
        return self.player.C

    @C.setter
    def C(self, estimates: list[float]) -> None:
        self.player.C = estimates

    def block(self) -> tuple[naive.Algorithm1, naive.Block]:
        return self.player, self.player.block()

    def observe(
        self, total_loss: float, rounds: int, block: tuple[naive.Algorithm1, naive.Block] | None = None
    ) -> None:
        player, drawn = block or self.block()
        if player is self.player:
            player.observe(total_loss, rounds, drawn)


def stability_and_penalty(p: list[float]) -> tuple[float, float]:
    """z = 2 Σ √min(q, 1 − max q), h = 2 Σ (√q − q)."""
    top = max(p)
    return 2 * sum(math.sqrt(min(q, top, 1 - top)) for q in p), 2 * sum(math.sqrt(q) - q for q in p)


class Spm(naive.Algorithm1):
    """β_{n+1} = β_n + |B_n|² z_n/(β_n h_n), η = 2/β, on the blocks of Theorem 1."""

    def __init__(self, K: int, lam: float) -> None:
        super().__init__(K)
        self.lam, self.beta = lam, 8.0 * K * naive.theorem_1_length(1, K, lam)

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return naive.theorem_1_length(n, self.K, self.lam), 2 / self.beta

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        arm, length = super().choose(u, announced)
        if self.K > 1:
            z, h = stability_and_penalty(self.p)
            self.beta += length**2 * z / (self.beta * h)
        return arm, length


class Spb(naive.Algorithm1):
    """β_{n+1} = β_n + (B² z_n/β_n + λ(1 − max q_n))/h_n, η = 2/β, on blocks of B = ⌈λ^{2/3}(T/K)^{1/3}⌉ rounds."""

    def __init__(self, K: int, lam: float, T: int) -> None:
        super().__init__(K)
        self.lam, self.B = lam, max(1, naive.ceil_root(naive.rational(lam) ** 2 * T / K, 3))
        self.beta = 8.0 * K * self.B

    def schedule(self, n: int, announced: float | None) -> tuple[int, float]:
        return self.B, 2 / self.beta

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        arm, length = super().choose(u, announced)
        if self.K > 1:
            z, h = stability_and_penalty(self.p)
            self.beta += (length**2 * z / self.beta + self.lam * (1 - max(self.p))) / h
        return arm, length


# ------------------------------------------------------------------------------------------ rules by hand


def mean_of_last(losses: list[float], w: int) -> float:
    """The mean of the first losses; from the w-th on each moves it by a w-th of what it differs."""
    x = 0.0
    for n, loss in enumerate(losses, 1):
        x = x + (loss - x) / n if n < w else (1 - 1 / w) * x + loss / w
    return x


class ByHand:
    """Each arm's losses in the order in which they were told."""

    spread: list[float] | None = None  # the distribution, where there is a draw

    def __init__(self, K: int) -> None:
        self.K, self.t, self.arm = K, 0, 0
        self.losses: list[list[float]] = [[] for _ in range(K)]
        self.p: list[float] = []

    def choose(self, u: float, announced: float | None = None) -> tuple[int, int]:
        self.arm = self.next(u)
        self.p = self.spread or [float(i == self.arm) for i in range(self.K)]
        self.t += 1
        return self.arm, 1

    def next(self, u: float) -> int:
        raise NotImplementedError

    def observe(self, total_loss: float, rounds: int) -> None:
        self.losses[self.arm].append(total_loss)


class Ewma(ByHand):
    """rule(w, h, W, ε): each arm's mean as it was last seen, which fades; untried arms are at 0."""

    def __init__(self, K: int, lam: float, w: int, h: int, W: int, looks: float) -> None:
        super().__init__(K)
        self.lam, self.w, self.h, self.W, self.looks = lam, w, h, W, looks
        self.x = [0.0] * K

    def next(self, u: float) -> int:
        best = min(range(self.K), key=lambda i: (self.x[i], i))
        arm = best if self.x[self.arm] - self.x[best] > self.lam / self.h else self.arm
        others = [i for i in range(self.K) if i != arm]
        self.spread = [self.looks / len(others) if i != arm else 1 - self.looks for i in range(self.K)]
        if u < self.looks:
            arm = others[int(u / self.looks * len(others))]
        for i in range(self.K):
            if i != arm and self.losses[i]:
                self.x[i] += (sum(self.losses[i]) / len(self.losses[i]) - self.x[i]) / self.W
        return arm

    def observe(self, total_loss: float, rounds: int) -> None:
        super().observe(total_loss, rounds)
        n = len(self.losses[self.arm])
        self.x[self.arm] += (total_loss - self.x[self.arm]) / (n if n < self.w else self.w)


class FailOver(ByHand):
    def __init__(self, K: int, fast: int, slow: int, margin: float, retry: int) -> None:
        super().__init__(K)
        self.fast, self.slow, self.margin, self.retry = fast, slow, margin, retry
        self.failed: dict[int, int] = {}
        self.forgiven = [0.0] * K  # what its fast mean was given when it failed,
        self.since: list[list[float]] = [[] for _ in range(K)]  # and the losses since

    def next(self, u: float) -> int:
        slow = [mean_of_last(losses, self.slow) for losses in self.losses]
        best = min(range(self.K), key=lambda i: (slow[i], i))
        if self.t < self.K * self.fast:
            return self.t // self.fast
        if self.t == self.K * self.fast:
            return best
        if self.fast_mean(self.arm) - slow[self.arm] > self.margin:
            self.failed[self.arm] = self.t + self.retry
            self.forgiven[self.arm], self.since[self.arm] = slow[self.arm], []
            others = [i for i in range(self.K) if i != self.arm]
            return min(others, key=lambda i: (max(self.failed.get(i, 0), self.t), slow[i], i))
        due = [i for i, again in self.failed.items() if again == self.t and slow[i] < slow[self.arm]]
        return min(due, key=lambda i: (slow[i], i), default=self.arm)

    def fast_mean(self, arm: int) -> float:
        if arm not in self.failed:
            return mean_of_last(self.losses[arm], self.fast)
        x = self.forgiven[arm]
        for loss in self.since[arm]:
            x = (1 - 1 / self.fast) * x + loss / self.fast
        return x

    def observe(self, total_loss: float, rounds: int) -> None:
        super().observe(total_loss, rounds)
        self.since[self.arm].append(total_loss)


class ThresholdCooldown(ByHand):
    def __init__(self, K: int, threshold: float, cooldown: int, memory: int) -> None:
        super().__init__(K)
        self.threshold, self.cooldown, self.memory, self.moved = threshold, cooldown, memory, 0

    def next(self, u: float) -> int:
        x = [mean_of_last(losses, self.memory) for losses in self.losses]
        if x[self.arm] <= self.threshold or self.t - self.moved < self.cooldown:
            return self.arm
        best = min(range(self.K), key=lambda i: (x[i], i))
        self.moved = self.moved if best == self.arm else self.t
        return best
