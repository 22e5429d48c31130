"""A router over HTTP holds what every store holds: the same tests, played through a server."""

import logging
import multiprocessing
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import test_all_losses
import test_conversations
import test_following
import test_operators
import test_outcomes
import test_store_contract as contract
from games import play
from places import Clock, Place
from service import InThread, free_port, problem

import holdfast as hf
from holdfast.decisions.remote import LibraryServer, RemoteExecutor, RemoteRouter
from holdfast.errors import StoreError
from holdfast_client import Game, Server

pytestmark = pytest.mark.slow

NOT_HERE = {
    "test_a_decision_is_followed_in_a_shell",
    "test_a_forecast_is_given_in_a_shell",
    "test_a_scale_that_was_changed_counts_for_all_processes_at_once",
    "test_operators_have_a_shell",
    "test_a_process_that_runs_while_the_store_is_converted_writes_nothing_more",
    "test_a_pause_counts_from_the_games_clock",
    "test_a_clock_that_runs_ahead_of_the_others_does_not_move_the_games",
}
"""Tests that look at a store's own rows, or start commands and processes on one."""

for _room in (contract, test_operators, test_conversations, test_outcomes, test_all_losses, test_following):
    for _name, _test in vars(_room).items():
        if _name.startswith("test_") and callable(_test) and _name not in NOT_HERE:
            globals()[_name] = _test


class RemotePlace(Place):
    """A server in front of a store; its clock is the server's."""

    def open(self, name: str = "chat", policy: hf.Policy | None = None, **options: Any) -> hf.Router:
        return hf.open(self.at, name, policy, **options)


@pytest.fixture
def place(folder) -> Iterator[Place]:
    clock = Clock()
    with InThread(f"sqlite:///{folder}/games.db", clock=clock) as web:
        yield RemotePlace("http", web.url, clock)


def test_the_comparison_with_a_rule_is_the_stores(place, folder):
    router = place.open(policy=hf.TsallisInf(arms=["a", "b"]), seed=1, holdback=0.4)
    assert router.history.compare().words() == "too early to say, after 0 units"
    for decision in router.ask(300, rule="a")[1:]:
        router.tell(decision.id, {"a": 0.9, "b": 0.3}[decision.arm])
    stored = hf.open(f"sqlite:///{folder}/games.db", "chat", clock=place.clock)
    assert router.history.compare() == stored.history.compare()
    assert router.history.compare().open == 1
    found = Game(Server(place.at), "chat").compare()
    assert (found["units"], found["words"]) == (300, stored.history.compare().words())
    assert router.history.compare(0.5).confidence == 0.5
    for wrong in (95, "much"):
        with pytest.raises(hf.InvalidParameter, match="confidence must be a number between 0 and 1"):
            router.history.compare(wrong)
        with pytest.raises(hf.InvalidParameter, match="confidence must be a number between 0 and 1"):
            router._remote.game.send("GET", f"/compare?confidence={wrong}")
    assert router.holdback == 0.4
    before = router.history.compare()
    router.change(holdback=0.0)
    assert (router.holdback, router.history.compare()) == (0.0, before)
    plain = place.open("plain", policy=contract.SWITCH, seed=1)
    with pytest.raises(hf.InvalidParameter, match="holdback must be between 0 and 1 to compare"):
        plain.history.compare()


def test_shares_budgets_and_judgements_are_the_stores(place, folder):
    router = place.open(policy=hf.TsallisInf(arms=["a", "b", "c"]), seed=1, share={"c": (0.01, 0.25, "10s")})
    place.clock.now += 5.0
    assert router.shares == {"c": pytest.approx(0.05)}
    place.clock.now += 5.0
    for decision in router.ask(300):
        router.tell(decision.id, {"a": 0.9, "b": 0.3, "c": 0.5}[decision.arm])
    stored = hf.open(f"sqlite:///{folder}/games.db", "chat", clock=place.clock)
    assert router.judge("c", "a") == stored.judge("c", "a")
    found = Game(Server(place.at), "chat").judge("c", "a", 0.9)
    assert (found["verdict"], found["words"]) == (stored.judge("c", "a", 0.9).verdict, str(stored.judge("c", "a", 0.9)))
    with pytest.raises(hf.InvalidParameter, match="arm must be an arm that the game has"):
        router.judge("x", "a")
    with pytest.raises(hf.InvalidParameter, match="most_switches must be left out beside share"):
        router.change(most_switches=(2, "1d"))
    router.change(share={}, most_switches=(2, "1d"), reason="promoted")
    assert (router.shares, router.switches_left) == ({}, 2)
    while router.switches_left:
        router.ask()
    assert stored.switches_left == 0
    router.change(most_switches=())
    assert router.switches_left is None


