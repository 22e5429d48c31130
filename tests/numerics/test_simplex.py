"""Tsallis and exponential weights: exact properties, agreement with 50 digits, number of passes, drawing an arm."""

import math
from dataclasses import replace

import hypothesis.strategies as st
import mpmath
import naive
import numpy as np
import pytest
from hypothesis import example, given
from kernel_game import KernelGame
from strategies import cumulative_losses, learning_rates

from holdfast import InvalidParameter, TsallisInf, TsallisSwitch
from holdfast.kernels import COMPILED
from holdfast.numerics.simplex import (
    cold_solution,
    draw,
    exp_of_negative,
    exponential_weights,
    smallest,
    tsallis_weights,
)
from holdfast.policies.tsallis import corollary_3, solve_block, theorem_1

MOST_COLD_PASSES = 12
MOST_WARM_PASSES = 3.0


def spread_losses(K: int, seed: int) -> np.ndarray:
    """Losses over twenty decades, from 1e-10 to 1e10."""
    return 10.0 ** np.random.default_rng(seed).uniform(-10, 10, K)


@pytest.mark.plain
@given(cumulative_losses(), learning_rates)
@example([0.0, 1e10, 1e-10], 1e-9)
@example([1e-10] * 39 + [0.0], 1e3)
def test_weights_agree_with_the_naive_ones(C, eta):
    assert tsallis_weights(C, eta) == pytest.approx(naive.tsallis_weights(C, eta), rel=1e-12)


@pytest.mark.plain
def test_weights_do_not_change_their_input():
    C = np.array([3.0, 1.0, 2.0])
    tsallis_weights(C, 0.5)
    assert C.tolist() == [3.0, 1.0, 2.0]


def assert_digits(p: np.ndarray, exact: list, relative: float = 1e-10) -> None:
    worst = max(abs(mpmath.mpf(float(a)) / b - 1) for a, b in zip(p, exact, strict=True))
    assert worst <= relative, f"off by a relative {float(worst):.1e}"


@pytest.mark.plain
@pytest.mark.parametrize("eta", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("K", [1, 2, 3, 8, 61, 300])
def test_fifty_digits(K, eta):
    C = spread_losses(K, seed=K)
    p, passes = cold_solution(C, eta)
    assert_digits(p, naive.tsallis_weights_exact(C.tolist(), eta))
    assert p.tolist() == tsallis_weights(C, eta).tolist()
    assert abs(math.fsum(p) - 1) <= 1e-12
    assert 1 <= passes <= MOST_COLD_PASSES


@pytest.mark.plain
@pytest.mark.parametrize("eta", [5e-324, 1e-300, 1e-150, 1e-80, 1e80, 1e150, 1e300])
def test_fifty_digits_at_any_rate(eta):
    """Fourth powers of 2/η would not fit a float."""
    for spread in (0.0, 1e-3, 1.0, 1e10):
        C = [0.0, min(spread / eta, 1e300), min(3 * spread / eta, 1e300)]
        assert_digits(tsallis_weights(C, eta), naive.tsallis_weights_exact(C, eta))


NO_LOSSES = ["ab", "12", [[1.0]], [1.0, [2.0]], [], [math.nan], [10**400], [1j], None, [object()], [-1e308, 1e308]]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("C", "eta", "parameter"),
    [*((C, 1e80, "C") for C in NO_LOSSES), *(([0.0, 1.0], eta, "eta") for eta in (0.0, math.inf, "1"))],
)
def test_what_has_no_weights_is_refused(C, eta, parameter):
    with pytest.raises(InvalidParameter) as caught:
        tsallis_weights(C, eta)
    assert caught.value.parameter == parameter


@pytest.mark.plain
@given(cumulative_losses(most_arms=12), learning_rates)
def test_fifty_digits_of_any_losses(C, eta):
    assert_digits(tsallis_weights(C, eta), naive.tsallis_weights_exact(C, eta))


@pytest.mark.parametrize("eta", [1e-9, 1e-4, 1.0, 1e3])
def test_fifty_digits_of_a_hundred_thousand_arms(eta):
    """With every loss m times over, each copy has 1/m of the weight at the rate η/√m: 400 exact weights are enough."""
    distinct, copies = 400, 256
    few = spread_losses(distinct, seed=5)
    C = np.random.default_rng(6).permutation(np.repeat(few, copies))
    exact = dict(zip(few, naive.tsallis_weights_exact(few.tolist(), eta / math.sqrt(copies)), strict=True))
    p = tsallis_weights(C, eta)
    assert abs(math.fsum(p) - 1) <= 1e-12
    order = np.argsort(C)[::copies]
    assert_digits(p[order], [exact[c] / copies for c in C[order]])
    copied = p[np.argsort(C)].reshape(distinct, copies)
    assert (np.ptp(copied, axis=1) <= 4e-15 * copied[:, 0]).all()


