"""Lemmas 6, 7 and 9 in games whose potentials are computed, not bounded."""

import math

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from hypothesis import given
from potential import potential

from holdfast import InvalidParameter, bounds

pytestmark = pytest.mark.plain

K = 3


def game(rounds, scale, seed):
    """η_n, b_n, p_n, and the stability and the penalty, where each draw is replaced by its expectation one by one."""
    rng = np.random.default_rng(seed)
    C, eta, b, played, stability, penalty = np.zeros(K), [], [], [], 0.0, 0.0
    for n in range(1, rounds + 1):
        eta.append(scale * 2 / math.sqrt(n))
        b.append(float(rng.choice([0.25, 1.0, 3.0])))
        p, losses = np.array(naive.tsallis_weights(C.tolist(), eta[-1])), b[-1] * rng.random(K)
        before, _ = potential(C, eta[-1])
        for i in range(K):  # the expectation over the arm drawn
            after, _ = potential(C + np.eye(K)[i] * losses[i] / p[i], eta[-1])
            stability += p[i] * (losses[i] + after - before)
        drawn = rng.choice(K, p=p / p.sum())
        estimate = np.eye(K)[drawn] * losses[drawn] / p[drawn]
        penalty += before - potential(C + estimate, eta[-1])[0]
        C = C + estimate
        played.append(p / p.sum())
    return eta, b, np.array(played), stability, penalty - C.min(), int(C.argmin())


@pytest.mark.parametrize("scale", [1.0, 0.05])
@pytest.mark.parametrize("seed", [1, 2])
def test_lemmas_6_and_7_bound_what_a_game_loses(scale, seed):
    """Round by round given the past, and so in expectation too; with the rates of the paper, and below 1/(4b)."""
    eta, b, p, stability, penalty, best = game(40, scale, seed)
    for j in (None, 0, 2):
        assert stability <= bounds.lemma_6(learning_rates=eta, ranges=b, probabilities=p, best=j)
    assert penalty <= bounds.lemma_7(learning_rates=eta, probabilities=p)
    assert penalty <= bounds.lemma_7(learning_rates=eta, probabilities=p, best=best)


def test_the_bounds_are_their_formulas():
    p, eta, b = [[0.5, 0.25, 0.25], [0.64, 0.36, 0.0]], [0.5, 0.2], [2.0, 1.0]
    whole = 0.25 * 4 * (math.sqrt(0.5) + 1.0) + 0.1 * 1 * 1.4
    assert bounds.lemma_6(learning_rates=eta, ranges=b, probabilities=p) == pytest.approx(whole)
    without = 0.25 * 4 * (1.0 + 1.25 + 1) + 0.1 * (0.6 + 0.9)
    assert bounds.lemma_6(learning_rates=eta, ranges=b, probabilities=p, best=0) == pytest.approx(without)
    assert bounds.lemma_7(learning_rates=eta, probabilities=p) == pytest.approx(4 * math.sqrt(3) / 0.2 + 1)
    rises = 4 * (2 * (1.0 - 0.25) + 3 * (0.6 - 0.18)) + 1
    assert bounds.lemma_7(learning_rates=eta, probabilities=p, best=0) == pytest.approx(rises)


@given(
    C=st.lists(st.floats(0, 50), min_size=K, max_size=K),
    product=st.floats(0.001, 0.25),
    shares=st.lists(st.floats(0, 1), min_size=K, max_size=K),
)
def test_lemma_9_bounds_how_far_one_loss_moves_a_probability(C, product, shares):
    """Losses that are shifted to between −b and 0, as in the proof: p̃ without its normalisation."""
    eta, b = 0.1, product / 0.1
    p = np.array(naive.tsallis_weights(C, eta))
    moved = 1 / (1 / np.sqrt(p) - eta / 2 * b * np.array(shares)) ** 2  # ∇Ψ*(∇Ψ(p) − c), c_i = −b·share
    factor = bounds.lemma_9(learning_rate=eta, loss_bound=b)
    assert (moved**1.5 <= factor * p**1.5 * (1 + 1e-9)).all()
    assert factor <= 1.5


def test_what_the_lemmas_do_not_take():
    with pytest.raises(InvalidParameter, match=r"learning_rate must be at most 1/4 over loss_bound, 0.25; got 0.3"):
        bounds.lemma_9(learning_rate=0.3, loss_bound=1.0)
    for wrong in ([[0.5, 0.6]], [[0.5, 0.5]] * 2, [0.5, 0.5], [[1.5, -0.5]]):
        with pytest.raises(InvalidParameter, match="probabilities must have a row for each of the 1 rounds"):
            bounds.lemma_7(learning_rates=[1.0], probabilities=wrong)
    with pytest.raises(InvalidParameter, match="best must be a whole number from 0 to 1; got 2"):
        bounds.lemma_7(learning_rates=[1.0], probabilities=[[0.5, 0.5]], best=2)
