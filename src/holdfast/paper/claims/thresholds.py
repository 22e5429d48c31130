"""What the paper's words mean here, and the comparisons most claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from holdfast.verdicts.comparisons import Question
from holdfast.verdicts.ledger import Evidence

NO_BLOCKS = ("tsallis-inf", "exp3")
BASE = ("base-arithmetic", "base-geometric")

SIMILAR = 1.25
""""Similar", "nearly the same": within a quarter of each other."""

COINCIDE = 1.05
"""Curves that "almost coincide": within a twentieth of each other."""

COMPETITIVE = 2.0
""""Competitive": at most twice the other's."""

FAR = 0.5
""""Much better": less than half the other's."""

FEW = 0.1
""""Few switches": in fewer than a tenth of the rounds."""

LOW = 0.05
""""Very low" regret: less than a twentieth of what the worst policy has."""

WITHIN = 0.05
"""An exponent is met when the fitted one is at most this far from it."""


def cheaper(
    evidence: Evidence, table: str, policy: str, others: Iterable[str], *, factor: float = 1.0, where: str = ""
) -> list[Question]:
    """Is the final regret with switching of `policy` below `factor` times that of each of the others?"""
    at = f" ({where})" if where else ""
    return [evidence.less(f"against {other}{at}", table, policy, other, factor=factor) for other in others]


def cheaper_in(
    tables: Mapping[str, str], policy: str, others: Collection[str], factor: float = 1.0
) -> Callable[[Evidence], list[Question]]:
    """The same in each of these tables, which are called by their values."""
    return lambda evidence: [
        question
        for table, name in tables.items()
        for question in cheaper(evidence, table, policy, others, factor=factor, where=name)
    ]
