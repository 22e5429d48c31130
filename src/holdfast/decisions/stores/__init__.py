"""Stores of games, by URL. A process shares one store, with few connections, between users of the same URL.

A URL is parsed as libpq does, and a part of it may be shown. An address that cannot be parsed is not repeated in an
error: any part of it may be a password. The name of a database file alone is: it has none of the characters that
precede one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote
from weakref import WeakValueDictionary

from holdfast.decisions.stores.sql import Store
from holdfast.errors import HINT, InvalidParameter, MissingExtra, nearest, printable

STORES = "'memory:', 'sqlite:///file' or 'postgresql://user@host/database'"
LASTING = "sqlite:///file or postgresql://user@host/database"
"""Addresses of stores that outlive a process, as a shell shows them."""
RULE = f"must be {STORES}, or in holdfast.open a server such as 'http://host:port'"
SERVERS = ("http://", "https://")
FILE = re.compile(r"[\w ./\\-]+\.(db|db3|sqlite|sqlite3)", re.IGNORECASE)
"""A file name that may be shown: without ``:``, ``@`` and ``=``."""
SCHEMES = {"memory": "memory:", "sqlite": "sqlite:///", "postgresql": "postgresql://", "postgres": "postgres://"}
ESCAPES = "in a user name or a password write %2F for '/', %40 for '@' and %3A for ':'"


class NotShown:
    """Replaces an address in an error, which is then pickled and shown without it."""

    def __repr__(self) -> str:
        return "an address that is not shown here, since it may hold a password"


@dataclass(frozen=True)
class Address:
    """A store's address: its `kind`, what may be `shown` of it, and what is needed to open it.

    >>> parse_address("postgresql://me:secret@db.example:5433/games?sslmode=require")
    Address(kind='postgresql', shown='postgresql://me@db.example:5433/games')
    """

    kind: str
    """``memory``, ``sqlite`` or ``postgresql``."""
    shown: str
    """URL without passwords, options and control characters."""
    path: str = field(default="", repr=False)
    """Path of an SQLite file, as given."""
    conninfo: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Connection string for libpq, including passwords."""


def parse_address(url: object) -> Address:
    """Parse a store's URL. Raise an `InvalidParameter` that does not repeat it if it is invalid."""
    if not isinstance(url, str):
        raise InvalidParameter("url", RULE, type(url))
    if url == SCHEMES["memory"]:
        return Address("memory", url)
    if url.startswith(SCHEMES["sqlite"]):
        return _sqlite(url)
    if url.startswith((SCHEMES["postgresql"], SCHEMES["postgres"])):
        return _postgresql(url)
    if url.startswith(SERVERS):
        _refuse(f"must be a store, {STORES}: only holdfast.open takes the address of a server")
    if FILE.fullmatch(url):
        raise InvalidParameter("url", f"{RULE}{HINT}'{SCHEMES['sqlite']}{url}'?", url)
    close = nearest(url.partition(":")[0], SCHEMES)
    for name, scheme in SCHEMES.items():
        close = close.replace(f"'{name}'", f"'{scheme}'")
    if FILE.fullmatch(url.removeprefix("sqlite://")):
        close = f"{HINT}'{SCHEMES['sqlite']}{url.removeprefix('sqlite://')}'?"
    _refuse(f"{RULE}{close}")


def _refuse(rule: str) -> NoReturn:
    raise InvalidParameter("url", rule, NotShown()) from None


def _sqlite(url: str) -> Address:
    path = url.removeprefix(SCHEMES["sqlite"])
    if not path or "?" in path or "\0" in path or "://" in path:
        _refuse("must be 'sqlite:///file', or 'sqlite:////folder/file' from the root, without '?' and what may follow")
    return Address("sqlite", SCHEMES["sqlite"] + printable(path), path)


def _postgresql(url: str) -> Address:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a store in PostgreSQL needs the extra 'store': pip install 'holdfast[store]'") from None
    example = "must be such as 'postgresql://user:password@host:port/database?option=value', as libpq reads it"
    if "\0" in url:
        _refuse(f"{example}, without NUL")
    given = None
    with suppress(psycopg.Error, ValueError):  # its message repeats what it could not read: ours has no context
        given = psycopg.conninfo.conninfo_to_dict(url)
    if given is None:
        _refuse(f"{example}; {ESCAPES}")
    found = {name: str(value) for name, value in given.items() if value is not None}
    # With a raw '/', '@' or '?' in a password libpq takes parts of it for a port, a host, a database or a user.
    after_host = url.partition("://")[2].partition("/")[2]
    names = "".join(found.get(name, "") for name in ("host", "hostaddr", "dbname"))
    if (
        "@" in after_host
        or re.search(r"[@?=]|://", names)
        or re.search(r"[?=&/]", found.get("user", ""))
        or not re.fullmatch(r"[0-9,]*", found.get("port", ""))
    ):
        _refuse(f"{example}; {ESCAPES}")
    return Address("postgresql", _shown(found), conninfo=found)


def _shown(found: Mapping[str, str]) -> str:
    user = f"{quote(found['user'], safe='')}@" if "user" in found else ""
    hosts = found.get("host") or found.get("hostaddr", "")
    ports = found.get("port", "").split(",")
    socket = f"?host={quote(hosts)}" if "/" in hosts else ""
    places = (
        []
        if socket
        else [f"[{quote(host, safe=':')}]" if ":" in host else quote(host, safe="") for host in hosts.split(",")]
    )
    if len(ports) == 1:
        ports *= max(1, len(places))
    places = places or [""]
    where = ",".join(f"{place}:{port}" if port else place for place, port in zip(places, ports, strict=False))
    return f"postgresql://{user}{where}/{quote(found.get('dbname', ''), safe='')}{socket}"


# ---- stores that are in use

_stores: WeakValueDictionary[tuple[Any, ...], Store] = WeakValueDictionary()


def store_at(url: object) -> Store:
    """Return the store at a URL. Its tables are created at its first use."""
    kind = parse_address(url).kind
    if kind == "postgresql":
        from holdfast.decisions.stores.postgresql import PostgresStore, connection_key

        return _shared(PostgresStore(str(url)), *connection_key(str(url)))
    from holdfast.decisions.stores.sqlite import SqliteStore

    store = SqliteStore(str(url))
    return store if store.place is None else _shared(store, url, store.place)


def _shared(store: Store, *key: Any) -> Store:
    """Return this store, or an equivalent one already in use."""
    known = _stores.get(key)
    if known is None or known.stale or known.replaced():
        _stores[key] = known = store
    return known


__all__ = ["Store", "parse_address", "store_at"]
