"""What a run found out: its tables, and the verdicts they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.paper.claims import CLAIMS
from holdfast.paper.games import Figure
from holdfast.paper.tables import first_replications
from holdfast.results import Result
from holdfast.verdicts.ledger import Evidence, Verdict, judge
from holdfast.verdicts.settings import RunSettings


@dataclass(frozen=True)
class PaperFindings:
    """Tables by name, with all the replications that claims are judged by."""

    settings: RunSettings
    figures: tuple[Figure, ...]
    tables: Mapping[str, Result]

    @cached_property
    def evidence(self) -> Evidence:
        """The tables as claims ask for them."""
        return Evidence(self.tables, self.settings)

    @cached_property
    def verdicts(self) -> Sequence[Verdict]:
        """A verdict on each claim whose tables are there."""
        return judge(CLAIMS, self.evidence)

    def shown(self, table: str) -> Result:
        """The replications of a table that its figure shows."""
        return first_replications(self.tables[table], self.settings.replications)
