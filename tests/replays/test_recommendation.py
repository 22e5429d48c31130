"""Recommendations of a replay, on made-up numbers: do this, because, unless."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.replays.advice import about_forecasts, about_seeing, joint_recommendation, recommendation
from holdfast.replays.costs import GameTotals, References, Standing
from holdfast.replays.games import follows, has_bound

ARMS = {"CISO": 110.0, "NYISO": 99.0, "PJM": 190.0}


def standing(costs, *, lam=1.0, arms=ARMS, ahead=None):
    """Policies by name: (mean cost, deviation, what it sees, whether it has a bound, whether it follows)."""
    played = {
        name: GameTotals(
            mean - lam + deviation * np.linspace(-1.7, 1.7, 50), np.ones(50), None, sees, bounded, *follows
        )
        for name, (mean, deviation, sees, bounded, *follows) in costs.items()
    }
    return Standing(lam, played, References(arms, 80.0, 10, {}), looking_ahead=ahead or {})


def quarters(*best):
    return {"quarters": [standing({}, arms={**ARMS, arm: 1.0}) for arm in best]}


STEADY, CHANGING = quarters(*["NYISO"] * 4), quarters("NYISO", "CISO", "NYISO", "CISO")
OWN = {
    "adaptive": (104.0, 1.0, "own", True),
    "leader": (101.0, 0.0, "own", False),
    "random": (130.0, 5.0, "nothing", False),
}


def test_a_policy_that_sees_all_and_saves():
    said = recommendation(standing({"hedge": (88.0, 0.0, "all", True), **OWN}), CHANGING)
    assert said.decided
    assert str(said.sentence()) == (
        "Use hedge, because it costs 12 % less than always using NYISO, the best single choice in hindsight, and 13 "
        "% less than leader, the cheapest that sees its own arm only, unless you do not see what the other arms "
        "lose: then use leader, or adaptive, which has a bound against every fixed arm, but follows changes late."
    )


def test_who_does_not_see_the_others_stays_where_one_arm_is_the_best_throughout():
    said = recommendation(standing({"hedge": (88.0, 0.0, "all", True), **OWN}), STEADY)
    assert said.unless == "you do not see what the other arms lose"
    assert (
        said.then
        == "stay with NYISO, or use adaptive, which has a bound against every fixed arm, but follows changes late"
    )
    alone = recommendation(standing(OWN), STEADY)
    assert str(alone.sentence()) == (
        "Stay with NYISO, because nothing that was played costs less and it was the best throughout the record, "
        "unless another may become the best: then use leader."
    )
    assert alone.decided
    following = {**OWN, "tracking": (106.0, 1.0, "own", False, True)}
    assert recommendation(standing(following), STEADY).then == "use tracking"


def test_where_the_best_arm_changes_a_policy_is_recommended_that_costs_a_little_more():
    said = recommendation(standing(OWN), CHANGING)
    assert str(said.sentence()) == (
        "Use leader: it costs 1.0 % more than NYISO, the best single choice, which nobody knew beforehand and which "
        "was the best in only 2 of 4 quarters. If losses may come that are made against it, for which it has no bound, "
        "use adaptive, which has a bound against every fixed arm, but follows changes late."
    )
    bounded = recommendation(standing({"adaptive": OWN["adaptive"]}), CHANGING)
    assert str(bounded.sentence()) == (
        "Use adaptive: it costs 4.0 % more than NYISO, the best single choice, which nobody knew beforehand and which "
        "was the best in only 2 of 4 quarters."
    )


def test_of_policies_that_cost_nearly_the_same_one_with_a_bound_that_follows_is_recommended():
    close = {
        "rule": (90.0, 0.0, "own", False, True),
        "bounded": (90.5, 0.0, "own", True),
        "late": (90.2, 0, "own", False),
    }
    assert recommendation(standing(close), CHANGING).action == "use rule"
    both = {**close, "both": (90.9, 0.0, "all", True, True)}
    assert recommendation(standing(both), CHANGING).action == "use both"
    assert recommendation(standing({**close, "both": (92.0, 0.0, "all", True, True)}), CHANGING).action == "use rule"


def test_a_policy_is_not_an_alternative_to_itself():
    own = {"ewma": (101.0, 0.0, "own", False, True), "tracking": (101.5, 0.0, "own", True, True)}
    said = recommendation(standing({"hedge": (88.0, 0.0, "all", True, True), **own}), CHANGING)
    assert said.then == "use tracking"


def test_who_has_a_bound_and_who_follows():
    tracking, ewma = hf.TrackingSwitch(2, switching_cost=1.0), hf.Ewma(2, switching_cost=1.0)
    alone = hf.TrackingSwitch(2, switching_cost=1.0, guarded=False)
    policies = [tracking, alone, ewma, hf.Guarded(ewma), hf.AdaptiveTsallisSwitch(2, switching_cost=1.0), hf.Ucb1(2)]
    assert [has_bound(policy) for policy in policies] == [True, False, False, True, True, False]
    assert [follows(policy) for policy in policies] == [True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("mean", "deviation", "decided"),
    [(98.0, 20.0, False), (98.5, 2.0, False), (98.4, 2.0, True), (99.5, 2.0, False), (99.6, 2.0, True)],
)
def test_what_the_intervals_do_not_decide_is_said(mean, deviation, decided):
    """Does it save 1 % of NYISO's 100, or not? The interval reaches ±.57 from the mean for a deviation of 2."""
    said = recommendation(standing({"adaptive": (mean, deviation, "own", True)}), CHANGING)
    assert said.decided == decided
    assert str(said.sentence()).endswith("This is close: the intervals do not decide it.") != decided


