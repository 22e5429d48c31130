"""Move a fleet's games into a store, and back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from holdfast.decisions.executor import stored_state
from holdfast.decisions.game import block_text, block_values, setup_of
from holdfast.decisions.models import Block
from holdfast.decisions.options import checked_name
from holdfast.decisions.router import fresh_game
from holdfast.decisions.settings import Settings
from holdfast.decisions.stores import Store, store_at
from holdfast.decisions.stores.sql import NewGame
from holdfast.errors import Call, InvalidParameter, OutOfTurn, UnknownGame, Words
from holdfast.players.fleet import Fleet, FleetGame
from holdfast.policies.policy import Policy


def fleet_to_store(fleet: Fleet, url: str | Store, name: Callable[[int], str]) -> None:
    """Create a game in a store for each game of a fleet, continuing where it is. Totals per arm start at zero.

    Parameters
    ----------
    fleet
        The games.
    url
        The store, as in `holdfast.open`.
    name
        A function that gives the player of game i its name: ``"device {}".format``.
    """
    store = url if isinstance(url, Store) else store_at(url)
    if not callable(name):
        raise InvalidParameter("name", "must be a function of a game's number", name)
    taken, given = set(store.names()), set[str]()
    fresh = []
    for i in range(fleet.n):
        player = checked_name("name", name(i))
        if player in given:
            raise InvalidParameter("name", "must give each game a name of its own", player)
        if player in taken:
            raise InvalidParameter("name", "must give names that no player of the store has", player)
        given.add(player)
        fresh.append(_as_player(fleet.policy, fleet.get(i), player, time.time()))
    store.create(fresh)


def _as_player(policy: Policy, one: FleetGame, name: str, now: float) -> NewGame:
    game, begun, left = one.game, one.game.begun, one.left
    fresh, _ = fresh_game(name, policy, Settings(), game, now)
    if not begun:
        return fresh
    arm, rounds, probability = game.block[:3].tolist()
    told, ended = int(rounds) - left, begun - (left > 0)
    head = fresh.head._replace(
        block=begun,
        drawn=begun,
        current=begun,
        arm=int(arm),
        last_arm=int(arm),
        rounds=int(rounds),
        handed=told,
        probability=probability,
        asked=one.rounds,
        switches=one.switches,
        settled=ended,
        forgotten=ended,
        removed=ended,
    )
    data = block_text(setup_of(fresh.game, policy), game.block.tolist())
    block = Block(
        begun, None, head.arm, head.rounds, probability, now, None, 0, data, one.rounds - told,
        told=told, losses=tuple(one.losses),
    )  # fmt: skip
    return fresh._replace(head=head, blocks=(block,) if left else ())


def fleet_from_store(url: str | Store, names: Sequence[str], *, policy: Policy | None = None) -> Fleet:
    """Return a fleet that continues games of a store: all of one policy, with no decision open.

    Shares, breakers and budgets of switches stay behind: a fleet has none.

    Parameters
    ----------
    url
        The store, as in `holdfast.open`.
    names
        The players.
    policy
        Their policy; needed where it has functions for a schedule, or is user-defined.
    """
    store = url if isinstance(url, Store) else store_at(url)
    if isinstance(names, str) or not len(names) or len(set(names)) < len(names):
        raise InvalidParameter("names", "must be a list of different names of players", names)
    fleet: Fleet | None = None
    for i, name in enumerate(names):
        found = store.find(name)
        if found is None:
            raise UnknownGame(name, store.names())
        with store.transaction(found.id, writing=False) as transaction:
            setup = setup_of(found, policy)
            game, head, blocks = stored_state(setup, transaction).learner, transaction.head, transaction.blocks("open")
        if any(block.number != head.current or block.told < head.handed for block in blocks):
            raise OutOfTurn(Words(f"game {name!r} has open decisions: see ", Call("open_decisions")))
        if fleet is None:
            fleet = Fleet(setup.policy, len(names), seed=0)
        if setup.policy != fleet.policy:
            raise InvalidParameter("names", f"must be games of one policy, {fleet.policy}", name)
        if blocks:
            game.block[:] = block_values(setup, blocks[0])
        arm = blocks[0].arm if blocks else head.arm
        game.block[0] = setup.active.index(arm) if arm in setup.active else 0
        game.begun = head.drawn
        left = blocks[0].rounds - head.handed if blocks else 0
        fleet.put(i, FleetGame(game, left, head.asked, head.switches, list(blocks[0].losses) if blocks else []))
    assert fleet is not None
    return fleet
