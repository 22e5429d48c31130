"""Where games are kept, by URL. Stores that a process opens by the same URL are one, with few connections."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from holdfast.decisions.stores.sql import Store
from holdfast.errors import InvalidParameter

RULE = "must be 'memory:', 'sqlite:///file' or 'postgresql://user@host/database'"

_stores: WeakValueDictionary[tuple[Any, ...], Store] = WeakValueDictionary()


def store_at(url: object) -> Store:
    """The store at a URL; its tables are created when it is first used."""
    if not isinstance(url, str):
        raise InvalidParameter("url", RULE, url)
    scheme = url.partition(":")[0]
    if url == "memory:" or scheme == "sqlite":
        from holdfast.decisions.stores.sqlite import SqliteStore

        lite = SqliteStore(url)
        return lite if lite.place is None else _shared(lite, url, lite.place)
    if scheme in ("postgresql", "postgres"):
        from holdfast.decisions.stores.postgresql import PostgresStore, connection_key

        return _shared(PostgresStore(url), *connection_key(url))
    raise InvalidParameter("url", RULE, url)


def _shared(store: Store, *key: Any) -> Store:
    """This store, or the one like it that is in use already."""
    known = _stores.get(key)
    if known is None or known.stale or known.replaced():
        _stores[key] = known = store
    return known


__all__ = ["Store", "store_at"]
