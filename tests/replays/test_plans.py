"""Best plans in hindsight against brute force and plain NumPy."""

import itertools
import math

import hypothesis.strategies as st
import naive_worlds
import numpy as np
import pytest
from hypothesis import given, settings

import holdfast as hf
from holdfast.numerics.hindsight import hindsight, plan_costs

SMALL = st.integers(1, 6).flatmap(
    lambda rounds: st.integers(1, 3).flatmap(
        lambda arms: st.lists(
            st.lists(
                st.one_of(st.integers(-8, 8).map(lambda n: n / 8), st.floats(-3, 3)), min_size=arms, max_size=arms
            ),
            min_size=rounds,
            max_size=rounds,
        )
    )
)
COSTS = st.one_of(st.integers(0, 16).map(lambda n: n / 8), st.floats(0, 3))


def switches_of(arms):
    return 1 + sum(a != b for a, b in itertools.pairwise(arms))


def cost_of(table, arms, cost):
    return math.fsum([*(row[arm] for row, arm in zip(table, arms, strict=True)), cost * switches_of(arms)])


def every_plan(table, cost, most=math.inf):
    """The costs of all plans of at most `most` switches."""
    plans = itertools.product(range(len(table[0])), repeat=len(table))
    return {plan: cost_of(table, plan, cost) for plan in plans if switches_of(plan) <= most}


def check(plan, table, cost):
    arms = plan.arms.tolist()
    assert len(arms) == len(table)
    assert plan.switches == switches_of(arms)
    assert plan.losses == pytest.approx(math.fsum(row[arm] for row, arm in zip(table, arms, strict=True)), rel=1e-15)
    assert plan.cost == pytest.approx(cost_of(table, arms, cost), rel=1e-12, abs=1e-15)


@pytest.mark.slow
@pytest.mark.plain
@given(table=SMALL, cost=COSTS)
def test_best_plan_is_the_least_of_all_plans(table, cost):
    plan = hf.best_plan(table, cost)
    check(plan, table, cost)
    assert plan.cost == pytest.approx(min(every_plan(table, cost).values()), rel=1e-12, abs=1e-12)


@pytest.mark.plain
@given(table=SMALL, cost=COSTS, most=st.integers(1, 7))
def test_limited_plan_is_the_least_of_all_plans_within_the_limit(table, cost, most):
    plan = hf.best_plan(table, cost, max_switches=most)
    check(plan, table, cost)
    assert plan.switches <= most
    assert plan.cost == pytest.approx(min(every_plan(table, cost, most).values()), rel=1e-12, abs=1e-12)


def test_the_least_costs_after_pieces_of_a_table_are_those_of_its_rounds():
    table = np.random.default_rng(1).random((30, 3))
    found, slow = plan_costs([table[:1], table[1:12], table[12:]], 0.4), naive_worlds.plan_costs(table.tolist(), 0.4)
    assert found.tolist() == pytest.approx([slow[0], slow[11], slow[29]])


@pytest.mark.parametrize("seed", range(5))
def test_the_plan_with_a_cost_for_each_pair_is_the_least_of_all(seed):
    """To go back costs another amount than to go; the first play costs nothing."""
    table, costs = np.random.default_rng(seed).random((5, 3)), [[0.0, 0.2, 0.3], [0.3, 0.0, 0.25], [0.15, 0.3, 0.0]]

    def cost_of(arms):
        paid = math.fsum(costs[a][b] for a, b in itertools.pairwise(arms))
        return math.fsum(table[t, arm] for t, arm in enumerate(arms)) + paid

    plan = hf.best_plan(table, costs)
    least = min(map(cost_of, itertools.product(range(3), repeat=5)))
    assert (plan.cost, cost_of(plan.arms.tolist())) == pytest.approx((least, least))


@given(table=SMALL, costs=st.lists(COSTS, max_size=3), most=st.integers(0, 7))
def test_one_pass_gives_what_single_ones_give(table, costs, most):
    found = hindsight(table, costs, most)
    for cost, plan in zip(costs, found.free, strict=True):
        assert plan.arms.tolist() == hf.best_plan(table, cost).arms.tolist()
        for limit in range(1, most + 1):
            expected = hf.best_plan(table, cost, limit).cost
            assert found.cost_within(limit, cost) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert len(found.least_losses) == most
    for s, least in enumerate(found.least_losses, start=1):
        assert least == pytest.approx(min(every_plan(table, 0.0, s).values()), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("rounds", "n_arms"), [(4, 2), (3, 3), (1, 4), (5, 1)])
def test_every_table_of_zeros_and_ones(rounds, n_arms):
    for cells in itertools.product((0.0, 1.0), repeat=rounds * n_arms):
        table = np.array(cells).reshape(rounds, n_arms)
        for cost in (0.0, 0.5, 1.0, 1.5):
            assert hf.best_plan(table, cost).cost == min(every_plan(table, cost).values())


@pytest.mark.parametrize("most", [1, 2, 5, 10, 300])
@pytest.mark.parametrize("cost", [0.0, 0.3, 2.0])
def test_limited_plan_costs_what_the_plain_programme_says(most, cost):
    """By round, number of switches so far and arm."""
    table = np.clip(np.cumsum(np.random.default_rng(most).normal(0, 0.1, (300, 4)), axis=0) + 0.5, 0, 1)
    ends = np.full((most, 4), np.inf)
    ends[0] = table[0] + cost
    for row in table[1:]:
        moved = np.vstack([np.full((1, 4), np.inf), ends[:-1].min(axis=1, keepdims=True) + np.full(4, cost)])
        ends = np.minimum(ends, moved) + row
    assert hf.best_plan(table, cost, most).cost == pytest.approx(ends.min(), rel=1e-12)


