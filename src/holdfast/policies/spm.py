"""Stability-penalty matching: a learning rate that follows the probabilities, on the blocks of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.layouts import Range, Scalar, extended
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.policy import Kernels, Policy, WithSwitchingCost, must_be
from holdfast.simplex import refined

SpmState = extended(tsallis.TsallisState, "SpmState", __name__, beta=Annotated[Scalar, Range(8.0, LARGEST**2)])
"""Beside Algorithm 1's: β of the next block."""


class SpmParams(NamedTuple):
    """Of the blocks."""

    lam: float  # λ


@kernel
def stability_and_penalty(state: Any, beta: float) -> tuple[float, float, float]:
    """z/2, h/2 and 1 − max q of the last draw: z = 2 Σ √min(q_i, 1 − max q), h = 2 Σ (√q_i − q_i), √q_i = βw_i."""
    K, best = state.w.shape[0], 0
    for i in range(1, K):
        best = i if state.w[i, 0] > state.w[best, 0] else best
    others = 0.0  # 1 − max q, without cancellation
    for i in range(K):
        root = beta * refined(state.w[i, 0], state.step[0])
        others += root * root if i != best else 0.0
    z, h = 0.0, 0.0
    for i in range(K):
        root = beta * refined(state.w[i, 0], state.step[0])
        z += min(root, math.sqrt(others))
        h += root * (others / (1.0 + root) if i == best else 1.0 - root)
    return z, h, others


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A block of Theorem 1's length with η = 2/β; then β += |B|² z/(β h)."""
    K, n = float(state.C.shape[0]), state.n[0] + 1.0
    rounds = schedules.whole_rounds(schedules.theorem_1_length(n, K, params.lam))
    if n == 1.0:
        state.beta[0] = 8.0 * K * rounds
    beta = state.beta[0]
    state.n[0] = n
    tsallis.draw_block(state, rounds, 2.0 / beta, streams, block)
    z, h, _ = stability_and_penalty(state, beta)
    state.beta[0] = beta + rounds * rounds * (z / h if h > 0.0 else 0.0) / beta  # h = 0: a single arm


@dataclass(frozen=True)
class StabilityPenaltyMatching(WithSwitchingCost, tsallis.Tsallis):
    """Algorithm 1 of the paper on Theorem 1's blocks, with a learning rate matched to stability and penalty.

    Ito, Tsuchiya and Honda (COLT 2024) let β_{t+1} = β_t + z_t/(β_t h_t), where z_t/β_t bounds what round t costs in
    stability and h_t is the entropy that a larger β would be paid in: with the ½-Tsallis entropy z = 2 Σ √q̃_i,
    q̃_i = min(q_i, 1 − max q), h = 2 Σ (√q_i − q_i), and η = 2/β here. Where q̃ is small beside q, β grows more slowly
    than √t. Tsuchiya and Ito (NeurIPS 2024) do the same for problems of order T^{2/3}: `StabilityPenaltyBiasMatching`.

    Neither treats switching costs. On blocks we multiply z by |B_n|², since a block loses up to |B_n|: ours, without a
    bound. β_1 = 8K|B_1|, 4K/(1 − α) with α = ½ as in the paper of 2024, in units of a block.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.

    Examples
    --------
    >>> player = StabilityPenaltyMatching(3, switching_cost=2.0).player(seed=1)
    >>> arm = player.ask()
    >>> player.hold
    2
    """

    id: ClassVar[str] = "spm"
    kernels = Kernels(choose, tsallis.observe, SpmState, tsallis.TsallisBlock, params=SpmParams)

    carried_over = Policy.carried_over  # β is that of these arms

    def parameters(self) -> SpmParams:
        """λ."""
        return SpmParams(self.lam)

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        super().check_saved(state, block)
        must_be(not state["n"] or state["beta"] >= 8.0 * self.n_arms, "beta must be at least 8K")
