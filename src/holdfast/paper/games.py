"""What the paper plays, as data: matches, in rows of a figure or as a probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.environments import Environment
from holdfast.policies.policy import Policy
from holdfast.simulation import Power
from holdfast.verdicts.settings import RunSettings

CHECKPOINTS = 100


@dataclass(frozen=True)
class Match:
    """Policies by the name of their series, what they play against, and what a switch costs."""

    policies: Mapping[str, Policy]
    environment: Environment
    switching_cost: float | Power
    horizon: int
    checkpoints: tuple[int, ...] | int = CHECKPOINTS
    """Rounds to record at, or how many evenly spaced ones."""


Matches = Callable[[RunSettings], tuple[Match, ...]]


@dataclass(frozen=True)
class Row:
    """One table: the matches that fill it. `key` is empty for the main row of a figure."""

    key: str
    label: str
    matches: Matches


@dataclass(frozen=True)
class Figure:
    """One figure: what it is, where the paper has it, and the matches of its rows."""

    name: str
    title: str
    place: str
    facts: Mapping[str, str]
    """Settings peculiar to this figure, for its reader."""
    rows: tuple[Row, ...]
    series_label: str = "policy"

    def tables(self) -> dict[str, Row]:
        """Each row by the name of its table: ``arms``, ``arms.exp3``."""
        return {f"{self.name}.{row.key}" if row.key else self.name: row for row in self.rows}


@dataclass(frozen=True)
class Probe:
    """A run that only the ledger needs, together with `figure`."""

    name: str
    figure: str
    matches: Matches
    long: bool = False
    """Whether its horizons reach far beyond the figures'; then at most a hundred replications are played."""
