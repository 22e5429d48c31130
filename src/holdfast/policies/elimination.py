"""BaSE: batched successive elimination, the paper's stochastic baseline with few switches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import among, real, whole_number
from holdfast.numerics.layout import ArmIndex, Array, NonNegative, PerArm, Range, Scalar, Whole
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST, floor_power, least_root
from holdfast.policies.policy import Kernels, WithHorizon

GRIDS = ("arithmetic", "geometric", "minimax")
ORDERS = ("index", "random", "round-robin")


class EliminationState(NamedTuple):
    n: Annotated[Scalar, Whole]  # blocks begun
    C: Annotated[PerArm, NonNegative]  # total loss of each arm
    order: Annotated[PerArm, ArmIndex]  # the arms, the active ones first
    batch: Annotated[Scalar, Range(1.0, LONGEST, whole=True)]  # batches begun
    active: Annotated[Scalar, Range(1.0, whole=True, arms=0)]  # |A|
    share: Annotated[Scalar, Range(1.0, LONGEST, whole=True)]  # q: rounds of each active arm in this batch
    turn: Annotated[Scalar, Range(-1.0, LONGEST, whole=True)]  # blocks begun in this batch; −1 when it has ended
    pulls: Annotated[Scalar, Whole]  # τ: rounds each active arm has had
    played: Annotated[Scalar, Whole]  # rounds told


class EliminationBlock(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Annotated[Scalar, Range(above=0.0, most=1.0)]


class EliminationParams(NamedTuple):
    horizon: float  # T
    threshold: float  # γ ln(TK)
    shuffled: float  # 1 if each batch has its own random order, else 0
    one_by_one: float  # 1 if arms are played one round each in turn, else 0
    grid: Array  # the grid points t_1 … t_M; empty where there are shares
    shares: Array  # rounds of each active arm in batch 1 … M; empty where there is a grid


@kernel
def best_of(state: Any) -> float:
    """Return the active arm that has lost least; on ties the first."""
    order, C = state.order, state.C
    best = order[0, 0]
    for i in range(1, int(state.active[0])):
        arm = order[i, 0]
        if C[int(arm), 0] < C[int(best), 0] or (C[int(arm), 0] == C[int(best), 0] and arm < best):
            best = arm
    return float(best)


@kernel
def batches(params: Any) -> int:
    """Return M."""
    return int(params.grid.shape[0] + params.shares.shape[0])


@kernel
def begin_batch(params: Any, state: Any, streams: Any) -> None:
    """Set the share q of each active arm; in the last batch the leader gets all remaining rounds."""
    state.batch[0] += 1.0
    state.turn[0] = 0.0
    left = params.horizon - state.played[0]
    if state.batch[0] >= batches(params) or left <= 0.0:
        state.active[0] = 1.0
        state.share[0] = max(left, 1.0)
        return
    m = int(state.batch[0]) - 1
    if params.grid.shape[0] > 0:
        per_arm = (params.grid[m] - state.played[0]) / state.active[0]
        state.share[0] = max(1.0, math.floor(per_arm))  # q = ⌊(t_m − s)/|A|⌋
    elif params.shares[m] * state.active[0] > left:  # too few rounds: commit
        state.order[0, 0] = best_of(state)
        state.active[0], state.share[0] = 1.0, left
        return
    else:
        state.share[0] = max(1.0, math.floor(params.shares[m]))
    if params.shuffled == 1.0:
        order = state.order
        for i in range(int(state.active[0]) - 1, 0, -1):  # Fisher-Yates
            j = int(next_uniform(streams, 0) * (i + 1))
            order[i, 0], order[j, 0] = order[j, 0], order[i, 0]


@kernel
def end_batch(params: Any, state: Any) -> None:
    """Drop each arm whose mean exceeds the least by √(γ ln(TK)/τ); before the last batch, all but the best."""
    state.pulls[0] += state.share[0]
    active, C, order = int(state.active[0]), state.C, state.order
    best = best_of(state)
    if state.batch[0] >= batches(params) - 1.0 or state.played[0] >= params.horizon:
        order[0, 0] = best  # commit
        state.active[0] = 1.0
        return
    threshold = math.sqrt(params.threshold / state.pulls[0]) * state.pulls[0]  # τ√(γ ln(TK)/τ), for sums of losses
    kept = 0
    for i in range(active):
        if C[int(order[i, 0]), 0] - C[int(best), 0] < threshold:
            order[kept, 0] = order[i, 0]
            kept += 1
    state.active[0] = kept


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Play the next active arm, for its whole share, or for one round if the order is round-robin."""
    state.n[0] += 1.0
    if state.n[0] == 1.0:
        for i in range(state.order.shape[0]):
            state.order[i, 0] = i
        state.active[0] = state.order.shape[0]
        begin_batch(params, state, streams)
    elif state.turn[0] < 0.0:  # `observe` ended the batch
        begin_batch(params, state, streams)
    if params.one_by_one == 1.0 and state.active[0] > 1.0:
        place = state.turn[0] % state.active[0]
        block.rounds[0] = 1.0
    else:
        place = state.turn[0]
        block.rounds[0] = state.share[0]
    state.turn[0] += 1.0
    block.arm[0] = state.order[int(place), 0]
    block.probability[0] = 1.0 / (state.active[0] - place) if params.shuffled == 1.0 else 1.0


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add the loss; after the last block of a batch, eliminate."""
    state.C[int(block.arm[0]), 0] += totals[0]
    state.played[0] += rounds
    turns = state.active[0]
    if params.one_by_one == 1.0 and state.active[0] > 1.0:
        turns *= state.share[0]
    if state.turn[0] >= turns:
        end_batch(params, state)
        state.turn[0] = -1.0


class Elimination(WithHorizon):
    """Base of BaSE and of the other policy that drops arms after each batch."""

    kernels = Kernels(choose, observe, EliminationState, EliminationBlock, params=EliminationParams)
    waits_for_losses = True
    order: str

    @property
    def deterministic(self) -> bool:  # type: ignore[override]  # of other policies it is the same for all of a class
        """True for every order but the random one."""
        return self.order != "random"

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Return 1 for the block's arm; in random order, uniform over the arms whose turn was still to come."""
        p, arm, chance = np.zeros(self.n_arms), int(block.arm[0]), block.probability[0]
        left = state.order[max(int(state.turn[0]) - 1, 0) : int(state.active[0])].astype(int)
        if self.order == "random" and arm in left and math.isclose(len(left) * chance, 1.0):
            p[left] = chance
        else:  # the last of a batch was told: no other was left
            p[arm] = 1.0
        return p


