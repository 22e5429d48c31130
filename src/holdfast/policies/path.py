"""Paths: simple strategies that see the losses of all arms, for a policy that mixes them.

A path stands on one arm in each round. Two kernels play it:

    step(own, memory, game, costs, here)      the arm to stand on in this round; `here` is the last one, −1 at first
    learn(own, memory, game, costs, losses)   what every arm lost in this round, each from 0 to 1

`own` are the path's settings as an array, `memory` what it keeps between rounds, by the names that it declares, and
`game` what all paths of a game may read:

    game.n[0]                    the round, from 1
    game.lam[0]                  what a switch costs in this round; with a table of costs, the largest entry
    game.known[i, 0]             what arm i lost in the last round
    game.shut[i, 0]              1 where arm i is not available in this round, otherwise 0
    game.closed[h * K + i, 0]    the same h rounds ahead, for h below game.closed_rows[0]
    game.forecast[r * K + i, 0]  the forecast for h rounds ahead in row r = game.first[0] + h, below game.rows[0]

`price(game, costs, a, b)` is what going from arm a to arm b costs now. A path that returns an arm that is not available
is put on another one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import address_of, check_fields
from holdfast.layouts import Layout, layout_of
from holdfast.policies.policy import Kernel

LONGEST_PERIOD = 100_000

HORIZON = 24
"""Rounds that a smoothed mean is thought to last."""


class PathKernels(NamedTuple):
    """All that is needed to play a path, apart from its settings."""

    step: Kernel
    learn: Kernel
    memory: type
    """A NamedTuple of what it keeps between rounds."""
    look_ahead: int = 0
    """Rounds that it plans; 0 for a path that does not use `first_step`."""

    @property
    def layout(self) -> Layout:
        """Where its numbers lie."""
        return layout_of(self.memory)


@dataclass(frozen=True)
class Path(ABC):
    """A strategy that stands on one arm in each round. Its fields are its settings."""

    id: ClassVar[str]
    """Its name in a saved game."""

    @property
    @abstractmethod
    def kernels(self) -> PathKernels:
        """What plays it."""

    def own(self) -> Sequence[float]:
        """The settings as its kernels read them."""
        return ()

    def sizes(self) -> Mapping[str, int]:
        """The numbers that `holdfast.kernels.several` names in its memory."""
        return {}

    @property
    def layout(self) -> Layout:
        """Where its memory lies."""
        return self.kernels.layout.of_size(self.sizes())

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, enough to make this path again."""
        return {"path": address_of(self)} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __post_init__(self) -> None:
        check_fields(self)


@kernel
def price(game: Any, costs: Any, origin: int, arm: int) -> float:
    """What going from arm `origin` to `arm` costs in this round; `origin` is −1 before the first round."""
    if origin == arm:
        return 0.0
    if costs.shape[0] == 0:
        return float(game.lam[0])
    return float(costs[origin * game.known.shape[0] + arm]) if origin >= 0 else 0.0


@kernel
def cheapest_move(game: Any, costs: Any, value: Any, here: int) -> int:
    """The arm of the least `value` plus the price of going there; rather `here` than another."""
    arm = here
    least = math.inf if here < 0 or game.shut[here, 0] > 0.0 else value[here, 0]
    for i in range(value.shape[0]):
        if i != here and game.shut[i, 0] == 0.0:
            total = value[i, 0] + price(game, costs, here, i)
            if total < least:
                arm, least = i, total
    return arm


@kernel
def first_step(game: Any, costs: Any, rounds: int, here: int) -> int:
    """The first arm of the cheapest plan over `rounds` rows of losses in ``game.ahead``, by dynamic programming.

    value(i) is the cheapest cost from round h on for who stands on arm i then.
    """
    K = game.value.shape[0]
    value, other = game.value, game.other
    for i in range(K):
        value[i, 0] = 0.0
    for h in range(rounds - 1, -1, -1):
        shut = h > 0 and h < game.closed_rows[0]
        least = math.inf
        for i in range(K):
            value[i, 0] += game.ahead[h * K + i, 0]
            if shut and game.closed[h * K + i, 0] > 0.0:
                value[i, 0] = math.inf
            least = min(least, value[i, 0])
        if h > 0 and costs.shape[0] == 0:
            least += game.lam[0]
            for i in range(K):
                value[i, 0] = min(value[i, 0], least)
        elif h > 0:
            for i in range(K):
                other[i, 0] = value[i, 0]
            for i in range(K):
                for j in range(K):
                    value[i, 0] = min(value[i, 0], other[j, 0] + costs[i * K + j])
    return cheapest_move(game, costs, value, here)
