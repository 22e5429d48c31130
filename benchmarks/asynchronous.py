"""Decisions from an event loop, and with a deadline, against plain calls.

    python benchmarks/asynchronous.py [--rounds 400] [--postgresql]

Each line is the time of one ask and tell, and its ratio to plain calls one after the other. `psycopg` is what the same
transactions cost on one connection of psycopg's own async: the row of a game is locked by one transaction at a time, so
more connections do not help, and what waits together is written together only by a queue like the one that is used.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import holdfast as hf

sys.path.append(str(Path(__file__).parents[1] / "tests" / "decisions"))

POLICY = hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=1.0)
TOGETHER = 100


def plain(router: hf.Router, rounds: int) -> None:
    for _ in range(rounds):
        router.tell(router.ask().id, 0.5)


def with_deadline(router: hf.Router, rounds: int) -> None:
    for _ in range(rounds):
        router.tell(router.ask(deadline=10.0).id, 0.5, deadline=10.0)


def one_by_one(router: hf.Router, rounds: int) -> None:
    async def play() -> None:
        for _ in range(rounds):
            await router.atell((await router.aask()).id, 0.5)

    asyncio.run(play())


def together(router: hf.Router, rounds: int) -> None:
    async def one() -> None:
        await router.atell((await router.aask()).id, 0.5)

    async def play() -> None:
        for _ in range(rounds // TOGETHER):
            await asyncio.gather(*(one() for _ in range(TOGETHER)))

    asyncio.run(play())


def in_default_threads(router: hf.Router, rounds: int) -> None:
    async def one() -> None:
        decision = await asyncio.to_thread(router.ask)
        await asyncio.to_thread(router.tell, decision.id, 0.5)

    async def play() -> None:
        for _ in range(rounds // TOGETHER):
            await asyncio.gather(*(one() for _ in range(TOGETHER)))

    asyncio.run(play())


KINDS = {
    "plain": plain,
    "with a deadline": with_deadline,
    "async, one by one": one_by_one,
    f"async, {TOGETHER} at a time": together,
    f"asyncio.to_thread, {TOGETHER} at a time": in_default_threads,
}


def psycopg_async(url: str, rounds: int) -> float:
    """Seconds for a locked read and a write of one row, with commit, on psycopg's async connection."""
    import psycopg

    async def play() -> float:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("CREATE TABLE IF NOT EXISTS one (id INT PRIMARY KEY, n BIGINT)")
            await connection.execute("INSERT INTO one VALUES (1, 0) ON CONFLICT DO NOTHING")
            begun = time.perf_counter()
            for _ in range(2 * rounds):
                async with connection.transaction():
                    await connection.execute("SELECT n FROM one WHERE id = 1 FOR UPDATE")
                    await connection.execute("UPDATE one SET n = n + 1 WHERE id = 1")
            return (time.perf_counter() - begun) / rounds

    return asyncio.run(play())


def measure(url: str, rounds: int) -> None:
    router = hf.open(url, "game", POLICY, seed=1)
    plain(router, 200)
    seconds: dict[str, list[float]] = {name: [] for name in KINDS}
    for _ in range(5):
        for name, play in KINDS.items():
            begun = time.perf_counter()
            play(router, rounds)
            seconds[name].append((time.perf_counter() - begun) / rounds)
    base = statistics.median(seconds["plain"])
    for name, found in seconds.items():
        median = statistics.median(found)
        print(f"  {name:40s} {1e6 * median:8.0f} µs   {median / base:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--postgresql", action="store_true", help="a private server too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("SQLite")
        measure(f"sqlite:///{folder}/games.db", options.rounds)
    if options.postgresql:
        from postgres_server import PrivateServer

        with PrivateServer(parent=tempfile.gettempdir()) as server:
            print("PostgreSQL")
            measure(server.url, options.rounds)
            print(f"  {'psycopg, bare locked update':40s} {1e6 * psycopg_async(server.url, options.rounds):8.0f} µs")


if __name__ == "__main__":
    main()
