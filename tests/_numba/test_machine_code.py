"""Machine code is never stale and never shared by mistake; a cache that fails costs time and nothing else.

What happens in one process is tested in this one, with a cache of its own. What the next one finds takes processes.
"""

import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import one_kernel_policy
import pytest
from numba import config
from one_kernel_policy import arms, policy_of
from processes import SOURCE

from holdfast.kernels import kernel

pytestmark = pytest.mark.slow

POLICY = Path(one_kernel_policy.__file__).read_text(encoding="utf-8")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(folder: Path, code: str, *, stdin: bool = False, **environment: str) -> str:
    """Return the output of a process that runs `code`, in `folder` and with a cache of its own there."""
    folder.mkdir(exist_ok=True)
    program = POLICY + textwrap.dedent(code)
    script = folder / "script.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, *([] if stdin else [str(script)])],
        input=program if stdin else None,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([SOURCE, str(folder)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def playing(table):
    @kernel
    def choose(params, state, announced, streams, block):
        block.arm[0], block.rounds[0], block.probability[0] = table[1000], 1.0, 1.0

    return policy_of(choose)


def table_of(arm):
    table = np.zeros(2000)
    table[1000] = arm  # in the middle, where NumPy prints an ellipsis
    return table


def test_tables_that_print_alike_do_not_share_code(cache):
    """Nor does one that is changed in place with what it was before."""
    table = table_of(2)
    policy = playing(table)
    assert [arms(playing(table_of(1))), arms(policy)] == [(1, 1), (2, 2)]
    table[1000] = 3.0
    assert arms(policy) == (3, 3)


HELPER = """
from holdfast.kernels import kernel

@kernel
def favourite():
    return {arm}.0
"""

USES_HELPER = """
    import helper

    @kernel
    def choose(params, state, announced, streams, block):
        block.arm[0], block.rounds[0], block.probability[0] = helper.favourite(), 1.0, 1.0

    print(arms(policy_of(choose)))
"""


def test_an_edited_kernel_in_another_file_is_noticed_by_the_next_process(tmp_path):
    for arm in (1, 2, 1):
        (tmp_path / "helper.py").write_text(HELPER.format(arm=arm))
        assert run(tmp_path, USES_HELPER) == f"({arm}, {arm})"


def test_a_reloaded_module_is_noticed(tmp_path, monkeypatch, cache):
    """The kernel that reads the module is the same object before and after."""
    file = tmp_path / "helper.py"
    file.write_text(HELPER.format(arm=1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within a second look alike to it
    helper = importlib.import_module("helper")

    @kernel
    def choose(params, state, announced, streams, block):
        block.arm[0], block.rounds[0], block.probability[0] = helper.favourite(), 1.0, 1.0

    before = arms(policy_of(choose))
    file.write_text(HELPER.format(arm=3))
    importlib.reload(helper)
    assert (before, arms(policy_of(choose))) == ((1, 1), (3, 3))


USES_CONSTANT = """
    import json, pathlib
    FAVOURITE = json.loads(pathlib.Path("config.json").read_text())

    @kernel
    def inner():
        return FAVOURITE

    @kernel
    def choose(params, state, announced, streams, block):
        block.arm[0], block.rounds[0], block.probability[0] = inner(), 1.0, 1.0

    print(arms(policy_of(choose)))
"""


def test_a_constant_read_from_a_file_is_noticed(tmp_path):
    """Two calls below the kernel that Python calls, by the next process."""
    for arm in (1, 2):
        (tmp_path / "config.json").write_text(f"{arm}.0")
        assert run(tmp_path, USES_CONSTANT) == f"({arm}, {arm})"


def test_functions_of_one_name_and_line_are_told_apart(cache):
    """Made through `exec`, they all stand in line 1 of a file that is not there."""

    def made(arm):
        scope = {}
        exec(
            f"def choose(params, state, announced, streams, block):\n    block.arm[0] = {arm}.0\n"
            "    block.rounds[0] = 1.0\n    block.probability[0] = 1.0",
            scope,
        )
        return policy_of(kernel(scope["choose"]))

    assert [arms(made(arm)) for arm in (3, 1)] == [(3, 3), (1, 1)]


TYPED = """
    @kernel
    def choose(params, state, announced, streams, block):
        block.arm[0], block.rounds[0], block.probability[0] = 2.0, 1.0, 1.0

    print(arms(policy_of(choose)))
"""
CELL = """
from typing import NamedTuple
from holdfast.kernels import PerArm, Scalar

class State(NamedTuple):
    pulls: PerArm

class Block(NamedTuple):
    arm: Scalar
    rounds: Scalar
    probability: Scalar

@kernel
def choose(params, state, announced, streams, block):
    for g in range(block.arm.shape[0]):
        block.arm[g], block.probability[g] = 1.0, 1.0
    block.rounds[0] = 1.0

@kernel
def observe(params, state, block, totals, rounds):
    for g in range(block.arm.shape[0]):
        state.pulls[int(block.arm[g]), g] += rounds

class Typed(hf.Exp3):
    kernels = Kernels(choose, observe, State, Block, side_by_side=True, params=EXP3.params)

    def probabilities(self, params, state, block):
        return np.eye(self.n_arms)[int(block.arm[0])]
"""

IN_A_NOTEBOOK = f"""
    import sys, types
    cells = types.ModuleType("__main__")  # as a notebook keeps what was typed: in a module without a file
    vars(cells).update({{name: value for name, value in globals().items() if not name.startswith("__")}})
    sys.modules["__main__"] = cells
    exec(compile({CELL!r}, "<cell 1>", "exec"), vars(cells))
    Typed = cells.Typed
"""


def test_a_policy_typed_into_a_notebook_plays(tmp_path):
    assert run(tmp_path, IN_A_NOTEBOOK + "\n    print(arms(Typed(4)))") == "(1, 1)"


def test_a_policy_typed_into_a_notebook_plays_on_dask(tmp_path):
    """Sent by value to workers that have never heard of it; side by side there too."""
    pytest.importorskip("distributed")
    code = """
    world = hf.LossTable(np.tile([0.0, 0.1, 0.2, 0.3], (10, 1)))
    result = hf.simulate(Typed(4), world, horizon=10, switching_cost=0.0, replications=40, backend="dask", workers=1)
    print(round(result.frame["pseudo_regret"].max()))
    """
    assert run(tmp_path, IN_A_NOTEBOOK + code, stdin=True).splitlines()[-1] == "1"


def always_two(params, state, announced, streams, block):
    block.arm[0], block.rounds[0], block.probability[0] = 2.0, 1.0, 1.0


def asked_anew():
    """The arm of a kernel made anew: it looks on disk as a new process does."""
    return policy_of(kernel(always_two)).player(seed=1).ask()


def test_a_damaged_cache_is_compiled_anew(cache):
    """Cut short, changed by a bit, empty, or something else."""
    assert asked_anew() == 2
    (file,) = cache.rglob("*.kernel")
    flipped = bytearray(file.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    for bad in (flipped[: len(flipped) // 3], flipped, b"", b"x" * 4096):
        file.write_bytes(bad)
        assert asked_anew() == 2
        assert file.read_bytes() != bad


@pytest.mark.parametrize("obstacle", ["a file", "a file below", "/dev/full"])
def test_a_cache_that_cannot_be_written_to_is_done_without(tmp_path, monkeypatch, obstacle):
    """Read-only folders do not stop the superuser, who runs many a container: paths that nobody can write to do."""
    folder = tmp_path / "obstacle"
    if obstacle == "a file":
        folder.write_text("in the way")
    elif obstacle == "a file below":
        folder.mkdir()
        (folder / "holdfast").write_text("in the way")
    else:
        folder = Path(obstacle)
    monkeypatch.setattr(config, "CACHE_DIR", str(folder))
    assert asked_anew() == 2


ASKED = TYPED.replace("arms(policy_of(choose))", "policy_of(choose).player(seed=1).ask()")


def test_a_full_disk_is_done_without(tmp_path):
    """A limit of 0 bytes on the size of files: writing fails as on a full disk, and nothing half written stays."""
    pytest.importorskip("resource")
    limit = """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    """
    assert run(tmp_path, limit + ASKED) == "2"  # standard output is a pipe
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


COUNT = """
    from numba.core import event

    class Count(event.Listener):
        n = 0
        def on_start(self, event):
            Count.n += 1
        def on_end(self, event):
            pass

    event.register("numba:compile", Count())
"""


def test_a_second_process_compiles_nothing(tmp_path):
    """And editing a line that no kernel reads compiles nothing anew either."""
    first = run(tmp_path, COUNT + TYPED + "\n    print(Count.n)").splitlines()
    second = run(tmp_path, COUNT + "\n    unused = 1\n" + TYPED + "\n    print(Count.n)").splitlines()
    assert first[0] == second[0] == "(2, 2)"
    assert int(first[1]) > 0
    assert int(second[1]) == 0


def test_code_that_checks_indices_is_kept_apart(monkeypatch, cache):
    """NUMBA_BOUNDSCHECK makes other machine code."""

    def halved():
        @kernel
        def half(x):
            return 0.5 * x[0]

        return half

    found = set()
    for checked in (None, 1):
        monkeypatch.setattr(config, "BOUNDSCHECK", checked)
        assert halved()(np.ones(1)) == 0.5
        found.add(len(list(Path(cache).rglob("*.kernel"))))
    assert found == {1, 2}
