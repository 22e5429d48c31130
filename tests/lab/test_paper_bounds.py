"""Bounds shown with a series: only those proved of the policy it plays, in the game it plays."""

import pytest

from holdfast import BaSE, Bernoulli, Exp3, Policy, TsallisInf, TsallisSwitch, VaryingTsallisSwitch, bounds
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


def test_the_rest():
    assert promised(Exp3(4)) == {"exp3"}
    assert promised(BaSE(4, horizon=1000)) == set()
    assert promised(VaryingTsallisSwitch(4), Power(0.5)) == {"theorem-4", "theorem-4-unique", "corollary-5"}
    assert promised(VaryingTsallisSwitch(4), 1.0) == {"theorem-4", "theorem-4-unique"}
