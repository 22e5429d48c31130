"""Months in the life of a server: full disks, a store that is away, proxies, many who watch, broken files."""

import asyncio
import json
import logging
import re
import resource
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import pytest
from commands import command_here
from places import fresh_schema
from postgres_server import PrivateServer, binaries
from service import GAME, Events, InProcess, InThread, Web, ask, problem

import holdfast as hf
from holdfast.errors import HoldfastError
from holdfast.service import views
from holdfast.service.access import TokenFile
from holdfast.service.app import Limits, Service
from holdfast.service.games import Game
from holdfast.service.server import OneLine, listening_at

G = "/v1/games/g"


@pytest.mark.slow
def test_a_full_disk_is_said_and_recovered_from(folder):
    """Files may not grow for a while: writing is refused in words, reading goes on, nothing acknowledged is lost."""
    with InProcess(f"sqlite:///{folder}/games.db") as server:
        web, process = server.web, server.process.pid
        web("PUT", G, GAME)
        (given, *_) = ask(web, G, 5)
        log = (folder / "games.db-wal").stat().st_size
        resource.prlimit(process, resource.RLIMIT_FSIZE, (log, resource.RLIM_INFINITY))
        refused = web("POST", f"{G}/decisions", {"n": 50})
        assert "nothing was changed" in problem(refused, 503, hf.StoreError)["detail"]
        assert refused.headers["retry-after"] == "1"
        assert (
            web("GET", "/healthz").status == web("GET", f"{G}/summary").status == web("GET", "/games/g").status == 200
        )
        time.sleep(1.1)  # the last check is as old
        problem(web("GET", "/readyz"), 503, hf.StoreError)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert web("GET", "/readyz").status == 200
        assert len(ask(web, G, 7)) == 7
        assert web("PUT", f"{G}/decisions/{given['id']}/loss", {"loss": 0.5}).status == 200
        assert web("GET", f"{G}/summary").json["rounds"] == 12
    said = [json.loads(line) for line in server.errors.splitlines()]
    assert [one["level"] for one in said if one.get("level", "INFO") != "INFO"] == ["ERROR"] * 2  # a second apart


@pytest.mark.slow
@pytest.mark.skipif(binaries() is None, reason="no PostgreSQL here: apt-get install postgresql")
def test_a_database_that_is_away_and_comes_back():
    """Readiness says so at once, though readers wait for it; all of them are answered when it is back.

    A server that is stopped in between answers those who wait, and stops.
    """
    with PrivateServer() as database:
        url = fresh_schema(database)
        found, refused = [], []
        calls = [("GET", f"{G}/summary", None), ("POST", f"{G}/decisions", {"n": 1}), ("GET", "/v1/games/h", None)]
        with InThread(url) as web:
            web("PUT", G, GAME)
            with InThread(f"{url}&application_name=stopped") as stopped:  # with connections of its own
                assert stopped("GET", G).status == 200
                database.kill()
                waiting = [threading.Thread(target=lambda: found.append(web("GET", f"{G}/summary"))) for _ in range(8)]
                waiting += [threading.Thread(target=lambda call=call: refused.append(stopped(*call))) for call in calls]
                for thread in waiting:
                    thread.start()
                time.sleep(1.1)  # the last check is as old
                begun = time.monotonic()
                problem(web("GET", "/readyz"), 503, hf.StoreError)
                assert time.monotonic() - begun < 10
                away = subprocess.run([sys.executable, "-m", "holdfast", "serve", url], capture_output=True, text=True)
                assert (away.returncode, away.stderr.count("holdfast: ")) == (7, 1)
                assert "Traceback" not in away.stderr
                assert refused == []
            for thread in waiting[-len(calls) :]:
                thread.join(60)
            assert len(refused) == len(calls)
            for answer in refused:
                problem(answer, 503, hf.StoreError)
            database.start()
            for thread in waiting:
                thread.join(60)
            assert [one.status for one in found] == [200] * 8
            assert web("GET", "/readyz").status == 200


