"""The page of a game with 10⁶ blocks: how long it takes to come, and until all of the game is in its charts.

    python benchmarks/long_game.py [--blocks 1000000] [--folder DIR]

The blocks are written into a SQLite file by SQL, as copies of a block that was played.
"""

import argparse
import http.client
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import holdfast as hf


def lengthen(file: Path, blocks: int) -> None:
    """More blocks of five rounds for the one game of a store, all settled."""
    chance, rounds = random.Random(1), 5
    with sqlite3.connect(file) as database:
        database.row_factory = sqlite3.Row
        last = dict(database.execute("SELECT * FROM holdfast_blocks ORDER BY number DESC LIMIT 1").fetchone())
        begun, asked = last["number"], last["first"] + last["rounds"]

        def rows() -> Iterator[dict[str, Any]]:
            arm = 0
            for i in range(blocks):
                arm = chance.randrange(3) if chance.random() < 0.2 else arm
                total = sum(chance.random() for _ in range(rounds))
                yield last | {
                    "number": begun + i + 1, "arm": arm, "rounds": rounds, "first": asked + rounds * i, "told": rounds,
                    "losses": json.dumps([total]), "total": total, "settled_order": begun + i + 1,
                    "settled_at": last["began"], "probability": chance.random(), "due": None,
                }  # fmt: skip

        database.executemany(
            f"INSERT INTO holdfast_blocks ({', '.join(last)}) VALUES ({', '.join(f':{name}' for name in last)})", rows()
        )
        end = begun + blocks
        database.execute(
            "UPDATE holdfast_heads SET (block, drawn, current, settled, asked, rounds, handed) = (?, ?, ?, ?, ?, ?, ?)",
            (end, end, end, end, asked + rounds * blocks, rounds, rounds),
        )
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=10**6)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        file, policy = Path(folder) / "games.db", hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3)
        with hf.open(f"sqlite:///{file}", "long", policy, seed=3, patience="forever") as router:
            for _ in range(40):
                router.tell([(decision.id, 0.5) for decision in router.ask(router.hold or 1)])
        lengthen(file, options.blocks)
        command = [sys.executable, "-m", "holdfast", "serve", f"sqlite:///{file}", "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            web = http.client.HTTPConnection("127.0.0.1", int(server.stdout.readline().rsplit(":", 1)[1]))
            begun, taken, whole = time.perf_counter(), [], False
            while not whole or len(taken) < 12:
                before = time.perf_counter()
                web.request("GET", "/games/long")
                page = web.getresponse().read()
                taken.append(time.perf_counter() - before)
                if not whole and b"data-again" not in page:
                    whole = True
                    print(f"all {options.blocks:,} blocks in the charts after {time.perf_counter() - begun:.2f} s")
            print(f"first page {taken[0]:.2f} s, the longest {max(taken):.2f} s, the last {taken[-1]:.2f} s")
            print(f"{len(page) / 1e3:.0f} kB")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
