"""Algorithm 1 of the paper: follow the regularised leader with the ½-Tsallis regulariser, on blocks.

One pair of kernels plays Tsallis-Switch, its varying-cost version and Tsallis-INF: they differ in the
schedule of block lengths and learning rates and, for reduced variance, in the estimator. They play any number of games
abreast, because no schedule depends on what is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.policies.protocol import ARM, BLOCK, OWN, ROUNDS, Array, State, alone
from holdfast.rng import uniform_abreast
from holdfast.simplex import draw_squares, refine, refined, smallest, smallest_other, tsallis_solve, tsallis_start

THEOREM_1, THEOREM_4, COROLLARY_3, THEOREM_2, GIVEN = range(5)
"""Where block lengths and learning rates come from."""

SCHEDULE, LAMBDA, RANGE, RATE_FACTOR, LENGTH, TABLE = range(6)
"""Places in `params`; a GIVEN schedule has `LENGTH` block lengths from `TABLE` on, then as many rates."""

RHO, S, STEP, LEAST, S3, S4, A, B, E, MOVED, SUM, BOUND, S2 = range(OWN, OWN + 13)
"""Places in `x`: ρ = η²/4, s, the step that refines w, min C, the solver's sums; those of the arms that the last block
did not move, and D + s of the one it did (0 when several moved); a running sum; b_t. Games abreast have ρ, the running
sum and b_t in common, in column 0."""

TARGET = A
"""Where the draw ends; the place is free from the solver's start until the loss is known."""

REBASE = 4096.0
"""C is moved back to a minimum of zero when the minimum exceeds so many s: p depends on differences only."""


@kernel
def next_block(params: Any, x: Any, K: float, announced: float) -> tuple[float, float]:
    """|B_n| and η_n of the block that begins."""
    n = x[BLOCK, 0]
    schedule = params[SCHEDULE]
    if schedule == THEOREM_1:
        a = schedules.theorem_1_length(n, K, params[LAMBDA])
        return schedules.whole_rounds(a), params[RATE_FACTOR] * schedules.theorem_1_rate(n, a)
    if schedule == THEOREM_4:
        x[SUM, 0] += schedules.theorem_4_increment(n, K, announced)  # a_n
        length = schedules.whole_rounds(schedules.theorem_4_length(K, announced, x[SUM, 0]))
        return length, schedules.theorem_4_rate(K, x[SUM, 0])
    if schedule == COROLLARY_3:
        x[BOUND, 0] = params[RANGE]
        return 1.0, params[RATE_FACTOR] * schedules.corollary_3_rate(n, params[RANGE])
    if schedule == THEOREM_2:
        x[BOUND, 0] = announced
        x[SUM, 0] += announced * announced  # Σ b_s²
        return 1.0, params[RATE_FACTOR] * schedules.theorem_2_rate(x[SUM, 0])
    count = int(params[LENGTH])
    row = TABLE + min(int(n), count) - 1
    return params[row], params[row + count]


@kernel
def choose_abreast(params: Any, x: Any, C: Any, w: Any, announced: float, streams: Any) -> None:
    """p_n, and I_n drawn from it (Algorithm 1, lines 4 and 5)."""
    x[BLOCK, 0] += 1.0
    rounds, eta = next_block(params, x, float(C.shape[0]), announced)
    r, rho = 2.0 / eta, 0.25 * eta * eta
    for g in range(x.shape[1]):
        s, y = x[S, g], x[MOVED, g]
        start = tsallis_start(r, rho, s, x[A, g], x[B, g], x[E, g], y)
        x[S, g] = start if y > 0.0 else max(s, r)
    tsallis_solve(C, x[LEAST], r, rho, x[S], w, x[STEP], x[S2], x[S3], x[S4])  # p_i = (r w_i)²
    for g in range(x.shape[1]):
        x[TARGET, g] = uniform_abreast(streams, g) * rho
    draw_squares(w, x[STEP], rho, x[TARGET], x[S2], x[ARM])
    x[ROUNDS, 0], x[RHO, 0] = rounds, rho


@kernel
def observe_abreast(params: Any, x: Any, C: Any, w: Any, totals: Any, rounds: float) -> None:
    """C_I += c/p_I (Algorithm 1, lines 6 to 8), with 1/p_I = ρ(D_I + s)²."""
    rho = x[RHO, 0]
    smallest_other(C, x[ARM], x[S2])  # before the loss is needed: the processor can begin early
    for g in range(x.shape[1]):
        arm = int(x[ARM, g])
        v = refined(w[arm, g], x[STEP, g])
        q = v * v
        x[A, g], x[B, g], x[E, g] = max(rho - q, 0.0), max(x[S3, g] - q * v, 0.0), max(x[S4, g] - q * q, 0.0)
        y = (C[arm, g] - x[LEAST, g]) + x[S, g]
        x[MOVED, g] = C[arm, g] + totals[g] * rho * y * y
        x[S2, g] = min(x[MOVED, g], x[S2, g])
    for g in range(x.shape[1]):
        C[int(x[ARM, g]), g] = x[MOVED, g]
    settle(x, C, x[S2])
    for g in range(x.shape[1]):
        x[MOVED, g] = (C[int(x[ARM, g]), g] - x[LEAST, g]) + x[S, g]


@kernel
def observe_reduced_variance_abreast(params: Any, x: Any, C: Any, w: Any, totals: Any, rounds: float) -> None:
    """C_i += b_i for every arm, C_I += (c − b_I)/p_I, b_i = (B/2) 1[p_i ≥ (ηB)²] (Zimmert and Seldin 2021)."""
    rho, half = x[RHO, 0], 0.5 * x[BOUND, 0]
    threshold = 2.0 * x[BOUND, 0] * rho * (1.0 - 1e-14)  # √p ≥ ηB  ⇔  w ≥ 2Bρ, equality included
    for i in range(C.shape[0]):
        for g in range(x.shape[1]):
            v = refined(w[i, g], x[STEP, g])
            b = half if v >= threshold else 0.0
            C[i, g] += b + ((totals[g] - b) * rho / (v * v) if i == x[ARM, g] else 0.0)
    smallest(C, x[S2])
    settle(x, C, x[S2])
    for g in range(x.shape[1]):
        x[MOVED, g] = 0.0


@kernel
def settle(x: Any, C: Any, least: Any) -> None:
    """Take the new min C, keep s at the same x = min C − s, and keep C near zero."""
    far = 0
    for g in range(x.shape[1]):
        x[S, g] += least[g] - x[LEAST, g]
        x[LEAST, g] = least[g]
        far += int(abs(x[LEAST, g]) > REBASE * x[S, g])
    if far > 0:
        for g in range(x.shape[1]):
            if abs(x[LEAST, g]) > REBASE * x[S, g]:
                for i in range(C.shape[0]):
                    C[i, g] -= x[LEAST, g]
                x[LEAST, g] = 0.0


choose, observe = alone(choose_abreast, observe_abreast)
_, observe_reduced_variance = alone(choose_abreast, observe_reduced_variance_abreast)


def probabilities(state: State) -> Array:
    """p_n of the current block."""
    p = refine(state.w, state.x[STEP]) ** 2
    return np.asarray(p / p.sum())
