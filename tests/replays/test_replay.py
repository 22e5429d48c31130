"""A replay's numbers against play by hand: costs, fixed arms, plans, halves and quarters, units, forms of input."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statistics_of_samples import assert_mean

import holdfast as hf
from holdfast.data.records import read_trace
from holdfast.experts import FixedArm, FoundSeason, GivenForecast, SeasonalPlan, Smoothed, WorkFunction
from holdfast.policies.registry import make_policy
from holdfast.replays.games import (
    WHOLE,
    ClippedTable,
    Forecasts,
    Piece,
    PieceRunner,
    PlayedGame,
    Stretch,
    likely_periods,
    outlier_note,
)
from holdfast.replays.report import (
    _coloured,
    _stretch,
    _time,
    cost_by_lambda,
    cost_rows,
    running_cost,
    tradeoff,
    which_arm,
)
from holdfast.replays.run import _fingerprint, periods_note
from holdfast.text import five_digits, mean_count, short

RNG = np.random.default_rng(5)
ROUNDS, ARMS = 150, 3
# Sixty-fourths add up exactly in any order.
LOSSES = RNG.integers(0, 65, size=(ROUNDS, ARMS)) / 64
LAM = 0.375

BY_HAND = {
    "adaptive": {"policy": "adaptive", "switching_cost": LAM},
    "tsallis-switch": {"policy": "tsallis-switch", "switching_cost": LAM},
    "exp3": {"policy": "exp3"},
    "hold-forever": {"policy": "hold-forever"},
    "follow-the-leader-cooldown-5": {"policy": "follow-the-leader", "cooldown": 5},
    "base-arithmetic": {"policy": "base-arithmetic", "horizon": ROUNDS},
}


@pytest.fixture(scope="module")
def found():
    leader = "follow-the-leader:cooldown=5,name=follow-the-leader-cooldown-5"
    policies = ["adaptive", "tsallis-switch", "exp3", "hold-forever", leader, "base-arithmetic"]
    return hf.replay(LOSSES, policies, switching_cost=[LAM, 2.0], replications=5, seed=3)


def game(policy, losses, seed, replication):
    """Arms round by round, as a user would play them."""
    player = policy.player(seed=seed, replication=replication)
    arms = []
    for row in losses:
        arm = player.ask()
        player.tell(row[arm])
        arms.append(arm)
    return np.array(arms)


def bill(arms, losses, lam):
    """Cost after every round; the first play is a switch."""
    switches = np.cumsum(np.concatenate([[True], arms[1:] != arms[:-1]]))
    return np.cumsum(losses[np.arange(len(arms)), arms]) + lam * switches, switches


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_HAND)
def test_costs_are_those_of_a_player_round_by_round(found, name):
    policy = make_policy({"n_arms": ARMS, **BY_HAND[name]})
    games = found.result.frame.filter(
        pl.col("policy") == name, pl.col("switching_cost") == LAM, pl.col("stretch") == "whole"
    )
    for replication in range(5):
        arms = game(policy, LOSSES, 3, replication)
        cost, switches = bill(arms, LOSSES, LAM)
        rows = games.filter(pl.col("replication") == replication).sort("round")
        assert rows["round"].to_list() == list(range(1, ROUNDS + 1))
        assert rows["total_cost"].to_list() == cost.tolist()
        assert rows["switches"].to_list() == switches.tolist()
        held = found.held[LAM, name]
        if replication == held.replication:
            assert held.each_round().tolist() == arms.tolist()


def test_the_game_shown_is_the_one_in_the_middle(found):
    standing = found.standing(LAM)
    for name in BY_HAND:
        costs = standing.costs[name]
        shown = costs[found.held[LAM, name].replication]
        assert (costs < shown).sum() <= 2
        assert (costs > shown).sum() <= 2


def test_a_last_block_that_would_go_on_is_counted_to_the_end():
    losses = LOSSES[:77]
    policy = hf.TsallisSwitch(ARMS, switching_cost=8.0)  # blocks of many rounds
    made = hf.replay(losses, [policy], switching_cost=8.0, replications=3)
    for replication in range(3):
        cost, _ = bill(game(policy, losses, 0, replication), losses, 8.0)
        assert made.standing(8.0).costs["tsallis-switch"][replication] == cost[-1]


@pytest.mark.parametrize("stretch", ["whole", "half 1", "half 2", "quarter 1", "quarter 4"])
def test_stretches_are_played_anew_and_measured_on_their_own(found, stretch):
    cuts = {"whole": (0, 150), "half 1": (0, 75), "half 2": (75, 150), "quarter 1": (0, 37), "quarter 4": (112, 150)}
    part = LOSSES[slice(*cuts[stretch])]
    standing = found.standing(LAM, stretch)
    for name in ("tsallis-switch", "base-arithmetic"):
        policy = make_policy({"n_arms": ARMS, **BY_HAND[name]} | ({"horizon": len(part)} if "base" in name else {}))
        costs = [bill(game(policy, part, 3, r), part, LAM)[0][-1] for r in range(5)]
        assert standing.costs[name].tolist() == costs
    sums = part.sum(axis=0)
    assert standing.best_arm == str(sums.argmin())
    assert standing.worst_arm == str(sums.argmax())
    assert standing.fixed_cost(standing.best_arm) == sums.min() + LAM
    assert standing.random_fixed_cost == pytest.approx(sums.mean() + LAM)
    assert standing.plan_cost == hf.best_plan(part, LAM).cost


def test_plans_are_those_of_best_plan(found):
    for lam in (LAM, 2.0):
        assert found.plans[lam].arms.tolist() == hf.best_plan(LOSSES, lam).arms.tolist()
        for limit in (1, 2, 5, 10):
            best = hf.best_plan(LOSSES, lam, max_switches=limit).cost
            assert found.standing(lam).marks[f"plan_within_{limit}"] == pytest.approx(best)
        running = found.running
        cost, switches = bill(found.plans[lam].arms, LOSSES, lam)
        assert (running.plan_losses[lam] + lam * running.plan_switches[lam]).tolist() == cost.tolist()
        assert running.plan_switches[lam].tolist() == switches.tolist()
    rows = found.plans_frame().filter(pl.col("switching_cost") == LAM)
    assert rows.height == found.plans[LAM].switches
    assert rows["first_round"][0] == 1


def interval_of(sample):
    """Student's, without the function that makes those of a replay; equal numbers have none."""
    return (
        stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
        if np.ptp(sample)
        else (sample[0],) * 2
    )


