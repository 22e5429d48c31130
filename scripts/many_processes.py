"""Eight processes, ten thousand decisions each, on one game: no round too few, every id once, every total exact.

python scripts/many_processes.py sqlite
python scripts/many_processes.py postgresql     (a private server, started and stopped here)

With --mixed, a fifth of the blocks is a rule's, some rounds are conversations, and arms are paused and pinned.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import holdfast as hf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "decisions"))

from postgres_server import PrivateServer
from together import all_exact, together


def main() -> None:
    """Play, check and print what it came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=["sqlite", "postgresql"])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=10_000, help="decisions of each process")
    parser.add_argument("--folder", help="where the files lie; memory by default")
    parser.add_argument("--mixed", action="store_true", help="with conversations, a rule, pauses and pins")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=options.folder or memory) as folder:
        server = PrivateServer().start() if options.store == "postgresql" else None
        url = f"sqlite:///{folder}/games.db" if server is None else server.url
        begun = time.monotonic()
        try:
            policy, share = hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5), 0.2 * options.mixed
            with hf.open(url, "game", policy, seed=1, patience="forever", holdback=share) as router:
                rounds = options.processes * options.rounds

                def meanwhile() -> None:
                    while options.mixed and router.rounds < 0.9 * rounds:
                        router.pause("ab"[router.rounds % 2], until=timedelta(seconds=0.05))
                        router.pin("abc"[router.rounds % 3], until=timedelta(seconds=0.01))
                        time.sleep(0.1)

                done = together(url, options.processes, options.rounds, meanwhile, options.mixed)
                for key in {block.key for block in router.history.blocks() if block.live}:
                    router.end(key)
                changes = len(router.history.changes)
            all_exact(url, done, rounds)
        finally:
            if server is not None:
                server.stop()
    result = {"store": options.store, "processes": options.processes, "rounds": rounds, "changes": changes}
    print(json.dumps({**result, "seconds": round(time.monotonic() - begun)}))


if __name__ == "__main__":
    main()
