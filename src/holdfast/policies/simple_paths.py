"""Paths that follow no plan: a fixed arm, the work function, smoothed losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import real, whole
from holdfast.layouts import PerArm
from holdfast.policies.path import HORIZON, Path, PathKernels, cheapest_move, price

STEADY = 1e-12
"""Work functions are compared up to this, since a table of costs is added and taken away again."""


@kernel
def learn_nothing(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """For a path that keeps nothing."""


class Nothing(NamedTuple):
    """For a path that keeps nothing."""


@kernel
def stand(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Its one arm."""
    return int(own[0])


@dataclass(frozen=True)
class FixedArm(Path):
    """Always the same arm. While that is not available the stand-in of all paths, and back."""

    id: ClassVar[str] = "fixed-arm"
    arm: int = field(default=0, metadata=whole(least=0))

    @property
    def kernels(self) -> PathKernels:
        """Nothing to learn."""
        return PathKernels(stand, learn_nothing, Nothing)

    def own(self) -> Sequence[float]:
        """The arm."""
        return (float(self.arm),)


class WorkMemory(NamedTuple):
    """The work function: what the cheapest plan so far costs that ends on each arm, less the least of these."""

    w: PerArm


@kernel
def step_work(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Move when the plan that ends here is as cheap by way of another arm; to the arm whose own plan is cheapest."""
    if here < 0:
        return 0
    w, K, scale, least_toll = memory.w, memory.w.shape[0], own[0], own[1]
    forced = game.shut[here, 0] > 0.0
    arm, least = here, math.inf
    for i in range(K):
        if i != here and game.shut[i, 0] == 0.0 and w[i, 0] < least:
            toll = max(scale * price(game, costs, i, here), least_toll)
            if forced or (toll > 0.0 and w[here, 0] + STEADY >= w[i, 0] + toll):
                arm, least = i, w[i, 0]
    return arm


@kernel
def learn_work(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """w ← w + ℓ, then each arm by way of the cheapest other; min w ← 0."""
    w, K, scale, least_toll = memory.w, memory.w.shape[0], own[0], own[1]
    least = math.inf
    for i in range(K):
        w[i, 0] += losses[i, 0]
        least = min(least, w[i, 0])
    if costs.shape[0] == 0:
        most = max(scale * game.lam[0], least_toll)
        for i in range(K):
            w[i, 0] = min(w[i, 0] - least, most)
        return
    for i in range(K):
        w[i, 0] -= least
        game.other[i, 0] = w[i, 0]
    for i in range(K):
        for j in range(K):
            if j != i:
                w[i, 0] = min(w[i, 0], game.other[j, 0] + max(scale * costs[j * K + i], least_toll))


@dataclass(frozen=True)
class WorkFunction(Path):
    """The work function algorithm (Borodin, Linial and Saks, J. ACM 39, 1992), at `scale` times the switching cost.

    w(i) is what the cheapest plan so far costs that ends on arm i. The path moves when the plan that ends on its own
    arm is as cheap by way of another. A scale above 1 moves later; so does `least`, below which no switch is thought to
    cost: where losses are noisy, a path that moves for a small λ follows the noise.
    """

    id: ClassVar[str] = "work-function"
    scale: float = field(default=1.0, metadata=real(above=0, most=1e9))
    least: float = field(default=0.0, metadata=real(least=0, most=1e9))

    @property
    def kernels(self) -> PathKernels:
        """One number for each arm."""
        return PathKernels(step_work, learn_work, WorkMemory)

    def own(self) -> Sequence[float]:
        """The scale and the least cost, both for losses from 0 to 1."""
        return (self.scale, self.least)


class SmoothedMemory(NamedTuple):
    """Smoothed losses."""

    mean: PerArm


@kernel
def step_smoothed(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Losses that stay as they are need no programme: stay for the horizon, or move once, now."""
    if here < 0:
        return 0
    for i in range(memory.mean.shape[0]):
        game.value[i, 0] = own[1] * memory.mean[i, 0]
    return cheapest_move(game, costs, game.value, here)


@kernel
def learn_smoothed(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """The plain mean of the first rounds, then a moving one."""
    weight = max(own[0], 1.0 / game.n[0])
    for i in range(memory.mean.shape[0]):
        memory.mean[i, 0] += weight * (losses[i, 0] - memory.mean[i, 0])


@dataclass(frozen=True)
class Smoothed(Path):
    """Plans as if every arm went on losing its smoothed loss: moves when that saves more than the switch in `horizon`.

    Parameters
    ----------
    weight
        Weight of the last loss in the moving mean: 1 looks at the last loss alone.
    horizon
        Rounds over which a difference counts.
    """

    id: ClassVar[str] = "smoothed"
    weight: float = field(default=1.0, metadata=real(above=0, most=1))
    horizon: int = field(default=HORIZON, metadata=whole(least=1, most=10**9))

    @property
    def kernels(self) -> PathKernels:
        """One number for each arm."""
        return PathKernels(step_smoothed, learn_smoothed, SmoothedMemory)

    def own(self) -> Sequence[float]:
        """Weight and horizon."""
        return self.weight, float(self.horizon)
