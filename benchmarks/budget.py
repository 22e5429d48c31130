"""What a budget of switches costs: in a steady world, and where the best arm changes.

Three arms that lose 0.3, 0.4 and 0.5, a request a second, λ = 0.1; in the second world they change places every 500
rounds. Of 3,000 rounds the switches, and the cost above that of the best arm in each round, switches included; means of
eight games with their standard errors. ``python benchmarks/budget.py``
"""

import statistics

import numpy as np

import holdfast as hf

GAMES, ROUNDS, COST, CHANGE = 8, 3000, 0.1, 500
MEANS = np.array([0.3, 0.4, 0.5])
ARMS = ["a", "b", "c"]
POLICIES = {
    "tracking": hf.TrackingSwitch(arms=ARMS, switching_cost=COST),
    "adaptive": hf.AdaptiveTsallisSwitch(arms=ARMS, switching_cost=COST),
}


def play(policy: hf.Policy, budget: int | None, changes: bool, seed: int) -> tuple[float, float]:
    """Switches, and cost above the best arm's in each round."""
    now, rng = 0.0, np.random.default_rng(seed)
    limit = () if budget is None else (budget, "1000s")
    router = hf.open("memory:", f"{seed}", policy, seed=seed, clock=lambda: now, most_switches=limit)
    cost = 0.0
    for t in range(ROUNDS):
        now = float(t)
        decision = router.ask()
        mean = np.roll(MEANS, t // CHANGE if changes else 0)[ARMS.index(str(decision.arm))]
        router.tell(decision.id, float(rng.random() < mean))
        cost += mean - MEANS.min()
    return router.switches, cost + COST * router.switches


def main() -> None:
    print("| world | policy | switches in 1,000 s | switches | cost |\n|---|---|---|---:|---:|")
    for world, changes in (("steady", False), ("changes", True)):
        for name, policy in POLICIES.items():
            for budget in (None, 20, 5, 2):
                games = zip(*(play(policy, budget, changes, seed) for seed in range(GAMES)), strict=True)
                shown = [f"{statistics.mean(v):.0f} ± {np.std(v) / GAMES**0.5:.0f}" for v in games]
                print(f"| {world} | {name} | {budget or 'any'} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
