"""A game kept by a server (`holdfast serve`): a router that sends its calls through `holdfast_client`."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from holdfast.checks import one_of, whole_number
from holdfast.decisions.executor import Executor
from holdfast.decisions.game import NOT_RECORDED, RULE, UNRECORDED, no_id
from holdfast.decisions.history import ArmTotals, History, Totals, frame_of
from holdfast.decisions.holdout import Judgement, Saving
from holdfast.decisions.models import Block, Decision, Head, Receipt
from holdfast.decisions.options import given, written_duration
from holdfast.decisions.requests import (
    AllLosses,
    Ask,
    Change,
    End,
    Observe,
    Outcome,
    Request,
    SetAvailability,
    Settle,
    Tell,
)
from holdfast.decisions.router import OPENED, STORE_COUNTS, Router
from holdfast.decisions.settings import Settings
from holdfast.decisions.status import DecisionRecord
from holdfast.errors import (
    HoldfastError,
    InvalidParameter,
    NotAllowed,
    OtherSettings,
    OutOfTurn,
    StoreError,
    UnknownDecision,
    error_from_json,
)
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.scales import Scale
from holdfast.numerics.statistics import checked_confidence
from holdfast.players.saves import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import make_policy
from holdfast_client import Game, Problem, Server
from holdfast_client.connection import TOKEN, checked_token

if TYPE_CHECKING:
    from holdfast.policies.guarded import Guard


def _error(problem: Problem) -> HoldfastError:
    if problem.status in (401, 403):
        return NotAllowed(str(problem))
    try:
        return error_from_json({"message": problem.content["detail"], **problem.content})
    except (TypeError, KeyError):
        return HoldfastError(str(problem))


class LibraryServer(Server):
    """A server whose problems are the library errors that they are."""

    refused, lost = staticmethod(_error), StoreError


def _receipt(answer: Any) -> Receipt | HoldfastError:
    return _error(answer) if isinstance(answer, Problem) else Receipt(*answer)


class _AnyIds:
    """Ids that only the server can check."""

    def parse(self, text: object) -> tuple[int, int]:
        """Return no block and no round. Raise an error for text that cannot be an id."""
        if not isinstance(text, str):
            raise no_id(text)
        if text.startswith(UNRECORDED):
            raise UnknownDecision(text, NOT_RECORDED)
        if not text.isascii():
            raise UnknownDecision(text, RULE)
        return 0, 0


class RemoteExecutor:
    """Sends requests through the client of a game. The server's clock counts."""

    def __init__(self, game: Game, view: dict[str, Any], allow: Iterable[str | type[Policy]] = ()) -> None:
        self.game, self.store, self.view, self._allow = game, game.server, view, tuple(allow)
        self.clock = time.time
        self._policy: tuple[dict[str, Any], Policy] | None = None

    def look(self) -> dict[str, Any]:
        """Fetch the game's current status."""
        self.view = self.game.view()
        return self.view

    @property
    def setup(self) -> SimpleNamespace:
        """The game's setup for a router, as of the last fetched status."""
        settings, names = self.view["policy"], self.view["names"]
        if self._policy is None or self._policy[0] != settings:
            self._policy = settings, make_policy(_without_count(settings), self._allow)
        game = SimpleNamespace(name=self.game.name)
        return SimpleNamespace(game=game, policy=self._policy[1], ids=_AnyIds(), name_of=names.__getitem__, names=names)

    def execute(self, request: Request, seconds: float | None = None) -> Any:
        """Return the answer to a request."""
        send = SENT.get(type(request))
        if send is None:
            raise HoldfastError(f"{type(request).__name__} is not for a server: open the game with the store's URL")
        return send(self, request, seconds)

    async def execute_async(self, request: Request, seconds: float | None = None) -> Any:
        """Like `execute`, in a thread."""
        return await self.store.in_thread(self.execute, request, seconds)


def _ask(remote: RemoteExecutor, request: Ask, seconds: float | None) -> list[Decision]:
    if request.fallback is not None:
        remote.view = remote.game.send("GET", seconds=seconds)
        one_of("fallback", request.fallback, remote.view["names"])
    body = {"n": request.n, **{name: _plain(value) for name, value in given(request).items()}}
    return [Decision(*one) for one in remote.game.decide(body, seconds)]


def _tell(remote: RemoteExecutor, request: Tell, seconds: float | None) -> Any:
    sent = [(one[0], _outcome(one[3])) for one in request.reports if not isinstance(one, HoldfastError)]
    found = iter(remote.game.tell_each(sent, seconds))
    answers = [one if isinstance(one, HoldfastError) else _receipt(next(found)) for one in request.reports]
    if request.one and isinstance(answers[0], HoldfastError):
        raise answers[0]
    return answers[0] if request.one else answers


def _observe(remote: RemoteExecutor, request: Observe, seconds: float | None) -> None:
    remote.game.observe(**{name: _plain(value) for name, value in given(request).items()})


def _change(remote: RemoteExecutor, request: Change, seconds: float | None) -> None:
    remote.view = remote.game.change(**_changes(request))


