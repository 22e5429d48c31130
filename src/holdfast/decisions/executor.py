"""Calls of one process on one game. Calls that wait at the same time share a transaction (group commit).

`submit` queues a request and returns a `Call`, the future of its answer. Whoever holds the lock makes all calls that
are queued, writes them together, and gives each its answer. A failure of the store is the answer to all of them, so
that nobody waits for it twice. The policy's state is kept in memory under its version, and read again only when another
process has changed it.

A thread that finds the lock free makes its own call, and those that have come by then. One that does not, waits for its
future: whoever has the lock looks at the queue once more after giving it back, and leaves what is there to a thread of
the executor. A caller with a deadline, or in an event loop, leaves its call to that thread from the start. So a store
that does not answer holds up one thread, however many callers have given up meanwhile. A call that was cancelled is not
made, unless it is being written.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from math import inf, isfinite
from secrets import token_hex
from threading import Condition, RLock, Thread, get_ident
from typing import Any, TypeVar

from holdfast.checks import real_number
from holdfast.decisions.game import Setup, State, setup_of, state_from, state_text
from holdfast.decisions.models import MOST_TIME
from holdfast.decisions.requests import Request
from holdfast.decisions.rules import TRANSITIONS, View
from holdfast.decisions.rules.report import take_back
from holdfast.decisions.stores.sql import ROUTER, ConnectionLost, Store, Transaction, nested, take_part_in_forks
from holdfast.errors import BadStore, HoldfastError, InvalidParameter, StoreError
from holdfast.policies.policy import Policy

LOG = logging.getLogger(__name__)

T = TypeVar("T")

FAR_AHEAD = 600.0
"""Seconds by which one call may move a game's time without being doubted."""

MOST_TOGETHER = 256
"""Calls in one transaction at most."""

WAIT = 0.05
"""Seconds before the first retry after a lost connection; doubled for each further one."""

IDLE = 1.0
"""Seconds without calls after which the writer thread ends."""

Look = Callable[[View, Any], Any]
"""Makes an answer of what a rule returned, in the same transaction."""


class Call(Future[Any]):
    """A submitted request: the future of its answer."""

    def __init__(self, request: Request, now: float, look: Look | None = None) -> None:
        super().__init__()
        self.request, self.now, self.look, self.again = request, now, look, False
        given = getattr(request, "request", "")
        # a later name sorts later, so that an index of them grows at its end
        self.name = f"{time.time_ns():016x}{token_hex(4)}" if given is None else given


def checked_time(clock: Callable[[], float]) -> float:
    """Return the time of a user's clock, if it is in seconds. It is the user's code, so it is called before locking."""
    now = clock()
    if type(now) is not float or not isfinite(now):
        now = real_number("clock", now)
    if abs(now) >= MOST_TIME:
        raise InvalidParameter("clock", "must give seconds since 1970, not milliseconds or nanoseconds", now)
    return now