@dataclass(frozen=True)
class BaSE(Elimination):
    """Batched successive elimination (Gao, Han, Ren and Zhou, NeurIPS 2019) on a grid of batches.

    In batch m every arm still active is held for its share of the rounds up to t_m; then an arm is dropped
    when its mean loss exceeds the least by √(γ ln(TK)/τ), τ the rounds each active arm has had. The last batch
    commits to the best mean. It must know the horizon T, and has no guarantee unless the losses are i.i.d.

    The paper specifies neither the number of batches, nor γ, nor the order (errata, point 23). Past the horizon it
    stays with the arm it committed to.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    horizon
        T, the number of rounds that will be played.
    grid
        Grid of batch ends: ``"geometric"``, ``"arithmetic"`` or ``"minimax"``.
    batches
        M. 0 means the default: ⌈ln T⌉ geometric, ⌈T^0.4⌉ arithmetic, ⌈log₂ log₂ T⌉ minimax.
    gamma
        γ of the elimination; 0.5 as in its authors' code.
    order
        Order of the arms in a batch: by ``"index"``, at ``"random"``, or ``"round-robin"``, one
        round each.

    Examples
    --------
    >>> BaSE(8, horizon=100_000).batches
    12
    """

    grid: Literal["arithmetic", "geometric", "minimax"] = field(
        default="geometric", kw_only=True, metadata=among(GRIDS)
    )
    batches: int = field(default=0, kw_only=True)
    gamma: float = field(default=0.5, kw_only=True, metadata=real(above=0))
    order: Literal["index", "random", "round-robin"] = field(default="index", kw_only=True, metadata=among(ORDERS))

    def __post_init__(self) -> None:
        super().__post_init__()
        batches = whole_number("batches", self.batches, least=0, most=self.horizon)
        self._set("batches", batches or default_batches(self.grid, self.horizon))

    @property
    def id(self) -> str:  # type: ignore[override]  # the same for all of a class, but for this one
        """``base-arithmetic``, ``base-geometric`` or ``base-minimax``."""
        return f"base-{self.grid}"

    @property
    def grid_points(self) -> tuple[int, ...]:
        """The grid t_1, …, t_M with t_M = T."""
        return grid_points(self.grid, self.batches, self.horizon)

    def parameters(self) -> EliminationParams:
        return EliminationParams(
            horizon=float(self.horizon),
            threshold=self.gamma * math.log(self.horizon * self.n_arms),
            shuffled=float(self.order == "random"),
            one_by_one=float(self.order == "round-robin"),
            grid=np.array(self.grid_points, dtype=np.float64),
            shares=np.empty(0),
        )


