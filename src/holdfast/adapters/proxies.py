"""The command ``holdfast steer``: moves load balancers to the arms that games hold, and reads back what that costs.

A round is an interval. It asks for the arm, makes the proxy send everything there, waits, and tells the loss of the
interval from the proxy's own counts. If the store is away, or this process ends, the proxy stays as it is. Games know
nothing of each other: each plays in a thread.
"""

from __future__ import annotations

import csv
import json
import logging
import os
import re
import socket
import socketserver
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

import typer

from holdfast.checks import one_of, real_number
from holdfast.decisions.models import Decision
from holdfast.decisions.options import written_time
from holdfast.decisions.router import Router, open as open_game
from holdfast.errors import HoldfastError, InvalidParameter, UnknownGame, parameter_named
from holdfast.files import write_whole
from holdfast.policies.registry import make_policy

LOG = logging.getLogger("holdfast.steer")

MEASURES = ("latency", "failures")
"""Measures that a scale may have: seconds, and the share of requests that failed."""
SETTLING = 0.3
"""Seconds for which arms that are left still take requests, after HAProxy has been told of the new one."""
ANSWER = 5.0
"""Seconds for an answer of a proxy."""
LOOK = 1.0
"""Seconds between looks at whether the arm is up."""


SETTINGS = (
    *("url", "token", "game", "policy", "switching_cost", "scale", "interval", "proxy", "arms"),
    *("agent", "socket", "backend"),
    *("file", "admin", "cluster"),
)
"""Names in a configuration: of all proxies, of HAProxy, of Envoy."""


class Counts(NamedTuple):
    """Counts of a proxy for an arm since it began."""

    requests: float
    failures: float
    seconds: float
    """Time of all its answers together."""


class HAProxy:
    """HAProxy by its agent checks and its stats socket.

    An agent is asked with a server's name, and answers ``up 100%`` or ``up 0%``. Until HAProxy has heard of the new arm
    the others answer ``up``, which changes nothing, so that there is always a server.
    """

    def __init__(self, arms: Sequence[str], agent: str, socket: str, backend: str) -> None:
        self.arms, self._stats, self._backend = arms, socket, backend
        self._lock = threading.Lock()
        self._arm = ""
        self._heard = float("inf")
        owner = self

        class Answer(socketserver.StreamRequestHandler):
            timeout = ANSWER

            def handle(self) -> None:
                try:
                    name = self.rfile.readline(256).decode("utf-8", "replace").strip()
                    self.wfile.write(owner.answer(name))
                except OSError:  # a check that was broken off
                    pass

        place = address_of("agent", agent)
        try:
            self._server = Agent(place, Answer)
        except OSError as error:
            raise HoldfastError(f"nothing can listen at {agent}: {error.strerror}") from None
        self.address: tuple[str, int] = self._server.server_address[:2]  # type: ignore[assignment]
        threading.Thread(target=self._server.serve_forever, name="holdfast-agent", daemon=True).start()

    def answer(self, name: str) -> bytes:
        """Return the answer to an agent check; one of a server that is not steered changes nothing."""
        with self._lock:
            if name == self._arm:
                self._heard = min(self._heard, time.monotonic())
                return b"up 100%\n"
            settled = name in self.arms and time.monotonic() > self._heard + SETTLING
            return b"up 0%\n" if settled else b"up\n"

    def move(self, arm: str) -> None:
        """Send all requests to an arm, from the next checks on."""
        with self._lock:
            if arm != self._arm:
                self._arm, self._heard = arm, float("inf")

    def down(self) -> set[str]:
        """Return the arms whose health check has failed, and those in maintenance."""
        rows = self._rows()
        return {arm for arm in self.arms if arm in rows and rows[arm]["status"].startswith(("DOWN", "MAINT"))}

    def counts(self, arm: str) -> Counts:
        """Read ``show stat``. Its mean latency is that of the last 1,024 requests."""
        row = self._rows().get(arm)
        if row is None:
            raise HoldfastError(f"HAProxy's backend {self._backend!r} has no server {arm!r}")
        requests = float(row["stot"] or 0)
        failures = sum(float(row[name] or 0) for name in ("econ", "eresp", "hrsp_5xx"))
        return Counts(requests, failures, requests * float(row["ttime"] or 0) / 1000.0)

    def _rows(self) -> dict[str, dict[str, str]]:
        rows = csv.DictReader(self._said("show stat").lstrip("# ").splitlines())
        return {row["svname"]: row for row in rows if row["pxname"] == self._backend}

    def latency(self, before: Counts, after: Counts) -> float:
        """Return the mean seconds of a request: HAProxy forgets by itself."""
        return after.seconds / after.requests

    def _said(self, command: str) -> str:
        local = ":" not in self._stats
        with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as wire:
            wire.settimeout(ANSWER)
            wire.connect(self._stats if local else address_of("socket", self._stats))
            wire.sendall(f"{command}\n".encode())
            return received(wire.recv)

    def close(self) -> None:
        """Answer no more: HAProxy keeps its weights."""
        self._server.shutdown()
        self._server.server_close()


