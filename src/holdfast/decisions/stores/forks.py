"""Locks and forks: a fork waits until no call is under way, so that no child inherits half of one.

A lock that a thread holds at a fork would be held in the child for ever, which has no such thread, and what it guards
would be as that thread left it. And SQLite must not have a file open at a fork: the child would believe to hold locks
that are its parent's, which then removes the log that the child writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any
from weakref import WeakSet

from holdfast.errors import StoreError

ROUTER, STORE = range(2)
"""In this order they are taken: a router's lock is held while a store's is waited for."""

_known: tuple[WeakSet[Any], ...] = (WeakSet(), WeakSet())
_closed_before: WeakSet[Any] = WeakSet()
_registering = RLock()
_held: list[Any] = []


def lock_across_forks(rank: int) -> Any:
    """A reentrant lock that is free in a child, whoever used it before the fork."""
    lock = RLock()
    with _registering:
        _known[rank].add(lock)
    return lock


def close_before_forks(store: Any) -> None:
    """Close a store before each fork; whoever uses it next, in the parent or the child, opens it anew."""
    with _registering:
        _closed_before.add(store)


@contextmanager
def alone(lock: Any, url: str) -> Iterator[None]:
    """Hold the lock of a store, once: a call within a call would see half of the other."""
    if lock._is_owned():
        raise within_a_call(url)
    with lock:
        yield


@contextmanager
def never_within(calls: local, url: str) -> Iterator[None]:
    """The same of a thread, where several may call at once."""
    if getattr(calls, "is_in_one", False):
        raise within_a_call(url)
    calls.is_in_one = True
    try:
        yield
    finally:
        calls.is_in_one = False


def within_a_call(url: str) -> StoreError:
    """What is said of a call that would see half of another."""
    return StoreError(f"{url} cannot be used from within a call that uses it, as by a signal handler")


def _take_all() -> None:
    _registering.acquire()
    for lock in [lock for locks in _known for lock in locks]:
        lock.acquire()
        _held.append(lock)
    for store in list(_closed_before):
        store.close()


def _free_all() -> None:
    while _held:
        _held.pop().release()
    _registering.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_free_all, after_in_child=_free_all)
