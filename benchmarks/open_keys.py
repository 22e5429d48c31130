"""Measure a call of a conversation while many are open, next to a call of a game without any.

    python benchmarks/open_keys.py [sqlite|postgresql] [--keys 100000]     (a private server, started and stopped here)

Prints microseconds of ask and tell (the least of nine means over 200 calls), and their ratio.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import holdfast as hf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "decisions"))

from postgres_server import PrivateServer

EACH = hf.TsallisInf(arms=["a", "b", "c", "d"])
TOGETHER = 250
"""Conversations that are begun in one transaction."""


def least(works: Sequence[Callable[[int], None]], calls: int = 200, times: int = 9) -> list[float]:
    """Microseconds of a call of each, in turns, so that all have the same neighbours on the machine."""
    found = np.zeros((times, len(works)))
    for turn in range(times):
        for place, work in enumerate(works):
            begun = time.perf_counter()
            for number in range(calls):
                work(turn * calls + number)
            found[turn, place] = (time.perf_counter() - begun) / calls
    return (1e6 * found.min(axis=0)).tolist()


def measured(url: str, keys: int) -> str:
    plain, keyed = hf.open(url, "plain", EACH, seed=1), hf.open(url, "keyed", EACH, seed=1)

    async def begin() -> None:
        for first in range(0, keys, TOGETHER):
            names = (f"conversation {number}" for number in range(first, min(first + TOGETHER, keys)))
            await asyncio.gather(*(keyed.aask(key=name) for name in names))

    asyncio.run(begin())

    def game(_: int) -> None:
        plain.tell(plain.ask().id, 0.5)

    def conversation(number: int) -> None:
        key = f"conversation {number * 7919 % keys}"
        keyed.tell(keyed.ask(key=key).id, 0.5)

    alone, among = least([game, conversation])
    return f"{keys:,} open: game {alone:.0f} µs, conversation {among:.0f} µs, ratio {among / alone:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=["sqlite", "postgresql"], nargs="?", default="sqlite")
    parser.add_argument("--keys", type=int, default=100_000)
    options = parser.parse_args()
    if options.store == "postgresql":
        server = PrivateServer().start()
        try:
            print(f"{options.store}: {measured(server.url, options.keys)}")
        finally:
            server.stop()
        return
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        print(f"{options.store}: {measured(f'sqlite:///{folder}/keys.db', options.keys)}")


if __name__ == "__main__":
    main()
