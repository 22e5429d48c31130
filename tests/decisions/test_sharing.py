"""Routers that a process opens by one URL, also together: one store, few connections, and each its own game."""

import gc
import os
import pickle
import threading
import time
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from games import SWITCH, arms_of, play
from places import fresh_schema
from postgres_server import PrivateServer
from threads import at_once

import holdfast as hf
from holdfast.decisions.stores import store_at

MOST = {"sqlite": 3, "postgresql": 1}
"""For one thread. Of SQLite's one is the guard; and a file that was looked at stays open while the other has locks."""


def connections(place):
    """Open by this process to the place."""
    if place.kind == "sqlite":
        file = place.at.removeprefix("sqlite:///")
        links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
        return sum(link.exists() and os.readlink(link) == file for link in links)
    schema = place.at.rpartition("=")[2]
    with psycopg.connect(place.at.partition("?")[0], autocommit=True) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        ((count,),) = connection.execute(query, (schema,)).fetchall()
        return count


@pytest.fixture
def url(lasting_place):
    if lasting_place.kind == "postgresql":
        lasting_place.at += f"&application_name={lasting_place.at.rpartition('%3D')[2]}"
    return lasting_place.at


@pytest.mark.slow
def test_many_games_are_one_connection(lasting_place, url):
    routers = [hf.open(url, f"game {i}", SWITCH, seed=i) for i in range(60)]
    twins = [hf.open("memory:", "twin", SWITCH, seed=i) for i in range(60)]
    for router, twin in zip(routers, twins, strict=True):
        assert play(router, 5) == play(twin, 5)
    assert len({router.store for router in routers}) == 1
    assert connections(lasting_place) <= MOST[lasting_place.kind]
    routers[0].close()
    assert [router.rounds for router in routers] == [5] * 60
    del routers, router
    gc.collect()
    for _ in range(100):  # a server takes a moment to let go
        if not connections(lasting_place):
            break
        time.sleep(0.02)
    assert connections(lasting_place) == 0


def test_threads_play_their_games_at_once(lasting_place, url):
    watching = hf.open(url, "game 0", SWITCH, seed=0)
    played: dict[int, list[object]] = {}

    def play_one(number: int) -> None:
        router = hf.open(url, f"game {number % 4}", SWITCH, seed=number % 4)
        played[number] = [play(router, 40), router.history.totals.told]
        if number % 3 == 0:
            router.close()

    at_once(8, play_one)
    assert len(played) == 8
    for number in range(4):
        totals = hf.open(url, f"game {number}").history.totals
        assert (totals.rounds, totals.told, totals.out) == (80, 80, 0)
    assert watching.rounds == 80
    assert 1 <= connections(lasting_place) <= (8 if lasting_place.kind == "postgresql" else MOST["sqlite"])


def test_a_call_that_failed_leaves_a_clean_connection(lasting_place, url):
    wrong = []

    def clock() -> float:
        if wrong:
            raise wrong.pop()
        return 1000.0

    router, other = hf.open(url, "game", SWITCH, seed=1, clock=clock), hf.open(url, "other", SWITCH, seed=2)
    twin = hf.open("memory:", "twin", SWITCH, seed=1)
    for error in (ZeroDivisionError(), KeyboardInterrupt(), RuntimeError()):
        wrong.append(error)
        with pytest.raises(type(error)):
            router.ask(7)
        assert arms_of(router.ask(5)) == arms_of(twin.ask(5))
        play(other, 3)
    assert (router.rounds, other.rounds) == (15, 9)


def test_a_clock_may_use_other_routers(lasting_place, url):
    """Also while another thread uses them: the clock is looked at before a call locks anything."""
    other = hf.open(url, "other", SWITCH, seed=2)
    router = hf.open(url, "game", SWITCH, seed=1, clock=lambda: 1000.0 + other.ask().block)
    at_once(2, lambda number: [(router, other)[number].ask() for _ in range(100)])
    assert (router.rounds, other.rounds) == (100, 201)  # at the opening too


def test_a_relative_file_stays_where_it_was(folder, monkeypatch):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    monkeypatch.chdir(folder / "a")
    first = hf.open("sqlite:///g.db", "game", SWITCH, seed=1)
    first.ask(3)
    monkeypatch.chdir(folder / "b")
    second = hf.open("sqlite:///g.db", "game", SWITCH, seed=1)
    second.ask(4)
    first.close()
    assert (first.rounds, second.rounds) == (3, 4)
    monkeypatch.chdir(folder / "a")
    assert hf.open("sqlite:///g.db", "game").rounds == 3


def test_a_working_folder_that_is_gone_is_one_clear_error(folder, monkeypatch):
    (folder / "a").mkdir()
    monkeypatch.chdir(folder / "a")
    (folder / "a").rmdir()
    with pytest.raises(hf.StoreError, match=r"g\.db: the working folder is gone"):
        hf.open("sqlite:///g.db", "game", SWITCH)


@pytest.mark.slow
def test_a_server_that_was_restarted_is_found_again_by_all(postgres):
    assert postgres
    with PrivateServer() as server:
        url = fresh_schema(server)
        routers = [hf.open(url, f"game {i}", SWITCH, seed=i) for i in range(3)]
        meet = threading.Barrier(3, timeout=60)

        def look(_: int) -> None:
            with routers[0].store.transaction(1, writing=False):
                meet.wait()  # so that each has a connection of its own

        at_once(3, look)
        assert getattr(routers[0].store, "_pool").get_stats()["pool_size"] == 3  # noqa: B009
        server.kill()
        server.start()
        for router in routers:
            router.ask(4)
        assert [router.rounds for router in routers] == [4, 4, 4]


def test_tables_that_were_taken_away_are_made_anew(postgres):
    url = fresh_schema(postgres)
    before = hf.open(url, "game", SWITCH, seed=1)
    before.ask(5)
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        connection.execute(f"DROP TABLE {', '.join(name for (name,) in tables)}")
    after = hf.open(url, "other", SWITCH, seed=1)
    assert after.rounds == 0
    with pytest.raises(hf.BadStore, match="restored from an older copy"):
        before.ask()


def test_a_router_says_why_it_cannot_be_sent_to_another_process(place):
    with pytest.raises(TypeError, match=r"a Router cannot be pickled.* holdfast\.open\(.*'chat'\)"):
        pickle.dumps(place.open(policy=SWITCH))


# ---- opened together


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
