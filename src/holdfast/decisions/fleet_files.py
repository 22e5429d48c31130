"""A fleet in one file, and as the players of a store."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.decisions.codec import block_text, block_values, setup_of
from holdfast.decisions.executor import stored_state
from holdfast.decisions.fleet import Fleet
from holdfast.decisions.fleet_kernels import PARTS, SPILLED
from holdfast.decisions.ids import checked_name
from holdfast.decisions.models import Block
from holdfast.decisions.open_game import fresh_game
from holdfast.decisions.settings import Settings
from holdfast.decisions.stores.sql import Fresh, Store
from holdfast.errors import BadSavedState, InvalidParameter, OutOfTurn, UnknownPlayer
from holdfast.files import whole_file
from holdfast.layouts import Layout
from holdfast.players.document import described, policy_of
from holdfast.players.losses import exact_sum
from holdfast.policies.policy import Policy
from holdfast.schedules import LONGEST

FORMAT = "holdfast.fleet"
VERSION = 1

CHECKED_ONE_BY_ONE = 100_000
"""Games up to which each is checked as a saved player is; beyond, damage is found by the check sum."""

COUNTS = ("left", "begun", "rounds", "switches", "used")


def save(fleet: Fleet, file: str | Path) -> None:
    """Write all games by name into a new file that then replaces the old one."""
    games, K = fleet._games, fleet.policy.n_arms
    kernels = fleet.policy.kernels
    arrays: dict[str, NDArray[Any]] = {"streams": games.streams, "parts": games.parts}
    arrays |= {name: getattr(games, name) for name in COUNTS}
    arrays |= _by_name("state", kernels.state_layout, games.numbers, games.vectors, K)
    arrays |= _by_name("block", kernels.block_layout, games.blocks, games.vectors[:, :0], K)
    spilled = {str(g): pieces for g, pieces in fleet._spilled.items()}
    about = {**described(fleet.policy), "format": FORMAT, "version": VERSION, "n": fleet.n, "spilled": spilled}
    text = json.dumps({**about, "check": _digest(arrays, about)})
    with whole_file(file) as out:
        np.savez(out, about=np.array(text), **arrays)  # type: ignore[arg-type]  # names are not its options


def _by_name(what: str, layout: Layout, numbers: Any, vectors: Any, K: int) -> dict[str, NDArray[Any]]:
    """A view of each saved number of a state or a block."""
    found, row, vector = {}, 0, 0
    for name, kind in layout.kinds.items():
        if kind.per_arm:
            values = vectors[:, vector * K : (vector + 1) * K]
            vector += 1
        else:
            values = numbers[:, row]
            row += 1
        if kind.saved:
            found[f"{what}/{name}"] = values
    return found


def _digest(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def load(file: str | Path, policy: Policy | None, workers: int | None) -> Fleet:
    """A fleet from its file, every number where it was."""
    try:
        content = open(file, "rb")  # noqa: SIM115  # closed below; only opening it may be the user's mistake
    except OSError as error:
        raise InvalidParameter("file", f"must be a file that can be read ({error})", str(file)) from None
    with content:
        try:
            with np.load(content, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            return _restored(json.loads(str(arrays.pop("about"))), arrays, policy, workers)
        except BadSavedState:
            raise
        except Exception as error:  # a damaged archive can end in any
            raise BadSavedState(f"{file} is not a saved fleet, or is damaged: {error!r}") from None


def _restored(about: dict[str, Any], arrays: dict[str, Any], policy: Policy | None, workers: int | None) -> Fleet:
    if about["format"] != FORMAT or about["version"] != VERSION:
        raise BadSavedState(f"a saved fleet must be {FORMAT} of version {VERSION}; got {about['version']!r}")
    check = about.pop("check")
    if check != _digest(arrays, about):
        raise BadSavedState("saved fleet is damaged: its contents do not match its check sum")
    fleet = Fleet(policy_of(about, policy), about["n"], seed=0, workers=workers)
    games, K, kernels = fleet._games, fleet.policy.n_arms, fleet.policy.kernels
    places = {"streams": games.streams, "parts": games.parts, **{name: getattr(games, name) for name in COUNTS}}
    places |= _by_name("state", kernels.state_layout, games.numbers, games.vectors, K)
    places |= _by_name("block", kernels.block_layout, games.blocks, games.vectors[:, :0], K)
    if set(places) != set(arrays):
        raise BadSavedState(f"saved fleet is damaged: it must have {', '.join(sorted(places))}")
    for name, place in places.items():
        if arrays[name].shape != place.shape or arrays[name].dtype != place.dtype:
            raise BadSavedState(f"saved fleet is damaged: {name} must have the shape {place.shape}")
        place[...] = arrays[name]
    fleet._spilled = {int(g): [float(piece) for piece in pieces] for g, pieces in about["spilled"].items()}
    _check(fleet)
    return fleet


def _check(fleet: Fleet) -> None:
    """An error for numbers that no fleet can have come to."""
    games, K = fleet._games, fleet.policy.n_arms
    arms, rounds = games.blocks[:, 0], games.blocks[:, 1]
    spilled = np.zeros(fleet.n, dtype=bool)
    spilled[list(fleet._spilled)] = True
    rules = {
        "numbers must be finite": np.isfinite(games.numbers).all() and np.isfinite(games.vectors).all(),
        "blocks must be finite": np.isfinite(games.blocks).all() and np.isfinite(games.parts).all(),
        f"arms must be from 0 to {K - 1}": ((arms >= 0) & (arms < K) & (arms == np.floor(arms))).all(),
        "rounds must be whole": ((rounds >= 0) & (rounds <= LONGEST) & (rounds == np.floor(rounds))).all(),
        "left must be rounds of the block": ((games.left >= 0) & (games.left <= rounds)).all(),
        "a block in play must have begun": ((games.left == 0) | (games.begun > 0)).all(),
        "streams must not be 0": games.streams.any(axis=1).all(),
        "sums must be in their places": ((games.used <= PARTS) | ((games.used == SPILLED) & spilled)).all(),
        "counts must not be negative": min(games.begun.min(), games.rounds.min(), games.switches.min()) >= 0,
    }
    for rule, holds in rules.items():
        if not holds:
            raise BadSavedState(f"saved fleet is damaged: {rule}")
    if fleet.n <= CHECKED_ONE_BY_ONE:
        for i in range(fleet.n):
            game = fleet.game(i)
            fleet.policy.check_saved(game.saved_state(), game.saved_block() if games.left[i] else None)


def to_store(fleet: Fleet, store: Store, name: Callable[[int], str], clock: Callable[[], float] = time.time) -> None:
    """Begin a player for each game, which goes on where the game stands; totals per arm begin here."""
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
        fresh.append(_as_player(fleet, i, player, clock()))
    store.create(fresh)


def _as_player(fleet: Fleet, i: int, name: str, now: float) -> Fresh:
    games, game = fleet._games, fleet.game(i)
    fresh, _ = fresh_game(name, fleet.policy, Settings(), game, now)
    begun, left, rounds = int(games.begun[i]), int(games.left[i]), int(games.blocks[i, 1])
    if not begun:
        return fresh
    spilled = games.used[i] == SPILLED
    parts = fleet._spilled[i] if spilled else exact_sum(games.parts[i, : games.used[i]].tolist())
    told, ended = rounds - left, begun - (left > 0)
    head = fresh.head._replace(
        block=begun,
        arm=int(games.blocks[i, 0]),
        rounds=rounds,
        handed=told,
        probability=float(games.blocks[i, 2]),
        asked=int(games.rounds[i]),
        switches=int(games.switches[i]),
        settled=ended,
        forgotten=ended,
        removed=ended,
    )
    data = block_text(setup_of(fresh.game, fleet.policy), game.block.tolist())
    block = Block(
        begun, None, head.arm, rounds, head.probability, now, None, 0, data,
        told=told, losses=tuple(parts),
    )  # fmt: skip
    return fresh._replace(head=head, blocks=(block,) if left else ())


def from_store(store: Store, names: Sequence[str], *, policy: Policy | None = None) -> Fleet:
    """A fleet that goes on with the games of these players, all of one policy and with no decision out."""
    if isinstance(names, str) or not len(names) or len(set(names)) < len(names):
        raise InvalidParameter("names", "must be a list of different names of players", names)
    fleet: Fleet | None = None
    for i, name in enumerate(names):
        found = store.find(name)
        if found is None:
            raise UnknownPlayer(name, store.names())
        with store.transaction(found.id, writing=False) as transaction:
            setup = setup_of(found, policy)
            game, head, blocks = stored_state(setup, transaction).learner, transaction.head, transaction.blocks("open")
        if any(block.number < head.block or block.told < head.handed for block in blocks):
            raise OutOfTurn(f"player {name!r} has decisions that are out: see open_decisions")
        if fleet is None:
            fleet = Fleet(setup.policy, len(names), seed=0)
        if setup.policy != fleet.policy:
            raise InvalidParameter("names", f"must be players of one policy, {fleet.policy}", name)
        if blocks:
            game.block[:] = block_values(setup.policy, name, blocks[0])
        arm = blocks[0].arm if blocks else head.arm
        game.block[0] = setup.active.index(arm) if arm in setup.active else 0
        games = fleet._games
        games.numbers[i], games.vectors[i], games.streams[i] = game.numbers, game.vectors, game.stream
        games.blocks[i], games.begun[i], games.switches[i] = game.block, head.block, head.switches
        games.left[i], games.rounds[i] = (blocks[0].rounds - head.handed if blocks else 0), head.asked
        parts = exact_sum(blocks[0].losses) if blocks else []
        if len(parts) > PARTS:
            fleet._spilled[i], games.used[i] = parts, SPILLED
        else:
            games.parts[i, : len(parts)], games.used[i] = parts[::-1], len(parts)
    assert fleet is not None
    return fleet
