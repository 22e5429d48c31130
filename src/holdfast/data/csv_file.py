"""CSV files of losses: polars parses them; what it cannot parse is looked for line by line and named.

A file begins with a line of names. It has commas between columns and points in numbers unless `CsvFormat` says
otherwise. It may be gzipped and may begin with a byte order mark.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from holdfast.checks import one_of
from holdfast.errors import InvalidParameter
from holdfast.extras import pl

FIRST_LINE = 2
"""The line of the first round, after that of the names."""

IF_MISSING = "it is missing: fill it in, or leave out the row or the column"

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    separator: str = ","
    decimal: str = "."
    missing: bool = False
    """Whether values may be missing."""
    if_missing: str = IF_MISSING
    """What to do where one is and may not be."""

    @classmethod
    def of(cls, separator: object, decimal: object, *, missing: bool = False, if_missing: str = IF_MISSING) -> Self:
        """Checked."""
        if separator == "\\t":  # as a shell gives it
            separator = "\t"
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
            raise InvalidParameter("separator", "must be one character such as ; or a tab", separator)
        if decimal not in (".", ","):
            raise InvalidParameter("decimal", "must be . or ,", decimal)
        if decimal == separator:
            raise InvalidParameter("decimal", "must not be what stands between columns; give separator=';'", decimal)
        return cls(separator, str(decimal), missing, if_missing)

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number as written in this format; with decimal commas 1.100 may mean 1100."""
        if self.decimal == ",":
            return "." not in cell and _is_number(cell.replace(",", "."))
        return _is_number(cell)


PLAIN = CsvFormat()


def read_csv(
    file: Path, index: str | None, numbers: Sequence[str] | None = None, form: CsvFormat = PLAIN
) -> pl.DataFrame:
    """The columns of `numbers`, or all but `index`, as floats; others as numbers, times or text, whichever they are."""
    names = _header(file, form)
    if index is not None:
        one_of("index", index, names)
    if len(names) - (index is not None) < 2:
        between = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(form.separator, repr(form.separator))
        rule = f"must have at least two columns of losses, one per arm, with {between} between them"
        raise InvalidParameter("source", rule, form.separator.join(names))
    free = [name for name in names if name == index or (numbers is not None and name not in numbers)]
    kinds = {name: pl.Float64 for name in names if name not in free}
    try:
        frame = pl.read_csv(
            file,
            new_columns=names,
            schema_overrides=kinds if form.decimal == "." else None,
            infer_schema=False,
            separator=form.separator,
        )
        if form.decimal == ",":
            cells = pl.col(list(kinds))
            allowed = pl.when(~cells.str.contains(".", literal=True)).then(cells.str.replace(",", ".", literal=True))
            frame = frame.with_columns(allowed.cast(pl.Float64))
    except pl.exceptions.PolarsError as error:
        _diagnose(file, names, free, form)
        reason = str(error).strip().partition("\n")[0]
        raise InvalidParameter("source", f"must be a .csv table ({reason})", str(file)) from None
    if frame.height and frame.tail(1).null_count().sum_horizontal().item() == frame.width:
        frame = frame.head(frame.height - _blank_lines_at_the_end(file))
    if sum(frame.null_count().row(0)):
        _diagnose(file, names, free, form)
    return frame.with_columns(_typed(frame[name]) for name in free)


def _opened(file: Path) -> IO[str]:
    opened: Any = gzip.open if file.name.lower().endswith(".gz") else open
    lines: IO[str] = opened(file, "rt", encoding="utf-8-sig", newline="")
    return lines


