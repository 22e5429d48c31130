"""Copies of a store: made while it is in use, and restored so that running processes notice."""

from __future__ import annotations

import json
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.decisions.models import new_token
from holdfast.decisions.stores import parse_address
from holdfast.decisions.stores.sql import has_tables
from holdfast.decisions.stores.sqlite import SqliteStore
from holdfast.errors import BadStore, Form, InvalidParameter, StoreError, Words
from holdfast.files import reason

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
