"""`Replay`: the result of a replay, as numbers, sentences, text and files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast.checks import CostTable
from holdfast.data.records import label_text
from holdfast.errors import InvalidParameter
from holdfast.extras import pl
from holdfast.files import claimed, write_whole
from holdfast.numerics.hindsight import Plan, switching_paid
from holdfast.numerics.layout import Array
from holdfast.replays.advice import Recommendation, Sentence, advice, joint_recommendation, recommendation
from holdfast.replays.costs import Standing
from holdfast.replays.games import WHOLE
from holdfast.results import Result
from holdfast.text import number

PARTS = {"halves": "half", "quarters": "quarter"}


@dataclass(frozen=True)
class Held:
    """Arms held over time: runs of rounds, as (first round from 0, arm).

    It is the game of that replication as a CPU plays it; a GPU draws other numbers.
    """

    starts: NDArray[np.int64]
    arms: NDArray[Any]
    rounds: int
    replication: int

    @classmethod
    def of(cls, arms: NDArray[Any], replication: int = 0) -> Held:
        """Compress the arm of each round."""
        starts = np.concatenate([[0], np.flatnonzero(arms[1:] != arms[:-1]) + 1])
        return cls(starts, arms[starts], len(arms), replication)

    def each_round(self) -> NDArray[Any]:
        """Return the arm of each round."""
        return np.repeat(self.arms, np.diff(self.starts, append=self.rounds))


@dataclass(frozen=True)
class Running:
    """Costs of fixed arms and best plans up to each of some rounds."""

    rounds: NDArray[np.int64]
    arm_losses: Mapping[str, Array]
    plan_losses: Mapping[float, Array]
    plan_switches: Mapping[float, NDArray[np.int64]]
    plan_paid: Mapping[float, Array]

    @classmethod
    def of(cls, table: NDArray[Any], marks: Sequence[int], arms: Sequence[str], plans: Mapping[float, Plan]) -> Running:
        """Sum losses between one mark and the next."""
        ends = np.array(marks, dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        of_arms = np.array([table[a:b].sum(axis=0, dtype=np.float64) for a, b in zip(starts, ends, strict=True)])
        losses, switches = {}, {}
        paid: dict[float, Array] = {}
        for lam, plan in plans.items():
            pieces = [
                float(
                    np.take_along_axis(table[a:b], plan.arms[a:b, None].astype(np.intp), axis=1).sum(dtype=np.float64)
                )
                for a, b in zip(starts, ends, strict=True)
            ]
            losses[lam] = np.cumsum(pieces)
            switches[lam] = np.searchsorted(plan.runs()[0], ends)
            paid[lam] = np.float64(lam) * switches[lam]
            if isinstance(plan.switching_cost, tuple):
                costs = np.array(plan.switching_cost)
                paid[lam] = np.array([switching_paid(plan.arms[:end], costs) for end in ends])
        by_arm = np.cumsum(of_arms, axis=0)
        return cls(ends, {arm: by_arm[:, i] for i, arm in enumerate(arms)}, losses, switches, paid)


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Costs of policies on a record, for every λ; made by `replay`. It prints as a table with advice.

    ``str(found.recommendation)`` is what to do; ``found.write("report.html")`` the page.
    """

    source: str
    """File of the trace, or a description of its source."""
    arms: tuple[str, ...]
    labels: NDArray[Any] | None
    """Time or name of each round."""
    index: str | None
    units: tuple[float, float]
    rounds: int
    switching_costs: tuple[float, ...]
    policies: Mapping[str, dict[str, Any]]
    """Settings of each policy by name, at the last λ."""
    replications: int
    seed: int
    confidence: float
    result: Result
    """Every game: the columns `switching_cost` and `stretch`, then those of every result."""
    standings: Mapping[tuple[float, str], Standing]
    """Costs by λ and stretch: ``"whole"``, ``"half 1"``, …, ``"quarter 4"``."""
    plans: Mapping[float, Plan]
    """Best plan in hindsight for each λ."""
    least_losses: Array
    """Least losses of plans with at most 1, 2, … 10 switches."""
    held: Mapping[tuple[float, str], Held]
    """Arms of the replication of median cost, by λ and policy."""
    running: Running
    pair_costs: CostTable | None = None
    """Cost of a switch from each arm to each other, if given; λ is its largest entry."""
    unit: str = ""
    """Unit of the losses."""
    notes: tuple[str, ...] = ()
    """Values filled in and assumptions made."""

    def standing(self, switching_cost: float | None = None, stretch: str = WHOLE) -> Standing:
        """Return the costs of all policies at one λ, on the whole trace or on a part of it."""
        lam = self.switching_costs[0] if switching_cost is None else float(switching_cost)
        known = dict.fromkeys(name for _, name in self.standings)
        if lam not in self.switching_costs:
            raise InvalidParameter("switching_cost", f"must be one of {list(self.switching_costs)}", switching_cost)
        if stretch not in known:
            raise InvalidParameter("stretch", f"must be one of {list(known)}", stretch)
        return self.standings[lam, stretch]

    def label(self, at: int) -> str:
        """Return the time or name of a round, counted from 0, or else its number from 1."""
        if self.labels is None:
            return number(at % self.rounds + 1)
        return label_text(self.labels, at)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each λ, stretch and policy: cost, losses and switches with intervals, and each excess."""
        rows = [
            {"stretch": stretch, **row} for (_, stretch), standing in self.standings.items() for row in standing.rows()
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return frame.select("switching_cost", "stretch", "policy", pl.exclude("switching_cost", "stretch", "policy"))

    @cached_property
    def advice_by_cost(self) -> dict[float, list[Sentence]]:
        """Advice for each λ."""
        return {lam: advice(self.standings[lam, WHOLE], self._parts(lam)) for lam in self.switching_costs}

    def _parts(self, lam: float) -> dict[str, list[Standing]]:
        """Return the halves and the quarters, where the record is long enough."""
        parts = {
            many: [standing for (at, name), standing in self.standings.items() if at == lam and name.startswith(one)]
            for many, one in PARTS.items()
        }
        return {name: some for name, some in parts.items() if some}

    @cached_property
    def recommendation_by_cost(self) -> dict[float, Recommendation]:
        """Recommended action at each λ."""
        return {lam: recommendation(self.standings[lam, WHOLE], self._parts(lam)) for lam in self.switching_costs}

    @property
    def recommendation(self) -> Sentence:
        """Recommended action, its reason and its exception."""
        return joint_recommendation(self.recommendation_by_cost)

    @property
    def advice(self) -> list[Sentence]:
        """Plain sentences, each with its numbers and whether its intervals decide it."""
        return [sentence for sentences in self.advice_by_cost.values() for sentence in sentences]

    def plans_frame(self) -> pl.DataFrame:
        """Return the best plans: a row for each arm taken up, with its first round from 1 and that round's label."""
        frames = []
        for lam, plan in self.plans.items():
            starts, arms = plan.runs()
            columns: dict[str, Any] = {
                "switching_cost": np.full(len(starts), lam),
                "first_round": starts + 1,
                "arm": np.array(self.arms, dtype=object)[arms].astype(str),
            }
            if self.labels is not None:
                columns["label"] = self.labels[starts]
            frames.append(pl.DataFrame(columns))
        return pl.concat(frames)

    def plain(self) -> dict[str, Any]:
        """Return all results as plain values for JSON; the plans' arms are in `plans_frame`."""
        return {
            "holdfast": holdfast.__version__,
            "trace": {
                "source": self.source,
                "rounds": self.rounds,
                "arms": list(self.arms),
                "units": list(self.units),
                "unit": self.unit,
                "index": self.index,
                "first": None if self.labels is None else self.label(0),
                "last": None if self.labels is None else self.label(-1),
            },
            "recommendation": _plain_sentence(self.recommendation),
            "notes": list(self.notes),
            "pair_costs": None if self.pair_costs is None else [list(row) for row in self.pair_costs],
            "replications": self.replications,
            "seed": self.seed,
            "confidence": self.confidence,
            "policies": json.loads(json.dumps(self.policies, default=str)),
            "switching_costs": [self._at(lam) for lam in self.switching_costs],
            "rows": self.frame.to_dicts(),
        }

    def _at(self, lam: float) -> dict[str, Any]:
        standing = self.standings[lam, WHOLE]
        return {
            "switching_cost": lam,
            "best_arm": standing.best_arm,
            "worst_arm": standing.worst_arm,
            "marks": standing.marks,
            "best_plan": {"losses": self.plans[lam].losses, "switches": self.plans[lam].switches},
            "recommendation": _plain_sentence(self.recommendation_by_cost[lam].sentence()),
            "advice": [_plain_sentence(sentence) for sentence in self.advice_by_cost[lam]],
        }

    def json(self) -> str:
        """Return `plain` as JSON text."""
        return json.dumps(self.plain(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write ``.json``, ``.parquet`` (the rows of `frame`) or ``.html`` (the report); otherwise all into a folder.

        A file is whole or absent. A folder may contain other files; those that a replay would replace but did not write
        are left alone and named in an error.
        """
        from holdfast.replays.run import data_of, write_outputs

        target = Path(path)
        if target.suffix.lower() in (".json", ".parquet", ".html"):
            return write_whole(target, data_of(self, target.suffix.lower()))
        with claimed(target, "writing a replay") as folder:
            write_outputs(self, folder)
        return target

    def __repr__(self) -> str:
        from holdfast.replays.report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from holdfast.replays.report import as_html

        return as_html(self)


def _plain_sentence(sentence: Sentence) -> dict[str, Any]:
    return {"text": sentence.text, "decided": sentence.decided, "numbers": sentence.numbers}
