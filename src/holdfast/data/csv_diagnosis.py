"""What is wrong with a CSV file, all of it in one message: the first place of each mistake, how many, what to do.

A German export may have another encoding, semicolons, decimal commas, points between thousands and texts for missing
values at once. So a file that begins wrong is read on as it seems to be written.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from holdfast.data.csv_format import THOUSANDS, CsvFormat
from holdfast.errors import InvalidParameter

FIRST_LINE = 2
"""The line of the first round, after that of the names."""

MOST_LINES = 100_000
"""Lines that are looked at after the first mistake: Python reads them slowly."""
MOST_TEXTS = 3
"""Different texts in place of numbers that are named."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?"),
    ",": re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?"),
}
"""Numbers with signs between thousands, by decimal sign."""

NUMBER, DECIMAL, GROUPS, MISSING, TEXT = "number", "decimal", "groups", "missing", "text"
"""What a cell may be."""

BETWEEN = {";": "semicolons", "\t": "tabs", ",": "commas"}


class Complaint(NamedTuple):
    """One thing that is wrong."""

    rule: str
    """What must be, and what to do."""
    short: str
    """The same beside other complaints."""
    value: object


@dataclass
class Mistake:
    """Cells that are wrong in the same way: where the first is, and how many."""

    place: str
    cell: str
    at_once: bool
    """Whether it is in the first round."""
    count: int = 0


def refusal(complaints: Sequence[Complaint]) -> InvalidParameter:
    """All complaints in one error."""
    first, *others = complaints
    also = f"; also {'; '.join(one.short for one in others)}" if others else ""
    return InvalidParameter("source", first.rule + also, first.value)


def diagnose(file: Path, names: Sequence[str], free: Sequence[str], form: CsvFormat) -> None:
    """Look for lines that are no rounds, and say what is wrong with them; `free` columns may hold anything."""
    try:
        complaints = _of_rounds(file, names, free, form)
    except UnicodeDecodeError as error:
        seems = _other_encoding(file, form)
        complaints = [_encoding(file, form, seems, error), *_of_rounds(file, names, free, seems, "replace")]
    if complaints:
        raise refusal(complaints)


def wrong_beginning(file: Path, is_free: Callable[[str], bool], form: CsvFormat) -> str:
    """The first line, if it is text in this format; else an error with whatever else is wrong with the file."""
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
    """The format with the encoding that spreadsheets use besides UTF-8; the same one where that is no text either."""
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
        return Complaint(f"must be text in {form.encoding}, the encoding that was given ({error})", "", str(file))
    rule = "must be text in UTF-8; save it so, in a spreadsheet as CSV UTF-8"
    if seems is not form:
        rule += f", or replay it with encoding={seems.encoding!r}"
    return Complaint(f"{rule} ({error})", "", str(file))


def _separator(form: CsvFormat, mark: str, comma: bool, first: str) -> Complaint:
    word = BETWEEN[mark]
    written = "\\t" if mark == "\t" else mark
    expected = "commas between columns and points in numbers" if form.separator == "," else ""
    expected = expected or f"{form.separator} between columns"
    rule = f"must have {expected}, not {word}; save it so, or replay it with separator={written!r}"
    short = f"{word} between columns: separator={written!r}"
    if comma:
        rule, short = f"{rule} and decimal=','", f"{short} and decimal=','"
    return Complaint(rule, short, first.strip())


# ---- cells ----


def _of_rounds(
    file: Path, names: Sequence[str], free: Sequence[str], form: CsvFormat, errors: str = "strict"
) -> list[Complaint]:
    """All that is wrong with the lines after the first, in the order in which it comes; a torn line ends the search."""
    mistakes: dict[tuple[str, str, str], Mistake] = {}
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
            if looked_at > MOST_LINES:
                torn = [Complaint("", f"lines from {rows.line_num:,} on were not looked at", "")]
            if torn:
                break
            for name, cell in zip(names, cells, strict=True):
                kind, what = ("", "") if name in free else _kind(cell, form)
                if kind in (NUMBER, DECIMAL, GROUPS):
                    with_numbers.add(name)
                if kind in (DECIMAL, GROUPS, MISSING, TEXT):
                    first = Mistake(f"{here}, column {name!r}", cell, rows.line_num == FIRST_LINE)
                    mistakes.setdefault((kind, what, name), first).count += 1
    return [*_complaints(mistakes, with_numbers, names, free, form), *torn]


