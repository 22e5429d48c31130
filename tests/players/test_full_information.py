"""Players that see all losses: what they take and refuse, saving and loading, and simulations that play the same."""

import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from every_policy import FEW_EXPERTS
from saved_players import resigned

import holdfast as hf
from holdfast.experts import Expert, ExpertKernels, FixedArm, WorkFunction, default_experts
from holdfast.policies.registry import make_policy

NAMES = ["north", "south", "east"]
TABLE = [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]
OWN_EXPERTS = [FixedArm(0), FixedArm(1), *map(WorkFunction, (1, 2, 3))]
POLICIES = {  # with experts and sizes that other tests have too: each mixture is compiled for itself, for seconds
    "one cost": hf.AdaptiveHedgeSwitch(3, switching_cost=0.4),
    "period": hf.AdaptiveHedgeSwitch(3, switching_cost=0.4, period=(4, 6), stale=2),
    "pairs": hf.AdaptiveHedgeSwitch(3, switching_cost=TABLE, experts=FEW_EXPERTS, forecast_rounds=3),
    "own experts": hf.AdaptiveHedgeSwitch(3, switching_cost=0.4, experts=OWN_EXPERTS),
    "announced": hf.AdaptiveHedgeSwitch(3, switching_cost="announced"),
    "names and units": hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=40.0, units=(-50.0, 50.0)),
}


