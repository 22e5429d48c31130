"""Made-up tables of the paper's runs, for what its claims ask of them."""

from functools import cache
from zlib import crc32

import numpy as np
import polars as pl

from holdfast.lab.judge import COST
from holdfast.lab.paper.plan import POLICIES, PaperSettings, PaperTables, horizons, long_rounds
from holdfast.numerics.layout import Array
from holdfast.results import Result

SETTINGS, RUNS = PaperSettings(), 30


@cache
def same_table() -> Result:
    """A table of every policy, at two rounds."""
    marks = np.array([50_000, 100_000])
    columns = {"replication": np.repeat(np.arange(RUNS), 2), "round": np.tile(marks, RUNS)}
    columns |= {name: 1.0 * np.tile(marks, RUNS) for name in ("pseudo_regret", COST)}
    columns |= {"switches": np.tile(marks, RUNS)}
    order = ["policy", "replication", "round", "pseudo_regret", "switches", COST]
    return Result(
        pl.concat([pl.DataFrame(columns).with_columns(policy=pl.lit(name)).select(order) for name in POLICIES])
    )


class AnyTables(PaperTables):
    """Has every table, each series of it of another size, and notes which tables are asked for."""

    def __init__(self) -> None:
        super().__init__({}, SETTINGS)
        self.asked: set[str] = set()

    def __contains__(self, table: object) -> bool:
        self.asked.add(str(table))
        return True

    def __getitem__(self, name: str) -> Result:
        self.asked.add(name)
        return same_table()

    def curve(self, table: str, policy: str, measure: str = COST) -> tuple[Array, Array]:
        self.asked.add(table)
        last = max(horizons(SETTINGS)) if table.startswith("long") else SETTINGS.horizon  # a bound adds up every round
        marks = horizons(SETTINGS) if table == "long-base" else long_rounds(SETTINGS)[::8]
        rounds = np.array([t for t in marks if t <= last], dtype=np.float64)
        size = 1 + crc32(f"{table} {policy} {measure}".encode()) % 1000 / 1000
        return rounds, np.outer(size * (1.0 + 0.01 * np.arange(RUNS)), np.sqrt(rounds))
