"""Rules that people write by hand for options that change: they follow recent losses, and have no bound.

Each keeps a fast mean of every arm's own losses, x ← x + (ℓ − x)/min(n, w) after the n-th, and plays round by round.
They are what a policy must beat where the best arm changes. None of them knows what an arm loses that it does not use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import or_none, real, real_number, whole
from holdfast.numerics.layout import ArmIndex, Array, NonNegative, PerArm, Probability, Scalar, Whole
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.policy import Kernels, Mask, PlainBlock, Undrawn, WithSwitchingCost

ROUNDS = whole(least=1, most=int(LONGEST))


class RuleState(NamedTuple):
    """State that every rule keeps of a game."""

    t: Annotated[Scalar, Whole]  # rounds begun
    arm: Annotated[Scalar, ArmIndex]  # what the rule is on
    since: Annotated[Scalar, Whole]  # the round it moved there
    fast: Annotated[PerArm, Probability]
    slow: Annotated[PerArm, Probability]
    told: Annotated[PerArm, Whole]  # losses known of each arm
    again: Annotated[PerArm, NonNegative]  # the round in which an arm that failed is tried again


@kernel
def least(values: Any) -> int:
    """Return the arm of least value; on ties the first."""
    best = 0
    for i in range(1, values.shape[0]):
        best = i if values[i, 0] < values[best, 0] else best
    return best


@kernel
def learn(state: Any, block: Any, totals: Any, rounds: float, fast: float, slow: float) -> None:
    """Move both means of the block's arm towards its mean loss; the first losses are averaged."""
    i, loss = int(block.arm[0]), min(max(totals[0] / rounds, 0.0), 1.0)
    state.told[i, 0] += rounds
    n = state.told[i, 0]
    state.fast[i, 0] += (loss - state.fast[i, 0]) * min(rounds / min(n, fast), 1.0)
    state.slow[i, 0] += (loss - state.slow[i, 0]) * min(rounds / min(n, slow), 1.0)


@kernel
def move(state: Any, arm: int) -> None:
    """Continue with `arm`."""
    if state.arm[0] != arm:
        state.since[0] = state.t[0]
    state.arm[0] = float(arm)


@kernel
def begin_round(state: Any, block: Any, probability: float) -> None:
    """Play the arm that the rule is on for a round."""
    block.arm[0], block.rounds[0], block.probability[0] = state.arm[0], 1.0, probability
    state.t[0] += 1.0


@dataclass(frozen=True)
class HandWritten(Undrawn):
    """A rule without a bound, which plays round by round."""

    def next_best(self, params: Any, state: Any, block: Any, out: Mask) -> int:
        """Return the other arm with the least fast mean."""
        return int(np.where(out, np.inf, state.fast).argmin())


# EWMA with hysteresis and looks.


