"""Chunks of a study's replications: cut by the clock, in whole rows of games side by side."""

from itertools import pairwise

import pytest

import holdfast as hf
from holdfast.lab.tables import Chunks
from holdfast.simulation.backends import Threads


@pytest.mark.parametrize(
    ("chunk", "taken", "width", "row", "wanted"),
    [
        (2, 0.01, 2, 64, 64),  # quick games: a row for each core at once
        (2, 5.0, 2, 64, 64),  # a row takes as long as ten such games, less than a minute
        (2, 20.0, 2, 64, 1),  # more than a minute: alone, ten seconds at a time
        (64, 56.0, 2, 64, 64),  # what a row took is no reason to cut it
        (64, 1.0, 2, 64, 512),  # eight times as many at most
        (64, 4.0, 2, 64, 128),  # whole rows
        (16, 30.0, 2, 64, 64),  # eight on each core were a row already
        (4096, 5.0, 4096, 1, 8192),  # a GPU has no rows
    ],
)
def test_chunks_grow_to_whole_rows_of_games_side_by_side(chunk, taken, width, row, wanted):
    assert Chunks().next_size(chunk, taken, width, row) == wanted


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def spread(missing, seconds_per_game: float, policies=None, **limits) -> list[tuple[int, int]]:
    """The chunks on two cores, when each game takes so long."""
    clock = Clock()
    found = []
    for first, count in Chunks(clock=clock, **limits).spread(missing, policies or [hf.Exp3(2)], 10, Threads(2)):
        found.append((first, count))
        clock.now += count * seconds_per_game
    return found


@pytest.mark.parametrize("seconds_per_game", [0.0, 1e-3, 0.1, 3.0, 1e3])
def test_together_they_are_what_is_missing(seconds_per_game):
    chunks = spread([(5, 700), (1000, 3)], seconds_per_game)
    assert sum(count for _, count in chunks) == 703
    played = [i for first, count in chunks for i in range(first, first + count)]
    assert played == [*range(5, 705), *range(1000, 1003)]


def test_they_follow_the_clock():
    assert spread([(0, 20_000)], 1e-3)[:4] == [(0, 2), (2, 64), (66, 512), (578, 4096)]
    assert {count for _, count in spread([(0, 90)], 7.0)[1:]} == {1}
    assert all(second[1] <= 8 * max(first[1], 64) for first, second in pairwise(spread([(0, 10**6)], 1e-9)))


def test_a_table_is_never_too_large():
    assert max(count for _, count in spread([(0, 5000)], 0.0, most_rows=1000)) == 100
    assert max(count for _, count in spread([(0, 50)], 0.0, most_rows=1)) == 1


def test_policies_that_are_not_played_side_by_side_have_no_rows():
    assert spread([(0, 5000)], 4.0, policies=[hf.BaSE(2, horizon=100)])[:3] == [(0, 2), (2, 2), (4, 2)]
