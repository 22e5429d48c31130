"""Calls of one process on one game: those that wait at the same time are made in one transaction (group commit).

A thread queues its call and waits for the lock. Whoever gets it makes all calls that are queued, writes them together,
and gives each its answer. A failure of the store is the answer to all of them, so that nobody waits for it twice. The
policy's state is kept in memory under its version, and read again only when another process has changed it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

from holdfast.decisions.codec import setup_of, state_from, state_text
from holdfast.decisions.core import View
from holdfast.decisions.setup import Setup, State
from holdfast.decisions.stores.forks import ROUTER, drop_waiting_in_children, lock_across_forks
from holdfast.decisions.stores.sql import ConnectionLost, Rounds, Store, Transaction, nested
from holdfast.errors import BadStore, HoldfastError, StoreError
from holdfast.policies.policy import Policy

T = TypeVar("T")

MOST_TOGETHER = 256
"""Calls in one transaction."""

WAIT = 0.05
"""Seconds before the first new attempt after a lost connection; twice as many before each further one."""


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
    error: BaseException | None = None


class Executor:
    """One game as one process plays it; used by several threads."""

    def __init__(self, store: Store, setup: Setup, given: Policy | None, retry: float, timeout: float) -> None:
        self.store, self.setup = store, setup
        self._given, self._retry, self._timeout = given, retry, timeout
        self._lock = lock_across_forks(ROUTER)
        self._queue: deque[Waiting] = deque()
        self._known: tuple[str, State] | None = None
        self._revision = 0
        drop_waiting_in_children(self)

    def drop_waiting(self) -> None:
        """Forget the calls that wait: other processes make them."""
        self._queue.clear()

    def keep_state(self, version: str, state: State) -> None:
        """This process has just written the state: it need not be read back."""
        self._known = version, state

    # ---- calls that change something

    def execute(self, call: Call) -> Any:
        """Make one call, together with all that wait; its answer. A refusal is raised."""
        if self._lock._is_owned():
            raise nested(self.store.url)
        mine, deadline = Waiting(call), time.monotonic() + self._timeout
        self._queue.append(mine)
        try:
            if not self._lock.acquire(timeout=self._timeout) and not self._give_up(mine):
                self._lock.acquire()  # it is being made: whoever makes it has a deadline
            while not mine.done:
                self._run([self._queue.popleft() for _ in range(min(len(self._queue), MOST_TOGETHER))], deadline)
        except BaseException:
            self._give_up(mine)
            raise
        finally:
            if self._lock._is_owned():
                self._lock.release()
        if mine.error is not None:
            raise mine.error
        if isinstance(mine.answer, HoldfastError):
            raise mine.answer
        return mine.answer

    def _give_up(self, mine: Waiting) -> bool:
        """Take a call back, if nobody is making it."""
        try:
            self._queue.remove(mine)
        except (ValueError, RuntimeError):
            return False
        mine.error = StoreError(f"{self.store.url}: other threads kept it busy for too long; nothing was changed")
        mine.done = True
        return True

    def _run(self, batch: list[Waiting], deadline: float) -> None:
        """Make calls in one transaction; again while connections are lost, for a while."""
        begun, delay = time.monotonic(), WAIT
        try:
            while True:
                try:
                    answers = self._transact(batch, deadline)
                    break
                except ConnectionLost as lost:
                    if time.monotonic() - begun + delay > self._retry:
                        return _end_all(batch, lost)
                except Exception as error:
                    if len(batch) == 1 or isinstance(error, StoreError):
                        return _end_all(batch, error)
                    for waiting in batch:  # one of them is the reason, and must not spoil the others
                        self._run([waiting], deadline)
                    return None
                for waiting in batch:
                    waiting.again = True
                time.sleep(delay)
                delay = min(2 * delay, 1.0)
        except BaseException:  # Ctrl-C: the others' calls are made by whoever comes next
            for waiting in reversed(batch):
                if not waiting.done:
                    waiting.again = True
                    self._queue.appendleft(waiting)
            raise
        for waiting, answer in zip(batch, answers, strict=True):
            waiting.answer, waiting.done = answer, True

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
            answers = [waiting.call.rule(view, waiting.again) for waiting in batch]
            after = view.head
            if view.learnt is not None:
                after = after._replace(state_version=token_hex(8))
            if after != head or view.events.losses:
                transaction.append(view.events)
                text = None if view.learnt is None else state_text(view.setup, view.learnt)
                revision += 1
                transaction.save(after._replace(revision=revision), text)
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
            if transaction.head.arm >= len(self.setup.names):
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

        return with_retries(read_once, self._retry)


def stored_state(setup: Setup, transaction: Transaction) -> State:
    """What was learnt, from the store."""
    current = transaction.blocks("number", transaction.head.block)
    is_open = [block for block in current if block.settled_order is None]
    return state_from(setup, transaction.head, transaction.state_text(), is_open[0] if is_open else None)


def _end_all(batch: Sequence[Waiting], error: BaseException) -> None:
    for waiting in batch:
        waiting.error, waiting.done = error, True


def with_retries(work: Callable[[], T], retry: float) -> T:
    """`work`, tried again for `retry` seconds while connections are lost."""
    begun, delay = time.monotonic(), WAIT
    while True:
        try:
            return work()
        except ConnectionLost:
            if time.monotonic() - begun + delay > retry:
                raise
        time.sleep(delay)
        delay = min(2 * delay, 1.0)
