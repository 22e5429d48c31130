"""The operations under /v1: handlers with their request and answer types. The OpenAPI document is made from this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from holdfast.checks import one_of
from holdfast.decisions import Router
from holdfast.decisions.game import UNRECORDED, Setup
from holdfast.decisions.history import Totals, changes_of, totals_of
from holdfast.decisions.holdout import Judgement, Saving
from holdfast.decisions.models import Block, Decision
from holdfast.decisions.options import checked_name, written_time
from holdfast.decisions.requests import Ask, Change, Observe, SetAvailability, Tell
from holdfast.decisions.rules import View
from holdfast.decisions.settings import SETTINGS
from holdfast.decisions.status import FIRST, DecisionRecord, open_decisions_of, record_of, why_drawn, why_out
from holdfast.decisions.stores.sql import Transaction
from holdfast.errors import HoldfastError, InvalidParameter, UnknownDecision
from holdfast.policies.policy import Policy
from holdfast.policies.registry import make_policy
from holdfast.service import ofrep as ofrep, views  # each registers its operations
from holdfast.service.access import Token
from holdfast.service.exports import Export, exported, whole_log
from holdfast.service.games import Game
from holdfast.service.messages import (
    AskBody,
    BlockList,
    BlockView,
    ChangeList,
    Changes,
    ChangeView,
    CompactBody,
    Comparison,
    Decided,
    DecisionList,
    DecisionView,
    Ended,
    GameLine,
    GameList,
    GameView,
    Hold,
    Judged,
    Losses,
    LossIn,
    NewGame,
    ObserveBody,
    ReceiptView,
    Removed,
    Settled,
    Status,
    Verdict,
    Verdicts,
)
from holdfast.service.operations import (
    JSON,
    OPERATIONS as OPERATIONS,
    Refused,
    answer,
    body_of,
    document,
    idempotency_key,
    number_in,
    operation,
    page_of,
    problem_of,
)

if TYPE_CHECKING:
    from holdfast.service.app import Service

T = TypeVar("T")

MOST_ARMS = 1000
"""Most arms of a game that a server begins or changes."""
IN_ONE_TURN = 100
"""Losses that are read or answered in one turn of the event loop."""
PAGE = 100
"""Default number of games or blocks in one answer."""
MOST_ON_PAGE = 1000
IN_PAGES = (("cursor", "integer", False), ("limit", "integer", False))
"""Query of blocks and changes: a limit, and a cursor."""
DID = {"pause": "paused", "resume": "resumed", "pin": "pinned", "unpin": "unpinned", "change": "changed"}
"""Words of the audit log for a change."""
EVENT_SECONDS, HEARTBEAT = 1.0, 15.0
"""Seconds between checks for a game's events, and between heartbeats."""


def _settings(body: Any) -> dict[str, Any]:
    """Return the settings of a game that a body gives."""
    return {name: value for name in SETTINGS if (value := getattr(body, name)) is not None}


def policy_from(body: NewGame, allow: Sequence[str]) -> Policy:
    """Return the policy described by a request: Holdfast's own, or one that the server allows."""
    given = {"arms": body.arms, "switching_cost": body.switching_cost, "units": body.units}
    _check_count("arms", body.arms)
    _check_count("n_arms", body.parameters.get("n_arms"))
    settings = {name: value for name, value in given.items() if value is not None}
    if isinstance(settings.get("units"), list):
        settings["units"] = tuple(settings["units"])
    parameters = {name: tuple(v) if isinstance(v, list) else v for name, v in body.parameters.items()}
    return make_policy({**parameters, **settings, "policy": body.policy}, allow)


def _check_count(parameter: str, arms: Any, before: int = 0) -> None:
    """Refuse more arms than the pages of a server can show in time."""
    count = len(arms) if isinstance(arms, (list, tuple)) else arms if isinstance(arms, int) else 0
    if count + before > MOST_ARMS:
        rule = f"must be at most {MOST_ARMS:,} arms at a server: `holdfast.open` with the store's URL has no limit"
        raise InvalidParameter(parameter, rule, count + before)


