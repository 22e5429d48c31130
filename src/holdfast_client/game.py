"""A game kept by a server: ask, tell, and change it."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from secrets import token_hex
from threading import Lock
from time import time, time_ns
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from urllib.parse import quote, urlencode

from holdfast_client.connection import Problem, Server, Unreachable

P = ParamSpec("P")
T = TypeVar("T")

AHEAD = 256
"""Decisions fetched at once with `local`."""
AT_ONCE, ON_PAGE = 5000, 1000
"""Losses in one request; blocks, changes or decisions in one answer."""


def _new_request() -> str:
    """Return an idempotency key. Later ones sort later, which suits the server's index."""
    return f"{time_ns():016x}{token_hex(4)}"


class Decision(NamedTuple):
    """One round that was handed out.

    >>> Decision("5f0c-1-0-9a", "model-b", 0.5, 1, 1794828003.9).arm
    'model-b'
    """

    id: str
    """Id to quote when reporting the loss."""
    arm: int | str
    """The arm to play."""
    probability: float
    """Probability with which the arm was drawn."""
    block: int
    asked: float
    """Time it was handed out, in seconds since 1970."""

    @property
    def recorded(self) -> bool:
        """False for the fallback of an ask that failed: its loss cannot be reported."""
        return self.block > 0


class Receipt(NamedTuple):
    """A recorded loss.

    >>> Receipt("5f0c-1-0-9a", new=True).new
    True
    """

    id: str
    new: bool
    """False if it changed nothing: it had been reported before, or is so late that nobody knows whether it had."""
    late: bool = False
    """True if it came after its block was settled. It counts all the same."""


def _in_thread(verb: Callable[Concatenate[Game, P], T]) -> Callable[Concatenate[Game, P], Awaitable[T]]:
    """Return the asynchronous form of a verb."""

    async def call(game: Game, /, *given: P.args, **named: P.kwargs) -> T:
        return await game.server.in_thread(partial(verb, game, *given, **named))

    call.__doc__ = f"Like `{verb.__name__}`, without blocking the event loop."
    call.__name__, call.__qualname__ = f"a{verb.__name__}", f"Game.a{verb.__name__}"
    return call


