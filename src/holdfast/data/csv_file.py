"""CSV files of losses: polars parses them; what it cannot parse is looked for line by line and named.

A file begins with a line of names, has commas between columns and points in numbers. It may be gzipped and may begin
with a byte order mark.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from holdfast.checks import one_of
from holdfast.errors import InvalidParameter
from holdfast.extras import pl

FIRST_LINE = 2
"""The line of the first round, after that of the names."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


def read_csv(file: Path, index: str | None, numbers: Sequence[str] | None = None) -> pl.DataFrame:
    """The columns of `numbers`, or all but `index`, as floats; others as numbers, times or text, whichever they are."""
    names = _header(file)
    if index is not None:
        one_of("index", index, names)
    if len(names) - (index is not None) < 2:
        rule = "must have at least two columns of losses, one per arm, with commas between them"
        raise InvalidParameter("source", rule, ",".join(names))
    free = [name for name in names if name == index or (numbers is not None and name not in numbers)]
    kinds = {name: pl.Float64 for name in names if name not in free}
    try:
        frame = pl.read_csv(file, new_columns=names, schema_overrides=kinds, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        _diagnose(file, names, free)
        reason = str(error).strip().partition("\n")[0]
        raise InvalidParameter("source", f"must be a .csv table ({reason})", str(file)) from None
    if frame.height and frame.tail(1).null_count().sum_horizontal().item() == frame.width:
        frame = frame.head(frame.height - _blank_lines_at_the_end(file))
    if sum(frame.null_count().row(0)):
        _diagnose(file, names, free)
    return frame.with_columns(_typed(frame[name]) for name in free)


def _opened(file: Path) -> IO[str]:
    opened: Any = gzip.open if file.name.lower().endswith(".gz") else open
    lines: IO[str] = opened(file, "rt", encoding="utf-8-sig", newline="")
    return lines


def _header(file: Path) -> list[str]:
    """The names of the columns; an error where the first line has none, or has other than commas between them."""
    with _opened(file) as lines:
        try:
            first = lines.readline(2**20)
            lines.readline(2**20)
        except UnicodeDecodeError as error:
            raise InvalidParameter("source", f"must be text in UTF-8; save it as such ({error})", str(file)) from None
    if not first.strip():
        raise InvalidParameter("source", "must be a .csv table; its first line is empty", str(file))
    for mark, word in ((";", "semicolons"), ("\t", "tabs")):
        if mark in first and "," not in first:
            rule = f"must have commas between columns and points in numbers, not {word}; save it so"
            raise InvalidParameter("source", rule, first.strip())
    if first.endswith("\r"):
        raise InvalidParameter("source", "must have lines that end in \\n or \\r\\n, not in \\r; save it so", str(file))
    names = [name.strip() for name in next(csv.reader([first]))]
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


def _diagnose(file: Path, names: Sequence[str], free: Sequence[str]) -> None:
    """Look for the first line that is no round, and say what is wrong with it; `free` columns may hold anything."""
    with _opened(file) as lines:
        rows = csv.reader(lines)
        next(rows)
        for cells in rows:
            here = f"line {rows.line_num} of {file.name}"
            if not cells:
                rule = f"must not have empty lines between rounds, as {here} is; take it out"
                raise InvalidParameter("source", rule, "")
            if len(cells) != len(names):
                hint = "; are there decimal commas? Write 0.5, not 0,5" if len(cells) == 2 * len(names) else ""
                rule = f"must have {len(names)} columns in every line, as in the first; {here} has {len(cells)}{hint}"
                raise InvalidParameter("source", rule, ",".join(cells))
            for name, cell in zip(names, cells, strict=True):
                if name not in free and not _is_number(cell):
                    raise _not_a_number(cell, f"{here}, column {name!r}", name, rows.line_num == FIRST_LINE)


def _not_a_number(cell: str, place: str, name: str, at_once: bool) -> InvalidParameter:
    if not cell.strip():
        rule = f"must have a number in {place}; it is missing: fill it in, or leave out the row or the column"
    elif DECIMAL_COMMA.fullmatch(cell.strip()):
        rule = f"must have points in its numbers, not commas, as in {place}; write {cell.strip().replace(',', '.')}"
    else:
        rule = f"must have a number in {place}"
        if at_once:  # all of the column may be like this
            rule += f"; if the column has the times or names of the rounds, give index={name!r}"
    return InvalidParameter("source", rule, cell)


def _typed(column: pl.Series) -> pl.Series:
    """Labels as whole numbers, numbers, times, dates, or else text."""
    readings: tuple[Callable[[], pl.Series], ...] = (
        lambda: column.cast(pl.Int64),
        lambda: column.cast(pl.Float64),
        lambda: column.str.to_datetime(),
        lambda: column.str.to_date(),
    )
    for read in readings:
        with suppress(pl.exceptions.PolarsError):
            return read()
    return column
