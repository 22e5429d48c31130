"""Advice and recommendations on made-up numbers: what intervals decide is said, what they do not is called so."""

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import holdfast as hf
from holdfast.numerics.statistics import Estimate
from holdfast.replays.advice import (
    GameTotals,
    References,
    Standing,
    about_cheapest,
    about_first,
    about_forecasts,
    about_hindsight,
    about_seeing,
    about_stability,
    about_staying,
    advice,
    joint_recommendation,
    mean_of,
    recommendation,
    stretches,
)
from holdfast.replays.games import follows, has_bound
from holdfast.results import interval

ARMS = {"CISO": 110.0, "NYISO": 99.0, "PJM": 190.0}


def spread(mean, deviation, n=50):
    """A sample with exactly this mean, and about this deviation."""
    z = np.linspace(-1.7, 1.7, n)
    return mean + deviation * z


def standing(costs, *, lam=1.0, plan=(80.0, 10), limited=None, arms=ARMS, ahead=None):
    """Policies by name: mean and deviation of the total cost, at one switch each; what each sees, whether it has a
    bound, whether it follows."""
    played = {
        name: GameTotals(spread(mean - lam, deviation), np.ones(50), None, *more)
        for name, (mean, deviation, *more) in costs.items()
    }
    references = References(arms, *plan, limited if limited is not None else {1: 100.0, 2: 97.0, 5: 94.0, 10: 90.0})
    return Standing(lam, played, references, looking_ahead=ahead or {})


def quarters(*best):
    return {"quarters": [standing({}, arms={**ARMS, arm: 1.0}) for arm in best]}


def recommended(costs, parts, **options):
    return recommendation(standing(costs, **options), parts)


