"""Algorithm 1 of the paper: follow the regularised leader with the ½-Tsallis regulariser, on blocks.

One pair of kernels plays Tsallis-Switch, its varying-cost version and Tsallis-INF, and another pair the same with the
estimator of reduced variance: they differ in the schedule of block lengths and learning rates. They play any number of
games abreast, because no schedule depends on what is drawn.

A block may be observed at any time after its draw: all that its estimate needs is in it. Where it is observed before
anything else happens, as in a simulation, the next solution starts from the sums of this one, corrected in O(1);
otherwise from its s alone, which takes a pass or two more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.layouts import Array, PerArm, Scalar, Scratch, layout_of
from holdfast.policies.policy import Kernels, must_be, rearranged
from holdfast.rng import uniform_abreast
from holdfast.simplex import (
    WIDEST,
    draw_squares,
    refine,
    refined,
    smallest,
    smallest_other,
    tsallis_solve,
    tsallis_start,
)

THEOREM_1, THEOREM_4, COROLLARY_3, THEOREM_2, GIVEN = range(5)
"""Where block lengths and learning rates come from."""

SCHEDULE, LAMBDA, RANGE, RATE_FACTOR, LENGTH, TABLE = range(6)
"""Places in `params`; a GIVEN schedule has `LENGTH` block lengths from `TABLE` on, then as many rates."""


class TsallisState(NamedTuple):
    """A game: everything between two blocks."""

    n: Scalar  # blocks begun
    C: PerArm  # cumulative loss estimates, up to a common shift
    least: Scalar  # min C
    s: Scalar  # min C − x of the last solution
    sum: Scalar  # a_n of Theorem 4, Σ b_t² of Theorem 2
    S3: Scalar  # Σ w³ and Σ w⁴ of the last solution
    S4: Scalar
    rest2: Scalar  # Σ w², Σ w³, Σ w⁴ without the arm that was observed last
    rest3: Scalar
    rest4: Scalar
    moved: Scalar  # D + s of that arm; 0 where the sums are of no use
    fresh: Scalar  # whether C is as the last draw left it
    w: PerArm  # √ρ √p_i of the last draw, up to `step`
    step: Scalar  # the solver's last step, over which w is refined
    S2: Scratch
    target: Scratch


class TsallisBlock(NamedTuple):
    """A block: what its estimate is made of."""

    arm: Scalar
    rounds: Scalar
    probability: Scalar
    n: Scalar  # its number
    rho: Scalar  # ρ = η²/4
    y: Scalar  # C_I − min C + s: 1/p_I = ρy²
    v: Scalar  # √ρ √p_I
    baseline: Scalar  # reduced variance: b_I, which C_I has got at the draw
    before: Scalar  # and C_I before that


REBASE = 4096.0
"""C is moved back to a minimum of zero when the minimum exceeds so many s: p depends on differences only."""


@kernel
def next_block(params: Any, state: Any, K: float, announced: float) -> tuple[float, float, float]:
    """|B_n|, η_n and the range of the loss of the block that begins."""
    n = state.n[0]
    schedule = params[SCHEDULE]
    if schedule == THEOREM_1:
        a = schedules.theorem_1_length(n, K, params[LAMBDA])
        rounds = schedules.whole_rounds(a)
        return rounds, params[RATE_FACTOR] * schedules.theorem_1_rate(n, a), rounds
    if schedule == THEOREM_4:
        state.sum[0] += schedules.theorem_4_increment(n, K, announced)  # a_n
        rounds = schedules.whole_rounds(schedules.theorem_4_length(K, announced, state.sum[0]))
        return rounds, params[RATE_FACTOR] * schedules.theorem_4_rate(K, state.sum[0]), rounds
    if schedule == COROLLARY_3:
        return 1.0, params[RATE_FACTOR] * schedules.corollary_3_rate(n, params[RANGE]), params[RANGE]
    if schedule == THEOREM_2:
        state.sum[0] += announced * announced  # Σ b_s²
        return 1.0, params[RATE_FACTOR] * schedules.theorem_2_rate(state.sum[0]), announced
    count = int(params[LENGTH])
    row = TABLE + min(int(n), count) - 1
    return params[row], params[row + count], params[row]


@kernel
def draw_block(params: Any, state: Any, announced: float, streams: Any, block: Any) -> float:
    """p_n, and I_n drawn from it (Algorithm 1, lines 4 and 5); returns the range of the block's loss."""
    state.n[0] += 1.0
    rounds, eta, bound = next_block(params, state, float(state.C.shape[0]), announced)
    r, rho = 2.0 / eta, 0.25 * eta * eta
    for g in range(state.s.shape[0]):
        s, y = state.s[g], state.moved[g]
        start = tsallis_start(r, rho, s, state.rest2[g], state.rest3[g], state.rest4[g], y)
        state.s[g] = start if y > 0.0 else max(s, r)
    C, w = state.C, state.w
    tsallis_solve(C, state.least, r, rho, state.s, w, state.step, state.S2, state.S3, state.S4)  # p_i = (r w_i)²
    for g in range(state.s.shape[0]):
        state.target[g] = uniform_abreast(streams, g) * rho
    draw_squares(w, state.step, rho, state.target, state.S2, block.arm)
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        v = refined(w[arm, g], state.step[g])
        block.v[g] = v
        block.y[g] = (C[arm, g] - state.least[g]) + state.s[g]
        block.probability[g] = r * r * v * v
    block.rounds[0], block.rho[0], block.n[0], state.fresh[0] = rounds, rho, state.n[0], 1.0
    return bound


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A block whose loss will be weighted by 1/p_I."""
    draw_block(params, state, announced, streams, block)


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """C_I += c/p_I (Algorithm 1, lines 6 to 8), with 1/p_I = ρ(D_I + s)²."""
    rho, C = block.rho[0], state.C
    in_order = state.fresh[0] == 1.0 and block.n[0] == state.n[0]
    smallest_other(C, block.arm, state.S2)  # before the loss is needed: the processor can begin early
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        v, y = block.v[g], block.y[g]
        q = v * v
        state.rest2[g] = max(rho - q, 0.0)
        state.rest3[g] = max(state.S3[g] - q * v, 0.0)
        state.rest4[g] = max(state.S4[g] - q * q, 0.0)
        state.moved[g] = C[arm, g] + totals[g] * rho * y * y
        state.S2[g] = min(state.moved[g], state.S2[g])
    for g in range(state.s.shape[0]):
        C[int(block.arm[g]), g] = state.moved[g]
    settle(state, state.S2)
    for g in range(state.s.shape[0]):
        state.moved[g] = (C[int(block.arm[g]), g] - state.least[g]) + state.s[g] if in_order else 0.0
    state.fresh[0] = 0.0


@kernel
def choose_reduced_variance(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A block around a baseline: C_i += b_i = (B/2) 1[p_i ≥ (ηB)²] for every arm (Zimmert and Seldin 2021)."""
    if state.fresh[0] == 1.0:  # a block before this one is still out, and min C not yet that of its baselines
        smallest(state.C, state.S2)
        settle(state, state.S2)
    bound = draw_block(params, state, announced, streams, block)
    rho, half, C = block.rho[0], 0.5 * bound, state.C
    threshold = 2.0 * bound * rho * (1.0 - 1e-14)  # √p ≥ ηB  ⇔  w ≥ 2Bρ, equality included
    for g in range(state.s.shape[0]):
        block.before[g] = C[int(block.arm[g]), g]
    for i in range(C.shape[0]):
        for g in range(state.s.shape[0]):
            b = half if refined(state.w[i, g], state.step[g]) >= threshold else 0.0
            C[i, g] += b
            block.baseline[g] = b if i == block.arm[g] else block.baseline[g]