def test_an_address_is_taken_from_the_first_moment_on():
    """Two servers that begin at the same time: one of them is told at once."""
    with listening_at("127.0.0.1", 0) as found, pytest.raises(HoldfastError, match="Address already in use"):
        listening_at("127.0.0.1", found.getsockname()[1])


def test_readiness_ends_where_the_store_cannot_be_written_and_as_the_server_stops(tmp_path, monkeypatch):
    def away():
        raise hf.StoreError("it is away")

    app = InThread(f"sqlite:///{tmp_path}/games.db")
    with app as web:
        assert web("GET", "/readyz").json == web("GET", "/healthz").json == {"status": "ok"}
        monkeypatch.setattr(app.service.games, "_writable", -1e9)  # the last check is old
        monkeypatch.setattr(app.service.games.store, "check_writing", away)
        problem(web("GET", "/readyz"), 503, hf.StoreError)
        monkeypatch.undo()
        app.service.stopping = True
        assert problem(web("GET", "/readyz"), 503)["detail"] == "the server is stopping"
        assert web("GET", "/healthz").status == 200


def test_the_licence_of_the_charts_goes_along(web):
    answer = web("GET", "/assets/uplot-LICENSE.txt")
    assert answer.status == 200
    assert b"MIT" in answer.body
    assert b"uPlot" in web("GET", "/assets/uplot.min.js").body
    assert web("GET", "/assets/..%2Fapp.py").status == 404


def test_head_of_a_stream_ends_and_old_clients_need_no_host(web, game):
    for path, media in ((f"{game}/events", b"text/event-stream"), (f"{game}/export", b"text/csv")):
        answer = web.raw(f"HEAD {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\n")
        assert b"content-type: " + media in answer.lower()
        assert (b"content-length" in answer.lower()) == path.endswith("export")
    problem(web("GET", "/v1/games/nobody/events"), 404, hf.UnknownGame)
    assert web.raw(b"GET /readyz HTTP/1.0\r\n\r\n").endswith(b'{"status":"ok"}')
    assert web.raw(b"GET /readyz HTTP/1.1\r\nhost: holdfast.example\r\n\r\n").startswith(b"HTTP/1.1 421")
    for headers in (b"1.1", b"1.1\r\nhost:", b"1.0\r\nx-forwarded-for: 1.2.3.4"):
        assert b" 421 " in web.raw(b"GET /v1/games HTTP/" + headers + b"\r\n\r\n")
    delete = f"DELETE {game}?confirm=chat HTTP/1.0\r\norigin: null\r\n\r\n"
    assert b" 403 " in web.raw(delete.encode())


def test_tokens_that_cannot_be_read_let_nobody_in(tmp_path, caplog):
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.make("admin")
    good = tokens.path.read_bytes()
    with InThread(f"sqlite:///{tmp_path}/games.db", tokens.path) as found:
        web = Web(found.port, token)
        web("PUT", G, GAME)
        with Events(web, G, token) as events:
            assert events.until()
            tokens.path.write_bytes(b"{")
            assert events.until() is None
        assert problem(web("GET", G), 503)["detail"] == "tokens cannot be checked; the server's log says why"
        assert web("POST", "/login", b"token=x", content_type="application/x-www-form-urlencoded").status == 503
        tokens.path.unlink()
        tokens.path.mkdir()
        problem(web("GET", G), 503)
        tokens.path.rmdir()
        tokens.path.write_bytes(good)
        time.sleep(0.2)
        assert web("GET", G).status == 200
    said = [one.getMessage() for one in caplog.records]
    assert f"{tokens.path} must be a file that `holdfast token make` wrote" in said
    assert token.split("_", 2)[2] not in "".join(said)


@pytest.mark.parametrize(("waiting", "status"), [(9_999, 200), (10_000, 503)])
def test_more_calls_than_a_game_has_room_for_are_refused(web, game, monkeypatch, waiting, status):
    monkeypatch.setattr(Game, "waiting", waiting)
    monkeypatch.setattr("holdfast.service.games.MOST_TOGETHER", waiting)  # they are written at once
    answer = web("POST", f"{game}/decisions")
    assert answer.status == status
    if status == 503:
        assert "nothing was changed" in problem(answer, 503)["detail"]
        assert answer.headers["retry-after"] == "1"


