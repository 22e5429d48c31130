"""Attack games in a store for a while, and compute each of them again by an independent checker.

    python scripts/attack_store.py sqlite --seconds 3600
    python scripts/attack_store.py postgresql --seconds 3600     (a private server, started and stopped here)

One game after the other, each with another policy, patience, and number of processes and threads: workers ask, repeat
requests, hold conversations, and tell losses in time, late, twice or never, while they are killed with SIGKILL,
settings and arms change, arms are paused and pinned, rows are compacted, and the store is backed up and restored; in
some games a part of the blocks is a rule's, arms have shares, or there is a budget of switches. Then
`tests/decisions/checker.py` computes the game again.
A violation ends the run, and leaves the files where they are.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import holdfast as hf

sys.path.extend(str(Path(__file__).parents[1] / "tests" / room) for room in ("decisions", "oracles"))

from attack import Trial, attack
from places import fresh_database
from postgres_server import PrivateServer, binaries

POLICIES = [
    hf.AdaptiveTsallisSwitch(3, switching_cost=1.5),
    hf.AdaptiveTsallisSwitch(5, switching_cost=0.2),
    hf.TsallisSwitch(arms=["a", "b", "c"], switching_cost=1.5),
    hf.TsallisSwitch(arms=["a", "b", "c", "d"], switching_cost=0.7, estimator="reduced-variance"),
    hf.TsallisSwitch(3, switching_cost=40.0, units=(-64.0, 64.0)),
    hf.TsallisInf(arms=["a", "b", "c"]),
    hf.Exp3(arms=["a", "b"]),
    hf.BlockExp3(3, switching_cost=0.5, horizon=10**6),
    hf.BaSE(3, horizon=10**6, order="random"),
]
LIVE = ("kill", "kill", "rest", "operate", "operate", "change", "change", "deploy", "compact", "save", "put_back")


def random_trial(chance: random.Random, store: str) -> Trial:
    """One of many ways to play."""
    policy = chance.choice(POLICIES)
    patience: Any = chance.choice(
        ["forever", "auto", timedelta(seconds=chance.uniform(0.02, 0.5)), chance.randint(1, 100)]
    )
    if policy.waits_for_losses:
        patience = timedelta(seconds=0.03)
    missing = chance.choice(["highest", "mean", sum(policy.bounds) / 4, "mean" if policy.waits_for_losses else "drop"])
    arms = list(policy.arms or range(policy.n_arms))
    some = dict.fromkeys(arms[:1], 0.1) | dict.fromkeys(arms[2:3], (0.02, 0.9, "5s"))
    limits: list[dict[str, Any]] = [{}, {"share": some}, {"most_switches": (2, "1s")}, {"most_switches": (20, "5s")}]
    guarded = chance.random() < 0.7  # by all that go together
    held, (low, high) = chance.choice([0.0, 0.1, 0.5, 1.0]), policy.bounds
    level = low + chance.choice([0.6, 0.9]) * (high - low)
    pause = timedelta(seconds=chance.uniform(0.02, 0.3))
    breaker = hf.Breaker(failures=chance.randint(1, 4), within=8, pause=pause, most="1s", level=level)
    return Trial(
        policy,
        patience,
        missing,
        remember=chance.choice([0, 50, 500, 10**6]),
        holdback=0.0 if policy.waits_for_losses else held,
        breaker=chance.choice([None, breaker][guarded:]) if held < 1.0 else None,
        keys=0 if policy.waits_for_losses else chance.choice([0, 5, 40][guarded:]),
        learn_after=chance.choice([None, 1, 2, 5]),
        move_cost=None if policy.waits_for_losses else chance.choice([None, 0.1, 1.0][guarded:]),
        **chance.choice(limits[guarded:] if held < 1.0 else limits[:1]),
        processes=chance.randint(1, 4),
        threads=chance.randint(1, 4),
        mischief=chance.choice(
            [LIVE, (*LIVE, "copy_closed") if store == "sqlite" else LIVE, ("kill", "change", "deploy"), ()]
        ),
        every=chance.choice([0.1, 0.5, 2.0]),
    )


def main() -> None:
    """Attack, and print what it came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=["sqlite", "postgresql"])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--each", type=float, default=10.0, help="seconds that one game is attacked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="where the files lie; memory by default")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="holdfast-attack-", dir=options.folder or memory))
    chance, until = random.Random(options.seed), time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    worst, number = 0.0, 0
    server = PrivateServer().start() if options.store == "postgresql" else None
    try:
        while time.monotonic() < until:
            number += 1
            trial, place = random_trial(chance, options.store), folder / str(number)
            place.mkdir()
            url = f"sqlite:///{place}/games.db" if server is None else fresh_database(server)
            try:
                checker, attacked = attack(url, trial, place, options.each, seed=options.seed * 10**6 + number)
            except BaseException:
                if server is not None:
                    dump = [binaries() / "pg_dump", f"--dbname={url}", f"--file={place}/games.sql"]
                    subprocess.run(dump, check=False)
                print(f"game {number}, kept in {place}: {trial}", file=sys.stderr)
                raise
            worst = max(worst, checker.worst)
            counts += Counter(attacked.done) + Counter(calls=len(attacked.calls()), rounds=checker.asked)
            counts += Counter(restores=len(attacked.restores), blocks=len(checker.blocks), missing=checker.missing)
            counts["trips"] += checker.trips
            shutil.rmtree(place)
        folder.rmdir()
    finally:
        if server is not None:
            server.stop()
    print(json.dumps({"store": options.store, "games": number, **counts, "worst error of p": worst}))


if __name__ == "__main__":
    main()
