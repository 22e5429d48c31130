"""EXP3 for losses, one round at a time or in blocks of fixed length: the paper's adversarial baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.numerics import schedules
from holdfast.numerics.layout import (
    Array,
    NonNegative,
    PerArm,
    Positive,
    Probability,
    Range,
    Scalar,
    Scratch,
    Whole,
    layout_of,
)
from holdfast.numerics.random import next_uniform
from holdfast.numerics.simplex import draw, exponential_weights, smallest
from holdfast.policies.policy import (
    RAREST,
    Kernels,
    Policy,
    WithHorizon,
    WithSwitchingCost,
    rearranged,
)

REBASE = 2.0**20
"""C is shifted back to a minimum of zero when that exceeds this: p depends on differences only."""


class Exp3State(NamedTuple):
    n: Annotated[Scalar, Whole]  # blocks begun
    C: Annotated[PerArm, Range(0.0, LARGEST)]  # cumulative loss estimates, up to a common shift
    least: Annotated[Scalar, NonNegative]  # min C
    w: Annotated[PerArm, Probability]  # exp(−η(C_i − min C)) of the last draw
    total: Scratch
    target: Scratch
    reached: Scratch


class Exp3Block(NamedTuple):
    """A block: p_I = weight/total."""

    arm: Scalar
    rounds: Scalar
    probability: Annotated[Scalar, Range(RAREST, 1.0 + 1e-9)]
    weight: Annotated[Scalar, Positive]
    total: Annotated[Scalar, Positive]


class Exp3Params(NamedTuple):
    length: float  # B


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw an arm from p_i ∝ exp(−η_n C_i) with η_n = √(ln K/(nK))/B."""
    state.n[0] += 1.0
    eta = schedules.exp3_rate(state.n[0], float(state.C.shape[0])) / params.length  # η_n = √(ln K/(nK))/B
    exponential_weights(state.C, state.least, eta, state.w, state.total)  # p_i ∝ exp(−η_n C_i)
    for g in range(state.least.shape[0]):
        state.target[g] = next_uniform(streams, g) * state.total[g]
    draw(state.w, state.target, state.reached, block.arm)  # I_n ~ p_n
    for g in range(state.least.shape[0]):
        block.weight[g], block.total[g] = state.w[int(block.arm[g]), g], state.total[g]
        block.probability[g] = block.weight[g] / block.total[g]
    block.rounds[0] = params.length


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add the estimate: C_I += c/p_I."""
    for g in range(state.least.shape[0]):
        state.C[int(block.arm[g]), g] += totals[g] * block.total[g] / block.weight[g]  # C_I += c/p_I
    smallest(state.C, state.least)
    for g in range(state.least.shape[0]):
        if state.least[g] > REBASE:
            for i in range(state.C.shape[0]):
                state.C[i, g] -= state.least[g]
            state.least[g] = 0.0


class ExponentialWeights(Policy):
    """Base of EXP3 and of EXP3 on blocks."""

    kernels = Kernels(choose, observe, Exp3State, Exp3Block, side_by_side=True, params=Exp3Params)

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        return np.asarray(state.w / state.w.sum())

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        """Correct the estimate, a sum over blocks."""
        state.C[int(block.arm[0])] += (now - was) * block.total[0] / block.weight[0]
        state.least[0] = state.C.min()
        return True

    def carried_over(self, state: Mapping[str, Any], kept: Sequence[int | None]) -> dict[str, Any]:
        """Keep the estimates. A new arm gets that of the best; a retired one is dropped."""
        after = rearranged(layout_of(Exp3State), state, kept, {"C": min(state["C"]), "w": 0.0})
        return {**after, "least": min(after["C"])}


@dataclass(frozen=True)
class Exp3(ExponentialWeights):
    """EXP3 with η_t = √(ln K/(tK)) (Bubeck and Cesa-Bianchi 2012): no horizon, no mixing, losses in [0, 1].

    Pseudo-regret at most 2√(TK ln K); switching costs are ignored.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> Exp3(2).player(seed=0).probabilities
    array([0.5, 0.5])
    """

    id = "exp3"

    def parameters(self) -> Exp3Params:
        return Exp3Params(length=1.0)


@dataclass(frozen=True)
class BlockExp3(WithHorizon, WithSwitchingCost, ExponentialWeights):
    """EXP3 on blocks of max(1, ⌈λ^{2/3}(T/K)^{1/3}⌉) rounds; it must know the horizon T.

    The paper gives the length and no rounding, rate or value at λ = 0 (errata, point 24). We round up, use
    EXP3's anytime rate in the number of blocks, divided by the length because a block's loss is larger by that factor
    (after Arora, Dekel and Tewari 2012, who feed the average), and play EXP3 itself at λ = 0.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ: what one switch costs, in `units`.
    horizon
        T, the number of rounds that will be played.

    Examples
    --------
    >>> BlockExp3(8, switching_cost=1.0, horizon=100_000).block_length
    24
    """

    id = "exp3-blocks"

    @property
    def block_length(self) -> int:
        """Rounds in each block."""
        length = schedules.exp3_block(self.lam, self.horizon, self.n_arms)
        return min(length, int(schedules.LONGEST))

    def parameters(self) -> Exp3Params:
        return Exp3Params(float(self.block_length))