def drawn(chart, panel=0):
    """Points and band of each line of a panel."""
    lines = chart.rows[0].panels[panel].lines
    return {
        one.series: [list(map(float, part)) for part in (one.x, one.y, one.low, one.high) if part is not None]
        for one in lines
    }


def test_pictures_show_the_games_played(found):
    learn = [name for name in BY_HAND if name != "hold-forever"]
    fixed = LOSSES.sum(axis=0)
    best = int(fixed.argmin())
    totals = {lam: {name: found.standing(lam).costs[name] for name in BY_HAND} for lam in (LAM, 2.0)}
    bases = np.array([fixed[best] + LAM, fixed[best] + 2.0])
    plans = [hf.best_plan(LOSSES, lam).cost for lam in (LAM, 2.0)]
    for panel, shown in ((0, lambda cost: cost), (1, lambda cost: 100 * (np.array(cost) - bases) / bases)):
        lines = drawn(cost_by_lambda(found), panel)
        assert lines.keys() == {*learn, "best plan", f"only {best}"}
        for name in learn:
            ends = zip(*(interval_of(totals[lam][name]) for lam in (LAM, 2.0)), strict=True)
            for line, cost in zip(
                lines[name], [None, [totals[lam][name].mean() for lam in totals], *ends], strict=True
            ):
                assert line == ([LAM, 2.0] if cost is None else pytest.approx(shown(cost)))
        assert lines["best plan"] == [[LAM, 2.0], pytest.approx(shown(plans))]
        assert lines[f"only {best}"][1] == pytest.approx(shown(bases.tolist()))
    games = found.result.frame.filter(pl.col("stretch") == "whole", pl.col("switching_cost") == LAM)
    staying = np.cumsum(LOSSES[:, best]) + LAM
    for panel, less in ((0, 0.0), (1, staying)):
        lines = drawn(running_cost(found, LAM), panel)
        for name in learn:
            costs = np.array(games.filter(policy=name).sort("replication", "round")["total_cost"]).reshape(5, ROUNDS)
            low, high = np.array([interval_of(sample) for sample in costs.T]).T
            expected = [np.arange(1, ROUNDS + 1), *(part - less for part in (costs.mean(axis=0), low, high))]
            assert lines[name] == [pytest.approx(part) for part in expected]
        assert lines[f"only {best}"][1] == pytest.approx(staying - less)
        assert lines["best plan"][1] == pytest.approx(bill(found.plans[LAM].arms, LOSSES, LAM)[0] - less)
    lines = drawn(tradeoff(found))
    for name in BY_HAND:
        played = [found.standing(lam).played[name] for lam in (LAM, 2.0)]
        assert lines[name] == [[one.switches.mean() for one in played], [one.losses.mean() for one in played]]
    frontier = list(zip(*lines["best plan"], strict=True))
    assert frontier[:10] == [(n, pytest.approx(hf.best_plan(LOSSES, 0.0, max_switches=n).cost)) for n in range(1, 11)]
    assert frontier[10:] == [
        (plan.switches, plan.losses) for plan in (found.plans[2.0], found.plans[LAM]) if plan.switches > 10
    ]
    bands = which_arm(found, LAM).held
    assert bands["best plan"].tolist() == found.plans[LAM].arms.tolist()
    assert all(bands[name].tolist() == found.held[LAM, name].each_round().tolist() for name in BY_HAND)


