"""Who may do what: tokens, rates, and requests that another site made a browser send."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from urllib.parse import urlsplit

from starlette.requests import Request

from holdfast.errors import HoldfastError
from holdfast.service.problems import Refused
from holdfast.service.tokens import Token, TokenFile

COOKIE = "holdfast_token"
SAFE = ("GET", "HEAD")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MOST_CLIENTS = 10_000
"""Clients whose rates are remembered."""

NOBODY = Token("", "", "", (), 0.0)
"""Who comes where no token is asked for."""
ANYBODY = replace(NOBODY, role="admin")
"""Who comes where there are no tokens."""


class Access:
    """Admits requests or refuses them."""

    def __init__(self, tokens: TokenFile | None, rate: float = 0.0) -> None:
        self.tokens, self.rate = tokens, rate
        self._spent: dict[str, tuple[float, float]] = {}

    def admit(self, request: Request, role: str | None, game: str | None) -> Token:
        """The client, if it may do what needs this role, with this game."""
        self._check_origin(request)
        if role is None:
            return NOBODY
        client = self._client(request, role)
        if self.rate:
            self._spend(client.id or (request.client.host if request.client else ""))
        if game is not None and not client.sees(game):
            raise Refused(403, "this token is not for this game")
        if game is None and client.games and role == "admin":
            raise Refused(403, "this token is for some games only")
        return client

    def knows(self, client: Token) -> bool:
        """Whether the token of a client that was admitted is still valid."""
        if self.tokens is None:
            return True
        with contextlib.suppress(HoldfastError):
            return client.id in self.tokens.known()
        return False

    def _client(self, request: Request, role: str) -> Token:
        if self.tokens is None:
            return ANYBODY
        kind, _, written = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            written = request.cookies.get(COOKIE, "")
        token = self.find(written.strip())
        if token is None:
            raise Refused(401, "a valid token must be given: Authorization: Bearer hf_…")
        if not token.allows(role):
            raise Refused(403, f"this needs the role {role!r}; the token has {token.role!r}")
        return token

    def find(self, written: str) -> Token | None:
        """The token that somebody shows; refused where the file cannot be read."""
        try:
            return None if self.tokens is None else self.tokens.find(written)
        except HoldfastError as error:
            raise Refused(503, "tokens cannot be checked; the server's log says why") from error

    def _check_origin(self, request: Request) -> None:
        """Refuse what another site made a browser send, and names that were pointed at this machine."""
        headers = request.headers
        host = headers.get("host", "")
        bare = not host and request.scope["http_version"] == "1.0" and "x-forwarded-for" not in headers
        loopback = bare or host.rpartition(":")[0] in LOOPBACK or host in LOOPBACK
        if self.tokens is None and not loopback:
            raise Refused(421, "without tokens only requests to a loopback address are answered")
        if request.method in SAFE:
            return
        origin = headers.get("origin")
        other = origin is not None and (not host or urlsplit(origin).netloc != host)
        if other or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refused(403, "requests that change something must come from this server's own pages or from no page")

    def _spend(self, who: str) -> None:
        """One request of a client that has `rate` a second, and as many at once."""
        now = time.monotonic()
        left, then = self._spent.get(who, (self.rate, now))
        left = min(left + (now - then) * self.rate, max(self.rate, 1.0))
        if left < 1.0:
            raise Refused(429, f"more than {self.rate:g} requests a second")
        if len(self._spent) >= MOST_CLIENTS:
            self._spent.clear()
        self._spent[who] = left - 1.0, now
