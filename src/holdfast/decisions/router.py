"""The router of a game in a store: ask and tell from any process, at any time."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial, wraps
from math import isfinite
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NoReturn, ParamSpec, TypeVar, Unpack, cast, overload

from holdfast.checks import one_of, real_number, whole_number
from holdfast.decisions.executor import Executor, checked_time, with_retries
from holdfast.decisions.game import UNRECORDED, ArmSums, State, first_head, new_game, setup_of, state_text
from holdfast.decisions.history import History
from holdfast.decisions.holdout import Judgement
from holdfast.decisions.models import Decision, Game, Head, Receipt
from holdfast.decisions.options import check_known, checked_name
from holdfast.decisions.requests import (
    ONE,
    Ask,
    AskOptions,
    Change,
    End,
    Observe,
    Report,
    SetAvailability,
    Settle,
    Tell,
    checked_deadline,
    outcome_of,
)
from holdfast.decisions.rules.change import as_given, check_same_class, difference
from holdfast.decisions.rules.report import Answers
from holdfast.decisions.settings import SettingOptions, Settings, given_settings
from holdfast.decisions.status import (
    DecisionRecord,
    certificate_of,
    guard_of,
    open_decisions_of,
    paused,
    pinned,
    probabilities_of,
    record_of,
    shares,
    switches_left,
    why,
)
from holdfast.decisions.stores import Store, store_at
from holdfast.decisions.stores.sql import NewGame
from holdfast.errors import (
    HoldfastError,
    InvalidParameter,
    NoArmAvailable,
    OutOfTurn,
    SomeRefused,
    StoreError,
    UnknownGame,
)
from holdfast.logs import Sparse
from holdfast.numerics.layout import Array
from holdfast.numerics.scales import Scale
from holdfast.players.game import Game as Learner
from holdfast.policies.policy import Policy

if TYPE_CHECKING:
    from holdfast.policies.guarded import Guard

LOG = logging.getLogger(__name__)
LOG.addFilter(Sparse())  # a store that is away for an hour is not said with each ask


P = ParamSpec("P")
T = TypeVar("T")

Outcomes = Mapping[str, float | Mapping[str, Any]] | Iterable[tuple[str, float | Mapping[str, Any]]]
"""Losses, or other outcomes, by decision id."""


def receipts_of(answers: Answers) -> list[Receipt]:
    """Return the receipts, or raise an error that lists the refusals."""
    refused = [answer for answer in answers if isinstance(answer, HoldfastError)]
    if refused:
        raise SomeRefused(len(answers), refused)
    return cast(list[Receipt], answers)


def _in_thread(verb: Callable[Concatenate[Router, P], T]) -> Callable[Concatenate[Router, P], Awaitable[T]]:
    """Return the asynchronous form of a verb, which is called in a thread."""
    name, (_, parameters, said) = verb.__name__, (verb.__doc__ or "").partition("\n        Parameters\n")

    @wraps(verb)
    async def call(router: Router, /, *given: P.args, **named: P.kwargs) -> T:
        import asyncio

        made: T = await asyncio.to_thread(getattr(router, name), *given, **named)
        return made

    call.__name__, call.__qualname__ = f"a{name}", f"Router.a{name}"
    call.__doc__ = f"Like `{name}`, without blocking the event loop.\n{parameters}{said}"
    return call


class Router:
    """A game in a store. Made by `holdfast.open`.

    Every ask and tell that has returned is stored completely. Several routers, in any number of processes, may
    be opened on one game: they see the same block and the same counts. One router may be used by several threads.

    >>> import holdfast as hf
    >>> router = hf.open("memory:", "chat", hf.Exp3(arms=["a", "b"]), seed=1)
    >>> router.tell([(decision.id, 0.5) for decision in router.ask(3)])[0].new
    True
    >>> router.rounds
    3
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __repr__(self) -> str:
        return f"<Router {self.name!r} of {self.policy.label} in {self.store.url}>"  # a store may be down

    def _repr_html_(self) -> str:
        from holdfast.report.html import view

        arms = self.history.totals.arms
        means = ("–" if arm.mean is None else f"{arm.mean:.4g}" for arm in arms)
        rows = [[str(arm.arm), str(arm.rounds), mean] for arm, mean in zip(arms, means, strict=True)]
        return view(repr(self).strip("<>"), ["arm", "rounds", "mean loss"], rows)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Router cannot be pickled: send the url and the name, and open it there with "
            f"holdfast.open(url, {self.name!r})"
        )

    @property
    def executor(self) -> Executor:
        """The executor that makes the calls; a service gives it many at once."""
        return self._executor

    @property
    def store(self) -> Store:
        """The store that keeps the game."""
        return self._executor.store

    @property
    def name(self) -> str:
        """The game's name in its store."""
        return self._executor.setup.game.name

    @property
    def policy(self) -> Policy:
        """The policy in play; its arms are those that can be drawn."""
        return self._executor.setup.policy

    # ---- the two verbs

    @overload
    def ask(self, n: None = None, **options: Unpack[AskOptions]) -> Decision: ...

    @overload
    def ask(self, n: int, **options: Unpack[AskOptions]) -> list[Decision]: ...

    def ask(self, n: int | None = None, **options: Unpack[AskOptions]) -> Decision | list[Decision]:
        """Return the next decision, or a list of the next `n`: from this block, then from the next ones.

        Parameters
        ----------
        n
            Number of decisions. There are fewer only if the policy waits for the losses of one block before the next.
            Without it, one decision is returned instead of a list.
        options
            Fields of `Ask`: ``request`` (an idempotency key), ``available`` (the arms that can be played now), ``key``
            (of a conversation), ``rule``, ``fallback``, ``deadline`` and others.
        """
        request = self._asking(n, options) if options or n is not None else ONE
        try:
            given: list[Decision] = self._executor.execute(request, request.deadline)
        except (StoreError, NoArmAvailable, OutOfTurn) as failure:
            given = self._unrecorded(request.n, options.get("fallback"), failure)
        return given[0] if n is None else given

    @overload
    async def aask(self, n: None = None, **options: Unpack[AskOptions]) -> Decision: ...

    @overload
    async def aask(self, n: int, **options: Unpack[AskOptions]) -> list[Decision]: ...

    async def aask(self, n: int | None = None, **options: Unpack[AskOptions]) -> Decision | list[Decision]:
        """Like `ask`, without blocking the event loop. Concurrent calls share one transaction.

        A cancelled call is not made. If it was just being written, its rounds are handed out all the same:
        they are among `open_decisions`, and the same `request` returns them.
        """
        request = self._asking(n, options)
        try:
            given: list[Decision] = await self._executor.execute_async(request, request.deadline)
        except (StoreError, NoArmAvailable, OutOfTurn) as failure:
            given = self._unrecorded(request.n, options.get("fallback"), failure)
        return given[0] if n is None else given

    def _asking(self, n: int | None, options: AskOptions) -> Ask:
        """Return the request of an ask. The store checks a fallback unknown here: it was added, or retired."""
        check_known("ask", options, Ask.__dataclass_fields__)
        request, known = Ask(1 if n is None else n, **options), self.policy.arms
        if request.fallback is None:
            return request
        if known is None:  # then none can have been added
            _checked_arm("fallback", request.fallback, self.policy)
        return request if known is not None and request.fallback not in known else replace(request, fallback=None)

    def _unrecorded(self, n: int, fallback: int | str | None, failure: HoldfastError) -> list[Decision]:
        """Return the fallback as an unrecorded answer, or raise the failure where there is none."""
        if fallback is None or (type(failure) is OutOfTurn and not self.policy.waits_for_losses):
            raise failure
        arm = _checked_arm("fallback", fallback, self.policy)
        LOG.warning("game %r: %s; the answer is the fallback %r, which is not recorded", self.name, failure, arm)
        now = self._executor.clock()
        return [Decision(f"{UNRECORDED}-{token_hex(8)}", arm, 1.0, 0, now) for _ in range(n)]

    @overload
    def tell(self, id: str, loss: float | None = None, *, deadline: float | None = None, **outcome: Any) -> Receipt: ...

    @overload
    def tell(self, id: Outcomes, *, deadline: float | None = None) -> list[Receipt]: ...

    def tell(
        self, id: str | Outcomes, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt | list[Receipt]:
        """Report the loss of a decision, at any time and in any order. Reported twice, it counts once.

        A loss that comes after its block was settled counts in place of what stood for it, and its receipt says
        ``late``. A loss other than the one recorded and an id that this game never gave out are errors
        (`holdfast.errors`).

        Parameters
        ----------
        id
            Id of the decision. Or a mapping or pairs of ids and losses: all are taken in one call, in this order. If
            some are refused the others count, and `SomeRefused` lists the reasons. An outcome that is not a loss is
            then a mapping, such as ``{"latency": 1.3, "price": 0.004}``.
        loss
            In the policy's `units`.
        deadline
            Seconds after which a `StoreError` is raised. The loss may or may not be recorded: report it again.
        outcome
            Instead of a loss: ``reward=``, of which the loss is lowest + highest − reward; or ``failed=True``, the
            highest loss there is; or what was measured, by the names of the game's `Scale`, or its ``error=True``; or
            ``losses=``, those of all arms, by arm or in their order, which a full-information policy needs; each a
            loss, or an outcome of its own. Beside any of them ``in_time=True``: raise `TooLate` where the block was
            settled without it, and change nothing; and ``clip=True``: bring a loss outside `units` into their range.
        """
        seconds = None if deadline is None else checked_deadline("deadline", deadline)
        request = self.telling(id, loss, outcome)
        answer: Any = self._executor.execute(request, seconds) if request.places else request.reports
        return answer if request.one else receipts_of(answer)

    @overload
    async def atell(
        self, id: str, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt: ...

    @overload
    async def atell(self, id: Outcomes, *, deadline: float | None = None) -> list[Receipt]: ...

    async def atell(
        self, id: str | Outcomes, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt | list[Receipt]:
        """Like `tell`, without blocking the event loop. A cancelled call can be repeated.

        Parameters
        ----------
        id, loss, deadline, outcome
            See `tell`.
        """
        seconds = None if deadline is None else checked_deadline("deadline", deadline)
        request = self.telling(id, loss, outcome)
        answer: Any = await self._executor.execute_async(request, seconds) if request.places else request.reports
        return answer if request.one else receipts_of(answer)

    def telling(self, id: Any, loss: Any = None, outcome: Mapping[str, Any] | None = None) -> Tell:
        """Return the request of a `tell`. Of several reports, invalid ids and outcomes are refused in it.

        Parameters
        ----------
        id, loss, outcome
            See `tell`.
        """
        one = isinstance(id, str) or loss is not None or bool(outcome)
        try:
            given = {"loss": loss, **outcome} if outcome else loss
            pairs = [(id, given)] if one else list(id.items() if isinstance(id, Mapping) else id)
            reported = [(name, value) for name, value in pairs]
        except (TypeError, ValueError):
            must = "must be the id of a decision, with its loss, or pairs of ids and losses"
            raise InvalidParameter("id", must, id) from None
        reports: list[Report | HoldfastError] = []
        places = []
        parse = self._executor.setup.ids.parse
        for name, value in reported:
            try:
                place = parse(name)
                if type(value) is not float or not isfinite(value):
                    value = outcome_of(**value) if isinstance(value, Mapping) else outcome_of(value)
                reports.append((name, *place, value))
                places.append(place)
            except HoldfastError as error:
                if one:
                    raise
                reports.append(error)
        return Tell(reports, places, one)

    def observe(
        self,
        losses: Mapping[Any, float | Mapping[str, Any]] | Iterable[float | Mapping[str, Any]],
        *,
        at: datetime | None = None,
        switching_cost: float | None = None,
        request: str | None = None,
        clip: bool = False,
    ) -> None:
        """Report the losses of all arms in a round without a decision, for a full-information policy to learn from.

        The policy moves as if it had been asked. One that learns from its own draws cannot use such losses.

        Parameters
        ----------
        losses
            By arm, or in the order of the arms; each a loss, or an outcome such as ``{"price": 212.5}`` by the game's
            `Scale`.
        at
            Time of the round, with its zone; now, if left out. It is kept in the history.
        switching_cost
            λ of the round, where it is announced.
        request
            An idempotency key: the same call with the same name changes nothing, as in `ask`.
        clip
            Bring losses outside `units`, such as a price spike, into their range, instead of refusing them.
        """
        self._executor.execute(Observe(losses, at, switching_cost, request, clip))

    def end(self, key: str) -> bool:
        """End a conversation, so that it is learnt from once its losses are in. Return False if there was none."""
        ended: bool = self._executor.execute(End(key))
        return ended

    def settle(self) -> int:
        """Settle the blocks whose patience has run out, as every ask and tell does. Return how many."""
        settled: int = self._executor.execute(Settle())
        return settled

    # ---- status

    @property
    def rounds(self) -> int:
        """Rounds handed out so far."""
        return self._head().asked

    @property
    def switches(self) -> int:
        """Changes of arm so far, including the first play."""
        return self._head().switches

    @property
    def hold(self) -> int:
        """Rounds of the current block not yet handed out, during which the arm is certain."""
        head = self._head()
        return head.rounds - head.handed

    @property
    def arm(self) -> int | str | None:
        """The arm of the current block."""
        head = self._head()
        return None if head.arm < 0 else self._executor.setup.name_of(head.arm)

    def _head(self) -> Head:
        return self._executor.read(lambda transaction, _: transaction.head)

    @property
    def probabilities(self) -> Array:
        """Distribution of the current arm; between blocks, of the next one.

        One number for each arm of `policy`.
        """
        return self._executor.read(probabilities_of)

    @property
    def certificate(self) -> float:
        """Bound on the excess cost over the best expert, as in `FullInformationPlayer`."""
        return self._executor.read(certificate_of)

    def decision(self, id: str) -> DecisionRecord:
        """Follow one decision: who asked for it, why its arm, what it lost and when, what was learnt."""
        return self._executor.read(partial(record_of, id=id))

    def judge(self, arm: int | str, against: int | str, confidence: float = 0.95) -> Judgement:
        """Return whether an arm is better or worse than another, with an interval that is valid at any time.

        It counts blocks and conversations begun while some arm had a share: they keep the probabilities of all arms.

        Parameters
        ----------
        arm, against
            The two arms, such as a new one and the one that is used now.
        confidence
            Confidence of the interval for the difference of their mean losses.
        """
        return self.history.judge(arm, against, confidence)

    @property
    def shares(self) -> dict[int | str, float]:
        """The most that each arm with a share may be drawn now."""
        return self._executor.read(partial(shares, now=self._executor.clock()))

    @property
    def why(self) -> str:
        """In words: the arm in use, how long it stays, and what breakers, shares and a budget of switches do."""
        return self._executor.read(partial(why, now=self._executor.clock()))

    @property
    def switches_left(self) -> int | None:
        """Switches left of `most_switches`; None without such a limit."""
        return self._executor.read(partial(switches_left, now=self._executor.clock()))

    @property
    def guard(self) -> Guard:
        """State of the guard, by the losses known: what it has spent, and whether it has taken over and why."""
        return self._executor.read(guard_of)

    @property
    def open_decisions(self) -> list[Decision]:
        """Open decisions: handed out, without a loss, in blocks that are not settled."""
        return self._executor.read(open_decisions_of)

    @property
    def paused(self) -> dict[int | str, float]:
        """Paused arms with their ends in seconds since 1970; infinite until resumed."""
        return self._executor.read(partial(paused, now=self._executor.clock()))

    @property
    def pinned(self) -> int | str | None:
        """The arm pinned by an operator."""
        return self._executor.read(partial(pinned, now=self._executor.clock()))

    @property
    def holdback(self) -> float:
        """Share of blocks and conversations decided by the operator's rule."""
        return self._executor.read(lambda _, setup: setup.settings.holdback)

    @property
    def scale(self) -> Scale | None:
        """The scale that turns measures into a loss, as of the last call; None if losses are reported."""
        return self._executor.setup.settings.scale

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
        reason: str | None = None,
        **settings: Unpack[SettingOptions],
    ) -> None:
        """Continue with other settings, in all processes, from the next block on. Does nothing if nothing differs.

        Parameters
        ----------
        switching_cost
            Another λ.
        add_arms
            Names of new arms. Each starts as its policy's `carried_over` says.
        retire_arms
            Arms that are never drawn again. The current block of such an arm ends with the rounds handed out; its
            losses still count in the history. If added again, it starts as a new arm.
        reason
            Kept in the history.
        settings
            See `holdfast.open`. With another scale, losses before and after are not comparable: a new game is
            often better.
        """
        given = given_settings("change", settings)
        self.apply(Change(switching_cost, add_arms, retire_arms, given, reason=reason))  # type: ignore[arg-type]

    def apply(self, wanted: Change) -> None:
        """Make a change, unless the result would differ from what is wanted."""
        self._executor.execute(wanted)

    def pause(self, arm: int | str, until: datetime | timedelta | str | None = None, reason: str | None = None) -> None:
        """Stop handing out an arm, in all processes, even in the middle of a block.

        Parameters
        ----------
        arm
            The arm. While it is the block's arm, the most likely other one is played.
        until
            The time when it resumes, with its zone, or a duration: a timedelta, or text such as ``"10m"``. If left out,
            until `resume` is called.
        reason
            Kept in the history.
        """
        self._executor.execute(SetAvailability("pause", arm, until, reason))

    def resume(self, arm: int | str, reason: str | None = None) -> None:
        """Hand out a paused arm again."""
        self._executor.execute(SetAvailability("resume", arm, reason=reason))

    def pin(self, arm: int | str, until: datetime | timedelta | str | None = None, reason: str | None = None) -> None:
        """Hand out this arm only, in all processes. These rounds are recorded as forced.

        Only a full-information policy learns from them.

        The policy's block continues afterwards. While the pinned arm is paused or unavailable, the policy plays as
        usual.

        Parameters
        ----------
        arm
            The arm to play.
        until
            See `pause`; if left out, until `unpin`.
        reason
            Kept in the history.
        """
        self._executor.execute(SetAvailability("pin", arm, until, reason))

    def unpin(self, reason: str | None = None) -> None:
        """Leave the choice of arms to the policy again."""
        self._executor.execute(SetAvailability("unpin", reason=reason))

    def close(self) -> None:
        """Close the store's files and connections. Other routers that share them reopen them."""
        self.store.close()

    aobserve, aend, asettle = _in_thread(observe), _in_thread(end), _in_thread(settle)
    adecision, ajudge, achange = _in_thread(decision), _in_thread(judge), _in_thread(change)
    apause, aresume, apin, aunpin = _in_thread(pause), _in_thread(resume), _in_thread(pin), _in_thread(unpin)
    aclose = _in_thread(close)

    async def __aenter__(self) -> Router:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Router:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _checked_arm(parameter: str, arm: object, policy: Policy) -> int | str:
    if policy.arms is None:
        return whole_number(parameter, arm, least=0, most=policy.n_arms - 1)
    return one_of(parameter, arm, policy.arms)


# Open a game in a store: begin it, or continue it.

OPENED = logging.getLogger(f"{__name__}.open")
STORE_COUNTS = 'the settings in the store count, unless settings="code" is given: %s'

WHOSE = ("store", "code", "same")
"""Whose settings count where those of the code that opens a game differ from the game's."""


def open(
    url: str | Store,
    name: str,
    policy: Policy | None = None,
    *,
    settings: Literal["store", "code", "same"] = "store",
    seed: object = None,
    change_switching_cost: float | None = None,
    add_arms: Iterable[str] = (),
    retire_arms: Iterable[str] = (),
    clock: Callable[[], float] = time.time,
    retry: float = 30.0,
    timeout: float = 60.0,
    token: str | None = None,
    local: bool = False,
    allow: Iterable[str | type[Policy]] = (),
    **options: Unpack[SettingOptions],
) -> Router:
    """Open the game `name` in the store at `url`: begin it with `policy` if it does not exist, else continue it.

    Parameters
    ----------
    url
        ``memory:`` (lost with this process), ``sqlite:///file``, ``postgresql://…``, a store, or ``http://host:port``
        of a `holdfast serve`: its clock counts then, and `change_switching_cost` and its like are `Router.change`.
    name
        1 to 200 printable characters.
    policy
        The policy. It may be left out if the game exists.
    settings
        Whose settings count where those given here differ from the game's, since somebody has changed it meanwhile:
        ``"store"`` (the default: the game's, with a note in the log), ``"code"`` (these: the game is changed, with that
        as the reason), or ``"same"`` (neither: `OtherSettings`). A policy of another class, or with other `units`, is
        refused in any case.
    seed
        Seed of a new game, as in `Policy.player`.
    change_switching_cost, add_arms, retire_arms
        Changes to continue with, as in `Router.change`. The game must then have the policy and the settings given.
    clock
        Seconds since 1970.
    retry
        Seconds during which a lost connection is retried.
    timeout
        Seconds that a call waits for other users of the same game, file or connections.
    token
        For a server: what `holdfast token make` printed.
    local
        For a server: fetch decisions ahead, and hand them out without a request; as many as the block had rounds left,
        at most 256. All are recorded as handed out when they are fetched. Those that are never used have no loss, and
        are settled without one when patience has run out. A pause or a pin counts from the next fetch on.
    allow
        User-defined policies that may be imported where `policy` is left out: classes, ``"module:Class"``, or
        ``"module"`` for all of a module.
    options
        Settings of the game, the fields of `Settings`: ``patience`` (how long to wait for losses), ``missing`` (what
        counts for one that has not come), ``scale``, ``key_life``, ``holdback`` and others. Or ``shadow=True``: your
        rule decides everything, and what the policy would draw is recorded. It learns only if it sees the losses of
        all arms.

    Examples
    --------
    >>> import holdfast as hf
    >>> router = hf.open("memory:", "chat", hf.TsallisSwitch(arms=["a", "b"], switching_cost=0.3), seed=1)
    >>> decision = router.ask()
    >>> router.tell(decision.id, loss=0.12).new
    True
    >>> router.tell(decision.id, loss=0.12).new
    False
    """
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidParameter("policy", "must be a policy such as hf.TrackingSwitch(3, switching_cost=0.3)", policy)
    if policy is not None and policy.rule_of is not None:
        must = "must not follow a function here: leave the rule out, and tell its choice with each ask(rule=...)"
        raise InvalidParameter("policy", must, policy.label)
    checked_name("name", name)
    one_of("settings", settings, WHOSE)
    patient, wait = real_number("retry", retry, least=0), real_number("timeout", timeout, least=0)
    given = given_settings("open", options)
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        from holdfast.decisions.remote import open_remote, server_at

        if clock is not time.time:
            raise InvalidParameter("clock", "must be left out: the clock of the server counts", clock)
        changes = Change(change_switching_cost, add_arms, retire_arms)  # type: ignore[arg-type]
        server = server_at(url, token, patient, wait)
        return open_remote(
            server, name, policy, given, whose=settings, changes=changes, seed=seed, local=local, allow=allow
        )
    if token is not None:
        raise InvalidParameter("token", "is for a server: http://host:port", "(not shown)")
    if local:
        raise InvalidParameter("local", "is for a server: http://host:port", local)
    store = url if isinstance(url, Store) else store_at(url)
    now = checked_time(clock)
    fresh = state = None
    if policy is not None:
        learner = Learner(policy, seed)
        fresh, state = fresh_game(name, policy, Settings().changed(policy, given), learner, now)
    game = with_retries(lambda: _found(store, name, fresh, time.monotonic() + wait), store, patient)
    if policy is not None:
        check_same_class(game, policy)
    setup = setup_of(game, policy, allow)
    known = setup.policy if allow else policy  # its class is known by now, and need not be allowed again
    executor = Executor(store, setup, known, patient, wait, clock)
    executor.began = fresh is not None and game.uid == fresh.game.uid
    if executor.began and fresh is not None and state is not None:
        executor.keep_state(fresh.head.state_version, state)
    router = Router(executor)
    wanted = Change(change_switching_cost, add_arms, retire_arms, policy=policy, compared=given)  # type: ignore[arg-type]
    if wanted.changes_something:
        router.apply(wanted)
    elif other := difference(executor.setup, policy, given):
        if settings == "same" or other.is_another_game:
            raise other
        if settings == "code":
            router.apply(as_given(other, policy, given))
        else:
            OPENED.warning(STORE_COUNTS, other)
    return router


def open_many(
    url: str | Store, games: Mapping[str, Policy | Mapping[str, Any] | None], **options: Any
) -> dict[str, Router]:
    """Open several games in one store, such as classes of traffic. Return a router for each name.

    Parameters
    ----------
    url
        The store, as in `open`.
    games
        For each name, a policy, or options of `open` including ``"policy"``, or None for a game that exists.
    options
        Options of `open` for all games; a game's own take precedence. A seed belongs to one game.

    Examples
    --------
    >>> import holdfast as hf
    >>> policy = hf.AdaptiveTsallisSwitch(arms=["a", "b"], switching_cost=0.3)
    >>> routers = hf.open_many("memory:", {"chat": policy, "search": {"policy": policy, "missing": 1.0}}, patience=50)
    >>> routers["chat"].ask().block
    1
    """
    if not isinstance(games, Mapping) or not games:
        raise InvalidParameter("games", "must be policies, or options of holdfast.open, by name", games)
    if "seed" in options:
        raise InvalidParameter("seed", "must be given with each game, so that their draws differ", options["seed"])
    store = url if isinstance(url, Store) else store_at(url)
    own = {name: given if isinstance(given, Mapping) else {"policy": given} for name, given in games.items()}
    return {name: open(store, name, **{**options, **given}) for name, given in own.items()}


def _found(store: Store, name: str, fresh: NewGame | None, deadline: float) -> Game:
    """Return the game of this name, begun if need be."""
    game = store.find(name, deadline)
    if game is None:
        if fresh is None:
            raise UnknownGame(name, store.names(deadline))
        game = store.create([fresh], deadline)[0]
    return game


def fresh_game(name: str, policy: Policy, settings: Settings, learner: Learner, now: float) -> tuple[NewGame, State]:
    """Return all rows of a new game, and its state."""
    if settings.share is not None:
        settings = replace(settings, share=settings.share.begun(None, now))
    game = new_game(name, policy, settings, now, secrets.token_hex(6), secrets.token_hex(16))
    state = State(learner, [ArmSums() for _ in range(policy.n_arms)])
    return NewGame(game, first_head(game, now), state_text(setup_of(game, policy), state)), state