def default_batches(grid: str, horizon: int) -> int:
    """Return the default M."""
    if grid == "geometric":
        batches = math.ceil(math.log(horizon))
    elif grid == "arithmetic":
        batches = least_root(Fraction(horizon**2), 5)  # ⌈T^0.4⌉
    else:
        batches = math.ceil(math.log2(max(2.0, math.log2(max(2, horizon)))))
    return min(max(batches, 1), horizon)


def grid_points(grid: str, batches: int, horizon: int) -> tuple[int, ...]:
    """Return the batch ends t_1 < … < t_M = T: ⌊mT/M⌋, ⌊T^{m/M}⌋, or ⌊a^{2−2^{1−m}}⌋ with a = T^{1/(2−2^{1−M})}."""
    M, T = batches, horizon
    if grid == "arithmetic":
        points = [m * T // M for m in range(1, M)]
    elif grid == "geometric":
        points = [floor_power(T, Fraction(m, M)) for m in range(1, M)]
    else:  # a^{2−2^{1−m}} is T to a quotient of the powers of two below
        points = [floor_power(T, Fraction(2**M - 2 ** (M - m), 2**M - 1)) for m in range(1, M)]
    return (*points, T)


# Batched elimination of Esfandiari et al.: every arm still active is held for a number of rounds that grows.


@dataclass(frozen=True)
class BatchedElimination(Elimination):
    """Batched arm elimination (Esfandiari, Karbasi, Mehrabian and Mirrokni, AAAI 2021). It must know the horizon T.

    With q = T^{1/B}, in batch i < B every active arm is held for ⌊q^i⌋ rounds, one after the other; then an arm is
    dropped when its mean loss exceeds the least by √(2 ln(2KTB)/c_i), c_i the rounds each active arm has had. The last
    batch, or one for which too few rounds are left, commits to the best mean. Regret O(T^{1/B} ln T Σ 1/Δ_i) for
    independent losses, with at most KB switches; no guarantee for others.

    A reconstruction: batches and threshold are the paper's as we know them from its abstract and from public code.
    BaSE differs in its batches, which all active arms share, and in its threshold. Past the horizon it stays with its
    arm.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    horizon
        T, the number of rounds that will be played.
    batches
        B; 0 means ⌈ln T⌉, for which q is about e and the regret of the best order.

    Examples
    --------
    >>> BatchedElimination(8, horizon=100_000).batches
    12
    """

    id = "batched-elimination"
    order = "index"

    batches: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        batches = whole_number("batches", self.batches, least=0, most=self.horizon)
        self._set("batches", batches or max(1, math.ceil(math.log(self.horizon))))

    @property
    def shares(self) -> tuple[int, ...]:
        """Rounds of each active arm in batch i = 1 … B: ⌊q^i⌋."""
        return tuple(floor_power(self.horizon, Fraction(i, self.batches)) for i in range(1, self.batches + 1))

    def parameters(self) -> EliminationParams:
        return EliminationParams(
            horizon=float(self.horizon),
            threshold=2.0 * math.log(2.0 * self.n_arms * self.horizon * self.batches),
            shuffled=0.0,
            one_by_one=0.0,
            grid=np.empty(0),
            shares=np.array(self.shares, dtype=np.float64),
        )
