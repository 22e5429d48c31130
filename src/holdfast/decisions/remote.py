"""A game that a server keeps (`holdfast serve`): a router whose calls are requests, made by `holdfast_client`."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from holdfast.checks import one_of, whole_number
from holdfast.decisions.changes import Wish, change
from holdfast.decisions.core import Answers, Report, ask, end, expire, observe, tell
from holdfast.decisions.errors_json import error_from_json
from holdfast.decisions.executor import Call, Executor
from holdfast.decisions.history import ArmTotals, History, Totals, frame_of
from holdfast.decisions.holdout import Saving
from holdfast.decisions.ids import NOT_RECORDED, RULE, UNRECORDED
from holdfast.decisions.models import Block, Decision, Head, Receipt
from holdfast.decisions.outcomes import AllLosses, Outcome
from holdfast.decisions.router import Router
from holdfast.decisions.settings import Settings
from holdfast.errors import (
    HoldfastError,
    InvalidParameter,
    NotAllowed,
    OtherSettings,
    OutOfTurn,
    StoreError,
    UnknownDecision,
)
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.scales import Scale
from holdfast.numerics.statistics import checked_confidence
from holdfast.players.saves import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import make_policy
from holdfast_client import Game, Problem, Server, Unreachable
from holdfast_client.connection import TOKEN, checked_token

AT_ONCE = 1000
"""Blocks, or decisions, in one answer."""


@contextmanager
def _as_errors() -> Iterator[None]:
    """Problems as the errors that the library has raised at the server."""
    try:
        yield
    except Problem as problem:
        raise _error(problem) from None
    except Unreachable as lost:
        raise StoreError(str(lost)) from None


def _error(problem: Problem) -> HoldfastError:
    if problem.status in (401, 403):
        return NotAllowed(str(problem))
    try:
        return error_from_json({"message": problem.content["detail"], **problem.content})
    except (TypeError, KeyError):
        return HoldfastError(str(problem))


def _receipt(answer: Any) -> Receipt | HoldfastError:
    return _error(answer) if isinstance(answer, Problem) else Receipt(*answer)


class _AnyIds:
    """Ids that only the server can check."""

    def parse(self, text: object) -> tuple[int, int]:
        """No block and no round; an error for what cannot be an id."""
        if not isinstance(text, str):
            raise InvalidParameter("id", RULE, text)
        if text.startswith(UNRECORDED):
            raise UnknownDecision(text, NOT_RECORDED)
        if not text.isascii():
            raise UnknownDecision(text, RULE)
        return 0, 0


class RemoteExecutor:
    """Makes calls by requests: a rule and its arguments say all that a request needs. The server's clock counts."""

    def __init__(self, game: Game, view: dict[str, Any], allow: Iterable[str | type[Policy]] = ()) -> None:
        self.game, self.store, self.view, self._allow = game, game.server, view, tuple(allow)
        self._policy: tuple[dict[str, Any], Policy] | None = None

    def send(self, method: str, path: str = "", body: object = None, seconds: float | None = None) -> Any:
        """The answer to a request; an error of the library where it is one."""
        with _as_errors():
            return self.game.send(method, path, body, seconds)

    def look(self) -> dict[str, Any]:
        """The game as it is now."""
        self.view = self.send("GET")
        return self.view

    def listed(self, what: str, after: int | str | None = None) -> Iterator[dict[str, Any]]:
        """All blocks, changes or open decisions, fetched page by page."""
        path, cursor, more = f"/{what}?limit={AT_ONCE}", after, True
        while more:
            page = self.send("GET", path if cursor is None else f"{path}&cursor={cursor}")
            yield from page[what]
            cursor = page["next"]
            more = cursor is not None

    @property
    def setup(self) -> SimpleNamespace:
        """What a router wants to know of the game, as of the last call that looked."""
        settings, names = self.view["policy"], self.view["names"]
        if self._policy is None or self._policy[0] != settings:
            self._policy = settings, make_policy(_without_count(settings), self._allow)
        game = SimpleNamespace(name=self.game.name)
        return SimpleNamespace(game=game, policy=self._policy[1], ids=_AnyIds(), name_of=names.__getitem__, names=names)

    def execute(self, call: Call, seconds: float | None = None) -> Any:
        """Make a call."""
        rule = cast("partial[Any]", call.rule)
        send = self._requests.get(rule.func)
        if send is None:
            raise HoldfastError(f"{rule.func.__name__} is not for a server: open the game with the store's URL")
        with _as_errors():
            return send(self, seconds, **rule.keywords)

    async def execute_async(self, call: Call, seconds: float | None = None) -> Any:
        """The same for an event loop, in a thread."""
        return await self.store.in_thread(self.execute, call, seconds)

    def _ask(self, seconds: float | None, **asked: Any) -> list[Decision]:
        if asked["fallback"] is not None:
            self.view = self.send("GET", seconds=seconds)
            one_of("fallback", asked["fallback"], self.view["arms"])
        body = {"n": asked["n"], **asked["announced"]}
        if asked["named"]:
            body["request"] = asked["request"]
        if asked["available"] is not None:
            body["available"] = list(asked["available"])
        for name in ("key", "rule", "forecast"):
            if asked[name] is not None:
                body[name] = _plain(asked[name])
        return [Decision(*one) for one in self.game.decide(body, seconds)]

    def _tell(self, seconds: float | None, *, reports: list[Report | HoldfastError], now: float) -> Answers:
        sent = [(one[0], _outcome(one[3])) for one in reports if not isinstance(one, HoldfastError)]
        found = iter(self.game.tell_each(sent, seconds))
        return [one if isinstance(one, HoldfastError) else _receipt(next(found)) for one in reports]

    def _observe(self, seconds: float | None, **seen: Any) -> None:
        body = {"losses": _plain(seen["losses"]), "request": seen["request"], **seen["announced"]}
        if seen["at"] != seen["now"]:
            body["at"] = datetime.fromtimestamp(seen["at"], UTC).isoformat()
        self.game.send("POST", "/observations", body, seconds)

    def _end(self, seconds: float | None, *, key: str, now: float) -> bool:
        return self.game.end(key)

    def _settle(self, seconds: float | None, *, now: float) -> int:
        return int(self.game.send("POST", "/settle")["settled"])

    def _change(self, seconds: float | None, *, wanted: Wish, now: float) -> None:
        self.view = self.game.change(**_changes(wanted))

    _requests: Mapping[Callable[..., Any], Callable[..., Any]] = {
        ask: _ask,
        observe: _observe,
        tell: _tell,
        end: _end,
        expire: _settle,
        change: _change,
    }


