"""`holdfast doctor`: what is fine, what is wrong, and what it says to do."""

import json
import os
import socket
import stat
from email.message import Message
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from commands import command_here
from service import InThread

import holdfast
from holdfast import doctor
from holdfast.service.access import TokenFile


def examined(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = command_here("doctor", "--json", *arguments)
    assert done.stderr == ""
    return done.returncode, {one["what"]: one for one in json.loads(done.stdout)}


def test_a_whole_installation_is_fine() -> None:
    code, found = examined("--port", "0")
    assert code == 0
    assert {one["state"] for one in found.values()} <= {"ok", "note"}
    assert f"holdfast {holdfast.__version__}" in found["python"]["found"]
    assert {f"extra {name}" for name in doctor.PARTS} <= found.keys()
    words = command_here("doctor", "--port", "0").stdout.splitlines()
    assert len(words) == len(found)
    assert words[0].startswith("ok     python")


def test_a_store_is_timed_and_left_as_it_was(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    code, found = examined(url, "--port", "0")
    assert (code, found["store"]["state"], list(tmp_path.iterdir())) == (0, "note", [])
    with holdfast.open(url, "chat", holdfast.Exp3(arms=["a", "b"])) as router:
        router.ask()
        before = router.history.totals
        code, found = examined(url, "--port", "0")
        assert (code, found["store"]["found"]) == (0, f"{url} can be written; 1 game")
        assert "ms for a durable commit" in found["commit"]["found"]
        assert router.history.totals == before


def test_what_cannot_be_used_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.db").write_text("no store" * 100)
    code, found = examined(f"sqlite:///{tmp_path}/text.db", "--port", "0")
    assert (code, found["store"]["state"]) == (1, "wrong")
    code, found = examined(f"sqlite:///{tmp_path}/none/s.db", "--port", "0")
    assert (code, found["store"]["found"]) == (1, f"{tmp_path}/none is no folder that can be written to")
    code, found = examined("postgresql://someone:secret@127.0.0.1:9/none?connect_timeout=1", "--port", "0")
    assert (code, found["store"]["state"]) == (1, "wrong")
    assert "secret" not in str(found)
    for nobody in ("http://127.0.0.1:9", "http://bad host", "http://[", "https://127.0.0.1:9"):
        code, found = examined(nobody, "--port", "0")
        assert (code, found["server"]["do"]) == (1, "is a `holdfast serve` there?")
    assert command_here("doctor", "--port", "65536").stderr.startswith("holdfast: --port must be")
    code, found = examined("--tokens", str(tmp_path / "none.json"), "--port", "0")
    assert (code, found["tokens"]["state"]) == (1, "wrong")
    monkeypatch.setattr(doctor, "installed", lambda module: module != "psycopg_pool")
    code, found = examined("--port", "0")
    assert code == 0
    assert found["extra store"] == {
        "what": "extra store",
        "state": "note",
        "found": "without psycopg_pool",
        "do": "pip install 'holdfast[store]'",
    }
    monkeypatch.setattr(doctor.time, "time", lambda: 0.0)
    assert examined("--port", "0")[1]["clock"]["state"] == "wrong"


@pytest.mark.parametrize(("middle", "state"), [(0.0499, "ok"), (0.0501, "note")])
def test_a_commit_takes_what_the_middle_one_of_five_does(
    middle: float, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, taken = [0.0], [0.3, 0.01, middle, 0.02, 0.2]

    def commit() -> None:
        now[0] += taken.pop(0)

    opened = SimpleNamespace(names=lambda: [], url="postgresql://h/db", check_writing=commit, close=lambda: None)
    monkeypatch.setattr(doctor, "store_at", lambda url: opened)
    monkeypatch.setattr(doctor, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    _, found = doctor.store("postgresql://h/db")
    assert (found.state, found.found.split(" ms")[0]) == (state, f"{1000 * middle:.1f}")


@pytest.mark.parametrize(
    ("answers", "token", "what", "state", "found"),
    [
        ({"apart": 5}, None, "clock", "ok", "the server's is +5 s from this one's"),
        ({"apart": 6}, None, "clock", "wrong", "the server's is +6 s from this one's"),
        ({"apart": -5}, None, "clock", "ok", "the server's is -5 s from this one's"),
        ({"apart": -6}, None, "clock", "wrong", "the server's is -6 s from this one's"),
        ({}, None, "server", "ok", f"http://h answers; it has holdfast {holdfast.__version__}"),
        ({"version": "0.9.9"}, None, "server", "note", "http://h answers; it has holdfast 0.9.9"),
        ({"/readyz": 503}, None, "its store", "wrong", "cannot be written (status 503)"),
        ({}, None, "token", "ok", "none is needed"),
        ({"/v1/games": 401}, None, "token", "wrong", "one is needed"),
        ({}, "hf_x_y", "token", "ok", "is known"),
        ({"/v1/games": 403}, "hf_x_y", "token", "wrong", "is not known, or allows nothing"),
        ({"/v1/games": 500}, None, "server", "wrong", "no answer that is understood: no"),
    ],
)
def test_what_a_server_says(
    answers: dict[str, Any], token: str | None, what: str, state: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(url: str, path: str, shown: str | None) -> tuple[dict[str, str], bytes]:
        assert shown == token
        if path in answers:
            raise HTTPError(url, answers[path], "no", Message(), None)
        version = {"info": {"version": answers.get("version", holdfast.__version__)}}
        return {"date": formatdate(1e9 + answers.get("apart", 0), usegmt=True)}, json.dumps(version).encode()

    monkeypatch.setattr(doctor, "_get", get)
    monkeypatch.setattr(doctor, "time", SimpleNamespace(time=lambda: 1e9))
    seen = {one.what: one for one in doctor.examined("server", lambda: doctor.server("http://h", token))}
    assert (seen[what].state, seen[what].found) == (state, found)


def test_a_port_that_is_taken_is_noted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        _, found = examined("--port", str(taken.getsockname()[1]))
    assert found["port"]["state"] == "note"
    assert "--port 0" in found["port"]["do"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_cache_that_others_may_write_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "kernels"
    place.mkdir()
    place.chmod(place.stat().st_mode | stat.S_IWOTH)
    monkeypatch.setattr(doctor.cache, "folder", lambda: place)
    code, found = examined("--port", "0")
    assert (code, found["machine code"]["state"]) == (1, "wrong")
    place.chmod(0o700)
    assert examined("--port", "0")[1]["machine code"]["state"] == "note"
    assert list(place.iterdir()) == []


def test_a_server_and_its_tokens(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    written, *_ = (tokens.make(role) for role in ("read", "admin", "read"))
    with InThread(f"sqlite:///{tmp_path}/s.db", tokens=tokens.path) as web:
        code, found = examined(web.url, "--port", "0")
        assert (code, found["token"]["found"]) == (1, "one is needed")
        code, found = examined(web.url, "--token", written, "--tokens", str(tokens.path), "--port", "0")
        assert (code, found["token"]["found"]) == (0, "is known")
        assert found["server"]["found"].endswith(f"it has holdfast {holdfast.__version__}")
        assert found["tokens"]["found"].endswith(f"3 in {tokens.path}: read 2, decide 0, admin 1")
        assert found["its store"]["state"] == "ok"
        code, found = examined(web.url, "--token", written + "x", "--port", "0")
        assert (code, found["token"]["state"]) == (1, "wrong")
