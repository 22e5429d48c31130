"""The blocks of Holdfast 0.3: never shorter than the paper's. Players that it saved go on with them.

With λ > 0 the cost of this rule grows with a power of T between ½ and 1 even where losses are independent, and the
paper's policy overtakes it in the end; ``docs/research.md`` has the measurements.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.layouts import Flag, NonNegative, PerArm, Probability, Range, Scalar, Scratch, ScratchPerArm, Whole
from holdfast.policies.adaptive_kernels import AdaptiveBlock, AdaptiveParams, Size, begin, draw, observe, solve
from holdfast.policies.policy import Kernels
from holdfast.simplex import WIDEST


class EarlierState(NamedTuple):
    """A game."""

    n: Annotated[Scalar, Whole]  # blocks begun
    begun: Annotated[Scalar, Size]  # rounds of blocks begun
    told: Annotated[Scalar, Size]  # rounds of blocks observed
    paid: Annotated[Scalar, Size]  # Λ = Σ λ_s: what a switch at every block would have cost
    a_sum: Annotated[Scalar, Size]  # Σ (λ_s + √(K/s)) of Theorem 4, where λ is announced
    t: Annotated[Scalar, Size]  # rounds of blocks begun before the last one
    length: Annotated[Scalar, Size]  # the block length before rounding
    V: Annotated[Scalar, Size]  # the stability seen so far
    V_most: Annotated[Scalar, Range(above=0.0, most=WIDEST)]  # V̄ = 4/η²
    beta: Annotated[Scalar, Probability]  # the level of losses, per round
    spread: Annotated[Scalar, Size]  # v: the variance of a round's loss around the level
    x: Annotated[Scalar, Range(-WIDEST, WIDEST)]  # where the last solution was, moved along with C since
    S3: Scalar  # Σ w³ and Σ w⁴ of the last solution, S3 moved along with C: to first order, so it may be below 0
    S4: Annotated[Scalar, Size]
    rest2: Annotated[Scalar, Size]  # Σ w², Σ w³, Σ w⁴ without the arm that was observed last
    rest3: Annotated[Scalar, Size]
    rest4: Annotated[Scalar, Size]
    moved: Annotated[Scalar, Size]  # C_I − x of that arm; 0 where the sums are of no use
    fresh: Annotated[Scalar, Flag]  # whether nothing was observed since the last draw
    undecided: Annotated[Scalar, Probability]  # 1 − Σp²: the chance that the next block is a switch
    cut: Annotated[Scalar, Size]  # O: what the longest step has cut off
    C: Annotated[PerArm, Range(-WIDEST, WIDEST)]  # cumulative loss estimates, up to a common shift
    level: Annotated[PerArm, Probability]  # the level when the arm was observed last
    W: Annotated[PerArm, NonNegative]  # what the arm's floors may have cost
    root: Annotated[PerArm, Range(above=0.0, most=1.0 + 1e-9)]  # √p_i of the last draw
    m: ScratchPerArm  # baselines of the block being drawn
    least: Scratch
    s: Scratch
    step: Scratch
    S2: Scratch


@kernel
def next_length(params: Any, state: Any, K: float, lam: float) -> float:
    """b_n in Holdfast 0.3: the paper's length, or longer while totals are calm."""
    n, root_K = state.n[0], params.sqrt_k
    if params.varying > 0.0:
        state.a_sum[0] += schedules.theorem_4_increment(n, K, lam)
        a = schedules.theorem_4_length(K, lam, state.a_sum[0])
    else:
        a = schedules.theorem_1_length(n, K, lam)
    shortest = schedules.whole_rounds(a)
    limit = params.calm * state.paid[0]
    if K * state.V[0] > limit * limit:
        state.length[0] = max(a, 1.0)
        return shortest
    # b² is what it was times the marginal switching cost over the marginal regret. V̄ is still that of the last block,
    # so that nothing here waits for the loss but the choice above.
    square = state.length[0] * (2.0 * lam * state.undecided[0]) / (root_K * max(state.spread[0], params.least_spread))
    length = math.sqrt(square * math.sqrt(state.V_most[0]))
    length = max(min(length, 2.0 * state.length[0] + 1.0), params.calm_length * a)
    length = max(min(length, params.longest_length * state.paid[0] / root_K), max(a, 1.0))
    state.length[0] = length
    rounds: float = max(shortest, math.floor(length) * 1.0)
    return rounds


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Length, rate, weights, baselines, the draw."""
    K = state.C.shape[0]
    if state.n[0] == 0.0:
        begin(state, K)
        state.undecided[0] = 1.0 - 1.0 / K
    lam = announced if params.varying > 0.0 else params.lam
    state.n[0] += 1.0
    state.paid[0] += lam
    state.t[0] = state.begun[0]
    b = next_length(params, state, float(K), lam)
    state.V_most[0] = max(state.V_most[0], state.V[0] + b)
    R, rho = math.sqrt(state.V_most[0]), 1.0 / state.V_most[0]  # 2/η, η²/4
    solve(state, R, rho)
    state.undecided[0] = draw(params, state, b, R, rho, LARGEST, streams, block)


KERNELS = Kernels(choose, observe, EarlierState, AdaptiveBlock, params=AdaptiveParams)
