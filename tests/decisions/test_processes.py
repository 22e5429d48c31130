"""Many processes on one game, killed workers, servers and lines; disks that are full or cannot be written."""

import importlib.util
import json
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from games import SWITCH, play
from places import fresh_schema
from postgres_server import PrivateServer
from proxy import CuttingProxy
from threads import at_once
from together import FORK, all_exact, together

import holdfast as hf
from holdfast.decisions.models import Events
from holdfast.decisions.stores.sqlite import SqliteStore

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_trials.py"


def test_several_processes_play_one_game(lasting_place):
    url = lasting_place.at
    with hf.open(url, "game", SWITCH, seed=1, patience="forever"):
        pass
    all_exact(url, together(url, 4, 60), 240)


def test_several_processes_may_begin_it(lasting_place):
    def begin(out):
        with hf.open(lasting_place.at, "game", SWITCH) as router:
            out.send(router.ask().id)

    answers, workers = [], []
    for _ in range(4):
        mine, theirs = FORK.Pipe(duplex=False)
        worker = FORK.Process(target=begin, args=(theirs,))
        worker.start()
        theirs.close()
        workers.append((worker, mine))
    for worker, mine in workers:
        answers.append(mine.recv())
        mine.close()
        worker.join()
    assert len(set(answers)) == 4
    assert len({id.split("-")[0] for id in answers}) == 1
    assert lasting_place.open("game").rounds == 4


