"""PostgreSQL alone: what is sent, prepared queries; and behind the real PgBouncer, what is promised holds."""

import os
import re
import threading
import time
from functools import partial

import psycopg
import pytest
from attack import Trial, attack
from checker import check, watch
from games import SWITCH
from places import fresh_database, fresh_schema
from pooler import PROGRAM, Pooler
from threads import at_once

import holdfast as hf
from holdfast.decisions.models import Events, Head, Loss
from holdfast.decisions.stores import postgresql, store_at
from holdfast.decisions.stores.postgresql import PREPARED, PostgresStore, PostgresTransaction, Preparation

WORDS = "é' \\ ? %s %% $1 -- ; \""


class Wire:
    """A cursor to a server with one game; it keeps what is sent."""

    def __init__(self, sent: list[list[str]], connection: object) -> None:
        self.sent, self.left = sent, []

    def execute(self, message: str, values: list) -> None:
        self.sent.append((message % tuple(map(repr, values))).split("; "))
        head = [tuple(Head(1, "s", "t")._replace(paid="[]"))]
        heads = ("EXECUTE.*\\(7\\)", "SELECT.* FROM holdfast_heads.*")
        self.left = [head if any(re.fullmatch(one, said) for one in heads) else [] for said in self.sent[-1]]

    def fetchall(self) -> list[tuple]:
        return self.left[0]

    def nextset(self) -> None:
        del self.left[0]


class Connection:
    """Stands for one of psycopg's."""


@pytest.fixture
def sent(monkeypatch):
    """The statements in each message to a server that is none."""
    messages: list[list[str]] = []
    monkeypatch.setattr(postgresql.psycopg, "ClientCursor", partial(Wire, messages))
    return messages


def test_a_change_is_two_messages_that_lock_the_game_and_commit_durably(sent):
    connection, preparation, loss = Connection(), Preparation(), Loss(4, 2, 0.5, 9.0, 0)
    for _ in range(2):
        transaction = PostgresTransaction(connection, 7, preparation)
        transaction.begin(True, 0.3)
        transaction.start([(4, 2)], " FOR UPDATE")
        transaction.save(transaction.head._replace(asked=5), None, Events(losses=[loss]))
        transaction.commit()
    assert len(sent) == 4
    for first, second in (sent[:2], sent[2:]):
        assert first[:5] == [
            "BEGIN ISOLATION LEVEL READ COMMITTED",
            "SET LOCAL synchronous_commit = 'on'",
            "SET LOCAL idle_in_transaction_session_timeout = '60s'",
            "SET LOCAL lock_timeout = 300",
            "SET LOCAL enable_seqscan = off",
        ]
        assert [one.partition(" (")[2] for one in first[-3:]] == ["7)", "7, 4)", "7, 4, 2)"]
        assert second == [
            f"INSERT INTO holdfast_losses (game, {', '.join(Loss._fields)}) VALUES (7, 4, 2, 0.5, 9.0, 0, '')",
            "UPDATE holdfast_heads SET revision = 2, asked = 5 WHERE game = 7",
            "COMMIT",
        ]
    (heads, _, losses), again = ([one for one in sent[n] if one.startswith("PREPARE")] for n in (0, 2))
    assert again == []  # once for each connection
    assert heads.endswith("FROM holdfast_heads WHERE game = $1 FOR UPDATE")
    assert losses.endswith("FROM holdfast_losses WHERE game = $1 AND block = $2 AND round = $3")


def test_a_look_is_of_one_moment_and_changes_nothing(sent):
    transaction = PostgresTransaction(Connection(), 7, Preparation())
    transaction.begin(False, 0.0)
    transaction.start([])
    ((begin, wait, read),) = sent
    assert (begin, wait) == ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL lock_timeout = 1")
    assert read.endswith("FROM holdfast_heads WHERE game = 7")


@pytest.mark.parametrize(
    "setting",
    ["&client_encoding=UTF8", "&client_encoding=LATIN1", "%20-cstandard_conforming_strings%3Doff"],
)
def test_a_server_gets_words_as_they_are(postgres, setting):
    """Quotes, backslashes, what stands for values elsewhere, and the connection's encoding."""
    url = fresh_schema(postgres) + setting  # which ends in options
    with hf.open(url, WORDS, hf.Exp3(arms=[WORDS, "b"]), seed=1) as router:
        decisions = router.ask(5, request=WORDS)
        router.tell({decision.id: 0.1 for decision in decisions})
        assert router.ask(5, request=WORDS) == decisions
        assert router.store.names() == [WORDS]
    with hf.open(url, WORDS) as router:
        assert router.policy.arms == (WORDS, "b")
        assert router.history.totals.told == 5


@pytest.mark.parametrize("loss", [0.1, 1 / 3, 5e-324, 1.0 - 2**-53, 1e-7])
def test_a_number_comes_back_as_it_was(postgres, loss):
    with hf.open(fresh_schema(postgres), "numbers", hf.Exp3(2), seed=1) as router:
        router.tell(router.ask().id, loss)
        assert router.history.log["loss"].to_list() == [loss]


@pytest.fixture
def game(postgres):
    """A URL, and a game of ten rounds there."""
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", retry=0, timeout=5)
    for _ in range(10):
        router.tell(router.ask().id, 0.5)
    return url, router


def test_preparing_does_not_wait_for_locks(game):
    """Whoever alters a table keeps it to himself: the call says so, as on a connection that was there before."""
    url, router = game
    impatient = hf.open(url, "game", timeout=0.3)
    impatient.close()
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE holdfast_losses")
        begun = time.monotonic()
        with pytest.raises(hf.StoreError, match="kept the game locked for too long"):
            impatient.ask()
        assert time.monotonic() - begun < 8
    router.tell(router.ask().id, 0.5)


