"""Stores that somebody edited: each call is right or refused, and ends; never a crash and never another game."""

import json
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta

import pytest
from games import POLICIES, SWITCH, play
from places import edit

import holdfast as hf
from holdfast.decisions.stores.sqlite import SqliteStore

DAMAGES = {
    "state is not JSON": "UPDATE holdfast_states SET data = 'x'",
    "state has no numbers": "UPDATE holdfast_states SET data = '{}'",
    "state is of another length": """UPDATE holdfast_states SET data = replace(data, '"C": [', '"C": [1.0, ')""",
    "state has words": """UPDATE holdfast_states SET data = replace(data, '"C": [', '"C": ["a", ')""",
    "state is older": "UPDATE holdfast_states SET version = 'x'",
    "state is gone": "DELETE FROM holdfast_states",
    "state is a number": "UPDATE holdfast_states SET data = 7",
    "stream is short": """UPDATE holdfast_states SET data = replace(data, '"stream": [', '"stream": [-1, ')""",
    "stream is nothing": "UPDATE holdfast_states SET data = json_set(data, '$.stream', json('[0, 0, 0, 0]'))",
    "sums of arms are gone": """UPDATE holdfast_states SET data = replace(data, '"arms": [{', '"arms": [], "x": [{')""",
    "sums of an arm are missing": """UPDATE holdfast_states SET data = replace(data, '"told"', '"tald"')""",
    "sums of arms are words": """UPDATE holdfast_states SET data = replace(data, '"losses": [', '"losses": ["x", ')""",
    "counts of an arm are words": """UPDATE holdfast_states SET data = replace(data, '"told": ', '"told": -')""",
    "arms are gone": "UPDATE holdfast_games SET arms = '[]'",
    "arms are not JSON": "UPDATE holdfast_games SET arms = '['",
    "arms are others": """UPDATE holdfast_games SET arms = replace(arms, '"a"', '"z"')""",
    "blocks are not JSON": "UPDATE holdfast_blocks SET data = '['",
    "blocks have no numbers": "UPDATE holdfast_blocks SET data = '{}'",
    "blocks have words": """UPDATE holdfast_blocks SET data = replace(data, '"arm": ', '"arm": "x", "x": ')""",
    "current block is gone": "DELETE FROM holdfast_blocks",
    "head is gone": "DELETE FROM holdfast_heads",
    "version is gone": "DELETE FROM holdfast_schema",
    "version is a word": "UPDATE holdfast_schema SET version = 'x'",
    "policy is not JSON": "UPDATE holdfast_games SET policy = 'x'",
    "policy is none": "UPDATE holdfast_games SET policy = '{}'",
    "policy has no functions": """UPDATE holdfast_games SET policy = '{"policy": {"policy": "exp3"}}'""",
    "settings are not JSON": "UPDATE holdfast_games SET settings = 'x'",
    "settings are others": """UPDATE holdfast_games SET settings = '{"a": 1}'""",
    "settings have words": """UPDATE holdfast_games SET settings = '{"seconds": "x"}'""",
    "settings remember words": """UPDATE holdfast_games SET settings = '{"remember": "x"}'""",
    "settings know another missing": """UPDATE holdfast_games SET settings = '{"missing": [1]}'""",
    "sums of blocks are not JSON": "UPDATE holdfast_blocks SET losses = 'x'",
    "what was paid is not a list": "UPDATE holdfast_heads SET paid = '7'",
    "sums of blocks are not finite": "UPDATE holdfast_blocks SET losses = '[NaN]'",
    "a sum is a number": "UPDATE holdfast_blocks SET losses = 7",
    "a count of rounds is a word": "UPDATE holdfast_blocks SET told = 'x'",
    "more was told than there are rounds": "UPDATE holdfast_blocks SET told = 99",
    "time is a word": "UPDATE holdfast_heads SET clock = 'x'",
    "time is endless": "UPDATE holdfast_heads SET clock = 9e999",
    "a probability is a word": "UPDATE holdfast_blocks SET probability = 'x'",
    "a loss is a word": "UPDATE holdfast_losses SET loss = 'x'",
    "a loss of an open block is late": "UPDATE holdfast_losses SET late = 1",
    "a count is not whole": "UPDATE holdfast_heads SET asked = 2.5",
    "a count of an ask is a word": "UPDATE holdfast_asks SET rounds = 'x'",
    "there is no such arm": "UPDATE holdfast_blocks SET arm = 9",
    "there is no such current arm": "UPDATE holdfast_heads SET arm = 9",
    "more is settled than begun": "UPDATE holdfast_heads SET settled = 4611686018427387904",
    "less is settled than there is": "UPDATE holdfast_heads SET settled = -1",
    "more is handed out than there is": "UPDATE holdfast_heads SET handed = 99",
    "the revision is none": "UPDATE holdfast_heads SET revision = 0",
    "the block is the one before": "UPDATE holdfast_heads SET block = block - 1",
    "an index is gone": "DROP INDEX holdfast_blocks_open",
    "a table is gone": "DROP TABLE holdfast_losses",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_edited_store_is_refused(folder, damage):
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "game", SWITCH, seed=1) as router:
        play(router, 20)
        out = router.ask(3)
        router.history.compact(2)
        first = router.ask()
        router.tell(first.id, 0.25)
    edit(url, DAMAGES[damage])

    def go_on():
        with hf.open(url, "game") as router:
            repr(router)
            router.open_decisions  # noqa: B018  # it reads what the others do not
            router.tell([(d.id, 0.5) for d in out])
            router.tell(first.id, 0.25)
            router.ask(20)
            router.history.totals  # noqa: B018  # it reads what the others do not

    words = r"damaged|gone|not Holdfast's|compacted|restored|overwritten|another Holdfast has set (a|seconds) for"
    with pytest.raises((hf.StoreError, hf.SomeRefused), match=words):
        go_on()


@pytest.mark.parametrize("damage", ["policy is not JSON", "policy is none", "settings are not JSON"])
def test_an_edited_store_is_refused_to_who_gives_the_policy(folder, damage):
    url = f"sqlite:///{folder}/g.db"
    hf.open(url, "game", SWITCH, seed=1).close()
    edit(url, DAMAGES[damage])
    with pytest.raises(hf.BadStore, match="damaged: the settings of game 'game' cannot be read"):
        hf.open(url, "game", SWITCH)


def test_a_count_that_cannot_be_does_not_run_for_ever(folder):
    """More losses to forget than were ever told: all are forgotten, and the game goes on."""
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "game", SWITCH, seed=1) as router:
        router.tell([(d.id, 0.5) for d in router.ask(20)])
    edit(url, "UPDATE holdfast_heads SET kept = 1000000000")
    with hf.open(url, "game") as router:
        router.tell([(d.id, 0.5) for d in router.ask(20)])
        assert router.rounds == 40


# ---- any cell edited to anything, any row deleted

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


def edited(connection: sqlite3.Connection, chance: random.Random) -> str:
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
            done = [edited(connection, chance) for _ in range(chance.choice([1, 1, 2]))]
            connection.commit()
        begun = time.monotonic()
        try:
            calls(f"sqlite:///{copy}", ids, policy)
        except Exception as error:
            raise AssertionError(f"{done}: {type(error).__name__}: {error}") from error
        assert time.monotonic() - begun < 20, done
        for made in folder.glob(f"{copy.name}*"):
            made.unlink()
