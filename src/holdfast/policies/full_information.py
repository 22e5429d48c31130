"""Exponential weights over the arms with a fixed rate, drawn lazily, and other full-information policies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real, whole, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import (
    Array,
    Flag,
    NonNegative,
    PerArm,
    Probability,
    Range,
    Scalar,
    ScratchPerArm,
    Whole,
    extended,
)
from holdfast.numerics.random import next_uniform
from holdfast.numerics.schedules import LONGEST
from holdfast.numerics.simplex import exp_of_negative
from holdfast.policies.experts import (
    HORIZON,
    LONGEST_PERIOD,
    Expert,
    GivenForecast,
    SeasonalPlan,
    Smoothed,
    WorkFunction,
)
from holdfast.policies.hedge import ExpertMixture, coupled_move, drawn
from holdfast.policies.policy import (
    NOT_KNOWN,
    FullInformation,
    FullInformationState,
    Kernels,
    PlainBlock,
    WithHorizon,
    WithoutProbabilities,
    WithSwitchingCost,
)

WeightsGame = extended(
    FullInformationState,
    "WeightsGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    last=Annotated[Scalar, Range(0.0, whole=True, arms=0)],  # the arm of the last round, from 1
    C=Annotated[PerArm, NonNegative],  # losses so far, less the least
    w=Annotated[PerArm, Probability],  # weights of the next round
    P=Annotated[PerArm, Probability],  # and of this one
    before=Annotated[PerArm, Probability],  # and of the last one
    grown=ScratchPerArm,
)


class RateParams(NamedTuple):
    eta: float
    share: float  # of the weights that is spread evenly in each round


@kernel
def begin_round(game: Any) -> int:
    """Write the weights of available arms into `P`, the last round's into `before`. Return the last arm, or −1.

    If all these weights have vanished, the arms are equally likely.
    """
    P, K, total, open_arms = game.P, game.P.shape[0], 0.0, 0.0
    game.n[0] += 1.0
    for i in range(K):
        game.before[i, 0] = P[i, 0]
        P[i, 0] = game.w[i, 0] if game.n[0] > 1.0 else 1.0 / K
        if game.shut[i, 0] > 0.0:
            P[i, 0] = 0.0
        else:
            open_arms += 1.0
        total += P[i, 0]
    for i in range(K):
        P[i, 0] = P[i, 0] / total if total > 0.0 else (1.0 - game.shut[i, 0]) / open_arms
    return int(game.last[0]) - 1


@kernel
def play_round(game: Any, block: Any, arm: int) -> None:
    """Fill in a block of one round of this arm."""
    game.last[0] = arm + 1.0
    block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, min(game.P[arm, 0], 1.0)


@kernel
def choose_hedge(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw the arm from the weights, changing as rarely as they allow."""
    here = begin_round(game)
    play_round(game, block, coupled_move(game.P, game.before, game.grown, here, next_uniform(streams, 0)))


