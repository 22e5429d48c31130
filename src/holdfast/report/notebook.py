"""What a notebook shows of a result, a player or a game: a small table, in the colours of the notebook."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.report.markup import Html, element, joined

MOST_ROWS = 24
"""Rows shown; of more, the first."""


def view(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> Html:
    """A table with words above and below it; the first column is words, the others are numbers.

    >>> view("two arms", ["arm", "rounds"], [["<a>", "3"]]).count("&lt;a&gt;")
    1
    """
    shown = rows[:MOST_ROWS]
    more = [f"… and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    table = element("table", element("thead", _row("th", head)), element("tbody", *(_row("td", row) for row in shown)))
    lines = [element("div", line) for line in (*more, *notes)]
    return element("div", element("div", caption), table if rows else Html(""), *lines)


def bar(share: float) -> Html:
    """A probability as a number and a bar."""
    style = f"display:inline-block;height:0.7em;width:{80 * share:.0f}px;background:currentColor;opacity:0.45"
    return joined(
        f"{share:.3f} ", element("span", element("span", style=style), style="display:inline-block;width:80px")
    )


def _row(tag: str, cells: Sequence[str]) -> Html:
    sides = ["left", *["right"] * (len(cells) - 1)]
    return element(
        "tr", *(element(tag, cell, style=f"text-align:{side}") for cell, side in zip(cells, sides, strict=True))
    )
