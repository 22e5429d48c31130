"""A table with forecasts and available arms: simulations play as online players that are asked with them."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.experts import FixedArm, GivenForecast

K, T = 3, 120
DRAW = np.random.default_rng(8)
LOSSES = 100 * DRAW.integers(0, 9, (T, K)) / 8
FORECASTS = {t: LOSSES[t : t + 9] + DRAW.normal(0, 10, LOSSES[t : t + 9].shape) for t in range(0, T, 7)}
AVAILABLE = DRAW.random((T, K)) < 0.7
AVAILABLE[np.arange(T), DRAW.integers(K, size=T)] = True
UNITS = {"units": (0.0, 100.0)}


def world(**known: object) -> hf.ForecastTable:
    return hf.ForecastTable(hf.LossTable(LOSSES, **UNITS), **known)


@pytest.mark.plain
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("closing", [False, True])
@pytest.mark.parametrize(
    "policy",
    [
        hf.ForecastPlan(K, switching_cost=30.0, forecast_rounds=6, **UNITS),
        hf.RandomWalkPerturbation(K, **UNITS),
        hf.ShrinkingDartboard(K, switching_cost=30.0, horizon=T, **UNITS),
        hf.AdaptiveHedgeSwitch(
            K, switching_cost=30.0, experts=[FixedArm(1), FixedArm(2), GivenForecast(6)], forecast_rounds=6, **UNITS
        ),
    ],
    ids=lambda policy: policy.id,
)
def test_simulations_play_as_players_that_are_asked_with_them(policy, closing, shuffled):
    environment = world(forecasts=FORECASTS, shuffled=shuffled, **({"available": AVAILABLE} if closing else {}))
    result = hf.simulate(policy, environment, switching_cost=30.0, replications=3, seed=2, progress=False)
    last = result.frame.filter((result.frame["replication"] == 2) & (result.frame["round"] == T))
    stream = hf.Stream(2, "environment", 2)
    shift = int(stream.uniform() * K) if shuffled else 0
    order = [(i + shift) % K for i in range(K)]
    player, loss = policy.player(seed=2, replication=2), 0.0
    for t in range(T):
        ask = {"available": AVAILABLE[t][order].tolist()} if closing else {}
        if t in FORECASTS and policy.id in ("forecast-plan", "hedge-switch"):
            ask["forecast"] = FORECASTS[t][:, order]
        arm = player.ask(**ask)
        assert not closing or AVAILABLE[t][order][arm]
        loss += LOSSES[t][order][arm]
        player.tell(LOSSES[t][order].tolist())
    assert last["total_loss"].item() == pytest.approx(loss)
    assert last["switches"].item() == player.switches > 2


@pytest.mark.plain
def test_a_table_without_either_is_the_plain_table():
    policy = hf.RandomWalkPerturbation(K, **UNITS)
    plain = hf.simulate(policy, world().table, switching_cost=30.0, replications=1, progress=False)
    known = hf.simulate(policy, world(), switching_cost=30.0, replications=1, progress=False)
    assert known.frame.equals(plain.frame)
    assert known.provenance["environment"]["forecasts"] == 0


@pytest.mark.plain
def test_a_policy_that_sees_its_own_loss_plays_without_forecasts_and_not_with_closed_arms():
    bandit = hf.Exp3(K, **UNITS)
    plain = hf.simulate(bandit, world().table, switching_cost=30.0, replications=2, progress=False)
    known = hf.simulate(bandit, world(forecasts=FORECASTS), switching_cost=30.0, replications=2, progress=False)
    assert known.frame.equals(plain.frame)
    with pytest.raises(hf.InvalidParameter, match="must be one that sees the losses of all arms"):
        hf.simulate(bandit, world(available=AVAILABLE), switching_cost=30.0)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"forecasts": {T: LOSSES[:2]}}, "round of a forecast"),
        ({"forecasts": {0: LOSSES[0]}}, "forecast of round 0 must be rows of 3 finite numbers"),
        ({"forecasts": {0: [[1.0, np.nan, 0.0]]}}, "finite"),
        ({"available": AVAILABLE[1:]}, "120 rows of 3 True and False"),
        ({"available": np.zeros((T, K), dtype=bool)}, "at least one True"),
    ],
)
def test_what_does_not_fit_is_refused(known, said):
    with pytest.raises(hf.InvalidParameter, match=said):
        world(**known)
    with pytest.raises(hf.InvalidParameter, match="must be a LossTable"):
        hf.ForecastTable(LOSSES)