def test_the_table_shows_the_games_played(found):
    standing, sums = found.standing(LAM), np.sort(LOSSES.sum(axis=0))
    base, plan = sums[0] + LAM, hf.best_plan(LOSSES, LAM)

    def row(name, cost, half, *cells):
        overs = [f"{100 * (cost / less - 1):+.1f} %".replace("-", "−") for less in (base, plan.cost)]
        return [name, five_digits(cost) + (f" ± {short(half, 2)}" if half else ""), *cells, *overs]

    expected = []
    for name in sorted(BY_HAND, key=lambda name: standing.costs[name].mean()):
        costs, played = standing.costs[name], standing.played[name]
        counts = five_digits(played.losses.mean()), mean_count(played.switches.mean())
        expected.append(row(name, costs.mean(), interval_of(costs)[1] - costs.mean(), *counts))
    arms = LOSSES.sum(axis=0)
    fixed = {
        f"best arm: {arms.argmin()}": sums[0],
        f"worst arm: {arms.argmax()}": sums[-1],
        "a random arm": sums.mean(),
    }
    expected += [row(name, lost + LAM, 0, five_digits(lost), "1") for name, lost in fixed.items()]
    expected.append(row("best plan", plan.cost, 0, five_digits(plan.losses), str(plan.switches)))
    within = {limit: hf.best_plan(LOSSES, LAM, max_switches=limit).cost for limit in (2, 5, 10)}
    expected += [
        row(f"plan, ≤ {limit} switches", cost, 0, "", "") for limit, cost in within.items() if limit < plan.switches
    ]
    assert cost_rows(standing) == expected
    for part in ("half 2", "quarter 3"):
        one = found.standing(LAM, part)
        cheapest = one.ranking()[0] + (", not decided" if one.rivals() else "")
        overs = [
            f"{100 * (one.costs[name].mean() / one.best_arm_cost - 1):+.1f} %".replace("-", "−") for name in BY_HAND
        ]
        assert _stretch(part, one, list(BY_HAND)) == [part, one.best_arm, cheapest, *overs]


def test_a_picture_has_the_users_times_and_colours_for_the_arms_held_most():
    times = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]")
    assert _time(SimpleNamespace(labels=times, index="day"), np.array([1, 3]))[0].tolist() == times[[0, 2]].tolist()
    held = {"plan": np.repeat(np.arange(9), [5, 1, 9, 9, 9, 2, 9, 9, 3]), "other": np.array([8] * 4)}
    arms, numbers = _coloured(SimpleNamespace(arms=list("abcdefghi")), held)
    assert arms == ["c", "d", "e", "g", "h", "i", "other arms"]
    assert numbers.tolist() == [6, 6, 0, 1, 2, 6, 3, 4, 5]


def test_plans_begin_at_the_users_times():
    times = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 7, 5), interval="1h", eager=True)
    frame = pl.DataFrame({"time": times, **dict(zip("abc", LOSSES.T, strict=True))})
    rows = hf.replay(frame, ["exp3"], switching_cost=LAM, index="time", replications=2).plans_frame()
    starts = hf.best_plan(LOSSES, LAM).runs()[0]
    assert rows["first_round"].to_list() == (starts + 1).tolist()
    assert rows["label"].to_list() == [times[int(start)] for start in starts]


def test_everything_is_in_the_units_of_the_losses(found):
    """Eight times the losses plus two, with λ eight times as high, costs eight times as much plus two per round."""
    own = hf.replay(
        8 * LOSSES + 2, ["adaptive", "tsallis-switch"], switching_cost=8 * LAM, units=(2, 10), replications=5, seed=3
    )
    for name in ("adaptive", "tsallis-switch"):
        there, here = found.standing(LAM).costs[name], own.standing().costs[name]
        assert here.tolist() == (8 * there + 2 * ROUNDS).tolist()
    assert own.standing().plan_cost == pytest.approx(8 * found.standing(LAM).plan_cost + 2 * ROUNDS)
    assert own.units == (2.0, 10.0)


def test_rescale_takes_the_range_of_the_losses():
    losses = np.array([[-3.0, 5.0], [1.0, 0.0], [5.0, -3.0]])
    made = hf.replay(losses, ["hold-forever"], switching_cost=1.0, rescale=True, replications=2)
    assert made.units == (-3.0, 5.0)
    given = hf.replay(losses, ["hold-forever"], switching_cost=1.0, units=(-3.0, 5.0), replications=2)
    assert given.frame.equals(made.frame)


def test_what_draws_nothing_is_played_once_and_is_the_same_in_every_replication(found):
    policy = make_policy({"n_arms": ARMS, **BY_HAND["follow-the-leader-cooldown-5"]})
    assert policy.deterministic
    several = hf.simulate([policy], hf.LossTable(LOSSES), switching_cost=LAM, replications=5, seed=8)
    assert several.final()["total_cost_sd"][0] == 0.0
    assert found.standing(LAM).costs[policy.label].tolist() == [several.final()["total_cost_mean"][0]] * 5


def test_the_numbers_of_a_policy_do_not_depend_on_the_others(found):
    alone = hf.replay(LOSSES, ["exp3"], switching_cost=2.0, replications=5, seed=3, workers=1)
    assert alone.standing(2.0).costs["exp3"].tolist() == found.standing(2.0).costs["exp3"].tolist()


@pytest.mark.slow
def test_tables_of_every_make_give_the_same_numbers(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c"]
    times = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 7, 5), interval="1h", eager=True)
    frame = pl.DataFrame({"time": times, **dict(zip(names, LOSSES.T, strict=True))})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    np.save(tmp_path / "t.npy", LOSSES)
    dated = [frame, frame.to_arrow(), pandas.DataFrame(frame.to_dict(as_series=False))]
    dated += [tmp_path / name for name in ("t.csv", "t.parquet", "t.arrow")]
    settings = {"switching_cost": LAM, "replications": 2}
    plain = hf.replay(LOSSES, ["exp3"], **settings).frame
    assert hf.replay(tmp_path / "t.npy", ["exp3"], **settings).frame.equals(plain)
    assert hf.replay(LOSSES.tolist(), ["exp3"], arms=names, **settings).standing().best_arm in names
    for source in dated:
        made = hf.replay(source, ["exp3"], index="time", **settings)
        assert made.frame.equals(plain)
        assert made.label(0) == "2026-01-01 00:00"
        assert made.plans_frame()["label"].dtype.is_temporal()


