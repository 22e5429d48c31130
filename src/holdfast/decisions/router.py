"""The handle on a game in a store: asked and told by anyone, at any time, from any process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from secrets import token_hex
from typing import Any, NoReturn, overload

from holdfast.checks import real_number, whole_number
from holdfast.decisions.changes import Wish, change, wish
from holdfast.decisions.codec import block_values
from holdfast.decisions.core import Answers, Report, ask, expire, tell
from holdfast.decisions.executor import Call, Executor, stored_state
from holdfast.decisions.history import History
from holdfast.decisions.ids import checked_name
from holdfast.decisions.models import MOST_TIME, Ask, Decision, Head, Loss, Receipt
from holdfast.decisions.settings import given_settings
from holdfast.decisions.setup import Setup
from holdfast.decisions.stores import Store
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import HoldfastError, InvalidParameter, OutOfTurn, SomeRefused
from holdfast.layouts import Array
from holdfast.policies.policy import Policy

MOST_AT_ONCE = 100_000
"""Decisions that one call hands out at most."""


class Router:
    """A game in a store. `holdfast.open` makes it.

    Every ask and tell that has returned is in the store, whole. Several routers, in any number of processes, may
    be opened on one game: they see the same block and the same counts. One router may be used by several threads.

    >>> import holdfast as hf
    >>> router = hf.open("memory:", "chat", hf.Exp3(arms=["a", "b"]), seed=1)
    >>> router.tell([(decision.id, 0.5) for decision in router.ask(3)])[0].new
    True
    >>> router.rounds
    3
    """

    def __init__(self, executor: Executor, clock: Callable[[], float]) -> None:
        self._executor = executor
        self._clock = clock

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
    def executor(self) -> Executor:
        """What makes the calls; a service gives it many at once."""
        return self._executor

    @property
    def store(self) -> Store:
        """Where the game is kept."""
        return self._executor.store

    @property
    def name(self) -> str:
        """The game's name in its store."""
        return self._executor.setup.game.name

    @property
    def policy(self) -> Policy:
        """What is played; its arms are those that can be drawn."""
        return self._executor.setup.policy

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

        Parameters
        ----------
        n
            How many. There are fewer only where the policy waits for the losses of one block before it begins the
            next. Without it, one decision is returned instead of a list.
        request
            An idempotency key: a name of this call, unique among all calls. If the answer was lost, the same call with
            the same name gets the same decisions, for as long as their losses are kept one by one (`remember`).
        switching_cost, loss_bound
            What the policy is told at the start of a block (`policy.announces`), for blocks that begin in this call.
        """
        call = self.ask_call(1 if n is None else n, request, switching_cost=switching_cost, loss_bound=loss_bound)
        given: list[Decision] = self._executor.execute(call)
        return given[0] if n is None else given

    def ask_call(self, n: int, request: str | None, **announced: float | None) -> Call:
        """An ask, checked, for the executor: its answer is a list of decisions.

        Parameters
        ----------
        n, request, announced
            As in `ask`; `announced` are `switching_cost` and `loss_bound`.
        """
        rule = partial(
            ask,
            n=whole_number("n", n, least=1, most=MOST_AT_ONCE),
            now=checked_time(self._clock),
            announced={name: value for name, value in announced.items() if value is not None},
            request=token_hex(8) if request is None else checked_name("request", request),
            named=request is not None,
        )
        return Call(rule)

    @overload
    def tell(self, id: str, loss: float) -> Receipt: ...

    @overload
    def tell(self, id: Mapping[str, float] | Iterable[tuple[str, float]]) -> list[Receipt]: ...

    def tell(
        self, id: str | Mapping[str, float] | Iterable[tuple[str, float]], loss: float | None = None
    ) -> Receipt | list[Receipt]:
        """The loss of a decision, at any time and in any order: reported twice, it counts once.

        Another loss than the one recorded, a loss after its block was settled and an id that this game never gave out
        are errors (`holdfast.errors`). With a mapping or pairs of ids and losses, all are taken in one call and in
        this order; if some are refused the others count, and `SomeRefused` lists the reasons.
        """
        single = isinstance(id, str) or loss is not None
        try:
            pairs: list[Any] = [(id, loss)] if single else list(id.items() if isinstance(id, Mapping) else id)
            call, refusals = self.tell_call(pairs)
        except (TypeError, ValueError) as error:
            if isinstance(error, HoldfastError):
                raise
            rule = "must be the id of a decision, with its loss, or pairs of ids and losses"
            raise InvalidParameter("id", rule, id) from None
        answers: Answers = [] if call is None else self._executor.execute(call)
        for number, reason in refusals.items():
            answers.insert(number, reason)
        refused = [answer for answer in answers if isinstance(answer, HoldfastError)]
        if single and refused:
            raise refused[0]
        if refused:
            raise SomeRefused(len(answers), refused)
        return answers[0] if single else answers  # type: ignore[return-value]  # no error is left

    def tell_call(self, pairs: list[tuple[Any, Any]]) -> tuple[Call | None, dict[int, HoldfastError]]:
        """A report of losses, for the executor, and by place those that are refused without asking the store."""
        reports: list[Report] = []
        rounds: list[tuple[int, int]] = []
        refused: dict[int, HoldfastError] = {}
        parse = self._executor.setup.ids.parse
        for number, (id, loss) in enumerate(pairs):
            try:
                place = parse(id)
                value = loss if type(loss) is float and isfinite(loss) else real_number("loss", loss)
                reports.append((id, *place, value))
                rounds.append(place)
            except HoldfastError as error:
                refused[number] = error
        if not reports:
            return None, refused
        return Call(partial(tell, reports=reports, now=checked_time(self._clock)), rounds), refused

    def settle(self) -> int:
        """Settle the blocks whose patience has run out, as every ask and tell does; returns how many."""
        settled: int = self._executor.execute(Call(partial(expire, now=checked_time(self._clock))))
        return settled

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
        return None if head.arm < 0 else self._executor.setup.name_of(head.arm)

    def _head(self) -> Head:
        return self._executor.read(lambda transaction, _: transaction.head)

    @property
    def probabilities(self) -> Array:
        """The distribution the current arm was drawn from; between blocks, the one the next will be drawn from.

        One number for each arm of `policy`.
        """
        return self._executor.read(probabilities_of)

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that are open: handed out, without a loss, in blocks that are not settled."""
        return self._executor.read(_open_decisions)

    @property
    def history(self) -> History:
        """Blocks and totals so far."""
        return History(self._executor)

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
        reason: str | None = None,
    ) -> None:
        """Continue with other settings, in all processes, from the next block on; a no-op if nothing differs.

        Parameters
        ----------
        switching_cost
            Another λ.
        add_arms
            Names of new arms. Each begins as `Policy.carried_over` says of its policy.
        retire_arms
            Arms that are never drawn again. The current block of such an arm ends with the rounds handed out, its
            losses still count in the history, and its name cannot come back.
        patience, missing, remember
            As in `holdfast.open`.
        reason
            Why; it is kept in the history.
        """
        why = None if reason is None else checked_name("reason", reason)
        settings = given_settings(patience, missing, remember)
        self.apply(wish(switching_cost, add_arms, retire_arms, settings=settings, reason=why))

    def apply(self, wanted: Wish) -> None:
        """Make a change, unless the game would then differ from what is wanted."""
        self._executor.execute(Call(partial(change, wanted=wanted, now=checked_time(self._clock))))

    def close(self) -> None:
        """Close the store's files and connections; other routers that share them open them again."""
        self.store.close()

    def __enter__(self) -> Router:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def checked_time(clock: Callable[[], float]) -> float:
    """The time by a clock, if it counts seconds. It is the user's code: it is called before anything is locked."""
    now = clock()
    if type(now) is not float or not isfinite(now):
        now = real_number("clock", now)
    if abs(now) >= MOST_TIME:
        raise InvalidParameter("clock", "must give seconds since 1970, not milliseconds or nanoseconds", now)
    return now


