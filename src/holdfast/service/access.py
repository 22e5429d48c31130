"""Access control: tokens, rate limits, and cross-site requests."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock
from starlette.requests import Request

from holdfast.checks import one_of
from holdfast.decisions.options import checked_name
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.files import write_whole
from holdfast.service.operations import Refused

# Tokens: who may do what. A file keeps their hashes; the token itself is shown once, when it is made.
#
#     hf_3f2a9c01_5mYB…       id, secret
#
# A token's secret has 256 random bits, so that one round of SHA-256 is enough. The file is checked
# ten times a second, so a revoked token stops working soon.

LOG = logging.getLogger("holdfast.service")

MOST_LIFETIME = timedelta(days=36_500)

LOOK = 0.1
"""Seconds for which the token file is cached."""

ROLES = ("read", "decide", "admin")
"""Roles, each including those before it."""


@dataclass(frozen=True)
class Token:
    """A stored token, which identifies the client that presents it."""

    id: str
    hash: str
    role: str
    games: tuple[str, ...]
    """Games it is for; empty means all."""
    created: float
    note: str = ""
    expires: float | None = None
    """When it stops being valid."""

    def allows(self, role: str) -> bool:
        """Return True if its role includes `role`."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def expired(self) -> bool:
        """True if its time is over."""
        return self.expires is not None and time.time() >= self.expires

    def sees(self, game: str) -> bool:
        """Return True if it is for this game."""
        return not self.games or game in self.games


