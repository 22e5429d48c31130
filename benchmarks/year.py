"""A year of a gateway in a SQLite file: do file and process stop growing, do calls stay as quick?

    python benchmarks/year.py [--keep 4000] [--rounds 40000] [--folder /dev/shm]

λ = 0, so that each round is a block, and a day has 400 rounds. What is kept is small, so that it is full after a tenth
of the run. Printed for each fifth: bytes of the file with its log, the most memory that the process ever had, the
median and the 99th percentile of ask and tell together. The last lines extrapolate: what a year comes to with the
default `keep`, whatever its traffic.
"""

import argparse
import itertools
import resource
import tempfile
import time
from pathlib import Path

import holdfast as hf
from holdfast.decisions.settings import KEEP

PER_DAY = 400


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=40_000)
    parser.add_argument("--folder", help="where the file lies")
    options = parser.parse_args()
    now = 1.8e9
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        policy = hf.AdaptiveTsallisSwitch(arms=list("abcdef"), switching_cost=0.0)
        settings = {"keep": options.keep, "remember": options.keep}
        router = hf.open(f"sqlite:///{folder}/year.db", "year", policy, clock=lambda: now, **settings)
        sizes, fifth = [], options.rounds // 5
        for part in range(5):
            spent = []
            for _ in range(fifth):
                now += 86400 / PER_DAY
                begun = time.perf_counter()
                decision = router.ask()
                router.tell(decision.id, 0.3)
                spent.append(time.perf_counter() - begun)
            spent.sort()
            sizes.append(sum(file.stat().st_size for file in Path(folder).iterdir()))
            times = f"p50 {1e3 * spent[fifth // 2]:.2f} ms, p99 {1e3 * spent[int(0.99 * fifth)]:.2f} ms"
            memory = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB of memory"
            print(f"{(part + 1) * fifth:>8,} rounds: {sizes[-1] / 1e6:.2f} MB, {memory}, {times}", flush=True)
        days = (options.rounds - fifth) / PER_DAY
        per_day = (sizes[-1] - sizes[0]) / days
        most = max(later - before for before, later in itertools.pairwise(sizes))
        print(f"growth: {per_day:.0f} bytes a day, {most:,} bytes at most in a fifth")
        print(f"a year with keep={KEEP:,}: {(sizes[0] * KEEP / options.keep + 365 * per_day) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