@kernel
def observe_hedge(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """Update w ∝ exp(−ηC)."""
    C, w, K, least, total = game.C, game.w, game.C.shape[0], math.inf, 0.0
    for i in range(K):
        game.known[i, 0], game.shut[i, 0] = losses[i, 0], 0.0
        C[i, 0] += losses[i, 0]
        least = min(least, C[i, 0])
    for i in range(K):
        C[i, 0] -= least
        w[i, 0] = exp_of_negative(-params.eta * C[i, 0])
        total += w[i, 0]
    for i in range(K):
        w[i, 0] /= total


@dataclass(frozen=True)
class WithWeights(WithHorizon, WithSwitchingCost, FullInformation):
    """A full-information policy that knows T and draws its arms from weights."""

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        return np.array(state.P)


@dataclass(frozen=True)
class LazyHedge(WithWeights):
    """Hedge over the arms with the textbook rate, drawn so that the arm changes as rarely as the weights allow.

    p_i ∝ exp(−ηL_i) with L_i the losses of arm i so far (Freund and Schapire 1997). The rate that is best for T rounds
    without switching costs is √(8 ln K/T) (Cesa-Bianchi and Lugosi 2006, Theorem 2.2). A round moves at most η/4 of the
    weights, so that the expected cost is at most the best arm's + λ + ln K/η + ηT(1 + 2λ)/8; here η = √(8 ln K/((1 +
    2λ)T)), which makes that λ + √((1 + 2λ)T ln K/2). It follows the best fixed arm, not changes of it.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> player = LazyHedge(2, switching_cost=1.0, horizon=1000).player(seed=0)
    >>> arm = player.ask()
    >>> player.tell(losses=[0.2, 0.7])
    >>> bool(player.probabilities[0] > player.probabilities[1])
    True
    """

    id = "lazy-hedge"
    kernels = Kernels(choose_hedge, observe_hedge, WeightsGame, PlainBlock, params=RateParams, full_information=True)

    def parameters(self) -> RateParams:
        return RateParams(math.sqrt(8.0 * math.log(self.n_arms) / ((1.0 + 2.0 * self.lam) * self.horizon)), 0.0)


# Fixed share: exponential weights that can follow a change of the best arm, drawn lazily.


@kernel
def observe_shared(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """Update w ← w·exp(−ηℓ), and spread the share α evenly."""
    w, K, total = game.w, game.w.shape[0], 0.0
    for i in range(K):
        game.known[i, 0], game.shut[i, 0] = losses[i, 0], 0.0
        w[i, 0] = (w[i, 0] if game.n[0] > 1.0 else 1.0 / K) * math.exp(-params.eta * losses[i, 0])
        total += w[i, 0]
    for i in range(K):
        w[i, 0] = (1.0 - params.share) * w[i, 0] / total + params.share / K


@dataclass(frozen=True)
class FixedShare(WithWeights):
    """Fixed share (Herbster and Warmuth, Machine Learning 32, 1998), drawn so that the arm changes as rarely as it can.

    Weights are multiplied by exp(−ηℓ_i), and a share α of them is spread evenly over the arms in each round, so that a
    new best arm is found again. For m changes in T rounds α = m/(T − 1) and η = √(8((m + 1) ln K + (T − 1)H(α))/T) with
    the binary entropy H (Cesa-Bianchi and Lugosi 2006, Corollary 5.1); here T is multiplied by 1 + 2λ in η, as in
    `LazyHedge`.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds.
    shifts
        m, how often the best arm is expected to change; less than T.

    Examples
    --------
    >>> player = FixedShare(2, switching_cost=1.0, horizon=1000, shifts=5).player(seed=0)
    >>> arm = player.ask()
    >>> player.tell(losses=[0.2, 0.7])
    >>> bool(player.probabilities[0] > player.probabilities[1])
    True
    """

    id = "fixed-share"
    kernels = Kernels(choose_hedge, observe_shared, WeightsGame, PlainBlock, params=RateParams, full_information=True)

    shifts: int = field(default=10, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("horizon", whole_number("horizon", self.horizon, least=3))
        self._set("shifts", whole_number("shifts", self.shifts, least=1, most=self.horizon - 2))

    def parameters(self) -> RateParams:
        m, T = self.shifts, self.horizon
        share = m / (T - 1)
        entropy = -share * math.log(share) - (1.0 - share) * math.log1p(-share)
        exponent = (m + 1) * math.log(self.n_arms) + (T - 1) * entropy
        return RateParams(math.sqrt(8.0 * exponent / ((1.0 + 2.0 * self.lam) * T)), share)


# The shrinking dartboard: weighted majority that keeps its arm while the arm keeps its weight.

DartsGame = extended(WeightsGame, "DartsGame", __name__, some=Annotated[Scalar, Flag])
"""The weights, plus whether some arm was unavailable in the last round."""


@kernel
def choose_dartboard(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Stay with probability (1 − β)^ℓ for the arm's last loss ℓ, else draw any arm by its weight.

    If arms are unavailable or have just returned, weights change otherwise than by losses: then draw lazily.
    """
    here, u, some = begin_round(game), next_uniform(streams, 0), 0.0
    for i in range(game.shut.shape[0]):
        some = max(some, game.shut[i, 0])
    stays = math.exp(-params.eta * game.known[here, 0]) if here >= 0 else 0.0
    if here >= 0 and max(some, game.some[0]) > 0.0:
        arm = coupled_move(game.P, game.before, game.grown, here, u)
    else:
        arm = here if u < stays else drawn(game.P, (u - stays) / (1.0 - stays))
    game.some[0] = some
    play_round(game, block, arm)


@dataclass(frozen=True)
class ShrinkingDartboard(WithWeights):
    """The shrinking dartboard (Geulen, Vöcking and Winkler, COLT 2010).

    Weights w_i = (1 − β)^{L_i}, L_i the losses of arm i so far. An arm is kept with probability w_i(t)/w_i(t − 1); else
    one is drawn by its weight, perhaps the same. So the arm has the weights' distribution in each round, and is redrawn
    at most −ln(1 − β) times its losses. β = min(½, √(ln K/((1 + λ)T))): the order that their bound requires; the
    constant is ours.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> player = ShrinkingDartboard(2, switching_cost=1.0, horizon=1000).player(seed=0)
    >>> arm = player.ask()
    >>> player.tell(losses=[0.0, 0.0])
    >>> player.ask() == arm
    True
    """

    id = "shrinking-dartboard"
    kernels = Kernels(choose_dartboard, observe_hedge, DartsGame, PlainBlock, params=RateParams, full_information=True)

    def parameters(self) -> RateParams:
        beta = min(0.5, math.sqrt(math.log(self.n_arms) / ((1.0 + self.lam) * self.horizon)))
        return RateParams(-math.log1p(-beta), 0.0)


# Follow the lazy leader: the leader on a grid that was shifted once, at random.

LeaderGame = extended(
    FullInformationState,
    "LeaderGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    L=Annotated[PerArm, Range(0.0, 2.0 * LONGEST)],  # losses so far
    shift=Annotated[PerArm, Probability],  # of the grid, in units of 1/ε
)


class LeaderParams(NamedTuple):
    epsilon: float


@kernel
def choose_leader(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Play the arm with the least coordinate of the grid point in L + [0, 1/ε)^K."""
    arm, least, K = 0, math.inf, game.L.shape[0]
    game.n[0] += 1.0
    if game.n[0] == 1.0:
        for i in range(K):
            game.shift[i, 0] = next_uniform(streams, 0)
    for i in range(K):
        u = game.shift[i, 0]
        point = u - math.floor(u - params.epsilon * game.L[i, 0])
        if point < least and game.shut[i, 0] == 0.0:
            arm, least = i, point
    block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, NOT_KNOWN


@kernel
def observe_leader(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """Add the losses."""
    for i in range(game.L.shape[0]):
        game.known[i, 0], game.shut[i, 0] = losses[i, 0], 0.0
        game.L[i, 0] += losses[i, 0]


@dataclass(frozen=True)
class FollowLazyLeader(WithoutProbabilities, WithHorizon, WithSwitchingCost, FullInformation):
    """Follow the lazy leader (Kalai and Vempala, J. Computer and System Sciences 71, 2005).

    A grid of spacing 1/ε is shifted once, at random. In each round the losses so far lie in one of its cells, shifted
    by up to 1/ε, and the arm that leads there is played: it changes only when the losses reach another cell. The cost
    is at most the best arm's + (1 + λ)εKT + 2/ε on average (their Theorem 1.1 and Lemma 1.2 for R = 1, A = K, D = 2);
    here ε = √(2/((1 + λ)KT)). The probability of its choice is not computed.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, in `units`.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> FollowLazyLeader(2, switching_cost=1.0, horizon=1000).player(seed=0).ask() in (0, 1)
    True
    """

    id = "lazy-leader"
    kernels = Kernels(choose_leader, observe_leader, LeaderGame, PlainBlock, params=LeaderParams, full_information=True)

    def parameters(self) -> LeaderParams:
        return LeaderParams(math.sqrt(2.0 / ((1.0 + self.lam) * self.n_arms * self.horizon)))


# Follow the leader after a random walk.

WalkGame = extended(
    FullInformationState,
    "WalkGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    L=Annotated[PerArm, Range(-2.0 * LONGEST, 2.0 * LONGEST)],  # losses so far and the steps of the walk
)


@kernel
def choose_walk(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Move every arm's sum by ±½ and play the arm with the least sum; on ties the first."""
    arm, least = 0, math.inf
    game.n[0] += 1.0
    for i in range(game.L.shape[0]):
        game.L[i, 0] += 0.5 if next_uniform(streams, 0) < 0.5 else -0.5
        if game.L[i, 0] < least and game.shut[i, 0] == 0.0:
            arm, least = i, game.L[i, 0]
    block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, NOT_KNOWN


@dataclass(frozen=True)
class RandomWalkPerturbation(WithoutProbabilities, FullInformation):
    """Prediction by random-walk perturbation (Devroye, Lugosi and Neu, COLT 2013).

    Follows the arm whose losses so far, plus a symmetric random walk with steps of ±½, are least. Regret and number of
    switches are both O(√(T ln K)) on average, for any T. It knows neither T nor the switching cost. The probability of
    its choice is not computed.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> RandomWalkPerturbation(2).player(seed=0).ask() in (0, 1)
    True
    """

    id = "random-walk"
    kernels = Kernels(choose_walk, observe_leader, WalkGame, PlainBlock, full_information=True)


# A threshold rule: move when another arm was cheaper by a share of the switching cost.


@dataclass(frozen=True)
class Threshold(ExpertMixture):
    """Move to the arm that was cheapest in the last round if it was cheaper by more than λ/m.

    The rule people write by hand: it assumes that differences last for m rounds. Ours, without a source. The expert
    `holdfast.experts.Smoothed` with weight 1 and horizon m, played alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    rounds
        m, the rounds within which a switch must pay off.
    stale
        Rounds for which the last known loss replaces a missing one.

    Examples
    --------
    >>> player = Threshold(2, switching_cost=0.5, rounds=10).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell([0.3, 0.2])
    >>> player.ask()
    1
    """

    id = "threshold"
    deterministic = True

    rounds: int = field(default=HORIZON, kw_only=True, metadata=whole(least=1, most=10**9))

    @property
    def mixed(self) -> tuple[Expert, ...]:
        return (Smoothed(1.0, self.rounds),)


# The work function algorithm alone.


@dataclass(frozen=True)
class WorkFunctionAlone(ExpertMixture):
    """The work function algorithm (Borodin, Linial and Saks, J. ACM 39, 1992), under full information.

    Moves when the cheapest plan so far that ends on its arm is as cheap via another. At most 2K − 1 times the
    best plan in hindsight if a round's losses are seen before it; here they are seen after it, and (K − 1)/λ is
    added to that (`bounds.work_function_cost`). The expert `holdfast.experts.WorkFunction`, played alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    scale
        Factor on the switching cost it plays by: above 1 it moves later.
    stale
        Rounds for which the last known loss replaces a missing one.

    Examples
    --------
    >>> player = WorkFunctionAlone(2, switching_cost=0.5).player(seed=1)
    >>> for losses in ([0.9, 0.1], [0.9, 0.1]):
    ...     arm = player.ask()
    ...     player.tell(losses)
    >>> player.ask()
    1
    """

    id = "work-function"
    deterministic = True

    scale: float = field(default=1.0, kw_only=True, metadata=real(above=0, most=1e9))

    @property
    def mixed(self) -> tuple[Expert, ...]:
        return (WorkFunction(self.scale),)


# Planning on a forecast alone.


@dataclass(frozen=True)
class ForecastPlan(ExpertMixture):
    """Plan on a forecast and trust it: play the first step of the cheapest plan, and plan again in the next round.

    Receding-horizon control, as in Lin, Liu, Wierman and Andrew, IGCC 2012. The forecast is the one that
    ``ask(forecast=...)`` gives, corrected by how wrong it just was; or, with `period`, the mean of each phase of it.
    Nothing protects it from a wrong forecast. The expert `holdfast.experts.GivenForecast` or `SeasonalPlan`, alone.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, or a table with a cost for each pair of arms, in `units`; or ``"announced"``.
    period
        Rounds of a period, to plan on the mean of each phase instead of on given forecasts.
    forecast_rounds
        The most rounds of a given forecast that are used. Without forecasts it stays where it is.
    stale
        Rounds for which the last known loss replaces a missing one.

    Examples
    --------
    >>> player = ForecastPlan(2, switching_cost=0.5).player(seed=1)
    >>> player.ask(forecast=[[0.9, 0.1], [0.8, 0.2]])
    1
    """

    id = "forecast-plan"
    deterministic = True

    period: int | None = field(default=None, kw_only=True)
    forecast_rounds: int = field(default=48, kw_only=True, metadata=whole(least=0, most=LONGEST_PERIOD))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period is not None:
            self._set("period", SeasonalPlan(self.period).period)
        elif self.forecast_rounds == 0:
            raise InvalidParameter("forecast_rounds", "must be at least 1, unless a period is given", 0)

    @property
    def forecast_rows(self) -> int:
        return self.forecast_rounds if self.period is None else 0

    @property
    def mixed(self) -> tuple[Expert, ...]:
        return (GivenForecast(self.forecast_rounds) if self.period is None else SeasonalPlan(self.period, 0.15),)
