"""Calls that wait, fail, or come in the middle of others: how long they take, and what they leave behind."""

import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing, contextmanager

import pytest
from conftest import place_in
from games import SWITCH, Work, arms_of, play, refuse
from places import fresh_schema
from threads import at_once

import holdfast as hf
from holdfast.decisions.requests import Ask
from holdfast.decisions.stores.sqlite import SqliteStore


def timed(work):
    begun = time.monotonic()
    return work(), time.monotonic() - begun


def answer_of(call):
    try:
        return call()
    except Exception as error:
        return error


@contextmanager
def locked(file):
    """Somebody else has the file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


@contextmanager
def busy(router):
    """A call of another thread that takes its time."""
    entered, go = threading.Event(), threading.Event()

    def slow(view):
        entered.set()
        assert go.wait(30)

    thread = threading.Thread(target=lambda: router._executor.execute(Work(slow)))
    thread.start()
    assert entered.wait(30)
    try:
        yield
    finally:
        go.set()
        thread.join(30)


@contextmanager
def alarms(handler, *seconds):
    """A signal comes after so many seconds, and again and again."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, *seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def transactions(router, monkeypatch, seconds=0.0):
    """The calls in each transaction to come, which takes so long."""
    sizes, whole = [], router._executor._transact

    def counted(batch, deadline):
        sizes.append(len(batch))
        time.sleep(seconds)
        return whole(batch, deadline)

    monkeypatch.setattr(router._executor, "_transact", counted)
    return sizes


def test_one_failure_answers_all_who_wait(folder):
    """Twelve threads at a locked file wait together, not one after the other."""
    url = f"sqlite:///{folder}/g.db"
    router, *others = (hf.open(url, f"game {i}", SWITCH, seed=1, timeout=1.0) for i in range(5))
    router.ask()
    with locked(folder / "g.db"):
        found, seconds = timed(
            lambda: at_once(12, lambda i: answer_of((others[i - 8] if i >= 8 else router).ask)),
        )
    assert all(isinstance(error, hf.StoreError) for error in found)
    assert seconds < 7  # one after the other would take 12
    assert router.rounds == 1


def test_threads_that_wait_are_written_in_one_transaction(place, monkeypatch):
    """Group commit: while one transaction is under way the calls of others queue, and the next one makes them all."""
    router = place.open(policy=SWITCH, seed=1)
    decisions, sizes = router.ask(8), transactions(router, monkeypatch, 0.05)
    losses = [0.5] * 7 + [7.0]  # the last one is refused, and spoils nothing
    found = at_once(8, lambda i: answer_of(lambda: router.tell(decisions[i].id, losses[i])))
    assert len(sizes) < 8
    assert sum(sizes) == 8
    assert [isinstance(answer, hf.Receipt) and answer.new for answer in found] == [True] * 7 + [False]
    assert isinstance(found[7], hf.InvalidParameter)
    assert router.history.totals.told == 7


def test_a_call_that_fails_badly_spoils_no_other_in_its_transaction(place):
    router, twin = place.open(policy=SWITCH, seed=1), place.open("twin", SWITCH, seed=1)

    def broken(view):
        view.head = view.head._replace(asked=10**6)
        raise ZeroDivisionError

    with busy(router):
        asked, failed = (router._executor.submit(request, start=False) for request in (Ask(4), Work(broken)))
    assert arms_of(asked.result(30)) == arms_of(twin.ask(4))
    assert type(failed.exception(30)) is ZeroDivisionError
    assert router.rounds == 4


def test_a_locked_file_is_waited_for_and_then_named(folder):
    with hf.open(SqliteStore(f"sqlite:///{folder}/g.db"), "game", SWITCH, timeout=0.2) as router:
        with locked(folder / "g.db"):
            refuse([("another process has kept it locked for too long", router.ask)], hf.StoreError)
        assert router.ask().block == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_that_another_thread_keeps_busy_is_named(kind, request, folder):
    place = place_in(kind, request, folder)
    router, other = place.open(policy=SWITCH, seed=1), place.open("other", SWITCH, seed=1, timeout=0.1)
    rule = "other threads have kept it busy for too long" if kind == "memory" else "kept it (busy|locked) for too long"
    with router.store.transaction(1, writing=True):
        at_once(1, lambda _: refuse([(rule, other.ask)], hf.StoreError))
    assert other.ask().block == 1


def test_calls_are_made_in_the_order_in_which_they_came(place):
    router = place.open(policy=SWITCH, seed=1)
    waiting = [router.executor.submit(Ask(), start=False) for _ in range(5)]
    router.executor.write()
    rounds = [call.result(30)[0].id.split("-")[1:3] for call in waiting]
    assert rounds == [["1", "0"], ["1", "1"], ["2", "0"], ["2", "1"], ["3", "0"]]