class Executor:
    """One game as played by one process; shared by its threads."""

    def __init__(
        self,
        store: Store,
        setup: Setup,
        given: Policy | None,
        retry: float,
        timeout: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.setup = store, setup
        self.clock = clock if clock is time.time else partial(checked_time, clock)
        self.committed: Callable[[int], None] | None = None
        """Callback with the number of calls of each transaction."""
        self.began = False
        """True if the game began when it was opened here."""
        self._given, self._retry, self._timeout = given, retry, timeout
        self._lock = RLock()
        self._writer = 0
        self._queue: deque[Call] = deque()
        self._known: tuple[str, State] | None = None
        self._revision, self._time, self._ahead = 0, -inf, 0.0
        self._for_thread, self._has_thread = Condition(), False
        take_part_in_forks(ROUTER, self)

    def drop_waiting(self) -> None:
        """Forget, in a forked child, the queued calls and the writer thread: the parent has both."""
        self._queue.clear()
        self._for_thread, self._has_thread = Condition(), False

    def keep_state(self, version: str, state: State) -> None:
        """Cache a state this process has just written, so that it is not read back."""
        self._known = version, state

    @property
    def waiting(self) -> int:
        """Number of queued calls."""
        return len(self._queue)

    # ---- calls that change something

    def submit(self, request: Request, look: Look | None = None, *, start: bool = True) -> Call:
        """Queue a request and return its call. Unless `start`, it is made together with others, or by `write`.

        With `look`, the answer is what that returns in the same transaction.
        """
        call = Call(request, self.clock(), look)
        self._queue.append(call)
        if start:
            self.start()
        return call

    def execute(self, request: Request, seconds: float | None = None) -> Any:
        """Return the answer to a request, or raise its refusal. `seconds` is the deadline."""
        if self._writer == get_ident():
            raise nested(self.store.url)
        call = Call(request, self.clock())
        self._queue.append(call)
        try:
            if seconds is None:
                self._write(call)
            else:
                self.start()
            return call.result(self._timeout if seconds is None else seconds)
        except TimeoutError:
            return self._overdue(call, seconds)
        except BaseException:
            self._take_back(call)
            raise
        finally:
            del call  # it refers to the error, and that to this frame

    async def execute_async(self, request: Request, seconds: float | None = None) -> Any:
        """Like `execute`, without blocking the event loop."""
        import asyncio

        call = self.submit(request)
        try:
            answer = asyncio.wrap_future(call)
            return await (answer if seconds is None else asyncio.wait_for(answer, seconds))
        except TimeoutError:
            return self._overdue(call, seconds)
        except BaseException:
            self._take_back(call)
            raise
        finally:
            del call

    def _take_back(self, call: Call) -> None:
        """Cancel a call whose caller has given up."""
        call.cancel()
        with suppress(ValueError, RuntimeError):
            self._queue.remove(call)

    def _overdue(self, call: Call, seconds: float | None) -> Any:
        """Give up a call that took too long. Without a deadline, only if no thread is making it."""
        if seconds is not None:
            self._take_back(call)
            if call.cancelled():
                late = f"has not answered within {seconds:g} s; whether the call was made is not known"
                raise StoreError(f"{self.store.url} {late}") from None
            return call.result()
        try:
            self._queue.remove(call)
        except (ValueError, RuntimeError):
            return call.result()
        busy = "other threads kept it busy for too long; nothing was changed"
        raise StoreError(f"{self.store.url}: {busy}") from None

    def start(self) -> None:
        """Let a thread make the queued calls."""
        with self._for_thread:
            if self._has_thread:
                self._for_thread.notify()
                return
            self._has_thread = True
            Thread(target=self._make_in_thread, name="holdfast calls", daemon=True).start()

    def _make_in_thread(self) -> None:
        while True:
            with self._for_thread:
                if not self._for_thread.wait_for(lambda: self._queue, IDLE):
                    self._has_thread = False
                    return
            self._write()

    def write(self) -> None:
        """Make the calls queued now, in one transaction, once no other thread is writing."""
        with self._lock:
            self._writer = get_ident()
            try:
                self._make_queued(time.monotonic() + self._timeout)
            finally:
                self._writer = 0

    def _write(self, mine: Call | None = None) -> None:
        """Make the queued calls; or only until `mine` is done, unless another thread is writing."""
        me = get_ident()
        while self._queue and (mine is None or not mine.done()):
            try:
                if not self._lock.acquire(blocking=mine is None):
                    return  # the thread that has it looks at the queue again
                self._writer = me
                while self._queue and (mine is None or not mine.done()):
                    self._make_queued(time.monotonic() + self._timeout)
            except BaseException:
                if mine is not None:
                    self._take_back(mine)  # before another thread makes those that are left
                raise
            finally:
                if self._writer == me:
                    self._writer = 0
                with suppress(RuntimeError):  # another thread has it
                    self._lock.release()
                    if self._queue and mine is not None:
                        self.start()

    def _make_queued(self, deadline: float) -> None:
        """Make the queued calls in one transaction, retrying for a while when connections are lost."""
        batch: list[Call] = []
        while self._queue and len(batch) < MOST_TOGETHER:
            with suppress(IndexError):  # it was cancelled meanwhile
                batch.append(self._queue.popleft())
        left, begun, delay, together = batch, time.monotonic(), WAIT, len(batch)
        try:
            while left:
                these = left[:together]
                try:
                    answers = self._transact(these, deadline)
                except ConnectionLost as lost:
                    late = not self.store.patient or time.monotonic() - begun + delay > self._retry
                    if not late:
                        time.sleep(delay)
                        delay = min(2 * delay, 1.0)
                        left = [call for call in left if not call.done()]  # the others were cancelled
                        for call in left:
                            call.again = True
                        continue
                    answers, these = [lost] * len(left), left
                except StoreError as error:
                    answers, these = [error] * len(left), left
                except Exception as error:
                    if len(these) > 1:
                        together = 1  # one of them is the cause, and must not fail the others
                        continue
                    answers = [error]
                for call, answer in zip(these, answers, strict=True):
                    try:
                        (call.set_exception if isinstance(answer, BaseException) else call.set_result)(answer)
                    except InvalidStateError:  # it was cancelled
                        continue
                left = left[len(these) :]
        except BaseException:  # Ctrl-C: the next caller makes the others' calls
            for call in reversed(batch):
                if not call.done():
                    call.again = True
                    self._queue.appendleft(call)
            raise

    def _transact(self, batch: Sequence[Call], deadline: float) -> list[Any]:
        known, self._known = self._known, None
        rounds = [place for call in batch for place in call.request.places]
        seen = self._revision
        with self.store.transaction(self.setup.game.id, rounds, writing=True, deadline=deadline) as transaction:
            setup, head = self._current(transaction, seen), transaction.head
            load = partial(stored_state, setup, transaction)
            view = View(setup, head, transaction, load, transaction.told_blocks, transaction.told_losses)
            view.known = known[1] if known is not None and known[0] == head.state_version else None
            answers: list[Any] = []
            if self._ahead or head.clock < self._time - FAR_AHEAD:
                self._look_at_clock(max(call.now for call in batch), head.clock)
            for call in batch:
                if call.done():  # it was cancelled
                    answers.append(None)
                    continue
                now, leap = call.now - self._ahead, view.head.leap
                # A call that moved the time far ahead may have had a clock that is wrong, or have come after an idle
                # night. Whoever comes then with a clock that is behind by about as much knows that no night has passed.
                if leap and view.head.clock - now > 0.5 * leap:
                    take_back(view, max(now, view.head.clock - leap))
                view.now, view.clock, view.name, view.again = now, max(now, view.head.clock), call.name, call.again
                found = TRANSITIONS[type(call.request)](view, call.request)
                if call.look is not None and not isinstance(found, HoldfastError):
                    found = call.look(view, found)
                answers.append(found)
            after = view.head
            if after.clock - head.clock > FAR_AHEAD:
                after = after._replace(leap=after.clock - head.clock)
            text = None
            if view.learnt is not None:
                after = after._replace(state_version=token_hex(8))
                text = state_text(view.setup, view.learnt)
            revision = transaction.save(after, text, view.events, view.blocks)
        self._revision = max(revision, self._revision)
        self.setup = view.setup
        if self.committed is not None:
            self.committed(len(batch))
        self._known, self._time = known if view.learnt is None else (after.state_version, view.learnt), after.clock
        return answers

    def _look_at_clock(self, now: float, time: float) -> None:
        """Notice that this process's clock runs far ahead of the others': they took back what it had said."""
        if time < self._time - FAR_AHEAD and now > time + FAR_AHEAD:
            self._ahead = now - time
            said = "game %r: the clock of this process is %.0f s ahead of the others'; theirs counts"
            LOG.warning(said, self.setup.game.name, self._ahead)
        elif self._ahead and now - self._ahead < time - FAR_AHEAD:  # it was set right
            self._ahead = 0.0

    def _current(self, transaction: Transaction, seen: int) -> Setup:
        """Return the current setup, which may have been changed. Refuse a game older than one already seen."""
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
        """Return the result of `look`, a consistent read of the game."""

        def read_once() -> T:
            until, seen = time.monotonic() + self._timeout, self._revision
            with self.store.transaction(self.setup.game.id, writing=False, deadline=until) as transaction:
                setup = self._current(transaction, seen)
                found = look(transaction, setup)
            self.setup = setup
            return found

        return with_retries(read_once, self.store, self._retry)


def stored_state(setup: Setup, transaction: Transaction) -> State:
    """Read the state from the store."""
    return state_from(setup, transaction.head, transaction.state_text())


def with_retries(work: Callable[[], T], store: Store, retry: float) -> T:
    """Run `work`, retrying for `retry` seconds while connections to the store are lost."""
    begun, delay = time.monotonic(), WAIT
    while True:
        try:
            return work()
        except ConnectionLost:
            if not store.patient or time.monotonic() - begun + delay > retry:
                raise
        time.sleep(delay)
        delay = min(2 * delay, 1.0)
