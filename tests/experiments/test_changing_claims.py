"""The ledger of what is claimed where options change: lags by hand, and verdicts that follow from what was played."""

import math

import changing_claims
import numpy as np
import pytest
from changing_claims import (
    CLAIMS,
    COSTS,
    FAMILIES,
    Case,
    Played,
    cell_table,
    cells,
    lag_of,
    lag_table,
    lags,
    log_ratios,
)

from holdfast.lab.judge import judge

IDS = ["leaves", "notices", "late", "changing-worlds"]


def test_an_arm_is_left_or_found_when_most_of_twenty_rounds_say_so() -> None:
    assert lag_of(np.array([0] * 7 + [1] * 100), "left") == 3  # 16 of the rounds 3 to 22 are elsewhere
    assert lag_of(np.array([1, 0, 0, 0, 0] * 20), "left") == math.inf
    assert lag_of(np.array([0] * 50 + [2] * 100), "found") == 46
    assert lag_of(np.array([2] * 15 + [0] * 100), "found") == math.inf


def test_what_does_not_hold_fails() -> None:
    def made(left: float, late: float, found: float, cost: float) -> Played:
        sample = np.ones(200)
        measured = {
            Case("tracking", "left", 10**5): left * sample,
            Case("tracking, notice 60", "found", 10**5): found * sample,
            Case("adaptive", "left", 10**5): late * sample,
        }
        costs = {"adaptive": sample + np.arange(200) / 200, "tracking": cost * (sample + np.arange(200) / 200)}
        return Played(measured, {("still", 1.0): costs})

    assert [verdict.verdict for verdict in judge(CLAIMS, made(9.0, 5000.0, 50.0, 0.5))] == ["holds"] * 4
    assert [verdict.verdict for verdict in judge(CLAIMS, made(900.0, 50.0, 500.0, 1.5))] == ["fails"] * 4
    assert [verdict.id for verdict in judge(CLAIMS, made(9.0, 5000.0, 50.0, 0.5))] == IDS
    assert judge(CLAIMS, Played()) == []


@pytest.mark.slow
def test_a_short_run_has_every_table(monkeypatch) -> None:
    few = {name: FAMILIES[name] for name in ("still, close means", "10 changes")}
    monkeypatch.setattr(changing_claims, "FAMILIES", few)
    monkeypatch.setattr(changing_claims, "LEAST_WAIT", 300)
    monkeypatch.setattr(changing_claims, "IN_CELLS", ("tracking",))
    monkeypatch.setattr(changing_claims, "POLICIES", {name: {"policy": name} for name in ("tracking", "ewma")})
    played = Played(lags(6, (200,), 0), cells(3, 500, 0))
    assert set(played.cells) == {(family, cost) for family in few for cost in COSTS}
    assert {case.change for case in played.lags} == {"left", "found"}
    assert np.exp(log_ratios(played.cells, "adaptive")) == pytest.approx(1.0)
    table = lag_table(played.lags, "left")
    assert table.count("\n") == 3
    assert "| `tracking` |" in table
    assert "geometric mean" in cell_table(played.cells)
