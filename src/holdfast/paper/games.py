"""What the paper plays, as data: matches, in rows of a figure or as a probe; and the one way to play them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.environments import Environment
from holdfast.policies import Policy
from holdfast.results import Result
from holdfast.simulation import Backend, Power, simulate
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


def play(
    matches: tuple[Match, ...],
    *,
    replications: int,
    seed: int,
    backend: str | Backend = "threads",
    advance: Callable[[int], None] = lambda count: None,
) -> Result:
    """The matches of a table as one result; `advance(1)` is called after each."""
    results = []
    for match in matches:
        checkpoints = match.checkpoints
        results.append(
            simulate(
                match.policies,
                match.environment,
                horizon=match.horizon,
                switching_cost=match.switching_cost,
                replications=replications,
                seed=seed,
                checkpoints=min(checkpoints, match.horizon) if isinstance(checkpoints, int) else list(checkpoints),
                backend=backend,
                progress=False,
            )
        )
        advance(1)
    return results[0] if len(results) == 1 else Result.concat(results)
