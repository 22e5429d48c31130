"""A table with a cost for each pair of arms in `simulate`, and what policies that know one cost make of it."""

import warnings

import numpy as np
import pytest
from every_policy import FEW_EXPERTS

import holdfast as hf

TABLE = [[0.0, 1.0, 2.0], [0.5, 0.0, 1.5], [1.75, 1.25, 0.0]]
LOSSES = np.random.default_rng(5).integers(0, 9, (200, 3)) / 8


def paid_by(player: hf.FullInformationPlayer) -> tuple[float, float]:
    """Losses and costs of a game, added up arm by arm."""
    loss = paid = 0.0
    before = None
    for row in LOSSES:
        arm = player.ask()
        loss += row[arm]
        paid += 0.0 if before is None else TABLE[before][arm]
        before = arm
        player.tell(row)
    return loss, paid


@pytest.mark.plain
def test_regret_counts_the_cost_of_each_pair() -> None:
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=TABLE, experts=FEW_EXPERTS, forecast_rounds=3)
    result = hf.simulate(policy, hf.LossTable(LOSSES), switching_cost=TABLE, replications=3, seed=4, progress=False)
    assert result.provenance["switching_cost"] == TABLE
    last = result.frame.filter(result.frame["round"] == 200).sort("replication")
    for replication in range(3):
        loss, paid = paid_by(policy.player(seed=4, replication=replication))
        assert last["total_loss"][replication] == pytest.approx(loss)
        assert last["total_cost"][replication] == pytest.approx(loss + paid)
        regret = loss - LOSSES.sum(axis=0).min() + paid
        assert last["regret_with_switching"][replication] == pytest.approx(regret)
    assert paid > 1


def test_games_side_by_side_pay_the_same() -> None:
    """40 replications of a policy that plays 32 at once; the cost of every play, from its arms."""
    with pytest.warns(UserWarning, match="tsallis-switch knows one switching_cost .* the largest of the table, 2"):
        policy = hf.TsallisSwitch(3, switching_cost=TABLE)
    assert policy == hf.TsallisSwitch(3, switching_cost=2.0)
    many = hf.simulate(policy, hf.LossTable(LOSSES), switching_cost=TABLE, replications=40, progress=False)
    one = hf.simulate(
        policy, hf.LossTable(LOSSES), switching_cost=TABLE, replications=1, first_replication=33, progress=False
    )
    assert many.frame.filter(many.frame["replication"] == 33).equals(one.frame)
    player, t, before, paid, loss = policy.player(seed=0, replication=33), 0, None, 0.0, 0.0
    while t < 200:
        arm, rounds = player.ask(), min(player.hold, 200 - t)
        paid += 0.0 if before in (None, arm) else TABLE[before][arm]
        own = float(LOSSES[t : t + rounds, arm].sum())
        loss, before, t = loss + own, arm, t + rounds
        if t < 200:
            player.tell(own, rounds=rounds)
    assert one.frame["total_cost"][-1] == pytest.approx(loss + paid)


@pytest.mark.plain
def test_tables_that_do_not_fit_are_refused() -> None:
    env = hf.LossTable(LOSSES)
    for table, said in (
        ([[0, 1], [1, 0]], "a row and a column for each of the 3 arms"),
        ([[0, 1, 1], [1, 0, 1]], "table of 2 x 2"),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "zeros from each arm to itself"),
    ):
        with pytest.raises(hf.InvalidParameter, match=said):
            hf.simulate(hf.RandomWalkPerturbation(3), env, switching_cost=table)
    with pytest.raises(hf.InvalidParameter, match="not a table: it is announced to hedge-switch"):
        hf.simulate(hf.AdaptiveHedgeSwitch(3, switching_cost="announced"), env, switching_cost=TABLE)
    with pytest.warns(UserWarning, match="from arm 0 to arm 2 is more than by way of arm 1"):
        hf.simulate(
            hf.RandomWalkPerturbation(3), env, horizon=5, switching_cost=[[0, 1, 9], [1, 0, 1], [9, 1, 0]],
            replications=1, progress=False,
        )  # fmt: skip


@pytest.mark.plain
@pytest.mark.parametrize("kind", [hf.AdaptiveTsallisSwitch, hf.LazyExp3, hf.StabilityPenaltyMatching])
def test_policies_that_know_one_cost_take_the_largest_and_say_so(kind: type) -> None:
    with pytest.warns(UserWarning, match=r"knows one switching_cost .* the largest of the table, 200"):
        policy = kind(3, switching_cost=(100 * np.array(TABLE)).tolist(), units=(0.0, 100.0))
    assert policy.switching_cost == 200.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind(3, switching_cost=200.0, units=(0.0, 100.0)) == policy
    with pytest.raises(hf.InvalidParameter, match="3 x 3"):
        kind(3, switching_cost=[[0, 1], [1, 0]])


@pytest.mark.plain
def test_a_cost_that_changes_is_announced_in_every_round() -> None:
    """Blocks of one round: λ_n is that of round n."""
    costs = [(0.0, 2.5, 0.4)[n % 3] for n in range(200)]
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost="announced", experts=FEW_EXPERTS)
    result = hf.simulate(policy, hf.LossTable(LOSSES), switching_cost=costs, replications=1, seed=4, progress=False)
    player, cost, before = policy.player(seed=4), 0.0, None
    for row, lam in zip(LOSSES, costs, strict=True):
        arm = player.ask(switching_cost=lam)
        cost += row[arm] + (lam if arm != before else 0.0)
        before = arm
        player.tell(row)
    assert result.frame["total_cost"][-1] == pytest.approx(cost)


def test_the_cost_of_each_pair_is_in_the_units_of_the_losses() -> None:
    """With losses from 5 to 25 and costs twenty times as high, twenty times as much is paid."""
    given = {"replications": 2, "seed": 4, "progress": False}
    results = []
    for low, width in ((0.0, 1.0), (5.0, 20.0)):
        costs = (width * np.array(TABLE)).tolist()
        policy = hf.AdaptiveHedgeSwitch(
            3, switching_cost=costs, experts=FEW_EXPERTS, forecast_rounds=3, units=(low, low + width)
        )
        world = hf.LossTable(low + width * LOSSES, units=(low, low + width))
        frame = hf.simulate(policy, world, switching_cost=costs, **given).frame
        results.append((width, frame["switches"], frame["regret_with_switching"] - frame["pseudo_regret"]))
    (_, switches, paid), (width, switches_here, paid_here) = results
    assert switches.to_list() == switches_here.to_list()
    assert paid.max() > 1
    assert paid_here.to_list() == pytest.approx((width * paid).to_list())