def _of_line(cells: Sequence[str], here: str, names: Sequence[str], form: CsvFormat) -> list[Complaint]:
    if not cells:
        rule = f"must not have empty lines between rounds, as {here} is; take it out"
        return [Complaint(rule, f"{here} is empty", "")]
    if len(cells) != len(names):
        commas = len(cells) == 2 * len(names) and form.separator == ","
        hint = "; are there decimal commas? Write 0.5, not 0,5" if commas else ""
        rule = f"must have {len(names)} columns in every line, as in the first; {here} has {len(cells)}{hint}"
        return [Complaint(rule, f"{here} has {len(cells)} columns, not {len(names)}", ",".join(cells))]
    return []


def _kind(cell: str, form: CsvFormat) -> tuple[str, str]:
    """What a cell is, and the sign or the text by which it is told from others of its kind."""
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


def _complaints(
    mistakes: Mapping[tuple[str, str, str], Mistake],
    with_numbers: Collection[str],
    names: Sequence[str],
    free: Sequence[str],
    form: CsvFormat,
) -> list[Complaint]:
    """One for each column without numbers, and one for each kind of mistake in the others."""
    columns: dict[str, Complaint] = {}
    others: dict[tuple[str, str], Mistake] = {}
    for (kind, what, name), mistake in mistakes.items():
        if kind == TEXT and mistake.at_once and name not in with_numbers:
            columns.setdefault(name, _no_numbers(mistake, name, names, free))
        elif name not in columns:
            same = others.setdefault((kind, what), replace(mistake, count=0))
            same.count += mistake.count
    texts = [key for key in others if key[0] == TEXT]
    for key in texts[MOST_TEXTS:]:
        del others[key]
    found = [*columns.values(), *(_of_kind(kind, what, one, form) for (kind, what), one in others.items())]
    more = len(texts) - MOST_TEXTS
    return [*found, Complaint("", f"{more} other texts in place of numbers", "")] if more > 0 else found


def _of_kind(kind: str, what: str, mistake: Mistake, form: CsvFormat) -> Complaint:
    place, cell, count = mistake.place, mistake.cell, mistake.count
    like = f", and in {count - 1:,} more like it" if count > 1 else ""
    first = f"(the first in {place})" if count > 1 else f"(in {place})"
    if kind == MISSING:
        cells = "1 cell is missing" if count == 1 else f"{count:,} cells are missing"
        return Complaint(f"must have a number in {place}{like}; {form.if_missing}", f"{cells} {first}", cell)
    if kind == DECIMAL:
        rule = f"must have points in its numbers, not commas, as in {place}; write {cell.strip().replace(',', '.')}"
        rule += ", or replay it with decimal=','" if form.separator != "," else ""
        return Complaint(rule, f"decimal commas {first}: decimal=','", cell)
    if kind == GROUPS:
        sign = f"thousands={what!r}"
        rule = f"must have a number in {place}{like}; leave out the {THOUSANDS[what]} between thousands"
        short = f"{count:,} number{'s have' if count > 1 else ' has'} {THOUSANDS[what]} between thousands {first}"
        return Complaint(f"{rule}, or replay it with {sign}", f"{short}: {sign}", cell)
    remedy = f"empty={what!r}" + ("" if form.missing else " and fill='last'")
    rule = f"must have a number in {place}{like}; if it stands for a missing value, leave it empty, or replay it with "
    short = f"{count:,} cell{'s are' if count > 1 else ' is'} {what!r} {first}: if missing, {remedy}"
    return Complaint(rule + remedy, short, cell)


def _no_numbers(mistake: Mistake, name: str, names: Sequence[str], free: Sequence[str]) -> Complaint:
    """All of the column may be like this."""
    rule, remedy = f"must have a number in {mistake.place}", ""
    if len(free) == 1 and len(names) == 3:  # time, arm and loss?
        (other,) = [column for column in names if column not in free and column != name]
        remedy = f"if each row has the loss of one arm, replay it with long={f'{free[0]},{name},{other}'!r}"
    elif not free:
        remedy = f"if the column has the times or names of the rounds, give index={name!r}"
    elif len(free) == 1:
        remedy = "if the column has no losses, name those that have: arms=[...]"
    hint = f"; {remedy}" if remedy else ""
    return Complaint(rule + hint, f"column {name!r} has no numbers{hint}", mistake.cell)
