"""OpenFeature: the protocol, and the official providers for Python and Node against a real server."""

import json
import logging
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pages import ROOT, blocks
from service import InThread, Web

import holdfast as hf
from holdfast.service.access import TokenFile

CHAT = {"policy": "adaptive", "arms": ["model-a", "model-b"], "switching_cost": 0, "learn_after": 1, "seed": 1}
FLAGS = "/ofrep/v1/evaluate/flags"
NODE = ROOT / ".venv-node"


@pytest.fixture(autouse=True)
def _unfiltered() -> None:
    logging.getLogger("holdfast.adapters.openfeature").filters.clear()  # which leave out what another test has said


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with InThread(f"sqlite:///{tmp_path}/s.db") as web:
        assert web("PUT", "/v1/games/chat", CHAT).status == 201
        yield web


def evaluate(web: Web, name: str, key: str | None = None, **headers: str) -> Any:
    context = {} if key is None else {"targetingKey": key, "plan": "gold"}
    return web("POST", f"{FLAGS}/{name}", {"context": context}, **headers)


def totals(web: Web, name: str = "chat") -> Any:
    return web("GET", f"/v1/games/{name}/summary").json


def test_a_flag_is_a_decision(web: Web) -> None:
    found = evaluate(web, "chat", "conversation 17").json
    assert found["key"] == "chat"
    assert found["value"] == found["variant"]
    assert (found["value"] in CHAT["arms"], found["reason"]) == (True, "SPLIT")
    assert found["metadata"].keys() == {"decision", "probability", "block", "asked"}
    assert {evaluate(web, "chat", "conversation 17").json["value"] for _ in range(9)} == {found["value"]}
    assert web("PUT", f"/v1/games/chat/decisions/{found['metadata']['decision']}/loss", {"loss": 0.5}).status == 200
    assert (totals(web)["rounds"], totals(web)["told"]) == (10, 1)
    assert {evaluate(web, "chat", f"other {n}").json["value"] for n in range(20)} == set(CHAT["arms"])
    first, again = (evaluate(web, "chat", Idempotency_Key="order 1").json["metadata"]["decision"] for _ in range(2))
    assert first == again
    assert web("POST", f"{FLAGS}/chat").status == 200  # no body


def test_values_have_the_types_of_arms(web: Web) -> None:
    web("PUT", "/v1/games/on%2Foff", {**CHAT, "arms": ["true", "false"]})
    found = evaluate(web, "on%2Foff").json
    assert found["value"] is (found["variant"] == "true")
    assert found["key"] == "on/off"
    web("PUT", "/v1/games/numbers", {"policy": "exp3", "parameters": {"n_arms": 3}})
    found = evaluate(web, "numbers").json
    assert found["variant"] == str(found["value"])
    assert isinstance(found["value"], int)


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("none", {}, 404, "FLAG_NOT_FOUND"),
        ("chat", {"context": {"targetingKey": "\n"}}, 400, "INVALID_CONTEXT"),
        ("chat", {"context": {"targetingKey": "x" * 201}}, 400, "INVALID_CONTEXT"),
        ("chat", {"context": {"targetingKey": 7}}, 400, "PARSE_ERROR"),
        ("chat", {"context": None}, 400, "PARSE_ERROR"),
        ("chat", b"{", 400, "PARSE_ERROR"),
        ("stuck", {}, 409, "GENERAL"),
    ],
)
def test_refusals_are_those_of_the_protocol(web: Web, name: str, body: Any, status: int, code: str) -> None:
    with hf.open(web.url, "stuck", hf.BaSE(arms=["a", "b"], horizon=100)) as router:
        while True:
            try:
                router.ask(50)
            except hf.OutOfTurn:
                break
    answer = web("POST", f"{FLAGS}/{name}", body)
    assert (answer.status, answer.json["key"], answer.json["errorCode"]) == (status, name, code)
    assert answer.json["errorDetails"] == answer.json["detail"]
    assert answer.json["status"] == status


