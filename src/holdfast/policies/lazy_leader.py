"""Follow the lazy leader: the leader on a grid that was shifted once, at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.layouts import PerArm, Probability, Range, Scalar, Whole, extended
from holdfast.policies.policy import (
    NOT_KNOWN,
    AllSeen,
    Kernels,
    PlainBlock,
    WithAllLosses,
    WithHorizon,
    WithoutProbabilities,
    WithSwitchingCost,
)
from holdfast.rng import next_uniform
from holdfast.schedules import LONGEST

LeaderGame = extended(
    AllSeen,
    "LeaderGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    L=Annotated[PerArm, Range(0.0, 2.0 * LONGEST)],  # losses so far
    shift=Annotated[PerArm, Probability],  # of the grid, in units of 1/ε
)


class LeaderParams(NamedTuple):
    """The parameters."""

    epsilon: float


@kernel
def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """The arm of the least coordinate of the grid point in L + [0, 1/ε)^K."""
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
def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
    """Add the losses."""
    for i in range(game.L.shape[0]):
        game.known[i, 0], game.shut[i, 0] = losses[i, 0], 0.0
        game.L[i, 0] += losses[i, 0]


@dataclass(frozen=True)
class FollowLazyLeader(WithoutProbabilities, WithHorizon, WithSwitchingCost, WithAllLosses):
    """Follow the lazy leader (Kalai and Vempala, J. Computer and System Sciences 71, 2005).

    A grid of spacing 1/ε is shifted once, at random. In each round the losses so far lie in one of its cells, shifted
    by up to 1/ε, and the arm that leads there is played: it changes only when the losses reach another cell. The cost
    is at most the best arm's + (1 + λ)εKT + 2/ε on average (their Theorem 1.1 and Lemma 1.2 for R = 1, A = K, D = 2);
    here ε = √(2/((1 + λ)KT)). The probability of its choice is not worked out.

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

    id: ClassVar[str] = "lazy-leader"
    kernels = Kernels(choose, observe, LeaderGame, PlainBlock, params=LeaderParams, sees="all")

    def parameters(self) -> LeaderParams:
        """ε."""
        return LeaderParams(math.sqrt(2.0 / ((1.0 + self.lam) * self.n_arms * self.horizon)))
