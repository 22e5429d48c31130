"""Statistics that are shown to users, each computed here in another way."""

import math

import numpy as np
import pytest
from scipy import stats

from holdfast import InvalidParameter
from holdfast.numerics.statistics import Comparison, Estimate, holm, interval, p_value, quantile, student_quantile


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("n", [2, 3, 7, 31, 301, 302, 5000])
def test_a_mean_has_students_interval(n: int, confidence: float) -> None:
    sample = np.random.default_rng(n).gamma(2.0, size=n)
    low, high = stats.t.interval(confidence, n - 1, loc=sample.mean(), scale=stats.sem(sample))
    assert interval(sample, confidence) == pytest.approx((sample.mean(), low, high), rel=1e-7)


def test_a_constant_sample_has_no_width_and_a_certain_interval_no_ends() -> None:
    assert interval([3.0, 3.0, 3.0]) == (3.0, 3.0, 3.0)
    assert interval([1.0, 3.0], 1 - 1e-16) == (2.0, -math.inf, math.inf)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95, math.nan, "0.95", True, None])
def test_a_confidence_is_between_0_and_1(confidence: object) -> None:
    for statistic in (interval, lambda sample, given: quantile(sample, 0.5, given)):
        with pytest.raises(InvalidParameter, match=r"^confidence must be a number between 0 and 1, such as 0.95; got"):
            statistic([1.0, 2.0], confidence)


@pytest.mark.parametrize("degrees", [1, 2, 5, 299, 300, 301, 10**6])
@pytest.mark.parametrize("probability", [0.5001, 0.6, 0.975, 0.9995])
def test_students_quantile(probability: float, degrees: int) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-7)


@pytest.mark.parametrize(
    ("n", "share", "place"),
    [(100, 0.07, 7), (100, 0.29, 29), (100, 0.5, 50), (100, 0.501, 51), (7, 0.9, 7), (5, 1e-9, 1), (10, 0.55, 6)],
)
def test_a_quantile_is_the_smallest_value_that_has_its_share_below(n: int, share: float, place: int) -> None:
    """0.07 · 100 is 7.000000000000001 in floating point, and the seventh is meant."""
    assert quantile(np.random.default_rng(n).permutation(n) + 1.0, share)[0] == place


@pytest.mark.parametrize("n", [5, 30, 200])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_an_interval_of_a_quantile_by_the_binomial_distribution(n: int, share: float, confidence: float) -> None:
    """The ends are the narrowest order statistics that leave at most half of what may go wrong on each side."""
    _, low, high = quantile(np.arange(1.0, n + 1), share, confidence)
    below, rest = stats.binom(n, share), (1 - confidence) / 2
    first = max((k for k in range(1, n + 1) if below.cdf(k - 1) <= rest), default=None)
    last = min((k for k in range(1, n + 1) if below.sf(k - 1) <= rest), default=None)
    assert (low, high) == (first or -math.inf, last or math.inf)


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(-1.0, 1.0, 0), (0.0, 1.0, 0), (-1.0, 0.0, 0), (0.1, 1.0, 1), (-2.0, -1.0, -1), (0.0, 0.0, 0)],
)
def test_a_difference_is_decided_if_its_interval_excludes_zero(low: float, high: float, sign: int) -> None:
    """Or if it is known exactly, by an estimate: two that cost the same are neither lower nor higher."""
    found = Estimate((low + high) / 2, low, high)
    assert (found.sign, found.decided) == (sign, sign != 0 or low == high)
    assert Comparison("a", "b", "cost", 10, *found, 0.95, 9).decided is (sign != 0)


@pytest.mark.parametrize("n", [2, 3, 12, 400])
@pytest.mark.parametrize("mean", [0.0, 0.05, -2.0])
def test_a_p_value_is_students(n: int, mean: float) -> None:
    sample = np.random.default_rng(n).standard_normal(n) + mean
    assert p_value(sample) == pytest.approx(stats.ttest_1samp(sample, 0.0).pvalue, rel=1e-7)
    assert p_value([mean] * n) == (mean == 0.0)


@pytest.mark.parametrize(
    "p", [[0.01, 0.04, 0.03], [0.02, 0.021, 0.5, 0.5], [0.3, 0.4, 0.9], [0.001], [0.04, 0.045, 0.05, 0.0125]]
)
def test_holms_values_are_the_levels_at_which_his_steps_go_so_far(p: list[float]) -> None:
    """At each level: from the smallest on, reject while p ≤ level/(number left)."""
    found = holm(p)
    for level in (*(i / 1000 + 1e-7 for i in range(1000)),):
        rejected: set[int] = set()
        for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[i] > level / (len(p) - rank):
                break
            rejected.add(i)
        assert {i for i, value in enumerate(found) if value <= level} == rejected
