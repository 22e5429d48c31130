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
    "state is older": "UPDATE holdfast_states SET version = 1",
    "state is gone": "DELETE FROM holdfast_states",
    "stream is short": """UPDATE holdfast_states SET data = replace(data, '"stream": [', '"stream": [-1, ')""",
    "arms are gone": "DELETE FROM holdfast_arms",
    "blocks are not JSON": "UPDATE holdfast_blocks SET data = '['",
    "blocks have no arm": """UPDATE holdfast_blocks SET data = replace(data, '"arm"', '"harm"')""",
    "current block is gone": "DELETE FROM holdfast_blocks",
    "head is gone": "DELETE FROM holdfast_heads",
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
            router.tell([(d.id, 0.5) for d in out])
            router.ask(20)

    with pytest.raises((hf.StoreError, hf.SomeRefused), match=r"damaged|gone|no such table|compacted"):
        go_on()
