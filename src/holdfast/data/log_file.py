"""The columns of a log of decisions: one row per round with the arm, its loss and the probability it was drawn with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from holdfast.data.csv_format import PLAIN, CsvFormat
from holdfast.data.traces import read_frame
from holdfast.errors import InvalidParameter, nearest
from holdfast.extras import pl

STATUSES = ("told", "late", "missing", "open", "forced", "rule")
"""What can have become of the loss of a round; ``forced``: an operator chose the arm, ``rule``: the rule held back."""

WHAT_TO_LOG = "log player.probability with every round, as it is after player.ask()"


def read_log_columns(source: Any, columns: Mapping[str, str | None], form: CsvFormat = PLAIN) -> dict[str, Any]:
    """Arrays of the columns ``arm``, ``loss`` and ``probability``; ``block`` may be one too, ``"rounds"`` or None.

    A column ``time``, if there is one, must not run backwards. A column ``status`` as `Router.history.export` writes it
    is read too, if there is one; then a loss may be NaN, where nothing is known of it. ``conversations`` is True where
    all rounds are of conversations.
    """
    block, time = columns.get("block"), columns.get("time")
    loss, numbers = str(columns["loss"]), [str(columns["loss"]), str(columns["probability"])]
    frame = read_frame(source, numbers=numbers[1:], form=form)
    status = _status(frame)
    if status is None or loss not in frame.columns or not frame[loss].dtype.is_numeric():
        frame = read_frame(source, numbers=numbers, form=form)
    else:
        frame = frame.with_columns(
            pl.when(frame["status"] != "told").then(pl.col(loss).fill_null(math.nan)).otherwise(loss)
        )
    for name in [columns["arm"], *numbers, *(name for name in (block, time) if name and name != "rounds")]:
        if name not in frame.columns:
            what = f"; {WHAT_TO_LOG}" if name == columns["probability"] else ""
            known = ", ".join(map(repr, frame.columns))
            rule = f"must have a column {name!r} among its columns {known}{what}{nearest(name, frame.columns)}"
            raise InvalidParameter("log", rule, str(source))
    if time and not (frame[time].is_sorted() or frame[time].dtype == pl.String):
        row = int((frame[time] < frame[time].shift(1)).fill_null(False).arg_max() or 0)
        raise InvalidParameter("log", f"must have a column {time!r} that does not run backwards", f"row {row + 1}")
    read = {name: _array(frame, columns[name]) for name in ("arm", "loss", "probability")}
    read["status"] = status
    read["conversations"] = status is not None and _conversations(frame)
    return read | {"block": block if block is None or block == "rounds" else _array(frame, block)}


def _status(frame: pl.DataFrame) -> Any:
    """The column of that name, if it is one of ours."""
    if "status" not in frame.columns or not set(frame["status"].unique().to_list()) <= set(STATUSES):
        return None
    return frame["status"].to_numpy()


def _conversations(frame: pl.DataFrame) -> bool:
    """Whether a log of ours is of conversations only; in a CSV file the column is text."""
    if "conversation" not in frame.columns:
        return False
    return set(frame["conversation"].cast(pl.String).unique().to_list()) == {"true"}


def _array(frame: pl.DataFrame, name: str | None) -> Any:
    column = frame[str(name)]
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        what = f"; {WHAT_TO_LOG}" if column.dtype.is_float() else ""
        raise InvalidParameter("log", f"must have a value in row {row + 1}, column {name!r}{what}", None)
    return column.to_numpy()
