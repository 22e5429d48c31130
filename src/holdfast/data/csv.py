"""CSV files of losses: polars parses them; what it cannot parse is located line by line.

A file begins with a line of names. It is in UTF-8, with commas between columns and points in numbers, unless
`CsvFormat` says otherwise. It may be gzipped and may begin with a byte order mark.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

from holdfast.checks import one_of
from holdfast.errors import NAMES, InvalidParameter, Set, Words
from holdfast.extras import pl

# The format of a CSV file: its encoding, its separators of columns and in numbers, its missing cells.

IF_MISSING = "it is missing: fill it in, or leave out the row or the column"

THOUSANDS = {".": "points", ",": "commas", "'": "apostrophes", " ": "spaces"}
"""Characters that may separate thousands."""
SPACES = " \u00a0\u202f"
"""A space between thousands is often a non-breaking one."""


@dataclass(frozen=True)
class CsvFormat:
    """Checked format of a CSV file."""

    separator: str = ","
    """Column separator; a tab may be given as ``\\t``, as a shell gives it."""
    decimal: str = "."
    encoding: str = "utf-8"
    """Encoding, by Python's name."""
    thousands: str | None = None
    """Thousands separator, if any."""
    empty: str | Sequence[str] = ()
    """Texts that mean a missing value: one, or several."""
    missing: bool = False
    """True if values may be missing."""
    if_missing: str = IF_MISSING
    """Advice if a required value is missing."""

    def __post_init__(self) -> None:
        separator = "\t" if self.separator == "\\t" else self.separator
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
            raise InvalidParameter("separator", "must be one character such as ; or a tab", separator)
        if self.decimal not in (".", ","):
            raise InvalidParameter("decimal", "must be . or ,", self.decimal)
        if self.decimal == separator:
            other = Words("must not be what stands between columns; ", Set("separator", ";"))
            raise InvalidParameter("decimal", other, self.decimal)
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            signs = ", ".join(sign for sign in THOUSANDS if sign not in (self.decimal, " "))
            raise InvalidParameter("thousands", f"must be {signs} or a space, and not the decimal sign", self.thousands)
        try:
            "".encode(str(self.encoding))
        except (LookupError, ValueError):
            rule = "must be an encoding that Python knows, such as cp1252 (Windows), latin-1 or utf-16"
            raise InvalidParameter("encoding", rule, self.encoding) from None
        texts = [self.empty] if isinstance(self.empty, str) else list(self.empty)
        if not all(isinstance(text, str) for text in texts):
            raise InvalidParameter("empty", "must be texts that stand for a missing value, such as 'n/v'", self.empty)
        object.__setattr__(self, "separator", separator)
        object.__setattr__(self, "empty", tuple(text.strip() for text in texts))

    @property
    def is_utf8(self) -> bool:
        """True if polars can read the file as it is."""
        return self.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")

    @property
    def thousands_signs(self) -> str:
        """Pattern of the thousands separator."""
        return f"[{SPACES if self.thousands == ' ' else self.thousands}]"

    @cached_property
    def grouped(self) -> str:
        """Pattern of numbers with thousands separators."""
        return rf"^[+-]?\d{{1,3}}({self.thousands_signs}\d{{3}})+([{self.decimal}]\d+)?$"

    def is_number(self, cell: str) -> bool:
        """Return True if a cell is a number in this format; with decimal commas 1.100 may mean 1100."""
        cell = cell.strip()
        if self.thousands is not None and re.match(self.grouped, cell):
            cell = re.sub(self.thousands_signs, "", cell)
        if self.decimal == ",":
            return "." not in cell and is_number(cell.replace(",", "."))
        return is_number(cell)

    def is_missing(self, cell: str) -> bool:
        """Return True if a cell has no value."""
        return not cell.strip() or cell.strip() in self.empty

    def opened(self, file: Path, errors: str = "strict") -> IO[str]:
        """Open a file as text, unzipped and without a byte order mark."""
        opening: Any = gzip.open if file.name.lower().endswith(".gz") else open
        encoding = "utf-8-sig" if self.is_utf8 else self.encoding
        lines: IO[str] = opening(file, "rt", encoding=encoding, errors=errors, newline="")
        return lines


PLAIN = CsvFormat()


def is_number(cell: str) -> bool:
    """Return True if Python reads it as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


# What is wrong with a CSV file, in one message: the first place of each kind of mistake, and what to do.
#
# An export may have another encoding, semicolons, decimal commas, points between thousands and texts for missing
# values at once. So a file that begins wrong is read on as it seems to be written.

FIRST_LINE = 2
"""Line of the first round, after the header."""

MOST_LINES = 100_000
"""Most lines checked after the first mistake: Python reads them slowly."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?"),
    ",": re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?"),
}
"""Numbers with thousands separators, by decimal sign."""

NUMBER, DECIMAL, GROUPS, MISSING, TEXT = "number", "decimal", "groups", "missing", "text"
"""Kinds of cells."""

BETWEEN = {";": "semicolons", "\t": "tabs", ",": "commas"}


