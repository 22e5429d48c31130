"""Values frozen into a kernel besides its own text: another process, or the next call, must not find the old code."""

import os
import subprocess
import sys
import types

import numba
import numpy as np
import pytest

from holdfast._numba.compile import frozen
from holdfast.kernels import COMPILED, kernel

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
HELPERS = {
    "an option of its compiler": (
        """
helper = numba.njit(error_model='python' if value == '1' else 'numpy')(lambda x: 1.0 / (x - x))
""",
        ("ZeroDivisionError: division by zero", "inf"),
    ),
    "a type given to a variable": (
        """
def third(x):
    y = x / 3.0
    return y
helper = numba.njit(locals={'y': numba.float32 if value == '1' else numba.float64})(third)
""",
        (str(float(np.float32(1 / 3))), str(1 / 3)),
    ),
    "what an overload stands for": (
        """
def helper(x):
    raise NotImplementedError
@overload(helper)
def implementation(x):
    if value == '1':
        return lambda x: x + 1.0
    return lambda x: x + 2.0
""",
        ("2.0", "3.0"),
    ),
    "a function without a module": (
        """
names = {}
exec(f"def helper(x): return x + {value}", names)
helper = register_jitable(names["helper"])
""",
        ("2.0", "3.0"),
    ),
}
"""The source that a kernel calls, and the kernel's answers for the values 1 and 2."""

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no machine code")


def said(program: str, value: str, cache: object) -> str:
    """Return the output of the program, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-c", program, value],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return (done.stdout or done.stderr).splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("changed", HELPERS)
def test_another_process_notices(changed, tmp_path):
    helper, expected = HELPERS[changed]
    program = CALLED.format(helper=helper)
    assert tuple(said(program, value, tmp_path) for value in "12") == expected


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
