"""Open a game in a store: begin it, or continue it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from holdfast.checks import real_number
from holdfast.decisions.changes import check_same_class, difference, wish
from holdfast.decisions.codec import first_head, new_game, setup_of, state_text
from holdfast.decisions.executor import Executor, with_retries
from holdfast.decisions.ids import checked_name
from holdfast.decisions.models import Game
from holdfast.decisions.router import Router, checked_time
from holdfast.decisions.settings import Settings, given_settings
from holdfast.decisions.setup import ArmSums, State
from holdfast.decisions.stores import Store, store_at
from holdfast.decisions.stores.sql import Fresh
from holdfast.errors import InvalidParameter, UnknownPlayer
from holdfast.players.game import Game as Learner
from holdfast.policies.policy import Policy


def open(
    url: str | Store,
    name: str,
    policy: Policy | None = None,
    *,
    seed: object = None,
    patience: timedelta | int | str | None = None,
    missing: str | float | None = None,
    remember: int | None = None,
    key_life: timedelta | None = None,
    change_switching_cost: float | None = None,
    add_arms: Iterable[str] = (),
    retire_arms: Iterable[str] = (),
    clock: Callable[[], float] = time.time,
    retry: float = 30.0,
    timeout: float = 60.0,
) -> Router:
    """The game called `name` in the store at `url`: begun with `policy` if there is none yet, else continued.

    Parameters
    ----------
    url
        ``memory:`` (gone with this process), ``sqlite:///file``, ``postgresql://…``, or a store.
    name
        1 to 200 printable characters.
    policy
        What to play. It may be left out where the game exists; if given, it must be what the game plays.
    seed
        Of a game that begins: as in `Policy.player`.
    patience
        How long to wait for losses after the last round of a block was handed out: a timedelta, so many further
        rounds, ``"auto"`` (the default: three times as many rounds as losses were late on average, 50 at least) or
        ``"forever"``. Policies that wait for their losses take a timedelta; else they wait for ever.
    missing
        What stands for a loss that did not come in time: ``"mean"`` (the default: of the block's losses; where there
        are none, of the arm's so far, else the middle of the range), a fixed loss, or ``"drop"`` (the rounds are
        ignored).
    remember
        Rounds of settled blocks whose losses are kept one by one, to tell a repeated loss from a new one: 100,000.
    key_life
        How long a conversation (`Router.ask` with a key) may be idle before it has ended: an hour.
    change_switching_cost, add_arms, retire_arms
        Continue with these changes, as `Router.change` does. A policy that is given must be the one after them.
    clock
        Seconds since 1970.
    retry
        Seconds during which a lost connection is tried again.
    timeout
        Seconds that a call waits for others who use the same game, file or connections.

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
    checked_name("name", name)
    store = url if isinstance(url, Store) else store_at(url)
    patient, wait = real_number("retry", retry, least=0), real_number("timeout", timeout, least=0)
    settings, now = given_settings(patience, missing, remember, key_life), checked_time(clock)
    fresh = state = None
    if policy is not None:
        learner = Learner(policy, seed)
        fresh, state = fresh_game(name, policy, Settings().changed(policy, settings), learner, now)
    game = with_retries(lambda: _found(store, name, fresh, time.monotonic() + wait), patient)
    if policy is not None:
        check_same_class(game, policy)
    executor = Executor(store, setup_of(game, policy), policy, patient, wait)
    if fresh is not None and state is not None and game.uid == fresh.game.uid:
        executor.keep_state(fresh.head.state_version, state)
    router = Router(executor, clock)
    wanted = wish(change_switching_cost, add_arms, retire_arms, policy=policy, compared=settings)
    if wanted.changes_something:
        router.apply(wanted)
    else:
        other = difference(executor.setup, policy, settings)
        if other is not None:
            raise other
    return router


def _found(store: Store, name: str, fresh: Fresh | None, deadline: float) -> Game:
    """The game of this name, begun if need be."""
    game = store.find(name, deadline)
    if game is None:
        if fresh is None:
            raise UnknownPlayer(name, store.names(deadline))
        game = store.create([fresh], deadline)[0]
    return game


def fresh_game(name: str, policy: Policy, settings: Settings, learner: Learner, now: float) -> tuple[Fresh, State]:
    """All rows of a game that begins, and what they say it has learnt.

    Parameters
    ----------
    name
        The game's name.
    policy
        What it plays.
    settings
        How it waits for losses.
    learner
        The policy's numbers and stream.
    now
        When it begins.
    """
    game = new_game(name, policy, settings, now, secrets.token_hex(6), secrets.token_hex(16))
    state = State(learner, [ArmSums() for _ in range(policy.n_arms)])
    return Fresh(game, first_head(game, now), state_text(setup_of(game, policy), state)), state
