"""Exponential weights over the arms with a fixed rate, drawn lazily; and what other policies with weights share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.layouts import Array, NonNegative, PerArm, Probability, Range, Scalar, ScratchPerArm, Whole, extended
from holdfast.policies.coupling import coupled_move
from holdfast.policies.policy import (
    AllSeen,
    Kernels,
    PlainBlock,
    WithAllLosses,
    WithHorizon,
    WithSwitchingCost,
    must_be,
)
from holdfast.rng import next_uniform
from holdfast.simplex import exp_of_negative

WeightsGame = extended(
    AllSeen,
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
    """The parameters."""

    eta: float
    share: float  # of the weights that is spread evenly in each round


@kernel
def begin_round(game: Any) -> int:
    """The weights of available arms into `P`, those of the last round into `before`; returns the last arm, −1 at first.

    Where all these weights have vanished, the arms are equally likely.
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
    """A block of one round of this arm."""
    game.last[0] = arm + 1.0
    block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, min(game.P[arm, 0], 1.0)


@kernel
def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """The arm of the weights' distribution that changes as rarely as they allow."""
    here = begin_round(game)
    play_round(game, block, coupled_move(game.P, game.before, game.grown, here, next_uniform(streams, 0)))


@kernel
def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """w ∝ exp(−ηC)."""
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
class WithWeights(WithHorizon, WithSwitchingCost, WithAllLosses):
    """A policy that sees all losses, knows T, and draws its arms from weights."""

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """The weights of this round."""
        return np.array(state.P)

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have come to."""
        if state["n"] == 0:
            return
        must_be(state["last"] > 0, "last must be an arm")
        for name in ("P",) if state["n"] == 1 and block is not None else ("P", "w"):
            must_be(abs(sum(state[name]) - 1.0) < 1e-9, f"{name} must be weights")


@dataclass(frozen=True)
class LazyHedge(WithWeights):
    """Hedge over the arms with the textbook rate, drawn so that the arm changes as rarely as the weights allow.

    p_i ∝ exp(−ηL_i) with L_i the losses of arm i so far (Freund and Schapire 1997). The rate that is best for T rounds
    without switching costs is √(8 ln K/T) (Cesa-Bianchi and Lugosi 2006, Theorem 2.2). A round moves at most η/4 of the
    weights, so that the expected cost is at most the best arm's + λ + ln K/η + ηT(1 + 2λ)/8; here η = √(8 ln K/((1 +
    2λ)T)), which makes that λ + √((1 + 2λ)T ln K/2). It follows the best fixed arm, never a change.

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

    id: ClassVar[str] = "lazy-hedge"
    kernels = Kernels(choose, observe, WeightsGame, PlainBlock, params=RateParams, sees="all")

    def parameters(self) -> RateParams:
        """The rate."""
        return RateParams(math.sqrt(8.0 * math.log(self.n_arms) / ((1.0 + 2.0 * self.lam) * self.horizon)), 0.0)
