"""Behind the real PgBouncer, which pools transactions and drops startup options: what is promised holds."""

import os
import time

import psycopg
import pytest
from attack import Trial, attack
from checker import check, watch
from games import SWITCH
from places import fresh_database
from pooler import PROGRAM, Pooler
from threads import at_once

import holdfast as hf
from holdfast.decisions.stores import store_at
from holdfast.decisions.stores.postgresql import PostgresStore, PostgresTransaction


@pytest.fixture
def behind(postgres):
    """A pooler with two connections, and a database whose server does not wait for its disk."""
    if PROGRAM is None and os.environ.get("CI") != "true":
        pytest.skip("no PgBouncer here: apt-get install pgbouncer")
    direct = fresh_database(postgres)
    database = direct.rpartition("/")[2]
    with psycopg.connect(direct, autocommit=True) as connection:
        for name, value in (("synchronous_commit", "off"), ("lock_timeout", "'77s'")):
            connection.execute(f"ALTER DATABASE {database} SET {name} = {value}")
    with Pooler(postgres, connections=2) as pooler:
        yield direct, pooler.url(database)


def shown(connection, name):
    return connection.execute(f"SHOW {name}").fetchone()[0]


def test_commits_are_durable_and_waits_end(behind):
    _, url = behind
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", timeout=5)
    with psycopg.connect(f"{url}?options=-csynchronous_commit%3Don", autocommit=True) as connection:
        assert (shown(connection, "synchronous_commit"), shown(connection, "lock_timeout")) == ("off", "77s")
    deadline = time.monotonic() + 5
    with router.store.transaction(1, writing=True, deadline=deadline) as transaction:
        assert transaction.fetch("SHOW synchronous_commit") == [("on",)]
        assert transaction.fetch("SHOW idle_in_transaction_session_timeout") == [("1min",)]
        ((wait,),) = transaction.fetch("SHOW lock_timeout")
        assert wait.endswith("ms")
        assert 0 < int(wait.removesuffix("ms")) <= 5000
    with psycopg.connect(url, autocommit=True) as connection:  # others on the same connection have their own settings
        assert (shown(connection, "synchronous_commit"), shown(connection, "lock_timeout")) == ("off", "77s")


def test_prepared_statements_that_a_pooler_loses(behind):
    """Each transaction may get another connection to the server, on which nothing was prepared. Nobody notices."""
    _, url = behind
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", retry=0)
    store = router.store
    assert isinstance(store, PostgresStore)
    first = router.ask()
    assert store._preparation.usable
    with psycopg.connect(url) as one, psycopg.connect(url) as other:  # both of the pooler's connections, at once
        one.execute("DEALLOCATE ALL")
        other.execute("DEALLOCATE ALL")
    given = [router.ask() for _ in range(3)]
    router.tell([(decision.id, 0.5) for decision in given])
    assert not store._preparation.usable
    assert router.open_decisions == [first]


def test_prepared_statements_that_a_pooler_has_already(behind):
    """A process that ends leaves them on the pooler's connection, for the next one to find."""
    _, url = behind
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", retry=0)
    store = router.store
    assert isinstance(store, PostgresStore)
    first = router.ask()
    router.close()
    router.tell(first.id, 0.5)  # on another connection to the pooler
    assert not store._preparation.usable
    assert router.open_decisions == []


def test_statements_lost_within_a_transaction(behind):
    """Rows that were read are still locked: nothing after the first message may need prepared statements."""
    _, url = behind
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever")
    asked = router.ask()
    with router.store.transaction(1, writing=True) as transaction:
        assert isinstance(transaction, PostgresTransaction)
        transaction._connection.execute("DEALLOCATE ALL")
        locked = transaction.fetch("SELECT pg_current_xact_id()")
        assert [block.number for block in transaction.blocks("number", asked.block)] == [asked.block]
        assert transaction.fetch("SELECT pg_current_xact_id()") == locked


def test_more_threads_than_connections(behind):
    direct, url = behind
    store_at(direct).create([])
    watch(direct)
    hf.open(url, "game", SWITCH, seed=1, patience="forever")
    routers = [hf.open(url, "game") for _ in range(6)]

    def play(number):
        for t in range(15):
            routers[number].tell([(decision.id, t / 15) for decision in routers[number].ask(2)])

    at_once(6, play)
    checker = check(direct)
    assert checker.asked == 180
    for router in routers:
        router.close()


@pytest.mark.slow
def test_processes_behind_a_pooler(behind, tmp_path):
    _, url = behind
    trial = Trial(SWITCH, 20, remember=100, processes=3, mischief=("kill", "change"))
    checker, _ = attack(url, trial, tmp_path, 3.0, seed=5, asks=20)
    assert checker.asked >= 20
