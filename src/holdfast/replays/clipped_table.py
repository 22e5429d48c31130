"""Losses that policies hear clipped and that are counted as they were recorded.

A few outliers stretch the range of the losses, and all others then differ by a small share of it: a policy that sees
the loss of its own arm learns slowly. Clipped they teach quickly. What is paid stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from holdfast._numba.compile import kernel
from holdfast.data.traces import Trace
from holdfast.environments import LossTable
from holdfast.environments.environment import Tables
from holdfast.environments.loss_table import Summed, prefix_sums
from holdfast.layouts import Array
from holdfast.number_format import number

NARROW = 0.1
"""Where nearly all losses lie within so small a part of their range, the rest of it is a few outliers."""
TAIL = 0.01
"""The share of losses at each end that may be such."""
MOST_LOOKED_AT = 10**6
"""Losses from which that is estimated."""


@kernel
def heard(tables: Any, places: Any, start: float, stop: float, streams: Any, totals: Any) -> None:
    """Two lookups in the sums of the clipped losses, as a share of the units."""
    sums, unit = tables[2], tables[1][1]
    s, t = int(start), int(stop)
    for g in range(totals.shape[0]):
        totals[g] = (sums[t, int(places[g])] - sums[s, int(places[g])]) / unit


@dataclass(frozen=True)
class ClippedSums(Summed):
    """The sums of the losses as recorded, and of what is heard of them."""

    heard: Array


@dataclass(frozen=True, eq=False)
class ClippedTable(LossTable):
    """A `LossTable` whose `units` are those of the clipped losses; made by `of`."""

    id: ClassVar[str] = "clipped-table"
    total_kernel: ClassVar[Callable[..., Any]] = staticmethod(heard)

    @cached_property
    def tables(self) -> Tables:
        """Those of the losses as recorded, and the sums that are heard."""
        held: ClippedSums = self.source
        return *super().tables, held.heard

    @classmethod
    def of(cls, trace: Trace, units: tuple[float, float] = (0.0, 1.0), index: str | None = None) -> Self:
        """The table of these losses, heard within `units`."""
        recorded = prefix_sums(trace, units, checked=False)
        known = prefix_sums(replace(trace, table=np.clip(trace.table.astype(np.float64), *units)), units)
        held = ClippedSums(trace.source, recorded, trace.arms, trace.labels, units, index, known)
        return cls(held, units=units, index=index, arms=trace.arms)

    def part(self, start: int, stop: int) -> Self:
        """The rounds [start, stop) as a table of their own."""
        cut = super().part(start, stop)
        held = replace(cut.source, heard=self.source.heard[start : stop + 1])
        return replace(cut, source=held)


def clipping_note(losses: NDArray[Any], clip: tuple[float, float], *, rewards: bool) -> str:
    """How many losses lie outside, and what was done about it."""
    low, high = clip
    count = int(np.count_nonzero((losses < low) | (losses > high)))
    what, ends = ("rewards", (0.0 - high, 0.0 - low)) if rewards else ("losses", clip)
    return (
        f"Policies hear {what} clipped to {ends[0]:g} to {ends[1]:g}: {number(count)} of {number(losses.size)} lie "
        "outside. Costs, fixed arms and plans are of those as recorded."
    )


def outlier_note(losses: NDArray[Any], units: tuple[float, float], *, rewards: bool) -> str | None:
    """A warning where nearly all losses lie within a small part of the units."""
    step = max(1, losses.size // MOST_LOOKED_AT)
    seen = np.asarray(losses[::step], dtype=np.float64)
    low, high = (float(end) for end in np.quantile(seen, [TAIL, 1.0 - TAIL], method="nearest"))
    share = (high - low) / (units[1] - units[0])
    if not 0.0 < share < NARROW:
        return None
    what, ends, whole = "losses", (low, high), units
    if rewards:
        what, ends, whole = "rewards", (0.0 - high, 0.0 - low), (0.0 - units[1], 0.0 - units[0])
    least, most = (f"{float(f'{end:.3g}'):g}" for end in ends)
    return (
        f"{100 * (1 - 2 * TAIL):.0f} % of the {what} lie between {least} and {most}, {100 * share:.2g} % of the range "
        f"from {whole[0]:g} to {whole[1]:g}: policies that see their own arm's loss only learn slowly. Clip what they "
        f"hear: clip=({least}, {most}), on the command line --clip={least},{most}."
    )
