"""OpenFeature's remote evaluation (OFREP): a game is a flag, an arm a variant, a targeting key a conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from holdfast.decisions.game import Setup
from holdfast.decisions.models import Decision
from holdfast.decisions.requests import Ask
from holdfast.decisions.rules import View
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import HoldfastError, InvalidParameter, UnknownGame
from holdfast.service.access import Token
from holdfast.service.games import Game, only_seen
from holdfast.service.operations import JSON, answer, body_of, idempotency_key, operation, problem_of

if TYPE_CHECKING:
    from holdfast.service.app import Service

MOST_FLAGS = 1000
"""Games in one answer of all flags."""
VALUES = {"true": True, "false": False}
"""Arms that are flags of on and off."""


class Context(Struct):
    """An application's words about itself; all but the targeting key is ignored."""

    targetingKey: str | None = None  # noqa: N815  # as the protocol has it


class Evaluate(Struct):
    """The body of an evaluation."""

    context: Context = field(default_factory=Context)


class Evaluation(Struct):
    """A flag's value; the metadata have the decision's id, to tell its loss by."""

    key: str
    value: bool | int | str
    variant: str
    reason: str
    metadata: dict[str, Any]


class Evaluations(Struct):
    """The flags of all games."""

    flags: list[Evaluation]


def _flag(name: str, arm: int | str, reason: str, metadata: dict[str, Any]) -> Evaluation:
    value = VALUES.get(arm, arm) if isinstance(arm, str) else arm
    return Evaluation(name, value, str(arm), reason, metadata)


def _evaluated(view: View, given: list[Decision]) -> Evaluation:
    """Return a decision as the value of a flag."""
    (one,) = given
    metadata = {"decision": one.id, "probability": one.probability, "block": one.block, "asked": one.asked}
    return _flag(view.setup.game.name, one.arm, "SPLIT", metadata)


@operation(
    "POST",
    "/ofrep/v1/evaluate/flags/{name}",
    "decide",
    body=Evaluate,
    gives=Evaluation,
    headers=("Idempotency-Key",),
)
async def evaluate_flag(service: Service, request: Request, client: Token) -> Response:
    """OpenFeature: the next decision of a game as the value of a flag."""
    name = request.path_params["name"]
    try:
        body = await body_of(service, request, Evaluate, may_be_empty=True)
        asked = Ask(key=body.context.targetingKey or None, request=idempotency_key(request))

        def ask(game: Game) -> Awaitable[Any]:
            return game.make(asked, _evaluated)

        return answer(await service.games.with_game(name, ask))
    except HoldfastError as error:
        if error.status >= 500:
            service.complain(error)
        return _refusal(name, error, client)


def _refusal(name: str, error: HoldfastError, client: Token) -> Response:
    """Return a refusal as the protocol has it; the fields of other refusals are there too."""
    if isinstance(error, UnknownGame):
        code, status, error = "FLAG_NOT_FOUND", 404, only_seen(error, client.sees)
    elif isinstance(error, InvalidParameter):
        code, status = "INVALID_CONTEXT", 400
    else:
        code, status = ("PARSE_ERROR", 400) if error.status in (400, 415, 422) else ("GENERAL", error.status)
    content = {**problem_of(error), "status": status, "key": name, "errorCode": code}
    headers = {"retry-after": "1"} if status == 503 else {}
    sent = JSON.encode({**content, "errorDetails": content["detail"]})
    return Response(sent, status, headers, "application/problem+json")


@operation("POST", "/ofrep/v1/evaluate/flags", "read", body=Evaluate, gives=Evaluations, statuses=(200, 304))
async def evaluate_flags(service: Service, request: Request, client: Token) -> Response:
    """OpenFeature: the arm that each game holds, or that the conversation has; nothing is recorded."""
    body = await body_of(service, request, Evaluate, may_be_empty=True)
    names = [name for name in await service.games.names() if client.sees(name)][:MOST_FLAGS]
    look = partial(_held, key=body.context.targetingKey)
    found = []
    for name in names:
        try:
            one = await service.games.look(name, look)
        except HoldfastError:  # one that cannot be read is left out, and applications have their default
            continue
        found += [] if one is None else [one]
    content = JSON.encode(Evaluations(found))
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    return Response(content, media_type="application/json", headers={"etag": tag})


def _held(transaction: Transaction, setup: Setup, key: str | None) -> Evaluation | None:
    """Return the arm held as a flag; None before the first decision."""
    open_ones = transaction.blocks("key", key) if key else []
    arm = open_ones[0].arm if open_ones else transaction.head.arm
    return None if arm < 0 else _flag(setup.game.name, setup.name_of(arm), "CACHED", {})
