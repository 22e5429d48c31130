"""A fleet against players: the same bits, whoever is asked and told, saved, loaded and moved."""

import io
import math
import os
import subprocess
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fleets import POLICIES, goes_on_alike, losses_of, played
from hypothesis import given, strategies as st

import holdfast as hf

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from holdfast.numerics.sums import add_exactly, rounded_sum
from holdfast.players.fleet import PARTS


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


def test_announced_costs_are_told_per_game(monkeypatch):
    policy = hf.VaryingTsallisSwitch(3)
    monkeypatch.setattr("holdfast.players.fleet.FEW", 1)  # so that two threads share four games
    fleet = hf.Fleet(policy, 4, seed=2, workers=2)
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


@pytest.mark.slow
@given(st.lists(st.floats(0.0, 1.0) | st.floats(0.0, 1e-250), min_size=60, max_size=60), st.booleans())
def test_losses_over_all_decades_are_added_up_exactly(losses, own_units):
    policy = hf.BlockExp3(2, switching_cost=9.0, horizon=60, units=(-3.0, 1.0) if own_units else (0.0, 1.0))
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


def test_a_game_that_is_named_twice_among_many_is_refused():
    fleet = hf.Fleet(hf.Exp3(3), 5000, seed=1)
    with pytest.raises(hf.InvalidParameter, match="one is there twice"):
        fleet.ask([*range(4999), 7])
    assert sorted(fleet.ask([*range(4999, 0, -1)]).blocks) == [1] * 4999
    assert fleet.hold[0] == 0


def test_a_game_between_blocks_must_be_asked_first():
    fleet = hf.Fleet(hf.Exp3(3), 4, seed=1)
    with pytest.raises(hf.OutOfTurn, match="game 0 is between blocks"):
        fleet.tell([0.5] * 4)
    fleet.ask([0, 1])
    with pytest.raises(hf.OutOfTurn, match="game 2 is between blocks"):
        fleet.tell([0.5] * 4)
    assert fleet.rounds.sum() == 0
    fleet.tell([], [])


@pytest.mark.parametrize("name", POLICIES)
def test_saved_and_loaded_a_fleet_goes_on_exactly(name, tmp_path):
    policy = POLICIES[name]
    fleet = played(policy)
    fleet.save(tmp_path / "fleet")
    given_again = policy if name == "given schedule" else None
    assert goes_on_alike(fleet, hf.Fleet.load(tmp_path / "fleet", policy=given_again))
    assert os.listdir(tmp_path) == ["fleet"]


@pytest.mark.parametrize("low", [0.0, -3.0])
@pytest.mark.parametrize("parts", range(1, 8))
def test_sums_that_need_more_numbers_are_exact_and_saved_too(parts, low, tmp_path):
    """The last losses of a block are so small that each needs a number of its own, in the game beside it too."""
    policy = hf.BlockExp3(2, switching_cost=9.0 * (1 - low), horizon=60, units=(low, 1.0))
    fleet, players = hf.Fleet(policy, 2, seed=1), [policy.player(seed=1, replication=i) for i in range(2)]
    rounds = policy.block_length
    small = [10.0 ** (-40 * i) for i in range(1, parts + 1)]
    for t, loss in enumerate([*[0.0] * (rounds - parts), *small]):
        if t == rounds - 1:
            fleet.save(tmp_path / "fleet")
            fleet = hf.Fleet.load(tmp_path / "fleet")
        fleet.ask()
        fleet.tell([loss, loss])
        for player in players:
            player.ask()
            player.tell(loss)
    assert fleet.hold.tolist() == [player.hold for player in players] == [0, 0]
    for i, player in enumerate(players):
        assert fleet.probabilities(i).tolist() == player.probabilities.tolist()


@pytest.mark.parametrize("name", POLICIES)
def test_games_that_are_put_into_another_fleet_go_on_there(name):
    fleet, other = played(POLICIES[name]), hf.Fleet(POLICIES[name], 12, seed=99)
    for i in range(12):
        other.put(i, fleet.get(i))
    assert goes_on_alike(fleet, other)


CONTRADICTIONS = {
    "blocks must be finite": ("blocks", (3, 4), np.nan),
    "numbers must be finite": ("numbers", (3, 0), np.inf),
    "arms must be from 0 to 2": ("blocks", (3, 0), 3.0),
    "rounds must be whole": ("blocks", (3, 1), 1.5),
    "left must be rounds of the block": ("left", 3, 2),
    "a block in play must have begun": ("begun", 3, 0),
    "streams must not be 0": ("streams", 3, 0),
    "sums must be in their places": ("used", 3, 100),
    "counts must not be negative": ("switches", 3, -1),
    "state: C must be": ("vectors", (3, slice(None)), -1.0),
    "block: weight must be": ("blocks", (3, 3), -1.0),
}