ADAPTIVE = {"adaptive": (104.0, 1.0)}
PAPER = {"paper": (130.0, 5.0)}
STEADY, CHANGING = quarters(*["NYISO"] * 4), quarters("NYISO", "CISO", "NYISO", "CISO")
OWN = {
    "adaptive": (104.0, 1.0, "own", True),
    "leader": (101.0, 0.0, "own", False),
    "random": (130.0, 5.0, "nothing", False),
}
HEDGE, NAIVE = {"hedge": (88.0, 0.0, "all", True)}, {"adaptive": (104.0, 1.0, "own", True)}
CLOSE = {
    "rule": (90.0, 0.0, "own", False, True),
    "bounded": (90.5, 0.0, "own", True),
    "late": (90.2, 0, "own", False),
}
LATE = "which has a bound against every fixed arm, but follows changes late"
SINGLE = "NYISO, the best single choice, which nobody knew beforehand and which was the best in only 2 of 4 quarters"
SAID: dict[str, Any] = {
    "nobody beats the best arm": (
        about_staying(standing(ADAPTIVE | PAPER)),
        "At λ = 1 none of the 2 policies beats staying with NYISO, the best arm in hindsight.",
    ),
    "nor by much": (
        about_staying(standing({"adaptive": (100.0, 1.0)} | PAPER)),
        "… beats staying with NYISO, the best arm in hindsight, by more than 1 %.",
    ),
    "one does": (
        about_staying(standing({"adaptive": (90.0, 1.0)} | PAPER)),
        "At λ = 1 adaptive costs 10 % less (9.7 to 10 %) than staying with NYISO, the best arm in hindsight.",
    ),
    "one may": (
        about_staying(standing({"adaptive": (98.0, 20.0), "paper": (110.0, 0.0)}, arms={"a": 98.5, "b": 120.0})),
        "Not decided at λ = 1: whether any policy beats staying with a, the best arm in hindsight. …"
        "adaptive costs between 8.2 % less and 5.1 % more (not decided) than that.…",
    ),
    "alone": (
        about_staying(standing(ADAPTIVE)),
        "At λ = 1 adaptive does not beat staying with NYISO, the best arm in hindsight.",
    ),
    "the first, dearer": (
        *about_first(standing(ADAPTIVE | {"leader": (101.0, 0.0)})),
        "adaptive costs 4.0 % more (3.7 to 4.3 %) than staying with NYISO, without knowing it …"
        "less (22 to 23 %) than a random fixed choice.",
    ),
    "the first, undecided": (
        *about_first(standing({"adaptive": (100.5, 20.0), "leader": (99.0, 0.0)})),
        "…(not decided)…",
    ),
    "the first, which draws nothing": (
        *about_first(standing({"leader": (100.0, 0.0), "paper": (90.0, 1.0)})),
        "leader costs 0 % more than staying with NYISO,…",
    ),
    "the cheapest": (
        about_cheapest(standing(PAPER | ADAPTIVE)),
        "Of the policies adaptive costs least: 4.0 % more (3.7 to 4.3 %) than staying with NYISO, without knowing it "
        "beforehand, and 22 % less (22 to 23 %) than a random fixed choice.",
    ),
    "the only one": (about_cheapest(standing(ADAPTIVE)), "adaptive costs 4.0 % more…"),
    "too close to tell": (
        about_cheapest(standing({"paper": (105.0, 6.0), "exp3": (300.0, 1.0)} | ADAPTIVE)),
        "Not decided at λ = 1: which policy costs least. adaptive has the lowest mean, 4.0 % more…"
        "but paper may cost as little.",
    ),
    "equal": (about_cheapest(standing({"a": (104.0, 0.0), "b": (104.0, 0.0)})), "Not decided…"),
    "a mark too close to tell": (
        about_cheapest(standing({"paper": (190.0, 5.0), "adaptive": (134.0, 5.0)})),
        "…between 1.1 % less and 1.1 % more (not decided) than a random fixed choice.…",
    ),
    "as cheap as the best arm": (
        about_cheapest(standing({"leader": (100.0, 0.0)} | PAPER)),
        "…leader costs least: 0 % more than staying with NYISO,…",
    ),
    "earnings, of which a share means nothing": (
        about_cheapest(standing({"a": (-40.0, 0.0)}, arms={"x": -51.0, "y": -21.0}, plan=(-90.0, 2), limited={})),
        "a costs 10 more than staying with x, without knowing it beforehand, and 5 less than a random fixed choice.",
    ),
    "hindsight": (
        about_hindsight(standing(ADAPTIVE)),
        "At λ = 1 the best plan in hindsight, with 10 switches, saves 10 % against staying with NYISO; "
        "3.0 % with at most 2 and 6.0 % with at most 5 switches.",
    ),
    "hindsight of little use": (
        about_hindsight(standing(ADAPTIVE, plan=(96.5, 3))),
        "…is hardly worth anything: the best plan in hindsight, with 3 switches, saves only 0.5 %…",
    ),
    "hindsight stays": (
        about_hindsight(standing(ADAPTIVE, plan=(99.0, 1))),
        "At λ = 1 the best plan in hindsight stays with NYISO throughout.",
    ),
    "seeing all is worth something": (
        *about_seeing(standing(HEDGE | NAIVE)),
        "Seeing the losses of all arms is worth 15 %: hedge costs 15 % less (15 to 16 %) than adaptive…",
    ),
    "seeing all, undecided": (
        *about_seeing(standing({"hedge": (104.0, 0.0, "all", True), "adaptive": (104.1, 9.0, "own", True)})),
        "Not decided at λ = 1: whether seeing all arms is worth anything.…",
    ),
    "seeing all is worth nothing": (
        *about_seeing(standing({"hedge": (120.0, 0.0, "all", True)} | NAIVE)),
        "Seeing the losses of all arms is worth nothing: hedge costs 15 % more…",
    ),
    "looking ahead": (
        *about_forecasts(standing(OWN, ahead={"none": 98.0, "naive": 96.0, "seasonal": 96.01, "given": 93.0})),
        "Looking ahead, step by step: expecting the next rounds to be like the last ones saves 2.0 %, looking for days "
        "and weeks in the record changes nothing and using your forecasts saves 3.0 %. That is 70 % of the way from "
        "the best arm to the best plan.",
    ),
}
"""Sentences, and what they say: … is anything."""

