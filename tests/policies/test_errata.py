"""Errata that no other file pins, and that the list of them is whole."""

import re
from pathlib import Path

import pytest

from holdfast import TsallisInf


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
