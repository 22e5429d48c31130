"""What the policies that follow average losses share: sums and counts per arm, and caution about switching.

A block tells them only what it lost and over how many rounds, so blocks may be observed late and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real, whole
from holdfast.layouts import Array, NonNegative, PerArm, Range, Scalar, Whole
from holdfast.policies.policy import Mask, Policy, has_begun, must_be
from holdfast.schedules import LONGEST

UNTOLD = -1e300
"""The index of an arm that no loss is known of: better than any other."""


class AverageState(NamedTuple):
    """A game."""

    n: Annotated[Scalar, Whole]  # blocks begun
    C: Annotated[PerArm, NonNegative]  # total loss of each arm
    N: Annotated[PerArm, Whole]  # rounds told of each arm
    played: Annotated[Scalar, Whole]  # rounds told
    last: Annotated[Scalar, Range(1.0, whole=True, arms=0)]  # one more than the arm of the last block


class CautiousParams(NamedTuple):
    """Of policies with a threshold before a switch, a cooldown after it, and exploration."""

    cooldown: float
    threshold: float
    exploration: float


@kernel
def begin(state: Any, block: Any, arm: int, rounds: float, probability: float) -> None:
    """The block of `arm`."""
    block.arm[0], block.rounds[0], block.probability[0] = float(arm), rounds, probability
    state.last[0] = arm + 1.0


@kernel
def begin_with_cooldown(params: Any, state: Any, block: Any, arm: int, probability: float) -> None:
    """A block of `params.cooldown` rounds where it is a switch, else of one."""
    switch = state.last[0] != arm + 1.0
    begin(state, block, arm, params.cooldown if switch else 1.0, probability)


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add to the sums of the arm."""
    arm = int(block.arm[0])
    state.C[arm, 0] += totals[0]
    state.N[arm, 0] += rounds
    state.played[0] += rounds


class Averaging(Policy):
    """A policy that keeps the total loss and the rounds of each arm."""

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """All on the block's arm: it was not drawn."""
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p

    def next_best(self, params: Array, state: Any, block: Any, out: Mask) -> int:
        """The arm of the least mean loss among the others; one that no loss is known of comes first."""
        means = np.where(state.N > 0.0, state.C / np.maximum(state.N, 1.0), UNTOLD)
        return int(np.where(out, np.inf, means).argmin())

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have reached."""
        if has_begun(state):
            C, N = np.array(state["C"]), np.array(state["N"])
            must_be(bool((C <= N * (1 + 1e-9)).all()), "C must be the losses of N rounds")
            must_be(state["played"] == N.sum(), "played must be the sum of N")
            must_be(block is None or block["arm"] == state["last"] - 1, "the arm must be the last")


@dataclass(frozen=True)
class WithCooldown(Averaging):
    """One with a threshold before a switch and a cooldown after it, as practitioners add by hand."""

    cooldown: int = field(default=1, kw_only=True, metadata=whole(least=1, most=int(LONGEST)))
    """Rounds for which an arm is held after each switch to it."""
    threshold: float = field(default=0.0, kw_only=True, metadata=real(least=0))
    """By how much another arm must be better before it is switched to, in `units`."""

    @property
    def label(self) -> str:
        """The id, with cooldown and threshold."""
        cooldown = f"-cooldown-{self.cooldown}" if self.cooldown > 1 else ""
        return self.id + cooldown + (f"-threshold-{self.threshold:g}" if self.threshold else "")

    def parameters(self) -> CautiousParams:
        """Without exploration."""
        return CautiousParams(float(self.cooldown), self.threshold / self.unit, exploration=0.0)