RECOMMENDED: dict[str, Any] = {
    "one that sees all and saves": (
        recommended(HEDGE | OWN, CHANGING),
        "Use hedge, because it costs 12 % less than always using NYISO, the best single choice in hindsight, and 13 % "
        "less than leader, the cheapest that sees its own arm only, unless you do not see what the other arms lose: "
        f"then use leader, or adaptive, {LATE}.",
    ),
    "who does not see the others stays where one arm is the best throughout": (
        recommended(HEDGE | OWN, STEADY),
        f"…unless you do not see what the other arms lose: then stay with NYISO, or use adaptive, {LATE}.",
    ),
    "nothing costs less than staying": (
        recommended(OWN, STEADY),
        "Stay with NYISO, because nothing that was played costs less and it was the best throughout the record, "
        "unless another may become the best: then use leader.",
    ),
    "another may become the best, and one follows": (
        recommended({**OWN, "tracking": (106.0, 1.0, "own", False, True)}, STEADY),
        "Stay with NYISO,…: then use tracking.",
    ),
    "where the best arm changes, one that costs a little more": (
        recommended(OWN, CHANGING),
        f"Use leader: it costs 1.0 % more than {SINGLE}. If losses may come that are made against it, for which it has "
        f"no bound, use adaptive, {LATE}.",
    ),
    "one with a bound": (recommended(NAIVE, CHANGING), f"Use adaptive: it costs 4.0 % more than {SINGLE}."),
    "nearly the same, and one follows": (recommended(CLOSE, CHANGING), "Use rule,…"),
    "nearly the same, and one has a bound too": (
        recommended({**CLOSE, "both": (90.9, 0.0, "all", True, True)}, CHANGING),
        "Use both,…",
    ),
    "not nearly the same": (recommended({**CLOSE, "both": (92.0, 0.0, "all", True, True)}, CHANGING), "Use rule,…"),
    "no alternative to itself": (
        recommended(
            {
                "hedge": (88.0, 0.0, "all", True, True),
                "ewma": (101.0, 0.0, "own", False, True),
                "tracking": (101.5, 0.0, "own", True, True),
            },
            CHANGING,
        ),
        "…: then use tracking.",
    ),
    "nothing to fall back on": (
        recommended(HEDGE, CHANGING),
        "…, unless you do not see what the other arms lose: then replay with sees='own'.",
    ),
    "dearer than a random arm": (
        recommended({"paper": (140.0, 1.0, "own", True)}, CHANGING),
        "Stay with NYISO, because no policy costs less than an arm taken at random,… "
        f"then use paper, {LATE} and costs more here than an arm taken at random.",
    ),
    "a bound is not praised without what it cost": (
        recommended({**OWN, "adaptive": (140.0, 1.0, "own", True)}, CHANGING),
        f"…use adaptive, {LATE} and costs more here than an arm taken at random.",
    ),
    "what costs more is no reason": (
        recommended({"hedge": (100.5, 0.0, "all", True)} | NAIVE, CHANGING),
        "Use hedge: it costs 3.4 % less than adaptive, the cheapest that sees its own arm only, and 0.5 % more than "
        f"{SINGLE}. If you do not see what the other arms lose, use adaptive.",
    ),
    "all cost the same": (
        recommended({"x": (1.0, 0.0, "own", True)}, {}, arms={"a": 0.0, "b": 0.0}),
        "Stay with a,…",
    ),
    "a random arm never, where one is the best": (
        recommended({"random": (50.0, 1.0, "nothing", False)}, STEADY),
        "Stay with NYISO: nothing else was played.…",
    ),
    "a random arm never": (
        recommended({"random": (50.0, 1.0, "nothing", False)}, CHANGING),
        "Stay with NYISO: nothing else was played. It was the best single choice in hindsight, and the best in only 2 "
        "of 4 quarters.…",
    ),
    "a name with braces": (
        recommended(
            {"hedge": (80.0, 0.0, "all", True), "{}": (104.0, 1.0, "own", True)}, {}, arms={"{0}": 99.0, "b": 190.0}
        ),
        "…than always using {0}, the best…",
    ),
}
SAID |= {name: (found.sentence(), text) for name, (found, text) in RECOMMENDED.items()}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name):
    said, text = SAID[name]
    assert re.fullmatch(re.escape(text).replace("…", ".*"), str(said))
    assert said.decided == ("ot decided" not in text)


def test_numbers_stand_behind_what_is_said():
    assert SAID["nobody beats the best arm"][0].numbers["best_arm_cost"] == 100.0
    assert SAID["nobody beats the best arm"][0].numbers["excess_of_adaptive"] == pytest.approx(4.0)
    assert SAID["the first, dearer"][0].numbers["cost_of_adaptive"] == pytest.approx(104.0)
    assert SAID["hindsight"][0].numbers["best_plan_cost"] == 90.0
    close = SAID["too close to tell"][0].numbers
    assert close["adaptive_less_paper_low"] < 0 < close["adaptive_less_paper_high"]
    assert not any("exp3" in name for name in close)
    assert about_first(standing({"adaptive": (101.0, 1.0), "leader": (104.0, 0.0)})) == []


