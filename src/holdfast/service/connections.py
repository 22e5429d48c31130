"""Connections of one process: how many, from which addresses, and which to close where there are too many.

A connection is a *stranger* until a request on it is admitted. At a limit the oldest stranger makes room, so that
whoever only opens connections cannot keep out clients with a token. What is too much is closed at once, without an
answer: to answer it would keep it open.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holdfast.errors import InvalidParameter

LOG = logging.getLogger("holdfast.service")

SCOPE = "holdfast.connection"
"""Key under which an application finds the connection of a request."""


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
