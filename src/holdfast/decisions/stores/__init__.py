"""Stores of games, by URL. A process shares one store, with few connections, between users of the same URL."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from holdfast.decisions.stores.address import parse_address
from holdfast.decisions.stores.sql import Store

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


__all__ = ["Store", "store_at"]
