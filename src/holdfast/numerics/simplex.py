"""Points of the simplex that the policies draw from: Tsallis weights, exponential weights, drawing an arm.

The Tsallis step (Algorithm 1 of the paper) is p = argmin ⟨p, C⟩ − Σ (4√p_i − 2p_i)/η over the simplex. Its
solution is p_i = 4/(η(C_i − x))², with x < min C chosen so that Σ p_i = 1 (Zimmert and Seldin 2021, who solve for x).

We solve for the distance s = min C − x > 0. With D_i = C_i − min C, w_i = 1/(D_i + s) and R = 2/η,

    Σ w_i² = 1/R²,    R ≤ s ≤ R√K,    p_i = (R w_i)².

* F(s) = (Σ w_i²)^(−1/2) is increasing and concave (F″ ∝ S₃² − S₂S₄ ≤ 0 by Cauchy-Schwarz, S_k = Σ w_i^k), so
  Newton's method on F(s) = R from anywhere in the bracket is left of the root after one step and rises to it:
  it cannot leave the bracket and needs no safeguard.
* Close to the root one step of third order on Σ w_i² = 1/R² finishes: with d = (S₂ − 1/R²)/(2S₃) and
  A = 3S₄/(2S₃), s gains d + A d² up to |2A² − 2S₅/S₃| d³ ≤ 4.5 d³/s². Taken when d ≤ 10⁻⁵ s, that leaves an
  error of 4.5·10⁻¹⁵ in s and twice it in p.
* When a block has moved only C_I, the sums at the old x are corrected in O(1) and give the start.

Several games are played side by side: `C` and `w` have one column per game, and what is one number for a game is a row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import kernel
from holdfast.checks import array_of, real_number
from holdfast.errors import InvalidParameter

CLOSE = 1e-5
"""Relative step below which the third-order step finishes."""

WIDEST = 1e70
"""Spread of C in units of 2/η up to which the fourth power of a distance stays finite."""

MOST_PASSES = 64
"""Limit on the loop for a corrupt state; from a cold start ten passes are the most seen."""

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""1/ln 2, and ln 2 in two parts: a product of the first with a whole number of up to 21 bits is exact."""

NEAREST = 1.5 * 2.0**52
"""Added and subtracted again, it rounds to the nearest whole number."""

I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, I13 = (1.0 / math.factorial(k) for k in range(2, 14))
"""1/k!."""


@kernel
def inverse_power_sums(C: Any, m: Any, s: Any, w: Any, S2: Any, S3: Any, S4: Any) -> None:
    """Write w_i = 1/(C_i − m + s) to `w`, and the sums of their squares, cubes and fourth powers."""
    for g in range(s.shape[0]):
        S2[g], S3[g], S4[g] = 0.0, 0.0, 0.0
    for i in range(C.shape[0]):
        for g in range(s.shape[0]):
            v = 1.0 / ((C[i, g] - m[g]) + s[g])  # w_i = 1/(D_i + s), p_i = (R w_i)²
            q = v * v
            w[i, g] = v
            S2[g] += q
            S3[g] += q * v
            S4[g] += q * q


@kernel
def smallest(C: Any, least: Any) -> None:
    """Write min C of each game to `least`."""
    for g in range(least.shape[0]):
        least[g] = C[0, g]
    for i in range(1, C.shape[0]):
        for g in range(least.shape[0]):
            least[g] = C[i, g] if C[i, g] < least[g] else least[g]


@kernel
def smallest_other(C: Any, arm: Any, least: Any) -> None:
    """Write the min of C_i over i ≠ arm of each game to `least`; infinite if there is no other arm."""
    for g in range(least.shape[0]):
        least[g] = math.inf
    for i in range(C.shape[0]):
        for g in range(least.shape[0]):
            other = math.inf if i == arm[g] else C[i, g]
            least[g] = other if other < least[g] else least[g]


@kernel
def tsallis_solve(C: Any, m: Any, R: float, rho: float, s: Any, w: Any, d: Any, S2: Any, S3: Any, S4: Any) -> int:
    """Solve Σ (C_i − m + s)⁻² = rho = 1/R² from the start `s`; `w` becomes (C_i − m + s − d)⁻¹.

    `s` becomes the root, `d` the last step, which `refined` carries `w` over, `S3` and `S4` their sums at the root.
    Returns the number of passes over the arms. Games that are close wait for those that are not: one more pass from
    the same `s` changes nothing.
    """
    passes, far = 0, 1
    while far > 0 and passes < MOST_PASSES:
        if passes > 0:
            for g in range(s.shape[0]):
                F = 1.0 / math.sqrt(S2[g])
                better = s[g] + (R - F) / (S3[g] * F * F * F)  # Newton on F(s) = R
                better = better if better > R else R
                s[g] = better if abs(d[g]) > CLOSE * s[g] else s[g]
        passes += 1
        inverse_power_sums(C, m, s, w, S2, S3, S4)
        far = 0
        for g in range(s.shape[0]):
            d[g] = 0.5 * (S2[g] - rho) / S3[g]  # Newton on Σ w_i² = 1/R²
            far += int(abs(d[g]) > CLOSE * s[g])
    for g in range(s.shape[0]):
        d[g] += 1.5 * S4[g] / S3[g] * d[g] * d[g]  # third order: d + A d², A = 3S₄/(2S₃)
        s[g] += d[g]
        S3[g] -= 3.0 * S4[g] * d[g]
    return passes


def refine(v: Any, d: float) -> Any:
    """Return 1/(1/v + d) for |dv| ≤ 10⁻⁵, to (dv)³, for a number or an array."""
    y = d * v
    return v * (1.0 - y * (1.0 - y))


