"""Open a game in a store: begin it, or continue it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

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
from holdfast.errors import InvalidParameter, UnknownGame
from holdfast.players.game import Game as Learner
from holdfast.policies.policy import Policy
from holdfast.scales import Scale


def open(
    url: str | Store,
    name: str,
    policy: Policy | None = None,
    *,
    seed: object = None,
    patience: timedelta | int | str | None = None,
    missing: str | float | None = None,
    remember: int | None = None,
    scale: Scale | None = None,
    key_life: timedelta | None = None,
    learn_after: int | None = None,
    holdback: float | None = None,
    shadow: bool | None = None,
    change_switching_cost: float | None = None,
    add_arms: Iterable[str] = (),
    retire_arms: Iterable[str] = (),
    clock: Callable[[], float] = time.time,
    retry: float = 30.0,
    timeout: float = 60.0,
    token: str | None = None,
    local: bool = False,
    allow: Iterable[str | type[Policy]] = (),
) -> Router:
    """The game called `name` in the store at `url`: begun with `policy` if there is none yet, else continued.

    Parameters
    ----------
    url
        ``memory:`` (gone with this process), ``sqlite:///file``, ``postgresql://…``, a store, or ``http://host:port``
        of a `holdfast serve`: its clock counts then, and `change_switching_cost` and its like are `Router.change`.
    name
        1 to 200 printable characters.
    policy
        What to play. It may be left out where the game exists; if given, it must be what the game plays.
    seed
        Of a game that begins: as in `Policy.player`.
    patience
        How long to wait for losses after the call that handed out the last round of a block: a timedelta, so many
        further rounds, ``"auto"`` (the default: three times as many rounds as losses are late on average or as are
        asked for at once, 50 at least) or ``"forever"``. Policies that wait for their losses take a timedelta; else
        they wait for ever.
    missing
        What stands for a loss that did not come in time: ``"mean"`` (the default: of the block's losses; where there
        are none, of the arm's so far, else the middle of the range), a fixed loss, or ``"drop"`` (the rounds are
        ignored).
    remember
        Rounds of settled blocks whose losses are kept one by one, to tell a repeated loss from a new one: 100,000.
    scale
        How latency, price and the like become a loss, so that they can be reported as they were measured:
        ``router.tell(id, latency=1.3, price=0.004)``.
    key_life
        How long a conversation (`Router.ask` with a key) may be idle before it has ended: an hour.
    learn_after
        Rounds after which a conversation that goes on is learnt from, once their losses are in; by default when it has
        ended. It is then judged by these rounds alone, and heard of earlier.
    holdback
        The share of blocks and conversations that are left to your own rule, such as 0.1, so that the two can be
        compared (`History.compare`). Say what it chooses in each ``ask(rule=arm)``. Nothing is learnt from these.
    shadow
        True: your rule decides all, and what the policy would draw is recorded. It learns only if it
        sees the losses of all arms.
    change_switching_cost, add_arms, retire_arms
        Continue with these changes, as `Router.change` does. A policy that is given must be the one after them.
    clock
        Seconds since 1970.
    retry
        Seconds during which a lost connection is tried again.
    timeout
        Seconds that a call waits for others who use the same game, file or connections.
    token
        For a server: what `holdfast token make` printed.
    local
        For a server: fetch decisions ahead, and hand them out without a request; as many as the block had rounds left,
        at most 256. All are recorded as handed out when they are fetched. Those that are never used have no loss, and
        are settled without one when patience has run out. A pause or a pin counts from the next fetch on.
    allow
        User-defined policies that may be imported where `policy` is left out: classes, ``"module:Class"``, or
        ``"module"`` for all of a module.

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
        raise InvalidParameter("policy", "must be a policy such as holdfast.Exp3(8)", policy)
    checked_name("name", name)
    patient, wait = real_number("retry", retry, least=0), real_number("timeout", timeout, least=0)
    settings = given_settings(
        patience=patience,
        missing=missing,
        remember=remember,
        scale=scale,
        key_life=key_life,
        learn_after=learn_after,
        holdback=holdback,
        shadow=shadow,
    )
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        from holdfast.decisions.remote import open_remote, server_at

        if clock is not time.time:
            raise InvalidParameter("clock", "must be left out: the clock of the server counts", clock)
        changes = wish(change_switching_cost, add_arms, retire_arms)
        server = server_at(url, token, patient, wait)
        return open_remote(server, name, policy, settings, changes=changes, seed=seed, local=local, allow=allow)
    if token is not None:
        raise InvalidParameter("token", "is for a server: http://host:port", "(not shown)")
    if local:
        raise InvalidParameter("local", "is for a server: http://host:port", local)
    store = url if isinstance(url, Store) else store_at(url)
    now = checked_time(clock)
    fresh = state = None
    if policy is not None:
        learner = Learner(policy, seed)
        fresh, state = fresh_game(name, policy, Settings().changed(policy, settings), learner, now)
    game = with_retries(lambda: _found(store, name, fresh, time.monotonic() + wait), store, patient)
    if policy is not None:
        check_same_class(game, policy)
    setup = setup_of(game, policy, allow)
    given = setup.policy if allow else policy  # its class is known by now, and need not be allowed again
    executor = Executor(store, setup, given, patient, wait)
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


def open_many(
    url: str | Store, games: Mapping[str, Policy | Mapping[str, Any] | None], **options: Any
) -> dict[str, Router]:
    """Several games in one store, as classes of traffic are: each learns for itself. A router for each name.

    Parameters
    ----------
    url
        The store, as in `open`.
    games
        For each name a policy, or options of `open` with ``"policy"`` among them, or None for a game that exists.
    options
        Options of `open` for all games; a game's own go before them. A seed belongs to one game.

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


def _found(store: Store, name: str, fresh: Fresh | None, deadline: float) -> Game:
    """The game of this name, begun if need be."""
    game = store.find(name, deadline)
    if game is None:
        if fresh is None:
            raise UnknownGame(name, store.names(deadline))
        game = store.create([fresh], deadline)[0]
    return game


def fresh_game(name: str, policy: Policy, settings: Settings, learner: Learner, now: float) -> tuple[Fresh, State]:
    """All rows of a game that begins, and what they say it has learnt."""
    game = new_game(name, policy, settings, now, secrets.token_hex(6), secrets.token_hex(16))
    state = State(learner, [ArmSums() for _ in range(policy.n_arms)])
    return Fresh(game, first_head(game, now), state_text(setup_of(game, policy), state)), state
