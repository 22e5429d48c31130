"""The one place where a test asserts anything about a sample.

Every assertion here

* fails with probability at most `FALSE_FAILURES` when its claim holds, over all the comparisons it makes
  together (a normal or chi-square approximation: use samples of a thousand and more);
* sees a departure of size `sees` with probability at least `POWER`, or refuses to be made: a sample too small
  for that is a `ValueError`, so no test can pass for want of data;
* is made on a sample of a fixed seed (`SEED`), so that a test that passes once passes always.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

SEED = 20210718
"""The seed of every sample the tests draw."""

FALSE_FAILURES = 1e-6
POWER = 0.999

_NORMAL = NormalDist()
_POWER_Z = _NORMAL.inv_cdf(POWER)


def assert_mean(sample: ArrayLike, expected: ArrayLike, *, sees: float, deviation: ArrayLike | None = None) -> None:
    """The mean of the sample (of each column of a table) is `expected`.

    A two-sided z-test at level 10⁻⁶/columns, with the known standard `deviation` or else the sample's own. With
    z the quantile of that level (4.89 for one column) and e = deviation/√n, a mean that is off by `sees` is
    found with probability Φ(sees/e − z), which is at least 0.999 when sees ≥ (z + 3.09) e.
    """
    values = np.asarray(sample, dtype=np.float64)
    values = values.reshape(len(values), -1)
    spread = values.std(axis=0, ddof=1) if deviation is None else np.asarray(deviation, dtype=np.float64)
    error = np.broadcast_to(spread / math.sqrt(len(values)), values.shape[1:])
    _assert_close(values.mean(axis=0), np.broadcast_to(expected, values.shape[1:]), error, sees)


def assert_mean_at_most(sample: ArrayLike, limit: ArrayLike, *, sees: float) -> None:
    """The mean of the sample (of each column of a table) is `limit` or less; it sees one that is `sees` above it."""
    values = np.asarray(sample, dtype=np.float64)
    values = values.reshape(len(values), -1)
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    means = values.mean(axis=0)
    _assert_close(means, np.minimum(means, np.broadcast_to(limit, means.shape)), error, sees)


def assert_variance(sample: ArrayLike, mean: float, variance: float, *, sees: float) -> None:
    """The variance around the known `mean` is `variance`: a test of the mean of the squared distances."""
    assert_mean((np.asarray(sample, dtype=np.float64) - mean) ** 2, variance, sees=sees)


def assert_distribution(counts: ArrayLike, probabilities: ArrayLike, *, sees: float) -> None:
    """`counts` of independent draws have these cell `probabilities`.

    Pearson's chi-square test at level 10⁻⁶; cells that expect fewer than ten are taken together. A departure of
    total variation distance `sees` gives the statistic a noncentrality of at least 4n·sees² (Cauchy-Schwarz),
    hence about the mean df + 4n·sees² and the variance 2df + 16n·sees²: it must lie 3.09 deviations above the
    critical value.
    """
    observed = np.asarray(counts, dtype=np.float64)
    expected = np.asarray(probabilities, dtype=np.float64) * observed.sum()
    if not math.isclose(expected.sum(), observed.sum(), rel_tol=1e-9):
        raise ValueError(f"the probabilities must add up to 1; got {np.sum(probabilities)!r}")
    assert not observed[expected == 0].any(), "something happened that has probability 0"
    observed, expected = _pooled(observed, expected)
    freedom = len(expected) - 1
    noncentrality = 4 * observed.sum() * sees**2
    critical = stats.chi2.isf(FALSE_FAILURES, freedom) if freedom else 0.0
    if freedom and freedom + noncentrality - critical < _POWER_Z * math.sqrt(2 * freedom + 4 * noncentrality):
        raise ValueError(f"{observed.sum():g} draws are too few to see a distance of {sees:g}")
    statistic = float(((observed - expected) ** 2 / expected).sum())
    p_value = stats.chi2.sf(statistic, freedom) if freedom else 1.0
    assert p_value >= FALSE_FAILURES, f"chi-square {statistic:.1f} with {freedom} degrees of freedom: p = {p_value:.1e}"


def assert_at_least(successes: int, trials: int, probability: float, *, sees: float) -> None:
    """Each of `trials` independent trials succeeds with at least this `probability`.

    Fails below the largest c with P(X < c) ≤ 10⁻⁶, X binomial with `probability`; a probability lower by `sees` is
    found with P(X < c) under that one. Both are exact. (At most p: count the failures, at least 1 − p.)
    """
    below = np.concatenate([[0.0], np.cumsum(binomial_probabilities(trials, probability))])  # P(X < c)
    c = int(np.searchsorted(below, FALSE_FAILURES, side="right")) - 1
    if float(binomial_probabilities(trials, max(0.0, probability - sees))[:c].sum()) < POWER:
        raise ValueError(f"{trials} trials are too few to see {sees:g}")
    assert successes >= c, f"{successes} of {trials} trials succeeded: too few for a probability of {probability:g}"


def binomial_probabilities(n: int, p: float) -> Any:
    """P(0) … P(n)."""
    return stats.binom.pmf(np.arange(n + 1), n, p)


def _assert_close(found: Any, expected: Any, error: Any, sees: float) -> None:
    z = _NORMAL.inv_cdf(1 - FALSE_FAILURES / (2 * len(error)))
    if float(np.max(error)) * (z + _POWER_Z) > sees:
        raise ValueError(f"the sample is too small to see {sees:g}: its error is {float(np.max(error)):.3g}")
    exact = 1e-12 * np.maximum(1.0, np.abs(expected))  # a constant sample still rounds
    off = np.abs(found - expected) - np.maximum(z * error, exact)
    worst = int(np.argmax(off))
    assert off[worst] <= 0, f"mean {found[worst]!r} in column {worst} for {expected[worst]!r} ± {error[worst]:.3g}"


def _pooled(observed: Any, expected: Any) -> tuple[Any, Any]:
    small = expected < 10
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < 10 and len(expected) > 1:  # together they are still few: into the smallest cell
            into = int(np.argmin(expected[:-1]))
            observed[into] += observed[-1]
            expected[into] += expected[-1]
            observed, expected = observed[:-1], expected[:-1]
    return observed, expected
