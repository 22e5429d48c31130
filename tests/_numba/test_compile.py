"""Kernels compile with any Numba, and draw random numbers from their stream alone."""

import io
import os
import random
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast._numba.compile import frozen
from holdfast.errors import HoldfastError
from holdfast.kernels import COMPILED, kernel

SOURCE = str(Path(holdfast.__file__).parents[1])

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no machine code")

PLAY = """
import holdfast as hf
player = hf.Exp3(3).player(seed=1)
for t in range(50):
    print(player.ask(), player.probabilities.tolist())
    player.tell(t % 5 / 4)
"""
OTHER_NUMBAS = {
    "without a class": "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary",
    "with another meaning": """
from holdfast._numba import internals
internals.LinkedLibrary._finalize_final_module = None
""",
    "with results that cannot be kept": "import numba.core.compiler; del numba.core.compiler.CompileResult._reduce",
}


@pytest.mark.slow
def test_another_numba_plays_the_same(tmp_path):
    """Kernels still compile where the parts of Numba that we use are gone or changed."""
    with redirect_stdout(io.StringIO()) as here:
        exec(PLAY, {})
    assert here.getvalue().count("\n") == 50
    for change, code in OTHER_NUMBAS.items():
        environment = {**os.environ, "PYTHONPATH": SOURCE, "NUMBA_CACHE_DIR": str(tmp_path / change.replace(" ", "-"))}
        command = [sys.executable, "-c", code + PLAY]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, (change, done.stderr)
        assert done.stdout == here.getvalue(), change
    kept = {folder.name for folder in tmp_path.iterdir() if list(folder.rglob("*.kernel"))}
    assert kept == {"with-another-meaning"}


drawn = np.random.random
generator = np.random.default_rng(0)
module = np.random


@kernel
def from_numpy(x):
    return x + np.random.random()  # noqa: NPY002


@kernel
def from_python(x):
    return x + random.random()


@kernel
def from_a_function(x):
    return x + drawn()


@kernel
def from_a_module(x):
    return x + module.random()


@kernel
def from_a_generator(x):
    return x + generator.random()


@kernel
def by_another(x):
    return from_numpy(x)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (from_numpy, "np.random"),
        (from_python, "random"),
        (from_a_function, "drawn"),
        (from_a_module, "module"),
        (from_a_generator, "generator"),
        (by_another, "np.random"),
    ],
)
def test_a_kernel_that_draws_elsewhere_is_refused(wrong, name):
    with pytest.raises(HoldfastError, match=rf"must draw from the stream it is handed, .*; it reads {name}$"):
        frozen(wrong)


def test_a_field_called_random_is_nobody_elses():
    @kernel
    def reads(state):
        return np.exp(state.random)

    assert frozen(reads)