@pytest.mark.parametrize("eta", [1e-9, 1e-6, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("K", [1000, 30_000, 100_000])
def test_passes_from_a_cold_start(K, eta):
    rng = np.random.default_rng(K)
    ladders = [10.0 ** rng.uniform(-10, 10, K)]  # twenty decades
    ladders += [np.arange(K) ** power * scale / eta for power in (0.3, 0.5, 1.0) for scale in (1e-3, 0.1, 1.0)]
    for ratio in (3, 30, 1000):  # ever more arms at ever larger losses: Newton climbs from shelf to shelf
        sizes = np.array([ratio**j for j in range(1 + int(math.log(K, ratio)))])
        ladders.append(np.concatenate([[0.0], np.repeat(sizes**0.5 * 2 / eta, sizes)[: K - 1]]))
    assert max(cold_solution(C, eta)[1] for C in ladders) <= MOST_COLD_PASSES


@pytest.mark.slow
@pytest.mark.plain
@pytest.mark.parametrize("K", [2, 8, 100, 2000] if COMPILED else [2, 8])
@pytest.mark.parametrize(
    "policy",
    [
        TsallisSwitch(2, switching_cost=1.0),
        TsallisSwitch(2, switching_cost=0.0),
        TsallisInf(2),
        TsallisInf(2, estimator="reduced-variance"),
    ],
    ids=["switch", "switch, no cost", "inf", "inf, reduced variance"],
)
def test_passes_from_a_warm_start(policy, K):
    """A real game; the solver's passes are those of the same block on a copy of the state."""
    blocks = 3000 if COMPILED else 150
    game = KernelGame(replace(policy, n_arms=K), "warm")
    schedule = theorem_1 if isinstance(policy, TsallisSwitch) else corollary_3
    passes = []
    for u in np.random.default_rng(4).random(blocks):
        ahead = game.copy().columns
        ahead.n[0] += 1
        _, eta, _ = schedule(game.game.params, ahead, 0.0)
        passes.append(solve_block(ahead, eta))
        arm, rounds = game.choose()
        game.observe(rounds * float(u < (0.5 if arm else 0.3)), rounds)
    assert np.mean(passes) <= MOST_WARM_PASSES


def drawn(p: np.ndarray, target: float) -> int:
    reached, arm = np.empty(1), np.empty(1)
    draw(p.reshape(-1, 1), np.array([target]), reached, arm)
    return int(arm.item())


@pytest.mark.plain
@given(
    st.lists(st.one_of(st.sampled_from([0.0, 1e-300, 0.5]), st.floats(1e-3, 1.0)), min_size=1, max_size=50).filter(any),
    st.one_of(st.floats(0.0, 1.0), st.just(1 + 1e-9), st.just(math.inf)),
)
@example([0.5, 0.5 - 1e-16, 0.0, 0.0], 1.0)
@example([0.5, 0.5], 0.5)
@example([0.0, 0.5], 0.0)
def test_drawing_takes_the_first_arm_past_the_target(weights, u):
    """The last arm of positive probability where the target is past the rounded sum."""
    p = np.array(weights)
    assert drawn(p, u * p.sum()) == naive.draw(weights, u * p.sum())


@pytest.mark.plain
@given(cumulative_losses(), st.floats(0.0, 1e3))
def test_exponential_weights_agree_with_the_naive_ones(L, eta):
    column = np.array(L).reshape(-1, 1)
    w, least, total = np.empty_like(column), np.empty(1), np.empty(1)
    smallest(column, least)
    assert least.item() == min(L)
    exponential_weights(column, least, eta, w, total)
    assert total.item() >= 1
    assert w[:, 0] / total == pytest.approx(naive.exp3_weights(L, eta), rel=1e-12)


@pytest.mark.plain
@given(st.floats(-800.0, 0.0))
@example(0.0)
@example(-0.0)
@example(-5e-324)
@example(-708.0)
@example(math.nextafter(-708.0, -math.inf))
@example(-math.log(2) / 2)
@example(-math.inf)
def test_our_exponential_is_right_to_one_unit_in_the_last_place(x):
    with mpmath.workdps(40):
        exact = mpmath.exp(mpmath.mpf(x)) if x >= -708 else mpmath.mpf(0)
        assert abs(mpmath.mpf(exp_of_negative(x)) - exact) <= math.ulp(float(exact)) * bool(exact)
