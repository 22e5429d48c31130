"""The benchmark's processes run: nothing else would see that what they call has changed."""

import re

import pytest
from simulations import starting

pytestmark = pytest.mark.slow


def test_a_first_result_from_an_empty_cache_and_from_a_full_one(capsys, monkeypatch):
    """Without compiling: what that costs is the benchmark's to say."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    starting(horizon=100)
    seconds = [float(number) for number in re.findall(r"(\d+\.\d+) s ", capsys.readouterr().out)]
    assert len(seconds) == 2
    assert min(seconds) > 0
