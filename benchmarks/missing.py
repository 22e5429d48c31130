"""Compare substitutes for a loss that never comes, in games in a store: `missing=` highest, mean and drop.

    python benchmarks/missing.py [--replications 5] [--horizon 4000]

Four arms lose 0.2, 0.3, 0.4, 0.5 on average (Bernoulli), λ = 0.3, losses come at once, patience is 50 rounds. Either
messages are lost, whatever the arm: the loss was as it was. Or an arm fails and says nothing: then the round lost 1.

Cells: mean regret with switching cost, its standard error, and in brackets the rounds that an arm failed silently.
"""

import argparse
from statistics import mean, stdev

import numpy as np

import holdfast as hf

MEANS, COST = np.array([0.2, 0.3, 0.4, 0.5]), 0.3

Silent = tuple[float, tuple[float, ...], float]
"""Share of messages lost; share of rounds in which each arm fails silently; part of the game after which it does."""

WORLDS: dict[str, Silent] = {
    "every loss comes": (0.0, (0, 0, 0, 0), 0.0),
    "1 % of messages lost": (0.01, (0, 0, 0, 0), 0.0),
    "10 % of messages lost": (0.1, (0, 0, 0, 0), 0.0),
    "40 % of messages lost": (0.4, (0, 0, 0, 0), 0.0),
    "the best arm times out in 5 %": (0.0, (0.05, 0, 0, 0), 0.0),
    "the best arm times out in 30 %": (0.0, (0.3, 0, 0, 0), 0.0),
    "the best arm dies half-way": (0.0, (1, 0, 0, 0), 0.5),
    "each arm times out in 10 %": (0.0, (0.1, 0.1, 0.1, 0.1), 0.0),
}
POLICIES = {
    "adaptive": hf.AdaptiveTsallisSwitch(4, switching_cost=COST),
    "tracking": hf.TrackingSwitch(4, switching_cost=COST),
}


def play(policy: hf.Policy, missing: str, world: Silent, T: int, seed: int) -> tuple[float, int]:
    """Regret with switching cost, and the rounds in which the arm failed silently."""
    lost, fails, after = world
    chance = np.random.default_rng(seed)
    draws, gone = chance.random((T, 4)) < MEANS, chance.random(T) < lost
    silent = (chance.random((T, 4)) < fails) & (np.arange(T) >= after * T)[:, None]
    router = hf.open("memory:", "game", policy, seed=seed, patience=50, missing=missing)
    arms = np.zeros(T, dtype=int)
    for t in range(T):
        decision = router.ask()
        arms[t] = int(decision.arm)
        if not gone[t] and not silent[t, arms[t]]:
            router.tell(decision.id, float(draws[t, arms[t]]))
    expected = np.where(np.arange(T)[:, None] >= after * T, MEANS + np.array(fails) * (1 - MEANS), MEANS)
    regret = expected[np.arange(T), arms].sum() - expected.min(axis=1).sum() + COST * router.switches
    return float(regret), int((silent[np.arange(T), arms]).sum())


def main() -> None:
    """Print a table for each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=5)
    parser.add_argument("--horizon", type=int, default=4000)
    options = parser.parse_args()
    kinds = ("highest", "mean", "drop")
    for name, policy in POLICIES.items():
        print(f"| {name} | {' | '.join(kinds)} |\n|---|---|---|---|")
        for title, world in WORLDS.items():
            cells = []
            for missing in kinds:
                found = [play(policy, missing, world, options.horizon, seed) for seed in range(options.replications)]
                costs = [cost for cost, _ in found]
                error = stdev(costs) / len(costs) ** 0.5
                cells.append(f"{mean(costs):.0f} ± {error:.0f} ({mean(dead for _, dead in found):.0f})")
            print(f"| {title} | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
