"""TS2: Thompson sampling in the epochs of UCB2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.policies.averages import begin, observe
from holdfast.policies.policy import NOT_KNOWN, Kernels, PlainBlock, WithoutProbabilities
from holdfast.policies.thompson import believed
from holdfast.policies.ucb2 import EpochParams, EpochState, InEpochs, epoch


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A sample for each arm; the arm of the least is held for its next epoch."""
    state.n[0] += 1.0
    arm, least = 0, 2.0
    for i in range(state.C.shape[0]):
        value = believed(state, i, streams[:, 0])
        if value < least:
            arm, least = i, value
    begin(state, block, arm, epoch(params, state, arm), NOT_KNOWN)


@dataclass(frozen=True)
class BatchedThompson(WithoutProbabilities, InEpochs):
    """Thompson sampling that draws once for an epoch of UCB2 instead of once a round: TS2.

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

    id: ClassVar[str] = "ts2"
    kernels = Kernels(choose, observe, EpochState, PlainBlock, params=EpochParams)
