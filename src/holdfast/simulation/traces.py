"""Measures that need the arm of every round of a game: pulls, switch times, realised regret."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast._numba.compile import composed, kernel
from holdfast.numerics.random import next_uniform, start_stream
from holdfast.numerics.regret import NO_ARM
from holdfast.policies.policy import Kernel
from holdfast.simulation.game import TWO_STATES, Rules


def pulls(arms: Any, marks: Any, n_arms: int) -> Any:
    """Return how often each arm was played up to each checkpoint, a list for each game and checkpoint."""
    ends = [0, *marks]
    counts = [[np.bincount(own[a:b], minlength=n_arms) for a, b in zip(ends, marks, strict=False)] for own in arms]
    return _cells([np.cumsum(own, axis=0) for own in counts])


def switch_times(arms: Any, marks: Any) -> Any:
    """Return the rounds, from 1, of the switches since the checkpoint before; the first play is a switch."""
    times = [np.flatnonzero(np.diff(own, prepend=NO_ARM)) + 1 for own in arms]
    return _cells([np.split(own, np.searchsorted(own, marks[:-1], side="right")) for own in times])


def realised(arms: Any, rules: Rules, total: Kernel, n_arms: int, first: int) -> Any:
    """Return the losses drawn in paired games less those of the arm with the least of them, up to each checkpoint."""
    found, memory = np.zeros((len(arms), len(rules.checkpoints))), np.zeros((TWO_STATES, 1), dtype=np.uint64)
    compose_realised(total)(rules, first, arms, memory, np.zeros(1), np.zeros(1), np.zeros(n_arms), found)
    return found


def _cells(lists: list[Any]) -> Any:
    """Return an array with a list in each cell, even where all lists are equally long."""
    cells = np.empty((len(lists), len(lists[0])), dtype=object)
    for row, own in zip(cells, lists, strict=True):
        for m, cell in enumerate(own):
            row[m] = cell
    return cells


@composed
def compose_realised(total: Kernel) -> Kernel:
    """Return the kernel that draws again the losses of paired games, of what was played and of every arm."""

    @kernel
    def draw(rules: Any, first: int, arms: Any, streams: Any, place: Any, lost: Any, sums: Any, found: Any) -> None:
        K = sums.shape[0]
        for g in range(arms.shape[0]):
            start_stream(rules.environment_key, first + g, streams[:, 0])
            shift = int(next_uniform(streams, 0) * K) if rules.shuffled else 0
            played, begin = 0.0, 0
            for i in range(K):
                sums[i] = 0.0
            for mark in range(rules.checkpoints.shape[0]):
                stop, t = int(rules.checkpoints[mark]), begin
                for i in range(K):
                    place[0] = float(i)
                    total(rules.tables, place, float(begin), float(stop), streams, lost)
                    sums[i] += lost[0]
                while t < stop:
                    end = t + 1
                    while end < stop and arms[g, end] == arms[g, t]:
                        end += 1
                    place[0] = float((arms[g, t] + shift) % K)
                    total(rules.tables, place, float(t), float(end), streams, lost)
                    played += lost[0]
                    t = end
                least = sums[0]
                for i in range(1, K):
                    least = min(least, sums[i])
                found[g, mark] = played - least
                begin = stop

    return draw
