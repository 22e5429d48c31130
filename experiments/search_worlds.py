"""Search for a world that is as bad as possible for a policy: the largest share of Theorem 1's bound that it costs.

    python experiments/search_worlds.py [--policy adaptive] [--seconds 60] [--seed 1] [--start found] [--write FILE]
    python experiments/search_worlds.py --arms 8 --switching-cost 10 --horizon 1e5 --seconds 200

With `--arms` and `--switching-cost` all worlds have these arms and this cost; otherwise the search chooses both.

Random worlds first, then evolution: the worst so far are changed a little, and kept where that makes them worse. A
search keeps what was lucky as well as what is bad, so candidates that would be kept are measured a second time with
other seeds, all of them again from time to time, and the worst at the end with 400 replications and seeds that the
search has not seen. Printed are its shares for the policy searched against and for the paper's, with 95 % intervals;
``--write`` keeps it in the form of ``searched_worlds.json`` beside this file.
"""

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import holdfast as hf
from holdfast.bounds import theorem_1
from holdfast.checks import parameters_of
from holdfast.numerics.regret import pseudo_regret
from holdfast.numerics.statistics import interval
from holdfast.policies.registry import POLICIES, find_policy, make_policy
from holdfast.simulation.backends import find_backend
from holdfast.simulation.costs import Costs
from holdfast.simulation.tasks import Played, Task

HORIZON = 20_000
POPULATION = 24
SEARCHED, FINAL = 12, 400
"""Replications of a candidate, and of the world found."""
LEVELS = (0.0, 0.3, 0.5, 0.7, 1.0)
COSTS = (0.0, 0.05, 0.3, 1.0, 2.0, 4.0)
MOST_PHASES, MOST_ARMS = 12, 10
PAPER = "tsallis-switch"
FOUND: Mapping[str, Mapping[str, Any]] = json.loads(Path(__file__).with_name("searched_worlds.json").read_text())
"""The worst worlds found so far, by name: arms, rounds and λ of the search, starts and means of phases, noise."""


def costs_of(
    policies: Mapping[str, hf.Policy],
    world: hf.Environment,
    cost: float,
    replications: int,
    seed: int,
    marks: tuple[int, ...],
    *,
    first: int = 0,
    backend: str = "threads",
) -> dict[str, np.ndarray]:
    """Return the regret with switching by replication and mark, like `simulate` but without a table."""
    costs = Costs.of(cost)
    pieces: list[Played] = []
    tasks = [
        Task(name, policy, world, marks[-1], costs, marks, seed, first, replications)
        for name, policy in policies.items()
    ]
    find_backend(backend).run(tasks, pieces.append)
    excess, found = np.array([world.excess(mark) for mark in marks]), {}
    for name in policies:
        own = sorted((piece for piece in pieces if piece.task.label == name), key=lambda piece: piece.task.first)
        found[name] = np.concatenate([pseudo_regret(p.excess, excess) + cost * p.switches for p in own])
    return found


@dataclass(frozen=True)
class Candidate:
    """A piecewise constant world with its switching cost."""

    horizon: int
    cost: float
    starts: tuple[int, ...]
    means: tuple[tuple[float, ...], ...]
    noise: bool

    @property
    def n_arms(self) -> int:
        return len(self.means[0])

    @property
    def bound(self) -> float:
        return theorem_1(n_arms=self.n_arms, switching_cost=self.cost, horizon=self.horizon)

    def shares(self, policy: str, replications: int, seed: int) -> np.ndarray:
        """Return the policy's cost in each replication, as a share of the bound."""
        world = hf.PiecewiseConstant(self.starts, self.means, noise=self.noise)
        settings = {"policy": policy, "n_arms": self.n_arms, "horizon": self.horizon, "switching_cost": self.cost}
        known = parameters_of(find_policy(policy)[0])
        player = make_policy({name: value for name, value in settings.items() if name == "policy" or name in known})
        return (
            costs_of({policy: player}, world, self.cost, replications, seed, (self.horizon,))[policy][:, 0] / self.bound
        )


