"""The policy of Theorem G, from docs/safety.md, up to its first failure: after that Tsallis-Switch plays."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Ties:
    """T rounds of K arms, with losses as a table; `arms` are those played before the failure, if there is one."""

    losses: np.ndarray
    switching_cost: float
    seed: int
    arms: list[int] = field(default_factory=list)
    failed: bool = False
    off: dict[int, float] = field(default_factory=dict)  # Σf of each arm over the windows begun
    dropped: dict[int, float] = field(default_factory=dict)  # D_i

    def __post_init__(self):
        T, K = self.losses.shape
        self.g = np.log(2 * T * T)
        self.J = max(
            int(np.ceil(np.log2(max(self.switching_cost, self.g) ** (1 / 3) * K ** (-2 / 3) * T ** (2 / 3)))), 0
        )
        self.w = 2**self.J
        assert 2 * K * self.w < T
        self.sums = np.vstack([np.zeros(K), np.cumsum(self.losses, axis=0)])
        self.off = dict.fromkeys(range(K), 0.0)
        self.start(K)
        self.begun, draw = len(self.arms), np.random.default_rng(self.seed)
        self.active = [i for i in range(K) if i not in self.dropped]
        least = max(self.switching_cost, self.g) ** (1 / 3) * len(self.active) ** (-2 / 3) * T ** (2 / 3)
        self.W, self.looks = 2 ** int(np.ceil(np.log2(least))), 0
        while not self.failed and len(self.arms) + self.w <= T:
            self.s = len(self.arms) - self.begun  # of the last window, once the game is over
            if self.s % self.W == 0:
                self.current = int(draw.choice(self.active))
            self.window(draw, K)

    def r(self, n):
        return np.sqrt(self.g / (2 * n))

    def play(self, arm, n):
        """Play an arm for n rounds, and return its mean loss in them."""
        begun = len(self.arms)
        self.arms += [arm] * n
        return (self.sums[begun + n, arm] - self.sums[begun, arm]) / n

    def start(self, K):
        active, self.mean, last_n = list(range(K)), {}, {}
        for j in range(self.J + 1):
            for i in active:
                self.mean[i], last_n[i] = self.play(i, 2**j), 2**j
            least = min(self.mean[i] for i in active)
            active = [i for i in active if self.mean[i] < least + 8 * self.r(2**j)]
        least = min(self.mean[i] for i in active)
        self.dropped = {i: self.mean[i] - least for i in range(K) if i not in active}
        self.failed = any(6 * self.r(last_n[i]) > D for i, D in self.dropped.items())
        self.look = {
            i: next(2**j for j in range(99) if self.r(2**j) <= D / 6) for i, D in self.dropped.items() if D > 0
        }

    def window(self, draw, K):
        """Play a window, count how far each arm is off in it, and test."""
        begun, w, current = len(self.arms), self.w, self.current
        for i in self.off:
            n = self.look.get(i, w)
            slots = np.diff(self.sums[begun : begun + w + 1 : n, i]) / n
            low = self.mean[i] - (self.dropped[i] / 2 if i in self.dropped else 3 * self.r(w))
            self.off[i] += float((slots < low).mean())
        u, arm = draw.random(), -1
        for i, D in self.dropped.items():
            chance = 2 * w / (4 * K * w + D * self.s)
            if 0 <= u < chance:
                arm = i
            u -= chance
        if arm < 0:
            self.failed = abs(self.play(current, w) - self.mean[current]) > 3 * self.r(w)
            return
        n = self.look[arm]
        before = n * int(draw.integers(w // n))
        seen, rest = [], [before, w - n - before]
        for rounds, who in ((rest[0], current), (n, arm), (rest[1], current)):
            seen.append(self.play(who, rounds) if rounds else 0.0)
        self.looks += 1
        self.failed = abs(seen[1] - self.mean[arm]) > self.dropped[arm] / 2
        if w > n:
            mean = (seen[0] * rest[0] + seen[2] * rest[1]) / (w - n)
            self.failed = self.failed or abs(mean - self.mean[current]) > 3 * self.r(w)

    @property
    def switches(self):
        return 1 + int((np.diff(self.arms) != 0).sum())

    def regret(self, arm):
        """Return what was lost above an arm, before the failure."""
        played = np.array(self.arms)
        return self.losses[np.arange(len(played)), played].sum() - self.sums[len(played), arm]
