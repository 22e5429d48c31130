"""``holdfast cache`` and ``holdfast warm``, with a folder of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import command_here
from numba import config

import holdfast
from holdfast.kernels import COMPILED
from holdfast.machine_code import compile_beforehand
from holdfast.policies.registry import POLICIES

SOURCE = str(Path(holdfast.__file__).parents[1])

ASK = """
import holdfast as hf
from numba.core import event

class Count(event.Listener):
    n = 0
    def on_start(self, event):
        Count.n += 1
    def on_end(self, event):
        pass

event.register("numba:compile", Count())
player = hf.Exp3(7).player(seed=3)
player.ask()
player.tell(0.25)
hf.simulate(hf.Exp3(5), hf.Bernoulli([0.1] * 5), horizon=50, switching_cost=0.5, replications=65, workers=1)
print(Count.n)
"""


def run(folder: Path, *arguments: str) -> str:
    """Return the output of a process with its cache in `folder`."""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=500).stdout


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="there is no machine code")
def test_after_warming_nothing_is_left_to_compile(tmp_path, monkeypatch):
    said = run(tmp_path, "-m", "holdfast", "warm", "--policies", "exp3", "--simulated", "exp3")
    assert said.startswith("exp3: ask and tell\nexp3: simulation\n")
    assert int(run(tmp_path, "-c", ASK)) == 0
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    shown = command_here("cache").stdout
    assert shown in said
    files = list((tmp_path / "holdfast").iterdir())
    size = sum(file.stat().st_size for file in files) / 1e6
    assert re.search(
        rf"folder +{re.escape(str(tmp_path / 'holdfast'))}\nfiles +{len(files)}\nsize +{size:.1f} MB", shown
    )
    assert command_here("cache", "clear").stdout.startswith(f"removed {len(files)} files, {size:.1f} MB")
    assert list((tmp_path / "holdfast").iterdir()) == []


@pytest.mark.plain
@pytest.mark.skipif(COMPILED, reason="compiling every policy takes a minute")
def test_every_policy_can_be_warmed():
    said = []
    compile_beforehand(simulated=["adaptive"], echo=said.append)
    assert said == [*(f"{name}: ask and tell" for name in POLICIES), "adaptive: simulation"]


def test_an_unknown_name_is_refused():
    with pytest.raises(holdfast.InvalidParameter, match=r"policies must be one of .*did you mean 'exp3'"):
        compile_beforehand(["exp"])
