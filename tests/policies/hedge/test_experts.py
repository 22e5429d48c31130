"""Every expert stands where its naive twin stands, whatever the losses, costs, forecasts and available arms are."""

from typing import Any

import naive_experts as naive
import numpy as np
import pytest

import holdfast as hf
from holdfast.experts import FixedArm, FoundSeason, GivenForecast, SeasonalPlan, Smoothed, WorkFunction, default_experts

K, T = 4, 70
PAIRS = {
    "fixed": (FixedArm(2), naive.Fixed(2)),
    "work function": (WorkFunction(1.0), naive.Work(1.0)),
    "work function, late": (WorkFunction(4.0), naive.Work(4.0)),
    "work function, patient": (WorkFunction(1.0, 0.7), naive.Work(1.0, 0.7)),
    "last loss": (Smoothed(1.0), naive.Mean(1.0, 24)),
    "smoothed": (Smoothed(0.3, 10), naive.Mean(0.3, 10)),
    "season of the last period": (SeasonalPlan(5, 1.0), naive.Season(5, 1.0)),
    "season": (SeasonalPlan(7, 0.15), naive.Season(7, 0.15)),
    "forecast": (GivenForecast(9), naive.Forecast()),
}


def losses_of(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    walk = np.cumsum(draw.normal(0, 0.05, (T, K)), axis=0)
    season = 0.2 * np.sin(2 * np.pi * (np.arange(T)[:, None] / 7 + np.arange(K) / K))
    return np.clip(0.5 + walk + season + draw.normal(0, 0.1, (T, K)), 0, 1)


def table_of(seed: int) -> list[list[float]]:
    """Distances between points of a plane, and more to go up, so that no detour is cheaper."""
    points = np.random.default_rng(seed).random((K, 2))
    across, up = (points - points[:, None]).transpose(2, 0, 1)
    return (np.hypot(across, up) + 0.5 * up).tolist()


def played(ours: list, theirs: list, seed: int, *, cost: Any, closing: bool) -> tuple[list, list]:
    """Return the arm of each expert in each round, ours and its twin's."""
    draw, losses = np.random.default_rng(seed + 1), losses_of(seed)
    price = (lambda a, b: cost) if isinstance(cost, float) else (lambda a, b: cost[a][b] if a >= 0 else 0.0)
    world = naive.World(K, price)
    world.limit = 9
    player = hf.AdaptiveHedgeSwitch(K, switching_cost=cost, experts=ours, forecast_rounds=9).player(seed=1)
    stood = []
    asks = []
    for t in range(T):
        ask: dict[str, Any] = {}
        if t % 6 == 2 and t < 50:
            ask["forecast"] = losses[t : t + 12] + draw.normal(0.05, 0.1, losses[t : t + 12].shape)
            world.forecasts[t] = ask["forecast"].tolist()
        open_now = np.ones((3, K), dtype=bool)
        if closing and t % 3 == 0:
            open_now = draw.random((3, K)) < 0.7
            open_now[:, draw.integers(K)] = True
            ask["available"] = open_now
        world.closed.append([set(np.flatnonzero(~row).tolist()) for row in open_now])
        asks.append(ask)
    for t in range(T):
        arm = player.ask(**asks[t])
        assert arm not in world.closed[t][0]
        stood.append([int(a) for a in player._state.at])
        player.tell(losses[t])
    return stood, naive.lay_paths(theirs, world, losses.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("closing", [False, True], ids=["all arms", "some arms closed"])
@pytest.mark.parametrize("table", [False, True], ids=["one cost", "cost per pair"])
def test_every_path_is_its_naive_twin(table: bool, closing: bool) -> None:
    for seed in range(4):
        cost: object = table_of(seed) if table else (0.1, 0.4, 1.5, 0.01)[seed]
        policy = hf.AdaptiveHedgeSwitch(K, switching_cost=cost, experts=[expert for expert, _ in PAIRS.values()])
        twins = [next(twin for expert, twin in PAIRS.values() if expert == ours) for ours in policy.mixed]
        ours, theirs = played([expert for expert, _ in PAIRS.values()], twins, seed, cost=cost, closing=closing)
        assert all(len(set(column)) > 1 for column in list(zip(*ours, strict=True))[1:])  # they do move
        for t, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert a == b, f"round {t} of seed {seed}: {policy.mixed}"


@pytest.mark.plain
@pytest.mark.parametrize("period", [7, 24])
def test_a_period_is_found_as_its_naive_twin_finds_it(period: int) -> None:
    draw, rounds = np.random.default_rng(period), 330
    phase = np.arange(rounds)[:, None] / period + np.arange(2) / 2
    losses = np.clip(0.5 + 0.3 * np.sin(2 * np.pi * phase) + draw.normal(0, 0.1, (rounds, 2)), 0, 1)
    player = hf.AdaptiveHedgeSwitch(2, switching_cost=0.2, experts=[FoundSeason(0.3), FixedArm(1)]).player(seed=1)
    stood = []
    for row in losses:
        player.ask()
        stood.append([int(player._state.at[0])])
        player.tell(row)
    twin = naive.Found(0.3)
    assert stood == naive.lay_paths([twin], naive.World(2, lambda a, b: 0.2), losses.tolist())
    assert twin.period == period
    assert len({arm for (arm,) in stood[250:]}) == 2


def test_the_default_experts() -> None:
    experts = hf.AdaptiveHedgeSwitch(3, switching_cost=1.0, period=(24, 168)).mixed
    assert [expert.id for expert in experts] == ["fixed-arm"] * 3 + ["work-function"] * 4 + ["smoothed"] * 4 + [
        "seasonal"
    ] * 4 + ["given-forecast"]
    assert [expert.id for expert in hf.AdaptiveHedgeSwitch(3, switching_cost=1.0).mixed[-2:]] == [
        "found-season",
        "given-forecast",
    ]
    assert "found-season" not in [
        expert.id for expert in hf.AdaptiveHedgeSwitch(3, switching_cost=1.0, period=()).mixed
    ]
    assert [getattr(expert, "period", None) for expert in experts if expert.id == "seasonal"] == [24, 24, 168, 168]


def test_the_machine_code_of_a_mixture_serves_any_number_of_arms_paths_and_rounds() -> None:
    one = hf.AdaptiveHedgeSwitch(2, switching_cost=0.5, period=24)
    for other in (
        hf.AdaptiveHedgeSwitch(7, switching_cost="announced", period=(7, 12), forecast_rounds=5),
        hf.AdaptiveHedgeSwitch(3, switching_cost=1.0, experts=[*default_experts(3, (48,)), WorkFunction(2)]),
    ):
        assert other.kernels == one.kernels
    assert hf.AdaptiveHedgeSwitch(2, switching_cost=0.5).kernels != one.kernels


def test_the_work_function_costs_as_much_as_is_proved() -> None:
    """(2K − 1 + (K − 1)/λ)·OPT + (K − 1)(2λ + 1), over losses that hunt it; the first play is free for both."""
    for lam in (0.05, 0.3, 1.0, 4.0):
        for hunt in (1.0, 0.6, 0.1):
            player = hf.AdaptiveHedgeSwitch(K, switching_cost=lam, experts=[WorkFunction(1.0)]).player(seed=1)
            draw, cost, before, table = np.random.default_rng(3), 0.0, None, []
            for _ in range(400):
                here = player.ask()
                losses = draw.random(K) * 0.05 * (1 - hunt)
                losses[here] = hunt
                cost += losses[here] + lam * (before not in (None, here))
                before = here
                table.append(losses)
                player.tell(losses)
            best = hf.best_plan(table, lam).cost - lam
            assert cost <= (2 * K - 1 + (K - 1) / lam) * best + (K - 1) * (2 * lam + 1) + 1e-9
