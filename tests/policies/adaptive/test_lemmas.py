"""Every lemma of docs/theory/adaptive.md tried on random states: exact expectations over the arm, no samples of it.

The states come from a fixed seed. Nothing is estimated: a lemma fails on a state or it does not, up to rounding.
"""

import math
from typing import Any

import mpmath
import naive
import numpy as np
import pytest
from kernel_game import KernelGame
from potential import Z, potential, random_state
from statistics_of_samples import SEED

import holdfast as hf

pytestmark = pytest.mark.slow


def exact_stability(p: Any, eta: float, e: Any) -> tuple[Any, Any]:
    """⟨p, e⟩ + Φ(−C − e) − Φ(−C) in 50 digits at C_i = 2/(η√p_i), where x = 0; and where x is after e."""
    with mpmath.workdps(50):
        q = [mpmath.mpf(float(p_i)) for p_i in p]
        q = [q_i / mpmath.fsum(q) for q_i in q]
        rate = mpmath.mpf(eta)
        moved = [2 / (rate * mpmath.sqrt(q_i)) + mpmath.mpf(float(e_i)) for q_i, e_i in zip(q, e, strict=True)]
        after = naive.tsallis_weights_exact(moved, rate)
        x = moved[0] - 2 / (rate * mpmath.sqrt(after[0]))

        def value(x: Any, weights: list[Any]) -> Any:
            return -x + 2 / rate * (mpmath.fsum(mpmath.sqrt(w) for w in weights) - 1)

        linear = mpmath.fsum(q_i * mpmath.mpf(float(e_i)) for q_i, e_i in zip(q, e, strict=True))
        return linear + value(x, after) - value(mpmath.mpf(0), q), x


def test_lemma_1_stability():
    """Never above (η/2)Z(x), whatever x; equal to it where x is the change of the multiplier."""
    rng, tried = np.random.default_rng(SEED), 0
    for _ in range(400):
        state = random_state(rng, rarest=1e-8)
        arm = int(rng.integers(state.K))
        e = state.estimate(arm)
        exact, best = exact_stability(state.p, state.eta, e)
        for x in (state.m[arm], state.m.min(), state.m.max(), rng.uniform(-state.b, state.b)):
            bound = state.eta / 2 * Z(state.p, state.eta, e - x)
            if bound < math.inf:
                tried += 1
                assert exact <= bound * (1 + 1e-9) + 1e-12
        with mpmath.workdps(50):
            half = mpmath.mpf(state.eta) / 2
            total = mpmath.fsum(map(float, state.p))
            attained = mpmath.mpf(0)
            for p_i, e_i in zip(map(float, state.p), map(float, e), strict=True):
                w, d = p_i / total, e_i - best
                attained += half * w ** mpmath.mpf("1.5") * d * d / (1 + half * mpmath.sqrt(w) * d)
            assert abs(attained - exact) <= mpmath.mpf(10) ** -25 * (1 + abs(exact))
    assert tried > 1000


def test_lemma_2_estimates_and_ledgers():
    """E e_i = max(c_i, u_i) − o_i; what one block adds to W and O never exceeds what is left; inequality (1)."""
    rng, floors, caps = np.random.default_rng(SEED), 0, 0
    for _ in range(5000):
        state = random_state(rng)
        p, full, step = state.p, state.full, state.step
        o = p * (full - step)
        assert (o >= 0).all()
        assert (np.minimum(full, 0) <= step).all()
        expected = sum(p[arm] * state.estimate(arm) for arm in range(state.K))
        assert (np.abs(expected - (np.maximum(state.c, state.u) - o)) <= 1e-11 * state.b).all()
        assert (np.maximum(state.u - state.c, 0) <= p * state.budget_w + 1e-12 * state.b).all()
        assert (o <= state.budget_o + 1e-12 * state.b).all()
        assert (step >= -state.a / (state.eta * np.sqrt(p)) * (1 + 1e-9) - 1e-12 * state.b / p).all()
        floors += (state.u > 0).any()
        caps += (o > 1e-9 * state.b).any()
    assert min(floors, caps) > 500


