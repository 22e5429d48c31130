"""Rivals that see all losses, each against its naive twin, and what is known of their cost."""

import math
from typing import Any

import naive_experts
import naive_full_information as naive
import numpy as np
import pytest

import holdfast as hf

K, T, LAM = 4, 300, 0.4
DRAWING: dict[str, tuple[hf.Policy, Any]] = {
    "lazy-hedge": (hf.LazyHedge(K, switching_cost=LAM, horizon=T), lambda: naive.Hedge(K, LAM, T)),
    "fixed-share": (hf.FixedShare(K, switching_cost=LAM, horizon=T, shifts=6), lambda: naive.Share(K, LAM, T, 6)),
    "shrinking-dartboard": (
        hf.ShrinkingDartboard(K, switching_cost=LAM, horizon=T),
        lambda: naive.Dartboard(K, LAM, T),
    ),
    "lazy-leader": (hf.FollowLazyLeader(K, switching_cost=LAM, horizon=T), lambda: naive.Leader(K, LAM, T)),
    "random-walk": (hf.RandomWalkPerturbation(K), lambda: naive.Walk(K)),
}
PATHS: dict[str, tuple[hf.Policy, Any]] = {
    "work-function": (hf.WorkFunctionAlone(K, switching_cost=LAM, scale=2), naive_experts.Work(2)),
    "threshold": (hf.Threshold(K, switching_cost=LAM, rounds=8), naive_experts.Mean(1.0, 8)),
    "forecast-plan": (hf.ForecastPlan(K, switching_cost=LAM, period=6), naive_experts.Season(6, 0.15)),
    "forecast-plan, given": (hf.ForecastPlan(K, switching_cost=LAM, forecast_rounds=9), naive_experts.Forecast()),
}


def losses_of(rounds: int, seed: int = 3) -> np.ndarray:
    """A best arm that changes, and noise, in multiples of 1/64: sums are exact."""
    draw = np.random.default_rng(seed)
    best = np.arange(K) == (np.arange(rounds)[:, None] // 20) % K
    return np.round(64 * np.clip(0.6 - 0.4 * best + draw.normal(0, 0.2, (rounds, K)), 0, 1)) / 64


@pytest.mark.plain
@pytest.mark.parametrize("name", DRAWING)
def test_a_rival_plays_the_arms_of_its_naive_twin(name: str) -> None:
    policy, make = DRAWING[name]
    for replication in range(3):
        player, twin = policy.player(seed=9, replication=replication), make()
        stream, history = hf.Stream(9, f"policy/{policy.label}", replication), []
        for row in losses_of(T).tolist():
            assert player.ask() == twin.choose(history, stream.uniform)
            if policy.knows_probabilities:
                assert player.probabilities == pytest.approx(twin.weights(history), rel=1e-10)
            player.tell(row)
            history.append(row)
        assert player.switches > 3


@pytest.mark.plain
@pytest.mark.parametrize("name", PATHS)
def test_a_path_alone_stands_where_its_naive_twin_stands(name: str) -> None:
    policy, twin = PATHS[name]
    rounds = 90
    losses, world, player = losses_of(rounds), naive_experts.World(K, lambda a, b: LAM), policy.player(seed=1)
    world.limit = 9
    arms = []
    for t in range(rounds):
        ask = {}
        if "given" in name and t % 7 == 1:
            ask["forecast"] = np.vstack([losses[t : t + 12], losses[:1]]) + 0.1 * np.sin(t)
            world.forecasts[t] = ask["forecast"].tolist()
        arms.append([player.ask(**ask)])
        player.tell(losses[t])
    assert arms == naive_experts.lay_paths([twin], world, losses.tolist())
    assert player.switches > 3
    with pytest.raises(AttributeError, match=f"{policy.id} has no certificate"):
        _ = player.certificate  # type: ignore[attr-defined]


@pytest.mark.parametrize("hunt", ["likeliest", "coins", "rotating"])
@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
def test_lazy_hedge_costs_no_more_than_is_said(lam: float, hunt: str) -> None:
    """Exact expectations: λ + √((1 + 2λ)T ln K/2) over the best arm, at the horizon."""
    rounds, draw = 2000, np.random.default_rng(4)
    player = hf.LazyHedge(K, switching_cost=lam, horizon=rounds).player(seed=1)
    cost, L, before = 0.0, np.zeros(K), np.zeros(K)
    for t in range(rounds):
        player.ask()
        P = player.probabilities
        row = (np.arange(K) == np.argmax(P)) * 1.0 if hunt == "likeliest" else (draw.random(K) < 0.5) * 1.0
        if hunt == "rotating":
            row = (np.arange(K) != (t // 9) % K) * 1.0
        cost += float(P @ row) + lam * float(np.maximum(P - before, 0).sum())
        L += row
        before = P
        player.tell(row)
    assert cost <= L.min() + lam + math.sqrt((1 + 2 * lam) * rounds * math.log(K) / 2)


@pytest.mark.plain
@pytest.mark.parametrize("name", [*DRAWING, *PATHS])
def test_arms_that_are_not_available_are_never_played(name: str) -> None:
    """Also with probability 0, and afterwards the game goes on with all of them."""
    policy, draw = (DRAWING | PATHS)[name][0], np.random.default_rng(7)
    player, played = policy.player(seed=2), set()
    for t, row in enumerate(losses_of(200).tolist()):
        available = draw.random(K) < 0.6
        available[draw.integers(K)] = True
        arm = player.ask(available=available.tolist()) if t % 3 else player.ask()
        assert available[arm] or t % 3 == 0
        if policy.knows_probabilities:
            p = player.probabilities
            assert p.sum() == pytest.approx(1.0)
            assert t % 3 == 0 or p[~available].sum() == 0.0
        player.tell(row)
        played.add(arm)
    assert len(played) == K