async def _page(
    service: Service, request: Request, read: Callable[..., list[T]], place: Callable[[T], Any]
) -> tuple[list[T], Any]:
    """Return the rows of a game that a request asks for, and the cursor of the next; `read` takes their number."""
    limit = number_in(request, "limit", PAGE, MOST_ON_PAGE)
    found = await service.games.look(request.path_params["name"], partial(read, most=limit + 1))
    return page_of(found, limit, place)


# ---- games


@operation("GET", "/v1/games", "read", gives=GameList, query=(("after", "string", False), ("limit", "integer", False)))
async def list_games(service: Service, request: Request, client: Token) -> Response:
    """List the games."""
    after, limit = request.query_params.get("after", ""), number_in(request, "limit", PAGE, MOST_ON_PAGE)
    names = [name for name in await service.games.names() if name > after and client.sees(name)]
    shown, following = page_of(names, limit, str)
    return answer(GameList([await service.line(name) for name in shown], following))


@operation("PUT", "/v1/games/{name}", "decide", body=NewGame, gives=GameView, statuses=(200, 201))
async def put_game(service: Service, request: Request, client: Token) -> Response:
    """Begin a game, which needs the role `admin`; again, it changes nothing, unless its `settings` are to count."""
    name, body = request.path_params["name"], await body_of(service, request, NewGame)
    policy = policy_from(body, service.games.allow)
    options = _settings(body)

    def begin() -> bool:
        checked_name("name", name)
        if client.role != "admin" and service.games.store.find(name) is None:
            raise Refused(403, "to begin a game needs the role 'admin'")
        if client.role != "admin" and body.settings == "code":
            raise Refused(403, "to change a game needs the role 'admin'")
        return service.games.begin(name, policy, seed=body.seed, settings=body.settings, **options).executor.began

    new = await service.games.thread(begin)
    if new:
        service.audit(client, "began", name)
    return answer(await service.see(name, views.game_view), 201 if new else 200)


@operation("GET", "/v1/games/{name}", "read", gives=GameView)
async def get_game(service: Service, request: Request, client: Token) -> Response:
    """One game."""
    return answer(await service.see(request.path_params["name"], views.game_view))


@operation("PATCH", "/v1/games/{name}", "admin", body=Changes, gives=GameView)
async def patch_game(service: Service, request: Request, client: Token) -> Response:
    """Go on with other settings, from the next block on."""
    name, body = request.path_params["name"], await body_of(service, request, Changes)
    await change_game(service, client, name, body)
    return answer(await service.see(name, views.game_view))


async def change_game(service: Service, client: Token, name: str, body: Changes) -> None:
    """Change settings, and record who did."""
    reason = None if body.reason is None else checked_name("reason", body.reason)[:170]
    signed = " ".join(filter(None, [reason, f"(token {client.id})" if client.id else None])) or None
    kinds = {kind: getattr(body, kind) for kind in ("pause", "resume", "pin", "unpin")}
    stands = {kind: arm for kind, arm in kinds.items() if arm is not None}
    arms = {"switching_cost": body.switching_cost, "add_arms": body.add_arms, "retire_arms": body.retire_arms}
    settings = _settings(body)
    others = [what for what, value in {**arms, **settings}.items() if value not in (None, (), [])]
    others += [] if body.wanted is None else ["wanted"]
    if len(stands) > 1 or (stands and others):
        raise InvalidParameter(", ".join([*stands, *others]), "must be changed one after the other", None)
    if body.unpin not in (None, True):
        raise InvalidParameter("unpin", "must be true", body.unpin)
    until = written_time("until", body.until) if isinstance(body.until, str) else body.until
    if until is not None and not stands.keys() & {"pause", "pin"}:
        raise InvalidParameter("until", "must be given along with pause or pin", body.until)

    def change(router: Router) -> None:
        if not stands:
            _check_count("add_arms", body.add_arms, len(router.executor.setup.names) if body.add_arms else 0)
            compared = {} if body.wanted is None else _settings(body.wanted)
            policy = None
            if body.wanted is not None and body.wanted.policy is not None:
                policy = policy_from(body.wanted, service.games.allow)
            router.apply(Change(**arms, settings=settings, policy=policy, compared=compared, reason=signed))
            return
        ((kind, arm),) = stands.items()
        router.executor.execute(SetAvailability(kind, None if kind == "unpin" else arm, until, signed))

    await service.games.use(name, change)
    service.audit(client, DID[next(iter(stands), "change")], name, reason)


