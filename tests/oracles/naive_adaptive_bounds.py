"""Theorems B to D of docs/theory/adaptive.md: written from the page, not from `src/`."""

import itertools
import math
from collections.abc import Callable, Iterable


def constants(K: int, a: float = 1.0, nu: float = 0.05) -> tuple[float, float, float]:
    f, sigma = 1 / (1 - a / 2), 1 + max(1, (a / 2) / (1 - a / 2))
    return f, sigma, f + sigma**2 / (4 * K) + nu


def fixed_point(F: Callable[[float], float]) -> float:
    """y = F(y) by halving an interval; F(y)/y falls."""
    low, high = 0.0, 1.0
    while F(high) > high:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if F(middle) > middle else (low, middle)
    return high


def terms_of_B(K, L, lam, T, a=1.0, theta=1.0, kappa_W=3.0, kappa_O=0.5, kappa_Q=0.25, nu=0.05) -> dict[str, float]:
    """The lines of Theorem B, in the order of the page."""
    _, sigma, c_V = constants(K, a, nu)
    Lam, k = lam + L, math.sqrt(K)
    Q = (9 / (8 * kappa_Q)) ** (1 / 3) * L
    P = 2 * kappa_Q * (Q + lam)

    def M(Y: float) -> float:
        return K + k * Lam / 2 + math.sqrt(lam * K * (9 / 4 * Lam + Y))

    g = 0.0
    if Lam > 2 * k:
        b, Y_0 = Lam / (2 * k) + 1, fixed_point(lambda Y: math.sqrt(theta**2 * Lam**2 + P**2 + M(Y)))
        g = sigma * b * Y_0 + sigma**2 * b**2 / 4 + nu * K * b

    def X_2(Y: float) -> float:
        return theta**2 * Lam**2 + g + c_V * (K * T + L**1.5 * math.sqrt(9 / 4 * Lam + Y))

    Y = fixed_point(lambda Y: math.sqrt(X_2(Y) + P**2 + M(Y)))
    return {
        "switches": Q + lam,
        "V": 2 * math.sqrt(X_2(Y)),
        "penalty": 2 * (1 - 1 / k) * Y,
        "ledgers": kappa_W * (1 - 1 / K) * Lam + kappa_O * (Lam + math.sqrt(K * T)),
        "last block": M(Y) / K,
    }


def formula_B(K: int, lam: float, T: float, **given: float) -> float:
    """The sum, whether or not T + what switches cost is less."""
    return sum(terms_of_B(K, (lam * K) ** (1 / 3) * T ** (2 / 3), lam, T, **given).values())


def theorem_B(K: int, lam: float, T: float, **given: float) -> float:
    L = (lam * K) ** (1 / 3) * T ** (2 / 3)
    trivial = T + terms_of_B(K, L, lam, T, **given)["switches"]
    formula = formula_B(K, lam, T, **given)
    return formula if formula < trivial else trivial


def theorem_C(K: int, lam: float, T: int, gaps: Iterable[float], a=1.0, J=4.0, phi=100.0, mu_0=1.5, **given) -> float:
    nu, kappa_O, kappa_Q = given.get("nu", 0.05), given.get("kappa_O", 0.5), given.get("kappa_Q", 0.25)
    f, sigma, c_V = constants(K, a, nu)
    omega, h = 1 - a / 2, sum(1 / gap for gap in gaps)
    c_1, rho = 1.131 / omega + 0.56 + 1.667 / J, 1.363 / omega
    if lam == 0:
        D = (2 * c_1 + rho * (f + nu)) / math.sqrt(nu)
        n_1 = math.ceil((4 / nu) * (1 + math.sqrt(K)) ** 2 / omega**2)
        c_0 = 4 * math.sqrt(K * (c_V * n_1 + 1)) + kappa_O * math.sqrt(K * n_1)
        return 2 * c_0 + D**2 * (1 + math.log(T)) * h
    H, mu, least = 2 * (1 + math.sqrt(K)) / omega, 8 * mu_0, min(gaps)
    t_1 = max(2 * H, 2 * math.sqrt(2) * H**2 * max(mu, 1) ** 2 * lam) ** 2 / nu
    t_2 = max(16 * max(phi, 1) / least * lam, (16 * max(phi, 1) / least) ** 3 * lam * K)
    t = max(t_1, t_2)
    terms = terms_of_B(K, (lam * K) ** (1 / 3) * t ** (2 / 3), lam, t, a=a, **given)
    D_1 = 2 * c_1 + rho * (f + nu + 1)
    D_3 = 4 * D_1 + 1 + 4 * rho * kappa_Q
    D_2 = (2 * mu + 2) * D_1 + (1 + rho**2) * K**0.25 * D_3
    c_0 = sum(terms.values()) + (2 * sigma + 2 * math.sqrt(K)) * terms["last block"] + (D_3 + 3) * lam
    return 2 * c_0 + (5.5 * D_1**2 + 70 * D_2**4 * lam**2 / least**2) * h / nu * (1 + math.log(2 * T))


def theorem_D(K: int, lams: list[float], T: int, **given: float) -> float:
    """`lams` are those of rounds 1 to T, each for a block that begins there."""
    L = (math.sqrt(K) * math.fsum(map(math.sqrt, itertools.accumulate(lams, max)))) ** (2 / 3)
    terms = terms_of_B(K, L, max(lams), T, **given)
    formula = sum(terms.values())
    return formula if formula < T + terms["switches"] else T + terms["switches"]
