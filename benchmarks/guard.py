"""Measure the cost of following changes, alone and guarded: the tables of docs/measurements/tracking.md.

Fifteen minutes, two cores.

python benchmarks/guard.py [families | still | bad | paper | lag | minutes | records FILE ...] [--seed 31]
"""

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import holdfast as hf
from holdfast.kernels import Kernels, Scalar, kernel
from holdfast.lab.plan import paper_settings
from holdfast.players.game import Game, one_game
from holdfast.policies.policy import PlainBlock, Policy

LAMBDAS = (0.1, 1.0, 4.0)


@cache
def loop(kernels: Kernels) -> Any:
    """Return a compiled game on a table of losses."""
    choose, _, observe = one_game(kernels)

    @kernel
    def play(params, numbers, vectors, K, announced, stream, block, losses, arms):
        t, T = 0, losses.shape[0]
        while t < T:
            choose(params, numbers, vectors, K, announced, stream, block)
            total, begun = 0.0, t
            while t < T and t - begun < block[1]:
                total += losses[t, int(block[0])]
                arms[t] = int(block[0])
                t += 1
            if t < T:
                observe(params, numbers, vectors, K, block, total, float(t - begun))

    return play


def play(policy: Policy, losses: Any, replication: int = 0) -> tuple[Any, Any]:
    """Return the arms, and where the guard stands at the end."""
    game, arms = Game(policy, 5, replication), np.zeros(len(losses), dtype=np.int64)
    loop(policy.kernels)(game._packed, game.numbers, game.vectors, game.K, 0.0, game.stream, game.block, losses, arms)
    return arms, policy.guard_of(game.state) if policy.has_guard else None


def cost(arms: Any, losses: Any, lam: float) -> float:
    """Return losses and switches."""
    return float(losses[np.arange(len(arms)), arms].sum()) + lam * (1 + np.count_nonzero(np.diff(arms)))


def plan(means: Any, lam: float) -> float:
    """Return the cost of the best plan."""
    best = np.zeros(means.shape[1])
    for row in means:
        best = np.minimum(best, best.min() + lam) + row
    return float(best.min())


def families(rng: Any, K: int = 6, T: int = 30_000) -> Iterator[tuple[str, Any]]:
    """The ten families of worlds: means by round."""
    yield "still", np.tile(0.1 + 0.8 * rng.random(K), (T, 1))
    yield "close", np.tile(0.42 + 0.16 * rng.random(K), (T, 1))
    for changes in (3, 10, 50):
        yield f"{changes} changes", (0.1 + 0.8 * rng.random((changes + 1, K)))[phase(rng, changes, T)]
    for time in (300, 3000):
        kept = np.exp(-1 / time)
        x, level = 0.15 * rng.standard_normal(K), 0.3 + 0.4 * rng.random(K)
        noise = 0.15 * np.sqrt(1 - kept**2) * rng.standard_normal((T, K))
        means = np.empty((T, K))
        for t in range(T):
            means[t] = x = kept * x + noise[t]
        yield f"drift {time}", np.clip(level + means, 0, 1)
    means = np.tile(0.1 + 0.3 * rng.random(K), (T, 1))
    for arm in range(K):
        t = int(rng.exponential(3000))
        while t < T:
            down = int(rng.exponential(200)) + 1
            means[t : t + down, arm] = 1.0
            t += down + int(rng.exponential(3000))
    yield "outages", means
    yield "common", 0.2 * rng.random(K) + (0.1 + 0.6 * rng.random(13))[phase(rng, 12, T)][:, None]
    yield "seasons", 0.5 + 0.25 * np.sin(2 * np.pi * (np.arange(T)[:, None] / 1000 + rng.random(K)))


def phase(rng: Any, changes: int, T: int) -> Any:
    """Return the phase of each round, phases changing at random times."""
    return np.searchsorted(np.sort(rng.choice(np.arange(1, T), changes, replace=False)), np.arange(T), side="right")


def thirty_cells(seed: int, worlds: int = 12) -> None:
    """Cost above the best plan of the means over that of the adaptive policy, alone and guarded; what looks cost."""
    above: dict[Any, float] = {}
    guards: dict[Any, list[Any]] = {}
    for world in range(worlds):
        rng = np.random.default_rng([seed, world])
        for name, means in families(rng):
            losses = (rng.random(means.shape) < means).astype(float)
            for lam in LAMBDAS:
                least = plan(means, lam)
                for key, policy in three(means.shape[1], lam).items():
                    arms, guard = play(policy, losses, world)
                    above[name, lam, key] = above.get((name, lam, key), 0.0) + cost(arms, means, lam) - least
                    guards.setdefault((name, lam), []).extend([guard] if guard else [])
    ratios: dict[str, list[float]] = {"alone": [], "guarded": []}
    for (name, lam), stood in guards.items():
        for key, found in ratios.items():
            found.append(above[name, lam, key] / above[name, lam, "adaptive"])
        bound = hf.bounds.theorem_1(n_arms=6, switching_cost=lam, horizon=30_000)
        spent = 100 * np.mean([guard.spent for guard in stood]) / bound
        said = f"alone {ratios['alone'][-1]:.2f}, guarded {ratios['guarded'][-1]:.2f}, spent {spent:.2f} %"
        print(f"{name:12} {lam:4}: {said}, taken over {sum(guard.taken_over for guard in stood)}")
    for key, found in ratios.items():
        print(f"{key}: geometric mean {np.exp(np.mean(np.log(found))):.3f}, worst {max(found):.2f}")


