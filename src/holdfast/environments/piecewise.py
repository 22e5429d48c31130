"""Means that stay for a while and then change, with noise or without: any number of phases, given one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from holdfast.checks import flag, whole_number
from holdfast.environments.environment import LAST_ROUND
from holdfast.environments.phases import Phased
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array


@dataclass(frozen=True)
class PiecewiseConstant(Phased):
    """Phases given one by one: where each starts, and the mean loss of every arm in it. The last has no end.

    Parameters
    ----------
    phase_starts
        The round, from 0, in which each phase starts; the first is 0, and they increase.
    phase_means
        For each phase the mean losses, one per arm.
    noise
        True for losses of 0 and 1 with these means, False for losses that equal them.
    shuffled
        Rotate the arms by a random number of places, drawn anew in each replication.

    Examples
    --------
    >>> PiecewiseConstant([0, 10], [[0.1, 0.5], [0.9, 0.5]], noise=False).expected(5, 15).tolist()
    [5.0, 5.0]
    """

    id: ClassVar[str] = "piecewise-constant"

    phase_starts: Sequence[int] = ()
    phase_means: Sequence[Sequence[float]] = ()
    noise: bool = field(default=True, kw_only=True, metadata=flag())

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("phase_starts", _checked_starts("phase_starts", self.phase_starts))
        self._set("phase_means", _checked_means("phase_means", self.phase_means))
        if len(self.phase_starts) != len(self.phase_means):
            rule = f"must have a row for each of the {len(self.phase_starts)} phases"
            raise InvalidParameter("phase_means", rule, f"{len(self.phase_means)} rows")

    @cached_property
    def layout(self) -> tuple[Array, Array]:
        """As given."""
        return np.array(self.phase_starts, dtype=np.float64), np.array(self.phase_means, dtype=np.float64)


def _checked_starts(name: str, starts: Any) -> tuple[int, ...]:
    """Rounds in which phases start."""
    if isinstance(starts, (str, bytes)) or not isinstance(starts, (Sequence, np.ndarray)) or len(starts) == 0:
        raise InvalidParameter(name, "must be a list of rounds that begins with 0", starts)
    checked = tuple(whole_number(f"{name}[{i}]", t, least=0, most=LAST_ROUND - 1) for i, t in enumerate(starts))
    if checked[0] != 0:
        raise InvalidParameter(f"{name}[0]", "must be 0", checked[0])
    for i in range(1, len(checked)):
        if checked[i] <= checked[i - 1]:
            raise InvalidParameter(f"{name}[{i}]", f"must be above {checked[i - 1]}, the one before", checked[i])
    return checked


def _checked_means(name: str, means: Any) -> tuple[tuple[float, ...], ...]:
    """Rows of probabilities, all of one length."""
    rule = "must be a table of numbers from 0 to 1 with a row per phase and a column per arm"
    try:
        table = np.array(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(name, rule, means) from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidParameter(name, rule, means)
    wrong = ~((table >= 0.0) & (table <= 1.0))
    if wrong.any():
        phase, arm = (int(i) for i in np.argwhere(wrong)[0])
        raise InvalidParameter(f"{name}[{phase}][{arm}]", "must be from 0 to 1", table.item(phase, arm))
    return tuple(tuple(row) for row in table.tolist())