def test_a_store_that_is_away_is_asked_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(name: str, work: Any) -> Any:
        raise hf.StoreError("it is away")

    app = InThread(f"sqlite:///{tmp_path}/s.db")
    with app as web:
        monkeypatch.setattr(app.service.games, "with_game", away)
        answer = evaluate(web, "chat")
    assert (answer.status, answer.json["errorCode"], answer.headers["retry-after"]) == (503, "GENERAL", "1")


def test_all_flags_record_nothing(web: Web) -> None:
    web("PUT", "/v1/games/new", CHAT)
    with hf.open(web.url, "held", hf.TsallisSwitch(arms=["a", "b"], switching_cost=5.0)) as router:
        arm = router.ask().arm
    one = evaluate(web, "chat", "someone").json["value"]
    before = totals(web)
    answer = web("POST", FLAGS, {"context": {"targetingKey": "someone"}})
    flags = {flag["key"]: flag for flag in answer.json["flags"]}
    assert flags.keys() == {"held", "chat"}
    assert (flags["held"]["value"], flags["chat"]["value"]) == (arm, one)
    assert flags["held"]["metadata"] == {}
    assert totals(web) == before
    tag = answer.headers["etag"]
    unchanged = web("POST", FLAGS, {"context": {"targetingKey": "someone"}}, If_None_Match=tag)
    assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", tag)
    assert web("POST", FLAGS, {"context": {"targetingKey": "someone"}}, If_None_Match='"another"').status == 200
    assert "chat" not in {flag["key"] for flag in web("POST", FLAGS).json["flags"]}


