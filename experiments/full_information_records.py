"""Exact cost of `AdaptiveHedgeSwitch` on records with full information: the arm's distribution is known.

    python experiments/full_information_records.py FOLDER [records] [forecasts] [search] [speed]

FOLDER has records as parquet files: a column for each arm, a row for each round, losses from 0 to 1. With
`forecasts/carbon_us_forecast.parquet` and its `.forecasts.parquet` (`issued`, `round`, arms) also what forecasts are
worth. Costs are over that of the best fixed arm, beside those of the best plan and of `AdaptiveTsallisSwitch`, which
sees the loss of its own arm only. `search` looks for games in which the certificate is nearly used up, and `speed`
takes times. Without a name all four are done.
"""

from __future__ import annotations

import sys
import time
import timeit
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from full_information_claims import TURNS, Exact, exact_game, hostile

import holdfast as hf

COSTS = {"llm_mmlupro": (0.05, 0.5, 2.0)}
"""λ of a record; the others use `USUAL`."""
USUAL = (0.1, 0.35, 1.0)
NOT_FULL_INFORMATION = ("llm_mmlupro",)
"""Records without full information in practice: they show only that no harm is done."""
REPLICATIONS = 20
COSTLY = (0.0, 0.1, 1.0, 10.0)
"""λ in the search."""


def expected_cost(policy: hf.Policy, losses: np.ndarray, lam: float, forecasts: dict[int, np.ndarray]) -> float:
    """Return the expected cost of a game; raise if the certificate does not hold."""
    player: Any = policy.player(seed=1)
    state, cost, before = player._state, 0.0, np.zeros(losses.shape[1])
    C = np.zeros(len(state.at))
    for t, row in enumerate(losses):
        player.ask(forecast=forecasts.get(t))
        P = state.P.copy()
        cost += P @ row + lam * np.maximum(P - before, 0.0).sum()
        C += row[state.at.astype(int)] + state.paid
        before = P
        player.tell(row)
        if hasattr(policy, "certificate") and cost > C.min() + player.certificate * (1 + 1e-12):
            raise AssertionError(f"round {t}: {cost} > {C.min()} + {player.certificate}")
    return cost


def over_best_arm(
    name: str, losses: np.ndarray, costs: tuple[float, ...], settings: dict[str, Any], forecasts: dict[int, Any]
) -> tuple[np.ndarray, float]:
    """Print the best plan's and the policy's cost over the best fixed arm's; return the latter and its gain."""
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
    return np.array(ours), float(np.mean(way))


def bandit(losses: np.ndarray, lam: float) -> float:
    """Return the mean cost of the bandit policy."""
    policy = hf.AdaptiveTsallisSwitch(losses.shape[1], switching_cost=lam)
    table = hf.simulate(
        policy, hf.LossTable(losses), switching_cost=lam, replications=REPLICATIONS, checkpoints=1, progress=False
    )
    return float(table.final()["total_cost_mean"][0])


def records(folder: Path) -> None:
    """Print every record, given only its λ; and carbon with its period."""
    print(f"{'record':34} {'best plan':>22} {'hedge-switch':>22}   way from best arm to best plan")
    cells: dict[str, np.ndarray] = {}
    ratios: list[float] = []
    for file in sorted(folder.glob("*.parquet")):
        losses = pl.read_parquet(file).to_numpy().astype(float)
        costs = COSTS.get(file.stem, USUAL)
        cells[file.stem], _ = over_best_arm(file.stem, losses, costs, {}, {})
        if file.stem not in NOT_FULL_INFORMATION:
            stay = [losses.sum(axis=0).min() + lam for lam in costs]
            own = [bandit(losses, lam) / s for lam, s in zip(costs, stay, strict=True)]
            print(f"{'... AdaptiveTsallisSwitch':57} {'  '.join(f'{x:.4f}' for x in own):>22}", flush=True)
            ratios += (cells[file.stem] / own).tolist()
        if file.stem.startswith("carbon"):
            over_best_arm("... period=24", losses, costs, {"period": 24}, {})
            over_best_arm("... period=()", losses, costs, {"period": ()}, {})
    every = np.concatenate(list(cells.values()))
    seen = np.concatenate([own for name, own in cells.items() if name not in NOT_FULL_INFORMATION])
    print(f"{len(every)} cells: geometric mean {geometric(every):.4f}, worst {every.max():.4f}")
    print(
        f"{len(seen)} in sight: {geometric(seen):.4f}, and {geometric(np.array(ratios)):.4f} of AdaptiveTsallisSwitch"
    )


def geometric(values: np.ndarray) -> float:
    return float(np.exp(np.log(values).mean()))


