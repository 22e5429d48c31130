"""Amir et al., our reconstruction: Tsallis-INF until its switches have cost too much, then on blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST
from holdfast.numerics import schedules
from holdfast.numerics.layout import NonNegative, Range, Scalar, Whole, extended
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST, exp3_block, whole_rounds
from holdfast.numerics.simplex import draw, exponential_weights, refined
from holdfast.policies import tsallis
from holdfast.policies.exp3 import Exp3Block, Exp3State, ExponentialWeights, observe
from holdfast.policies.policy import Kernels, Policy, WithHorizon, WithSwitchingCost

FIRST = 1024.0
"""First horizon assumed when none is known."""

Rounds, Begun = Range(0.0, 2.0 * LONGEST, whole=True), Range(1.0, 2.0 * LONGEST, whole=True)

AmirState = extended(
    tsallis.TsallisState,
    "AmirState",
    __name__,
    t=Annotated[Scalar, Rounds],  # rounds begun
    span=Annotated[Scalar, Begun],  # T, known or assumed
    end=Annotated[Scalar, Rounds],  # the round at which the next is assumed
    length=Annotated[Scalar, Begun],  # rounds of a block: 1 in the first phase, B in the second
    switches=Annotated[Scalar, Whole],  # since this T was assumed
    last=Annotated[Scalar, Range(1.0, whole=True, arms=0)],  # one more than the arm of the last block
    phase=Annotated[Scalar, Begun],  # phases begun
    m=Annotated[Scalar, Begun],  # blocks begun in this phase
)
AmirBlock = extended(tsallis.TsallisBlock, "AmirBlock", __name__, phase=Scalar)


class AmirParams(NamedTuple):
    lam: float  # λ
    horizon: float  # T; 0 means doubling


@kernel
def begin_phase(state: Any, length: float) -> None:
    """Begin blocks of another length, with nothing learnt."""
    state.phase[0] += 1.0
    state.m[0], state.length[0] = 0.0, length
    for i in range(state.C.shape[0]):
        state.C[i, 0] = 0.0
    state.least[0], state.s[0], state.moved[0], state.fresh[0] = 0.0, 0.0, 0.0, 0.0


@kernel
def begin_span(params: Any, state: Any) -> None:
    """Assume the horizon, or twice the last one, and begin with single rounds."""
    known = params.horizon > 0.0
    doubled = min(max(2.0 * state.span[0], FIRST), LONGEST)
    state.span[0] = params.horizon if known else doubled
    state.end[0] = LONGEST if known else state.t[0] + doubled
    state.switches[0] = 0.0
    begin_phase(state, 1.0)


@kernel
def choose_amir(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play a block of Tsallis-INF: of one round while the switches cost less than (λK)^{1/3}T^{2/3}, then of B."""
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
def observe_phase(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Observe as Tsallis-INF does, ignoring a loss whose phase is over."""
    if block.phase[0] == state.phase[0]:
        tsallis.observe(params, state, block, totals, rounds)


@dataclass(frozen=True)
class TsallisInTwoPhases(WithSwitchingCost, tsallis.Tsallis):
    """Base of the version that knows the horizon and of the one that doubles it."""

    kernels = Kernels(choose_amir, observe_phase, AmirState, AmirBlock, params=AmirParams)

    reconstructed = True
    carried_over = Policy.carried_over  # its switches are those between these arms

    def correct(self, params: Any, state: Any, block: Any, was: float, now: float, rounds: float) -> bool:
        return bool(block.phase[0] == state.phase[0]) and super().correct(params, state, block, was, now, rounds)

    def parameters(self) -> AmirParams:
        return AmirParams(self.lam, horizon=0.0)


@dataclass(frozen=True)
class AmirTsallis(WithHorizon, TsallisInTwoPhases):
    """Tsallis-INF until its switches have cost (λK)^{1/3}T^{2/3}, then Tsallis-INF on blocks. It must know T.

    From "Better best of both worlds bounds for bandits with switching costs" (Amir, Azov, Koren and Livni, NeurIPS
    2022): O((λK)^{1/3}T^{2/3}) against any oblivious adversary, and O(min(ln T/Δ², T^{2/3})) (λ = 1) where one arm is
    better by Δ throughout. The first phase redraws in each round with η_t = 2/√t; the second holds each arm for
    B = ⌈λ^{2/3}(T/K)^{1/3}⌉ rounds, starts with nothing learnt, and has η_n = 2/(B√n). At λ = 0 it is Tsallis-INF.

    Our reconstruction: abstract and idea are the paper's, its constants and whether it forgets were not at hand.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds that will be played; past it, the policy continues unchanged.

    Examples
    --------
    >>> AmirTsallis(3, switching_cost=1.0, horizon=1000).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id = "amir"

    def parameters(self) -> AmirParams:
        return AmirParams(self.lam, float(self.horizon))


@dataclass(frozen=True)
class AnytimeAmirTsallis(TsallisInTwoPhases):
    """`AmirTsallis` without a horizon, by doubling: it assumes T = 1024, then 2048, …, and restarts each time.

    The bounds hold up to a constant factor, that of the independent regime up to another logarithm. Doubling is ours,
    and like `AmirTsallis` it is our reconstruction.

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

    id = "amir-anytime"


# Stability-penalty matching: a learning rate that follows the probabilities, on the blocks of the paper.

SpmState = extended(tsallis.TsallisState, "SpmState", __name__, beta=Annotated[Scalar, Range(8.0, LARGEST**2)])
"""Algorithm 1's state, plus β of the next block."""


class CostParams(NamedTuple):
    lam: float  # λ


@kernel
def stability_and_penalty(state: Any, beta: float) -> tuple[float, float, float]:
    """Return z/2, h/2 and 1 − max q of the last draw.

    Here z = 2 Σ √min(q_i, 1 − max q), h = 2 Σ (√q_i − q_i), √q_i = βw_i.
    """
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
def choose_spm(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw a block of Theorem 1's length with η = 2/β; then β += |B|² z/(β h)."""
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

    id = "spm"
    kernels = Kernels(choose_spm, tsallis.observe, SpmState, tsallis.TsallisBlock, params=CostParams)

    carried_over = Policy.carried_over  # β is that of these arms

    def parameters(self) -> CostParams:
        return CostParams(self.lam)


# Stability, penalty and switching cost matched: a learning rate that follows all three, on blocks of one length.


class SpbParams(NamedTuple):
    lam: float  # λ
    length: float  # B


@kernel
def choose_spb(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw a block of B rounds with η = 2/β; then β += (B² z/β + λ(1 − max q))/h."""
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
        T, the number of rounds that will be played; past it, the policy continues unchanged.

    Examples
    --------
    >>> player = StabilityPenaltyBiasMatching(3, switching_cost=2.0, horizon=1000).player(seed=1)
    >>> arm = player.ask()
    >>> player.hold
    12
    """

    id = "spb-blocks"
    kernels = Kernels(choose_spb, tsallis.observe, SpmState, tsallis.TsallisBlock, params=SpbParams)

    carried_over = Policy.carried_over  # β is that of these arms

    def parameters(self) -> SpbParams:
        return SpbParams(self.lam, float(exp3_block(self.lam, self.horizon, self.n_arms)))


# EXP3 with lazy resampling: it redraws only now and then.

LazyRounds = Range(0.0, 2.0 * LONGEST, whole=True)
LazyState = extended(
    Exp3State, "LazyState", __name__, t=Annotated[Scalar, LazyRounds], squares=Annotated[Scalar, NonNegative]
)
"""EXP3's state, plus rounds begun, and Σ E b² over the lengths b of the blocks begun."""


@kernel
def mean_length(t: float, K: float, lam: float) -> float:
    """Return 1/ε_t = max(1, λ^{2/3}(t/K)^{1/3}), the mean hold of an arm drawn in round t."""
    return float(max(1.0, (lam * lam * t / K) ** (1.0 / 3.0)))


@kernel
def choose_lazy_exp3(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw I ~ p_i ∝ exp(−η C_i), and its rounds until the first of probability ε that redraws."""
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
    """EXP3 with lazy resampling: in each round it redraws with a small probability only, else it holds its arm.

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

    id = "lazy-exp3"
    kernels = Kernels(
        choose_lazy_exp3, observe, LazyState, Exp3Block, params=CostParams
    )  # its blocks have random lengths

    def parameters(self) -> CostParams:
        return CostParams(self.lam)
