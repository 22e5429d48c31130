"""Measure the cost of outages: a policy told the available arms, one not told, one that retires and adds arms.

    python benchmarks/outages.py [--replications 30] [--horizon 20000]

Four arms lose 0.2, 0.3, 0.4 and 0.5 on average (Bernoulli). An arm that is down loses 1: a request that fails.
Each cell is the mean cost above that of the best arm available in each round, switches included, with its standard
error, and in brackets the requests that failed.

* **not told**: the arm is played and loses 1.
* **available**: `player.ask(available=...)`: the next best is played, and the block learns what that one lost.
* **drawn again**: the same, but the replacement is drawn from the policy's probabilities among the available arms.
* **to the end**: the same as available, but the replacement is played to the end of the block.
* **retire and add**: when the set of available arms changes, the block is cut short and learnt from with fewer
  rounds, the game goes on with the arms that are there (`Policy.carried_over`), and an arm that comes back begins with
  the estimate of the best.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean, stdev

import numpy as np

import holdfast as hf
from holdfast.players.game import Game

MEANS = np.array([0.2, 0.3, 0.4, 0.5])
POLICIES = {
    f"{name}, λ = {cost:g}": kind(4, switching_cost=cost)
    for cost in (0.3, 3.0)
    for name, kind in (("adaptive", hf.AdaptiveTsallisSwitch), ("Tsallis-Switch", hf.TsallisSwitch))
}


def switching_on_and_off(rng: np.random.Generator, T: int, up: float, down: float) -> np.ndarray:
    """Return True where an arm is up in each round; times up and down are geometric with these means."""
    state, t, path = True, 0, np.ones(T, dtype=bool)
    while t < T:
        length = int(rng.geometric(1 / (up if state else down)))
        path[t : t + length] = state
        state, t = not state, t + length
    return path


def short(rng: np.random.Generator, T: int) -> np.ndarray:
    return np.column_stack([switching_on_and_off(rng, T, 1000, 20) for _ in MEANS])


def long(rng: np.random.Generator, T: int) -> np.ndarray:
    return np.column_stack([switching_on_and_off(rng, T, 8000, 1000) for _ in MEANS])


def flapping(rng: np.random.Generator, T: int) -> np.ndarray:
    up = np.ones((T, len(MEANS)), dtype=bool)
    up[:, 0] = switching_on_and_off(rng, T, 30, 3)
    return up


def best_arm_once(rng: np.random.Generator, T: int) -> np.ndarray:
    up = np.ones((T, len(MEANS)), dtype=bool)
    up[T // 2 : 3 * T // 4, 0] = False
    return up


def never(rng: np.random.Generator, T: int) -> np.ndarray:
    return np.ones((T, len(MEANS)), dtype=bool)


WORLDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "no outage": never,
    "short: 20 rounds in 1,000, each arm": short,
    "long: 1,000 rounds in 9,000, each arm": long,
    "the best arm flaps: 3 rounds in 33": flapping,
    "the best arm is down for a quarter": best_arm_once,
}


def not_told(policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int) -> Iterator[int]:
    player = policy.player(seed=seed)
    for t in range(len(up)):
        arm = player.ask()
        yield arm
        player.tell(float(losses[t, arm]))


def available(policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int) -> Iterator[int]:
    player = policy.player(seed=seed)
    for t in range(len(up)):
        arm = player.ask(available=np.flatnonzero(up[t]).tolist())
        yield arm
        player.tell(float(losses[t, arm]))


def drawn_again(policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int) -> Iterator[int]:
    rng = np.random.default_rng(seed)

    def replaced(game: Game, drawn: int, held: int, up_now: np.ndarray) -> int:
        if up_now[drawn]:
            return drawn
        q = np.where(up_now, game.probabilities(), 0.0)
        return held if up_now[held] else int(rng.choice(len(q), p=q / q.sum()))

    return with_replacement(policy, up, losses, seed, replaced)


def to_the_end(policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int) -> Iterator[int]:
    def replaced(game: Game, drawn: int, held: int, up_now: np.ndarray) -> int:
        return held if up_now[held] else game.next_best(~up_now)

    return with_replacement(policy, up, losses, seed, replaced)


def with_replacement(
    policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int, replaced: Callable[..., int]
) -> Iterator[int]:
    """A block is played by the arm that `replaced` names, from the arm drawn and the one held, and learns its loss."""
    game, t, T = Game(policy, seed), 0, len(up)
    while t < T:
        drawn, rounds = game.begin()
        held, total, end = drawn, 0.0, min(t + rounds, T)
        for s in range(t, end):
            held = replaced(game, drawn, held, up[s])
            yield held
            total += float(losses[s, held])
        game.observe(game.block, total, end - t)
        t = end


def retire_and_add(policy: hf.Policy, up: np.ndarray, losses: np.ndarray, seed: int) -> Iterator[int]:
    t, T, arms = 0, len(up), list(range(len(MEANS)))
    game = Game(policy, seed)
    while t < T:
        now = np.flatnonzero(up[t]).tolist()
        if now != arms:
            kept = [arms.index(arm) if arm in arms else None for arm in now]
            other = Game(replace(policy, n_arms=len(now)), seed)
            other.restore(other.policy.carried_over(game.saved_state(), kept), None, game.begun, game.stream)
            game, arms = other, now
        place, rounds = game.begin()
        end, total, s = min(t + rounds, T), 0.0, t
        while s < end and np.array_equal(np.flatnonzero(up[s]), now):
            yield arms[place]
            total += float(losses[s, arms[place]])
            s += 1
        game.observe(game.block, total, s - t)
        t = s


WAYS = {
    "not told": not_told,
    "available": available,
    "drawn again": drawn_again,
    "to the end": to_the_end,
    "retire and add": retire_and_add,
}


def cost_of(way: Callable, policy: hf.Policy, world: Callable, T: int, seed: int) -> tuple[float, int]:
    """Cost above that of the best available arm in each round, and failed requests."""
    rng = np.random.default_rng(seed)
    up = world(rng, T)
    up[~up.any(axis=1)] = True  # when all are down nobody can do anything: not counted
    losses = np.where(up, rng.random(up.shape) < MEANS, 1.0)
    arms = np.fromiter(way(policy, up, losses, seed), dtype=int, count=T)
    rows = np.arange(T)
    expected = np.where(up, MEANS, 1.0)
    switches = 1 + int((arms[1:] != arms[:-1]).sum())
    return float((expected[rows, arms] - expected.min(axis=1)).sum() + policy.switching_cost * switches), int(
        (~up[rows, arms]).sum()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--horizon", type=int, default=20_000)
    options = parser.parse_args()
    for name, policy in POLICIES.items():
        print(f"\n| {name}, T = {options.horizon:,} | " + " | ".join(WAYS) + " |")
        print("|---" * (1 + len(WAYS)) + "|")
        for title, world in WORLDS.items():
            cells = []
            for way in WAYS.values():
                played = [cost_of(way, policy, world, options.horizon, seed) for seed in range(options.replications)]
                costs, failed = zip(*played, strict=True)
                cells.append(f"{mean(costs):.0f} ± {stdev(costs) / math.sqrt(len(costs)):.0f} ({mean(failed):.0f})")
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
