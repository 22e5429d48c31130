"""Many processes on one game, killed workers, servers and lines; disks that are full or cannot be written."""

import importlib.util
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import place_in
from games import SWITCH, play, refuse
from places import KINDS, fresh_schema
from postgres_server import PrivateServer
from proxy import CuttingProxy
from threads import at_once
from together import Child, all_exact, together

import holdfast as hf
from holdfast.decisions.models import Events

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_trials.py"


def test_several_processes_play_one_game(lasting_place):
    url = lasting_place.at
    hf.open(url, "game", SWITCH, seed=1, patience="forever").close()
    all_exact(url, together(url, 4, 60), 240)


def test_several_processes_may_begin_it(lasting_place):
    def begin():
        with hf.open(lasting_place.at, "game", SWITCH) as router:
            return router.ask().id

    answers = [worker.answer() for worker in [Child(begin) for _ in range(4)]]
    assert len(set(answers)) == 4
    assert len({id.split("-")[0] for id in answers}) == 1
    assert lasting_place.open("game").rounds == 4


@pytest.mark.parametrize("kind", KINDS[1:])
def test_workers_killed_at_random_moments_lose_and_double_nothing(kind, request, folder):
    """scripts/kill_trials.py does this a thousand times."""
    spec = importlib.util.spec_from_file_location("kill_trials", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    url = place_in(kind, request, folder).at
    rounds, told = script.trials(url, 20, folder, 0.06, mixed=False)
    script.replayed(url)
    assert rounds >= told > 0


@pytest.fixture
def own_server() -> Iterator[PrivateServer]:
    with PrivateServer() as server:
        yield server


def test_a_server_killed_and_restarted_under_load(own_server):
    url = own_server.url
    hf.open(url, "game", SWITCH, seed=1, patience="forever").close()

    def crash_twice():
        for _ in range(2):
            time.sleep(0.4)
            own_server.kill()
            time.sleep(0.2)
            own_server.start()

    all_exact(url, together(url, 3, 120, crash_twice), 360)


def test_a_line_that_is_cut_again_and_again(postgres):
    direct, stop, done = fresh_schema(postgres), threading.Event(), []
    with hf.open(direct, "game", SWITCH, seed=1, patience="forever"), CuttingProxy(postgres.port) as proxy:

        def cut():
            chance = random.Random(3)
            while not stop.wait(chance.uniform(0.1, 0.5)):
                proxy.cut()

        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            with hf.open(direct.replace(f":{postgres.port}/", f":{proxy.port}/"), "game") as router:
                while len(done) < 40 or proxy.cuts < 3:  # on a quick machine forty rounds end before a cut
                    done.append((router.ask().id, len(done) % 10 / 10))
                    router.tell(*done[-1])
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
        calls = (lambda: router.tell(decision.id, 0.5), router.settle)
        refuse((("cannot be reached", call) for call in calls), hf.StoreError)
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
    begun = time.monotonic()
    at_once(8, lambda number: refuse([("cannot be reached", routers[number % 2].ask)], hf.StoreError))
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


def test_a_process_killed_inside_a_transaction_leaves_nothing(lasting_place):
    router = lasting_place.open(policy=SWITCH, seed=1)
    router.ask()

    def die_in_the_middle():
        with lasting_place.open().store.transaction(1, writing=True) as transaction:
            transaction.save(transaction.head._replace(asked=99), None, Events())
            transaction.blocks("open")  # so that it is written
            os.kill(os.getpid(), signal.SIGKILL)

    Child(die_in_the_middle).end(-signal.SIGKILL)
    assert router.rounds == 1
    assert router.ask().block == 1
