"""Replications to curves: mean and standard deviation of each measure at each round."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

MEASURES = ("pseudo_regret", "switches", "regret_with_switching")
MEASURE_LABELS = ("pseudo-regret", "switches", "pseudo-regret + λ · switches")
NARROW_SPACE = "\u202f"

# The paper's policies in its order, so that every figure lists them alike.
KNOWN = ("tsallis-switch", "tsallis-inf", "exp3", "exp3-blocks", "base-arithmetic", "base-geometric")


@dataclass(frozen=True)
class Curve:
    """One series over the rounds; `mean` and `sd` have a row per measure, `sd` is NaN for one replication."""

    label: str
    replications: int
    rounds: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]

    def thin(self, even: int, log: int) -> "Curve":
        """At most `even` of its points spread evenly over the rounds and `log` over their logarithms."""
        if self.rounds.size <= even + log:
            return self
        first, last = float(self.rounds[0]), float(self.rounds[-1])
        wanted = np.concatenate([np.linspace(first, last, even), np.geomspace(max(first, 1.0), last, log)])
        keep = np.unique(np.searchsorted(self.rounds, wanted).clip(0, self.rounds.size - 1))
        return Curve(self.label, self.replications, self.rounds[keep], self.mean[:, keep], self.sd[:, keep])


def curves(frame: pl.DataFrame) -> tuple[Curve, ...]:
    """One curve for each policy of the table, in the order of `ordered`."""
    table = (
        frame.with_columns(pl.col("policy").cast(pl.String))
        .group_by("policy", "round", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            *(pl.col(m).cast(pl.Float64).mean().alias(f"{m}_mean") for m in MEASURES),
            *(pl.col(m).cast(pl.Float64).std(ddof=1).alias(f"{m}_sd") for m in MEASURES),
        )
    )
    found = []
    for label in ordered(table["policy"].unique(maintain_order=True).to_list()):
        one = table.filter(pl.col("policy") == label).sort("round")
        mean, sd = (
            np.stack([one[f"{m}_{part}"].cast(pl.Float64).fill_null(np.nan).to_numpy() for m in MEASURES])
            for part in ("mean", "sd")
        )
        rounds = one["round"].cast(pl.Int64).to_numpy()
        found.append(Curve(label, one["n"].to_list()[-1], rounds, mean, sd))
    return tuple(found)


def ordered(labels: list[str]) -> list[str]:
    """Numbers by value; otherwise the paper's policies first, then the others as they came."""
    if all_numbers(labels):
        return sorted(labels, key=float)
    return sorted(labels, key=lambda label: KNOWN.index(label) if label in KNOWN else len(KNOWN))


def all_numbers(labels: list[str]) -> bool:
    """Whether every label is a number, as the series of a sweep are."""
    try:
        return all(np.isfinite(float(label)) for label in labels)
    except ValueError:
        return False


def dwarfed(rows: Sequence[Sequence[Curve]], measure: int) -> bool:
    """Whether in some row half of the curves end below a tenth of the highest: a linear axis would flatten them.

    Asked of all rows at once, so that the panels of a column have one scale.
    """
    for lines in rows:
        ends = np.array([abs(line.mean[measure, -1]) for line in lines])
        if ends.size > 1 and np.mean(ends < ends.max() / 10) >= 0.5:
            return True
    return False


def decimals(values: list[float]) -> int:
    """Decimals for a column of values: enough for the smallest, none that the largest would make noise."""
    sizes = [abs(value) for value in values if np.isfinite(value) and value != 0] or [100.0]
    wanted = 0 if min(sizes) >= 100 else 1 if min(sizes) >= 10 else 2
    return max(0, wanted - (max(sizes) >= 1000))


def number(value: float, places: int = 0) -> str:
    """A number with thousands parted by a narrow space: 12 345."""
    # Adding zero turns the minus zero that rounding can leave into zero.
    return f"{round(value, places) + 0.0:,.{places}f}".replace(",", NARROW_SPACE).replace("-", "−")
