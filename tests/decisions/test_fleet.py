"""A fleet against players: the same bits, whoever is asked and told, saved, loaded and moved."""

import math
import os

import numpy as np
import pytest
from games import loss_of
from hypothesis import given
from hypothesis import strategies as st

import holdfast as hf
from holdfast.decisions.fleet_kernels import PARTS, add_exactly, rounded_sum

POLICIES = {
    "tsallis-switch": hf.TsallisSwitch(8, switching_cost=1.0),
    "names": hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5),
    "reduced variance": hf.TsallisSwitch(4, switching_cost=0.7, estimator="reduced-variance"),
    "tsallis-inf": hf.TsallisInf(3),
    "range": hf.TsallisInf(3, loss_bound=4.0),
    "exp3": hf.Exp3(3),
    "exp3-blocks": hf.BlockExp3(3, switching_cost=0.5, horizon=500),
    "base": hf.BaSE(3, horizon=200, order="random"),
    "own units": hf.TsallisSwitch(3, switching_cost=40.0, loss_range=(-64.0, 64.0)),
    "given schedule": hf.TsallisSwitch(2, block_lengths=lambda n: 1 + n % 3, learning_rates=lambda n: 1.0 / n),
}


def losses_of(policy: hf.Policy, rng: np.random.Generator, count: int) -> np.ndarray:
    low, high = policy.bounds
    return low + (high - low) * rng.random(count)


def names(policy: hf.Policy, arms: np.ndarray) -> list[object]:
    return [policy.arms[arm] for arm in arms] if policy.arms else arms.tolist()


@pytest.mark.plain
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_fleet_plays_the_games_of_players_bit_for_bit(name, workers):
    policy, n = POLICIES[name], 40
    fleet = hf.Fleet(policy, n, seed=9, workers=workers)
    players = [policy.player(seed=9, replication=i) for i in range(n)]
    rng = np.random.default_rng(1)
    for t in range(90):
        some = None if t % 3 == 0 else rng.permutation(n)[: rng.integers(1, n)]
        chosen = range(n) if some is None else some
        arms, _ = fleet.ask(some)
        assert names(policy, arms) == [players[i].ask() for i in chosen]
        assert fleet.probability[list(chosen)].tolist() == [players[i].probability for i in chosen]
        losses = losses_of(policy, rng, len(arms))
        fleet.tell(losses, some)
        for i, loss in zip(chosen, losses.tolist(), strict=True):
            players[i].tell(loss)
    assert fleet.rounds.tolist() == [player.rounds for player in players]
    assert fleet.switches.tolist() == [player.switches for player in players]
    assert fleet.hold.tolist() == [player.hold for player in players]
    for i in (0, n - 1):
        assert fleet.probabilities(i).tolist() == players[i].probabilities.tolist()


def test_threads_play_what_one_does():
    policy = hf.TsallisSwitch(3, switching_cost=1.0)
    one, more = (hf.Fleet(policy, 20_000, seed=3, workers=workers) for workers in (1, 4))
    losses = np.random.default_rng(2).random(20_000)
    for _ in range(12):
        assert (one.ask().arms == more.ask().arms).all()
        one.tell(losses)
        more.tell(losses)
    assert (one.switches == more.switches).all()


def test_announced_costs_are_told_per_game():
    policy = hf.VaryingTsallisSwitch(3)
    fleet = hf.Fleet(policy, 4, seed=2)
    players = [policy.player(seed=2, replication=i) for i in range(4)]
    for t in range(60):
        costs = [0.25 * ((t + i) % 4) for i in range(4)]
        arms = fleet.ask(switching_cost=costs).arms
        assert arms.tolist() == [player.ask(switching_cost=c) for player, c in zip(players, costs, strict=True)]
        fleet.tell([0.5] * 4)
        for player in players:
            player.tell(0.5)
    with pytest.raises(hf.InvalidParameter, match="switching_cost must be one number, or 4"):
        fleet.ask(switching_cost=[1.0, 2.0])
    with pytest.raises(hf.InvalidParameter, match="switching_cost must be announced"):
        fleet.ask()
    with pytest.raises(hf.InvalidParameter, match="one range of losses"):
        hf.Fleet(hf.TsallisInf(2, loss_bound="announced"), 3)


wild = st.floats(-1e3, 1e3, allow_subnormal=True) | st.floats(-1e-280, 1e-280) | st.sampled_from([0.1, 0.2, 0.3, 1e-17])


@pytest.mark.plain
@given(st.lists(wild, max_size=PARTS))
def test_sums_are_those_of_fsum(losses):
    """With so few numbers there is always room; in a fleet, see the next test."""
    parts, used = np.zeros(PARTS), 0
    for loss in losses:
        used = add_exactly(parts, used, loss)
    assert rounded_sum(parts, used) == math.fsum(losses)