@dataclass(frozen=True)
class Where:
    """Properties common to all worlds of a search; the search chooses those that are None."""

    horizon: int = HORIZON
    arms: int | None = None
    cost: float | None = None


def any_world(rng: np.random.Generator, where: Where) -> Candidate:
    phases, arms = int(rng.integers(2, 7)), int(rng.integers(2, 9))
    starts = (0, *sorted({int(start) for start in rng.integers(1, where.horizon, phases - 1)}))
    means = tuple(tuple(float(level) for level in rng.choice(LEVELS, where.arms or arms)) for _ in starts)
    cost = float(rng.choice(COSTS)) if where.cost is None else where.cost
    return Candidate(where.horizon, cost, starts, means, bool(rng.random() < 0.5))


def changed(world: Candidate, rng: np.random.Generator, where: Where) -> Candidate:
    """Return the world with one or more small changes."""
    for _ in range(1 + rng.poisson(1.0)):
        change = CHANGES[int(rng.choice(len(CHANGES), p=CHANCES))]
        other = change(world, rng)
        if where.arms in (None, other.n_arms):
            world = other if where.cost is None else replace(other, cost=where.cost)
    return world


def another_mean(world: Candidate, rng: np.random.Generator) -> Candidate:
    phase, arm = int(rng.integers(len(world.means))), int(rng.integers(world.n_arms))
    moved = float(np.clip(world.means[phase][arm] + rng.normal(0, 0.2), 0, 1))
    value = float(rng.choice(LEVELS)) if rng.random() < 0.3 else moved
    row = world.means[phase]
    return _with_row(world, phase, (*row[:arm], value, *row[arm + 1 :]))


def another_start(world: Candidate, rng: np.random.Generator) -> Candidate:
    if len(world.starts) == 1:
        return world
    phase = int(rng.integers(1, len(world.starts)))
    low = world.starts[phase - 1] + 1
    high = world.starts[phase + 1] - 1 if phase + 1 < len(world.starts) else world.horizon - 1
    moved = int(np.clip(round(world.starts[phase] * np.exp(rng.normal(0, 0.3))), low, max(low, high)))
    return replace(world, starts=(*world.starts[:phase], moved, *world.starts[phase + 1 :])) if low <= high else world


def another_phase(world: Candidate, rng: np.random.Generator) -> Candidate:
    start = int(rng.integers(1, world.horizon))
    if len(world.starts) == MOST_PHASES or start in world.starts:
        return world
    place = int(np.searchsorted(world.starts, start))
    row, arm = world.means[place - 1], int(rng.integers(world.n_arms))
    new = (*row[:arm], float(rng.choice(LEVELS)), *row[arm + 1 :])
    return replace(
        world,
        starts=(*world.starts[:place], start, *world.starts[place:]),
        means=(*world.means[:place], new, *world.means[place:]),
    )


def one_phase_less(world: Candidate, rng: np.random.Generator) -> Candidate:
    if len(world.starts) <= 2:
        return world
    phase = int(rng.integers(1, len(world.starts)))
    return replace(
        world,
        starts=world.starts[:phase] + world.starts[phase + 1 :],
        means=world.means[:phase] + world.means[phase + 1 :],
    )


def another_cost(world: Candidate, rng: np.random.Generator) -> Candidate:
    cost = float(np.clip(world.cost * np.exp(rng.normal(0, 0.4)), 0.005, 10.0)) if world.cost else 0.1
    return replace(world, cost=cost, noise=world.noise != (rng.random() < 0.2))


def other_arms(world: Candidate, rng: np.random.Generator) -> Candidate:
    """Drop one arm, or add one that resembles another."""
    arm = int(rng.integers(world.n_arms))
    if rng.random() < 0.5:
        means = tuple(row[:arm] + row[arm + 1 :] for row in world.means)
        return replace(world, means=means) if world.n_arms > 2 else world
    return replace(world, means=tuple((*row, row[arm]) for row in world.means)) if world.n_arms < MOST_ARMS else world