def probabilities_of(transaction: Transaction, setup: Setup) -> Array:
    """As `Router.probabilities`, inside a transaction."""
    head, learner = transaction.head, stored_state(setup, transaction).learner
    current = transaction.blocks("number", head.block)
    waiting = setup.policy.waits_for_losses and head.settled < head.block
    if current and (head.handed < head.rounds or waiting):
        learner.block[:] = block_values(setup.policy, setup.game.name, current[0])
        if current[0].arm in setup.active:
            learner.block[0] = setup.active.index(current[0].arm)
        return learner.probabilities()
    if setup.policy.announces is not None:
        raise OutOfTurn(f"the probabilities of the next block depend on its {setup.policy.announces}")
    learner.begin()
    return learner.probabilities()


def _open_decisions(transaction: Transaction, setup: Setup) -> list[Decision]:
    found = []
    blocks = {block.number: block for block in transaction.blocks("open")}
    told = transaction.of_open_blocks(Loss)
    known = {(loss.block, loss.round) for loss in told}
    counts = Counter(loss.block for loss in told)
    for handed in transaction.of_open_blocks(Ask):
        block = blocks[handed.block]
        elsewhere = block.told - counts[handed.block]  # a fleet may have played it up to this round
        rounds = range(handed.first, handed.first + handed.rounds)
        given = setup.decisions(block, rounds, handed.at)
        pairs = zip(rounds, given, strict=True)
        found += [d for round, d in pairs if round >= elsewhere and (block.number, round) not in known]
    return found
