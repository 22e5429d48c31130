"""Compare ways to wait for a loss that may never come: rules for a patience in rounds, next to waiting forever.

    python benchmarks/patience.py [--replications 20] [--horizon 20000]

Each round's loss comes after a delay (exponential with the mean in the table, in rounds; exact where it
says so) or never, with the probability
in the table, whatever the arm. A block is learnt from when all its losses are there; or, with a patience, when more
rounds than that have passed since its last one was asked: then the mean of those that came replaces the others (as
``missing="mean"``), and of a block of which none came nothing is learnt. Four arms lose 0.2, 0.3, 0.4, 0.5 on average
(Bernoulli), λ = 0.3. In one setting only the best arm's losses are lost.

Cells: mean regret with switching cost over the replications, with its standard error; in brackets, the share of losses
that came after their block was settled. Lateness is counted for those too.
"""

import argparse
import heapq
import math
from collections import deque
from collections.abc import Callable
from statistics import mean, stdev

import numpy as np

import holdfast as hf
from holdfast.players.game import Game

MEANS = np.array([0.2, 0.3, 0.4, 0.5])
COST = 0.3

Rule = Callable[[int, list[float]], float]
"""Rounds to wait, from the rounds asked so far and the latenesses seen so far."""

Delays = Callable[[np.random.Generator, int], np.ndarray]
"""After how many rounds each loss comes."""


def seen(quantile: float, times: float) -> Rule:
    """A multiple of a quantile of the lateness seen among the last 1,000 losses, at least 50 rounds."""

    def rule(asked: int, late: list[float]) -> float:
        return max(50.0, times * float(np.quantile(late[-1000:], quantile))) if late else math.inf

    return rule


def typical(asked: int, late: list[float]) -> float:
    """Three times the mean lateness of the last 1,000 losses, at least 50 rounds; infinite before the first."""
    return max(50.0, 3.0 * math.fsum(late[-1000:]) / len(late[-1000:])) if late else math.inf


RULES: dict[str, Rule] = {
    "for ever": lambda asked, late: math.inf,
    "50": lambda asked, late: 50.0,
    "1,000": lambda asked, late: 1000.0,
    "max(50, 4√t)": lambda asked, late: max(50.0, 4 * math.sqrt(asked)),
    "twice the 99th percentile seen": seen(0.99, 2.0),
    "3 times the mean seen": typical,
}


def exponential(delay: float) -> Delays:
    return lambda rng, T: rng.exponential(delay, T) if delay else np.zeros(T)


def exactly(delay: float) -> Delays:
    return lambda rng, T: np.full(T, delay)


def play(policy: hf.Policy, rule: Rule, T: int, late: Delays, lost: np.ndarray, seed: int) -> tuple[float, float]:
    """Regret with switching cost, and the share of losses that came too late."""
    rng = np.random.default_rng(seed)
    draws, delays, gone = rng.random(T), late(rng, T), rng.random(T)
    game = Game(policy, seed)
    coming: list[tuple[float, int, int, float]] = []  # when, round, block, loss
    waiting: deque[tuple[int, int]] = deque()  # the end of a block, and its number
    blocks: dict[int, list] = {}  # block: its numbers, rounds, losses that came
    latenesses: list[float] = []
    too_late = came = 0
    arms = np.zeros(T, dtype=int)
    number, t, before, switches = 0, 0, -1, 0

    def settle(key: int) -> None:
        block, rounds, losses = blocks.pop(key)
        if losses:
            game.observe(block, math.fsum(losses) / len(losses) * rounds, float(rounds))

    while t < T:
        wait = rule(t, latenesses)
        while waiting and waiting[0][0] + wait <= t:
            _, key = waiting.popleft()
            if key in blocks:
                settle(key)
        arm, rounds = game.begin()
        switches += arm != before
        before, end = arm, min(t + rounds, T)
        number += 1
        blocks[number] = [game.block.copy(), end - t, []]
        for s in range(t, end):
            arms[s] = arm
            if gone[s] >= lost[arm]:
                heapq.heappush(coming, (s + delays[s], s, number, float(draws[s] < MEANS[arm])))
            while coming and coming[0][0] <= s:
                when, told, key, loss = heapq.heappop(coming)
                came += 1
                latenesses.append(when - told)
                if key not in blocks:
                    too_late += 1
                    continue
                blocks[key][2].append(loss)
                if len(blocks[key][2]) == blocks[key][1]:
                    settle(key)
        waiting.append((end, number))
        t = end
    return float((MEANS[arms] - MEANS.min()).sum() + COST * switches), too_late / max(came, 1)


SETTINGS = [
    (f"{delay} rounds late, {lost:.0%} lost", exponential(delay), np.full(4, lost))
    for delay in (0, 10, 300, 3000)
    for lost in (0.0, 0.1, 0.4)
] + [
    ("exactly 3000 rounds late, 10% lost", exactly(3000), np.full(4, 0.1)),
    ("10 rounds late, 40% of the best arm's lost", exponential(10), np.array([0.4, 0.0, 0.0, 0.0])),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=20_000)
    options = parser.parse_args()
    policy = hf.AdaptiveTsallisSwitch(4, switching_cost=COST)
    print(f"| adaptive, T = {options.horizon:,} | " + " | ".join(RULES) + " |\n" + "|---" * (1 + len(RULES)) + "|")
    for title, delays, lost in SETTINGS:
        cells = []
        for rule in RULES.values():
            played = [play(policy, rule, options.horizon, delays, lost, seed) for seed in range(options.replications)]
            costs, late = zip(*played, strict=True)
            error = stdev(costs) / math.sqrt(len(costs))
            cells.append(f"{mean(costs):.0f} ± {error:.0f} ({mean(late):.1%})")
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