@pytest.mark.slow
def test_policies_in_every_form():
    made = hf.replay(
        LOSSES,
        {
            "mine": "tsallis-inf:estimator=reduced-variance",
            "table": {"policy": "exp3"},
            "object": hf.TsallisSwitch(ARMS, switching_cost=1.0),
        },
        switching_cost=[LAM, 2.0],
        replications=2,
    )
    assert list(made.policies) == ["mine", "table", "object"]
    assert made.policies["mine"]["estimator"] == "reduced-variance"
    assert made.policies["object"]["switching_cost"] == 1.0
    text = "tsallis-switch:switching_cost=1"
    assert list(hf.replay(LOSSES, text, switching_cost=2.0, replications=2).policies) == [text]
    own = ["adaptive", "tracking", "tsallis-switch", "ewma", "fail-over", "threshold-cooldown", "leader-cooldown-10"]
    assert list(hf.replay(LOSSES, switching_cost=2.0, replications=2).policies) == ["hedge-switch", *own]
    assert list(hf.replay(LOSSES, switching_cost=2.0, replications=2, sees="own").policies) == own


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"switching_cost": -1.0}, "switching_cost must be a finite number and not negative"),
        ({"switching_cost": []}, "switching_cost must be a number or several different ones"),
        ({"switching_cost": [1, 1.0]}, "switching_cost must be a number or several different ones"),
        ({"switching_cost": "1"}, "switching_cost must be a finite number"),
        ({"replications": 1}, "replications must be a whole number from 2"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1"),
        ({"units": (0, 0.5)}, r"losses must have a number from 0 to 0\.5 in row \d+, column \d \(counted from 0\)"),
        ({"units": (0, 1), "rescale": True}, "rescale must be left out where units are given"),
        ({"units": (0, 1), "clip": (0, 0.5)}, "clip has the units of what policies hear: leave out units and rescale"),
        ({"rescale": True, "clip": (0, 0.5)}, "clip has the units of what policies hear: leave out units and rescale"),
        ({"policies": ["exp4"]}, r"policies\[0\]\.policy must be one of .* did you mean 'exp3'"),
        ({"policies": ["exp3:gamma"]}, "policies must be an id, or an id with parameters"),
        ({"policies": ["exp3:n_arm=3"]}, r"policies\[0\]\.n_arm is not a parameter"),
        ({"policies": ["exp3", "exp3"]}, "policies must have different names"),
        ({"policies": []}, "policies must be ids such as"),
        ({"policies": [hf.Exp3(7)]}, "n_arms of exp3 must be 3"),
        ({"index": "time"}, "index must be left out"),
        ({"sees": "mine"}, "sees must be one of 'all', 'own'"),
        ({"switching_cost": [[0, 1], [1, 0]]}, "switching_cost must be a table of 3 x 3 numbers"),
        ({"forecasts": pl.DataFrame({"issued": [0]})}, "forecasts must have the columns issued, round"),
        ({"seed": "x"}, "seed"),
        ({"backend": "gpu"}, "backend must be one of"),
    ],
)
def test_mistakes_name_the_parameter_and_the_rule(settings, message):
    with pytest.raises(hf.InvalidParameter, match=f"^{message}"):
        hf.replay(LOSSES, **{"policies": ["exp3"], "switching_cost": 1.0, **settings})


@pytest.mark.parametrize(
    ("losses", "rescale", "message"),
    [
        ([[0.5, 0.5]] * 4 + [[0.5, np.nan]], False, "losses .*row 4, column 1 .*it is missing"),
        ([[0.5, 0.5]] * 4 + [[0.5, np.inf]], True, "losses must have a finite number in row 4, column 1"),
        (np.ones((9, 2)), True, "rescale needs losses that differ"),
        (np.zeros((10, 1)), False, "losses must have at least two arms"),
    ],
)
def test_losses_from_which_nothing_can_be_learnt(losses, rescale, message):
    with pytest.raises(hf.InvalidParameter, match=f"^{message}"):
        hf.replay(losses, switching_cost=1.0, rescale=rescale)


@pytest.mark.parametrize("shape", [(1, 2), (3, 5), (4, 2)])
def test_small_tables(shape):
    losses = RNG.integers(0, 5, size=shape) / 4
    made = hf.replay(losses, ["tsallis-switch", "hold-forever"], switching_cost=[0.0, 1.0], replications=2)
    assert made.rounds == shape[0]
    assert json.loads(made.json())["trace"]["rounds"] == shape[0]
    assert str(made)


def test_advice_is_decided_only_where_intervals_leave_zero_out(found):
    # Two costs with five sentences each: the policy given first is not the cheapest.
    assert len(found.advice) == 10
    for sentence in found.advice:
        assert sentence.numbers
    alike = hf.replay(np.full((40, 2), 0.5), ["exp3", "tsallis-switch"], switching_cost=0.0, replications=3)
    cheapest = alike.advice[1]
    assert not cheapest.decided
    assert cheapest.text.startswith("Not decided at λ = 0")


