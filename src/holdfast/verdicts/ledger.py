"""The ledger: claims, the evidence they are judged by, and the one rule that judges them.

A claim is a list of questions to the tables. It holds if every answer is yes, fails if some answer is no and none is
yes, and is conditional otherwise: the condition then says for what it holds, for what it fails, and what is not
decided. All intervals of a claim hold together with probability 99 % (Bonferroni: m questions share the 1 % evenly), so
that among a hundred claims about one would be judged wrongly by chance. Nothing is shared between claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.report.charts import DRAWN
from holdfast.results import Result
from holdfast.verdicts.comparisons import Answer, Less, Question
from holdfast.verdicts.settings import RunSettings

BOTH = DRAWN[-1]
"""The measure most claims are about: pseudo-regret and what was paid for switching."""

CONFIDENCE = 0.99
"""Of all the intervals of one claim together."""

Judgement = Literal["fails", "conditional", "holds"]
JUDGEMENTS: dict[Judgement, tuple[str, str, str]] = {
    "fails": ("✗", "fails", "fail"),
    "conditional": ("◐", "is conditional", "are conditional"),
    "holds": ("✓", "holds", "hold"),
}
"""Each verdict with its sign and its words for one claim and for several, the ones to look at first in front."""


class NotPlayed(LookupError):
    """A table that a run does not have."""


class Tables(dict[str, Result]):
    """The tables of a run by name."""

    def __missing__(self, name: str) -> Result:
        raise NotPlayed(name)


def curve_of(result: Result, policy: str, measure: str = BOTH) -> tuple[Array, Array]:
    """The rounds recorded, and `measure` with a row per replication and a column per round."""
    frame = result.frame.filter(pl.col("policy") == policy).sort("replication", "round")
    runs = frame["replication"].n_unique()
    rounds, values = (frame[name].to_numpy().reshape(runs, -1).astype(np.float64) for name in ("round", measure))
    return rounds[0], values


class Evidence:
    """The tables of a run by name, as arrays with a row per replication."""

    def __init__(self, tables: Mapping[str, Result], settings: RunSettings) -> None:
        self.tables = Tables(tables)
        self.settings = settings
        self._curves: dict[tuple[str, str, str], tuple[Array, Array]] = {}

    def __contains__(self, table: str) -> bool:
        return table in self.tables

    def curve(self, table: str, policy: str, measure: str = BOTH) -> tuple[Array, Array]:
        """The rounds recorded, and `measure` with a row per replication and a column per round."""
        key = table, policy, measure
        if key not in self._curves:
            self._curves[key] = curve_of(self.tables[table], policy, measure)
        return self._curves[key]

    def final(self, table: str, policy: str, measure: str = BOTH) -> Array:
        """`measure` at the last round, one number per replication."""
        return np.asarray(self.curve(table, policy, measure)[1][:, -1])

    def less(self, what: str, table: str, first: str, second: str, measure: str = BOTH, *, factor: float = 1.0) -> Less:
        """Is `measure` of the first policy below `factor` times that of the second at the last round?"""
        return Less(what, self.final(table, first, measure), self.final(table, second, measure), factor)

    def late_growth(self, table: str, policy: str, since: float = 0.9) -> Array:
        """Pseudo-regret per round after the share `since` of the horizon, one number per replication."""
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
    """It is not judged where there are none, or a table that they are about was not played."""
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
        with suppress(NotPlayed):
            questions = claim.questions(evidence)
            if questions:
                verdicts.append(_judged(claim, questions))
    return verdicts


def agree(parts: Sequence[Answer]) -> bool:
    """Whether every answer is yes."""
    return bool(parts) and all(part.outcome == "yes" for part in parts)


def answers(questions: Sequence[Question]) -> tuple[Answer, ...]:
    """The answers, whose intervals hold together at `CONFIDENCE`."""
    share = 1 - (1 - CONFIDENCE) / max(len(questions), 1)
    return tuple(question.answer(share) for question in questions)


def judgements(verdicts: Sequence[Verdict]) -> str:
    """How many hold, hold under a condition, and fail.

    >>> judgements([])
    '0 hold, 0 are conditional, 0 fail'
    """
    count = {kind: sum(verdict.verdict == kind for verdict in verdicts) for kind in JUDGEMENTS}
    return ", ".join(f"{count[kind]} {JUDGEMENTS[kind][1 + (count[kind] != 1)]}" for kind in reversed(JUDGEMENTS))


def _judged(claim: Claim, questions: Sequence[Question]) -> Verdict:
    parts = answers(questions)
    outcomes = {part.outcome for part in parts}
    verdict: Judgement = "conditional"
    if agree(parts):
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
