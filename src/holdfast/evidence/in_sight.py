"""The track of policies that see the losses of all arms: what each costs, over the cost of the best fixed arm.

    (the best arm's loss + regret with switching) / (the best arm's loss + λ)

is below 1 where a policy is worth its switches. Means over replications, with Student's intervals at 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.evidence.contestants import OWN_LOSS
from holdfast.evidence.findings import ArenaFindings
from holdfast.evidence.worlds import World
from holdfast.extras import pl
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import interval
from holdfast.report.html import Column, Section, folded, paragraph, table
from holdfast.text import number

REPLICATIONS, HORIZON = 20, 10_000
WORLDS = (
    "stochastic-easy",
    "adversarial",
    "drifting-cheap",
    "drifting-costly",
    "seasonal-cheap",
    "seasonal-costly",
    "changing-best-cheap",
    "changing-best-costly",
    "jumping-levels-cheap",
    "jumping-levels-costly",
)
"""Where they play unless other environments are named: every one of their blocks is a round, so games take longer."""


def defaults(
    replications: int | None, horizon: int | None, environments: object, traces: bool
) -> tuple[int, int, object]:
    """Replications, rounds and environments, where they are not given."""
    worlds = [*WORLDS, *(["traces"] if traces else [])] if environments is None else environments
    runs = REPLICATIONS if replications is None else replications
    return runs, HORIZON if horizon is None else horizon, worlds


def compared(
    worlds: Sequence[World],
    costs: Mapping[tuple[str, int], Mapping[str, Array]],
    switches: Mapping[str, Mapping[str, float]],
) -> pl.DataFrame:
    """One row for each environment and policy, the cheapest first."""
    rows: list[dict[str, Any]] = []
    for world in worlds:
        stay = float(world.environment.expected(0, world.horizon).min())
        for name, own in costs[world.name, world.horizon].items():
            mean, low, high = interval((stay + own) / (stay + world.switching_cost))
            rows.append(
                {
                    "environment": world.name,
                    "switching_cost": world.switching_cost,
                    "policy": name,
                    "over_best_arm": mean,
                    "low": low,
                    "high": high,
                    "switches": switches[world.name][name],
                }
            )
    return pl.DataFrame(rows).sort("environment", "over_best_arm", maintain_order=True)


def overall(compared: pl.DataFrame) -> pl.DataFrame:
    """For each policy the geometric mean over the environments and the worst of them, the least mean first."""
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


def summary(findings: ArenaFindings) -> list[str]:
    """A line for each policy, as a terminal shows it."""
    assert findings.in_sight is not None
    rows = overall(findings.in_sight).to_dicts()
    return [
        findings.size(),
        "",
        f"{'cost over the best fixed arm':28} {'mean':>8} {'worst':>8} {'':9} in environment",
        *(
            f"{findings.marked(row['policy']):28} {row['mean']:8.3f} {row['worst']:8.3f} ±{row['around']:<8.3f} "
            f"{row['worst_in']}"
            for row in rows
        ),
        "",
        f"{OWN_LOSS} and tsallis-switch see the loss of their own arm only, the others all.",
    ]


def section(findings: ArenaFindings) -> Section:
    """Every number, as a section of the page."""
    assert findings.in_sight is not None
    columns = [Column("policy"), Column("mean", numeric=True), Column("worst", numeric=True), Column("in")]
    rows = [
        [findings.marked(row["policy"]), f"{row['mean']:.3f}", _around(row["worst"], row["around"]), row["worst_in"]]
        for row in overall(findings.in_sight).to_dicts()
    ]
    heads = [Column("policy"), Column("over the best arm", numeric=True), Column("switches", numeric=True)]
    each = [
        folded(
            f"{world.name}: λ = {world.switching_cost:.3g}",
            table(
                heads,
                [
                    [
                        findings.marked(row["policy"]),
                        _around(row["over_best_arm"], (row["high"] - row["low"]) / 2),
                        number(row["switches"]),
                    ]
                    for row in findings.in_sight.filter(pl.col("environment") == world.name).to_dicts()
                ],
            ),
        )
        for world in findings.worlds
    ]
    said = (
        "What each policy costs, losses and switches, over the cost of the best fixed arm: below 1 it is worth its "
        f"switches. All see the losses of all arms, but for {OWN_LOSS} and tsallis-switch, which see their own only. "
        "Means with 95 % intervals; the first column is the geometric mean over the environments."
    )
    return Section("All in sight", [paragraph(said), table(columns, rows), *each], name="in-sight")


def _around(value: float, half: float) -> str:
    return f"{value:.3f} ± {half:.3f}"
