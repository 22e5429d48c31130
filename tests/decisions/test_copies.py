"""Files that are copied, overwritten, restored or lose their log under running processes: nothing is lost unnoticed."""

import gc
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from typing import Any

import pytest
from games import SWITCH, play, refuse
from places import edit
from test_commands import run
from together import in_child

import holdfast as hf
from holdfast.decisions import backup, restore
from holdfast.decisions.stores.sqlite import SqliteStore

OPEN_AND_CLOSE = """import sys, sqlite3
c = sqlite3.connect(sys.argv[1].removeprefix("sqlite:///"))
c.execute("SELECT * FROM holdfast_heads")
c.close()
"""
"""As any other process, whose close may remove the log."""

PLAY = """import sys, holdfast as hf
with hf.open(sys.argv[1], "game") as router:
    for _ in range(30):
        router.tell(router.ask().id, 0.5)
"""


def elsewhere(code, url):
    subprocess.run([sys.executable, "-c", code, url], check=True, timeout=60)


@pytest.fixture
def url(folder):
    return f"sqlite:///{folder}/g.db"


@pytest.fixture
def played(url):
    """A game of twenty rounds, all of them in the file itself, in a list: for who wants to forget it."""
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 20)
    checkpointed(router)
    return [router]


def checkpointed(router):
    router.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    time.sleep(0.02)  # a file's time has steps of some milliseconds


def lose_the_log(folder):
    (folder / "g.db-wal").unlink()
    (folder / "g.db-shm").unlink()


def test_a_worker_that_copies_its_own_file_loses_nothing_unnoticed(folder, url):
    """Opening and closing its own file drops SQLite's locks; another one's close then deletes the log."""
    for rounds in range(20, 120, 20):
        router = hf.open(url, "game", SWITCH, seed=1)
        play(router, 20)
        shutil.copy(folder / "g.db", folder / "copy.db")
        elsewhere(OPEN_AND_CLOSE, url)
        refuse([("while it was in use; open the game again", router.ask)], hf.BadStore)
        with hf.open(url, "game") as again:
            assert again.rounds == rounds == again.history.totals.told
    assert not (folder / "g.db-wal").exists()  # the last one to close it tidies up


@pytest.mark.parametrize("ending", ["closed", "forgotten"])
def test_a_lost_log_that_nobody_noticed_never_reaches_the_file(folder, url, played, ending):
    play(played[0], 1)
    lose_the_log(folder)
    elsewhere(OPEN_AND_CLOSE, url)
    before = (folder / "g.db").read_bytes()
    if ending == "closed":
        played[0].close()
    played.clear()
    gc.collect()
    assert (folder / "g.db").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["closed", "forgotten"])
