"""A fleet as the players of a store, and back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from holdfast.decisions.book import Book
from holdfast.decisions.names import kept_name
from holdfast.decisions.opening import fresh_game
from holdfast.decisions.options import Options
from holdfast.decisions.rows import BlockRow, Fresh, as_parts, parts_of
from holdfast.decisions.stored import blocks_of
from holdfast.decisions.stores import Store, store_at
from holdfast.errors import InvalidParameter, OutOfTurn, UnknownPlayer
from holdfast.players.fleet import Fleet, FleetGame
from holdfast.policies.policy import Policy


def fleet_to_store(fleet: Fleet, url: str | Store, name: Callable[[int], str]) -> None:
    """Begin a player in a store for each game of a fleet. It goes on where its game stands; totals per arm begin here.

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
        player = kept_name("name", name(i))
        if player in given:
            raise InvalidParameter("name", "must give each game a name of its own", player)
        if player in taken:
            raise InvalidParameter("name", "must give names that no player of the store has", player)
        given.add(player)
        fresh.append(_as_player(fleet.policy, fleet.get(i), player, time.time()))
    store.create(fresh)


def _as_player(policy: Policy, one: FleetGame, name: str, now: float) -> Fresh:
    game, begun, left = one.game, one.game.begun, one.left
    fresh = fresh_game(name, policy, Options(), game, now)
    if not begun:
        return fresh
    rounds = int(game.block[1])
    told = rounds - left
    head = fresh.head._replace(
        begun=begun,
        arm=int(game.block[0]),
        rounds=rounds,
        handed=told,
        asked=one.rounds,
        switches=one.switches,
        settled=begun - (left > 0),
        forgotten=begun - (left > 0),
        removed=begun - (left > 0),
    )
    block = BlockRow(
        player=0, number=begun, arm=head.arm, rounds=rounds, probability=float(game.block[2]), began=now,
        bound=None, data=blocks_of(game, game.block[np.newaxis])[0], told=told, parts=as_parts(list(one.losses)),
    )  # fmt: skip
    return fresh._replace(head=head, blocks=(block,) if left else ())


def fleet_from_store(url: str | Store, names: Sequence[str], *, policy: Policy | None = None) -> Fleet:
    """A fleet that goes on with the games of players in a store: all of one policy, with no decision out.

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
        identity = store.find(name)
        if identity is None:
            raise UnknownPlayer(name, store.names())
        with store.look(identity.player) as rows:
            book = Book(identity, rows.arms(), policy)
            game, head, blocks = book.stored(rows), rows.head, rows.open_blocks()
            if any(block.number < head.begun or block.told < head.handed for block in blocks):
                raise OutOfTurn(f"player {name!r} has decisions that are out: see open_decisions")
            if fleet is None:
                fleet = Fleet(book.policy, len(names), seed=0)
            if book.policy != fleet.policy:
                raise InvalidParameter("names", f"must be players of one policy, {fleet.policy}", name)
            if blocks:
                game.block[:] = book.values_of(blocks[0])
            else:
                game.block[0] = max(book.active.index(head.arm), 0) if head.arm in book.active else 0
        game.begun = head.begun
        left = blocks[0].rounds - head.handed if blocks else 0
        losses = parts_of(blocks[0].parts) if blocks else []
        fleet.put(i, FleetGame(game, left, head.asked, head.switches, losses))
    assert fleet is not None
    return fleet
