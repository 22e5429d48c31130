"""The cost of a switch: a number, a list, a function or a power of n, or a table with a cost for each pair of arms."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from every_policy import FEW_EXPERTS

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
    found = []
    for u in (1.0, 4.0):
        world, game = hf.LossTable(u * losses, units=(0.0, u)), {"switching_cost": times(u), "replications": 3}
        found.append(hf.simulate(replace(policy, units=(0.0, u)), world, **game).frame)
    one, four = found
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
    hf.simulate(hf.TsallisInf(2), LOSSES, switching_cost=cost, backend=backend, **GAME | {"horizon": 4097})
    assert asked == list(range(1, 4098))  # one more than the first table has


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


# ---- a cost for each pair of arms, and what policies that know one cost make of it

TABLE = [[0.0, 1.0, 2.0], [0.5, 0.0, 1.5], [1.75, 1.25, 0.0]]
RECORDED = np.random.default_rng(5).integers(0, 9, (200, 3)) / 8


def paid_by(player: hf.FullInformationPlayer):
    """Losses and costs of a game, added up arm by arm."""
    loss = paid = 0.0
    before = None
    for row in RECORDED:
        arm = player.ask()
        loss += row[arm]
        paid += 0.0 if before is None else TABLE[before][arm]
        before = arm
        player.tell(row)
    return loss, paid


@pytest.mark.plain
def test_regret_counts_the_cost_of_each_pair():
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=TABLE, experts=FEW_EXPERTS, forecast_rounds=3)
    result = hf.simulate(policy, hf.LossTable(RECORDED), switching_cost=TABLE, replications=3, seed=4)
    assert result.provenance["switching_cost"] == TABLE
    last = result.frame.filter(result.frame["round"] == 200).sort("replication")
    for replication in range(3):
        loss, paid = paid_by(policy.player(seed=4, replication=replication))
        assert last["total_loss"][replication] == pytest.approx(loss)
        assert last["total_cost"][replication] == pytest.approx(loss + paid)
        regret = loss - RECORDED.sum(axis=0).min() + paid
        assert last["regret_with_switching"][replication] == pytest.approx(regret)
    assert paid > 1


def test_games_side_by_side_pay_the_same():
    """40 replications of a policy that plays 32 at once; the cost of every play, from its arms."""
    with pytest.warns(UserWarning, match="tsallis-switch knows one switching_cost .* the largest of the table, 2"):
        policy = hf.TsallisSwitch(3, switching_cost=TABLE)
    assert policy == hf.TsallisSwitch(3, switching_cost=2.0)
    game = {"environment": hf.LossTable(RECORDED), "switching_cost": TABLE}
    many = hf.simulate(policy, replications=40, **game)
    one = hf.simulate(policy, replications=1, first_replication=33, **game)
    assert many.frame.filter(many.frame["replication"] == 33).equals(one.frame)
    player, t, before, paid, loss = policy.player(seed=0, replication=33), 0, None, 0.0, 0.0
    while t < 200:
        arm, rounds = player.ask(), min(player.hold, 200 - t)
        paid += 0.0 if before in (None, arm) else TABLE[before][arm]
        own = float(RECORDED[t : t + rounds, arm].sum())
        loss, before, t = loss + own, arm, t + rounds
        if t < 200:
            player.tell(own, rounds=rounds)
    assert one.frame["total_cost"][-1] == pytest.approx(loss + paid)


@pytest.mark.plain
def test_tables_that_do_not_fit_are_refused():
    env = hf.LossTable(RECORDED)
    for table, said in (
        ([[0, 1], [1, 0]], "a row and a column for each of the 3 arms"),
        ([[0, 1, 1], [1, 0, 1]], "table of 2 x 2"),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "zeros from each arm to itself"),
    ):
        with pytest.raises(hf.InvalidParameter, match=said):
            hf.simulate(hf.RandomWalkPerturbation(3), env, switching_cost=table)
    with pytest.raises(hf.InvalidParameter, match="not a table: it is announced to hedge-switch"):
        hf.simulate(hf.AdaptiveHedgeSwitch(3, switching_cost="announced"), env, switching_cost=TABLE)
    far = [[0, 1, 9], [1, 0, 1], [9, 1, 0]]
    with pytest.warns(UserWarning, match="from arm 0 to arm 2 is more than by way of arm 1"):
        hf.simulate(hf.RandomWalkPerturbation(3), env, horizon=5, switching_cost=far, replications=1)


@pytest.mark.plain
@pytest.mark.parametrize("kind", [hf.AdaptiveTsallisSwitch, hf.LazyExp3, hf.StabilityPenaltyMatching])
def test_policies_that_know_one_cost_take_the_largest_and_say_so(kind: type):
    with pytest.warns(UserWarning, match=r"knows one switching_cost .* the largest of the table, 200"):
        policy = kind(3, switching_cost=(100 * np.array(TABLE)).tolist(), units=(0.0, 100.0))
    assert policy.switching_cost == 200.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind(3, switching_cost=200.0, units=(0.0, 100.0)) == policy
    with pytest.raises(hf.InvalidParameter, match="3 x 3"):
        kind(3, switching_cost=[[0, 1], [1, 0]])


@pytest.mark.plain
def test_a_cost_that_changes_is_announced_in_every_round():
    """Blocks of one round: λ_n is that of round n."""
    costs = [(0.0, 2.5, 0.4)[n % 3] for n in range(200)]
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost="announced", experts=FEW_EXPERTS)
    result = hf.simulate(policy, hf.LossTable(RECORDED), switching_cost=costs, replications=1, seed=4)
    player, cost, before = policy.player(seed=4), 0.0, None
    for row, lam in zip(RECORDED, costs, strict=True):
        arm = player.ask(switching_cost=lam)
        cost += row[arm] + (lam if arm != before else 0.0)
        before = arm
        player.tell(row)
    assert result.frame["total_cost"][-1] == pytest.approx(cost)


def test_the_cost_of_each_pair_is_in_the_units_of_the_losses():
    """With losses from 5 to 25 and costs twenty times as high, twenty times as much is paid."""
    given = {"replications": 2, "seed": 4}
    results = []
    for low, width in ((0.0, 1.0), (5.0, 20.0)):
        costs = (width * np.array(TABLE)).tolist()
        units = (low, low + width)
        policy = hf.AdaptiveHedgeSwitch(3, switching_cost=costs, experts=FEW_EXPERTS, forecast_rounds=3, units=units)
        world = hf.LossTable(low + width * RECORDED, units=units)
        frame = hf.simulate(policy, world, switching_cost=costs, **given).frame
        results.append((width, frame["switches"], frame["regret_with_switching"] - frame["pseudo_regret"]))
    (_, switches, paid), (width, switches_here, paid_here) = results
    assert switches.to_list() == switches_here.to_list()
    assert paid.max() > 1
    assert paid_here.to_list() == pytest.approx((width * paid).to_list())
