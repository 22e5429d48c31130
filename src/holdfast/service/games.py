"""The games of a store as a server uses them: opened once, written in groups, read in threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from holdfast.decisions import Router, open as open_game
from holdfast.decisions.executor import MOST_TOGETHER, Call, Look
from holdfast.decisions.game import Setup
from holdfast.decisions.requests import Request
from holdfast.decisions.stores import Store, store_at
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import BadStore, HoldfastError, UnknownGame
from holdfast.policies.policy import Policy
from holdfast.service.operations import Refused

T = TypeVar("T")

MOST_WAITING = 10_000
"""Most calls that may wait on one game."""

READERS, WRITERS = 4, 8
"""Numbers of threads."""

QUIET_TURNS = 4
"""Turns of the event loop without a call that end a group: socket to here takes three."""


class Game:
    """One game. Concurrent calls are written together and answered in one turn of the event loop."""

    def __init__(self, router: Router, games: Games) -> None:
        self.router, self._executor, self._writers = router, router.executor, games.writers
        self._executor.committed = games.commits
        self._asked: list[tuple[Call, asyncio.Future[Any]]] = []
        self._busy = False

    async def make(self, request: Request, look: Look | None = None) -> Any:
        """Return the answer to a request, once it is stored."""
        if self.waiting >= MOST_WAITING:
            raise Refused(503, f"{MOST_WAITING} calls on this game are waiting; nothing was changed")
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        self._asked.append((self._executor.submit(request, look, start=False), answered))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._gather)
        return await answered

    def _gather(self, before: int = 0, quiet: int = 0) -> None:
        """Write once no further call has come for some turns of the event loop.

        Reading requests while writing a group is slower than doing one after the other: the two threads would
        constantly hand over Python's lock.
        """
        loop, now = asyncio.get_running_loop(), self.waiting
        quiet = quiet + 1 if now == before else 0
        if quiet < QUIET_TURNS and now < MOST_TOGETHER:
            loop.call_soon(self._gather, now, quiet)
        else:
            written = self._writers.submit(self._executor.write)
            written.add_done_callback(lambda _: loop.call_soon_threadsafe(self._answer))

    def _answer(self) -> None:
        left = []
        for call, answered in self._asked:
            if not call.done():
                left.append((call, answered))
            elif not answered.done():  # else the client has gone
                error = call.exception()
                if error is None:
                    answered.set_result(call.result())
                else:
                    answered.set_exception(error)
        self._asked, self._busy = left, bool(left)
        if left:
            self._gather()

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return self._executor.waiting


class Games:
    """All games of a store."""

    def __init__(
        self,
        url: str | Store,
        commits: Callable[[int], None] = lambda calls: None,
        clock: Callable[[], float] = time.time,
        allow: Sequence[str] = (),
    ) -> None:
        self.store = url if isinstance(url, Store) else store_at(url)
        self.allow = tuple(allow)
        self.commits, self._clock = commits, clock
        self.writers = ThreadPoolExecutor(WRITERS, "holdfast-write")
        self._readers = ThreadPoolExecutor(READERS, "holdfast-read")
        self._checker = ThreadPoolExecutor(1, "holdfast-check")  # not behind those who wait for a store that is away
        self.opened: dict[str, Game] = {}
        self._writable = 0.0

    async def thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work` without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *arguments)

    async def names(self) -> list[str]:
        """Return all names, sorted. Drop games that other processes have deleted."""
        found = await self.thread(self.store.names)
        for name in [name for name in self.opened.keys() - set(found) if not self.opened[name].waiting]:
            self.forget(name)
        return found

    def begin(self, name: str, policy: Policy | None = None, **options: Any) -> Router:
        """Return a game, begun if there is none."""
        return open_game(self.store, name, policy, clock=self._clock, allow=self.allow, **options)

    async def game(self, name: str) -> Game:
        """Return an existing game."""
        found = self.opened.get(name)
        if found is None:
            router = await self.thread(self.begin, name)
            found = self.opened.setdefault(name, Game(router, self))
        return found

    def forget(self, name: str) -> None:
        """Drop a game, so that it is reopened next time."""
        self.opened.pop(name, None)

    async def with_game(self, name: str, work: Callable[[Game], Any]) -> Any:
        """Run `work` on a game. Retry once if the game was deleted and recreated in between."""
        try:
            return await work(await self.game(name))
        except BadStore:
            self.forget(name)
            return await work(await self.game(name))

    async def use(self, name: str, work: Callable[[Router], T]) -> T:
        """Run `work` on a game's router, in a thread."""
        found: T = await self.with_game(name, lambda game: self.thread(work, game.router))
        return found

    async def look(self, name: str, look: Callable[[Transaction, Setup], T]) -> T:
        """Return the result of `look`, a consistent read of a game."""
        return await self.use(name, lambda router: router.executor.read(look))

    async def check_writing(self) -> None:
        """Raise an error if the store cannot be written, trying at most once a second."""
        if time.monotonic() - self._writable > 1.0:
            await asyncio.get_running_loop().run_in_executor(self._checker, self.store.check_writing)
            self._writable = time.monotonic()

    def hurry(self) -> None:
        """Answer calls that wait for an unreachable store, as the server stops."""
        self.store.patient = False

    def close(self) -> None:
        """Finish calls in progress, and close the store."""
        self.writers.shutdown()
        self._readers.shutdown()
        self._checker.shutdown()
        self.store.close()
        self.store.patient = True  # others in this process may use it


def only_seen(error: HoldfastError, sees: Callable[[str], bool]) -> HoldfastError:
    """Return the error without names of games that a client may not see."""
    if isinstance(error, UnknownGame):
        return UnknownGame(error.name, [name for name in error.known if sees(name)])
    return error
