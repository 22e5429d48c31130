"""Shared parts of the policies that follow average losses: sums and counts per arm, and caution about switching.

They need only a block's loss and its rounds, so blocks may be observed late and in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real, whole
from holdfast.numerics.layout import ArmIndex, Array, NonNegative, PerArm, Range, Scalar, Whole, extended
from holdfast.numerics.random import beta, next_uniform
from holdfast.numerics.schedules import LONGEST, whole_rounds
from holdfast.policies.policy import (
    NOT_KNOWN,
    Kernels,
    Mask,
    PlainBlock,
    Policy,
    Undrawn,
    WithoutProbabilities,
)

UNTOLD = -1e300
"""Index of an arm without a known loss: better than any other."""


class AverageState(NamedTuple):
    n: Annotated[Scalar, Whole]  # blocks begun
    C: Annotated[PerArm, NonNegative]  # total loss of each arm
    N: Annotated[PerArm, Whole]  # rounds told of each arm
    played: Annotated[Scalar, Whole]  # rounds told
    last: Annotated[Scalar, Range(1.0, whole=True, arms=0)]  # one more than the arm of the last block


class CautiousParams(NamedTuple):
    """Parameters of policies with a threshold before a switch, a cooldown after it, and exploration."""

    cooldown: float
    threshold: float
    exploration: float


@kernel
def begin(state: Any, block: Any, arm: int, rounds: float, probability: float) -> None:
    """Fill in the block of `arm`."""
    block.arm[0], block.rounds[0], block.probability[0] = float(arm), rounds, probability
    state.last[0] = arm + 1.0


@kernel
def begin_with_cooldown(params: Any, state: Any, block: Any, arm: int, probability: float) -> None:
    """Begin a block of `params.cooldown` rounds if it is a switch, else of one."""
    switch = state.last[0] != arm + 1.0
    begin(state, block, arm, params.cooldown if switch else 1.0, probability)


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add a block to the sums of its arm."""
    arm = int(block.arm[0])
    state.C[arm, 0] += totals[0]
    state.N[arm, 0] += rounds
    state.played[0] += rounds


class Averaging(Undrawn):
    """A policy that keeps the total loss and the rounds of each arm."""

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        """Correct the sums of the block's arm."""
        arm = int(block.arm[0])
        state.C[arm] += now - was
        state.N[arm] += rounds
        state.played[0] += rounds
        return True

    def next_best(self, params: Array, state: Any, block: Any, out: Mask) -> int:
        """Return the other arm with the least mean loss; one without a known loss comes first."""
        means = np.where(state.N > 0.0, state.C / np.maximum(state.N, 1.0), UNTOLD)
        return int(np.where(out, np.inf, means).argmin())


@dataclass(frozen=True)
class WithCooldown(Averaging):
    """A policy with a threshold before a switch and a cooldown after it, as practitioners add by hand."""

    cooldown: int = field(default=1, kw_only=True, metadata=whole(least=1, most=int(LONGEST)))
    """Rounds for which an arm is held after each switch to it."""
    threshold: float = field(default=0.0, kw_only=True, metadata=real(least=0))
    """Advantage in `units` that another arm needs before a switch."""

    @property
    def label(self) -> str:
        """The id, with cooldown and threshold."""
        cooldown = f"-cooldown-{self.cooldown}" if self.cooldown > 1 else ""
        return self.id + cooldown + (f"-threshold-{self.threshold:g}" if self.threshold else "")

    def parameters(self) -> CautiousParams:
        return CautiousParams(float(self.cooldown), self.threshold / self.unit, exploration=0.0)


# UCB1, and follow the leader: the arm with the least average loss, with or without an exploration bonus.


@kernel
def index(state: Any, arm: int, doubt: float) -> float:
    """Return the mean loss of an arm less √(c ln t/N), where `doubt` is c ln t."""
    N = state.N[arm, 0]
    return state.C[arm, 0] / N - math.sqrt(doubt / N) if N > 0.0 else UNTOLD


