"""Play and judge what docs/which_policy.md claims where options change: how late a policy follows, and what that costs.

    python experiments/changing_claims.py            # the claims and the tables
    python experiments/changing_claims.py --write    # and the tables go into docs/which_policy.md

*Lag*: three arms with losses .25, .4 and .55 and noise .1 stay so for a while; then the arm in use goes to .85, or the
third to .05. An arm is left, or found, at the first round from which 16 of 20 are elsewhere, or on it. Every policy
meets the same losses. *Cells*: ten families of worlds, drawn in every game, with three switching costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from adaptive_claims import lines
from documents import BEGIN, DOCS, markdown_table, refresh

from holdfast.checks import parameters_of, whole_number
from holdfast.command_line import Workers
from holdfast.environments import (
    CommonJumps,
    Environment,
    LossTable,
    OrnsteinUhlenbeck,
    Outages,
    RandomChanges,
    Seasons,
)
from holdfast.lab.judge import Answer, Claim, Less, Outcome, Question, judge
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval, quantile
from holdfast.policies.policy import Policy
from holdfast.policies.registry import find_policy, make_policy
from holdfast.simulation import simulate
from holdfast.simulation.backends import find_backend
from holdfast.simulation.costs import Costs
from holdfast.simulation.tasks import Task, run_task
from holdfast.text import number

FOLLOWER, OWN = "tracking", "adaptive"
POLICIES: Mapping[str, Mapping[str, Any]] = {
    OWN: {"policy": OWN},
    FOLLOWER: {"policy": FOLLOWER},
    "tracking, notice 60": {"policy": FOLLOWER, "notice": 60},
    "ewma": {"policy": "ewma"},
    "fail-over": {"policy": "fail-over"},
    "ucb1": {"policy": "ucb1"},
}


def made(entry: Mapping[str, Any], n_arms: int, cost: float) -> Policy:
    """Return a policy for this many arms, with this λ if it takes one."""
    kind, _ = find_policy(entry["policy"])
    known = {"switching_cost": cost} if "switching_cost" in parameters_of(kind) else {}
    return make_policy({**entry, **known, "n_arms": n_arms})


# ---- lag ----

LEVELS, NOISE, COST = (0.25, 0.4, 0.55), 0.1, 0.3
CHANGES: Mapping[str, tuple[int, float]] = {"left": (0, 0.85), "found": (2, 0.05)}
STEADY = (10**3, 10**4, 10**5, 10**6)
LEAST_WAIT = 10**4
"""Fewest rounds played after a change; otherwise as many as were steady."""
WINDOW, MOST_OF_IT = 20, 16


class Case(NamedTuple):
    """A change, after so many steady rounds, as one policy met it."""

    policy: str
    change: str
    steady: int


def losses_of(change: str, steady: int, seed: int) -> Array:
    """Return the losses of a game."""
    arm, level = CHANGES[change]
    means = np.tile(LEVELS, (steady + max(steady, LEAST_WAIT), 1))
    means[steady:, arm] = level
    noise = np.random.default_rng((seed, steady, arm)).standard_normal(means.shape)
    return np.clip(means + NOISE * noise, 0.0, 1.0)


def lag_of(arms: Any, change: str) -> float:
    """Return after how many rounds the arm was left or found; infinite if that was not seen."""
    arm, _ = CHANGES[change]
    there = (arms == arm) if change == "found" else (arms != arm)
    often = np.convolve(there, np.ones(WINDOW), "valid") >= MOST_OF_IT
    return float(np.argmax(often)) if often.any() else math.inf


def lags(games: int, steady: Sequence[int], seed: int) -> dict[Case, Array]:
    """Play the games of every policy, each on the same losses."""
    found: dict[Case, list[float]] = {}
    for change in CHANGES:
        for rounds in steady:
            for game in range(games):
                table = LossTable(losses_of(change, rounds, seed + game))
                for name, entry in POLICIES.items():
                    policy = made(entry, len(LEVELS), COST)
                    end = (table.rounds,)
                    played = run_task(
                        Task(name, policy, table, table.rounds, Costs.of(COST), end, seed, game, 1), with_arms=True
                    )
                    assert played is not None  # nothing stops it
                    lag = lag_of(played.arms[0, rounds:], change)
                    found.setdefault(Case(name, change, rounds), []).append(lag)
    return {case: np.array(sample) for case, sample in found.items()}


# ---- cells ----

ARMS, ROUNDS = 6, 30_000
COSTS = (0.1, 1.0, 4.0)
FAMILIES: Mapping[str, Environment] = {
    "still, means from .1 to .9": RandomChanges(ARMS),
    "still, close means": RandomChanges(ARMS, low=0.42, high=0.58),
    "3 changes of all means": RandomChanges(ARMS, every=ROUNDS / 3),
    "10 changes": RandomChanges(ARMS, every=ROUNDS / 10),
    "50 changes": RandomChanges(ARMS, every=ROUNDS / 50),
    "drifting means, over 300 rounds": OrnsteinUhlenbeck(ARMS, time=300),
    "over 3,000 rounds": OrnsteinUhlenbeck(ARMS, time=3000),
    "outages": Outages(ARMS, every=3000, length=200),
    "all levels jump together": CommonJumps(ARMS, every=ROUNDS / 12),
    "seasons, each arm its own": Seasons(ARMS, period=1000),
}
IN_CELLS = (FOLLOWER, "ewma", "fail-over", "ucb1")

Cells = Mapping[tuple[str, float], Mapping[str, Array]]
"""Costs above the best plan, by family and λ, and by policy."""


def cells(replications: int, rounds: int, seed: int, workers: int | None = None) -> Cells:
    """Play every family at every λ."""
    found: dict[tuple[str, float], dict[str, Array]] = {}
    with find_backend("threads", workers=workers) as backend:
        for family, world in FAMILIES.items():
            for cost in COSTS:
                policies = {name: made({"policy": name}, ARMS, cost) for name in (OWN, *IN_CELLS)}
                frame = simulate(
                    policies,
                    world,
                    horizon=rounds,
                    switching_cost=cost,
                    replications=replications,
                    seed=seed,
                    checkpoints=1,
                    record=("dynamic",),
                    backend=backend,
                    progress=False,
                ).frame
                found[family, cost] = {
                    name: frame.filter(frame["policy"] == name)["dynamic"].to_numpy() for name in policies
                }
    return found


def geometric_mean(found: Cells, policy: str) -> Array:
    """Return a sample whose mean is the geometric mean of those ratios, and whose spread is its own, to first order."""
    logs = log_ratios(found, policy)
    value = math.exp(logs.mean())
    return np.asarray(value * (1.0 + logs - logs.mean()))


def log_ratios(found: Cells, policy: str) -> Array:
    """Return a sample whose mean is the mean log ratio of costs to the adaptive policy's over all cells.

    The spread is that of the replications, to first order.
    """
    parts = [
        math.log(some[policy].mean() / some[OWN].mean())
        + some[policy] / some[policy].mean()
        - some[OWN] / some[OWN].mean()
        for some in found.values()
    ]
    return np.asarray(np.mean(parts, axis=0))


@dataclass(frozen=True)
class Played:
    """The games behind these claims."""

    lags: Mapping[Case, Array] = field(default_factory=dict)
    cells: Cells = field(default_factory=dict)


# ---- the claims ----


@dataclass(frozen=True)
class Within:
    """Is the median of a sample at most `limit`, or, with `above`, at least?"""

    what: str
    sample: Array
    limit: float
    above: bool = False

    def answer(self, confidence: float) -> Answer:
        """Decide by the distribution-free interval of the median."""
        value, low, high = quantile(self.sample, 0.5, confidence)
        under: Outcome = "yes" if high <= self.limit else "no" if low > self.limit else "open"
        over: Outcome = "yes" if low >= self.limit else "no" if high < self.limit else "open"
        shown = f"{self.what}: {_rounds(value)} ({_rounds(low)} to {_rounds(high)}), limit {number(self.limit)}"
        return Answer(self.what, over if self.above else under, shown, value, low, high, len(self.sample))


def _lag_questions(policy: str, change: str, limit: float) -> Any:
    def questions(played: Played) -> list[Question]:
        return [
            Within(f"after {number(case.steady)} steady rounds", sample, limit)
            for case, sample in played.lags.items()
            if case[:2] == (policy, change)
        ]

    return questions


def _late(played: Played) -> list[Question]:
    return [
        Within(f"after {number(case.steady)} steady rounds", sample, case.steady / 50, above=True)
        for case, sample in played.lags.items()
        if case[:2] == (OWN, "left") and case.steady >= 10**4
    ]


def _in_cells(played: Played) -> list[Question]:
    if not played.cells:
        return []
    found: list[Question] = [Less("all cells, the geometric mean", geometric_mean(played.cells, FOLLOWER), 0.6)]
    return found + [
        Less(f"{family}, λ = {cost:g}", some[FOLLOWER], some[OWN], 1.4) for (family, cost), some in played.cells.items()
    ]


def _claim(id: str, sentence: str, rule: str, questions: Any) -> Claim[Played]:
    return Claim(id, sentence, "docs/which_policy.md", rule, questions)


CLAIMS = (
    _claim(
        "leaves",
        "TrackingSwitch leaves an arm that went from 0.25 to 0.85 within 60 rounds, however long nothing had changed.",
        "rounds until the arm is left, in the median",
        _lag_questions(FOLLOWER, "left", 60.0),
    ),
    _claim(
        "notices",
        "With notice=60 it finds an arm that went from 0.55 to 0.05 within 150 rounds.",
        "rounds until the arm is found, in the median",
        _lag_questions("tracking, notice 60", "found", 150.0),
    ),
    _claim(
        "late",
        "AdaptiveTsallisSwitch never forgets: it leaves such an arm after a fiftieth of the steady rounds, or later.",
        "rounds until the arm is left, in the median, from 10,000 steady rounds on",
        _late,
    ),
    _claim(
        "changing-worlds",
        "In thirty cells of changing worlds TrackingSwitch costs, above the best plan, at most 0.6 of what the "
        "adaptive policy does in the geometric mean, and in none more than 1.4.",
        "dynamic regret over that of adaptive",
        _in_cells,
    ),
)


# ---- tables ----


def _rounds(value: float) -> str:
    return number(value) if math.isfinite(value) else "–" if value < 0 else "∞"


def lag_table(found: Mapping[Case, Array], change: str) -> str:
    """Return the median lags with intervals, and those of nine games in ten, after each number of steady rounds."""
    steady = sorted({case.steady for case in found})
    rows = []
    for name in POLICIES:
        cells = []
        for rounds in steady:
            sample = found[Case(name, change, rounds)]
            most = float(max(rounds, LEAST_WAIT))
            values = [*quantile(sample, 0.5), quantile(sample, 0.9)[0]]
            value, low, high, nine = (f"> {number(most)}" if x > most else number(x) for x in values)
            cells.append(f"{value} ({low} to {high}), {nine}" if value != low or value != high else f"{value}, {nine}")
        rows.append([f"`{name}`", *cells])
    return markdown_table(["", *(f"{number(rounds)}" for rounds in steady)], rows)


def cell_table(found: Cells) -> str:
    """Return the ratio of each policy's cost above the best plan to the adaptive policy's."""
    rows = []
    for (family, cost), some in found.items():
        ratios = (f"{some[name].mean() / some[OWN].mean():.2f}" for name in IN_CELLS)
        rows.append([family, f"{cost:g}", number(float(some[OWN].mean())), *ratios])
    means = []
    for name in IN_CELLS:
        mean, low, high = interval(geometric_mean(found, name))
        means.append(f"{mean:.2f} ({low:.2f} to {high:.2f})")
    rows.append(["geometric mean", "", "", *means])
    worst = [max(some[name].mean() / some[OWN].mean() for some in found.values()) for name in IN_CELLS]
    rows.append(["the worst cell", "", "", *(f"{ratio:.2f}" for ratio in worst)])
    return markdown_table(["", "λ", f"`{OWN}`", *(f"`{name}`" for name in IN_CELLS)], rows)


def tables_of(played: Played, games: int, replications: int, seed: int) -> str:
    """Return the tables of the page."""
    parts = [
        f"{date.today():%Y-%m-%d}, two cores, seed {seed}.",
        "**The arm in use goes from .25 to .85.** Rounds until it is left, by the number of steady rounds before: the "
        f"median with a 95 % interval, then the 90 % quantile. {games} games; K = {len(LEVELS)}, λ = {COST:g}, "
        f"noise {NOISE:g}.",
        lag_table(played.lags, "left"),
        "**Another arm goes from .55 to .05.** Rounds until it is found:",
        lag_table(played.lags, "found"),
        f"**Cost above the best plan** (dynamic regret) of `{OWN}`, and that of others over it, in worlds drawn anew "
        f"in each of {replications} games: K = {ARMS}, T = {number(ROUNDS)}, coin losses. The intervals are at 95 %.",
        cell_table(played.cells),
    ]
    return "\n\n".join(parts) + "\n"


def main(
    games: Annotated[int, typer.Option(help="Games of each change.")] = 40,
    replications: Annotated[int, typer.Option(help="Games of each cell.")] = 40,
    seed: Annotated[int, typer.Option(help="The same seed gives the same verdicts.")] = 0,
    workers: Workers = None,
    write: Annotated[bool, typer.Option("--write", help=f"Put the tables into the page, after {BEGIN!r}.")] = False,
) -> None:
    """Judge our claims about options that change."""
    runs = whole_number("games", games, least=2)
    count = whole_number("replications", replications, least=2)
    played = Played(lags(runs, STEADY, seed), cells(count, ROUNDS, seed, workers))
    print("\n".join(lines(judge(CLAIMS, played))))
    tables = tables_of(played, runs, count, seed)
    print(tables)
    if write:
        refresh(DOCS / "which_policy.md", tables)


if __name__ == "__main__":
    typer.run(main)
