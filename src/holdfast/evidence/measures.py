"""The table of an arena: what each policy cost in each environment, and next to the best and to the paper's policy.

**Cost** is regret with switching at the end: what was lost more than the best fixed arm would have, and all switches.
It is negative where following a changing world beats every fixed arm, so a plain ratio of two costs may say nothing.
Here the **ratio** of a policy to another is that of their costs above the cheapest plan in hindsight (`World.plan`),
which no policy can beat on average; where one arm is best all along, and on traces, that is the plain ratio. A policy
that pays next to nothing would still make it meaningless, so the other's is taken as at least a **floor**:

    1 + (its cost − the other's)/max(the other's cost − the plan's, 3 % of Theorem 1's bound).

Three per cent of the bound is what the project calls a difference that matters. All intervals are Student's at 95 %, of
replications in pairs (they share their environment's random numbers), ratios and exponents linearised around their
means; those of quantiles are the sample's own order statistics. The best policy is the one of least mean in the same
sample, so a ratio to it is a little too large where several are nearly as good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.evidence.contestants import PAPER, knows_horizon
from holdfast.evidence.worlds import World
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval, quantile
from holdfast.policies.policy import Policy
from holdfast.results import Result
from holdfast.verdicts.ledger import curve_of

Estimate = tuple[float, float, float]
"""A value and the ends of its confidence interval."""

FLOOR = 0.03
"""The least cost that ratios are measured with, as a share of Theorem 1's bound."""

FLOORS = (0.01, FLOOR, 0.1)
"""Floors that the worst ratios are also given for: a claim that needs one of them is no claim."""

UNKNOWN = (math.nan, math.nan, math.nan)


def costs_of(result: Result) -> dict[str, Array]:
    """The cost of every policy at the last round, replication by replication."""
    return {policy: curve_of(result, policy)[1][:, -1] for policy in result.policies}


def ratio(own: Array, other: Array, world: World, floor: float = FLOOR) -> Estimate:
    """The ratio of two costs above the cheapest plan, paired by replication, with its interval."""
    above, least = float(other.mean()) - world.plan, floor * world.bound
    scale = max(above, least)
    value = 1.0 + float(own.mean() - other.mean()) / scale
    # How far one replication moves the ratio; below the floor the scale does not move.
    slope = value if above > least else 1.0
    return interval(value + (own - own.mean() - slope * (other - other.mean())) / scale)


def growth(samples: Mapping[int, Array]) -> Estimate:
    """The exponent of T that the mean cost grows with: the least-squares slope of logarithms, with its interval.

    Not a number with fewer than two horizons, or where a cost is not clearly above zero.
    """
    if len(samples) < 2 or any(interval(sample)[1] <= 0 for sample in samples.values()):
        return UNKNOWN
    return interval(exponents(samples))


def exponents(samples: Mapping[int, Array]) -> Array:
    """A sample whose mean is the exponent and whose spread is that of the exponent, to first order.

    Replications that all horizons have are used: those of one number are the same game.
    """
    common = min(map(len, samples.values()))
    samples = {T: sample[:common] for T, sample in samples.items()}
    places = np.log(np.array(list(samples), dtype=np.float64))
    weights = (places - places.mean()) / np.sum((places - places.mean()) ** 2)
    slope = float(sum(w * math.log(sample.mean()) for w, sample in zip(weights, samples.values(), strict=True)))
    moved = sum(w * (sample / sample.mean() - 1.0) for w, sample in zip(weights, samples.values(), strict=True))
    return np.asarray(slope + moved)


