"""What a report is made of: figures with their tables, and verdicts on claims."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

VERDICTS = ("holds", "conditional", "fails")


@dataclass(frozen=True)
class Row:
    """One row of three panels: pseudo-regret, switches, and their sum at the price of a switch.

    `frame` has the columns policy, replication, round, pseudo_regret, switches, cost. `bounds` maps the name of
    each theoretical bound that applies (on the cost unless it says otherwise) to its value at the horizon. `label` is
    empty when a figure has one row.
    """

    label: str
    frame: pl.DataFrame
    bounds: Mapping[str, float]


@dataclass(frozen=True)
class Figure:
    """One figure of the report, with everything said about it.

    `place` is its place in the paper ("Figure 2") or "ours"; `see` says what to see in it, paragraphs parted by
    an empty line; `series_label` heads the legend; `rerun` is the command that makes it again.
    """

    name: str
    title: str
    place: str
    see: str
    settings: Mapping[str, str]
    rows: tuple[Row, ...]
    series_label: str
    rerun: str


@dataclass(frozen=True)
class Verdict:
    """One claim, the measurement that decides it, and what was decided.

    `verdict` is "holds", "fails" or "conditional", and only the last has a `condition`; `figure` names the figure
    the claim belongs to, or is empty. `parts` are the single measurements: an outcome ("yes", "no" or "open") and
    what was measured.
    """

    id: str
    claim: str
    place: str
    measurement: str
    verdict: str
    condition: str
    replications: int
    figure: str
    parts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict of claim {self.id!r} must be one of {VERDICTS}, got {self.verdict!r}")
