"""The arena's track of policies that see the losses of all arms."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.evidence.contestants import ENTRIES, IN_SIGHT, OWN_LOSS, PAPER, chosen_policies
from holdfast.evidence.in_sight import WORLDS, compared, defaults, overall
from holdfast.evidence.run import run_arena
from holdfast.evidence.terminal import summary
from holdfast.evidence.worlds import hard_worlds, paper_worlds
from holdfast.policies.registry import find_policy, make_policy

SMALL = {
    "policies": ["threshold", "lazy-hedge"],
    "environments": ["stochastic-easy", "seasonal-costly"],
    "replications": 3,
    "horizon": 1000,
    "progress": False,
}


def test_each_policy_plays_in_the_track_of_what_it_sees() -> None:
    needed = {"n_arms": 2, "switching_cost": 1.0, "horizon": 100}
    for entries, sees in ((ENTRIES, "own"), (IN_SIGHT, "all")):
        for entry in entries.values():
            kind, implied = find_policy(entry["policy"])
            known = kind.__dataclass_fields__
            settings = {name: value for name, value in needed.items() if name in known and name not in implied}
            assert make_policy({**settings, **entry}).sees == sees
    assert chosen_policies(sees="all") == (OWN_LOSS, PAPER, *IN_SIGHT)
    assert chosen_policies("threshold", sees="all") == ("threshold", OWN_LOSS, PAPER)
    with pytest.raises(hf.InvalidParameter, match="did you mean 'threshold'"):
        chosen_policies("treshold", sees="all")
    with pytest.raises(hf.InvalidParameter, match="policies must be of"):
        chosen_policies("hedge-switch")


def test_what_is_played_unless_other_things_are_named() -> None:
    everything = {world.name for world in (*paper_worlds(10_000), *hard_worlds(10_000))}
    assert set(WORLDS) <= everything
    assert defaults(None, None, None, True) == (20, 10_000, [*WORLDS, "traces"])
    assert defaults(5, 2000, "hard", False) == (5, 2000, "hard")


def test_costs_over_the_best_arm_by_hand() -> None:
    """Losses of 0.3 a round over 1000 rounds, λ = 1: staying costs 301, a regret of 31 makes 331."""
    world = next(w for w in paper_worlds(1000) if w.name == "stochastic-easy")
    stay = float(world.environment.expected(0, 1000).min())
    costs = {("stochastic-easy", 1000): {"a": np.array([1.0, 3.0]), "b": np.array([10.0, 10.0])}}
    table = compared([world], costs, {"stochastic-easy": {"a": 2.0, "b": 3.0}})
    assert table["policy"].to_list() == ["a", "b"]
    assert table["over_best_arm"][0] == pytest.approx((stay + 2) / (stay + world.switching_cost))
    assert table["low"][0] < table["over_best_arm"][0] < table["high"][0]
    assert table["low"][1] == pytest.approx(table["high"][1])
    both = pl.concat([table, table.with_columns(environment=pl.lit("twice"), over_best_arm=pl.lit(4.0))])
    means = overall(both)
    assert means["mean"][0] == pytest.approx(np.sqrt(4 * table["over_best_arm"][0]))
    assert means["worst_in"].to_list() == ["twice", "twice"]


@pytest.mark.slow
def test_the_track_is_played_shown_and_written(tmp_path) -> None:
    made = run_arena(tmp_path / "out", sees="all", **SMALL)
    rows = made.findings.in_sight
    assert rows.height == 2 * 4
    document = json.loads(made.document.read_text())
    assert document["in_sight"] == rows.to_dicts()
    page = made.page.read_text()
    assert "All in sight" in page
    assert "over the cost of the best fixed arm" in page
    lines = summary(made.findings)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("lazy-hedge†") for line in lines)
    own = run_arena(tmp_path / "own", **(SMALL | {"policies": ["adaptive"], "environments": ["stochastic-easy"]}))
    assert own.findings.in_sight is None
    assert "in_sight" not in json.loads(own.document.read_text())
    with pytest.raises(hf.InvalidParameter, match="sees must be"):
        run_arena(tmp_path / "none", sees="some", **SMALL)
    with pytest.raises(hf.InvalidParameter, match="replications must be"):
        run_arena(tmp_path / "none", sees="all", **(SMALL | {"replications": 0}))
    refused = CliRunner().invoke(app, ["arena", "--out", str(tmp_path / "none"), "--sees", "none"])
    assert isinstance(refused.exception, hf.HoldfastError)
    assert not (tmp_path / "none").exists()
