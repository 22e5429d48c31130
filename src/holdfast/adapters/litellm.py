"""LiteLLM: hold each conversation at one deployment, and learn which deployments are cheap, fast and up.

    litellm.callbacks = [HoldfastRouting("sqlite:///router.db", scale=hf.Scale(latency=(0, 20), price=(0, 0.05)))]

LiteLLM hands over the deployments that are healthy now; one of them goes back. A model group is a game, a deployment an
arm, a conversation a round: λ is 0, since nothing is lost between two conversations. Whatever goes wrong here, the
request goes on with all healthy deployments, as it would without Holdfast.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from holdfast.checks import real_number
from holdfast.decisions.requests import End
from holdfast.decisions.router import Router, open as open_game
from holdfast.errors import BadStore, InvalidParameter, MissingExtra, NoArmAvailable, StoreError, UnknownGame, nearest
from holdfast.logs import Sparse
from holdfast.numerics.scales import Scale
from holdfast.policies.adaptive import AdaptiveTsallisSwitch
from holdfast.policies.policy import Policy

try:
    from litellm.integrations.custom_logger import CustomLogger
except ModuleNotFoundError as error:
    raise MissingExtra(f"this adapter needs {error.name}: pip install 'holdfast[litellm]'") from None

LOG = logging.getLogger(__name__)
LOG.addFilter(Sparse())  # odd requests, or a store that is away, may be many a second

MARK = "holdfast"
"""Key of the decision in a request's metadata."""
MEASURES = ("latency", "first_token", "price", "price_per_1k", "uncached")
"""Measures that a scale may have: seconds, dollars, and the share of the prompt that no cache had."""
REFUSED = (400, 413, 422, 499)
"""Statuses of requests that no deployment would have answered; nothing is learnt from them."""
IN_A_ROW, REST = 3, 5.0
"""Failures in a row after which a store is left alone, and for how many seconds: no request then waits for it."""
MOST_TRIED = 10_000
"""Requests whose attempts are remembered."""
TELLING = 30.0
"""Seconds to report a loss; no request waits for that."""

DEFAULT_SCALE = Scale(latency=(0.0, 30.0), price=(0.0, 0.05))


def adaptive(arms: Sequence[str]) -> Policy:
    """Return the policy of a new game."""
    return AdaptiveTsallisSwitch(arms=arms, switching_cost=0.0)


