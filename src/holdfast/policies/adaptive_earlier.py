"""The blocks of Holdfast 0.3: never shorter than the paper's. Players that it saved go on with them.

With λ > 0 the cost of this rule grows with a power of T between ½ and 1 even where losses are independent, and the
paper's policy overtakes it in the end; ``docs/research.md`` has the measurements.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.layouts import (
    Probability,
    Scalar,
    extended,
)
from holdfast.policies.adaptive_kernels import (
    AdaptiveBlock,
    AdaptiveGame,
    AdaptiveParams,
    Size,
    begin,
    draw,
    observe,
    solve,
)
from holdfast.policies.policy import Kernels

EarlierState = extended(
    AdaptiveGame,
    "EarlierState",
    __name__,
    a_sum=Annotated[Scalar, Size],  # Σ (λ_s + √(K/s)) of Theorem 4, where λ is announced; Λ = Σ λ_s
    undecided=Annotated[Scalar, Probability],  # 1 − Σp²: the chance that the next block is a switch
)
"""Beside what both rules keep."""


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