def _header(file: Path, form: CsvFormat) -> list[str]:
    """The names of the columns; an error where the first line has none, or has something else between them."""
    with _opened(file) as lines:
        try:
            first = lines.readline(2**20)
            second = lines.readline(2**20)
        except UnicodeDecodeError as error:
            raise InvalidParameter(
                "source", f"must be text in UTF-8; save it so, in a spreadsheet as CSV UTF-8 ({error})", str(file)
            ) from None
    if not first.strip():
        raise InvalidParameter("source", "must be a .csv table; its first line is empty", str(file))
    for mark, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if mark in first and form.separator not in first:
            written = "\\t" if mark == "\t" else mark
            comma = mark != "," and form.decimal == "." and DECIMAL_COMMA.search(second)
            expected = (
                "commas between columns and points in numbers"
                if form.separator == ","
                else f"{form.separator} between columns"
            )
            rule = f"must have {expected}, not {word}; save it so, or replay it with separator={written!r}"
            rule += " and decimal=','" if comma else ""
            raise InvalidParameter("source", rule, first.strip())
    if first.endswith("\r"):
        raise InvalidParameter("source", "must have lines that end in \\n or \\r\\n, not in \\r; save it so", str(file))
    names = [name.strip() for name in next(csv.reader([first], delimiter=form.separator))]
    numbers = [name for name in names if _is_number(name)]
    if numbers:
        rule = "must have a header line of arm names before the first round"
        raise InvalidParameter("source", f"{rule}; {numbers[0]!r} in its first line is a number", ",".join(names))
    for i, name in enumerate(names):
        if name in names[:i]:
            rule = f"must not have two columns of one name; columns {names.index(name) + 1} and {i + 1} have"
            raise InvalidParameter("source", rule, name)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _blank_lines_at_the_end(file: Path) -> int:
    """How many empty lines follow the last one that is not; they are no rounds."""
    blank = 0
    with _opened(file) as lines:
        for line in lines:
            blank = blank + 1 if not line.strip() else 0
    return blank


def _diagnose(file: Path, names: Sequence[str], free: Sequence[str], form: CsvFormat) -> None:
    """Look for the first line that is no round, and say what is wrong with it; `free` columns may hold anything."""
    with _opened(file) as lines:
        rows = csv.reader(lines, delimiter=form.separator)
        next(rows)
        for cells in rows:
            here = f"line {rows.line_num} of {file.name}"
            if not cells:
                rule = f"must not have empty lines between rounds, as {here} is; take it out"
                raise InvalidParameter("source", rule, "")
            if len(cells) != len(names):
                hint = "; are there decimal commas? Write 0.5, not 0,5" if len(cells) == 2 * len(names) else ""
                if hint and form.separator != ",":
                    hint = ""
                rule = f"must have {len(names)} columns in every line, as in the first; {here} has {len(cells)}{hint}"
                raise InvalidParameter("source", rule, ",".join(cells))
            for name, cell in zip(names, cells, strict=True):
                if name not in free and not form.is_number(cell) and not (form.missing and not cell.strip()):
                    first_row = rows.line_num == FIRST_LINE
                    raise _not_a_number(cell, f"{here}, column {name!r}", name, first_row, names, free, form)


def _not_a_number(
    cell: str, place: str, name: str, at_once: bool, names: Sequence[str], free: Sequence[str], form: CsvFormat
) -> InvalidParameter:
    if not cell.strip():
        rule = f"must have a number in {place}; {form.if_missing}"
    elif DECIMAL_COMMA.fullmatch(cell.strip()):
        rule = f"must have points in its numbers, not commas, as in {place}; write {cell.strip().replace(',', '.')}"
        rule += ", or replay it with decimal=','" if form.separator != "," else ""
    elif at_once and len(free) == 1 and len(names) == 3:  # time, arm and loss?
        (other,) = [column for column in names if column not in free and column != name]
        long = f"{free[0]},{name},{other}"
        rule = f"must have a number in {place}; if each row has the loss of one arm, replay it with long={long!r}"
    else:
        rule = f"must have a number in {place}"
        if THOUSANDS.fullmatch(cell.strip()):
            rule += f"; leave out the {'points' if form.decimal == ',' else 'commas'} between thousands"
        elif not at_once:
            rule += "; if it stands for a missing value, leave it empty"
        elif not free:  # all of the column may be like this
            rule += f"; if the column has the times or names of the rounds, give index={name!r}"
        elif len(free) == 1:
            rule += "; if the column has no losses, name those that have: arms=[...]"
    return InvalidParameter("source", rule, cell)


def _typed(column: pl.Series) -> pl.Series:
    """Labels as whole numbers, numbers, times, dates, or else text."""
    readings: tuple[Callable[[], pl.Series], ...] = (
        lambda: column.cast(pl.Int64),
        lambda: column.cast(pl.Float64),
        lambda: column.str.to_datetime(),
        lambda: column.str.to_datetime("%d.%m.%Y %H:%M"),
        lambda: column.str.to_datetime("%d.%m.%Y %H:%M:%S"),
        lambda: column.str.to_date(),
        lambda: column.str.to_date("%d.%m.%Y"),
    )
    for read in readings:
        with suppress(pl.exceptions.PolarsError):
            return read()
    return column
