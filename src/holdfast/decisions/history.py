"""What became of a game: one row per block, running totals, and the log that `replay` reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.checks import whole_number
from holdfast.decisions.book import Book
from holdfast.decisions.records import losses_of, rounds_out
from holdfast.decisions.rows import Arm, BlockRow, parts_of
from holdfast.decisions.stores.store import Rows
from holdfast.errors import InvalidParameter
from holdfast.files import whole_file

if TYPE_CHECKING:
    import polars as pl

AT_ONCE = 1000
"""Blocks read, or removed, in one transaction."""

SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class ArmTotals:
    """One arm so far, blocks that are still open included."""

    arm: int | str
    retired: bool
    blocks: int
    rounds: int
    told: int
    losses: float
    mean: float | None
    """Of the losses told; None before the first."""
    last_used: float | None
    """When its latest block began."""


@dataclass(frozen=True)
class Totals:
    """A game so far. `cost` is what was told plus what the switches cost."""

    rounds: int
    told: int
    missing: int
    """Rounds of settled blocks whose losses did not come in time."""
    out: int
    """Rounds handed out whose losses may still come."""
    blocks: int
    switches: int
    losses: float
    switching: float
    cost: float
    arms: tuple[ArmTotals, ...]


class History:
    """Blocks and totals of one game."""

    def __init__(self, seen: Callable[[Callable[[Rows], Any]], Any], changed: Callable[..., Any], book: Book) -> None:
        self._seen, self._changed, self._book = seen, changed, book

    @property
    def totals(self) -> Totals:
        """Running totals. They do not depend on how many rows were compacted."""
        return self._seen(self._totals)  # type: ignore[no-any-return]  # what the function returns

    def _totals(self, rows: Rows) -> Totals:
        head, arms, unsettled = rows.head, rows.arms(), rows.open_blocks()
        known: list[Arm | BlockRow] = [*arms, *unsettled]
        pieces = [part for row in known for part in parts_of(row.parts)]
        paid = parts_of(head.paid)
        told = sum(row.told for row in known)
        missing = sum(arm.rounds - arm.told for arm in arms)
        return Totals(
            rounds=head.asked,
            told=told,
            missing=missing,
            out=sum(rounds_out(rows, block) - block.told for block in unsettled),
            blocks=head.begun,
            switches=head.switches,
            losses=math.fsum(pieces),
            switching=math.fsum(paid),
            cost=math.fsum([*pieces, *paid]),
            arms=tuple(self._arm_totals(arm, [b for b in unsettled if b.arm == arm.arm], rows) for arm in arms),
        )

    def _arm_totals(self, arm: Arm, unsettled: list[BlockRow], rows: Rows) -> ArmTotals:
        told = arm.told + sum(block.told for block in unsettled)
        known: list[Arm | BlockRow] = [arm, *unsettled]
        losses = math.fsum(part for row in known for part in parts_of(row.parts))
        return ArmTotals(
            arm=self._book.name_of(arm.arm),
            retired=bool(arm.retired),
            blocks=arm.blocks + len(unsettled),
            rounds=arm.rounds + sum(rounds_out(rows, block) for block in unsettled),
            told=told,
            losses=losses,
            mean=losses / told if told else None,
            last_used=max(
                (at for at in (arm.last_used, *(b.began for b in unsettled)) if at is not None), default=None
            ),
        )

    def blocks(self) -> Iterator[BlockRow]:
        """All blocks that have not been compacted, in order."""
        found = self._seen(partial(_blocks_after, number=0))
        while found:
            yield from found
            found = self._seen(partial(_blocks_after, number=found[-1].number))

    def recent(self, limit: int) -> list[BlockRow]:
        """The last blocks."""
        return self._seen(lambda rows: rows.latest_blocks(limit))  # type: ignore[no-any-return]  # what the function returns

    @property
    def frame(self) -> pl.DataFrame:
        """One row per block."""
        import polars as pl

        told = [
            {
                "block": b.number,
                "began": b.began,
                "arm": self._book.name_of(b.arm),
                "rounds": b.rounds,
                "probability": b.probability,
                "told": b.told,
                "missing": None if b.settled is None else b.rounds - b.told,
                "late": b.late,
                "total": b.total if b.settled is not None else math.fsum(parts_of(b.parts)),
                "settled": b.settled,
            }
            for b in self.blocks()
        ]
        arm = pl.Int64 if self._book.policy.arms is None else pl.String
        schema = {"block": pl.Int64, "began": pl.Float64, "arm": arm, "rounds": pl.Int64, "probability": pl.Float64}
        schema |= {"told": pl.Int64, "missing": pl.Int64, "late": pl.Int64, "total": pl.Float64, "settled": pl.Float64}
        return _with_times(pl.DataFrame(told, schema=schema), "began", "settled")

    @property
    def log(self) -> pl.DataFrame:
        """One row per loss that counted: time, arm, loss, probability, block.

        Where single losses are no longer known, each round of the block has its mean, and `single` is false.
        """
        import polars as pl

        columns: dict[str, list[Any]] = {name: [] for name in ("time", "arm", "loss", "probability", "block", "single")}
        for block, losses, single in self._seen_losses():
            columns["time"] += [block.began] * len(losses)
            columns["arm"] += [self._book.name_of(block.arm)] * len(losses)
            columns["loss"] += losses
            columns["probability"] += [block.probability] * len(losses)
            columns["block"] += [block.number] * len(losses)
            columns["single"] += [single] * len(losses)
        arm = pl.Int64 if self._book.policy.arms is None else pl.String
        types = {"time": pl.Float64, "arm": arm, "loss": pl.Float64, "probability": pl.Float64}
        return _with_times(pl.DataFrame(columns, schema={**types, "block": pl.Int64, "single": pl.Boolean}), "time")

    def _seen_losses(self) -> Iterator[tuple[BlockRow, list[float], bool]]:
        found = self._seen(partial(self._losses, after=0))
        while found:
            yield from found
            found = self._seen(partial(self._losses, after=found[-1][0].number))

    def _losses(self, rows: Rows, after: int) -> list[tuple[BlockRow, list[float], bool]]:
        found = []
        for block in rows.blocks(after, AT_ONCE):
            losses = [loss for loss, late in losses_of(rows, block).values() if not late]
            single = len(losses) == block.told
            if not single:
                losses = [math.fsum(parts_of(block.parts)) / block.told] * block.told
            found.append((block, losses, single))
        return found

    def export(self, out: str | Path) -> None:
        """Write `log` as CSV or parquet; a reader of the file sees the old log or the new one, never a part.

        In CSV an arm whose name a spreadsheet would take for a formula gets an apostrophe in front.
        """
        from holdfast.result_files import csv_of

        path = Path(out)
        if path.suffix not in SUFFIXES:
            raise InvalidParameter("out", f"must end in {' or '.join(SUFFIXES)}", str(out))
        log = self.log
        with whole_file(path) as file:
            if path.suffix == ".csv":
                file.write(csv_of(log, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ"))
            else:
                log.write_parquet(file)

    def compact(self, keep: int) -> int:
        """Remove the rows of settled blocks but for the last `keep`; totals stay. Returns how many were removed."""
        keep = whole_number("keep", keep, least=0)
        removed = 0
        while some := self._changed(lambda rows, again: self._compacted(rows, keep)):
            removed += some
        return removed

    def _compacted(self, rows: Rows, keep: int) -> int:
        head = rows.head
        last = head.begun - keep
        blocks = [b for b in rows.blocks(0, AT_ONCE, settled_only=True) if b.number <= last]
        for block in blocks:
            if block.place is not None and block.place > head.forgotten:
                rows.forget(block.number)
                head = head._replace(kept=head.kept - block.rounds)
            rows.remove(block.number)
        rows.head = head._replace(removed=head.removed + len(blocks))
        return len(blocks)


def _blocks_after(rows: Rows, number: int) -> list[BlockRow]:
    return rows.blocks(number, AT_ONCE)


def _with_times(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Seconds since 1970 as times in UTC, whole microseconds."""
    import polars as pl

    micro = [(pl.col(name) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us", "UTC")) for name in columns]
    return frame.with_columns(micro)
