"""The shrinking dartboard: weighted majority that keeps its arm while the arm keeps its weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.layouts import Flag, Scalar, extended
from holdfast.policies.coupling import coupled_move, drawn
from holdfast.policies.lazy_hedge import (
    RateParams,
    WeightsGame,
    WithWeights,
    begin_round,
    observe,
    play_round,
)
from holdfast.policies.policy import Kernels, PlainBlock
from holdfast.rng import next_uniform

DartsGame = extended(WeightsGame, "DartsGame", __name__, some=Annotated[Scalar, Flag])
"""Beside the weights: whether some arm was not available in the last round."""


@kernel
def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Stay with probability (1 − β)^ℓ for the last loss ℓ of the arm, else draw any arm by its weight.

    Where arms are not available, or have just become so, weights change otherwise than by losses: then lazily.
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
    one is drawn by its weight, perhaps the same. So the arm has the weights' distribution in each round, and is drawn
    anew at most −ln(1 − β) times its losses. β = min(½, √(ln K/((1 + λ)T))): the order that their bound asks for; the
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

    id: ClassVar[str] = "shrinking-dartboard"
    kernels = Kernels(choose, observe, DartsGame, PlainBlock, params=RateParams, sees="all")

    def parameters(self) -> RateParams:
        """−ln(1 − β)."""
        beta = min(0.5, math.sqrt(math.log(self.n_arms) / ((1.0 + self.lam) * self.horizon)))
        return RateParams(-math.log1p(-beta), 0.0)
