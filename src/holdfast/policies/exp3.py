"""EXP3 for losses, one round at a time or in blocks of fixed length: the paper's adversarial baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from holdfast import schedules
from holdfast._numba.compile import kernel
from holdfast.checks import real_number, whole_number
from holdfast.policies.protocol import ARM, BLOCK, OWN, ROUNDS, Array, Policy, State, alone, must_be_given
from holdfast.rng import uniform_abreast
from holdfast.simplex import draw, exponential_weights, smallest

LENGTH = 0
LEAST, TOTAL, TARGET, REACHED = range(OWN, OWN + 4)
"""Places in `x`: min C, the sum of the weights, where the draw ends and how far it has come."""

REBASE = 2.0**20
"""C is moved back to a minimum of zero when the minimum exceeds this: p depends on differences only."""


@kernel
def choose_abreast(params: Any, x: Any, C: Any, w: Any, announced: float, streams: Any) -> None:
    """p_i ∝ exp(−η_n C_i) with η_n = √(ln K/(nK))/B, and an arm drawn from it."""
    x[BLOCK, 0] += 1.0
    eta = schedules.exp3_rate(x[BLOCK, 0], float(C.shape[0])) / params[LENGTH]
    exponential_weights(C, x[LEAST], eta, w, x[TOTAL])
    for g in range(x.shape[1]):
        x[TARGET, g] = uniform_abreast(streams, g) * x[TOTAL, g]
    draw(w, x[TARGET], x[REACHED], x[ARM])
    x[ROUNDS, 0] = params[LENGTH]


@kernel
def observe_abreast(params: Any, x: Any, C: Any, w: Any, totals: Any, rounds: float) -> None:
    """C_I += c/p_I."""
    for g in range(x.shape[1]):
        arm = int(x[ARM, g])
        C[arm, g] += totals[g] * x[TOTAL, g] / w[arm, g]
    smallest(C, x[LEAST])
    for g in range(x.shape[1]):
        if x[LEAST, g] > REBASE:
            for i in range(C.shape[0]):
                C[i, g] -= x[LEAST, g]
            x[LEAST, g] = 0.0


choose, observe = alone(choose_abreast, observe_abreast)


def probabilities(state: State) -> Array:
    """p of the current block."""
    p = np.copy(state.w)
    return np.asarray(p / p.sum())


@dataclass(frozen=True)
class Exp3(Policy):
    """EXP3 with η_t = √(ln K/(tK)) (Bubeck and Cesa-Bianchi 2012): no horizon, no mixing, losses in [0, 1].

    Pseudo-regret at most 2√(TK ln K); switching costs are ignored.

    >>> Exp3(2).player(seed=0).probabilities
    array([0.5, 0.5])
    """

    id: ClassVar[str] = "exp3"
    choose: ClassVar[Callable[..., Any]] = staticmethod(choose)
    observe: ClassVar[Callable[..., Any]] = staticmethod(observe)

    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """As the kernels take them."""
        return np.array([1.0])

    def probabilities(self, params: Array, state: State) -> Array:
        """p of the current round."""
        return probabilities(state)


@dataclass(frozen=True)
class BlockExp3(Policy):
    """EXP3 on blocks of max(1, ⌈λ^{2/3}(T/K)^{1/3}⌉) rounds; it must know the horizon T.

    The paper gives the length and no rounding, rate or value at λ = 0 (errata, point 24). We round up, use
    EXP3's anytime rate in the number of blocks, divided by the length because a block's loss is so much larger
    (after Arora, Dekel and Tewari 2012, who feed the average), and play EXP3 itself at λ = 0.
    """

    id: ClassVar[str] = "exp3-blocks"
    choose: ClassVar[Callable[..., Any]] = staticmethod(choose)
    observe: ClassVar[Callable[..., Any]] = staticmethod(observe)

    switching_cost: float = None  # type: ignore[assignment]
    """λ, in the units of `loss_range`."""
    horizon: int = None  # type: ignore[assignment]
    """T, the number of rounds that will be played."""

    def __post_init__(self) -> None:
        super().__post_init__()
        must_be_given(self, "switching_cost", "horizon")
        self._set("switching_cost", real_number("switching_cost", self.switching_cost, least=0))
        self._set("horizon", whole_number("horizon", self.horizon, least=1))

    @property
    def block_length(self) -> int:
        """Rounds in each block."""
        return schedules.exp3_block(self.switching_cost / self.unit, self.horizon, self.n_arms)

    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """As the kernels take them."""
        return np.array([float(self.block_length)])

    def probabilities(self, params: Array, state: State) -> Array:
        """p of the current block."""
        return probabilities(state)
