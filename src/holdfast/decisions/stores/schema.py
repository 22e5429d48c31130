"""Tables of an SQL store, and how an older store is brought up to date.

The store's version is the number of migrations it has had. A migration is never changed once released: what comes later
is a further one.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.decisions.rows import Arm, Ask, BlockRow, Head, Identity, Row, State, Tell

TABLES: dict[type[Row], str] = {
    Identity: "holdfast_players",
    Head: "holdfast_heads",
    State: "holdfast_states",
    Arm: "holdfast_arms",
    BlockRow: "holdfast_blocks",
    Ask: "holdfast_asks",
    Tell: "holdfast_tells",
}

VERSION_TABLE = "holdfast_schema"

Migration = Sequence[str]

# {serial}: a number given by the store; {float}: 64 bits; {compact}: rows in the order of their key;
# {hot}: room for a row that changes often
MIGRATIONS: tuple[Migration, ...] = (
    (
        """CREATE TABLE holdfast_players (
            player {serial}, name TEXT NOT NULL UNIQUE, uid TEXT NOT NULL UNIQUE, secret TEXT NOT NULL,
            made {float} NOT NULL, policy TEXT NOT NULL, options TEXT NOT NULL, edition BIGINT NOT NULL)""",
        """CREATE TABLE holdfast_heads (
            player BIGINT NOT NULL PRIMARY KEY, edition BIGINT NOT NULL, version BIGINT NOT NULL,
            begun BIGINT NOT NULL, arm BIGINT NOT NULL, rounds BIGINT NOT NULL, handed BIGINT NOT NULL,
            asked BIGINT NOT NULL, switches BIGINT NOT NULL, paid TEXT NOT NULL, settled BIGINT NOT NULL,
            forgotten BIGINT NOT NULL, kept BIGINT NOT NULL, compacted BIGINT NOT NULL, clock {float} NOT NULL,
            next_due {float}) {hot}""",
        """CREATE TABLE holdfast_states (
            player BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, data TEXT NOT NULL) {hot}""",
        """CREATE TABLE holdfast_arms (
            player BIGINT NOT NULL, arm BIGINT NOT NULL, name TEXT, retired BIGINT NOT NULL, blocks BIGINT NOT NULL,
            rounds BIGINT NOT NULL, told BIGINT NOT NULL, parts TEXT NOT NULL, last_used {float},
            PRIMARY KEY (player, arm)) {compact}""",
        """CREATE TABLE holdfast_blocks (
            player BIGINT NOT NULL, number BIGINT NOT NULL, arm BIGINT NOT NULL, rounds BIGINT NOT NULL,
            probability {float} NOT NULL, began {float} NOT NULL, bound {float}, data TEXT NOT NULL,
            told BIGINT NOT NULL, parts TEXT NOT NULL, late BIGINT NOT NULL, due {float}, place BIGINT,
            settled {float}, total {float}, PRIMARY KEY (player, number)) {compact}""",
        "CREATE INDEX holdfast_blocks_open ON holdfast_blocks (player, due, number) WHERE place IS NULL",
        "CREATE INDEX holdfast_blocks_place ON holdfast_blocks (player, place) WHERE place IS NOT NULL",
        """CREATE TABLE holdfast_asks (
            player BIGINT NOT NULL, block BIGINT NOT NULL, first BIGINT NOT NULL, rounds BIGINT NOT NULL,
            at {float} NOT NULL, request TEXT NOT NULL, PRIMARY KEY (player, block, first)) {compact}""",
        "CREATE INDEX holdfast_asks_request ON holdfast_asks (player, request)",
        """CREATE TABLE holdfast_tells (
            player BIGINT NOT NULL, block BIGINT NOT NULL, round BIGINT NOT NULL, loss {float} NOT NULL,
            at {float} NOT NULL, late BIGINT NOT NULL, PRIMARY KEY (player, block, round)) {compact}""",
    ),
    (
        "ALTER TABLE holdfast_tells ADD COLUMN more TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE holdfast_tells RENAME COLUMN round TO first",
        # a process of before that is still connected would take losses in `more` for new ones: now its calls fail
        "ALTER TABLE holdfast_heads RENAME COLUMN compacted TO removed",
    ),
    (
        "ALTER TABLE holdfast_blocks ADD COLUMN whole BIGINT NOT NULL DEFAULT 0",
        # one row for all that a call hands out; a process of before, which would look for more of them, fails
        "ALTER TABLE holdfast_asks RENAME COLUMN rounds TO handed",
    ),
)