def test_threads_share_one_router(place):
    router = place.open(policy=SWITCH, seed=1, patience="forever")  # a thread may be held up for long
    ids: list[str] = []

    def decide_some(_):
        for _ in range(25):
            decision = router.ask()
            ids.append(decision.id)
            router.tell(decision.id, 0.5)

    at_once(4, decide_some)
    assert len(set(ids)) == 100
    assert router.history.totals.told == 100


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_workers_killed_at_random_moments_lose_and_double_nothing(store, request, folder):
    """scripts/kill_trials.py does this a thousand times."""
    spec = importlib.util.spec_from_file_location("kill_trials", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    url = f"sqlite:///{folder}/g.db" if store == "sqlite" else fresh_schema(request.getfixturevalue("postgres"))
    rounds, told = script.trials(url, 20, folder, 0.06, mixed=False)
    script.replayed(url)
    assert rounds >= told > 0


@pytest.fixture
def own_server() -> Iterator[PrivateServer]:
    with PrivateServer() as server:
        yield server


def test_a_server_killed_and_restarted_under_load(own_server):
    url = own_server.url
    with hf.open(url, "game", SWITCH, seed=1, patience="forever"):
        pass

    def crash_twice():
        for _ in range(2):
            time.sleep(0.4)
            own_server.kill()
            time.sleep(0.2)
            own_server.start()

    all_exact(url, together(url, 3, 120, crash_twice), 360)


def test_a_line_that_is_cut_again_and_again(postgres):
    direct = fresh_schema(postgres)
    with hf.open(direct, "game", SWITCH, seed=1, patience="forever"), CuttingProxy(postgres.port) as proxy:
        url = direct.replace(f":{postgres.port}/", f":{proxy.port}/")
        stop = threading.Event()

        def cut():
            chance = random.Random(3)
            while not stop.wait(chance.uniform(0.1, 0.5)):
                proxy.cut()

        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            with hf.open(url, "game") as router:
                done = []
                while len(done) < 40 or proxy.cuts < 3:  # on a quick machine forty rounds end before a cut
                    t = len(done)
                    decision = router.ask()
                    router.tell(decision.id, t % 10 / 10)
                    done.append((decision.id, t % 10 / 10))
        finally:
            stop.set()
            cutter.join()
    all_exact(direct, done, len(done))


def test_an_answer_lost_on_the_way_is_not_asked_for_twice(postgres):
    """The line is cut after the server has heard the commit and before its answer: the retry finds what was done."""
    direct = fresh_schema(postgres)
    with hf.open(direct, "game", SWITCH, seed=1), CuttingProxy(postgres.port) as proxy:
        with hf.open(direct.replace(f":{postgres.port}/", f":{proxy.port}/"), "game") as router:
            router.tell(router.ask().id, 0.5)
            for t in range(10):
                proxy.cut_before_answer_to(b"COMMIT")
                decision = router.ask()
                assert router.rounds == t + 2
                proxy.cut_before_answer_to(b"COMMIT")
                router.tell(decision.id, 0.5)
            assert proxy.cuts == 20
        with hf.open(direct, "game") as router:
            assert router.history.totals.told == 11


def test_a_server_that_is_gone_for_good_is_one_clear_error(own_server):
    with hf.open(own_server.url, "game", SWITCH, seed=1, retry=0.3) as router:
        decision = router.ask()
        own_server.kill()
        with pytest.raises(hf.StoreError, match="cannot be reached"):
            router.tell(decision.id, 0.5)
        with pytest.raises(hf.StoreError, match="cannot be reached"):
            router.settle()
        own_server.start()
        assert router.tell(decision.id, 0.5).new
    with pytest.raises(hf.StoreError, match="cannot be reached"):
        hf.open("postgresql://nobody@127.0.0.1:1/none", "game", SWITCH, retry=0.2)


def test_threads_wait_together_for_a_server_that_is_gone(own_server):
    """Eight threads, in two games, one after the other would take eight times as long."""
    routers = [hf.open(own_server.url, f"game {i}", SWITCH, seed=1, retry=1.0) for i in range(2)]
    for router in routers:
        router.ask()
    own_server.kill()

    def ask(number: int) -> None:
        with pytest.raises(hf.StoreError, match="cannot be reached"):
            routers[number % 2].ask()

    begun = time.monotonic()
    at_once(8, ask)
    assert time.monotonic() - begun < 5
    own_server.start()
    assert [router.rounds for router in routers] == [1, 1]


def remount(disk, option):
    subprocess.run(["mount", "-o", f"remount,{option}", disk], check=True)


def test_a_full_disk_is_one_clear_error_and_loses_nothing(small_disk):
    remount(small_disk, "size=512k")
    router = hf.open(f"sqlite:///{small_disk}/g.db", "game", SWITCH, seed=1)
    told = []

    def play_on():
        while True:
            for decision in router.ask(50):
                router.tell(decision.id, 0.5)
                told.append(decision.id)

    with pytest.raises(hf.StoreError, match=r"the disk is full .* nothing was changed"):
        play_on()
    totals = router.history.totals
    assert totals.told == len(told)
    assert totals.rounds % 50 == 0
    remount(small_disk, "size=8m")
    router.tell([(d.id, 0.5) for d in router.open_decisions])
    twin = hf.open("memory:", "twin", SWITCH, seed=1)
    for _ in range(totals.rounds // 50):
        twin.tell([(d.id, 0.5) for d in twin.ask(50)])
    assert [d.arm for d in router.ask(50)] == [d.arm for d in twin.ask(50)]
    router.close()


def test_a_disk_that_cannot_be_written_is_one_clear_error(small_disk):
    remount(small_disk, "size=8m")
    with hf.open(f"sqlite:///{small_disk}/g.db", "game", SWITCH, seed=1) as router:
        play(router, 5)
    remount(small_disk, "ro")
    with pytest.raises(hf.StoreError, match=r"g\.db.*(cannot be written|cannot be opened)"):
        hf.open(f"sqlite:///{small_disk}/g.db", "game").ask()


def test_files_that_are_no_store(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(hf.BadStore, match="not an SQLite database"):
        hf.open(f"sqlite:///{tmp_path}/text.db", "game", SWITCH)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE things (x)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(hf.BadStore, match="is a database of something else: it has the table 'things'"):
        hf.open(f"sqlite:///{tmp_path}/other.db", "game", SWITCH)
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(hf.StoreError, match="cannot be opened or made"):
        hf.open(f"sqlite:///{tmp_path}/no/folder/g.db", "game", SWITCH)
    for url in ("sqlite://", "sqlite:///", "mysql://x", "", 7, "router.db"):
        with pytest.raises(hf.InvalidParameter, match="url must be"):
            hf.open(url, "game", SWITCH)
    with pytest.raises(hf.UnknownGame, match="it has none"):
        hf.open(f"sqlite:///{tmp_path}/nothing.db", "game")
    assert not (tmp_path / "nothing.db").exists()


def test_a_locked_file_is_waited_for_and_then_named(folder):
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "game", SWITCH) as one:
        other = hf.open(SqliteStore(url), "game", timeout=0.2)
        late = pytest.raises(hf.StoreError, match="another process has kept it locked for too long")
        with one.store.transaction(1, writing=True), late:
            other.ask()
        assert other.ask().block == 1


def test_a_process_killed_inside_a_transaction_leaves_nothing(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1)
    router.ask()

    def die_in_the_middle():
        mine = lasting_place.open()
        with mine.store.transaction(1, writing=True) as transaction:
            transaction.save(transaction.head._replace(asked=99), None, Events())
            transaction.blocks("open")  # so that it is written
            os.kill(os.getpid(), signal.SIGKILL)

    worker = FORK.Process(target=die_in_the_middle)
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    assert router.rounds == 1
    assert json.loads(json.dumps(router.ask().block)) == 1


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
    for call in (router.ask, lambda: router.tell(decision.id, 0.5), lambda: router.rounds):
        with pytest.raises(hf.BadStore, match=r"g\.db was deleted or replaced.*open the game again"):
            call()
    assert file.exists() == (what == "replaced")
    with hf.open(url, "game", None if what == "replaced" else SWITCH) as again:
        assert again.rounds == (5 if what == "replaced" else 0)


def test_a_router_says_why_it_cannot_be_sent_to_another_process(place):
    with pytest.raises(TypeError, match=r"a Router cannot be pickled.* holdfast\.open\(.*'chat'\)"):
        pickle.dumps(place.open(policy=SWITCH))
