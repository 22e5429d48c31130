"""Locks and forks: a fork waits until no call is under way, so that no child inherits half of one.

A lock that a thread holds at a fork would be held in the child for ever, which has no such thread. And no connection
may be open at a fork: with SQLite the child would rely on locks that are its parent's, with a server both would share a
socket.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

ROUTER, STORE = range(2)
"""In this order they are taken: a router's lock is held while a store's is waited for."""

_locks: tuple[WeakSet[Any], ...] = (WeakSet(), WeakSet())
_stores: WeakSet[Any] = WeakSet()
_queues: WeakSet[Any] = WeakSet()
_registering = RLock()
_held: list[Any] = []


def lock_across_forks(rank: int) -> Any:
    """A reentrant lock that is free in a child, whoever used it before the fork."""
    lock = RLock()
    with _registering:
        _locks[rank].add(lock)
    return lock


def close_before_forks(store: Any) -> None:
    """Close a store before each fork; whoever uses it next, in the parent or the child, opens it anew."""
    with _registering:
        _stores.add(store)


def drop_waiting_in_children(executor: Any) -> None:
    """Empty a queue of calls in each child: its parent's threads wait for them, and make them."""
    with _registering:
        _queues.add(executor)


def _take_all() -> None:
    _registering.acquire()
    for lock in [lock for locks in _locks for lock in locks]:
        lock.acquire()
        _held.append(lock)
    for store in list(_stores):
        store.close()


def _free_all() -> None:
    while _held:
        _held.pop().release()
    _registering.release()


def _begin_child() -> None:
    for executor in list(_queues):
        executor.drop_waiting()
    _free_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_free_all, after_in_child=_begin_child)
