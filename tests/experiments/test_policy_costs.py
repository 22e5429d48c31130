"""The costs on the pages of the policies: every kind of policy plays, with its knobs, and the table has its place."""

import policies
import pytest

from holdfast.lab.judge import COST
from holdfast.simulation import simulate

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("policy", "given"), [("exp3", {}), ("guarded", {"rule": "ewma"}), ("forecast-plan", {"period": 5}), ("amir", {})]
)
def test_a_policy_plays_everywhere(policy, given):
    for setting in policies.settings(300).values():
        mean, error = policies.cost(policy, given, setting, games=3)
        assert -300 <= mean <= 2 * 300 + 1
        assert error >= 0


def test_the_cost_is_the_regret_with_switching_of_those_games():
    import holdfast as hf

    setting = policies.settings(200)["stochastic-hard"]
    played = simulate(
        {"exp3": hf.Exp3(8)}, setting.environment, horizon=200, switching_cost=1.0, replications=4, seed=37
    )
    final = played.final()
    mean, error = policies.cost("exp3", {}, setting, games=4)
    assert (mean, error) == pytest.approx((final[f"{COST}_mean"][0], final[f"{COST}_se"][0]))
