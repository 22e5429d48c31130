"""Rights of tokens, protection of browsers, and secrets that never leave."""

import contextlib
import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from service import GAME, Events, InProcess, InThread, Web, ask, problem

import holdfast as hf
from holdfast.errors import HoldfastError
from holdfast.service import access
from holdfast.service.access import Access, TokenFile
from holdfast.service.app import Limits
from holdfast.service.server import serve


@pytest.fixture(scope="module")
def written(guarded, tokens):
    """A token of each role, and games to try them on."""
    made = {role: tokens.make(role) for role in ("read", "decide", "admin")}
    admin = Web(guarded.port, made["admin"])
    for name in ("chat", "other"):
        assert admin("PUT", f"/v1/games/{name}", GAME).status == 201
    return made


ALLOWED = [
    ("GET", "/v1/games", None, "read"),
    ("GET", "/v1/games/chat", None, "read"),
    ("GET", "/v1/games/chat/export", None, "read"),
    ("GET", "/metrics", None, "read"),
    ("GET", "/", None, "read"),
    ("POST", "/v1/games/chat/decisions", {}, "decide"),
    ("POST", "/v1/games/chat/losses", {"losses": []}, "decide"),
    ("PUT", "/v1/games/chat", GAME, "decide"),
    ("PATCH", "/v1/games/chat", {"remember": 9}, "admin"),
    ("PUT", "/v1/games/new", GAME, "admin"),
    ("DELETE", "/v1/games/new?confirm=new", None, "admin"),
]


@pytest.mark.parametrize(("method", "path", "body", "needed"), ALLOWED)
def test_a_role_may_do_what_those_before_it_may(guarded, written, method, path, body, needed):
    roles = ("read", "decide", "admin")
    for role in roles:
        answer = Web(guarded.port, written[role])(method, path, body)
        if roles.index(role) >= roles.index(needed):
            assert answer.status < 300, answer.body
        else:
            problem(answer, 403)
    if path != "/":
        refused = guarded(method, path, body)
        problem(refused, 401)
        assert refused.headers["www-authenticate"] == "Bearer"


def test_a_token_for_a_game_sees_no_other(guarded, written, tokens):
    web = Web(guarded.port, tokens.make("admin", games=["chat", "gone"]))
    assert web("GET", "/v1/games/chat").status == 200
    problem(web("GET", "/v1/games/other"), 403)
    problem(web("GET", "/v1/games/unheard-of"), 403)
    assert [game["name"] for game in web("GET", "/v1/games").json["games"]] == ["chat"]
    assert problem(web("GET", "/v1/games/gone"), 404)["known"] == ["chat"]
    assert b'"other"' not in web("GET", "/metrics").body  # help texts say "another"
    assert b"other" not in web("GET", "/").body
    assert web("GET", "/games/other").status == 403


def test_a_revoked_token_stops_working_within_a_tenth_of_a_second(guarded, written, tokens):
    web = Web(guarded.port, tokens.make("read"))
    assert web("GET", "/v1/games").status == 200
    tokens.revoke(web.token.split("_")[1])
    time.sleep(0.15)
    problem(web("GET", "/v1/games"), 401)


def test_a_stream_ends_when_its_token_is_revoked(guarded, written, tokens):
    token = tokens.make("read")
    with Events(guarded, "/v1/games/chat", token) as events:
        assert events.until()
        tokens.revoke(token.split("_")[1])
        assert events.until() is None


@pytest.mark.parametrize("shown", ["", "hf_", "hf__", "Bearer", "hf_00000000_", "x" * 5000, "hf_\xff_\xff", "null"])
def test_what_is_no_token_is_refused(guarded, written, shown):
    problem(guarded("GET", "/v1/games", authorization=f"Bearer {shown}"), 401)


def test_a_token_with_another_secret_is_refused(guarded, written):
    id = written["admin"].split("_")[1]
    for kind in ("xhf", "HF", "", "hf_hf"):
        problem(guarded("GET", "/v1/games", authorization=f"Bearer {kind}{written['admin'][2:]}"), 401)
    for secret in ("", "x", written["read"].split("_", 2)[2], written["admin"].split("_", 2)[2][:-1]):
        problem(guarded("GET", "/v1/games", authorization=f"Bearer hf_{id}_{secret}"), 401)


