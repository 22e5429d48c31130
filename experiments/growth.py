"""Growth of cost with T: long games, read off at T = 10⁴, 10⁵, … up to 10⁹.

A policy that does not know T plays one game, recorded at every T. One that knows it, and losses that are laid out over
T, need a game for each T. Policies that draw an arm in every round take time in proportion to T; blocks are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from measures import columns, growth, knows_horizon

from holdfast.checks import whole_number
from holdfast.environments import Bernoulli, ConstrainedBernoulli, Environment, Reversal
from holdfast.lab.plan import Cell, Plan, Setting
from holdfast.lab.tables import Tables, curve_of
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval
from holdfast.results import Result

LONG = "long"
SHORTEST, LONGEST = 10_000, 10**9
"""The range of T."""

DEFAULT, QUICK = 10**6, 10**5
"""Longest T by default, and for a first look."""

FEW = 16
"""Replications where every policy plays."""

Samples = Mapping[int, Array]
"""The costs of a policy's replications, by T."""


@dataclass(frozen=True)
class LongGame:
    """One kind of losses, and what we claim of the adaptive policy there."""

    name: str
    kind: Literal["stochastic", "constrained", "ties", "adversarial"]
    losses: Callable[[int], Environment]
    """Environment as a function of T."""
    cost: float = 1.0
    exponent: float | None = None
    """Largest claimed exponent of growth between 10⁶ and 10⁸."""
    ratio: float | None = None
    """Largest claimed ratio to the paper's policy's cost at 10⁸."""

    def setting(self, horizon: int) -> Setting:
        """Return these losses over `horizon` rounds."""
        return Setting(self.name, LONG, self.losses(horizon), self.cost, horizon)


GAMES = (
    LongGame("two-arms-far", "stochastic", lambda T: Bernoulli((0.5, 1.0)), exponent=0.2, ratio=0.03),
    LongGame("two-arms-near", "stochastic", lambda T: Bernoulli((0.3, 0.5)), exponent=0.2, ratio=0.03),
    LongGame("gap-0.2", "stochastic", lambda T: Bernoulli.with_gap(8, 0.2), exponent=0.2),
    LongGame("gap-0.05", "stochastic", lambda T: Bernoulli.with_gap(8, 0.05), exponent=0.25, ratio=0.025),
    LongGame("gap-0.05-free", "stochastic", lambda T: Bernoulli.with_gap(8, 0.05), cost=0.0),
    LongGame("constrained-0.2", "constrained", lambda T: ConstrainedBernoulli(8, 0.2), exponent=0.3, ratio=0.06),
    LongGame("constrained-0.05", "constrained", lambda T: ConstrainedBernoulli(8, 0.05), exponent=0.3, ratio=0.06),
    LongGame("tied", "ties", lambda T: Bernoulli.with_gap(8, 0.2, best_arms=3)),
    LongGame("tied-constrained", "ties", lambda T: ConstrainedBernoulli(8, 0.2, best_arms=3)),
    LongGame("reversal", "adversarial", lambda T: Reversal(8, T)),
)
"""Two or eight arms, λ = 1 unless switches are free. Only the reversal depends on T."""


def decades(longest: int) -> tuple[int, ...]:
    """Return 10⁴, 10⁵, … and the longest.

    >>> decades(1_000_000)
    (10000, 100000, 1000000)
    """
    longest = whole_number("longest", longest, least=SHORTEST, most=LONGEST)
    return (*(T for k in range(4, 10) if (T := 10**k) < longest), longest)


def long_plan(entries: Mapping[str, Mapping[str, Any]], replications: int, seed: int, longest: int) -> Plan:
    """Return a plan of every policy in every long game: a cell for each game and T that needs a new one."""
    horizons, count = decades(longest), min(replications, FEW)
    cells: list[Cell] = []
    for game in GAMES:
        made = game.setting(longest).cell(list(entries.values())).policies
        anew = [
            name
            for name, policy in zip(entries, made.values(), strict=True)
            if game.kind == "adversarial" or knows_horizon(policy)
        ]
        once = [name for name in entries if name not in anew]
        games: list[tuple[list[str], int, tuple[int, ...], str]] = []
        games += [(anew, T, (T,), f"{game.name},T={T}") for T in horizons] if anew else []
        games += [(once, longest, horizons, f"{game.name},every-T")] if once else []
        for names, T, rounds, name in games:
            chosen = [entries[one] for one in names]
            cells.append(game.setting(T).cell(chosen, checkpoints=rounds, replications=count, seed=seed, name=name))
    written = {
        "name": LONG,
        "replications": count,
        "longest": longest,
        "seed": seed,
        "checkpoints": list(horizons),
        "policies": list(entries),
        "environments": [game.name for game in GAMES],
    }
    return Plan(LONG, tuple(cells), written)


def samples_of(result: Result) -> dict[str, dict[int, Array]]:
    """Return the costs of each policy by the rounds recorded, replication by replication."""
    found = {}
    for policy in result.policies:
        rounds, values = curve_of(result, policy)
        found[policy] = {int(T): values[:, i] for i, T in enumerate(rounds)}
    return found


def late(samples: Samples) -> Samples:
    """Return the last three decades, such as 10⁶ to 10⁸."""
    return {T: samples[T] for T in sorted(samples)[-3:]}


def long_table(tables: Tables) -> pl.DataFrame:
    """Return one row for each long game, policy and T: the cost, and the exponent up to there, fitted on three T."""
    played: dict[tuple[str, str], dict[int, Array]] = {}
    for cell in tables.plan.cells:
        for policy, by_T in samples_of(tables[cell.name]).items():
            played.setdefault((str(cell.keys["environment"]), policy), {}).update(by_T)
    kinds, rows = {game.name: game.kind for game in GAMES}, []
    for (name, policy), samples in played.items():
        for T in sorted(samples):
            up_to = late({t: sample for t, sample in samples.items() if t <= T})
            row = {"environment": name, "kind": kinds[name], "policy": policy, "horizon": T}
            row |= {"replications": len(samples[T]), "since": min(up_to)}
            rows.append(row | columns("cost", interval(samples[T])) | columns("exponent", growth(up_to)))
    return pl.DataFrame(rows)
