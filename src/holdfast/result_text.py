"""Means and standard errors in words: for a terminal of 80 columns, for Markdown, for LaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from holdfast.checks import one_of
from holdfast.errors import printable
from holdfast.extras import pl
from holdfast.number_format import with_error
from holdfast.regret import MEASURES

WIDTH = 80
LONGEST_NAME = 32
"""Characters of a policy's name that are shown in a terminal."""
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}
IN_MATHS = str.maketrans({",": "{,}", "±": r"\pm", "–": "-", "−": "-"})


class Summary(pl.DataFrame):
    """Means, deviations and errors as a polars table, shown as means with their errors: every measure in 80 columns."""

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self, **options: Any) -> str:
        from holdfast.report.notebook import view

        head, *body = rows_of(self)
        return view("mean ± standard error", head, body)


def as_text(summary: pl.DataFrame) -> str:
    """A line for each policy; measures that do not fit beside the others follow below."""
    head, *body = rows_of(summary)
    body = [[*(shortened(cell) for cell in row[: -len(MEASURES)]), *row[-len(MEASURES) :]] for row in body]
    labels = len(head) - len(MEASURES)
    widths = [max(map(terminal_columns, column)) for column in zip(head, *body, strict=True)]
    room = WIDTH - sum(widths[:labels]) - 2 * (labels - 1)
    blocks: list[list[int]] = [[]]
    for i in range(labels, len(head)):
        begins = head[i] == MEASURES["total_loss"] and sum(2 + width for width in widths[labels:]) > room
        if blocks[-1] and (begins or sum(2 + widths[j] for j in (*blocks[-1], i)) > room):
            blocks.append([])
        blocks[-1].append(i)
    texts = []
    for block in blocks:
        for row in (head, *body):
            cells = [_padded(row[i], widths[i], left=i < labels) for i in (*range(labels), *block)]
            texts.append("  ".join(cells).rstrip())
        texts.append("")
    return "\n".join(texts[:-1])


def as_markdown(summary: pl.DataFrame, measures: Iterable[str]) -> str:
    """A table for a README, an issue or a notebook."""
    head, *body = rows_of(summary, measures)
    numbers = len(list(measures))
    lines = [head, ["---"] * (len(head) - numbers) + ["---:"] * numbers, *body]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def as_latex(summary: pl.DataFrame, measures: Iterable[str]) -> str:
    """A ``tabular`` that needs no package."""
    head, *body = rows_of(summary, measures)
    numbers = len(list(measures))
    lines = [r"\begin{tabular}{" + "l" * (len(head) - numbers) + "r" * numbers + "}", r"\hline"]
    lines += [" & ".join(map(_escaped, head)) + r" \\", r"\hline"]
    for row in body:
        means = [f"${cell.translate(IN_MATHS)}$" for cell in row[-numbers:]]
        lines.append(" & ".join([*map(_escaped, row[:-numbers]), *means]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def rows_of(summary: pl.DataFrame, measures: Iterable[str] = MEASURES) -> list[list[str]]:
    """The head and a row for each policy; columns in which all rows agree, such as the round, are left out."""
    names = [one_of("measures", measure, MEASURES) for measure in measures]
    own = {f"{name}_{part}" for name in MEASURES for part in ("mean", "sd", "se")}
    labels = [
        name for name in summary.columns if name not in own and (name == "policy" or summary[name].n_unique() > 1)
    ]
    rows = [[*labels, *(MEASURES[name] for name in names)]]
    for row in summary.iter_rows(named=True):
        means = (with_error(row[f"{name}_mean"], row[f"{name}_se"]) for name in names)
        rows.append([*(printable(row[name]) for name in labels), *means])
    return rows


def shortened(cell: str, most: int = LONGEST_NAME) -> str:
    """A name in at most so many columns of a terminal, its middle left out."""
    if terminal_columns(cell) <= most:
        return cell
    begin, end = cell[:-8], cell[-8:]  # names often differ at their end
    while begin and terminal_columns(begin + end) >= most:
        begin = begin[:-1]
    return f"{begin}…{end}"


def terminal_columns(text: str) -> int:
    """Columns of a terminal: some letters take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(text: str, width: int, left: bool) -> str:
    space = " " * (width - terminal_columns(text))
    return text + space if left else space + text


def _escaped(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)
