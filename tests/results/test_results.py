"""Results: summaries, paired comparisons, files with their provenance, joining."""

import json
import math
import multiprocessing
import os
from typing import Any

import polars as pl
import pytest
from made_results import ENVIRONMENT, SETTINGS, made, simulated

import holdfast as hf
from holdfast.numerics.regret import MEASURES
from holdfast.results import Result


def test_summary_and_final():
    result = simulated()
    summary = result.summary()
    assert summary.columns[:3] == ["policy", "round", "replications"]
    assert summary.select("policy", "round").rows() == [
        (policy, t) for policy in ("exp3", "tsallis-switch") for t in (10, 50, 100)
    ]
    for row in summary.iter_rows(named=True):
        rows = result.frame.filter(policy=row["policy"], round=row["round"])
        for measure in MEASURES:
            values = rows[measure].to_numpy()
            assert math.isclose(row[f"{measure}_mean"], values.mean())
            assert math.isclose(row[f"{measure}_sd"], values.std(ddof=1))
            assert math.isclose(row[f"{measure}_se"], values.std(ddof=1) / 2)
        assert row["replications"] == 4
    assert result.final().equals(summary.filter(round=100))
    early = Result(result.frame.filter(round=10)).compare("exp3", "tsallis-switch")
    assert result.compare("exp3", "tsallis-switch", round=10) == early != result.compare("exp3", "tsallis-switch")
    assert "tsallis-switch" in repr(result)
    assert simulated(replications=1).final()["regret_with_switching_sd"].to_list() == [None, None]


def test_each_place_of_a_grid_has_its_own_last_round():
    short, long = (made(a=[1.0, 3.0]).frame.with_columns(gap=pl.lit(gap), round=pl.lit(gap)) for gap in (9, 90))
    both = Result(pl.concat([short, long, long.with_columns(round=pl.lit(10))], how="vertical_relaxed"))
    assert both.final().select("gap", "round", "regret_with_switching_mean").rows() == [(9, 9, 2.0), (90, 90, 2.0)]


@pytest.mark.plain
def test_compare_is_students_interval_of_the_paired_differences():
    """Differences 1, 2, 3, 4, 6: mean 3.2, s² = 3.7; t_{0.975} with 4 degrees of freedom is 2.776445."""
    result = made(a=[2.0, 4.0, 6.0, 8.0, 11.0], b=[1.0, 2.0, 3.0, 4.0, 5.0])
    found = result.compare("a", "b")
    half = 2.7764451051977987 * math.sqrt(3.7 / 5)
    assert math.isclose(found.difference, 3.2)
    assert math.isclose(found.low, 3.2 - half, rel_tol=1e-9)
    assert math.isclose(found.high, 3.2 + half, rel_tol=1e-9)
    assert (found.replications, found.round, found.measure, found.decided) == (5, 9, "regret_with_switching", True)
    assert str(found) == (
        "a − b: regret_with_switching +3.2 [+0.811612, +5.58839] at round 9 (95% confidence, 5 replications)"
    )
    assert not result.compare("a", "b", confidence=0.999).decided
    back = result.compare("b", "a")
    assert (back.low, back.high) == (-found.high, -found.low)


@pytest.mark.plain
def test_compare_pairs_by_replication_whatever_the_order_of_rows():
    result = made(a=[2.0, 4.0, 6.0], b=[1.0, 2.0, 3.5])
    shuffled = Result(result.frame.sort("regret_with_switching", descending=True))
    assert shuffled.compare("a", "b").difference == result.compare("a", "b").difference


@pytest.mark.plain
def test_compare_refuses_what_it_cannot_compare():
    result = made(exp3=[1.0, 2.0], other=[1.0, 3.0])
    with pytest.raises(
        hf.InvalidParameter, match=r"policy must be one of 'exp3', 'other'; got 'exp4'; did you mean 'exp3'\?"
    ):
        result.compare("exp4", "other")
    with pytest.raises(
        hf.InvalidParameter, match=r"measure must be one of .*; got 'total_costs'; did you mean 'total_cost'\?"
    ):
        result.compare("exp3", "other", measure="total_costs")
    wrong: Any
    for wrong in (95, 0, 1.0, None, "0.95", [0.95], float("nan"), True, 10**400):
        with pytest.raises(
            hf.InvalidParameter, match=r"^confidence must be a number between 0 and 1, such as 0\.95; got"
        ):
            result.compare("exp3", "other", confidence=wrong)
    for wrong in ("x", 0, 2.5, [9], float("inf"), True):
        with pytest.raises(hf.InvalidParameter, match=r"^round must be a whole number of at least 1; got"):
            result.compare("exp3", "other", round=wrong)
    for wrong in (None, ["exp3"], {}, 3):
        with pytest.raises(hf.InvalidParameter, match=r"^policy must be one of 'exp3', 'other'; got"):
            result.compare("exp3", wrong)
        with pytest.raises(hf.InvalidParameter, match=r"^measure must be one of 'pseudo_regret', .*; got"):
            result.compare("exp3", "other", measure=wrong)
    with pytest.raises(hf.InvalidParameter, match=r"^policy must be one of ; got 'a'"):
        made(a=[]).compare("a", "b")
    with pytest.raises(hf.InvalidParameter, match=r"round must be one that was recorded \(9\); got 8"):
        result.compare("exp3", "other", round=8)
    with pytest.raises(hf.InvalidParameter, match=r"replications must be at least 2 in common to compare .*; got 1"):
        made(a=[1.0], b=[2.0]).compare("a", "b")


