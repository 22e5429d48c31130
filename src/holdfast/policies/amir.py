"""Amir et al.: Tsallis-INF until its switches have cost too much, then on blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.layouts import Range, Scalar, Whole, extended
from holdfast.policies import tsallis_kernels as tsallis
from holdfast.policies.policy import Kernels, Policy, WithHorizon, WithSwitchingCost, must_be
from holdfast.schedules import LONGEST, whole_rounds

FIRST = 1024.0
"""The first horizon that is supposed when none is known."""

Rounds, Begun = Range(0.0, 2.0 * LONGEST, whole=True), Range(1.0, 2.0 * LONGEST, whole=True)

AmirState = extended(
    tsallis.TsallisState,
    "AmirState",
    __name__,
    t=Annotated[Scalar, Rounds],  # rounds begun
    span=Annotated[Scalar, Begun],  # T, or what is supposed of it
    end=Annotated[Scalar, Rounds],  # the round by which the next is supposed
    length=Annotated[Scalar, Begun],  # rounds of a block: 1 in the first phase, B in the second
    switches=Annotated[Scalar, Whole],  # since this T was supposed
    last=Annotated[Scalar, Range(1.0, whole=True, arms=0)],  # one more than the arm of the last block
    phase=Annotated[Scalar, Begun],  # phases begun
    m=Annotated[Scalar, Begun],  # blocks begun in this phase
)
AmirBlock = extended(tsallis.TsallisBlock, "AmirBlock", __name__, phase=Scalar)


class AmirParams(NamedTuple):
    """Of the two phases."""

    lam: float  # λ
    horizon: float  # T; 0 stands for one that doubles


@kernel
def begin_phase(state: Any, length: float) -> None:
    """Blocks of another length, and nothing learnt."""
    state.phase[0] += 1.0
    state.m[0], state.length[0] = 0.0, length
    for i in range(state.C.shape[0]):
        state.C[i, 0] = 0.0
    state.least[0], state.s[0], state.moved[0], state.fresh[0] = 0.0, 0.0, 0.0, 0.0


@kernel
def begin_span(params: Any, state: Any) -> None:
    """Suppose the horizon, or twice the last one, and begin with single rounds."""
    known = params.horizon > 0.0
    doubled = min(max(2.0 * state.span[0], FIRST), LONGEST)
    state.span[0] = params.horizon if known else doubled
    state.end[0] = LONGEST if known else state.t[0] + doubled
    state.switches[0] = 0.0
    begin_phase(state, 1.0)


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A block of Tsallis-INF: of one round while the switches cost less than (λK)^{1/3}T^{2/3}, then of B."""
    K, lam = float(state.C.shape[0]), params.lam
    if state.span[0] == 0.0 or state.t[0] >= state.end[0]:
        begin_span(params, state)
    T = state.span[0]
    B = whole_rounds((lam * lam * T / K) ** (1.0 / 3.0))
    if state.length[0] == 1.0 and B > 1.0 and lam * state.switches[0] >= (lam * K * T * T) ** (1.0 / 3.0):
        begin_phase(state, B)
    state.m[0] += 1.0
    length = state.length[0]
    rounds = max(min(length, state.end[0] - state.t[0]), 1.0)
    state.n[0] += 1.0
    tsallis.draw_block(state, rounds, 2.0 / (length * math.sqrt(state.m[0])), streams, block)
    block.phase[0] = state.phase[0]
    state.t[0] += rounds
    state.switches[0] += 1.0 if state.last[0] != block.arm[0] + 1.0 else 0.0
    state.last[0] = block.arm[0] + 1.0


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """As Tsallis-INF; a loss that comes when its phase is over is of no more use."""
    if block.phase[0] == state.phase[0]:
        tsallis.observe(params, state, block, totals, rounds)


@dataclass(frozen=True)
class TsallisInTwoPhases(WithSwitchingCost, tsallis.Tsallis):
    """What the version that knows the horizon has in common with the one that doubles it."""

    kernels = Kernels(choose, observe, AmirState, AmirBlock, params=AmirParams)

    carried_over = Policy.carried_over  # its switches are those between these arms

    def parameters(self) -> AmirParams:
        """λ, and no horizon."""
        return AmirParams(self.lam, horizon=0.0)

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        super().check_saved(state, block)
        must_be(max(state[name] for name in ("phase", "m", "switches")) <= state["n"], "n must count all blocks")
        if block is not None:
            must_be(block["arm"] + 1 == state["last"], "the arm must be the last")
            must_be(block["phase"] == state["phase"], "the block must be of this phase")


@dataclass(frozen=True)
class AmirTsallis(WithHorizon, TsallisInTwoPhases):
    """Tsallis-INF until its switches have cost (λK)^{1/3}T^{2/3}, then Tsallis-INF on blocks. It must know T.

    From "Better best of both worlds bounds for bandits with switching costs" (Amir, Azov, Koren and Livni, NeurIPS
    2022): O((λK)^{1/3}T^{2/3}) against any oblivious adversary, and O(min(ln T/Δ², T^{2/3})) (λ = 1) where one arm is
    better by Δ throughout. The first phase draws anew in each round with η_t = 2/√t; the second holds each arm for
    B = ⌈λ^{2/3}(T/K)^{1/3}⌉ rounds, begins with nothing learnt, and has η_n = 2/(B√n). At λ = 0 it is Tsallis-INF.

    A reconstruction: abstract and idea are the paper's, its constants and whether it forgets were not at hand.

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
    >>> AmirTsallis(3, switching_cost=1.0, horizon=1000).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id: ClassVar[str] = "amir"

    def parameters(self) -> AmirParams:
        """λ and T."""
        return AmirParams(self.lam, float(self.horizon))


@dataclass(frozen=True)
class AnytimeAmirTsallis(TsallisInTwoPhases):
    """`AmirTsallis` without a horizon, by doubling: it supposes T = 1024, then 2048, …, and each time begins anew.

    The bounds hold up to a constant factor, that of the independent regime up to another logarithm. Doubling is ours.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.

    Examples
    --------
    >>> AnytimeAmirTsallis(3, switching_cost=1.0).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id: ClassVar[str] = "amir-anytime"
