"""When a conversation leaves its arm: one that is down or keeps failing, or a gain that is worth the cost of moving.

What a conversation loses at an arm is compared by the latest losses of all conversations that may move. The turns still
to come are as many as it has had, or as those that ended had on average, if that is more; but few enough that what arms
lost of late says something of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

LATEST = 20
"""Losses of an arm that its recent mean is of, about."""

KNOWN = 5
"""Losses after which an arm's recent mean is believed."""

FAILURES = 3
"""Turns of an arm that failed in a row, after which the arm is left."""

FARTHEST = 30.0
"""Most turns to come that are counted."""

DOWN, FAILING, GAIN = "down", "failing", "gain"
"""Reasons to leave an arm."""


@dataclass
class Recent:
    """The latest losses of an arm in conversations that may move."""

    mean: float = 0.0
    heard: int = 0
    failures: int = 0
    """Turns that failed since the last one that did not."""

    def hear(self, loss: float, failed: bool) -> None:
        """Count a loss."""
        self.heard += 1
        self.mean += (loss - self.mean) / min(self.heard, LATEST)
        self.failures = self.failures + 1 if failed else 0

    @property
    def fails(self) -> bool:
        """True if its latest turns failed."""
        return self.failures >= FAILURES


def cheapest(recent: Sequence[Recent], arms: Collection[int]) -> int | None:
    """Return the arm that lost least of late; None if none is known that does not fail."""
    known = [arm for arm in arms if recent[arm].heard >= KNOWN and not recent[arm].fails]
    return min(known, key=lambda arm: (recent[arm].mean, arm), default=None)


def worth_moving(recent: Sequence[Recent], home: int, other: int | None, turns: float, cost: float) -> bool:
    """Return True if a known arm is expected to save more than the cost of moving in so many turns."""
    if other is None or recent[home].heard < KNOWN:
        return False
    return min(turns, FARTHEST) * (recent[home].mean - recent[other].mean) > cost
