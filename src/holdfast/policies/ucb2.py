"""UCB2: UCB in epochs that grow with each choice of an arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real
from holdfast.layouts import PerArm, Whole, extended
from holdfast.policies.averages import UNTOLD, AverageState, Averaging, begin, observe
from holdfast.policies.policy import Kernels, PlainBlock, must_be
from holdfast.schedules import LONGEST, whole_rounds

EpochState = extended(AverageState, "EpochState", __name__, r=Annotated[PerArm, Whole], tau=Annotated[PerArm, Whole])
"""Beside the averages: epochs r_i of each arm, and τ(r_i), the rounds they have together; 0 before the first."""


class EpochParams(NamedTuple):
    """Of the epochs."""

    alpha: float  # α


@kernel
def epoch(params: Any, state: Any, arm: int) -> float:
    """Begin the next epoch of `arm`; its rounds τ(r+1) − τ(r) with τ(r) = ⌈(1 + α)^r⌉, epochs without any passed over.

    The first epoch of an arm has τ(0) = 1 round, and so has every one after the longest that can be counted.
    """
    before, after = state.tau[arm, 0], 1.0
    power = (1.0 + params.alpha) ** state.r[arm, 0]
    while before > 0.0 and after <= before and power < LONGEST:
        state.r[arm, 0] += 1.0
        power = (1.0 + params.alpha) ** state.r[arm, 0]
        after = whole_rounds(power)
    state.tau[arm, 0] = max(after, before)
    return float(max(after - before, 1.0))


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Each arm once, then the arm of the least x̄_i − √((1 + α) ln(e t/τ_i)/(2 τ_i)); of several, the first."""
    state.n[0] += 1.0
    K = state.C.shape[0]
    arm = int(state.n[0]) - 1
    if arm >= K:
        t = 0.0
        for i in range(K):
            t += state.tau[i, 0]
        arm, least = 0, math.inf
        for i in range(K):
            tau, N = state.tau[i, 0], state.N[i, 0]
            bonus = math.sqrt((1.0 + params.alpha) * (1.0 + math.log(t / tau)) / (2.0 * tau))
            value = state.C[i, 0] / N - bonus if N > 0.0 else UNTOLD
            if value < least:
                arm, least = i, value
    begin(state, block, arm, epoch(params, state, arm), 1.0)


@dataclass(frozen=True)
class InEpochs(Averaging):
    """What UCB2 has in common with Thompson sampling in the same epochs."""

    alpha: float = field(default=0.1, kw_only=True, metadata=real(least=1e-6, most=1.0))
    """α in τ(r) = ⌈(1 + α)^r⌉."""

    def parameters(self) -> EpochParams:
        """α."""
        return EpochParams(self.alpha)

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        super().check_saved(state, block)
        tau, r = np.array(state["tau"]), np.array(state["r"])
        most = math.log(LONGEST) / math.log1p(self.alpha) + 1.0
        must_be(bool((r <= most).all()), f"r must be at most {most:g}")
        sizes = np.array([whole_rounds((1.0 + self.alpha) ** epochs) for epochs in r])
        must_be(bool(((tau == sizes) | ((tau == 0.0) & (r == 0.0))).all()), "tau must be τ(r), or 0")
        begun = int((tau > 0.0).sum())
        must_be(begun >= min(state["n"], 1) and tau.sum() <= LONGEST, "tau must be the rounds of each arm")


@dataclass(frozen=True)
class Ucb2(InEpochs):
    """UCB2 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002) for losses.

    Plays each arm once, then in epochs: the arm with the least mean loss − √((1 + α) ln(e t/τ(r_i))/(2τ(r_i))) is held
    for τ(r_i + 1) − τ(r_i) rounds, τ(r) = ⌈(1 + α)^r⌉, and r_i grows by one. For independent losses the regret is
    O(ln T Σ 1/Δ_i) and an arm has O(log T) epochs: few switches without knowing their cost. Epochs without a round
    (τ(r + 1) = τ(r)) are passed over. A loss that comes late counts when it comes.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    alpha
        α, from 0 to 1. The paper's experiments use 0.001, which plays rounds one by one at first; 0.1 here, for few
        switches.

    Examples
    --------
    >>> Ucb2(3).player(seed=1).ask()
    0
    """

    id: ClassVar[str] = "ucb2"
    kernels = Kernels(choose, observe, EpochState, PlainBlock, params=EpochParams)
    deterministic: ClassVar[bool] = True
