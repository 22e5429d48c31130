"""Run what a page on another tool shows to copy, with the Holdfast and the tool that are installed.

    python scripts/page_snippets.py litellm file:///.../holdfast-0.5.0-py3-none-any.whl

`nox -s pages` does it for each page in a fresh environment, from the wheel. Only addresses, ports and paths are
changed. Ends with a message at the first thing that does not work; what this machine lacks is named and left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import holdfast as hf

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TURNS = 12
PATIENCE = 120.0
"""Seconds for anything to happen: first uses compile, on busy machines."""


def main(page: str, wheel: str, more: list[str]) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    by_language: dict[str, list[str]] = {}
    for language, code in blocks:
        by_language.setdefault(language, []).append(code)
    assert "/src/" not in hf.__file__, f"{hf.__file__} is not what was installed"
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch prices from the network
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in CHECKS[page, bool(more)]:
            began = time.perf_counter()
            check(by_language, wheel)
            print(f"{time.perf_counter() - began:6.1f} s  ok  {check.__name__}", flush=True)


# ---- LiteLLM


def litellm_sdk(code: dict[str, list[str]], wheel: str) -> None:
    names: dict[str, Any] = {}
    exec(code["python"][0], names)
    params = {"model": "openai/gpt-4o", "api_key": "none", "mock_response": "hello"}
    chat = names["litellm"].Router(
        model_list=[
            {"model_name": "chat", "litellm_params": params, "model_info": {"id": id}} for id in ("openai", "azure")
        ]
    )

    async def turns() -> None:
        while _told("sqlite:///router.db", "chat") < TURNS:  # while its game is opened, it stands aside
            await chat.acompletion("chat", [{"role": "user", "content": f"question {time.time()}"}])
            await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(turns(), PATIENCE))


def litellm_proxy(code: dict[str, list[str]], wheel: str) -> None:
    from importlib.metadata import version

    config = code["yaml"][0]
    if tuple(map(int, version("litellm").split(".")[:2])) < (1, 100):  # as the page says of older ones
        Path("my_routing.py").write_text("from holdfast.adapters.litellm import routing\n")
        config = config.replace("holdfast.adapters.litellm.routing", "my_routing.routing")
    Path("config.yaml").write_text(config)
    port = _free()
    with _models() as models:
        keys = {"OPENAI_API_KEY": "none", "AZURE_API_KEY": "none", "AZURE_API_VERSION": "2024-10-21"}
        key = keys["LITELLM_MASTER_KEY"] = f"sk-{secrets.token_hex(32)}"
        bases = {"OPENAI_API_BASE": f"{models}/v1", "OPENAI_BASE_URL": f"{models}/v1", "AZURE_API_BASE": models}
        with _process([BIN / "litellm", "--config", "config.yaml", "--port", port], port, **keys, **bases):
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            asked = {"model": "chat"}

            def turn(number: int) -> bool:
                _sent("POST", url, {**asked, "messages": [{"role": "user", "content": f"question {number}"}]}, key)
                return _told("sqlite:///holdfast.db", "chat") >= TURNS

            numbers = iter(range(10_000))
            _until(lambda: turn(next(numbers)), "the proxy's requests are not told")


@contextmanager
def _models() -> Iterator[str]:
    """Answer as OpenAI and Azure do."""
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    }
    with _backend(json.dumps(answer).encode()) as port:
        yield f"http://127.0.0.1:{port}"


# ---- OpenFeature


def openfeature(code: dict[str, list[str]], wheel: str) -> None:
    port = _free()
    *_, serve, put = code["bash"][0].strip().split("\n", 2)
    with _served(serve, wheel, port) as url:
        subprocess.run(["bash", "-ec", put.replace("8080", str(port))], check=True, capture_output=True, timeout=60)
        names: dict[str, Any] = {}
        exec(code["python"][0].replace("8080", str(port)), names)
        assert names["model"] in ("model-a", "model-b"), names["model"]
        names["api"].shutdown()
        told = json.loads(_sent("GET", f"{url}/v1/games/chat/summary"))["told"]
        assert told == 1, f"{told} losses are told after Python's program"
        if not (shutil.which("npm") and shutil.which("node")):
            print("          no Node here", flush=True)
            return
        install = re.search(r"`(npm install [^`]+)`", (ROOT / "docs/openfeature.md").read_text())
        assert install
        subprocess.run(shlex.split(install[1]), check=True, capture_output=True, timeout=300)
        Path("page.mjs").write_text(code["js"][0].replace("8080", str(port)))
        done = subprocess.run(["node", "page.mjs"], check=True, capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() in ("model-a", "model-b"), done.stdout
        told = json.loads(_sent("GET", f"{url}/v1/games/chat/summary"))["told"]
        assert told == 2, f"{told} losses are told after Node's program"


# ---- HAProxy and Envoy


def haproxy(code: dict[str, list[str]], wheel: str) -> None:
    found = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")
    if found is None:
        print("          no HAProxy here", flush=True)
        return
    front, agent = _free(), _free()
    own = f"""