def _set_availability(remote: RemoteExecutor, request: SetAvailability, seconds: float | None) -> None:
    kind = request.kind
    content = {kind: True if kind == "unpin" else request.arm, "until": request.until, "reason": request.reason}
    remote.view = remote.game.change(**{name: _plain(value) for name, value in content.items() if value is not None})


SENT: Mapping[type, Callable[[RemoteExecutor, Any, float | None], Any]] = {
    Ask: _ask,
    Tell: _tell,
    Observe: _observe,
    End: lambda remote, request, _: remote.game.end(request.key),
    Settle: lambda remote, *_: remote.game.settle(),
    Change: _change,
    SetAvailability: _set_availability,
}
"""The function that sends each kind of request."""


class RemoteRouter(Router):
    """A game kept by a server. Made by `holdfast.open`."""

    def __init__(self, remote: RemoteExecutor) -> None:
        super().__init__(cast(Executor, remote))  # it has all that a router uses
        self._remote = remote

    def _head(self) -> Head:
        view = self._remote.look()
        arm = -1 if view["arm"] is None else view["names"].index(view["arm"])
        known = SimpleNamespace(asked=view["rounds"], switches=view["switches"], rounds=view["hold"], handed=0, arm=arm)
        return cast(Head, known)

    @property
    def probabilities(self) -> Array:
        found = self._remote.look()["probabilities"]
        if found is None:
            raise OutOfTurn(f"the probabilities of the next block depend on its {self.policy.announces}")
        return np.array(found)

    @property
    def certificate(self) -> float:
        found: float | None = self._remote.look()["certificate"]
        if found is None:
            raise OutOfTurn(f"{self.policy.label} has no certificate: it does not see the losses of all arms")
        return found

    def decision(self, id: str) -> DecisionRecord:
        self._remote.setup.ids.parse(id)
        return DecisionRecord(**self._remote.game.decision(id))

    @property
    def guard(self) -> Guard:
        raise OutOfTurn(
            "the guard's numbers are kept by the server: its look at the game says in words where it stands"
        )

    @property
    def open_decisions(self) -> list[Decision]:
        return [Decision(**one) for one in self._remote.game.listed("decisions")]

    @property
    def paused(self) -> dict[int | str, float]:
        found = self._remote.look()["paused"]
        return {one["arm"]: float("inf") if one["until"] is None else one["until"] for one in found}

    @property
    def pinned(self) -> int | str | None:
        found: int | str | None = self._remote.look()["pinned"]
        return found

    @property
    def shares(self) -> dict[int | str, float]:
        return {one["arm"]: one["share"] for one in self._remote.look()["shares"]}

    @property
    def why(self) -> str:
        found: str = self._remote.game.send("GET", "/hold")["why"]
        return found

    @property
    def switches_left(self) -> int | None:
        found: int | None = self._remote.look()["switches_left"]
        return found

    @property
    def holdback(self) -> float:
        return float(self._remote.look()["holdback"])

    @property
    def scale(self) -> Scale | None:
        found = self._remote.view["scale"]
        return None if found is None else Scale.from_settings(found)

    @property
    def history(self) -> RemoteHistory:
        return RemoteHistory(self._remote)


class RemoteHistory(History):
    """Blocks and totals of a game kept by a server."""

    def __init__(self, remote: RemoteExecutor) -> None:
        super().__init__(cast(Executor, remote))
        self._game, self._look = remote.game, remote.look

    @property
    def totals(self) -> Totals:
        found = self._game.summary()
        return Totals(**{**found, "arms": tuple(ArmTotals(**arm) for arm in found["arms"])})

    @property
    def days(self) -> pl.DataFrame:
        return self._exported("days")

    def compact(self, keep: int) -> int:
        return self._game.compact(keep)

    @property
    def changes(self) -> list[dict[str, Any]]:
        return list(self._game.listed("changes"))

    def compare(self, confidence: float = 0.95) -> Saving:
        share = checked_confidence(confidence)
        return Saving.from_json(self._game.compare(share))

    def judge(self, arm: int | str, against: int | str, confidence: float = 0.95) -> Judgement:
        share = checked_confidence(confidence)
        return Judgement.from_json(self._game.judge(arm, against, share))

    def blocks(self, after: int = 0) -> Iterator[Block]:
        return (block for block, _ in self._listed(after))

    def _listed(self, after: int = 0) -> Iterator[tuple[Block, str | None]]:
        """Yield blocks, each with who chose its arm."""
        names = self._look()["names"]
        yield from (_block(one, names) for one in self._game.listed("blocks", after))

    def recent(self, limit: int) -> list[Block]:
        return list(self.blocks(max(self.totals.blocks - limit, 0)))[-limit:]

    @property
    def frame(self) -> pl.DataFrame:
        return frame_of(self._listed(), self._look()["names"])

    @property
    def log(self) -> pl.DataFrame:
        return self._exported("log")

    @property
    def record(self) -> pl.DataFrame:
        return self._exported("record")

    def _exported(self, what: str) -> pl.DataFrame:
        return pl.read_parquet(io.BytesIO(self._game.export(what)))

    def log_parts(self) -> Iterator[pl.DataFrame]:
        """Yield the log, as one part."""
        yield self.log


