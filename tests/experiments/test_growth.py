"""Exponents of long games, and the ledger entry that fails when the paper's policy overtakes ours."""

import json
import math

import numpy as np
import polars as pl
import pytest
from adaptive_claims import CLAIMS, GROWN, OWN, PAPER, Played, stages
from arena import run_arena
from documents import arena_tables
from growth import GAMES, decades
from long_runs import grow
from measures import exponents
from search_worlds import costs_of

import holdfast as hf
from holdfast.lab.judge import judge

GROWTH = ("never-overtaken", "slower-growth", "ties", "growth", "small-at-last")


def verdicts(long):
    """Our claims about growth, judged on these samples alone."""
    asked = [claim for claim in CLAIMS if claim.id in GROWTH]
    return {verdict.id: verdict for verdict in judge(asked, Played(long=long))}


@pytest.mark.parametrize("game", [game.name for game in GAMES if game.kind != "adversarial"])
def test_one_game_at_one_horizon_is_enough_to_fail(game):
    """A policy that costs half of the other's but for one place where it costs a tenth more."""
    rng = np.random.default_rng(2)
    others = [g.name for g in GAMES if g.kind != "adversarial"]
    long = {}
    for name in others:
        for policy, share in ((OWN, 0.5), (PAPER, 1.0)):
            long[name, policy] = {T: share * T**0.3 * rng.normal(1, 0.01, 30) for T in GROWN}
    assert verdicts(long)["never-overtaken"].verdict == "holds"
    long[game, OWN][10**7] = 2.2 * long[game, OWN][10**7]
    failed = verdicts(long)["never-overtaken"]
    assert failed.verdict == "fails"
    assert f"overtaken in {game} at T = 10,000,000" in failed.measurement
    long[game, OWN][10**7] = long[game, PAPER][10**7] * rng.normal(1, 0.01, 30)  # neither
    assert verdicts(long)["never-overtaken"].verdict == "conditional"


@pytest.mark.parametrize(("exponent", "expected"), [(0.1, "holds"), (0.6, "fails"), (0.2, "conditional")])
def test_exponents_are_judged_by_each_games_own_limit(exponent, expected):
    rng = np.random.default_rng(3)
    long = {}
    for game in GAMES:
        common = rng.normal(1, 0.02, 40)
        long[game.name, OWN] = {T: T**exponent * common * rng.normal(1, 0.02, 40) for T in GROWN}
        long[game.name, PAPER] = {T: T * common for T in GROWN}
    judged = verdicts(long)["growth"]
    assert judged.verdict == expected
    assert verdicts(long)["slower-growth"].verdict == "holds"
    swapped = {(name, PAPER if policy == OWN else OWN): samples for (name, policy), samples in long.items()}
    assert verdicts(swapped)["slower-growth"].verdict == "fails"
    assert [verdicts(pair)["small-at-last"].verdict for pair in (long, swapped)] == ["holds", "fails"]
    assert len(judged.parts) == sum(game.exponent is not None for game in GAMES)
    for part in judged.parts:
        assert part.estimate == pytest.approx(exponent, abs=0.01)
    short = {key: {T: samples[T] for T in GROWN[:2]} for key, samples in long.items()}
    assert "growth" not in verdicts(short)  # not judged below 10⁸


@pytest.mark.parametrize(("exponent", "expected"), [(2 / 3, "holds"), (0.75, "fails"), (0.7, "conditional")])
def test_ties_may_grow_as_fast_as_the_theorem_and_no_faster(exponent, expected):
    rng = np.random.default_rng(5)
    long = {}
    for game in GAMES:
        grown = exponent if game.kind == "ties" else 0.9
        for policy in (OWN, PAPER):
            long[game.name, policy] = {T: T**grown * rng.normal(1, 0.02, 40) for T in GROWN}
    judged = verdicts(long)["ties"]
    assert judged.verdict == expected
    assert len(judged.parts) == 2


def test_exponents_use_the_games_that_all_horizons_have():
    rng = np.random.default_rng(4)
    samples = {T: T**0.4 * rng.normal(1, 0.1, runs) for T, runs in zip(GROWN, (200, 100, 16), strict=True)}
    shorter = {T: sample[:16] for T, sample in samples.items()}
    assert (exponents(samples) == exponents(shorter)).all()


