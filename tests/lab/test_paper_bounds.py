"""Bounds shown with a series: only those proved of the policy it plays, in the game it plays."""

import numpy as np
import pytest

from holdfast import (
    BaSE,
    Bernoulli,
    Exp3,
    Policy,
    TsallisInf,
    TsallisSwitch,
    VaryingRanges,
    VaryingTsallisSwitch,
    bounds,
)
from holdfast.lab.paper.plan import guarantees
from holdfast.lab.plan import Cell
from holdfast.simulation import Power

GAME = Bernoulli.with_gap(4, 0.1)


def promised(policy: Policy, cost: float | Power = 1.0) -> set[str]:
    return {guarantee.bound for guarantee in guarantees(Cell({"it": policy}, GAME, cost, 1000, (1000,)))}


def test_theorem_1_for_its_own_schedule_and_cost():
    assert promised(TsallisSwitch(4, switching_cost=1.0)) == {"theorem-1", "theorem-1-unique", "blocks"}


def test_a_schedule_given_by_hand_is_promised_nothing():
    given = TsallisSwitch(4, switching_cost=1.0, block_lengths=lambda n: 3, learning_rates=lambda n: 1 / n)
    assert promised(given) == set()


@pytest.mark.parametrize("cost", [0.5, 2.0, 0.0, Power(0.5)])
def test_another_cost_than_the_policys_is_promised_its_blocks_alone(cost):
    assert promised(TsallisSwitch(4, switching_cost=1.0), cost) == {"blocks"}


def test_the_bound_is_at_the_cost_of_the_game():
    (found,) = [
        g
        for g in guarantees(Cell({"it": TsallisSwitch(4, switching_cost=0.3)}, GAME, 0.3, 1000, (1000,)))
        if g.bound == "theorem-1"
    ]
    assert found.value(horizon=1000) == bounds.theorem_1(n_arms=4, switching_cost=0.3, horizon=1000)


def test_other_units_and_estimators_are_promised_nothing():
    assert promised(TsallisSwitch(4, switching_cost=1.0, units=(0.0, 2.0))) == set()
    assert promised(TsallisInf(4, estimator="reduced-variance")) == set()
    assert promised(TsallisInf(4, loss_bound=0.5)) == set()
    assert "corollary-3" in promised(TsallisInf(4))


def test_theorem_2_for_who_is_told_the_ranges():
    """With one range for all rounds it is Corollary 3's bound, up to the sum over rounds."""
    world = VaryingRanges([0.3, 0.5, 0.5, 0.5], [1.0])
    policies = {"told": TsallisInf(4, loss_bound="announced"), "not told": TsallisInf(4)}
    found = {(g.series, g.bound): g for g in guarantees(Cell(policies, world, 0.0, 1000, (1000,)))}
    assert found.keys() == {("told", "theorem-2"), ("told", "theorem-2-unique"), ("not told", "corollary-3")}
    rates = 2 / np.arange(1, 1001) ** 0.5
    assert found["told", "theorem-2"].value(horizon=1000) == bounds.theorem_2(
        n_arms=4, learning_rates=rates, ranges=1.0
    )
    printed = bounds.theorem_2_constrained(n_arms=4, learning_rates=rates, ranges=1.0, gaps=0.2)
    assert found["told", "theorem-2-unique"].value(horizon=1000) == pytest.approx(printed, rel=1e-12)
    assert found["told", "theorem-2"].value(horizon=1000) < bounds.corollary_3(n_arms=4, horizon=1000)
    assert promised(policies["told"]) == set()


def test_the_rest():
    assert promised(Exp3(4)) == {"exp3"}
    assert promised(BaSE(4, horizon=1000)) == set()
    assert promised(VaryingTsallisSwitch(4), Power(0.5)) == {"theorem-4", "theorem-4-unique", "corollary-5"}
    assert promised(VaryingTsallisSwitch(4), 1.0) == {"theorem-4", "theorem-4-unique"}
