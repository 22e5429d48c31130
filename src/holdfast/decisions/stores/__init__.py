"""Where games are kept, by URL. Stores that a process opens by the same URL are one, with few connections."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from holdfast.decisions.stores.address import parse_address
from holdfast.decisions.stores.sql import Store

_stores: WeakValueDictionary[tuple[Any, ...], Store] = WeakValueDictionary()


def store_at(url: object) -> Store:
    """The store at a URL; its tables are created when it is first used."""
    kind = parse_address(url).kind
    if kind == "postgresql":
        from holdfast.decisions.stores.postgresql import PostgresStore, connection_key

        return _shared(PostgresStore(str(url)), *connection_key(str(url)))
    from holdfast.decisions.stores.sqlite import SqliteStore

    store = SqliteStore(str(url))
    return store if store.place is None else _shared(store, url, store.place)


def _shared(store: Store, *key: Any) -> Store:
    """This store, or the one like it that is in use already."""
    known = _stores.get(key)
    if known is None or known.stale or known.replaced():
        _stores[key] = known = store
    return known


__all__ = ["Store", "store_at"]
