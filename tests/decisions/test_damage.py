"""Stores that somebody edited: an error that says so, never a crash and never another game."""

import sqlite3

import pytest
from games import SWITCH, play

import holdfast as hf

DAMAGES = {
    "state is not JSON": "UPDATE holdfast_states SET data = 'x'",
    "state has no numbers": "UPDATE holdfast_states SET data = '{}'",
    "state is of another length": """UPDATE holdfast_states SET data = replace(data, '"C": [', '"C": [1.0, ')""",
    "state has words": """UPDATE holdfast_states SET data = replace(data, '"C": [', '"C": ["a", ')""",
    "state is older": "UPDATE holdfast_states SET version = 'x'",
    "state is gone": "DELETE FROM holdfast_states",
    "state is a number": "UPDATE holdfast_states SET data = 7",
    "stream is short": """UPDATE holdfast_states SET data = replace(data, '"stream": [', '"stream": [-1, ')""",
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
    connection = sqlite3.connect(folder / "g.db")
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()

    def go_on():
        with hf.open(url, "game") as router:
            repr(router)
            router.open_decisions  # noqa: B018  # it reads what the others do not
            router.tell([(d.id, 0.5) for d in out])
            router.tell(first.id, 0.25)
            router.ask(20)
            router.history.totals  # noqa: B018  # it reads what the others do not

    with pytest.raises(
        (hf.StoreError, hf.SomeRefused), match=r"damaged|gone|not Holdfast's|compacted|restored|overwritten"
    ):
        go_on()


@pytest.mark.parametrize("damage", ["policy is not JSON", "policy is none", "settings are not JSON"])
def test_an_edited_store_is_refused_to_who_gives_the_policy(folder, damage):
    url = f"sqlite:///{folder}/g.db"
    hf.open(url, "game", SWITCH, seed=1).close()
    connection = sqlite3.connect(folder / "g.db")
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()
    with pytest.raises(hf.BadStore, match="damaged: the settings of game 'game' cannot be read"):
        hf.open(url, "game", SWITCH)


def test_a_count_that_cannot_be_does_not_run_for_ever(folder):
    """More losses to forget than were ever told: all are forgotten, and the game goes on."""
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "game", SWITCH, seed=1) as router:
        router.tell([(d.id, 0.5) for d in router.ask(20)])
    connection = sqlite3.connect(folder / "g.db")
    connection.execute("UPDATE holdfast_heads SET kept = 1000000000")
    connection.commit()
    connection.close()
    with hf.open(url, "game") as router:
        router.tell([(d.id, 0.5) for d in router.ask(20)])
        assert router.rounds == 40
