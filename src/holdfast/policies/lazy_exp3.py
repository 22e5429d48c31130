"""EXP3 that draws again only now and then: lazy resampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.layouts import NonNegative, Range, Scalar, extended
from holdfast.policies.exp3 import Exp3Block, Exp3State, ExponentialWeights, observe
from holdfast.policies.policy import Kernels, WithSwitchingCost, must_be
from holdfast.rng import next_uniform
from holdfast.schedules import LONGEST
from holdfast.simplex import draw, exponential_weights

Rounds = Range(0.0, 2.0 * LONGEST, whole=True)
LazyState = extended(
    Exp3State, "LazyState", __name__, t=Annotated[Scalar, Rounds], squares=Annotated[Scalar, NonNegative]
)
"""Beside EXP3's: rounds begun, and Σ E b² over the lengths b of the blocks begun."""


class LazyParams(NamedTuple):
    """Of the coin."""

    lam: float  # λ


@kernel
def mean_length(t: float, K: float, lam: float) -> float:
    """1/ε_t = max(1, λ^{2/3}(t/K)^{1/3}): how long an arm drawn in round t is held on average."""
    return float(max(1.0, (lam * lam * t / K) ** (1.0 / 3.0)))


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """I ~ p_i ∝ exp(−η C_i), and the number of rounds until the first of probability ε that draws again."""
    state.n[0] += 1.0
    K = float(state.C.shape[0])
    mean = mean_length(state.t[0] + 1.0, K, params.lam)
    state.squares[0] += mean * (2.0 * mean - 1.0)  # E b² = (2 − ε)/ε² of a geometric length
    eta = math.sqrt(math.log(K) / (K * state.squares[0]))
    exponential_weights(state.C, state.least, eta, state.w, state.total)
    state.target[0] = next_uniform(streams, 0) * state.total[0]
    draw(state.w, state.target, state.reached, block.arm)
    u = next_uniform(streams, 0)
    rounds = 1.0
    if mean > 1.0:
        rounds = min(1.0 + math.floor(math.log(1.0 - u) / math.log1p(-1.0 / mean)), LONGEST)  # by inversion
    block.weight[0], block.total[0] = state.w[int(block.arm[0]), 0], state.total[0]
    block.probability[0] = block.weight[0] / block.total[0]
    block.rounds[0] = rounds
    state.t[0] += rounds


@dataclass(frozen=True)
class LazyExp3(WithSwitchingCost, ExponentialWeights):
    """EXP3 with lazy resampling: in each round it draws an arm anew with a small probability only, else it holds.

    An arm drawn at round t is held until a coin of probability ε_t = min(1, (K/(λ²t))^{1/3}) says to draw again, from
    EXP3's p_i ∝ exp(−η C_i); the loss of the whole stay, divided by p_I, is its estimate. So what is drawn has EXP3's
    probabilities, a stay is 1/ε_t rounds long on average, λ^{2/3}(t/K)^{1/3} as in the paper's block EXP3 with t for T,
    and no adversary can know when it ends. η_n = √(ln K/(K Σ E b²)) over the lengths b so far: EXP3's own at λ = 0.
    Anytime; regret with switching cost O((λK ln K)^{1/3}T^{2/3}) up to constants, by EXP3's analysis on random blocks.

    A reconstruction. The idea is the shrinking dartboard's (Geulen, Vöcking and Winkler, COLT 2010), which keeps an arm
    with probability w_t/w_{t−1} under full information. With bandit feedback that probability depends on the learner's
    own draws, and dividing by p is biased; a coin that depends on nothing is not. EXP3.SC (Rangi and Franceschetti,
    AISTATS 2019) tosses such a coin too, but divides each round's loss by p_t; here only draws are weighted.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.

    Examples
    --------
    >>> LazyExp3(2, switching_cost=1.0).player(seed=0).probabilities
    array([0.5, 0.5])
    """

    id: ClassVar[str] = "lazy-exp3"
    kernels = Kernels(choose, observe, LazyState, Exp3Block, params=LazyParams)  # its blocks have random lengths

    def parameters(self) -> LazyParams:
        """λ."""
        return LazyParams(self.lam)

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        super().check_saved(state, block)
        t, n, squares = state["t"], state["n"], state["squares"]
        must_be(n <= t, "t must be the rounds of n blocks")
        longest = mean_length(max(t, 1.0), self.n_arms, self.lam)
        must_be(n <= squares * (1 + 1e-9) <= 2.1 * n * longest**2 + 1e-9, "squares must be those of n lengths")