class Complaint(NamedTuple):
    """One thing that is wrong."""

    rule: Words
    """Requirement and advice."""
    short: Words
    """Short form beside other complaints."""
    value: object


class Mistake(NamedTuple):
    """The first cell with one kind of mistake."""

    place: str
    column: str
    cell: str
    what: str
    """The offending character or text."""
    at_once: bool
    """True if it is in the first round."""


def refusal(complaints: Sequence[Complaint]) -> InvalidParameter:
    """Return all complaints as one error."""
    first, *others = complaints
    also = [part for one in others for part in ("; ", one.short)]
    return InvalidParameter("source", Words(first.rule, *(["; also ", *also[1:]] if also else [])), first.value)


def diagnose(file: Path, names: Sequence[str], free: Sequence[str], form: CsvFormat) -> None:
    """Find lines that are not rounds, and say what is wrong with them; `free` columns may hold anything."""
    try:
        complaints = _of_rounds(file, names, free, form)
    except UnicodeDecodeError as error:
        seems = _other_encoding(file, form)
        complaints = [_encoding(file, form, seems, error), *_of_rounds(file, names, free, seems, "replace")]
    if complaints:
        raise refusal(complaints)


def wrong_beginning(file: Path, is_free: Callable[[str], bool], form: CsvFormat) -> str:
    """Return the first line if it is text in this format; else raise all that is wrong with the file."""
    complaints: list[Complaint] = []
    seems = form
    try:
        first, second = _two_lines(file, form)
    except UnicodeDecodeError as error:
        seems = _other_encoding(file, form)
        complaints.append(_encoding(file, form, seems, error))
        if seems is form:
            raise refusal(complaints) from None
        first, second = _two_lines(file, seems)
    if not first.strip():
        raise InvalidParameter("source", "must be a .csv table; its first line is empty", str(file))
    mark = next((mark for mark in BETWEEN if mark in first), None)
    if mark is not None and seems.separator not in first:
        comma = mark != "," and form.decimal == "." and DECIMAL_COMMA.search(second) is not None
        complaints.append(_separator(form, mark, comma, first))
        if mark == form.decimal:
            raise refusal(complaints)
        decimal = "," if comma else form.decimal
        thousands = None if form.thousands == decimal else form.thousands
        seems = replace(seems, separator=mark, decimal=decimal, thousands=thousands)
    if complaints:
        names = [name.strip() for name in next(csv.reader([first], delimiter=seems.separator))]
        complaints += _of_rounds(file, names, [name for name in names if is_free(name)], seems, "replace")
        raise refusal(complaints)
    return first


def _two_lines(file: Path, form: CsvFormat) -> tuple[str, str]:
    with form.opened(file) as lines:
        return lines.readline(2**20), lines.readline(2**20)


def _other_encoding(file: Path, form: CsvFormat) -> CsvFormat:
    """Return the format with the other encoding of spreadsheets; unchanged if that does not decode either."""
    for name in ("utf-16", "cp1252"):
        seems = replace(form, encoding=name)
        try:
            first, _ = _two_lines(file, seems)
        except UnicodeError:
            continue
        if form.is_utf8 and first.rstrip("\r\n").replace("\t", " ").isprintable():
            return seems
    return form


def _encoding(file: Path, form: CsvFormat, seems: CsvFormat, error: UnicodeDecodeError) -> Complaint:
    if not form.is_utf8:
        rule = Words(f"must be text in {form.encoding}, the encoding that was given")
    else:
        rule = Words("must be text in UTF-8; save it so, in a spreadsheet as CSV UTF-8")
        rule += _or_with(Set("encoding", seems.encoding, verb="")) if seems is not form else ""
    return Complaint(rule + f" ({error})", Words(), str(file))


def _or_with(*settings: Set) -> Words:
    return Words(", or replay it with ", _together(settings))


def _together(settings: Sequence[Set]) -> Words:
    first, *others = settings
    return Words(first, *(part for one in others for part in (" and ", one)))


def _separator(form: CsvFormat, mark: str, comma: bool, first: str) -> Complaint:
    settings = [Set("separator", "\\t" if mark == "\t" else mark, verb="")]
    settings += [Set("decimal", ",", verb="")] if comma else []
    expected = "commas between columns and points in numbers" if form.separator == "," else ""
    rule = f"must have {expected or f'{form.separator} between columns'}, not {BETWEEN[mark]}; save it so"
    short = Words(f"{BETWEEN[mark]} between columns: ", _together(settings))
    return Complaint(Words(rule, _or_with(*settings)), short, first.strip())


# ---- cells ----


