"""The ledger: claims, the evidence they are judged by, and the one rule that judges them.

A claim is a list of questions to the tables. It holds if every answer is yes, fails if some answer is no and none is
yes, and is conditional otherwise: the condition then says for what it holds, for what it fails, and what is not
decided. All intervals of a claim hold together with probability 99 % (Bonferroni: m questions share the 1 % evenly), so
that among a hundred claims about one would be judged wrongly by chance. Nothing is shared between claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from holdfast.experiments.questions import Answer, Array, Question
from holdfast.experiments.settings import Settings
from holdfast.results import Result

CONFIDENCE = 0.99
"""Of all the intervals of one claim together."""

Judgement = Literal["holds", "fails", "conditional"]


class Evidence:
    """The tables of a run by name, as arrays with a row a replication."""

    def __init__(self, tables: Mapping[str, Result], settings: Settings) -> None:
        self.tables = dict(tables)
        self.settings = settings
        self._arrays: dict[tuple[str, str], tuple[Array, dict[str, Array]]] = {}

    def __contains__(self, table: str) -> bool:
        return table in self.tables

    def curve(self, table: str, policy: str, measure: str = "regret_with_switching") -> tuple[Array, Array]:
        """The rounds recorded, and `measure` with a row a replication and a column a round."""
        key = table, policy
        if key not in self._arrays:
            frame = self.tables[table].frame.filter(pl.col("policy") == policy).sort("replication", "round")
            runs = frame["replication"].n_unique()
            rounds = frame["round"].to_numpy().reshape(runs, -1)[0].astype(np.float64)
            columns = ("pseudo_regret", "switches", "regret_with_switching")
            self._arrays[key] = (
                rounds,
                {name: frame[name].to_numpy().reshape(runs, -1).astype(np.float64) for name in columns},
            )
        rounds, values = self._arrays[key]
        return rounds, values[measure]

    def final(self, table: str, policy: str, measure: str = "regret_with_switching") -> Array:
        """`measure` at the last round, one number a replication."""
        return np.asarray(self.curve(table, policy, measure)[1][:, -1])

    def late_growth(self, table: str, policy: str, since: float = 0.9) -> Array:
        """Pseudo-regret a round over the rounds after the share `since` of the horizon, one number a replication."""
        rounds, values = self.curve(table, policy, "pseudo_regret")
        start = min(int(np.searchsorted(rounds, since * rounds[-1])), len(rounds) - 2)
        return np.asarray((values[:, -1] - values[:, start]) / (rounds[-1] - rounds[start]))

    def lost_runs(self, table: str, policy: str, gap: float) -> tuple[int, int]:
        """In how many runs, and of how many, the regret of the last tenth grew by the gap in every round.

        Such a run plays no best arm any more: an elimination policy has dropped it.
        """
        growth = self.late_growth(table, policy)
        return int((growth > (1 - 1e-6) * gap).sum()), len(growth)


@dataclass(frozen=True)
class Claim:
    """One checkable sentence of the paper, in our words."""

    id: str
    sentence: str
    place: str
    rule: str
    """What is measured, in words, with its thresholds."""
    questions: Callable[[Evidence], Sequence[Question]]
    needs: tuple[str, ...] = ()
    """Tables without which it is not judged; a claim with no questions is not judged either."""
    figure: str = ""
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A claim judged."""

    id: str
    claim: str
    place: str
    rule: str
    measurement: str
    """The rule, and what was measured by it."""
    verdict: Judgement
    condition: str
    replications: int
    """The fewest of any part; none where formulas alone decide."""
    figure: str
    confidence: float
    thresholds: Mapping[str, float]
    parts: tuple[Answer, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


def judge(claims: Sequence[Claim], evidence: Evidence) -> list[Verdict]:
    """A verdict on each claim whose tables are there."""
    verdicts = []
    for claim in claims:
        if all(table in evidence for table in claim.needs):
            questions = claim.questions(evidence)
            if questions:
                verdicts.append(_judged(claim, questions))
    return verdicts


def _judged(claim: Claim, questions: Sequence[Question]) -> Verdict:
    share = 1 - (1 - CONFIDENCE) / len(questions)
    parts = tuple(question.answer(share) for question in questions)
    outcomes = {part.outcome for part in parts}
    verdict: Judgement = "conditional"
    if outcomes == {"yes"}:
        verdict = "holds"
    elif "no" in outcomes and "yes" not in outcomes:
        verdict = "fails"
    replications = min((part.replications for part in parts if part.replications), default=0)
    rule = f"{claim.rule[0].upper()}{claim.rule[1:]}."
    return Verdict(
        id=claim.id,
        claim=claim.sentence,
        place=claim.place,
        rule=rule,
        measurement=f"{rule} {'; '.join(part.shown for part in parts)}",
        verdict=verdict,
        condition=_condition(parts, replications) if verdict == "conditional" else "",
        replications=replications,
        figure=claim.figure,
        confidence=CONFIDENCE,
        thresholds=claim.thresholds,
        parts=parts,
    )


def _condition(parts: Sequence[Answer], replications: int) -> str:
    """For what the claim holds, for what it fails, and what is left open."""
    said = []
    for outcome, words in (("yes", "holds"), ("no", "fails"), ("open", f"not decided at {replications} replications")):
        names = [part.what for part in parts if part.outcome == outcome]
        if names:
            said.append(f"{words} {_listed(names)}" if outcome != "open" else f"{words}: {_listed(names)}")
    return "; ".join(said)


def _listed(names: Sequence[str]) -> str:
    """Names one after the other; a first word that all share ("against") is said once."""
    first = names[0].split(" ", 1)
    if len(names) > 1 and len(first) == 2 and all(name.startswith(first[0] + " ") for name in names):
        return f"{first[0]} {', '.join(name.split(' ', 1)[1] for name in names)}"
    return ", ".join(names)