class Agent(socketserver.ThreadingTCPServer):
    """Answers agent checks."""

    allow_reuse_address = True
    daemon_threads = True


class Envoy:
    """Envoy by a file of endpoints, which it reads when another is moved into its place, and its admin interface."""

    def __init__(self, arms: Mapping[str, str], file: str, admin: str, cluster: str) -> None:
        self.arms, self._file, self._cluster = list(arms), Path(file), cluster
        self._places = {arm: address_of(f"arms.{arm}", place) for arm, place in arms.items()}
        self._admin = "http://{}:{}".format(*address_of("admin", admin))

    def move(self, arm: str) -> None:
        """Send all requests to an arm: the others are drained."""
        endpoints = [
            {
                "endpoint": {"address": {"socket_address": {"address": host, "port_value": port}}},
                "health_status": "HEALTHY" if name == arm else "DRAINING",
            }
            for name, (host, port) in self._places.items()
        ]
        kind = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
        resource = {"@type": kind, "cluster_name": self._cluster, "endpoints": [{"lb_endpoints": endpoints}]}
        write_whole(self._file, json.dumps({"resources": [resource]}, indent=1).encode())

    def down(self) -> set[str]:
        """Return the arms whose health check has failed, and those ejected as outliers."""
        failed = ("failed_active_health_check", "failed_outlier_check")
        return {arm for arm, host in self._hosts().items() if any(host["health_status"].get(name) for name in failed)}

    def counts(self, arm: str) -> Counts:
        """Return the arm's requests and failures, and the seconds of the cluster: it has one arm at a time."""
        host = self._hosts().get(arm)
        if host is None:
            raise HoldfastError("Envoy's cluster {!r} has no endpoint {}:{}".format(self._cluster, *self._places[arm]))
        stats = {stat["name"]: float(stat.get("value", 0)) for stat in host["stats"]}
        failed = stats.get("rq_error", 0.0) + stats.get("cx_connect_fail", 0.0)
        requests = stats.get("rq_total", 0.0) + stats.get("cx_connect_fail", 0.0)
        return Counts(requests, failed, self._seconds())

    def _hosts(self) -> dict[str, Any]:
        clusters = json.loads(self._said("/clusters?format=json"))["cluster_statuses"]
        hosts = [host for one in clusters if one["name"] == self._cluster for host in one.get("host_statuses", [])]
        places = [host["address"]["socket_address"] for host in hosts]
        found = {(place["address"], place["port_value"]): host for place, host in zip(places, hosts, strict=True)}
        return {arm: found[place] for arm, place in self._places.items() if place in found}

    def _seconds(self) -> float:
        text = self._said(f"/stats/prometheus?filter={quote(f'^cluster.{self._cluster}.upstream_rq_time$')}")
        found = re.findall(r"^envoy_cluster_upstream_rq_time_sum\{[^}]*\} ([0-9.e+]+)$", text, flags=re.M)
        return sum(map(float, found)) / 1000.0

    def latency(self, before: Counts, after: Counts) -> float:
        """Return the mean seconds of a request in between."""
        return max(after.seconds - before.seconds, 0.0) / (after.requests - before.requests)

    def _said(self, path: str) -> str:
        with urlopen(self._admin + path, timeout=ANSWER) as answer:
            return received(answer.read1)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def received(receive: Callable[[int], bytes]) -> str:
    """Return an answer, unless it does not come to an end."""
    found, ends = b"", time.monotonic() + ANSWER
    while some := receive(65536):
        found += some
        if time.monotonic() > ends:
            raise HoldfastError(f"it has not answered within {ANSWER:g} s")
    return found.decode()