def test_a_refused_call_in_a_signal_handler_leaves_the_outer_call_whole(lasting_place):
    router, twin = lasting_place.open(policy=SWITCH, seed=1), hf.open("memory:", "twin", SWITCH, seed=1)
    answers = []
    rounds = 0
    with alarms(lambda *_: answers.append(answer_of(lambda: router.ask(2))), 0.001, 0.0013):
        for _ in range(150):
            rounds += len(router.ask(4))
    refused = [str(answer) for answer in answers if isinstance(answer, hf.StoreError)]
    assert refused
    assert all("cannot be used from within a call that uses it" in text for text in refused)
    assert router.rounds == rounds + 2 * (len(answers) - len(refused))
    twin.ask(router.rounds)
    mine, others = ([b.probability for b in one.history.blocks()][:100] for one in (router, twin))
    assert mine == others


def stop(*_):
    raise TimeoutError("enough")


@pytest.mark.parametrize("handler", [signal.default_int_handler, stop])
def test_a_signal_is_heard_while_sqlite_waits_and_leaves_the_file_free(folder, handler):
    url = f"sqlite:///{folder}/g.db"
    router, other = hf.open(url, "game", SWITCH, seed=1), hf.open(url, "other", SWITCH, seed=2)
    begun = time.monotonic()
    with locked(folder / "g.db"), alarms(handler, 0.2), pytest.raises((KeyboardInterrupt, TimeoutError)):
        router.ask()
    assert time.monotonic() - begun < 5
    assert router.rounds == 0
    play(router, 3)
    play(other, 3)
    with locked(folder / "g.db"):
        assert router.rounds == 3


def test_an_opening_waits_while_somebody_has_the_file_alone(folder):
    hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1).close()
    with closing(sqlite3.connect(folder / "g.db", isolation_level=None, check_same_thread=False)) as blocking:
        blocking.execute("PRAGMA journal_mode = DELETE")
        blocking.execute("BEGIN EXCLUSIVE")
        timer = threading.Timer(0.5, lambda: blocking.execute("COMMIT"))
        timer.start()
        assert hf.open(SqliteStore(f"sqlite:///{folder}/g.db"), "game").ask().block == 1
        timer.join()


@pytest.mark.parametrize("change", [("postgres@", "nobody@"), ("/postgres?", "/nothing?")])
def test_a_wrong_role_or_database_fails_at_once(postgres, change):
    url, begun = fresh_schema(postgres).replace(*change), time.monotonic()
    with pytest.raises(hf.StoreError, match=f"refuses the connection .*{change[1][1:-1]}.* does not exist"):
        hf.open(url, "game", SWITCH)
    assert time.monotonic() - begun < 10


def test_a_game_in_a_server_that_others_have_is_waited_for_as_long_as_is_wanted(postgres):
    url = fresh_schema(postgres)
    router, other = hf.open(url, "game", SWITCH, seed=1), hf.open(url, "game", timeout=0.3)
    slow = hf.open(f"{url.replace('?options=', '?options=-cstatement_timeout%3D200%20')}", "game")
    with router.store.transaction(1, writing=True):
        refuse([("statement timeout has passed", slow.ask)], hf.StoreError)
        rule = "another process has kept the game locked for too long"
        _, seconds = timed(lambda: at_once(1, lambda _: refuse([(rule, other.ask)], hf.StoreError)))
    assert 0.2 < seconds < 10
    assert router.rounds == 0


def test_commits_are_durable_on_each_connection(folder):
    """In SQLite's words 2 is FULL: what is committed is on the disk."""
    router = hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1)

    def shown(_=0):
        with router.store.transaction(1, writing=True) as transaction:
            names = ("synchronous", "journal_mode", "auto_vacuum")
            return [transaction.fetch(f"PRAGMA {name}")[0][0] for name in names]

    assert shown() == [2, "wal", 2]
    assert isinstance(router.store, SqliteStore)
    router.store._close()  # as a fork does
    router.ask()
    assert shown() == [2, "wal", 2]
    assert at_once(1, shown) == [[2, "wal", 2]]


def test_commits_are_durable_whatever_the_server_says(postgres):
    """Set inside the transaction: startup options do not pass through a pooler."""
    url = fresh_schema(postgres).replace("?options=", "?options=-csynchronous_commit%3Doff%20")
    router = hf.open(url, "game", SWITCH, seed=1)
    with router.store.transaction(1, writing=True) as transaction:
        shown = [transaction.fetch(f"SHOW {name}")[0][0] for name in ("synchronous_commit", "lock_timeout")]
    assert shown[0] == "on"
    assert shown[1] != "0"


def test_a_request_of_many_blocks_is_found_by_one_query(place, monkeypatch):
    router = place.open(policy=hf.Exp3(3), seed=1)
    given, kind = router.ask(500, request="many"), type(place.store())
    transaction = getattr(sys.modules[kind.__module__], kind.__name__.replace("Store", "Transaction"))
    count, whole = [], transaction.fetch_each

    def counted(self, queries):
        count.append(len(queries))
        return whole(self, queries)

    monkeypatch.setattr(transaction, "fetch_each", counted)
    assert router.ask(500, request="many") == given
    assert len(count) <= 4
