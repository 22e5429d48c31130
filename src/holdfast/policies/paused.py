"""Pause and resume: Tsallis-INF with a budget of switches per epoch, another policy once that is spent.

``docs/paused.md`` has the theorem and its proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST, among, real
from holdfast.numerics import schedules
from holdfast.numerics.layout import (
    Array,
    Flag,
    NonNegative,
    PerArm,
    Range,
    Scalar,
    Whole,
    extended,
    idle,
    joined,
    layout_of,
    part_of,
)
from holdfast.numerics.schedules import LONGEST, whole_rounds
from holdfast.numerics.simplex import WIDEST
from holdfast.policies import adaptive, tsallis
from holdfast.policies.policy import Kernels, Policy, WithSwitchingCost

Rounds, Begun = Range(0.0, 4.0 * LONGEST, whole=True), Range(1.0, LONGEST, whole=True)

PausedState = extended(
    tsallis.TsallisState,
    "PausedState",
    __name__,
    t=Annotated[Scalar, Rounds],  # rounds begun
    span=Annotated[Scalar, Begun],  # rounds of this epoch
    end=Annotated[Scalar, Rounds],  # the round by which the next begins
    budget=Annotated[Scalar, NonNegative],  # what Tsallis-INF's switches may cost in it
    switches=Annotated[Scalar, Whole],  # and how many there were
    last=Annotated[Scalar, Range(1.0, whole=True, arms=0)],  # one more than the arm Tsallis-INF played last
    own=Annotated[Scalar, Whole],  # rounds that it played
    paused=Annotated[Scalar, Flag],
    kept=Annotated[PerArm, NonNegative],  # its C − min C while it is paused
    kept_s=Annotated[Scalar, Range(0.0, WIDEST)],  # and its s
    phase=Annotated[Scalar, Whole],  # pauses begun
    m=Annotated[Scalar, Whole],  # blocks of the other policy in this one
)
PausedBlock = extended(tsallis.TsallisBlock, "PausedBlock", __name__, paused=Scalar, phase=Scalar)


class PausedParams(NamedTuple):
    lam: float  # λ
    share: float  # the budget in units of what Tsallis-Switch may cost


@kernel
def cost_of_blocks(lam: float, K: float, m: float) -> float:
    """Return U(m) + λ: Theorem 1's bound for m rounds, and the switch back."""
    order: float = 5.25 * (lam * K * m * m) ** (1.0 / 3.0) + 6.4 * math.sqrt(K * m)
    return order + 3.0 * math.sqrt(2.0 * K) + 6.25 * lam + 6.25


@kernel
def begin_from(state: Any, s: float) -> None:
    """Make the next solution start from s alone, at min C = 0."""
    state.least[0], state.s[0], state.moved[0], state.fresh[0] = 0.0, s, 0.0, 0.0


@kernel
def pause(state: Any) -> None:
    """Keep what Tsallis-INF has learnt, and start Tsallis-Switch from nothing."""
    state.kept_s[0] = state.s[0]
    for i in range(state.C.shape[0]):
        state.kept[i, 0], state.C[i, 0] = state.C[i, 0] - state.least[0], 0.0
    state.paused[0], state.m[0] = 1.0, 0.0
    state.phase[0] += 1.0
    begin_from(state, 0.0)


@kernel
def resume(state: Any) -> None:
    """Drop Tsallis-Switch, and continue where Tsallis-INF was."""
    for i in range(state.C.shape[0]):
        state.C[i, 0], state.kept[i, 0] = state.kept[i, 0], 0.0
    state.paused[0] = 0.0
    begin_from(state, state.kept_s[0])


@kernel
def take_turns(params: Any, state: Any, block: Any) -> None:
    """Begin the next epoch, if it is time; pause Tsallis-INF once its switches have used up the epoch's budget."""
    K, lam = float(state.C.shape[0]), params.lam
    if state.t[0] >= state.end[0]:
        state.span[0] = min(2.0 * state.span[0], LONGEST) if state.span[0] > 0.0 else whole_rounds(lam)
        state.end[0] = state.t[0] + state.span[0]
        state.budget[0] = params.share * cost_of_blocks(lam, K, state.span[0])
        state.switches[0] = 0.0
        if state.paused[0] == 1.0:
            resume(state)
    if state.paused[0] == 0.0 and lam * state.switches[0] >= state.budget[0]:
        pause(state)
    state.n[0] += 1.0
    state.m[0] += state.paused[0]
    block.paused[0], block.phase[0] = state.paused[0], state.phase[0]


@kernel
def play_a_round(state: Any, streams: Any, block: Any) -> None:
    """Play a round of Tsallis-INF, and count its switch."""
    state.own[0] += 1.0
    tsallis.draw_block(state, 1.0, schedules.corollary_3_rate(state.own[0], 1.0), streams, block)
    state.switches[0] += 1.0 if state.last[0] != block.arm[0] + 1.0 else 0.0
    state.last[0] = block.arm[0] + 1.0


