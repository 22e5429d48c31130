"""Malformed, huge, slow, deep and wrong: an answer that says so, never an error of the server, and nothing changed."""

import json

import pytest
import service_fuzz
from hypothesis import HealthCheck, given, settings, strategies as st
from service import GAME, InThread, ask, problem

from holdfast.service.api import OPERATIONS
from holdfast.service.app import Limits

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
BODIES = st.dictionaries(st.sampled_from(service_fuzz.FIELDS), JSON, max_size=6) | JSON
PATHS = sorted({one.path for one in OPERATIONS if "events" not in one.path})
NAMES = st.sampled_from(
    ["chat", "a%2Fb", "%00", "%ff", "..", "%2e%2e", "%0d%0aX-A:1", "' OR 1=1", "%F0%9F%98%80", "x" * 300]
)


def is_well(answer):
    """Less than 500, and a problem document where it is refused."""
    assert answer.status < 500 or answer.status == 501, (answer.status, answer.body)
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json["status"] == answer.status
        assert "Traceback" not in answer.body.decode()
        assert "site-packages" not in answer.body.decode()


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE"]),
    path=st.sampled_from(PATHS),
    name=NAMES,
    body=BODIES,
    query=st.text(alphabet="abcdefnlimtcurso=&%0159-+", max_size=25),
)
def test_whatever_is_sent_is_answered_in_words(web, method, path, name, body, query):
    name = name.replace(" ", "%20").replace("'", "%27")
    place = path.replace("{name}", name).replace("{id}", "a-1-0-b")
    data = json.dumps(body).encode()
    is_well(web(method, f"{place}?{query}", None if method in ("GET", "DELETE") else data))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nul",
        b"[" * 100_000,
        b'{"n":' * 50_000,
        b'{"n": NaN}',
        b'{"n": 1e999}',
        b'{"n": ' + b"9" * 10_000 + b"}",
        b'{"n": 1, "n": 2, "x": 3}',
        b'{"n": "\\ud800"}',
        b"\xff\xfe{}",
        '{"n": 1}'.encode("utf-16"),
        b"\x00" * 100,
        b'{"request": "\\u0000"}',
        b'{"n": true}',
        b'{"n": -1}',
        b'{"n": 100001}',
    ],
)
def test_bodies_that_are_no_request(web, game, body):
    for method, path in (("POST", f"{game}/decisions"), ("POST", f"{game}/losses"), ("PATCH", game)):
        answer = web(method, path, body)
        is_well(answer)
        if not (body == b"" and path.endswith("decisions")):
            assert answer.status >= 400
    assert web("GET", game).json["rounds"] == (1 if body == b"" else 0)


def test_numbers_that_no_loss_can_be(web, game):
    (decision,) = ask(web, game)
    for loss in ("NaN", "Infinity", "1e400", "-1", "2", '"0.5"', "true", "null", "[0.5]", "{}", "9" * 400):
        answer = web("PUT", f"{game}/decisions/{decision['id']}/loss", f'{{"loss": {loss}}}'.encode())
        is_well(answer)
        assert 400 <= answer.status < 500
    assert web("GET", f"{game}/summary").json["told"] == 0


def test_a_body_that_is_too_long(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db", limits=Limits(body=2000)) as web:
        web("PUT", "/v1/games/g", GAME)
        problem(web("POST", "/v1/games/g/losses", b" " * 3000), 413)
        for longer, status in ((0, 200), (1, 413)):
            assert web("POST", "/v1/games/g/losses", b'{"losses": []}'.ljust(2000 + longer)).status == status
        head = b"POST /v1/games/g/losses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        chunked = head + b"transfer-encoding: chunked\r\n\r\n" + b"3e8\r\n" + b" " * 1000 + b"\r\n"
        chunked += 4 * (b"3e8\r\n" + b" " * 1000 + b"\r\n")
        assert b" 413 " in web.raw(chunked)
        assert b" 413 " in web.raw(head + b"content-length: 99999999999999\r\n\r\n")
        assert web("GET", "/healthz").status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx y: z\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET * HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 100_000,
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_hardly_http(web, data):
    said = web.raw(data, seconds=1.0)
    assert not said.startswith(b"HTTP/1.1 5")
    assert web("GET", "/healthz").status == 200


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db", limits=Limits(body_seconds=0.3)) as web:
        web("PUT", "/v1/games/g", GAME)
        slow = b"POST /v1/games/g/losses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 50\r\n\r\n{"
        assert b" 408 " in web.raw(slow, seconds=8)
        assert web("GET", "/healthz").status == 200


@pytest.mark.slow
def test_thousands_of_random_requests_leave_the_server_well(web):
    seen = service_fuzz.play(web.port, 2000)
    assert seen[200] > 500
    assert {400, 404, 405, 415, 422} <= seen.keys()
