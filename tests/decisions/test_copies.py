"""Files that are copied, overwritten or restored under running processes: nothing acknowledged is lost unnoticed."""

import gc
import shutil
import sqlite3
import stat
import subprocess
import sys
import time

import pytest
from games import SWITCH, play
from test_commands import run
from together import FORK

import holdfast as hf
from holdfast.decisions import backup, restore
from holdfast.decisions.stores.sqlite import SqliteStore


def in_another_process(work):
    worker = FORK.Process(target=work)
    worker.start()
    worker.join()
    assert worker.exitcode == 0


def open_and_close(url):
    """Open and close the file as another process would: its close may remove the log."""
    code = "import sys, sqlite3; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM holdfast_heads'); c.close()"
    subprocess.run([sys.executable, "-c", code, url.removeprefix("sqlite:///")], check=True)


def test_a_worker_that_copies_its_own_file_loses_nothing_unnoticed(folder):
    """Opening and closing its own file drops SQLite's locks; another one's close then deletes the log."""
    url = f"sqlite:///{folder}/g.db"
    for rounds in range(20, 120, 20):
        router = hf.open(url, "game", SWITCH, seed=1)
        play(router, 20)
        shutil.copy(folder / "g.db", folder / "copy.db")
        open_and_close(url)
        with pytest.raises(hf.BadStore, match="while it was in use; open the game again"):
            router.ask()
        with hf.open(url, "game") as again:
            assert again.rounds == rounds == again.history.totals.told
    assert not (folder / "g.db-wal").exists()  # the last one to close it tidies up


@pytest.mark.parametrize("ending", ["closed", "forgotten"])
def test_a_lost_log_that_nobody_noticed_never_reaches_the_file(folder, ending):
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 20)
    checkpointed(router)
    play(router, 1)
    (folder / "g.db-wal").unlink()
    (folder / "g.db-shm").unlink()
    open_and_close(url)
    before = (folder / "g.db").read_bytes()
    if ending == "closed":
        router.close()
    del router
    gc.collect()
    assert (folder / "g.db").read_bytes() == before


def test_a_log_that_was_deleted_is_noticed(folder):
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 20)
    checkpointed(router)
    (folder / "g.db-wal").unlink()
    for call in (router.ask, lambda: router.rounds):
        with pytest.raises(hf.BadStore, match=r"write-ahead log.* while it was in use; open the game again"):
            call()
    assert hf.open(url, "game").rounds == 20


def test_looking_at_the_file_itself_drops_no_locks(folder):
    """SQLite itself closes the file that the check of its content opened, and so keeps its locks."""
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    for _ in range(3):
        play(router, 5)
        router.store._connection.execute("PRAGMA wal_checkpoint").fetchall()  # type: ignore[attr-defined]  # the file changes, and is looked at
        router.ask()
        open_and_close(url)
        assert (folder / "g.db-wal").exists()
    assert router.rounds == 18


def checkpointed(router):
    router.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # type: ignore[attr-defined]
    time.sleep(0.02)  # a file's time has steps of some milliseconds


def test_an_older_copy_over_the_file_is_noticed(folder):
    url, file = f"sqlite:///{folder}/g.db", folder / "g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 20)
    in_another_process(lambda: shutil.copy(backup(url, folder / "b.db"), folder / "copy.db"))
    play(router, 20)
    checkpointed(router)
    router.ask()
    checkpointed(router)
    router.ask()
    inode = file.stat().st_ino
    subprocess.run(["cp", folder / "copy.db", file], check=True)
    assert file.stat().st_ino == inode
    with pytest.raises(hf.BadStore, match="was overwritten with an older copy while it was in use"):
        router.ask()
    assert hf.open(url, "game").store is not router.store


def set_back(router, states):
    """Restore the head and the state of a game as a failover that lost transactions would."""
    with router.store._transaction(1, writing=True, deadline=time.monotonic() + 9) as transaction:
        head, state = states
        transaction.write("DELETE FROM holdfast_heads", [()])
        transaction.write("DELETE FROM holdfast_states", [()])
        transaction.write("INSERT INTO holdfast_heads VALUES ", [head])
        transaction.write("INSERT INTO holdfast_states VALUES ", [state])


def test_a_game_that_runs_backwards_is_noticed(place):
    """In any store: after a restore or a failover that lost transactions."""
    router = place.open(policy=SWITCH, seed=1)
    play(router, 20)
    with router.store.transaction(1, writing=False) as transaction:
        earlier = [transaction.fetch(f"SELECT * FROM holdfast_{table}")[0] for table in ("heads", "states")]
    play(router, 20)
    set_back(router, earlier)
    for call in (router.ask, lambda: router.rounds):
        with pytest.raises(hf.BadStore, match="restored from an older copy while it was in use"):
            call()
    assert place.open().rounds == 20


