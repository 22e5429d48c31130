"""Saved players: damaged and foreign data are refused, and no module is imported that the caller did not allow."""

import json
import math
import sys
from dataclasses import dataclass

import hypothesis.strategies as st
import pytest
from every_policy import CASES, Game
from hypothesis import given
from saved_players import resigned

from holdfast import BadSavedState, Exp3, InvalidParameter, Player, TsallisSwitch
from holdfast.policies.registry import allowed_policy

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def saved() -> str:
    player = TsallisSwitch(arms=["us-east", "eu-west"], switching_cost=3.0).player(seed=11)
    player.ask()
    player.tell(0.3)
    return player.save()


@given(st.data())
def test_a_flipped_character_is_noticed_or_harmless(saved, data):
    """Any one character replaced: refused, unless the text still says the same (a blank, a digit past the last bit)."""
    place = data.draw(st.integers(0, len(saved) - 1))
    character = data.draw(st.one_of(st.sampled_from('0123456789.eE-+"{}[], \n'), st.characters()))
    damaged = saved[:place] + character + saved[place + 1 :]
    try:
        player = Player.load(damaged)
    except BadSavedState:
        return
    assert player.save() == saved


@given(st.data())
def test_text_cut_short_or_made_longer_is_refused(saved, data):
    cut = data.draw(st.integers(0, len(saved) - 1))
    with pytest.raises(BadSavedState):
        Player.load(saved[:cut])
    with pytest.raises(BadSavedState):
        Player.load(saved + data.draw(st.sampled_from(["x", "}", saved, "[]"])))


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{}",
        "null",
        "[]",
        "7",
        '"text"',
        "not json",
        b"\xff\xfe\x00",
        '{"format": "river.exp3", "version": 1}',
        '{"format": "holdfast.player"}',
        '{"format": "holdfast.player", "version": 1}',
        '{"format": "holdfast.player", "version": 1, "player": []}',
        '{"format": "holdfast.player", "version": 1, "player": {}, "check": null}',
        "[" * 100_000,
        None,
        7,
        {"format": "holdfast.player"},
    ],
    ids=lambda data: repr(data)[:30],
)
def test_foreign_data_are_refused(data):
    with pytest.raises(BadSavedState, match="saved player data"):
        Player.load(data)


@pytest.mark.parametrize("version", [2, 3, 0, "1", 1.0, True, None])
def test_data_of_another_version_are_refused(saved, version):
    document = json.loads(saved)
    document["version"] = version
    with pytest.raises(BadSavedState, match="must be of version 1; another Holdfast wrote this") as caught:
        Player.load(json.dumps(document))
    assert repr(version) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("state"),
        lambda c: c["state"].pop("C"),
        lambda c: c["state"].update(C=[0.0]),
        lambda c: c["state"].update(C="ab"),
        lambda c: c["state"].update(w=[math.nan, 0.0]),
        lambda c: c["state"].update(colour=1.0),
        lambda c: c.update(state=[]),
        lambda c: c.update(block=[]),
        lambda c: c["state"].update(n=1.5),
        lambda c: c["state"].update(w=[-1.0, 0.5]),
        lambda c: c["state"].update(fresh=2.0),
        lambda c: c["block"].pop("y"),
        lambda c: c["block"].update(arm=7),
        lambda c: c.update(stream=[1, 2]),
        lambda c: c.update(stream=[0, 0, 0, -1]),
        lambda c: c.update(stream=[0, 0, 0, 0]),
        lambda c: c.update(left=-1),
        lambda c: c.update(left=0),
        lambda c: c.update(left=99),
        lambda c: c.update(block=None),
        lambda c: c.update(rounds="7"),
        lambda c: c.update(pieces=[None]),
        lambda c: c.update(bounds=[]),
        lambda c: c.update(bounds=[1.0, 0.0]),
        lambda c: c["policy"].update(n_arms=0),
        lambda c: c["policy"].update(policy="exp4"),
        lambda c: c["policy"].update(colour="red"),
        lambda c: c.update(policy=None),
    ],
)
def test_contents_that_make_no_player_are_refused(saved, change):
    with pytest.raises(BadSavedState):
        Player.load(resigned(saved, change))


