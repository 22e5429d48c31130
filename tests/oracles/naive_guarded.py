"""A guarded rule in plain, slow Python, written from the words of Theorem I; it shares nothing with `src/`."""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Account:
    """A stretch of rounds led by the rule, and what each arm's excess is made of."""

    rounds: int = 0
    excess: list[float] = field(default_factory=list)


@dataclass
class Round:
    """What is remembered of a draw."""

    arm: int
    p: float
    account: Account | None  # None while the guard plays
    inner: Any = None
    ruled: int = 0
    thought: float = 0.5  # the loss expected of the arm,
    counted: float = 0.5  # and what its account counts of it without a look


class Announced:
    """A rule whose arm is told."""

    def choose(self, uniform: float, announced: float | None = None) -> tuple[int, int]:
        assert announced is not None
        return int(announced), 1

    def block(self) -> None:
        return None

    def observe(self, loss: float, rounds: float, block: Any = None) -> None:
        return None


class Guarded:
    """`rule` plays single rounds, `safe` plays blocks; λ is `lam`, or announced to both where that is None."""

    def __init__(self, K: int, lam: float | None, rule: Any, safe: Any) -> None:
        self.K, self.lam, self.rule, self.safe = K, lam, rule, safe
        self.account: Account | None = Account(0, [0.0] * K)
        self.means, self.weights = [0.5] * K, [1.0] * K
        self.v, self.heard, self.t = 0.25, 0, 0
        self.back = 0.0
        self.highest, self.last = 0.0, -1
        self.looks, self.taken = 0, 0
        self.p: list[float] = []
        self.now: Round | None = None

    @property
    def limit(self) -> float:
        return self.theorem_1(0 if self.account is None else self.account.rounds)

    def theorem_1(self, s: int) -> float:
        lam, K = self.highest, self.K
        return (
            5.25 * (lam * K) ** (1 / 3) * s ** (2 / 3)
            + 6.4 * math.sqrt(K * s)
            + 3 * math.sqrt(2 * K)
            + 5.25 * lam
            + 6.25
        )

    def choose(self, first: float, second: float, announced: float | None = None) -> tuple[int, int]:
        """`first` is drawn by whoever plays, `second` by the guard."""
        lam = announced if self.lam is None else self.lam
        assert lam is not None
        self.highest = max(self.highest, lam)
        if self.account is None and self.t >= self.back:
            self.account = Account(0, [0.0] * self.K)
        elif self.account is not None and self.account.rounds and max(self.account.excess) > self.limit:
            self.account = None
            self.taken += 1
            self.back = max(4 * self.back, math.ceil(max(self.highest, self.K)))
            while self.back <= self.t:
                self.back *= 4
        if self.account is None:
            arm, rounds = self.safe.choose(first, announced)
            self.p = list(self.safe.p)
            self.now = Round(arm, self.p[arm], None, self.safe.block())
        else:
            arm, rounds = self.led(first, second, lam, announced), 1
        self.last = arm
        self.t += rounds
        return arm, rounds

    def led(self, first: float, second: float, lam: float, announced: float | None) -> int:
        assert self.account is not None
        ruled, _ = self.rule.choose(first, announced)
        self.account.rounds += 1
        s, top = self.account.rounds, self.theorem_1(self.account.rounds)
        p, counted = [0.0] * self.K, [0.0] * self.K
        for i in range(self.K):
            if i != ruled:
                room = max(top - self.account.excess[i], 1.0)
                v = max(self.v, self.means[i] ** 2 / 2)
                p[i] = min(0.5 * v * s / room**2, 0.5 / (self.K - 1))
                counted[i] = min(self.means[i], p[i] * room / 4)
        p[ruled], counted[ruled] = 1 - sum(p), self.means[ruled]
        arm, reached = ruled, 0.0
        for i in range(self.K):
            if i != ruled:
                reached += p[i]
                if second < reached:
                    arm = i
                    break
        paid = lam * (arm != self.last)
        for i in range(self.K):
            self.account.excess[i] += paid + self.means[arm] - counted[i]
        self.looks += arm != ruled
        self.p = p
        self.now = Round(arm, p[arm], self.account, self.rule.block(), ruled, self.means[arm], counted[arm])
        return arm

    def block(self) -> Round | None:
        return self.now

    def observe(self, loss: float, rounds: float, block: Round | None = None) -> None:
        played = block or self.now
        assert played is not None
        y, i = loss / rounds, played.arm
        if played.account is None:
            self.safe.observe(loss, rounds, played.inner)
        else:
            self.heard += 1
            self.v = max(self.v + ((y - played.thought) ** 2 - self.v) / min(self.heard + 4, 200), 0.01)
            if played.account is self.account:
                self.account.excess = [e + y - played.thought for e in self.account.excess]
                self.account.excess[i] -= (y - played.counted) / played.p
            if i == played.ruled:
                self.rule.observe(loss, rounds, played.inner)
        self.weights[i] = min(self.weights[i], 100) + rounds
        self.means[i] += (y - self.means[i]) * rounds / self.weights[i]
