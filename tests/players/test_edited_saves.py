"""Saved players that somebody edited and signed again: refused, or played on without a crash, a hang or a NaN."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from every_policy import EVERY, FULL_INFORMATION, LENGTHS, RATES, Case, Game

from holdfast import BadSavedState, Player, TsallisSwitch
from holdfast.players.saves import check_sum

STRANGE = [0, -1, 7, 0.5, 1e300, 5e-324, 10**400, True, "7", [], math.nan]
SHORT_LISTS = Case(TsallisSwitch(5, block_lengths=LENGTHS[:200], learning_rates=RATES[:200]))
"""As many blocks as are played here: a document of thousands of numbers says no more, slowly."""
EDITED = {name: case for name, case in EVERY.items() if name != "tsallis-switch, functions"} | {
    "tsallis-switch, lists": SHORT_LISTS
}

OWN_LOSS = [name for name in EDITED if name not in FULL_INFORMATION]


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value that is not a container, and of every list."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*path, key))
    else:
        yield path
        if isinstance(content, list):
            for i in range(min(len(content), 3)):
                yield from places(content[i], (*path, i))


def edited(saved: str, changes: dict[tuple[Any, ...], Any]) -> str:
    """The document with other values at some paths, and a check sum that fits."""
    document = json.loads(saved)
    for path, value in changes.items():
        parent = document["player"]
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = value
    document["check"] = check_sum(document["player"])
    return json.dumps(document)


def plays_on(player: Player, rounds: int = 30) -> None:
    """Play, with an announcement where the policy wants one."""
    told = {None: {}, "switching_cost": {"switching_cost": 0.5}, "loss_bound": {"loss_bound": 1.0}}
    for t in range(rounds):
        begun = player.hold > 0
        player.ask(**told[player.policy.announces])
        low, high = player.policy.bounds
        if player.policy.knows_probabilities and t % 5 == 0:  # numbers that went wrong stay wrong
            p = player.probabilities
            assert np.isfinite(p).all()
            assert math.isclose(p.sum(), 1.0, rel_tol=1e-6)
        assert type(player.hold) is int
        loss = low if t % 2 or begun else high
        player.tell([loss] * player.policy.n_arms if player.policy.full_information else loss)
    assert "NaN" not in player.save()


def refused_or_played(saved: str) -> bool:
    """Whether the document was refused; if not, the player plays 30 rounds more."""
    try:
        player = Player.load(saved)
    except BadSavedState:
        return True
    plays_on(player)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OWN_LOSS, "hedge-switch", "lazy-hedge"])
def test_any_number_edited(name):
    """Every number of the document in turn replaced by strange ones: in the first block, between two, in a later."""
    game = Game(EDITED[name])
    game.ask()
    saves = [game.player.save()]
    while game.t < 333 or game.player.hold:
        game.step()
    saves.append(game.player.save())
    game.ask()
    saves.append(game.player.save())
    refused = 0
    for saved in saves:
        assert not refused_or_played(saved)
        for path in places(json.loads(saved)["player"]):
            for value in STRANGE:
                refused += refused_or_played(edited(saved, {path: value}))
    assert refused > 50


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:switching_cost from")  # an edited table
@pytest.mark.parametrize("name", EDITED)
def test_two_numbers_edited(name):
    """Pairs of them, at random."""
    game = Game(EDITED[name]).play(100)
    game.ask()
    saved, rng = game.player.save(), np.random.default_rng(8)
    paths = list(places(json.loads(saved)["player"]))
    for _ in range(150):
        one, other = (paths[i] for i in rng.choice(len(paths), 2, replace=False))
        if one != other[: len(one)] and other != one[: len(other)]:
            values = rng.choice(len(STRANGE), 2)
            refused_or_played(edited(saved, {one: STRANGE[values[0]], other: STRANGE[values[1]]}))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("tsallis-switch", {("block", "arm"): 7.0, ("last_arm",): 7}),
        ("exp3", {("block", "arm"): 7.0, ("last_arm",): 7}),
        ("exp3", {("state", "C"): [1e300] * 4, ("state", "least"): 1e300}),
        ("exp3-blocks", {("block", "weight"): 1e-300, ("block", "probability"): 1e-300}),
        ("tsallis-inf", {("state", "n"): 1e15, ("begun",): 10**15, ("rounds",): 10**15}),
        ("tsallis-inf", {("state", "s"): 1e60, ("state", "least"): -1e60}),
        ("base-geometric", {("state", "order"): [7.0, 1.0, 2.0, 3.0]}),
        ("base-geometric", {("state", "active"): 7.0}),
        ("base, round-robin", {("state", "turn"): 2.0**52}),
    ],
)
def test_what_crashed_or_hung_before(name, changes):
    game = Game(EDITED[name]).play(100)
    game.ask()
    refused_or_played(edited(game.player.save(), changes))


@pytest.mark.plain
def test_numbers_are_read_by_name():
    """The order of the names in a document, of state and of block, means nothing."""
    for name in EDITED:
        game = Game(EDITED[name]).play(61)
        game.ask()
        saved = game.player.save()
        document = json.loads(saved)
        for part in ("state", "block"):
            document["player"][part] = dict(reversed(document["player"][part].items()))
        assert Player.load(json.dumps(document)).save() == saved
