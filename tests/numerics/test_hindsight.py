"""Best plans of tables that are read in pieces: those of the whole. Against every plan: tests/replays/test_plans.py."""

import re

import numpy as np
import pytest

import holdfast as hf
from holdfast.numerics import hindsight
from holdfast.numerics.hindsight import plan_costs
from holdfast.numerics.sums import compensated, plus

LOSSES = np.random.default_rng(1).integers(0, 9, (50, 3)) / 8


@pytest.mark.plain
def test_a_table_in_pieces_is_the_table(monkeypatch):
    whole = hf.best_plan(LOSSES, 0.5), hf.best_plan(LOSSES, 0.5, 3), hindsight.hindsight(LOSSES, [0.5], most=6)
    monkeypatch.setattr(hindsight, "ROWS_AT_ONCE", 8)
    monkeypatch.setattr(hindsight, "_rows_of_a_piece", lambda rounds: 7)
    pieces = hf.best_plan(LOSSES, 0.5), hf.best_plan(LOSSES, 0.5, 3), hindsight.hindsight(LOSSES, [0.5], most=6)
    for one, other in zip(whole[:2], pieces[:2], strict=True):
        assert (one.arms.tolist(), one.losses, one.switches) == (other.arms.tolist(), other.losses, other.switches)
        assert one.losses == LOSSES[range(50), one.arms].sum()
    assert pieces[2].least_losses.tolist() == whole[2].least_losses.tolist()
    damaged = LOSSES.copy()
    damaged[13, 2] = np.nan
    with pytest.raises(hf.InvalidParameter, match="losses at row 13, column 2 must be a finite number"):
        hf.best_plan(damaged, 0.5)


@pytest.mark.plain
def test_least_costs_within_a_limit_and_after_each_piece():
    """The frontier is the least over plans of at most so many switches; the pieces end where they are cut."""
    found = hindsight.hindsight(LOSSES, [0.5], most=9)
    for limit in (1, 2, 5, 9):
        assert found.cost_within(limit, 0.5) == hf.best_plan(LOSSES, 0.5, limit).cost
    costs = plan_costs([LOSSES[:20], LOSSES[20:21], LOSSES[21:]], 0.5)
    assert costs.tolist() == [hf.best_plan(LOSSES[:stop], 0.5).cost for stop in (20, 21, 50)]


def test_a_plan_is_shown_by_its_runs():
    """Arm, first round from 1, and rounds."""
    plan = hf.best_plan([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], 0.5)
    assert re.findall(r"<t[dh][^>]*>(\d+)</t[dh]>", plan._repr_html_()) == ["0", "1", "2", "1", "3", "1"]
    assert repr(plan) == "<Plan of 3 rounds: cost 1 = losses 0 + 0.5 × 2 switches>"


@pytest.mark.plain
def test_small_numbers_are_not_lost_in_a_large_sum():
    kahan, knuth = (1.0, 0.0), (1.0, 0.0)
    for _ in range(10_000):
        kahan, knuth = compensated(*kahan, 1e-16), plus(*knuth, 1e-16)
    assert kahan[0] == knuth[0] == 1.0 + 1e-12