@kernel
def choose_paused(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play a round of Tsallis-INF, or, while it is paused, a block of Tsallis-Switch."""
    take_turns(params, state, block)
    if state.paused[0] == 1.0:
        a = schedules.theorem_1_length(state.m[0], float(state.C.shape[0]), params.lam)
        rounds = min(whole_rounds(a), state.end[0] - state.t[0])
        tsallis.draw_block(state, rounds, schedules.theorem_1_rate(state.m[0], a), streams, block)
    else:
        play_a_round(state, streams, block)
    state.t[0] += block.rounds[0]


@kernel
def observe_paused(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Observe as Algorithm 1 does, ignoring a loss whose player is paused or dropped."""
    same = block.phase[0] == state.phase[0] or block.paused[0] == 0.0
    if block.paused[0] == state.paused[0] and same:
        tsallis.observe(params, state, block, totals, rounds)


# The adaptive policy in place of Tsallis-Switch.

SAFE = adaptive.KERNELS
WithAdaptiveState = joined(PausedState, safe=idle(SAFE.state))
WithAdaptiveBlock = joined(idle(PausedBlock), safe=idle(SAFE.block))
WithAdaptiveParams = joined(PausedParams, safe=SAFE.params)
safe_params, safe_state, safe_block = (part_of(one, "safe") for one in (SAFE.params, SAFE.state, SAFE.block))


def zeroing(record: Any) -> Any:
    """Return a kernel that makes all numbers of a state zero."""
    lines = [
        f"    for i in range(state.C.shape[0]): state.{name}[i, 0] = 0.0"
        if kind.per_arm
        else f"    state.{name}[0] = 0.0"
        for name, kind in layout_of(record).kinds.items()
    ]
    scope: dict[str, Any] = {"__name__": __name__}
    exec("\n".join(["def forget(state):", *lines]), scope)
    return kernel(scope["forget"])


forget = zeroing(SAFE.state)


@kernel
def choose_or_adapt(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play a round of Tsallis-INF, or, while it is paused, a block of the adaptive policy."""
    take_turns(params, state, block)
    if state.paused[0] == 1.0:
        own, safe = safe_block(block), safe_state(state)
        if state.m[0] == 1.0:
            forget(safe)
        adaptive.choose(safe_params(params), safe, announced, streams, own)
        own.rounds[0] = min(own.rounds[0], state.end[0] - state.t[0])
        block.arm[0], block.rounds[0], block.probability[0] = own.arm[0], own.rounds[0], own.probability[0]
    else:
        play_a_round(state, streams, block)
    state.t[0] += block.rounds[0]


@kernel
def observe_or_adapt(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Let the policy that played the block learn from it."""
    if block.paused[0] == 0.0 or state.paused[0] == 0.0:
        observe_paused(params, state, block, totals, rounds)
    elif block.phase[0] == state.phase[0]:
        adaptive.observe(safe_params(params), safe_state(state), safe_block(block), totals, rounds)


PAUSED = Kernels(choose_paused, observe_paused, PausedState, PausedBlock, params=PausedParams)
WITH_ADAPTIVE = Kernels(
    choose_or_adapt, observe_or_adapt, WithAdaptiveState, WithAdaptiveBlock, params=WithAdaptiveParams
)
FALLBACKS = ("tsallis-switch", "adaptive")


@dataclass(frozen=True)
class PausedTsallis(WithSwitchingCost, tsallis.Tsallis):
    """Tsallis-INF that is paused, not forgotten, while its switches cost too much. It needs no T.

    Epochs have ⌈λ⌉ rounds, then twice as many, and so on. In each Tsallis-INF plays single rounds until its switches
    have cost what Tsallis-Switch is proved to cost in such an epoch; then Tsallis-Switch, or the adaptive policy, with
    nothing learnt, plays the rest of it. In the next epoch Tsallis-INF resumes where it was. With one best arm and
    fixed gaps the cost grows like (λ/Δ²) ln T, with useful constants (Theorem E, ``docs/paused.md``); for any losses
    its bound is of the order of Theorem 1's from T ≥ λ on. It is the better theorem, not the better policy:
    `AdaptiveTsallisSwitch` costs less.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    budget
        τ: what Tsallis-INF's switches may cost in an epoch, in units of what Tsallis-Switch may.
    fallback
        ``"tsallis-switch"``, or ``"adaptive"``: who plays the rest of such an epoch. The adaptive policy costs less
        there, and its bound is larger.

    Examples
    --------
    >>> PausedTsallis(3, switching_cost=1.0).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id = "paused-tsallis"

    budget: float = field(default=1.0, kw_only=True, metadata=real(least=1 / LARGEST, most=LARGEST))
    fallback: Literal["tsallis-switch", "adaptive"] = field(
        default="tsallis-switch", kw_only=True, metadata=among(FALLBACKS)
    )

    carried_over = Policy.carried_over  # its switches are those between these arms

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        same = block.phase[0] == state.phase[0] or block.paused[0] == 0.0
        return bool(same and block.paused[0] == state.paused[0]) and super().correct(
            params, state, block, was, now, rounds
        )

    @property
    def kernels(self) -> Kernels:
        return WITH_ADAPTIVE if self.fallback == "adaptive" else PAUSED

    def parameters(self) -> Any:
        own = PausedParams(self.lam, self.budget)
        if self.fallback == "tsallis-switch":
            return own
        safe = adaptive.AdaptiveTsallisSwitch(self.n_arms, switching_cost=self.lam)
        return WithAdaptiveParams(*own, *safe.parameters())

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        if self.fallback == "adaptive" and state.paused[0] == 1.0:
            return np.asarray(np.minimum(state.safe_root, 1.0) ** 2)
        return super().probabilities(params, state, block)
