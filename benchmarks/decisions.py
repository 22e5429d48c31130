"""Decisions that last, as ratios of one run: durable tells, many at once, fleets, and growth with rounds played.

    python benchmarks/decisions.py [--folder DIR] [--quick]

`--folder` is where files and the private PostgreSQL server lie: a disk, because memory has nothing to wait for.
"""

import argparse
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import holdfast as hf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "decisions"))

LONG = hf.BlockExp3(8, switching_cost=1000.0, horizon=10**6)
"""Blocks of thousands of rounds: what is timed is inside one."""

YOUNG = {
    "3 arms, adaptive": hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3),
    "8 arms, adaptive": hf.AdaptiveTsallisSwitch(8, switching_cost=1.0),
    "8 arms, the paper's": hf.TsallisSwitch(8, switching_cost=1.0),
}
"""Their first 704 rounds, but for the very first 64: blocks of a few rounds, so that many begin and end in one call."""


WANTED = {True: "x as fast (≥ 20)", False: "x as fast (≥ 8)"}
"""Inside a block, and in a game's first rounds."""


def line(what: str, value: str, ratio: str = "", wanted: str = "") -> None:
    print(f"  {what:78s} {value:>12s} {ratio:>6s}  {wanted}")


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def durable(name: str, url: str, bare: Callable[[], object], count: int) -> None:
    """A tell against a bare commit of one row, in turn; then 64 at once against one by one."""
    router = hf.open(url, "long", LONG, seed=1)
    decisions = router.ask(count + 5)
    for decision in decisions[:5]:
        router.tell(decision.id, 0.5)
        bare()
    alone, tells, asks = [], [], []
    for decision in decisions[5:]:
        alone.append(timed(bare))
        tells.append(timed(lambda decision=decision: router.tell(decision.id, 0.5)))
        asks.append(timed(router.ask))
    base = median(alone)
    line(f"{name}: a bare commit of one row", f"{base * 1e6:.0f} µs")
    line(f"{name}: tell", f"{median(tells) * 1e6:.0f} µs", f"{median(tells) / base:.2f}", "x (≤ 3)")
    line(f"{name}: ask", f"{median(asks) * 1e6:.0f} µs", f"{median(asks) / base:.2f}", "x")
    in_one_call(f"{name}, one block", [router], count // 20)
    router.close()
    for label, policy in YOUNG.items():
        games = [hf.open(url, f"{label} {seed}", policy, seed=seed) for seed in range(count // 60)]
        in_one_call(f"{name}, {label}", games, 5)
        by_age(f"{name}, {label}", url, policy, count // 20)


def in_one_call(name: str, games: list[hf.Router], count: int) -> None:
    """Sixty-four asks and tells one by one, and at once, in turn."""
    single, many, blocks = [], [], []
    for game in games:
        at_once(game)
        for _ in range(count):
            single.append(timed(lambda game=game: one_by_one(game)))
            begun = game.history.totals.blocks
            many.append(timed(lambda game=game: at_once(game)))
            blocks.append(game.history.totals.blocks - begun)
    ratio = f"{median(single) / median(many):.1f}"
    line(f"{name}: 64 one by one", f"{median(single) * 1e3:.1f} ms")
    what = f"{name}: 64 in one call, {median(blocks):.0f} blocks begun"
    line(what, f"{median(many) * 1e3:.2f} ms", ratio, WANTED[name.endswith("one block")])


def by_age(name: str, url: str, policy: hf.Policy, count: int) -> None:
    """The same, 64 rounds after 64 rounds from the first on: blocks are the shortest when a game begins."""
    pairs = [[hf.open(url, f"{name} {kind} {i}", policy, seed=i) for kind in ("single", "many")] for i in range(count)]
    ratios = []
    for _ in range(8):
        times = [(timed(lambda a=a: one_by_one(a)), timed(lambda b=b: at_once(b))) for a, b in pairs]
        single, many = map(median, zip(*times, strict=True))
        ratios.append(single / many)
    what = " ".join(f"{ratio:.1f}" for ratio in ratios)
    line(f"{name}: from round 0, 64, 128, …", what, "", WANTED[False])


def one_by_one(game: hf.Router) -> None:
    for decision in [game.ask() for _ in range(64)]:
        game.tell(decision.id, 0.5)


def at_once(game: hf.Router) -> None:
    game.tell([(decision.id, 0.5) for decision in game.ask(64)])


def sqlite(folder: Path, count: int) -> None:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b REAL)")
    durable(
        "SQLite", f"sqlite:///{folder}/games.db", lambda: connection.execute("INSERT INTO t (b) VALUES (0.5)"), count
    )
    connection.close()


def postgresql(folder: Path, count: int) -> None:
    import psycopg
    from postgres_server import PrivateServer, binaries

    if binaries() is None:
        line("PostgreSQL is not installed", "")
        return
    with PrivateServer(str(folder)) as server, psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a BIGSERIAL PRIMARY KEY, b DOUBLE PRECISION)")
        durable("PostgreSQL", server.url, lambda: connection.execute("INSERT INTO t (b) VALUES (%s)", (0.5,)), count)


def fleet(n: int) -> None:
    """Decisions of all games on one core, each one ask and one tell."""
    games = hf.Fleet(hf.TsallisSwitch(8, switching_cost=1.0), n, seed=1, workers=1)
    losses = np.random.default_rng(1).random(n)
    games.ask(np.arange(10))
    games.tell(losses[:10], np.arange(10))
    rounds = 10
    begun, busy = time.perf_counter(), time.process_time()
    for _ in range(rounds):
        games.ask()
        games.tell(losses)
    taken, busy = time.perf_counter() - begun, time.process_time() - busy
    line(f"fleet of {n:.0e} games, K = 8, λ = 1: decisions a second", f"{rounds * n / taken:.3g}", "", "(≥ 1e6)")
    line("    per second of the one core (others may use it too)", f"{rounds * n / busy:.3g}")
    line("    bytes per game", f"{games.bytes_per_game:.0f}", "", "(≤ 600)")


def growth(folder: Path, marks: list[int]) -> None:
    """Print the median time of an ask and a tell, and memory, after a number of rounds."""
    policy = hf.Exp3(8)  # a block for each round: what grows by blocks grows as fast as it can
    router = hf.open(f"sqlite:///{folder}/growth.db", "game", policy, seed=1, remember=5000)
    first = 0.0
    for mark in marks:
        while router.rounds < mark:
            router.tell([(d.id, 0.5) for d in router.ask(1000)])
        asks, tells = [], []
        for _ in range(300):
            begun = time.perf_counter()
            decision = router.ask()
            asked = time.perf_counter()
            router.tell(decision.id, 0.5)
            asks.append(asked - begun)
            tells.append(time.perf_counter() - asked)
        taken = median(asks) + median(tells)
        first = first or taken
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = sum(file.stat().st_size for file in folder.glob("growth.db*")) / 2**20
        what = f"after {mark:.0e} rounds: ask + tell; {peak:.0f} MiB of memory at most, {size:.1f} MiB of files"
        line(what, f"{taken * 1e6:.0f} µs", f"{taken / first:.2f}", "x the first")
    router.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=None, help="a folder on a disk")
    parser.add_argument("--quick", action="store_true", help="for a look, not for a record")
    options = parser.parse_args()
    count = 60 if options.quick else 300
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        os.chmod(name, 0o755)  # the server runs as another user
        folder = Path(name)
        print("Durable decisions")
        sqlite(folder, count)
        postgresql(folder, count)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        print("Growth with rounds played (SQLite in memory: the disk's share does not grow)")
        growth(Path(name), [1000, 10_000] if options.quick else [1000, 10_000, 100_000, 300_000])
    print("Many games")
    fleet(10**5 if options.quick else 10**6)


if __name__ == "__main__":
    main()
