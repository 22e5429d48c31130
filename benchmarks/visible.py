"""What `AdaptiveHedgeSwitch` costs on records where all losses are known, exactly: the arm's distribution is known.

    python benchmarks/visible.py FOLDER

FOLDER has `carbon_us_hourly.parquet`, `llm_mmlupro.parquet` (a column for each arm, a row for each round, losses from 0
to 1) and `forecasts/carbon_us_forecast.parquet` with its `.forecasts.parquet` (`issued`, `round`, arms). Prints costs
over that of the best fixed arm, beside those of the best plan, and the part of the way between the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

import holdfast as hf


def expected_cost(policy: hf.Policy, losses: np.ndarray, lam: float, forecasts: dict[int, np.ndarray]) -> float:
    """The cost of a game on average over its draws; an error where the certificate does not hold."""
    player = policy.player(seed=1)
    state, cost, before = player._state, 0.0, np.zeros(losses.shape[1])
    N = len(policy.mixed)
    C, was = np.zeros(N), None
    for t, row in enumerate(losses):
        player.ask(forecast=forecasts.get(t))
        P, at = state.P.copy(), state.at.astype(int)
        cost += P @ row + lam * np.maximum(P - before, 0.0).sum()
        C += row[at] + lam * (np.ones(N) if was is None else at != was)
        before, was = P, at
        player.tell(row)
        if cost > C.min() + player.certificate * (1 + 1e-12):
            raise AssertionError(f"round {t}: {cost} > {C.min()} + {player.certificate}")
    return cost


def main(folder: Path) -> None:
    """Print the table."""
    read = {name: pl.read_parquet(folder / f"{name}.parquet") for name in ("carbon_us_hourly", "llm_mmlupro")}
    half = pl.read_parquet(folder / "forecasts/carbon_us_forecast.parquet")
    issued = pl.read_parquet(folder / "forecasts/carbon_us_forecast.forecasts.parquet").partition_by(
        "issued", as_dict=True
    )
    given = {
        int(key[0]): rows.sort("round").drop("issued", "round").to_numpy().astype(float) for key, rows in issued.items()
    }
    upside = {t: 1 - rows for t, rows in given.items()}
    carbon, models = read.values()
    cases = [
        ("carbon, period 24", carbon, (0.1, 0.35, 1.0), {"period": 24}, {}),
        ("carbon, period found", carbon, (0.1, 0.35, 1.0), {}, {}),
        ("carbon, no period", carbon, (0.1, 0.35, 1.0), {"period": ()}, {}),
        ("language models", models, (0.05, 0.5, 2.0), {}, {}),
        ("carbon, half a year", half, (0.1, 0.35, 1.0), {"period": 24, "forecast_rounds": 96}, {}),
        ("... with forecasts", half, (0.1, 0.35, 1.0), {"period": 24, "forecast_rounds": 96}, given),
        ("... upside down", half, (0.1, 0.35, 1.0), {"period": 24, "forecast_rounds": 96}, upside),
        ("... forecasts, 48 rounds of them", half, (0.1, 0.35, 1.0), {"period": 24}, given),
    ]
    print(f"{'record':34} {'best plan':>22} {'hedge-switch':>22}   way from best arm to best plan")
    for name, frame, costs, settings, forecasts in cases:
        losses = frame.to_numpy().astype(float)
        plans, ours, way = [], [], []
        for lam in costs:
            policy = hf.AdaptiveHedgeSwitch(losses.shape[1], switching_cost=lam, **settings)
            stay, plan = losses.sum(axis=0).min() + lam, hf.best_plan(losses, lam).cost
            cost = expected_cost(policy, losses, lam, forecasts)
            plans.append(plan / stay)
            ours.append(cost / stay)
            way.append((stay - cost) / (stay - plan))
        words = ("  ".join(f"{x:.4f}" for x in row) for row in (plans, ours))
        print(f"{name:34} {'  '.join(f'{w:>22}' for w in words)}   {np.mean(way):.3f}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
