"""The cost of a switch: a number, a list, a function or a power of n, asked for no more than a game can need."""

from dataclasses import replace

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter

PAID = ("regret_with_switching", "total_cost")
"""The columns that switches are paid in."""


def test_switching_costs_by_number_list_function_and_power():
    settings = {"horizon": 300, "replications": 5, "seed": 8, "checkpoints": "log"}
    policies, environment = [hf.VaryingTsallisSwitch(3), hf.Exp3(3)], hf.Bernoulli([0.3, 0.5, 0.6])

    def played(cost):
        return hf.simulate(policies, environment, switching_cost=cost, **settings).frame

    powers = played(hf.Power(0.5, scale=0.1))
    assert powers.equals(played(lambda n: 0.1 * n**0.5))
    assert powers.equals(played([0.1 * n**0.5 for n in range(1, 301)]))
    assert powers.equals(played(np.array([0.1 * n**0.5 for n in range(1, 301)])))
    constant, number = played(lambda n: 0.25), played(0.25)
    assert number.drop(PAID).equals(constant.drop(PAID))
    assert np.allclose(number["regret_with_switching"], constant["regret_with_switching"], rtol=1e-13)
    with pytest.raises(InvalidParameter, match=r"must have an entry for every block played.*299 entries"):
        played([1.0] * 299)
    for wrong, message in {
        -1: "switching_cost must be a finite number and not negative; got -1",
        "1": "switching_cost must be a finite number",
        None: "switching_cost must be a finite number",
        (1.0, -2.0): r"switching_cost\[1\] must be a finite number and not negative",
        (1.0,): "switching_cost must have an entry for every block, so at least two",
        (lambda n: -n): "switching_cost at n=1 must be a finite number and not negative",
    }.items():
        with pytest.raises(InvalidParameter, match=message):
            played(wrong)


def test_costs_of_very_long_sequences_are_tabulated_as_far_as_needed():
    """More blocks than the first table has: the games begin again and come out as with one long list."""
    settings = {"horizon": 10_000, "replications": 2, "checkpoints": 3}
    environment = hf.Bernoulli([0.4, 0.5])
    by_function = hf.simulate(hf.TsallisInf(2), environment, switching_cost=lambda n: n % 3, **settings)
    by_list = hf.simulate(hf.TsallisInf(2), environment, switching_cost=[n % 3 for n in range(1, 10_001)], **settings)
    assert by_function.frame.equals(by_list.frame)


@pytest.mark.parametrize(
    "times",
    [lambda u: 0.3 * u, lambda u: [0.01 * u * n for n in range(1, 61)], lambda u: lambda n: 0.01 * u * n],
    ids=["number", "list", "function"],
)
def test_costs_are_in_the_units_of_the_losses(times):
    """Where losses and costs are four times as high, the games are the same."""
    losses, policy = np.random.default_rng(3).random((60, 3)), hf.VaryingTsallisSwitch(3)
    one, four = (
        hf.simulate(
            replace(policy, units=(0.0, u)),
            hf.LossTable(u * losses, units=(0.0, u)),
            switching_cost=times(u),
            replications=3,
            seed=1,
        ).frame
        for u in (1.0, 4.0)
    )
    assert one["switches"].to_list() == four["switches"].to_list()
    assert four["total_cost"].to_list() == pytest.approx((4.0 * one["total_cost"]).to_list())


GAME = {"horizon": 100, "replications": 3, "checkpoints": 5}
LOSSES = hf.Bernoulli([0.4, 0.5])


def test_what_a_function_closes_over_may_change_between_calls():
    costs = [1.0] * 100

    def cost(n):
        return costs[n - 1]

    first = hf.simulate(hf.TsallisInf(2), LOSSES, switching_cost=cost, **GAME).frame
    costs[:] = [2.0] * 100
    second = hf.simulate(hf.TsallisInf(2), LOSSES, switching_cost=cost, **GAME).frame
    assert np.allclose(
        second["regret_with_switching"] - second["pseudo_regret"],
        2 * (first["regret_with_switching"] - first["pseudo_regret"]),
    )


@pytest.mark.parametrize("backend", [hf.Threads(3, quick=0), hf.Threads(1)])
def test_a_function_is_asked_once_for_each_block_that_there_can_be(backend):
    asked = []

    def cost(n):
        asked.append(n)
        return float(n)

    hf.simulate(hf.TsallisInf(2), LOSSES, switching_cost=cost, backend=backend, **GAME | {"replications": 200})
    assert asked == list(range(1, 101))
    asked.clear()
    hf.simulate(hf.TsallisInf(2), LOSSES, switching_cost=cost, backend=backend, **GAME | {"horizon": 5000})
    assert asked == list(range(1, 5001))


def test_an_entry_that_is_none_matters_only_to_a_game_that_gets_there():
    """Blocks of ten rounds: 30 of them in 300 rounds, 31 in 301."""
    blocks = hf.TsallisSwitch(2, block_lengths=lambda n: 10, learning_rates=lambda n: 0.5)
    data = [1.0] * 30
    settings = GAME | {"switching_cost": lambda n: data[n - 1]}
    hf.simulate(blocks, LOSSES, **settings | {"horizon": 300})
    with pytest.raises(InvalidParameter, match=r"at n=31 must be .*; the function raised IndexError; got 'list index"):
        hf.simulate(blocks, LOSSES, **settings | {"horizon": 301})
    with pytest.raises(InvalidParameter, match=r"switching_cost at n=1 must .*; the function raised ZeroDivisionError"):
        hf.simulate(blocks, LOSSES, **settings | {"switching_cost": lambda n: 1 / 0})
    with pytest.raises(InvalidParameter, match=r"switching_cost at n=3 must be a finite number and not .*; got inf"):
        hf.simulate(blocks, LOSSES, **settings | {"switching_cost": hf.Power(1000.0)})
    with pytest.raises(InvalidParameter, match=r"switching_cost at n=2 must be a finite number"):
        hf.simulate(blocks, LOSSES, **settings | {"switching_cost": lambda n: 1.0 if n < 2 else "x"})