def test_a_record_is_one_line_of_json():
    def line(name, message, **more):
        return json.loads(
            OneLine().format(logging.makeLogRecord({"name": name, "msg": message, "created": 0.5, **more}))
        )

    at = "1970-01-01T00:00:00.500+00:00"
    info = {"levelname": "INFO"}
    assert line("holdfast.service", "two\nlines\n", **info) == {"at": at, "level": "INFO", "message": "two\nlines"}
    assert line("holdfast.audit", '{"did": "began"}', **info) == {"at": at, "did": "began"}
    error = ZeroDivisionError("by zero")
    failed = line("holdfast.service", "it failed", levelname="ERROR", exc_info=(type(error), error, None))
    assert (failed["level"], failed["trace"]) == ("ERROR", "ZeroDivisionError: by zero")


def test_any_number_of_watchers_make_one_read_a_second(monkeypatch):
    now, reads = [100.0], []

    async def see(name, view):
        reads.append(now[0])
        await asyncio.sleep(0)
        return {"revision": len(reads)}

    async def watched(service):
        return [one["revision"] for one in await asyncio.gather(*(service.standing("g") for _ in range(5)))]

    async def play():
        service = Service("memory:", None, Limits(), time.time, "")
        monkeypatch.setattr(service, "see", see)
        found = []
        for second in (0.0, 0.85, 0.95, 1.8, 1.9):
            now[0] = 100.0 + second
            found += [set(await watched(service))]
        service.slow.close()
        service.games.close()
        return found

    monkeypatch.setattr("holdfast.service.app.time", SimpleNamespace(monotonic=lambda: now[0]))
    assert asyncio.run(play()) == [{1}, {1}, {2}, {2}, {3}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--key", "k.pem"], "--certificate must be given along with --key"),
        (["--root-path", "tools"], "--root-path must be a path such as /holdfast"),
        (["--port", "65536"], "--port must be a whole number from 0 to 65535"),
        (["--workers", "0"], "--workers must be a whole number from 1"),
        (["--body", "1023"], "--body must be a whole number of at least 1024"),
        (["--rate", "-1"], "--rate must be"),
        (["--proxy", "nginx"], "--proxy must be an address or a network"),
    ],
)
def test_options_of_the_command_are_handed_on_as_they_are_called(words, said, monkeypatch, tmp_path):
    served = {}
    monkeypatch.setattr("holdfast.service.server.serve", lambda url, **options: served.update(options, url=url))
    url, rest = f"sqlite:///{tmp_path}/g.db", ["--certificate", "c.pem", "--key", "k.pem", "--allow", "mine:Policy"]
    given = [
        "--host",
        "0.0.0.0",
        "--port",
        "9",
        "--workers",
        "2",
        "--tokens",
        "t.json",
        "--rate",
        "0.5",
        "--body",
        "2048",
    ]
    given += ["--connections", "30", "--connections-each", "7", "--proxy", "10.0.0.1,10.1.0.0/16", "--root-path", "/t/"]
    done = command_here("serve", url, *given, *rest)
    assert done.returncode == 0, done.stderr
    assert (served.pop("tokens").path, served.pop("say")) == (Path("t.json"), ANY)
    wanted = {"url": url, "host": "0.0.0.0", "port": 9, "workers": 2, "connections": 30, "connections_each": 7}
    wanted |= {"proxies": ["10.0.0.1/32", "10.1.0.0/16"], "limits": Limits(body=2048, rate=0.5), "root": "/t"}
    assert served == {**wanted, "certificate": Path("c.pem"), "key": Path("k.pem"), "allow": ("mine:Policy",)}
    wrong = command_here("serve", url, *words)
    assert (wrong.returncode, said in wrong.stderr) == (2, True), wrong.stderr


