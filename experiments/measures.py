"""Cost of a policy in a setting, compared with the best policy and the paper's.

**Cost** is regret with switching at the end: what was lost more than the best fixed arm would have, and all switches.
It is negative where following a changing world beats every fixed arm, so a plain ratio of two costs may say nothing.
Here the **ratio** of a policy to another is that of their costs above the cheapest plan in hindsight (`plan_cost`),
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
from typing import Any

import numpy as np
import polars as pl

from holdfast.checks import parameters_of
from holdfast.environments.phased import Phased
from holdfast.lab.plan import Setting
from holdfast.numerics.hindsight import plan_costs
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import Estimate, interval, quantile
from holdfast.policies.policy import Policy

PAPER = "tsallis-switch"
"""The paper's policy: all others are compared with it, so it always plays."""

FLOOR = 0.03
"""The least cost that ratios are measured with, as a share of Theorem 1's bound."""

FLOORS = (0.01, FLOOR, 0.1)
"""Other floors for the worst ratios: a claim that depends on the floor is no claim."""

Costs = Mapping[tuple[str, int], Mapping[str, Array]]
"""Samples of costs by setting and horizon, and by policy."""


def knows_horizon(policy: Policy) -> bool:
    """Tell whether a policy knows T before the first round."""
    return "horizon" in parameters_of(type(policy))


def plan_cost(setting: Setting) -> float:
    """Return the cost of the cheapest plan in hindsight over the best fixed arm's: zero, or less where it can move.

    A plan knows the means of every round, moves where they change, and pays for that; its first arm is free. In a trace
    means cannot be told from noise, and in the multi-scale walk one arm is best in every round: zero.
    """
    environment = setting.environment
    if not isinstance(environment, Phased):
        return 0.0
    losses = environment.means_between(0, setting.horizon)
    cost = float(plan_costs([losses], setting.switching_cost)[-1]) - setting.switching_cost
    return min(cost - float(losses.sum(axis=0).min()), 0.0)


def ratio(own: Array, other: Array, bound: float, plan: float = 0.0, floor: float = FLOOR) -> Estimate:
    """Return the ratio of two costs above the cheapest plan, paired by replication."""
    above, least = float(other.mean()) - plan, floor * bound
    scale = max(above, least)
    value = 1.0 + float(own.mean() - other.mean()) / scale
    # How far one replication moves the ratio; below the floor the scale does not move.
    slope = value if above > least else 1.0
    return interval(value + (own - own.mean() - slope * (other - other.mean())) / scale)


def growth(samples: Mapping[int, Array]) -> Estimate:
    """Return the exponent of T that the mean cost grows with: the least-squares slope of logarithms.

    Not a number with fewer than two horizons, or where a cost is not clearly above zero.
    """
    if len(samples) < 2 or any(interval(sample).low <= 0 for sample in samples.values()):
        return Estimate(math.nan, math.nan, math.nan)
    return interval(exponents(samples))


def exponents(samples: Mapping[int, Array]) -> Array:
    """Return a sample whose mean is the exponent and whose spread is that of the exponent, to first order.

    Replications that all horizons have are used: those of one number are the same game.
    """
    common = min(map(len, samples.values()))
    samples = {T: sample[:common] for T, sample in samples.items()}
    places = np.log(np.array(list(samples), dtype=np.float64))
    weights = (places - places.mean()) / np.sum((places - places.mean()) ** 2)
    slope = float(sum(w * math.log(sample.mean()) for w, sample in zip(weights, samples.values(), strict=True)))
    moved = sum(w * (sample / sample.mean() - 1.0) for w, sample in zip(weights, samples.values(), strict=True))
    return np.asarray(slope + moved)


def columns(what: str, estimate: Sequence[float]) -> dict[str, float]:
    """Return a value and the ends of its interval as columns of a table."""
    return dict(zip((what, f"{what}_low", f"{what}_high"), estimate, strict=True))


