"""Stability, penalty and switching cost matched: a learning rate that follows all three, on blocks of one length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.policy import Kernels, Policy, WithHorizon, WithSwitchingCost, must_be
from holdfast.policies.spm import SpmState, stability_and_penalty
from holdfast.schedules import exp3_block


class SpbParams(NamedTuple):
    """Of the blocks."""

    lam: float  # λ
    length: float  # B


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A block of B rounds with η = 2/β; then β += (B² z/β + λ(1 − max q))/h."""
    K, B = float(state.C.shape[0]), params.length
    if state.n[0] == 0.0:
        state.beta[0] = 8.0 * K * B
    beta = state.beta[0]
    state.n[0] += 1.0
    tsallis.draw_block(state, B, 2.0 / beta, streams, block)
    z, h, others = stability_and_penalty(state, beta)
    if h > 0.0:  # it is 0 for a single arm
        state.beta[0] = beta + (B * B * z / beta + 0.5 * params.lam * others) / h


@dataclass(frozen=True)
class StabilityPenaltyBiasMatching(WithHorizon, WithSwitchingCost, tsallis.Tsallis):
    """Blocks of one length, and a rate matched to stability, penalty and switching cost. It must know T.

    After Tsuchiya and Ito (NeurIPS 2024), who let the rate of problems of order T^{2/3} follow stability, penalty and a
    bias, each as the game shows it: partial monitoring, graph bandits, paid observations. They do not treat switching
    costs. Here the bias is what a switch is expected to cost, at most 2λ(1 − max q) for two neighbouring blocks, so
    β_{n+1} = β_n + (B² z_n/β_n + λ(1 − max q_n))/h_n with z, h and η = 2/β as in `StabilityPenaltyMatching`. Blocks
    have B = ⌈λ^{2/3}(T/K)^{1/3}⌉ rounds. This translation is ours, without a bound.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds that will be played; past it, it plays on as it is.

    Examples
    --------
    >>> player = StabilityPenaltyBiasMatching(3, switching_cost=2.0, horizon=1000).player(seed=1)
    >>> arm = player.ask()
    >>> player.hold
    12
    """

    id: ClassVar[str] = "spb-blocks"
    kernels = Kernels(choose, tsallis.observe, SpmState, tsallis.TsallisBlock, params=SpbParams)

    carried_over = Policy.carried_over  # β is that of these arms

    def parameters(self) -> SpbParams:
        """λ and B."""
        return SpbParams(self.lam, float(exp3_block(self.lam, self.horizon, self.n_arms)))

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        super().check_saved(state, block)
        must_be(not state["n"] or state["beta"] >= 8.0 * self.n_arms, "beta must be at least 8K")
