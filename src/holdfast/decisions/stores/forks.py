"""Locks and forks: a fork waits until no call is in progress, so that no child inherits a half-made one.

A lock held by a thread at a fork would never be released in the child, which has no such thread. And no connection
may be open at a fork: with SQLite the child would rely on locks that are its parent's, with a server both would share a
socket.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

ROUTER, STORE = range(2)
"""Lock order: a router's lock is held while waiting for a store's."""

_members: tuple[WeakSet[Any], WeakSet[Any]] = (WeakSet(), WeakSet())
_registering = RLock()
_held: list[Any] = []


def take_part_in_forks(rank: int, member: Any) -> None:
    """Make each fork wait for `member._lock`, which is then free in the child.

    A store is closed before a fork; its next user, in the parent or the child, reopens it. A router drops the
    queued calls in the child: the parent's threads make them.
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


def _continue_parent() -> None:
    executors = list(_members[ROUTER])  # while no thread can add one
    _free_all()
    for executor in executors:
        if executor.waiting:  # queued during the fork: its caller took the holder of the lock for a writer
            executor.start()


def _begin_child() -> None:
    for executor in list(_members[ROUTER]):
        executor.drop_waiting()
    _free_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_continue_parent, after_in_child=_begin_child)
