"""Games on the CUDA simulator next to the same on a CPU, in a process of their own: it is chosen as Numba loads."""

import os
import subprocess
import sys

BEFORE = """
import numpy as np
import holdfast as hf
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.cuda import run_on_gpu
from holdfast.simulation.tasks import Task, run_task
"""
AFTER = """
for policy, environment, costs in games:
    task = Task(policy.label, policy, environment, T, costs, (20, 75, T), 3, 7, 2)
    cpu, gpu = run_task(task), run_on_gpu(task)
    for measure in ("excess", "switches", "paid"):
        np.testing.assert_array_equal(getattr(gpu, measure), getattr(cpu, measure), err_msg=policy.label)
    assert gpu.blocks == cpu.blocks
print(len(games))
"""


def games_alike(setting: str, paired: bool = False, delay: str = "None") -> int:
    """Play `games` of T rounds that `setting` makes, and return how many came out alike, step by step."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [
        sys.executable,
        "-c",
        BEFORE + setting + AFTER.replace("3, 7, 2)", f"3, 7, 2, paired={paired}, delay={delay})"),
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)
