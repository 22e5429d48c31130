"""Theorem A of docs/theory/adaptive.md on whole games of the slow twin: on every path, and in exact expectation."""

import copy
import itertools
import math
from typing import Any, NamedTuple

import naive_adaptive_bounds as page
import numpy as np
import pytest
from naive_adaptive import Adaptive
from statistics_of_samples import SEED


def random_losses(rng: np.random.Generator, K: int, T: int) -> Any:
    """Coins, stretches, independent losses with gaps, or noise-free levels."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 2, (T, K)).astype(float)
    if kind == 1:
        return np.repeat(rng.choice([0.0, 0.5, 1.0], (8, K)), -(-T // 8), 0)[:T]
    if kind == 2:
        return (rng.random((T, K)) < rng.uniform(0.2, 0.8, K)).astype(float)
    return np.repeat(rng.random((30, K)), -(-T // 30), 0)[:T]


def cumulated(losses: Any, beyond: int) -> Any:
    """Sums up to each round, with losses of 0 after the last: row t is what each arm lost in t rounds."""
    K = losses.shape[1]
    return np.vstack([np.zeros(K), np.vstack([losses, np.zeros((beyond, K))]).cumsum(0)])


def certificate(game: Adaptive) -> float:
    """2√(K V) + 2(√K − 1)√V̄."""
    return 2 * math.sqrt(game.K * game.V) + 2 * (math.sqrt(game.K) - 1) * math.sqrt(game.V_bar)


@pytest.mark.slow
@pytest.mark.parametrize("announced", [False, True], ids=["fixed cost", "announced costs"])
def test_theorem_A_on_every_path(announced):
    """W_i ≤ κ_W′Λ, O ≤ κ_O G, Q ≤ 1.651 A^{2/3}, Σ⟨p, e⟩ − e_j ≤ 2√(K V_{N+1}) + 2(√K − 1)√V̄_N for every arm j."""
    rng = np.random.default_rng(SEED)
    for _ in range(25):
        K, lam = (
            int(rng.integers(2, 7)),
            float(rng.choice([0.05, 0.5, 2.0, 5.0] if announced else [0.0, 0.05, 0.5, 5.0])),
        )
        T = 1500 if lam else 400
        sums = cumulated(random_losses(rng, K, T), 5 * T)
        a, J, kappa_W, kappa_O = (float(rng.choice(v)) for v in ((1, 1.5), (1, 4), (0.5, 3), (0.05, 0.5)))
        game = Adaptive(K, None if announced else lam, a=a, J=J, kappa_W=kappa_W, kappa_O=kappa_O)
        linear, t, n = np.zeros(K), 0, 0

        def cost(n: int, lam: float = lam) -> float:
            return lam * (1 + 0.9 * math.sin(n)) if announced else lam

        while t < T:
            n += 1
            before, spent, clock = np.array(game.C), game.Q, game.A
            assert spent <= (1.5 * math.sqrt(2)) ** (2 / 3) * clock ** (2 / 3) * (1 + 1e-9)
            arm, b = game.choose(rng.random(), cost(n))
            R, most = math.sqrt(game.V_bar), 1 / (1 - a / 2) / (2 * math.sqrt(K)) + (1 + game.nu) / 2
            assert max(1, game.Lam) + most * t >= R * (1 - 1e-9)  # from the proof of Theorem C
            game.observe(sums[t + b, arm] - sums[t, arm], b)
            t += b
            e = np.array(game.C) - before
            linear += np.array(game.p) @ e - e
            assert max(game.W) <= kappa_W * (1 - 1 / K) * game.Lam * (1 + 1e-9)
            assert kappa_O * game.G * (1 + 1e-9) >= game.O
        assert linear.max() <= certificate(game) * (1 + 1e-9)


class Mean(NamedTuple):
    """Expectations over all sequences of arms, one entry per arm to compare with."""

    regret: Any
    bias: Any
    W: Any
    certified: Any
    switches: float
    spent: float

    def plus(self, other: "Mean") -> "Mean":
        return Mean(*(a + b for a, b in zip(self, other, strict=True)))


def enumerate_arms(
    game: Adaptive,
    sums: Any,
    t: int,
    left: int,
    probability: float,
    so_far: tuple[Any, Any, float],
    T: float = math.inf,
) -> Mean:
    """The tree of all draws of the next `left` blocks, or of those begun before T.

    `so_far` are regret, bias and switches on the way here.
    """
    regret, bias, switches = so_far
    K = game.K
    if left == 0 or t >= T:
        W = np.array(game.W)
        of_this = (regret, bias, W, certificate(game) + game.O + W, switches, game.Q)
        return Mean(*(probability * number for number in of_this))
    mean = None
    for arm in range(K):
        other = copy.deepcopy(game)
        _, b = other.choose(0.5)
        block = other.block()
        block.arm = arm  # everything else was known before the draw
        c = sums[t + b] - sums[t]
        other.observe(c[arm], b)
        changed = float(arm != game.last.arm)
        here = (regret + c[arm] - c, bias + np.maximum(np.array(block.u) - c, 0), switches + changed)
        branch = enumerate_arms(other, sums, t + b, left - 1, probability * block.p[arm], here, T)
        mean = branch if mean is None else mean.plus(branch)
    assert mean is not None
    return mean


@pytest.mark.slow
@pytest.mark.parametrize(("K", "blocks"), [(2, 8), (3, 5)])
@pytest.mark.parametrize("lam", [2.0, 6.0, 20.0])
def test_theorem_A_in_exact_expectation(K, blocks, lam):
    """All K^N sequences of arms with their probabilities: the regret against every arm is below the certificate.

    What switches cost is E Q.
    """
    rng = np.random.default_rng(SEED)
    for _ in range(3):
        sums = cumulated(rng.choice([0.0, 0.2, 1.0], (20, K)).repeat(20, 0), 4000)
        mean = enumerate_arms(
            Adaptive(K, lam, kappa_W=1.0, J=0.7), sums, 0, blocks, 1.0, (np.zeros(K), np.zeros(K), 0.0)
        )
        assert (mean.regret <= mean.certified).all()
        assert pytest.approx(mean.bias, rel=1e-9, abs=1e-12) == mean.W
        assert pytest.approx(lam * mean.switches, rel=1e-9) == mean.spent


@pytest.mark.slow
@pytest.mark.parametrize(("K", "T"), [(2, 4), (2, 10), (3, 6)])
@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_theorem_B_in_exact_expectation(K, T, lam):
    """Regret and switching cost of T rounds over all sequences of arms, for the worst of many losses: half of it.

    The shortest games are played with all losses of 0 and 1.
    """
    rng, largest = np.random.default_rng(SEED), 0.0
    every = list(itertools.product((0.0, 1.0), repeat=T * K)) if T * K <= 8 else rng.integers(0, 2, (12, T * K))
    for losses in every:
        sums = cumulated(np.array(losses, dtype=float).reshape(T, K), 50)
        start = (np.zeros(K), np.zeros(K), 0.0)
        mean = enumerate_arms(Adaptive(K, lam), sums, 0, T, 1.0, start, T)
        largest = max(largest, mean.regret.max() + mean.spent)
    assert 0 < largest <= 0.6 * page.theorem_B(K, lam, T)


def test_the_ledger_of_floors_in_exact_expectation():
    """From a start at which arms are already far behind, floors bind: E W_i is E Σ(u_i − c_i)⁺ for every arm."""
    rng, largest = np.random.default_rng(SEED), 0.0
    for lam in (2.0, 6.0, 20.0, 60.0):
        sums = cumulated(rng.choice([0.0, 0.2, 1.0], (20, 3)).repeat(20, 0), 4000)
        game = Adaptive(3, lam, kappa_W=1.0, J=0.7)
        game.C = [0.0, 40.0, 60.0]
        mean = enumerate_arms(game, sums, 0, 5, 1.0, (np.zeros(3), np.zeros(3), 0.0))
        assert pytest.approx(mean.bias, rel=1e-9, abs=1e-12) == mean.W
        largest = max(largest, mean.bias.max())
    assert largest > 0.1
