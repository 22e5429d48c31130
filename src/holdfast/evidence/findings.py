"""What was played and what came out: all that page and summary are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.evidence.settings import ArenaSettings
from holdfast.evidence.worlds import World
from holdfast.extras import pl
from holdfast.text import counted, number

KNOWS_T = "†"
"""The mark of policies that know T."""


@dataclass(frozen=True)
class ArenaFindings:
    """The tables of an arena."""

    settings: ArenaSettings
    worlds: tuple[World, ...]
    policies: Mapping[str, bool]
    """Each policy, and whether it knows T."""
    table: pl.DataFrame
    """One row for each environment and policy (`measures.tabulated`)."""
    worst: pl.DataFrame
    """One row for each policy (`measures.worst_cases`)."""
    floors: Mapping[str, Mapping[float, float]]
    """The worst ratio of each policy with other floors."""
    curves: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Means over the rounds, for each environment."""
    in_sight: pl.DataFrame | None = None
    """Costs over that of the best fixed arm, where the policies see the losses of all arms (`in_sight.compared`)."""
    long: pl.DataFrame | None = None
    """One row for each long game, policy and T (`growth.long_table`), where they were played."""
    provenance: Mapping[str, str] = field(default_factory=dict)

    def size(self) -> str:
        """How much was played, in words."""
        return (
            f"{counted(len(self.policies), 'policy', 'policies')} in {counted(len(self.worlds), 'environment')}, "
            f"{counted(self.settings.replications, 'replication')}, T = {number(self.settings.horizon)}"
        )

    def marked(self, policy: str) -> str:
        """A policy's name, with the mark of those that know T."""
        return policy + KNOWS_T if self.policies[policy] else policy

    def value(self, environment: str, policy: str, column: str) -> float:
        """One number of the table."""
        found = self.table.filter(pl.col("environment") == environment, pl.col("policy") == policy)
        return float(found[column][0])

    def group(self, name: str) -> list[World]:
        """The environments of one group."""
        return [world for world in self.worlds if world.group == name]
