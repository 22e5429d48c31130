"""The command in processes of its own: killed, stopped, several at once."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
import service_kill_trials
from commands import command_here, holdfast_command
from places import fresh_schema
from postgres_server import PrivateServer, binaries
from service import GAME, Events, InProcess, ask, free_port, opened

import holdfast as hf

pytestmark = pytest.mark.slow


def test_five_kills_lose_and_double_nothing(folder):
    """``python scripts/service_kill_trials.py`` makes a thousand."""
    rounds, told = service_kill_trials.play(f"sqlite:///{folder}/games.db", 5, mixed=True)
    assert rounds > 10
    assert told > 5


def test_requests_that_are_late_cut_and_doubled_count_once(folder, capsys):
    service_kill_trials.play(f"sqlite:///{folder}/games.db", 8, kill="nobody", proxy=True)
    counts = {what: int(count) for count, what in re.findall(r"([0-9]+) ([a-z ]+)", capsys.readouterr().out)}
    assert counts["passed on"] > 10
    assert counts["doubled"] + counts["cut before"] + counts["cut after"] > 0


@pytest.mark.skipif(binaries() is None, reason="no PostgreSQL here: apt-get install postgresql")
def test_a_killed_database_under_two_servers_loses_and_doubles_nothing():
    with PrivateServer() as database:
        rounds, told = service_kill_trials.play(
            fresh_schema(database), 3, kill="database", servers=2, database=database
        )
    assert rounds > 10
    assert told > 5


def test_sigterm_answers_what_was_accepted_and_ends_streams(folder):
    url = f"sqlite:///{folder}/games.db"
    with InProcess(url) as server:
        router = opened(server.web, seed=1, patience="forever", retry=0.0)
        asked, refused, enough = [], [], threading.Event()

        def work():
            try:
                while True:
                    asked.extend(d.id for d in router.ask(2))
                    if len(asked) > 100:
                        enough.set()
            except hf.HoldfastError as error:
                refused.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        stream = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        stream.sendall(b"GET /v1/games/game/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert stream.recv(100)
        for thread in threads:
            thread.start()
        assert enough.wait(60)
        assert server.stop() in (0, -signal.SIGTERM)
        for thread in threads:
            thread.join(60)
        stream.close()
        router.close()
    assert all(isinstance(error, hf.StoreError) for error in refused)
    with hf.open(url, "game") as stored:
        assert len(asked) == len(set(asked)) == stored.rounds, "an accepted request was not answered"


def workers(server):
    """The processes that answer."""
    process = server.process.pid
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return {one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()}


def test_several_workers_play_one_game_and_count_together(folder):
    """One that dies is replaced; SIGTERM ends all of them, and their streams."""
    with InProcess(f"sqlite:///{folder}/games.db", "--workers", "2") as server:
        server.web("PUT", "/v1/games/game", GAME)
        ids = [d["id"] for _ in range(40) for d in ask(server.web, "/v1/games/game", 2)]
        assert len(set(ids)) == 80
        text = server.web("GET", "/metrics").body.decode()
        counts = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert float(counts["holdfast_committed_calls_total"]) == 40
        assert float(counts['holdfast_game_rounds{game="game"}']) == 80
        first, second = workers(server)
        os.kill(int(first), signal.SIGKILL)
        assert all(ask(server.web, "/v1/games/game") for _ in range(20))
        with Events(server.web, "/v1/games/game") as events:
            assert events.until()["rounds"] == 100
            deadline = time.monotonic() + 30
            while not (new := workers(server) - {first, second}):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert server.stop() == 0
            assert events.until() is None
    assert not [one for one in (second, *new) if Path(f"/proc/{one}").exists()]
    said = [json.loads(line).get("message") for line in server.errors.splitlines()]
    assert f"worker {first} ended, and another one has begun" in said


def test_two_servers_on_one_store_play_one_game(folder):
    url = f"sqlite:///{folder}/games.db"
    with InProcess(url) as one, InProcess(url) as two:
        first, second = opened(one.web, seed=1), opened(two.web)
        for t in range(60):
            decision = (first, second)[t % 2].ask()
            (second, first)[t % 3 % 2].tell(decision.id, 0.5)
        assert first.history.totals == second.history.totals
        assert first.rounds == 60
        first.close()
        second.close()


def test_what_cannot_be_served_is_said_in_one_line(tmp_path):
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        busy = holdfast_command("serve", f"sqlite:///{tmp_path}/a.db", "--port", str(taken))
    assert (busy.returncode, busy.stderr.count("\n")) == (2, 1)
    assert f"cannot listen at 127.0.0.1:{taken}" in busy.stderr
    abroad = command_here("serve", f"sqlite:///{tmp_path}/a.db", "--host", "0.0.0.0")
    assert abroad.returncode == 2
    assert "--host must be a loopback address" in abroad.stderr
    assert command_here("serve", "memory:").returncode == 2


def test_curl_gets_a_decision(folder):
    """The five lines of docs/service.md."""
    with InProcess(f"sqlite:///{folder}/games.db") as server:
        base = f"{server.web.url}/v1/games/chat"
        kind = ["-H", "Content-Type: application/json"]
        made = '{"policy": "adaptive", "arms": ["a", "b"], "switching_cost": 0.3}'

        def curl(*words):
            done = subprocess.run(["curl", "-sf", *words], capture_output=True, text=True, env={**os.environ})
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        curl("-X", "PUT", base, *kind, "-d", made)
        (decision,) = curl("-X", "POST", f"{base}/decisions", "-H", "Idempotency-Key: order-1")["decisions"]
        assert curl("-X", "PUT", f"{base}/decisions/{decision['id']}/loss", *kind, "-d", '{"loss": 0.2}')["new"] is True
