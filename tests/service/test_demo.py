"""`holdfast demo` in a process of its own and on a phone, and its worlds."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from chromium import Browser
from commands import command_here
from service import Web

from holdfast.service.demo import BEFORE, PROVIDERS, REGIONS, canary, gateway, regions


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_plays_and_leaves_nothing(tmp_path: Path, end: signal.Signals, request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "holdfast", "demo", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        try:
            address = demo.stdout.readline().split()[1]
            web = Web(int(address.rpartition(":")[2]))
            deadline = time.monotonic() + 60
            while True:
                games = {one["name"]: one for one in web("GET", "/v1/games").json["games"]}
                if all(one["rounds"] > (BEFORE if end == signal.SIGINT else 0) for one in games.values()):
                    break
                assert time.monotonic() < deadline, games
                time.sleep(0.2)
            assert games.keys() == {"gateway", "regions", "canary"}
            assert [one["warnings"] for one in games.values()] == [[]] * 3
            assert all(one["switches"] < 100 for one in games.values())
            assert list(tmp_path.iterdir())
            if end == signal.SIGINT:
                browser: Browser = request.getfixturevalue("browser")
                for path in ("/", "/games/gateway", "/games/regions", "/games/canary"):
                    browser.open(address + path, width=390)
                    assert browser.overflow() == 0, path
                browser.leave()
        finally:
            demo.send_signal(end)
        assert demo.wait(timeout=30) == 0
        said = [json.loads(line) for line in demo.stderr.read().splitlines()]
        assert {line["level"] for line in said} <= {"INFO"}
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = command_here("demo", "--port", str(port))
    assert said.returncode == 2
    taken_by = f"cannot listen at 127.0.0.1:{port}: Address already in use"
    assert said.stderr == f"holdfast: {taken_by}; --port 0 takes a free one\n"


def test_the_worlds_are_what_the_command_says() -> None:
    rng = random.Random(3)

    def failing(name: str, first: int) -> float:
        return sum("error" in gateway(rng, t)[name] for t in range(first, first + 150)) / 150

    assert failing("fastly-llm", 0) < 0.1
    assert failing("fastly-llm", 450) > 0.6
    assert failing("bigcloud", 450) < 0.1
    days = [regions(rng, t)["eu-west"]["losses"] for t in range(96 * 5)]
    assert all(one.keys() == REGIONS.keys() and all(0 <= loss <= 1 for loss in one.values()) for one in days)
    best = [min(one, key=one.__getitem__) for one in days]
    assert len(set(best)) >= 3  # it follows the sun
    assert sum(a != b for a, b in pairwise(best)) < 96
    seen = [canary(rng, t) for t in range(3000)]
    assert sum("error" in one["canary"] for one in seen) < sum("error" in one["stable"] for one in seen)
    assert gateway(rng, 0).keys() == PROVIDERS.keys()
