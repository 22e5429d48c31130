"""The rounds at which a simulation records: evenly spaced, evenly spaced in the logarithm, or as given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.checks import whole_number
from holdfast.errors import InvalidParameter, nearest

DEFAULT_COUNT = 100
MOST_ROWS = 10**7
"""Rows of a result above which fewer checkpoints are taken when the user named none."""

SPACINGS = ("linear", "log")

Checkpoints = int | str | Sequence[int] | Mapping[str, Any]


def checkpoint_rounds(checkpoints: Checkpoints | None, horizon: int, games: int = 1) -> tuple[int, ...]:
    """Rounds in rising order that end with the horizon.

    `checkpoints` is a number of evenly spaced rounds, ``"linear"`` or ``"log"`` (100 of them), a mapping such as
    ``{"spacing": "log", "count": 200}``, or the rounds themselves. With None, 100 evenly spaced ones, or fewer
    where `games` games would fill more than ten million rows.

    >>> checkpoint_rounds(4, 100)
    (25, 50, 75, 100)
    >>> checkpoint_rounds([10, 3], 100)
    (3, 10, 100)
    """
    if checkpoints is None:
        checkpoints = max(1, min(DEFAULT_COUNT, MOST_ROWS // max(games, 1)))
    if isinstance(checkpoints, str):
        checkpoints = {"spacing": checkpoints}
    if isinstance(checkpoints, Mapping):
        unknown = [name for name in checkpoints if name not in ("spacing", "count")]
        if unknown:
            raise InvalidParameter("checkpoints", "takes 'spacing' and 'count' only", unknown[0])
        return _spaced(checkpoints.get("spacing", "linear"), checkpoints.get("count", DEFAULT_COUNT), horizon)
    if isinstance(checkpoints, (Sequence, np.ndarray)):
        rounds = {whole_number(f"checkpoints[{i}]", c, least=1, most=horizon) for i, c in enumerate(checkpoints)}
        return tuple(sorted(rounds | {horizon}))
    return _spaced("linear", checkpoints, horizon)


def _spaced(spacing: object, count: object, horizon: int) -> tuple[int, ...]:
    if spacing not in SPACINGS:
        rule = f"must be 'linear', 'log', how many, or a list of rounds{nearest(spacing, SPACINGS)}"
        raise InvalidParameter("checkpoints", rule, spacing)
    points = whole_number("checkpoints", count, least=1)
    dense = horizon * (math.log(horizon) if spacing == "log" else 1.0)  # two neighbours are then at most a round apart
    if min(points, horizon) > MOST_ROWS:
        raise InvalidParameter("checkpoints", f"must be at most {MOST_ROWS}", count)
    if points > max(dense, horizon):
        return tuple(range(1, horizon + 1))
    steps = np.arange(1, points + 1) / points
    rounds = horizon**steps if spacing == "log" else horizon * steps
    return tuple(sorted({max(1, min(horizon, round(r))) for r in rounds.tolist()} | {horizon}))
