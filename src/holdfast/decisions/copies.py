"""Games that move: copies of a store, made and restored while it is in use, and fleets into a store and back."""

from __future__ import annotations

import json
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.decisions.executor import stored_state
from holdfast.decisions.game import block_text, block_values, setup_of
from holdfast.decisions.models import Block, new_token
from holdfast.decisions.options import checked_name
from holdfast.decisions.router import fresh_game
from holdfast.decisions.settings import Settings
from holdfast.decisions.stores import Store, parse_address, store_at
from holdfast.decisions.stores.sql import NewGame, has_tables
from holdfast.decisions.stores.sqlite import SqliteStore
from holdfast.errors import BadStore, Call, Form, InvalidParameter, OutOfTurn, StoreError, UnknownGame, Words
from holdfast.files import reason
from holdfast.players.fleet import Fleet, FleetGame
from holdfast.policies.policy import Policy

LOG = logging.getLogger(__name__)

GAP = 2**20
"""Revisions by which a restored game is ahead of any that a running process has seen."""

BUSY = 60.0
"""Seconds to wait for other users of the file."""


def backup(url: str, target: str | Path, *, overwrite: bool = False) -> Path:
    """Copy a store, as of one moment, to a new file. Games may continue meanwhile.

    Parameters
    ----------
    url
        The store.
    target
        The file; there must be none, unless it may be overwritten.
    overwrite
        True if a file that is there may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> import holdfast as hf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hf.open(f"sqlite:///{folder}/games.db", "chat", hf.Exp3(2)) as router:
    ...         _ = router.ask(5)
    ...     copy = backup(f"sqlite:///{folder}/games.db", f"{folder}/copy.db")
    ...     with hf.open(f"sqlite:///{copy}", "chat") as router:
    ...         router.rounds
    5
    """
    if "://" in str(target):
        raise InvalidParameter("target", "must be the path of a file, not an address", str(target))
    source = _file_of(url, "pg_dump")
    if not source.exists():
        raise StoreError(f"{url}: there is no such file")
    path = Path(target)
    if path.exists() and not overwrite:
        again = Form("give overwrite=True", "", "give --overwrite")
        raise InvalidParameter("target", Words("must be a new file, or ", again), str(target))
    with _draft(path) as draft, _opened(source) as live, closing(sqlite3.connect(draft)) as copy:
        _check(live, url)
        live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    return path


def restore(source: str | Path, url: str) -> Path | None:
    """Replace a store's contents by a copy. Processes that use the store continue with the copy's games.

    Keep the previous content in a file beside the store and return its path; None if there was no store. The history
    of each game has a line that says so.

    They see one transaction with new versions, so none continues from a cached state. Rounds handed out
    since the copy was made are handed out again, under the same ids: restart the workers that still hold decisions.
    """
    path, target = Path(source), _file_of(url, "pg_restore")
    if not path.is_file():
        raise InvalidParameter("source", "must be a file that holdfast store backup made", str(source))
    if target.exists() and path.samefile(target):
        raise InvalidParameter("source", "must be another file than the store", str(source))
    with _opened(path) as copy:
        _check(copy, str(source))
    kept = None
    if target.exists():
        at = datetime.now(UTC)
        kept = backup(url, target.with_name(f"{target.name}.before-restore-{at:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"))
    with closing(SqliteStore(url)) as store:
        store.create([])  # its file and tables, if there are none
    with _draft(target.with_name(f".{target.name}.restored"), keep=False) as draft, _opened(target) as live:
        _check(live, url)
        with _opened(path) as copy, closing(sqlite3.connect(draft)) as renewed:
            copy.backup(renewed)
            renewed.execute("PRAGMA journal_mode = WAL")  # as the store's own
            ahead = max((revision for (revision,) in live.execute("SELECT revision FROM holdfast_heads")), default=0)
            with renewed:
                _renew(renewed, int(ahead) + GAP, {"copy": path.name, "kept": None if kept is None else kept.name})
            renewed.backup(live)
    LOG.warning("%s was restored from %s; what it held is in %s", url, path, kept or "no file: it was new")
    return kept


def _renew(connection: sqlite3.Connection, ahead: int, detail: dict[str, Any]) -> None:
    """Give every game versions that no process has seen, and a line in its history."""
    for (game,) in connection.execute("SELECT game FROM holdfast_heads").fetchall():
        settings, state = new_token(), new_token()
        connection.execute(
            "UPDATE holdfast_heads SET revision = revision + ?, settings_version = ?, state_version = ? WHERE game = ?",
            (ahead, settings, state, game),
        )
        connection.execute("UPDATE holdfast_games SET settings_version = ? WHERE id = ?", (settings, game))
        connection.execute("UPDATE holdfast_states SET version = ? WHERE game = ?", (state, game))
        made = (game, time.time(), "restore", json.dumps(detail), None)
        connection.execute("INSERT INTO holdfast_changes (game, at, kind, detail, reason) VALUES (?, ?, ?, ?, ?)", made)


def _file_of(url: str, tool: str) -> Path:
    address = parse_address(url)
    if address.kind == "postgresql":
        raise InvalidParameter("url", f"must be 'sqlite:///file'; PostgreSQL has its own tool, {tool}", address.shown)
    if address.kind == "memory":
        raise InvalidParameter("url", "must be 'sqlite:///file': what is in memory cannot be copied", url)
    return Path(os.path.abspath(address.path))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path, timeout=BUSY)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}; nothing was changed") from error


def _check(connection: sqlite3.Connection, shown: str) -> None:
    """Raise an error unless the file is a store of this version."""
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if not has_tables(shown, tables, connection):
            raise BadStore(f"{shown} is not a store of Holdfast")
    except sqlite3.DatabaseError as error:
        raise BadStore(f"{shown} cannot be used: {error}") from None


@contextmanager
def _draft(path: Path, *, keep: bool = True) -> Iterator[Path]:
    """Open a file beside `path`, readable by its owner only. If `keep`, it replaces `path` at the end."""
    draft = path.with_name(f".holdfast-{secrets.token_hex(8)}.part")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield draft
        if keep:
            handle = os.open(draft, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
            os.replace(draft, path)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path} cannot be written: {reason(error)}") from None
    finally:
        for name in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(OSError):
                os.unlink(name)


# ---- fleets into a store, and back


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
