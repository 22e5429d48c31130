"""Where games are kept, by URL."""

from __future__ import annotations

from holdfast.decisions.stores.shared import shared
from holdfast.decisions.stores.store import Store
from holdfast.errors import InvalidParameter

RULE = "must be 'memory:', 'sqlite:///file' or 'postgresql://user@host/database'"


def store_at(url: object) -> Store:
    """The store at a URL; an SQL store is made, or brought up to date, when it is first used."""
    if not isinstance(url, str):
        raise InvalidParameter("url", RULE, url)
    scheme = url.partition(":")[0]
    if url == "memory:":
        from holdfast.decisions.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite":
        from holdfast.decisions.stores.sqlite import SqliteStore

        return shared(SqliteStore(url))
    if scheme in ("postgresql", "postgres"):
        from holdfast.decisions.stores.postgresql import PostgresStore

        return shared(PostgresStore(url))
    raise InvalidParameter("url", RULE, url)


__all__ = ["Store", "store_at"]