@pytest.mark.parametrize("lam", [0.0, 0.7, 6.0])
def test_lemma_2_on_the_policy_itself(lam):
    """The same of the policy's own kernels, block after block of a game, each arm drawn in turn from the same state.

    E ΔW_i = (u_i − c_i)⁺ for every arm, E ΔO = Σ p_i o_i, and C moves by max(c_i, u_i) − o_i up to a common shift.
    """
    K, rng = 4, np.random.default_rng(SEED)
    policy = hf.AdaptiveTsallisSwitch(K, switching_cost=lam, constants=hf.Constants(longest_step_up=0.5))
    game, floors, cut = KernelGame(policy, "lemma 2"), 0, 0
    levels = rng.choice([0.0, 0.1, 0.9, 1.0], (10, K))
    for n in range(1, 300):
        ahead = game.copy()
        _, rounds = ahead.choose()
        p, c = ahead.p, rounds * levels[n // 30]
        moved, ledger_O, ledger_W, u, o = np.zeros(K), 0.0, np.zeros(K), np.zeros(K), np.zeros(K)
        for arm in range(K):
            other = game.if_drawn(arm, p)
            u[arm] = other.block.u[0]
            other.observe(c[arm], rounds)
            change = other.state.C - game.state.C
            moved += p[arm] * (change - change[0])
            o[arm] = other.state.cut[0] - game.state.cut[0]
            ledger_O += p[arm] * o[arm]
            ledger_W += p[arm] * (other.state.W - game.state.W)
        estimated = np.maximum(c, u) - o
        size = 1 + rounds + np.abs(game.state.C).max() + game.state.W.max()
        assert moved == pytest.approx(estimated - estimated[0], rel=1e-9, abs=1e-11 * size)
        assert ledger_W == pytest.approx(np.maximum(u - c, 0), rel=1e-9, abs=1e-11 * size)
        assert ledger_O == pytest.approx(p @ o, rel=1e-9, abs=1e-12 * size)
        floors, cut = floors + bool((u > c).any()), cut + bool((o > 0).any())
        arm, _ = game.choose()
        game.observe(c[arm], rounds)
        assert game.state.W.max() <= 3.0 * (1 - 1 / K) * game.state.paid[0] * (1 + 1e-9)
        G = game.state.paid[0] + math.sqrt(K * game.state.t[0])
        assert game.state.cut[0] <= 0.5 * G * (1 + 1e-9)
    assert (floors > 5) == (lam > 0)
    assert cut > 5


def test_lemmas_3_and_4_size_of_z():
    """E z ≤ f b², and √K z/√V̄ ≤ σb for every arm; some state comes close to each."""
    rng, largest_mean, largest = np.random.default_rng(SEED), 0.0, 0.0
    for _ in range(5000):
        state = random_state(rng)
        f, sigma = 1 / (1 - state.a / 2), 1 + max(1.0, (state.a / 2) / (1 - state.a / 2))
        z = np.array(
            [Z(state.p, state.eta, state.estimate(arm) - state.m.min()) for arm in range(state.K)]
        ) / math.sqrt(state.K)
        mean, most = (state.p @ z) / (f * state.b**2), math.sqrt(state.K) * z.max() * state.eta / 2 / (sigma * state.b)
        assert mean <= 1 + 1e-9
        assert most <= 1 + 1e-9
        largest_mean, largest = max(largest_mean, mean), max(largest, most)
    assert largest_mean > 0.8
    assert largest > 0.95


def test_lemma_5_the_rate_telescopes():
    """Σ √K z_n/√V̄_n ≤ 2√(K V_{N+1}) on every path, whatever z and V̄ are; nearly equal on some."""
    rng, largest = np.random.default_rng(SEED), 0.0
    for _ in range(2000):
        K, V, V_bar, stability = int(rng.integers(2, 9)), 0.0, 0.0, 0.0
        for _ in range(int(rng.integers(1, 60))):
            V_bar, z = max(V_bar, V + 10 ** rng.uniform(-2, 3)), 10 ** rng.uniform(-3, 4)
            stability += math.sqrt(K) * z / math.sqrt(V_bar)
            V += max(z + z * z / (4 * V_bar), 10 ** rng.uniform(-3, 2))
        largest = max(largest, stability / (2 * math.sqrt(K * V)))
        assert largest <= 1 + 1e-12
    assert largest > 0.9


def test_lemma_6_penalty():
    """Σ⟨p, e⟩ − e_j ≤ Σ stability + Σ(1/η_n − 1/η_{n−1})H(p_n) ≤ … + 4(√K − 1)/η_N, any estimates, falling rates."""
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        K, eta, inverse = int(rng.integers(2, 7)), 10 ** rng.uniform(-1, 1), 0.0
        C, linear, stability, penalty = np.zeros(K), 0.0, 0.0, 0.0
        for _ in range(int(rng.integers(1, 25))):
            eta *= rng.uniform(0.5, 1)
            before, p = potential(C, eta)
            e = rng.normal(0, 1, K) * 10 ** rng.uniform(-1, 2)
            linear += p @ e
            stability += p @ e + potential(C + e, eta)[0] - before
            penalty += (1 / eta - inverse) * ((4 * np.sqrt(p) - 2 * p).sum() - 2)
            inverse = 1 / eta
            C = C + e
        room = 1e-9 * (1 + abs(linear) + abs(C).max())
        assert linear - C.min() <= stability + penalty + room
        assert penalty <= 4 * (math.sqrt(K) - 1) / eta * (1 + 1e-12)


def test_lemma_7_switches():
    """Blocks of b² ≥ λqR/√K with √K R ≥ 2κ(Q + λ): Q^{3/2} ≤ (9/(8κ))^{1/2} Σ b√(λK), whatever q and λ are."""
    rng, largest = np.random.default_rng(SEED), 0.0
    for _ in range(2000):
        K, kappa, scale = int(rng.integers(2, 50)), 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 2)
        often, fixed, exact = rng.uniform(), rng.random() < 0.5, rng.random() < 0.5
        Q = clock = 0.0
        for _ in range(int(rng.integers(1, 400))):
            lam = scale * (1 if fixed else 10 ** rng.uniform(-2, 1))
            q = 1.0 if rng.random() < often else rng.uniform()
            R = 2 * kappa * (Q + lam) / math.sqrt(K) * (1 if exact else 1 + rng.exponential())
            b = math.sqrt(lam * q * R / math.sqrt(K))
            Q, clock = Q + lam * q, clock + (b if exact else max(math.ceil(b), 1)) * math.sqrt(lam * K)
            share = Q**1.5 / (math.sqrt(9 / (8 * kappa)) * clock)
            assert share <= 1 + 1e-9
            largest = max(largest, share)
    assert largest > 0.98


