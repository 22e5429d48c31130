"""Algorithm 1 of the paper: follow the regularised leader with the ½-Tsallis regulariser, on blocks.

One pair of kernels plays Tsallis-Switch, its varying-cost version and Tsallis-INF: they differ in the
schedule of block lengths and learning rates and, for reduced variance, in the estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast import schedules
from holdfast._kernel import kernel
from holdfast.policies.protocol import ARM, BLOCK, OWN, ROUNDS, Array, State
from holdfast.rng import uniform
from holdfast.simplex import draw_squares, refine, refined, smallest, smallest_other, tsallis_solve, tsallis_start

THEOREM_1, THEOREM_4, COROLLARY_3, THEOREM_2, GIVEN = range(5)
"""Where block lengths and learning rates come from."""

SCHEDULE, LAMBDA, RANGE, RATE_FACTOR, LENGTH, TABLE = range(6)
"""Places in `params`; a GIVEN schedule has `LENGTH` block lengths from `TABLE` on, then as many rates."""

RHO, S, STEP, LEAST, S3, S4, A, B, E, MOVED, SUM, BOUND = range(OWN, OWN + 12)
"""Places in `x`: ρ = η²/4, s, the step that refines w, min C, the solver's sums; those of the arms that the last block
did not move, and D + s of the one it did (0 when several moved); a running sum; b_t."""

REBASE = 4096.0
"""C is moved back to a minimum of zero when the minimum exceeds so many s: p depends on differences only."""


@kernel
def next_block(params: Any, x: Any, K: float, announced: float) -> tuple[float, float]:
    """|B_n| and η_n of the block that begins."""
    n = x[BLOCK]
    schedule = params[SCHEDULE]
    if schedule == THEOREM_1:
        a = schedules.theorem_1_length(n, K, params[LAMBDA])
        return schedules.whole_rounds(a), params[RATE_FACTOR] * schedules.theorem_1_rate(n, a)
    if schedule == THEOREM_4:
        x[SUM] += schedules.theorem_4_increment(n, K, announced)  # a_n
        length = schedules.whole_rounds(schedules.theorem_4_length(K, announced, x[SUM]))
        return length, schedules.theorem_4_rate(K, x[SUM])
    if schedule == COROLLARY_3:
        x[BOUND] = params[RANGE]
        return 1.0, params[RATE_FACTOR] * schedules.corollary_3_rate(n, params[RANGE])
    if schedule == THEOREM_2:
        x[BOUND] = announced
        x[SUM] += announced * announced  # Σ b_s²
        return 1.0, params[RATE_FACTOR] * schedules.theorem_2_rate(x[SUM])
    count = int(params[LENGTH])
    row = TABLE + min(int(n), count) - 1
    return params[row], params[row + count]


@kernel
def choose(params: Any, x: Any, C: Any, w: Any, announced: float, stream: Any) -> int:
    """p_n, and I_n drawn from it (Algorithm 1, lines 4 and 5)."""
    x[BLOCK] += 1.0
    rounds, eta = next_block(params, x, float(C.shape[0]), announced)
    r, rho = 2.0 / eta, 0.25 * eta * eta
    if x[MOVED] > 0.0:
        s = tsallis_start(r, rho, x[S], x[A], x[B], x[E], x[MOVED])
    else:
        s = max(x[S], r)
    s, d, s3, s4, _ = tsallis_solve(C, x[LEAST], r, rho, s, w)  # p_i = (r w_i)²
    v = w[int(x[ARM])]
    arm = draw_squares(w, d, uniform(stream) * rho, v * v > 0.6 * rho)
    x[ROUNDS], x[ARM] = rounds, arm
    x[RHO], x[S], x[STEP], x[S3], x[S4] = rho, s, d, s3, s4
    return arm


@kernel
def observe(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
    """C_I += c/p_I (Algorithm 1, lines 6 to 8), with 1/p_I = ρ(D_I + s)²."""
    arm = int(x[ARM])
    v = refined(w[arm], x[STEP])
    q = v * v
    x[A], x[B], x[E] = max(x[RHO] - q, 0.0), max(x[S3] - q * v, 0.0), max(x[S4] - q * q, 0.0)
    others = smallest_other(C, arm)  # before the loss is needed: the processor can begin early
    y = (C[arm] - x[LEAST]) + x[S]
    C[arm] += total * x[RHO] * y * y
    settle(x, C, min(C[arm], others))
    x[MOVED] = (C[arm] - x[LEAST]) + x[S]


@kernel
def observe_reduced_variance(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
    """C_i += b_i for every arm, C_I += (c − b_I)/p_I, b_i = (B/2) 1[p_i ≥ (ηB)²] (Zimmert and Seldin 2021)."""
    arm = int(x[ARM])
    half = 0.5 * x[BOUND]
    threshold = 2.0 * x[BOUND] * x[RHO] * (1.0 - 1e-14)  # √p ≥ ηB  ⇔  w ≥ 2Bρ, equality included
    for i in range(C.shape[0]):
        v = refined(w[i], x[STEP])
        b = half if v >= threshold else 0.0
        C[i] += b
        if i == arm:
            C[i] += (total - b) * x[RHO] / (v * v)
    settle(x, C, smallest(C))
    x[MOVED] = 0.0


@kernel
def settle(x: Any, C: Any, least: float) -> None:
    """Take the new min C, keep s at the same x = min C − s, and keep C near zero."""
    x[S] += least - x[LEAST]
    if abs(least) > REBASE * x[S]:
        for i in range(C.shape[0]):
            C[i] -= least
        least = 0.0
    x[LEAST] = least


def probabilities(state: State) -> Array:
    """p_n of the current block."""
    p = refine(state.w, state.x[STEP]) ** 2
    return np.asarray(p / p.sum())
