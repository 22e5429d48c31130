"""The table of an arena against the obvious computation from `simulate`, number by number."""

import json
import math

import numpy as np
import polars as pl
import policies
import pytest
from arena import FULL_INFORMATION, OWN_LOSS_ONLY, laid_out, searched_settings
from arena_inputs import COST, HORIZON, REPLICATIONS, SEED, UNITS
from measures import FLOOR, FLOORS, growth, plan_cost, ratio
from scipy import stats
from search_worlds import FOUND

import holdfast as hf
from holdfast.bounds import theorem_1
from holdfast.lab.judge import COST as PAID
from holdfast.lab.plan import Setting
from holdfast.policies.registry import POLICIES as REGISTERED


def four(n_arms, cost, horizon, units=(0.0, 1.0)):
    return {
        "adaptive": hf.AdaptiveTsallisSwitch(n_arms, switching_cost=cost, units=units),
        "tsallis-switch": hf.TsallisSwitch(n_arms, switching_cost=cost, units=units),
        "base-geometric": hf.BaSE(n_arms, horizon=horizon, grid="geometric", units=units),
        "ucb1-cooldown-100": hf.Ucb1(n_arms, cooldown=100, units=units),
    }


def played(environment, cost, horizon, units=(0.0, 1.0)):
    playing = four(environment.n_arms, cost, horizon, units)
    game = {"horizon": horizon, "switching_cost": cost, "replications": REPLICATIONS, "seed": SEED}
    frame = hf.simulate(playing, environment, checkpoints=1, **game).frame
    return {name: frame.filter(policy=name)["regret_with_switching"].to_numpy() for name in playing}


def student(sample):
    half = stats.t.ppf(0.975, len(sample) - 1) * np.std(sample, ddof=1) / math.sqrt(len(sample))
    return np.mean(sample), np.mean(sample) - half, np.mean(sample) + half


def by_hand(trace):
    """Each environment made by hand, with its cost and horizon."""
    found = FOUND["adaptive-2"]
    world = hf.PiecewiseConstant(found["starts"], found["means"], noise=found["noise"])
    return {
        "stochastic-hard": (hf.Bernoulli.with_gap(8, 0.05), 1.0, HORIZON),
        "adversarial": (hf.Reversal(8, HORIZON), 1.0, HORIZON),
        "changing-best-cheap": (hf.ChangingBest(8, HORIZON), 0.05, HORIZON),
        "multi-scale-walk-costly": (hf.MultiScaleWalk(8, HORIZON), 1.0, HORIZON),
        "made-up-100": (hf.LossTable(trace, units=UNITS, index="time"), COST, 2000),
        "found-adaptive-2": (world, found["switching_cost"], found["horizon"]),
    }


def naive_plan(environment, cost, horizon):
    """The cheapest plan round by round, less the best fixed arm."""
    if isinstance(environment, (hf.LossTable, hf.MultiScaleWalk)):
        return 0.0
    rounds = np.diff([environment.expected(0, t) for t in range(horizon + 1)], axis=0)
    cheapest = np.zeros(environment.n_arms)
    for losses in rounds:
        cheapest = np.array([min(value, cheapest.min() + cost) for value in cheapest]) + losses
    return cheapest.min() - rounds.sum(axis=0).min()


