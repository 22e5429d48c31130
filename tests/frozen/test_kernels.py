"""A few games of every policy, with the compiler off: seconds in the fast lane, where compiling takes minutes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs what others leave to the plain lane")
def test_every_kernel() -> None:
    chosen = "test_players or losses or full_information or rarer or other_options or draws or worlds"
    words = ["-m", "plain and not slow", "-k", chosen, "-p", "no:cacheprovider", "-x"]
    words += [f"tests/frozen/test_{name}.py" for name in ("arguments", "games", "simulations")]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