def address_of(parameter: str, text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``."""
    host, _, port = str(text).rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidParameter(parameter, "must be host:port, such as 127.0.0.1:9109", text)
    return host.strip("[]"), int(port)


@dataclass
class Steering:
    """One game and its proxy."""

    router: Router
    proxy: HAProxy | Envoy
    interval: float
    arm: str | None = field(default=None, init=False)
    _complaints: dict[str, str] = field(default_factory=dict, init=False)

    def play(self, rounds: int | None, ends: threading.Event) -> None:
        """Play intervals, one after the other, until the end."""
        played = 0
        while not ends.is_set() and played != rounds:
            self.round(ends)
            played += 1

    def round(self, ends: threading.Event) -> None:
        """Play one interval. Whatever fails, the proxy keeps its arm."""
        down = self._down()
        decision = self._tried("the game was not asked", lambda: self._asked(down))
        before = None
        if decision is not None and self._tried("the proxy was not moved", lambda: self._moved(str(decision.arm))):
            before = self._tried("the proxy's counts were not read", lambda: self.proxy.counts(str(decision.arm)))
        if self._waited(ends, down) or decision is None or before is None:
            return
        self._tried("the loss was not told", lambda: self._tell(decision, before))

    def _asked(self, down: set[str]) -> Decision:
        available = None
        if down:
            LOG.info(
                "%s: %s down, %s is held", self.router.name, sorted(down), self.router.arm
            )  # sees what was changed
            names = [arm for arm in self.router.policy.arms or () if str(arm) in self.proxy.arms]
            available = [arm for arm in names if str(arm) not in down] or None
        return self.router.ask(deadline=max(self.interval, 1.0), available=available)

    def _down(self) -> set[str]:
        """Return the arms that are down; none where the proxy does not say, which reading its counts reports."""
        with suppress(Exception):
            return self.proxy.down()
        return set()

    def _waited(self, ends: threading.Event, down: set[str]) -> bool:
        """Wait for the end of the interval, or until the arm goes down while another is up; return whether all ends."""
        until = time.monotonic() + self.interval
        while (left := until - time.monotonic()) > 0:
            if ends.wait(min(left, LOOK)):
                return True
            now = self._down()
            if self.arm in now - down and len(now) < len(self.proxy.arms):
                break
        return False

    def _moved(self, arm: str) -> bool:
        if arm not in self.proxy.arms:  # to drain all that there are would leave none
            raise HoldfastError(f"it has no {arm!r}, an arm of the game: add it to arms, and start anew")
        self.proxy.move(arm)
        if arm != self.arm:
            LOG.warning("%s: %s is held", self.router.name, arm)
            self.arm = arm
        return True

    def _tell(self, decision: Decision, before: Counts) -> None:
        after = self.proxy.counts(str(decision.arm))
        requests = after.requests - before.requests
        if requests <= 0:  # none, or the proxy has restarted: the game's `missing` counts
            return
        failures = min(max(after.failures - before.failures, 0.0) / requests, 1.0)
        seen = {"latency": self.proxy.latency(before, after), "failures": failures}
        scale = self.router.scale
        outcome = {"loss": failures} if scale is None else {name: seen[name] for name in scale.measures}
        self.router.tell(decision.id, deadline=max(self.interval, 1.0), **outcome)

    def _tried(self, what: str, work: Callable[[], Any]) -> Any:
        try:
            found = work()
        except Exception as error:
            if self._complaints.get(what) != str(error):
                LOG.warning("%s: %s: %s", self.router.name, what, error)
                self._complaints[what] = str(error)
            return None
        self._complaints.pop(what, None)
        return found

    def close(self) -> None:
        """Leave the proxy as it is."""
        self.proxy.close()
        self.router.close()


def steerings_of(settings: Mapping[str, Any]) -> Iterator[Steering]:
    """Yield the games of a configuration: one, or those in ``games``, which share the rest."""
    common = dict(settings)
    games = common.pop("games", None)
    if games is None:
        yield steering_of(common)
        return
    if not isinstance(games, Mapping) or not games or not all(isinstance(own, Mapping) for own in games.values()):
        raise InvalidParameter("games", "must be tables such as [games.app]", games)
    for name, own in games.items():
        with parameter_named(f"games.{name}.{{}}".format):
            yield steering_of({**common, "game": name, **own})


def steering_of(settings: Mapping[str, Any]) -> Steering:
    """Return one game and its proxy."""
    for name in settings:
        one_of("setting", name, SETTINGS)
    kind = one_of("proxy", settings.get("proxy"), ("haproxy", "envoy"))
    needed = ("agent", "socket", "backend") if kind == "haproxy" else ("file", "admin", "cluster")
    for name in ("url", "game", *needed):
        if not isinstance(settings.get(name), str):
            raise InvalidParameter(name, f"must be given for {kind}, as text", settings.get(name))
    interval = written_time("interval", str(settings.get("interval", "5s")))
    if not isinstance(interval, timedelta):
        raise InvalidParameter("interval", "must be a duration such as 5s", settings["interval"])
    arms = settings.get("arms")
    wanted: Any = Mapping if kind == "envoy" else list
    if not isinstance(arms, wanted) or len(arms) < 2 or not all(isinstance(arm, str) for arm in arms):
        shape = (
            'a table such as {a = "10.0.0.1:80", b = "10.0.0.2:80"}' if kind == "envoy" else 'a list such as ["a", "b"]'
        )
        raise InvalidParameter("arms", f"must be {shape}", arms)
    router = _game(settings, list(arms))
    place = [settings[name] for name in needed]
    proxy: HAProxy | Envoy = HAProxy(arms, *place) if kind == "haproxy" else Envoy(arms, *place)
    return Steering(router, proxy, real_number("interval", interval.total_seconds(), above=0))


def _game(settings: Mapping[str, Any], arms: list[str]) -> Router:
    url, name = str(settings["url"]), str(settings["game"])
    token = settings.get("token") or os.environ.get("HOLDFAST_TOKEN")
    options: dict[str, Any] = {"token": token} if token and url.startswith("http") else {}
    try:
        router = open_game(url, name, **options)
    except UnknownGame:
        cost = settings.get("switching_cost", 0.1)
        policy = make_policy({"policy": settings.get("policy", "tracking"), "arms": arms, "switching_cost": cost})
        scale = settings.get("scale", {"latency": [0.0, 1.0], "failures": [0.0, 0.2]})
        for measure in scale if isinstance(scale, Mapping) else ():  # before a game has it
            one_of("scale", measure, (*MEASURES, "error"))
        router = open_game(url, name, policy, scale=scale, missing="drop", patience=timedelta(minutes=5), **options)
    if set(router.policy.arms or ()) - set(arms):
        raise InvalidParameter(
            "arms", f"must have those of the game, {', '.join(map(str, router.policy.arms or ()))}", arms
        )
    for measure in () if router.scale is None else router.scale.measures:
        one_of("scale", measure, MEASURES)
    return router


def steer(
    config: Annotated[Path, typer.Argument(help="A TOML file; docs/proxies.md has one for each proxy.")],
    rounds: Annotated[int | None, typer.Option(help="Stop after this many intervals; by default never.")] = None,
) -> None:
    """Move HAProxy or Envoy to the arms that games hold. The games are told what it costs; a round is an interval.

    When it ends, or the store is away, the proxy stays as it is.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    try:
        settings = tomllib.loads(config.read_text(encoding="utf-8"))
    except OSError as error:
        raise HoldfastError(f"{config} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InvalidParameter("config", f"must be a TOML file: {error}", str(config)) from None
    ends = threading.Event()
    with ExitStack() as opened:
        opened.callback(ends.set)
        playing = []
        for steering in steerings_of(settings):
            opened.callback(steering.close)
            playing.append(threading.Thread(target=steering.play, args=(rounds, ends), daemon=True))
        for thread in playing:
            thread.start()
        for thread in playing:
            thread.join()
