"""A server for tests: in a thread, or as the command in a process of its own."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

import holdfast as hf
from holdfast.service.access import TokenFile
from holdfast.service.app import Limits, Service, make_app
from holdfast.service.server import Connection, Gate, Server, listening_at

GAME = {"policy": "tsallis-switch", "arms": ["a", "b", "c"], "switching_cost": 1.5, "seed": 1}
"""Blocks of 2, 2, 3, 3, … rounds."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Web:
    """Requests to a server, one connection each."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port, self.token = port, token
        self.url = f"http://127.0.0.1:{port}"

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            sent.setdefault("authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("content-type", "application/json")
        # Long: a first request may have to wait for the compiler, on a busy machine for half a minute.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, sent)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def raw(self, data: bytes, seconds: float = 10.0) -> bytes:
        """Send these bytes and return the answer, until the server closes the connection or falls silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as wire:
            wire.sendall(data)
            found = b""
            try:
                while some := wire.recv(65536):
                    found += some
                    head, end, body = found.partition(b"\r\n\r\n")
                    length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
                    if end and length and len(body) >= int(length):
                        break
            except (TimeoutError, ConnectionError):
                pass
            return found


class Events:
    """A stream of a game's events."""

    def __init__(self, web: Web, game: str, token: str | None = None) -> None:
        self.seen: list[Any] = []
        self._wire = socket.create_connection(("127.0.0.1", web.port), timeout=20)
        shown = "" if token is None else f"authorization: Bearer {token}\r\n"
        self._wire.sendall(f"GET {game}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n{shown}\r\n".encode())
        self._file = self._wire.makefile("rb")

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._wire.close()

    def until(self, wanted: Callable[[Any], bool] = lambda one: True) -> Any:
        """The next event that is wanted; None where the stream ends before. One that is cut off is an error."""
        end = time.monotonic() + 60.0  # signs of life come all the time, so that no read waits for long
        for line in self._file:
            assert time.monotonic() < end, self.seen
            if line.startswith(b"data: "):
                self.seen.append(json.loads(line[6:]))
                if wanted(self.seen[-1]):
                    return self.seen[-1]
            elif line == b"0\r\n":  # the last piece of an answer in pieces
                return None
        raise ConnectionError("the stream was cut off")


class InThread:
    """A server in a thread of this process."""

    def __init__(
        self,
        url: str,
        tokens: Path | None = None,
        limits: Limits | None = None,
        gate: Gate | None = None,
        proxies: Sequence[str] = (),
        **options: Any,
    ):
        self._http = partial(Connection, gate=gate or Gate(1000, 1000, proxies))
        self._proxies = list(proxies)
        self._app = make_app(url, tokens=TokenFile(tokens) if tokens else None, limits=limits, **options)

    def __enter__(self) -> Web:
        config = uvicorn.Config(
            self._app,
            http=self._http,  # type: ignore[arg-type]  # it makes protocols, as a class of theirs does
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=bool(self._proxies),
            forwarded_allow_ips=self._proxies,
        )
        ready, self._socket = threading.Event(), listening_at("127.0.0.1", 0)
        self._server = Server(config, ready.set)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self._thread.start()
        assert ready.wait(60)
        return Web(self._socket.getsockname()[1])

    @property
    def service(self) -> Service:
        """The state that its handlers share."""
        found: Service = self._server.lifespan.state["service"]
        return found

    @property
    def connections(self) -> list[Any]:
        """Those that are open."""
        return list(self._server.server_state.connections)

    def __exit__(self, *error: object) -> None:
        self.service.stop()  # as a signal does
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()
        assert not self._thread.is_alive(), "the server does not stop"


class InProcess:
    """`holdfast serve`."""

    def __init__(self, url: str, *options: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "holdfast", "serve", url, "--port", str(port), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if "http" not in said:
            self.process.wait(timeout=120)
            raise AssertionError(said + self.process.stderr.read())
        self.port = int(said.rsplit(":", 1)[1])
        self.web = Web(self.port)

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> int:
        self.process.terminate()
        return self.end()

    def kill(self) -> None:
        os.kill(self.process.pid, 9)
        self.end()

    def end(self) -> int:
        self.errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def opened(web: Web, **options: Any) -> hf.Router:
    return hf.open(web.url, "game", hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5), **options)


def ask(web, game, n=1, **headers):
    return web("POST", f"{game}/decisions", {"n": n}, **headers).json["decisions"]


def problem(answer, status, error=None):
    """A problem document of this status."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json
    assert content["status"] == status
    assert {"type", "title", "detail", "error"} <= content.keys()
    if error is not None:
        assert content["error"] == error.__name__
        assert content["type"] == f"urn:holdfast:{error.__name__}"
    return content
