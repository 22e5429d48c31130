"""Errata that no other file pins, and that the list of them is whole."""

import re
from pathlib import Path

import pytest

from holdfast import TsallisInf, bounds


def test_reduced_variance_threshold_includes_equality():
    """Errata 37: p = 1/4 = 16/t at t = 64 counts; with losses of 0 it is the first round that moves p."""
    player = TsallisInf(4, estimator="reduced-variance").player(seed=1)
    for _ in range(64):
        player.ask()
        assert player.probabilities == pytest.approx([0.25] * 4, abs=1e-12)
        player.tell(0.0)
    player.ask()
    assert max(player.probabilities) > 0.3


def test_errata_are_complete():
    """Points 1 to 41, each once."""
    text = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
    points = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert points == list(range(1, 42))


@pytest.mark.parametrize("gap", [0.05, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("n_arms", [2, 3, 8, 1000])
def test_one_gap_for_all_arms_is_the_list_of_them(gap, n_arms):
    given = {"n_arms": n_arms, "horizon": 10_000}
    for bound in (bounds.corollary_3_constrained, bounds.tsallis_inf_constrained):
        assert bound(**given, gaps=gap) == bound(**given, gaps=[gap] * (n_arms - 1))


def test_a_million_million_arms_take_no_memory():
    rows = bounds.applicable(n_arms=10**12, switching_cost=1.0, horizon=10**6, gaps=0.1)
    assert bounds.binding(rows).name == "theorem_1"
    assert bounds.theorem_1_constrained(n_arms=10**12, switching_cost=1.0, horizon=10**6, gaps=0.1) > 1e24