def _with_row(world: Candidate, phase: int, row: tuple[float, ...]) -> Candidate:
    return replace(world, means=(*world.means[:phase], row, *world.means[phase + 1 :]))


CHANGES = (another_mean, another_start, another_phase, one_phase_less, another_cost, other_arms)
CHANCES = (0.375, 0.125, 0.125, 0.125, 0.125, 0.125)


def search(policy: str, seconds: float, seed: int, where: Where, start: list[Candidate]) -> tuple[Candidate, int]:
    """Return the worst world found, and how many were tried."""
    rng = np.random.default_rng(seed)
    end = time.monotonic() + seconds

    def measured(world: Candidate, replications: int = SEARCHED) -> float:
        return float(world.shares(policy, replications, int(rng.integers(2**31))).mean())

    def worst_first(worlds: list[tuple[float, Candidate]]) -> list[tuple[float, Candidate]]:
        return sorted(worlds, key=lambda pair: -pair[0])[:POPULATION]

    kept = worst_first([(measured(w), w) for w in (*start, *(any_world(rng, where) for _ in range(4 * POPULATION)))])
    tried = 4 * POPULATION + len(start)
    while time.monotonic() < end:
        parent = kept[min(int(rng.exponential(POPULATION / 4)), len(kept) - 1)][1]
        child = changed(parent, rng, where)
        tried += 1
        share = measured(child)
        if share > kept[-1][0]:  # luck does not come twice
            kept = worst_first([*kept, ((share + measured(child)) / 2, child)])
        if tried % 100 == 0:
            kept = worst_first([((share + measured(world)) / 2, world) for share, world in kept])
    return worst_first([(measured(world, 5 * SEARCHED), world) for _, world in kept])[0][1], tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="adaptive", choices=list(POLICIES))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--start", choices=["random", "found"], default="random", help="begin from known bad worlds too"
    )
    parser.add_argument("--arms", type=int, help="K of all worlds")
    parser.add_argument("--switching-cost", type=float, help="λ of all worlds")
    parser.add_argument("--horizon", type=float, default=HORIZON, help="T of all worlds")
    parser.add_argument("--write", type=Path, help="a JSON file for the world")
    given = parser.parse_args()
    where = Where(int(given.horizon), given.arms, given.switching_cost)
    known = FOUND.values() if given.start == "found" else ()
    start = [
        Candidate(w["horizon"], w["switching_cost"], tuple(w["starts"]), tuple(map(tuple, w["means"])), w["noise"])
        for w in known
        if w["horizon"] == where.horizon
        and where.arms in (None, w["n_arms"])
        and where.cost in (None, w["switching_cost"])
    ]
    world, tried = search(given.policy, given.seconds, given.seed, where, start)
    print(f"{tried} worlds tried against {given.policy}, T = {where.horizon}; the worst:")
    print(f"K = {world.n_arms}, λ = {world.cost:.4g}, {'with' if world.noise else 'without'} noise")
    for begin, row in zip(world.starts, world.means, strict=True):
        print(f"  from {begin:6d}: " + " ".join(f"{mean:.2f}" for mean in row))
    fresh = 2**32 + given.seed  # no seed of the search is as large
    for policy in dict.fromkeys([given.policy, PAPER]):
        share, low, high = interval(world.shares(policy, FINAL, fresh))
        print(f"{policy}: {100 * share:.1f} % of Theorem 1's bound [{100 * low:.1f}, {100 * high:.1f}], {FINAL} fresh")
    if given.write:
        told = {"against": given.policy, "n_arms": world.n_arms, "switching_cost": world.cost, "horizon": world.horizon}
        phases = {"noise": world.noise, "starts": list(world.starts), "means": [list(row) for row in world.means]}
        given.write.write_text(json.dumps({f"{given.policy}-{given.seed}": told | phases}, indent=2) + "\n")


if __name__ == "__main__":
    main()
