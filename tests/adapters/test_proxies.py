"""`holdfast steer` with a real HAProxy and a real Envoy on loopback."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import command_here
from pages import ROOT, blocks
from service import InProcess, InThread, free_port

import holdfast as hf
from holdfast.adapters.proxies import Counts, Envoy, HAProxy, Steering, steering_of, steerings_of

HAPROXY = shutil.which("haproxy") or ("/usr/sbin/haproxy" if os.path.exists("/usr/sbin/haproxy") else None)
TYPE = "type.googleapis.com/envoy.extensions.filters"
ENVOY = Path(sys.executable).parent / "envoy"


class Backend:
    """A server that answers with its name, and fails or dawdles when told to."""

    def __init__(self, name: str) -> None:
        self.fails, self.waits = False, 0.0
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                time.sleep(backend.waits)
                self.send_response(500 if backend.fails else 200)
                self.send_header("content-length", str(len(name)))
                self.end_headers()
                self.wfile.write(name.encode())

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def backends() -> Iterator[dict[str, Backend]]:
    found = {name: Backend(name) for name in "ab"}
    yield found
    for one in found.values():
        one.server.shutdown()
        one.server.server_close()


class Traffic(threading.Thread):
    """Requests one after the other: what answered, and with which status."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.ends = port, threading.Event()
        self.seen: list[tuple[float, int, str]] = []

    def __enter__(self) -> "Traffic":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ends.set()
        self.join(timeout=20)

    def run(self) -> None:
        while not self.ends.wait(0.005):
            try:
                wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                wire.request("GET", "/")
                answer = wire.getresponse()
                self.seen.append((time.monotonic(), answer.status, answer.read().decode()))
                wire.close()
            except (OSError, http.client.HTTPException) as error:
                self.seen.append((time.monotonic(), 0, str(error)))

    def since(self, then: float) -> set[tuple[int, str]]:
        return {(status, name) for at, status, name in self.seen if at >= then}

    def last(self, count: int) -> set[tuple[int, str]]:
        return {(status, name) for _, status, name in self.seen[-count:]}


def until(check: Any, what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def answers(port: int) -> bool:
    with socket.socket() as wire:
        return wire.connect_ex(("127.0.0.1", port)) == 0


class Process:
    def __init__(self, command: list[Any], port: int) -> None:
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            until(lambda: answers(port) or self.process.poll() is not None, "the proxy does not listen")
        except AssertionError:
            self.process.kill()
            raise
        assert self.process.poll() is None, self.process.stderr.read()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)


def haproxy_with(backends: dict[str, Backend], folder: Path, agent: int) -> tuple[list[Any], int]:
    if HAPROXY is None:
        pytest.skip("needs HAProxy: apt-get install haproxy")
    front = free_port()
    servers = "\n".join(
        f"    server {name} 127.0.0.1:{one.port} weight 100 agent-check agent-addr 127.0.0.1 agent-port {agent} "
        f'agent-inter 50ms agent-send "{name}\\n"'
        for name, one in backends.items()
    )
    (folder / "haproxy.cfg").write_text(
        f"global\n    stats socket {folder}/h.sock\ndefaults\n    mode http\n    timeout connect 2s\n"
        f"    timeout client 9s\n    timeout server 9s\nfrontend in\n    bind 127.0.0.1:{front}\n"
        f"    default_backend app\nbackend app\n{servers}\n"
    )
    return [HAPROXY, "-f", folder / "haproxy.cfg", "-db"], front


def envoy_with(folder: Path, admin: int) -> tuple[list[Any], int]:
    if not ENVOY.exists():
        pytest.skip("needs Envoy: make .venv/.partners installs it")
    front = free_port()
    (folder / "envoy.yaml").write_text(f"""
admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {admin}}}}}}}
node: {{id: test, cluster: test}}
stats_flush_interval: 0.1s
static_resources:
  listeners:
    - address: {{socket_address: {{address: 127.0.0.1, port_value: {front}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": {TYPE}.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: in
                route_config:
                  virtual_hosts:
                    - {{name: all, domains: ["*"], routes: [{{match: {{prefix: "/"}}, route: {{cluster: app}}}}]}}
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {{"@type": {TYPE}.http.router.v3.Router}}
  clusters:
    - name: app
      type: EDS
      connect_timeout: 1s
      common_lb_config: {{healthy_panic_threshold: {{value: 0}}}}
      eds_cluster_config:
        eds_config: {{path_config_source: {{path: {folder}/app.json}}, resource_api_version: V3}}
""")
    options = ["--concurrency", "1", "--log-level", "error", "--disable-hot-restart"]
    return [ENVOY, "-c", folder / "envoy.yaml", *options], front


