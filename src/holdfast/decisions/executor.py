"""Calls of one process on one game: those that wait at the same time are made in one transaction (group commit).

A thread queues its call and waits for the lock. Whoever gets it makes all calls that are queued, writes them together,
and gives each its answer. A failure of the store is the answer to all of them, so that nobody waits for it twice. The
policy's state is kept in memory under its version, and read again only when another process has changed it.

A caller with a deadline, or in an event loop, cannot wait for the lock or for a server. It leaves its call to a thread
that makes the queued calls, and ends when there are none for a while. So a store that does not answer holds up one
thread, however many callers have given up meanwhile. A call that nobody waits for any more is not made, unless it is
being written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from threading import Condition, Event, RLock, Thread
from typing import Any, NamedTuple, TypeVar

from holdfast.decisions.codec import setup_of, state_from, state_text
from holdfast.decisions.core import View
from holdfast.decisions.settings import Setup, State
from holdfast.decisions.stores.forks import ROUTER, take_part_in_forks
from holdfast.decisions.stores.sql import ConnectionLost, Rounds, Store, Transaction, nested
from holdfast.errors import BadStore, StoreError
from holdfast.policies.policy import Policy

T = TypeVar("T")

MOST_TOGETHER = 256
"""Calls in one transaction."""

WAIT = 0.05
"""Seconds before the first new attempt after a lost connection; twice as many before each further one."""

LOOK = 0.02
"""Seconds after which a thread that waits for the lock looks whether another one has made its call."""

IDLE = 1.0
"""Seconds after which the thread that makes calls ends if there are none."""


class Call(NamedTuple):
    """A call on a game: one of the rules, with all its arguments but the view and `again`."""

    rule: Callable[[View, bool], Any]
    rounds: Rounds = ()
    """Blocks and rounds that it is about."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A call that a thread waits for."""

    call: Call
    again: bool = False
    """Whether it may have been made before."""
    done: bool = False
    answer: Any = None
    """What the rule returned, or the error that it ended in."""
    given_up: bool = False
    """Whether nobody waits for it any more."""
    wake: Callable[[], None] | None = None
    """Called when it is done, by the thread that made it."""

    def end(self, answer: Any) -> None:
        """It is done."""
        self.answer, self.done = answer, True
        if self.wake is not None:
            self.wake()


