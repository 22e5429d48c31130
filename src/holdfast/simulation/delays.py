"""Losses that come late, or never: what `simulate(delay=...)` takes, and the blocks that wait for theirs.

A block is observed when all its losses are known, at the beginning of the next block; blocks that are complete in the
same round in the order in which they were begun. A game keeps those that wait in a ring of numbers, sorted by the round
in which they are complete:

    first, count, then for each block: the round, its total, the rounds it counts, and the numbers of the block
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import among, check_fields, real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.numerics.random import next_uniform

DELAYS = "environment/delay"
"""The name of the stream that delays are drawn from: two numbers a round, so all policies meet the same ones."""

LONGEST_DELAY = 10**5
HEAD, BEFORE_BLOCK = 2, 3
MISSING = ("highest", "drop")


@dataclass(frozen=True)
class Delay:
    """The loss of a round is known `least` to `most` rounds late, each number equally likely; or it never comes.

    0 is no delay: a loss is known before the next round. A lost one is given up after `most` rounds. All three may
    differ between arms: a list with a number for each.

    Parameters
    ----------
    least, most
        The delay in rounds; `most` is `least` unless given.
    lost
        The probability that a loss never comes.
    missing
        Stand-in for a lost loss: ``"highest"``, the highest there is, or ``"drop"``: its round does not count, and
        a policy does not hear of a block without any loss.

    Examples
    --------
    >>> Delay([0, 50], [10, 200], lost=0.01).longest
    200
    """

    least: int | Sequence[int] = 0
    most: int | Sequence[int] | None = None
    lost: float | Sequence[float] = field(default=0.0, kw_only=True)
    missing: Literal["highest", "drop"] = field(default="highest", kw_only=True, metadata=among(MISSING))

    def __post_init__(self) -> None:
        check_fields(self)
        K = self.n_arms
        for name, given in self._columns.items():
            if isinstance(given, Sequence) and (len(given) != K or not given or isinstance(given, str)):
                raise InvalidParameter(name, "must be a number, or a list with one for each arm", given)
            for value in given if isinstance(given, Sequence) else [given]:
                if name == "lost":
                    real_number(name, value, least=0, most=1)
                else:
                    whole_number(name, value, least=0, most=LONGEST_DELAY)
        table = self.table(K or 1)
        if (table[:, 0] > table[:, 1]).any():
            raise InvalidParameter("most", "must not be less than the least delay", self.most)

    @property
    def _columns(self) -> dict[str, Any]:
        return {"least": self.least, "most": self.least if self.most is None else self.most, "lost": self.lost}

    @property
    def n_arms(self) -> int | None:
        """The number of arms that its lists are for; None without a list."""
        return next((len(given) for given in self._columns.values() if isinstance(given, Sequence)), None)

    @property
    def longest(self) -> int:
        """The longest delay of any arm."""
        return int(self.table(self.n_arms or 1)[:, 1].max())

    def table(self, n_arms: int) -> Array:
        """Return a row for each arm: the least and the longest delay, and the probability that a loss is lost."""
        columns = [np.broadcast_to(np.array(given, float), n_arms) for given in self._columns.values()]
        return np.stack(columns, axis=1)

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        plain = {name: list(x) if isinstance(x, Sequence) else x for name, x in self._columns.items()}
        return plain | {"missing": self.missing}


def late_numbers(longest: int | None, n_block: int) -> int:
    """Return the numbers that a game keeps of blocks that wait: no more of them than rounds of the longest delay."""
    return 1 if longest is None else HEAD + (longest + 1) * (n_block + BEFORE_BLOCK)


@kernel
def comes(delays: Any, streams: Any, tally: Any, t: float) -> bool:
    """Draw when the loss of round t is known, put off the block until then, and tell whether it comes."""
    place = int(tally.place[0])
    least, most, lost = delays[place, 0], delays[place, 1], delays[place, 2]
    u, v = next_uniform(streams, 0), next_uniform(streams, 0)
    is_lost = u < lost
    known = t + 1.0 + (most if is_lost else least + math.floor(v * (most - least + 1.0)))
    tally.due[0] = max(tally.due[0], known)
    if is_lost:
        return False
    tally.came[0] += 1.0
    return True


@kernel
def wait(late: Any, block: Any, due: float, total: float, rounds: float) -> None:
    """Put a block behind all that are complete no later."""
    size = block.shape[0] + BEFORE_BLOCK
    slots = (late.shape[0] - HEAD) // size
    first, place = int(late[0]), int(late[1])
    late[1] += 1.0
    to = HEAD + (first + place) % slots * size
    while place > 0:
        before = HEAD + (first + place - 1) % slots * size
        if late[before] <= due:
            break
        for i in range(size):
            late[to + i] = late[before + i]
        place, to = place - 1, before
    late[to], late[to + 1], late[to + 2] = due, total, rounds
    for i in range(block.shape[0]):
        late[to + BEFORE_BLOCK + i] = block[i, 0]


@kernel
def next_known(late: Any, t: float, block: Any) -> tuple[bool, float, float]:
    """Take the first block, if it is complete by round t: whether it is, its total, its rounds."""
    size = block.shape[0] + BEFORE_BLOCK
    first = int(late[0])
    at = HEAD + first * size
    if late[1] == 0.0 or late[at] > t:
        return False, 0.0, 0.0
    for i in range(block.shape[0]):
        block[i, 0] = late[at + BEFORE_BLOCK + i]
    late[0] = (first + 1) % ((late.shape[0] - HEAD) // size)
    late[1] -= 1.0
    return True, late[at + 1], late[at + 2]
