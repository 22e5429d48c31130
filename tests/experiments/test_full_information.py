"""The arena's track of policies that see the losses of all arms."""

import json

import numpy as np
import polars as pl
import pytest
from arena import CHANGING, FULL_INFORMATION, OWN, OWN_LOSS_ONLY, chosen_policies, laid_out, run_arena
from arena_report import summary
from measures import PAPER, over_best_arm, overall

import holdfast as hf
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
    for entries, sees in ((OWN_LOSS_ONLY, "own"), (FULL_INFORMATION, "all")):
        for entry in entries.values():
            kind, implied = find_policy(entry["policy"])
            known = kind.__dataclass_fields__
            settings = {name: value for name, value in needed.items() if name in known and name not in implied}
            assert make_policy({**settings, **entry}).full_information == (sees == "all")
    assert chosen_policies(sees="all") == (OWN, PAPER, *FULL_INFORMATION)
    assert chosen_policies("threshold", sees="all") == ("threshold", OWN, PAPER)
    with pytest.raises(hf.InvalidParameter, match="did you mean 'threshold'"):
        chosen_policies("treshold", sees="all")
    with pytest.raises(hf.InvalidParameter, match="policies must be of"):
        chosen_policies("hedge-switch")


def test_they_play_where_the_best_arm_changes() -> None:
    assert set(CHANGING) <= set(laid_out(10_000))
    assert len(CHANGING) == 10


def test_costs_over_the_best_arm_by_hand() -> None:
    """Losses of 0.3 a round over 1000 rounds, λ = 1: staying costs 301, a regret of 31 makes 331."""
    setting = laid_out(1000)["stochastic-easy"]
    stay = float(setting.environment.expected(0, 1000).min())
    costs = {("stochastic-easy", 1000): {"a": np.array([1.0, 3.0]), "b": np.array([10.0, 10.0])}}
    table = over_best_arm([setting], costs, {"stochastic-easy": {"a": 2.0, "b": 3.0}})
    assert table["policy"].to_list() == ["a", "b"]
    assert table["over_best_arm"][0] == pytest.approx((stay + 2) / (stay + setting.switching_cost))
    assert table["low"][0] < table["over_best_arm"][0] < table["high"][0]
    assert table["low"][1] == pytest.approx(table["high"][1])
    both = pl.concat([table, table.with_columns(environment=pl.lit("twice"), over_best_arm=pl.lit(4.0))])
    means = overall(both)
    assert means["mean"][0] == pytest.approx(np.sqrt(4 * table["over_best_arm"][0]))
    assert means["worst_in"].to_list() == ["twice", "twice"]


@pytest.mark.slow
def test_the_track_is_played_shown_and_written(tmp_path) -> None:
    made = run_arena(tmp_path / "out", sees="all", **SMALL)
    rows = made.over_best_arm
    assert rows.height == 2 * 4
    document = json.loads((made.out / "arena.json").read_text())
    assert document["full_information"] == rows.to_dicts()
    page = (made.out / "arena.html").read_text()
    assert "All in sight" in page
    assert "over the cost of the best fixed arm" in page
    lines = summary(made)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("lazy-hedge†") for line in lines)
    own = run_arena(tmp_path / "own", **(SMALL | {"policies": ["adaptive"], "environments": ["stochastic-easy"]}))
    assert own.over_best_arm is None
    assert "full_information" not in json.loads((own.out / "arena.json").read_text())
