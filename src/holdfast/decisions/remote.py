"""A game that a server keeps (`holdfast serve`): the same verbs over HTTP, with the standard library alone.

Every request may be made again: an ask has its name, and all others change nothing the second time. So a lost
connection, a server that restarts and one that is busy are tried again for a while, as a lost database is.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import ssl
import time
import weakref
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NoReturn, Unpack
from urllib.parse import quote, urlsplit

import numpy as np

from holdfast.checks import real_number, whole_number
from holdfast.decisions.changes import Wish
from holdfast.decisions.core import Answers
from holdfast.decisions.errors_json import error_from_json
from holdfast.decisions.executor import WAIT
from holdfast.decisions.history import ArmTotals, History, Totals, frame_of
from holdfast.decisions.ids import RULE, checked_name
from holdfast.decisions.models import Block, Decision, Receipt
from holdfast.decisions.router import MOST_AT_ONCE, AskOptions, Outcomes, Router, receipts_of, reported_pairs
from holdfast.decisions.settings import Settings
from holdfast.errors import HoldfastError, InvalidParameter, OutOfTurn, StoreError, UnknownDecision
from holdfast.layouts import Array
from holdfast.players.document import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import make_policy

if TYPE_CHECKING:
    import polars as pl

AT_ONCE = 5000
"""Losses in one request."""
BLOCKS = 1000
"""Blocks in one answer."""
POOL = 16
"""Connections that are kept for later."""
AGAIN = (429, 502, 503, 504)
"""Answers after which the same request is made again."""


ELSEWHERE = (
    "arms are paused and pinned, and conversations ended, where the store is: open the game with the store's URL"
)


class Server:
    """Requests to one server, over connections that are kept.

    >>> Server("http://127.0.0.1:8080").url
    'http://127.0.0.1:8080'
    """

    def __init__(self, url: str, token: str | None = None, retry: float = 30.0, timeout: float = 60.0) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
            parts = urlsplit("")
        if not host or parts.username is not None or parts.query or parts.fragment:
            raise InvalidParameter("url", "must be the address of a server such as http://host:port", "(not shown)")
        self._secure, self._host, self._port = parts.scheme == "https", host, port
        self._path = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._headers = {"content-type": "application/json", "accept": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {checked_name('token', token)}"
        self._retry, self._timeout = retry, timeout
        self._pool: deque[http.client.HTTPConnection] = deque()
        self._process = os.getpid()
        self._closing = weakref.finalize(self, _close_all, self._pool)

    def call(self, method: str, path: str, body: object = None) -> bytes:
        """The body of the answer; an error of the library where the answer is one."""
        data = None if body is None else json.dumps(body).encode()
        begun, delay = time.monotonic(), WAIT
        while True:
            try:
                status, found = self._once(method, self._path + path, data)
                if status not in AGAIN:
                    break
                problem: Exception = _error(status, found)
            except (OSError, http.client.HTTPException) as lost:
                problem = lost
            if time.monotonic() - begun + delay > self._retry:
                reason = str(problem) or type(problem).__name__
                raise StoreError(f"{self.url} cannot be reached ({reason}); try again") from None
            time.sleep(delay)
            delay = min(2 * delay, 1.0)
        if status >= 400:
            raise _error(status, found)
        return found

    def json(self, method: str, path: str, body: object = None) -> Any:
        """The same, read as JSON."""
        found = self.call(method, path, body)
        try:
            return json.loads(found)
        except ValueError:
            raise StoreError(f"{self.url} is no Holdfast server: its answer is not JSON") from None

    def _once(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        if self._process != os.getpid():  # the other side of a fork goes on with these connections
            self._pool, self._process = deque(), os.getpid()
            self._closing = weakref.finalize(self, _close_all, self._pool)
        try:
            connection = self._pool.pop()
        except IndexError:
            connection = self._connection()
        try:
            connection.request(method, path, data, self._headers)
            answer = connection.getresponse()
            found = answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close or len(self._pool) == POOL:
            connection.close()
        else:
            self._pool.append(connection)
        return answer.status, found

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def close(self) -> None:
        """Close the connections; the next call opens one again."""
        _close_all(self._pool)


def _check_left_out(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidParameter(name, "must be left out for a game that a server keeps", value)


def _close_all(pool: deque[http.client.HTTPConnection]) -> None:
    while pool:
        pool.pop().close()


def _error(status: int, found: bytes) -> HoldfastError:
    """The error that an answer carries."""
    try:
        content = json.loads(found)
        return error_from_json({**content, "message": content["detail"]})
    except (ValueError, TypeError, KeyError, AttributeError):
        return HoldfastError(f"the server answered with status {status}: {found[:200].decode(errors='replace')}")


class RemoteRouter(Router):
    """A game that a server keeps. `holdfast.open` makes it."""

    def __init__(self, server: Server, name: str, view: dict[str, Any]) -> None:
        self._server, self._name = server, name
        self._place = f"/v1/games/{quote(name, safe='')}"
        self._policy: tuple[dict[str, Any], Policy] | None = None
        self._seen = view

    def __repr__(self) -> str:
        view = self._view()
        return (
            f"<Router {self.name!r} of {view['label']} at {self._server.url}: {view['rounds']} rounds, "
            f"{view['switches']} switches, holding {view['arm']!r} for {view['hold']} more>"
        )

    @property
    def executor(self) -> NoReturn:
        """Not here: the server has it."""
        raise AttributeError("a game that a server keeps has no store here")

    @property
    def store(self) -> NoReturn:
        """Not here: the server has it."""
        raise AttributeError("a game that a server keeps has no store here")

    @property
    def name(self) -> str:
        """The game's name."""
        return self._name

    @property
    def policy(self) -> Policy:
        """What is played, as of the last call that looked."""
        settings = self._seen["policy"]
        if self._policy is None or self._policy[0] != settings:
            self._policy = settings, make_policy(_without_count(settings), allow=())
        return self._policy[1]

    def _call(self, method: str, path: str = "", body: object = None) -> Any:
        return self._server.json(method, self._place + path, body)

    def _view(self) -> dict[str, Any]:
        self._seen = self._call("GET")
        return self._seen

    def ask(  # type: ignore[override]  # the same overloads
        self,
        n: int | None = None,
        *,
        request: str | None = None,
        switching_cost: float | None = None,
        loss_bound: float | None = None,
        available: Collection[int | str] | None = None,
        key: str | None = None,
        forecast: Any = None,
        fallback: int | str | None = None,
        deadline: float | None = None,
    ) -> Decision | list[Decision]:
        """As `Router.ask`.

        Parameters
        ----------
        n, request, switching_cost, loss_bound
            As in `Router.ask`.
        available, key, forecast, fallback, deadline
            Not for a server.
        """
        _check_left_out(available=available, key=key, forecast=forecast, fallback=fallback, deadline=deadline)
        body: dict[str, Any] = {
            "n": 1 if n is None else whole_number("n", n, least=1, most=MOST_AT_ONCE),
            "request": token_hex(8) if request is None else checked_name("request", request),
        }
        for name, value in (("switching_cost", switching_cost), ("loss_bound", loss_bound)):
            if value is not None:
                body[name] = real_number(name, value)
        given = [Decision(**one) for one in self._call("POST", "/decisions", body)["decisions"]]
        return given[0] if n is None else given

    async def aask(  # type: ignore[override]  # the same overloads
        self, n: int | None = None, **options: Unpack[AskOptions]
    ) -> Decision | list[Decision]:
        """As `Router.aask`; each call is a request, made in a thread."""
        return await asyncio.to_thread(partial(self.ask, n, **options))

    def tell(  # type: ignore[override]  # the same overloads
        self, id: str | Outcomes, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt | list[Receipt]:
        """As `Router.tell`, of losses.

        Parameters
        ----------
        id, loss
            As in `Router.tell`.
        deadline, outcome
            Not for a server.
        """
        _check_left_out(deadline=deadline, **outcome)
        pairs, one = reported_pairs(id, loss, {})
        return receipts_of(self._tell(pairs), one)

    async def atell(  # type: ignore[override]  # the same overloads
        self, id: str | Outcomes, loss: float | None = None, *, deadline: float | None = None, **outcome: Any
    ) -> Receipt | list[Receipt]:
        """As `Router.atell`; each call is a request, made in a thread.

        Parameters
        ----------
        id, loss, deadline, outcome
            As in `tell`.
        """
        return await asyncio.to_thread(partial(self.tell, id, loss, deadline=deadline, **outcome))

    def _tell(self, pairs: list[tuple[Any, Any]]) -> Answers:
        answers: dict[int, Any] = {}
        losses: list[tuple[int, dict[str, Any]]] = []
        for number, (id, loss) in enumerate(pairs):
            try:
                if not isinstance(id, str):
                    raise InvalidParameter("id", RULE, id)
                if not id.isascii():
                    raise UnknownDecision(id, RULE)
                losses.append((number, {"id": id, "loss": real_number("loss", loss)}))
            except HoldfastError as error:
                answers[number] = error
        for first in range(0, len(losses), AT_ONCE):
            some = losses[first : first + AT_ONCE]
            verdicts = self._call("POST", "/losses", {"losses": [loss for _, loss in some]})["verdicts"]
            for (number, loss), verdict in zip(some, verdicts, strict=True):
                problem = verdict.get("problem")
                refused = None if problem is None else error_from_json({**problem, "message": problem["detail"]})
                answers[number] = refused or Receipt(loss["id"], verdict["new"])
        return [answers[number] for number in range(len(pairs))]

    @property
    def paused(self) -> NoReturn:
        """Not over HTTP."""
        raise HoldfastError(ELSEWHERE)

    @property
    def pinned(self) -> NoReturn:
        """Not over HTTP."""
        raise HoldfastError(ELSEWHERE)

    def _stand(self, kind: str, arm: int | str | None, until: object, reason: str | None) -> NoReturn:
        raise HoldfastError(ELSEWHERE)

    def end(self, key: str) -> NoReturn:
        """Not over HTTP."""
        raise HoldfastError(ELSEWHERE)

    def settle(self) -> int:
        """As `Router.settle`."""
        return int(self._call("POST", "/settle")["settled"])

    @property
    def rounds(self) -> int:
        """Rounds handed out so far."""
        return int(self._view()["rounds"])

    @property
    def switches(self) -> int:
        """Changes of arm so far; the first play is one."""
        return int(self._view()["switches"])

    @property
    def hold(self) -> int:
        """Rounds of the current block that are not handed out yet."""
        return int(self._view()["hold"])

    @property
    def arm(self) -> int | str | None:
        """The arm of the current block."""
        found: int | str | None = self._view()["arm"]
        return found

    @property
    def probabilities(self) -> Array:
        """As `Router.probabilities`."""
        found = self._view()["probabilities"]
        if found is None:
            raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
        return np.array(found)

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that are open."""
        return [Decision(**one) for one in self._call("GET", "/decisions")["decisions"]]

    @property
    def history(self) -> RemoteHistory:
        """Blocks and totals so far."""
        return RemoteHistory(self)

    def apply(self, wanted: Wish) -> None:
        """Make a change."""
        content = {
            "switching_cost": wanted.switching_cost,
            "add": list(wanted.add_arms),
            "retire": list(wanted.retire_arms),
            "reason": wanted.reason,
            **_written(wanted.settings),
        }
        self._seen = self._call("PATCH", "", {name: value for name, value in content.items() if value is not None})

    def close(self) -> None:
        """Close the connections."""
        self._server.close()


class RemoteHistory(History):
    """Blocks and totals of a game that a server keeps."""

    def __init__(self, router: RemoteRouter) -> None:
        self._router = router

    @property
    def totals(self) -> Totals:
        """Running totals."""
        found = self._router._call("GET", "/summary")
        return Totals(**{**found, "arms": tuple(ArmTotals(**arm) for arm in found["arms"])})

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Settings that were changed."""
        found: list[dict[str, Any]] = self._router._call("GET", "/changes")["changes"]
        return found

    def blocks(self) -> Iterator[Block]:
        """All blocks that have not been compacted, in order."""
        return self._blocks(self._router._view()["names"], 0)

    def _blocks(self, names: list[int | str], cursor: int | None) -> Iterator[Block]:
        while cursor is not None:
            found = self._router._call("GET", f"/blocks?cursor={cursor}&limit={BLOCKS}")
            for one in found["blocks"]:
                yield _block(one, names)
            cursor = found["next"]

    def recent(self, limit: int) -> list[Block]:
        """The last blocks."""
        view = self._router._view()
        begun = self._router._call("GET", "/hold")["block"]
        return list(self._blocks(view["names"], max(begun - limit, 0)))[-limit:]

    @property
    def frame(self) -> pl.DataFrame:
        """One row per block."""
        return frame_of(self.blocks(), self._router._view()["names"])

    @property
    def log(self) -> pl.DataFrame:
        """One row per loss that counted."""
        import polars as pl

        path = f"{self._router._place}/export?format=parquet"
        return pl.read_parquet(io.BytesIO(self._router._server.call("GET", path)))

    def log_parts(self) -> Iterator[pl.DataFrame]:
        """The log, as one part."""
        yield self.log

    def compact(self, keep: int) -> NoReturn:
        """Not over HTTP: it removes rows for ever."""
        raise HoldfastError("rows are removed where the store is: router.history.compact(...) with the store's URL")


def _block(one: dict[str, Any], names: list[int | str]) -> Block:
    return Block(
        number=one["number"],
        key=None,
        arm=names.index(one["arm"]),
        rounds=one["rounds"],
        probability=one["probability"],
        began=one["began"],
        bound=one["bound"],
        forced=one["forced"],
        data="",
        told=one["told"],
        losses=tuple(one["losses"]),
        late=one["late"],
        due=one["due"],
        settled_order=None,
        settled_at=one["settled"],
        stand_in=one["stand_in"],
    )


def _without_count(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a policy; with named arms their number says nothing more."""
    return {name: value for name, value in settings.items() if name != "n_arms" or "arms" not in settings}


def _written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a request has them."""
    patience = settings.get("patience")
    if isinstance(patience, timedelta):
        return {**settings, "patience": f"{patience.total_seconds():.6f}s"}
    return dict(settings)


def open_remote(
    server: Server, name: str, policy: Policy | None, settings: Mapping[str, Any], seed: object
) -> RemoteRouter:
    """The game of this name at a server, begun if need be.

    Parameters
    ----------
    server
        Where it is.
    name
        The game's name.
    policy
        What to play; without it the game must exist.
    settings
        Patience, missing and remember, where they were given.
    seed
        Of a game that begins: a whole number, or nothing.
    """
    place = f"/v1/games/{quote(name, safe='')}"
    if policy is None:
        router = RemoteRouter(server, name, server.json("GET", place))
        if settings:
            raise InvalidParameter("policy", "must be given along with patience, missing or remember", None)
        return router
    Settings().changed(policy, settings)
    content = described(policy)
    if content["functions"]:
        rule = f"must be numbers for a server, not functions: {', '.join(content['functions'])}"
        raise InvalidParameter("policy", rule, policy.label)
    parameters = _without_count(content["policy"])
    body = {"policy": parameters.pop("policy"), "parameters": parameters, **_written(settings)}
    if seed is not None:
        body["seed"] = whole_number("seed", seed, least=0)
    return RemoteRouter(server, name, server.json("PUT", place, body))
