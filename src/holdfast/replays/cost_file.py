"""What a switch costs from each arm to each other, from a file: a row per arm to leave, a column per arm to go to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.checks import one_of
from holdfast.data.csv_format import PLAIN, CsvFormat
from holdfast.data.traces import read_frame
from holdfast.errors import InvalidParameter, parameter_named
from holdfast.extras import pl
from holdfast.layouts import Array


def read_costs(source: Path | pl.DataFrame, arms: list[str], form: CsvFormat = PLAIN) -> Array:
    """The table in the order of the arms; the first column names the arm that is left."""
    with parameter_named(lambda _: "switching_cost"):
        frame = read_frame(source, numbers=arms, form=form)
    left = frame.columns[0]
    names = [str(name) for name in frame[left].to_list()]
    rule = "must have a column for each arm, and before them one with the arms that are left"
    for arm in arms:
        if arm not in frame.columns[1:]:
            raise InvalidParameter("switching_cost", f"{rule}; there is no column {arm!r}", ", ".join(frame.columns))
        if names.count(arm) != 1:
            found = f"there {'is no row' if arm not in names else 'are several rows'} {arm!r}"
            raise InvalidParameter("switching_cost", f"{rule}; {found}", ", ".join(names))
    for name in names:
        one_of(f"switching_cost, column {left!r},", name, arms)
    rows: Any = frame.select(pl.col(arms).cast(pl.Float64, strict=False))
    table: Array = rows.to_numpy()[[names.index(arm) for arm in arms]]
    return table
