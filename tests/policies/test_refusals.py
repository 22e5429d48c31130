"""What a policy does not take: each mistake is refused by its name, with the rule."""

import math

import pytest

import holdfast as hf
from holdfast.policies.registry import make_policy

pytestmark = pytest.mark.plain

SCHEDULES = [
    ({"block_lengths": [1, 2]}, "learning_rates must be given together"),
    ({"learning_rates": [1.0]}, "block_lengths must be given together"),
    (
        {"block_lengths": [1, 2], "learning_rates": [0.5, 0.6]},
        "learning_rates at n=2 must not exceed 0.5.*got.*0.6",
    ),
    ({"block_lengths": [1, 0], "learning_rates": [1.0, 1.0]}, "block_lengths at n=2 must be a whole number.*got 0"),
    ({"block_lengths": [1, 1.5], "learning_rates": [1.0, 1.0]}, "block_lengths at n=2 must be.*got 1.5"),
    ({"block_lengths": [1], "learning_rates": [0.0]}, "learning_rates at n=1 must be.*got 0.0"),
    ({"block_lengths": [1], "learning_rates": [math.inf]}, "learning_rates at n=1 must be.*finite.*got inf"),
    ({"block_lengths": "12", "learning_rates": [1.0]}, "block_lengths must be a function of n or a list.*got '12'"),
    ({"block_lengths": [], "learning_rates": []}, "block_lengths must be a function of n or a list"),
    ({"block_lengths": 3, "learning_rates": [1.0]}, "block_lengths must be a function of n or a list.*got 3"),
]
ELIMINATION = [
    ({"horizon": 0}, "horizon must be a whole number from 1 to 9007199254740992; got 0"),
    ({"horizon": 2.5}, "got 2.5"),
    ({"grid": "geometrical"}, r"got 'geometrical'; did you mean 'geometric'\?"),
    ({"order": "round_robin"}, r"did you mean 'round-robin'\?"),
    ({"gamma": 0}, "above 0; got 0"),
    ({"gamma": -1.0}, "above 0; got -1.0"),
    ({"batches": 101}, "from 0 to 100; got 101"),
    ({"batches": -1}, "from 0 to 100; got -1"),
]
CONSTANTS = [
    ({"switching_cost": "announcd"}, "switching_cost must be a number or 'announced'; got 'announcd'"),
    ({"switching_cost": -1.0}, "switching_cost must be .*not negative.*got -1.0"),
    ({"constants": {"longest_step_down": 2.0}}, "longest_step_down must be .*at most 1.9.*got 2.0"),
    ({"constants": {"longest_step_down": 0.0}}, "longest_step_down must be .*above 0.*got 0.0"),
    ({"constants": {"spread_weight": 1.5}}, "spread_weight must be .*at most 1.*got 1.5"),
    ({"constants": {"least_noise": 0}}, "least_noise must be .*above 0.*got 0"),
    ({"constants": {"memory": math.inf}}, "memory must be .*finite.*got inf"),
    ({"constants": {"floor_budget": -0.5}}, "floor_budget must be .*not negative.*got -0.5"),
    ({"constants": {"calm": "1"}}, "calm must be .*got '1'"),
    ({"constants": {"clam": 1}}, "clam is not a parameter of constants.*did you mean 'calm'"),
    ({"constants": 3.0}, "constants must be Constants.*got 3.0"),
]
OTHERS = [
    (lambda: hf.Ucb1(3, cooldown=0), "^cooldown must"),
    (lambda: hf.Ucb1(3, threshold=-1), "^threshold must"),
    (lambda: hf.Ucb1(3, exploration=math.nan), "^exploration must"),
    (lambda: hf.Ucb2(3, alpha=0), "^alpha must"),
    (lambda: hf.BatchedThompson(3, alpha=2), "^alpha must"),
    (lambda: hf.BatchedElimination(3, horizon=0), "^horizon must"),
    (lambda: hf.BatchedElimination(3, horizon=10, batches=11), "^batches must"),
    (lambda: hf.LazyExp3(3, switching_cost=-1), "^switching_cost must"),
    (lambda: hf.AmirTsallis(3, switching_cost=1, horizon=1.5), "^horizon must"),
    (lambda: hf.AnytimeAmirTsallis(3, switching_cost=math.inf), "^switching_cost must"),
    (lambda: hf.StabilityPenaltyBiasMatching(3, switching_cost=1.0, horizon=0), "^horizon must"),
    (lambda: hf.StabilityPenaltyMatching(3, switching_cost="1"), "^switching_cost must"),
    (lambda: hf.LazyHedge(3, switching_cost=1.0, horizon=0), "horizon"),
    (lambda: hf.FixedShare(3, switching_cost=1.0, horizon=100, shifts=99), "shifts"),
    (lambda: hf.WorkFunctionAlone(3, switching_cost=1.0, scale=0), "scale"),
    (lambda: hf.Threshold(3, switching_cost=1.0, rounds=0), "rounds"),
    (lambda: hf.ForecastPlan(3, switching_cost=1.0, forecast_rounds=0), "forecast_rounds must be at least 1"),
    (lambda: hf.ForecastPlan(3, switching_cost=1.0, period=1), "period"),
    (lambda: hf.RandomWalkPerturbation(2).player().ask(forecast=[[0, 1]]), "random-walk looks at none"),
    (lambda: hf.BlockExp3(8, switching_cost=-1.0, horizon=10), "^switching_cost must"),
    (
        lambda: make_policy({"policy": "tsalis-switch", "n_arms": 3}),
        r"policy must be one of .*; got 'tsalis-switch'; did you mean 'tsallis-switch'\?",
    ),
    (
        lambda: make_policy({"policy": "exp3", "n_arm": 3}),
        r"n_arm is not a parameter of exp3; got 3; did you mean 'n_arms'\?",
    ),
]


SETTINGS = [
    *((hf.TsallisSwitch, {}, *row) for row in SCHEDULES),
    *((hf.BaSE, {"horizon": 100}, *row) for row in ELIMINATION),
    *((hf.AdaptiveTsallisSwitch, {"switching_cost": 1.0}, *row) for row in CONSTANTS),
]


@pytest.mark.parametrize(("kind", "others", "settings", "message"), SETTINGS)
def test_settings(kind, others, settings, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        kind(3, **(others | settings))


@pytest.mark.parametrize(("make", "message"), OTHERS)
def test_others(make, message):
    with pytest.raises(hf.InvalidParameter, match=message):
        make()
