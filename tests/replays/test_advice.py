"""Advice on made-up numbers: what intervals decide is said, what they do not is called not decided."""

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import holdfast as hf
from holdfast.replays.advice import about_cheapest, about_first, about_hindsight, about_stability, about_staying, advice
from holdfast.replays.costs import Amount, GameTotals, References, Standing, stretches
from holdfast.results import interval

ARMS = {"CISO": 110.0, "NYISO": 99.0, "PJM": 190.0}


def spread(mean, deviation, n=50):
    """A sample with exactly this mean, and about this deviation."""
    z = np.linspace(-1.7, 1.7, n)
    return mean + deviation * z


def standing(costs, *, lam=1.0, plan=(80.0, 10), limited=None, arms=ARMS):
    """Policies with the given (mean, deviation) of the total cost, at one switch each."""
    played = {name: GameTotals(spread(mean - lam, deviation), np.ones(50)) for name, (mean, deviation) in costs.items()}
    references = References(arms, *plan, limited if limited is not None else {1: 100.0, 2: 97.0, 5: 94.0, 10: 90.0})
    return Standing(lam, played, references)


ADAPTIVE = {"adaptive": (104.0, 1.0)}
PAPER = {"paper": (130.0, 5.0)}
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
}
"""Sentences, and what they say: … is anything."""


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
    assert Amount.of(np.full(3, 0.1), 0.95) == Amount(0.1, 0.1, 0.1)


def test_one_replication_is_refused():
    with pytest.raises(hf.InvalidParameter, match="replications must be at least 2"):
        GameTotals(np.ones(1), np.ones(1))


def test_advice_turns_just_where_the_intervals_do():
    """Two others share the error of being cheaper; a hundredth of the best arm's cost is not worth a word."""
    half = stats.t.ppf(1 - 0.05 / 2 / 2, 49) * stats.sem(spread(0.0, 1.0))
    for step, rivals in ((1e-6, []), (-1e-6, ["near"])):
        one = standing({"first": (104.0, 0.0), "near": (104.0 + half + step, 1.0), "far": (900.0, 1.0)})
        assert one.rivals() == rivals
    assert standing({"one": (104.0, 0.0), "same": (104.0, 0.0)}).rivals() == ["same"]
    wide = stats.t.ppf(1 - 0.05 / 2, 49) * stats.sem(spread(0.0, 1.0))
    for step, said in ((1e-6, "more than 1 %."), (-1e-6, "(not decided) than that.")):
        assert str(about_staying(standing({"only": (99.0 + 5 * wide + step, 5.0)}))).endswith(said)
    for mean, sign in ((wide - 1e-6, 0), (wide + 1e-6, 1), (-wide - 1e-6, -1)):
        amount = Amount.of(spread(mean, 1.0), 0.95)
        assert (amount.sign, amount.decided) == (sign, sign != 0)
    assert Amount.of(np.zeros(9), 0.95).decided
    for losses, hardly in ((96.001, True), (95.999, False)):  # saves just below and above 1 of 100
        said = str(about_hindsight(standing({"only": (104.0, 1.0)}, plan=(losses, 3))))
        assert ("hardly worth anything" in said) == hardly


def test_stretches_cover_the_trace():
    found = stretches(17_544)
    assert list(found) == ["whole", "half 1", "half 2", *(f"quarter {i}" for i in range(1, 5))]
    assert found["half 2"] == (8772, 17544)
    assert [list(stretches(rounds)) for rounds in (1, 2, 3)] == [["whole"], *[["whole", "half 1", "half 2"]] * 2]
    assert stretches(4)["quarter 4"] == (3, 4)