@operation("DELETE", "/v1/games/{name}", "admin", statuses=(204,), query=(("confirm", "string", True),))
async def delete_game(service: Service, request: Request, client: Token) -> Response:
    """Delete a game and all its rows; `confirm` repeats its name."""
    name, confirmed = request.path_params["name"], request.query_params.get("confirm")
    game = await service.games.game(name)
    if confirmed != name:
        raise InvalidParameter("confirm", "must repeat the name of the game, which is deleted permanently", confirmed)
    await service.games.thread(service.games.store.delete, game.router.executor.setup.game.id)
    service.deleted(name)
    service.audit(client, "deleted", name)
    return Response(status_code=204)


# ---- decisions and losses


def _decided(view: View, given: list[Decision]) -> tuple[Decided, int]:
    """Return decisions and the hold after them, read in their transaction so that the two agree.

    And in how many of them another arm plays than the one drawn.
    """
    head, setup, last = view.head, view.setup, given[-1]
    left, block = head.rounds - head.handed, view.blocks.get(last.block)
    if block is None and last.block == head.current:  # the head has all that is said, so that no row is read
        block = Block(head.current, None, head.arm, head.rounds, head.probability, 0.0, None, 0, "")
    elif block is None:
        block = view.block(last.block)
    said = why_drawn(setup, block, last.arm, left, len(setup.active))
    if head.breakers:
        said = " ".join([said, *why_out(head, setup)])
    read = [(one.arm, view.blocks[one.block]) for one in given if one.block in view.blocks]
    replaced = sum(not drew.forced and arm != setup.name_of(drew.arm) for arm, drew in read)
    return Decided(_shown(given), 0 if block.key is not None else left, said), replaced


def _shown(decisions: Sequence[Decision]) -> list[DecisionView]:
    return [DecisionView(*one) for one in decisions]


@operation("POST", "/v1/games/{name}/decisions", "decide", body=AskBody, gives=Decided, headers=("Idempotency-Key",))
async def post_decisions(service: Service, request: Request, client: Token) -> Response:
    """Ask for the next decision, or the next n."""
    name = request.path_params["name"]
    given = msgspec.structs.asdict(await body_of(service, request, AskBody, may_be_empty=True))
    given["request"] = idempotency_key(request) or given["request"]

    def ask(game: Game) -> Awaitable[Any]:
        asked = Ask(**{**given, "forecast": _by_arm(game.router, given["forecast"])})
        return game.make(asked, _decided)

    found, replaced = await service.games.with_game(name, ask)
    service.metrics.count("replaced_rounds", name, replaced)
    return answer(found)


@operation(
    "GET",
    "/v1/games/{name}/decisions",
    "read",
    gives=DecisionList,
    query=(("cursor", "string", False), ("limit", "integer", False)),
)
async def open_decisions(service: Service, request: Request, client: Token) -> Response:
    """Decisions without a loss, in order, after a cursor."""
    cursor = request.query_params.get("cursor")

    def read(transaction: Transaction, setup: Setup, most: int) -> list[Decision]:
        after = FIRST if cursor is None else setup.ids.parse(cursor)
        return open_decisions_of(transaction, setup, after, most)

    found, following = await _page(service, request, read, lambda one: one.id)
    return answer(DecisionList(_shown(found), following))


@operation("GET", "/v1/games/{name}/decisions/{id}", "read", gives=DecisionRecord)
async def get_decision(service: Service, request: Request, client: Token) -> Response:
    """One decision followed: who asked, why this arm, what it lost and when, what was learnt."""
    look = partial(record_of, id=request.path_params["id"])
    return answer(await service.games.look(request.path_params["name"], look))