PLACES = "stochastic-hard adversarial changing-best-cheap multi-scale-walk-costly made-up-100 found-adaptive-2"


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES.split())
def test_every_number_from_simulate(made, trace, name):
    environment, cost, T = by_hand(trace)[name]
    unit = environment.unit
    costs = played(environment, cost, T, environment.units)
    bound = unit * theorem_1(n_arms=environment.n_arms, switching_cost=cost / unit, horizon=T)
    best = min(costs, key=lambda policy: costs[policy].mean())
    plan = naive_plan(environment, cost, T)
    rows = made.table.filter(pl.col("environment") == name).to_dicts()
    assert [row["policy"] for row in rows] == list(costs)
    for row in rows:
        own = costs[row["policy"]]
        told = (row["cost"], row["cost_low"], row["cost_high"])
        assert told == pytest.approx(student(own))
        assert (row["share"], row["share_low"]) == pytest.approx((own.mean() / bound, student(own)[1] / bound))
        assert row["bound"] == pytest.approx(bound)
        assert row["plan"] == pytest.approx(plan, abs=1e-6)
        assert row["best"] == (row["policy"] == best)
        assert row["knows_horizon"] == (row["policy"] == "base-geometric")
        for column, other in (("to_best", costs[best]), ("to_paper", costs["tsallis-switch"])):
            scale = max(other.mean() - plan, FLOOR * bound)
            assert row[column] == pytest.approx(1 + (own.mean() - other.mean()) / scale)
            assert row[f"{column}_low"] <= row[column] <= row[f"{column}_high"]
        assert row["above_paper"] == pytest.approx((own - costs["tsallis-switch"]).mean() / bound)
        assert (row["above_paper_low"], row["above_paper_high"]) == pytest.approx(
            [end / bound for end in student(own - costs["tsallis-switch"])[1:]]
        )
        assert row["q95"] == row["q99"] == row["worst_run"] == own.max()  # of six
        assert row["replications"] == REPLICATIONS


