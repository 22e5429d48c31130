"""The GPU's kernel on the CUDA simulator: the same games as the CPU's, step by step, without a GPU."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

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
PAPERS = """
K, T = 5, 150
table = hf.LossTable(np.random.default_rng(0).random((T, K)))
environments = [hf.Bernoulli.with_gap(K, 0.2), hf.ConstrainedBernoulli(K, 0.3, shuffled=True), hf.Reversal(K, T), table]
policies = [
    hf.AdaptiveTsallisSwitch(K, switching_cost=0.7),
    hf.AdaptiveTsallisSwitch(K, switching_cost=0.0),
    hf.TsallisSwitch(K, switching_cost=0.7),
    hf.TsallisInf(K),
    hf.TsallisInf(K, estimator="reduced-variance"),
    hf.Exp3(K),
    hf.BlockExp3(K, switching_cost=1.0, horizon=T),
    hf.BaSE(K, horizon=T, grid="arithmetic", batches=6, order="random"),
    hf.BaSE(K, horizon=T),
]
games = [(policy, environment, Costs.of(1.0)) for policy in policies for environment in environments]
for policy in (hf.VaryingTsallisSwitch(K), hf.AdaptiveTsallisSwitch(K, switching_cost="announced")):
    games.append((policy, environments[0], Costs.of(Power(0.5))))
"""
RIVALS = """
K, T = 4, 120
policies = [
    hf.Ucb1(K, cooldown=3, threshold=0.05), hf.FollowTheLeader(K), hf.HoldForever(K), hf.ThompsonSampling(K),
    hf.Ucb2(K), hf.BatchedThompson(K), hf.BatchedElimination(K, horizon=T), hf.LazyExp3(K, switching_cost=3.0),
    hf.AmirTsallis(K, switching_cost=9.0, horizon=T), hf.AnytimeAmirTsallis(K, switching_cost=9.0),
    hf.StabilityPenaltyMatching(K, switching_cost=0.7),
    hf.StabilityPenaltyBiasMatching(K, switching_cost=0.7, horizon=T),
    hf.TrackingSwitch(K, switching_cost=0.3), hf.Guarded(hf.Ucb2(K), switching_cost=0.0),
]
environments = [
    hf.PiecewiseConstant([0, 50], [[0.1, 0.2, 0.3, 0.4], [1.0, 0.5, 0.0, 0.5]]), hf.UnseenTurn(K, T, noise=False),
    hf.Seasonal(K, T, period=48, shuffled=True), hf.MultiScaleWalk(K, T, 3),
]
games = [(policy, environments[0], Costs.of(1.0)) for policy in policies]
games += [(policies[0], world, Costs.of(1.0)) for world in environments[1:]]
"""
FULL_INFORMATION = """
K, T = 3, 90
pairs = [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]
policies = [
    hf.AdaptiveHedgeSwitch(K, switching_cost=0.5), hf.AdaptiveHedgeSwitch(K, switching_cost=0.5, period=(5, 7)),
    hf.LazyHedge(K, switching_cost=0.5, horizon=T), hf.FixedShare(K, switching_cost=0.5, horizon=T),
    hf.ShrinkingDartboard(K, switching_cost=0.5, horizon=T), hf.FollowLazyLeader(K, switching_cost=0.5, horizon=T),
    hf.RandomWalkPerturbation(K), hf.WorkFunctionAlone(K, switching_cost=0.5), hf.Threshold(K, switching_cost=0.5),
    hf.ForecastPlan(K, switching_cost=0.5, period=6),
]
world = hf.PiecewiseConstant([0, 30, 60], [[0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.9, 0.1]], shuffled=True)
games = [(policy, world, Costs.of(0.5)) for policy in policies]
games += [(hf.AdaptiveHedgeSwitch(K, switching_cost=pairs, period=(), forecast_rounds=0), world, Costs.of(pairs))]
games += [(hf.AdaptiveHedgeSwitch(K, switching_cost="announced", period=()), world, Costs.of(Power(0.3)))]
"""
CHANGING = """
K, T = 3, 90
environments = [
    hf.RandomChanges(K, every=20), hf.OrnsteinUhlenbeck(K, time=9), hf.Outages(K, every=20, length=5),
    hf.Seasons(K, period=20, shuffled=True), hf.CommonJumps(K, every=9), hf.TiringArms(K, time=9),
    hf.MarkovChain([0.1, 0.5], [[0.9, 0.1], [0.2, 0.8]], n_arms=K),
]
policies = [hf.AdaptiveTsallisSwitch(K, switching_cost=1.0), hf.LazyHedge(K, switching_cost=1.0, horizon=T)]
games = [(policy, environment, Costs.of(1.0)) for policy in policies for environment in environments]
"""
DELAYED = """
K, T = 3, 120
policies = [hf.AdaptiveTsallisSwitch(K, switching_cost=1.0), hf.Exp3(K)]
environments = [hf.Bernoulli([0.2, 0.5, 0.5]), hf.RandomChanges(K, every=20)]
games = [(policy, environment, Costs.of(1.0)) for policy in policies for environment in environments]
"""
PAIRED = """
T = 120

class ByRound(hf.Bernoulli):
    paired_kernel = None

games = [(hf.TsallisSwitch(3, switching_cost=0.5), world, Costs.of(0.5))
         for world in (hf.Bernoulli([0.2, 0.5, 0.5], shuffled=True), ByRound([0.2, 0.5, 0.7]))]
"""
SETTINGS: dict[str, tuple[str, int, dict[str, object]]] = {
    "the paper's": (PAPERS, 38, {}),
    "rivals": (RIVALS, 17, {}),
    "full information": (FULL_INFORMATION, 12, {}),
    "changing worlds": (CHANGING, 14, {}),
    "delayed": (DELAYED, 4, {"delay": "hf.Delay([0, 4, 9], [3, 9, 12], lost=0.2)"}),
    "paired": (PAIRED, 2, {"paired": True}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_simulated_gpu_plays_the_same_games(name):
    """Step by step, in a process of its own: the simulator is chosen as Numba loads."""
    setting, games, options = SETTINGS[name]
    given = f"3, 7, 2, paired={options.get('paired', False)}, delay={options.get('delay')})"
    code = BEFORE + setting + AFTER.replace("3, 7, 2)", given)
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=400)
    assert (run.returncode, run.stdout) == (0, f"{games}\n"), run.stderr


def refusal(prelude: str = "") -> str:
    """Return the error of `simulate` for the backend 'cuda', in a process of its own."""
    script = (
        f"{prelude}\nimport holdfast as hf\n"
        "try:\n"
        "    hf.simulate(hf.Exp3(2), hf.Bernoulli([0.1, 0.2]), horizon=10, switching_cost=0, backend='cuda')\n"
        "except hf.MissingExtra as error:\n"
        "    print(error)\n"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120).stdout


def test_without_a_gpu_the_error_says_what_to_do():
    said = refusal()
    if not said:
        pytest.skip("this machine has a GPU")
    assert "finds no NVIDIA GPU" in said
    assert "use the backend 'threads'" in said


def test_missing_extra_names_what_to_install():
    assert "pip install 'holdfast[cuda]'" in refusal("import sys; sys.modules['numba_cuda'] = None")
