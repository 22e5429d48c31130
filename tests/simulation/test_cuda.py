"""The GPU's kernel on the CUDA simulator: the same games as the CPU's, step by step, without a GPU."""

import subprocess
import sys

import pytest
from simulated_gpu import games_alike

pytestmark = pytest.mark.slow

SETTING = """
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


def test_simulated_gpu_plays_the_same_games():
    assert games_alike(SETTING) == 38


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
