"""Thompson sampling: the arm that is best in one sample of what is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.policies.averages import (
    AverageState,
    CautiousParams,
    WithCooldown,
    begin_with_cooldown,
    observe,
)
from holdfast.policies.policy import NOT_KNOWN, Kernels, PlainBlock, WithoutProbabilities
from holdfast.variates import beta


@kernel
def believed(state: Any, arm: int, stream: Any) -> float:
    """A draw from Beta(1 + C, 1 + N − C), the belief about the mean loss of an arm."""
    C = state.C[arm, 0]
    return beta(1.0 + C, 1.0 + max(state.N[arm, 0] - C, 0.0), stream)


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """A sample for each arm, and the arm of the least; the last, unless that is lower than its own by the threshold."""
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
    Made for independent losses; it knows nothing of switching costs. `cooldown` and `threshold` are what people add by
    hand: ours, without a source. A loss that comes late counts when it comes.

    The probability of its choice is not known: `Player.probability` and `Player.probabilities` raise an error.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    cooldown
        Rounds for which an arm is held after each switch to it.
    threshold
        By how much the sample of another arm must be lower than that of the last before it is switched to, in `units`.

    Examples
    --------
    >>> ThompsonSampling(3).player(seed=1).ask() in (0, 1, 2)
    True
    """

    id: ClassVar[str] = "thompson"
    kernels = Kernels(choose, observe, AverageState, PlainBlock, params=CautiousParams)