@pytest.mark.parametrize("rule", CONTRADICTIONS)
def test_a_whole_file_that_contradicts_itself_is_refused(rule, tmp_path):
    """Its check sum is right: somebody wrote these numbers."""
    fleet = played(hf.Exp3(3))
    fleet.ask()
    array, place, value = CONTRADICTIONS[rule]
    getattr(fleet._games, array)[place] = value
    fleet.save(tmp_path / "fleet")
    with pytest.raises(hf.BadSavedState, match=f"damaged: {rule}"):
        hf.Fleet.load(tmp_path / "fleet")


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


def test_a_game_of_eight_arms_takes_at_most_600_bytes():
    assert hf.Fleet(hf.TsallisSwitch(8, switching_cost=1.0), 100).bytes_per_game <= 600


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


@pytest.mark.slow
def test_threads_that_save_one_file_leave_a_whole_one(tmp_path):
    """Four threads save, and two play meanwhile: every file is a fleet between two calls."""
    fleet, file = hf.Fleet(hf.AdaptiveTsallisSwitch(8, switching_cost=1.0), 2000, seed=1), tmp_path / "fleet"
    fleet.ask()
    fleet.tell(np.full(2000, 0.5))
    stop = threading.Event()

    def play(half):
        games = np.arange(1000) + 1000 * half
        while not stop.is_set():
            fleet.ask(games)
            fleet.tell(np.full(1000, 0.25), games)

    def save():
        for _ in range(8):
            fleet.save(file)
            hf.Fleet.load(file)

    with ThreadPoolExecutor(6) as pool:
        players = [pool.submit(play, half) for half in range(2)]
        savers = [pool.submit(save) for _ in range(4)]
        try:
            for saver in savers:
                saver.result()
        finally:
            stop.set()
        for player in players:
            player.result()
    assert [path.name for path in tmp_path.iterdir()] == ["fleet"]


def archive(file, compression=zipfile.ZIP_STORED, **changed):
    """A saved fleet with some of its arrays replaced: name -> bytes of the entry."""
    with zipfile.ZipFile(file) as old:
        entries = {entry.filename: old.read(entry) for entry in old.infolist()}
    with zipfile.ZipFile(file, "w", compression) as new:
        for name, content in (entries | changed).items():
            new.writestr(name, content)


@pytest.mark.slow
@pytest.mark.skipif(resource is None, reason="memory is measured by POSIX's getrusage")
@pytest.mark.parametrize("bomb", ["compressed", "compressed header", "claims much", "many games"])
def test_a_small_file_takes_little_memory(bomb, tmp_path):
    """In a process of its own: what is refused was not unpacked first."""
    file = tmp_path / "fleet"
    played(hf.Exp3(3)).save(file)
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(50_000_000))
    if bomb == "compressed":
        archive(file, zipfile.ZIP_DEFLATED, **{"streams.npy": zeros.getvalue()})
    elif bomb == "compressed header":
        archive(file, zipfile.ZIP_DEFLATED, **{"about.npy": zeros.getvalue()})
    elif bomb == "claims much":
        archive(file, **{"streams.npy": zeros.getvalue()[:1000]})
    else:
        with zipfile.ZipFile(file) as old:
            text = str(np.load(io.BytesIO(old.read("about.npy"))))
        about = io.BytesIO()
        np.save(about, np.array(text.replace('"n": 12', '"n": 50000000')))
        archive(file, **{"about.npy": about.getvalue()})
    assert file.stat().st_size < 2_000_000
    code = f"""
import resource, holdfast as hf
from holdfast.players.fleet import read_fleet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    hf.Fleet.load({str(file)!r})
except hf.BadSavedState as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, "MiB;", error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "damaged" in said
    assert int(said.split()[0]) < 100


class Mine(hf.Exp3):
    """A user-defined policy."""


def test_a_fleet_of_a_user_defined_policy_is_loaded_if_allowed(tmp_path):
    file = tmp_path / "fleet"
    played(Mine(3)).save(file)
    with pytest.raises(
        hf.BadSavedState, match=r"policy must be one of Holdfast's own, or allowed: allow=\['.*:Mine'\]"
    ):
        hf.Fleet.load(file)
    for options in ({"allow": [Mine]}, {"policy": Mine(3)}):
        assert goes_on_alike(hf.Fleet.load(file, **options), played(Mine(3)))
