"""The ledger of our own claims: verdicts follow from what was played, not from what we would like."""

import numpy as np
import polars as pl
import pytest
from adaptive_claims import BOTH, CLAIMS, SEVEN, LowerTail, Played, Seldom, play, random_worlds, ratios

from holdfast import Result
from holdfast.lab.judge import judge
from holdfast.lab.plan import paper_settings
from holdfast.lab.tables import Tables

IDS = [
    "mean-of-seven",
    "each-of-seven",
    "hard",
    "hard-and-long",
    "tails-95",
    "tails-99",
    "never-much-worse",
    "random-worlds",
    "searched-worlds",
    "never-overtaken",
    "slower-growth",
    "ties",
]


@pytest.fixture(scope="module")
def small():
    return judge(CLAIMS, play(replications=20, worlds=6, horizon=2000, n_arms=4, longest=20_000, seed=3))


@pytest.mark.slow
def test_every_claim_is_judged_by_intervals(small):
    assert [verdict.id for verdict in small] == IDS
    for verdict in small:
        for part in verdict.parts:
            assert part.low <= part.estimate <= part.high
    assert {part.what for part in small[1].parts} == {f"in {name}" for name in SEVEN}
    assert len(small[4].parts) == 8


def swapped(result: Result) -> Result:
    names = {"adaptive": "tsallis-switch", "tsallis-switch": "adaptive"}
    return Result(result.frame.with_columns(pl.col("policy").replace(names)), result.provenance)


def test_a_policy_that_is_worse_does_not_pass():
    """The very tables that the hard setting holds by make it fail once the two policies change places."""
    setting = paper_settings(100_000)["stochastic-hard"]
    table = setting.cell(list(BOTH.values()), replications=60, seed=1).play()
    asked = [claim for claim in CLAIMS if claim.id in ("mean-of-seven", "each-of-seven")]
    for result, expected in ((table, "holds"), (swapped(table), "fails")):
        played = Played(Tables({setting.name: result}), {setting.name: setting})
        assert [verdict.verdict for verdict in judge(asked, played)] == [expected] * 2


def test_ratio_of_means_and_its_spread():
    """Against the ratios of many resampled pairs: mean and standard error to a tenth."""
    rng = np.random.default_rng(0)
    own, other = rng.normal(3, 1, 400), rng.normal(10, 2, 400)
    sample = ratios(own, other)
    assert sample.mean() == pytest.approx(own.mean() / other.mean(), rel=1e-12)
    picks = rng.integers(0, 400, (2000, 400))
    again = own[picks].mean(axis=1) / other[picks].mean(axis=1)
    assert sample.std(ddof=1) / 20 == pytest.approx(again.std(), rel=0.1)


def test_questions_of_counts_and_tails():
    assert Seldom("it", 0, 1000, 0.03).answer(0.99).outcome == "yes"
    assert Seldom("it", 30, 1000, 0.03).answer(0.99).outcome == "open"
    assert Seldom("it", 100, 1000, 0.03).answer(0.99).outcome == "no"
    low, high = np.arange(1000.0), np.arange(1000.0) + 500
    assert LowerTail("it", low, high, 0.95).answer(0.99).outcome == "yes"
    assert LowerTail("it", high, low, 0.95).answer(0.99).outcome == "no"
    assert LowerTail("it", low, low, 0.95).answer(0.99).outcome == "open"
    assert LowerTail("it", low[:50], high[:50], 0.99).answer(0.99).outcome == "open"


def test_random_worlds_are_those_of_their_seed():
    one, other = ([world.environment for world in random_worlds(20, seed)] for seed in (1, 2))
    assert one == [world.environment for world in random_worlds(20, 1)]
    assert one != other
    assert {world.settings()["noise"] for world in one} == {True, False}
    assert {world.n_arms for world in one} <= set(range(2, 9))
