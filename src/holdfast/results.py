"""The tidy table of a simulation with its provenance: summarise, compare, read, write."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len

from holdfast.checks import one_of, whole_number
from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter, MissingExtra, printable
from holdfast.extras import pl
from holdfast.files import reason, write_whole
from holdfast.numerics.regret import EVERY_MEASURE, LISTS, MEASURES, ON_REQUEST
from holdfast.numerics.statistics import (
    Comparison,
    checked_confidence,
    holm,
    interval,
    p_value,
    student_quantile,
)
from holdfast.text import level, number, table, with_error

# A result in a file: parquet with its provenance and a checksum; CSV and Arrow for other programs.
#
# The checksum of a parquet file covers every byte of it, except its own 64 digits. It is checked before any byte is
# interpreted, so damage is found wherever it is, and a damaged file is never parsed.

KEYS = {"policy": pl.String, "replication": pl.Int64, "round": pl.Int64}
SCHEMA = KEYS | {name: pl.Int64 if name == "switches" else pl.Float64 for name in MEASURES}
KINDS = {name: SCHEMA.get(name, pl.Float64) for name in EVERY_MEASURE} | dict.fromkeys(LISTS, pl.List(pl.Int64))
MAY_BE_EXPECTED = {"switches": pl.Float64}
"""Columns that hold means where expected costs were computed instead of sampled."""

PROVENANCE, CHECKSUM, FORMAT, VERSION = "holdfast", "holdfast.checksum", "holdfast.format", 1
"""Keys of a parquet file's metadata, and the version of the format."""
SIGNED = b"holdfast:sha256="
UNSIGNED = SIGNED + b"0" * 64
SIGNATURE = re.compile(SIGNED + rb"([0-9a-f]{64})")


def write_result(path: str | Path, frame: pl.DataFrame, provenance: dict[str, Any]) -> Path:
    """Write a table in the format that the suffix names; a reader never sees half a file."""
    return write_whole(path, FORMATS[_suffix(path)][0](frame, provenance))


