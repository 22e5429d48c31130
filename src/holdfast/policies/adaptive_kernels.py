"""What both rules of the adaptive policy share: the weights, baselines and the draw; the estimate, V and the level.

`holdfast.policies.adaptive` has the policy and its lengths of blocks, `holdfast.policies.adaptive_earlier` those of
Holdfast 0.3. Line numbers are those of the pseudo-code in ``docs/adaptive.md``.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.layouts import (
    Flag,
    NonNegative,
    PerArm,
    Positive,
    Probability,
    Range,
    Scalar,
    Scratch,
    ScratchPerArm,
    Whole,
)
from holdfast.rng import next_uniform
from holdfast.simplex import WIDEST, refined, smallest, tsallis_solve, tsallis_start

REBASE = 4096.0
"""C is moved back to a minimum of zero when the minimum exceeds so many s: p depends on differences only."""


class AdaptiveParams(NamedTuple):
    """λ, the constants, and what is computed from them once."""

    lam: float  # λ; 0 where it is announced
    varying: float  # 1 where it is announced, else 0
    longest_step_down: float
    longest_step_up: float
    floor_budget: float
    cap_budget: float
    least_noise: float
    memory: float
    deviations: float
    calm_length: float
    calm: float
    longest_length: float
    spread_weight: float
    least_spread: float
    switch_weight: float
    floor_share: float
    matched_length: float
    sqrt_k: float  # √K
    inverse_sqrt_k: float  # 1/√K
    per_two_memories: float  # 1/(2·memory)


Size = Range(0.0, WIDEST)


class AdaptiveBlock(NamedTuple):
    """A block: what its estimate and its part of V are made of."""

    arm: Scalar
    rounds: Scalar
    probability: Annotated[Scalar, Range(above=0.0, most=1.0)]
    n: Annotated[Scalar, Whole]  # its number
    root: Annotated[Scalar, Positive]  # √p_I
    R: Annotated[Scalar, Positive]  # 2/η
    m: Annotated[Scalar, NonNegative]  # m_I
    u: Annotated[Scalar, NonNegative]  # the floor u_I: less than this is not believed
    least_m: Annotated[Scalar, NonNegative]  # min m_i
    Z_own: Annotated[Scalar, NonNegative]  # the other arms' part of Z(m_I)
    Z_least: Annotated[Scalar, NonNegative]  # and of Z(min m_i)


class AdaptiveGame(NamedTuple):
    """A game, as far as both rules keep the same."""

    n: Annotated[Scalar, Whole]  # blocks begun
    begun: Annotated[Scalar, Size]  # rounds of blocks begun
    told: Annotated[Scalar, Size]  # rounds of blocks observed
    paid: Annotated[Scalar, Size]  # Λ
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
def begin(state: Any, K: int) -> None:
    """Before the first block: a level of ½, and the spread of a fair coin."""
    state.beta[0], state.spread[0], state.length[0] = 0.5, 0.25, 1.0
    for i in range(K):
        state.level[i, 0] = 0.5


@kernel
def solve(state: Any, R: float, rho: float) -> None:
    """√p_i into `root`, from the last solution, and from its corrected sums if one arm was observed since."""
    smallest(state.C, state.least)
    s, y = state.least[0] - state.x[0], state.moved[0]
    start = tsallis_start(R, rho, s, state.rest2[0], state.rest3[0], state.rest4[0], y)
    state.s[0] = start if y > 0.0 else max(s, R)
    tsallis_solve(state.C, state.least, R, rho, state.s, state.root, state.step, state.S2, state.S3, state.S4)
    if abs(state.least[0]) > REBASE * state.s[0]:
        for i in range(state.C.shape[0]):
            state.C[i, 0] -= state.least[0]
        state.least[0] = 0.0
    step = state.step[0]
    for i in range(state.C.shape[0]):
        state.root[i, 0] = R * refined(state.root[i, 0], step)


@kernel
def draw_root(root: Any, target: float) -> int:
    """The first arm at which p_1 + … + p_i exceeds `target`; at worst the last."""
    arm, reached = 0, root[0, 0] * root[0, 0]
    while reached <= target and arm < root.shape[0] - 1:
        arm += 1
        reached += root[arm, 0] * root[arm, 0]
    return arm


@kernel
def draw(params: Any, state: Any, b: float, R: float, rho: float, share: float, streams: Any, block: Any) -> float:
    """Baselines and the draw of a block of b rounds (lines 4 and 5); no floor exceeds `share`. Returns 1 − Σp²."""
    C, root, m = state.C, state.root, state.m
    K = C.shape[0]
    common = b * state.beta[0]  # a shift of all C, which p does not depend on
    top = params.deviations * math.sqrt(state.spread[0] * params.per_two_memories)
    budget, h = params.floor_budget * state.paid[0], params.longest_step_down * 0.5 * R
    beta, level, W = state.beta[0], state.level, state.W
    for i in range(K):  # apart from the sums below, so that it runs in vector registers
        v = root[i, 0]
        B = b * min(beta, level[i, 0] + top)  # B_i                                                   line 4
        m_i = min(B, h * v + min(v * v * max(budget - W[i, 0], 0.0), share))
        m[i, 0] = m_i
        C[i, 0] += m_i - common
    lowest, cubes, fourths, drift, pull, bend = common, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(K):
        v, e = root[i, 0], m[i, 0] - common
        p = v * v
        lowest = min(lowest, m[i, 0])
        cubes += p * v
        drift += p * v * e
        fourths += p * p
        pull += p * p * e
        bend += p * p * e * e
    half_eta, per_cubes = R * rho, 1.0 / cubes
    dx = drift * per_cubes  # x moves with C: Σ (C_i + e_i − x − dx)⁻² stays 1/R², to second order in e
    dx -= 1.5 * half_eta * (bend - 2.0 * dx * pull + dx * dx * fourths) * per_cubes
    state.x[0] = state.least[0] - state.s[0] + dx
    state.S3[0] -= 3.0 * rho * rho * (pull - dx * fourths)
    arm = draw_root(root, next_uniform(streams, 0))  # I_n ~ p_n                                   line 5
    state.begun[0] += b
    m_I, Z_own, Z_least = m[arm, 0], 0.0, 0.0
    for i in range(K):
        v, d, e = root[i, 0], m[i, 0] - m_I, m[i, 0] - lowest
        room = 1.0 + half_eta * v * d
        Z_own += v * v * v * d * d / room if room > 0.0 else math.inf
        Z_least += 0.0 if i == arm else v * v * v * e * e / (1.0 + half_eta * v * e)
    v = min(root[arm, 0], 1.0)
    block.arm[0], block.rounds[0], block.probability[0], block.n[0] = arm, b, v * v, state.n[0]
    block.root[0], block.R[0], block.m[0], block.u[0] = v, R, m_I, max(m_I - h * v, 0.0)
    block.least_m[0], block.Z_own[0], block.Z_least[0] = lowest, min(Z_own, LARGEST), Z_least
    state.fresh[0] = 1.0
    return max(1.0 - fourths, 0.0)


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Lines 6 to 8: the estimate with its two ledgers, V, the level."""
    arm, c, root, R = int(block.arm[0]), totals[0], block.root[0], block.R[0]
    p, m, u, half_eta = block.probability[0], block.m[0], block.u[0], 1.0 / R
    per_root, per_round = 1.0 / root, 1.0 / rounds
    inverse = per_root * per_root
    step, cap = (max(c, u) - m) * inverse, params.longest_step_up * 0.5 * R * per_root  # line 6
    if step > cap:
        G = state.paid[0] + math.sqrt(state.C.shape[0] * state.t[0])  # Λ + √(Kt)
        cut = min(step - cap, max(params.cap_budget * G - state.cut[0], 0.0) * inverse)
        state.cut[0] += p * cut
        step -= cut
    w = 1.0 / (state.C[arm, 0] - state.x[0])
    state.C[arm, 0] += step
    state.W[arm, 0] += max(u - c, 0.0) * inverse
    d = m - block.least_m[0] + step  # line 7
    Z_own = block.Z_own[0] + p * root * step * step / (1.0 + half_eta * root * step)
    Z_least = block.Z_least[0] + p * root * d * d / (1.0 + half_eta * root * d)
    z = min(Z_own, Z_least) * params.inverse_sqrt_k
    state.V[0] += max(z + 0.25 * z * z * half_eta * half_eta, params.least_noise * rounds)
    state.spread[0] += params.spread_weight * ((c - m) * (c - m) * per_round - state.spread[0])
    weight = rounds / (rounds + min(params.memory, state.told[0] + 1.0))
    state.beta[0] += weight * (c * per_round - state.beta[0])  # line 8
    state.level[arm, 0] = state.beta[0]
    state.told[0] += rounds
    state.rest2[0] = max(half_eta * half_eta - w * w, 0.0)
    state.rest3[0] = max(state.S3[0] - w * w * w, 0.0)
    state.rest4[0] = max(state.S4[0] - w * w * w * w, 0.0)
    in_order = state.fresh[0] == 1.0 and block.n[0] == state.n[0]
    state.moved[0] = max(state.C[arm, 0] - state.x[0], 0.0) if in_order else 0.0
    state.fresh[0] = 0.0