def three(K: int, lam: float) -> dict[str, Policy]:
    """The adaptive policy, the rule alone, and guarded."""
    return {
        "adaptive": hf.AdaptiveTsallisSwitch(K, switching_cost=lam),
        "alone": hf.TrackingSwitch(K, switching_cost=lam, guarded=False),
        "guarded": hf.TrackingSwitch(K, switching_cost=lam),
    }


def still(seed: int, games: int = 1000) -> None:
    """Take-overs in still worlds: half with means from .1 to .9, a quarter close, a quarter with ties."""
    taken, most = 0, 0.0
    for game in range(games):
        rng = np.random.default_rng([seed, 1, game])
        K, lam = int(rng.integers(2, 9)), float(rng.choice([0.0, *LAMBDAS]))
        means = {0: rng.uniform(0.42, 0.58, K), 1: np.full(K, rng.random())}.get(game % 4, rng.uniform(0.1, 0.9, K))
        _, guard = play(hf.TrackingSwitch(K, switching_cost=lam), (rng.random((30_000, K)) < means).astype(float), game)
        taken += guard.taken_over
        most = max(most, guard.spent / hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=30_000))
    print(f"{games} still games: taken over {taken} times, spent at most {100 * most:.2f} % of Theorem 1")


class Turns(NamedTuple):
    """The round."""

    n: Scalar


class Every(NamedTuple):
    """Arms to play in turn."""

    arms: float


@kernel
def take_turns(params, state, announced, streams, block):
    """Play the next arm of the first few."""
    state.n[0] += 1.0
    block.arm[0], block.rounds[0], block.probability[0] = state.n[0] % params.arms, 1.0, 1.0


@kernel
def learn_nothing(params, state, block, totals, rounds):
    """Learn nothing."""
    state.n[0] += 0.0


class BadRule(Policy):
    """Plays each arm in turn, or the first forever."""

    id = "bad-rule"
    kernels = Kernels(take_turns, learn_nothing, Turns, PlainBlock, params=Every)
    turns = True

    def parameters(self) -> Every:
        """Return the number of arms played."""
        return Every(float(self.n_arms if self.turns else 1))

    def probabilities(self, params: Any, state: Any, block: Any) -> Any:
        """It draws nothing."""
        return np.eye(self.n_arms)[int(block.arm[0])]


class WorstArm(BadRule):
    """Plays the first arm forever."""

    id = "worst-arm"
    turns = False


def bad(seed: int, K: int = 8, T: int = 10**6, games: int = 5) -> None:
    """Regret and switches of bad rules under a guard, over Theorem 1's bound."""
    for lam in (0.0, 0.1, 1.0):
        bound = hf.bounds.theorem_1(n_arms=K, switching_cost=lam, horizon=T)
        proved = hf.bounds.guarded(n_arms=K, switching_cost=lam, horizon=T) / bound
        for kind in (BadRule, WorstArm):
            for gap in (0.05, 0.1, 0.2, 0.5):
                found = []
                for game in range(games):
                    rng = np.random.default_rng([seed, 2, game])
                    means = np.full(K, 0.5 + gap / 2)
                    means[3] -= gap
                    losses = (rng.random((T, K)) < means).astype(float)
                    arms, guard = play(hf.Guarded(kind(K), switching_cost=lam), losses, game)
                    found.append((cost(arms, losses, lam) - losses[:, 3].sum()) / bound)
                print(
                    f"{kind.id:10} λ {lam:4}, gap {gap:4}: mean {np.mean(found):.2f}, highest {max(found):.2f} "
                    f"of Theorem 1 (Theorem I {proved:.2f}), taken over {guard.taken_over} times in the last"
                )


def paper(seed: int) -> None:
    """Regret and switches in the paper's settings."""
    ratios = []
    for name, setting in paper_settings(100_000, 8).items():
        if name.startswith("arms-"):
            continue
        lam = setting.switching_cost
        played = hf.simulate(
            three(8, lam), setting.environment, horizon=100_000, switching_cost=lam, replications=20, seed=seed
        )
        mean = dict(zip(played.final()["policy"], played.final()["regret_with_switching_mean"], strict=True))
        bound = hf.bounds.theorem_1(n_arms=8, switching_cost=lam, horizon=100_000)
        ratio = mean["guarded"] / mean["adaptive"]
        if name not in ("adversarial", "ties-constrained") and not name.endswith("shuffled"):
            ratios.append(ratio)
        print(
            name,
            {key: round(value) for key, value in mean.items()},
            f"ratio {ratio:.2f}",
            f"difference {100 * (mean['guarded'] - mean['adaptive']) / bound:+.1f} % of Theorem 1",
        )
    print(f"mean ratio in the paper's settings but the reversal {np.mean(ratios):.2f}")


