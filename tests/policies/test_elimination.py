"""BaSE: grids, defaults, elimination against the oracle, orders, the horizon, and the accident of its alignment."""

import itertools
import math

import hypothesis.strategies as st
import naive
import pytest
from every_policy import loss_of
from hypothesis import example, given
from kernel_game import KernelGame
from statistics_of_samples import SEED, assert_at_least

from holdfast import BaSE, ConstrainedBernoulli, Stream
from holdfast.kernels import COMPILED

pytestmark = pytest.mark.plain

GRIDS = ("arithmetic", "geometric", "minimax")


def played(policy: BaSE, losses, name: str = "base", extra: int = 0) -> list[tuple[int, int]]:
    """(arm, rounds) of each block up to the horizon and `extra` rounds more; losses(arm, start, stop)."""
    game, t, blocks = KernelGame(policy, name), 0, []
    while t < policy.horizon + extra:
        arm, length = game.choose()
        rounds = min(length, policy.horizon - t) if t < policy.horizon else length
        game.observe(losses(arm, t, t + rounds), rounds)
        blocks.append((arm, rounds))
        t += rounds
    return blocks


def mixed_losses(arm: int, start: int, stop: int) -> float:
    return sum(loss_of(t, arm) for t in range(start, stop))


@pytest.mark.parametrize(
    ("grid", "horizon", "batches"),
    [
        ("geometric", 100_000, 12),  # ⌈ln T⌉
        ("geometric", 1, 1),
        ("geometric", 2, 1),
        ("geometric", 10**6, 14),
        ("arithmetic", 100_000, 100),  # ⌈T^0.4⌉, exactly 100
        ("arithmetic", 100_001, 101),
        ("arithmetic", 32, 4),
        ("minimax", 100_000, 5),  # ⌈log₂ log₂ T⌉
        ("minimax", 2**16, 4),
    ],
)
def test_default_batches(grid, horizon, batches):
    """The paper gives no M (errata, point 23)."""
    assert BaSE(8, horizon=horizon, grid=grid).batches == batches
    assert len(BaSE(8, horizon=horizon, grid=grid).grid_points) == batches


@given(st.sampled_from(GRIDS), st.integers(1, 10**6), st.integers(1, 12))
def test_grid_points_are_exact(grid, T, M):
    M = min(M, T)
    points = BaSE(3, horizon=T, grid=grid, batches=M).grid_points
    assert list(points) == naive.base_grid(T, grid, M)
    assert points[-1] == T
    assert all(a <= b for a, b in itertools.pairwise(points))
    assert BaSE(3, horizon=10**15, batches=3).grid_points == (10**5, 10**10, 10**15)  # whole roots


@given(
    st.sampled_from(GRIDS),
    st.sampled_from(["index", "round-robin"]),
    st.integers(1, 8),
    st.integers(1, 400),
    st.integers(1, 8),
    st.lists(st.integers(0, 8), min_size=8, max_size=8) | st.none(),
    st.sampled_from([0.01, 0.05, 0.5, 2.0]),
)
@example("geometric", "index", 4, 2000, 7, None, 0.05)
def test_against_oracle(grid, order, K, T, M, eighths, gamma):
    """Constant losses in eighths, with ties, arms dropped one by one, everything dropped but one; and mixed ones."""

    def losses(arm, start, stop):
        return mixed_losses(arm, start, stop) if eighths is None else (stop - start) * eighths[arm] / 8

    M = min(M, T)
    oracle, t, expected = naive.BaSE(K, T, grid, gamma=gamma, M=M, order=order), 0, []
    while t < T:
        arm, rounds = oracle.choose(0.0)
        oracle.observe(losses(arm, t, t + rounds), rounds)
        expected.append((arm, rounds))
        t += rounds
    assert played(BaSE(K, horizon=T, grid=grid, batches=M, order=order, gamma=gamma), losses) == expected


@pytest.mark.parametrize("order", ["index", "random", "round-robin"])
@pytest.mark.parametrize(("K", "T"), [(4, 500), (8, 5)])
def test_past_the_horizon_it_stays_with_one_arm(order, K, T):
    blocks = played(BaSE(K, horizon=T, order=order), mixed_losses, extra=200)
    assert sum(rounds for _, rounds in blocks) >= T + 200
    assert all(rounds >= 1 for _, rounds in blocks)
    late = [arm for arm, _ in blocks[-100:]]
    assert len(set(late)) == 1
    if T > K:
        assert played(BaSE(K, horizon=T, order=order), mixed_losses)[-1][0] == late[0]


RUNS = 100


def runs_that_keep_the_best_arm(policy: BaSE, best: int = 0) -> int:
    """Of `RUNS` games against constrained losses, those that end with the best arm: arm 0, or moved to `best`."""
    world, kept = ConstrainedBernoulli(policy.n_arms, 0.2), 0
    for run in range(RUNS):
        stream = Stream(SEED, "world", run)

        def losses(arm, start, stop, stream=stream):
            return world.draw((arm - best) % policy.n_arms, start, stop, stream)

        kept += played(policy, losses, f"run {run}")[-1][0] == best
    return kept


@pytest.mark.skipif(not COMPILED, reason="long games")
def test_geometric_success_hangs_on_alignment():
    """M = ⌈ln T⌉ with the best arm first keeps it in (almost) every run; one batch more or less, another place or
    another order lose it in four of ten runs or more (errata, point 28).
    """
    K, T = 8, 100_000
    M = math.ceil(math.log(T))
    assert_at_least(runs_that_keep_the_best_arm(BaSE(K, horizon=T)), RUNS, 0.95, sees=0.3)
    for policy, best in (
        (BaSE(K, horizon=T, batches=M + 1), 0),
        (BaSE(K, horizon=T, batches=M - 1), 0),
        (BaSE(K, horizon=T, order="random"), 0),
        (BaSE(K, horizon=T), 5),
    ):
        lost = RUNS - runs_that_keep_the_best_arm(policy, best)
        assert_at_least(lost, RUNS, 0.4, sees=0.35)