def _of_rounds(
    file: Path, names: Sequence[str], free: Sequence[str], form: CsvFormat, errors: str = "strict"
) -> list[Complaint]:
    """Return the first mistake of each kind in the lines after the first; a torn line ends the search."""
    mistakes: dict[str, Mistake] = {}
    with_numbers = set[str]()
    torn: list[Complaint] = []
    looked_at = 0
    with form.opened(file, errors) as lines:
        rows = csv.reader(lines, delimiter=form.separator)
        next(rows)
        for cells in rows:
            here = f"line {rows.line_num} of {file.name}"
            torn = _of_line(cells, here, names, form)
            looked_at += bool(mistakes)
            if torn or looked_at > MOST_LINES:
                break
            for name, cell in zip(names, cells, strict=True):
                kind, what = ("", "") if name in free else _kind(cell, form)
                if kind in (NUMBER, DECIMAL, GROUPS):
                    with_numbers.add(name)
                if kind in (DECIMAL, GROUPS, MISSING, TEXT):
                    at_once = rows.line_num == FIRST_LINE
                    mistakes.setdefault(kind, Mistake(f"{here}, column {name!r}", name, cell, what, at_once))
    found = []
    for kind, mistake in mistakes.items():
        no_numbers = kind == TEXT and mistake.at_once and mistake.column not in with_numbers
        found.append(_no_numbers(mistake, names, free) if no_numbers else _of_kind(kind, mistake, form))
    return [*found, *torn]


def _of_line(cells: Sequence[str], here: str, names: Sequence[str], form: CsvFormat) -> list[Complaint]:
    if not cells:
        rule = f"must not have empty lines between rounds, as {here} is; take it out"
        return [Complaint(Words(rule), Words(f"{here} is empty"), "")]
    if len(cells) != len(names):
        commas = len(cells) == 2 * len(names) and form.separator == ","
        hint = "; are there decimal commas? Write 0.5, not 0,5" if commas else ""
        rule = f"must have {len(names)} columns in every line, as in the first; {here} has {len(cells)}{hint}"
        short = f"{here} has {len(cells)} columns, not {len(names)}"
        return [Complaint(Words(rule), Words(short), ",".join(cells))]
    return []


def _kind(cell: str, form: CsvFormat) -> tuple[str, str]:
    """Return the kind of a cell, and the character or text that distinguishes it."""
    text = cell.strip()
    if form.is_missing(cell):
        return ("", "") if form.missing else (MISSING, "")
    if form.is_number(cell):
        return NUMBER, ""
    if form.decimal == "." and DECIMAL_COMMA.fullmatch(text):
        return DECIMAL, ""
    groups = GROUPED[form.decimal].fullmatch(text)
    if groups:
        return GROUPS, groups[1] if groups[1] in THOUSANDS else " "
    return TEXT, text


def _of_kind(kind: str, mistake: Mistake, form: CsvFormat) -> Complaint:
    place, cell, what = mistake.place, mistake.cell, mistake.what
    number = f"must have a number in {place}; "
    if kind == MISSING:
        return Complaint(Words(number, form.if_missing), Words(f"a cell is missing (in {place})"), cell)
    if kind == DECIMAL:
        rule = Words(
            f"must have points in its numbers, not commas, as in {place}; write {cell.strip().replace(',', '.')}"
        )
        comma = Set("decimal", ",", verb="")
        rule += _or_with(comma) if form.separator != "," else ""
        return Complaint(rule, Words(f"decimal commas (in {place}): ", comma), cell)
    if kind == GROUPS:
        sign, signs = Set("thousands", what, verb=""), f"{THOUSANDS[what]} between thousands"
        rule = Words(f"{number}leave out the {signs}", _or_with(sign))
        return Complaint(rule, Words(f"{signs} (in {place}): ", sign), cell)
    remedy = [Set("empty", what, verb=""), *([] if form.missing else [Set("fill", "last", verb="")])]
    rule = Words(f"{number}if it stands for a missing value, leave it empty", _or_with(*remedy))
    return Complaint(rule, Words(f"a cell is {what!r} (in {place}): if missing, ", _together(remedy)), cell)


def _no_numbers(mistake: Mistake, names: Sequence[str], free: Sequence[str]) -> Complaint:
    """Return the complaint about a column that may be all text."""
    name, remedy = mistake.column, Words()
    if len(free) == 1 and len(names) == 3:  # time, arm and loss?
        (other,) = [column for column in names if column not in free and column != name]
        long = Set("long", f"{free[0]},{name},{other}", verb="")
        remedy = Words("; if each row has the loss of one arm, replay it with ", long)
    elif not free:
        remedy = Words("; if the column has the times or names of the rounds, ", Set("index", name))
    elif len(free) == 1:
        remedy = Words("; if the column has no losses, name those that have: ", Set("arms", NAMES, verb=""))
    rule = Words(f"must have a number in {mistake.place}", remedy)
    return Complaint(rule, Words(f"column {name!r} has no numbers", remedy), mistake.cell)


def read_csv(
    file: Path, index: str | None, numbers: Sequence[str] | None = None, form: CsvFormat = PLAIN
) -> pl.DataFrame:
    """Return the columns of `numbers`, or all but `index`, as floats; others as numbers, times or text."""

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
    """Parse texts as numbers; raise an error for another format, or return null for a sign too many."""
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
    """Return the column names; raise an error if the first line has none or another separator."""
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
    """Return the number of empty lines at the end; they are not rounds."""
    blank = 0
    with form.opened(file) as lines:
        for line in lines:
            blank = blank + 1 if not line.strip() else 0
    return blank


def _typed(column: pl.Series) -> pl.Series:
    """Return labels as whole numbers, numbers, times, dates, or else text."""
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