def test_a_state_of_another_history_is_never_continued(place):
    """The revision may have caught up: the state's version is a random token, and tells them apart."""
    router, other = place.open(policy=SWITCH, seed=1), place.open()
    play(router, 6)
    with router.store.transaction(1, writing=False) as transaction:
        head = transaction.fetch("SELECT * FROM holdfast_heads")[0]
        state = transaction.fetch("SELECT * FROM holdfast_states")[0]
    for t in range(60):
        router.tell(router.ask().id, {"a": 0.0, "b": 1.0, "c": 1.0}[other.arm] if t else 0.5)
    revision = head[1] + 10_000
    set_back(router, [(head[0], revision, *head[2:]), state])
    with router.store._transaction(1, writing=True, deadline=time.monotonic() + 9) as transaction:
        transaction.write("DELETE FROM holdfast_blocks WHERE number > ?", [(head[4],)])
        transaction.write("DELETE FROM holdfast_asks WHERE block >= ?", [(head[4],)])
        transaction.write("DELETE FROM holdfast_losses WHERE block >= ?", [(head[4],)])
    twin = hf.open("memory:", "twin", SWITCH, seed=1)
    play(twin, 6)
    assert router.probabilities.tolist() == twin.probabilities.tolist()
    assert [d.probability for d in router.ask(20)] == [d.probability for d in twin.ask(20)]


def test_backup_and_restore_under_running_workers(folder):
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    other = hf.open(SqliteStore(url), "game")
    arms = play(router, 30)
    copy = backup(url, folder / "copy.db")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(file.name for file in folder.iterdir()) == ["copy.db", "g.db", "g.db-shm", "g.db-wal"]
    later = play(other, 30, 30)
    seen = other.executor.read(lambda transaction, _: transaction.head.revision)
    kept = restore(copy, url)
    assert other.executor.read(lambda transaction, _: transaction.head.revision) > seen  # events go on
    assert kept is not None
    assert kept.parent == folder
    assert hf.open(f"sqlite:///{kept}", "game").rounds == 60
    assert router.rounds == other.rounds == 30
    (said,) = router.history.changes
    assert (said["kind"], said["detail"]) == ("restore", {"copy": "copy.db", "kept": kept.name})
    assert play(router, 15, 30) + play(other, 15, 45) == later
    assert len(arms) == 30
    assert hf.open(f"sqlite:///{copy}", "game").rounds == 30
    assert restore(copy, f"sqlite:///{folder}/new.db") is None
    assert play(hf.open(f"sqlite:///{folder}/new.db", "game"), 30, 30) == later


def test_what_cannot_be_copied_is_said(folder, tmp_path):
    with pytest.raises(hf.InvalidParameter, match="PostgreSQL has its own tool, pg_dump"):
        backup("postgresql://me:secret@host/db", tmp_path / "x")
    with pytest.raises(hf.InvalidParameter, match="what is in memory cannot be copied"):
        backup("memory:", tmp_path / "x")
    with pytest.raises(hf.StoreError, match="there is no such file"):
        backup(f"sqlite:///{folder}/none.db", tmp_path / "x")
    (folder / "text.db").write_text("hello" * 1000)
    with pytest.raises(hf.StoreError, match="not a database"):
        restore(folder / "text.db", f"sqlite:///{folder}/g.db")
    with pytest.raises(hf.InvalidParameter, match="must be a file that holdfast store backup made"):
        restore(folder / "none.db", f"sqlite:///{folder}/g.db")


def test_nothing_is_overwritten_silently(folder, caplog):
    """A backup needs a new file or a word; a restore asks, or is told not to, and says what it did."""
    url, copy = f"sqlite:///{folder}/g.db", str(folder / "copy.db")
    hf.open(url, "game", SWITCH).ask(3)
    assert run("backup", url, copy).startswith("The copy is")
    with pytest.raises(hf.InvalidParameter, match="TARGET must be a new file, or give --overwrite"):
        run("backup", url, copy)
    with pytest.raises(hf.InvalidParameter, match="target must be a new file, or give overwrite=True"):
        backup(url, copy)
    hf.open(url, "game").ask(4)
    run("backup", url, copy, "--overwrite")
    assert hf.open(f"sqlite:///{copy}", "game").rounds == 7
    hf.open(url, "game").ask(1)
    with pytest.raises(hf.InvalidParameter, match="--yes must be given"):
        run("restore", copy, url)
    assert hf.open(url, "game").rounds == 8
    assert "what was there is in" in run("restore", copy, url, "--yes")
    assert hf.open(url, "game").rounds == 7
    assert "was restored from" in caplog.text
    bad = folder / "bad.db"
    bad.write_text("hello" * 1000)
    files = sorted(folder.iterdir())
    with pytest.raises(hf.StoreError):
        run("restore", str(bad), url, "--yes")
    assert sorted(folder.iterdir()) == files


def test_only_its_owner_may_read_a_store(folder):
    with hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH) as router:
        router.ask()
        for name in ("g.db", "g.db-wal", "g.db-shm"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_a_store_of_another_schema_is_refused(folder):
    hf.open(f"sqlite:///{folder}/g.db", "game", SWITCH).close()
    with sqlite3.connect(folder / "g.db") as connection:
        connection.execute("UPDATE holdfast_schema SET version = version + 1")
    connection.close()
    with pytest.raises(hf.BadStore, match="must be a store of schema 1; another Holdfast wrote this one, schema 2"):
        hf.open(f"sqlite:///{folder}/g.db", "game")


def test_names_of_files_that_no_system_has(folder):
    for name in ("x" * 300, "x" * 248):
        with pytest.raises(hf.InvalidParameter, match="url must name files and folders of at most 247 bytes"):
            hf.open(f"sqlite:///{folder}/{name}", "game", SWITCH)
    assert hf.open(f"sqlite:///{folder}/{'x' * 247}", "game", SWITCH).ask().block == 1
