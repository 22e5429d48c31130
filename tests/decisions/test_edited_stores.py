"""Any cell of a store edited to anything, any row deleted or doubled: each call is right or refused, and ends."""

import json
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta

import pytest
from games import POLICIES, SWITCH

import holdfast as hf
from holdfast.decisions.stores.sqlite import SqliteStore

TABLES = ("games", "heads", "states", "blocks", "asks", "losses", "changes", "schema")
VALUES = (
    None, 0, 1, -1, 2, 3, 99, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 0.5, -0.5, 1e308, -1e308, float("inf"),
    5e-324, "", "x", "[]", "{}", "null", "[NaN]", "[1e400]", "[[]]", "[0.5, 0.5]", '{"a": 1}', "\0", "é", "9" * 5000,
    "[" * 3000, b"", b"\xff\x00",
)  # fmt: skip
POLICIES_HERE = (SWITCH, POLICIES["adaptive"], POLICIES["base"], POLICIES["exp3"], POLICIES["own units"])


def filled(url: str, policy: hf.Policy) -> list[str]:
    """A game with all kinds of rows; ids of its decisions."""
    with hf.open(url, "game", policy, seed=1, patience=timedelta(seconds=50), remember=10) as router:
        ids = []
        for t in range(12):
            decision = router.ask(request=f"r{t}")
            ids.append(decision.id)
            if t % 5 < 4 or policy.waits_for_losses:
                router.tell(decision.id, sum(policy.bounds) / 2)
        if hasattr(policy, "switching_cost"):
            router.change(switching_cost=policy.switching_cost * 2)
        ids += [router.ask().id]
    return ids


def edited_json(text: str, chance: random.Random) -> str:
    """One number, name or list of a document replaced."""
    content = json.loads(text)
    at, places = content, []
    while isinstance(at, (dict, list)) and at:
        key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
        places.append((at, key))
        at = at[key]
        if chance.random() < 0.2:
            break
    if places:
        inside, key = places[-1]
        inside[key] = chance.choice([None, -1, 0, 1, 10**6, 2**62, -0.5, 1e308, "x", [], {}, [1], True])
        if chance.random() < 0.2:
            del inside[key]
    return json.dumps(content)


def edit(connection: sqlite3.Connection, chance: random.Random) -> str:
    """One edit; what it was."""
    table = f"holdfast_{chance.choice(TABLES)}"
    rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if not rows:
        return "nothing"
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column, nth = chance.choice(columns), chance.randrange(rows)
    key = ", ".join(columns[:3]) if len(columns) > 2 else columns[0]
    found = connection.execute(f"SELECT {key}, {column} FROM {table} LIMIT 1 OFFSET {nth}").fetchone()
    where = " AND ".join(f"{name} IS ?" for name in key.split(", "))
    if chance.random() < 0.1:
        connection.execute(f"DELETE FROM {table} WHERE {where}", found[:-1])
        return f"a row of {table} deleted: {found[:-1]}"
    value = chance.choice(VALUES)
    if isinstance(found[-1], str) and found[-1][:1] in ("{", "[") and chance.random() < 0.8:
        value = edited_json(found[-1], chance)
    elif isinstance(found[-1], (int, float)) and chance.random() < 0.4:
        value = found[-1] + chance.choice([-1, 1, 2, 100])
    try:
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *found[:-1]))
    except sqlite3.Error:
        return "nothing"
    return f"{table}.{column} of {found[:-1]} = {str(value)[:200]!r}"


def calls(url: str, ids: list[str], policy: hf.Policy) -> None:
    """Everything one can do with a game, opened with its policy and without; refusals are fine."""
    for given in (None, policy):
        with closing(SqliteStore(url)) as store:
            try:
                router = hf.open(store, "game", given, timeout=1, retry=0)
            except hf.HoldfastError:
                continue
            for call in calls_of(router, ids, sum(policy.bounds) / 2):
                with suppress(hf.HoldfastError):
                    call()


def calls_of(router: hf.Router, ids: list[str], loss: float) -> tuple[Callable[[], object], ...]:
    return (
        lambda: router.tell(dict.fromkeys(ids, loss)),
        lambda: router.tell(ids[-1], loss),
        lambda: router.ask(3),
        lambda: router.ask(2, request="r3"),
        router.settle,
        lambda: repr(router),
        lambda: router.probabilities,
        lambda: router.open_decisions,
        lambda: router.history.totals,
        lambda: router.history.frame,
        lambda: router.history.log,
        lambda: router.history.changes,
        lambda: router.change(patience=timedelta(seconds=9), remember=0),
        lambda: hf.fleet_from_store(router.store, ["game"]),
        lambda: router.history.compact(keep=2),
        lambda: router.ask(40),
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(POLICIES_HERE)))
def test_an_edited_store_is_refused_or_played(number, folder):
    policy, file = POLICIES_HERE[number], folder / "g.db"
    ids = filled(f"sqlite:///{file}", policy)
    whole = file.read_bytes()
    for seed in range(60):
        chance = random.Random(1000 * number + seed)
        copy = folder / f"edited{seed}.db"
        copy.write_bytes(whole)
        with closing(sqlite3.connect(copy)) as connection:
            done = [edit(connection, chance) for _ in range(chance.choice([1, 1, 2]))]
            connection.commit()
        begun = time.monotonic()
        try:
            calls(f"sqlite:///{copy}", ids, policy)
        except Exception as error:
            raise AssertionError(f"{done}: {type(error).__name__}: {error}") from error
        assert time.monotonic() - begun < 20, done
        for made in folder.glob(f"{copy.name}*"):
            made.unlink()
