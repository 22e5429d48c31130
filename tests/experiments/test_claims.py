"""The ledgers of our own claims: verdicts follow from what was played, not from what we would like."""

import math

import adaptive_claims as adaptive
import changing_claims as changing
import full_information_claims as visible
import numpy as np
import polars as pl
import pytest
from adaptive_claims import BOTH, SEVEN, LowerTail, Seldom, lines, random_worlds, ratios
from arena import CHANGING, entries_of, laid_out
from full_information_claims import BANDIT, OWN, TURNS

import holdfast as hf
from holdfast import Result
from holdfast.lab.judge import judge
from holdfast.lab.plan import paper_settings
from holdfast.lab.tables import Tables

ADAPTIVE = "mean-of-seven each-of-seven hard hard-and-long tails-95 tails-99 never-much-worse random-worlds"
ADAPTIVE += " searched-worlds never-overtaken slower-growth ties"


@pytest.fixture(scope="module")
def small():
    played = adaptive.play(replications=20, worlds=6, horizon=2000, n_arms=4, longest=20_000, seed=3)
    return judge(adaptive.CLAIMS, played)


@pytest.mark.slow
def test_every_claim_is_judged_by_intervals(small):
    assert [verdict.id for verdict in small] == ADAPTIVE.split()
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
    asked = [claim for claim in adaptive.CLAIMS if claim.id in ("mean-of-seven", "each-of-seven")]
    for result, expected in ((table, "holds"), (swapped(table), "fails")):
        played = adaptive.Played(Tables({setting.name: result}), {setting.name: setting})
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


# ---- where options change: lags by hand

CHANGING_CLAIMS = ["leaves", "notices", "late", "changing-worlds"]


def test_an_arm_is_left_or_found_when_most_of_twenty_rounds_say_so():
    assert changing.lag_of(np.array([0] * 7 + [1] * 100), "left") == 3  # 16 of the rounds 3 to 22 are elsewhere
    assert changing.lag_of(np.array([1, 0, 0, 0, 0] * 20), "left") == math.inf
    assert changing.lag_of(np.array([0] * 50 + [2] * 100), "found") == 46
    assert changing.lag_of(np.array([2] * 15 + [0] * 100), "found") == math.inf


def test_what_does_not_hold_where_options_change_fails():
    def made(left: float, late: float, found: float, cost: float) -> changing.Played:
        sample = np.ones(200)
        measured = {
            changing.Case("tracking", "left", 10**5): left * sample,
            changing.Case("tracking, notice 60", "found", 10**5): found * sample,
            changing.Case("adaptive", "left", 10**5): late * sample,
        }
        costs = {"adaptive": sample + np.arange(200) / 200, "tracking": cost * (sample + np.arange(200) / 200)}
        return changing.Played(measured, {("still", 1.0): costs})

    assert [verdict.verdict for verdict in judge(changing.CLAIMS, made(9.0, 5000.0, 50.0, 0.5))] == ["holds"] * 4
    assert [verdict.verdict for verdict in judge(changing.CLAIMS, made(900.0, 50.0, 500.0, 1.5))] == ["fails"] * 4
    assert [verdict.id for verdict in judge(changing.CLAIMS, made(9.0, 5000.0, 50.0, 0.5))] == CHANGING_CLAIMS
    assert judge(changing.CLAIMS, changing.Played()) == []


@pytest.mark.slow
def test_a_short_run_has_every_table(monkeypatch):
    few = {name: changing.FAMILIES[name] for name in ("still, close means", "10 changes")}
    monkeypatch.setattr(changing, "FAMILIES", few)
    monkeypatch.setattr(changing, "LEAST_WAIT", 300)
    monkeypatch.setattr(changing, "IN_CELLS", ("tracking",))
    monkeypatch.setattr(changing, "POLICIES", {name: {"policy": name} for name in ("tracking", "ewma")})
    played = changing.Played(changing.lags(6, (200,), 0), changing.cells(3, 500, 0))
    assert set(played.cells) == {(family, cost) for family in few for cost in changing.COSTS}
    assert {case.change for case in played.lags} == {"left", "found"}
    assert np.exp(changing.log_ratios(played.cells, "adaptive")) == pytest.approx(1.0)
    table = changing.lag_table(played.lags, "left")
    assert table.count("\n") == 3
    assert "| `tracking` |" in table
    assert "geometric mean" in changing.cell_table(played.cells)