def test_lemma_7_lengths():
    """u/min(S, 1) ≤ 1, u ≤ q, and the two lengths of line 3 as Lemma 7 bounds them; u/S may be nearly 1/√2."""
    rng, largest = np.random.default_rng(SEED), 0.0
    for _ in range(5000):
        K = int(rng.integers(2, 60))
        p = np.maximum(rng.dirichlet(np.full(K, rng.choice([0.01, 0.05, 0.3, 1.0]))), 1e-12)
        p /= p.sum()
        leader = int(np.argmax(p))
        u, S = 1 - p[leader], np.sqrt(p).sum() - math.sqrt(p[leader])
        assert u / S <= 1 / math.sqrt(2) * (1 + 1e-9)
        assert u / min(S, 1) <= 1 + 1e-9
        assert (1 - p >= u - 1e-12).all()
        assert math.sqrt(K) >= S
        largest = max(largest, u / S)
    assert largest > 0.7


def test_lemma_8_once_the_rate_is_small():
    """At ηb ≤ ω/(1 + √K): stability and cut in Σ_{i≠j}√p_i for every j; how far p moves; x is concave; floors, too."""
    rng, floors = np.random.default_rng(SEED), 0
    for k in range(3000):
        K, a, J = int(rng.integers(2, 9)), float(rng.choice([1.0, 1.5])), float(rng.choice([0.5, 1.0, 2.0, 5.0]))
        omega, b = 1 - a / 2, float(rng.choice([1, 2, 30, 1000]))
        eta = omega / (1 + math.sqrt(K)) * 10 ** rng.uniform(-1.5, 0) / b
        p = np.maximum(rng.dirichlet(np.full(K, rng.choice([0.05, 0.3, 1.0]))), 1e-9)
        p /= p.sum()
        level = (rng.uniform(0, 1, K), np.ones(K), np.full(K, 0.5))[rng.integers(3)]
        h, room = a * np.sqrt(p) / eta, b * rng.choice([0.0, 0.1, 1.0], K)
        m = np.minimum(b * level, h + room)
        u, c = np.maximum(m - h, 0), b * rng.integers(0, 2, K).astype(float)
        floors += int((u > c).any())
        full, left = (np.maximum(c, u) - m) / p, b * float(rng.choice([0.0, 1.0, rng.uniform()]))
        capped = np.maximum(np.minimum(full, J / (eta * np.sqrt(p))), full - left / p)
        step = np.where(full > 0, capped, full)
        estimates = [m + step[arm] * (np.arange(K) == arm) for arm in range(K)]
        for j in range(K):
            mean = 0.0
            for arm in range(K):
                x = m[j] + (p[j] * step[j] if arm == j else 0.0)
                cut = p[arm] * (full[arm] - step[arm])
                mean += p[arm] * (eta / 2 * Z(p, eta, estimates[arm] - x) + cut)
            others = np.sqrt(p).sum() - math.sqrt(p[j])
            assert mean <= (1.131 / omega + 0.56 + 1.667 / J) * eta * b * b * others  # (i)
        if k < 600:
            C = 2 / (eta * np.sqrt(p))
            afters = [np.array(naive.tsallis_weights(list(C + e), eta)) for e in estimates]
            for after in afters:
                assert (np.sqrt(after) <= 1.262 / omega * np.sqrt(p) * (1 + 1e-9)).all()  # (ii)
            slower = eta * rng.uniform(0.3, 1)
            roots = np.sqrt(naive.tsallis_weights(list(C), slower))
            assert (slower * roots <= eta * np.sqrt(p) * (1 + 1e-9)).all()  # (iii)
            q = sum(p[arm] * (1 - afters[arm][arm]) for arm in range(K))
            assert q <= (1 + (1.262 / omega) ** 2) * (1 - p.max()) * (1 + 1e-9)  # (iv), at the same rate
            y = rng.normal(0, 1 / eta, K)
            ends, middle = (multiplier(C, eta) + multiplier(C + y, eta)) / 2, multiplier(C + y / 2, eta)
            assert ends <= middle + 1e-9 / eta  # x is a concave function of C
    assert floors > 50


