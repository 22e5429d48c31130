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
"""In this order their locks are taken: a router's is held while a store's is waited for."""

_members: tuple[WeakSet[Any], WeakSet[Any]] = (WeakSet(), WeakSet())
_registering = RLock()
_held: list[Any] = []


def take_part_in_forks(rank: int, member: Any) -> None:
    """Let each fork wait for `member._lock`, which is then free in the child, whoever used it before.

    A store is closed before a fork; whoever uses it next, in the parent or the child, opens it anew. A router drops the
    calls that wait in the child: its parent's threads wait for them, and make them.
    """
    with _registering:
        _members[rank].add(member)


def _take_all() -> None:
    _registering.acquire()
    for member in [*_members[ROUTER], *_members[STORE]]:
        member._lock.acquire()
        _held.append(member._lock)
    for store in list(_members[STORE]):
        store.close()


def _free_all() -> None:
    while _held:
        _held.pop().release()
    _registering.release()


def _begin_child() -> None:
    for executor in list(_members[ROUTER]):
        executor.drop_waiting()
    _free_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_free_all, after_in_child=_begin_child)