# ---- the policy that sees all losses

VISIBLE = ["certificate", "overhead", "most-overhead", "theorem-3", "work-function", "seeing-is-worth-it", "no-harm"]


@pytest.mark.slow
def test_every_claim_is_judged(monkeypatch):
    monkeypatch.setattr(visible, "COSTS", (0.1, 1.0))
    verdicts = judge(visible.CLAIMS, visible.play(replications=4, horizon=1000, rounds=100, seed=1))
    assert [verdict.id for verdict in verdicts] == VISIBLE
    assert [verdict.verdict for verdict in verdicts[:5]] == ["holds"] * 5
    assert len(verdicts[5].parts) == len(CHANGING) == 10
    assert len(lines(verdicts)) == len(VISIBLE) + sum(len(verdict.parts) for verdict in verdicts)


def test_an_exact_game_is_what_is_added_up_by_hand():
    """The certificate's use against sums made here, with long games' losses that hunt."""
    policy = hf.AdaptiveHedgeSwitch(3, switching_cost=0.5, forecast_rounds=0)
    game = visible.exact_game(policy, visible.hostile("hunt", 3, 200, 0), 200)
    player, cost, before, used = policy.player(seed=0), 0.0, np.zeros(3), 0.0
    C, was = np.zeros(len(policy.mixed)), None
    for _ in range(200):
        player.ask()
        P, at = player.probabilities, np.array([int(a) for a in player._state.at])
        row = np.eye(3)[np.argmax(P)]
        cost += P @ row + 0.5 * np.abs(P - before).sum() / (1 if was is None else 2)
        C += row[at] + 0.5 * (True if was is None else at != was)
        before, was = P, at
        player.tell(row.tolist())
        used = max(used, (cost - C.min()) / player.certificate)
    assert game.used == pytest.approx(used)
    assert game.overhead == pytest.approx((cost - C.min()) / np.sqrt(1.5 * C.min() * np.log(len(C))))
    root = np.sqrt(2 * C.min() * np.log(len(C)))
    assert game.share == pytest.approx((cost - C.min()) / (2 * root + 1.5 * np.log(len(C))))
    assert 0 < game.proved < 1


def test_arms_that_lose_in_turn_are_dearer_than_other_hostile_losses():
    """In rounds 0, 1 the first arm loses, then the second, and from 5/6 of the game on all but the last."""
    losses = visible.hostile(TURNS, 3, 12, 0)
    rows = np.array([losses(t, np.zeros(3)) for t in range(12)])
    assert rows[:10].tolist() == np.eye(3)[[0, 0, 1, 1, 2, 2, 0, 0, 1, 1]].tolist()
    assert rows[10:].tolist() == [[1, 1, 0], [1, 1, 0]]
    policy = hf.AdaptiveHedgeSwitch(8, switching_cost=10.0, forecast_rounds=0)
    game = visible.exact_game(policy, visible.hostile(TURNS, 8, 300, 0), 300)
    assert game.overhead > 2
    assert game.share < 1


def test_what_does_not_hold_fails():
    """Numbers beyond the thresholds, and the two policies in each other's place."""
    setting = laid_out(1000)["seasonal-cheap"]
    bad = visible.Played(games={"a": visible.Exact(1.01, 1.6, 1.1, 1.1)}, shares={"b": 1.2})
    assert [v.verdict for v in judge(visible.CLAIMS, bad)] == ["fails"] * 5
    good = visible.Played(games={"a": visible.Exact(0.9, 1.4, 0.8, 0.2)}, shares={"b": 0.2})
    assert [v.verdict for v in judge(visible.CLAIMS, good)] == ["holds"] * 5
    table = setting.cell(list(entries_of((OWN, BANDIT)).values()), replications=10, seed=1).play()
    names = {OWN: BANDIT, BANDIT: OWN}
    swapped = hf.Result(table.frame.with_columns(table.frame["policy"].replace(names)), table.provenance)
    for result, expected in ((table, "holds"), (swapped, "fails")):
        played = visible.Played(Tables({setting.name: result}), {setting.name: setting})
        assert judge([visible.CLAIMS[5]], played)[0].verdict == expected