async def _tell(service: Service, name: str, pairs: list[tuple[Any, Any]]) -> list[Any]:
    async def tell(game: Game) -> list[Any]:
        reports: list[Any] = []
        places: list[tuple[int, int]] = []
        async for some in in_turns(pairs):
            part = game.router.telling([(id, _by_arm(game.router, value, "losses")) for id, value in some])
            reports += part.reports
            places += part.places
        return await game.make(Tell(reports, places)) if places else reports

    found: list[Any] = await service.games.with_game(name, tell)
    refused = [one for one in found if isinstance(one, HoldfastError)]
    fallbacks = sum(isinstance(one, UnknownDecision) and one.id.startswith(UNRECORDED) for one in refused)
    service.metrics.count("fallback_losses", name, fallbacks)
    service.metrics.count("refused_losses", name, len(refused) - fallbacks)
    wrong = [one for one in found if isinstance(one, InvalidParameter)]
    if wrong:
        service.refused_losses(name, len(wrong), wrong[-1])
    return found


async def in_turns(values: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yield many values a few at a time, with turns of the event loop for other requests in between."""
    for first in range(0, len(values), IN_ONE_TURN):
        if first:
            await asyncio.sleep(0)
        yield values[first : first + IN_ONE_TURN]


@operation("PUT", "/v1/games/{name}/decisions/{id}/loss", "decide", body=LossIn, gives=ReceiptView)
async def put_loss(service: Service, request: Request, client: Token) -> Response:
    """Report the loss of a decision; repeating it changes nothing."""
    name, id = request.path_params["name"], request.path_params["id"]
    body = await body_of(service, request, LossIn)
    (verdict,) = await _tell(service, name, [(id, _outcome(body))])
    if isinstance(verdict, HoldfastError):
        raise verdict
    return answer(ReceiptView(*verdict))


@operation("POST", "/v1/games/{name}/losses", "decide", body=Losses, gives=Verdicts)
async def post_losses(service: Service, request: Request, client: Token) -> Response:
    """Report several losses, each judged by itself."""
    name, body = request.path_params["name"], await body_of(service, request, Losses)
    found = await _tell(service, name, [(one.pop("id", None), _outcome(one)) for one in body.losses])
    return answer(Verdicts([_verdict(one) async for some in in_turns(found) for one in some]))


def _outcome(given: dict[str, Any]) -> Any:
    """Return a plain loss, as most are, or measurements."""
    return given["loss"] if given.keys() == {"loss"} else given


def _verdict(found: Any) -> Verdict:
    if isinstance(found, HoldfastError):
        return Verdict(found.status, problem=problem_of(found))
    return Verdict(200, new=found.new, late=found.late)


def _by_arm(router: Router, given: Any, inner: str | None = None) -> Any:
    """Return values by arm as the library takes them: JSON has the numbers of unnamed arms as text."""
    if not isinstance(given, dict) or router.policy.arms is not None:
        return given
    if inner is not None:
        return {**given, inner: _by_arm(router, given[inner])} if inner in given else given
    return {int(arm) if arm.isdecimal() and len(arm) < 10 else arm: value for arm, value in given.items()}


@operation(
    "POST", "/v1/games/{name}/observations", "decide", body=ObserveBody, gives=Status, headers=("Idempotency-Key",)
)
async def observe(service: Service, request: Request, client: Token) -> Response:
    """Report the losses of all arms in a round without a decision."""
    name = request.path_params["name"]
    given = msgspec.structs.asdict(await body_of(service, request, ObserveBody))
    given["request"] = idempotency_key(request) or given["request"]
    if isinstance(given["at"], str):
        given["at"] = written_time("at", given["at"])

    def observe(game: Game) -> Awaitable[Any]:
        return game.make(Observe(**{**given, "losses": _by_arm(game.router, given["losses"])}))

    await service.games.with_game(name, observe)
    return answer(Status("ok"))


@operation("POST", "/v1/games/{name}/keys/{key}/end", "decide", gives=Ended)
async def end_key(service: Service, request: Request, client: Token) -> Response:
    """End a conversation."""
    name, key = request.path_params["name"], request.path_params["key"]
    return answer(Ended(await service.games.use(name, lambda router: router.end(key))))


@operation("POST", "/v1/games/{name}/settle", "decide", gives=Settled)
async def settle(service: Service, request: Request, client: Token) -> Response:
    """Settle what is due."""
    return answer(Settled(await service.games.use(request.path_params["name"], Router.settle)))


@operation("POST", "/v1/games/{name}/compact", "admin", body=CompactBody, gives=Removed)
async def compact(service: Service, request: Request, client: Token) -> Response:
    """Remove the rows of settled blocks but the last, and give back their room; totals stay."""
    name, body = request.path_params["name"], await body_of(service, request, CompactBody)
    removed = await service.games.use(name, lambda router: router.history.compact(body.keep))
    service.audit(client, "compacted", name)
    return answer(Removed(removed))


# ---- reading


@operation("GET", "/v1/games/{name}/hold", "read", gives=Hold)
async def get_hold(service: Service, request: Request, client: Token) -> Response:
    """The arm held, and for how many rounds."""
    return answer(await service.see(request.path_params["name"], views.hold))


@operation("GET", "/v1/games/{name}/blocks", "read", gives=BlockList, query=IN_PAGES)
async def get_blocks(service: Service, request: Request, client: Token) -> Response:
    """Blocks in order, after a cursor."""
    cursor = number_in(request, "cursor", 0, 2**53)

    def read(transaction: Transaction, setup: Setup, most: int) -> list[BlockView]:
        return [views.block_view(block, setup) for block in transaction.blocks("after", cursor, most)]

    return answer(BlockList(*await _page(service, request, read, lambda one: one.number)))


@operation("GET", "/v1/games/{name}/summary", "read", gives=Totals)
async def get_summary(service: Service, request: Request, client: Token) -> Response:
    """Running totals."""
    return answer(await service.games.look(request.path_params["name"], totals_of))


@operation("GET", "/v1/games/{name}/compare", "read", gives=Comparison, query=(("confidence", "number", False),))
async def compare(service: Service, request: Request, client: Token) -> Response:
    """Compare the policy with the rule held back: its savings."""
    return answer((await compared(service, request.path_params["name"], _confidence(request))).to_json())


def _confidence(request: Request) -> Any:
    text = request.query_params.get("confidence", "0.95")
    try:
        return float(text)
    except ValueError:
        return text


async def compared(service: Service, name: str, confidence: Any) -> Saving:
    """Compare the policy with the operator's rule."""
    return await service.slow.run((await service.games.game(name)).router.history.compare, confidence)


JUDGED_BY = (("arm", "string", True), ("against", "string", True), ("confidence", "number", False))


@operation("GET", "/v1/games/{name}/judge", "read", gives=Judged, query=JUDGED_BY)
async def judge(service: Service, request: Request, client: Token) -> Response:
    """Judge whether an arm is better than another, by the blocks begun under shares."""
    return answer((await judged(service, request)).to_json())


async def judged(service: Service, request: Request) -> Judgement:
    """Return the judgement that a request asks for."""
    game, given = await service.games.game(request.path_params["name"]), request.query_params
    known = {str(name): name for name in game.router.executor.setup.names}
    one, other = (known.get(name, name) for name in (given.get("arm", ""), given.get("against", "")))
    return await service.slow.run(game.router.history.judge, one, other, _confidence(request))


@operation("GET", "/v1/games/{name}/changes", "read", gives=ChangeList, query=IN_PAGES)
async def get_changes(service: Service, request: Request, client: Token) -> Response:
    """Settings that were changed, in order, after a cursor."""
    return answer(await changes_on_page(service, request))


async def changes_on_page(service: Service, request: Request) -> ChangeList:
    """Return the changes that a request asks for."""
    cursor = number_in(request, "cursor", 0, 2**53)

    def read(transaction: Transaction, setup: Setup, most: int) -> list[tuple[int, dict[str, Any]]]:
        return changes_of(transaction, cursor, most)

    found, following = await _page(service, request, read, lambda one: one[0])
    return ChangeList([ChangeView(**change) for _, change in found], following)


MEDIA = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}


