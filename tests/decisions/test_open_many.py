"""Games that are opened together."""

from datetime import timedelta

import pytest
from games import SWITCH, play

import holdfast as hf
from holdfast.decisions.stores import store_at


def test_each_game_is_the_one_that_open_gives(place):
    options = {"policy": hf.Exp3(2), "seed": 3, "patience": 7}
    routers = hf.open_many(
        place.store(), {"chat": {"policy": SWITCH, "seed": 1}, "search": options}, patience=timedelta(hours=1)
    )
    assert list(routers) == ["chat", "search"]
    twin = hf.open("memory:", "twin", SWITCH, seed=1)
    assert play(routers["chat"], 30) == play(twin, 30)
    assert [r._executor.setup.settings.patience for r in routers.values()] == [timedelta(hours=1), 7]
    again = hf.open_many(place.store(), {"search": None, "chat": SWITCH})
    assert (again["chat"].rounds, again["search"].rounds) == (30, 0)


def test_they_share_one_store(folder):
    routers = hf.open_many(f"sqlite:///{folder}/g.db", {"a": SWITCH, "b": SWITCH})
    assert routers["a"].store is routers["b"].store is store_at(f"sqlite:///{folder}/g.db")


def test_what_is_refused_says_which_game(place):
    place.open("search", SWITCH)
    with pytest.raises(hf.OtherSettings, match="'search' exists with different settings"):
        hf.open_many(
            place.store(), {"search": hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=9.0)}, settings="same"
        )
    with pytest.raises(hf.UnknownGame, match="serch"):
        hf.open_many(place.store(), {"serch": None})
    with pytest.raises(hf.InvalidParameter, match="seed must be given with each game"):
        hf.open_many(place.store(), {"a": SWITCH}, seed=1)
    for wrong in ({}, [("a", SWITCH)], "a"):
        with pytest.raises(hf.InvalidParameter, match="games must be policies"):
            hf.open_many(place.store(), wrong)
