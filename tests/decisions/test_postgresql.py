"""PostgreSQL alone: values written into statements, and prepared queries for the first message."""

import threading
import time

import psycopg
import pytest
from games import SWITCH
from places import fresh_schema

import holdfast as hf
from holdfast.decisions.stores.postgresql import PREPARED

WORDS = "é' \\ ? %s %% $1 -- ; \""


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


def test_preparing_does_not_wait_for_locks(postgres):
    """Whoever alters a table keeps it to himself: the call says so, as on a connection that was there before."""
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, timeout=0.3)
    router.close()
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE holdfast_losses")
        begun = time.monotonic()
        with pytest.raises(hf.StoreError, match="kept the game locked for too long"):
            router.ask()
        assert time.monotonic() - begun < 8
    router.tell(router.ask().id, 0.5)


def test_what_was_written_during_a_wait_is_seen(postgres):
    """All reads of a message see what was committed while its first one waited for the lock."""
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever")
    for _ in range(10):
        router.tell(router.ask().id, 0.5)
    asked = router.ask()
    round = int(asked.id.split("-")[2])
    found: list[Exception] = []

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
        other.execute("INSERT INTO holdfast_losses VALUES (1, %s, %s, 0.25, 1, 0, '')", (asked.block, round))
        other.commit()
        waiting.join(timeout=60)
    assert [type(error) for error in found] == [hf.AlreadyTold]


def test_columns_altered_while_statements_are_prepared(postgres):
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", retry=0)
    for _ in range(10):
        router.tell(router.ask().id, 0.5)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE holdfast_blocks ALTER COLUMN key TYPE varchar(300)")
    router.tell(router.ask().id, 0.5)
    assert router.rounds == 11


def test_what_is_said_of_other_statements_is_an_error(postgres):
    """A trigger may have statements of its own. What was to be written is not sent again without its transaction."""
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1, patience="forever", retry=0)
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
