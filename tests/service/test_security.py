"""Rights of tokens, protection of browsers, and secrets that never leave."""

import contextlib
import json
import re
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from commands import command_here
from service import GAME, Events, InProcess, InThread, Web, ask, problem

import holdfast as hf
from holdfast.errors import HoldfastError
from holdfast.service import access
from holdfast.service.access import Access, TokenFile
from holdfast.service.app import Limits
from holdfast.service.server import serve


def set_clock(monkeypatch, now, monotonic=time.monotonic):
    """Give those who look at tokens and rates this time; others, such as a server's event loop, keep their own."""
    monkeypatch.setattr(access, "time", SimpleNamespace(time=now, monotonic=monotonic))


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
    ("PUT", "/v1/games/chat", {**GAME, "settings": "code"}, "admin"),
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
    problem(web("GET", "/v1/games/chat2"), 403)
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
    token = tokens.make("decide", lifetime=timedelta(days=2))
    web = Web(guarded.port, token)
    assert web("GET", "/v1/games").status == 200
    set_clock(monkeypatch, lambda: time.time() + 2 * 86_400 + 1)
    problem(web("GET", "/v1/games"), 401)
    problem(Web(guarded.port, written["read"])("PATCH", "/v1/games/chat", {"remember": 9}), 403)
    said = [record.getMessage() for record in caplog.records]
    assert f"a token was refused: {token.split('_')[1]}" in said
    assert f"a token was refused: {written['read'].split('_')[1]} has the role read, and admin is needed" in said
    assert token.split("_", 2)[2] not in "".join(said)
    monkeypatch.undo()
    access_now, client = Access(tokens), tokens.find(token)
    assert access_now.knows(client)  # as a stream asks each second
    set_clock(monkeypatch, lambda: client.expires)
    assert not access_now.knows(client)
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


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), ("no certificate", "PEM")])
def test_a_certificate_that_cannot_be_used_is_named(content, said, tmp_path):
    file = tmp_path / "chain.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(hf.InvalidParameter, match=f"^certificate must be a PEM file that can be read.*{said}"):
        serve("memory:", certificate=file)


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


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_cookie_of_a_server_behind_tls_stays_there(tmp_path, scheme):
    tokens = TokenFile(tmp_path / "tokens.json")
    body = f"token={tokens.make('read')}".encode()
    with InThread(f"sqlite:///{tmp_path}/games.db", tokens.path, proxies=["127.0.0.1"]) as web:
        forwarded = {
            "x_forwarded_for": "192.0.2.1",
            "x_forwarded_proto": scheme,
            "origin": f"http://127.0.0.1:{web.port}",
        }
        signed = web("POST", "/login", body, content_type="application/x-www-form-urlencoded", **forwarded)
    assert signed.status == 303
    assert ("Secure" in signed.headers["set-cookie"]) == (scheme == "https")


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
    id = written["admin"].split("_")[1]
    change = web("GET", "/v1/games/other/changes").json["changes"][-1]
    assert change["reason"] == f"night rates (token {id})"
    web("PATCH", "/v1/games/other", {"switching_cost": 0.5, "reason": "r" * 180})
    change = web("GET", "/v1/games/other/changes").json["changes"][-1]
    assert change["reason"] == f"{'r' * 170} (token {id})"  # the whole is no longer than a reason may be
    for wrong in (b"cost=x&reason=y&confirmed=yes", b"cost=1&confirmed=yes", b"cost=-1&reason=y&confirmed=yes"):
        assert web("POST", "/games/other/change", wrong, **form).status == 422


def test_each_token_has_a_rate_of_its_own(tmp_path):
    """So low that time does not matter: one request each."""
    tokens = TokenFile(tmp_path / "tokens.json")
    written = [tokens.make("read") for _ in range(2)]
    with InThread(f"sqlite:///{tmp_path}/games.db", tokens.path, limits=Limits(rate=1e-4)) as web:
        answers = [Web(web.port, token)("GET", "/v1/games") for token in (*written, *written)]
        assert [answer.status for answer in answers] == [200, 200, 429, 429]
        assert problem(answers[2], 429)["detail"] == "more than 0.0001 requests a second"
        assert answers[2].headers["retry-after"] == "1"
        assert web("GET", "/healthz").status == 200


def test_tokens_are_listed_with_their_ends_and_revoked(tmp_path, monkeypatch):
    file, now = str(tmp_path / "tokens.json"), 1_800_000_000.0
    set_clock(monkeypatch, lambda: now)
    for words in (["read"], ["decide", "--lifetime", "1h", "--game", "a,b", "--note", "tests"]):
        made = command_here("token", "make", file, "--role", *words)
        assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    for now, state in ((1_800_000_000.0, "until"), (1_800_003_599.9, "until"), (1_800_003_600.0, "expired")):  # noqa: B007
        listed = command_here("token", "list", file).stdout
        ends = f"decide 2027-01-15 08:00 {state} 2027-01-15 09:00 a,b tests"
        assert re.fullmatch(rf"[0-9a-f]{{8}} read   2027-01-15 08:00 all games \n{token[3:11]} {ends}\n", listed)
        assert [one["role"] for one in json.loads(command_here("token", "list", file, "--json").stdout)] == [
            "read",
            "decide",
        ]
    assert command_here("token", "revoke", file, token[3:11]).stdout == "revoked\n"
    assert command_here("token", "revoke", file, token[3:11]).returncode == 2
    assert [one.role for one in TokenFile(file).known().values()] == ["read"]


@pytest.mark.slow
def test_nothing_secret_is_logged_and_changes_are(tmp_path):
    file = str(tmp_path / "tokens.json")
    token = TokenFile(file).make("admin")
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


@pytest.mark.parametrize(("rate", "burst"), [(0.25, 1), (1.0, 1), (2.5, 2), (3.0, 3)])
def test_a_rate_is_kept_and_a_burst_is_as_large_and_one_at_least(rate, burst, monkeypatch):
    now = [100.0]
    set_clock(monkeypatch, time.time, lambda: now[0])
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
