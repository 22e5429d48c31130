"""What late losses cost: the paper's settings with every loss 0, 1, 10, 100 and 1,000 rounds late.

    python benchmarks/delay.py [--replications 10] [--horizon 100000]

Each cell is the mean pseudo-regret with switching cost (R_T + λ S_T) over the replications, with its standard error.
A block is observed when the loss of its last round has come, with the values of its own draw, as a router does it.

Beside it, for λ = 0, the bound of Zimmert and Seldin (AISTATS 2020, Theorem 1) for *their* algorithm, which has another
regulariser: 4√(KT) + √(8 D ln K) with D the sum of all delays. For λ > 0 no bound with delays is known for
Tsallis-Switch; its Theorem 1 without delay is given for scale, and what any algorithm gets that is run as d + 1 copies
in turn (Joulani, György and Szepesvári, ICML 2013, Theorem 1): (d + 1) times the bound at T/(d + 1).
"""

import argparse
import math
from collections import deque
from statistics import mean, stdev

import numpy as np

import holdfast as hf
from holdfast.players.game import Game

K = 8
DELAYS = (0, 1, 10, 100, 1000)
COSTS = (0.0, 0.025, 0.1, 1.0, 10.0)


def cost_of(policy: hf.TsallisSwitch, environment: hf.Environment, T: int, delay: int, replication: int) -> float:
    """R_T + λ S_T of one game, R_T against the arm that is best over the whole game."""
    game = Game(policy, seed=0, replication=replication)
    stream = hf.Stream(0, "losses that come late", replication)
    out: deque[tuple[int, np.ndarray, float, int]] = deque()
    t, before, switches, lost = 0, -1, 0, 0.0
    while t < T:
        while out and out[0][0] <= t:
            _, block, total, rounds = out.popleft()
            game.observe(block, total, float(rounds))
        arm = game.begin()
        switches += arm != before
        before = arm
        end = min(t + int(game.block[1]), T)
        out.append((end + delay, game.block.copy(), environment.draw(arm, t, end, stream), end - t))
        lost += float(environment.expected(t, end)[arm])
        t = end
    return lost - float(environment.expected(0, T).min()) + policy.switching_cost * switches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=100_000)
    options = parser.parse_args()
    T = options.horizon
    for name, environment in (
        ("stochastic, Δ = 0.2", hf.Bernoulli.with_gap(K, 0.2)),
        ("stochastic, Δ = 0.05", hf.Bernoulli.with_gap(K, 0.05)),
        ("stochastically constrained adversary, Δ = 0.05", hf.ConstrainedBernoulli(K, 0.05)),
    ):
        print(f"\n{name}: K = {K}, T = {T:g}, {options.replications} replications")
        print(f"  {'λ':>6s}" + "".join(f"{f'{d} late':>18s}" for d in DELAYS))
        for cost in COSTS:
            policy = hf.TsallisSwitch(K, switching_cost=cost)
            cells = []
            for delay in DELAYS:
                costs = [cost_of(policy, environment, T, delay, r) for r in range(options.replications)]
                error = stdev(costs) / math.sqrt(len(costs)) if len(costs) > 1 else math.nan
                cells.append(f"{mean(costs):10.0f} ± {error:4.0f}")
            print(f"  {cost:6g}" + "".join(f"{cell:>18s}" for cell in cells), flush=True)
    print("\nBounds")
    cells = "".join(f"{4 * math.sqrt(K * T) + math.sqrt(8 * d * T * math.log(K)):18.0f}" for d in DELAYS)
    print(f"  {'λ = 0, Zimmert and Seldin 2020':40s}{cells}")
    for cost in COSTS:
        cells = "".join(
            f"{(d + 1) * hf.bounds.theorem_1(n_arms=K, switching_cost=cost, horizon=max(T // (d + 1), 1)):18.0f}"
            for d in DELAYS
        )
        print(f"  {f'λ = {cost:g}, Theorem 1 in d + 1 copies':40s}{cells}")


if __name__ == "__main__":
    main()
