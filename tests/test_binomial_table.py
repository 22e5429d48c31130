"""Binomial draws from tables: the tables hold the distribution to the last bit of a uniform number."""

import math

import numpy as np
import pytest
from statistics_of_samples import SEED, assert_distribution, binomial_probabilities

from holdfast import Stream
from holdfast._kernel import COMPILED
from holdfast.environments.binomial_table import LARGEST, MOST_MEANS, UNIT, binomial_from_table, binomial_tables

MEANS = [0.001, 0.05, 0.3, 0.45, 0.5, 0.8, 0.999] if COMPILED else [0.05, 0.5]


@pytest.fixture(scope="module")
def tables():
    return binomial_tables(np.array([MEANS]))


def row_of(tables, kind: int, n: int) -> tuple[int, np.ndarray]:
    """The first value and P(X ≤ k) from there on."""
    _, rows, cdf = tables
    return int(rows[kind, n, 1]), cdf[rows[kind, n, 0] : rows[kind, n + 1, 0]] / UNIT


@pytest.mark.plain
@pytest.mark.parametrize("p", MEANS)
def test_tables_are_the_distribution_functions(tables, p):
    """To the 10⁻¹² of our own logarithms, and what they leave out is less than a uniform number can show."""
    kind = int(tables[0][0, MEANS.index(p)])
    for n in [*range(1, 40), 63, 100, 255, 256, 511, 777, 1000, LARGEST]:
        first, found = row_of(tables, kind, n)
        masses = binomial_probabilities(n, p)
        last = first + len(found) - 1
        assert 0 <= first <= last <= n
        assert math.fsum(masses[:first]) + math.fsum(masses[last + 1 :]) < 2.0**-53
        exact = np.minimum(np.cumsum(masses)[first : last + 1], 1.0)
        assert np.abs(found - exact).max() < 1e-12
        assert found[-1] == 1.0


@pytest.mark.plain
def test_a_draw_is_the_least_value_whose_distribution_function_exceeds_u(tables):
    _, rows, cdf = tables
    one, copy = Stream(SEED, "search"), Stream(SEED, "search")
    for kind in range(len(MEANS)):
        for n in (2, 3, 10, 100, LARGEST):
            first, found = row_of(tables, kind, n)
            for _ in range(50):
                k = binomial_from_table(rows, cdf, kind, n, one.state)
                assert k == first + np.searchsorted(found, copy.uniform(), side="right")


@pytest.mark.plain
def test_the_largest_and_the_smallest_uniform_draw_values_that_can_be(tables):
    _, rows, cdf = tables
    for kind in range(len(MEANS)):
        for n in (2, 17, LARGEST):
            largest = np.array([0, 1, 1, 2**64 - 1], dtype=np.uint64)  # its next uniform is 1 − 2⁻⁵³
            smallest = np.zeros(4, dtype=np.uint64)  # and 0
            assert 0 <= binomial_from_table(rows, cdf, kind, n, smallest) <= n
            assert 0 <= binomial_from_table(rows, cdf, kind, n, largest) <= n


def test_draws_from_a_table_have_its_distribution(tables):
    _, rows, cdf = tables
    stream = Stream(SEED, "table draws")
    for kind, n in ((1, 40), (2, 100), (4, 7)):
        draws = np.array([binomial_from_table(rows, cdf, kind, n, stream.state) for _ in range(50_000)])
        counts = np.bincount(draws.astype(int), minlength=n + 1)
        assert_distribution(counts, binomial_probabilities(n, MEANS[kind]), sees=0.05)


@pytest.mark.plain
def test_certain_means_and_those_beyond_the_first_few_have_no_table():
    kinds, rows, _ = binomial_tables(np.array([[0.0, 1.0, 0.5], [0.5, 0.0, 1.0]]))
    assert kinds.tolist() == [[-1, -1, 0], [0, -1, -1]]
    assert len(rows) == 1
    many = np.linspace(0.1, 0.9, MOST_MEANS + 3)[None, :]
    if COMPILED:
        kinds, rows, _ = binomial_tables(many)
        assert len(rows) == MOST_MEANS
        assert (kinds == -1).sum() == 3