@kernel
def choose_ucb(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play each arm once, then the arm with the least index; on ties, the last arm played or else the first."""
    state.n[0] += 1.0
    K = state.C.shape[0]
    arm = int(state.n[0]) - 1
    if arm >= K:
        doubt = params.exploration * math.log(max(state.played[0], 1.0))
        last = int(state.last[0]) - 1
        arm, least = last, index(state, last, doubt) - params.threshold
        for i in range(K):
            value = index(state, i, doubt)
            if value < least:
                arm, least = i, value
    begin_with_cooldown(params, state, block, arm, 1.0)


KERNELS = Kernels(choose_ucb, observe, AverageState, PlainBlock, params=CautiousParams)
"""Kernels for one game at a time: block lengths depend on the losses."""


@dataclass(frozen=True)
class Ucb1(WithCooldown):
    """UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002) for losses.

    Plays each arm once, then the arm with the least mean loss − √(2 ln t/N_i): N_i rounds of it are known, t of all.
    Designed for independent losses, where its regret is O(ln T Σ 1/Δ_i); it ignores switching costs, and has no
    guarantee where the losses change. `cooldown` and `threshold` are what people add by hand: ours, without a source.

    A late loss counts when it comes; until its first loss is in, an arm is considered the best.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    exploration
        c in √(c ln t/N_i): 2 in the paper.
    cooldown
        Rounds for which an arm is held after each switch to it, the first rounds of each arm included.
    threshold
        Difference in indices, in `units`, required before a switch.

    Examples
    --------
    >>> Ucb1(3, cooldown=10).player(seed=1).ask()
    0
    """

    id = "ucb1"
    kernels = KERNELS
    deterministic = True

    exploration: float = field(default=2.0, kw_only=True, metadata=real(least=0))

    def parameters(self) -> CautiousParams:
        return super().parameters()._replace(exploration=self.exploration)


@dataclass(frozen=True)
class FollowTheLeader(WithCooldown):
    """Follow the leader: each arm once, then the arm with the least mean loss, the naive rule.

    It has no guarantee: an arm that was unlucky in its first rounds is not tried again.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    cooldown
        Rounds for which an arm is held after each switch to it, the first turns included.
    threshold
        Difference in means, in `units`, required before a switch.

    Examples
    --------
    >>> FollowTheLeader(3, cooldown=5).player(seed=1).ask()
    0
    """

    id = "follow-the-leader"
    kernels = KERNELS  # UCB1's
    deterministic = True


# UCB2: UCB in epochs that grow with each choice of an arm.

EpochState = extended(AverageState, "EpochState", __name__, r=Annotated[PerArm, Whole], tau=Annotated[PerArm, Whole])
"""Averages, plus the epochs r_i of each arm and τ(r_i), their total rounds; 0 before the first."""


class EpochParams(NamedTuple):
    alpha: float  # α


@kernel
def epoch(params: Any, state: Any, arm: int) -> float:
    """Begin the next epoch of `arm`, of τ(r+1) − τ(r) rounds with τ(r) = ⌈(1 + α)^r⌉; skip empty epochs.

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
def choose_ucb2(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play each arm once, then the arm with the least x̄_i − √((1 + α) ln(e t/τ_i)/(2 τ_i)); on ties the first."""
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
    """Base of UCB2 and of Thompson sampling in the same epochs."""

    alpha: float = field(default=0.1, kw_only=True, metadata=real(least=1e-6, most=1.0))
    """α in τ(r) = ⌈(1 + α)^r⌉."""

    def parameters(self) -> EpochParams:
        return EpochParams(self.alpha)


@dataclass(frozen=True)
class Ucb2(InEpochs):
    """UCB2 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002) for losses.

    Plays each arm once, then in epochs: the arm with the least mean loss − √((1 + α) ln(e t/τ(r_i))/(2τ(r_i))) is held
    for τ(r_i + 1) − τ(r_i) rounds, τ(r) = ⌈(1 + α)^r⌉, and r_i grows by one. For independent losses the regret is
    O(ln T Σ 1/Δ_i) and an arm has O(log T) epochs: few switches without knowing their cost. Epochs without a round
    (τ(r + 1) = τ(r)) are skipped. A late loss counts when it comes.

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

    id = "ucb2"
    kernels = Kernels(choose_ucb2, observe, EpochState, PlainBlock, params=EpochParams)
    deterministic = True


# Thompson sampling: the arm that is best in one sample of the posterior.


@kernel
def believed(state: Any, arm: int, stream: Any) -> float:
    """Draw from Beta(1 + C, 1 + N − C), the posterior of an arm's mean loss."""
    C = state.C[arm, 0]
    return beta(1.0 + C, 1.0 + max(state.N[arm, 0] - C, 0.0), stream)