def test_a_token_expires(guarded, written, tokens, monkeypatch, caplog):
    token = tokens.make("decide", lifetime=timedelta(hours=1))
    web, real = Web(guarded.port, token), time.time
    assert web("GET", "/v1/games").status == 200
    monkeypatch.setattr("holdfast.service.access.time.time", lambda: real() + 3601)
    problem(web("GET", "/v1/games"), 401)
    problem(Web(guarded.port, written["read"])("PATCH", "/v1/games/chat", {"remember": 9}), 403)
    said = [record.getMessage() for record in caplog.records]
    assert f"a token was refused: {token.split('_')[1]}" in said
    assert f"a token was refused: {written['read'].split('_')[1]} has the role read, and admin is needed" in said
    assert token.split("_", 2)[2] not in "".join(said)
    for lifetime in (timedelta(0), timedelta(days=36_500, seconds=1)):
        with pytest.raises(hf.InvalidParameter, match="lifetime must be a time above 0 and of at most 36,500 days"):
            tokens.make("read", lifetime=lifetime)


def test_the_file_has_no_secret_and_is_ours_alone(tokens, written):
    text = tokens.path.read_text()
    assert all(token.split("_", 2)[2] not in text for token in written.values())
    assert tokens.path.stat().st_mode & 0o077 == 0


def test_nobody_listens_beyond_this_machine_without_tokens(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(hf.InvalidParameter, match="host must be a loopback address"):
            serve("memory:", host=host)
    with pytest.raises(hf.InvalidParameter, match="tokens must be a file with a token"):
        serve("memory:", host="0.0.0.0", tokens=TokenFile(tmp_path / "none.json"))
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(HoldfastError, match="must be a file that `holdfast token make` wrote"):
        serve("memory:", tokens=TokenFile(tmp_path / "other.json"))


def test_other_sites_cannot_make_a_browser_change_anything(web, game):
    host = f"127.0.0.1:{web.port}"
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ):
        problem(web("POST", f"{game}/decisions", **headers), 403)
    own = web("POST", f"{game}/decisions", origin=f"http://{host}", sec_fetch_site="same-origin")
    assert own.status == 200
    # A name that somebody points at this machine, to read what no other site may.
    problem(web("GET", game, host="evil.example"), 421)
    # A body that a form could send without asking first.
    problem(web("POST", f"{game}/decisions", b"{}", content_type="text/plain"), 415)
    assert web("GET", game).json["rounds"] == 1