class RemoteRouter(Router):
    """A game that a server keeps. `holdfast.open` makes it."""

    def __init__(self, remote: RemoteExecutor) -> None:
        super().__init__(cast(Executor, remote), time.time)  # it has what a router uses
        self._remote = remote

    def _head(self) -> Head:
        view = self._remote.look()
        arm = -1 if view["arm"] is None else view["names"].index(view["arm"])
        known = SimpleNamespace(asked=view["rounds"], switches=view["switches"], rounds=view["hold"], handed=0, arm=arm)
        return cast(Head, known)

    @property
    def probabilities(self) -> Array:
        """As `Router.probabilities`."""
        found = self._remote.look()["probabilities"]
        if found is None:
            raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
        return np.array(found)

    @property
    def certificate(self) -> float:
        """As `Router.certificate`."""
        found: float | None = self._remote.look()["certificate"]
        if found is None:
            raise OutOfTurn(f"{self.policy.label} has no certificate: it does not see the losses of all arms")
        return found

    @property
    def open_decisions(self) -> list[Decision]:
        """Decisions that are open."""
        return [Decision(**one) for one in self._remote.listed("decisions")]

    @property
    def paused(self) -> dict[int | str, float]:
        """Arms that are paused, and until when."""
        found = self._remote.look()["paused"]
        return {one["arm"]: float("inf") if one["until"] is None else one["until"] for one in found}

    @property
    def pinned(self) -> int | str | None:
        """The arm that is pinned."""
        found: int | str | None = self._remote.look()["pinned"]
        return found

    @property
    def holdback(self) -> float:
        """The share of blocks and conversations that the operator's rule decides."""
        return float(self._remote.look()["holdback"])

    @property
    def history(self) -> RemoteHistory:
        """Blocks and totals so far."""
        return RemoteHistory(self._remote)

    def _stand(self, kind: str, arm: int | str | None, until: object, reason: str | None) -> None:
        """Pause, resume, pin or unpin; how long is counted by the server's clock."""
        end = until.isoformat() if isinstance(until, datetime) else _seconds(until)
        content = {kind: True if kind == "unpin" else arm, "until": end, "reason": reason}
        self._remote.view = self._remote.send("PATCH", "", {k: v for k, v in content.items() if v is not None})


class RemoteHistory(History):
    """Blocks and totals of a game that a server keeps."""

    def __init__(self, remote: RemoteExecutor) -> None:
        super().__init__(cast(Executor, remote))
        self._remote = remote

    @property
    def totals(self) -> Totals:
        """Running totals."""
        found = self._remote.send("GET", "/summary")
        return Totals(**{**found, "arms": tuple(ArmTotals(**arm) for arm in found["arms"])})

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Settings that were changed."""
        return list(self._remote.listed("changes"))

    def compare(self, confidence: float = 0.95) -> Saving:
        """What the policy saves next to the rule held back."""
        share = checked_confidence(confidence)
        return Saving.from_json(self._remote.send("GET", f"/compare?confidence={share!r}"))

    def blocks(self) -> Iterator[Block]:
        """All blocks that have not been compacted, in order."""
        return self._blocks(0)

    def _blocks(self, after: int) -> Iterator[Block]:
        names = self._remote.look()["names"]
        return (_block(one, names) for one in self._remote.listed("blocks", after))

    def recent(self, limit: int) -> list[Block]:
        """The last blocks."""
        begun = self._remote.send("GET", "/summary")["blocks"]
        return list(self._blocks(max(begun - limit, 0)))[-limit:]

    @property
    def frame(self) -> pl.DataFrame:
        """One row per block."""
        return frame_of(self.blocks(), self._remote.look()["names"])

    @property
    def log(self) -> pl.DataFrame:
        """One row per loss that counted."""
        return self._exported("log")

    @property
    def record(self) -> pl.DataFrame:
        """The losses of all arms."""
        return self._exported("record")

    def _exported(self, what: str) -> pl.DataFrame:
        game = self._remote.game
        with _as_errors():
            found = game.server.call("GET", f"{game.place}/export?format=parquet&what={what}")
        return pl.read_parquet(io.BytesIO(found))

    def log_parts(self) -> Iterator[pl.DataFrame]:
        """The log, as one part."""
        yield self.log


def _block(one: dict[str, Any], names: list[int | str]) -> Block:
    return Block(
        number=one["number"],
        key=one["key"],
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


def _plain(value: Any) -> Any:
    """Names and numbers as JSON carries them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    return np.asarray(value).tolist() if isinstance(value, (list, tuple, np.ndarray)) else value


