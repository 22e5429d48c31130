"""Follow the leader after a random walk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.layouts import PerArm, Range, Scalar, Whole, extended
from holdfast.policies.lazy_leader import observe
from holdfast.policies.policy import NOT_KNOWN, AllSeen, Kernels, PlainBlock, WithAllLosses, WithoutProbabilities
from holdfast.rng import next_uniform
from holdfast.schedules import LONGEST

WalkGame = extended(
    AllSeen,
    "WalkGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    L=Annotated[PerArm, Range(-2.0 * LONGEST, 2.0 * LONGEST)],  # losses so far and the steps of the walk
)


@kernel
def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
    """Every arm's sum takes a step of ±½; the arm of the least sum, of several the first."""
    arm, least = 0, math.inf
    game.n[0] += 1.0
    for i in range(game.L.shape[0]):
        game.L[i, 0] += 0.5 if next_uniform(streams, 0) < 0.5 else -0.5
        if game.L[i, 0] < least and game.shut[i, 0] == 0.0:
            arm, least = i, game.L[i, 0]
    block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, NOT_KNOWN


@dataclass(frozen=True)
class RandomWalkPerturbation(WithoutProbabilities, WithAllLosses):
    """Prediction by random-walk perturbation (Devroye, Lugosi and Neu, COLT 2013).

    Follows the arm whose losses so far, plus a symmetric random walk with steps of ±½, are least. Regret and number of
    switches are both O(√(T ln K)) on average, for any T. It knows neither T nor the switching cost. The probability of
    its choice is not worked out.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> RandomWalkPerturbation(2).player(seed=0).ask() in (0, 1)
    True
    """

    id: ClassVar[str] = "random-walk"
    kernels = Kernels(choose, observe, WalkGame, PlainBlock, sees="all")