def test_frame_and_json_have_every_number(found):
    assert (found.label(0), found.label(-1)) == ("1", "150")
    assert found.frame.height == 2 * 7 * 6
    row = found.frame.filter(
        pl.col("policy") == "adaptive", pl.col("switching_cost") == LAM, pl.col("stretch") == "whole"
    ).to_dicts()[0]
    assert row["cost"] == pytest.approx(found.standing(LAM).costs["adaptive"].mean())
    assert row["cost"] == pytest.approx(row["losses"] + LAM * row["switches"])
    assert row["cost_low"] <= row["cost"] <= row["cost_high"]
    marks = found.standing(LAM).marks
    assert row["excess_over_best_plan"] == pytest.approx(row["cost"] - marks["best_plan"])
    assert row["excess_over_plan_within_5"] == pytest.approx(row["cost"] - marks["plan_within_5"])
    told = json.loads(found.json())
    assert told["rows"] == found.frame.to_dicts()
    assert [at["switching_cost"] for at in told["switching_costs"]] == [LAM, 2.0]
    assert told["switching_costs"][0]["advice"][0]["text"] == str(found.advice[0])


def test_names_are_wrapped_and_not_cut():
    arms = ["Südländer €/MWh", "Nordländer €/MWh"]
    rng = np.random.default_rng(2)
    made = hf.replay(
        2e3 * rng.random((300, 2)), "adaptive", arms=arms, units=(0, 2e3), switching_cost=400.0, replications=3
    )
    table = str(made).partition("·")[0]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= 80
    assert re.search(r"^(best|worst) arm: Nordländer +[\d,]+ .*\n€/MWh\n", table, re.MULTILINE)
    assert re.search(r"^plan, ≤ 10 switches +[\d,]+", table, re.MULTILINE)


def test_text_fits_a_terminal(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "best plan" in text
    assert "adaptive" in text
    long = hf.replay(LOSSES, ["exp3"], arms=["x" * 60, "y", "z"], switching_cost=1e6, replications=2, backend="threads")
    assert max(map(len, str(long).splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "first"),
    [
        (pl.Series(["mon", "tue", "wed"]), "mon"),
        (pl.Series([3, 5, 9]), "3"),
        (pl.Series([0.5, 1.5, 1.5]), "0.5"),
        (pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 3), eager=True), "2026-01-01 00:00"),
    ],
)
def test_labels_of_every_kind_reach_text_and_pictures(labels, first, tmp_path):
    frame = pl.DataFrame({"when": labels, "a": [0.0, 1.0, 0.5], "b": [1.0, 0.0, 0.25]})
    made = hf.replay(frame, ["exp3"], switching_cost=0.5, index="when", replications=2)
    assert made.label(0) == first
    made.write(tmp_path / "all")
    assert first in (tmp_path / "all" / "report.html").read_text()
    assert len(list((tmp_path / "all" / "pictures").iterdir())) == 8


@pytest.mark.slow
def test_two_costs_that_look_alike_are_two(tmp_path):
    made = hf.replay([[0.0, 1.0], [1.0, 0.0]], ["exp3"], switching_cost=[0.5, 0.5000000001], replications=2)
    assert made.plans_frame().height >= 2
    made.write(tmp_path / "all")
    assert len(list((tmp_path / "all" / "pictures").iterdir())) == 12


@pytest.mark.slow
@pytest.mark.parametrize("losses", [np.zeros((30, 2)), np.full((30, 2), -1.0), RNG.random((30, 12)) - 1.0])
def test_costs_that_are_not_positive_have_no_per_cent(losses, tmp_path):
    made = hf.replay(losses, ["exp3", "hold-forever"], switching_cost=0.0, units=(-1, 0), replications=3)
    assert str(made)
    assert json.loads(made.json())["rows"]
    made.write(tmp_path / "all")
    page = (tmp_path / "all" / "report.html").read_text()
    assert "always using" in page
    assert not re.search(r'class="shown">[^<]*%', page)
    assert "above the best fixed arm, %" not in page


# ---- policies that see all losses, forecasts, closed arms, a cost per pair ----

DAYS = 240
HOURS = np.arange(DAYS)
SWINGS = 0.5 + 0.4 * np.column_stack([np.sin(HOURS / 4), np.cos(HOURS / 4), np.zeros(DAYS)])
COSTS = [[0.0, 0.25, 0.75], [0.25, 0.0, 0.5], [0.75, 0.5, 0.0]]
EXACT = "hedge-switch:forecast_rounds=0"


def forecast_of(table, every=8, ahead=24):
    rows = [(t, r) for t in range(0, len(table), every) for r in range(t, min(t + ahead, len(table)))]
    columns = {"issued": [t for t, _ in rows], "round": [r for _, r in rows]}
    return pl.DataFrame(columns | {str(i): [float(table[r, i]) for _, r in rows] for i in range(table.shape[1])})


