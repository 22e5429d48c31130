"""Requests to a server, over persistent connections and with retries.

Every request may be repeated: an ask has an idempotency key, and all others change nothing the second time. So a lost
connection, a restarting server and a busy one are retried for a while.
"""

from __future__ import annotations

import asyncio
import contextvars
import http.client
import json
import os
import re
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")

POOL = 16
"""Idle connections kept, and threads for callers in an event loop."""
AGAIN = (429, 502, 503, 504)
"""Status codes after which a request is retried."""
WAIT, LONGEST_WAIT = 0.05, 1.0
"""Seconds before the first retry, doubled for each further one; and the longest wait."""
CONNECT = 5.0
"""Seconds that one attempt may take to connect, at most."""

BEGUN: contextvars.ContextVar[float] = contextvars.ContextVar("begun")
"""When an asynchronous call was made: waiting for a thread counts."""


TOKEN = "must be what `holdfast token make` printed: letters, digits, - and _"


def checked_token(token: object) -> str:
    """Return a token without surrounding white space, such as a newline. Errors never show it."""
    text = token.strip() if isinstance(token, str) else ""
    if not re.fullmatch(r"[\w-]+", text, re.ASCII):
        raise ValueError(f"token {TOKEN}; what was given is not shown")
    return text


class Problem(Exception):
    """A refused request: its `status`, and `content`, the problem document (RFC 9457).

    >>> Problem(404, {"error": "UnknownGame", "detail": "name must be …"}).error
    'UnknownGame'
    """

    def __init__(self, status: int, content: dict[str, Any]) -> None:
        self.status, self.content = status, content
        super().__init__(content.get("detail", f"the server answered with status {status}"))

    @property
    def error(self) -> str:
        """Kind of error, such as ``AlreadyTold``; ``docs/service.md`` lists them."""
        return str(self.content.get("error", ""))


class Unreachable(OSError):
    """The server did not answer despite retries. The request may or may not have been carried out."""


class Server:
    """Connections to one server, usable by several threads and on both sides of a fork.

    Parameters
    ----------
    url
        ``http://host:port`` or ``https://…``, with a path if a proxy uses one.
    token
        The token printed by `holdfast token make`; surrounding white space does not matter.
    retry
        Seconds during which a request that finds no server, a busy one or one that restarts is retried.
    timeout
        Seconds that a server may take to answer.

    Examples
    --------
    >>> Server("http://127.0.0.1:8080").url
    'http://127.0.0.1:8080'
    """

    refused: Callable[[Problem], Exception] = staticmethod(lambda problem: problem)
    """Makes the error that is raised for a refused request."""
    lost: Callable[[str], Exception] = Unreachable
    """Makes the error for a request without an answer."""

    def __init__(self, url: str, token: str | None = None, retry: float = 1.0, timeout: float = 60.0) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        known = parts.scheme in ("http", "https") and host and parts.username is None
        if not known or parts.query or parts.fragment:
            raise ValueError("url must be the address of a server such as http://host:port")  # it may have a password
        self._secure, self._host, self._port = parts.scheme == "https", host or "", port
        self._path = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._headers = {"content-type": "application/json", "accept": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {checked_token(token)}"
        self._retry, self._timeout = retry, timeout
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._pool: deque[http.client.HTTPConnection] = deque()
        self._threads: ThreadPoolExecutor | None = None
        self._closing = weakref.finalize(self, _close_all, self._pool)

    def call(self, method: str, path: str, body: object = None, seconds: float | None = None) -> bytes:
        """Return the body of the answer. Raise an error if the request is refused or gets no answer.

        Parameters
        ----------
        method, path
            Method and path of the request.
        body
            As JSON.
        seconds
            Deadline for the answer; if left out, all attempts are made.
        """
        data = None if body is None else json.dumps(body, default=float).encode()
        begun, delay = BEGUN.get(time.monotonic()), WAIT
        end = begun + (self._retry if seconds is None else min(self._retry, seconds))
        while True:
            now = time.monotonic()
            left = self._timeout if seconds is None else min(self._timeout, begun + seconds - now)
            connect = min(max(end - now, WAIT), CONNECT)
            try:
                status, found = self._once(method, self._path + path, data, max(left, 0.001), connect)
                if status not in AGAIN:
                    break
                reason = str(_problem(status, found))
            except (OSError, http.client.HTTPException) as lost:
                reason = str(lost) or type(lost).__name__
            if time.monotonic() + delay > end:
                raise self.lost(f"{self.url} cannot be reached ({reason}); try again")
            time.sleep(delay)
            delay = min(2 * delay, LONGEST_WAIT)
        if status >= 400:
            raise self.refused(_problem(status, found))
        return found

    def json(self, method: str, path: str, body: object = None, seconds: float | None = None) -> Any:
        """Like `call`, with the answer decoded from JSON.

        Parameters
        ----------
        method, path, body, seconds
            See `call`.
        """
        found = self.call(method, path, body, seconds)
        try:
            return json.loads(found)
        except ValueError:
            raise self.lost(f"{self.url} is no Holdfast server: its answer is not JSON") from None

    async def in_thread(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Run `work` without blocking the event loop."""
        self._after_fork()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(POOL, "holdfast-client")
        context = contextvars.copy_context()
        context.run(BEGUN.set, time.monotonic())
        made = partial(context.run, work, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, made)

    def _after_fork(self) -> None:
        if self._process != os.getpid():  # the other side keeps these connections
            self._closing.detach()
            self._begin()

    def _once(self, method: str, path: str, data: bytes | None, seconds: float, connect: float) -> tuple[int, bytes]:
        self._after_fork()
        pool = self._pool
        try:
            connection, kept = pool.pop(), True
        except IndexError:
            connection, kept = self._connection(), False
        try:
            if connection.sock is None:
                connection.timeout = min(connect, seconds)
                connection.connect()
            connection.sock.settimeout(seconds)
            connection.request(method, path, data, self._headers)
            answer = connection.getresponse()
            found = answer.read()
        except BaseException as lost:
            connection.close()
            if kept and isinstance(lost, (OSError, http.client.HTTPException)) and not isinstance(lost, TimeoutError):
                _close_all(pool)  # the server has closed connections that were idle
                return self._once(method, path, data, seconds, connect)
            raise
        if answer.will_close or len(pool) == POOL:
            connection.close()
        else:
            pool.append(connection)
        return answer.status, found

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, self._port)

    def close(self) -> None:
        """Close the connections. The next call opens one again."""
        _close_all(self._pool)
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None


def _close_all(pool: deque[http.client.HTTPConnection]) -> None:
    while pool:
        pool.pop().close()


def _problem(status: int, found: bytes) -> Problem:
    """Return the problem that an answer carries."""
    try:
        content = json.loads(found)
        if isinstance(content, dict) and isinstance(content.get("detail"), str):
            return Problem(status, content)
    except ValueError:
        pass
    words = found[:200].decode(errors="replace")
    return Problem(status, {"detail": f"the server answered with status {status}: {words}"})
