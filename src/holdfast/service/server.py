"""The server process: sockets, workers, connection limits, and its output.

Deliberately slow clients are left to the proxy in front, as in ``deploy/nginx.conf``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import json
import logging
import os
import socket
import ssl
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from holdfast.decisions.stores import store_at
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.logs import Sparse
from holdfast.service.access import TokenFile
from holdfast.service.app import AUDIT, LOG, SCOPE, make_app
from holdfast.service.metrics import FOLDER

GRACE = 15
"""Seconds for answers in flight when the server stops."""
OTHER_FILES = 200
"""Files that a process has open besides its connections, at most."""
BACKLOG, ACCEPTED = 2048, 100
"""Connections that wait to be accepted, and that are accepted in one turn of the event loop: it looks at them then."""
SWITCH_INTERVAL = 0.0005
"""Seconds before the event loop yields to the writer thread; Python's 5 ms is most of a commit."""


class OneLine(logging.Formatter):
    """Formats each record as one line of JSON; audit records are that but for the time."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        if record.name == AUDIT.name:
            return json.dumps({"at": at, **json.loads(record.getMessage())})
        content = {"at": at, "level": record.levelname, "message": record.getMessage().strip()}
        if record.exc_info:
            content["trace"] = self.formatException(record.exc_info)
        return json.dumps(content)


def log_lines() -> None:
    """Log to standard error, one line per record."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    handler.addFilter(Sparse())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def application(url: str, **options: Any) -> ASGIApp:
    """Return the application made by `make_app`, in a process of its own."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    log_lines()
    gc.freeze()  # loaded modules stay: collecting them again and again takes a tenth of the time
    return make_app(url, **options)


# ---- connections of one process: how many, from which addresses, and which to close where there are too many
#
# A connection is a *stranger* until a request on it is admitted. At a limit the oldest stranger makes room, so that
# whoever only opens connections cannot keep out clients with a token. What is too much is closed at once, without an
# answer: to answer it would keep it open.


def checked_proxy(text: str) -> str:
    """Return the address or network of a proxy, checked."""
    try:
        return str(ip_network(text))
    except ValueError:
        rule = "must be an address or a network, such as 10.0.0.7 or 10.0.0.0/24"
        raise InvalidParameter("proxy", rule, text) from None


class Gate:
    """Lets connections in, up to a number in all and a number from one address; named proxies have no limit of theirs.

    >>> Gate(1000, 250, ["10.0.0.0/24"]).place_of("10.0.0.7") is None
    True
    """

    def __init__(self, most: int, most_of_one: int, proxies: Sequence[str] = ()) -> None:
        self.most, self.most_of_one = most, most_of_one
        self._proxies = [ip_network(one) for one in proxies]
        self._open: dict[Connection, str | None] = {}
        self._of_one: Counter[str | None] = Counter()
        self._strangers: dict[Connection, None] = {}
        """In order of arrival."""

    def place_of(self, host: str) -> str | None:
        """Return the unit that limits apply to: an IPv4 address or an IPv6 /64. None for a named proxy."""
        try:
            address = ip_address(host)
        except ValueError:  # a socket of this machine
            return host
        if any(address in network for network in self._proxies):
            return None
        if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
            return str(ip_network((int(address) >> 64 << 64, 64)))
        return host

    def enter(self, connection: Connection, host: str) -> None:
        """Let a connection in, or close it, or another one that makes room."""
        place = self.place_of(host)
        self._open[connection] = place
        self._of_one[place] += 1
        self._strangers[connection] = None
        crowded = place is not None and self._of_one[place] > self.most_of_one
        if not crowded and len(self._open) <= self.most:
            return
        strangers = (one for one in self._strangers if not crowded or self._open[one] == place)
        closed = next(strangers)  # the new one, if there is no other
        what = f"{self.most_of_one:,} connections of one address" if crowded else f"{self.most:,} connections"
        LOG.warning("more than " + what + " at once: closed one of %s", self._open[closed] or "a proxy")
        self.leave(closed)
        closed.transport.abort()

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        if connection in self._open:
            place = self._open.pop(connection)
            self._of_one[place] -= 1
            if not self._of_one[place]:
                del self._of_one[place]
            self._strangers.pop(connection, None)

    def admit(self, connection: Connection) -> None:
        """Note that a request on this connection was admitted."""
        self._strangers.pop(connection, None)


class Connection(HttpToolsProtocol):
    """A connection that passes the gate. Applications find it in the scope of their requests."""

    def __init__(self, *given: Any, gate: Gate, **named: Any) -> None:
        super().__init__(*given, **named)
        self.gate = gate

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base
        super().connection_made(transport)
        self.gate.enter(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self.gate.leave(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[SCOPE] = self  # type: ignore[literal-required]


# ---- processes


class Server(uvicorn.Server):
    """One process that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


