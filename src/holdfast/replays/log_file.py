"""A log of play from a file, and what it says of every arm: one row per round with arm, loss and probability."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import holdfast
from holdfast.checks import real_number
from holdfast.data.csv_format import PLAIN, CsvFormat
from holdfast.data.log_file import read_log_columns
from holdfast.errors import HoldfastError, InvalidParameter, parameter_named, printable
from holdfast.extras import pl
from holdfast.files import claimed
from holdfast.number_format import five_digits, number
from holdfast.replays.cost_table import exact
from holdfast.replays.off_policy import Evaluation, LoggedData
from holdfast.replays.terminal import WIDTH, aligned
from holdfast.report.html_parts import Column, paragraph, table
from holdfast.report.page import Section, page
from holdfast.result_files import parquet_bytes
from holdfast.runs.outputs import Outputs
from holdfast.runs.record import document

ESTIMATORS = {
    "doubly_robust": "doubly robust",
    "self_normalised": "self-normalised",
    "inverse_propensity": "inverse propensity",
}
RANDOM = "a random arm"
EACH_ROUND = "a draw each round"
NO_SWITCHES = "A log of conversations: there is no switch between two of them, so λ = 0."


def read_log(
    source: Any, columns: Mapping[str, str | None], missing: float | None = None, form: CsvFormat = PLAIN
) -> tuple[LoggedData, bool]:
    """The log in a file or data frame, and whether it is of conversations only.

    Parameters
    ----------
    source
        The file or data frame.
    columns
        Names those of ``arm``, ``loss``, ``probability`` and, if there is one, ``block`` (or ``"rounds"``: every round
        was drawn anew) and ``time``, which must not run backwards.
    missing
        What a loss that did not come in time counts as, instead of what counted in the game.
    form
        How a CSV file is written.

    Notes
    -----
    Where a log says what became of each loss (`status`), rounds that an operator chose are left out, and so are all
    from the first block on whose losses may still come: the late ones may be the expensive ones.
    """
    read = read_log_columns(source, columns, form)
    has_status = read["status"] is not None
    if has_status:
        read |= _known_rounds(read, missing)
    elif missing is not None:
        raise InvalidParameter("missing", "is for logs with a column 'status', which this one has not", missing)
    with parameter_named(lambda parameter: f"log: {parameter}"):
        log = LoggedData(read["arm"], read["loss"], read["probability"], blocks=read["block"], replaced=has_status)
    return log, read["conversations"]


def _known_rounds(read: dict[str, Any], missing: float | None) -> dict[str, Any]:
    """The columns of the rounds whose losses are final and were drawn, with what counted for each."""
    status, losses = read["status"], np.array(read["loss"], dtype=np.float64)
    absent = (status == "missing") | (status == "late")
    if missing is not None:
        losses[absent] = real_number("missing", missing)
    unknown = np.flatnonzero(absent & np.isnan(losses))
    if len(unknown):
        rule = f"must say what {len(unknown)} missing losses count as: nothing did, since missing was 'drop'"
        raise InvalidParameter("log", f"{rule}; give missing=LOSS (--missing LOSS)", f"row {unknown[0] + 1}")
    final = len(losses)
    if (status == "open").any():
        first = int((status == "open").argmax())
        block = read["block"]
        final = first if block is None or isinstance(block, str) else int((block == block[first]).argmax())
        if final < len(losses) / 2:
            rule = "must have losses that are final: those of most rounds come after one that is still open"
            rule += "; settle what will not come with a patience: router.change(patience='auto')"
            raise InvalidParameter("log", rule, f"row {first + 1} of {len(losses)}")
    kept = np.flatnonzero(~np.isin(status[:final], ("forced", "rule")))
    return {name: column[kept] for name, column in {**read, "loss": losses}.items() if isinstance(column, np.ndarray)}


@dataclass(frozen=True, repr=False)
class LogEvaluation:
    """What holding each arm would have cost, as far as the log can tell. It prints as a table."""

    log: LoggedData
    source: str
    switching_costs: tuple[float, ...]
    found: Mapping[str, Evaluation | str]
    """By policy; a text says why it cannot be estimated."""
    notes: tuple[str, ...] = ()
    """What was taken for granted."""

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
            "notes": list(self.notes),
            "rows": self.rows(),
        }

    def write(self, out: str | Path) -> Path:
        """``log.json``, ``log.parquet`` and ``report.html`` in a folder."""
        with claimed(out, "replaying") as folder:
            files = {
                "log.json": document(self.plain()),
                "log.parquet": parquet_bytes(pl.DataFrame(self.rows(), infer_schema_length=None)),
                "report.html": self._page().encode(),
            }
            Outputs(folder, "a replay").write(files)
        return Path(out)

    def _table(self, lam: float) -> list[list[str]]:
        rows = [[f"λ = {lam:g}", *ESTIMATORS.values(), "sample"]]
        for name, found in self.found.items():
            if isinstance(found, str):
                rows.append([name, "refused", "", "", ""])
                continue
            costs = [found.cost(lam, estimator) for estimator in ESTIMATORS]
            cells = [f"{five_digits(cost.losses)} ± {five_digits((cost.high - cost.low) / 2)}" for cost in costs]
            rows.append([name, *cells, number(found.effective_blocks)])
        return [*rows, ["what was played", five_digits(self.logged_cost(lam)), "", "", ""]]

    def _head(self) -> str:
        return (
            f"{self.source}: {number(self.log.rounds)} rounds in {number(len(self.log.starts))} blocks, "
            f"{self.log.n_arms} arms. Cost of holding an arm, ± half of the {self.log.confidence:.0%} interval; "
            "sample: effective sample size (blocks)."
        )

    def _refusals(self) -> list[str]:
        return [f"{name}: {found}" for name, found in self.found.items() if isinstance(found, str)]

    def __repr__(self) -> str:
        parts = [textwrap.fill(printable(self._head()), WIDTH)]
        parts += [aligned(self._table(lam)) for lam in self.switching_costs]
        lines = [*(f"* {note}" for note in self.notes), *self._refusals()]
        parts += [textwrap.fill(printable(line), WIDTH, subsequent_indent="  ") for line in lines]
        return "\n\n".join(parts)

    def _page(self) -> str:
        sections = []
        for lam in self.switching_costs:
            head, *rows = self._table(lam)
            columns = [Column("policy"), *(Column(name, numeric=True) for name in head[1:])]
            sections.append(Section(f"λ = {lam:g}", [table(columns, rows)], name=f"lambda-{exact(lam)}"))
        if self._refusals():
            sections.append(Section("Refused", [paragraph(line) for line in self._refusals()], name="refused"))
        opening = [paragraph(note, class_="caption") for note in self.notes]
        return page(title="What would each arm have cost?", lead=self._head(), opening=opening, sections=sections)


def evaluate_log(
    source: Any,
    columns: Mapping[str, str | None],
    switching_costs: Sequence[float],
    missing: float | None = None,
    form: CsvFormat = PLAIN,
) -> LogEvaluation:
    """Every arm held for ever, a random one, and a uniform draw in each round; refused where the log cannot tell.

    A log of conversations has no λ but 0. The other parameters are those of `read_log`.
    """
    costs = tuple(real_number("switching_cost", cost, least=0) for cost in switching_costs)
    log, conversations = read_log(source, columns, missing, form)
    notes: tuple[str, ...] = ()
    if conversations and any(costs):
        costs, notes = (0.0,), (NO_SWITCHES,)
    asked: dict[str, Any] = {f"only {arm}": lambda arm=arm: log.of_arm(arm) for arm in log.arm_names}
    asked |= {RANDOM: log.of_random_hold, EACH_ROUND: lambda: log.of_mixture([1.0 / log.n_arms] * log.n_arms)}
    found: dict[str, Evaluation | str] = {}
    for name, evaluate in asked.items():
        try:
            found[name] = evaluate()
        except InvalidParameter as error:
            found[name] = str(error)
    if all(isinstance(one, str) for one in found.values()):
        raise HoldfastError(f"nothing can be estimated from this log: {next(iter(found.values()))}")
    return LogEvaluation(log, str(source) if isinstance(source, (str, Path)) else "log", costs, found, notes)
