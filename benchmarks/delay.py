"""Measure the cost of late losses: the paper's settings with every loss 0, 1, 10, 100 and 1,000 rounds late.

    python benchmarks/delay.py [--policy tsallis-switch] [--replications 30] [--horizon 100000]

Each cell is the mean pseudo-regret with switching cost (R_T + λ S_T) over the replications, with its standard error.
A block is observed when the loss of its last round has come, with the values of its own draw, as a router does it.

Beside it, for λ = 0, the bound of Zimmert and Seldin (AISTATS 2020, Theorem 1) for *their* algorithm, which has another
regulariser: 4√(KT) + √(8 D ln K) with D the sum of all delays. For λ > 0 no bound with delays is known for
either policy; Theorem 1 of Tsallis-Switch without delay is given for scale, and what it gets when run as d + 1 copies
in turn (Joulani, György and Szepesvári, ICML 2013, Theorem 1): (d + 1) times the bound at T/(d + 1).
"""

import argparse
import math
from collections import deque
from functools import cache
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

import holdfast as hf
from holdfast.kernels import Kernels, kernel
from holdfast.players.game import Game, one_game

K = 8
DELAYS = (0, 1, 10, 100, 1000)
COSTS = (0.0, 0.1, 1.0, 10.0)
POLICIES = {"adaptive": hf.AdaptiveTsallisSwitch, "tsallis-switch": hf.TsallisSwitch}


class Out(NamedTuple):
    """Blocks whose losses are out, in a ring: each has a round at least, so that a delay is room enough."""

    blocks: Any
    due: Any
    totals: Any
    rounds: Any


@cache
def loop(policy_kernels: Kernels, total: Any, gap: Any) -> Any:
    """A compiled game whose losses come late."""
    choose, _, observe = one_game(policy_kernels)

    @kernel
    def late_game(params, numbers, vectors, K, stream, tables, losses, T, delay, out, played):
        """Fill in `played`: the excess over the reference arm, and the switches."""
        t, before, first, last = 0.0, -1.0, 0, 0
        size = out.due.shape[0]
        while t < T:
            while first < last and out.due[first % size] <= t:
                i = first % size
                observe(params, numbers, vectors, K, out.blocks[i], out.totals[i, 0], out.rounds[i])
                first += 1
            i = last % size
            block = out.blocks[i]
            choose(params, numbers, vectors, K, 0.0, stream, block)
            played[1] += 1.0 if block[0] != before else 0.0
            before = block[0]
            end = min(t + block[1], T)
            total(tables, block[:1], t, end, losses, out.totals[i])
            out.due[i], out.rounds[i] = end + delay, end - t
            gap(tables, block[:1], t, end, played[2:])
            played[0] += played[2]
            last += 1
            t = end

    return late_game


def cost_of(policy: Any, environment: hf.Environment, T: int, delay: int, replication: int) -> float:
    """R_T + λ S_T of one game, R_T against the arm that is best over the whole game."""
    game = Game(policy, seed=0, replication=replication)
    stream = hf.Stream(0, "losses that come late", replication).state.reshape(-1, 1)
    size = delay + 2
    out = Out(np.zeros((size, len(game.block))), np.zeros(size), np.zeros((size, 1)), np.zeros(size))
    played = np.zeros(3)
    play = loop(policy.kernels, environment.total_kernel, environment.gap_kernel)
    game_arrays = (game.params, game.numbers, game.vectors, policy.n_arms, game.stream)
    play(*game_arrays, environment.tables, stream, float(T), float(delay), out, played)
    return float(played[0] - environment.excess(T).min() + policy.switching_cost * played[1])


def slow_cost_of(policy: Any, environment: hf.Environment, T: int, delay: int, replication: int) -> float:
    """The same, step by step."""
    game = Game(policy, seed=0, replication=replication)
    stream = hf.Stream(0, "losses that come late", replication)
    out: deque[tuple[int, np.ndarray, float, int]] = deque()
    t, before, switches, lost = 0, -1, 0, 0.0
    while t < T:
        while out and out[0][0] <= t:
            _, block, total, rounds = out.popleft()
            game.observe(block, total, float(rounds))
        arm, length = game.begin()
        switches += arm != before
        before = arm
        end = min(t + length, T)
        out.append((end + delay, game.block.copy(), environment.draw(arm, t, end, stream), end - t))
        lost += float(environment.expected(t, end)[arm])
        t = end
    return lost - float(environment.expected(0, T).min()) + policy.switching_cost * switches


def check(kind: Any) -> None:
    """The two must agree."""
    for environment in (hf.Bernoulli.with_gap(K, 0.2), hf.ConstrainedBernoulli(K, 0.05)):
        for delay in (0, 1, 100):
            arguments = (kind(K, switching_cost=0.1), environment, 3000, delay, 3)
            fast, slow = cost_of(*arguments), slow_cost_of(*arguments)
            assert math.isclose(fast, slow, rel_tol=1e-9), (environment, delay, fast, slow)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="adaptive")
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--horizon", type=int, default=100_000)
    options = parser.parse_args()
    T, kind = options.horizon, POLICIES[options.policy]
    check(kind)
    for name, environment in (
        ("stochastic, Δ = 0.2", hf.Bernoulli.with_gap(K, 0.2)),
        ("stochastic, Δ = 0.05", hf.Bernoulli.with_gap(K, 0.05)),
        ("stochastically constrained adversary, Δ = 0.05", hf.ConstrainedBernoulli(K, 0.05)),
    ):
        print(f"\n{options.policy}, {name}: K = {K}, T = {T:g}, {options.replications} replications")
        print(f"  {'λ':>6s}" + "".join(f"{f'{d} late':>18s}" for d in DELAYS))
        for cost in COSTS:
            policy = kind(K, switching_cost=cost)
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
