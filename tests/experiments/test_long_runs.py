"""The script for long games on many cores: its costs are those of `simulate`, and it writes what it has played."""

import json

import numpy as np
from growth import GAMES
from long_runs import grow
from search_worlds import costs_of

import holdfast as hf


def test_costs_are_those_of_simulate():
    world = hf.PiecewiseConstant((0, 400), ((0.2, 0.8), (0.9, 0.1)), noise=True)
    policies = {
        "adaptive": hf.AdaptiveTsallisSwitch(2, switching_cost=0.3),
        "tsallis-switch": hf.TsallisSwitch(2, switching_cost=0.3),
    }
    found = costs_of(policies, world, 0.3, 5, 8, (100, 1000), first=3)
    table = hf.simulate(
        policies,
        world,
        horizon=1000,
        switching_cost=0.3,
        replications=5,
        first_replication=3,
        seed=8,
        checkpoints=(100, 1000),
        progress=False,
    ).frame
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