def test_the_expected_cost_is_computed_and_has_no_interval():
    made = hf.replay(SWINGS, [EXACT, "exp3"], switching_cost=[0.0, 0.5], replications=3)
    for lam in (0.0, 0.5):
        amount = made.standing(lam).amount(EXACT)
        assert amount.low == amount.mean == amount.high
    several = hf.simulate(
        [hf.AdaptiveHedgeSwitch(3, switching_cost=0.5, forecast_rounds=0)],
        hf.LossTable(SWINGS),
        switching_cost=0.5,
        replications=400,
    )
    costs = several.frame.filter(pl.col("round") == DAYS)["total_cost"].to_numpy()
    assert_mean(costs, made.standing(0.5).amount(EXACT).mean, sees=2.0)
    row = made.frame.filter(pl.col("policy") == EXACT, pl.col("stretch") == "whole", pl.col("switching_cost") == 0.5)
    assert row["cost"][0] == pytest.approx(row["losses"][0] + 0.5 * row["switches"][0])
    assert row["sees"][0] == "all"


@pytest.mark.slow
def test_what_good_forecasts_are_worth_is_said():
    made = hf.replay(SWINGS, switching_cost=0.25, replications=3, forecasts=forecast_of(SWINGS))
    assert list(made.policies)[:2] == ["hedge-forecasts", "hedge-switch"]
    standing = made.standing()
    ahead = standing.looking_ahead
    assert list(ahead) == ["none", "naive", "seasonal", "given"]
    assert ahead["given"] == pytest.approx(standing.amount("hedge-forecasts").mean, rel=1e-12)
    assert ahead["seasonal"] == pytest.approx(standing.amount("hedge-switch").mean, rel=1e-9)
    assert ahead["given"] < ahead["none"]
    assert any("using your forecasts saves" in str(sentence) for sentence in made.advice)
    assert str(made.recommendation).startswith("Use hedge-forecasts, because it costs")
    assert str(made).replace("\n  ", " ").endswith(str(made.recommendation))
    with pytest.raises(hf.InvalidParameter, match=r"^forecasts are used by AdaptiveHedgeSwitch only"):
        hf.replay(SWINGS, ["exp3"], switching_cost=0.25, replications=3, forecasts=forecast_of(SWINGS))


def test_a_cost_for_each_pair_is_what_policies_pay():
    made = hf.replay(SWINGS, [EXACT, "exp3", "adaptive"], switching_cost=COSTS, replications=3, seed=3)
    assert made.switching_costs == (0.75,)
    for name in ("exp3", "adaptive"):
        policy = make_policy({"policy": name, "n_arms": 3} | ({"switching_cost": 0.75} if name == "adaptive" else {}))
        for replication in range(3):
            arms = game(policy, SWINGS, 3, replication)
            paid = sum(COSTS[a][b] for a, b in pairwise(arms.tolist()))
            expected = SWINGS[np.arange(DAYS), arms].sum() + paid
            assert made.standing().costs[name][replication] == pytest.approx(expected, rel=1e-12)
    plan = hf.best_plan(SWINGS, COSTS)
    standing = made.standing()
    assert (standing.plan_cost, made.plans[0.75].arms.tolist()) == (pytest.approx(plan.cost), plan.arms.tolist())
    assert standing.fixed_cost("2") == pytest.approx(SWINGS[:, 2].sum())
    assert made.running.plan_paid[0.75][-1] == pytest.approx(plan.cost - plan.losses)
    assert "were given the largest, 0.75, and pay what the table says" in made.notes[0]
    assert "With these switching costs" in str(made)
    assert json.loads(made.json())["pair_costs"] == COSTS


def test_costs_of_pairs_from_a_file(tmp_path):
    (tmp_path / "costs.csv").write_text("from,b,a\na,0.25,0\nb,0,0.5\n")
    made = hf.replay(SWINGS[:, :2], ["exp3"], arms=["a", "b"], switching_cost=tmp_path / "costs.csv", replications=2)
    assert made.pair_costs == ((0.0, 0.25), (0.5, 0.0))
    (tmp_path / "costs.csv").write_text("from,b,a\na,0.25,0\nc,0,0.5\n")
    with pytest.raises(hf.InvalidParameter, match=r"^switching_cost must have .*there is no row 'b'"):
        hf.replay(SWINGS[:, :2], ["exp3"], arms=["a", "b"], switching_cost=tmp_path / "costs.csv", replications=2)


def test_an_arm_without_a_value_is_not_available():
    holed = SWINGS.copy()
    holed[::3, 0] = np.nan
    holed[7] = np.nan  # nothing is available: whatever is played costs the most
    made = hf.replay(holed, [EXACT, "exp3"], switching_cost=0.1, replications=2, missing="unavailable")
    arms = made.held[0.1, EXACT].each_round()
    rounds = np.delete(np.arange(DAYS), 7)
    assert not np.isnan(holed[rounds, arms[rounds]]).any()
    assert made.standing().fixed_cost("0") == pytest.approx(np.nan_to_num(holed[:, 0], nan=1.0).sum() + 0.1)
    assert "not available counts 1 in that round" in " ".join(made.notes)


