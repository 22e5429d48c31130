"""Streams: pinned numbers, independence by name, and binomial draws of the exact distribution."""

import math
import subprocess
import sys

import mpmath
import numba
import numpy as np
import pytest
from statistics_of_samples import (
    SEED,
    assert_distribution,
    assert_mean,
    assert_variance,
    binomial_probabilities,
)

from holdfast import InvalidParameter, Stream
from holdfast.numerics import random as rng
from holdfast.numerics.random import STATE_SIZE, binomial, check_seed, start_stream, stream_key, uniform

MASK = 2**64 - 1

GOLDEN = [0.8189567048859426, 0.025919673305780266, 0.4107223219767999, 0.7345588565725558]
GOLDEN_3 = [0.04420143483385586, 0.6177626848315998]
GOLDEN_BINOMIALS = [299931.0, 1.0]


@numba.njit
def uniforms(state, out):
    for i in range(out.shape[0]):
        out[i] = uniform(state)


@numba.njit
def binomials(n, p, state, out):
    for i in range(out.shape[0]):
        out[i] = binomial(n, p, state)


def sample_binomials(n: float, p: float, size: int) -> np.ndarray:
    out = np.empty(size)
    binomials(float(n), p, Stream(SEED, f"binomial {n} {p}").state, out)
    return out


@pytest.mark.plain
def test_a_column_of_streams_is_a_stream_and_leaves_the_others_alone():
    columns = np.column_stack([Stream(SEED, "column", g).state for g in range(3)])
    alone, others = Stream(SEED, "column", 1), columns[:, [0, 2]].copy()
    assert [rng.next_uniform(columns, 1) for _ in range(20)] == [alone.uniform() for _ in range(20)]
    assert columns[:, [0, 2]].tolist() == others.tolist()
    assert columns[:, 1].tolist() == alone.state.tolist()


@pytest.mark.plain
def test_golden_values():
    """Other numbers for the same seed are a change of behaviour: say so in the changelog before changing these."""
    stream = Stream(7, "policy/tsallis-switch")
    assert [stream.uniform() for _ in range(4)] == GOLDEN
    stream = Stream(7, "policy/tsallis-switch", 3)
    assert [stream.uniform() for _ in range(2)] == GOLDEN_3
    stream = Stream(1, "golden")
    assert [binomial(1e6, 0.3, stream.state), binomial(40.0, 0.1, stream.state)] == GOLDEN_BINOMIALS