def test_what_was_written_to_a_lost_log_never_reaches_the_file(folder, url, played, monkeypatch, ending):
    """The log is lost between the check before a transaction and the one after it; others have gone on since."""
    store = played[0].store

    def lose_it_and_go_on_elsewhere():
        lose_the_log(folder)
        elsewhere(PLAY, url)

    checks = [lose_it_and_go_on_elsewhere, store._lost]
    monkeypatch.setattr(store, "_lost", lambda: checks.pop(0)())
    with pytest.raises(hf.BadStore, match=r"write-ahead log.* while it was in use; open the game again"):
        played[0].ask(7)
    elsewhere(PLAY, url)
    if ending == "closed":
        played[0].close()
    monkeypatch.undo()
    played.clear()
    del store
    gc.collect()
    with closing(sqlite3.connect(folder / "g.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with hf.open(url, "game") as again:
        assert again.rounds == again.history.totals.told == 80


def test_a_log_that_was_deleted_is_noticed(folder, url, played):
    (folder / "g.db-wal").unlink()
    rule = r"write-ahead log.* while it was in use; open the game again"
    refuse(((rule, call) for call in (played[0].ask, lambda: played[0].rounds)), hf.BadStore)
    assert hf.open(url, "game").rounds == 20


def test_a_file_that_was_replaced_beside_its_log_is_noticed(folder, played):
    with hf.open(f"sqlite:///{folder}/other.db", "game", SWITCH, seed=2) as other:
        play(other, 50)
    (folder / "other.db").replace(folder / "g.db")
    refuse([(r"g\.db was deleted or replaced while it was in use", played[0].ask)], hf.BadStore)


def test_looking_at_the_file_itself_drops_no_locks(folder, url):
    """SQLite itself closes the file that the check of its content opened, and so keeps its locks."""
    router = hf.open(url, "game", SWITCH, seed=1)
    for _ in range(3):
        play(router, 5)
        store: Any = router.store
        store._connection.execute("PRAGMA wal_checkpoint").fetchall()  # the file changes, and is looked at
        router.ask()
        elsewhere(OPEN_AND_CLOSE, url)
        assert (folder / "g.db-wal").exists()
    assert router.rounds == 18


def test_an_older_copy_over_the_file_is_noticed(folder, url, played):
    (router,), file = played, folder / "g.db"
    in_child(lambda: shutil.copy(backup(url, folder / "b.db"), folder / "copy.db"))
    play(router, 20)
    for _ in range(2):
        checkpointed(router)
        router.ask()
    inode = file.stat().st_ino
    subprocess.run(["cp", folder / "copy.db", file], check=True)
    assert file.stat().st_ino == inode
    refuse([("was overwritten with an older copy while it was in use", router.ask)], hf.BadStore)
    assert hf.open(url, "game").store is not router.store


def rows_of(router, *tables):
    with router.store.transaction(1, writing=False) as transaction:
        return [transaction.fetch(f"SELECT * FROM holdfast_{table}")[0] for table in tables]


def set_back(router, head, state):
    """Restore the head and the state of a game as a failover that lost transactions would."""
    with router.store.transaction(0, writing=True) as transaction:
        for table, row in (("heads", head), ("states", state)):
            transaction.write(f"DELETE FROM holdfast_{table}", [()])
            transaction.write(f"INSERT INTO holdfast_{table} VALUES ", [row])


def test_a_game_that_runs_backwards_is_noticed(place):
    """In any store: after a restore or a failover that lost transactions."""
    router = place.open(policy=SWITCH, seed=1)
    play(router, 20)
    earlier = rows_of(router, "heads", "states")
    play(router, 20)
    set_back(router, *earlier)
    rule = "restored from an older copy while it was in use"
    refuse(((rule, call) for call in (router.ask, lambda: router.rounds)), hf.BadStore)
    assert place.open().rounds == 20


def test_a_state_of_another_history_is_never_continued(place):
    """The revision may have caught up: the state's version is a random token, and tells them apart."""
    router, other = place.open(policy=SWITCH, seed=1), place.open()
    play(router, 6)
    head, state = rows_of(router, "heads", "states")
    for t in range(60):
        router.tell(router.ask().id, {"a": 0.0, "b": 1.0, "c": 1.0}[other.arm] if t else 0.5)
    set_back(router, (head[0], head[1] + 10_000, *head[2:]), state)
    with router.store.transaction(0, writing=True) as transaction:
        for where in ("blocks WHERE number >", "asks WHERE block >=", "losses WHERE block >="):
            transaction.write(f"DELETE FROM holdfast_{where} ?", [(head[4],)])
    twin = hf.open("memory:", "twin", SWITCH, seed=1)
    play(twin, 6)
    assert router.probabilities.tolist() == twin.probabilities.tolist()
    assert [d.probability for d in router.ask(20)] == [d.probability for d in twin.ask(20)]


def test_backup_and_restore_under_running_workers(folder, url):
    router = hf.open(url, "game", SWITCH, seed=1)
    other = hf.open(SqliteStore(url), "game")
    play(router, 30)
    copy = backup(url, folder / "copy.db")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(file.name for file in folder.iterdir()) == ["copy.db", "g.db", "g.db-shm", "g.db-wal"]
    later = play(other, 30, 30)
    seen = other.executor.read(lambda transaction, _: transaction.head.revision)
    kept = restore(copy, url)
    assert other.executor.read(lambda transaction, _: transaction.head.revision) > seen  # events go on
    assert kept.parent == folder
    assert hf.open(f"sqlite:///{kept}", "game").rounds == 60
    assert router.rounds == other.rounds == 30
    (said,) = router.history.changes
    assert (said["kind"], said["detail"]) == ("restore", {"copy": "copy.db", "kept": kept.name})
    assert play(router, 15, 30) + play(other, 15, 45) == later
    assert hf.open(f"sqlite:///{copy}", "game").rounds == 30
    assert restore(copy, f"sqlite:///{folder}/new.db") is None
    with closing(sqlite3.connect(folder / "new.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert play(hf.open(f"sqlite:///{folder}/new.db", "game"), 30, 30) == later


def test_a_copy_is_one_file_that_is_on_the_disk_before_it_has_its_name(folder, url, monkeypatch):
    """Readers of a disk that cannot be written take no log beside it."""
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.readlink(f"/proc/self/fd/{handle}")))
    monkeypatch.setattr(os, "replace", lambda source, target, move=os.replace: done.append(move(source, target)))
    hf.open(url, "game", SWITCH).ask(3)
    copy = backup(url, folder / "copy.db")
    assert [bool(name) for name in done] == [True, False]
    with closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("SELECT asked FROM holdfast_heads").fetchone() == (3,)


def test_what_cannot_be_copied_is_said(folder, tmp_path):
    (folder / "text.db").write_text("hello" * 1000)
    with pytest.raises(hf.StoreError, match="there is no such file"):
        backup(f"sqlite:///{folder}/none.db", tmp_path / "x")
    with pytest.raises(hf.StoreError, match="not a database"):
        restore(folder / "text.db", f"sqlite:///{folder}/g.db")
    refuse(
        [
            ("PostgreSQL has its own tool, pg_dump", lambda: backup("postgresql://me:x@host/db", tmp_path / "x")),
            ("what is in memory cannot be copied", lambda: backup("memory:", tmp_path / "x")),
            ("must be a file that holdfast store backup", lambda: restore(folder / "none.db", f"sqlite:///{folder}/g")),
        ]
    )


def test_nothing_is_overwritten_silently(folder, url, caplog):
    """A backup needs a new file or a word; a restore asks, or is told not to, and says what it did."""
    copy = str(folder / "copy.db")
    hf.open(url, "game", SWITCH).ask(3)
    assert run("backup", url, copy).startswith("The copy is")
    refuse(
        [
            ("TARGET must be a new file, or give --overwrite", lambda: run("backup", url, copy)),
            ("target must be a new file, or give overwrite=True", lambda: backup(url, copy)),
        ]
    )
    hf.open(url, "game").ask(4)
    run("backup", url, copy, "--overwrite")
    assert hf.open(f"sqlite:///{copy}", "game").rounds == 7
    hf.open(url, "game").ask(1)
    refuse([("--yes must be given", lambda: run("restore", copy, url))])
    assert hf.open(url, "game").rounds == 8
    assert "what was there is in" in run("restore", copy, url, "--yes")
    assert hf.open(url, "game").rounds == 7
    assert "was restored from" in caplog.text
    bad = folder / "bad.db"
    bad.write_text("hello" * 1000)
    files = sorted(folder.iterdir())
    refuse([("not a database", lambda: run("restore", str(bad), url, "--yes"))], hf.StoreError)
    assert sorted(folder.iterdir()) == files


def test_only_its_owner_may_read_a_store(folder, url):
    with hf.open(url, "game", SWITCH) as router:
        router.ask()
        for name in ("g.db", "g.db-wal", "g.db-shm"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_names_of_files_that_no_system_has(folder):
    rule = "url must name files and folders of at most 247 bytes"
    for length in (300, 248):
        refuse([(rule, lambda length=length: hf.open(f"sqlite:///{folder}/{'x' * length}", "game", SWITCH))])
    assert hf.open(f"sqlite:///{folder}/{'x' * 247}", "game", SWITCH).ask().block == 1


@pytest.mark.parametrize("what", ["deleted", "replaced"])
@pytest.mark.parametrize("closed", [False, True])
def test_a_file_that_was_taken_away_is_not_played_on(folder, what, closed):
    url, file = f"sqlite:///{folder}/g.db", folder / "g.db"
    with hf.open(f"sqlite:///{folder}/other.db", "game", hf.Exp3(3), seed=1) as other:
        play(other, 5)
    router = hf.open(url, "game", SWITCH, seed=1)
    decision = router.ask()
    if closed:
        router.close()
    if what == "deleted":
        file.unlink()
    else:
        (folder / "other.db").replace(file)
        (folder / "g.db-wal").unlink(missing_ok=True)  # or SQLite takes it for the new file's
        (folder / "g.db-shm").unlink(missing_ok=True)
    calls = (router.ask, lambda: router.tell(decision.id, 0.5), lambda: router.rounds)
    refuse(((r"g\.db was deleted or replaced.*open the game again", call) for call in calls), hf.BadStore)
    assert file.exists() == (what == "replaced")
    with hf.open(url, "game", None if what == "replaced" else SWITCH) as again:
        assert again.rounds == (5 if what == "replaced" else 0)


def test_files_that_are_no_store(folder):
    (folder / "text.db").write_text("hello " * 1000)
    edit(f"{folder}/other.db", "CREATE TABLE things (x)")
    before = (folder / "other.db").read_bytes()
    for kind, rule, url in (
        (hf.BadStore, "not an SQLite database", f"sqlite:///{folder}/text.db"),
        (hf.BadStore, "is a database of something else: it has the table 'things'", f"sqlite:///{folder}/other.db"),
        (hf.StoreError, "cannot be opened or made", f"sqlite:///{folder}/no/folder/g.db"),
        *((hf.InvalidParameter, "url must be", url) for url in ("sqlite://", "mysql://x", "", 7, "router.db")),
    ):
        with pytest.raises(kind, match=rule):
            hf.open(url, "game", SWITCH)
    assert (folder / "other.db").read_bytes() == before
    with pytest.raises(hf.UnknownGame, match="it has none"):
        hf.open(f"sqlite:///{folder}/nothing.db", "game")
    assert not (folder / "nothing.db").exists()
