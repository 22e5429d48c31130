"""Measure breakers in worlds with outages: requests lost, false trips, and cost, with and without one.

    python benchmarks/breakers.py [--replications 4] [--horizon 4000] [--policy tracking]

The worlds of `outages.py`, played by a router in memory, one request a second, λ = 0.3. Of a request to an arm that
is down nothing is heard for ten seconds, and then that it failed; any other fails with 1 in 100, at once, or loses 0 or
1 by the mean of its arm. Each line: the mean cost above that of the best arm available in each round, switches
included, with its standard error; requests to arms that were down; trips, and false ones, of an arm that was up.
`told` is told at once which arms are up (`ask(available=...)`): no breaker can be better.
"""

import argparse
import math
from collections import deque
from statistics import mean, stdev
from typing import Any

import numpy as np
from outages import MEANS, best_arm_once, never, short

import holdfast as hf

ARMS = [str(arm) for arm in range(len(MEANS))]
COST, TIMEOUT, BACKGROUND = 0.3, 10, 0.01
WORLDS = {
    "no outage": never,
    "short: 20 s in 1,000, each arm": short,
    "the best arm, for a quarter": best_arm_once,
}
POLICIES = {
    "tracking": lambda: hf.TrackingSwitch(arms=ARMS, switching_cost=COST),
    "adaptive": lambda: hf.AdaptiveTsallisSwitch(arms=ARMS, switching_cost=COST),
}
BREAKERS = {
    "none": False,
    "5 of 20, 30 s to 10 m": hf.Breaker(),
    "2 of 5, 10 s to 2 m": hf.Breaker(failures=2, within=5, pause="10s", most="2m"),
    "told": False,
}


def play(policy: hf.Policy, breaker: Any, up: np.ndarray, seed: int, told: bool) -> tuple[float, int, int, int]:
    """Return the cost above the best arm available, requests lost, trips and false ones."""
    now, rng = 0.0, np.random.default_rng(seed)
    router = hf.open("memory:", "game", policy, seed=seed, breaker=breaker, clock=lambda: now)
    late: deque[tuple[int, str]] = deque()
    cost, lost, last = 0.0, 0, None
    for t, there in enumerate(up):
        now = float(t)
        while late and late[0][0] <= t:
            router.tell(late.popleft()[1], failed=True)
        available = [name for name, is_up in zip(ARMS, there, strict=True) if is_up] if told and there.any() else None
        decision = router.ask(available=available)
        arm = int(decision.arm)
        best = MEANS[there].min() if there.any() else 1.0
        cost += (MEANS[arm] if there[arm] else 1.0) - best + COST * (arm != last)
        last, chance = arm, rng.random(2)
        if not there[arm]:
            late.append((t + TIMEOUT, decision.id))
            lost += 1
        elif chance[0] < BACKGROUND:
            router.tell(decision.id, failed=True)
        else:
            router.tell(decision.id, float(chance[1] < MEANS[arm]))
    trips = [one for one in router.history.changes if one["kind"] == "trip"]
    recent = [up[max(int(one["at"]) - TIMEOUT - 1, 0) : int(one["at"]) + 1, int(one["detail"]["arm"])] for one in trips]
    return cost, lost, len(trips), sum(bool(seen.all()) for seen in recent)


def main() -> None:
    """Print a line for each world, policy and breaker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=4_000)
    parser.add_argument("--policy", choices=POLICIES, help="this one only")
    options = parser.parse_args()
    print("| world | policy | breaker | cost | requests lost | trips | false |\n|---|---|---|---:|---:|---:|---:|")
    for world, make in WORLDS.items():
        paths = [make(np.random.default_rng(seed), options.horizon) for seed in range(options.replications)]
        for name, policy in (
            POLICIES.items() if options.policy is None else [(options.policy, POLICIES[options.policy])]
        ):
            for kind, breaker in BREAKERS.items():
                games = [play(policy(), breaker, up, seed, kind == "told") for seed, up in enumerate(paths)]
                costs, *counts = zip(*games, strict=True)
                error = stdev(costs) / math.sqrt(len(costs))
                shown = [f"{mean(costs):,.0f} ± {error:.0f}", *(f"{mean(count):,.1f}" for count in counts)]
                print("|", " | ".join([world, name, kind, *shown]), "|", flush=True)


if __name__ == "__main__":
    main()