def test_decades_and_stages():
    assert decades(10_000) == (10_000,)
    assert decades(250_000) == (10_000, 100_000, 250_000)
    assert decades(10**9)[-1] == 10**9
    assert len(decades(10**9)) == 6
    for wrong in (9999, 10**9 + 1):
        with pytest.raises(hf.InvalidParameter, match="longest must be a whole number from 10000 to 1000000000"):
            decades(wrong)
    assert stages(20_000) == [(20_000, 200)]
    assert stages(10**6) == [(10**6, 200)]
    assert stages(2 * 10**6) == [(10**6, 200), (2 * 10**6, 100)]
    assert stages(10**9)[-1] == (10**9, 16)
    with pytest.raises(hf.InvalidParameter, match="longest must be"):
        stages(2 * 10**9)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return run_arena(
        tmp_path_factory.mktemp("long"),
        policies=["adaptive", "base-geometric"],
        environments=["stochastic-easy", "long"],
        replications=3,
        horizon=1000,
        longest=100_000,
        seed=5,
        progress=False,
    )


@pytest.mark.slow
def test_the_arena_has_every_policy_kind_and_horizon(made):
    long = made.long
    assert set(long["environment"]) == {game.name for game in GAMES}
    assert set(long["kind"]) == {"stochastic", "constrained", "ties", "adversarial"}
    assert long.height == len(GAMES) * 3 * 2  # policies (the paper's too) and T
    told = json.loads((made.out / "arena.json").read_text(encoding="utf-8"))
    assert told["long_games"][0]["environment"] == "two-arms-far"
    assert '<section id="long">' in (made.out / "arena.html").read_text(encoding="utf-8")
    shown = arena_tables(told).split("Long games: ")[1]
    assert shown.startswith("the exponent of T from 10,000 to 100,000, 3 games each.")
    assert "| adaptive |" in shown


@pytest.mark.slow
@pytest.mark.parametrize("game", ["gap-0.2", "reversal"])
def test_costs_and_exponents_from_simulate(made, game):
    """A policy that knows T begins anew for each T, as all do against losses laid out over T."""
    chosen = next(g for g in GAMES if g.name == game)
    means: dict[str, list[float]] = {}
    for T in decades(100_000):
        policies = {
            "adaptive": hf.AdaptiveTsallisSwitch(8, switching_cost=1.0),
            "base-geometric": hf.BaSE(8, horizon=T, grid="geometric"),
            "tsallis-switch": hf.TsallisSwitch(8, switching_cost=1.0),
        }
        game_of_T = {"horizon": T, "switching_cost": 1.0, "replications": 3, "seed": 5, "checkpoints": 1}
        played = hf.simulate(policies, chosen.losses(T), **game_of_T)
        for policy in policies:
            own = played.frame.filter(pl.col("policy") == policy)["regret_with_switching"].to_numpy()
            (row,) = made.long.filter(environment=game, policy=policy, horizon=T).to_dicts()
            assert row["cost"] == pytest.approx(own.mean(), rel=1e-12)
            means.setdefault(policy, []).append(own.mean())
            if len(means[policy]) == 2 and math.isfinite(row["exponent"]):
                assert row["exponent"] == pytest.approx(math.log10(means[policy][1] / means[policy][0]))


# ---- the script for long games on many cores


def test_costs_are_those_of_simulate():
    world = hf.PiecewiseConstant((0, 400), ((0.2, 0.8), (0.9, 0.1)), noise=True)
    policies = {
        "adaptive": hf.AdaptiveTsallisSwitch(2, switching_cost=0.3),
        "tsallis-switch": hf.TsallisSwitch(2, switching_cost=0.3),
    }
    found = costs_of(policies, world, 0.3, 5, 8, (100, 1000), first=3)
    game = {"horizon": 1000, "switching_cost": 0.3, "replications": 5, "first_replication": 3, "seed": 8}
    table = hf.simulate(policies, world, checkpoints=(100, 1000), **game).frame
    for name, costs in found.items():
        assert np.array_equal(costs.ravel(), table.filter(table["policy"] == name)["regret_with_switching"])


def test_growth_is_written_after_each_game(tmp_path, capsys):
    """More games up to a tenth of the longest T; every game has its line."""
    grow(tmp_path / "growth.json", 100_000, 3, 5, 1, "threads")
    told = json.loads((tmp_path / "growth.json").read_text(encoding="utf-8"))["games"]
    assert set(told) == {game.name for game in GAMES if game.kind != "adversarial"}
    assert told["tied"]["games"] == {"10000": 5, "100000": 3}
    assert len(told["tied"]["samples"]["adaptive"]["10000"]) == 5
    assert len(capsys.readouterr().out.splitlines()) == len(told)