def settings_for(kind: str, folder: Path, backends: dict[str, Backend], port: int) -> dict[str, Any]:
    common = {"url": f"sqlite:///{folder}/s.db", "game": "app", "interval": "0.3s", "proxy": kind}
    if kind == "haproxy":
        own = {"arms": ["a", "b"], "agent": f"127.0.0.1:{port}", "socket": f"{folder}/h.sock", "backend": "app"}
    else:
        arms = {name: f"127.0.0.1:{one.port}" for name, one in backends.items()}
        own = {"arms": arms, "file": f"{folder}/app.json", "admin": f"127.0.0.1:{port}", "cluster": "app"}
    return {**common, **own}


class Front:
    """A proxy of a kind, not begun yet, before the backends: its command, its port, and how it is steered."""

    def __init__(self, kind: str, folder: Path, backends: dict[str, Backend]) -> None:
        self.kind, self.backends, port = kind, backends, free_port()
        made = haproxy_with(backends, folder, port) if kind == "haproxy" else envoy_with(folder, port)
        self.command, self.port = made
        self.settings = settings_for(kind, folder, backends, port)

    def process(self) -> Process:
        return Process(self.command, self.port)

    def steering(self, **settings: Any) -> Steering:
        return steering_of({**self.settings, **settings})


@pytest.fixture(params=["haproxy", "envoy"])
def front(request: pytest.FixtureRequest, tmp_path: Path, backends: dict[str, Backend]) -> Front:
    return Front(request.param, tmp_path, backends)


@pytest.mark.slow
def test_requests_follow_the_arm_and_none_fails(front: Front) -> None:
    ends, steering = threading.Event(), front.steering(interval="2s")
    game = steering.router
    game.pin("a")
    steering.proxy.move("a")
    with front.process(), Traffic(front.port) as traffic:
        for arm in "aba":
            game.pin(arm)
            steering.round(ends)
            assert traffic.last(5) == {(200, arm)}  # within one interval
        assert {status for _, status, _ in traffic.seen} == {200}  # none failed during a change
        steering.close()  # it has died: all goes on
        then = time.monotonic()
        time.sleep(0.6)
        assert traffic.since(then) == {(200, "a")}
    assert game.history.totals.told == 3


@pytest.mark.slow
def test_a_server_that_dies_is_left_before_the_interval_ends(front: Front, tmp_path: Path) -> None:
    """Its health check fails and the others are drained, so that nobody would answer until the interval's end."""
    ends = threading.Event()
    check = "{timeout: 1s, interval: 0.2s, no_traffic_interval: 0.2s, unhealthy_threshold: 1, healthy_threshold: 1, "
    check += "http_health_check: {path: /}}"
    changes = [
        (" weight 100 ", " check inter 200ms fall 1 rise 1 weight 100 "),
        ("backend app\n", "backend app\n    option httpchk GET /\n"),
        ("      eds_cluster_config", f"      health_checks: [{check}]\n      eds_cluster_config"),
    ]
    config = Path(next(str(part) for part in front.command if str(part).startswith(str(tmp_path))))
    text = config.read_text()
    for old, new in changes:
        text = text.replace(old, new)
    config.write_text(text.replace("default_backend app\n    option httpchk GET /", "default_backend app"))
    steering = front.steering(interval="60s")
    steering.proxy.move("a")
    with front.process(), Traffic(front.port) as traffic:
        playing = threading.Thread(target=steering.play, args=(None, ends), daemon=True)
        playing.start()
        until(lambda: {name for _, name in traffic.since(time.monotonic() - 0.5)} == {steering.arm}, "none is held")
        held = steering.arm
        other = {"a": "b", "b": "a"}[str(held)]
        front.backends[str(held)].fails = True
        until(lambda: traffic.last(1) == {(200, other)}, "the server that is down is held", 15.0)
        time.sleep(1.0)
        assert traffic.last(9) == {(200, other)}
        (told,) = [one for one in steering.router.history.blocks() if one.told][:1]
        assert "ab"[told.arm] == held
        front.backends[str(held)].fails = False
        until(lambda: held not in steering.proxy.down(), "it is not up again")
        ends.set()
        playing.join(timeout=20)
    steering.close()