def test_an_arm_that_is_not_available_counts_the_highest_loss_also_in_short_floats():
    """0.3 is a little more in float32, and would lie outside of the units."""
    record = pl.DataFrame(
        {"a": [0.125, 0.25, None] * 4, "b": [0.25, 0.125, 0.25] * 4}, schema={"a": pl.Float32, "b": pl.Float32}
    )
    options = {"units": (0.0, 0.3), "missing": "unavailable", "replications": 2}
    made = hf.replay(record, ["exp3"], switching_cost=0.1, **options)
    assert made.standing().fixed_cost("a") == pytest.approx(4 * (0.125 + 0.25 + 0.3) + 0.1, rel=1e-12)


def test_rewards_are_losses_with_their_sign_turned():
    earned = hf.replay(SWINGS, ["exp3", EXACT], switching_cost=0.1, replications=2, rewards=True)
    lost = hf.replay(-SWINGS, ["exp3", EXACT], switching_cost=0.1, replications=2, units=(-1, 0))
    assert earned.units == (-1.0, 0.0)
    holed = np.where(HOURS[:, None] % 5 == [0, 7, 7], np.nan, SWINGS)  # where it is not available an arm earns least
    closed = hf.replay(holed, ["exp3"], switching_cost=0.1, replications=2, rewards=True, missing="unavailable")
    assert closed.standing().fixed_cost("0") == pytest.approx(0.1 - np.nansum(holed[:, 0]))
    assert earned.frame.equals(lost.frame)
    assert earned.standing().best_arm == str(SWINGS.sum(axis=0).argmax())
    with pytest.raises(hf.InvalidParameter, match=r"^losses must have a number from 0 to 0\.5 in row 0"):
        hf.replay(SWINGS, ["exp3"], switching_cost=0.1, rewards=True, units=(0, 0.5))


def test_rescaling_says_what_the_cost_of_a_switch_is_a_share_of():
    made = hf.replay(8 * SWINGS, ["exp3"], switching_cost=0.8, replications=2, rescale=True)
    assert "λ is in the same units: 0.13 of the difference" in made.notes[0]