def test_without_a_policy_that_sees_its_own_arm_only_there_is_nothing_to_fall_back_on():
    said = recommendation(standing({"hedge": (88.0, 0.0, "all", True)}), CHANGING)
    assert (said.unless, said.then) == ("you do not see what the other arms lose", "replay with sees='own'")


def test_what_costs_more_than_a_random_arm_is_not_recommended():
    said = recommendation(standing({"paper": (140.0, 1.0, "own", True)}), CHANGING)
    assert said.action == "stay with NYISO"
    assert said.because == "no policy costs less than an arm taken at random"
    late = "which has a bound against every fixed arm, but follows changes late"
    assert said.then == f"use paper, {late} and costs more here than an arm taken at random"


def test_a_bound_is_not_praised_without_what_it_cost():
    worse = {**OWN, "adaptive": (140.0, 1.0, "own", True)}
    by_cost = {
        lam: recommendation(standing({"hedge": (88.0, 0.0, "all", True), **some}, lam=lam), CHANGING)
        for lam, some in ((0.5, OWN), (1.0, worse))
    }
    late = "which has a bound against every fixed arm, but follows changes late"
    assert str(joint_recommendation(by_cost)).endswith(
        f"unless you do not see what the other arms lose: then use leader, or adaptive, {late}; from λ = 1 on use "
        f"leader, or adaptive, {late} and costs more here than an arm taken at random."
    )
    alone = recommendation(standing(worse), CHANGING)
    assert alone.then == f"use adaptive, {late} and costs more here than an arm taken at random"


def test_what_costs_more_is_no_reason():
    dearer = {"hedge": (100.5, 0.0, "all", True), "adaptive": (104.0, 1.0, "own", True)}
    assert str(recommendation(standing(dearer), CHANGING).sentence()) == (
        "Use hedge: it costs 3.4 % less than adaptive, the cheapest that sees its own arm only, and 0.5 % more than "
        "NYISO, the best single choice, which nobody knew beforehand and which was the best in only 2 of 4 quarters. "
        "If you do not see what the other arms lose, use adaptive."
    )
    by_cost = {
        lam: recommendation(standing({"adaptive": (mean, 1.0, "own", True)}, lam=lam), CHANGING)
        for lam, mean in ((0.5, 90.0), (1.0, 104.0))
    }
    text = str(joint_recommendation(by_cost))
    assert text.startswith("Use adaptive: at λ = 0.5 it costs 9.5 % less")
    assert "because" not in text


