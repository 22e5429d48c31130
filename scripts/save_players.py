"""Save a player of every policy, for the test that later versions go on with them: tests/saves/<version>.json.

python scripts/save_players.py
"""

import json
import sys
from pathlib import Path

import holdfast

TESTS = Path(__file__).parents[1] / "tests"
ROUNDS = (61, 700)
AFTERWARDS = 100


def main() -> None:
    sys.path[:0] = [str(TESTS / "support"), str(TESTS / "oracles")]
    from every_policy import EVERY, Game

    saves = {}
    for name, case in EVERY.items():
        for rounds in ROUNDS:
            game = Game(case).play(rounds)
            saved, block = json.loads(game.player.save()), game.n
            arms = game.play(rounds + AFTERWARDS).arms[rounds : rounds + AFTERWARDS]
            saves[f"{name} @ {rounds}"] = {"saved": saved, "block": block, "round": rounds, "arms": arms}
    lines = (f"{json.dumps(name)}: {json.dumps(save)}" for name, save in saves.items())
    file = TESTS / "saves" / f"{holdfast.__version__}.json"
    with file.open("x", encoding="utf-8") as saved_by_release:  # what a release has saved is never changed
        saved_by_release.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