def test_stability_on_halves_and_quarters():
    whole = standing({"adaptive": (104.0, 1.0), "paper": (130.0, 5.0)})
    other = standing({"adaptive": (104.0, 1.0), "paper": (60.0, 5.0)}, arms={"CISO": 10.0, "NYISO": 20.0})
    close = standing({"adaptive": (104.0, 1.0), "paper": (104.1, 5.0)})
    said = about_stability(whole, {"halves": [whole, whole], "quarters": [whole, other, close, whole]})
    assert not said.decided
    assert str(said) == (
        "adaptive costs least in 2 of 2 halves and in 2 of 4 quarters (1 not decided); "
        "NYISO is the best arm in 2 of 2 halves and 3 of 4 quarters."
    )
    assert about_stability(whole, {"halves": [whole, whole]}).decided


def test_all_sentences_of_one_switching_cost():
    whole = standing({"adaptive": (104.0, 1.0), "paper": (130.0, 5.0)})
    assert len(advice(whole)) == 3
    assert len(advice(whole, {"halves": [whole, whole]})) == 4


def test_rows_hold_every_excess_with_its_interval():
    whole = standing({"adaptive": (104.0, 1.0), "paper": (130.0, 5.0)}, lam=2.0)
    row, _ = whole.rows()
    mean, low, high = interval(whole.costs["adaptive"], 0.95)
    assert (row["cost"], row["cost_low"], row["cost_high"]) == pytest.approx((mean, low, high))
    assert row["losses"] + 2.0 * row["switches"] == pytest.approx(row["cost"])
    assert (row["switches_low"], row["switches_high"]) == (1.0, 1.0)
    for mark, cost in {
        "best_arm": 101.0,
        "worst_arm": 192.0,
        "random_arm": 135.0,
        "best_plan": 100.0,
        "plan_within_5": 94.0,
    }.items():
        assert row[f"excess_over_{mark}"] == pytest.approx(mean - cost)
        assert row[f"excess_over_{mark}_low"] == pytest.approx(low - cost)
        assert row[f"excess_over_{mark}_high"] == pytest.approx(high - cost)


@pytest.mark.parametrize("among", [1, 2, 5])
def test_intervals_that_decide_together_share_the_error(among):
    one = standing({"adaptive": (104.0, 1.0), "paper": (130.0, 5.0)})
    own, other = spread(104.0, 1.0), spread(130.0, 5.0)
    for found, sample in (
        (one.amount("adaptive", among=among), own),
        (one.difference("adaptive", "paper", among=among), own - other),
    ):
        low, high = stats.t.interval(1 - 0.05 / among, 49, sample.mean(), stats.sem(sample))
        assert (found.mean, found.low, found.high) == pytest.approx((sample.mean(), low, high), rel=1e-6)
    assert mean_of(np.full(3, 0.1), 0.95) == Estimate(0.1, 0.1, 0.1)


def test_one_replication_is_refused():
    with pytest.raises(hf.InvalidParameter, match="replications must be at least 2"):
        GameTotals(np.ones(1), np.ones(1))


def test_advice_turns_just_where_the_intervals_do():
    """Two others share the error of being cheaper; a hundredth of the best arm's cost is not worth a word."""
    half, wide = half_width(2), half_width(1)
    for step, rivals in ((1e-6, []), (-1e-6, ["near"])):
        one = standing({"first": (104.0, 0.0), "near": (104.0 + half + step, 1.0), "far": (900.0, 1.0)})
        assert one.rivals() == rivals
    assert standing({"one": (104.0, 0.0), "same": (104.0, 0.0)}).rivals() == ["same"]
    for step, said in ((1e-6, "more than 1 %."), (-1e-6, "(not decided) than that.")):
        assert str(about_staying(standing({"only": (99.0 + 5 * wide + step, 5.0)}))).endswith(said)
    for mean, sign in ((wide - 1e-6, 0), (wide + 1e-6, 1), (-wide - 1e-6, -1)):
        amount = mean_of(spread(mean, 1.0), 0.95)
        assert (amount.sign, amount.decided) == (sign, sign != 0)
    assert mean_of(np.zeros(9), 0.95).decided
    for losses, hardly in ((96.001, True), (95.999, False)):  # saves just below and above 1 of 100
        said = str(about_hindsight(standing({"only": (104.0, 1.0)}, plan=(losses, 3))))
        assert ("hardly worth anything" in said) == hardly