defaults
    mode http
    timeout connect 2s
    timeout client 9s
    timeout server 9s
frontend in
    bind 127.0.0.1:{front}
    default_backend app
"""
    config, steering = code["text"][0], code["toml"][0]
    Path("haproxy.cfg").write_text(_here(config.replace("\nbackend", f"{own}backend")).replace("9109", str(agent)))
    _steered(code, wheel, steering.replace("9109", str(agent)), [found, "-f", "haproxy.cfg", "-db"], front)


def envoy(code: dict[str, list[str]], wheel: str) -> None:
    front, admin = _free(), _free()
    manager = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
    route = '{name: all, domains: ["*"], routes: [{match: {prefix: "/"}, route: {cluster: app}}]}'
    own = f"""
node: {{id: here, cluster: here}}
static_resources:
  listeners:
    - address: {{socket_address: {{address: 127.0.0.1, port_value: {front}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": {manager}
                stat_prefix: in
                route_config: {{virtual_hosts: [{route}]}}
                http_filters: [{{name: envoy.filters.http.router, typed_config: {{"@type": {router}}}}}]
"""
    config = _here(code["yaml"][0]).replace("\nstatic_resources:\n", own).replace("9901", str(admin))
    Path("envoy.yaml").write_text(config)
    quiet = ["--log-level", "error", "--concurrency", "1", "--disable-hot-restart"]
    command = [BIN / "envoy", "-c", "envoy.yaml", *quiet]
    _steered(code, wheel, code["toml"][1].replace("9901", str(admin)), command, front)


def _steered(code: dict[str, list[str]], wheel: str, steering: str, command: list[Any], front: int) -> None:
    """Serve the game, steer the proxy by the page's command, and see that requests follow a pin."""
    port = _free()
    steer = code["bash"][0].strip().partition(" && ")[2]
    with (
        _backend(b"a") as a,
        _backend(b"b") as b,
        _served("holdfast serve sqlite:///decisions.db", wheel, port) as url,
    ):
        servers = (("10.0.0.1:80", f"127.0.0.1:{a}"), ("10.0.0.2:80", f"127.0.0.1:{b}"))
        for theirs, ours in servers:
            steering = steering.replace(theirs, ours)
            for file in (*Path().glob("*.cfg"), *Path().glob("*.yaml")):
                file.write_text(file.read_text().replace(theirs, ours))
        steering = _here(steering).replace("8080", str(port)).replace('"10s"', '"1s"')
        Path("steer.toml").write_text(steering)

        def seen() -> set[str]:
            return {_sent("GET", f"http://127.0.0.1:{front}/").decode() for _ in range(10)}

        moves = _process([BIN / words if words == "holdfast" else words for words in steer.split()], None)
        with moves, ExitStack() as opened:
            _until(lambda: _rounds(url, "app"), "no game has begun")
            _until(lambda: "app.json" not in steering or Path("app.json").exists(), "no file for Envoy")
            opened.enter_context(_process(command, front))
            for arm in "aba":
                _pin(url, arm)
                _until(lambda arm=arm: seen() == {arm}, f"requests do not follow to {arm}")
            _until(lambda: json.loads(_sent("GET", f"{url}/v1/games/app/summary"))["told"] > 2, "nothing is told")


def _pin(url: str, arm: str) -> None:
    with hf.open(url, "app") as game:
        game.pin(arm)


def _here(text: str) -> str:
    return text.replace("/run/", f"{Path.cwd()}/").replace("/etc/envoy/", f"{Path.cwd()}/")


# ---- river, coba, Gymnasium, obp


def research(code: dict[str, list[str]], wheel: str) -> None:
    Path("page.py").write_text("\n".join(code["python"]))
    subprocess.run([sys.executable, "page.py"], check=True, timeout=300)


def obp(code: dict[str, list[str]], wheel: str) -> None:
    import numpy as np
    from obp.ope import InverseProbabilityWeighting

    names: dict[str, Any] = {"__name__": "page"}
    exec("import holdfast as hf\n" + code["python"][-1], names)
    found = names["feedback"]
    always = np.zeros((found["n_rounds"], found["n_actions"], 1))
    always[:, 0, 0] = 1.0
    given = {name: found[name] for name in ("reward", "action", "pscore")}
    value = InverseProbabilityWeighting().estimate_policy_value(**given, action_dist=always)
    assert 0.0 < value < 2.0, value


# ---- what they share


@contextmanager
def _served(command: str, wheel: str, port: int) -> Iterator[str]:
    """Run the command that serves, from an environment of its own, as on another machine."""
    tool = [
        os.environ["UV"],
        "tool",
        "run",
        "--from",
        f"holdfast[serve] @ {wheel}",
        *shlex.split(command),
        "--port",
        port,
    ]
    with _process(tool, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _process(command: list[Any], port: int | None, **environment: str) -> Iterator[None]:
    """Run a command until it is left; wait until it listens."""
    with open("said.txt", "w+b") as said:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            if port is not None:
                _until(lambda: _listens(port) or process.poll() is not None, f"{command[0]} does not listen")
            assert process.poll() is None, f"{command[0]} has ended"
            yield
            assert process.poll() is None, f"{command[0]} has ended"
        except BaseException:
            said.seek(0)
            print(said.read().decode()[-4000:], file=sys.stderr)
            raise
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


@contextmanager
def _backend(answer: bytes) -> Iterator[int]:
    """Answer every request alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _told(url: str, name: str) -> int:
    return _rounds(url, name, lambda game: game.history.totals.told)


def _rounds(url: str, name: str, count: Callable[[hf.Router], int] = lambda game: game.rounds) -> int:
    try:
        with hf.open(url, name) as game:
            return count(game)
    except hf.UnknownGame:
        return 0


def _sent(method: str, url: str, body: Any = None, key: str = "") -> bytes:
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: bytes = answer.read()
        return found


def _until(check: Callable[[], Any], what: str) -> None:
    deadline, last = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        try:
            if check():
                return
        except Exception as error:
            last = str(error)
        time.sleep(0.2)
    raise AssertionError(f"{what} {last}")


def _listens(port: int) -> bool:
    with closing(socket.socket()) as wire:
        return wire.connect_ex(("127.0.0.1", port)) == 0


def _free() -> int:
    with closing(socket.socket()) as wire:
        wire.bind(("127.0.0.1", 0))
        return int(wire.getsockname()[1])


CHECKS: dict[tuple[str, bool], list[Callable[[dict[str, list[str]], str], None]]] = {
    ("litellm", False): [litellm_sdk],
    ("litellm", True): [litellm_proxy],
    ("openfeature", False): [openfeature],
    ("proxies", False): [haproxy],
    ("proxies", True): [envoy],
    ("research_tools", False): [research],
    ("research_tools", True): [obp],
}
"""What is tried of a page, without and with what it needs besides its extra."""

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