@operation(
    "GET",
    "/v1/games/{name}/export",
    "read",
    gives=", ".join(MEDIA.values()),
    query=(("format", "string", False), ("what", "string", False)),
)
async def export(service: Service, request: Request, client: Token) -> Response:
    """The log, one row per round; or the record of all arms' losses, where they were reported."""
    kind = one_of("format", request.query_params.get("format", "csv"), MEDIA)
    what = one_of("what", request.query_params.get("what", "log"), ("log", "record", "days"))
    game = await service.games.game(request.path_params["name"])
    await service.games.thread(game.router.executor.read, lambda transaction, setup: None)
    headers = {"content-disposition": f'attachment; filename="{what}.{kind}"'}
    if request.method == "HEAD":
        return Response(media_type=MEDIA[kind], headers=headers)
    service.slow.begin()
    return Export(service.slow, exported(game.router.history, what, kind), media_type=MEDIA[kind], headers=headers)


@operation("GET", "/v1/games/{name}/events", "read", gives="text/event-stream")
async def events(service: Service, request: Request, client: Token) -> Response:
    """Stream the state of a game whenever it changes."""
    name = request.path_params["name"]
    first = await service.standing(name)

    async def send() -> AsyncIterator[bytes]:
        sent, quiet, now = None, 0.0, first
        while not service.stopping:
            if now != sent:  # also without a call: a pause is over
                sent, quiet = now, 0.0
                yield b"id: %d\ndata: %b\n\n" % (now["revision"], JSON.encode(now))
            elif quiet >= HEARTBEAT:
                quiet = 0.0
                yield b": still here\n\n"
            await asyncio.sleep(EVENT_SECONDS)
            quiet += EVENT_SECONDS
            if not service.access.knows(client):
                return
            try:
                now = await service.standing(name)
            except HoldfastError:  # deleted, or the store is away: the client connects again
                return

    return StreamingResponse(send(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


@operation("GET", "/v1/games/{name}/replay", "read", gives=dict[str, Any], query=(("switching_cost", "number", True),))
async def replay(service: Service, request: Request, client: Token) -> Response:
    """Estimate from the log the cost of holding each arm at another λ."""
    text = request.query_params.get("switching_cost")
    try:
        cost = float(text or "")
    except ValueError:
        raise InvalidParameter("switching_cost", "must be a number of at least 0", text) from None
    return answer(await replayed(service, request.path_params["name"], cost))


async def replayed(service: Service, name: str, switching_cost: float) -> dict[str, Any]:
    """Return the cost paid, and the estimated cost of holding each arm."""

    def read(router: Router) -> dict[str, Any]:
        from holdfast.replays.logged import evaluate_log

        columns = {column: column for column in ("arm", "loss", "probability", "block", "time")}
        found = evaluate_log(whole_log(router.history), columns, [switching_cost])
        (used,) = found.switching_costs  # 0 between conversations
        return {"switching_cost": used, "paid": found.logged_cost(used), **found.plain()}

    return await service.slow.run(read, (await service.games.game(name)).router)


# ---- the server itself


@operation("GET", "/healthz", None, gives=Status)
async def healthz(service: Service, request: Request, client: Token) -> Response:
    """Say that the server answers."""
    return answer(Status("ok"))


@operation("GET", "/readyz", None, gives=Status)
async def readyz(service: Service, request: Request, client: Token) -> Response:
    """Say whether the store can be written."""
    if service.stopping:
        raise Refused(503, "the server is stopping")
    await service.games.check_writing()
    return answer(Status("ok"))


@operation("GET", "/metrics", "read", gives="text/plain")
async def metrics(service: Service, request: Request, client: Token) -> Response:
    """For Prometheus."""
    service.metrics.waiting.set(sum(game.waiting for game in service.games.opened.values()))
    names = [name for name in await service.games.names() if client.sees(name)]
    lines: list[GameLine] = [await service.line(name) for name in names]
    text = service.metrics.text(lines, service.clock())
    return Response(text, media_type="text/plain; version=0.0.4")


@operation("GET", "/openapi.json", None, gives=dict[str, Any])
async def openapi(service: Service, request: Request, client: Token) -> Response:
    """This document."""
    return answer(document(service.root))
