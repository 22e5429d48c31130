"""The naive oracle of the bounds: every statement of the paper in plain Python (`naive` has the algorithms)."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from naive import Costs, Number, VaryingTsallisSwitch, theorem_1_length

# `gaps` lists Δ_i of the arms i ≠ i*; the constrained bounds need a unique best arm and K >= 2.


def theorem_1_blocks(T: int, K: int, lam: Number) -> int:
    """N: the smallest integer with |B_1| + ... + |B_N| >= T."""
    n = covered = 0
    while covered < T:
        n += 1
        covered += theorem_1_length(n, K, lam)
    return n


def theorem_1_blocks_bound(T: int, K: int, lam: float) -> float:
    """N <= K^{1/3}(T/λ)^{2/3} + 1 (proof of Theorem 1); N = T for λ = 0 (E7)."""
    return K ** (1 / 3) * (T / lam) ** (2 / 3) + 1 if lam > 0 else float(T)


def theorem_1_adversarial(T: int, K: int, lam: float) -> float:
    main = 5.25 * (lam * K) ** (1 / 3) * T ** (2 / 3) + 6.4 * math.sqrt(K * T)
    return main + 3 * math.sqrt(2 * K) + 5.25 * lam + 6.25


def theorem_1_constrained(T: int, K: int, lam: float, gaps: Iterable[float]) -> float:
    first = 66 * (lam * K) ** (2 / 3) * T ** (1 / 3) + 32 * math.log(T)
    second = 160 * lam ** (2 / 3) * T ** (1 / 3) * K ** (1 / 6) + 160 * lam + 49 * lam**2 + 32
    return (first + second) * sum(1 / gap for gap in gaps) + 544 * lam / math.sqrt(K) + lam + 66


def first_small(etas: Sequence[float], b: Sequence[float]) -> int:
    """T_0, N_0: the smallest T_0 with η_t b_t <= 1/4 (1e-12 for rounding) for T_0 <= t <= T, else T (E4)."""
    T_0 = len(etas) + 1
    while T_0 > 1 and etas[T_0 - 2] * b[T_0 - 2] <= 0.25 * (1 + 1e-12):
        T_0 -= 1
    return min(T_0, len(etas))


def theorem_2_adversarial(K: int, etas: Sequence[float], b: Sequence[float]) -> float:
    stability = sum(eta / 2 * b_t**2 for eta, b_t in zip(etas, b, strict=True))
    return math.sqrt(K) * (stability + 4 / etas[-1]) + 1


def theorem_2_constrained(
    etas: Sequence[float],
    b: Sequence[float],
    gaps: Sequence[float],
    c: Literal["global", "per-round"] = "global",
) -> float:
    """The mean gap at round t is b_t Δ_i (E6). c: one for all t as in the proof, or one for each t (E5)."""
    inverse = [0.0] + [1 / eta for eta in etas]  # η_0^{-1} = 0
    rise = [inverse[t] - inverse[t - 1] for t in range(1, len(inverse))]
    two = [1.25 * eta * b_t**2 >= 2 * r for eta, b_t, r in zip(etas, b, rise, strict=True)]
    bound = 2.0 + sum(etas[t] * b[t] ** 2 for t in range(first_small(etas, b)))
    for t, (eta, b_t) in enumerate(zip(etas, b, strict=True)):
        c_t = 2 if (all(two) if c == "global" else two[t]) else 4
        for gap in gaps:
            bound += (3.5 * eta * b_t**2 + 2 * c_t * rise[t]) ** 2 / (4 * gap * b_t)
    return bound


def corollary_3_adversarial(T: int, K: int, B: float = 1.0) -> float:
    return 4 * B * math.sqrt(K * T) + 1


def corollary_3_constrained(T: int, gaps: Iterable[float], B: float = 1.0, *, corrected: bool = True) -> float:
    """Printed with 8√B; the proof gives Σ_{t<=64} η_t B² <= 32B (E3). The mean gaps are BΔ_i (E6)."""
    start = 32 * B if corrected else 8 * math.sqrt(B)
    return 21 * B * (math.log(T) + 1) * sum(1 / gap for gap in gaps) + start + 2


def theorem_4_schedule(T: int, K: int, lam: Costs) -> tuple[list[float], list[int], list[float]]:
    """λ_n, |B_n| and η_n for n = 1..N, no block truncated."""
    policy = VaryingTsallisSwitch(K)
    lams: list[float] = []
    lengths: list[int] = []
    etas: list[float] = []
    covered = 0
    while covered < T:
        n = len(lams) + 1
        lams.append(lam(n))
        length, eta = policy.schedule(n, lams[-1])
        lengths.append(length)
        etas.append(eta)
        covered += length
    return lams, lengths, etas


def theorem_4_adversarial(T: int, K: int, lam: Costs) -> float:
    lams, _, _ = theorem_4_schedule(T, K, lam)
    return sum(7 * lam_n for lam_n in lams) + 12 * math.sqrt(K * len(lams)) + 2


def theorem_4_constrained(
    T: int, K: int, lam: Costs, gaps: Sequence[float], beyond: float = 0.0, *, truncated: bool = True
) -> float:
    """λ_{N+1} = `beyond`, 0 as there is no such switch (E14).

    |B_n| in the denominator is from R_T = Σ_n |B_n| Σ_i Δ_i E p_{n,i}, where B_N is truncated at T;
    `truncated=False` divides by the planned |B_N| instead, which the proof does not support.
    """
    lams, lengths, etas = theorem_4_schedule(T, K, lam)
    N, N_0 = len(lams), first_small(etas, lengths)
    following = [*lams[1:], beyond]
    played = lengths.copy()
    if truncated:
        played[-1] = T - sum(lengths[:-1])
    bound = sum(2 * math.sqrt(2) * lams[n] / math.sqrt(K) for n in range(N_0))
    bound += 4 * math.sqrt(2 * N_0) + lams[0] + 2
    for n in range(1, N + 1):
        for gap in gaps:
            root = 11 * lams[n - 1] + following[n - 1] + 10 * math.sqrt(2) / math.sqrt(n)
            bound += root**2 / (4 * gap * played[n - 1])
    return bound


def lemma_8(lams: Sequence[float], P: Sequence[Sequence[float]], j: int, beyond: float = 0.0) -> float:
    """λ_1 + Σ_n (λ_n + λ_{n+1}) Σ_{i≠j} P(I_n = i), with P[n − 1][i] = P(I_n = i) and λ_{N+1} = `beyond`."""
    following = [*lams[1:], beyond]
    bound = lams[0]
    for lam_n, lam_next, P_n in zip(lams, following, P, strict=True):
        bound += (lam_n + lam_next) * sum(P_n[i] for i in range(len(P_n)) if i != j)
    return bound
