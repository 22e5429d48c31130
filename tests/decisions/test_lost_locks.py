"""A log that somebody deletes; a session that a server ends."""

import gc
import sqlite3
import subprocess
import sys
import time

import psycopg
import pytest
from games import SWITCH, play
from places import fresh_database

import holdfast as hf


def play_elsewhere(url):
    """Thirty rounds by another process, which opens and closes the file."""
    code = """if True:
        import sys
        import holdfast as hf
        with hf.open(sys.argv[1], "game") as router:
            for _ in range(30):
                router.tell(router.ask().id, 0.5)
    """
    subprocess.run([sys.executable, "-c", code, url], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["closed", "forgotten"])
def test_what_was_written_to_a_lost_log_never_reaches_the_file(folder, monkeypatch, ending):
    """The log is lost between the check before a transaction and the one after it; others have gone on since."""
    url = f"sqlite:///{folder}/g.db"
    router = hf.open(url, "game", SWITCH, seed=1)
    play(router, 20)
    router.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # type: ignore[attr-defined]

    def lose_the_log():
        (folder / "g.db-wal").unlink()
        (folder / "g.db-shm").unlink()
        play_elsewhere(url)

    checks = [lose_the_log, router.store._check_files]  # type: ignore[attr-defined]
    monkeypatch.setattr(router.store, "_check_files", lambda: checks.pop(0)())
    with pytest.raises(hf.BadStore, match=r"write-ahead log.* while it was in use; open the game again"):
        router.ask(7)
    play_elsewhere(url)
    if ending == "closed":
        router.close()
    monkeypatch.undo()
    del router
    gc.collect()
    with sqlite3.connect(folder / "g.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with hf.open(url, "game") as again:
        assert again.rounds == 80
        assert again.history.totals.told == 80


def test_a_session_that_the_server_ended_for_idleness_is_begun_anew(postgres):
    url = fresh_database(postgres)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET idle_session_timeout = '100ms'")
    with hf.open(url, "game", SWITCH, seed=1) as router:
        for rounds in range(1, 4):
            router.ask()
            time.sleep(0.4)
            assert router.rounds == rounds
