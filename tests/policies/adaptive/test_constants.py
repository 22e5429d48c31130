"""The numbers in the proofs of docs/adaptive.md that are no lemma of their own, each tried on random settings.

Nothing here is the code's: formulas are written from the page.
"""

import math

import numpy as np
import pytest

ROUNDED = 1 + 1e-12


def settings(count: int, seed: int) -> list[tuple[float, ...]]:
    """a, ν, κ_Q, K, μ and λ as Theorem C allows them, the ends of the ranges among them."""
    draw = np.random.default_rng(seed)
    found: list[tuple[float, ...]] = []
    for _ in range(count):
        a = draw.choice([1.0, 1.5, draw.uniform(1, 1.5)])
        nu = draw.choice([1e-6, 0.1, draw.uniform(0, 0.1) + 1e-9])
        kappa = draw.choice([0.5, draw.uniform(0, 0.5) + 1e-9])
        K = int(draw.choice([2, 3, 8, 100, 10**6]))
        mu, lam = draw.choice([0.0, 1.0, 12.0]), float(np.exp(draw.uniform(-12, 12)))
        found.append((a, nu, kappa, K, mu, lam))
    return found


def test_the_means_in_the_corollary_of_theorem_B() -> None:
    """Λ ≥ λ, Y ≥ 0: what the root in V, M(Y), g and Y are at most, at the default constants."""
    draw, f, sigma, nu = np.random.default_rng(1), 2.0, 2.0, 0.05
    tight = {"V": 0.0, "M": 0.0, "g": 0.0, "Y": 0.0}
    for _ in range(1500):
        K, T = int(draw.choice([2, 3, 8, 50, 10**4])), float(np.exp(draw.uniform(0, 25)))
        lam = float(np.exp(draw.uniform(-15, 15)))
        L = (lam * K) ** (1 / 3) * T ** (2 / 3)
        Lam, c_V = lam + L, f + sigma**2 / (4 * K) + nu
        Y = Lam * float(np.exp(draw.uniform(-6, 6)))

        def M(Y: float, K: int = K, lam: float = lam, Lam: float = Lam) -> float:
            return K + math.sqrt(K) * Lam / 2 + math.sqrt(lam * K * (9 * Lam / 4 + Y))

        def solved(rest: float) -> float:
            y = 0.0
            for _ in range(100):  # rises to the solution of y² = rest + M(y)
                y = math.sqrt(rest + M(y))
            return y

        Q = 0.5 * ((9 / 2) ** (1 / 3) * L + lam)
        assert c_V <= 2.55
        assert 0.826 * Lam >= Q
        tight["V"] = max(tight["V"], c_V * L**1.5 * math.sqrt(9 * Lam / 4 + Y) / (6.44 * Lam**2 + Y**2 / 4))
        tight["M"] = max(tight["M"], M(Y) / (2.5 * K + 2 * Lam**2 + Y**2 / 16))
        assert M(Y) / K <= (1 + 1.77 * Lam + 0.354 * Y) * ROUNDED
        g = 0.0
        if Lam > 2 * math.sqrt(K):
            b, Y0 = Lam / (2 * math.sqrt(K)) + 1, solved(Lam**2 + Q**2)
            assert 4.6 * Lam**2 >= Y0**2
            g = sigma * b * Y0 + sigma**2 * b**2 / 4 + nu * K * b
            tight["g"] = max(tight["g"], g / (3.57 * Lam**2))
        Y = 0.0
        for _ in range(100):
            X = Lam**2 + g + c_V * (K * T + L**1.5 * math.sqrt(9 * Lam / 4 + Y))
            Y = math.sqrt(X + Q**2 + M(Y))
        tight["Y"] = max(tight["Y"], Y / (4.47 * Lam + 1.93 * math.sqrt(K * T) + 1.91 * math.sqrt(K)))
    assert all(0.5 < share <= 1 for share in tight.values()), tight


def test_from_t_star_on_in_theorem_C() -> None:
    """Blocks are short for the rate, the rate falls slowly, and no block is longer than T."""
    for a, nu, kappa, K, mu, lam in settings(300, 2):
        omega, mu_1 = 1 - a / 2, max(mu, 1.0)
        H, sigma = 2 * (1 + math.sqrt(K)) / omega, 1 + max(1.0, (a / 2) / omega)
        assert sigma * omega == pytest.approx(1)
        assert H >= 9
        for t in max((2 * H) ** 2 / nu, 8 * H**4 * mu_1**4 * lam**2 / nu) * np.array([1.0, 1.5, 10.0, 1e6]):
            least = math.sqrt(nu * t)
            assert least * ROUNDED >= max(2 * H, 4 * H**2 * mu_1**2 * lam / math.sqrt(2))
            for R in (least, 3 * least, 1e6 * least):
                b = 1 + mu_1 * 2**-0.25 * math.sqrt(lam * R)
                assert H * b <= R * ROUNDED
                grown = R + sigma * b / (2 * math.sqrt(K)) + (1 + nu) * b / (2 * R) + 2 * kappa * lam / math.sqrt(K)
                assert grown <= 1.08 * R
                assert math.sqrt(nu * b) <= R
        assert sigma / (2 * math.sqrt(K)) + (1 + nu) / 2 <= 1.97
        assert 2 * kappa * (9 / (8 * kappa)) ** (1 / 3) / math.sqrt(K) <= 1
        assert (2 + 1 / 8) / H < 1
        assert 1 / ((1 - 0.21**2) * 8) <= 1 / 7.6
        assert 2 / (a * H) <= 0.21


def test_self_bounding_in_theorem_C() -> None:
    """A round's 2D₁S/R + 2D₂√(λδS/R) − 0.73P, at its largest over P, is below what is summed; and close to it."""
    draw, worst = np.random.default_rng(3), 0.0
    assert 1 - 2 / 7.6 >= 0.73
    for _ in range(3000):
        D1, D2, iota, gap, lam = np.exp(draw.uniform(-3, 3, 5))
        nu, t = draw.uniform(0.01, 0.1), float(np.exp(draw.uniform(0, 20)))
        R = math.sqrt(nu * t / 2)
        P = np.exp(np.linspace(-60, 30, 4001))
        value = 2 * D1 * np.sqrt(iota * P) / R + 2 * D2 * np.sqrt(lam / R) * (iota * P**3 / gap**2) ** 0.25 - 0.73 * P
        bound = (5.5 * D1**2 + 70 * D2**4 * lam**2 / gap**2) * iota / (nu * t)
        worst = max(worst, float(value.max()) / bound)
    assert 0.4 < worst <= 1