def test_lemma_9_one_round_of_the_bound():
    """x P^{3/4} − y P ≤ (27/256) x⁴/y³, √(uS) ≤ (h P³/Δ²)^{1/4}, and what Theorem C makes of a block's length."""
    rng = np.random.default_rng(SEED)
    for _ in range(3000):
        K, lam, R = int(rng.integers(2, 20)), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(0, 5)
        gaps = rng.uniform(0.01, 1, K - 1)
        p = np.maximum(rng.dirichlet(np.full(K, rng.choice([0.02, 0.1, 1.0]))), 1e-14)
        p /= p.sum()
        leader = int(np.argmax(p))
        u, S = np.delete(p, leader).sum(), np.sqrt(np.delete(p, leader)).sum()
        P, h = float(gaps @ p[1:]), (1 / gaps).sum()  # arm 0 is best, whichever leads
        assert math.sqrt(u * S) <= (h * P**3 / gaps.min() ** 2) ** 0.25 * (1 + 1e-9)
        assert math.sqrt(h * P) * (1 + 1e-9) >= S
        x, y = 10 ** rng.uniform(-3, 3, 2)
        assert x * P**0.75 - y * P <= 27 / 256 * x**4 / y**3 * (1 + 1e-9)
        q = float(rng.choice([u, 1.0, rng.uniform(u, 1)]))
        low = math.sqrt(lam * R / math.sqrt(K) * max(q, u / min(S, 1)))
        b = max(math.ceil(max(low, rng.uniform(0, 12) * math.sqrt(lam * u * R / S))), 1)
        both = b * math.sqrt(lam * u * S / R)
        assert lam * u <= K**0.25 * both * (1 + 1e-9)
        assert b * b * S / R <= (b * S / R + 26 * both + 4 * lam * q) * (1 + 1e-9)


def multiplier(C: Any, eta: float) -> float:
    """x: p_i = 4/(η(C_i − x))²."""
    p = np.array(naive.tsallis_weights(list(C), eta))
    i = int(np.argmax(p))
    return float(C[i] - 2 / (eta * math.sqrt(p[i])))
