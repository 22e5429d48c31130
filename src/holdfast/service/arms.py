"""Arms as they are now: what they lost lately beside all their life, and which of them need a look."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.decisions.history import Totals
from holdfast.decisions.models import Block, undamaged
from holdfast.decisions.settings import Setup, players_of
from holdfast.decisions.stores.sql import Transaction

LATEST = 1000
"""Latest losses of a game, by which its arms are compared with what they were."""
IN_A_DAY = 5000
"""Most losses that are read for the means of an hour and a day."""
HOUR, DAY = 3600.0, 86400.0

LEAST, FEW = 10, 50
"""Fewest losses of an arm that say something, and how many of its latest are compared with those before."""
DEVIATIONS, SHARE = 3.0, 0.1
"""Standard deviations, and part of the range of losses, by which an arm must have become worse."""


class Heard(NamedTuple):
    """One of the latest losses. What was measured is read of the last `LATEST` only."""

    arm: int
    loss: float
    at: float
    measures: dict[str, Any]

    @property
    def failed(self) -> bool:
        """True if a failure was reported."""
        return bool(self.measures.get("failed") or self.measures.get("error"))


class Mean(NamedTuple):
    """The mean of some losses, and how many they are."""

    n: int
    value: float | None

    @classmethod
    def of(cls, losses: Sequence[float]) -> Mean:
        return cls(len(losses), math.fsum(losses) / len(losses) if losses else None)


class Recent(NamedTuple):
    """Recent losses of one arm."""

    hour: Mean
    day: Mean
    latest: Mean
    """Those of the game's last `LATEST` losses that are this arm's."""
    failures: int
    """Failures among `latest`."""
    measures: dict[str, float]
    """Means of what was measured among `latest`."""


def heard_lately(transaction: Transaction, limit: int) -> list[Heard]:
    """Return the latest losses by block and round, the last one first."""
    columns, order = "block, round, loss, at, measures", "ORDER BY block DESC, round DESC LIMIT ?"
    query = f"SELECT {columns} FROM holdfast_losses WHERE game = ? {order}"
    losses = transaction.fetch(query, transaction.game, limit)
    if not losses:
        return []
    query = "SELECT number, arm, probability, played FROM holdfast_blocks WHERE game = ? AND number BETWEEN ? AND ?"
    last: dict[int, int] = {block: round for block, round, *_ in reversed(losses)}  # the latest round of each block
    by: dict[int, Any] = {}
    for block, arm, probability, played in transaction.fetch(query, transaction.game, losses[-1][0], losses[0][0]):
        row = Block(block, None, arm, 0, probability, 0.0, None, 0, "", played=played)
        by[block] = [player for player, _ in players_of(row, last[block] + 1)] if played and block in last else arm
    found = []
    with undamaged("the latest losses"):
        for n, (block, round, loss, at, measures) in enumerate(losses):
            arm = by[block] if isinstance(by[block], int) else by[block][round]
            found.append(Heard(arm, float(loss), float(at), json.loads(measures) if measures and n < LATEST else {}))
    return found


def recent_of(heard: Sequence[Heard], n_arms: int, now: float) -> list[Recent]:
    """Return the recent losses of each arm."""
    by_arm: dict[int, list[Heard]] = defaultdict(list)
    latest: dict[int, list[Heard]] = defaultdict(list)
    for i, one in enumerate(heard):
        by_arm[one.arm].append(one)
        if i < LATEST:
            latest[one.arm].append(one)
    found = []
    for arm in range(n_arms):
        measured: dict[str, list[float]] = defaultdict(list)
        for one in latest[arm]:
            for name, value in one.measures.items():
                if isinstance(value, float | int) and not isinstance(value, bool):
                    measured[name].append(value)
        found.append(
            Recent(
                Mean.of([one.loss for one in by_arm[arm] if one.at > now - HOUR]),
                Mean.of([one.loss for one in by_arm[arm] if one.at > now - DAY]),
                Mean.of([one.loss for one in latest[arm]]),
                sum(one.failed for one in latest[arm]),
                {name: math.fsum(values) / len(values) for name, values in measured.items()},
            )
        )
    return found


def warnings_of(setup: Setup, totals: Totals, heard: Sequence[Heard], now: float) -> list[str]:
    """Return a warning for each arm that has become worse, and one for those that were not looked at for long."""
    found, unseen = [], []
    low, high = setup.bounds
    for i, arm in enumerate(totals.arms):
        if arm.retired:
            continue
        lately = [one.loss for one in heard[:LATEST] if one.arm == i and one.at > now - DAY][:FEW]
        before = arm.told - len(lately)
        if len(lately) >= LEAST and before >= LEAST and high > low:
            usual = min(max((arm.losses - math.fsum(lately)) / before, low), high)
            mean = math.fsum(lately) / len(lately)
            spread = math.sqrt((usual - low) * (high - usual) / len(lately))  # at most, within the range of losses
            if mean > usual + max(DEVIATIONS * spread, SHARE * (high - low)):
                words = f"{mean:.3g} on average in its last {len(lately)} losses, and {usual:.3g} before"
                found.append(f"{arm.arm} is worse than it was: {words}")
        paused = any(one == i and until > now for one, until in setup.paused)
        age = math.inf if arm.last_used is None else now - arm.last_used
        if totals.rounds >= LATEST and age > DAY and not paused and not totals.conversations:
            unseen.append((age, arm))
    if unseen:
        age, longest = max(unseen, key=lambda pair: pair[0])
        long = "ever" if age == math.inf else f"for {age / DAY:.3g} days"
        many = f"{len(unseen)} arms were not played for a day or longer, {longest.arm} not {long}"
        found.append(many if len(unseen) > 1 else f"{longest.arm} was not played {long}")
    return found