def row_of(t: int, policy: hf.Policy) -> list[float]:
    """Losses of round t in the policy's units."""
    low, high = policy.units
    return [low + (high - low) * ((5 * t + 3 * i * i + t // 7) % (9 - i)) / 8 for i in range(3)]


def step(player: hf.FullInformationPlayer, t: int) -> object:
    """One round, with a forecast and closed arms now and then."""
    policy = player.policy
    ask: dict[str, Any] = {}
    if policy.announces:
        ask["switching_cost"] = (0.0, 2.5, 0.4)[t % 3]
    if t % 5 == 3:
        ask["forecast"] = [row_of(t + h, policy) for h in range(3)]
    if t % 7 == 4:
        ask["available"] = [[True, t % 2 == 0, True], [False, True, True]]
    arm = player.ask(**ask)
    assert player.ask() == arm
    player.tell(row_of(t, policy))
    return arm


@pytest.mark.parametrize("name", POLICIES)
def test_a_saved_game_goes_on_as_if_it_had_not_been(name: str) -> None:
    policy = POLICIES[name]
    whole, saved = policy.player(seed=5), policy.player(seed=5)
    for t in range(60):
        if t % 9 == 0:
            saved = hf.Player.load(saved.save())  # type: ignore[assignment]
            assert isinstance(saved, hf.FullInformationPlayer)
        if t % 11 == 5:  # between ask and tell
            ask = {"switching_cost": 1.0} if policy.announces else {}
            arms = [
                player.ask(available=[0, 2] if policy.arms is None else ["north", "east"], **ask)
                for player in (whole, saved)
            ]
            assert arms[0] == arms[1]
            saved = hf.Player.load(saved.save(), policy=policy)  # type: ignore[assignment]
            assert saved.ask() == arms[1]
            for player in (whole, saved):
                player.tell(row_of(t, policy))
        else:
            assert step(whole, t) == step(saved, t)
        assert whole.certificate == saved.certificate
    assert (whole.rounds, whole.switches) == (saved.rounds, saved.switches)
    assert whole.save() == saved.save()


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_sent_and_described_whole(name: str) -> None:
    policy = POLICIES[name]
    assert policy.kernels.full_information
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert make_policy(json.loads(json.dumps(policy.settings()))) == policy


EXPERTS = len(POLICIES["period"].mixed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", -1.0),
        ("p", [1.5] * EXPERTS),
        ("at", [7.0] * EXPERTS),
        ("last", 9.0),
        ("C", [-1.0] * EXPERTS),
        ("rows", 0.5),
    ],
)
def test_numbers_out_of_their_ranges_are_refused(name: str, value: object) -> None:
    player = POLICIES["period"].player(seed=1)
    for t in range(10):
        step(player, t)
    with pytest.raises(hf.BadSavedState, match=f"{name} must be"):
        hf.Player.load(resigned(player.save(), lambda content: content["state"].update({name: value})))


@pytest.mark.parametrize("name", ["one cost", "period", "pairs"])
def test_a_player_plays_as_the_simulation_does(name: str) -> None:
    table = np.array([row_of(t, POLICIES[name]) for t in range(300)])
    policy = POLICIES[name]
    player, cost, arm = policy.player(seed=11, replication=2), 0.0, None
    for row in table:
        arm = player.ask()
        cost += row[arm]
        player.tell(row)
    result = hf.simulate(
        {policy.label: policy}, hf.LossTable(table), switching_cost=0.4, replications=3, seed=11, progress=False
    )
    last = result.frame.filter((result.frame["replication"] == 2) & (result.frame["round"] == 300))
    assert last["total_loss"].item() == pytest.approx(cost)
    assert last["switches"].item() == player.switches


def test_losses_of_stochastic_environments_do_not_depend_on_the_policy() -> None:
    """Two policies that see all see the same: staying with an arm loses what the twin under another name loses."""
    policies = {
        name: hf.AdaptiveHedgeSwitch(3, switching_cost=0.4, experts=[FixedArm(first), FixedArm(second)])
        for name, first, second in (("a", 0, 0), ("b", 2, 2), ("c", 0, 2))
    }
    result = hf.simulate(
        policies, hf.Bernoulli([0.3, 0.5, 0.7]), horizon=400, switching_cost=0.4, replications=4, progress=False
    )
    last = result.frame.filter(result.frame["round"] == 400)
    assert last.filter(last["policy"] == "a")["total_loss"].to_list() == pytest.approx([120.0] * 4)
    assert last.filter(last["policy"] == "b")["total_loss"].to_list() == pytest.approx([280.0] * 4)
    assert max(last.filter(last["policy"] == "c")["pseudo_regret"]) < 40


def test_losses_that_are_not_known() -> None:
    player = hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=0.4, stale=2).player(seed=1)
    player.ask()
    with pytest.raises(hf.InvalidParameter, match="loss of 'east' must be given in the first round"):
        player.tell(losses={"north": 0.1, "south": 0.2})
    player.tell(losses={"north": 0.1, "south": 0.2, "east": 0.3})
    for _ in range(2):
        player.ask()
        player.tell(losses={"north": 0.1, "south": 0.2})
        assert player._state.known[2] == 0.3
    player.ask()
    with pytest.raises(
        hf.InvalidParameter, match=re.escape("loss of 'east' must be given: it was not for the last 2 rounds")
    ):
        player.tell(losses=[0.1, 0.2, math.nan])
    player.tell(losses=[0.1, 0.2, 0.9])
    player.ask()
    player.tell(losses=[0.1, 0.2, math.nan])  # what was known in between counts
    assert player._state.known[2] == 0.9
    player.ask(available=["north", "south"])
    player.tell(losses={"north": 0.1, "south": None})
    assert player._state.known.tolist() == [0.1, 0.2, 1.0]  # one that was not available counts as the worst


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([0.1, 0.2], "must be 3 numbers"),
        ([0.1, 0.2, 1.5], "loss of 'east' of one round must be from 0 to 1"),
        ([0.1, 0.2, math.inf], "loss of 'east'"),
        ({"north": 0.1, "west": 0.2}, "must be one of 'north', 'south', 'east'"),
        ({"north": "much"}, "loss of 'north' must be a finite number"),
        (0.4, "must be 3 numbers"),
        (None, "must be 3 numbers"),
        ("abc", "must be 3 numbers"),
        (["a", "b", "c"], "must be 3 numbers"),
    ],
)
def test_wrong_losses_are_refused_and_nothing_changes(losses: object, said: str) -> None:
    player = hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=0.4).player(seed=1)
    player.ask()
    before = player.save()
    with pytest.raises(hf.InvalidParameter, match=re.escape(said)):
        player.tell(losses=losses)
    assert player.save() == before
    player.tell([0.1, 0.2, 0.3])
    with pytest.raises(hf.OutOfTurn, match=re.escape("call ask() first")):
        player.tell([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        ({"available": []}, "at least one arm"),
        ({"available": [False, False, False]}, "at least one arm"),
        ({"available": [True, False]}, "True and False for each of the 3 arms"),
        ({"available": [[True, True, False], [True]]}, "True and False for each of the 3 arms"),
        ({"available": ["west"]}, "must be one of"),
        ({"available": 3}, "True and False for each of the 3 arms"),
        ({"forecast": [[0.1, 0.2]]}, "3 columns"),
        ({"forecast": [[0.1, 0.2, math.nan]]}, "finite"),
        ({"forecast": "sunny"}, "finite"),
        ({"forecast": {"north": [0.1]}}, "for each of the 3 arms"),
        ({"forecast": [[0.1, 0.2, 0.3]], "available": []}, "at least one arm"),
        ({"switching_cost": 0.3}, "is not announced to hedge-switch"),
    ],
)
def test_wrong_questions_are_refused_and_nothing_changes(ask: dict, said: str) -> None:
    player = hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=0.4).player(seed=1)
    before = player.save()
    with pytest.raises(hf.InvalidParameter, match=re.escape(said)):
        player.ask(**ask)
    assert player.save() == before


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"switching_cost": "free"}, 'must be a number, a table or "announced"'),
        ({"switching_cost": -1.0}, "not negative"),
        ({"switching_cost": [[0, 1], [1, 0]]}, "3 x 3"),
        ({"switching_cost": [[1, 1, 1], [1, 0, 1], [1, 1, 0]]}, "zeros from each arm to itself"),
        ({"switching_cost": 1.0, "period": 1}, "period"),
        ({"switching_cost": 1.0, "period": "day"}, "period"),
        ({"switching_cost": 1.0, "experts": []}, "experts"),
        ({"switching_cost": 1.0, "experts": [3]}, "experts"),
        ({"switching_cost": 1.0, "experts": [{"expert": "works-function"}]}, "work-function"),
        ({"switching_cost": 1.0, "stale": -1}, "stale"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, said: str) -> None:
    with pytest.raises(hf.InvalidParameter, match=re.escape(said)):
        hf.AdaptiveHedgeSwitch(3, **settings)


