"""One game that lasts: asked and told by anyone, at any time, from any process."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar, overload

from holdfast.checks import real_number, whole_number
from holdfast.decisions.book import Book
from holdfast.decisions.changes import Change, apply_change
from holdfast.decisions.decision import Decision
from holdfast.decisions.hearing import Answers, Receipt, Told, hear
from holdfast.decisions.history import History
from holdfast.decisions.names import kept_name
from holdfast.decisions.options import given_options
from holdfast.decisions.records import handed_out, losses_of
from holdfast.decisions.rows import BlockRow, Head
from holdfast.decisions.stores.forks import ROUTER, lock_across_forks
from holdfast.decisions.stores.store import NOTHING_WANTED, Rows, Store, Wanted, persistently
from holdfast.errors import HoldfastError, InvalidParameter, OutOfTurn, SomeRefused
from holdfast.layouts import Array
from holdfast.policies.policy import Policy

T = TypeVar("T")

MOST_AT_ONCE = 100_000
"""Decisions that one call hands out at most."""


class Router:
    """A game in a store. `holdfast.open` makes it.

    Every ask and tell that has returned is in the store, whole. Several routers, in any number of processes, may
    be opened on one game: they see the same block and the same counts. One router may be used by several threads.
    """

    def __init__(
        self, store: Store, book: Book, *, clock: Callable[[], float] = time.time, retry: float = 30.0
    ) -> None:
        self.store = store
        self._book = book
        self._clock = clock
        self._retry = real_number("retry", retry, least=0)
        self._lock = lock_across_forks(ROUTER)

    def __repr__(self) -> str:
        head = self._head()
        return (
            f"<Router {self.name!r} of {self.policy.label} in {self.store.url}: {head.asked} rounds, "
            f"{head.switches} switches, holding {self._arm(head)!r} for {head.rounds - head.handed} more>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Router cannot be pickled: send the url and the name, and open it there with "
            f"holdfast.open(url, {self.name!r})"
        )

    @property
    def name(self) -> str:
        """The player's name in its store."""
        return self._book.identity.name

    @property
    def policy(self) -> Policy:
        """What is played; its arms are those that can be drawn."""
        return self._book.policy

    # ---- the two verbs

    @overload
    def ask(
        self, *, request: str | None = None, switching_cost: float | None = None, loss_bound: float | None = None
    ) -> Decision: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        request: str | None = None,
        switching_cost: float | None = None,
        loss_bound: float | None = None,
    ) -> list[Decision]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        request: str | None = None,
        switching_cost: float | None = None,
        loss_bound: float | None = None,
    ) -> Decision | list[Decision]:
        """The next decision, or a list of the next `n`: of this block, then of the next ones.

        There are fewer than `n` only where the policy waits for the losses of one block before it begins the next.
        What a policy is told at the start of a block (`policy.announces`) is given here; it is used by the blocks
        that begin. `request` is any name of this call, unique among all calls: made again under the same name, after
        its answer was lost, it gets the same decisions and not new ones, for as long as their losses are kept one by
        one (`remember`).
        """
        count = 1 if n is None else whole_number("n", n, least=1, most=MOST_AT_ONCE)
        name = secrets.token_hex(8) if request is None else kept_name("request", request)
        told = {"switching_cost": switching_cost, "loss_bound": loss_bound}
        now = self._now()

        def ask_once(rows: Rows, again: bool) -> list[Decision]:
            if request is not None or again:
                before = self._book.handed_out_before(rows, name)
                if before:
                    return before
            return self._book.ask(rows, count, now, told, name, by_block=request is not None)

        given = self._changed(ask_once)
        return given[0] if n is None else given

    @overload
    def tell(self, id: str, loss: float) -> Receipt: ...

    @overload
    def tell(self, id: Mapping[str, float] | Iterable[tuple[str, float]]) -> list[Receipt]: ...

    def tell(
        self, id: str | Mapping[str, float] | Iterable[tuple[str, float]], loss: float | None = None
    ) -> Receipt | list[Receipt]:
        """The loss of a decision, at any time and in any order: told twice it counts once.

        Another loss than the one recorded, a loss after its block was settled and an id that this player never gave
        out are errors (`holdfast.errors`). With a mapping or pairs of ids and losses, all are taken in one go and in
        this order; if some are refused the others count, and `SomeRefused` lists the reasons.
        """
        if isinstance(id, str) or loss is not None:
            answer = self._tell([(id, loss)])[0]
            if isinstance(answer, HoldfastError):
                raise answer
            return answer
        try:
            pairs = [(name, value) for name, value in (id.items() if isinstance(id, Mapping) else id)]
        except (TypeError, ValueError):
            rule = "must be the id of a decision, with its loss, or pairs of ids and losses"
            raise InvalidParameter("id", rule, id) from None
        answers = self._tell(pairs)
        refused = [answer for answer in answers if isinstance(answer, HoldfastError)]
        if refused:
            raise SomeRefused(len(answers), refused)
        return answers  # type: ignore[return-value]  # no error is left

    def _tell(self, pairs: list[tuple[Any, Any]]) -> Answers:
        runs: list[tuple[int, list[Told]]] = []
        wanted: dict[int, list[int]] = {}
        refused: dict[int, HoldfastError] = {}
        place_of = self._book.ids.place_of
        run: list[Told] = []
        last = -1
        for number, (id, loss) in enumerate(pairs):
            try:
                block, round = place_of(id)
                value = real_number("loss", loss)
            except HoldfastError as error:
                refused[number] = error
                continue
            if block != last:
                last, run = block, []
                runs.append((block, run))
            run.append((id, round, value))
        for block, run in runs:
            wanted.setdefault(block, []).extend([round for _, round, _ in run])
        answers: Answers = []
        if runs:
            now = self._now()
            answers = self._changed(lambda rows, again: hear(self._book, rows, runs, wanted, now), wanted)
        for number, reason in refused.items():
            answers.insert(number, reason)
        return answers

    def settle(self) -> int:
        """Settle the blocks whose patience has run out, as every ask and tell does; returns how many."""
        now = self._now()
        return self._changed(lambda rows, again: self._book.settle_due(rows, now))

    # ---- where the game stands

    @property
    def rounds(self) -> int:
        """Rounds handed out so far."""
        return self._head().asked

    @property
    def switches(self) -> int:
        """Changes of arm so far; the first play is one."""
        return self._head().switches

    @property
    def hold(self) -> int:
        """Rounds of the current block that are not handed out yet: so long the arm is certain to stay."""
        head = self._head()
        return head.rounds - head.handed

    @property
    def arm(self) -> int | str | None:
        """The arm of the current block."""
        return self._arm(self._head())

    def _arm(self, head: Head) -> int | str | None:
        return None if head.arm < 0 else self._book.name_of(head.arm)

    def _head(self) -> Head:
        return self._seen(lambda rows: rows.head)

    @property
    def probabilities(self) -> Array:
        """The distribution the current arm was drawn from; between blocks, the one the next will be drawn from.

        One number for each arm of `policy`.
        """

        def look(rows: Rows) -> Array:
            head, game = rows.head, self._book.stored(rows)
            block = rows.get(BlockRow, head.begun)
            waiting = self.policy.waits_for_losses and head.settled < head.begun
            if block is not None and (head.handed < head.rounds or waiting):
                game.block[:] = self._book.values_of(block)
                return game.probabilities()
            if self.policy.announces is not None:
                raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
            game.begin()
            return game.probabilities()

        return self._seen(look)

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that are out: handed out, not told, in blocks that are not settled."""

        def look(rows: Rows) -> list[Decision]:
            found = []
            for block in rows.open_blocks():
                told = losses_of(rows, block)
                here = block.told - len(told)  # a fleet may have played it up to this round
                for rounds, at in handed_out(rows, block):
                    decisions = self._book.decisions(block, rounds, at)
                    pairs = zip(rounds, decisions, strict=True)
                    found += [d for round, d in pairs if round >= here and round not in told]
            return found

        return self._seen(look)

    @property
    def history(self) -> History:
        """Blocks and totals so far."""
        return History(self._seen, self._changed, self._book)

    # ---- changes

    def change(
        self,
        *,
        switching_cost: float | None = None,
        add_arms: Iterable[str] = (),
        retire_arms: Iterable[str] = (),
        patience: object = None,
        missing: object = None,
        remember: int | None = None,
    ) -> None:
        """Go on with other settings, in all processes, from the next block on. What is so already stays so.

        A new arm enters as `Policy.carried_over` says of its policy. A retired arm is never drawn again: its current
        block ends with the rounds handed out, its losses still count in the history, and its name cannot come back.
        """
        options = given_options(patience, missing, remember)
        self.go_on_with(Change.of(switching_cost, add_arms, retire_arms, options))

    def go_on_with(self, change: Change, check: Callable[[], None] = lambda: None) -> None:
        """Make a change, unless `check`, done when the settings are the new ones, raises an error."""

        now = self._now()

        def apply(rows: Rows, again: bool) -> None:
            apply_change(self._book, rows, change, now)
            check()

        self._changed(apply)

    def close(self) -> None:
        """Let go of the store's files and connections; other routers that share them open them anew."""
        with self._lock:
            self.store.close()

    def __enter__(self) -> Router:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _now(self) -> float:
        """The time by the clock, which is the user's and may do anything: it is looked at before a call locks."""
        return real_number("clock", self._clock())

    # ---- transactions

    def _seen(self, look: Callable[[Rows], T]) -> T:
        def look_once(again: bool) -> T:
            with self.store.look(self._book.identity.player) as rows:
                self._book.follow(rows)
                return look(rows)

        with self._lock:
            return persistently(look_once, self._retry)

    def _changed(self, work: Callable[[Rows, bool], T], wanted: Wanted = NOTHING_WANTED) -> T:
        """Do `work` in a transaction; after a lost connection again, and it is told so."""

        def change_once(again: bool) -> T:
            try:
                with self.store.change(self._book.identity.player, wanted) as rows:
                    self._book.follow(rows)
                    result = work(rows, again)
                    self._book.save(rows)
                return result
            except BaseException:
                self._book.lose_track()
                raise

        with self._lock:
            return persistently(change_once, self._retry)