def _outcome(value: float | Outcome | AllLosses) -> dict[str, Any]:
    """An outcome as a request has it."""
    if isinstance(value, AllLosses):
        return {"losses": _plain(value.losses)}
    if not isinstance(value, Outcome):
        return {"loss": value}
    if value.reward is not None:
        return {"reward": value.reward}
    return {**({"error": value.error} if value.error is not False else {}), **value.measures}


def _without_count(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a policy; with named arms their number says nothing more."""
    return {name: value for name, value in settings.items() if name != "n_arms" or "arms" not in settings}


def _seconds(value: object) -> Any:
    """A length of time as a request has it."""
    return f"{value.total_seconds():.6f}s" if isinstance(value, timedelta) else value


def _written(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a request has them."""
    return {name: value.settings() if isinstance(value, Scale) else _seconds(value) for name, value in settings.items()}


def open_remote(
    server: Server,
    name: str,
    policy: Policy | None,
    settings: Mapping[str, Any],
    *,
    changes: Wish,
    seed: object,
    local: bool,
    allow: Iterable[str | type[Policy]],
) -> RemoteRouter:
    """The game of this name at a server, begun if need be; `settings` are those that were given.

    With `changes` the game goes on with these, and must then have this policy and these settings.
    """
    game = Game(server, name, local)
    with _as_errors():
        if changes.changes_something:
            view = _changed(game, policy, settings, changes, seed)
        elif policy is None:
            view = game.view()
            if settings:  # to be compared with those of the game
                view = game.send("PUT", "", {**_put_policy(view["policy"]), **_written(settings)})
        else:
            view = game.send("PUT", "", _new_game(policy, settings, seed))
    if local and view["waits_for_losses"]:
        rule = f"must be False: {view['label']} waits for the losses of all decisions, used or not"
        raise InvalidParameter("local", rule, local)
    return RemoteRouter(RemoteExecutor(game, view, allow if policy is None else [*allow, type(policy)]))


def _changed(game: Game, policy: Policy | None, settings: Mapping[str, Any], changes: Wish, seed: object) -> Any:
    """Begin a game that is not there, and go on with changes."""
    wanted = _written(settings) if policy is None else _new_game(policy, settings, seed)
    if policy is not None:
        try:
            game.send("PUT", "", wanted)
        except Problem as problem:
            if not isinstance(_error(problem), OtherSettings):
                raise
    return game.change(**_changes(changes), wanted=wanted)


def _changes(wanted: Wish) -> dict[str, Any]:
    """Changes as a request has them."""
    content = {
        "switching_cost": wanted.switching_cost,
        "add_arms": list(wanted.add_arms),
        "retire_arms": list(wanted.retire_arms),
        "reason": wanted.reason,
        **_written(wanted.settings),
    }
    return {name: value for name, value in content.items() if value is not None}


def _new_game(policy: Policy, settings: Mapping[str, Any], seed: object) -> dict[str, Any]:
    Settings().changed(policy, settings)
    content = described(policy)
    if content["functions"]:
        rule = f"must be numbers for a server, not functions: {', '.join(content['functions'])}"
        raise InvalidParameter("policy", rule, policy.label)
    body = {**_put_policy(content["policy"]), **_written(settings)}
    if seed is not None:
        body["seed"] = whole_number("seed", seed, least=0)
    return body


def _put_policy(settings: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _without_count(settings)
    return {"policy": parameters.pop("policy"), "parameters": parameters}


def server_at(url: str, token: str | None, retry: float, timeout: float) -> Server:
    """The server at this address, for so many seconds of all attempts and of one; its errors show no secret."""
    parameter, rule = "token", TOKEN
    try:
        checked = None if token is None else checked_token(token)
        parameter, rule = "url", "must be the address of a server such as http://host:port"
        return Server(url, checked, retry, timeout)
    except ValueError:
        raise InvalidParameter(parameter, rule, "(not shown)") from None
