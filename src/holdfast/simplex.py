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
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._kernel import kernel
from holdfast.checks import real_number
from holdfast.errors import InvalidParameter

CLOSE = 1e-5
"""Relative step below which the third-order step finishes."""

WIDEST = 1e70
"""Spread of C in units of 2/η up to which a product of four distances stays finite."""

MOST_PASSES = 64
"""Never reached: ten passes are the most seen from a cold start. It bounds the loop for a corrupt state."""


@kernel
def inverse_power_sums(C: Any, m: float, s: float, w: Any) -> tuple[float, float, float]:
    """w_i = 1/(C_i − m + s) into `w`; the sums of their squares, cubes and fourth powers.

    Four reciprocals cost one division: 1/a = bcd/(abcd).
    """
    K = C.shape[0]
    S2, S3, S4 = 0.0, 0.0, 0.0
    T2, T3, T4 = 0.0, 0.0, 0.0
    whole = K - K % 4
    for i in range(0, whole, 4):
        a, b = (C[i] - m) + s, (C[i + 1] - m) + s
        c, d = (C[i + 2] - m) + s, (C[i + 3] - m) + s
        ab, cd = a * b, c * d
        r = 1.0 / (ab * cd)
        rab, rcd = r * cd, r * ab
        wa, wb, wc, wd = rab * b, rab * a, rcd * d, rcd * c
        w[i], w[i + 1], w[i + 2], w[i + 3] = wa, wb, wc, wd
        qa, qb, qc, qd = wa * wa, wb * wb, wc * wc, wd * wd
        S2 += qa + qb
        T2 += qc + qd
        S3 += qa * wa + qb * wb
        T3 += qc * wc + qd * wd
        S4 += qa * qa + qb * qb
        T4 += qc * qc + qd * qd
    for i in range(whole, K):
        v = 1.0 / ((C[i] - m) + s)
        w[i] = v
        S2 += v * v
        S3 += v * v * v
        S4 += v * v * v * v
    return S2 + T2, S3 + T3, S4 + T4


@kernel
def smallest_other(C: Any, arm: int) -> float:
    """min of C_i over i ≠ arm; infinite when there is no other."""
    least = math.inf
    for i in range(C.shape[0]):
        least = C[i] if (C[i] < least) & (i != arm) else least
    return least


@kernel
def smallest(C: Any) -> float:
    """min C, by four comparisons side by side."""
    K = C.shape[0]
    a = b = c = d = C[0]
    whole = K - K % 4
    for i in range(0, whole, 4):
        a = C[i] if C[i] < a else a
        b = C[i + 1] if C[i + 1] < b else b
        c = C[i + 2] if C[i + 2] < c else c
        d = C[i + 3] if C[i + 3] < d else d
    for i in range(whole, K):
        a = C[i] if C[i] < a else a
    a = b if b < a else a
    c = d if d < c else c
    least: float = c if c < a else a
    return least


@kernel
def tsallis_solve(C: Any, m: float, R: float, rho: float, s: float, w: Any) -> tuple[float, float, float, float, int]:
    """Solve Σ (C_i − m + s)⁻² = rho = 1/R² from the start `s`; `w` becomes (C_i − m + s − d)⁻¹.

    Returns the root s, the last step d that `refined` carries `w` over, S₃ and S₄ at the root, and the number of
    passes over the arms.
    """
    passes = 0
    while True:
        passes += 1
        S2, S3, S4 = inverse_power_sums(C, m, s, w)
        inverse = 1.0 / S3
        d = 0.5 * (S2 - rho) * inverse
        if abs(d) <= CLOSE * s or passes == MOST_PASSES:
            break
        F = 1.0 / math.sqrt(S2)
        s = max(s + (R - F) / (S3 * F * F * F), R)  # Newton on F(s) = R
    d += 1.5 * S4 * inverse * d * d  # third order
    return s + d, d, S3 - 3.0 * S4 * d, S4, passes


def refine(v: Any, d: float) -> Any:
    """1/(1/v + d) for |dv| ≤ 10⁻⁵, to (dv)³; of one number or of an array."""
    y = d * v
    return v * (1.0 - y * (1.0 - y))


refined = kernel(refine)


@kernel
def tsallis_start(R: float, rho: float, s: float, A: float, B: float, E: float, y: float) -> float:
    """Where to start after one arm moved to D + s = y, with A, B, E = S₂, S₃, S₄ of the others at the old root.

    The third-order step with S₂ = A + y⁻², S₃ = B + y⁻³, S₄ = E + y⁻⁴, brought to one division.
    """
    square = y * y
    inverse = 1.0 / (1.0 + B * square * y)
    excess = (1.0 + (A - rho) * square) * inverse
    d = 0.5 * y * excess
    return max(s + d * (1.0 + 0.75 * (1.0 + E * square * square) * inverse * excess), R)


@kernel
def draw_squares(w: Any, d: float, target: float, settled: bool) -> int:
    """The first arm at which the sum of squares of the refined `w` exceeds `target`; at worst the last.

    While one arm is drawn most of the time (`settled`) a processor guesses where the search ends; before, and with
    few arms, counting them all is quicker than guessing wrong. Both give the same arm.
    """
    arm, last, reached = 0, w.shape[0] - 1, 0.0
    if settled or last > 15:
        v = refined(w[0], d)
        reached = v * v
        while reached <= target and arm < last:
            arm += 1
            v = refined(w[arm], d)
            reached += v * v
    else:
        for i in range(last):
            v = refined(w[i], d)
            reached += v * v
            arm += int(reached <= target)
    return arm


@kernel
def draw(p: Any, target: float) -> int:
    """The first arm at which p_1 + … + p_i exceeds `target`; the last of positive weight when rounding lets none."""
    arm, reached = 0, 0.0
    for i in range(p.shape[0]):
        if p[i] > 0.0:
            arm = i
            reached += p[i]
            if reached > target:
                break
    return arm


@kernel
def exponential_weights(L: Any, least: float, eta: float, w: Any) -> float:
    """w_i = exp(−η(L_i − min L)) into `w`; returns their sum, which is at least 1."""
    total = 0.0
    for i in range(L.shape[0]):
        w[i] = math.exp(-eta * (L[i] - least))
        total += w[i]
    return total


def tsallis_weights(C: ArrayLike, eta: float) -> NDArray[np.float64]:
    """p = argmin ⟨p, C⟩ − Σ (4√p_i − 2p_i)/η over the simplex, from a cold start.

    >>> tsallis_weights([0.0, 0.0], eta=1.0)
    array([0.5, 0.5])
    """
    losses = np.array(C, dtype=np.float64)
    if losses.ndim != 1 or losses.size == 0 or not np.isfinite(losses).all():
        raise InvalidParameter("C", "must be a list of finite numbers, one an arm", C)
    R = 2.0 / real_number("eta", eta, above=0)
    if np.ptp(losses) > WIDEST * R:
        raise InvalidParameter("C", f"must not spread over more than {WIDEST:g}·2/η", float(np.ptp(losses)))
    w = np.empty_like(losses)
    _, d, _, _, _ = tsallis_solve(losses, smallest(losses), R, 1.0 / (R * R), R, w)
    p = (R * refine(w, d)) ** 2
    return np.asarray(p / p.sum())