def test_every_answer_forbids_frames_and_foreign_scripts(web, game):
    for path in ("/", game, "/nothing", "/login", "/assets/service.js", "/v1/games/nobody"):
        headers = web("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_keeps_its_token_where_scripts_cannot_read_it(guarded, written):
    assert guarded("GET", "/").headers["location"] == "/login"
    form = {"content_type": "application/x-www-form-urlencoded"}
    wrong = guarded("POST", "/login", b"token=hf_x_y", **form)
    assert wrong.status == 401
    assert "set-cookie" not in wrong.headers
    signed = guarded("POST", "/login", f"token={written['admin']}".encode(), **form)
    assert signed.status == 303
    cookie = signed.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    shown = guarded("GET", "/games/chat", cookie=cookie.split(";")[0])
    assert shown.status == 200
    assert written["admin"].encode() not in shown.body
    # The cookie alone is not enough for another site.
    body = b"cost=0.5&reason=x&confirmed=yes"
    change = guarded("POST", "/games/chat/change", body, cookie=cookie.split(";")[0],
                     origin="https://evil.example", **form)  # fmt: skip
    assert change.status == 403


def test_a_change_on_the_page_is_confirmed_and_signed(guarded, written):
    web = Web(guarded.port, written["admin"])
    form = {"content_type": "application/x-www-form-urlencoded"}
    was = web("GET", "/v1/games/other").json["policy"]["switching_cost"]
    looked = web("POST", "/games/other/change", b"cost=0.75&reason=night+rates", **form)
    assert looked.status == 200
    assert f"from {was:g} to 0.75?" in looked.body.decode()
    assert web("GET", "/v1/games/other").json["policy"]["switching_cost"] == was
    done = web("POST", "/games/other/change", b"cost=0.75&reason=night+rates&confirmed=yes", **form)
    assert (done.status, done.headers["location"]) == (303, "/games/other")
    assert web("GET", "/v1/games/other").json["policy"]["switching_cost"] == 0.75
    change = web("GET", "/v1/games/other/changes").json["changes"][-1]
    assert change["reason"] == f"night rates (token {written['admin'].split('_')[1]})"
    for wrong in (b"cost=x&reason=y&confirmed=yes", b"cost=1&confirmed=yes", b"cost=-1&reason=y&confirmed=yes"):
        assert web("POST", "/games/other/change", wrong, **form).status == 422


def test_rates_are_limited(tmp_path):
    with InThread(f"sqlite:///{tmp_path}/games.db", limits=Limits(rate=5)) as web:
        web("PUT", "/v1/games/g", GAME)
        answers = [web("GET", "/v1/games/g/hold") for _ in range(20)]
        refused = [answer for answer in answers if answer.status != 200]
        assert 5 <= len(refused) <= 16
        assert problem(refused[0], 429)
        assert refused[0].headers["retry-after"] == "1"
        assert web("GET", "/healthz").status == 200


@pytest.mark.slow
def test_nothing_secret_is_logged_and_changes_are(tmp_path):
    run = [sys.executable, "-m", "holdfast", "token"]
    file = str(tmp_path / "tokens.json")
    made = subprocess.run([*run, "make", file, "--role", "admin", "--note", "tests"], capture_output=True, text=True)
    token = made.stdout.strip()
    listed = subprocess.run([*run, "list", file], capture_output=True, text=True).stdout
    assert "admin" in listed
    assert "all games" in listed
    assert token.split("_", 2)[2] not in listed
    with InProcess(f"sqlite:///{tmp_path}/games.db", "--tokens", file) as server:
        web = Web(server.port, token)
        web("PUT", "/v1/games/g", GAME)
        ask(web, "/v1/games/g")
        web("PATCH", "/v1/games/g", {"switching_cost": 0.5, "reason": "cheaper"})
        web("GET", f"/v1/games/{token}")
        server.web.raw(b"GET / HTTP/9\r\nauthorization: " + token.encode() + b"\r\n\r\n")
        assert server.stop() in (0, -15)  # by the signal, after all was answered
    assert token.split("_", 2)[2] not in server.errors
    lines = [json.loads(line) for line in server.errors.splitlines()]
    said = [line["message"] for line in lines if "level" in line]
    assert said == [
        f"Holdfast {hf.__version__} serves sqlite:///{tmp_path}/games.db",
        "Invalid HTTP request received.",
        "Holdfast stops",
    ]
    assert all(datetime.fromisoformat(line["at"]).tzinfo is UTC for line in lines)
    changes = [line for line in lines if "did" in line]
    assert [(line["did"], line["game"]) for line in changes] == [("began", "g"), ("changed", "g")]
    assert {line["token"] for line in changes} == {token.split("_")[1]}
    gone = subprocess.run([*run, "revoke", file, token.split("_")[1]], capture_output=True, text=True)
    assert gone.stdout == "revoked\n"
    assert TokenFile(file).known() == {}


@pytest.mark.parametrize(("rate", "burst"), [(0.25, 1), (1.0, 1), (2.5, 2), (3.0, 3)])
def test_a_rate_is_kept_and_a_burst_is_as_large_and_one_at_least(rate, burst, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    limit = Access(None, rate)

    def answered(client: str = "one client") -> int:
        count = 0
        with contextlib.suppress(access.Refused):
            while True:
                limit._spend(client)
                count += 1
        return count

    assert answered() == burst
    assert answered("another") == burst
    now[0] += (1 - (max(rate, 1) - burst)) / rate - 1e-6  # what a burst leaves counts
    assert answered() == 0
    now[0] += 2e-6
    assert answered() == 1
    now[0] += 1000.0
    assert answered() == burst