class EwmaBlock(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar
    own: Annotated[Scalar, ArmIndex]  # the arm that a look leaves, else the block's


class EwmaParams(NamedTuple):
    memory: float  # w
    gap: float  # λ/h
    fading: float  # W
    looks: float  # ε


@kernel
def choose_ewma(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Move where that pays for itself; now and then look elsewhere. Means of arms not in use fade to the long mean."""
    K, looks, u, probability = state.fast.shape[0], params.looks, next_uniform(streams, 0), 1.0
    best = least(state.fast)
    if state.fast[int(state.arm[0]), 0] - state.fast[best, 0] > params.gap:
        move(state, best)
    block.own[0] = state.arm[0]
    if K > 1 and u < looks:
        other = min(int(u / looks * (K - 1)), K - 2)
        move(state, other + 1 if other >= state.arm[0] else other)
        probability = looks / (K - 1)
    elif K > 1:
        probability = 1.0 - looks
    begin_round(state, block, probability)
    for i in range(K):
        if i != state.arm[0]:
            state.fast[i, 0] += (state.slow[i, 0] - state.fast[i, 0]) / params.fading


@kernel
def observe_ewma(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Move the recent mean of the arm, and its mean of all losses."""
    learn(state, block, totals, rounds, params.memory, LONGEST)


@dataclass(frozen=True)
class Ewma(HandWritten, WithSwitchingCost):
    """Exponentially weighted means with hysteresis and looks: the rule people write most.

    Each arm has the mean of its last `memory` losses. It moves to the arm of the least mean where that is lower by more
    than λ/`pays_within`, and with probability `looks` plays another arm for a round. The mean of an arm that is not in
    use fades to that of all its losses within about `fading` rounds, so that it is tried again. An arm never seen
    counts as 0. Ours, without a source or a bound.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    memory
        w, the losses that a mean remembers.
    pays_within
        h, the rounds within which a switch must pay for itself.
    fading
        W, the rounds within which what was seen last of an arm is forgotten.
    looks
        ε, the share of rounds in which another arm is looked at.

    Examples
    --------
    >>> player = Ewma(3, switching_cost=0.5, looks=0.0).player(seed=1)
    >>> for _ in range(3):
    ...     arm = player.ask()
    ...     player.tell([0.9, 0.2, 0.5][arm])
    >>> player.ask()
    1
    """

    id = "ewma"
    remembers_order = True
    kernels = Kernels(choose_ewma, observe_ewma, RuleState, EwmaBlock, params=EwmaParams)

    memory: int = field(default=30, kw_only=True, metadata=ROUNDS)
    pays_within: int = field(default=100, kw_only=True, metadata=ROUNDS)
    fading: int = field(default=3000, kw_only=True, metadata=ROUNDS)
    looks: float = field(default=0.002, kw_only=True, metadata=real(least=0, most=1))

    def parameters(self) -> EwmaParams:
        return EwmaParams(float(self.memory), self.lam / self.pays_within, float(self.fading), self.looks)

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Return 1 − ε for the arm of the rule, and an even share of ε for the others."""
        if self.n_arms == 1:
            return np.ones(1)
        p = np.full(self.n_arms, self.looks / (self.n_arms - 1))
        p[int(block.own[0])] = 1.0 - self.looks
        return p


# Fail-over: leave an arm that is worse than it used to be, and try it again after a while.


class FailOverParams(NamedTuple):
    fast: float
    slow: float
    margin: float
    retry: float


@kernel
def choose_fail_over(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play each arm in turn, then the best; leave one that fails for the best other; return after the retry time."""
    K, t, c = state.fast.shape[0], state.t[0], int(state.arm[0])
    if t <= K * params.fast:
        move(state, int(t / params.fast) if t < K * params.fast else least(state.slow))
    elif state.fast[c, 0] - state.slow[c, 0] > params.margin and K > 1:
        state.fast[c, 0], state.again[c, 0] = state.slow[c, 0], t + params.retry
        best = 1 if c == 0 else 0
        for i in range(K):
            ready, of_best = max(state.again[i, 0], t), max(state.again[best, 0], t)
            if i != c and (ready < of_best or (ready == of_best and state.slow[i, 0] < state.slow[best, 0])):
                best = i
        move(state, best)
    else:
        best = c
        for i in range(K):
            if state.again[i, 0] == t and state.slow[i, 0] < state.slow[best, 0]:
                best = i
        move(state, best)
    begin_round(state, block, 1.0)


@kernel
def observe_fail_over(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Move the fast and the slow mean of the arm."""
    learn(state, block, totals, rounds, params.fast, params.slow)


@dataclass(frozen=True)
class FailOver(HandWritten):
    """Leave an arm when it is worse than it used to be, and try it again after a while.

    Each arm is played for `fast` rounds, and then the best. When the mean of its last `fast` losses exceeds that of its
    last `slow` by more than `margin` it has failed: the arm of the least slow mean takes its place among those that
    have not, or else the one that is to be tried first. After `retry` rounds the failed arm is tried again if its slow
    mean is the lower one. Nothing is looked at while nothing fails. Ours, without a source or a bound.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    fast, slow
        Losses that the two means remember.
    margin
        By how much the fast mean of an arm that has failed exceeds the slow one, in `units`; 0.3 of their range unless
        given.
    retry
        Rounds after which an arm that failed is tried again.

    Examples
    --------
    >>> FailOver(3, retry=600).player(seed=1).ask()
    0
    """

    id = "fail-over"
    kernels = Kernels(choose_fail_over, observe_fail_over, RuleState, PlainBlock, params=FailOverParams)
    deterministic = True

    fast: int = field(default=20, kw_only=True, metadata=ROUNDS)
    slow: int = field(default=1000, kw_only=True, metadata=ROUNDS)
    margin: float | None = field(default=None, kw_only=True, metadata=or_none(real(least=0)))
    retry: int = field(default=1000, kw_only=True, metadata=ROUNDS)

    def parameters(self) -> FailOverParams:
        margin = 0.3 if self.margin is None else self.margin / self.unit
        return FailOverParams(float(self.fast), float(self.slow), margin, float(self.retry))


# Threshold with cooldown: leave an arm whose recent mean is too high, but not too often.


class ThresholdParams(NamedTuple):
    memory: float
    threshold: float
    cooldown: float


@kernel
def choose_threshold(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Move to the arm of the least mean where that of the arm in use is too high, and the cooldown over."""
    c = int(state.arm[0])
    if state.fast[c, 0] > params.threshold and state.t[0] - state.since[0] >= params.cooldown:
        move(state, least(state.fast))
    begin_round(state, block, 1.0)


@kernel
def observe_threshold(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Move the recent mean of the arm."""
    learn(state, block, totals, rounds, params.memory, params.memory)


@dataclass(frozen=True)
class ThresholdCooldown(HandWritten):
    """Leave an arm whose recent mean loss is above a threshold, but hold each for a cooldown: what autoscalers do.

    It moves to the arm whose mean was least when it was last seen; an arm never seen counts as 0. Below the threshold
    it stays, whatever the others might be. Ours, without a source or a bound.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    threshold
        The mean loss that is too high, in `units`; their middle unless given.
    cooldown
        Rounds for which an arm is held.
    memory
        Losses that a mean remembers.

    Examples
    --------
    >>> ThresholdCooldown(3, threshold=0.4).player(seed=1).ask()
    0
    """

    id = "threshold-cooldown"
    kernels = Kernels(choose_threshold, observe_threshold, RuleState, PlainBlock, params=ThresholdParams)
    deterministic = True

    threshold: float | None = field(default=None, kw_only=True)
    cooldown: int = field(default=100, kw_only=True, metadata=ROUNDS)
    memory: int = field(default=30, kw_only=True, metadata=ROUNDS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None:
            low, high = self.units
            self._set("threshold", real_number("threshold", self.threshold, least=low, most=high))

    def parameters(self) -> ThresholdParams:
        threshold = 0.5 if self.threshold is None else (self.threshold - self.units[0]) / self.unit
        return ThresholdParams(float(self.memory), threshold, float(self.cooldown))