refined = kernel(refine)


@kernel
def tsallis_start(R: float, rho: float, s: float, A: float, B: float, E: float, y: float) -> float:
    """Return the start after one arm moved to D + s = y, with A, B, E = S₂, S₃, S₄ of the others at the old root.

    The third-order step with S₂ = A + y⁻², S₃ = B + y⁻³, S₄ = E + y⁻⁴, brought to one division.
    """
    square = y * y
    inverse = 1.0 / (1.0 + B * square * y)
    excess = (1.0 + (A - rho) * square) * inverse
    d = 0.5 * y * excess
    start = s + d * (1.0 + 0.75 * (1.0 + E * square * square) * inverse * excess)
    return start if start > R else R


@kernel
def draw_squares(w: Any, d: Any, rho: float, target: Any, reached: Any, arm: Any) -> None:
    """Write to `arm` the first arm at which the sum of squares of the refined `w` exceeds `target`; at worst the last.

    Counting all the arms before it is faster than a search, whose end a processor would mispredict; but not for a
    single game that draws one arm most of the time, or with many arms. Both give the same arm.
    """
    last = w.shape[0] - 1
    if arm.shape[0] == 1 and (last > 15 or w[int(arm[0]), 0] * w[int(arm[0]), 0] > 0.6 * rho):
        i = 0
        v = refined(w[0, 0], d[0])
        so_far = v * v
        while so_far <= target[0] and i < last:
            i += 1
            v = refined(w[i, 0], d[0])
            so_far += v * v
        arm[0] = float(i)
        return
    for g in range(arm.shape[0]):
        arm[g], reached[g] = 0.0, 0.0
    for i in range(last):
        for g in range(arm.shape[0]):
            v = refined(w[i, g], d[g])
            reached[g] += v * v
            arm[g] += 1.0 if reached[g] <= target[g] else 0.0


@kernel
def draw(p: Any, target: Any, reached: Any, arm: Any) -> None:
    """Write to `arm` the first arm at which p_1 + … + p_i exceeds `target`, or else the last of positive weight."""
    for g in range(arm.shape[0]):
        arm[g], reached[g] = 0.0, 0.0
    for i in range(p.shape[0]):
        for g in range(arm.shape[0]):
            open_still = (reached[g] <= target[g]) & (p[i, g] > 0.0)
            arm[g] = float(i) if open_still else arm[g]
            reached[g] += p[i, g]


@kernel
def exp_of_negative(x: float) -> float:
    """Return exp(x) for x ≤ 0, to one unit in the last place; 0 below −708, where it would be less than 10⁻³⁰⁷.

    x = n ln 2 + r with |r| ≤ ½ ln 2, the series of exp(r), and 2ⁿ from its bits. Unlike a C library's it is the same
    on every machine, and it runs in vector registers.
    """
    n = max(x, -708.0) * LOG2_E + NEAREST - NEAREST
    r = (max(x, -708.0) - n * LN2_HIGH) - n * LN2_LOW
    q = r * r
    low = q * ((I2 + I3 * r) + q * (I4 + I5 * r))
    high = ((I6 + I7 * r) + q * (I8 + I9 * r)) + q * q * ((I10 + I11 * r) + q * (I12 + I13 * r))
    power = np.int64((int(n) + 1023) << 52).view(np.float64)  # 2ⁿ
    return (1.0 + (r + (low + q * q * q * high))) * power if x >= -708.0 else 0.0


@kernel
def exponential_weights(L: Any, least: Any, eta: float, w: Any, total: Any) -> None:
    """Write w_i = exp(−η(L_i − min L)) to `w`, and their sum, which is at least 1, to `total`."""
    for g in range(total.shape[0]):
        total[g] = 0.0
    for i in range(L.shape[0]):
        for g in range(total.shape[0]):
            w[i, g] = exp_of_negative(-eta * (L[i, g] - least[g]))  # p_i ∝ exp(−η L_i)
    for i in range(L.shape[0]):
        for g in range(total.shape[0]):
            total[g] += w[i, g]


def tsallis_weights(C: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return p = argmin ⟨p, C⟩ − Σ (4√p_i − 2p_i)/η over the simplex, from a cold start.

    >>> tsallis_weights([0.0, 0.0], eta=1.0)
    array([0.5, 0.5])
    """
    rule = "must be a list of finite numbers, one per arm"
    losses = array_of("C", C, rule)
    if losses.ndim != 1 or losses.size == 0 or isinstance(C, str) or not np.isfinite(losses).all():
        raise InvalidParameter("C", rule, C)
    p, _ = cold_solution(losses, real_number("eta", eta, above=0))
    return p


def cold_solution(C: NDArray[np.float64], eta: float) -> tuple[NDArray[np.float64], int]:
    """Return p for finite C, and the passes over the arms that the solver took.

    p depends on ηC only. With η between ½ and 1, a power of two moved from it to C without rounding, no rate is too
    small or too large for the solver.
    """
    mantissa, exponent = math.frexp(eta)
    R = 2.0 / mantissa
    with np.errstate(over="ignore"):
        D = np.ldexp(0.5 * C - 0.5 * C.min(), exponent + 1)
    if D.max() > WIDEST * R:
        raise InvalidParameter("C", f"must not spread over more than {WIDEST:g}·2/η", C)
    w, least = np.empty((D.size, 1)), np.zeros(1)
    s, d, S2, S3, S4 = np.full((5, 1), R)
    passes = tsallis_solve(D.reshape(-1, 1), least, R, 1.0 / (R * R), s, w, d, S2, S3, S4)
    p = (R * refine(w[:, 0], d[0])) ** 2
    return np.asarray(p / p.sum()), passes