def test_what_was_written_during_a_wait_is_seen(game):
    """All reads of a message see what was committed while its first one waited for the lock."""
    (url, router), found = game, []
    asked = router.ask()

    def tell():
        try:
            router.tell(asked.id, 0.9)
        except Exception as error:
            found.append(error)

    waiting = threading.Thread(target=tell)
    with psycopg.connect(url, autocommit=True) as looking, psycopg.connect(url) as other:
        other.execute("SELECT * FROM holdfast_heads FOR UPDATE")
        waiting.start()
        while waiting.is_alive() and not looking.execute("SELECT * FROM pg_locks WHERE NOT granted").fetchall():
            time.sleep(0.01)
        place = asked.block, int(asked.id.split("-")[2])
        other.execute("INSERT INTO holdfast_losses VALUES (1, %s, %s, 0.25, 1, 0, '')", place)
        other.commit()
        waiting.join(timeout=60)
    assert [type(error) for error in found] == [hf.AlreadyTold]


def test_columns_altered_while_statements_are_prepared(game):
    url, router = game
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE holdfast_blocks ALTER COLUMN key TYPE varchar(300)")
    router.tell(router.ask().id, 0.5)
    assert router.rounds == 11


def test_what_is_said_of_other_statements_is_an_error(game):
    """A trigger may have statements of its own. What was to be written is not sent again without its transaction."""
    url, router = game
    asked = router.ask()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '26000'; END $$"
        )
        connection.execute("CREATE TRIGGER refuse BEFORE UPDATE ON holdfast_heads EXECUTE FUNCTION refuse()")
        with pytest.raises(hf.StoreError, match="no"):
            router.tell(asked.id, 0.5)
        connection.execute("DROP TRIGGER refuse ON holdfast_heads")
    assert router.open_decisions == [asked]
    assert router.tell(asked.id, 0.5).new


def test_prepared_statements_keep_to_the_indexes(postgres):
    """A plan that is kept must not be one for the few rows that the tables had at first."""
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    for _ in range(20):  # a server keeps a plan after the fifth time
        router.tell(router.ask().id, 0.5)
    with router.store.transaction(1, writing=True) as transaction:
        for name, values in zip(PREPARED.values(), ("1", "1, 1", "1, 1, 1"), strict=True):
            plan = transaction.fetch(f"EXPLAIN EXECUTE {name} ({values})")
            assert "Index Scan" in str(plan)
            assert "game = $1" in str(plan)  # it is the kept one


def test_a_session_that_the_server_ended_for_idleness_is_begun_anew(postgres):
    url = fresh_database(postgres)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET idle_session_timeout = '100ms'")
    with hf.open(url, "game", SWITCH, seed=1) as router:
        for rounds in range(1, 4):
            router.ask()
            time.sleep(0.4)
            assert router.rounds == rounds


# ---- behind PgBouncer, which pools transactions and drops startup options


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


@pytest.fixture
def pooled(behind):
    router = hf.open(behind[1], "game", SWITCH, seed=1, patience="forever", retry=0, timeout=5)
    assert isinstance(router.store, PostgresStore)
    return router


def test_commits_are_durable_and_waits_end(behind, pooled):
    def shown(url):
        with psycopg.connect(url, autocommit=True) as connection:
            names = "synchronous_commit", "lock_timeout"
            return [connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names]

    assert shown(f"{behind[1]}?options=-csynchronous_commit%3Don") == ["off", "77s"]
    with pooled.store.transaction(1, writing=True, deadline=time.monotonic() + 5) as transaction:
        assert transaction.fetch("SHOW synchronous_commit") == [("on",)]
        assert transaction.fetch("SHOW idle_in_transaction_session_timeout") == [("1min",)]
        ((wait,),) = transaction.fetch("SHOW lock_timeout")
        assert 1000 < int(wait.removesuffix("ms")) <= 5000
    assert shown(behind[1]) == ["off", "77s"]  # others on the same connection have their own settings


def test_prepared_statements_that_a_pooler_loses(behind, pooled):
    """Each transaction may get another connection to the server, on which nothing was prepared. Nobody notices."""
    first = pooled.ask()
    assert pooled.store._preparation.usable
    with psycopg.connect(behind[1]) as one, psycopg.connect(behind[1]) as other:  # both of the pooler's, at once
        one.execute("DEALLOCATE ALL")
        other.execute("DEALLOCATE ALL")
    given = [pooled.ask() for _ in range(3)]
    pooled.tell([(decision.id, 0.5) for decision in given])
    assert not pooled.store._preparation.usable
    assert pooled.open_decisions == [first]


def test_prepared_statements_that_a_pooler_has_already(pooled):
    """A process that ends leaves them on the pooler's connection, for the next one to find."""
    first = pooled.ask()
    pooled.close()
    pooled.tell(first.id, 0.5)  # on another connection to the pooler
    assert not pooled.store._preparation.usable
    assert pooled.open_decisions == []


def test_statements_lost_within_a_transaction(pooled):
    """Rows that were read are still locked: nothing after the first message may need prepared statements."""
    asked = pooled.ask()
    with pooled.store.transaction(1, writing=True) as transaction:
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
    assert check(direct).asked == 180
    for router in routers:
        router.close()


@pytest.mark.slow
def test_processes_behind_a_pooler(behind, tmp_path):
    trial = Trial(SWITCH, 20, remember=100, processes=3, mischief=("kill", "change"))
    checker, _ = attack(behind[1], trial, tmp_path, 3.0, seed=5, asks=20)
    assert checker.asked >= 20
