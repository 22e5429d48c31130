"""A log of play from a file, and what it says of every arm: one row per round with arm, loss and probability."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import holdfast
from holdfast.checks import real_number
from holdfast.environments.traces import read_frame
from holdfast.errors import HoldfastError, InvalidParameter, nearest
from holdfast.files import claimed, whole_file, write_whole
from holdfast.replays.costs import exact
from holdfast.replays.logged import WHAT_TO_LOG, Evaluation, LoggedData
from holdfast.replays.terminal import WIDTH, aligned, grouped
from holdfast.report.page import Section, page
from holdfast.report.parts import Column, paragraph, table

ESTIMATORS = {
    "doubly_robust": "doubly robust",
    "self_normalised": "self-normalised",
    "inverse_propensity": "inverse propensity",
}
RANDOM = "a random arm"
EACH_ROUND = "a new draw each round"


def read_log(source: Any, columns: Mapping[str, str | None]) -> LoggedData:
    """The log in a file or data frame. `columns` names those of ``arm``, ``loss``, ``probability`` and, if there is
    one, ``block`` (or ``"rounds"``: every round was drawn anew) and ``time``, which must not run backwards."""
    block = columns.get("block")
    words = [name for name in (columns["arm"], block, columns.get("time")) if name and name != "rounds"]
    numbers = [str(columns["loss"]), str(columns["probability"])]
    frame = read_frame(source, numbers=numbers)
    needed = [columns["arm"], *numbers, *words]
    for name in needed:
        if name not in frame.columns:
            what = f"; {WHAT_TO_LOG}" if name == columns["probability"] else ""
            known = ", ".join(map(repr, frame.columns))
            rule = f"must have a column {name!r} among its columns {known}{what}{nearest(name, frame.columns)}"
            raise InvalidParameter("log", rule, str(source))
    time = columns.get("time")
    if time and not (frame[time].is_sorted() or frame[time].dtype == pl.String):
        row = int((frame[time] < frame[time].shift(1)).fill_null(False).arg_max() or 0)
        raise InvalidParameter("log", f"must have a column {time!r} that does not run backwards", f"row {row + 1}")
    try:
        return LoggedData(
            _array(frame, columns["arm"]),
            _array(frame, columns["loss"]),
            _array(frame, columns["probability"]),
            blocks="rounds" if block == "rounds" else None if block is None else _array(frame, block),
        )
    except InvalidParameter as error:
        raise InvalidParameter(f"log: {error.parameter}", error.rule, error.value) from None


def _array(frame: pl.DataFrame, name: str | None) -> Any:
    column = frame[str(name)]
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        what = f"; {WHAT_TO_LOG}" if column.dtype.is_float() else ""
        raise InvalidParameter("log", f"must have a value in row {row + 1}, column {name!r}{what}", None)
    return column.to_numpy()


@dataclass(frozen=True, repr=False)
class LogEvaluation:
    """What holding each arm would have cost, as far as the log can tell. It prints as a table."""

    log: LoggedData
    source: str
    switching_costs: tuple[float, ...]
    found: Mapping[str, Evaluation | str]
    """By policy; a text is why it cannot be told."""

    def rows(self) -> list[dict[str, Any]]:
        """One row for each policy, estimator and λ; nothing but the refusal where it was refused."""
        rows: list[dict[str, Any]] = []
        for name, found in self.found.items():
            if isinstance(found, str):
                rows.append({"policy": name, "refused": found})
                continue
            for estimator in ESTIMATORS:
                for lam in self.switching_costs:
                    cost = found.cost(lam, estimator)
                    row = {"policy": name, "estimator": estimator, "switching_cost": lam, "cost": cost.losses}
                    row |= {"cost_low": cost.low, "cost_high": cost.high, "standard_error": cost.standard_error}
                    row |= {"switches": found.switches, "effective_blocks": found.effective_blocks, "refused": None}
                    rows.append(row)
        return rows

    def logged_cost(self, switching_cost: float) -> float:
        """What was really paid while the log was written."""
        return float(self.log.losses.sum()) + switching_cost * self.log.switches

    def plain(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "holdfast": holdfast.__version__,
            "log": self.source,
            "rounds": self.log.rounds,
            "blocks": len(self.log.starts),
            "arms": list(self.log.arm_names),
            "confidence": self.log.confidence,
            "logged_losses": float(self.log.losses.sum()),
            "logged_switches": self.log.switches,
            "rows": self.rows(),
        }

    def write(self, out: str | Path) -> Path:
        """``log.json``, ``log.parquet`` and ``report.html`` in a folder that has none of them yet."""
        with claimed(out, "replaying") as folder:
            files = {"log.json": b"", "log.parquet": b"", "report.html": b""}
            there = [name for name in files if (folder / name).exists()]
            if there:
                raise HoldfastError(f"{folder} has {there[0]} already; give another --out")
            frame = pl.DataFrame(self.rows(), infer_schema_length=None)
            write_whole(folder / "log.json", (json.dumps(self.plain(), indent=1) + "\n").encode())
            with whole_file(folder / "log.parquet") as file:
                frame.write_parquet(file)
            write_whole(folder / "report.html", self._page().encode())
        return Path(out)

    def _table(self, lam: float) -> list[list[str]]:
        rows = [[f"λ = {lam:g}", *ESTIMATORS.values(), "worth"]]
        for name, found in self.found.items():
            if isinstance(found, str):
                rows.append([name, "refused", "", "", ""])
                continue
            costs = [found.cost(lam, estimator) for estimator in ESTIMATORS]
            cells = [f"{grouped(cost.losses)} ± {grouped((cost.high - cost.low) / 2)}" for cost in costs]
            rows.append([name, *cells, f"{found.effective_blocks:,.0f}"])
        return [*rows, ["what was played", grouped(self.logged_cost(lam)), "", "", ""]]

    def _head(self) -> str:
        return (
            f"{self.source}: {self.log.rounds:,} rounds in {len(self.log.starts):,} blocks, {self.log.n_arms} arms. "
            f"Cost of holding an arm, ± half of the {self.log.confidence:.0%} interval; worth: what the log is worth "
            "to it, in equal blocks."
        )

    def _refusals(self) -> list[str]:
        return [f"{name}: {found}" for name, found in self.found.items() if isinstance(found, str)]

    def __repr__(self) -> str:
        parts = [textwrap.fill(self._head(), WIDTH)]
        parts += [aligned(self._table(lam), WIDTH) for lam in self.switching_costs]
        parts += [textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in self._refusals()]
        return "\n\n".join(parts)

    def _page(self) -> str:
        sections = []
        for lam in self.switching_costs:
            head, *rows = self._table(lam)
            columns = [Column("policy"), *(Column(name, numeric=True) for name in head[1:])]
            sections.append(Section(f"λ = {lam:g}", [table(columns, rows)], name=f"lambda-{exact(lam)}"))
        if self._refusals():
            sections.append(Section("Refused", [paragraph(line) for line in self._refusals()], name="refused"))
        return page(title="What would each arm have cost?", lead=self._head(), sections=sections)


def evaluate_log(source: Any, columns: Mapping[str, str | None], switching_costs: Sequence[float]) -> LogEvaluation:
    """Every arm held for ever, a random one, and a uniform draw in each round; refused where the log cannot tell."""
    costs = tuple(real_number("switching_cost", cost, least=0) for cost in switching_costs)
    log = read_log(source, columns)
    asked: dict[str, Any] = {f"only {arm}": lambda arm=arm: log.of_arm(arm) for arm in log.arm_names}
    asked |= {RANDOM: log.of_random_hold, EACH_ROUND: lambda: log.of_mixture([1.0 / log.n_arms] * log.n_arms)}
    found: dict[str, Evaluation | str] = {}
    for name, evaluate in asked.items():
        try:
            found[name] = evaluate()
        except InvalidParameter as error:
            found[name] = str(error)
    if all(isinstance(one, str) for one in found.values()):
        raise HoldfastError(f"nothing can be told from this log: {next(iter(found.values()))}")
    return LogEvaluation(log, str(source) if isinstance(source, (str, Path)) else "log", costs, found)
