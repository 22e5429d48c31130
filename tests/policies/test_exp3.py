"""EXP3 and its block version."""

from fractions import Fraction

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from hypothesis import given
from kernel_game import KernelGame
from strategies import decimal_costs

from holdfast import BlockExp3, Exp3

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
        BlockExp3(8, switching_cost=10.0, horizon=100_000, units=(5.0, 15.0)).block_length
        == BlockExp3(8, switching_cost=1.0, horizon=100_000).block_length
    )


def test_estimates_that_have_grown_are_moved_back_to_zero_without_changing_play():
    """p depends on differences only; sums of 10¹² rounds would lose them."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        C = rng.random(3) * 1e3 + 2.0**21
        moved, kept = KernelGame(Exp3(3)), KernelGame(Exp3(3))
        for game, shift in ((moved, 0.0), (kept, C.min())):
            game.choose()
            game.state.C[:] = C - shift
            game.state.n[0] = 99.0
            game.observe(0.0, 1)
            game.choose()
        assert moved.state.C.min() == moved.state.least[0] == 0
        assert moved.p == pytest.approx(kept.p, rel=1e-9)
        assert moved.state.w.max() == 1.0  # not only in proportion: what is drawn is compared with their sum
        assert moved.state.total[0] == pytest.approx(moved.state.w.sum())
