"""The tables of a store."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from holdfast.errors import BadStore

SCHEMA_TABLE = "holdfast_schema"
VERSION = 1

# {serial}: a number given by the store, never twice; {float}: 64 bits; {compact}: rows in the order of their key;
# {hot}: room for a row that changes often
SCHEMA = (
    """CREATE TABLE holdfast_games (
        id {serial}, name TEXT NOT NULL UNIQUE, uid TEXT NOT NULL UNIQUE, secret TEXT NOT NULL,
        created {float} NOT NULL, policy TEXT NOT NULL, arms TEXT NOT NULL, settings TEXT NOT NULL,
        availability TEXT NOT NULL, settings_version TEXT NOT NULL)""",
    """CREATE TABLE holdfast_heads (
        game BIGINT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL, settings_version TEXT NOT NULL,
        state_version TEXT NOT NULL, block BIGINT NOT NULL, drawn BIGINT NOT NULL, current BIGINT NOT NULL,
        arm BIGINT NOT NULL, last_arm BIGINT NOT NULL, rounds BIGINT NOT NULL,
        handed BIGINT NOT NULL, probability {float} NOT NULL, asked BIGINT NOT NULL, switches BIGINT NOT NULL,
        paid TEXT NOT NULL, settled BIGINT NOT NULL, forgotten BIGINT NOT NULL, kept BIGINT NOT NULL,
        removed BIGINT NOT NULL, clock {float} NOT NULL, heard BIGINT NOT NULL, lateness {float} NOT NULL,
        next_due {float}, next_idle {float}) {hot}""",
    """CREATE TABLE holdfast_states (
        game BIGINT NOT NULL PRIMARY KEY, version TEXT NOT NULL, data TEXT NOT NULL) {hot}""",
    """CREATE TABLE holdfast_blocks (
        game BIGINT NOT NULL, number BIGINT NOT NULL, key TEXT, arm BIGINT NOT NULL, rounds BIGINT NOT NULL,
        probability {float} NOT NULL, began {float} NOT NULL, bound {float}, forced BIGINT NOT NULL,
        data TEXT NOT NULL, first BIGINT NOT NULL, live BIGINT NOT NULL,
        last {float} NOT NULL, played TEXT NOT NULL, told BIGINT NOT NULL, losses TEXT NOT NULL,
        late BIGINT NOT NULL, due {float},
        settled_order BIGINT, settled_at {float}, total {float}, stand_in {float},
        learnt BIGINT NOT NULL,
        PRIMARY KEY (game, number)) {compact}""",
    "CREATE INDEX holdfast_blocks_open ON holdfast_blocks (game, due, number) WHERE settled_order IS NULL",
    "CREATE UNIQUE INDEX holdfast_blocks_keys ON holdfast_blocks (game, key) WHERE live = 1",
    "CREATE INDEX holdfast_blocks_idle ON holdfast_blocks (game, last) WHERE live = 1",
    "CREATE INDEX holdfast_blocks_settled ON holdfast_blocks (game, settled_order) WHERE settled_order IS NOT NULL",
    """CREATE TABLE holdfast_asks (
        game BIGINT NOT NULL, block BIGINT NOT NULL, first BIGINT NOT NULL, rounds BIGINT NOT NULL,
        at {float} NOT NULL, request TEXT NOT NULL, PRIMARY KEY (game, block, first)) {compact}""",
    "CREATE INDEX holdfast_asks_request ON holdfast_asks (game, request)",
    """CREATE TABLE holdfast_losses (
        game BIGINT NOT NULL, block BIGINT NOT NULL, round BIGINT NOT NULL, loss {float} NOT NULL,
        at {float} NOT NULL, late BIGINT NOT NULL, PRIMARY KEY (game, block, round)) {compact}""",
    """CREATE TABLE holdfast_seen (
        game BIGINT NOT NULL, block BIGINT NOT NULL, round BIGINT NOT NULL, at {float} NOT NULL,
        losses TEXT NOT NULL, PRIMARY KEY (game, block, round)) {compact}""",
    """CREATE TABLE holdfast_changes (
        id {serial}, game BIGINT NOT NULL, at {float} NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL,
        reason TEXT)""",
    "CREATE INDEX holdfast_changes_game ON holdfast_changes (game, id)",
)


def has_tables(url: str, tables: Collection[str], connection: Any) -> bool:
    """Whether a database with these tables is a store; an error for one that cannot be used."""
    if SCHEMA_TABLE not in tables:
        return False
    versions = [version for (version,) in connection.execute(f"SELECT version FROM {SCHEMA_TABLE}").fetchall()]
    if len(versions) != 1 or type(versions[0]) is not int or versions[0] < 1:
        raise BadStore(f"{url} is damaged: its table {SCHEMA_TABLE!r} must have one version")
    if versions[0] != VERSION:
        raise BadStore(
            f"{url} must be a store of schema {VERSION}; another Holdfast wrote this one, schema {versions[0]}"
        )
    return True


def creation(words: dict[str, str]) -> list[str]:
    """Statements that make the tables of a new store."""
    return [
        f"CREATE TABLE {SCHEMA_TABLE} (version BIGINT NOT NULL)",
        *(statement.format(**words) for statement in SCHEMA),
        f"INSERT INTO {SCHEMA_TABLE} (version) VALUES ({VERSION})",
    ]