def xoshiro256_plus_plus(s: list[int]) -> int:
    """One step of Blackman and Vigna's reference implementation, on whole numbers."""

    def rotated(x: int, k: int) -> int:
        return (x << k | x >> (64 - k)) & MASK

    result = (rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    t = s[1] << 17 & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotated(s[3], 45)
    return result


@pytest.mark.plain
def test_the_generator_is_xoshiro256_plus_plus():
    stream = Stream(SEED, "reference")
    reference = [int(word) for word in stream.state]
    for _ in range(200):
        assert stream.uniform() == (xoshiro256_plus_plus(reference) >> 11) * 2.0**-53
    assert [int(word) for word in stream.state] == reference


@pytest.mark.plain
def test_seed_name_and_number_each_make_another_stream():
    names = [
        (s, n, r) for s in (0, 1, 2**62, 2**200) for n in ("policy/exp3", "policy/exp3-blocks", "") for r in range(50)
    ]
    states = {tuple(Stream(s, n, r).state.tolist()) for s, n, r in names}
    assert len(states) == len(names)
    words = [word for state in states for word in state]
    assert len(set(words)) == len(words)


@pytest.mark.plain
def test_a_separator_in_a_name_does_not_make_two_streams_one():
    assert stream_key(1, "2/a").tolist() != stream_key(1, "a").tolist() != stream_key(12, "a").tolist()


def test_first_numbers_of_many_replications_are_independent_and_uniform():
    key, state, out = stream_key(SEED, "replications"), np.zeros(STATE_SIZE, dtype=np.uint64), np.empty((40_000, 2))
    for r in range(len(out)):
        start_stream(key, r, state)
        out[r] = uniform(state), uniform(state)
    cells = (out[:, 0] * 20).astype(int) * 20 + (out[:, 1] * 20).astype(int)
    assert_distribution(np.bincount(cells, minlength=400), np.full(400, 1 / 400), sees=0.09)
    assert_mean(12 * (out[1:, 0] - 0.5) * (out[:-1, 0] - 0.5), 0.0, sees=0.05)


@pytest.mark.plain
def test_the_largest_uniform_is_below_one():
    state = np.array([0, 1, 1, MASK], dtype=np.uint64)
    assert uniform(state) == 1 - 2.0**-53


@pytest.mark.plain
def test_seeds_that_are_accepted():
    assert check_seed(12) == check_seed(np.int64(12)) == check_seed(np.uint8(12)) == 12
    assert check_seed(2**300) == 2**300
    assert check_seed(None) != check_seed(None)
    generator = np.random.default_rng(3)
    assert check_seed(generator) != check_seed(generator)
    assert check_seed(np.random.default_rng(3)) == check_seed(np.random.default_rng(3))


@pytest.mark.plain
@pytest.mark.parametrize("seed", [-1, 1.0, 1.5, "7", True, np.True_, [1], np.array([1, 2]), object()])
def test_seeds_that_are_refused(seed):
    with pytest.raises(InvalidParameter, match="seed must"):
        check_seed(seed)


@pytest.mark.plain
@pytest.mark.parametrize("replication", [-1, 0.5, "1", None])
def test_replications_that_are_refused(replication):
    with pytest.raises(InvalidParameter, match="replication must"):
        Stream(1, "a", replication)


DISTRIBUTIONS = [
    (1, 0.3),
    (2, 0.5),
    (3, 0.9),
    (10, 0.1),
    (17, 0.5),  # inversion: np < 10
    (30, 0.3),
    (1000, 0.009),
    (19, 0.5263),  # n·min(p, 1 − p) = 9.0003
    (20, 0.5),  # rejection from np = 10
    (25, 0.4),
    (25, 0.6),
    (34, 0.3),
    (1000, 0.0101),
    (100, 0.5),
    (300, 0.95),
    (1000, 0.47),
    (5000, 0.03),
]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), DISTRIBUTIONS)
def test_binomial_distribution(n, p):
    """Chi-square against P(k); 400 000 draws see a total variation distance of 0.02."""
    draws = sample_binomials(n, p, 400_000)
    assert (draws == np.round(draws)).all()
    assert draws.min() >= 0
    assert draws.max() <= n
    assert_distribution(np.bincount(draws.astype(int), minlength=n + 1), binomial_probabilities(n, p), sees=0.02)


@pytest.mark.parametrize(("n", "p"), [(40, 0.4), (200, 0.5), (1000, 0.2)])
def test_binomial_tails_where_no_squeeze_accepts(n, p):
    """The draws far from the mean come from the exact test alone: their distribution, given that they are far."""
    draws, masses = sample_binomials(n, p, 1_000_000).astype(int), binomial_probabilities(n, p)
    k = np.arange(n + 1)
    far = np.abs(k - n * p) > 1.5 * math.sqrt(n * p * (1 - p))
    counts = np.bincount(draws, minlength=n + 1)
    assert_distribution(counts[far], masses[far] / masses[far].sum(), sees=0.03)
    assert_mean(np.isin(draws, k[far]), masses[far].sum(), sees=0.003)


@pytest.mark.plain
@pytest.mark.parametrize("n", [0, 1, 7, 10**6, 10**12])
def test_binomial_without_chance(n):
    stream = Stream(1, "certain")
    before = stream.state.copy()
    assert binomial(float(n), 0.0, stream.state) == 0
    assert binomial(float(n), 1.0, stream.state) == n
    assert binomial(0.0, 0.5, stream.state) == 0
    assert (stream.state == before).all()


@pytest.mark.plain
def test_one_trial_takes_one_uniform():
    stream, copy = Stream(2, "one"), Stream(2, "one")
    for _ in range(50):
        assert binomial(1.0, 0.37, stream.state) == (copy.uniform() < 0.37)


