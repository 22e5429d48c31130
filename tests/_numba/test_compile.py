"""Kernels compile with any Numba, draw from their stream alone, and call nothing that changed since they were made."""

import io
import random
import types
from contextlib import redirect_stdout

import numba
import numpy as np
import pytest
from processes import python

from holdfast._numba.compile import frozen
from holdfast.errors import HoldfastError
from holdfast.kernels import COMPILED, kernel

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
        done = python(code + PLAY, cache=tmp_path / change.replace(" ", "-"))
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


ELSEWHERE = {
    "np.random": [from_numpy, kernel(lambda x: from_numpy(x))],
    "random": [kernel(lambda x: x + random.random())],
    "drawn": [kernel(lambda x: x + drawn())],
    "module": [kernel(lambda x: x + module.random())],
    "generator": [kernel(lambda x: x + generator.random())],
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_kernel_that_draws_elsewhere_is_refused(name):
    for wrong in ELSEWHERE[name]:
        with pytest.raises(HoldfastError, match=rf"must draw from the stream it is handed, .*; it reads {name}$"):
            frozen(wrong)


def test_a_field_called_random_is_nobody_elses():
    @kernel
    def reads(state):
        return np.exp(state.random)

    assert frozen(reads)


# ---- values frozen into a kernel besides its own text: the next process or call must not find the old code

CALLED = """
import sys
import numba
from numba.extending import overload, register_jitable
from holdfast.kernels import kernel
value = sys.argv[1]
{helper}
@kernel
def caller(x):
    return helper(x)
print(caller(1.0))
"""
OVERLOADED = """
def helper(x):
    raise NotImplementedError
@overload(helper)
def implementation(x):
    if value == '1':
        return lambda x: x + 1.0
    return lambda x: x + 2.0
"""
THIRD = "def third(x):\n    y = x / 3.0\n    return y\n"
HELPERS = {
    "an option of its compiler": (
        "helper = numba.njit(error_model='python' if value == '1' else 'numpy')(lambda x: 1.0 / (x - x))",
        "ZeroDivisionError: division by zero",
        "inf",
    ),
    "a type given to a variable": (
        THIRD + "helper = numba.njit(locals={'y': numba.float32 if value == '1' else numba.float64})(third)",
        str(float(np.float32(1 / 3))),
        str(1 / 3),
    ),
    "what an overload stands for": (OVERLOADED, "2.0", "3.0"),
    "a function without a module": (
        "names = {}\nexec(f'def helper(x): return x + {value}', names)\nhelper = register_jitable(names['helper'])",
        "2.0",
        "3.0",
    ),
}
"""The source that a kernel calls, and the kernel's answers for the values 1 and 2."""


@pytest.mark.slow
@pytest.mark.parametrize("changed", HELPERS)
def test_another_process_notices(changed, tmp_path):
    helper, *expected = HELPERS[changed]
    done = [python(CALLED.format(helper=helper), value, cache=tmp_path) for value in "12"]
    assert [(one.stdout or one.stderr).splitlines()[-1] for one in done] == expected


def test_a_module_that_is_closed_over_is_looked_into():
    """Its attributes may change between two compositions."""
    module = types.ModuleType("settings")

    def helper_over(held):
        @kernel
        def helper(x):
            return x + held.constant

        return helper

    helper = helper_over(module)

    def called(x):
        @kernel
        def caller(x):
            return helper(x)

        frozen(caller)
        return caller(x)

    seen = []
    for constant in (1.0, 3.0):
        setattr(module, "constant", constant)  # noqa: B010
        seen.append(called(0.0))
    assert seen == [1.0, 3.0]


def test_plain_numba_functions_can_be_called():
    """Whether or not code that calls them is kept."""
    twice = numba.njit(lambda x: 2.0 * x)

    @kernel
    def caller(x):
        return twice(x) + np.exp(0.0)

    assert caller(3.0) == 7.0
