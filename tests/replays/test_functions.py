"""Rules that are Python functions, replayed under their guard, against a game counted by hand."""

import importlib
import sys

import numpy as np
import polars as pl
import pytest

import holdfast as hf

LOSSES = np.random.default_rng(7).integers(0, 65, size=(160, 3)) / 64
NAMES = ["a", "b", "c"]


def stay_while_cheap(rounds):
    if not rounds:
        return "b"
    arm, loss = rounds[-1]
    return arm if loss < 0.7 else NAMES[(NAMES.index(arm) + 1) % 3]


def by_hand(losses, lam, seed, replication, units=(0.0, 1.0), pairs=None):
    """Losses, switches and cost of one game in which the rule's choice is announced."""
    player = hf.Player(hf.Guarded(arms=NAMES, units=units, switching_cost=lam), seed, replication)
    told, lost, moved, paid, last = [], 0.0, 0, 0.0, None
    for row in losses:
        arm = player.ask() if player.hold else player.ask(rule=stay_while_cheap(told))
        i = NAMES.index(arm)
        player.tell(min(max(row[i], units[0]), units[1]))
        told.append((arm, min(max(row[i], units[0]), units[1])))
        lost += row[i]
        if i != last:
            moved += 1
            paid += lam if pairs is None else 0.0 if last is None else pairs[last][i]
        last = i
    return lost, moved, lost + paid


def numbers(found, lam, stretch, replication):
    one = found.result.frame.filter(
        (pl.col("switching_cost") == lam) & (pl.col("stretch") == stretch) & (pl.col("replication") == replication)
    )
    return one.sort("round").row(-1, named=True)


@pytest.mark.parametrize("given", [stay_while_cheap, {"mine": stay_while_cheap}, "policy"])
def test_every_number_is_that_of_the_game_by_hand(given):
    costs = [0.25, 2.0]
    if given == "policy":
        given, costs = hf.Guarded(stay_while_cheap, arms=NAMES, switching_cost=0.25), [0.25]
    frame = pl.DataFrame(LOSSES, schema=NAMES)
    found = hf.replay(frame, given, switching_cost=costs, replications=3, seed=5)
    looks = 0
    for lam in costs:
        for stretch, (first, stop) in {"whole": (0, 160), "half 2": (80, 160), "quarter 3": (80, 120)}.items():
            for replication in range(3):
                lost, moved, cost = by_hand(LOSSES[first:stop], lam, 5, replication)
                row = numbers(found, lam, stretch, replication)
                assert (row["total_loss"], row["switches"]) == (pytest.approx(lost), moved)
                assert row["total_cost"] == pytest.approx(cost)
                best = LOSSES[first:stop].sum(axis=0).min()
                assert row["pseudo_regret"] == pytest.approx(lost - best)
                looks += moved
    assert looks > 30
    name = next(iter(found.policies))
    assert found.policies[name]["rule"] == "stay_while_cheap"
    assert found.standings[costs[0], "whole"].played[name].bounded
    assert "late" not in str(found.recommendation)
    held = found.held[costs[0], name]
    arms = [NAMES[arm] for arm in held.each_round()]
    lost, moved, _ = by_hand(LOSSES, costs[0], 5, held.replication)
    assert sum(LOSSES[t, NAMES.index(arm)] for t, arm in enumerate(arms)) == pytest.approx(lost)


def test_units_are_the_record_s_and_a_table_of_costs_is_paid():
    losses, pairs = 10.0 * LOSSES - 3.0, [[0.0, 1.0, 2.0], [1.5, 0.0, 2.0], [1.0, 1.5, 0.0]]
    frame = pl.DataFrame(losses, schema=NAMES)
    found = hf.replay(frame, stay_while_cheap, switching_cost=pairs, replications=2, units=(-3.0, 7.0), seed=1)
    for replication in range(2):
        lost, moved, cost = by_hand(losses, 2.0, 1, replication, (-3.0, 7.0), pairs)
        row = numbers(found, 2.0, "whole", replication)
        assert (row["switches"], row["total_loss"], row["total_cost"]) == (
            moved,
            pytest.approx(lost),
            pytest.approx(cost),
        )
    clipped = hf.replay(frame, stay_while_cheap, switching_cost=4.0, replications=2, clip=(0.0, 5.0), seed=1)
    lost, moved, cost = by_hand(losses, 4.0, 1, 0, (0.0, 5.0))
    row = numbers(clipped, 4.0, "whole", 0)
    assert (row["switches"], row["total_loss"], row["total_cost"]) == (moved, pytest.approx(lost), pytest.approx(cost))


def test_the_history_cannot_be_changed_and_is_what_was_told():
    seen = []

    def rule(rounds):
        assert len(rounds) == len(list(rounds)) == len(seen)
        assert rounds[:] == list(rounds) == seen[: len(rounds)]
        with pytest.raises(TypeError):
            rounds[0] = (0, 0.0)
        assert not hasattr(rounds, "append")
        return 2

    player = hf.Guarded(rule, n_arms=3, switching_cost=0.1).player(seed=1)
    for t in range(50):
        arm = player.ask()
        player.tell(t / 64)
        seen.append((arm, t / 64))


def test_what_a_function_does_wrong_is_said():
    with pytest.raises(hf.InvalidParameter, match="rule must be a whole number from 0 to 2"):
        hf.replay(LOSSES, lambda rounds: "d", switching_cost=1.0, replications=2)
    with pytest.raises(ZeroDivisionError):
        hf.replay(LOSSES, lambda rounds: 1 // len(rounds), switching_cost=1.0, replications=2)
    with pytest.raises(hf.InvalidParameter, match="policies must be ids such as"):
        hf.replay(LOSSES, hf.Exp3, switching_cost=1.0, replications=2)
    told = hf.Guarded(n_arms=3, switching_cost=1.0)
    with pytest.raises(hf.InvalidParameter, match="a function is followed in Python only"):
        hf.replay(LOSSES, told, switching_cost=1.0, replications=2)
    with pytest.raises(hf.InvalidParameter, match=r"by a player and by holdfast\.replay"):
        hf.simulate(
            [hf.Guarded(lambda rounds: 0, n_arms=2, switching_cost=1.0)],
            hf.Bernoulli([0.3, 0.5]),
            horizon=10,
            switching_cost=1.0,
        )


@pytest.mark.slow
def test_an_edited_function_is_not_continued(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "rule_of_a_user.py"
    source.write_text("def mine(rounds):\n    return 0\n")
    module = importlib.import_module("rule_of_a_user")
    settings = {"switching_cost": 0.5, "replications": 2, "out": tmp_path / "out"}
    first = hf.replay(LOSSES, module.mine, **settings)
    lines: list[str] = []
    again = hf.replay(LOSSES, module.mine, **settings, resume=True, echo=lines.append)
    assert (again.json(), lines) == (first.json(), [])
    source.write_text("def mine(rounds):\n    return 1 if rounds else 0\n")
    monkeypatch.delitem(sys.modules, "rule_of_a_user")
    edited = importlib.import_module("rule_of_a_user")
    with pytest.raises(hf.HoldfastError, match=r"code\.rule_of_a_user"):
        hf.replay(LOSSES, edited.mine, **settings, resume=True)