def _block(one: dict[str, Any], names: list[int | str]) -> tuple[Block, str | None]:
    settled, by = one.pop("settled"), one.pop("by")
    moves = [(move["round"], names.index(move["arm"]), move["reason"]) for move in one["moves"]]
    own = {
        "moves": json.dumps(moves) if moves else "",
        "arm": names.index(one["arm"]),
        "losses": tuple(one["losses"]),
        "data": "",
        "settled_at": settled,
    }
    return Block(**{**one, **own}), by


def _plain(value: Any) -> Any:
    """Convert names, numbers and times to JSON values."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return written_duration(value)
    if hasattr(value, "settings"):
        return value.settings()
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, Collection) and not isinstance(value, str) else value


def _outcome(value: float | Outcome | AllLosses) -> dict[str, Any]:
    """Return an outcome as request fields."""
    if not isinstance(value, (Outcome, AllLosses)):
        return {"loss": value}
    if isinstance(value, AllLosses):
        found = {"losses": _plain(value.losses)}
    else:
        given = {"loss": value.plain, "reward": value.reward, "failed": value.failed or None}
        found = {name: one for name, one in given.items() if one is not None}
        found |= {**({} if value.error is False else {"error": value.error}), **value.measures}
    flags = {"in_time": value.in_time, "clip": value.clip}
    return {**found, **{name: True for name, given in flags.items() if given}}


def _without_count(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's settings without `n_arms` where arms are named: it adds nothing."""
    return {name: value for name, value in settings.items() if name != "n_arms" or "arms" not in settings}


def open_remote(
    server: Server,
    name: str,
    policy: Policy | None,
    settings: Mapping[str, Any],
    *,
    whose: str,
    changes: Change,
    seed: object,
    local: bool,
    allow: Iterable[str | type[Policy]],
) -> RemoteRouter:
    """Return the game of this name at a server, begun if need be, with the settings given.

    `whose` settings count where they differ is as in `holdfast.open`. With `changes`, the game continues with these,
    and must then have this policy and these settings.
    """
    game = Game(server, name, local)
    if changes.changes_something:
        view = _changed(game, policy, settings, changes, seed)
    elif policy is None:
        view = game.view()
        if settings:  # to be compared with those of the game
            view = _opened(game, {**_put_policy(view["policy"]), **_plain(settings)}, whose)
    else:
        view = _opened(game, _new_game(policy, settings, seed), whose)
    if local and view["waits_for_losses"]:
        rule = f"must be False: {view['label']} waits for the losses of all decisions, used or not"
        raise InvalidParameter("local", rule, local)
    return RemoteRouter(RemoteExecutor(game, view, allow if policy is None else [*allow, type(policy)]))


def _opened(game: Game, wanted: dict[str, Any], whose: str) -> Any:
    """Begin or find the game. Where its own settings count, log what differs."""
    if whose != "store":
        return game.send("PUT", "", {**wanted, "settings": whose})
    try:
        return game.send("PUT", "", {**wanted, "settings": "same"})
    except OtherSettings as other:
        view = game.send("PUT", "", {**wanted, "settings": whose})  # refused again if it is another game
        OPENED.warning(STORE_COUNTS, other)
        return view


def _changed(game: Game, policy: Policy | None, settings: Mapping[str, Any], changes: Change, seed: object) -> Any:
    """Begin the game if there is none, and apply the changes."""
    wanted = _plain(settings) if policy is None else _new_game(policy, settings, seed)
    if policy is not None:
        with suppress(OtherSettings):
            game.send("PUT", "", {**wanted, "settings": "same"})
    return game.change(**_changes(changes), wanted=wanted)


def _changes(wanted: Change) -> dict[str, Any]:
    """Return changes as request fields."""
    content = {
        "switching_cost": wanted.switching_cost,
        "add_arms": list(wanted.add_arms),
        "retire_arms": list(wanted.retire_arms),
        "reason": wanted.reason,
        **_plain(wanted.settings),
    }
    return {name: value for name, value in content.items() if value is not None}


def _new_game(policy: Policy, settings: Mapping[str, Any], seed: object) -> dict[str, Any]:
    Settings().changed(policy, settings)
    content = described(policy)
    if content["functions"]:
        rule = f"must be numbers for a server, not functions: {', '.join(content['functions'])}"
        raise InvalidParameter("policy", rule, policy.label)
    body = {**_put_policy(content["policy"]), **_plain(settings)}
    if seed is not None:
        body["seed"] = whole_number("seed", seed, least=0)
    return body


def _put_policy(settings: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _without_count(settings)
    return {"policy": parameters.pop("policy"), "parameters": parameters}


def server_at(url: str, token: str | None, retry: float, timeout: float) -> Server:
    """Return the server at this address, with time limits for all attempts and for one. Its errors show no secret."""
    parameter, rule = "token", TOKEN
    try:
        checked = None if token is None else checked_token(token)
        parameter, rule = "url", "must be the address of a server such as http://host:port"
        return LibraryServer(url, checked, retry, timeout)
    except ValueError:
        raise InvalidParameter(parameter, rule, "(not shown)") from None
