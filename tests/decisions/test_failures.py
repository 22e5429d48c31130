"""Calls that wait, fail, or come in the middle of others: how long they take, and what they leave behind."""

import signal
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import pytest
from games import SWITCH, Work, arms_of, play
from places import fresh_schema

import holdfast as hf
from holdfast.decisions.requests import Ask
from holdfast.decisions.stores.sqlite import SqliteStore


def in_threads(count, work):
    """Return the answer of each thread, and the time of all."""
    found, begun = [None] * count, time.monotonic()

    def run(number):
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    return found, time.monotonic() - begun


@contextmanager
def locked(file):
    """Somebody else has the file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


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


def test_one_failure_answers_all_who_wait(folder):
    """Twelve threads at a locked file wait together, not one after the other."""
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1, timeout=1.0)
    others = [hf.open(url, f"other {i}", SWITCH, seed=1, timeout=1.0) for i in range(4)]
    router.ask()
    with locked(folder / "g.db"):
        found, seconds = in_threads(12, lambda i: (others[i - 8] if i >= 8 else router).ask())
    assert all(isinstance(error, hf.StoreError) for error in found)
    assert seconds < 7  # one after the other would take 12
    assert router.rounds == 1


def test_threads_that_wait_are_written_in_one_transaction(place, monkeypatch):
    """Group commit: while one transaction is under way the calls of others queue, and the next one makes them all."""
    router = place.open(policy=SWITCH, seed=1)
    decisions = router.ask(8)
    sizes, whole = [], router._executor._transact

    def counted(batch, deadline):
        sizes.append(len(batch))
        time.sleep(0.05)
        return whole(batch, deadline)

    monkeypatch.setattr(router._executor, "_transact", counted)
    losses = [0.5] * 7 + [7.0]  # the last one is refused, and spoils nothing
    found, _ = in_threads(8, lambda i: router.tell(decisions[i].id, losses[i]))
    assert len(sizes) < 8
    assert sum(sizes) == 8
    assert sum(isinstance(answer, hf.Receipt) and answer.new for answer in found) == 7
    assert isinstance(found[7], hf.InvalidParameter)
    assert router.history.totals.told == 7


def test_a_call_that_fails_badly_spoils_no_other_in_its_transaction(place):
    router, twin = place.open(policy=SWITCH, seed=1), place.open("twin", SWITCH, seed=1)
    entered, go = threading.Event(), threading.Event()

    def slow(view):
        entered.set()
        assert go.wait(30)
        return None

    def broken(view):
        view.head = view.head._replace(asked=10**6)
        raise ZeroDivisionError

    first = threading.Thread(target=lambda: router._executor.execute(Work(slow)))
    first.start()
    assert entered.wait(30)
    answers = {}

    def make(name, request):
        try:
            answers[name] = router._executor.execute(request)
        except ZeroDivisionError:
            answers[name] = "failed"

    pairs = (("ask", Ask(4)), ("broken", Work(broken)))
    others = [threading.Thread(target=make, args=pair) for pair in pairs]
    for thread in others:
        thread.start()
    while len(router._executor._queue) < 2:
        time.sleep(0.005)
    go.set()
    for thread in (first, *others):
        thread.join(timeout=30)
    assert answers["broken"] == "failed"
    assert arms_of(answers["ask"]) == arms_of(twin.ask(4))
    assert router.rounds == 4


def test_a_refused_call_in_a_signal_handler_leaves_the_outer_call_whole(lasting_place):
    router, twin = lasting_place.open(policy=SWITCH, seed=1), hf.open("memory:", "twin", SWITCH, seed=1)
    refused, made = [], []

    def handle(*_):
        try:
            made.append(len(router.ask(2)))
        except hf.StoreError as error:
            refused.append(str(error))

    rounds = 0
    with alarms(handle, 0.001, 0.0013):
        for _ in range(150):
            rounds += len(router.ask(4))
    assert refused
    assert all("cannot be used from within a call that uses it" in text for text in refused)
    assert router.rounds == rounds + sum(made)
    assert [b.probability for b in router.history.blocks()][:100] == [
        b.probability for b in (twin.ask(router.rounds), twin.history.blocks())[1]
    ][:100]


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
    blocking = sqlite3.connect(folder / "g.db", isolation_level=None, check_same_thread=False)
    blocking.execute("PRAGMA journal_mode = DELETE")
    blocking.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.5, lambda: blocking.execute("COMMIT"))
    timer.start()
    assert hf.open(SqliteStore(f"sqlite:///{folder}/g.db"), "game").ask().block == 1
    timer.join()
    blocking.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url: url.replace("postgres@", "nobody@"), "refuses the connection .*nobody.* does not exist"),
        (lambda url: url.replace("/postgres?", "/nothing?"), "refuses the connection .*nothing.* does not exist"),
    ],
)
def test_a_wrong_role_or_database_fails_at_once(postgres, change, message):
    url, begun = change(fresh_schema(postgres)), time.monotonic()
    with pytest.raises(hf.StoreError, match=message):
        hf.open(url, "game", SWITCH)
    assert time.monotonic() - begun < 10


def test_a_statement_timeout_is_named(postgres):
    url = fresh_schema(postgres)
    router = hf.open(url, "game", SWITCH, seed=1)
    slow = hf.open(f"{url.replace('?options=', '?options=-cstatement_timeout%3D200%20')}", "game")
    with router.store.transaction(1, writing=True), pytest.raises(hf.StoreError, match="statement timeout has passed"):
        slow.ask()
    assert router.rounds == 0


def test_a_locked_game_in_a_server_is_waited_for_as_long_as_is_wanted(postgres):
    url = fresh_schema(postgres)
    router, other = hf.open(url, "game", SWITCH, seed=1), hf.open(url, "game", timeout=0.3)
    begun = time.monotonic()

    def ask():
        with pytest.raises(hf.StoreError, match="another process has kept the game locked for too long"):
            other.ask()

    with router.store.transaction(1, writing=True):
        found, _ = in_threads(1, lambda _: ask())
    assert found == [None]
    assert time.monotonic() - begun < 10


def test_commits_are_durable_on_each_connection(folder):
    """In SQLite's words 2 is FULL: what is committed is on the disk."""
    router = hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH, seed=1)

    def shown():
        with router.store.transaction(1, writing=True) as transaction:
            names = ("synchronous", "journal_mode", "auto_vacuum")
            return [transaction.fetch(f"PRAGMA {name}")[0][0] for name in names]

    assert shown() == [2, "wal", 2]
    assert isinstance(router.store, SqliteStore)
    router.store._close()  # as a fork does
    router.ask()
    assert shown() == [2, "wal", 2]
    assert in_threads(1, lambda _: shown())[0] == [[2, "wal", 2]]


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
    given = router.ask(500, request="many")
    kind = type(place.store())
    module = __import__(kind.__module__, fromlist=["x"])
    transaction = getattr(module, kind.__name__.replace("Store", "Transaction"))
    count, whole = [], transaction.fetch_each

    def counted(self, queries):
        count.append(len(queries))
        return whole(self, queries)

    monkeypatch.setattr(transaction, "fetch_each", counted)
    assert router.ask(500, request="many") == given
    assert len(count) <= 4