def test_the_log_and_the_history_are_those_of_the_store(place, folder):
    router = place.open(policy=contract.SWITCH, seed=1)
    play(router, 50)
    router.change(switching_cost=0.5, add_arms=["d"], reason="cheaper now")
    play(router, 50)
    stored = hf.open(f"sqlite:///{folder}/games.db", "chat", clock=place.clock)
    assert router.history.log.equals(stored.history.log)
    assert router.history.frame.equals(stored.history.frame)
    assert router.history.totals == stored.history.totals
    assert router.history.changes == stored.history.changes
    assert router.history.changes[0]["reason"] == "cheaper now"
    assert [b.number for b in router.history.recent(3)] == [b.number for b in stored.history.recent(3)]
    assert router.policy.arms == ("a", "b", "c", "d") == tuple(stored.policy.arms)
    assert router.policy.switching_cost == 0.5
    assert repr(router).startswith("<Router 'chat' of tsallis-switch in http://")
    router.history.export(folder / "log.csv")
    assert (folder / "log.csv").read_text().count("\n") == 101
    stored.close()


def test_what_a_server_cannot_do_is_said_at_once():
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(StoreError, match="cannot be reached"):
        hf.open(url, "game", retry=0.1)
    for wrong in ("http://", "http://user:secret@host", "http://host:99999999", "http://host?x=1"):
        with pytest.raises(hf.InvalidParameter, match="url must be the address") as caught:
            hf.open(wrong, "game")
        assert "secret" not in str(caught.value)
    with pytest.raises(hf.InvalidParameter, match="token is for a server") as caught:
        hf.open("memory:", "game", token="hf_secret")
    assert "hf_secret" not in str(caught.value)
    with pytest.raises(hf.InvalidParameter, match="clock must be left out"):
        hf.open(url, "game", clock=lambda: 0.0)


def test_a_game_is_opened_with_changes(place):
    """As in a store: a policy that is given must be the one after them, else nothing is changed."""
    policy = contract.SWITCH
    dearer = replace(policy, switching_cost=2.5)
    router = place.open("new", dearer, seed=1, change_switching_cost=2.5)  # begun with it
    assert router.history.changes == []
    place.open(policy=policy, seed=1, patience=40)
    with pytest.raises(hf.OtherSettings, match="patience") as caught:
        place.open(policy=dearer, change_switching_cost=2.5, patience=50)
    assert list(caught.value.differences) == ["patience"]
    with pytest.raises(hf.OtherSettings, match="switching_cost"):
        place.open(policy=policy, change_switching_cost=2.5)
    assert place.open().history.changes == []
    router = place.open(policy=dearer, change_switching_cost=2.5, patience=40)
    assert router.policy.switching_cost == 2.5
    router = place.open(add_arms=["d"], retire_arms=["a"])
    assert tuple(router.policy.arms) == ("b", "c", "d")
    assert len(router.history.changes) == 2
    with pytest.raises(hf.OtherSettings, match="patience"):
        place.open(change_switching_cost=3.0, patience=50)
    with pytest.raises(hf.UnknownGame):
        place.open("nobody", change_switching_cost=3.0)


def test_what_differs_from_the_game_is_logged(place, caplog):
    """As by a store: a game goes on with its own settings, unless it is another game."""
    place.open(policy=contract.SWITCH, seed=1).change(switching_cost=0.5)
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        assert place.open(policy=contract.SWITCH).policy.switching_cost == 0.5
    assert "the settings in the store count" in caplog.text
    assert "switching_cost is 0.5, given 1.5" in caplog.text
    with pytest.raises(hf.OtherSettings, match="policy is"):
        place.open(policy=hf.Exp3(3))