class Game:
    """A game kept by a server. Made by `holdfast_client.open`.

    Parameters
    ----------
    server
        The server that keeps it.
    name
        The game's name.
    local
        True to fetch decisions ahead: see `open`.

    Examples
    --------
    >>> Game(Server("http://127.0.0.1:8080"), "a/b").place
    '/v1/games/a%2Fb'
    """

    def __init__(self, server: Server, name: str, local: bool = False) -> None:
        self.server, self.name, self.local = server, name, local
        self.place = f"/v1/games/{quote(name, safe='')}"
        self._arms: list[int | str] | None = None
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), Lock()
        self._ahead: deque[Decision] = deque()
        self._hold = 0

    def send(self, method: str, path: str = "", body: object = None, seconds: float | None = None) -> Any:
        """Return the answer to a request about this game; ``docs/service.md`` describes them.

        Parameters
        ----------
        method
            HTTP method, such as ``GET``.
        path
            Path after the game's own, such as ``/summary``.
        body
            As JSON.
        seconds
            Deadline for the answer.
        """
        return self.server.json(method, self.place + path, body, seconds)

    def _read(self, path: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.send("GET", path)
        return found

    # ---- the two verbs

    def ask(
        self,
        n: int | None = None,
        *,
        fallback: int | str | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of the next `n`.

        Parameters
        ----------
        n
            Number of decisions.
        fallback
            The arm to answer with when there is no answer from the server, or within the deadline, or no arm is
            available. Such a decision is not `recorded`: its loss cannot be reported, and nothing is learnt from it.
        deadline
            Seconds within which there is an answer: a decision, the fallback, or `Unreachable` without one.
        options
            Fields of ``POST …/decisions``: ``request`` (an idempotency key; by default each call has its own),
            ``key`` (of a conversation), with it ``move_cost`` and ``key_life``, ``available``, ``rule`` (what your own
            rule chooses, with a holdback),
            ``switching_cost``, ``loss_bound``, ``forecast`` (losses expected, by arm or in rows).
        """
        self._check_arm(fallback, deadline)
        try:
            found = self.decide({"n": 1 if n is None else n, **options}, deadline)
        except (Unreachable, Problem) as failure:
            found = self._unrecorded(n, fallback, failure)
        return found[0] if n is None else found

    def _check_arm(self, fallback: int | str | None, seconds: float | None) -> None:
        """Raise an error for a fallback that is no arm. Where the server does not say, it is believed."""
        if fallback is None or (self._arms is not None and fallback in self._arms):
            return
        try:  # it may just have been added; a retired one is known
            self._arms = self.send("GET", seconds=seconds)["names"]
        except (Unreachable, Problem):
            if self._arms is None:
                return
        if fallback not in self._arms:
            raise ValueError(
                f"fallback must be an arm of the game, {', '.join(map(repr, self._arms))}; got {fallback!r}"
            )

    def _unrecorded(self, n: int | None, fallback: int | str | None, failure: Unreachable | Problem) -> list[Decision]:
        """Return the fallback as an unrecorded answer, or raise the failure where there is none to replace."""
        none = ("NoArmAvailable", "OutOfTurn")
        away = isinstance(failure, Unreachable) or failure.status >= 500 or failure.error in none
        if fallback is None or not away:
            raise failure
        return [Decision(f"unrecorded-{token_hex(8)}", fallback, 1.0, 0, time()) for _ in range(1 if n is None else n)]

    def decide(self, body: dict[str, Any], seconds: float | None = None) -> list[Decision]:
        """Return decisions, from those fetched ahead if one is asked for and nothing else."""
        if not self.local or body != {"n": 1}:
            return self._fetch(body, seconds)[0]
        if self._process != os.getpid():  # the other side of a fork hands those out
            self._begin()
        with self._lock:
            if not self._ahead:
                found, self._hold = self._fetch({"n": min(max(self._hold, 1), AHEAD)}, seconds)
                self._ahead += found
            return [self._ahead.popleft()]

    def _fetch(self, body: dict[str, Any], seconds: float | None) -> tuple[list[Decision], int]:
        found = self.send("POST", "/decisions", {"request": _new_request(), **body}, seconds)
        return [Decision(**one) for one in found["decisions"]], found["hold"]

    def tell(self, id: str, loss: float | None = None, *, deadline: float | None = None, **outcome: Any) -> Receipt:
        """Report the loss of a decision. Reported again, it changes nothing.

        Parameters
        ----------
        id
            Id of the decision.
        loss
            Loss, in the policy's units.
        deadline
            Seconds after which `Unreachable` is raised. The loss may or may not be recorded: report it again.
        outcome
            Instead of a loss: ``reward=``, ``failed=True``, the highest loss there is, ``error=True``, measurements by
            the names of the game's scale, or ``losses=``, those of all arms. Beside it ``in_time=True``, to refuse it
            where its block was settled without it.
        """
        given = outcome if loss is None else {"loss": loss, **outcome}
        return Receipt(**self.send("PUT", f"/decisions/{quote(id, safe='')}/loss", given, deadline))

    def tell_all(
        self, outcomes: Mapping[str, Any] | Iterable[tuple[str, Any]], *, deadline: float | None = None
    ) -> list[Receipt | Problem]:
        """Return a receipt for each decision, or its refusal. An outcome is a loss, or a mapping as in `tell`.

        Parameters
        ----------
        outcomes
            By id, or pairs of ids and outcomes.
        deadline
            See `tell`, for each 5,000.
        """
        pairs = outcomes.items() if isinstance(outcomes, Mapping) else outcomes
        told = [(id, dict(one) if isinstance(one, Mapping) else {"loss": one}) for id, one in pairs]
        return self.tell_each(told, deadline)

    def tell_each(
        self, outcomes: list[tuple[str, dict[str, Any]]], seconds: float | None = None
    ) -> list[Receipt | Problem]:
        """Like `tell_all`, for mappings, with a deadline in seconds for each request."""
        answers: list[Receipt | Problem] = []
        for first in range(0, len(outcomes), AT_ONCE):
            some = outcomes[first : first + AT_ONCE]
            body = {"losses": [{**one, "id": id} for id, one in some]}
            verdicts = self.send("POST", "/losses", body, seconds)["verdicts"]
            for (id, _), verdict in zip(some, verdicts, strict=True):
                problem = verdict.get("problem")
                known = problem is None
                answers.append(
                    Receipt(id, verdict["new"], verdict["late"]) if known else Problem(verdict["status"], problem)
                )
        return answers

    async def aask(
        self,
        n: int | None = None,
        *,
        fallback: int | str | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> Decision | list[Decision]:
        """Like `ask`, without blocking the event loop. Waiting for others of this process counts too.

        Parameters
        ----------
        n, fallback, deadline, options
            See `ask`.
        """
        asked = self.server.in_thread(self.ask, n, fallback=fallback, deadline=deadline, **options)
        try:
            return await self._in_time(asked, deadline)
        except Unreachable as late:
            found = self._unrecorded(n, fallback, late)
        return found[0] if n is None else found

    async def atell(
        self, id: str, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt:
        """Like `tell`, without blocking the event loop.

        Parameters
        ----------
        id, loss, deadline, outcome
            See `tell`.
        """
        return await self._in_time(self.server.in_thread(self.tell, id, loss, deadline=deadline, **outcome), deadline)

    async def _in_time(self, answer: Awaitable[T], seconds: float | None) -> T:
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise Unreachable(f"{self.server.url} has not answered within {seconds:g} s; try again") from None

    atell_all = _in_thread(tell_all)

    # ---- all else

    def end(self, key: str) -> bool:
        """End a conversation (`ask` with a key). Return False if there was none."""
        return bool(self.send("POST", f"/keys/{quote(key, safe='')}/end")["ended"])

    def observe(self, losses: Mapping[str, float] | list[float], **options: Any) -> None:
        """Report the losses of all arms in a round without a decision.

        Parameters
        ----------
        losses
            By arm, or in the order of the arms.
        options
            Fields of ``POST …/observations``: ``at``, ``switching_cost``, ``request``.
        """
        self.send("POST", "/observations", {"request": _new_request(), "losses": losses, **options})

    def settle(self) -> int:
        """Settle the blocks whose patience has run out. Return how many."""
        return int(self.send("POST", "/settle")["settled"])

    def compact(self, keep: int) -> int:
        """Remove the rows of settled blocks but the last `keep`. Return how many."""
        return int(self.send("POST", "/compact", {"keep": keep})["removed"])

    def listed(self, what: str, after: int | str | None = None) -> Iterator[dict[str, Any]]:
        """Yield all ``blocks``, ``changes`` or open ``decisions`` after a cursor, fetched page by page."""
        path, cursor, more = f"/{what}?limit={ON_PAGE}", after, True
        while more:
            page = self.send("GET", path if cursor is None else f"{path}&cursor={cursor}")
            yield from page[what]
            cursor = page["next"]
            more = cursor is not None

    def export(self, what: str = "log") -> bytes:
        """Return the log, the ``record`` of all arms' losses, or the sums of ``days``, as a Parquet file."""
        return self.server.call("GET", f"{self.place}/export?format=parquet&what={what}")

    def decision(self, id: str) -> dict[str, Any]:
        """Follow one decision: who asked, why this arm, what it lost and when, what was learnt."""
        return self._read(f"/decisions/{quote(id, safe='')}")

    def view(self) -> dict[str, Any]:
        """Policy, settings and status of the game."""
        return self._read()

    def summary(self) -> dict[str, Any]:
        """Totals so far."""
        return self._read("/summary")

    def compare(self, confidence: float = 0.95) -> dict[str, Any]:
        """Compare the policy with the operator's rule: the saving with its interval, and in ``words``."""
        return self._read(f"/compare?confidence={confidence!r}")

    def judge(self, arm: str | int, against: str | int, confidence: float = 0.95) -> dict[str, Any]:
        """Return whether an arm is better or worse than another: its ``verdict``, the interval, and in ``words``."""
        query = urlencode({"arm": arm, "against": against, "confidence": repr(confidence)})
        return self._read(f"/judge?{query}")

    def change(self, **changes: Any) -> dict[str, Any]:
        """Change settings, or pause, resume, pin and unpin arms: fields of ``PATCH``. Return the game afterwards.

        ``game.change(pause="model-a", until="10m", reason="times out")``.
        """
        found: dict[str, Any] = self.send("PATCH", "", changes)
        self._arms = found["names"]
        return found

    aend, asettle, aexport = _in_thread(end), _in_thread(settle), _in_thread(export)
    adecision = _in_thread(decision)
    aview, asummary, acompare = _in_thread(view), _in_thread(summary), _in_thread(compare)
    ajudge = _in_thread(judge)
    aobserve = _in_thread(observe)  # type: ignore[arg-type]  # an option might be called `self`
    achange = _in_thread(change)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the connections. Unused decisions that were fetched ahead stay without a loss."""
        self._begin()
        self.server.close()

    def __enter__(self) -> Game:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open(
    url: str,
    name: str,
    *,
    token: str | None = None,
    local: bool = False,
    retry: float = 1.0,
    timeout: float = 60.0,
    **settings: Any,
) -> Game:
    """Open the game of this name at a server: begun with these settings, or continued.

    Parameters
    ----------
    url, token, retry, timeout
        See `Server`.
    name
        The game's name.
    local
        Fetch decisions ahead, and hand them out without a request: as many as the current block has rounds left, at
        most 256. All of them are recorded as handed out when fetched. Those never used have no loss,
        and are settled without one when patience has run out. A pause, a pin and other settings count from the next
        fetch on.
    settings
        Settings of a new game: the fields of ``PUT /v1/games/{name}``, such as ``policy="adaptive"``,
        ``arms=["a", "b"]`` and ``holdback=0.1`` (the part that is left to your own rule; 1 is a shadow). Without them
        the game must exist.
    """
    game = Game(Server(url, token, retry, timeout), name, local)
    view = game.send("PUT", "", settings) if settings else game.view()
    game._arms = view["names"]
    if local and view["waits_for_losses"]:
        label = view["label"]
        raise ValueError(f"local must be False: {label} waits for the losses of all decisions, used or not; got True")
    return game
