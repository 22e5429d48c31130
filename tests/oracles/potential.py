"""Objects of the proof in docs/theory/adaptive.md: the potential of the regulariser, random states of a block."""

import math
from dataclasses import dataclass
from typing import Any

import naive
import numpy as np
from naive_adaptive import Z_of


def potential(C: Any, eta: float) -> tuple[float, Any]:
    """Φ_η(−C) = max −⟨p, C⟩ + Σ(4√p_i − 2p_i)/η over the simplex, and the p that attains it."""
    p = np.array(naive.tsallis_weights(list(C), eta))
    return float(-(p @ C) + (4 * np.sqrt(p) - 2 * p).sum() / eta), p


def Z(p: Any, eta: float, d: Any) -> float:
    return Z_of(list(map(float, p)), eta, list(map(float, d)))


@dataclass(frozen=True)
class State:
    """One block before its arm is drawn: everything that is known then, and every arm's total."""

    a: float
    J: float
    p: Any
    eta: float
    b: float
    m: Any
    u: Any
    c: Any
    budget_w: Any  # κ_W Λ − W_i
    budget_o: float  # κ_O G − O

    @property
    def K(self) -> int:
        return len(self.p)

    @property
    def full(self) -> Any:
        """The step of each arm, if it were drawn, before the cap."""
        return (np.maximum(self.c, self.u) - self.m) / self.p

    @property
    def step(self) -> Any:
        full = self.full
        capped = np.maximum(np.minimum(full, self.J / (self.eta * np.sqrt(self.p))), full - self.budget_o / self.p)
        return np.where(full > 0, capped, full)

    def estimate(self, arm: int) -> Any:
        e = self.m.copy()
        e[arm] += self.step[arm]
        return e


def random_state(
    rng: np.random.Generator, *, a: tuple[float, ...] = (0.5, 1.0, 1.5), rarest: float = 1e-12, rounds: float = 3.0
) -> State:
    """Any number of arms up to 8, probabilities down to `rarest`, blocks up to 10**rounds, floors and caps in play."""
    K = int(rng.integers(2, 9))
    p = np.maximum(rng.dirichlet(np.full(K, rng.choice([0.05, 0.3, 1.0]))), rarest)
    p /= p.sum()
    eta, b, longest = 10 ** rng.uniform(-3, 0.3), math.ceil(10 ** rng.uniform(0, rounds)), float(rng.choice(a))
    level = (rng.uniform(0, 1, K), np.ones(K), np.full(K, 0.5))[rng.integers(3)]
    total = (rng.uniform(0, 1, K), rng.integers(0, 2, K).astype(float))[rng.integers(2)]
    budget_w, budget_o = b * 10 ** rng.uniform(-1, 3, K), b * float(rng.choice([0.0, 10 ** rng.uniform(-2, 2)]))
    h = longest * np.sqrt(p) / eta
    m = np.minimum(b * level, h + p * budget_w)
    J = float(rng.choice([0.5, 2.0, 4.0]))
    return State(longest, J, p, eta, float(b), m, np.maximum(m - h, 0.0), b * total, budget_w, budget_o)