def test_a_fallback_answers_for_a_server_that_does_not():
    nobody = socket.create_server(("127.0.0.1", 0))  # takes connections, and never answers
    port = nobody.getsockname()[1]
    view = {"policy": {"policy": "exp3", "arms": ["a", "b"]}, "names": ["a", "b"]}
    router = RemoteRouter(RemoteExecutor(Game(LibraryServer(f"http://127.0.0.1:{port}"), "game"), view))
    begun = time.monotonic()
    decision = router.ask(deadline=0.3, fallback="b")
    assert (decision.arm, decision.recorded) == ("b", False)
    with pytest.raises(StoreError, match="cannot be reached"):
        router.tell("x-1-0-y", 0.5, deadline=0.3)
    with pytest.raises(hf.InvalidParameter, match="fallback must be one of"):
        router.ask(fallback="c", deadline=0.3)
    assert time.monotonic() - begun < 5
    with pytest.raises(hf.UnknownDecision):
        router.tell(decision.id, 0.5)
    nobody.close()


def _ask_in_child(router: hf.Router, sent: Any) -> None:
    sent.send([router.ask().id for _ in range(5)])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_router_may_be_used_on_both_sides_of_a_fork(place):
    router = place.open(policy=contract.SWITCH, seed=1)
    first = router.ask().id
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_ask_in_child, args=(router, there))
    child.start()
    mine = [router.ask().id for _ in range(5)]
    theirs = here.recv()
    child.join()
    assert len({first, *mine, *theirs}) == 11 == router.rounds


def test_a_lost_answer_is_asked_for_again_by_the_same_name(place, monkeypatch):
    """The answer is cut off after the server has committed: the next attempt gets the same decision."""
    router = place.open(policy=contract.SWITCH, seed=1)
    once, lost = router.store._once, []

    def cut(method: str, path: str, data: bytes | None, seconds: float, connect: float) -> tuple[int, bytes]:
        found = once(method, path, data, seconds, connect)
        if method == "POST" and len(lost) < 3:
            lost.append(found[1])
            raise ConnectionResetError("cut")
        return found

    monkeypatch.setattr(router.store, "_once", cut)
    decision = router.ask()
    assert len(lost) == 3
    assert all(decision.id.encode() in found for found in lost)
    assert router.rounds == 1


def test_who_has_no_token_is_not_allowed(guarded, tokens):
    reader = tokens.make("read")
    for token in (None, "hf_00000000_nobody", reader):
        with pytest.raises(hf.NotAllowed, match="token" if token != reader else "role"):
            hf.open(guarded.url, "new", hf.Exp3(arms=["a", "b"]), token=token)
    assert problem(guarded("GET", "/v1/games"), 401)["error"] == "NotAllowed"


def test_old_rows_are_removed_through_a_server(place):
    router = place.open(policy=contract.SWITCH, seed=1, keep=1000)
    router.tell([(decision.id, 0.5) for decision in router.ask(60)])
    days = router.history.days
    assert router.history.compact(keep=2) > 10
    assert router.history.compact(keep=2) == 0
    assert len(router.history.frame) == 2
    assert router.history.days.equals(days)
    assert days["rounds"].sum() > 50


def test_a_guarded_rule_comes_with_each_ask(place):
    router = place.open("jobs", hf.Guarded(arms=["a", "b"], switching_cost=0.1))
    with pytest.raises(hf.InvalidParameter, match="rule must be announced"):
        router.ask()
    decision = router.ask(rule="b")
    assert (decision.arm, decision.probability > 0.9) == ("b", True)
    assert router.tell(decision.id, 0.4)
    while (decision := router.ask(rule="b")).arm == "b":
        router.tell(decision.id, 0.4)
    assert router.history.frame["by"].to_list()[-2:] == router.history.log["by"].to_list()[-2:] == ["policy", "look"]
    assert "is a look of the guard at a" in router.decision(decision.id).why
    with pytest.raises(hf.OutOfTurn, match="kept by the server"):
        _ = router.guard
