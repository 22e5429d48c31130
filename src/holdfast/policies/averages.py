"""What the policies that follow average losses share: sums and counts per arm, and caution about switching.

A block tells them only what it lost and over how many rounds, so blocks may be observed late and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import real_number, whole_number
from holdfast.layouts import Array, PerArm, Scalar
from holdfast.policies.policy import Mask, Policy, must_be
from holdfast.schedules import LONGEST

COOLDOWN, THRESHOLD = range(2)
"""Places in `params` of those who hesitate."""

UNTOLD = -1e300
"""The index of an arm that no loss is known of: better than any other."""


class AverageState(NamedTuple):
    """A game."""

    n: Scalar  # blocks begun
    C: PerArm  # total loss of each arm
    N: PerArm  # rounds told of each arm
    played: Scalar  # rounds told
    last: Scalar  # one more than the arm of the last block; 0 before the first


class AverageBlock(NamedTuple):
    """A block."""

    arm: Scalar
    rounds: Scalar
    probability: Scalar


@kernel
def begin(state: Any, block: Any, arm: int, rounds: float, probability: float) -> None:
    """The block of `arm`."""
    block.arm[0], block.rounds[0], block.probability[0] = float(arm), rounds, probability
    state.last[0] = arm + 1.0


@kernel
def begin_with_cooldown(params: Any, state: Any, block: Any, arm: int, probability: float) -> None:
    """A block of `params[COOLDOWN]` rounds where it is a switch, else of one."""
    switch = state.last[0] != arm + 1.0
    begin(state, block, arm, params[COOLDOWN] if switch else 1.0, probability)


@kernel
def observe(params: Any, state: Any, block: Any, totals: Any, rounds: float) -> None:
    """Add to the sums of the arm."""
    arm = int(block.arm[0])
    state.C[arm, 0] += totals[0]
    state.N[arm, 0] += rounds
    state.played[0] += rounds


class Averaging(Policy):
    """A policy that keeps the total loss and the rounds of each arm."""

    def probabilities(self, params: Array, state: Any, block: Any) -> Array:
        """All on the block's arm: it was not drawn."""
        p = np.zeros(self.n_arms)
        p[int(block.arm[0])] = 1.0
        return p

    def next_best(self, params: Array, state: Any, block: Any, out: Mask) -> int:
        """The arm of the least mean loss among the others; one that no loss is known of comes first."""
        means = np.where(state.N > 0.0, state.C / np.maximum(state.N, 1.0), UNTOLD)
        return int(np.where(out, np.inf, means).argmin())

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have come to."""
        if state["n"] == 0:
            must_be(not any(np.any(values) for values in state.values()), "a game that has not begun is all zeros")
            return
        C, N = np.array(state["C"]), np.array(state["N"])
        must_be(bool((N >= 0.0).all() and (N <= LONGEST).all() and (np.floor(N) == N).all()), "N must be whole")
        must_be(bool((C >= 0.0).all() and (C <= N * (1 + 1e-9)).all()), "C must be the losses of N rounds")
        must_be(state["played"] == N.sum() <= LONGEST, "played must be the sum of N")
        last = state["last"]
        must_be(1 <= last <= self.n_arms and last == int(last), "last must be one more than an arm")
        if block is not None:
            must_be(block["arm"] == last - 1, "the arm must be the last")


@dataclass(frozen=True)
class Hesitant(Averaging):
    """One that may be told to hesitate before a switch and to rest after it, as practitioners do by hand."""

    cooldown: int = field(default=1, kw_only=True)
    """Rounds for which an arm is held after each switch to it."""
    threshold: float = field(default=0.0, kw_only=True)
    """By how much another arm must be better before it is switched to, in the units of `loss_range`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("cooldown", whole_number("cooldown", self.cooldown, least=1, most=int(LONGEST)))
        self._set("threshold", real_number("threshold", self.threshold, least=0))

    @property
    def label(self) -> str:
        """The id, and how it hesitates."""
        cooldown = f"-cooldown-{self.cooldown}" if self.cooldown > 1 else ""
        return self.id + cooldown + (f"-threshold-{self.threshold:g}" if self.threshold else "")

    def parameters(self, horizon: float | None = None, blocks: int = 64) -> Array:
        """As the kernels take them."""
        return np.array([float(self.cooldown), self.threshold / self.unit])
