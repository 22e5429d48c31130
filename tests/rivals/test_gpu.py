"""Rivals and hard cases on the CUDA simulator: the same games as on a CPU."""

import os
import subprocess
import sys

SCRIPT = """
import numpy as np
import holdfast as hf
from holdfast.simulation.costs import Costs
from holdfast.simulation.backends.cuda import run_on_gpu
from holdfast.simulation.tasks import Task, run_task

K, T = 4, 120
policies = [
    hf.Ucb1(K, cooldown=3, threshold=0.05), hf.FollowTheLeader(K), hf.HoldForever(K), hf.ThompsonSampling(K),
    hf.Ucb2(K), hf.BatchedThompson(K), hf.BatchedElimination(K, horizon=T), hf.LazyExp3(K, switching_cost=3.0),
    hf.AmirTsallis(K, switching_cost=9.0, horizon=T), hf.AnytimeAmirTsallis(K, switching_cost=9.0),
    hf.StabilityPenaltyMatching(K, switching_cost=0.7),
]
environments = [
    hf.PiecewiseConstant([0, 50], [[0.1, 0.2, 0.3, 0.4], [1.0, 0.5, 0.0, 0.5]]), hf.UnseenTurn(K, T, noise=False),
    hf.Seasonal(K, T, period=48, shuffled=True), hf.MultiScaleWalk(K, T, 3),
]
games = [(policy, environments[0]) for policy in policies] + [(policies[0], world) for world in environments[1:]]
for policy, environment in games:
    task = Task(policy.label, policy, environment, T, Costs.of(1.0), (20, 75, T), 3, 7, 2)
    cpu, gpu = run_task(task), run_on_gpu(task)
    for measure in ("excess", "switches", "paid"):
        np.testing.assert_array_equal(getattr(gpu, measure), getattr(cpu, measure), err_msg=policy.label)
    assert gpu.blocks == cpu.blocks
print(len(games), "games alike")
"""


def test_simulated_gpu_plays_the_same_games():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=400)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "14 games alike\n"
