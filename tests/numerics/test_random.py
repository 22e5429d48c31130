"""Streams: pinned numbers, independence by name; binomial, normal, gamma and beta numbers of the exact distribution."""

import math
import subprocess
import sys

import mpmath
import naive_pairs
import naive_rivals
import numba
import numpy as np
import pytest
from statistics_of_samples import SEED, assert_distribution, assert_mean, assert_variance, binomial_probabilities

from holdfast import InvalidParameter, Stream
from holdfast.kernels import COMPILED, kernel
from holdfast.numerics import random as rng
from holdfast.numerics.random import beta, binomial, check_seed, gamma, normal, start_stream, stream_key, uniform

MASK = 2**64 - 1
MANY = pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")


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
    for replication, numbers in (
        (0, [0.8189567048859426, 0.025919673305780266, 0.4107223219767999, 0.7345588565725558]),
        (3, [0.04420143483385586, 0.6177626848315998]),
    ):
        stream = Stream(7, "policy/tsallis-switch", replication)
        assert [stream.uniform() for _ in numbers] == numbers
    stream = Stream(1, "golden")
    assert [binomial(1e6, 0.3, stream.state), binomial(40.0, 0.1, stream.state)] == [299931.0, 1.0]


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
    assert stream_key(1, "2/a").tolist() != stream_key(1, "a").tolist() != stream_key(12, "a").tolist()


def test_first_numbers_of_many_replications_are_independent_and_uniform():
    key, state, out = stream_key(SEED, "replications"), np.zeros(4, dtype=np.uint64), np.empty((40_000, 2))
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
    for source in (None, generator):
        assert max(check_seed(source) for _ in range(20)) > 2**60  # of 63 bits


@pytest.mark.plain
@pytest.mark.parametrize(
    ("parameter", "wrong"),
    [
        ("seed", [-1, 1.0, 1.5, "7", True, np.True_, [1], np.array([1, 2]), object()]),
        ("replication", [-1, 0.5, "1", None]),
    ],
)
def test_seeds_and_replications_that_are_refused(parameter, wrong):
    for value in wrong:
        with pytest.raises(InvalidParameter, match=f"{parameter} must"):
            Stream(**{"seed": 1, "name": "a"} | {parameter: value})


BY_INVERSION = [(1, 0.3), (2, 0.5), (3, 0.9), (10, 0.1), (17, 0.5), (30, 0.3), (1000, 0.009), (19, 0.5263)]
"""n·min(p, 1 − p) < 10; that of the last is 9.0003."""
BY_REJECTION = [(20, 0.5), (25, 0.4), (25, 0.6), (34, 0.3), (1000, 0.0101)]
BY_REJECTION += [(100, 0.5), (300, 0.95), (1000, 0.47), (5000, 0.03)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), BY_INVERSION + BY_REJECTION)
def test_binomial_distribution(n, p):
    """Chi-square against P(k); 400 000 draws see a total variation distance of 0.02."""
    draws = sample_binomials(n, p, 400_000)
    assert set(draws) <= set(range(n + 1))
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
began = time.process_time()
for p in (9e-12, 7e-12, 5e-12, 3e-12, 1e-12):
    state = np.array([0, 1, 1, 2**64 - 1], dtype=np.uint64)  # its first uniform is 1 - 2**-53
    assert binomial(1e12, p, state) <= 100
    assert time.process_time() - began < 15
"""


@pytest.mark.slow
@pytest.mark.plain
def test_the_largest_uniform_does_not_walk_through_all_trials():
    """The part of u that rounding leaves beyond the distribution function must not cost a step per trial."""
    subprocess.run([sys.executable, "-c", WALK], check=True, timeout=300)


@pytest.mark.plain
@pytest.mark.parametrize("p", [0.0, 0.5, 0.45, 0.1, 2.0**-53, 1.0 - 2.0**-53, 1.0])
def test_keyed_losses_are_those_of_their_rounds(p):
    """Whatever the rounds are cut into, word by word or not; and the stream stays where it is."""
    state = Stream(7, "environment", 3).state
    losses = [naive_pairs.loss((int(state[0]), int(state[1])), 1, p, t) for t in range(200)]
    streams = state.reshape(-1, 1).copy()
    for start, stop in [(0, 1), (0, 64), (63, 65), (5, 28), (64, 192), (10, 200), (7, 7)]:
        assert rng.keyed_losses(streams, 0, 1, p, start, stop) == sum(losses[start:stop])
    assert streams[:, 0].tolist() == state.tolist()


# ---- normal, gamma and beta numbers


@kernel
def filled(kind, a, b, state, out):
    for i in range(out.shape[0]):
        if kind == 0:
            out[i] = normal(state)
        elif kind == 1:
            out[i] = gamma(a, state)
        else:
            out[i] = beta(a, b, state)


def drawn(kind: int, a: float = 0.0, b: float = 0.0) -> np.ndarray:
    out = np.empty(200_000)
    filled(kind, a, b, Stream(SEED, f"variates {kind} {a} {b}").state, out)
    return out


def assert_cells(sample, cumulative, edges):
    """Counts between `edges` against the distribution function there; 200 000 draws see a distance of 0.02."""
    below = [0.0, *(float(cumulative(edge)) for edge in edges), 1.0]
    counts = np.histogram(sample, [-math.inf, *edges, math.inf])[0]
    assert_distribution(counts, np.diff(below), sees=0.02)


@MANY
def test_normal_numbers():
    sample = drawn(0)
    assert_cells(sample, mpmath.ncdf, np.linspace(-3, 3, 25))
    assert_mean(sample, 0.0, sees=0.02, deviation=1.0)
    assert_variance(sample, 0.0, 1.0, sees=0.03)


@MANY
@pytest.mark.parametrize("shape", [1.0, 1.5, 4.25, 300.0, 1e9])
def test_gamma_numbers(shape):
    """Cells at multiples of the deviation √shape around the mean; the shape 1e9 by its nearest normal."""
    sample = drawn(1, shape)
    edges = [edge for edge in shape + math.sqrt(shape) * np.linspace(-3, 4, 22) if edge > 0]
    if shape < 1e6:
        assert_cells(sample, lambda x: mpmath.gammainc(shape, 0, x, regularized=True), edges)
    assert_mean((sample - shape) / math.sqrt(shape), 0.0, sees=0.02, deviation=1.0)
    assert (sample > 0).all()


@MANY
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 7.5), (3.25, 2.0), (40.0, 160.0), (1.0, 1e6)])
def test_beta_numbers(a, b):
    sample = drawn(2, a, b)
    mean, deviation = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
    edges = [edge for edge in mean + deviation * np.linspace(-3, 4, 22) if 0 < edge < 1]
    assert_cells(sample, lambda x: mpmath.betainc(a, b, 0, x, regularized=True), edges)
    assert ((sample >= 0) & (sample <= 1)).all()


@pytest.mark.plain
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.5, 9.0), (60.0, 3.0)])
def test_the_naive_methods_draw_the_same_numbers_from_the_same_uniforms(a, b):
    stream, other = Stream(SEED, "the same"), Stream(SEED, "the same")
    for _ in range(200):
        assert normal(stream.state) == pytest.approx(naive_rivals.normal(other.uniform), rel=1e-12)
        assert gamma(a, stream.state) == pytest.approx(naive_rivals.gamma(a, other.uniform), rel=1e-9)
        assert beta(a, b, stream.state) == pytest.approx(naive_rivals.beta(a, b, other.uniform), rel=1e-9)
    assert (stream.state == other.state).all()
