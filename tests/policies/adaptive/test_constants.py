"""The numbers in the proofs of docs/theory/adaptive.md that are no lemma of their own, each tried on random settings.

Nothing here is the code's: formulas are written from the page.
"""

import math
from collections.abc import Callable

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


def test_the_fixed_point_in_the_corollary_of_theorem_B() -> None:
    """In units of Λ: g, y and x are at most what the proof says, for all κ, l, u and w; each nearly so somewhere."""
    q = 0.5 * 4.5 ** (1 / 3)

    def solved(
        rest: Callable[[float], float], constant: float, more: Callable[[float], float] = lambda y: 0.0
    ) -> float:
        y = 0.0
        for _ in range(200):  # rises to the solution
            y = math.sqrt(rest(y) + constant + more(y))
        return y

    y_1 = solved(lambda y: 2.05 * math.sqrt(2.25 + y), 1 + q * q)
    x_1 = math.sqrt(y_1 * y_1 - q * q)
    assert (round(y_1, 4), round(x_1, 4), round(math.sqrt(2.25 + y_1), 3)) == (2.4777, 2.3361, 2.174)
    assert 14.77 < 2 * q + 2 * x_1 + 2 * y_1 + 3.5 <= 14.78 <= 2.82 * 5.25
    assert 2 * y_1 - 0.587 >= 4.368
    assert 0.858 * 1.73**2 >= 2.56
    draw, used = np.random.default_rng(1), {"g": 0.0, "y": 0.0, "x": 0.0}
    for _ in range(4000):
        kappa, part = (
            math.sqrt(2) * float(np.exp(draw.exponential(3))),
            float(draw.random() ** draw.choice([0.01, 1, 5])),
        )
        u, w = (float(np.exp(draw.uniform(-12, 4))) for _ in range(2))
        c_V, Q = 2.05 + kappa**-2, 0.5 * (2 * q * part + 1 - part)

        def M(y: float, u: float = u, part: float = part) -> float:
            return u * u + u / 2 + u * math.sqrt((1 - part) * (2.25 + y))

        g = 0.0
        if u < 0.5:
            Y_0, half = solved(M, 1 + Q * Q), 0.5 + u
            assert 1.3 + 1.2 * u >= Y_0
            g = 2 * half * Y_0 / kappa + half**2 / kappa**2 + 0.05 * u * half

        def X(y: float, g: float = g, c: float = c_V, w: float = w, part: float = part) -> float:
            return 1 + g + c * (w * w + part**1.5 * math.sqrt(2.25 + y))

        y = solved(X, Q * Q, M)
        used["g"] = max(used["g"], g / (1.48 / kappa + 4.35 * u))
        used["y"] = max(used["y"], y / (y_1 + 1.73 * w + 1.62 * u + 0.7 / kappa))
        used["x"] = max(used["x"], math.sqrt(X(y)) / (x_1 + 1.6 * w + 1.14 * u + 0.735 / kappa))
    assert all(0.9 < share <= 1 for share in used.values()), used


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