class HoldfastRouting(CustomLogger):
    """A callback for LiteLLM's router: SDK (`litellm.callbacks`) or proxy (`litellm_settings: callbacks`).

    Parameters
    ----------
    url
        The store or server that keeps the games, as in `holdfast.open`. Each model group is a game of its name. One
        that exists keeps its policy and its settings; else it begins at the first request.
    scale
        Turns measures into a loss, for new games: `latency` (seconds), `first_token` (seconds, of streams), `price`
        (dollars), `price_per_1k` (dollars for 1,000 tokens), `uncached` (share of the prompt that no cache had).
    policy
        From the deployments' ids to the policy of a new game.
    deadline
        Seconds that a request waits for a decision at most.
    options
        Of `holdfast.open`, for new games. A conversation lives for five minutes, as most caches do (`key_life`), and is
        learnt from when its first turn is answered (`learn_after`).
    """

    def __init__(
        self,
        url: str = "memory:",
        *,
        scale: Scale = DEFAULT_SCALE,
        policy: Callable[[Sequence[str]], Policy] = adaptive,
        deadline: float = 0.25,
        **options: Any,
    ) -> None:
        super().__init__()
        for name in scale.measures:
            if name not in MEASURES:
                rule = f"must have measures of {', '.join(MEASURES)}{nearest(name, MEASURES)}"
                raise InvalidParameter("scale", rule, name)
        self._url, self._policy, self._deadline = url, policy, real_number("deadline", deadline, above=0)
        kept = ("token", "clock", "retry", "timeout", "allow")
        self._opening = {name: value for name, value in options.items() if name in kept}
        settings = {
            "scale": scale,
            "key_life": timedelta(minutes=5),
            "learn_after": 1,
            "patience": timedelta(minutes=10),
        }
        self._settings = {**settings, **options}
        self._games: dict[str, Future[_Game]] = {}
        self._failed: dict[str, int] = {}  # in a row
        self._rests: dict[str, float] = {}
        self._tried: dict[str, set[str]] = {}  # by requests that may be tried again
        self._threads = ThreadPoolExecutor(2, "holdfast-litellm")

    # ---- a deployment for a request

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[dict[str, Any]],
        messages: list[Any] | None,
        request_kwargs: dict[str, Any] | None = None,
        parent_otel_span: Any = None,
    ) -> list[dict[str, Any]]:
        """Return the deployment that is held, among those that are healthy; all of these if that fails."""
        try:
            conversation = conversation_of(messages, request_kwargs or {})
            by_id = {one: deployment for deployment in healthy_deployments if (one := _id_of(deployment)) is not None}
        except Exception as error:  # an odd request, which is no reason to leave a store alone
            LOG.warning("a request to %r is routed without Holdfast: %s", model, error)
            return healthy_deployments
        if len(by_id) < 2 or request_kwargs is None or not isinstance(model, str):
            return healthy_deployments
        opening = self._games.get(model)
        if time.monotonic() < self._rests.get(model, 0.0) or (opening is not None and not opening.done()):
            return healthy_deployments
        try:
            async with asyncio.timeout(self._deadline):
                held = await self._held(model, by_id, conversation, request_kwargs)
            self._failed[model] = 0
            return healthy_deployments if held is None else [by_id[held]]
        except Exception as error:  # the request goes on, whatever it is
            opening = self._games.get(model)
            if isinstance(error, TimeoutError) and opening is not None and not opening.done():
                LOG.warning("model group %r is routed without Holdfast until its game is open", model)
                return healthy_deployments
            self._failed[model] = self._failed.get(model, 0) + 1
            if self._failed[model] >= IN_A_ROW:
                self._rests[model] = time.monotonic() + REST
            if isinstance(error, BadStore) or not isinstance(error, (StoreError, TimeoutError)):
                self._games.pop(model, None)  # deleted, or restored: it is opened again
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            LOG.warning("a request to %r is routed without Holdfast: %s", model, why)
            return healthy_deployments

    async def _held(
        self, model: str, healthy: Collection[str], conversation: tuple[str | None, bool], request: dict[str, Any]
    ) -> str | None:
        """Return the deployment that is held, of those that are healthy; None where an operator has paused them all."""
        game = await self._game(model, list(healthy))
        new = [arm for arm in healthy if arm not in game.known]
        if new:
            await self._in_thread(game.add, sorted(new))
        key, begins = conversation
        tried = self._tried_by(request, key)
        playing = [arm for arm in healthy if arm in game.playing]
        available = [arm for arm in playing if arm not in tried] or playing
        if not available:
            return None
        if key is not None and begins and not tried:  # many conversations may begin with the same words
            await game.router.executor.execute_async(End(key), self._deadline)
        try:
            decision = await game.router.aask(key=key, available=available, deadline=self._deadline)
        except NoArmAvailable:
            return None
        arm = str(decision.arm)
        tried.add(arm)
        place = "litellm_metadata" if isinstance(request.get("litellm_metadata"), dict) else "metadata"
        mark = {"game": model, "decision": decision.id, "arm": arm}
        request[place] = {**(request.get(place) or {}), MARK: mark}  # a copy: callers may use theirs again
        return arm

    def _tried_by(self, request: Mapping[str, Any], key: str | None) -> set[str]:
        """Return the deployments at which this very request has failed; a deployment is not tried twice in a row."""
        name = str(request.get("litellm_trace_id") or key or "")
        metadata = _metadata(request)
        if not (metadata.get("attempted_retries") or metadata.get("previous_models")):
            self._tried.pop(name, None)
        if len(self._tried) >= MOST_TRIED:
            self._tried.pop(next(iter(self._tried)))
        return self._tried.setdefault(name, set())

    async def _game(self, model: str, arms: list[str]) -> _Game:
        opening = self._games.get(model)
        if opening is None:
            opening = self._games[model] = self._threads.submit(self._open, model, arms)
        try:
            return await asyncio.shield(asyncio.wrap_future(opening))
        except StoreError:  # it could not be opened
            self._games.pop(model, None)
            raise

    def _open(self, model: str, arms: list[str]) -> _Game:
        try:
            game = _Game(open_game(self._url, model, **self._opening))
        except UnknownGame:
            game = _Game(open_game(self._url, model, self._policy(arms), **self._settings))
        with suppress(Exception):  # a first call loads machine code, which takes longer than a request may wait
            player = game.router.policy.player(seed=0)
            player.ask()
            player.tell(game.router.policy.units[0] * player.hold, rounds=player.hold)
            assert game.router.probabilities is not None
        return game

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    # ---- what it lost

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Report the cost of a request."""
        await self._tell(kwargs, lambda: measured(kwargs, response_obj, start_time, end_time))

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Report that a deployment has failed, unless the request itself was wrong."""
        await self._tell(kwargs, lambda: None if _refused(kwargs) else {"error": True})

    async def _tell(self, kwargs: dict[str, Any], outcome: Callable[[], Mapping[str, Any] | None]) -> None:
        try:
            found = _marked(kwargs)
            if found is None:
                return
            mark, deployment = found
            if deployment != mark["arm"]:
                return  # another callback has chosen
            game = self._games[mark["game"]].result(timeout=0)
            seen = outcome()
            if seen is None:
                return
            if "error" not in seen:
                lacking = [name for name in game.measures if name not in seen]
                if lacking:
                    LOG.warning("%s of a request to %r is not known; nothing is learnt from it", lacking[0], deployment)
                    return
                seen = {name: seen[name] for name in game.measures}
            await game.router.atell(mark["decision"], deadline=TELLING, **seen)
        except InvalidParameter as error:  # its scale was changed
            self._games.pop(mark["game"], None)
            LOG.warning("a loss of model group %r was refused: %s", mark["game"], error)
        except Exception as error:
            LOG.warning("a loss was not reported: %s", error)


