"""Where games are kept, by URL."""

from __future__ import annotations

from holdfast.decisions.stores.address import parse_address
from holdfast.decisions.stores.shared import shared
from holdfast.decisions.stores.store import Store


def store_at(url: object) -> Store:
    """The store at a URL; an SQL store is made, or brought up to date, when it is first used."""
    kind = parse_address(url).kind
    if kind == "memory":
        from holdfast.decisions.stores.memory import MemoryStore

        return MemoryStore()
    if kind == "sqlite":
        from holdfast.decisions.stores.sqlite import SqliteStore

        return shared(SqliteStore(str(url)))
    from holdfast.decisions.stores.postgresql import PostgresStore

    return shared(PostgresStore(str(url)))


__all__ = ["Store", "store_at"]