@pytest.mark.slow
def test_failures_and_latency_are_read_back(front: Front) -> None:
    steering, b = front.steering(), front.backends["b"]
    proxy = steering.proxy
    proxy.move("b")
    with front.process():
        with Traffic(front.port) as traffic:
            until(lambda: {name for _, name in traffic.since(time.monotonic() - 0.3)} == {"b"}, "b is not used")
            b.fails, b.waits = True, 0.05
            time.sleep(0.2)
            before = proxy.counts("b")
            time.sleep(1.0)
            after = proxy.counts("b")
        requests = after.requests - before.requests
        assert requests > 5
        assert (after.failures - before.failures) / requests == pytest.approx(1.0, abs=0.3)
        assert proxy.latency(before, after) > (0.04 if front.kind == "envoy" else 0.002)
        assert proxy.counts("a").failures == 0
    steering.close()
    with pytest.raises(OSError, match=r"refused|No such file"):
        proxy.counts("b")


def lines_of(given: dict[str, Any]) -> str:
    lines = []
    for name, value in given.items():
        inner = ", ".join(f'{key} = "{place}"' for key, place in value.items()) if isinstance(value, dict) else ""
        lines.append(f"{name} = {{{inner}}}\n" if inner else f"{name} = {value!r}\n")
    return "".join(lines)