@pytest.mark.slow
def test_growth_from_simulate(made):
    environment = hf.Bernoulli.with_gap(8, 0.05)
    samples = {T: played(environment, 1.0, T) for T in (HORIZON // 10, HORIZON)}
    for policy in samples[HORIZON]:
        means = [samples[T][policy].mean() for T in samples]
        assert made.value("stochastic-hard", policy, "growth") == pytest.approx(math.log10(means[1] / means[0]))
    assert math.isnan(made.value("made-up-100", "adaptive", "growth"))


@pytest.mark.slow
def test_worst_cases(made):
    named = [row for row in made.table.to_dicts() if row["group"] != "found"]
    for row in made.worst.to_dicts():
        own = [other for other in named if other["policy"] == row["policy"]]
        worst = max(own, key=lambda other: other["to_best"])
        assert (row["to_best"], row["to_best_in"]) == (worst["to_best"], worst["environment"])
        assert row["share"] == max(other["share"] for other in own)
        assert row["q99_share"] == max(other["q99"] / other["bound"] for other in own)
        assert row["best_in"] == sum(other["best"] for other in own)
        found = [r["share"] for r in made.table.to_dicts() if r["group"] == "found" and r["policy"] == row["policy"]]
        assert row["found_share"] == max(found)
        paper = [other["to_paper"] for other in own if other["group"] == "paper"]
        assert row["mean_to_paper"] == pytest.approx(sum(paper) / len(paper))
        assert made.floors[row["policy"]][FLOOR] == pytest.approx(row["to_best"])
        by_floor = [made.floors[row["policy"]][floor] for floor in FLOORS]
        assert by_floor == sorted(by_floor, reverse=True)
    worst = made.worst["to_best"].to_list()
    assert worst == sorted(worst)


def test_files_hold_the_table(made):
    assert pl.read_parquet(made.out / "arena.parquet").equals(made.table)
    told = json.loads((made.out / "arena.json").read_text(encoding="utf-8"))
    assert (told["format"], told["replications"], told["horizon"]) == ("holdfast.arena", REPLICATIONS, HORIZON)
    assert told["shorter_horizons"] == [HORIZON // 10]
    for row, known in zip(told["table"], made.table.to_dicts(), strict=True):
        assert row["cost"] == known["cost"]
        assert row["growth"] is None or row["growth"] == known["growth"]
    assert {row["policy"] for row in told["policies"] if row["knows_horizon"]} == {"base-geometric"}


def test_a_ratio_is_plain_above_the_floor_and_a_difference_below():
    own, other = np.array([3.0, 5.0, 4.0]), np.array([2.0, 2.5, 1.5])
    assert ratio(own, other, 10.0)[0] == pytest.approx(2.0)
    assert ratio(own, other - 2, 100.0)[0] == pytest.approx(1 + 4 / 3)
    assert ratio(own, other, 10.0, plan=-2.0)[0] == pytest.approx(1.5)
    assert ratio(other, other, 10.0) == (1.0, 1.0, 1.0)


def test_ratio_and_growth_cover_the_truth():
    """95 % intervals of 1,500 samples: 91.5 to 98.5 % cover, or luck of 6 standard deviations (one in 10⁸)."""
    rng = np.random.default_rng(1)
    held = np.zeros(3)
    for _ in range(1500):
        common = rng.normal(size=50)
        own, other = 30 + 3 * (common + rng.normal(size=50)), 20 + 3 * (common + rng.normal(size=50))
        estimates = (ratio(own, other, 1.0), ratio(own, other, 1000.0), growth({100: other, 10_000: own}))
        truths = (1.5, 1 + 10 / 30, math.log(1.5) / math.log(100))
        held += [low <= truth <= high for (_, low, high), truth in zip(estimates, truths, strict=True)]
    assert (np.abs(held / 1500 - 0.95) < 0.035).all()


def test_growth_of_powers():
    samples = {T: np.full(5, 3 * T**0.6) for T in (1000, 10_000, 100_000)}
    assert growth(samples) == pytest.approx((0.6, 0.6, 0.6))
    assert math.isnan(growth({1000: np.ones(5), 10_000: np.array([-1.0, 1, 2, 3, 4])})[0])
    assert math.isnan(growth({1000: np.ones(5)})[0])


HARD = (hf.Corrupted, hf.Drifting, hf.Seasonal, hf.ChangingBest, hf.UnseenTurn, hf.JumpingLevels, hf.MultiScaleWalk)


def test_every_policy_plays_and_every_hard_case_is_there():
    assert {entry["policy"] for entry in (*OWN_LOSS_ONLY.values(), *FULL_INFORMATION.values())} == set(REGISTERED)
    laid = laid_out(10_000).values()
    kinds = {type(setting.environment).__name__ for setting in laid if setting.group == "hard"}
    assert kinds == {kind.__name__ for kind in HARD}
    assert sum(setting.group == "paper" for setting in laid) == 12
    assert {setting.group for setting in searched_settings().values()} == {"found"}
    ties = laid_out(10_000)["ties-stochastic"]
    assert sorted(ties.environment.settings()["mean_losses"]) == [0.3] * 3 + [0.5] * 5


def test_the_plan_of_two_phases():
    """Worth moving at a cost of 5, since 10 are saved; not at a cost of 15."""
    world = hf.PiecewiseConstant([0, 100], [[0.4, 0.5], [0.5, 0.2]], noise=False)
    assert plan_cost(Setting("", "hard", world, 5.0, 200)) == pytest.approx(40 + 20 + 5 - 70)
    assert plan_cost(Setting("", "hard", world, 15.0, 200)) == 0.0


# ---- the costs on the pages of the policies: every kind of policy plays, with its knobs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "given"), [("exp3", {}), ("guarded", {"rule": "ewma"}), ("forecast-plan", {"period": 5}), ("amir", {})]
)
def test_a_policy_plays_everywhere(policy, given):
    for setting in policies.settings(300).values():
        mean, error = policies.cost(policy, given, setting, games=3)
        assert -300 <= mean <= 2 * 300 + 1
        assert error >= 0


@pytest.mark.slow
def test_the_cost_is_the_regret_with_switching_of_those_games():
    setting = policies.settings(200)["stochastic-hard"]
    game = {"horizon": 200, "switching_cost": 1.0, "replications": 4, "seed": 37}
    final = hf.simulate({"exp3": hf.Exp3(8)}, setting.environment, **game).final()
    mean, error = policies.cost("exp3", {}, setting, games=4)
    assert (mean, error) == pytest.approx((final[f"{PAID}_mean"][0], final[f"{PAID}_se"][0]))