@pytest.mark.parametrize("p", [1e-4, 0.2, 0.5, 0.7])
@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_binomial_moments_of_many_trials(n, p):
    """In units of the deviation: mean 0, variance 1, third moment (1 − 2p)/σ, fourth 3 + (1 − 6pq)/σ²."""
    q = 1 - p
    sigma = math.sqrt(n * p * q)
    z = (sample_binomials(n, p, 200_000) - n * p) / sigma
    assert_mean(z, 0.0, sees=0.018, deviation=1.0)
    assert_variance(z, 0.0, 1.0, sees=0.026)
    assert_mean(z**3, (1 - 2 * p) / sigma, sees=0.08)
    assert_mean(z**4, 3 + (1 - 6 * p * q) / sigma**2, sees=0.2)


@pytest.mark.parametrize(("n", "p"), [(10**12, 0.5), (10**12, 0.3), (10**9, 1e-6)])
def test_no_precision_is_lost_in_many_trials(n, p):
    """Every whole number is reached, odd as often as even, each last digit as often: nothing is rounded away."""
    draws = sample_binomials(n, p, 200_000).astype(np.int64)
    assert_distribution(np.bincount(draws % 16, minlength=16), np.full(16, 1 / 16), sees=0.013)


def exact_log_ratio(k: int, m: int, n: int, p: float):
    """ln P(k)/P(m) to 40 digits."""
    with mpmath.workdps(60):
        odds = mpmath.mpf(p) / (1 - mpmath.mpf(p))
        logs = [mpmath.loggamma(i + 1) for i in (m, n - m, k, n - k)]
        return logs[0] + logs[1] - logs[2] - logs[3] + (k - m) * mpmath.log(odds)


@pytest.mark.plain
@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (100, 0.1), (1000, 0.47), (10**6, 1e-3), (10**9, 0.3), (10**12, 0.5)])
def test_the_ratio_that_decides_a_draw_is_exact(n, p):
    """Up to seven deviations from the mode, to 10⁻⁹ even at n = 10¹²: what no sample could show."""
    m, sigma = math.floor((n + 1) * p), math.sqrt(n * p * (1 - p))
    for deviations in (-7.0, -3.0, -1.5, -0.3, 0.3, 1.5, 3.0, 7.0):
        k = min(n, max(0, m + math.floor(deviations * sigma)))
        exact = exact_log_ratio(k, m, n, p)
        assert abs(rng._ratio_to_mode(float(k), float(m), float(n), p) - exact) < 1e-9
        if abs(k - m) <= 20:
            above, below = rng._factors_between(float(min(k, m)), float(max(k, m)), float(n), p)
            ratio = above / below if k > m else below / above
            assert ratio == pytest.approx(float(mpmath.exp(exact)), rel=1e-12)


@pytest.mark.plain
def test_bounds_of_the_exponential_bound_it():
    for x in [*-np.logspace(-6, 2, 200), 0.0]:
        assert rng._exp_below(x) <= math.exp(x) * (1 + 1e-15)
        assert rng._exp_above(x) >= math.exp(x) * (1 - 1e-15)


WALK = """
import time
import numpy as np
from holdfast.numerics.random import binomial
binomial(1e12, 0.5, np.array([0, 1, 1, 2], dtype=np.uint64))  # compiled, or loaded
began = time.perf_counter()
for p in (9e-12, 7e-12, 5e-12, 3e-12, 1e-12):
    state = np.array([0, 1, 1, 2**64 - 1], dtype=np.uint64)  # its first uniform is 1 - 2**-53
    assert binomial(1e12, p, state) <= 100
    assert time.perf_counter() - began < 15
"""


@pytest.mark.slow
@pytest.mark.plain
def test_the_largest_uniform_does_not_walk_through_all_trials():
    """The part of u that rounding leaves beyond the distribution function must not cost a step per trial."""
    try:
        subprocess.run([sys.executable, "-c", WALK], check=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail("one binomial draw took more than a minute")
