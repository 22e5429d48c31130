"""What every policy of the package costs in four settings: the table behind the pages of the policies.

    python experiments/policies.py          # docs/reference/policies.csv: a quarter of an hour on two cores
    python experiments/policies.py ucb1     # the lines of one policy, or some, again

Three settings of the paper, and a world that changes: the means of eight arms are drawn anew once in a thousand rounds,
on average. There the cost is that above the best plan (dynamic regret), elsewhere regret with switching.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.checks import one_of
from holdfast.environments import RandomChanges
from holdfast.files import write_whole
from holdfast.lab.judge import COST
from holdfast.lab.plan import Setting, paper_settings
from holdfast.numerics.statistics import interval
from holdfast.policies.registry import POLICIES
from holdfast.simulation import simulate
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import described_policy

K, T, GAMES, SEED = 8, 100_000, 50, 37
REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGES, NUMBERS = REFERENCE / "policies.toml", REFERENCE / "policies.csv"
PAPER = ("stochastic-easy", "stochastic-hard", "adversarial")


def settings(horizon: int = T) -> dict[str, Setting]:
    """Return the settings by name."""
    paper = paper_settings(horizon, K)
    changing = Setting("changing", "ours", RandomChanges(K, every=1000), 1.0, horizon)
    return {name: paper[name] for name in PAPER} | {"changing": changing}


def cost(policy: str, given: Mapping[str, Any], setting: Setting, games: int = GAMES) -> tuple[float, float]:
    """Return the mean cost of a policy there, and its standard error; `given` are parameters that it is played with."""
    entry, costs = {"policy": policy, **given}, Costs.of(setting.switching_cost)
    if "rule" in entry:
        rule = {"policy": entry["rule"]}
        followed = described_policy(policy, rule, setting.environment, setting.horizon, costs).policy
        entry = {"policy": policy, "rule": followed}
    played = described_policy(policy, entry, setting.environment, setting.horizon, costs).policy
    changes = setting.name == "changing"
    result = simulate(
        {policy: played},
        setting.environment,
        horizon=setting.horizon,
        switching_cost=setting.switching_cost,
        replications=games,
        seed=SEED,
        checkpoints=1,
        record=("dynamic",) if changes else (),
        progress=False,
    )
    sample = result.frame["dynamic" if changes else COST].to_numpy()
    return interval(sample).mean, float(sample.std(ddof=1) / games**0.5)


def main() -> None:
    """Play all policies, or those of the command line, and write the table."""
    pages = tomllib.loads(PAGES.read_text(encoding="utf-8"))
    asked = [one_of("policy", name, POLICIES) for name in sys.argv[1:]] or list(POLICIES)
    kept = pl.read_csv(NUMBERS).filter(~pl.col("policy").is_in(asked)).to_dicts() if NUMBERS.exists() else []
    rows = {(row["policy"], row["setting"]): row for row in kept}
    for policy in asked:
        for name, setting in settings().items():
            mean, error = cost(policy, pages.get(policy, {}).get("measured", {}), setting)
            rows[policy, name] = {"policy": policy, "setting": name, "mean": round(mean, 1), "error": round(error, 1)}
            print(f"{policy} in {name}: {mean:.1f} ± {error:.1f}", file=sys.stderr, flush=True)
    order = [(policy, name) for policy in POLICIES for name in settings()]
    write_whole(NUMBERS, pl.DataFrame([rows[place] for place in order if place in rows]).write_csv().encode())


if __name__ == "__main__":
    main()
