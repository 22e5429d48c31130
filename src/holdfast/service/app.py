"""The application: operations and pages behind one door, which admits clients, measures, and answers errors."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import holdfast
from holdfast.decisions.game import Setup
from holdfast.decisions.stores import Store
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import BadStore, HoldfastError, StoreError
from holdfast.service import game_page, pages, views
from holdfast.service.access import Access, Token, TokenFile
from holdfast.service.api import OPERATIONS
from holdfast.service.exports import Slow
from holdfast.service.games import Games, only_seen
from holdfast.service.messages import GameLine
from holdfast.service.metrics import Metrics
from holdfast.service.operations import Operation, Refused, response_to, words_of
from holdfast.service.views import Course
from holdfast.text import counted

T = TypeVar("T")

LOG = logging.getLogger("holdfast.service")
AUDIT = logging.getLogger("holdfast.audit")

LOOK_AGAIN = 600.0
"""Seconds after which an unchanged game is read again for the list."""
MOST_LINES = 10_000
"""Games whose line in the list is cached."""
MOST_COURSES = 200
"""Games whose timeline is cached for their pages."""
REFUSED_FOR = 3600.0
"""Seconds for which refused losses are shown."""

SCOPE = "holdfast.connection"
"""Key under which an application finds the connection of a request."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Limits:
    """Limits on one client."""

    body: int = 1 << 20
    """Bytes of a request's body."""
    body_seconds: float = 10.0
    """Seconds to send the body."""
    rate: float = 0.0
    """Requests a second per token, or per address without tokens; 0: unlimited."""


