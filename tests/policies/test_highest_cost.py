"""The highest switching cost is one that every policy can play with, as long as rounds can be counted."""

from dataclasses import replace

import pytest
from every_policy import EVERY

import holdfast as hf
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.policy import HIGHEST_COST

pytestmark = pytest.mark.plain

KNOW_IT = {
    name: case.policy
    for name, case in EVERY.items()
    if (cost := getattr(case.policy, "switching_cost", 0.0))
    and not isinstance(cost, tuple)  # a table
    and case.policy.announces != "rule"
} | {
    "varying": hf.VaryingTsallisSwitch(3),
    # With the default paths, which are compiled once for all numbers of arms.
    "hedge-switch, announced": hf.AdaptiveHedgeSwitch(4, switching_cost="announced", forecast_rounds=0),
}
LOSSES = {"best": lambda n: 0.0, "worst": lambda n: 1.0, "mixed": lambda n: n % 3 / 2}


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("n_arms", [1, 8])
@pytest.mark.parametrize("name", KNOW_IT)
def test_a_game_with_the_highest_cost_can_be_played_saved_and_loaded(name, n_arms, losses):
    policy = replace(KNOW_IT[name], n_arms=n_arms, arms=None, units=(0.0, 1.0))
    told = {"switching_cost": HIGHEST_COST} if policy.announces else {}
    if not told:
        policy = replace(policy, switching_cost=HIGHEST_COST)
    player = policy.player(seed=1)
    for n in range(1000):
        player.ask(**told)
        if player.rounds + player.hold > LONGEST:  # cannot be counted
            break
        if policy.full_information:
            player.tell([LOSSES[losses](n + i) for i in range(n_arms)])
        else:
            player.tell(LOSSES[losses](n) * player.hold, rounds=player.hold)
        if n < 4 or n % 50 == 0:
            player = hf.Player.load(player.save())
            if not told and policy.knows_probabilities:
                assert player.probabilities.sum() == pytest.approx(1.0)
    assert hf.Player.load(player.save()).rounds == player.rounds > 0


@pytest.mark.parametrize("name", KNOW_IT)
def test_a_higher_cost_is_refused_at_the_start(name):
    """In units that do not begin at 0, too: the highest cost is taken, a higher one is not."""

    def begin(cost):
        told = {"switching_cost": cost} if policy.announces else {}
        return (policy if told else replace(policy, switching_cost=cost)).player(seed=1).ask(**told)

    policy = replace(KNOW_IT[name], units=(-8.0, 8.0)) if "guarded" not in name else KNOW_IT[name]
    begin(HIGHEST_COST * policy.unit)
    for cost in (1.01 * HIGHEST_COST * policy.unit, 1e50):
        with pytest.raises(hf.InvalidParameter, match=r"switching_cost must be .*, at most"):
            begin(cost)