def test_the_unit_is_on_axes_and_in_tables(tmp_path):
    made = hf.replay(SWINGS, ["exp3"], switching_cost=0.8, replications=2, unit="kg CO2")
    assert "costs in kg CO2" in " ".join(str(made).split())
    page = made.write(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "total cost, kg CO2" in page
    assert "cost so far, kg CO2" in page


def swings(rounds: int, *periods: int) -> np.ndarray:
    """Losses of two arms that swing with periods of their own, and noise."""
    t, noise = np.arange(rounds)[:, None], 0.05 * np.random.default_rng(2).random((rounds, 2))
    return 0.3 + noise + sum(0.15 * (1 + np.sin(2 * np.pi * t / P + np.array([0.0, 2.0]))) for P in periods)


def test_periods_that_a_record_suggests():
    assert likely_periods(swings(900, 24))[0] == 24
    assert likely_periods(swings(900, 7))[0] == 7
    assert 168 in likely_periods(swings(1700, 168))
    assert likely_periods(np.random.default_rng(1).random((9000, 2))) == (24,)
    assert 24 not in likely_periods(swings(100, 24))  # too short to see a day five times
    assert likely_periods(np.zeros((200, 2))) == (24,)


def runner_of(monkeypatch, cost, forecasts=None):
    """A runner whose expected games cost what `cost` says of their policy and of the experts that are mixed."""

    def expected(self, policy, name, marks, label, only=None):
        zero = np.zeros(1)
        return PlayedGame(zero + cost(policy, only) - 1.0, zero, zero + 1.0, np.zeros(1, dtype=np.int32))

    monkeypatch.setattr(PieceRunner, "_expected", expected)
    losses = swings(200, 7, 24)
    part = Stretch(hf.LossTable.of(read_trace(losses), (0.0, 1.5)), losses, None, forecasts)
    return PieceRunner({WHOLE: part}, 2, 0, (200,), None)


def test_a_replay_is_known_by_all_that_its_numbers_depend_on():
    def known(losses=LOSSES[:9], labels=None, closed=None, forecasts=None, pairs=None, clip=None):
        trace = replace(read_trace(losses), labels=labels)
        table = hf.LossTable.of(trace) if clip is None else ClippedTable.of(trace, clip)
        part = Stretch(table, losses, closed, forecasts)
        return _fingerprint(PieceRunner({WHOLE: part}, 2, 0, (9,), None, pairs))

    other = LOSSES[:9].copy()
    other[-1, -1] = 1.0 - other[-1, -1]
    given = [Forecasts.of([0], [1], [[value, 0.5, 0.5]]) for value in (0.5, 0.25)]
    found = [
        *(known(), known(other), known(labels=np.arange(9)), known(labels=np.arange(1, 10))),
        *(known(closed=np.eye(9, 3) == at) for at in (0, 1)),
        *(known(forecasts=one) for one in given),
        *(known(pairs=((0.0, cost, 1.0),) * 3) for cost in (0.5, 0.75)),
        *(known(clip=(0.0, end)) for end in (0.5, 0.75)),
    ]
    assert len(set(found)) == len(found)
    assert known() == found[0]


def hedge(**settings):
    return hf.AdaptiveHedgeSwitch(2, switching_cost=0.5, **settings)


@pytest.mark.parametrize(
    ("costs", "period"),
    [
        ({None: 9, 7: 5, 24: 4, (7, 24): 6}, 24),
        ({None: 9, 7: 5, 24: 6, (7, 24): 4}, (7, 24)),
        ({None: 3, 7: 5, 24: 6, (7, 24): 4}, None),
        ({None: 3, 7: 3, 24: 6, (7, 24): 4}, None),  # no period unless it saves something
    ],
)
def test_the_period_is_taken_with_which_it_costs_least(monkeypatch, costs, period):
    runner = runner_of(monkeypatch, lambda policy, only: costs[policy.period])
    other = Piece(0.5, "exp3", {WHOLE: hf.Exp3(2)}, {})
    first, second = runner.with_periods([Piece(0.5, "hedge", {WHOLE: hedge(forecast_rounds=0)}, {}), other])
    assert (first.policy.period, second.policy) == (period, other.policy)


@pytest.mark.parametrize(
    ("periods", "when"),
    [
        ({0.1: None, 1.0: None}, None),
        ({0.1: 7, 1.0: 7}, "a period of 7 rounds"),
        ({0.1: 7, 1.0: None}, "a period of 7 rounds at λ = 0.1"),
        ({0.1: 7, 1.0: (7, 24)}, "a period of 7 rounds at λ = 0.1 and a period of 7 and 24 rounds at λ = 1"),
    ],
)
def test_periods_that_were_found_are_said(periods, when):
    pieces = [Piece(lam, "hedge-switch", {WHOLE: hedge(period=period)}, {}) for lam, period in periods.items()]
    said = f"hedge-switch plans on {when}: found in this record, where it costs least with it."
    assert periods_note(pieces) == ([] if when is None else [said])


@pytest.mark.parametrize("given", [False, True])
def test_looking_ahead_goes_step_by_step(monkeypatch, given):
    """Each step mixes the experts of those before it, and more kinds."""
    kinds = [{FixedArm, WorkFunction}, {Smoothed}, {FoundSeason, SeasonalPlan}, {GivenForecast}]
    policy = hedge(period=7) if given else hedge(period=7, forecast_rounds=0)
    seen = []

    def cost(policy, only):
        seen.append({type(policy.mixed[i]) for i in only})
        return len(seen)

    runner = runner_of(monkeypatch, cost, Forecasts.of([0], [1], [[0.5, 0.5]]) if given else None)
    monkeypatch.setattr("holdfast.replays.games.ThreadPoolExecutor", InOrder)
    found = runner.looking_ahead(
        [Piece(0.5, "hedge", {WHOLE: policy}, {}), Piece(0.5, "exp3", {WHOLE: hf.Exp3(2)}, {})]
    )
    steps = 4 if given else 3
    assert found == dict(zip(("none", "naive", "seasonal", "given")[:steps], range(1, 5), strict=False))
    there = {type(expert) for expert in policy.mixed}
    assert seen == [there & set().union(*kinds[:n]) for n in range(1, steps + 1)]
    assert seen[-1] == there


class InOrder:
    """Threads that take one after the other."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def map(self, work, values):
        return map(work, values)


@pytest.mark.parametrize(("share", "noted"), [(0.0999, True), (0.1001, False)])
@pytest.mark.parametrize("rewards", [False, True])
def test_outliers_are_noted_where_nearly_all_lie_within_a_tenth_of_the_range(share, noted, rewards):
    losses = 20.0 + 50.0 * share / 0.98 * np.linspace(0, 1, 101)  # of 101 the second and the last but one
    note = outlier_note(losses[:, None], (10.0, 60.0), rewards=rewards)
    assert (note is not None) == noted
    if note is not None:
        low, high = losses[1], losses[-2]
        ends = (f"−{high:.3g}", f"−{low:.3g}") if rewards else (f"{low:.3g}", f"{high:.3g}")
        assert f"lie between {ends[0]} and {ends[1]}, 10 % of the range".replace("−", "-") in note


@pytest.mark.slow
@pytest.mark.parametrize("period", [7, 24, 168])
def test_a_period_found_costs_no_more_than_one_given(period: int) -> None:
    losses, settings = swings(1700, period), {"switching_cost": [0.1, 1.0], "replications": 2, "progress": False}
    found = hf.replay(losses, **settings)
    for given in (24, period):
        told = hf.replay(losses, ["hedge-switch:forecast_rounds=0,period=" + str(given)], **settings)
        for cost in (0.1, 1.0):
            (name,) = told.policies
            assert found.standing(cost).costs["hedge-switch"][0] <= told.standing(cost).costs[name][0] + 1e-9
    if period == 168:  # shorter ones are found while it plays
        assert any("a period of 168 rounds" in note and "found in this record" in note for note in found.notes)


@pytest.mark.parametrize(("confidence", "shown"), [(0.999, "99.9%"), (0.8, "80%")])
def test_intervals_have_the_confidence_asked_for(confidence, shown):
    losses, options = np.random.default_rng(1).random((60, 2)), {"replications": 3, "progress": False}
    found = hf.replay(losses, ["exp3"], switching_cost=0.5, confidence=confidence, **options)
    assert f"{shown} interval" in str(found)
    assert "100%" not in str(found)
    costs = found.standing().costs["exp3"]
    low, high = stats.t.interval(confidence, 2, costs.mean(), stats.sem(costs))
    (row,) = found.frame.filter(policy="exp3", stretch="whole").to_dicts()
    assert (row["cost_low"], row["cost_high"]) == pytest.approx((low, high))
