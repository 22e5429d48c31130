"""UCB1, and following the leader: the arm of the least average loss, with or without the benefit of the doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from holdfast._numba.compile import kernel
from holdfast.checks import real
from holdfast.policies.averages import (
    UNTOLD,
    AverageState,
    CautiousParams,
    WithCooldown,
    begin_with_cooldown,
    observe,
)
from holdfast.policies.policy import Kernels, PlainBlock


@kernel
def index(state: Any, arm: int, doubt: float) -> float:
    """The mean loss of an arm less √(c ln t/N), `doubt` being c ln t."""
    N = state.N[arm, 0]
    return state.C[arm, 0] / N - math.sqrt(doubt / N) if N > 0.0 else UNTOLD


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Each arm once, then the arm of the least index; of several the last arm, or else the first."""
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


KERNELS = Kernels(choose, observe, AverageState, PlainBlock, params=CautiousParams)
"""One game at a time: the lengths of its blocks depend on what was lost."""


@dataclass(frozen=True)
class Ucb1(WithCooldown):
    """UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002) for losses.

    Plays each arm once, then the arm with the least mean loss − √(2 ln t/N_i): N_i rounds of it are known, t of all.
    Made for independent losses, where its regret is O(ln T Σ 1/Δ_i); it knows nothing of switching costs, and has no
    guarantee where the losses change. `cooldown` and `threshold` are what people add by hand: ours, without a source.

    A loss that comes late counts when it comes; until then an arm whose first loss is out is thought the best.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    exploration
        c in √(c ln t/N_i): 2 in the paper.
    cooldown
        Rounds for which an arm is held after each switch to it, the first rounds of each arm included.
    threshold
        By how much the index of another arm must be lower than that of the last before it is switched to, in `units`.

    Examples
    --------
    >>> Ucb1(3, cooldown=10).player(seed=1).ask()
    0
    """

    id: ClassVar[str] = "ucb1"
    kernels = KERNELS
    deterministic: ClassVar[bool] = True

    exploration: float = field(default=2.0, kw_only=True, metadata=real(least=0))

    def parameters(self) -> CautiousParams:
        """With exploration."""
        return super().parameters()._replace(exploration=self.exploration)


@dataclass(frozen=True)
class FollowTheLeader(WithCooldown):
    """The arm whose mean loss has been least so far, after one turn of each: what one does without thinking.

    It has no guarantee: the arm that was unlucky in its first rounds is not looked at again.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    cooldown
        Rounds for which an arm is held after each switch to it, the first turns included.
    threshold
        By how much the mean of another arm must be lower before it is switched to, in `units`.

    Examples
    --------
    >>> FollowTheLeader(3, cooldown=5).player(seed=1).ask()
    0
    """

    id: ClassVar[str] = "follow-the-leader"
    kernels = KERNELS  # UCB1's
    deterministic: ClassVar[bool] = True
