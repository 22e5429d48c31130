"""Begin a game in a store, or go on with it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from holdfast.checks import real_number
from holdfast.decisions.book import Book
from holdfast.decisions.changes import Change, differences, same_kind
from holdfast.decisions.names import kept_arm, kept_name
from holdfast.decisions.options import Options, given_options
from holdfast.decisions.router import Router
from holdfast.decisions.rows import FIRST_VERSION, NOTHING, Arm, Fresh, Head, Identity, State
from holdfast.decisions.stored import state_of
from holdfast.decisions.stores import store_at
from holdfast.decisions.stores.store import Store, persistently
from holdfast.errors import InvalidParameter, UnknownPlayer
from holdfast.players.document import described
from holdfast.players.game import Game
from holdfast.policies.policy import Policy


def open(
    url: str | Store,
    name: str,
    policy: Policy | None = None,
    *,
    seed: object = None,
    patience: timedelta | int | None = None,
    missing: str | float | None = None,
    remember: int | None = None,
    change_switching_cost: float | None = None,
    add_arms: Iterable[str] = (),
    retire_arms: Iterable[str] = (),
    clock: Callable[[], float] = time.time,
    retry: float = 30.0,
) -> Router:
    """The game called `name` in the store at `url`: begun with `policy` if there is none yet, else gone on with.

    Parameters
    ----------
    url
        ``memory:`` (gone with this process), ``sqlite:///file``, ``postgresql://…``, or a store.
    policy
        What to play. It may be left out where the game is there; if given, it must be what the game plays.
    seed
        Of a game that begins: as in `Policy.player`.
    patience
        How long to wait for losses after the last round of a block was handed out: a timedelta, or so many further
        rounds. Without it, for ever.
    missing
        What stands for a loss that did not come in time: ``"mean"`` (the default: of the block's losses; where there
        are none, of the arm's so far, else the middle of the range), a fixed loss, or ``"drop"`` (the rounds are left
        out).
    remember
        Rounds of settled blocks whose losses are kept one by one, to tell a repeated loss from a new one: 100,000.
    change_switching_cost, add_arms, retire_arms
        Go on with these changes, as `Router.change` does. A policy that is given must be the one after them.
    clock
        Seconds since 1970.
    retry
        Seconds during which a lost connection is tried again.

    >>> import holdfast as hf
    >>> router = hf.open("memory:", "chat", hf.TsallisSwitch(arms=["a", "b"], switching_cost=0.3), seed=1)
    >>> decision = router.ask()
    >>> router.tell(decision.id, loss=0.12).new
    True
    >>> router.tell(decision.id, loss=0.12).new
    False
    """
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidParameter("policy", "must be a policy such as holdfast.Exp3(8)", policy)
    if policy is not None and policy.sees == "all":
        rule = "must see the loss of its own arm alone to play in a store; use policy.player() with save and load"
        raise InvalidParameter("policy", rule, policy)
    kept_name("name", name)
    store = url if isinstance(url, Store) else store_at(url)
    patient = real_number("retry", retry, least=0)
    options = given_options(patience, missing, remember)
    fresh = game = None
    if policy is not None:
        now, game = real_number("clock", clock()), Game(policy, seed)
        fresh = fresh_game(name, policy, Options().changed(policy, options), game, now)
    book = persistently(lambda again: _book(store, name, policy, fresh), patient)
    if fresh is not None and game is not None and book.identity.uid == fresh.identity.uid:
        book.has_begun(game)
    router = Router(store, book, clock=clock, retry=patient)
    change = Change.of(change_switching_cost, add_arms, retire_arms, {})
    if change != Change.of(None, (), (), {}):
        router.go_on_with(change, lambda: differences(book, policy, options))
    else:
        differences(book, policy, options)
    return router


def _book(store: Store, name: str, policy: Policy | None, fresh: Fresh | None) -> Book:
    """The game of this name, begun if need be."""
    identity = store.find(name)
    if identity is None:
        if fresh is None:
            raise UnknownPlayer(name, store.names())
        identity = store.create([fresh])[0]
    if policy is not None:
        same_kind(identity, policy)
    with store.look(identity.player) as rows:
        return Book(identity, rows.arms(), policy)


def fresh_game(name: str, policy: Policy, options: Options, game: Game, now: float) -> Fresh:
    """All rows of a game that begins."""
    names = range(policy.n_arms) if policy.arms is None else policy.arms
    edition = 1 + secrets.randbelow(2**40)
    return Fresh(
        Identity(
            player=0,
            name=name,
            uid=secrets.token_hex(6),
            secret=secrets.token_hex(16),
            made=now,
            policy=json.dumps(described(policy)),
            options=options.as_json(),
            edition=edition,
        ),
        Head(
            player=0,
            edition=edition,
            version=FIRST_VERSION,
            begun=0,
            arm=-1,
            rounds=0,
            handed=0,
            asked=0,
            switches=0,
            paid=NOTHING,
            settled=0,
            forgotten=0,
            kept=0,
            removed=0,
            clock=now,
            next_due=None,
        ),
        State(player=0, version=FIRST_VERSION, data=state_of(game)),
        tuple(
            Arm(0, i, kept_arm("arms", name) if isinstance(name, str) else None, 0, 0, 0, 0, NOTHING, None)
            for i, name in enumerate(names)
        ),
    )
