"""Theorems A to D of docs/adaptive.md, and how B compares with Theorem 1: written from the page, not from `src/`."""

import math
from collections.abc import Iterable

import naive_bounds


def constants(K: int, a: float = 1.0, nu: float = 0.05) -> tuple[float, float, float]:
    """f, σ and C of Theorem B."""
    f, sigma = 1 / (1 - a / 2), 1 + max(1, (a / 2) / (1 - a / 2))
    return f, sigma, f + sigma**2 / (4 * K) + nu


def theorem_B(K: int, lam: float, T: float, a=1.0, theta=1.0, kappa_W=3.0, kappa_O=0.5, nu=0.05) -> float:
    N = min(naive_bounds.theorem_1_blocks_bound(T, K, lam), T)
    _, sigma, C = constants(K, a, nu)
    L = lam * N
    g = 0.0
    if 4 * math.sqrt(K) <= L:
        g = (sigma / 2) * (L / math.sqrt(K)) * math.sqrt(theta**2 * L**2 + math.sqrt(K) * L / 2)
        g += sigma**2 * L**2 / (16 * K) + (nu / 2) * math.sqrt(K) * L
    KU = theta**2 * L**2 + C * (1.061 * (L + 0.65 * lam) + math.sqrt(K * N)) ** 2 + g
    KE = max(1.5 * lam * math.sqrt(K * N) + K, math.sqrt(K) * L / 2)
    value = (1 + kappa_W + kappa_O) * L + kappa_O * math.sqrt(K * T) + 2 * math.sqrt(KU)
    return min(value + 2 * (1 - 1 / math.sqrt(K)) * math.sqrt(KU + KE), T + L)


def theorem_C(K: int, T: int, gaps: Iterable[float], a=1.0, J=4.0, kappa_O=0.5, nu=0.05) -> float:
    f, _, C = constants(K, a, nu)
    omega = 1 - a / 2
    D = (2 * (1.131 / omega + 0.56 + 1.667 / J) + 1.363 / omega * (f + nu)) / math.sqrt(nu)
    n_1 = math.ceil((4 / nu) * (1 + math.sqrt(K)) ** 2 / omega**2)
    c_0 = 4 * math.sqrt(K * (C * n_1 + 1)) + kappa_O * math.sqrt(K * n_1)
    return 2 * c_0 + D**2 * (1 + math.log(T)) * sum(1 / gap for gap in gaps)


def theorem_D(K: int, lams: list[float], T: int, a=1.0, theta=1.0, kappa_W=3.0, kappa_O=0.5, nu=0.05) -> float:
    """`lams` are those of the blocks of Theorem 4 that cover T."""
    _, sigma, C = constants(K, a, nu)
    L, N = sum(lams), len(lams)
    KE = math.sqrt(K) * (L + math.sqrt(K * N) + math.sqrt(K))
    KU = theta**2 * L**2 + C * (L + 2 * math.sqrt(K * N)) ** 2
    if 4 * math.sqrt(K) <= L:
        KU += (sigma / 2) * (L / math.sqrt(K)) * math.sqrt(theta**2 * L**2 + KE)
        KU += sigma**2 * L**2 / (16 * K) + (nu / 2) * math.sqrt(K) * L
    value = (1 + kappa_W + kappa_O) * L + kappa_O * math.sqrt(K * T)
    return value + 2 * math.sqrt(KU) + 2 * (1 - 1 / math.sqrt(K)) * math.sqrt(KU + KE)


def ratio_to_theorem_1(K: int, a=1.0, theta=1.0, kappa_W=3.0, kappa_O=0.5, nu=0.05, *, beyond=False):
    """Quotients of the corollary's coefficients by Theorem 1's: of (λK)^{1/3}T^{2/3} with λ, and of √(KT).

    With `beyond`, not exceeded for any larger K either: v = 1, and C where it divides is its limit.
    """
    f, sigma, C = constants(K, a, nu)
    least_C, v = (f + nu, 1.0) if beyond else (C, 1 - 1 / math.sqrt(K))
    theta_2 = theta**2 + sigma / (2 * math.sqrt(K)) * math.sqrt(theta**2 + 1 / 8) + sigma**2 / (16 * K) + nu / 8
    A = math.sqrt(theta_2 + 1.1257 * C)
    of_L = 1 + kappa_W + kappa_O + (2 + 2 * v) * A
    of_lam = 1 + kappa_W + kappa_O + 1.65 * (2 + 2 * v) * A + 1.5 * v / math.sqrt(least_C)
    of_root = (2 + 2 * v) * math.sqrt(C) + kappa_O
    return max((of_L + 0.763 * of_lam) / (5.25 * 1.763), of_L / 5.25), of_root / 6.4
