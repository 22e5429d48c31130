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
from holdfast.simplex import draw_squares, smallest, tsallis_solve, tsallis_start

THEOREM_1, THEOREM_4, COROLLARY_3, THEOREM_2, GIVEN = range(5)
"""Where block lengths and learning rates come from."""

SCHEDULE, LAMBDA, RANGE, RATE_FACTOR, LENGTH, TABLE = range(6)
"""Places in `params`; a GIVEN schedule has `LENGTH` block lengths from `TABLE` on, then as many rates."""

R, S, LEAST, S3, S4, MOVED_FROM, MOVED_TO, SUM, BOUND = range(OWN, OWN + 9)
"""Places in `x`: R = 2/η, s, min C, the sums of the solver, what the last block moved, a running sum, b_t."""

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
    r = 2.0 / eta
    if x[MOVED_TO] > 0.0:
        s = tsallis_start(r, x[S], x[R], x[S3], x[S4], x[MOVED_FROM], x[MOVED_TO])
    else:
        s = max(x[S], r)
    s, s3, s4, _ = tsallis_solve(C, x[LEAST], r, s, w)  # p_i = (r w_i)²
    arm = draw_squares(w, uniform(stream) / (r * r))
    x[ROUNDS], x[ARM] = rounds, arm
    x[R], x[S], x[S3], x[S4] = r, s, s3, s4
    return arm


@kernel
def observe(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
    """C_I += c/p_I (Algorithm 1, lines 6 to 8)."""
    arm = int(x[ARM])
    v = w[arm]
    root = x[R] * v  # √p_I
    C[arm] += total / (root * root)
    settle(x, C)
    x[MOVED_FROM] = v
    x[MOVED_TO] = 1.0 / ((C[arm] - x[LEAST]) + x[S])


@kernel
def observe_reduced_variance(params: Any, x: Any, C: Any, w: Any, total: float, rounds: float) -> None:
    """C_i += b_i for every arm, C_I += (c − b_I)/p_I, b_i = (B/2) 1[p_i ≥ (ηB)²] (Zimmert and Seldin 2021, eq. 8)."""
    arm = int(x[ARM])
    r = x[R]
    half = 0.5 * x[BOUND]
    threshold = 2.0 * x[BOUND] / (r * r) * (1.0 - 1e-14)  # √p ≥ ηB  ⇔  w ≥ ηB/R = 2B/R², equality included
    for i in range(C.shape[0]):
        b = half if w[i] >= threshold else 0.0
        C[i] += b
        if i == arm:
            root = r * w[i]
            C[i] += (total - b) / (root * root)
    settle(x, C)
    x[MOVED_TO] = 0.0


@kernel
def settle(x: Any, C: Any) -> None:
    """Find the new min C, keep s at the same x = min C − s, and keep C near zero."""
    least = smallest(C)
    x[S] += least - x[LEAST]
    if abs(least) > REBASE * x[S]:
        for i in range(C.shape[0]):
            C[i] -= least
        least = 0.0
    x[LEAST] = least


def probabilities(state: State) -> Array:
    """p_n of the current block."""
    p = (state.x[R] * state.w) ** 2
    return np.asarray(p / p.sum())
