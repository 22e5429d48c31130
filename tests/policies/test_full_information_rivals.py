"""Rivals that see all losses, each against its naive twin, and what is known of their cost."""

import math
from typing import Any

import naive_experts
import naive_full_information as naive
import numpy as np
import pytest
from hunting import hunting
from kernel_game import stream_of

import holdfast as hf

K, T, LAM = 4, 300, 0.4
PLACES = np.array([0.0, 0.3, 0.5, 1.1])
PAIRS = (np.abs(PLACES[:, None] - PLACES) + 0.5 * (PLACES - PLACES[:, None])).tolist()
"""It costs more to go up than to go down, and no detour is cheaper."""
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
    "work-function, pairs": (hf.WorkFunctionAlone(K, switching_cost=PAIRS, scale=2), naive_experts.Work(2)),
    "forecast-plan, given, pairs": (hf.ForecastPlan(K, switching_cost=PAIRS), naive_experts.Forecast()),
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
@pytest.mark.parametrize("closing", [False, True], ids=["all arms", "some arms closed"])
@pytest.mark.parametrize("name", PATHS)
def test_a_path_alone_stands_where_its_naive_twin_stands(name: str, closing: bool) -> None:
    policy, twin = PATHS[name]
    rounds, draw = 90, np.random.default_rng(6)
    cost = PAIRS if "pairs" in name else np.full((K, K), LAM).tolist()
    world = naive_experts.World(K, lambda a, b: cost[a][b] if a >= 0 else 0.0)
    losses, player = losses_of(rounds), policy.player(seed=1)
    world.limit = getattr(policy, "forecast_rounds", 48)
    arms = []
    for t in range(rounds):
        ask: dict[str, Any] = {}
        if "given" in name and t % 7 == 1:
            ask["forecast"] = np.vstack([losses[t : t + 12], losses[:1]]) + 0.1 * np.sin(t)
            world.forecasts[t] = ask["forecast"].tolist()
        open_now = np.ones((3, K), dtype=bool)
        if closing and t % 3 == 0:
            open_now = draw.random((3 if "given" in name else 1, K)) < 0.6
            open_now[:, draw.integers(K)] = True
            ask["available"] = open_now
        world.closed.append([set(np.flatnonzero(~row).tolist()) for row in open_now])
        arms.append([player.ask(**ask)])
        player.tell(losses[t])
    assert arms == naive_experts.lay_paths([twin], world, losses.tolist())
    assert player.switches > 3
    with pytest.raises(AttributeError, match=f"{policy.id} has no certificate"):
        _ = player.certificate  # type: ignore[attr-defined]


@pytest.mark.parametrize("hunt", ["hunt", "coins", "rotate"])
@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
def test_lazy_hedge_costs_no_more_than_is_said(lam: float, hunt: str) -> None:
    """Exact expectations: λ + √((1 + 2λ)T ln K/2) over the best arm, at the horizon."""
    rounds, losses = 2000, hunting(hunt, K, 4)
    player = hf.LazyHedge(K, switching_cost=lam, horizon=rounds).player(seed=1)
    cost, L, before = 0.0, np.zeros(K), np.zeros(K)
    for t in range(rounds):
        player.ask()
        P = player.probabilities
        row = losses(t, P)
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


@pytest.mark.plain
@pytest.mark.parametrize("name", [name for name, (policy, _) in DRAWING.items() if policy.knows_probabilities])
def test_the_arm_is_drawn_from_the_weights_when_another_comes_back(name: str) -> None:
    """Σ P_before(a)·Pr(a → b) = P(b) in the round after an outage, from evenly spread uniforms."""
    player = DRAWING[name][0].player(seed=2)
    for t, row in enumerate(losses_of(30).tolist()):
        player.ask(available=[0, 2, 3] if t == 29 else None)
        player.tell(row)
    before, found = player._game.state.P.copy(), np.zeros(K)
    for arm in np.flatnonzero(before):
        for u in (np.arange(200) + 0.5) / 200:
            game = player._game.copy()
            game.state.last[0], game.stream[:] = arm + 1, stream_of(u)
            found[game.begin()[0]] += before[arm] / 200
    assert found == pytest.approx(player.probabilities, abs=0.01)


@pytest.mark.plain
def test_arms_whose_weights_have_vanished_are_equally_likely() -> None:
    player = hf.LazyHedge(3, switching_cost=0.0, horizon=3).player(seed=1)
    for _ in range(1000):
        player.ask()
        player.tell([0.0, 1.0, 1.0])
    assert player.ask(available=[1, 2]) in (1, 2)
    assert player.probabilities.tolist() == [0.0, 0.5, 0.5]


@pytest.mark.plain
@pytest.mark.parametrize(("closes", "first"), [(True, 1), (False, 0)])
def test_a_plan_knows_which_arms_close_in_the_last_row(closes: bool, first: int) -> None:
    """To move now costs 0.5 + 3 · 0.4, later 2 · 0.5 + 0.5 + 0.4, to stay 1.0 if one can."""
    player = hf.ForecastPlan(2, switching_cost=0.5).player(seed=1)
    assert player.ask() == 0
    player.tell([0.5, 0.5])
    rows, available = [[0.5, 0.4], [0.5, 0.4], [0.0, 0.4]], np.ones((3, 2), dtype=bool)
    available[2, 0] = not closes
    assert player.ask(forecast=rows, available=available) == first
