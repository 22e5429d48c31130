"""The standing in words, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from holdfast.benchmark.run import Standing
from holdfast.benchmark.suite import VERSION
from holdfast.errors import printable
from holdfast.numerics.statistics import interval
from holdfast.text import counted, number

VERDICTS = ("better", "not decided", "worse")
WIDTHS = {"policy": 34, "setting": 22}


def lines(standing: Standing) -> Iterator[str]:
    """The ranking, then each setting."""
    track = standing.track
    head = (
        f"Suite {VERSION}, track {track.name!r}: {track.what}. {counted(len(track.settings), 'setting')}, "
        f"T = {number(track.settings[0].horizon)}, {counted(standing.replications, 'replication')}. Score: regret with "
        "switching as a share of Theorem 1's bound, mean over the settings; less is better. All comparisons together "
        "are wrong with a probability of at most 5 %."
    )
    yield textwrap.fill(head, 80)
    yield ""
    yield f"rank  {'policy':{WIDTHS['policy']}}{'score':>17}  {'than yours'}"
    for place, name in enumerate(standing.ranking, 1):
        mean, low, high = standing.score(name)
        against = "<" if name == standing.policy else _seen_from(standing.verdict(name))
        yield f"{place:4}  {_cut(name, WIDTHS['policy'])}{number(mean, 4):>8} ± {(high - low) / 2:.4f}  {against}"
    best, worst = standing.ranks()
    ranks = f"rank {best}" if best == worst else f"rank {best} to {worst}: not decided"
    yield f"{printable(standing.policy)}: {ranks}, of {len(standing.everyone)}"
    yield ""
    yield f"{'setting':{WIDTHS['setting']}}{'cost':>16}{_counts(VERDICTS)}  than rivals"
    for setting in track.settings:
        mean, low, high = interval(standing.costs[setting.name])
        others = [rival for rival in standing.rivals if rival != standing.policy]
        found = [standing.verdict(rival, setting.name) for rival in others]
        counts = _counts([str(found.count(verdict)) for verdict in VERDICTS])
        yield f"{_cut(setting.name, WIDTHS['setting'])}{f'{number(mean)} ± {number((high - low) / 2)}':>16}{counts}"


def _seen_from(verdict: str) -> str:
    """What the rival is, where the policy is `verdict`."""
    return {"better": "worse", "worse": "better"}.get(verdict, verdict)


def _counts(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, (8, 13, 7), strict=True))


def _cut(name: str, width: int) -> str:
    return f"{printable(name):{width}.{width}}"
