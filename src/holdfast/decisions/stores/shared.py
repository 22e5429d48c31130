"""Stores that this process uses: many games in one store need not be many connections."""

from __future__ import annotations

from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from holdfast.decisions.stores.sql import SqlStore

S = TypeVar("S", bound=SqlStore)

_stores: WeakValueDictionary[tuple[Any, ...], SqlStore] = WeakValueDictionary()


def shared(store: S) -> S:
    """This store, or the one like it that is in use already."""
    key = type(store), *store.is_shared_as()
    known = _stores.get(key)
    if known is None or known.replaced():
        _stores[key] = known = store
    return cast(S, known)
