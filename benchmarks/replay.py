"""Best plans in hindsight: time against one NumPy pass over the table, its growth in T and K, and memory.

    python benchmarks/replay.py [--largest 1e7]

One pass is `table.sum()`, which reads every loss once. The last line maps the largest table from a file instead, in a
process of its own, and gives the peak memory of that process (on Linux; pages of the file count while they are held).
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import holdfast as hf
from holdfast.bench.clock import seconds
from holdfast.replays.plans import hindsight

LAMBDAS = (0.1, 0.35, 1.0)
LIMITS = (1, 2, 5, 10)

MAPPED = """
import sys
import numpy as np
import holdfast as hf
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
table = np.load(sys.argv[1], mmap_mode="r")
hf.best_plan(np.zeros((300, 2)), 1.0)
begun = peak()
hf.best_plan(table, 1.0)
print(begun, peak())
"""


def line(rounds: int, n_arms: int, table: np.ndarray) -> None:
    """Times of one table."""
    repetitions = 1 if rounds > 10**6 else 3
    one_pass = seconds(lambda: table.sum(), 3)
    plan = seconds(lambda: hf.best_plan(table, 1.0), repetitions)
    all_plans = seconds(lambda: hindsight(table, LAMBDAS, LIMITS), repetitions)
    print(
        f"| {rounds:.0e} | {n_arms} | {one_pass:.4f} s | {plan:.3f} s | {plan / one_pass:.0f} "
        f"| {1e9 * plan / rounds / n_arms:.2f} ns | {all_plans:.2f} s | {all_plans / one_pass:.0f} |",
        flush=True,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--largest", type=float, default=1e7)
    largest = int(arguments.parse_args().largest)
    rng = np.random.default_rng(1)
    print("| T | K | one pass | best plan | passes | per loss | 3 λ and 10 limits | passes |")
    print("|---|---|---|---|---|---|---|---|")
    for rounds in (largest // 100, largest // 10, largest):
        line(rounds, 16, rng.random((rounds, 16)))
    for n_arms in (2, 8, 32, 128):
        line(largest // 10, n_arms, rng.random((largest // 10, n_arms)))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory with the tables in memory: {held:.2f} GiB")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npy"
        mapped = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(largest, 16))
        for first in range(0, largest, 10**5):
            mapped[first : first + 10**5] = rng.random((min(10**5, largest - first), 16))
        size = mapped.nbytes / 2**20
        del mapped
        done = subprocess.run([sys.executable, "-c", MAPPED, file], capture_output=True, text=True, check=True)
        begun, peak = (int(number) / 2**10 for number in done.stdout.split())
    print(f"mapped from a file of {size:.0f} MiB: {peak - begun:.0f} MiB above {begun:.0f}, pages of the file included")


if __name__ == "__main__":
    main()