class Service:
    """State shared by handlers."""

    def __init__(
        self,
        url: str | Store,
        tokens: TokenFile | None,
        limits: Limits,
        clock: Callable[[], float],
        root: str,
        allow: Sequence[str] = (),
    ) -> None:
        self.limits, self.root = limits, root
        self.metrics = Metrics()
        self.clock = clock
        self.games = Games(url, self.metrics.commit, clock, allow)
        self.slow = Slow()
        self.access = Access(tokens, self.limits.rate)
        self.stopping = False
        self._standing: dict[str, tuple[float, asyncio.Task[dict[str, Any]]]] = {}
        self._lines: dict[str, tuple[tuple[str, int, int], GameLine]] = {}
        self._refused: dict[str, tuple[float, int, str]] = {}
        self._courses: dict[str, Course] = {}
        self._complained = -math.inf

    def stop(self) -> None:
        """End all streams, and stop waiting for an unreachable store."""
        self.stopping = True
        self.games.hurry()

    async def body(self, request: Request) -> bytes:
        """Read the body of a request, within its limits."""
        most, data = self.limits.body, b""
        length = request.headers.get("content-length", "0")
        if length == "0" and "transfer-encoding" not in request.headers:
            return data
        if length.isdigit() and int(length) > most:
            raise Refused(413, f"a body may have {most} bytes; got {length[:20]}")
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    data += part
                    if len(data) > most:
                        raise Refused(413, f"a body may have {most} bytes")
        except TimeoutError:
            raise Refused(408, f"the body must come within {self.limits.body_seconds:g} seconds") from None
        return data

    async def line(self, name: str) -> GameLine:
        """Return a game's line in the list; one that cannot be read is shown with the reason."""
        try:
            return self._with_refused(await self.games.look(name, self._line))
        except HoldfastError as error:
            if isinstance(error, StoreError) and not isinstance(error, BadStore):
                raise
            return GameLine(name, warnings=[words_of(error)])

    def _line(self, transaction: Transaction, setup: Setup) -> GameLine:
        """Return the cached line if nothing changed since, but for warnings that depend on time."""
        now = self.clock()
        name, version = setup.game.name, (setup.game.uid, transaction.head.revision, int(now // LOOK_AGAIN))
        known = self._lines.get(name)
        if known is None or known[0] != version:
            if len(self._lines) > MOST_LINES:
                self._lines.clear()
            known = self._lines[name] = version, views.game_line(transaction, setup, now)
        return known[1]

    async def see(self, name: str, view: Callable[[Transaction, Setup, float], T]) -> T:
        """Return a view of a game as it is now."""
        return await self.games.look(name, partial(view, now=self.clock()))  # type: ignore[call-arg]

    def dashboard(self, transaction: Transaction, setup: Setup, now: float) -> views.Board:
        """Return the contents of a game's page."""
        if len(self._courses) > MOST_COURSES:
            self._courses.clear()
        course = self._courses.setdefault(setup.game.uid, Course())
        return views.dashboard(course, transaction, setup, now)

    def deleted(self, name: str) -> None:
        """Forget what is known of a game: another one may get its name."""
        self.games.forget(name)
        self._refused.pop(name, None)

    def refused_losses(self, name: str, n: int, last: HoldfastError) -> None:
        """Remember refused losses, for operators to see."""
        at, count, _ = self._refused.get(name, (0.0, 0, ""))
        now = time.monotonic()
        if len(self._refused) > 1000:
            self._refused.clear()
        self._refused[name] = now, count + n if now - at < REFUSED_FOR else n, words_of(last)

    def _with_refused(self, line: GameLine) -> GameLine:
        at, count, why = self._refused.get(line.name, (-REFUSED_FOR, 0, ""))
        if time.monotonic() - at >= REFUSED_FOR:
            return line
        words = f"{counted(count, 'loss was', 'losses were')} refused lately, the last one because {why[:150]}"
        return msgspec.structs.replace(line, warnings=[*line.warnings, words])

    async def standing(self, name: str) -> dict[str, Any]:
        """Return a game's status. Any number of watchers cause one read a second."""
        now = time.monotonic()
        at, read = self._standing.get(name, (-math.inf, None))
        if read is None or (read.done() and (now - at > 0.9 or read.exception())):
            if len(self._standing) > 1000:
                self._standing.clear()
            read = asyncio.create_task(self.see(name, views.standing))
            self._standing[name] = now, read
        return await asyncio.shield(read)  # a client that disconnects does not end it for the others

    def complain(self, error: HoldfastError) -> None:
        """Log why requests cannot be answered, at most once a second."""
        if time.monotonic() - self._complained > 1.0:
            self._complained = time.monotonic()
            LOG.error("%s", error.__cause__ if isinstance(error, Refused) and error.__cause__ else error)

    def audit(self, client: Token, what: str, game: str, reason: str | None = None) -> None:
        """Record who changed what."""
        AUDIT.info(json.dumps({"token": client.id, "did": what, "game": game, "reason": reason}))


class Door:
    """One operation as an ASGI application: admits, handles, measures, and turns errors into problem documents."""

    def __init__(self, service: Service, operation: Operation) -> None:
        self._service, self._operation = service, operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, begun = Request(scope, receive), time.perf_counter()
        service, operation, client = self._service, self._operation, None
        try:
            scope["path_params"] = {part: _decoded(text) for part, text in request.path_params.items()}
            client = service.access.admit(request, operation.role, request.path_params.get("name"))
            if operation.role is not None and (connection := scope.get(SCOPE)) is not None:
                connection.gate.admit(connection)
            response = await operation.handler(service, request, client)
        except HoldfastError as error:
            if error.status >= 500:
                service.complain(error)
            seen = only_seen(error, client.sees) if client is not None else error
            response = pages.error_page(service.root, seen) if operation.page else response_to(seen)
        except ClientDisconnect:
            return
        except Exception:
            LOG.exception("%s %s failed", operation.method, operation.path)
            response = response_to(Refused(500, "an error of the server; its log has more"))
        if isinstance(response, StreamingResponse) and request.method == "HEAD":  # events never end
            response = Response(status_code=response.status_code, headers=response.headers)
            del response.headers["content-length"]
        response.raw_headers.extend(HEADERS)
        if "cache-control" not in response.headers:
            response.raw_headers.append((b"cache-control", b"no-store"))
        taken = time.perf_counter() - begun
        service.metrics.request(operation.method, operation.path, response.status_code, taken)
        await response(scope, receive, send)


def _decoded(text: str) -> str:
    """Decode a part of the path; routes see it encoded, so that names may have slashes."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Refused(400, "the path must be UTF-8, percent-encoded") from None


class RawPaths:
    """Gives routes the percent-encoded path, so that names may have slashes, without a proxy's prefix."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or scope["path"].encode()
            path = raw.partition(b"?")[0].decode("latin-1")
            scope["path"] = path[len(self._root) :] or "/" if f"{path}/".startswith(f"{self._root}/") else path
        await self._app(scope, receive, send)


async def _unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is nothing at this path", 405: "this method is not for this path"}
    response = response_to(Refused(status, words.get(status, "the request cannot be answered")))
    response.raw_headers.extend(HEADERS)
    if status == 405:
        at = [route for route in request.app.routes if route.path_regex.match(request.scope["path"])]
        response.headers["allow"] = ", ".join(sorted(set().union(*(route.methods for route in at))))
    return response


def _call_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at once on a signal to end: the server waits for streams, which end only then."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def handle(number: int, frame: FrameType | None, before: Any = before) -> None:
            loop.call_soon_threadsafe(stop)
            before(number, frame)

        if callable(before):
            signal.signal(number, handle)


def make_app(
    url: str | Store,
    *,
    tokens: TokenFile | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.time,
    root: str = "",
    allow: Sequence[str] = (),
) -> ASGIApp:
    """Return the service of a store as an ASGI application.

    Parameters
    ----------
    url
        The store: ``sqlite:///file`` or ``postgresql://…``.
    tokens
        The tokens. Without them everyone may do everything, at a loopback address.
    limits
        Limits on one client.
    clock
        Seconds since 1970.
    root
        The path prefix at a proxy, such as ``/holdfast``.
    allow
        User-defined policies that games may have: ``"module:Class"``, or ``"module"`` for all of a module.
    """
    service = Service(url, tokens, limits or Limits(), clock, root, allow)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        await service.games.check_writing()  # creates the tables, and fails now rather than later
        _call_on_signals(service.stop)
        LOG.info("Holdfast %s serves %s", holdfast.__version__, service.games.store.url)
        yield {"service": service}
        service.stop()
        LOG.info("Holdfast stops")
        service.slow.close()
        service.games.close()

    often_first = sorted((*OPERATIONS, *pages.OPERATIONS, *game_page.OPERATIONS), key=lambda one: one.role != "decide")
    routes = [Route(one.path, endpoint=Door(service, one), methods=[one.method]) for one in often_first]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _unknown})
    app.router.redirect_slashes = False
    return RawPaths(app, root)