def test_bytes_are_as_good_as_text(saved):
    assert Player.load(saved.encode()).save() == saved


def test_a_policy_with_functions_must_be_given_again():
    case = CASES["tsallis-switch, functions"]
    saved = Game(case).play(300).player.save()
    with pytest.raises(BadSavedState, match=r"functions for block_lengths and learning_rates.*policy=") as caught:
        Player.load(saved)
    assert "cannot be saved" in str(caught.value)
    assert Player.load(saved, policy=case.policy).save() == saved


def test_another_policy_than_the_saved_one_is_refused(saved):
    with pytest.raises(BadSavedState, match="this game was played by"):
        Player.load(saved, policy=TsallisSwitch(arms=["us-east", "eu-west"], switching_cost=3.5))
    with pytest.raises(BadSavedState):
        Player.load(saved, policy="exp3")


def test_a_loaded_player_knows_the_arm_it_holds(saved):
    player = Player.load(saved)
    assert player.hold > 0
    assert player.ask() in ("us-east", "eu-west")
    player.tell(0.5, arm=player.ask())


def test_numbers_are_read_by_name():
    """The order of the names in a document, of state and of block, means nothing."""
    for name in CASES.keys() - {"tsallis-switch, functions"}:
        game = Game(CASES[name]).play(61)
        game.ask()
        saved = game.player.save()
        document = json.loads(saved)
        for part in ("state", "block"):
            document["player"][part] = dict(reversed(document["player"][part].items()))
        assert Player.load(json.dumps(document)).save() == saved


@dataclass(frozen=True)
class Mistaken(TsallisSwitch):
    """A policy of one's own with a mistake in its parameters."""

    def parameters(self):
        return dict[str, float]()["rate"]


def test_a_mistake_in_ones_own_class_is_no_damage(saved):
    text = resigned(saved, lambda player: player["policy"].update(policy=f"{__name__}:Mistaken"))
    with pytest.raises(KeyError, match="rate") as mistake:
        Player.load(text, allow=[Mistaken])
    assert mistake.traceback[-1].name == "parameters"


SOURCE = """
import holdfast as hf

print("this code ran")

class Stranger(hf.Exp3):
    pass
"""


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A module beside the file, and a saved game that names it."""
    (tmp_path / "strangers_module.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield resigned(Exp3(3).player(seed=1).save(), lambda c: c["policy"].update(policy="strangers_module:Stranger"))
    sys.modules.pop("strangers_module", None)


@pytest.mark.parametrize("allow", [(), ["exp3"], ["strangers"], ["strangers_module:Other"], [Exp3], ["os"]])
def test_a_module_that_is_not_allowed_is_not_imported(stranger, allow, capsys):
    with pytest.raises(BadSavedState) as refusal:
        Player.load(stranger, allow=allow)
    refusal.match(r"allow=\['strangers_module:Stranger'\] imports the module strangers_module; got")
    assert "strangers_module" not in sys.modules
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("allow", ["strangers_module", "strangers_module:Stranger"])
def test_a_module_or_class_that_is_allowed_is(stranger, allow, capsys):
    player = Player.load(stranger, allow=["exp3", allow])
    assert type(player.policy).__name__ == "Stranger"
    assert capsys.readouterr().out == "this code ran\n"
    kind = type(player.policy)
    assert type(Player.load(stranger, allow=[kind]).policy) is kind
    assert Player.load(stranger, policy=kind(3)).policy == kind(3)


def test_what_is_allowed_must_be_a_list_of_policies():
    with pytest.raises(InvalidParameter, match="allow must be a list of classes or names"):
        allowed_policy("os:system", "os:system")
    with pytest.raises(InvalidParameter, match=r"policy must name a class derived from holdfast.Policy"):
        allowed_policy("pathlib:Path", ["pathlib"])