class Executor:
    """One game as one process plays it; used by several threads."""

    def __init__(self, store: Store, setup: Setup, given: Policy | None, retry: float, timeout: float) -> None:
        self.store, self.setup = store, setup
        self._given, self._retry, self._timeout = given, retry, timeout
        self._lock: Any = RLock()
        self._queue: deque[Waiting] = deque()
        self._known: tuple[str, State] | None = None
        self._revision = 0
        self._for_thread, self._has_thread = Condition(), False
        take_part_in_forks(ROUTER, self)

    def drop_waiting(self) -> None:
        """Forget the calls that wait, and the thread that makes them: the parent has both."""
        self._queue.clear()
        self._for_thread, self._has_thread = Condition(), False

    def keep_state(self, version: str, state: State) -> None:
        """This process has just written the state: it need not be read back."""
        self._known = version, state

    # ---- calls that change something

    def execute(self, call: Call, seconds: float | None = None) -> Any:
        """Make one call, together with all that wait; its answer. A refusal is raised.

        With `seconds`, another thread makes it, and an error is raised when they have passed.
        """
        if self._lock._is_owned():
            raise nested(self.store.url)
        if seconds is not None:
            ready, until = Event(), time.monotonic() + seconds
            mine = Waiting(call, wake=ready.set)
            self._leave_to_thread(mine)
            try:
                ready.wait(until - time.monotonic())
            finally:
                self._abandon(mine)
            return self._result_by(mine, seconds)
        mine, deadline = Waiting(call), time.monotonic() + self._timeout
        self._queue.append(mine)
        try:
            while not mine.done:
                left = deadline - time.monotonic()
                if self._lock.acquire(timeout=min(left, LOOK) if left > 0 else LOOK):
                    while not mine.done:
                        self._make_queued(deadline)
                elif time.monotonic() >= deadline:
                    self._give_up(mine)  # unless it is being made: whoever makes it has a deadline
        except BaseException:
            self._give_up(mine)
            raise
        finally:
            if self._lock._is_owned():
                self._lock.release()
        if isinstance(mine.answer, BaseException):
            raise mine.answer
        return mine.answer

    async def execute_async(self, call: Call, seconds: float | None = None) -> Any:
        """The same for an event loop, which goes on meanwhile."""
        import asyncio

        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def set_ready() -> None:
            if not ready.done():
                ready.set_result(None)

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(set_ready)

        mine = Waiting(call, wake=wake)
        self._leave_to_thread(mine)
        try:
            await asyncio.wait([ready], timeout=seconds)
        finally:
            self._abandon(mine)
        return self._result_by(mine, seconds)

    def _leave_to_thread(self, mine: Waiting) -> None:
        """Queue a call for the thread that makes them, started if there is none."""
        with self._for_thread:
            if not self._has_thread:
                Thread(target=self._make_in_thread, name="holdfast calls", daemon=True).start()
                self._has_thread = True
            self._queue.append(mine)
            self._for_thread.notify()

    def _make_in_thread(self) -> None:
        while True:
            with self._for_thread:
                if not self._for_thread.wait_for(lambda: self._queue, IDLE):
                    self._has_thread = False
                    return
            with self._lock:
                self._make_queued(time.monotonic() + self._timeout)

    def _abandon(self, mine: Waiting) -> None:
        """Nobody waits for it any more, whether it is done or not."""
        mine.given_up = True
        if not mine.done:
            with suppress(ValueError, RuntimeError):
                self._queue.remove(mine)

    def _result_by(self, mine: Waiting, seconds: float | None) -> Any:
        if not mine.done:
            raise StoreError(
                f"{self.store.url} has not answered within {seconds:g} s; whether the call was made is not known"
            )
        if isinstance(mine.answer, BaseException):
            raise mine.answer
        return mine.answer

    def _give_up(self, mine: Waiting) -> None:
        """Take a call back, if nobody is making it."""
        with suppress(ValueError, RuntimeError):
            self._queue.remove(mine)
            text = f"{self.store.url}: other threads kept it busy for too long; nothing was changed"
            mine.end(StoreError(text))

    def _make_queued(self, deadline: float) -> None:
        """Make the calls that wait, in one transaction; again while connections are lost, for a while."""
        batch: list[Waiting] = []
        with suppress(IndexError):
            while len(batch) < MOST_TOGETHER:
                batch.append(self._queue.popleft())
        begun, delay, together = time.monotonic(), WAIT, len(batch)
        try:
            while left := [waiting for waiting in batch if not waiting.done]:
                these = left[:together]
                try:
                    answers = self._transact(these, deadline)
                except ConnectionLost as lost:
                    late = not self.store.patient or time.monotonic() - begun + delay > self._retry
                    if not late and not all(waiting.given_up for waiting in these):
                        for waiting in left:
                            waiting.again = True
                        time.sleep(delay)
                        delay = min(2 * delay, 1.0)
                        continue
                    answers = [lost] * len(left)
                except StoreError as error:
                    answers = [error] * len(left)
                except Exception as error:
                    if len(these) > 1:
                        together = 1  # one of them is the reason, and must not spoil the others
                        continue
                    answers = [error]
                for waiting, answer in zip(left, answers, strict=False):
                    waiting.end(answer)
        except BaseException:  # Ctrl-C: the others' calls are made by whoever comes next
            for waiting in reversed(batch):
                if not waiting.done:
                    waiting.again = True
                    self._queue.appendleft(waiting)
            raise

    def _transact(self, batch: Sequence[Waiting], deadline: float) -> list[Any]:
        known, self._known = self._known, None
        rounds = [place for waiting in batch for place in waiting.call.rounds]
        seen = self._revision
        with self.store.transaction(self.setup.game.id, rounds, writing=True, deadline=deadline) as transaction:
            setup, head = self._current(transaction, seen), transaction.head
            revision = head.revision

            def load() -> State:
                if known is not None and known[0] == head.state_version:
                    return known[1]
                return stored_state(setup, transaction)

            view = View(setup, head, transaction, load, transaction.told_blocks, transaction.told_losses)
            answers = [None if w.given_up else w.call.rule(view, w.again) for w in batch]
            after = view.head
            if view.learnt is not None:
                after = after._replace(state_version=token_hex(8))
            if after != head or view.events.losses or view.events.changed:
                text = None if view.learnt is None else state_text(view.setup, view.learnt)
                revision += 1
                transaction.save(after._replace(revision=revision), text, view.events)
        self._revision = max(revision, self._revision)
        self.setup = view.setup
        self._known = known if view.learnt is None else (after.state_version, view.learnt)
        return answers

    def _current(self, transaction: Transaction, seen: int) -> Setup:
        """The setup as it is by now: somebody may have changed it. A game that is older than one seen is refused."""
        revision = transaction.head.revision
        if revision < seen:
            raise BadStore(
                f"{self.store.url} was restored from an older copy while it was in use (revision {seen} of game "
                f"{self.setup.game.name!r} was seen, now it is {revision}); open the game again"
            )
        if transaction.head.settings_version == self.setup.game.settings_version:
            if max(transaction.head.arm, transaction.head.last_arm) >= len(self.setup.names):
                raise BadStore(f"the store is damaged: game {self.setup.game.name!r} has no arm {transaction.head.arm}")
            return self.setup
        game = transaction.read_game()
        if game.uid != self.setup.game.uid or game.settings_version != transaction.head.settings_version:
            raise BadStore(f"game {self.setup.game.name!r} is gone from the store")  # another may have got its number
        return setup_of(game, self._given)

    # ---- looking

    def read(self, look: Callable[[Transaction, Setup], T]) -> T:
        """What `look` finds in the game as it is at one moment."""

        def read_once() -> T:
            until, seen = time.monotonic() + self._timeout, self._revision
            with self.store.transaction(self.setup.game.id, writing=False, deadline=until) as transaction:
                setup = self._current(transaction, seen)
                found = look(transaction, setup)
            self.setup = setup
            return found

        return with_retries(read_once, self.store, self._retry)


def stored_state(setup: Setup, transaction: Transaction) -> State:
    """Return what was learnt, from the store."""
    return state_from(setup, transaction.head, transaction.state_text())


def with_retries(work: Callable[[], T], store: Store, retry: float) -> T:
    """`work`, tried again for `retry` seconds while connections to the store are lost."""
    begun, delay = time.monotonic(), WAIT
    while True:
        try:
            return work()
        except ConnectionLost:
            if not store.patient or time.monotonic() - begun + delay > retry:
                raise
        time.sleep(delay)
        delay = min(2 * delay, 1.0)