@given(st.lists(st.floats(0.0, 1.0) | st.floats(0.0, 1e-250), min_size=60, max_size=60), st.booleans())
def test_losses_over_all_decades_are_added_up_exactly(losses, own_units):
    policy = hf.BlockExp3(2, switching_cost=9.0, horizon=60, loss_range=(-3.0, 1.0) if own_units else (0.0, 1.0))
    fleet, player = hf.Fleet(policy, 1, seed=5), policy.player(seed=5)
    for loss in losses:
        assert fleet.ask().arms[0] == player.ask()
        fleet.tell([loss])
        player.tell(loss)
    assert fleet.probabilities(0).tolist() == player.probabilities.tolist()


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda f: f.ask([0, 0]), "indices must be a list of different whole numbers from 0 to 9; one is there twice"),
        (lambda f: f.ask([10]), "indices must be a list of different whole numbers from 0 to 9; got 10"),
        (lambda f: f.ask([-1]), "indices must be"),
        (lambda f: f.ask([0.5]), "indices must be"),
        (lambda f: f.ask([[1]]), "indices must be"),
        (lambda f: f.tell([0.5]), "losses must be a list of 10 numbers"),
        (lambda f: f.tell([0.5] * 9 + [1.5]), r"losses must each be from 0 to 1; number 9 is not; got 1\.5"),
        (lambda f: f.tell([0.5] * 9 + [float("nan")]), "losses must each be"),
        (lambda f: f.tell(["a"] * 10), "losses must be a list of 10 numbers"),
        (lambda f: f.tell([0.5], [3], blocks=[2]), "blocks must be the current block of each game"),
        (lambda f: f.ask(switching_cost=1.0), "switching_cost is not announced"),
        (lambda f: hf.Fleet(f.policy, 0), "n must be a whole number"),
        (lambda f: hf.Fleet("exp3", 3), "policy must be a policy"),
        (lambda f: f.probabilities(10), "i must be a whole number from 0 to 9"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(work, message):
    fleet = hf.Fleet(hf.Exp3(3), 10, seed=1)
    arms = fleet.ask().arms.tolist()
    with pytest.raises(hf.InvalidParameter, match=message):
        work(fleet)
    assert fleet.ask().arms.tolist() == arms
    assert fleet.rounds.sum() == 0


def test_a_game_between_blocks_must_be_asked_first():
    fleet = hf.Fleet(hf.Exp3(3), 4, seed=1)
    with pytest.raises(hf.OutOfTurn, match="game 0 is between blocks"):
        fleet.tell([0.5] * 4)
    fleet.ask([0, 1])
    with pytest.raises(hf.OutOfTurn, match="game 2 is between blocks"):
        fleet.tell([0.5] * 4)
    assert fleet.rounds.sum() == 0
    fleet.tell([], [])


def played(policy: hf.Policy, rounds: int = 25) -> hf.Fleet:
    fleet = hf.Fleet(policy, 12, seed=4)
    rng = np.random.default_rng(6)
    for _ in range(rounds):
        fleet.ask()
        fleet.tell(losses_of(policy, rng, 12))
    return fleet


def goes_on_alike(one: hf.Fleet, two: hf.Fleet) -> bool:
    rng = np.random.default_rng(8)
    same = True
    for _ in range(60):
        same &= (one.ask().arms == two.ask().arms).all()
        losses = losses_of(one.policy, rng, one.n)
        one.tell(losses)
        two.tell(losses)
    return bool(same and (one.switches == two.switches).all() and (one.rounds == two.rounds).all())


@pytest.mark.parametrize("name", POLICIES)
def test_saved_and_loaded_a_fleet_goes_on_exactly(name, tmp_path):
    policy = POLICIES[name]
    fleet = played(policy)
    fleet.save(tmp_path / "fleet")
    given_again = policy if name == "given schedule" else None
    assert goes_on_alike(fleet, hf.Fleet.load(tmp_path / "fleet", policy=given_again))
    assert os.listdir(tmp_path) == ["fleet"]


def test_sums_that_need_more_numbers_are_saved_too(tmp_path):
    policy = hf.BlockExp3(2, switching_cost=9.0, horizon=60)
    fleet = hf.Fleet(policy, 2, seed=1)
    for exponent in range(0, 300, 40):
        fleet.ask()
        fleet.tell([10.0**-exponent, 0.5])
    fleet.save(tmp_path / "fleet")
    assert goes_on_alike(fleet, hf.Fleet.load(tmp_path / "fleet"))


def test_a_damaged_file_is_refused(tmp_path):
    file = tmp_path / "fleet"
    played(hf.Exp3(3)).save(file)
    whole = file.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        try:
            again = hf.Fleet.load(file)
        except hf.BadSavedState:
            continue
        assert goes_on_alike(again, played(hf.Exp3(3)))  # a bit that means nothing, such as a file's date
    for content in (b"", whole[:100], b"PK\x03\x04nonsense"):
        file.write_bytes(content)
        with pytest.raises(hf.BadSavedState):
            hf.Fleet.load(file)
    with pytest.raises(hf.InvalidParameter, match="file must be a file that can be read"):
        hf.Fleet.load(tmp_path / "nothing")
    with pytest.raises(hf.HoldfastError, match="cannot be written: "):
        played(hf.Exp3(3)).save(tmp_path / "no" / "folder")


@pytest.mark.parametrize("name", ["names", "reduced variance", "exp3", "base", "own units"])
def test_the_games_of_a_fleet_go_on_as_players_of_a_store_and_back(place, name):
    policy = POLICIES[name]
    fleet, twin = played(policy, 7), played(policy, 7)
    store = place.store()
    fleet.to_store(store, "device {}".format)
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
    back = hf.Fleet.from_store(store, [f"device {i}" for i in range(12)])
    assert goes_on_alike(back, twin)
    router.ask()
    with pytest.raises(hf.OutOfTurn, match="'device 5' has decisions that are out"):
        hf.Fleet.from_store(store, ["device 5"])
    with pytest.raises(hf.UnknownPlayer):
        hf.Fleet.from_store(store, ["device 99"])


def test_a_game_of_eight_arms_takes_at_most_600_bytes():
    assert hf.Fleet(hf.TsallisSwitch(8, switching_cost=1.0), 100).bytes_per_game <= 600


def test_what_a_fleet_has_told_of_a_block_is_not_out_in_a_store(place):
    fleet = hf.Fleet(hf.BlockExp3(2, switching_cost=30.0, horizon=1000), 3, seed=1)
    for _ in range(5):
        fleet.ask()
        fleet.tell([0.5, 0.25, 0.0])
    store = place.store()
    fleet.to_store(store, "device {}".format)
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


@pytest.mark.parametrize(
    "change", [{"retire_arms": ["a"]}, {"retire_arms": ["b"], "add_arms": ["z"]}, {"add_arms": ["z"]}]
)
@pytest.mark.parametrize("name", ["adaptive", "tsallis-switch", "exp3-blocks"])
def test_a_fleet_goes_on_with_the_arm_that_a_player_holds(place, name, change):
    """Also where that arm has another number by now."""
    policy = {
        "adaptive": hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=20.0),
        "tsallis-switch": hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=20.0),
        "exp3-blocks": hf.BlockExp3(arms=["a", "b", "c"], switching_cost=20.0, horizon=10_000),
    }[name]
    store = place.store()
    router = hf.open(store, "game", policy, seed=2)
    while router.arm != "c" or router.hold < 3:
        router.tell(router.ask().id, 0.5)
    router.change(**change)
    fleet = hf.Fleet.from_store(store, ["game"])
    for t in range(60):
        decision = router.ask()
        assert fleet.policy.arms[fleet.ask().arms[0]] == decision.arm
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
    fleet.to_store(store, lambda i: "game")
    router = hf.open(store, "game")
    mean = sum(0.1 * (t + 1) for t in range(rounds)) / rounds
    assert router.history.log["loss"].to_list() == pytest.approx([mean] * rounds)
    router.change(retire_arms=[router.arm])
    log = router.history.log
    assert log["loss"].to_list() == pytest.approx([mean] * rounds)
    assert not log["single"].any()


