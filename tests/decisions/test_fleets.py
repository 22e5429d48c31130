"""Fleets as the players of a store, and back."""

import pytest
from fleets import POLICIES, goes_on_alike, played
from games import loss_of, refuse

import holdfast as hf

OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("reduced variance", "exp3", "base", "own units")]


@pytest.mark.parametrize("name", ["names", *OTHERS])
def test_the_games_of_a_fleet_go_on_as_players_of_a_store_and_back(place, name):
    policy = POLICIES[name]
    fleet, twin = played(policy, 7), played(policy, 7)
    store = place.store()
    hf.fleet_to_store(fleet, store, "device {}".format)
    assert len(store.names()) == 12
    router = hf.open(store, "device 3")
    assert (router.rounds, router.switches, router.hold) == (7, twin.switches[3], twin.hold[3])
    for t in range(20):
        for i in (3, 5):
            router = hf.open(store, f"device {i}")
            decision = router.ask()
            arm = twin.ask([i]).arms[0]
            assert decision.arm == (policy.arms[arm] if policy.arms else arm)
            loss = loss_of(t, decision.arm, policy)
            router.tell(decision.id, loss)
            twin.tell([loss], [i])
    assert router.history.totals.out == 0
    back = hf.fleet_from_store(store, [f"device {i}" for i in range(12)])
    assert goes_on_alike(back, twin)
    router.ask()
    with pytest.raises(hf.OutOfTurn, match="'device 5' has open decisions"):
        hf.fleet_from_store(store, ["device 5"])
    with pytest.raises(hf.UnknownGame):
        hf.fleet_from_store(store, ["device 99"])


def test_what_a_fleet_has_told_of_a_block_is_not_out_in_a_store(place):
    fleet = hf.Fleet(hf.BlockExp3(2, switching_cost=30.0, horizon=1000), 3, seed=1)
    for _ in range(5):
        fleet.ask()
        fleet.tell([0.5, 0.25, 0.0])
    store = place.store()
    hf.fleet_to_store(fleet, store, "device {}".format)
    for i in range(3):
        router = hf.open(store, f"device {i}")
        assert router.hold > 3
        assert router.open_decisions == []
        given = router.ask(3)
        assert router.open_decisions == given
        router.tell(given[1].id, 0.5)
        assert router.open_decisions == [given[0], given[2]]
        router.tell([(d.id, 0.5) for d in [*given[::2], *router.ask(router.hold)]])
        assert router.open_decisions == []
        with pytest.raises(hf.AlreadyTold, match=r"0\.5 is recorded"):
            router.tell(given[0].id, 0.75)


DEAR = {
    "adaptive": hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=20.0),
    "exp3-blocks": hf.BlockExp3(arms=["a", "b", "c"], switching_cost=20.0, horizon=10_000),
}


@pytest.mark.parametrize(
    "change", [{"retire_arms": ["a"]}, {"retire_arms": ["b"], "add_arms": ["z"]}, {"add_arms": ["z"]}]
)
@pytest.mark.parametrize("name", ["tsallis-switch", *(pytest.param(name, marks=pytest.mark.slow) for name in DEAR)])
def test_a_fleet_goes_on_with_the_arm_that_a_player_holds(place, name, change):
    """Also where that arm has another number by now."""
    store = place.store()
    dear = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=20.0)
    router = hf.open(store, "game", DEAR.get(name, dear), seed=2)
    while router.arm != "c" or router.hold < 3:
        router.tell(router.ask().id, 0.5)
    router.change(**change)
    fleet = hf.fleet_from_store(store, ["game"])
    for t in range(60):
        decision = router.ask()
        assert list(fleet.policy.arms or ())[fleet.ask().arms[0]] == decision.arm
        router.tell(decision.id, t % 7 / 7)
        fleet.tell([t % 7 / 7])
    assert fleet.probabilities(0).tolist() == router.probabilities.tolist()


@pytest.mark.parametrize("rounds", [2, 3])
def test_losses_that_a_fleet_took_are_means_in_the_log(place, rounds):
    """They are known as a sum only, also when their arm is retired and the block ends with them."""
    policy = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=30.0)
    fleet = hf.Fleet(policy, 1, seed=1)
    for t in range(rounds):
        fleet.ask()
        fleet.tell([0.1 * (t + 1)])
    store = place.store()
    hf.fleet_to_store(fleet, store, lambda i: "game")
    router = hf.open(store, "game")
    mean = sum(0.1 * (t + 1) for t in range(rounds)) / rounds
    assert router.history.log["loss"].to_list() == pytest.approx([mean] * rounds)
    router.change(retire_arms=[router.arm])
    log = router.history.log
    assert log["loss"].to_list() == pytest.approx([mean] * rounds)
    assert not log["single"].any()


def test_no_game_of_a_fleet_is_lost_on_the_way_into_a_store(place):
    store, fleet = place.store(), played(hf.Exp3(3))
    hf.open(store, "device 2", hf.Exp3(3))
    for rule, name in (
        ("name must give each game a name of its own; got 'same'", lambda i: "same"),
        ("name must be a name of 1 to 200 printable characters; got 0", lambda i: i),
        ("name must be a function of a game's number; got 'device'", "device"),
        ("names that no player of the store has; got 'device 2'", "device {}".format),
    ):
        refuse([(rule, lambda name=name: hf.fleet_to_store(fleet, store, name))])
    assert store.names() == ["device 2"]
    for names in ("device 2", ["device 2", "device 2"], []):
        rule = "names must be a list of different names of players"
        refuse([(rule, lambda names=names: hf.fleet_from_store(store, names))])