def tabulated(
    settings: Sequence[Setting],
    costs: Costs,
    switches: Mapping[str, Mapping[str, float]],
    policies: Mapping[str, Policy],
) -> pl.DataFrame:
    """Return one row for each setting and policy; shorter horizons in `costs` are for growth."""
    rows: list[dict[str, Any]] = []
    for setting in settings:
        full = costs[setting.name, setting.horizon]
        best, bound, plan = _cheapest(full), setting.bound, plan_cost(setting)
        horizons = sorted(T for other, T in costs if other == setting.name)
        for name, own in full.items():
            row = {
                "environment": setting.name,
                "group": setting.group,
                "n_arms": setting.environment.n_arms,
                "switching_cost": setting.switching_cost,
                "horizon": setting.horizon,
                "bound": bound,
                "plan": plan,
                "policy": name,
                "knows_horizon": knows_horizon(policies[name]),
                "best": name == best,
                "replications": len(own),
                "switches": switches[setting.name][name],
            }
            estimates = {
                "cost": interval(own),
                "share": interval(own / bound),
                "to_best": ratio(own, full[best], bound, plan),
                "to_paper": ratio(own, full[PAPER], bound, plan),
                "above_best": interval((own - full[best]) / bound),
                "above_paper": interval((own - full[PAPER]) / bound),
                "q95": quantile(own, 0.95),
                "q99": quantile(own, 0.99),
                "growth": growth({T: costs[setting.name, T][name] for T in horizons}),
            }
            for what, found in estimates.items():
                row |= columns(what, found)
            rows.append(row | {"worst_run": float(own.max())})
    return pl.DataFrame(rows)


def _cheapest(costs: Mapping[str, Array]) -> str:
    """Return the policy of least mean cost."""
    return min(costs, key=lambda name: float(costs[name].mean()))


def worst_cases(table: pl.DataFrame) -> pl.DataFrame:
    """Return the worst case of each policy over all settings, best policy first; found worlds separately, in `found_…`.

    `to_best`, `above_paper` and `share` are the largest, each with its interval and the setting it is from; `q99_share`
    is the largest 99th percentile as a share of the bound, `mean_to_paper` the mean ratio over the paper's settings.
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
                "q99_share": _number((own["q99"] / own["bound"]).max()),
                "worst_run_share": _number((own["worst_run"] / own["bound"]).max()),
                "mean_to_paper": float(paper["to_paper"].to_numpy().mean()) if paper.height else None,
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


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def worst_ratios(settings: Sequence[Setting], costs: Costs) -> dict[str, dict[float, float]]:
    """Return each policy's worst ratio to the best for several floors, found worlds left out."""
    named = [
        (setting.bound, plan_cost(setting), costs[setting.name, setting.horizon])
        for setting in settings
        if setting.group != "found"
    ]
    if not named:
        return {}

    def worst(name: str, floor: float) -> float:
        return max(ratio(full[name], full[_cheapest(full)], bound, plan, floor).mean for bound, plan, full in named)

    return {name: {floor: worst(name, floor) for floor in FLOORS} for name in named[0][2]}


# ---- full information ----


def over_best_arm(
    settings: Sequence[Setting], costs: Costs, switches: Mapping[str, Mapping[str, float]]
) -> pl.DataFrame:
    """Return costs over that of the best fixed arm, one row for each setting and policy, the cheapest first.

        (the best arm's loss + regret with switching) / (the best arm's loss + λ)

    is below 1 where a policy is worth its switches.
    """
    rows: list[dict[str, Any]] = []
    for setting in settings:
        stay = float(setting.environment.expected(0, setting.horizon).min())
        for name, own in costs[setting.name, setting.horizon].items():
            over = interval((stay + own) / (stay + setting.switching_cost))
            rows.append(
                {
                    "environment": setting.name,
                    "switching_cost": setting.switching_cost,
                    "policy": name,
                    "over_best_arm": over.mean,
                    "low": over.low,
                    "high": over.high,
                    "switches": switches[setting.name][name],
                }
            )
    return pl.DataFrame(rows).sort("environment", "over_best_arm", maintain_order=True)


def overall(compared: pl.DataFrame) -> pl.DataFrame:
    """Return for each policy the geometric mean over the settings and the worst of them, the least mean first."""
    rows = []
    for policy in compared["policy"].unique(maintain_order=True):
        own = compared.filter(pl.col("policy") == policy)
        worst = own.row(int(own["over_best_arm"].arg_max() or 0), named=True)
        rows.append(
            {
                "policy": policy,
                "mean": float(np.exp(np.log(own["over_best_arm"].to_numpy()).mean())),
                "worst": worst["over_best_arm"],
                "around": (worst["high"] - worst["low"]) / 2,
                "worst_in": worst["environment"],
            }
        )
    return pl.DataFrame(rows).sort("mean")