@kernel
def observe_reduced_variance(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """C_I += (c − b_I)/p_I."""
    rho, C = block.rho[0], state.C
    in_order = state.fresh[0] == 1.0 and block.n[0] == state.n[0]
    for g in range(state.s.shape[0]):
        arm = int(block.arm[g])
        weighted = (totals[g] - block.baseline[g]) * rho / (block.v[g] * block.v[g])
        once = block.before[g] + (block.baseline[g] + weighted)  # one rounding instead of two, where it is possible
        C[arm, g] = once if in_order else C[arm, g] + weighted
    smallest(C, state.S2)
    settle(state, state.S2)
    for g in range(state.s.shape[0]):
        state.moved[g] = 0.0
    state.fresh[0] = 0.0


@kernel
def settle(state: Any, least: Any) -> None:
    """Take the new min C, keep s at the same x = min C − s, and keep C near zero."""
    far = 0
    for g in range(state.s.shape[0]):
        state.s[g] += least[g] - state.least[g]
        state.least[g] = least[g]
        far += int(abs(state.least[g]) > REBASE * state.s[g])
    if far > 0:
        for g in range(state.s.shape[0]):
            if abs(state.least[g]) > REBASE * state.s[g]:
                for i in range(state.C.shape[0]):
                    state.C[i, g] -= state.least[g]
                state.least[g] = 0.0


IMPORTANCE_WEIGHTED = Kernels(choose, observe, TsallisState, TsallisBlock, abreast=True)
REDUCED_VARIANCE = Kernels(choose_reduced_variance, observe_reduced_variance, TsallisState, TsallisBlock, abreast=True)

ESTIMATORS = {"importance-weighted": IMPORTANCE_WEIGHTED, "reduced-variance": REDUCED_VARIANCE}
"""How the loss of an arm is estimated from that of the arm played, by name."""

FASTER = {"importance-weighted": 1.0, "reduced-variance": 2.0}
"""The factor of each estimator's learning rate (Zimmert and Seldin 2021)."""


def probabilities(state: TsallisState) -> Array:
    """p_n of the last draw."""
    p = refine(state.w, float(state.step[0])) ** 2
    return np.asarray(p / p.sum())


def carried_over(state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
    """The state for other arms or other rates. A new arm has the estimate of the best: it is as likely to be drawn.

    Nothing but the estimates is needed: the next solution starts from s alone, as after a block observed late.
    """
    new = {"C": min(state["C"]), "w": 1e-200}  # w² = 0: it was not in the last draw
    after = rearranged(layout_of(TsallisState), state, kept, new)
    least = min(after["C"])
    begun = state["n"] > 0
    s = max(state["s"] + (least - state["least"]), 1e-100) if begun else state["s"]
    return {**after, "least": least, "s": s, "moved": 0.0, "fresh": 0.0}


def check_saved(state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
    """An error for numbers that the solver could not start from."""
    C, w = np.array(state["C"]), np.array(state["w"])
    must_be(state["fresh"] in (0.0, 1.0), "fresh must be 0 or 1")
    for name in ("sum", "S3", "S4", "rest2", "rest3", "rest4", "moved"):
        must_be(state[name] >= 0.0, f"{name} must not be negative")
    if state["n"] > 0:
        must_be(0.0 < state["s"] < WIDEST, "s must be positive")
        must_be(bool((w > 0.0).all()) and w.max() < WIDEST, "w must be positive")
        must_be(abs(state["step"]) * w.max() < 1e-3, "step must be small")
    near = 1e-9 * max(1.0, float(np.abs(C).max()), state["s"])
    must_be(float(np.ptp(C)) <= WIDEST * max(state["s"], 1e-300), "C must not spread so far")
    must_be(state["fresh"] == 1.0 or abs(state["least"] - C.min()) <= near, "least must be the minimum of C")
    if block is not None:
        must_be(0 <= block["n"] <= state["n"] and block["n"] == int(block["n"]), "a block must have begun")
        must_be(0.0 < block["rho"] < WIDEST and block["y"] > 0.0 and block["v"] > 0.0, "rho, y and v must be positive")
        must_be(abs(block["rho"] * block["y"] ** 2 * block["probability"] - 1.0) < 1e-6, "1/p must be rho y²")