def test_tokens_are_asked_for(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    reads, decides = tokens.make("read", ["chat"]), tokens.make("decide", ["chat"])
    for name in ("chat", "secret"):
        with hf.open(f"sqlite:///{tmp_path}/s.db", name, hf.Exp3(arms=["a", "b"])) as router:
            router.ask()
    with InThread(f"sqlite:///{tmp_path}/s.db", tokens=tokens.path) as web:
        assert evaluate(web, "chat").status == 401
        reader, decider = Web(web.port, reads), Web(web.port, decides)
        assert evaluate(reader, "chat").status == 403
        assert evaluate(decider, "chat").status == 200
        assert evaluate(decider, "secret").status == 403
        assert [flag["key"] for flag in reader("POST", FLAGS).json["flags"]] == ["chat"]


def python_of(web: Web, name: str = "python") -> str:
    return dict(blocks(ROOT / "docs/openfeature.md"))[name].replace("8080", str(web.port))


def told(web: Web, count: int) -> Any:
    for _ in range(500):
        if totals(web)["told"] >= count:
            break
        time.sleep(0.01)
    return totals(web)


@pytest.fixture
def sdk() -> SimpleNamespace:
    """OpenFeature's SDK for Python, and our adapter."""
    api = pytest.importorskip("openfeature.api", reason="make .venv/.partners installs it")
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails

    from holdfast.adapters import openfeature as adapter

    return SimpleNamespace(api=api, Context=EvaluationContext, Details=TrackingEventDetails, adapter=adapter)


@pytest.mark.slow
def test_python_as_the_page_says(web: Web, sdk: SimpleNamespace, caplog: Any) -> None:
    found: dict[str, Any] = {}
    exec(python_of(web), found)
    client, turn = found["client"], found["turn"]
    assert found["model"] in CHAT["arms"]
    seen = told(web, 1)
    assert (seen["told"], seen["losses"]) == (1, 0.12)
    details = client.get_string_details("chat", "default", turn)
    assert details.value == found["model"]
    assert details.flag_metadata["probability"] == pytest.approx(0.5)
    client.track("chat", sdk.Context("nobody"), sdk.Details(0.5))
    client.track("chat", turn)  # what it has lost is not said
    assert client.get_string_value("no such game", "default", turn) == "default"
    assert client.get_boolean_value("chat", True, turn) is True  # of another type
    sdk.api.shutdown()
    assert told(web, 1)["told"] == 1
    assert "nothing was decided by 'chat' for 'nobody'" in caplog.text
    assert "the loss of 'chat' was refused" in caplog.text


@pytest.mark.slow
def test_python_without_a_server_has_its_default(sdk: SimpleNamespace, caplog: Any) -> None:
    provider = sdk.adapter.HoldfastProvider("http://127.0.0.1:9", timeout=1.0)
    sdk.api.set_provider(provider)
    context = sdk.Context("k")
    assert sdk.api.get_client().get_string_value("chat", "default", context) == "default"
    provider._decided["chat", "k"] = "made before"
    sdk.api.get_client().track("chat", context, sdk.Details(0.5))
    sdk.api.shutdown()
    assert "the loss of 'chat' was not told" in caplog.text
    sdk.api.get_client().track("chat", context, sdk.Details(0.5))  # after the end


@pytest.mark.slow
def test_a_server_that_hangs_holds_up_nobody(sdk: SimpleNamespace, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sdk.adapter, "MOST", 30)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        provider = sdk.adapter.HoldfastProvider(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=1.0)
        provider._decided["chat", "k"] = "made before"
        begun = time.monotonic()
        for loss in [0.5] * 40:
            provider.track("chat", sdk.Context("k"), sdk.Details(loss))
        provider.shutdown()
        assert time.monotonic() - begun < 15.0  # one after the other it takes 30
    assert "not told, nor are those of the next 5 s" in caplog.text
    assert "not told: 30 wait already" in caplog.text


@pytest.mark.slow
def test_answers_that_make_no_sense_are_the_default(sdk: SimpleNamespace, caplog: Any) -> None:
    flag = {"key": "chat", "value": "a", "variant": "a", "reason": "SPLIT", "metadata": {"decision": "d"}}
    wrong: list[Any] = [None, 1, [], {}, "x", {"decision": None}, {"decision": []}, {"decision": "\ud800"}]
    said = [json.dumps({**flag, name: value}).encode() for name in flag for value in wrong]
    said += [b"", b"<html>", b"null", b"[]", b"{}", b"[" * 100_000, b"\xff"]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said[-1])

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        provider = sdk.adapter.HoldfastProvider(f"http://127.0.0.1:{server.server_address[1]}", timeout=5.0)
        sdk.api.set_provider(provider)
        client, seen = sdk.api.get_client(), set()
        while said:
            for context in (sdk.Context("k"), sdk.Context(None), None):
                seen.add(client.get_string_value("chat", "default", context))
                client.track("chat", context, sdk.Details(float("nan")))
            said.pop()
        server.shutdown()
    assert seen <= {"default", "a", "x"}
    assert provider._rests == 0.0  # the server did answer
    sdk.api.shutdown()


@pytest.mark.slow
def test_node_as_the_page_says(web: Web) -> None:
    node = shutil.which("node")
    if node is None or not (NODE / "installed").exists():
        pytest.skip("needs Node and OpenFeature: scripts/openfeature installs it")
    program = NODE / f"page-{web.port}.mjs"

    def played(text: str) -> str:
        program.write_text(text)
        try:
            done = subprocess.run([node, program], capture_output=True, text=True, timeout=60)
        finally:
            program.unlink()
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert played(python_of(web, "js")) in CHAT["arms"]
    assert (totals(web)["told"], totals(web)["losses"]) == (1, 0.12)
    default = played(python_of(web, "js").replace('getStringDetails("chat"', 'getStringDetails("none"'))
    assert default == "model-a"


def test_the_versions_of_the_page_are_those_installed() -> None:
    page = (ROOT / "docs/openfeature.md").read_text().replace("\n", " ").split("Tested with ")[1].split("; once")[0]
    pinned = (ROOT / "constraints.txt").read_text()
    for name, number in re.findall(r"(openfeature-[\w-]+) ([\d.]+\d)", page):
        assert f"{name}=={number}" in pinned
    script = (ROOT / "scripts/openfeature").read_text()
    for name, number in re.findall(r"(@openfeature/[\w-]+) ([\d.]+\d)", page):
        assert f"{name}@{number}" in script
