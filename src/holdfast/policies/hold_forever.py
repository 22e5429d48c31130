"""One arm for ever: what every policy should be compared with where switching is expensive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.layouts import ArmIndex, Array, Scalar, Whole
from holdfast.policies.policy import Kernels, PlainBlock, Policy, has_begun, must_be
from holdfast.rng import next_uniform


class HoldState(NamedTuple):
    """A game."""

    n: Annotated[Scalar, Whole]  # blocks begun
    arm: Annotated[Scalar, ArmIndex]


class HoldParams(NamedTuple):
    """Of the first draw."""

    n_arms: float


@kernel
def choose(params: Any, state: Any, announced: float, streams: Any, block: Any) -> None:
    """Draw the arm at the first block; blocks of 1, 2, 3, … rounds, so that there are few."""
    K = int(params.n_arms)
    for g in range(state.arm.shape[0]):
        if state.n[0] == 0.0:
            state.arm[g] = float(int(next_uniform(streams, g) * K))
            block.probability[g] = 1.0 / K
        else:
            block.probability[g] = 1.0
        block.arm[g] = state.arm[g]
    state.n[0] += 1.0
    block.rounds[0] = state.n[0]


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Learn nothing."""


@dataclass(frozen=True)
class HoldForever(Policy):
    """One arm, drawn uniformly, and never another: one switch, and the regret of an arm taken at random.

    Its first arm has probability 1/K, every later block is certain. Blocks grow, since nothing hangs on them.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.

    Examples
    --------
    >>> player = HoldForever(3).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(1.0)
    >>> player.ask() == arm
    True
    """

    id: ClassVar[str] = "hold-forever"
    kernels = Kernels(choose, observe, HoldState, PlainBlock, side_by_side=True, params=HoldParams)

    def parameters(self) -> HoldParams:
        """K."""
        return HoldParams(float(self.n_arms))

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """Uniform at the first block, then all on the arm."""
        if state.n[0] == 1.0:
            return np.full(self.n_arms, 1.0 / self.n_arms)
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        if has_begun(state) and block is not None:
            must_be(block["arm"] == state["arm"], "the arm must be the one that is held")
