"""The helper itself: it passes what is true, fails what is false, and refuses samples that could show neither."""

import numpy as np
import pytest
from statistics_of_samples import (
    SEED,
    assert_at_least,
    assert_distribution,
    assert_mean,
    assert_mean_at_most,
    assert_same_mean,
    assert_variance,
    binomial_probabilities,
    chi_square_tail,
)

pytestmark = pytest.mark.plain


@pytest.fixture
def normal():
    return np.random.default_rng(SEED).normal(3.0, 2.0, size=100_000)


def test_a_true_mean_and_variance_pass(normal):
    assert_mean(normal, 3.0, sees=0.06)
    assert_mean(normal, 3.0, sees=0.06, deviation=2.0)
    assert_variance(normal, 3.0, 4.0, sees=0.2)
    assert_same_mean(normal[:50_000], normal[50_000:], sees=0.11)
    assert_mean_at_most(normal, 3.0, sees=0.06)
    assert_mean_at_most(normal, 9.0, sees=0.06)


def test_a_mean_off_by_what_the_test_sees_fails(normal):
    with pytest.raises(AssertionError):
        assert_mean(normal + 0.06, 3.0, sees=0.06)
    with pytest.raises(AssertionError):
        assert_mean_at_most(normal + 0.06, 3.0, sees=0.06)
    with pytest.raises(AssertionError):
        assert_variance(normal * 1.03, 3.0, 4.0, sees=0.2)
    with pytest.raises(AssertionError):
        assert_same_mean(normal[:50_000], normal[50_000:] + 0.11, sees=0.11)


def test_one_wrong_column_of_many_fails(normal):
    table = normal.reshape(-1, 10).copy()
    assert_mean(table, 3.0, sees=0.2)
    table[:, 7] += 0.2
    with pytest.raises(AssertionError, match="column 7"):
        assert_mean(table, 3.0, sees=0.2)


def test_a_sample_too_small_for_its_claim_is_refused(normal):
    with pytest.raises(ValueError, match="too small"):
        assert_mean(normal[:100], 3.0, sees=0.06)
    with pytest.raises(ValueError, match="too few"):
        assert_distribution([50, 50], [0.5, 0.5], sees=0.1)


def test_a_distribution_off_by_what_the_test_sees_fails():
    draws = np.random.default_rng(SEED).multinomial(40_000, [0.2, 0.3, 0.5])
    assert_distribution(draws, [0.2, 0.3, 0.5], sees=0.03)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(draws, [0.23, 0.27, 0.5], sees=0.03)
    with pytest.raises(AssertionError, match="probability 0"):
        assert_distribution([50, 50, 1], [0.5, 0.5, 0.0], sees=0.5)


def test_shares_too_low_fail():
    assert_at_least(95, 100, 0.95, sees=0.3)
    assert_at_least(100, 100, 0.95, sees=0.3)
    with pytest.raises(AssertionError, match=r"too few for a probability of 0\.95"):
        assert_at_least(70, 100, 0.95, sees=0.3)
    with pytest.raises(ValueError, match="trials are too few"):
        assert_at_least(10, 10, 0.95, sees=0.3)


def test_chi_square_tail_agrees_with_tables():
    for statistic, freedom in ((23.928, 1), (27.631, 2), (42.701, 8)):  # 10⁻⁶ points
        assert chi_square_tail(statistic, freedom) == pytest.approx(1e-6, rel=2e-3)


def test_binomial_probabilities_are_the_textbook_ones():
    assert binomial_probabilities(4, 0.5) == pytest.approx([1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16])
    assert binomial_probabilities(2, 1.0) == pytest.approx([0, 0, 1])
