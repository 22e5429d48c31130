"""Errors in the words of the API."""

import inspect

import msgspec
import pytest
from service import GAME

import holdfast as hf
from holdfast import errors
from holdfast.service.messages import Changes, NewGame
from holdfast.service.operations import problem_of, unknown_field, words_of

ARMS = ["a", "b"]
PYTHON = ("timedelta", "datetime", "=", "holdfast.", "Router", "ask(", "tell(", "open_decisions", "True", "(lowest")


def refusal(work):
    with pytest.raises(hf.HoldfastError) as refused:
        work()
    return refused.value


def opened(**options):
    return hf.open("memory:", "chat", hf.Exp3(arms=ARMS), seed=1, **options)


def other_settings():
    store = opened(missing=0.5).store
    policy = hf.TsallisSwitch(arms=["a", "c"], switching_cost=1.0)
    hf.open(store, "other", hf.TsallisSwitch(arms=["a", "b"], switching_cost=2.0))
    return refusal(lambda: hf.open(store, "other", policy, missing=0.25, settings="same"))


def told(**outcome):
    router = opened()
    router.tell(router.ask().id, **outcome)


MADE = {
    "a loss out of range": (lambda: told(loss=7.0), 'begin the game with "units": [lowest, highest]'),
    "no scale": (lambda: told(latency=1.0), 'begin the game with "scale": {"latency": [0.2, 8.0]}, or report'),
    "until": (lambda: opened().pause("a", until=600), "10m, 2h or 2026-03-01T12:00:00Z"),
    "patience": (lambda: opened(patience=2.5), "must be a time such as 10m, a whole number of rounds"),
    "key life": (lambda: opened(key_life=3), "must be a time such as 10m, above 0"),
    "nothing available": (lambda: opened().ask(available=[]), 'PATCH with "resume"'),
    "an id": (lambda: opened().tell("x", 0.5), "as POST …/decisions gave it"),
    "an announcement": (
        lambda: hf.open("memory:", "v", hf.VaryingTsallisSwitch(2)).ask(),
        '"switching_cost" of POST …/decisions',
    ),
}


@pytest.mark.parametrize("case", MADE)
def test_a_hint_is_one_that_a_request_can_follow(case):
    work, here = MADE[case]
    words = words_of(refusal(work))
    assert here in words
    assert not [python for python in PYTHON if python in words.partition("; got")[0]]


def test_settings_that_differ_are_told_how_to_be_changed():
    words = words_of(other_settings())
    for field in ('{"add_arms": ["c"]}', '{"retire_arms": ["b"]}', '{"switching_cost": 1.0}', '{"missing": …}'):
        assert field in words
    assert "(to change it: PATCH {" in words
    assert "router" not in words


def test_of_many_games_a_hundred_are_listed():
    found = problem_of(hf.UnknownGame("x", [f"game {number}" for number in range(150)]))
    assert found["known"] == [f"game {number}" for number in range(100)]
    assert (found["type"], found["status"], found["name"]) == ("urn:holdfast:UnknownGame", 404, "x")


def test_titles_are_words_alone():
    parts = {"known": [], "refused": [hf.HoldfastError("x")], "differences": {}, "wanted": {}}
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, hf.HoldfastError):
            made = kind(*(parts.get(name, name) for name in kind.made_of))
            assert "`" not in problem_of(made)["title"]


@pytest.mark.parametrize(("kind", "body"), [(NewGame, {**GAME, "armz": 1}), (Changes, {"wanted": {"armz": 1}})])
def test_an_unknown_field_is_told_the_known_ones(kind, body):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(body), type=kind)
    words = unknown_field(kind, body)
    assert "unknown field 'armz'; its fields are patience, missing, " in words
    assert words.startswith("wanted: ") == ("wanted" in body)
    assert unknown_field(kind, {name: value for name, value in body.items() if name not in ("armz", "wanted")}) == ""
    assert "policy, arms, switching_cost" in words
    assert words.endswith("did you mean 'arms'?")


def test_a_game_that_is_not_there_is_said_to_be_begun_with_a_policy():
    missing = refusal(lambda: hf.open(opened().store, "chit", None))
    assert str(missing) == (
        "name must be a game of the store: it has 'chat'; to begin it, give a policy; got 'chit'; did you mean 'chat'?"
    )
    assert "to begin it, PUT it with a policy;" in words_of(missing)
