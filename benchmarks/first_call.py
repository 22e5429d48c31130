"""Measure the first call of a process: with an empty cache of machine code, and with a full one.

    python benchmarks/first_call.py [--against PATH] [--repeat N]

Each measurement is a process of its own; PATH is the `src` folder of another version, measured in turns with this one
so that both see the same machine. Wall time is what a user waits; processor time is steadier on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OWN = Path(__file__).parents[1] / "src"

ASK = """
import holdfast as hf
player = hf.TsallisSwitch(8, switching_cost=1.0).player(seed=1)
player.ask()
player.tell(0.5)
"""
SIMULATE = """
import holdfast as hf
hf.simulate(
    hf.TsallisSwitch(8, switching_cost=1.0), hf.Bernoulli.with_gap(8, 0.1), horizon=1000, switching_cost=1.0,
    replications=100,
)
"""
CALLS = {"import": "import numba, numpy", "ask and tell": ASK, "simulate": SIMULATE}


def measured(source: Path, program: str, cache: str) -> tuple[float, float]:
    """Wall and processor seconds of a process."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    arguments = argparse.ArgumentParser(description="What the first call of a process costs.")
    arguments.add_argument("--against", type=Path, help="the src folder of another version")
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()
    sources = {"here": OWN} | ({"there": given.against.resolve()} if given.against else {})
    seen: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for _ in range(given.repeat):
        for name, program in CALLS.items():
            for place, source in sources.items():
                with tempfile.TemporaryDirectory() as cache:
                    for cached in ("empty", "full"):
                        seen.setdefault((name, cached, place), []).append(measured(source, program, cache))
    print(f"{'call':14}{'cache':7}" + "".join(f"{place:>20}" for place in sources) + f"{'ratio':>16}")
    print(f"{'':21}" + f"{'wall s':>12}{'cpu s':>8}" * len(sources) + f"{'wall':>10}{'cpu':>6}")
    for name in CALLS:
        for cached in ("empty", "full"):
            best = [
                tuple(statistics.median(column) for column in zip(*seen[name, cached, place], strict=True))
                for place in sources
            ]
            numbers = "".join(f"{wall:12.2f}{cpu:8.2f}" for wall, cpu in best)
            ratio = f"{best[0][0] / best[1][0]:10.2f}{best[0][1] / best[1][1]:6.2f}" if len(best) > 1 else ""
            print(f"{name:14}{cached:7}{numbers}{ratio}")


if __name__ == "__main__":
    main()
