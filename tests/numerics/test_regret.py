"""The one definition of regret, in closed form and as the simulation computes it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import holdfast as hf
from holdfast.numerics.regret import regret

FOREVER = {"block_lengths": [10_000], "learning_rates": [1.0]}
"""A schedule of one block: the arm drawn first is played to the end."""

ENVIRONMENTS = {
    "bernoulli": hf.Bernoulli([0.1, 0.4, 0.8]),
    "constrained": hf.ConstrainedBernoulli(3, 0.3),
    "reversal": hf.Reversal(3, 500),
    "table": hf.LossTable(np.random.default_rng(1).random((500, 3))),
    "shuffled": hf.Bernoulli([0.1, 0.4, 0.8], shuffled=True),
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_first_play_is_a_switch(environment):
    """J_0 is no arm, so even a policy that never changes its mind pays λ once."""
    stay = hf.TsallisSwitch(3, **FOREVER)
    result = hf.simulate([stay], environment, horizon=500, switching_cost=2.5, replications=6, checkpoints=[1, 7])
    assert set(result.frame["switches"]) == {1}
    assert np.array_equal(result.frame["regret_with_switching"], result.frame["pseudo_regret"] + 2.5)


def test_first_play_is_a_switch_of_one_arm_too():
    result = hf.simulate([hf.Exp3(1)], hf.Bernoulli([0.3]), horizon=9, switching_cost=0.5, replications=2)
    assert result.frame["pseudo_regret"].to_list() == [0.0] * 18
    assert result.frame["regret_with_switching"].to_list() == [0.5] * 18


def test_comparator_is_best_so_far():
    """Arm 0 is best up to round 60, arm 1 from then on: each round's regret is against the best arm up to it."""
    losses = np.array([[0.0, 0.5]] * 40 + [[1.0, 0.0]] * 60)
    stay = hf.TsallisSwitch(2, **FOREVER)
    result = hf.simulate(
        [stay], hf.LossTable(losses), horizon=100, switching_cost=0, replications=20, checkpoints=range(1, 101)
    )
    sums = losses.cumsum(axis=0)
    assert sums[-1].argmin() == 1
    assert sums[49].argmin() == 0
    of_arm = (sums - sums.min(axis=1, keepdims=True)).T
    rows = {tuple(part["pseudo_regret"]) for _, part in result.frame.group_by("replication")}
    assert rows == {tuple(of_arm[0]), tuple(of_arm[1])}
    assert of_arm[0][39] == 0.0  # not −20, as against the arm that turns out best


@pytest.mark.plain
@given(
    st.integers(1, 5).flatmap(
        lambda K: st.lists(
            st.tuples(st.integers(0, K - 1), st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=K, max_size=K)),
            min_size=1,
            max_size=30,
        )
    ),
    st.integers(0, 40).map(lambda i: i / 8),
)
def test_regret_is_its_definition(game, lam):
    """Round by round, on the same expected losses; eighths, so every sum is exact."""
    arms, losses = [arm for arm, _ in game], [row for _, row in game]
    found = regret(losses, arms, lam)
    for t in range(1, len(arms) + 1):
        switches = 1 + sum(a != b for a, b in pairwise(arms[:t]))
        played = sum(row[arm] for row, arm in zip(losses[:t], arms, strict=False))
        best = min(sum(row[i] for row in losses[:t]) for i in range(len(losses[0])))
        assert found["switches"][t - 1] == switches
        assert found["pseudo_regret"][t - 1] == played - best
        assert found["regret_with_switching"][t - 1] == played - best + lam * switches


@pytest.mark.plain
def test_what_is_no_game_is_refused():
    losses, masked = [[0.0, 1.0], [1.0, 0.0]], np.ma.masked_array([[0.1, 0.2]], mask=[[False, True]])
    for played, rule in (
        ([0], "one arm number for each of 2"),
        ([0, 2], "from 0 to 1"),
        ([0.0, 1.0], "one arm number"),
    ):
        with pytest.raises(hf.InvalidParameter, match=rf"played must be .*{rule}"):
            regret(losses, played)
    for wrong in ([[0.1], [0.2, 0.3]], [["a", "b"]], [[np.nan, 0.2]], masked, [0.5], None):
        with pytest.raises(hf.InvalidParameter, match=r"^expected_losses must be a table of finite numbers, with"):
            regret(wrong, [0])