def forecasts(folder: Path) -> None:
    """Print what forecasts are worth, right and upside down."""
    losses = pl.read_parquet(folder / "forecasts/carbon_us_forecast.parquet").to_numpy().astype(float)
    issued = pl.read_parquet(folder / "forecasts/carbon_us_forecast.forecasts.parquet").partition_by(
        "issued", as_dict=True
    )
    given = {
        int(key[0]): rows.sort("round").drop("issued", "round").to_numpy().astype(float) for key, rows in issued.items()
    }
    upside = {t: 1 - rows for t, rows in given.items()}
    settings = {"period": 24, "forecast_rounds": 96}
    without, _ = over_best_arm("carbon, half a year", losses, USUAL, settings, {})
    over_best_arm("... with forecasts", losses, USUAL, settings, given)
    wrong, _ = over_best_arm("... upside down", losses, USUAL, settings, upside)
    over_best_arm("... forecasts, 48 rounds of them", losses, USUAL, {"period": 24}, given)
    print(f"upside down over without: at most {(wrong / without).max():.4f}")
    for name, rows in (("forecasts alone", given), ("forecasts alone, upside down", upside)):
        own = []
        for lam in USUAL:
            policy = hf.ForecastPlan(losses.shape[1], switching_cost=lam, forecast_rounds=96)
            own.append(expected_cost(policy, losses, lam, rows) / (losses.sum(axis=0).min() + lam))
        print(f"{name:57} {'  '.join(f'{x:.4f}' for x in own):>22}", flush=True)


def search(seed: int = 20_261_117, tries: int = 200, rounds: int = 1000, short: int = 300) -> None:
    """Search for games that use up the certificate: tables of 0 and 1, and losses that look at the distribution.

    Tables begin as coins, or with arms that lose in turn until one arm alone is good.
    """
    draw = np.random.default_rng(seed)
    worst: dict[tuple[str, str], tuple[float, str]] = {}

    def note(game: Exact, kind: str, words: str) -> None:
        for name, value in zip(("share of the certificate", "overhead", "share of the form"), game, strict=False):
            worst[kind, name] = max(worst.get((kind, name), (0.0, "")), (value, words))

    for lam in COSTLY:
        for K in (2, 3, 8):
            policy = hf.AdaptiveHedgeSwitch(K, switching_cost=lam, forecast_rounds=0)
            words = f"λ = {lam:g}, K = {K}"
            for _ in range(tries // 25):
                share, period, level, spread = draw.random(), 1 + draw.integers(60), draw.random(), draw.random()

                def losses(t: int, P: np.ndarray, at: Any = (share, period, level, spread, K)) -> np.ndarray:
                    share, period, level, spread, K = at
                    hunted = np.quantile(P, share) <= P if (t // period) % 2 else np.arange(K) == (t // period) % K
                    return np.asarray(np.clip(level * hunted + spread * draw.random(K) * (1 - level), 0, 1))

                note(exact_game(policy, losses, rounds), f"hunting, {rounds} rounds", words)
            turns = hostile(TURNS, K, short, 0)
            in_turn = np.array([turns(t, np.zeros(K)) for t in range(short)])
            for goal, table in (
                ("used", (draw.random((short, K)) < 0.5).astype(float)),
                ("overhead", in_turn),
                ("share", in_turn),
            ):
                best = 0.0
                for _ in range(tries):
                    other, size = table.copy(), 1 + draw.integers(5)
                    places = draw.integers(short, size=size), draw.integers(K, size=size)
                    other[places] = 1 - other[places]

                    def from_table(t: int, P: np.ndarray, other: np.ndarray = other) -> np.ndarray:
                        return np.asarray(other[t])

                    game = exact_game(policy, from_table, short)
                    note(game, f"tables, {short} rounds", words)
                    if getattr(game, goal) > best:
                        table, best = other, getattr(game, goal)
    for (kind, name), (value, words) in worst.items():
        print(f"search, {kind}: worst {name} {value:.4f} ({words})")


def speed(replications: int = 100) -> None:
    """Time simulated rounds, and one ask and tell."""
    K, T, lam = 8, 100_000, 1.0
    world = hf.Bernoulli.with_gap(K, 0.1)
    policy = hf.AdaptiveHedgeSwitch(K, switching_cost=lam)

    def play(count: int) -> None:
        hf.simulate(policy, world, horizon=T, switching_cost=lam, replications=count, checkpoints=1, progress=False)

    play(2)
    begun, busy = time.perf_counter(), time.process_time()
    play(replications)
    taken, busy = time.perf_counter() - begun, time.process_time() - busy
    print(f"simulate, K = {K}, T = 100,000, {replications} replications: {taken:.2f} s, {busy:.2f} s of processor time")
    share = 1000 / replications
    print(
        f"1,000 of them: {share * taken:.0f} s; on two cores that do nothing else {share * busy / 2:.0f} s (limit 40)"
    )
    rows = np.random.default_rng(0).random((1000, K)).tolist()
    for name, period in (("default experts", None), ("a period of 24, horizon 48", 24)):
        player = hf.AdaptiveHedgeSwitch(K, switching_cost=lam, period=period).player(seed=1)

        def asks(player: hf.FullInformationPlayer = player) -> None:
            for row in rows:
                player.ask()
                player.tell(row)

        asks()
        wall, busy = (
            1e6 * median(timeit.repeat(asks, timer=clock, number=1, repeat=20)) / len(rows)
            for clock in (time.perf_counter, time.process_time)
        )
        print(f"ask + tell, {name}: {wall:.2f} µs, {busy:.2f} µs of processor time")


def main(folder: Path, wanted: list[str]) -> None:
    """Run the parts named."""
    if not wanted or "records" in wanted:
        records(folder)
    if not wanted or "forecasts" in wanted:
        forecasts(folder)
    if not wanted or "search" in wanted:
        search()
    if not wanted or "speed" in wanted:
        speed()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