def tabulated(
    worlds: Sequence[World],
    costs: Mapping[tuple[str, int], Mapping[str, Array]],
    switches: Mapping[str, Mapping[str, float]],
    policies: Mapping[str, Policy],
) -> pl.DataFrame:
    """One row for each environment and policy; `costs` are by environment and horizon, shorter ones for growth."""
    rows = []
    for world in worlds:
        full = costs[world.name, world.horizon]
        best = _cheapest(full)
        for name, own in full.items():
            horizons = sorted(T for other, T in costs if other == world.name)
            estimates = {
                "cost": interval(own),
                "share": interval(own / world.bound),
                "to_best": ratio(own, full[best], world),
                "to_paper": ratio(own, full[PAPER], world),
                "above_best": interval((own - full[best]) / world.bound),
                "above_paper": interval((own - full[PAPER]) / world.bound),
                "q95": quantile(own, 0.95),
                "q99": quantile(own, 0.99),
                "growth": growth({T: costs[world.name, T][name] for T in horizons}),
            }
            rows.append(
                {
                    "environment": world.name,
                    "group": world.group,
                    "n_arms": world.environment.n_arms,
                    "switching_cost": world.switching_cost,
                    "horizon": world.horizon,
                    "bound": world.bound,
                    "plan": world.plan,
                    "policy": name,
                    "knows_horizon": knows_horizon(policies[name]),
                    "best": name == best,
                    "replications": len(own),
                    "switches": switches[world.name][name],
                    **{key: value for what, found in estimates.items() for key, value in _columns(what, found)},
                    "worst_run": float(own.max()),
                }
            )
    return pl.DataFrame(rows)


def _cheapest(costs: Mapping[str, Array]) -> str:
    """The policy of least mean cost."""
    return min(costs, key=lambda name: float(costs[name].mean()))


def _columns(what: str, estimate: Estimate) -> list[tuple[str, float]]:
    return [(what, estimate[0]), (f"{what}_low", estimate[1]), (f"{what}_high", estimate[2])]


def worst_cases(table: pl.DataFrame) -> pl.DataFrame:
    """For each policy the worst over all environments, best policy first; found worlds apart, in `found_…`.

    `to_best`, `above_paper` and `share` are the largest, each with its interval and the environment it is from;
    `q99_share` is the largest 99th percentile as a share of the bound, `mean_to_paper` the mean ratio over the paper's
    settings.
    """
    named, found = table.filter(pl.col("group") != "found"), table.filter(pl.col("group") == "found")
    rows = []
    for policy in table["policy"].unique(maintain_order=True):
        own = named.filter(pl.col("policy") == policy)
        searched = found.filter(pl.col("policy") == policy)
        paper = own.filter(pl.col("group") == "paper")
        rows.append(
            {
                "policy": policy,
                "knows_horizon": table.filter(pl.col("policy") == policy)["knows_horizon"][0],
                "best_in": int(own["best"].sum()),
                **_worst(own, "to_best"),
                **_worst(own, "above_paper"),
                **_worst(own, "share"),
                "q99_share": _largest(own["q99"] / own["bound"]),
                "worst_run_share": _largest(own["worst_run"] / own["bound"]),
                "mean_to_paper": _mean(paper["to_paper"]),
                **{f"found_{name}": value for name, value in _worst(searched, "share").items()},
            }
        )
    order = "to_best" if named.height else "found_share"
    return pl.DataFrame(rows, infer_schema_length=None).sort(order, nulls_last=True)


def _worst(rows: pl.DataFrame, what: str) -> dict[str, object]:
    names = (what, f"{what}_low", f"{what}_high", f"{what}_in")
    if rows.is_empty():
        return dict.fromkeys(names)
    row = rows.row(int(rows[what].arg_max() or 0), named=True)
    return dict(zip(names, (row[what], row[f"{what}_low"], row[f"{what}_high"], row["environment"]), strict=True))


def _largest(values: pl.Series) -> float | None:
    return None if values.is_empty() else float(values.to_numpy().max())


def _mean(values: pl.Series) -> float | None:
    return None if values.is_empty() else float(values.to_numpy().mean())


def worst_ratios(
    worlds: Sequence[World], costs: Mapping[tuple[str, int], Mapping[str, Array]]
) -> dict[str, dict[float, float]]:
    """The worst ratio to the best of each policy with other floors, found worlds left out."""
    named = [world for world in worlds if world.group != "found"]
    if not named:
        return {}
    played = [(world, costs[world.name, world.horizon]) for world in named]

    def worst(name: str, floor: float) -> float:
        return max(ratio(full[name], full[_cheapest(full)], world, floor)[0] for world, full in played)

    return {name: {floor: worst(name, floor) for floor in FLOORS} for name in played[0][1]}