def test_files_carry_the_provenance(tmp_path):
    result = simulated(switching_cost=hf.Power(0.5))
    path = result.write(tmp_path / "r.parquet")
    again = Result.read(path)
    assert again.frame.equals(result.frame)
    assert again.provenance == result.provenance
    assert again.policies == ["exp3", "tsallis-switch"]
    assert os.listdir(tmp_path) == ["r.parquet"]
    provenance = again.provenance
    assert provenance["seed"] == 6
    assert provenance["switching_cost"] == {"power": 0.5, "scale": 1.0}
    assert provenance["checkpoints"] == [10, 50, 100]
    assert provenance["environment"] == {"environment": "bernoulli", "shuffled": False, "mean_losses": [0.2, 0.5]}
    assert provenance["policies"]["tsallis-switch"]["switching_cost"] == 0.5
    assert set(provenance["versions"]) == {"holdfast", "python", "numpy", "numba", "polars"}


def test_schedules_and_costs_that_are_functions_can_be_written(tmp_path):
    policies = [
        hf.TsallisSwitch(2, block_lengths=lambda n: n, learning_rates=lambda n: 1 / n),
        hf.VaryingTsallisSwitch(2),
    ]
    result = hf.simulate(policies, ENVIRONMENT, **SETTINGS | {"switching_cost": lambda n: 1.0})
    again = Result.read(result.write(tmp_path / "r.parquet"))
    assert again.provenance == json.loads(json.dumps(result.provenance))


def test_joined_replications_or_policies_are_the_whole_simulation():
    for whole, parts in (
        (simulated(replications=9), [simulated(replications=4, first_replication=5), simulated(replications=5)]),
        (simulated(hf.TsallisInf(2), hf.Exp3(2)), [simulated(hf.TsallisInf(2)), simulated(hf.Exp3(2))]),
    ):
        joined = Result.concat(parts)
        assert joined.frame.equals(whole.frame)
        assert joined.provenance == whole.provenance


def test_other_parts_stand_side_by_side():
    one, later = simulated(hf.Exp3(2)), simulated(hf.Exp3(2), first_replication=4)
    for other in (
        simulated(hf.TsallisSwitch(2, switching_cost=0.5), seed=7),
        simulated(hf.TsallisSwitch(2, switching_cost=0.5), replications=2),
        simulated(hf.Exp3(2), first_replication=8),
        Result(later.frame),
        Result(later.frame, later.provenance | {"interrupted": True}),
    ):
        joined = Result.concat([one, other])
        assert joined.provenance == {"parts": [one.provenance, other.provenance]}
        assert joined.frame.height == one.frame.height + other.frame.height


def test_joining_refuses_overlaps():
    with pytest.raises(hf.InvalidParameter, match="must not have the same policy and replication twice"):
        Result.concat([simulated(), simulated(first_replication=3)])
    with pytest.raises(hf.InvalidParameter, match="results must not be empty"):
        Result.concat([])


def test_joined_pieces_of_other_library_versions_are_one_simulation():
    """A study that goes on after an upgrade keeps its finished replications."""
    parts = [simulated(replications=4), simulated(replications=5, first_replication=4)]
    parts[1].provenance["versions"] = {**parts[0].provenance["versions"], "polars": "99.0"}
    joined = Result.concat(parts)
    assert joined.provenance["replications"] == 9
    assert joined.provenance["versions"]["polars"].endswith(", 99.0")
    again = Result.concat([joined, simulated(replications=1, first_replication=9)])
    assert again.provenance["versions"] == joined.provenance["versions"]


def in_cell(result: Result, gap: float) -> Result:
    return Result(result.frame.select(pl.lit(gap).alias("gap"), pl.all()), result.provenance)


def test_columns_of_a_grid_tell_games_apart():
    one, other = in_cell(simulated(), 0.1), in_cell(simulated(), 0.2)
    joined = Result.concat([one, other])
    assert joined.grid == ["gap"]
    assert joined.frame.equals(pl.concat([one.frame, other.frame]))
    assert joined.summary().columns[:4] == ["gap", "policy", "round", "replications"]
    assert joined.final().height == 4
    assert [line.split()[0] for line in repr(joined).splitlines()[1:6]] == ["gap", "0.1", "0.1", "0.2", "0.2"]
    with pytest.raises(hf.InvalidParameter, match=r"^result must have one combination of its grid to compare"):
        joined.compare("exp3", "tsallis-switch")
    found = one.compare("exp3", "tsallis-switch")
    assert found == simulated().compare("exp3", "tsallis-switch")
    with pytest.raises(
        hf.InvalidParameter, match=r"^results must all have the same columns before policy, \['gap'\]; got"
    ):
        Result.concat([one, simulated()])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_forked_after_a_simulation_simulates_too():
    """As in a pool of Python's own, on Linux; what it sends back is pickled."""
    here = simulated()
    here.final()  # starts the threads of polars, which a fork does not have
    pool = multiprocessing.get_context("fork").Pool(1)
    try:
        there = pool.apply_async(simulated).get(timeout=60)
    finally:
        pool.terminate()
    assert there.frame.equals(here.frame)
