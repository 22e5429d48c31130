"""The games of a store, as a server uses them: opened once, written in groups, read in threads.

Calls on one game that wait are made in one transaction and answered after it (group commit). All that happens between
requests happens on the event loop, so nothing here needs a lock: a thread is given a batch and brings back its
answers.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from holdfast.decisions import Router, open as open_game
from holdfast.decisions.core import View
from holdfast.decisions.executor import MOST_TOGETHER, Call, Executor
from holdfast.decisions.settings import Setup
from holdfast.decisions.stores import Store, store_at
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import BadStore, HoldfastError, StoreError, UnknownGame
from holdfast.policies.policy import Policy
from holdfast.service.problems import Refused

T = TypeVar("T")

MOST_WAITING = 10_000
"""Calls on one game that may wait."""

READERS, WRITERS = 4, 8
"""Threads."""

QUIET_TURNS = 4
"""Turns of the event loop without a call after which none is on its way: from the socket to here takes three."""


class Game:
    """One game, with the calls that wait for it."""

    def __init__(self, router: Router, games: Games) -> None:
        self.router = router
        self._games = games
        self._waiting: deque[tuple[Call, asyncio.Future[Any]]] = deque()
        self._busy = False

    async def make(self, call: Call) -> Any:
        """Make a call together with those that wait; its answer, when it is in the store."""
        if len(self._waiting) >= MOST_WAITING:
            raise Refused(503, f"{MOST_WAITING} calls on this game are waiting; nothing was changed")
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((call, answered))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._gather)
        return await answered

    def _gather(self, before: int = 0, quiet: int = 0) -> None:
        """Write when no further call has come for some turns of the event loop.

        Reading requests and writing a group at the same time is slower than one after the other: the two threads would
        hand Python's lock to each other all the time.
        """
        now = len(self._waiting)
        quiet = quiet + 1 if now == before else 0
        if quiet < QUIET_TURNS and now < MOST_TOGETHER:
            asyncio.get_running_loop().call_soon(self._gather, now, quiet)
        else:
            self._write()

    def _write(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        written = self._games.writers.submit(make_all, self.router.executor, [call for call, _ in batch])
        loop = asyncio.get_running_loop()
        written.add_done_callback(lambda _: loop.call_soon_threadsafe(self._answer, batch, written))
        self._games.commits(len(batch))

    def _answer(self, batch: list[tuple[Call, asyncio.Future[Any]]], written: Any) -> None:
        error = written.exception()
        answers = [error] * len(batch) if error is not None else written.result()
        for (_, answered), answer in zip(batch, answers, strict=True):
            if answered.done():  # the client has gone
                continue
            if isinstance(answer, BaseException):
                answered.set_exception(answer)
            else:
                answered.set_result(answer)
        self._busy = bool(self._waiting)
        if self._busy:
            self._gather()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._waiting)


def make_all(executor: Executor, calls: Sequence[Call]) -> list[Any]:
    """Make calls in one transaction; for each its answer, or the error that it ended in."""

    def rule(view: View, again: bool) -> list[Any]:
        return [call.rule(view, again) for call in calls]

    try:
        answers: list[Any] = executor.execute(Call(rule, [place for call in calls for place in call.rounds]))
        return answers
    except StoreError:
        raise
    except Exception as error:
        if len(calls) == 1:
            return [error]
        return [make_all(executor, [call])[0] for call in calls]  # one failed: the others may pass


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
        """What `work` returns, without keeping the event loop waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *arguments)

    async def names(self) -> list[str]:
        """All names, sorted. Games that others have deleted are forgotten."""
        found = await self.thread(self.store.names)
        for name in [name for name in self.opened.keys() - set(found) if not self.opened[name].waiting]:
            self.forget(name)
        return found

    def begin(self, name: str, policy: Policy | None = None, **options: Any) -> Router:
        """A game, begun if there is none."""
        return open_game(self.store, name, policy, clock=self._clock, allow=self.allow, **options)

    async def game(self, name: str) -> Game:
        """A game that is there."""
        found = self.opened.get(name)
        if found is None:
            router = await self.thread(self.begin, name)
            found = self.opened.setdefault(name, Game(router, self))
        return found

    def forget(self, name: str) -> None:
        """Open it anew next time."""
        self.opened.pop(name, None)

    async def with_game(self, name: str, work: Callable[[Game], Any]) -> Any:
        """What `work` gives for a game; again, once, where the game was deleted and made anew in between."""
        try:
            return await work(await self.game(name))
        except BadStore:
            self.forget(name)
            return await work(await self.game(name))

    async def use(self, name: str, work: Callable[[Router], T]) -> T:
        """What `work` returns of the router of a game, in a thread."""
        found: T = await self.with_game(name, lambda game: self.thread(work, game.router))
        return found

    async def look(self, name: str, look: Callable[[Transaction, Setup], T]) -> T:
        """What `look` finds in a game as it is at one moment."""
        return await self.use(name, lambda router: router.executor.read(look))

    async def check_writing(self) -> None:
        """An error where the store cannot be written; asked often, it is tried once a second."""
        if time.monotonic() - self._writable > 1.0:
            await asyncio.get_running_loop().run_in_executor(self._checker, self.store.check_writing)
            self._writable = time.monotonic()

    def hurry(self) -> None:
        """The server stops: calls that wait for a store that is away are answered now."""
        self.store.patient = False

    def close(self) -> None:
        """Finish what was begun, and close the store."""
        self.writers.shutdown()
        self._readers.shutdown()
        self._checker.shutdown()
        self.store.close()
        self.store.patient = True  # others in this process may use it


def only_seen(error: HoldfastError, sees: Callable[[str], bool]) -> HoldfastError:
    """The error without names of games that a client may not see."""
    if isinstance(error, UnknownGame):
        return UnknownGame(error.name, [name for name in error.known if sees(name)])
    return error