@contextlib.contextmanager
def steering_by(folder: Path, text: str, held: int) -> Iterator["subprocess.Popen[str]"]:
    """`holdfast steer` with this configuration, once it says of so many games that an arm is held."""
    (folder / "steer.toml").write_text(text)
    command = [sys.executable, "-m", "holdfast", "steer", str(folder / "steer.toml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as steer:
        try:
            said: set[str] = set()
            while len(said) < held:
                line = steer.stderr.readline()  # type: ignore[union-attr]
                assert line, "it has ended"
                said |= {line.split(": ")[0].split(" ", 2)[2]} if line.endswith(" is held\n") else set()
            yield steer
        finally:
            steer.kill()
            steer.communicate(timeout=20)


@pytest.mark.slow
def test_the_command_moves_away_from_what_fails(front: Front, tmp_path: Path) -> None:
    front.backends["a"].fails = True
    with steering_by(tmp_path, lines_of(front.settings), 1) as steer, front.process(), Traffic(front.port) as traffic:
        with hf.open(front.settings["url"], "app") as router:
            until(lambda: router.history.totals.told >= 4 and router.arm == "b", "it stays where all fails")
        steer.send_signal(signal.SIGKILL)
        steer.wait(timeout=20)
        then = time.monotonic()
        time.sleep(0.3)
        assert traffic.since(then)  # all goes on


@pytest.mark.slow
def test_one_command_steers_several_games(tmp_path: Path, backends: dict[str, Backend]) -> None:
    first, second = (Front(kind, tmp_path, backends) for kind in ("haproxy", "envoy"))
    common = {name: first.settings[name] for name in ("url", "interval")}
    own = [
        lines_of({name: value for name, value in one.settings.items() if name not in (*common, "game")})
        for one in (first, second)
    ]
    text = f"{lines_of(common)}[games.front]\n{own[0]}[games.'and back']\n{own[1]}"
    with steering_by(tmp_path, text, 2) as steer:
        games = [hf.open(common["url"], name) for name in ("front", "and back")]
        with first.process():
            for game, arm in zip(games, "ab", strict=True):
                game.pin(arm)
            with Traffic(first.port) as before:
                until(lambda: before.last(9) == {(200, "a")}, "HAProxy does not follow")
                until(lambda: games[0].history.totals.told > 0, "nothing is told")
                assert games[1].history.totals.told == 0  # its proxy is away, and the first goes on
                with second.process(), Traffic(second.port) as after:
                    until(lambda: after.last(9) == {(200, "b")}, "Envoy does not follow")
                    until(lambda: games[1].history.totals.told > 0, "nothing is told")
            assert {status for _, status, _ in before.seen} == {200}
        for game in games:
            game.close()
        steer.send_signal(signal.SIGINT)
        assert steer.wait(timeout=20) == 130


@pytest.mark.slow
def test_a_service_that_is_killed_and_comes_back_is_steered_by_again(
    tmp_path: Path, backends: dict[str, Backend]
) -> None:
    url, ends, front = f"sqlite:///{tmp_path}/s.db", threading.Event(), Front("haproxy", tmp_path, backends)
    with InProcess(url) as service:
        steering = front.steering(url=service.web.url)
        playing = threading.Thread(target=steering.play, args=(None, ends), daemon=True)
        playing.start()
        with front.process(), hf.open(url, "app") as game, Traffic(front.port) as traffic:
            until(lambda: game.history.totals.told >= 2, "nothing is told")
            service.kill()
            time.sleep(2.0)
            held = steering.arm
            assert traffic.last(50) == {(200, held)}
            with InProcess(url, port=service.port):
                before = game.history.totals.told
                game.pin("b" if held == "a" else "a")
                until(lambda: steering.arm != held, "the pin is not followed")
                until(lambda: game.history.totals.told >= before + 2, "nothing is told")
                ends.set()
                playing.join(timeout=20)
            assert {status for _, status, _ in traffic.seen} == {200}
    steering.close()


class Told(Envoy):
    """A proxy that says what it is told to: an error is raised."""

    def __init__(self, counts: Any, down: Any = frozenset(), moves: Exception | None = None) -> None:
        self.arms, self.moved, self._said_of = list("abc"), [], {"counts": counts, "down": down, "move": moves}

    def _of(self, what: str) -> Any:
        found = self._said_of[what]
        found = next(found) if isinstance(found, Iterator) else found
        if isinstance(found, Exception):
            raise found
        return found

    def move(self, arm: str) -> None:
        self._of("move")
        self.moved.append(arm)

    def down(self) -> set[str]:
        return self._of("down")

    def counts(self, arm: str) -> Counts:
        return self._of("counts")


def test_arms_that_are_down_or_retired_meanwhile_are_not_asked_for(tmp_path: Path) -> None:
    with InThread(f"sqlite:///{tmp_path}/s.db") as web:
        router = hf.open(web.url, "app", hf.Exp3(arms=["a", "b", "c"]), seed=1)
        proxy, ends = Told(ValueError("no number"), down={"a"}), threading.Event()
        steering = Steering(router, proxy, 0.001)
        for _ in range(20):
            steering.round(ends)
        assert set(proxy.moved) == {"b", "c"}
        with hf.open(web.url, "app") as operator:
            operator.change(retire_arms=["c"])
        proxy.moved.clear()
        for _ in range(5):
            steering.round(ends)
        assert proxy.moved == ["b"] * 5
        router.close()


@pytest.mark.parametrize(
    ("down", "seconds"),
    [
        ([{"b"}, {"b"}, {"a", "b"}], 2.0),  # the arm held goes down, and c is up
        ([set(), {"b"}, set()], 3.5),
        ([{"a"}, {"a"}, {"a"}, {"a"}], 3.5),  # it was down before: nothing has changed
        ([set(), {"a", "b", "c"}], 3.5),  # there is nowhere to go
    ],
)
def test_an_interval_ends_early_where_the_arm_goes_down_and_another_is_up(down: Any, seconds: float) -> None:
    waited: list[float] = []

    class Ends(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return False

    router = hf.open("memory:", "app", hf.Exp3(arms=["a", "b", "c"]))
    steering = Steering(router, Told(None, iter([*down, *[down[-1]] * 9])), 3.5)
    steering.arm = "a"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("holdfast.adapters.proxies.time", SimpleNamespace(monotonic=lambda: sum(waited)))
        assert not steering._waited(Ends(), steering._down())
    assert sum(waited) == seconds


HEAD = "HTTP/1.0 200 OK\r\n\r\n"
HOST: dict[str, Any] = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 1}}, "stats": []}


def clusters(**host: Any) -> str:
    return HEAD + json.dumps({"cluster_statuses": [{"name": "app", "host_statuses": [{**HOST, **host}]}]})