def read_result(path: str | Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read rows and provenance of a file; raise `BadSavedState` if it is damaged, foreign or of another version."""
    suffix, file = _suffix(path), Path(path)
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise BadSavedState(f"{file} cannot be read: {reason(error)}") from None
    try:
        frame, provenance = FORMATS[suffix][1](data)
        return _tidy(frame), provenance
    except BadSavedState as error:
        raise BadSavedState(f"{file} {error}") from None
    except (Exception, pl.exceptions.PanicException) as error:  # polars may raise anything for foreign bytes
        found = reason(error) if isinstance(error, Exception) else "it cannot be parsed"
        raise BadSavedState(f"{file} must be a file written by Result.write ({found})") from None


def parquet_bytes(frame: pl.DataFrame, metadata: dict[str, str] | None = None) -> bytes:
    """Return a table as the bytes of a parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


def _suffix(path: object) -> str:
    rule = f"must be the name of a file that ends in {', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}"
    if not isinstance(path, (str, Path)):
        raise InvalidParameter("path", rule, path)
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidParameter("path", rule, str(path))
    return suffix


def _to_parquet(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(provenance)
    except (TypeError, ValueError) as error:
        raise HoldfastError(f"provenance must be of plain values, as JSON has them ({reason(error)})") from None
    metadata = {PROVENANCE: text, FORMAT: str(VERSION), CHECKSUM: UNSIGNED.decode()}
    data = parquet_bytes(frame, metadata)
    if data.count(SIGNED) != 1:
        raise HoldfastError(f"no name or setting in a result may contain {SIGNED.decode()!r}")
    return data.replace(UNSIGNED, SIGNED + hashlib.sha256(data).hexdigest().encode())


def _from_parquet(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    signatures = SIGNATURE.findall(data)
    if signatures and hashlib.sha256(SIGNATURE.sub(UNSIGNED, data)).hexdigest().encode() != signatures[0]:
        raise BadSavedState("is damaged: its contents do not have the checksum that was written with them")
    metadata = pl.read_parquet_metadata(io.BytesIO(data))
    frame = pl.read_parquet(io.BytesIO(data))
    if PROVENANCE not in metadata:
        raise BadSavedState("must be a file written by Result.write; this is another table")
    provenance = json.loads(metadata[PROVENANCE])
    if not isinstance(provenance, dict):
        raise BadSavedState("is damaged: its provenance is no table of settings")
    version = metadata.get(FORMAT, str(VERSION))
    if version != str(VERSION):
        raise BadSavedState(f"has format {version}; this version of Holdfast reads {VERSION}")
    if not signatures:
        raise BadSavedState("is damaged: it has no checksum")
    return frame, provenance


FORMULA = r"^'*[=+\-@\t\r]"
"""Start of a cell that a spreadsheet may take for a formula, or that is escaped already."""


def csv_of(frame: pl.DataFrame, **options: Any) -> bytes:
    """Return the table as CSV; text that a spreadsheet would take for a formula gets a leading apostrophe.

    >>> csv_of(pl.DataFrame({"arm": ["=1+1", "east"], "loss": [-1.0, 0.5]}))
    b"arm,loss\\n'=1+1,-1.0\\neast,0.5\\n"
    """
    cells = pl.col(name for name, kind in frame.schema.items() if kind == pl.String)
    marked = frame.with_columns(pl.when(cells.str.contains(FORMULA)).then("'" + cells).otherwise(cells).name.keep())
    names = {name: f"'{name}" for name in frame.columns if re.match(FORMULA, name)}
    text = marked.rename(names).write_csv(**options)
    return str(text).encode()


def _unmarked(frame: pl.DataFrame) -> pl.DataFrame:
    """Undo the escaping of `csv_of`."""
    marked = FORMULA.replace("*", "+")
    text = pl.col(name for name, kind in frame.schema.items() if kind == pl.String)
    plain = frame.with_columns(pl.when(text.str.contains(marked)).then(text.str.slice(1)).otherwise(text).name.keep())
    return plain.rename({name: name[1:] for name in frame.columns if re.match(marked, name)})


def _to_csv(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    lists = pl.col(name for name in LISTS if name in frame.columns)
    return csv_of(frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" ")))


def _from_csv(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    kinds = SCHEMA | dict.fromkeys(LISTS, pl.String)
    frame = pl.read_csv(io.BytesIO(data), infer_schema_length=None, schema_overrides=kinds)
    there = [name for name in LISTS if name in frame.columns]
    lists = [pl.col(name).fill_null("").str.extract_all(r"\d+").cast(KINDS[name]) for name in there]
    return _unmarked(frame.with_columns(lists)), {}


def _to_arrow(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def _from_arrow(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    return pl.read_ipc(io.BytesIO(data)), {}


FORMATS: dict[str, tuple[Callable[..., bytes], Callable[[bytes], tuple[pl.DataFrame, dict[str, Any]]]]] = {
    ".parquet": (_to_parquet, _from_parquet),
    ".csv": (_to_csv, _from_csv),
    ".arrow": (_to_arrow, _from_arrow),
    ".ipc": (_to_arrow, _from_arrow),
    ".feather": (_to_arrow, _from_arrow),
}
"""Writer and reader of a table, by file suffix."""


def _tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns in order: others (a study's grid), those of the schema, and measures made on request."""
    if any(frame.schema.get(name) not in (kind, MAY_BE_EXPECTED.get(name, kind)) for name, kind in SCHEMA.items()):
        raise BadSavedState("must be a file written by Result.write; this is another table")
    if any(frame.select(*SCHEMA).null_count().row(0)):
        raise BadSavedState("is damaged: it has rows with nothing in a column that every row has")
    there = [name for name in ON_REQUEST if name in frame.columns]
    return frame.select(*(name for name in frame.columns if name not in {*SCHEMA, *there}), *SCHEMA, *there)


# Means and standard errors as text: for a terminal of 80 columns, for Markdown, for LaTeX.

WIDTH = 80
LONGEST_NAME = 33
"""Characters of a policy's name shown in a terminal."""
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}
LATEX |= {"λ": r"$\lambda$", "Δ": r"$\Delta$", "–": "--", "−": "$-$"}
IN_WORDS = {"switching_cost": "λ", "gap": "Δ", "horizon": "T", "n_arms": "K"}
"""Columns of a grid by the field's own letters."""
IN_MATHS = str.maketrans({",": "{,}", "±": r"\pm", "–": "-", "−": "-"})


class Summary(pl.DataFrame):
    """Means, deviations and errors as a polars table, shown as means with their errors: every measure in 80 columns."""

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self, **options: Any) -> str:
        from holdfast.report.html import view

        head, *body = rows_of(self)
        return view("mean ± standard error", head, body)


def as_text(summary: pl.DataFrame) -> str:
    """Return a line for each policy; measures that do not fit beside the others follow below."""
    head, *body = rows_of(summary)
    labels = len(head) - len(measures_of(summary))
    body = [[*map(shortened, row[:labels]), *row[labels:]] for row in body]
    widths = [max(map(cell_len, column)) for column in zip(head, *body, strict=True)]
    room = WIDTH - sum(widths[:labels]) - 2 * (labels - 1)
    blocks: list[list[int]] = [[]]
    for i in range(labels, len(head)):
        begins = head[i] == MEASURES["total_loss"] and sum(2 + width for width in widths[labels:]) > room
        if blocks[-1] and (begins or sum(2 + widths[j] for j in (*blocks[-1], i)) > room):
            blocks.append([])
        blocks[-1].append(i)
    columns = ([*range(labels), *block] for block in blocks)
    tables = ([[row[i] for i in block] for row in (head, *body)] for block in columns)
    widest = max(WIDTH, sum(widths) + 2 * len(widths))
    return "\n\n".join(table(first, rows, width=widest, labels=labels) for first, *rows in tables)


class Cell(NamedTuple):
    """A number in a table for a paper: its text, and whether it is the best of its kind."""

    text: str
    best: bool = False


SPREADS: Mapping[str, Callable[[dict[str, Any], str], float | None]] = {
    "error": lambda row, name: row[f"{name}_se"],
    "sd": lambda row, name: row[f"{name}_sd"],
    "interval": lambda row, name: _half(row[f"{name}_se"], row["replications"]),
    "none": lambda row, name: None,
}
"""Number shown behind a mean: its standard error, the standard deviation, half of its 95 % interval, or none."""


def _half(error: float | None, replications: int) -> float | None:
    return None if error is None else error * student_quantile(0.975, replications - 1)


def cells_of(
    summary: pl.DataFrame, measures: Sequence[str], *, wide: bool = False, best: bool = False, spread: str = "error"
) -> tuple[list[str], list[list[str | Cell]]]:
    """Return the head and the rows of a table for a paper: one for each policy, or, if it is wide, a column."""
    names = [one_of("measures", name, measures_of(summary)) for name in measures]
    behind = SPREADS[one_of("spread", spread, SPREADS)]
    labels = [name for name in _labels(summary) if name != "policy"]
    least = {
        (tuple(row[name] for name in labels), measure): row[measure]
        for measure in (f"{name}_mean" for name in names)
        for row in summary.sort(measure, descending=True, nulls_last=False).iter_rows(named=True)
    }
    rows: dict[tuple[Any, ...], dict[tuple[str, str], Cell]] = {}
    for row in summary.iter_rows(named=True):
        place = tuple(row[name] for name in labels)
        for name in names:
            mean = row[f"{name}_mean"]
            cell = Cell(with_error(mean, behind(row, name)), best and mean == least[place, f"{name}_mean"])
            rows.setdefault(place if wide else (*place, row["policy"]), {})[row["policy"], name] = cell
    titles = [IN_WORDS.get(name, name) for name in labels]
    if not wide:
        body: list[list[str | Cell]] = [[*map(_shown, place), *cells.values()] for place, cells in rows.items()]
        return [*titles, "policy", *(EVERY_MEASURE[name] for name in names)], body
    policies = summary["policy"].unique(maintain_order=True).to_list()
    heads = [
        printable(policy) + (f", {EVERY_MEASURE[name]}" if len(names) > 1 else "")
        for policy in policies
        for name in names
    ]
    filled: list[list[str | Cell]] = [
        [*map(_shown, place), *(cells.get((policy, name), Cell("–")) for policy in policies for name in names)]
        for place, cells in rows.items()
    ]
    return [*titles, *heads], filled


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else printable(value)


def as_markdown(head: Sequence[str], body: Sequence[Sequence[str | Cell]]) -> str:
    """Return a table for a README, an issue or a notebook."""
    numbers = sum(isinstance(cell, Cell) for cell in body[0])
    lines = [list(head), ["---"] * (len(head) - numbers) + ["---:"] * numbers]
    lines += [[_in_markdown(cell) for cell in row] for row in body]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def as_latex(head: Sequence[str], body: Sequence[Sequence[str | Cell]]) -> str:
    """Return a ``tabular`` for the package booktabs."""
    numbers = sum(isinstance(cell, Cell) for cell in body[0])
    lines = [r"\begin{tabular}{" + "l" * (len(head) - numbers) + "r" * numbers + "}", r"\toprule"]
    lines += [" & ".join(map(_escaped, head)) + r" \\", r"\midrule"]
    for row in body:
        lines.append(" & ".join(_in_maths(cell) if isinstance(cell, Cell) else _escaped(cell) for cell in row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _in_markdown(cell: str | Cell) -> str:
    if isinstance(cell, Cell):
        return f"**{cell.text}**" if cell.best else cell.text
    return cell


def _in_maths(cell: Cell) -> str:
    text = cell.text.translate(IN_MATHS)
    return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"


class Comparisons(pl.DataFrame):
    """Differences from one policy over a grid, a polars table that prints, and has a `table`, as papers show them."""

    def table(self, format: str = "markdown") -> str:
        """Format them for a paper, ``"markdown"`` or ``"latex"``: in bold where Holm's p is below 1 − confidence."""
        return _format(format)(*_differences(self))

    def __str__(self) -> str:
        head, body = self._shown()
        return f"{self._said()}\n{table(head, body, width=WIDTH, labels=len(head) - 5)}"

    __repr__ = __str__

    def _repr_html_(self, **options: Any) -> str:
        from holdfast.report.html import view

        return view(self._said(), *self._shown())

    def _said(self) -> str:
        measure, baseline, share = self.select("measure", "baseline", "confidence").row(0)
        return f"{EVERY_MEASURE[measure]}, less that of {printable(baseline)}; {level(share)} intervals"

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        head, body = _differences(self)
        return head, [[cell.text if isinstance(cell, Cell) else cell for cell in row] for row in body]


def _differences(found: pl.DataFrame) -> tuple[list[str], list[list[str | Cell]]]:
    own = ("policy", "baseline", "measure", "confidence", *Comparison.NUMBERS, "p_holm")
    grid = [name for name in found.columns if name not in own and found[name].n_unique() > 1]
    body: list[list[str | Cell]] = []
    for row in found.iter_rows(named=True):
        differs = row["p_holm"] < 1 - row["confidence"]
        numbers = [Cell(with_error(row[name], None), differs) for name in ("difference", "low", "high")]
        labels = [_shown(row[name]) for name in (*grid, "policy")]
        body.append([*labels, *numbers, *(Cell(_p(row[name])) for name in ("p", "p_holm"))])
    return [*(IN_WORDS.get(name, name) for name in grid), "policy", "difference", "low", "high", "p", "p (Holm)"], body


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else number(value, 3)


def _format(name: str) -> Callable[..., str]:
    return as_latex if one_of("format", name, ("markdown", "latex")) == "latex" else as_markdown


def measures_of(summary: pl.DataFrame) -> list[str]:
    """Return the measures that a summary has."""
    return [name for name in EVERY_MEASURE if f"{name}_mean" in summary.columns]


def rows_of(summary: pl.DataFrame, measures: Iterable[str] | None = None) -> list[list[str]]:
    """Return the head and a row for each policy; columns in which all rows agree, such as the round, are left out."""
    names = [one_of("measures", name, measures_of(summary)) for name in measures or measures_of(summary)]
    labels = _labels(summary)
    rows = [[*labels, *(EVERY_MEASURE[name] for name in names)]]
    for row in summary.iter_rows(named=True):
        means = (with_error(row[f"{name}_mean"], row[f"{name}_se"]) for name in names)
        rows.append([*(printable(row[name]) for name in labels), *means])
    return rows


def _labels(summary: pl.DataFrame) -> list[str]:
    """Return the columns that distinguish rows."""
    own = {f"{name}_{part}" for name in EVERY_MEASURE for part in ("mean", "sd", "se")}
    return [name for name in summary.columns if name not in own and (name == "policy" or summary[name].n_unique() > 1)]


def shortened(cell: str) -> str:
    """Shorten a name to at most `LONGEST_NAME` columns of a terminal, leaving out its middle."""
    if cell_len(cell) <= LONGEST_NAME:
        return cell
    begin, end = cell[:-8], cell[-8:]  # names often differ at their end
    while begin and cell_len(begin + end) >= LONGEST_NAME:
        begin = begin[:-1]
    return f"{begin}…{end}"


def _escaped(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def rows(
    rounds: Sequence[int],
    pieces: Sequence[tuple[str, int, int]],
    measured: Iterable[Mapping[str, Any]],
    record: Sequence[str] = (),
) -> pl.DataFrame:
    """Build one frame from pieces (policy, first replication, replications) and the measures of each.

    There is a row per replication and checkpoint. Each column is one array: to join frames polars wants threads,
    which a forked process does not have.
    """
    width = len(rounds)
    numbers = np.concatenate([np.arange(0), *(np.arange(first, first + count) for _, first, count in pieces)])
    columns = {name: np.empty(len(numbers) * width, KINDS[name].to_python()) for name in (*MEASURES, *record)}
    at = 0
    for (_, _, count), measures in zip(pieces, measured, strict=True):
        for name, column in columns.items():
            column[at : at + count * width] = np.ravel(measures[name])
        at += count * width
    policies, *others = [
        pl.Series("policy", [policy]).new_from_index(0, width * sum(count for _, _, count in group))
        for policy, group in groupby(pieces, lambda piece: piece[0])
    ] or [pl.Series("policy", [], pl.String)]
    for other in others:
        policies.append(other)
    return pl.DataFrame(
        [
            policies.rechunk(),
            pl.Series("replication", np.repeat(numbers, width)),
            pl.Series("round", np.tile(np.array(rounds, dtype=np.int64), len(numbers))),
            *(
                pl.Series(name, [cell.tolist() for cell in column] if name in LISTS else column, KINDS[name])
                for name, column in columns.items()
            ),
        ]
    )


class Result:
    """Result of a simulation: `frame` has one row for each policy, replication and checkpoint.

    Its columns are those of `SCHEMA` (`MEASURES` says what each measure is); others may come before them, such as the
    values of a study's grid, in which several games of one policy and replication differ.

    >>> import holdfast as hf
    >>> policies = [hf.Exp3(2), hf.TsallisSwitch(2, switching_cost=0.1)]
    >>> result = hf.simulate(policies, hf.Bernoulli([0.3, 0.5]), horizon=1000, switching_cost=0.1)
    >>> result.policies
    ['exp3', 'tsallis-switch']
    >>> result.final()["round"].to_list()
    [1000, 1000]
    """

    def __init__(self, frame: pl.DataFrame, provenance: dict[str, Any] | None = None) -> None:
        self.frame = frame
        self.provenance = provenance or {}

    def __repr__(self) -> str:
        final = self.final()
        return f"<{self._said(final)}>" if final.is_empty() else f"<{self._said(final)}>\n{as_text(final)}"

    def _repr_html_(self) -> str:
        from holdfast.report.html import view

        final = self.final()
        head, *body = rows_of(final)
        return view(self._said(final), head, body)

    def _said(self, final: Summary) -> str:
        if final.is_empty():
            return "Result without rows"
        alike = {name: number(final[name][0]) for name in ("replications", "round") if final[name].n_unique() == 1}
        games = f", {alike['replications']} replications" if "replications" in alike else ""
        at = f"at round {alike['round']}" if "round" in alike else "at the last round"
        return f"Result: {number(self.frame.height)} rows{games}; {at}, mean ± standard error"

    @property
    def policies(self) -> list[str]:
        """The names of the policies, in the order given."""
        return self.frame["policy"].unique(maintain_order=True).to_list()

    @property
    def grid(self) -> list[str]:
        """Columns beyond those of a simulation, such as the values of a study's grid."""
        return [name for name in self.frame.columns if name not in SCHEMA and name not in ON_REQUEST]

    @property
    def measures(self) -> list[str]:
        """The measures: those of every result, and those that were asked for."""
        return [name for name in EVERY_MEASURE if name in self.frame.columns]

    def summary(self) -> pl.DataFrame:
        """Return the mean, standard deviation and standard error of each measure, for each policy and checkpoint.

        The deviation is that of a sample (n − 1); with one replication it is null.
        """
        columns = [
            expression
            for measure in self.measures
            for expression in (
                pl.col(measure).mean().alias(f"{measure}_mean"),
                pl.col(measure).std().alias(f"{measure}_sd"),
                (pl.col(measure).std() / pl.len().sqrt()).alias(f"{measure}_se"),
            )
        ]
        groups = self.frame.group_by(*self.grid, "policy", "round", maintain_order=True)
        return groups.agg(pl.len().alias("replications"), *columns)

    def final(self) -> Summary:
        """Return the summary at each policy's last round, a polars table that prints as means with their errors."""
        last = pl.col("round").max().over(*self.grid, "policy")
        return Summary(self.summary().filter(pl.col("round") == last))

    def table(
        self,
        format: str = "markdown",
        *,
        measures: Sequence[str] | None = None,
        wide: bool = False,
        best: bool = False,
        spread: str = "error",
    ) -> str:
        """Format means at the last round of each policy for a paper.

        Parameters
        ----------
        format
            ``"markdown"``, or ``"latex"``, a ``tabular`` for the package booktabs.
        measures
            Columns of the result; all unless given.
        wide
            True for a column for each policy, and a row for each combination of a study's grid.
        best
            True for the least mean of each measure, in each combination of the grid, in bold.
        spread
            Number printed behind the mean: ``"error"``, its standard error; ``"interval"``, half of its 95 % interval;
            ``"sd"``, the standard deviation of a game; ``"none"``.
        """
        measures = self.measures if measures is None else measures
        if isinstance(measures, str) or not isinstance(measures, Sequence) or not measures:
            known = ", ".join(map(repr, self.measures))
            raise InvalidParameter("measures", f"must be a list of some of {known}", measures)
        made = _format(format)
        if self.frame.is_empty():
            raise InvalidParameter("result", "must have rows to format", "none")
        return made(*cells_of(self.final(), measures, wide=wide, best=best, spread=spread))

    def compare(
        self,
        first: str,
        second: str,
        *,
        measure: str = "regret_with_switching",
        confidence: float = 0.95,
        round: int | None = None,
    ) -> Comparison:
        """Compare two policies: the mean difference over replications, with a Student confidence interval.

        Replications of the same number are paired. On recorded losses both policies meet the same losses, and so they
        do with ``simulate(paired=True)``; otherwise they share a random stream only, and pairing gains nothing.

        Parameters
        ----------
        first, second
            Names of policies. A negative difference says that the first is lower.
        measure
            A column of the result.
        confidence
            Confidence of the interval.
        round
            A recorded round; the last unless given.
        """
        for name in (first, second):
            one_of("policy", name, self.policies)
        one_of("measure", measure, self.measures)
        share = checked_confidence(confidence)
        if self.grid and self.frame.select(self.grid).n_unique() > 1:
            rule = "must have one combination of its grid to compare policies; filter its frame"
            raise InvalidParameter("result", rule, f"several of {', '.join(self.grid)}")
        at = self._recorded(round)
        values = [
            self.frame.filter(pl.col("policy") == name, pl.col("round") == at).select("replication", measure)
            for name in (first, second)
        ]
        paired = values[0].join(values[1], on="replication", suffix="_second").drop_nulls()
        if paired.height < 2:
            raise InvalidParameter("replications", "must be at least 2 in common to compare policies", paired.height)
        differences = paired[measure].to_numpy() - paired[f"{measure}_second"].to_numpy()
        mean, low, high = interval(differences, share)
        return Comparison(first, second, measure, at, mean, low, high, share, paired.height, p_value(differences))

    def compare_all(
        self,
        baseline: str,
        *,
        measure: str = "regret_with_switching",
        confidence: float = 0.95,
        round: int | None = None,
    ) -> Comparisons:
        """Compare every other policy with one, in each combination of a study's grid, as a table of paired differences.

        It prints as a paper shows it, and ``compare_all(...).table("latex")`` returns that for one.

        ``p`` is Student's two-sided p-value of a single comparison, ``p_holm`` that of Holm's correction for all rows
        together: where it is below 0.05, all such rows together are wrong with a probability of at most 5 %. Intervals
        are those of single comparisons.

        Parameters
        ----------
        baseline
            The name of a policy. A negative difference says that the other is lower.
        measure, confidence, round
            See `compare`.
        """
        groups = self.frame.partition_by(self.grid, maintain_order=True) if self.grid else [self.frame]
        rows = []
        for frame in groups:
            own = Result(frame)
            for policy in own.policies:
                if policy != baseline:
                    found = own.compare(policy, baseline, measure=measure, confidence=confidence, round=round)
                    named = {name: frame[name][0] for name in self.grid}
                    said = {"baseline": baseline, "measure": measure, "confidence": found.confidence}
                    rows.append({**named, "policy": policy, **said, **found.numbers()})
        if not rows:
            raise InvalidParameter("baseline", "must have another policy beside it", baseline)
        return Comparisons(pl.DataFrame(rows).with_columns(pl.Series("p_holm", holm([row["p"] for row in rows]))))

    def to_pandas(self) -> Any:
        """Return the frame as pandas has it; needs pandas, which is not installed with Holdfast."""
        try:
            import pandas  # type: ignore[import-untyped]  # it has no types
        except ImportError:
            raise MissingExtra("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.frame.to_dict(as_series=False))

    def _recorded(self, round: object) -> int:
        """Return a recorded round: the last, or the one given."""
        recorded = self.frame["round"].unique().sort().to_list()
        if round is None:
            return int(recorded[-1])
        at = whole_number("round", round, least=1)
        if at not in recorded:
            shown = ", ".join(map(str, recorded[:5])) + (", …" if len(recorded) > 5 else "")
            raise InvalidParameter("round", f"must be one that was recorded ({shown})", round)
        return at

    def plot(
        self,
        path: str | Path | None = None,
        *,
        measures: Sequence[str] | str = ("pseudo_regret", "switches", "regret_with_switching"),
        scale: str = "auto",
        x_scale: str = "linear",
        band: str = "sd",
        size: str | tuple[float, float] = "screen",
        axes: Any = None,
        title: str = "",
    ) -> Any:
        """Draw means over the rounds with bands of one standard deviation, a panel per measure.

        A study's grid becomes rows of panels, or, of one measure, small multiples: panels side by side, named by their
        values. Needs the extra ``report``. Returns a matplotlib figure, which a notebook shows as a picture, the given
        axes, or the path.

        Parameters
        ----------
        path
            A file to write: ``.png``, ``.svg``, ``.pdf`` (with TrueType fonts), ``.pgf`` (for LaTeX, in the paper's own
            fonts; needs LaTeX), or an interactive page, ``.html``.
        measures
            Columns of the result, one panel each.
        scale
            ``"linear"``, ``"log"``, or ``"auto"``: logarithmic where a linear axis would flatten half of the lines.
        x_scale
            Scale of the rounds: ``"linear"`` or ``"log"``. Both scales ``"log"`` make a figure in which powers of T are
            straight lines; simulate it with ``checkpoints="log"``.
        band
            ``"sd"``: one standard deviation around the mean; ``"mean"``: the 95 % confidence interval of the mean;
            ``"quantiles"``: the median, and from the 10 % to the 90 % quantile; ``"none"``.
        size
            ``"screen"``; ``"column"``, 3.25 inches wide, for one column of a paper; ``"page"``, 6.75 inches, for both;
            of venues ``"icml"``, ``"icml-wide"``, ``"neurips"``, ``"iclr"``, ``"aistats"``, ``"jmlr"``;
            or width and height in inches, such as ``(3.5, 2.5)``.
        axes
            Matplotlib axes to draw on, one for each measure.
        title
            Title of the figure. A long one becomes smaller, then wraps; ``figure.suptitle`` replaces it.
        """
        from holdfast.report.plots import plot_result  # the one import that points up: pyproject.toml says why

        return plot_result(
            self, path, measures=measures, scale=scale, x_scale=x_scale, band=band, size=size, axes=axes, title=title
        )

    def write(self, path: str | Path) -> Path:
        """Write the table as the suffix says: ``.parquet``, ``.csv``, or ``.arrow`` (also ``.ipc`` and ``.feather``).

        A parquet file also holds the provenance, and a checksum of all of it; the others hold the rows alone, for other
        programs. A reader never sees half a file.
        """
        return write_result(path, self.frame, self.provenance)

    @classmethod
    def read(cls, path: str | Path) -> Result:
        """Read a file that `write` wrote, or all parquet files of a folder as one result; refuse a damaged one."""
        files = sorted(Path(path).glob("*.parquet")) if isinstance(path, (str, Path)) and Path(path).is_dir() else ()
        if files:
            return cls.concat([cls(*read_result(file)) for file in files])
        return cls(*read_result(path))

    @classmethod
    def concat(cls, results: Sequence[Result]) -> Result:
        """Join results into one: other policies, other replications of the same, or other cells of a study.

        Rows come by policy as first met, then replication, then round, as `simulate` gives them. Pieces of one
        simulation (the same settings, but other replications that follow each other, or other policies of the same
        replications) get the provenance it would have had; otherwise the parts' are listed under ``"parts"``.
        """
        if not results:
            raise InvalidParameter("results", "must not be empty", results)
        grid = results[0].grid
        for result in results:
            if result.grid != grid:
                raise InvalidParameter("results", f"must all have the same columns before policy, {grid}", result.grid)
        frame = pl.concat([result.frame for result in results], how="vertical_relaxed")
        order = [_as_first_met(frame, name) for name in (*grid, "policy")]
        frame = frame.sort(*order, "replication", "round")
        as_above = (pl.col(name).eq_missing(pl.col(name).shift()) for name in (*grid, *KEYS))
        if frame.select(pl.all_horizontal(as_above).slice(1).any()).item():
            raise InvalidParameter(
                "results", "must not have the same policy and replication twice", "overlapping parts"
            )
        return cls(frame, joined_provenance([result.provenance for result in results]))


def joined_provenance(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the provenance of the simulation that `parts` are pieces of, or all of them under ``"parts"``."""
    separate = {"parts": list(parts)}
    varying = ("backend", "versions", "replications", "first_replication", "policies")
    same = [{name: value for name, value in part.items() if name not in varying} for part in parts]
    if any(name not in part for part in parts for name in varying) or any(part != same[0] for part in same):
        return separate
    if any("interrupted" in part for part in parts):
        return separate
    runs = sorted((part["first_replication"], part["replications"]) for part in parts)
    policies: dict[str, Any] = {name: value for part in parts for name, value in part["policies"].items()}
    if all(part["policies"] == policies for part in parts):
        if any(begin + count != following for (begin, count), (following, _) in pairwise(runs)):
            return separate
    elif runs[0] != runs[-1] or len(policies) < sum(len(part["policies"]) for part in parts):
        return separate
    changed = {
        "backend": _all_of(part["backend"] for part in parts),
        "versions": {
            name: _all_of(part["versions"].get(name, "none") for part in parts) for name in parts[0]["versions"]
        },
        "replications": runs[-1][0] + runs[-1][1] - runs[0][0],
        "first_replication": runs[0][0],
        "policies": policies,
    }
    return {name: changed.get(name, value) for name, value in parts[0].items()}


def _all_of(words: Iterable[str]) -> str:
    """Join the words, each once: ``"threads, dask"``."""
    return ", ".join(dict.fromkeys(word for joined in words for word in joined.split(", ")))


def _as_first_met(frame: pl.DataFrame, name: str) -> pl.Expr:
    place = {value: i for i, value in enumerate(frame[name].unique(maintain_order=True))}
    return pl.col(name).replace_strict(place, return_dtype=pl.Int64)
