"""CSV files of losses: polars parses them; what it cannot parse is looked for line by line and named.

A file begins with a line of names. It is in UTF-8, with commas between columns and points in numbers, unless
`CsvFormat` says otherwise. It may be gzipped and may begin with a byte order mark.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.checks import one_of
from holdfast.data.csv_diagnosis import BETWEEN, diagnose, wrong_beginning
from holdfast.data.csv_format import PLAIN, CsvFormat, is_number
from holdfast.errors import InvalidParameter
from holdfast.extras import pl


def read_csv(
    file: Path, index: str | None, numbers: Sequence[str] | None = None, form: CsvFormat = PLAIN
) -> pl.DataFrame:
    """The columns of `numbers`, or all but `index`, as floats; others as numbers, times or text, whichever they are."""

    def is_free(name: str) -> bool:
        return name == index or (numbers is not None and name not in numbers)

    names = _header(file, is_free, form)
    if index is not None:
        one_of("index", index, names)
    if len(names) - (index is not None) < 2:
        between = BETWEEN.get(form.separator, repr(form.separator))
        rule = f"must have at least two columns of losses, one per arm, with {between} between them"
        raise InvalidParameter("source", rule, form.separator.join(names))
    free = [name for name in names if is_free(name)]
    cells = [name for name in names if not is_free(name)]
    plain = form.decimal == "." and form.thousands is None and not form.empty
    try:
        frame = pl.read_csv(
            file if form.is_utf8 else _as_utf8(file, form),
            new_columns=names,
            schema_overrides=dict.fromkeys(cells, pl.Float64) if plain else None,
            infer_schema=False,
            separator=form.separator,
        )
        if not plain:
            frame = frame.with_columns(_as_numbers(pl.col(cells), form))
    except pl.exceptions.PolarsError as error:
        diagnose(file, names, free, form)
        reason = str(error).strip().partition("\n")[0]
        raise InvalidParameter("source", f"must be a .csv table ({reason})", str(file)) from None
    if frame.height and frame.tail(1).null_count().sum_horizontal().item() == frame.width:
        frame = frame.head(frame.height - _blank_lines_at_the_end(file, form))
    if sum(frame.null_count().row(0)):
        diagnose(file, names, free, form)
    return frame.with_columns(_typed(frame[name]) for name in free)


def _as_utf8(file: Path, form: CsvFormat) -> bytes:
    with form.opened(file) as text:
        return text.read().encode()


def _as_numbers(cells: pl.Expr, form: CsvFormat) -> pl.Expr:
    """Texts as numbers; what is not written in this format is an error, or null where it has a sign too many."""
    cells = cells.str.strip_chars()
    if form.empty:
        cells = pl.when(~cells.is_in(form.empty)).then(cells)
    if form.thousands is not None:
        ungrouped = cells.str.replace_all(form.thousands_signs, "")
        cells = pl.when(cells.str.contains(form.grouped)).then(ungrouped).otherwise(cells)
    if form.decimal == ",":
        cells = pl.when(~cells.str.contains(".", literal=True)).then(cells.str.replace(",", ".", literal=True))
    return cells.cast(pl.Float64)


def _header(file: Path, is_free: Callable[[str], bool], form: CsvFormat) -> list[str]:
    """The names of the columns; an error where the first line has none, or has something else between them."""
    first = wrong_beginning(file, is_free, form)
    if first.endswith("\r"):
        raise InvalidParameter("source", "must have lines that end in \\n or \\r\\n, not in \\r; save it so", str(file))
    names = [name.strip() for name in next(csv.reader([first], delimiter=form.separator))]
    numbers = [name for name in names if is_number(name)]
    if numbers:
        rule = "must have a header line of arm names before the first round"
        raise InvalidParameter("source", f"{rule}; {numbers[0]!r} in its first line is a number", ",".join(names))
    for i, name in enumerate(names):
        if name in names[:i]:
            rule = f"must not have two columns of one name; columns {names.index(name) + 1} and {i + 1} have"
            raise InvalidParameter("source", rule, name)
    return names


def _blank_lines_at_the_end(file: Path, form: CsvFormat) -> int:
    """How many empty lines follow the last one that is not; they are no rounds."""
    blank = 0
    with form.opened(file) as lines:
        for line in lines:
            blank = blank + 1 if not line.strip() else 0
    return blank


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
