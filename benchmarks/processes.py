"""Several processes on one SQLite file, each asking and telling in a closed loop: waiting, fairness, throughput.

    python benchmarks/processes.py [--folder /dev/shm]

For one process and for eight: rounds per second, how long an ask waits, and the fewest and most rounds that processes
had done when the first was finished. All losses must count.
"""

import argparse
import multiprocessing
import tempfile
import time
from typing import Any

import holdfast as hf

POLICY = hf.AdaptiveTsallisSwitch(arms=["a", "b", "c"], switching_cost=0.3)


def work(url: str, rounds: int, ready: Any, answers: Any) -> None:
    """Ask and tell at once; how long asks took, and when each round was done."""
    router = hf.open(url, "game", POLICY)
    ready.wait()
    asks, ends, begun = [], [], time.perf_counter()
    for _ in range(rounds):
        asked = time.perf_counter()
        decision = router.ask()
        asks.append(time.perf_counter() - asked)
        router.tell(decision.id, 0.3)
        ends.append(time.perf_counter() - begun)
    answers.put((asks, ends))


def measured(processes: int, rounds: int, folder: str | None) -> dict[str, float]:
    """Play `rounds` in each process."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        url = f"sqlite:///{place}/games.db"
        hf.open(url, "game", POLICY).close()
        ready, answers = multiprocessing.Barrier(processes), multiprocessing.Queue()
        workers = [multiprocessing.Process(target=work, args=(url, rounds, ready, answers)) for _ in range(processes)]
        for worker in workers:
            worker.start()
        found = [answers.get() for _ in workers]
        for worker in workers:
            worker.join()
        totals = hf.open(url, "game").history.totals
    assert (totals.told, totals.missing) == (processes * rounds, 0)
    asks, first = sorted(ask for asks, _ in found for ask in asks), min(ends[-1] for _, ends in found)
    done = [sum(end <= first for end in ends) for _, ends in found]
    return {
        "per second": len(asks) / max(ends[-1] for _, ends in found),
        "p50 ms": 1e3 * asks[len(asks) // 2],
        "p99 ms": 1e3 * asks[int(0.99 * len(asks))],
        "max ms": 1e3 * asks[-1],
        "fewest": min(done),
        "most": max(done),
    }


def main() -> None:
    """Print both, and the ratio of their throughputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=500, help="of each of several; one alone plays twice as many")
    parser.add_argument("--folder", help="where the file lies")
    options = parser.parse_args()
    alone = measured(1, 2 * options.rounds, options.folder)
    together = measured(options.processes, options.rounds, options.folder)
    for name, value in alone.items():
        print(f"{name:>12}: {value:10.1f} alone {together[name]:10.1f} together")
    print(f"{'throughput':>12}: {together['per second'] / alone['per second']:10.2f} times one process's")


if __name__ == "__main__":
    main()
