"""EXP3 and its block version."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from holdfast.policies.protocol import ROUNDS, State
from hypothesis import given
from strategies import decimal_costs

from holdfast import BlockExp3, Exp3, InvalidParameter, Stream

pytestmark = pytest.mark.plain


@pytest.mark.parametrize(
    ("lam", "horizon", "n_arms", "rounds"),
    [
        (1, 100_000, 8, 24),  # 23.2
        (0.025, 100_000, 8, 2),  # 1.98
        (0, 100_000, 8, 1),
        (1, 8 * 27, 8, 3),  # exactly 3: a cube root in floating point gives 3.0000000000000004
        (1, 8 * 27 + 1, 8, 4),
        (0.001, 10**6 * 64, 1, 4),  # 10⁻⁶ · 64·10⁶ = 4³
        (1e-9, 10, 8, 1),
    ],
)
def test_block_length(lam, horizon, n_arms, rounds):
    """max(1, ⌈λ^{2/3}(T/K)^{1/3}⌉), rounded up, one round at λ = 0 (errata, point 24)."""
    assert BlockExp3(n_arms, switching_cost=lam, horizon=horizon).block_length == rounds
    player = BlockExp3(n_arms, switching_cost=lam, horizon=horizon).player(seed=1)
    player.ask()
    assert player.hold == rounds


@given(st.integers(1, 1000), decimal_costs, st.integers(1, 10**12))
def test_block_length_is_exact(K, lam, T):
    m = BlockExp3(K, switching_cost=float(lam), horizon=T).block_length
    cubed = Fraction(lam) ** 2 * T / K
    assert m == 1 or (m - 1) ** 3 < cubed <= m**3
    assert m == naive.BlockExp3(K, lam, T).B


def test_block_length_is_read_in_the_units_of_the_losses():
    assert (
        BlockExp3(8, switching_cost=10.0, horizon=100_000, loss_range=(5.0, 15.0)).block_length
        == BlockExp3(8, switching_cost=1.0, horizon=100_000).block_length
    )


@pytest.mark.parametrize("K", [1, 2, 8])
def test_without_a_cost_the_block_version_is_exp3(K):
    games = []
    for policy in (Exp3(K), BlockExp3(K, switching_cost=0.0, horizon=500)):
        params, state, stream, arms = policy.parameters(), State.fresh(K), Stream(9, "both"), []
        for t in range(300):
            arm = policy.choose(params, state.x, state.C, state.w, 0.0, stream.state)
            policy.observe(params, state.x, state.C, state.w, (t + arm) % 3 / 2, state.x[ROUNDS])
            arms.append(arm)
        games.append((arms, state.C.tolist()))
    assert games[0] == games[1]


def test_a_block_counts_as_its_average():
    """The rate is divided by the length: p after blocks that lose b·ℓ is p after rounds that lose ℓ."""
    K = 3
    one, blocks = Exp3(K), BlockExp3(K, switching_cost=2.0, horizon=10_000)
    b = blocks.block_length
    assert b > 1
    states = State.fresh(K), State.fresh(K)
    streams = Stream(4, "average"), Stream(4, "average")
    for t in range(200):
        for policy, state, stream, rounds in zip((one, blocks), states, streams, (1, b), strict=True):
            arm = policy.choose(policy.parameters(), state.x, state.C, state.w, 0.0, stream.state)
            policy.observe(policy.parameters(), state.x, state.C, state.w, rounds * ((t + arm) % 4 / 4), float(rounds))
        p, q = one.probabilities(one.parameters(), states[0]), blocks.probabilities(blocks.parameters(), states[1])
        assert p == pytest.approx(q, rel=1e-10)


def test_estimates_that_have_grown_are_moved_back_to_zero_without_changing_play():
    """p depends on differences only; sums of 10¹² rounds would lose them."""
    policy = Exp3(3)
    params, rng = policy.parameters(), np.random.default_rng(1)
    for _ in range(50):
        C = rng.random(3) * 1e3 + 2.0**21
        moved, kept = State.fresh(3), State.fresh(3)
        for state, shift in ((moved, 0.0), (kept, C.min())):
            state.C[:] = C - shift
            state.x[0] = 99.0
            policy.observe(params, state.x, state.C, np.ones(3), 0.0, 1.0)
            policy.choose(params, state.x, state.C, state.w, 0.0, Stream(1, "a").state)
        assert moved.C.min() == 0
        assert policy.probabilities(params, moved) == pytest.approx(policy.probabilities(params, kept), rel=1e-9)


def test_many_losses_leave_probabilities_that_are_numbers():
    policy = Exp3(2)
    params, state, stream = policy.parameters(), State.fresh(2), Stream(2, "many")
    for _ in range(3000):
        arm = policy.choose(params, state.x, state.C, state.w, 0.0, stream.state)
        policy.observe(params, state.x, state.C, state.w, float(arm == 0), 1.0)
    p = policy.probabilities(params, state)
    assert math.isclose(p.sum(), 1.0)
    assert p[1] > 0.9


@pytest.mark.parametrize(("arguments", "parameter"), [((8, -1.0, 10), "switching_cost"), ((8, 1.0), "horizon")])
def test_bad_parameters_are_refused(arguments, parameter):
    with pytest.raises(InvalidParameter) as error:
        BlockExp3(*arguments)
    assert error.value.parameter == parameter
