"""Normal, gamma and beta numbers: the distributions by their cells, and the naive method number by number."""

import math

import mpmath
import naive_rivals
import numpy as np
import pytest
from statistics_of_samples import SEED, assert_distribution, assert_mean, assert_variance

from holdfast import Stream
from holdfast.kernels import COMPILED, kernel
from holdfast.numerics.random import beta, gamma, normal

DRAWS = 200_000


@kernel
def filled(kind, a, b, state, out):
    for i in range(out.shape[0]):
        if kind == 0:
            out[i] = normal(state)
        elif kind == 1:
            out[i] = gamma(a, state)
        else:
            out[i] = beta(a, b, state)


def drawn(kind: int, a: float = 0.0, b: float = 0.0, count: int = DRAWS) -> np.ndarray:
    out = np.empty(count)
    filled(kind, a, b, Stream(SEED, f"variates {kind} {a} {b}").state, out)
    return out


def assert_cells(sample, cumulative, edges):
    """Counts between `edges` against the distribution function there; 200 000 draws see a distance of 0.02."""
    below = [0.0, *(float(cumulative(edge)) for edge in edges), 1.0]
    counts = np.histogram(sample, [-math.inf, *edges, math.inf])[0]
    assert_distribution(counts, np.diff(below), sees=0.02)


@pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")
def test_normal_numbers():
    sample = drawn(0)
    assert_cells(sample, mpmath.ncdf, np.linspace(-3, 3, 25))
    assert_mean(sample, 0.0, sees=0.02, deviation=1.0)
    assert_variance(sample, 0.0, 1.0, sees=0.03)


@pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")
@pytest.mark.parametrize("shape", [1.0, 1.5, 4.25, 300.0, 1e9])
def test_gamma_numbers(shape):
    """Cells at multiples of the deviation √shape around the mean; the shape 1e9 by its nearest normal."""
    sample = drawn(1, shape)
    edges = [edge for edge in shape + math.sqrt(shape) * np.linspace(-3, 4, 22) if edge > 0]
    if shape < 1e6:
        assert_cells(sample, lambda x: mpmath.gammainc(shape, 0, x, regularized=True), edges)
    assert_mean((sample - shape) / math.sqrt(shape), 0.0, sees=0.02, deviation=1.0)
    assert (sample > 0).all()


@pytest.mark.skipif(not COMPILED, reason="too many draws for plain Python")
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