@pytest.mark.slow
def test_many_who_watch_a_game_make_one_read_a_second(folder, monkeypatch):
    reads, real = [], views.standing

    def standing(*given, **more):
        reads.append(time.monotonic())
        return real(*given, **more)

    monkeypatch.setattr(views, "standing", standing)
    with InThread(f"sqlite:///{folder}/games.db") as web, ExitStack() as stack:
        web("PUT", G, GAME)
        watching = [stack.enter_context(Events(web, G)) for _ in range(300)]
        for one in watching:
            assert one.until()["rounds"] == 0
        ask(web, G, 3)
        for one in watching:
            assert one.until()["rounds"] == 3
        taken = time.monotonic() - reads[0]
    assert len(reads) <= taken / 0.9 + 2


@pytest.mark.slow
def test_a_game_that_is_deleted_ends_its_streams_and_is_forgotten(folder):
    """Also where another server has deleted it."""
    url = f"sqlite:///{folder}/games.db"
    app = InThread(url)
    with app as web:
        for name in ("g", "h"):
            web("PUT", f"/v1/games/{name}", GAME)
        with Events(web, G) as one, Events(web, "/v1/games/h") as other:
            assert one.until()
            assert other.until()
            assert web("DELETE", f"{G}?confirm=g").status == 204
            router = hf.open(url, "h")
            router.store.delete(router.executor.setup.game.id)
            assert one.until() is None
            assert other.until() is None
        assert web("GET", "/games/g").status == web("GET", "/games/h").status == 404
        assert web("PUT", G, GAME).status == 201
        with Events(web, G) as one:
            assert one.until()["rounds"] == 0
        hf.open(url, "h", hf.Exp3(arms=["x", "y"]))
        ask(web, "/v1/games/h")
        router = hf.open(url, "h")
        router.store.delete(router.executor.setup.game.id)
        assert b'game="h"' not in web("GET", "/metrics").body
        assert set(app.service.games.opened) == {"g"}


def test_a_proxy_may_have_it_under_a_path(tmp_path):
    """Whether it takes the path away or not; names keep their slashes."""
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.make("admin")
    with InThread(f"sqlite:///{tmp_path}/games.db", tokens.path, root="/tools/holdfast") as found:
        web, form = Web(found.port, token), "application/x-www-form-urlencoded"
        game = "/tools/holdfast/v1/games/a%2Fb"
        assert web("PUT", game, GAME).status == 201
        assert web("GET", "/v1/games/a%2Fb").json["name"] == "a/b"
        web("PATCH", game, {"switching_cost": 0.5, "reason": "cheaper"})
        for path in ("", "games/a%2Fb", "games/a%2Fb/changes", "games/nobody", "login"):
            page = web("GET", f"/tools/holdfast/{path}").body.decode()
            places = re.findall(r'(?:href|src|action|data-events)="(/[^"]*)"', page)
            assert places
            assert all(place.startswith("/tools/holdfast/") for place in places), places
            for place in places:
                if "events" not in place and "/change" not in place and "out" not in place:
                    assert web("GET", place).status == 200, place
        assert web("GET", "/tools/holdfast").status == 200
        assert "holdfast token make" in web("GET", "/tools/holdfast/login").body.decode()
        refused = web("POST", "/tools/holdfast/login", b"token=x", content_type=form)
        assert (refused.status, "That is no valid token." in refused.body.decode()) == (401, True)
        entered = web("POST", "/tools/holdfast/login", f"token={token}".encode(), content_type=form)
        assert entered.headers["location"] == "/tools/holdfast/"
        assert "Path=/tools/holdfast;" in entered.headers["set-cookie"]
        left = web("POST", "/tools/holdfast/logout", b"", content_type=form)
        assert left.headers["location"] == "/tools/holdfast/login"
        for words in ('holdfast_token=""', "Max-Age=0", "Path=/tools/holdfast;"):  # else it would stay
            assert words in left.headers["set-cookie"]
        assert found("GET", "/tools/holdfast/").headers["location"] == "/tools/holdfast/login"
        assert web("GET", "/tools/holdfast/openapi.json").json["servers"] == [{"url": "/tools/holdfast"}]
        with hf.open(f"{found.url}/tools/holdfast", "a/b", token=token) as router:
            assert router.tell(router.ask().id, 0.5).new