def test_what_haproxy_says_is_read_as_it_is(monkeypatch: Any) -> None:
    """Its counts, its milliseconds, and what is down of the servers that are steered."""
    shown = "# pxname,svname,status,stot,econ,eresp,hrsp_5xx,ttime\n"
    shown += (
        "other,a,DOWN,9,9,9,9,9\napp,a,UP,200,1,2,4,250\napp,b,DOWN 1/2,,,,,\napp,c,MAINT,7,0,0,0,\napp,d,DOWN,,,,,\n"
    )
    monkeypatch.setattr(HAProxy, "_said", lambda proxy, command: {"show stat": shown}[command])
    with closing(HAProxy(["a", "b", "c", "e"], "127.0.0.1:0", "nowhere", "app")) as proxy:
        assert proxy.counts("a") == Counts(200.0, 7.0, 50.0)
        assert proxy.latency(Counts(100.0, 0.0, 90.0), proxy.counts("a")) == 0.25
        assert (proxy.counts("b"), proxy.counts("c")) == (Counts(0, 0, 0), Counts(7, 0, 0))
        assert proxy.down() == {"b", "c"}
        with pytest.raises(hf.HoldfastError, match="backend 'app' has no server 'e'"):
            proxy.counts("e")


def test_what_envoy_says_is_read_as_it_is(tmp_path: Path, monkeypatch: Any) -> None:
    def host(port: int, status: dict[str, bool], **stats: int) -> dict[str, Any]:
        place = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
        return {"address": place, "health_status": status, "stats": [{"name": n, "value": v} for n, v in stats.items()]}

    hosts = [
        host(1, {}, rq_total=90, rq_error=6, cx_connect_fail=10),
        host(2, {"failed_active_health_check": True}),
        host(3, {"failed_outlier_check": True, "failed_active_health_check": False}),
        host(9, {"failed_outlier_check": True}, rq_total=5),
    ]
    statuses = [{"name": "other", "host_statuses": [host(1, {}, rq_total=1)]}, {"name": "app", "host_statuses": hosts}]
    times = 'envoy_cluster_upstream_rq_time_sum{cluster="app"} 1500.5\nenvoy_cluster_upstream_rq_time_count{} 7\n'
    monkeypatch.setattr(
        Envoy, "_said", lambda proxy, path: json.dumps({"cluster_statuses": statuses}) if "clusters" in path else times
    )
    arms = {arm: f"127.0.0.1:{number}" for number, arm in enumerate("abcd", start=1)}
    proxy = Envoy(arms, str(tmp_path / "app.json"), "127.0.0.1:1", "app")
    assert proxy.counts("a") == Counts(100.0, 16.0, 1.5005)
    assert proxy.latency(Counts(60.0, 0.0, 0.5005), proxy.counts("a")) == pytest.approx(1.0 / 40)
    assert proxy.down() == {"b", "c"}
    with pytest.raises(hf.HoldfastError, match=r"cluster 'app' has no endpoint 127\.0\.0\.1:4"):
        proxy.counts("d")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        *(
            (kind, says)
            for kind in ("haproxy", "envoy")
            for says in ("", "\0\xff" * 99, "HTTP/1.0 500 no\r\n\r\n", None)
        ),
        ("haproxy", "# pxname,svname\napp,a\n"),
        ("haproxy", "# pxname,svname,stot,econ,eresp,hrsp_5xx,ttime\napp,a,many,,,,\n"),
        *(("envoy", HEAD + says) for says in ("", "null", "[]", "{}", '{"cluster_statuses": 7}', "<html>")),
        ("envoy", clusters(stats=None)),
        ("envoy", clusters(stats=[{"name": "rq_total", "value": "x"}])),
        ("envoy", clusters(address={})),
    ],
)
def test_answers_that_make_no_sense_change_nothing(
    kind: str, says: str | None, tmp_path: Path, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("holdfast.adapters.proxies.ANSWER", 0.5)
    ends = threading.Event()

    class Odd(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(9999)
            with contextlib.suppress(OSError):
                while says is None and not ends.wait(0.02):
                    self.request.sendall((HEAD + "x" * 999).encode())  # without an end
                self.request.sendall((says or "").encode("latin-1"))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_address[1]}"
        given = settings_for(kind, tmp_path, {}, free_port())
        own: dict[str, Any] = {"socket": place}
        if kind == "envoy":
            own = {"admin": place, "arms": {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}}
        steering = steering_of({**given, **own, "interval": "0.01s"})
        steering.router.pin("a")
        begun = time.monotonic()
        steering.round(ends)
        assert time.monotonic() - begun < 10.0
        assert steering.arm == "a"
        assert "app: the proxy's counts were not read" in caplog.text
        ends.set()
        server.shutdown()
    steering.close()


def test_nothing_that_fails_ends_it(caplog: Any) -> None:
    router = hf.open("memory:", "app", hf.Exp3(arms=["a", "b"]))
    away = OSError("it is away")
    steering = Steering(router, Told(ValueError("no number"), away, away), 0.001)
    for _ in range(3):
        steering.round(threading.Event())
    assert caplog.text.count("app: the proxy was not moved: it is away") == 1
    router.pause("a")
    router.store.delete(router.executor.setup.game.id)
    steering.round(threading.Event())
    assert "app: the game was not asked" in caplog.text


@pytest.mark.parametrize("kind", ["haproxy", "envoy"])
def test_an_arm_without_a_server_leaves_the_proxy_as_it_is(kind: str, tmp_path: Path, caplog: Any) -> None:
    places = {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}
    given = settings_for(kind, tmp_path, {}, free_port())
    steering = steering_of({**given, "arms": places if kind == "envoy" else list(places), "interval": "0.01s"})
    steering.router.pin("a")
    steering.round(threading.Event())
    steering.router.change(add_arms=["c"])
    steering.router.pin("c")
    steering.round(threading.Event())
    assert "app: the proxy was not moved: it has no 'c'" in caplog.text
    assert steering.arm == "a"
    if kind == "haproxy":
        assert steering.proxy.answer("a") == b"up 100%\n"
    else:
        ends = json.loads((tmp_path / "app.json").read_text())["resources"][0]["endpoints"][0]["lb_endpoints"]
        assert [end["health_status"] for end in ends] == ["HEALTHY", "DRAINING"]
    steering.close()


@pytest.mark.parametrize(("interval", "deadline"), [(0.1, 1.0), (7.0, 7.0)])
def test_a_short_interval_leaves_a_second_for_an_answer(interval: float, deadline: float, monkeypatch: Any) -> None:
    router, asked = hf.open("memory:", "app", hf.Exp3(arms=["a", "b"])), []
    monkeypatch.setattr(router, "ask", lambda **options: asked.append(options))
    Steering(router, Told(None), interval)._asked({"a"})
    assert asked == [{"deadline": deadline, "available": ["b"]}]


SCALED = {"scale": hf.Scale(latency=(0, 1), failures=(0, 1))}


@pytest.mark.parametrize(
    ("after", "options", "losses"),
    [
        (Counts(30, 6, 7.0), SCALED, (2.0 / 20 + 5 / 20) / 2),
        (Counts(30, 6, 7.0), {}, 5 / 20),  # a game without a scale is told the share of failures
        (Counts(12, 9, 5.0), {}, 1.0),  # more failures than requests have ended
        (Counts(12, 0, 4.0), SCALED, 0.0),  # a count that has gone back
        (Counts(10, 1, 5.0), {}, None),  # without a request
        (Counts(3, 0, 0.0), {}, None),  # the proxy has begun anew
    ],
)
def test_a_loss_is_of_what_was_counted_in_between(after: Counts, options: Any, losses: float | None) -> None:
    router = hf.open("memory:", "app", hf.Exp3(arms=["a", "b"]), **options)
    Steering(router, Told(iter([Counts(10, 1, 5.0), after])), 0.001).round(threading.Event())
    totals = router.history.totals
    assert (totals.rounds, totals.told) == (1, losses is not None)
    assert totals.losses == pytest.approx(losses or 0.0)


def test_an_agent_answers_whatever_it_is_asked(monkeypatch: Any) -> None:
    now = [100.0]
    monkeypatch.setattr("holdfast.adapters.proxies.time", SimpleNamespace(monotonic=lambda: now[0]))

    def said(asked: bytes) -> bytes:
        with socket.create_connection(proxy.address, timeout=10) as wire:
            wire.sendall(asked)
            wire.shutdown(socket.SHUT_WR)
            return wire.recv(100)

    with closing(HAProxy(["a", "b"], "127.0.0.1:0", "nowhere", "app")) as proxy:
        assert said(b"a\n") == b"up\n"  # nothing is held yet
        proxy.move("a")
        assert said(b"b\n") == b"up\n"  # not before the other one is used
        assert said(b"a\n") == b"up 100%\n"
        for later, answer in ((0.0, b"up\n"), (0.29, b"up\n"), (0.31, b"up 0%\n")):
            now[0] = 100.0 + later
            assert said(b"b\n") == answer
            assert said(b"a\n") == b"up 100%\n"
        for odd in (b"", b"\xff\n", b"c\n", b"x" * 5000):
            assert said(odd) == b"up\n"
        proxy.move("b")
        assert (said(b"a\n"), said(b"b\n")) == (b"up\n", b"up 100%\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"proxy": "nginx"}, "proxy must be one of 'haproxy', 'envoy'"),
        ({"agnet": "x"}, "did you mean 'agent'"),
        ({"agent": "here"}, "agent must be host:port"),
        ({"interval": "often"}, "interval must be a time"),
        ({"arms": ["a"]}, "arms must be a list such as"),
        ({"scale": {"price": [0, 1]}}, "scale must be one of 'latency', 'failures', 'error'"),
        ({"url": "sqlite:////nowhere/at/all.db"}, "nowhere"),
        ({"scale": "fast"}, "scale must be"),
        ({"socket": 7}, "socket must be given for haproxy, as text; got 7"),
        ({"games": {}}, "games must be tables"),
        ({"games": {"app": 1}}, "games must be tables"),
        ({"games": {"one": {"interval": "2s", "agent": "here"}}}, r"^games\.one\.agent must be host:port"),
        ({"games": {"one": {}, "two": {}}}, "nothing can listen at .*: Address already in use"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_said(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    given = {**settings_for("haproxy", tmp_path, {}, free_port()), **change}
    with ExitStack() as opened, pytest.raises(hf.HoldfastError, match=said):
        list(map(opened.enter_context, map(closing, steerings_of(given))))
    if "scale" in change:  # a game that was begun would keep it
        with pytest.raises(hf.UnknownGame):
            hf.open(given["url"], "app")
    (tmp_path / "s.toml").write_text("arms = [")
    assert "must be a TOML file" in command_here("steer", str(tmp_path / "s.toml")).stderr
    assert "cannot be read" in command_here("steer", str(tmp_path / "none.toml")).stderr


def test_what_a_configuration_leaves_out(tmp_path: Path, monkeypatch: Any) -> None:
    given = settings_for("haproxy", tmp_path, {}, free_port())
    del given["interval"]
    with closing(steering_of(given)) as steering:
        setup: Any = steering.router.executor.setup
        assert (steering.interval, setup.policy.label, setup.policy.switching_cost) == (5.0, "tracking", 0.1)
        assert (setup.settings.missing, setup.settings.patience) == ("drop", timedelta(minutes=5))
        assert steering.router.scale == hf.Scale(latency=(0.0, 1.0), failures=(0.0, 0.2))
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_of_the_environment")
    tokens: list[str | None] = []

    def opened(url: str, name: str, policy: Any = None, token: str | None = None, **options: Any) -> Any:
        tokens.append(token)
        raise hf.StoreError("it is away")

    monkeypatch.setattr("holdfast.adapters.proxies.open_game", opened)
    for own in ({"url": "http://h"}, {"url": "http://h", "token": "hf_own"}, {}):
        with pytest.raises(hf.StoreError):
            steering_of({**given, **own})
    assert tokens == ["hf_of_the_environment", "hf_own", None]  # a store needs none


def test_the_settings_of_the_page_are_known(tmp_path: Path) -> None:
    names = []
    for language, code in blocks(ROOT / "docs/proxies.md"):
        if language == "toml":
            code = code.replace("http://127.0.0.1:8080", f"sqlite:///{tmp_path}/s.db").replace("/etc", str(tmp_path))
            for number in ("9109", "9110"):
                code = code.replace(number, str(free_port()))
            with ExitStack() as opened:
                for steering in steerings_of(tomllib.loads(code)):
                    opened.callback(steering.close)
                    names.append(steering.router.name)
    assert names == ["app", "app", "app", "api"]
