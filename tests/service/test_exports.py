"""Exports and replays: a few at a time, as slowly as their clients take them, and decisions do not wait for them."""

import io
import socket
import time

import polars as pl
import pytest
from service import GAME, InThread, ask, problem

import holdfast as hf
from holdfast.decisions import history
from holdfast.service import exports


def game_with(url, rounds):
    long = hf.BlockExp3(arms=["a" * 2000, "b" * 2000], switching_cost=1000.0, horizon=100_000)
    with hf.open(url, "g", long, seed=1) as router:
        for _ in range(rounds // 500):
            router.tell([(d.id, 0.5) for d in router.ask(500)])
        return router.history.log


def unread(web, path):
    """A request whose answer nobody takes."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(("127.0.0.1", web.port))
    wire.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
    assert wire.recv(12) == b"HTTP/1.1 200"
    return wire


def until(true, what, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.mark.slow
def test_exports_that_nobody_takes_hold_up_no_one(tmp_path, monkeypatch):
    """The third is refused, a fraction of the log is read, others decide; closed or given up, they make room."""
    read, rows = [], history._rows_after

    def counted(place, *given):
        read.append(place)
        return rows(place, *given)

    monkeypatch.setattr(history, "_rows_after", counted)
    monkeypatch.setattr(history, "MOST_ROUNDS", 250)
    url = f"sqlite:///{tmp_path}/games.db"
    game_with(url, 20_000)
    read.clear()
    app = InThread(url)
    with app as web:
        export = "/v1/games/g/export?format=csv"
        first, second = unread(web, export), unread(web, export)
        refused = web("GET", export)
        assert "2 exports or replays are being made" in problem(refused, 503)["detail"]
        assert refused.headers["retry-after"] == "1"
        problem(web("GET", "/v1/games/g/replay?switching_cost=1"), 503)
        assert web("HEAD", export).status == 200
        web("PUT", "/v1/games/other", GAME)
        assert len(ask(web, "/v1/games/other", 3)) == 3
        time.sleep(0.3)
        assert len(read) < 40  # of 160: what lies in the buffers of the system, twice
        first.close()
        until(lambda: app.service.slow._busy == 1, "a closed export keeps its place")
        monkeypatch.setattr(exports.Slow, "stalled", 0.2)
        third = unread(web, export)
        until(lambda: app.service.slow._busy == 1, "an export that stalls is not given up")
        second.close()
        third.close()
        until(lambda: app.service.slow._busy == 0, "an export keeps its place")
        assert web("GET", "/healthz").status == 200


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_export_in_parts_is_the_log(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(history, "MOST_ROUNDS", 77)
    url = f"sqlite:///{tmp_path}/games.db"
    log = game_with(url, 500)
    with InThread(url) as web:
        body = web("GET", f"/v1/games/g/export?format={kind}").body
    if kind == "parquet":
        assert pl.read_parquet(io.BytesIO(body)).equals(log)
        return
    found = pl.read_csv(body) if kind == "csv" else pl.read_ndjson(body)
    assert found.columns == log.columns
    for name in ("id", "arm", "loss"):
        assert found[name].to_list() == log[name].to_list()
    told = found["told"].str.to_datetime(time_zone="UTC")
    assert (told == log["told"]).all()  # to the microsecond


def test_what_cannot_be_exported_is_said(web, game):
    problem(web("GET", f"{game}/export?format=xml"), 422, hf.InvalidParameter)
    problem(web("GET", f"{game}/export?what=secrets"), 422, hf.InvalidParameter)
    problem(web("GET", "/v1/games/nobody/export"), 404, hf.UnknownGame)


def test_reading_rests_as_long_as_it_works(monkeypatch):
    now, rested = [0.0], []
    monkeypatch.setattr("holdfast.service.exports.time", type("clock", (), {
        "monotonic": staticmethod(lambda: now[0]), "sleep": staticmethod(rested.append)}))  # fmt: skip

    def parts():
        for seconds in (0.25, 0.5, 3.0):
            now[0] += seconds
            yield seconds

    assert list(exports.gently(parts())) == [0.25, 0.5, 3.0]
    assert rested == [0.25, 0.5, 1.0]