def noisy(rng: Any, means: Any) -> Any:
    """Losses with noise .1."""
    return np.clip(means + 0.1 * rng.standard_normal(means.shape), 0.0, 1.0)


def lag(seed: int, games: int = 40) -> None:
    """Rounds until a worse arm is left and a better one is found, after 43,200 steady rounds."""
    cases: dict[str, tuple[int, float, Callable[[Any], int], int | None]] = {
        "left": (0, 0.85, lambda after: int(np.argmax(after != 0)), None),
        "found": (2, 0.05, lambda after: int(np.argmax(np.convolve(after == 2, np.ones(20), "valid") >= 16)), None),
        "found, notice=60": (
            2,
            0.05,
            lambda after: int(np.argmax(np.convolve(after == 2, np.ones(20), "valid") >= 16)),
            60,
        ),
    }
    for name, (arm, level, measured, notice) in cases.items():
        found = []
        for game in range(games):
            means = np.tile([0.25, 0.4, 0.55], (63_200, 1))
            means[43_200:, arm] = level
            losses = noisy(np.random.default_rng([seed, 3, game]), means)
            found.append(
                measured(play(hf.TrackingSwitch(3, switching_cost=0.3, notice=notice), losses, game)[0][43_200:])
            )
        print(f"{name}: median {np.median(found):.0f}, nine of ten {np.quantile(found, 0.9):.0f}")
    more = []
    for game in range(games):
        rng = np.random.default_rng([seed, 4, game])
        means = np.tile([0.05, 0.08, 0.1, 0.12], (203_000, 1))
        means[200_000:, 0] = 0.89
        arms, _ = play(hf.TrackingSwitch(4, switching_cost=0.3), (rng.random(means.shape) < means).astype(float), game)
        more.append(np.count_nonzero(arms[200_000:] == 0))
    print(f"gateway: more requests to it {np.median(more):.0f} in the median, at most {max(more)}")


def minutes(seed: int, games: int = 3) -> None:
    """An autoscaler's three worlds, against an EWMA with hysteresis and a look every 30 rounds."""
    T, t = 302_400, np.arange(302_400)
    worlds = {
        "best changes every 4 h": np.where(np.arange(3) == (t // 240 % 3)[:, None], 0.25, 0.55),
        "breaks once a day for 2 h": np.where((np.arange(3) == 0) & (t % 1440 < 120)[:, None], 0.85, [0.25, 0.4, 0.55]),
        "another clearly better for 3 h": np.where(
            (np.arange(3) == 2) & (t % 960 < 180)[:, None], 0.05, [0.25, 0.4, 0.55]
        ),
    }
    for name, means in worlds.items():
        costs: dict[str, list[float]] = {}
        for game in range(games):
            losses = noisy(np.random.default_rng([seed, 5, game]), means + np.zeros((T, 3)))
            rules = {
                "ewma": hf.Ewma(3, switching_cost=0.3, looks=1 / 30),
                "alone": hf.TrackingSwitch(3, switching_cost=0.3, guarded=False),
                "guarded": hf.TrackingSwitch(3, switching_cost=0.3),
            }
            for key, policy in rules.items():
                costs.setdefault(key, []).append(cost(play(policy, losses, game)[0], losses, 0.3))
        print(name, {key: round(float(np.mean(found) / np.mean(costs["ewma"])), 3) for key, found in costs.items()})


def records(files: list[str], games: int = 10) -> None:
    """Cost over the best fixed arm's on recorded losses."""
    for file in files:
        losses = pl.read_parquet(file).to_numpy().astype(float)
        found: dict[str, list[float]] = {}
        for lam in (0.1, 0.35, 1.0, 4.0):
            fixed = losses.sum(axis=0).min() + lam
            for key, policy in three(losses.shape[1], lam).items():
                costs = [cost(play(policy, losses, game)[0], losses, lam) for game in range(games)]
                found.setdefault(key, []).append(float(np.mean(costs)) / fixed)
        print(
            Path(file).stem,
            {key: (round(float(np.exp(np.mean(np.log(x)))), 3), np.round(x, 3).tolist()) for key, x in found.items()},
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["families", "still", "bad", "paper", "lag", "minutes"])
    parser.add_argument("--seed", type=int, default=31)
    given = parser.parse_args()
    parts = {"families": thirty_cells, "still": still, "bad": bad, "paper": paper, "lag": lag, "minutes": minutes}
    if given.what[0] == "records":
        records(given.what[1:])
    else:
        for what in given.what:
            parts[what](given.seed)