@kernel
def choose_thompson(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Sample each arm and play the least; keep the last arm unless the least is lower by the threshold."""
    state.n[0] += 1.0
    last = int(state.last[0]) - 1
    arm, least, of_last = 0, 2.0, 2.0 + params.threshold
    for i in range(state.C.shape[0]):
        value = believed(state, i, streams[:, 0])
        of_last = value if i == last else of_last
        if value < least:
            arm, least = i, value
    if least >= of_last - params.threshold:
        arm = last
    begin_with_cooldown(params, state, block, arm, NOT_KNOWN)


@dataclass(frozen=True)
class ThompsonSampling(WithoutProbabilities, WithCooldown):
    """Thompson sampling (Thompson 1933) with Beta(1, 1) priors on the mean losses.

    Draws a mean loss for each arm from its posterior Beta(1 + C_i, 1 + N_i − C_i) and plays the least; C_i is the loss
    of N_i rounds of arm i. Losses between 0 and 1 are counted as they are: a belief that is too cautious, since such
    losses vary less than 0 and 1 do (Agrawal and Goyal, COLT 2012, toss a coin instead; this spares its noise).
    Designed for independent losses; it ignores switching costs. `cooldown` and `threshold` are what people add by
    hand: ours, without a source. A late loss counts when it comes.

    The probability of its choice is not known: `Player.probability` and `Player.probabilities` raise an error.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    cooldown
        Rounds for which an arm is held after each switch to it.
    threshold
        Difference in samples, in `units`, required before a switch.

    Examples
    --------
    >>> ThompsonSampling(3).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id = "thompson"
    kernels = Kernels(choose_thompson, observe, AverageState, PlainBlock, params=CautiousParams)


# TS2: Thompson sampling in the epochs of UCB2.


@kernel
def choose_ts2(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Sample each arm and hold the one with the least for its next epoch."""
    state.n[0] += 1.0
    arm, least = 0, 2.0
    for i in range(state.C.shape[0]):
        value = believed(state, i, streams[:, 0])
        if value < least:
            arm, least = i, value
    begin(state, block, arm, epoch(params, state, arm), NOT_KNOWN)


@dataclass(frozen=True)
class BatchedThompson(WithoutProbabilities, InEpochs):
    """Thompson sampling that draws once per epoch of UCB2 instead of once per round: TS2.

    Beta(1, 1) priors; the arm of the least sample is held for τ(r_i + 1) − τ(r_i) rounds, τ(r) = ⌈(1 + α)^r⌉, its first
    epoch for one round. The epochs are those of UCB2 (Auer et al. 2002); joining them with Thompson sampling is found
    in public code and has no paper that we know of: a reconstruction, without a bound. Batched Thompson sampling of
    Karbasi, Mirrokni and Shadravan (NeurIPS 2021) freezes beliefs but still draws each round, so it saves no switches.

    The probability of its choice is not known: `Player.probability` and `Player.probabilities` raise an error.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    alpha
        α, from 0 to 1: how fast epochs grow.

    Examples
    --------
    >>> BatchedThompson(3).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id = "ts2"
    kernels = Kernels(choose_ts2, observe, EpochState, PlainBlock, params=EpochParams)


# One arm throughout: the baseline for every policy where switching is expensive.


class HoldState(NamedTuple):
    n: Annotated[Scalar, Whole]  # blocks begun
    arm: Annotated[Scalar, ArmIndex]


class HoldParams(NamedTuple):
    n_arms: float


@kernel
def choose_forever(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw the arm at the first block. Blocks have 1, 2, 3, … rounds, so that there are few."""
    K = int(params.n_arms)
    for g in range(state.arm.shape[0]):
        if state.n[0] == 0.0:
            state.arm[g] = float(int(next_uniform(streams, g) * K))
            block.probability[g] = 1.0 / K
        else:
            block.probability[g] = 1.0
        block.arm[g] = state.arm[g]
    state.n[0] += 1.0
    block.rounds[0] = state.n[0]


@kernel
def observe_forever(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Learn nothing."""


@dataclass(frozen=True)
class HoldForever(Policy):
    """Draw one arm uniformly and never change it: one switch, and the regret of an arm taken at random.

    The arm has probability 1/K at first and 1 in later blocks. Blocks grow, since nothing depends on them.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> player = HoldForever(3).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(1.0)
    >>> player.ask() == arm
    True
    """

    id = "hold-forever"
    kernels = Kernels(choose_forever, observe_forever, HoldState, PlainBlock, side_by_side=True, params=HoldParams)

    def parameters(self) -> HoldParams:
        return HoldParams(float(self.n_arms))

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Return the uniform distribution at the first block, then 1 for the arm."""
        if state.n[0] == 1.0:
            return np.full(self.n_arms, 1.0 / self.n_arms)
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p