class Workers(Multiprocess):
    """Several processes that report when all are ready."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], ready: Callable[[], None]) -> None:
        super().__init__(config, sockets)
        self._ready = ready

    def init_processes(self) -> None:
        super().init_processes()
        if all(one.wait_until_ready(120, self.should_exit) for one in self.processes):
            self._ready()

    def keep_subprocess_alive(self) -> None:
        """Restart workers that have ended."""
        before = {one.pid for one in self.processes}
        super().keep_subprocess_alive()
        for process in before - {one.pid for one in self.processes}:
            LOG.error("worker %s ended, and another one has begun", process)
            mark_process_dead(process)  # type: ignore[no-untyped-call]  # its gauges count no more


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    workers: int = 1,
    connections: int = 1000,
    connections_each: int = 250,
    proxies: Sequence[str] = (),
    certificate: Path | None = None,
    key: Path | None = None,
    tokens: TokenFile | None = None,
    say: Callable[[str], None] = print,
    **options: Any,
) -> None:
    """Serve a store until SIGTERM or Ctrl-C. `say` is called with the address once it is ready.

    Then no more connections are accepted, and accepted requests are answered. `options` are those of `make_app`.
    """
    if tokens is None and not _is_loopback(host):
        rule = "must be a loopback address such as 127.0.0.1, unless there are tokens: see `holdfast token make`"
        raise InvalidParameter("host", rule, host)
    if tokens is not None and not tokens.known():
        rule = "must be a file with a token: `holdfast token make` writes it"
        raise InvalidParameter("tokens", rule, str(tokens.path))
    if certificate is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except OSError as error:
            rule = f"must be a PEM file that can be read, with its key ({error.strerror or error})"
            raise InvalidParameter("certificate", rule, str(certificate)) from None
    with contextlib.closing(store_at(url)) as store:
        store.check_writing()  # where it cannot be used, that is said in one line
    log_lines()
    _allow_files(connections + OTHER_FILES)
    config = uvicorn.Config(
        partial(application, url, tokens=tokens, **options),  # a factory that can be pickled
        factory=True,
        http=partial(Connection, gate=Gate(connections, connections_each, proxies)),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        workers=workers,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        backlog=ACCEPTED,
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    listening = listening_at(host, port)
    scheme = "https" if certificate else "http"
    shown = f"[{host}]" if ":" in host else host

    def ready() -> None:
        listening.listen(BACKLOG)  # more may wait than are accepted at once
        say(f"{scheme}://{shown}:{listening.getsockname()[1]}")

    with contextlib.ExitStack() as stack:
        stack.callback(listening.close)
        if workers == 1:
            server = Server(config, ready)
            server.run(sockets=[listening])
            if not server.started:
                raise HoldfastError("the server could not begin; its log says why")
            return
        os.environ[FOLDER] = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-metrics-"))
        stack.callback(os.environ.pop, FOLDER)
        Workers(config, [listening], ready).run()


def _allow_files(wanted: int) -> None:
    """Raise the number of files that a process may have open, connections among them, as far as it is allowed."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def listening_at(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio turns delays off only with this
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(BACKLOG)  # at once: until then another server could take the same address
    except (OSError, OverflowError) as error:
        found.close()
        reason: Any = getattr(error, "strerror", None) or error
        raise HoldfastError(f"cannot listen at {host}:{port}: {reason}") from None
    found.set_inheritable(True)
    return found