def test_no_game_of_a_fleet_is_lost_on_the_way_into_a_store(place):
    store = place.store()
    fleet = played(hf.Exp3(3))
    with pytest.raises(hf.InvalidParameter, match="name must give each game a name of its own; got 'same'"):
        fleet.to_store(store, lambda i: "same")
    with pytest.raises(hf.InvalidParameter, match="name must be a name of 1 to 200 printable characters; got 0"):
        fleet.to_store(store, lambda i: i)
    with pytest.raises(hf.InvalidParameter, match="name must be a function of a game's number; got 'device'"):
        fleet.to_store(store, "device")
    assert store.names() == []
    hf.open(store, "device 2", hf.Exp3(3))
    with pytest.raises(hf.InvalidParameter, match="names that no player of the store has; got 'device 2'"):
        fleet.to_store(store, "device {}".format)
    assert store.names() == ["device 2"]
    for names in ("device 2", ["device 2", "device 2"]):
        with pytest.raises(hf.InvalidParameter, match="names must be a list of different names of players"):
            hf.Fleet.from_store(store, names)


def test_odd_numbers_are_taken_or_refused_by_name():
    assert len(hf.Fleet(hf.Exp3(3), 2.0).ask().arms) == 2
    fleet = hf.Fleet(hf.Exp3(3), 2)
    fleet.ask()
    with pytest.raises(hf.InvalidParameter, match="losses must be a list of 2 numbers"):
        fleet.tell(np.ma.masked_array([0.5, 0.5], mask=[True, False]))
    announced = hf.Fleet(hf.VaryingTsallisSwitch(3), 2)
    for games in (fleet, announced):
        for costs in ("x", ["x", 1.0], [], [None, 1.0], [[1.0, 2.0]]):
            with pytest.raises(hf.InvalidParameter, match="switching_cost"):
                games.ask(switching_cost=costs)
