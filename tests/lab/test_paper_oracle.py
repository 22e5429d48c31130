"""Every series of every figure plays as the naive round-by-round oracle does, on a short horizon.

Regret and switches at the horizon, in units of the series' own standard deviation: a mean that is off by `sees` such
deviations is found (see `statistics_of_samples`). Where a policy ignores the switching cost its games are the same
for every cost, and are played once. The cost itself is checked exactly: it is regret plus what was paid.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import naive
import naive_games
import numpy as np
import polars as pl
import pytest
from statistics_of_samples import SEED, assert_same_mean

from holdfast import BaSE, BlockExp3, Exp3, Policy, TsallisInf, TsallisSwitch, VaryingTsallisSwitch
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment
from holdfast.lab.paper.plan import FIGURES, PaperSettings
from holdfast.lab.plan import Cell, Plan
from holdfast.lab.tables import play
from holdfast.simulation import Power

pytestmark = pytest.mark.slow

T = 120
SETTINGS = PaperSettings(replications=4000, horizon=T, seed=SEED)
ROWS = {row.table: row for figure in FIGURES.values() if figure.name != "varying-ranges" for row in figure.rows}
"""All but losses of announced ranges, whose games `tests/environments/test_ranges.py` plays round by round."""


def oracle(policy: Policy) -> Any:
    K = policy.n_arms
    if isinstance(policy, TsallisSwitch):
        return naive.TsallisSwitch(K, policy.switching_cost)
    if isinstance(policy, VaryingTsallisSwitch):
        return naive.VaryingTsallisSwitch(K)
    if isinstance(policy, TsallisInf):
        return naive.TsallisInf(K)
    if isinstance(policy, BlockExp3):
        return naive.BlockExp3(K, policy.switching_cost, policy.horizon)
    if isinstance(policy, Exp3):
        return naive.Exp3(K)
    assert isinstance(policy, BaSE)
    return naive.BaSE(K, policy.horizon, policy.grid)


def losses(environment: Environment) -> Callable[[int], list[float]]:
    K = environment.n_arms
    if isinstance(environment, Bernoulli):
        means = environment.mean_losses
        gap, best = 0.5 - min(means), means.count(min(means))
        return lambda t: naive_games.bernoulli_means(t, K, gap, best)
    if isinstance(environment, ConstrainedBernoulli):
        return lambda t: naive_games.constrained_means(t, K, environment.gap, environment.best_arms)
    return lambda t: naive_games.reversal_losses(t, K, T)


def games(policy: Policy, environment: Environment) -> int:
    """Return as many games as a few seconds allow: a round of Tsallis-INF is a bisection to the last bit."""
    if isinstance(policy, (BaSE, Exp3, BlockExp3)):
        return 300
    if environment.n_arms > 8:
        return 30
    return 60 if isinstance(policy, TsallisInf) or getattr(policy, "switching_cost", 1.0) < 0.5 else 90


@cache
def played(policy: Policy, environment: Environment, cost: float | Power | None) -> np.ndarray:
    """Regret and switches at the horizon of games of the oracle."""
    rng = random.Random(SEED)
    means, found = losses(environment), []
    K = environment.n_arms
    rows = [means(t) for t in range(1, T + 1)]
    turned = [[row[-turn:] + row[:-turn] for row in rows] for turn in range(K)]
    for _ in range(games(policy, environment)):
        turn = rng.randrange(K) if environment.shuffled else 0

        def rotated(t: int, turn: int = turn) -> list[float]:
            return turned[turn][t - 1]

        game = naive_games.play(oracle(policy), rotated, T, rng, cost if isinstance(cost, Power) else 0)
        found.append((game.pseudo_regret[-1], game.switches[-1]))
    return np.array(found)


def check(cell: Cell, frame: pl.DataFrame) -> None:
    for series, policy in cell.policies.items():
        rows = frame.filter((pl.col("policy") == series) & (pl.col("round") == T))
        fast = rows.select("pseudo_regret", "switches").to_numpy().astype(float)
        slow = played(policy, cell.environment, cell.switching_cost if policy.announces else None)
        unit = np.maximum(fast.std(axis=0), 1e-6)
        assert_same_mean(fast / unit, slow / unit, sees=11 / len(slow) ** 0.5)
        if not isinstance(cell.switching_cost, Power):
            paid = rows["pseudo_regret"] + cell.switching_cost * rows["switches"]
            assert (paid - rows["regret_with_switching"]).abs().max() < 1e-9


@pytest.mark.parametrize("table", ROWS)
def test_means_are_the_oracles(table: str) -> None:
    cells = ROWS[table].cells(SETTINGS)
    frame = play(Plan(table, tuple(cells)))[table].frame
    for cell in cells:
        check(cell, frame)