def plain_plan(table, cost):
    """The textbook programme with all back-pointers, in exact fractions of 2⁻²⁰ carried as integers."""
    scaled = np.round(np.asarray(table) * 2**20).astype(np.int64)
    lam = round(cost * 2**20)
    value, came_from = scaled[0] + lam, []
    for row in scaled[1:]:
        leader = int(np.argmin(value))
        stay = value <= value[leader] + lam
        came_from.append(np.where(stay, np.arange(len(row)), leader))
        value = np.where(stay, value, value[leader] + lam) + row
    arms = [int(np.argmin(value))]
    for pointers in reversed(came_from):
        arms.append(int(pointers[arms[-1]]))
    return arms[::-1]


@settings(max_examples=20)
@given(
    rounds=st.sampled_from([255, 256, 257, 512, 1500, 4097]),
    n_arms=st.integers(1, 9),
    cost=st.sampled_from([0.0, 0.125, 1.0, 7.5]),
    levels=st.sampled_from([2, 5, 2**20]),
    seed=st.integers(0, 999),
)
def test_pieces_give_the_arms_of_the_plain_programme_ties_included(rounds, n_arms, cost, levels, seed):
    table = np.random.default_rng(seed).integers(0, levels, (rounds, n_arms)) / 2**20
    table *= 2**20 / levels if levels & (levels - 1) == 0 else 2**17
    assert hf.best_plan(table, cost).arms.tolist() == plain_plan(table, cost)


def test_of_equal_plans_the_documented_one_is_given():
    equal = np.full((5, 3), 0.25)
    assert hf.best_plan(equal, 0.0).arms.tolist() == [0] * 5
    assert hf.best_plan([[0.0, 1.0], [1.0, 0.0]], 1.0).arms.tolist() == [0, 0]  # 0 0, 1 1 and 0 1 cost the same
    assert hf.best_plan([[0.0, 1.0], [1.0, 0.0]], 1.0, max_switches=2).switches == 1
    assert hf.best_plan([[0.5, 0.0], [0.0, 0.5], [0.5, 0.0]], 0.0, max_switches=2).cost == 0.5


def test_sums_do_not_drift():
    """2·10⁵ losses of 0.1 beside one of 10⁹, and arms that differ by 10⁻⁹ in the end."""
    table = np.full((200_000, 2), 0.1)
    table[0] = 1e9
    table[-1, 0] += 1e-9
    plan = hf.best_plan(table, 1.0)
    assert plan.arms.tolist() == [1] * len(table)
    assert plan.losses == math.fsum(table[:, 1])
    assert plan.cost == math.fsum(table[:, 1]) + 1.0


def test_a_mapped_file_and_other_types_give_the_same_plan(tmp_path):
    table = np.random.default_rng(3).random((3000, 4), dtype=np.float32)
    np.save(tmp_path / "t.npy", table)
    expected = hf.best_plan(table.astype(np.float64), 0.3)
    for given_table in (table, np.load(tmp_path / "t.npy", mmap_mode="r"), np.asfortranarray(table), table.tolist()):
        plan = hf.best_plan(given_table, 0.3)
        assert plan.arms.tolist() == expected.arms.tolist()
        assert plan.cost == expected.cost
    assert hf.best_plan(np.array([[True, False]]), 0.0).arms.tolist() == [1]


def test_a_plan_in_runs():
    plan = hf.best_plan([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], 0.25)
    starts, arms = plan.runs()
    assert starts.tolist() == [0, 2]
    assert arms.tolist() == [0, 1]
    assert repr(plan) == "<Plan of 3 rounds: cost 0.5 = losses 0 + 0.25 × 2 switches>"


@pytest.mark.plain
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, math.nan]], 0.0), r"losses at row 0, column 1 must be a finite number"),
        (([[0.0, 0.0], [math.inf, 0.0]], 0.0), r"losses at row 1, column 0 must be a finite number"),
        (([[0.0, 1e101]], 0.0), r"losses at row 0, column 1"),
        (([1.0, 2.0], 0.0), r"losses must be a table of numbers"),
        (([[1.0], [1.0, 2.0]], 0.0), r"losses must be a table of numbers"),
        ((np.zeros((0, 3)), 0.0), r"losses must be a table of numbers.*shape \(0, 3\)"),
        (([["a", "b"]], 0.0), r"losses must be a table of numbers"),
        ((np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]]), 0.0), r"none of them masked"),
        (([[1.0, 2.0]], -1.0), r"switching_cost must be a finite number and not negative"),
        (([[1.0, 2.0]], math.inf), r"switching_cost must be a finite number"),
        (([[1.0, 2.0]], 0.0, 0), r"max_switches must be a whole number of at least 1; got 0"),
        (([[1.0, 2.0]], 0.0, 1.5), r"max_switches must be a whole number"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        hf.best_plan(*arguments)


def test_a_limit_beyond_memory_is_refused():
    table = np.random.default_rng(1).random((200_000, 8))
    with pytest.raises(
        hf.InvalidParameter, match=r"max_switches must be at most \d+ for a table of 200000 x 8; got 90"
    ):
        hf.best_plan(table, 0.0, max_switches=90_000)
