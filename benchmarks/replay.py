"""Replays and best plans: time against one NumPy pass over the table, growth in T and K, and memory.

    python benchmarks/replay.py [--largest 1e7]

One pass is `table.sum()`, which reads every loss once. A replay is of the default policies with 100 replications at λ
= 1, on the whole table, its halves and quarters, with all plans; CPU seconds are those of all threads together. Then
the expected cost of `hedge-switch`, in one compiled pass and by a player that is asked and told in Python. The last
lines are of processes of their own: the largest table loaded from a file, or mapped, and the peak memory of the
process above what it had before, in tables (on Linux): with the pages of mapped files, which the system can take back,
and without.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from clock import seconds

import holdfast as hf
from holdfast.numerics.hindsight import hindsight
from holdfast.replays.games import expected_game

LAMBDAS = (0.1, 0.35, 1.0)
MOST_SWITCHES = 10

IN_A_PROCESS = """
import sys
import threading
import time
import numpy as np
import holdfast as hf
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
def play(table):
    if sys.argv[3] == "plan":
        return hf.best_plan(table, 1.0)
    return hf.replay(table, switching_cost=1.0)
play(np.random.default_rng(1).random((300, 2)))
begun = peak()
anonymous = [0]
def watch():
    while True:
        with open("/proc/self/status") as lines:
            anonymous[0] = max(anonymous[0], next(int(x.split()[1]) for x in lines if x.startswith("RssAnon")))
        time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
time.sleep(0.1)
own = anonymous[0]
table = np.load(sys.argv[1], mmap_mode="r" if sys.argv[2] == "mapped" else None)
play(table)
print(peak() - begun, anonymous[0] - own)
"""


def line(rounds: int, n_arms: int, table: np.ndarray) -> None:
    """Times of one table."""
    repetitions = 1 if rounds > 10**6 else 3
    one_pass = seconds(lambda: table.sum(), 3)
    plan = seconds(lambda: hf.best_plan(table, 1.0), repetitions)
    all_plans = seconds(lambda: hindsight(table, LAMBDAS, MOST_SWITCHES), repetitions)
    print(
        f"| {rounds:.0e} | {n_arms} | {one_pass:.4f} s | {plan:.3f} s | {plan / one_pass:.0f} "
        f"| {1e9 * plan / rounds / n_arms:.2f} ns | {all_plans:.2f} s | {all_plans / one_pass:.0f} |",
        flush=True,
    )


def replay_line(rounds: int, n_arms: int, table: np.ndarray) -> None:
    """Time of a whole replay of one table."""
    one_pass = seconds(lambda: table.sum(), 3)
    began, busy = time.perf_counter(), time.process_time()
    hf.replay(table, switching_cost=1.0)
    wall, cpu = time.perf_counter() - began, time.process_time() - busy
    print(
        f"| {rounds:.0e} | {n_arms} | {one_pass:.4f} s | {wall:.1f} s | {cpu:.1f} s | {cpu / one_pass:.0f} "
        f"| {1e9 * cpu / rounds:.0f} ns |",
        flush=True,
    )


def expected_line(n_arms: int) -> None:
    """Expected cost of a policy that sees all losses: one pass, and a player round by round."""
    table = np.random.default_rng(2).random((20_000, n_arms))
    policy = hf.AdaptiveHedgeSwitch(n_arms, switching_cost=1.0, forecast_rounds=0)

    def by_player() -> float:
        player, before, cost = policy.player(seed=1), np.zeros(n_arms), 0.0
        for row in table:
            player.ask()
            now = player.probabilities.copy()
            cost += now @ row + np.maximum(now - before, 0.0).sum()
            before = now
            player.tell(row)
        return cost

    game = expected_game(policy, table, [len(table)])
    assert np.isclose(game.losses[-1] + game.paid[-1], by_player())
    one, other = seconds(lambda: expected_game(policy, table, [len(table)]), 3), seconds(by_player, 1)
    print(
        f"expected cost of hedge-switch, {n_arms} arms: {1e9 * one / len(table):.0f} ns per round, by a player "
        f"{1e9 * other / len(table):.0f} ns: {other / one:.1f} times as long",
        flush=True,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--largest", type=float, default=1e7)
    largest = int(arguments.parse_args().largest)
    rng = np.random.default_rng(1)
    sizes = [(largest // 100, 16), (largest // 10, 16), (largest, 16)]
    sizes += [(largest // 10, n_arms) for n_arms in (2, 8, 32, 128)]
    print("| T | K | one pass | best plan | passes | per loss | 3 λ and 10 limits | passes |")
    print("|---|---|---|---|---|---|---|---|")
    for rounds, n_arms in sizes:
        line(rounds, n_arms, rng.random((rounds, n_arms)))
    hf.replay(rng.random((1000, 16)), switching_cost=1.0)  # compiles
    print("\n| T | K | one pass | replay | CPU | passes | per round |")
    print("|---|---|---|---|---|---|---|")
    for rounds, n_arms in sizes:
        replay_line(rounds, n_arms, rng.random((rounds, n_arms)))
    print()
    expected_line(8)
    expected_line(16)
    table = rng.random((largest, 16))
    began = time.perf_counter()
    hf.replay(table, switching_cost=LAMBDAS)
    print(f"\nthe largest table with three λ: {time.perf_counter() - began:.0f} s\n")
    del table
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npy"
        mapped = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(largest, 16))
        for first in range(0, largest, 10**5):
            mapped[first : first + 10**5] = rng.random((min(10**5, largest - first), 16))
        size = mapped.nbytes / 2**20
        del mapped
        for how in ("loaded", "mapped"):
            for what in ("plan", "replay"):
                words = [sys.executable, "-c", IN_A_PROCESS, file, how, what]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                peak, own = (int(number) / 2**10 / size for number in done.stdout.split())
                print(f"{what}, table of {size:.0f} MiB {how}: {peak:.2f} tables, {own:.2f} without mapped files")


if __name__ == "__main__":
    main()