def test_stretches_cover_the_trace():
    found = stretches(17_544)
    assert list(found) == ["whole", "half 1", "half 2", *(f"quarter {i}" for i in range(1, 5))]
    assert found["half 2"] == (8772, 17544)
    assert [list(stretches(rounds)) for rounds in (1, 2, 3)] == [["whole"], *[["whole", "half 1", "half 2"]] * 2]
    assert stretches(4)["quarter 4"] == (3, 4)


# ---- recommendations ----


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
    said = recommended({"adaptive": (mean, deviation, "own", True)}, CHANGING)
    assert said.decided == decided
    assert str(said.sentence()).endswith("This is close: the intervals do not decide it.") != decided


def by_cost(*cases):
    return {lam: recommended(costs, parts, lam=lam) for lam, costs, parts in cases}


@pytest.mark.parametrize(
    ("recommendations", "text"),
    [
        (
            by_cost(
                *((lam, {"hedge": (mean, 0.0, "all", True), **OWN}, CHANGING) for lam, mean in ((0.1, 80), (1, 90)))
            ),
            "Use hedge, because at λ = 0.1 and 1 it costs 19 % and 10 % less than always using NYISO,…",
        ),
        (
            by_cost(
                (0.1, {"hedge": (80.0, 0.0, "all", True), **OWN}, STEADY),
                (1.0, {"hedge": (100.0, 0.0, "all", True), **OWN}, STEADY),
            ),
            "Use hedge, because at λ = 0.1 it costs 19 % less…"
            "Stay with NYISO, because at λ = 1 nothing that was played costs less…",
        ),
        (
            by_cost(*((lam, {"adaptive": (mean, 1.0, "own", True)}, CHANGING) for lam, mean in ((0.5, 90), (1, 104)))),
            "Use adaptive: at λ = 0.5 it costs 9.5 % less…",
        ),
        (
            by_cost(
                (0.5, HEDGE | OWN, CHANGING), (1.0, {**HEDGE, **OWN, "adaptive": (140.0, 1.0, "own", True)}, CHANGING)
            ),
            f"…unless you do not see what the other arms lose: then use leader, or adaptive, {LATE}; from λ = 1 on use "
            f"leader, or adaptive, {LATE} and costs more here than an arm taken at random.",
        ),
    ],
)
def test_one_recommendation_for_all_costs(recommendations, text):
    said = str(joint_recommendation(recommendations))
    assert re.fullmatch(re.escape(text).replace("…", ".*"), said)
    assert said.count("unless") <= len({one.action for one in recommendations.values()})
    assert ("because" in said) == ("because" in text or text.startswith("…"))


def half_width(among):
    return stats.t.ppf(1 - 0.05 / among / 2, 49) * stats.sem(spread(0.0, 1.0))


FAR = {"far": (900.0, 1.0)}
DECISIONS: dict[str, Any] = {
    # what is decided of a policy whose mean lies this far below the end that decides it
    "staying": lambda below: about_staying(standing({"near": (100.0 - 5 * below, 5.0)} | FAR)).decided,
    "what seeing is worth": lambda below: (
        about_seeing(standing({"hedge": (104.0 - below, 0.0, "all"), "own": (104.0, 1.0)} | FAR))[0].decided
    ),
    "beside the cheapest that sees its own": lambda below: (
        "own," in recommended({"hedge": (104.0 - below, 0.0, "all"), "own": (104.0, 1.0)} | FAR, CHANGING).because
    ),
    "the recommendation": lambda below: recommended({"near": (99.0 - below, 1.0)} | FAR, CHANGING).decided,
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_between_two_shares_the_error(name):
    """Just outside and just inside the interval, which is wider for two."""
    assert [DECISIONS[name](half_width(2) + step) for step in (1e-6, -1e-6)] == [True, False]


@pytest.mark.parametrize(("share", "words"), [(4.9e-4, "changes nothing"), (5.1e-4, "saves 0.05 %"), (-5.1e-4, "more")])
def test_a_step_that_saves_less_than_a_twentieth_of_a_per_cent_changes_nothing(share, words):
    (said,) = about_forecasts(standing(OWN, ahead={"none": 98.0, "naive": 98.0 - 100.0 * share}))
    assert words in str(said).partition(".  That")[0]
    assert said.numbers["way_to_best_plan"] == pytest.approx((100.0 - 98.0 + 100.0 * share) / (100.0 - 90.0))
    assert about_forecasts(standing(OWN)) == about_seeing(standing(OWN)) == []