def test_a_detour_that_is_cheaper_is_taken_and_said() -> None:
    with pytest.warns(UserWarning, match="from 'north' to 'east' is more than by way of 'south'"):
        policy = hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=[[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    assert policy.switching_cost == ((0, 1, 2), (1, 0, 1), (2, 1, 0))


def test_fleets_refuse_policies_that_see_all() -> None:
    policy = POLICIES["one cost"]
    with pytest.raises(hf.InvalidParameter, match="see the loss of its own arm"):
        hf.Fleet(policy, 3)
    assert (policy.full_information, hf.Exp3(3).full_information) == (True, False)


def test_forecasts_by_name_and_in_units_are_the_same() -> None:
    rows = [[0.1, 0.5, 0.9], [0.2, 0.4, 0.6]]
    plain = hf.AdaptiveHedgeSwitch(3, switching_cost=0.1).player(seed=2)
    named = hf.AdaptiveHedgeSwitch(arms=NAMES, switching_cost=10.0, units=(0.0, 100.0)).player(seed=2)
    assert plain.ask(forecast=rows) == NAMES.index(
        named.ask(forecast={name: [100 * row[i] for row in rows] for i, name in enumerate(NAMES)})
    )
    assert np.allclose(plain._state.forecast, named._state.forecast)
    for losses in rows * 10:
        plain.tell(losses)
        named.tell([100 * loss for loss in losses])
        assert NAMES[plain.ask()] == named.ask()
    assert named.certificate == pytest.approx(100 * plain.certificate)
    assert plain.certificate > 0.5


def test_the_best_plan_with_a_cost_for_each_pair() -> None:
    """Against every plan there is."""
    from itertools import pairwise, product

    draw = np.random.default_rng(8)
    for seed in range(5):
        losses, points = draw.random((6, 3)), draw.random(3)
        table = (np.abs(points[:, None] - points) + 0.5 * (points[:, None] - points)) * (seed + 1) / 2
        plan = hf.best_plan(losses, table)
        costs = {
            arms: sum(losses[t, a] for t, a in enumerate(arms)) + sum(table[a, b] for a, b in pairwise(arms))
            for arms in product(range(3), repeat=6)
        }
        assert plan.cost == pytest.approx(min(costs.values()))
        assert costs[tuple(plan.arms.tolist())] == pytest.approx(plan.cost)
    same = hf.best_plan(losses, 0.3 * (1 - np.eye(3)))
    assert same.arms.tolist() == hf.best_plan(losses, 0.3).arms.tolist()
    with pytest.raises(hf.InvalidParameter, match="max_switches"):
        hf.best_plan(losses, table, max_switches=2)


def test_the_default_experts_can_be_extended() -> None:
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=0.4, experts=[*default_experts(3), WorkFunction(64.0)])
    assert len(policy.mixed) == len(hf.AdaptiveHedgeSwitch(3, switching_cost=0.4).mixed) + 1
    assert issubclass(WorkFunction, Expert)
    assert isinstance(WorkFunction().kernels, ExpertKernels)
