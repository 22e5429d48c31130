"""Put the tables of an ``arena.json`` into docs/arena.md: python scripts/arena_document.py arena/arena.json"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.evidence.findings import KNOWS_T
from holdfast.evidence.worlds import GROUPS
from holdfast.files import write_whole

BEGIN, END = "<!-- tables of a run -->", "<!-- end of the tables -->"


def refresh(document: str | Path, page: str | Path) -> Path:
    """Put the tables of the run in `document` between the marks of `page`."""
    text = Path(page).read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise HoldfastError(f"{page} must have the marks {BEGIN!r} and {END!r}")
    told = json.loads(Path(document).read_text(encoding="utf-8"))
    return write_whole(page, f"{before}{BEGIN}\n\n{markdown(told)}\n{END}{after}".encode())


def markdown(told: dict[str, Any]) -> str:
    """Worst cases, then the ratios to the best policy in every environment, by group."""
    parts = [
        f"{told['replications']} replications, T = {told['horizon']:,}, seed {told['seed']}, "
        f"holdfast {told['holdfast']}. {KNOWS_T} knows T; ± half of a 95 % interval; percentages are of "
        "Theorem 1's bound.",
        _worst(told),
        *(f"Ratio to the best policy, {words}.\n\n{_ratios(told, group)}" for group, words in _groups(told)),
        "Worst ratio to the best policy with other floors.\n\n" + _floors(told),
        *([_long(told)] if told.get("long_games") else []),
    ]
    return "\n\n".join(parts) + "\n"


def _groups(told: dict[str, Any]) -> list[tuple[str, str]]:
    there = {row["group"] for row in told["table"]}
    return [(group, words) for group, words in GROUPS.items() if group in there]


def _marked(row: dict[str, Any]) -> str:
    return str(row["policy"]) + (KNOWS_T if row["knows_horizon"] else "")


def _worst(told: dict[str, Any]) -> str:
    head = ["policy", "worst ratio to the best", "in", "mean ratio to the paper's", "most above the paper's, %", "in"]
    head += ["99th percentile, %", "worst run, %", "found by search, %"]
    rows = [
        [
            _marked(row),
            _around(row, "to_best"),
            row["to_best_in"] or "–",
            _number(row["mean_to_paper"]),
            _around(row, "above_paper", 100),
            row["above_paper_in"] or "–",
            _number(row["q99_share"], 100),
            _number(row["worst_run_share"], 100),
            _around(row, "found_share", 100),
        ]
        for row in told["worst_cases"]
    ]
    return _table(head, rows)


def _ratios(told: dict[str, Any], group: str) -> str:
    own = [row for row in told["table"] if row["group"] == group]
    environments = list(dict.fromkeys(row["environment"] for row in own))
    found = {(row["policy"], row["environment"]): row["to_best"] for row in own}
    rows = [
        [_marked(row), *(_number(found[row["policy"], name]) for name in environments)] for row in told["worst_cases"]
    ]
    return _table(["policy", *environments], rows)


def _floors(told: dict[str, Any]) -> str:
    floors = list(next(iter(told["worst_ratios_by_floor"].values())))
    marked = {row["policy"]: _marked(row) for row in told["policies"]}
    rows = [
        [marked[row["policy"]], *(_number(told["worst_ratios_by_floor"][row["policy"]][floor]) for floor in floors)]
        for row in told["worst_cases"]
    ]
    return _table(["policy", *(f"{float(floor):.0%}" for floor in floors)], rows)


def _long(told: dict[str, Any]) -> str:
    """Exponents in the long games, up to the longest T."""
    longest = max(row["horizon"] for row in told["long_games"])
    last = [row for row in told["long_games"] if row["horizon"] == longest]
    games = list(dict.fromkeys(row["environment"] for row in last))
    found = {(row["policy"], row["environment"]): _around(row, "exponent") for row in last}
    rows = [[_marked(row), *(found[row["policy"], game] for game in games)] for row in told["worst_cases"]]
    words = (
        f"Long games: the exponent of T from {last[0]['since']:,} to {longest:,}, {last[0]['replications']} games each."
    )
    return f"{words}\n\n{_table(['policy', *games], rows)}"


def _around(row: dict[str, Any], name: str, times: float = 1) -> str:
    if row[name] is None:
        return "–"
    return f"{_number(row[name], times)} ± {_number((row[f'{name}_high'] - row[f'{name}_low']) / 2, times)}"


def _number(value: float | None, times: float = 1) -> str:
    if value is None:
        return "–"
    shown = value * times
    return f"{shown:.{0 if abs(shown) >= 100 else 1 if times > 1 or abs(shown) >= 10 else 2}f}".replace("-", "−")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    refresh(sys.argv[1], "docs/arena.md")