def test_policies_that_all_cost_the_same_are_decided():
    alike = {"a": 0.0, "b": 0.0}
    assert recommendation(standing({"x": (1.0, 0.0, "own", True)}, arms=alike), {}).decided


def test_a_random_arm_is_never_recommended():
    said = recommendation(standing({"random": (50.0, 1.0, "nothing", False)}), STEADY)
    assert said.action == "stay with NYISO"
    changing = recommendation(standing({"random": (50.0, 1.0, "nothing", False)}), CHANGING)
    assert str(changing.sentence()) == (
        "Stay with NYISO: nothing else was played. It was the best single choice in hindsight, and the best in only 2 "
        "of 4 quarters."
    )


def test_one_recommendation_for_all_costs():
    by_cost = {
        lam: recommendation(standing({"hedge": (mean, 0.0, "all", True), **OWN}, lam=lam), CHANGING)
        for lam, mean in ((0.1, 80.0), (1.0, 90.0))
    }
    text = str(joint_recommendation(by_cost))
    assert text.startswith("Use hedge, because at λ = 0.1 and 1 it costs 19 % and 10 % less than always using NYISO,")
    assert text.count("unless") == 1


def test_different_actions_are_said_with_their_costs():
    by_cost = {
        0.1: recommendation(standing({"hedge": (80.0, 0.0, "all", True), **OWN}, lam=0.1), STEADY),
        1.0: recommendation(standing({"hedge": (100.0, 0.0, "all", True), **OWN}), STEADY),
    }
    text = str(joint_recommendation(by_cost))
    assert text.startswith("Use hedge, because at λ = 0.1 it costs 19 % less")
    assert "Stay with NYISO, because at λ = 1 nothing that was played costs less" in text


def test_a_name_with_braces():
    arms = {"{0}": 99.0, "b": 190.0}
    costs = {"hedge": (80.0, 0.0, "all", True), "{}": (104.0, 1.0, "own", True)}
    assert "than always using {0}, the best" in str(recommendation(standing(costs, arms=arms), {}).sentence())


def test_what_seeing_all_arms_is_worth():
    (said,) = about_seeing(standing({"hedge": (88.0, 0.0, "all", True), "adaptive": (104.0, 1.0, "own", True)}))
    assert said.decided
    assert str(said).startswith(
        "Seeing the losses of all arms is worth 15 %: hedge costs 15 % less (15 to 16 %) than adaptive"
    )
    (open_,) = about_seeing(standing({"hedge": (104.0, 0.0, "all", True), "adaptive": (104.1, 9.0, "own", True)}))
    assert not open_.decided
    assert str(open_).startswith("Not decided at λ = 1: whether seeing all arms is worth anything.")
    (nothing,) = about_seeing(standing({"hedge": (120.0, 0.0, "all", True), "adaptive": (104.0, 1.0, "own", True)}))
    assert str(nothing).startswith("Seeing the losses of all arms is worth nothing: hedge costs 15 % more")
    assert about_seeing(standing(OWN)) == []


def test_what_looking_ahead_is_worth():
    ahead = {"none": 98.0, "naive": 96.0, "seasonal": 96.01, "given": 93.0}
    (said,) = about_forecasts(standing(OWN, ahead=ahead))
    assert str(said) == (
        "Looking ahead, step by step: expecting the next rounds to be like the last ones saves 2.0 %, looking for days "
        "and weeks in the record changes nothing and using your forecasts saves 3.0 %. That is 70 % of the way from "
        "the best arm to the best plan."
    )
    assert said.numbers["way_to_best_plan"] == pytest.approx(0.7)
    assert about_forecasts(standing(OWN)) == []
