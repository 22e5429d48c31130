"""Binomial draws from tables: the tables hold the distribution to the last bit of a uniform number."""

import math

import numpy as np
import pytest
from statistics_of_samples import SEED, assert_distribution, binomial_probabilities

from holdfast import Stream
from holdfast.environments.binomial import (
    ALIAS_BITS,
    CERTAIN,
    FIRST_BITS,
    LARGEST,
    MOST_MEANS,
    NEITHER,
    SIZE_BITS,
    TABLED,
    UNIT,
    binomial_from_table,
    binomial_tables,
)
from holdfast.kernels import COMPILED

MEANS = [0.001, 0.05, 0.3, 0.45, 0.5, 0.8, 0.999] if COMPILED else [0.05, 0.5]


@pytest.fixture(scope="module")
def tables():
    return binomial_tables(np.array([MEANS]))


def probabilities_of(tables, kind: int, n: int) -> np.ndarray:
    """P(0) … P(n) as the columns of row n hold them: a column's own share, and what it gives to its alias."""
    _, _, rows, columns = tables
    rest, first = divmod(int(rows[kind, n]), 2**FIRST_BITS)
    begin, size = divmod(rest, 2**SIZE_BITS)
    share, alias = np.divmod(columns[begin : begin + size], 2**ALIAS_BITS)
    assert (share >= 0).all()
    assert (share < UNIT).all()
    own = np.where(alias == np.arange(size), 1.0, share / UNIT)  # whatever its share, a column that is its own alias
    found = np.zeros(n + 1)
    found[first : first + size] = own
    np.add.at(found, first + alias, 1 - own)
    return found / size


@pytest.mark.plain
@pytest.mark.parametrize("p", MEANS)
def test_tables_hold_the_distribution(tables, p):
    """To the 10⁻¹² of our own logarithms, and what they leave out is less than a uniform number can show."""
    kind = int(tables[1][0, MEANS.index(p)])
    for n in [*range(1, 40), 63, 100, 255, 256, 511, 777, 1000, LARGEST]:
        found, exact = probabilities_of(tables, kind, n), binomial_probabilities(n, p)
        assert np.abs(found - exact).max() < 1e-12
        assert math.fsum(exact[found == 0]) < 2.0**-52
        assert math.fsum(found) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.plain
def test_the_largest_and_the_smallest_uniform_draw_values_that_can_be(tables):
    for kind in range(len(MEANS)):
        for n in (2, 17, LARGEST):
            for u in (0.0, 1.0 - 2.0**-53):
                k = int(binomial_from_table(*tables[2:], kind, n, u))
                assert probabilities_of(tables, kind, n)[k] > 0


@pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")
def test_draws_from_a_table_have_its_distribution(tables):
    stream = Stream(SEED, "table draws")
    for kind, n in ((1, 40), (2, 100), (4, 7), (5, 1000)):
        draws = np.array([binomial_from_table(*tables[2:], kind, n, stream.uniform()) for _ in range(50_000)])
        counts = np.bincount(draws.astype(int), minlength=n + 1)
        assert_distribution(counts, binomial_probabilities(n, MEANS[kind]), sees=0.06)


@pytest.mark.plain
def test_certain_means_and_those_beyond_the_first_few_have_no_table():
    ways, kinds, rows, *_ = binomial_tables(np.array([[0.0, 1.0, 0.5], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    assert kinds.tolist() == [[-1, -1, 0], [0, -1, -1], [-1, -1, -1]]
    assert ways.tolist() == [TABLED, TABLED, CERTAIN]
    assert len(rows) == 1
    many = np.linspace(0.1, 0.9, MOST_MEANS + 3)[None, :]
    if COMPILED:
        ways, kinds, rows, *_ = binomial_tables(many)
        assert ways.tolist() == [NEITHER]
        assert len(rows) == MOST_MEANS
        assert (kinds == -1).sum() == 3