class _Game:
    """A game that is open, and what was seen of it."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self.measures = () if router.scale is None else tuple(router.scale.measures)
        self.look()

    def look(self) -> None:
        """See the arms there are, and those that are not retired."""
        self.playing = {str(arm) for arm in self.router.policy.arms or ()}
        self.known = {str(arm) for arm in self.router.executor.setup.names}

    def add(self, arms: Sequence[str]) -> None:
        """Add deployments that are new."""
        self.router.change(add_arms=arms, reason="new deployments at LiteLLM")
        self.look()


def _metadata(request: Mapping[str, Any]) -> dict[str, Any]:
    return {**(request.get("litellm_metadata") or {}), **(request.get("metadata") or {})}


def _id_of(deployment: Any) -> str | None:
    """Return a deployment's id, if it has one."""
    info = deployment.get("model_info") if isinstance(deployment, dict) else None
    found = info.get("id") if isinstance(info, dict) else None
    return None if found is None else str(found)


def _marked(kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Return the note that `async_filter_deployments` left in a request, and the deployment used."""
    given = kwargs.get("litellm_params") or {}
    for place in ("litellm_metadata", "metadata"):
        mark = (given.get(place) or {}).get(MARK)
        if isinstance(mark, dict):
            return mark, str((given.get("model_info") or {}).get("id"))
    return None


def _refused(kwargs: Mapping[str, Any]) -> bool:
    return getattr(kwargs.get("exception"), "status_code", None) in REFUSED


def conversation_of(messages: Any, request: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Return the key of a request's conversation, and whether the conversation begins with this request.

    The key is a hash of the session id; where there is none, of the messages up to the first of the user, without cache
    marks. Two callers never share one. The beginning shows in the messages only.
    """
    metadata = _metadata(request)
    session = None
    if not metadata.get("litellm_session_id_generated"):  # one that is new in each request says nothing
        session = metadata.get("session_id") or request.get("litellm_session_id")
    opening: Any = session
    begins = False
    if session is None:
        found = [one for one in messages or () if isinstance(one, Mapping)]
        users = [number for number, one in enumerate(found) if one.get("role") == "user"]
        if not users:
            return None, False
        opening = _without_marks(found[: users[0] + 1])
        begins = not any(one.get("role") == "assistant" for one in found)
    owner = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
    text = json.dumps([owner, opening], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32], begins


def _without_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [_without_marks(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def measured(kwargs: Mapping[str, Any], response: Any, start: datetime, end: datetime) -> dict[str, float]:
    """Return the measures of a request that was answered: those that are known."""
    found = {"latency": (end - start).total_seconds()}
    first = kwargs.get("completion_start_time")
    if isinstance(first, datetime):
        found["first_token"] = (first - start).total_seconds()
    usage = _part(response, "usage")
    prompt, written = (_part(usage, name) or 0 for name in ("prompt_tokens", "completion_tokens"))
    price = kwargs.get("response_cost")
    if price is not None:
        found["price"] = float(price)
        if prompt + written:
            found["price_per_1k"] = 1000.0 * float(price) / (prompt + written)
    if prompt:
        cached = _part(_part(usage, "prompt_tokens_details"), "cached_tokens")
        cached = _part(usage, "cache_read_input_tokens") if cached is None else cached
        found["uncached"] = 1.0 - min(max((cached or 0) / prompt, 0.0), 1.0)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


routing = HoldfastRouting(
    os.environ.get("HOLDFAST_URL", "sqlite:///holdfast.db"), token=os.environ.get("HOLDFAST_TOKEN")
)
"""The callback of a proxy whose configuration names ``holdfast.adapters.litellm.routing``."""