class TokenFile:
    """Tokens in a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = TokenFile(f"{folder}/tokens.json")
    ...     written = tokens.make("decide", games=["chat"])
    ...     tokens.find(written).role
    'decide'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read: tuple[int, int] | None = None
        self._looked = -LOOK
        self._known: dict[str, Token] = {}

    def known(self) -> dict[str, Token]:
        """Return all tokens by id."""
        self._looked = time.monotonic()
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._read, self._known = None, {}
            return self._known
        version = found.st_mtime_ns, found.st_ino
        if version != self._read:
            self._read, self._known = None, {}  # if it cannot be read, no client is known
            try:
                rows = json.loads(self.path.read_bytes())
                self._known = {row["id"]: Token(**{**row, "games": tuple(row["games"])}) for row in rows}
            except OSError as error:
                raise HoldfastError(f"{self.path} cannot be read: {error.strerror}") from None
            except (ValueError, TypeError, KeyError):
                raise HoldfastError(f"{self.path} must be a file that `holdfast token make` wrote") from None
            self._read = version
        return self._known

    def find(self, written: str) -> Token | None:
        """Return the token that a client presents, if valid."""
        kind, _, rest = written.partition("_")
        id, _, secret = rest.partition("_") if kind == "hf" else ("", "", "")
        known = self._known
        if id not in known or time.monotonic() - self._looked > LOOK:  # a look each time would let other threads in
            known = self.known()
        token = known.get(id)
        same = hmac.compare_digest(_hash(secret), token.hash if token else _hash(""))
        return token if token is not None and same and secret and not token.expired else None

    def make(self, role: str, games: list[str] | None = None, note: str = "", lifetime: timedelta | None = None) -> str:
        """Make a token and return it; it cannot be shown again.

        Parameters
        ----------
        role
            ``read``, ``decide`` or ``admin``.
        games
            The games that it is for; all, if left out.
        note
            Purpose of the token.
        lifetime
            Validity; until it is revoked, if left out.
        """
        one_of("role", role, ROLES)
        named = tuple(checked_name("game", game) for game in games or ())
        id, secret, now = secrets.token_hex(4), secrets.token_urlsafe(32), time.time()
        if lifetime is not None and not timedelta(0) < lifetime <= MOST_LIFETIME:
            rule = f"must be a time above 0 and of at most {MOST_LIFETIME.days:,} days"
            raise InvalidParameter("lifetime", rule, str(lifetime))
        expires = None if lifetime is None else now + lifetime.total_seconds()
        with self._changing() as tokens:
            checked = note and checked_name("note", note)
            tokens[id] = Token(id, _hash(secret), role, named, now, checked, expires)
        return f"hf_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """Revoke a token."""
        with self._changing() as tokens:
            if id not in tokens:
                raise InvalidParameter("id", "must be the id of a token, as `holdfast token list` shows it", id)
            del tokens[id]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """Yield the tokens, locked against other writers, and write them if they changed."""
        with FileLock(f"{self.path}.lock", timeout=10):
            tokens = dict(self.known())
            yield tokens
            write_whole(self.path, json.dumps([asdict(token) for token in tokens.values()], indent=1).encode())
            os.chmod(self.path, 0o600)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _id_of(written: str) -> str:
    """Return the id of what is shown as a token, never more."""
    found = re.match(r"\s*hf_([0-9a-f]{8})_", written)
    return found[1] if found else "it is none of ours"


def _host_of(origin: str) -> str | None:
    with contextlib.suppress(ValueError):
        return urlsplit(origin).netloc
    return None


COOKIE = "holdfast_token"
SAFE = ("GET", "HEAD")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MOST_CLIENTS = 10_000
"""Clients whose rates are remembered."""

NOBODY = Token("", "", "", (), 0.0)
"""Client of an operation that needs no token."""
ANYBODY = replace(NOBODY, role="admin")
"""Client of a server without tokens."""


class Access:
    """Admits requests or refuses them."""

    def __init__(self, tokens: TokenFile | None, rate: float = 0.0) -> None:
        self.tokens, self.rate = tokens, rate
        self._spent: dict[str, tuple[float, float]] = {}

    def admit(self, request: Request, role: str | None, game: str | None) -> Token:
        """Return the client if it has this role and may use this game."""
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
        """Return True if the token of an admitted client is still valid."""
        if self.tokens is None:
            return True
        with contextlib.suppress(HoldfastError):
            known = self.tokens.known().get(client.id)
            return known is not None and not known.expired
        return False

    def _client(self, request: Request, role: str) -> Token:
        if self.tokens is None:
            return ANYBODY
        kind, _, written = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            written = request.cookies.get(COOKIE, "")
        token = self.find(written.strip())
        if token is None:
            if written:
                LOG.warning("a token was refused: %s", _id_of(written))
            raise Refused(401, "a valid token must be given: Authorization: Bearer hf_…")
        if not token.allows(role):
            LOG.warning("a token was refused: %s has the role %s, and %s is needed", token.id, token.role, role)
            raise Refused(403, f"this needs the role {role!r}; the token has {token.role!r}")
        return token

    def find(self, written: str) -> Token | None:
        """Return the token that a client presents; refuse it if the file cannot be read."""
        try:
            return None if self.tokens is None else self.tokens.find(written)
        except HoldfastError as error:
            raise Refused(503, "tokens cannot be checked; the server's log says why") from error

    def _check_origin(self, request: Request) -> None:
        """Refuse cross-site requests, and host names that were pointed at this machine."""
        headers = request.headers
        host = headers.get("host", "")
        bare = not host and request.scope["http_version"] == "1.0" and "x-forwarded-for" not in headers
        loopback = bare or host.rpartition(":")[0] in LOOPBACK or host in LOOPBACK
        if self.tokens is None and not loopback:
            raise Refused(421, "without tokens only requests to a loopback address are answered")
        if request.method in SAFE:
            return
        origin = headers.get("origin")
        other = origin is not None and (not host or _host_of(origin) != host)
        if other or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refused(403, "requests that change something must come from this server's own pages or from no page")

    def _spend(self, who: str) -> None:
        """Count one request of a client limited to `rate` a second, with bursts as large."""
        now = time.monotonic()
        left, then = self._spent.get(who, (max(self.rate, 1.0), now))
        left = min(left + (now - then) * self.rate, max(self.rate, 1.0))
        if left < 1.0:
            raise Refused(429, f"more than {self.rate:g} requests a second")
        if len(self._spent) >= MOST_CLIENTS:
            self._spent.clear()
        self._spent[who] = left - 1.0, now
