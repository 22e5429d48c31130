"""Too many connections: closed at once, one line a second, and whoever has a token gets in."""

import http.client
import logging
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from service import GAME, InThread, Web
from threads import at_once

import holdfast as hf
from holdfast.logs import Sparse
from holdfast.service.access import TokenFile
from holdfast.service.app import Limits
from holdfast.service.server import Gate, checked_proxy

MOST, EACH = 12, 8


@pytest.fixture
def guarded(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.make("admin")
    app = InThread(f"sqlite:///{tmp_path}/games.db", tokens.path, gate=Gate(MOST, EACH))
    with app as web:
        yield app, Web(web.port, token)


def connected(web):
    return socket.create_connection(("127.0.0.1", web.port), timeout=10)


def closed(wire):
    """True once the server has closed the connection."""
    try:
        return wire.recv(1) == b""
    except ConnectionError:
        return True


def test_strangers_make_room_for_a_client_with_a_token(guarded, caplog):
    """Many idle connections of one address: the oldest are closed, and none stays open beyond the limit."""
    app, web = guarded
    assert web("PUT", "/v1/games/g", GAME).status == 201
    with ExitStack() as stack:
        known = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
        stack.callback(known.close)

        def ask():
            known.request("POST", "/v1/games/g/decisions", headers={"authorization": f"Bearer {web.token}"})
            return known.getresponse().read()

        assert b"decisions" in ask()
        idle = [stack.enter_context(connected(web)) for _ in range(40)]
        assert all(closed(wire) for wire in idle[: 40 - EACH])
        assert web("GET", "/v1/games/g").status == 200
        assert len(app.connections) <= EACH + 1  # the last one may be closing
        assert b"decisions" in ask(), "a connection that was admitted is never the one that is closed"
    said = [one.getMessage() for one in caplog.records if "connections" in one.getMessage()]
    assert said[0] == f"more than {EACH} connections of one address at once: closed one of 127.0.0.1"


def test_one_who_holds_all_with_a_token_is_the_one_refused(guarded):
    app, web = guarded
    with ExitStack() as stack:
        mine = [http.client.HTTPConnection("127.0.0.1", web.port, timeout=10) for _ in range(EACH)]
        for one in mine:
            stack.callback(one.close)
            one.request("GET", "/v1/games", headers={"authorization": f"Bearer {web.token}"})
            assert one.getresponse().read()
        assert closed(stack.enter_context(connected(web)))
        assert len(app.connections) == EACH


class Held:
    """What a gate needs of a connection."""

    def __init__(self):
        self.closed = False
        self.transport = self

    def abort(self):
        self.closed = True


def test_a_named_proxy_has_the_whole_number_and_a_house_of_addresses_counts_as_one():
    gate = Gate(5, 2, ["10.0.0.0/24"])
    proxied = [Held() for _ in range(4)]
    for one in proxied:
        gate.enter(one, "10.0.0.9")
        gate.admit(one)
    house = [Held(), Held(), Held()]
    for i, one in enumerate(house):
        gate.enter(one, f"2001:db8::{i}")
    assert [one.closed for one in house] == [True, True, False]
    assert not any(one.closed for one in proxied)
    for one in (*proxied, *house):
        gate.leave(one)
    gate.enter(last := Held(), "2001:db8::9")
    assert not last.closed
    assert [gate.place_of(f"::ffff:192.0.2.{i}") for i in (1, 2)] == ["::ffff:192.0.2.1", "::ffff:192.0.2.2"]
    with pytest.raises(hf.InvalidParameter, match="proxy must be an address or a network"):
        checked_proxy("nginx")


@pytest.mark.parametrize("proxies", [[], ["10.1.1.1"], ["127.0.0.1"]])
def test_forwarded_addresses_count_from_named_proxies_only(tmp_path, proxies):
    """With one request for an address: one client behind ten addresses, or ten clients."""
    with InThread(f"sqlite:///{tmp_path}/games.db", limits=Limits(rate=1e-4), proxies=proxies) as web:
        answers = [web("GET", "/v1/games", x_forwarded_for=f"192.0.2.{i}").status for i in range(10)]
    assert answers == ([200] * 10 if proxies == ["127.0.0.1"] else [200] + [429] * 9)


def test_a_warning_that_repeats_is_one_line_a_second(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr("holdfast.logs.time", SimpleNamespace(monotonic=lambda: now[0]))
    log = logging.Logger("own")
    log.addHandler(handler := logging.Handler())
    handler.addFilter(Sparse())
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    for _ in range(5000):
        now[0] += 0.001
        log.warning("the store %s is away", "x")
        log.info("a change")
    repeated = [line for line in said if "away" in line]
    assert repeated[0] == "the store x is away"
    assert repeated[1] == "the store x is away (and 999 more like this)"
    assert len(repeated) == 5
    assert said.count("a change") == 5000


def test_many_who_begin_one_game_see_one_begin(tmp_path):
    barrier = threading.Barrier(8)
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:

        def begin(_):
            barrier.wait()
            return web("PUT", "/v1/games/g", GAME).status

        found = at_once(8, begin)
    assert sorted(found) == [200] * 7 + [201]
