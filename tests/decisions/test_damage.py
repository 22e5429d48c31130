"""Stores that somebody edited: an error that says so, never a crash and never another game."""

import sqlite3

import pytest
from games import SWITCH, play

import holdfast as hf

DAMAGES = {
    "state is not JSON": "UPDATE holdfast_states SET data = 'x'",
    "state has no numbers": "UPDATE holdfast_states SET data = '{}'",
    "state is of another length": """UPDATE holdfast_states SET data = replace(data, '"C":[', '"C":[1.0, ')""",
    "state has words": """UPDATE holdfast_states SET data = replace(data, '"C":[', '"C":["a", ')""",
    "state is older": "UPDATE holdfast_states SET version = 1",
    "state is gone": "DELETE FROM holdfast_states",
    "stream is short": """UPDATE holdfast_states SET data = replace(data, '"stream":[', '"stream":[-1, ')""",
    "arms are gone": "DELETE FROM holdfast_arms",
    "blocks are neither numbers nor JSON": "UPDATE holdfast_blocks SET data = '['",
    "blocks have words": "UPDATE holdfast_blocks SET data = '{}'",
    "blocks have more numbers": "UPDATE holdfast_blocks SET data = 'AAAAAAAAAAAA' || data",
    "blocks are of another policy": "UPDATE holdfast_blocks SET data = 'AAAA' || substr(data, 5)",
    "current block is gone": "DELETE FROM holdfast_blocks",
    "head is gone": "DELETE FROM holdfast_heads",
    "version is gone": "DELETE FROM holdfast_schema",
    "version is a word": "UPDATE holdfast_schema SET version = 'x'",
    "policy is not JSON": "UPDATE holdfast_players SET policy = 'x'",
    "policy is none": "UPDATE holdfast_players SET policy = '{}'",
    "policy has no functions": """UPDATE holdfast_players SET policy = '{"policy": {"policy": "exp3"}}'""",
    "options are not JSON": "UPDATE holdfast_players SET options = 'x'",
    "options are others": """UPDATE holdfast_players SET options = '{"a": 1}'""",
    "sums of blocks are not JSON": "UPDATE holdfast_blocks SET parts = 'x'",
    "sums of arms are no numbers": """UPDATE holdfast_arms SET parts = '["x"]'""",
    "what was paid is not a list": "UPDATE holdfast_heads SET paid = '7'",
    "sums of blocks are not finite": "UPDATE holdfast_blocks SET parts = '[nan]'",
    "sums of arms are not finite": "UPDATE holdfast_arms SET parts = '[inf, -inf]'",
    "a count of rounds is a word": "UPDATE holdfast_blocks SET told = 'x'",
    "a count of an arm is a word": "UPDATE holdfast_arms SET told = 'x'",
    "time is a word": "UPDATE holdfast_heads SET clock = 'x'",
    "a probability is a word": "UPDATE holdfast_blocks SET probability = 'x'",
    "a loss is a word": "UPDATE holdfast_tells SET loss = 'x'",
    "a sum is a number": "UPDATE holdfast_blocks SET parts = 7",
    "a name is a number": "UPDATE holdfast_arms SET name = x'00'",
    "a count is not whole": "UPDATE holdfast_heads SET asked = 2.5",
    "a count of an ask is a word": "UPDATE holdfast_asks SET handed = 'x'",
    "there is no such arm": "UPDATE holdfast_blocks SET arm = 9",
    "there is no such current arm": "UPDATE holdfast_heads SET arm = 9",
    "an index is gone": "DROP INDEX holdfast_blocks_open",
    "a table is gone": "DROP TABLE holdfast_tells",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_edited_store_is_refused(folder, damage):
    url = f"sqlite:///{folder}/g.db"
    with hf.open(url, "game", SWITCH, seed=1) as router:
        play(router, 20)
        out = router.ask(3)
    connection = sqlite3.connect(folder / "g.db")
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()

    def go_on():
        with hf.open(url, "game") as router:
            repr(router)
            router.open_decisions  # noqa: B018  # it reads what the others do not
            router.tell([(d.id, 0.5) for d in out])
            router.ask(20)
            router.history.totals  # noqa: B018  # it reads what the others do not

    with pytest.raises((hf.StoreError, hf.SomeRefused), match=r"damaged|gone|not Holdfast's|compacted"):
        go_on()


@pytest.mark.parametrize("damage", ["policy is not JSON", "policy is none", "options are not JSON"])
def test_an_edited_store_is_refused_to_who_gives_the_policy(folder, damage):
    url = f"sqlite:///{folder}/g.db"
    hf.open(url, "game", SWITCH, seed=1).close()
    connection = sqlite3.connect(folder / "g.db")
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()
    with pytest.raises(hf.BadStore, match="damaged: the settings of player 'game' cannot be read"):
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
