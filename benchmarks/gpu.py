"""The GPU against the CPU: equal in distribution, and how fast.

    python benchmarks/gpu.py [--replications 1048576] [--quick] [--match TEXT]

Part one plays every policy on both and compares the means of regret and switches at several rounds; it fails when a
difference exceeds what chance allows once in a million runs of this whole script. Part two times one launch after
compilation. Without a GPU it says so and ends with exit code 3.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from dataclasses import replace
from statistics import NormalDist, median

import numpy as np

import holdfast as hf
from holdfast.checks import cores
from holdfast.errors import MissingExtra
from holdfast.simulation.backends import Threads
from holdfast.simulation.costs import Costs, Power
from holdfast.simulation.game import Record
from holdfast.simulation.tasks import Played, Task

FALSE_FAILURES = 1e-6
CPU_GAMES = 8192
HORIZON = 3_000
CHECKPOINTS = (30, 300, HORIZON)


Row = tuple[str, hf.Policy, hf.Environment, Costs, hf.Delay | None]


def games() -> list[Row]:
    K, one = 8, Costs.of(1.0)
    environments = {
        "bernoulli": hf.Bernoulli.with_gap(K, 0.1),
        "constrained": hf.ConstrainedBernoulli(K, 0.2, shuffled=True),
        "reversal": hf.Reversal(K, HORIZON),
        "table": hf.LossTable(np.random.default_rng(1).random((HORIZON, K)) * np.linspace(0.6, 1.0, K)),
    }
    policies = [
        hf.AdaptiveTsallisSwitch(K, switching_cost=1.0),
        hf.TsallisSwitch(K, switching_cost=1.0),
        hf.TsallisSwitch(K, switching_cost=1.0, estimator="reduced-variance"),
        hf.TsallisInf(K),
        hf.TsallisInf(K, estimator="reduced-variance"),
        hf.Exp3(K),
        hf.BlockExp3(K, switching_cost=1.0, horizon=HORIZON),
        hf.BaSE(K, horizon=HORIZON, grid="geometric"),
        hf.BaSE(K, horizon=HORIZON, grid="arithmetic", order="random"),
    ]
    rows: list[Row] = [(f"{p.label} on {name}", p, e, one, None) for name, e in environments.items() for p in policies]
    mixtures = [hf.AdaptiveHedgeSwitch(K, switching_cost=1.0), hf.AdaptiveHedgeSwitch(K, switching_cost=1.0, period=24)]
    rows += [(f"{p.label}, period {p.period}, on table", p, environments["table"], one, None) for p in mixtures]
    announced = [hf.VaryingTsallisSwitch(K), hf.AdaptiveTsallisSwitch(K, switching_cost="announced")]
    growing, world = Costs.of(Power(0.5)), environments["bernoulli"]
    rows += [(f"{p.label} on bernoulli, announced", p, world, growing, None) for p in announced]
    following = [
        hf.TrackingSwitch(K, switching_cost=1.0),
        hf.TrackingSwitch(K, switching_cost=1.0, guarded=False),  # the rule alone
        hf.Ewma(K, switching_cost=1.0),
        hf.FailOver(K),
        hf.ThresholdCooldown(K),
        hf.PausedTsallis(K, switching_cost=1.0),
    ]
    rows += [(f"{p.label} on bernoulli", p, world, one, None) for p in following]
    changing = [
        hf.RandomChanges(K, every=500),
        hf.OrnsteinUhlenbeck(K, time=300),
        hf.Outages(K, every=500, length=100),
        hf.Seasons(K, period=200),
        hf.CommonJumps(K, every=500),
        hf.MarkovChain([0.2, 0.8], [[0.99, 0.01], [0.05, 0.95]], n_arms=K),
        hf.TiringArms(K),
    ]
    for place in changing:
        name = type(place).__name__
        rows += [(f"{p.label} on {name}", p, place, one, None) for p in (policies[0], following[0])]
    late = [hf.Delay(3), hf.Delay(0, 20, lost=0.1)]
    rows += [
        (f"{p.label} on bernoulli, late", p, world, one, delay) for p in (policies[1], following[0]) for delay in late
    ]
    return rows


def on_cpu(task: Task) -> Played:
    pieces: list[Played] = []
    Threads().run([task], pieces.append)
    pieces.sort(key=lambda piece: piece.task.first)
    arrays = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in Record._fields}
    return Played(task, **arrays, blocks=sum(piece.blocks for piece in pieces))


def deviations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """z-scores of the differences of column means."""
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    difference = a.mean(axis=0) - b.mean(axis=0)
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), np.where(difference == 0, 0.0, math.inf))


def compare(run_on_gpu, replications: int, match: str) -> bool:
    rows = [row for row in games() if match in row[0]]
    tests = len(rows) * len(CHECKPOINTS) * 3
    limit = NormalDist().inv_cdf(1 - FALSE_FAILURES / tests / 2)
    print(f"{tests} means of {replications} replications on each side; |z| must stay below {limit:.2f}")
    fine = True
    for name, policy, environment, costs, delay in rows:
        task = Task(policy.label, policy, environment, HORIZON, costs, CHECKPOINTS, 0, 0, replications, delay=delay)
        begun = time.perf_counter()
        gpu = run_on_gpu(task)
        compiled = time.perf_counter() - begun
        cpu = on_cpu(replace(task, seed=1))
        twin = on_cpu(task)
        same = float(
            np.mean((gpu.switches == twin.switches).all(axis=1) & np.isclose(gpu.excess, twin.excess).all(axis=1))
        )
        z = np.concatenate([deviations(getattr(gpu, m), getattr(cpu, m)) for m in ("excess", "switches", "paid")])
        worst = float(np.abs(z).max())
        fine &= worst < limit
        verdict = "ok" if worst < limit else "DIFFERENT"
        print(f"{name:60s} worst |z| {worst:5.2f}  {verdict:9s} same as CPU: {same:6.1%}  first call {compiled:5.1f} s")
    return fine


def speed(run_on_gpu, replications: int) -> None:
    horizon = 100_000
    policy, environment = hf.TsallisSwitch(8, switching_cost=1.0), hf.Bernoulli.with_gap(8, 0.05)
    task = Task(policy.label, policy, environment, horizon, Costs.of(1.0), (horizon,), 0, 0, replications)
    run_on_gpu(task)
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        played = run_on_gpu(task)
        seconds.append(time.perf_counter() - begun)
    best = median(seconds)
    small = Task(policy.label, policy, environment, horizon, Costs.of(1.0), (horizon,), 0, 0, CPU_GAMES)
    on_cpu(small)
    begun = time.perf_counter()
    some = on_cpu(small)
    cpu_rate = some.blocks / (time.perf_counter() - begun)
    print(f"{replications} replications of T={horizon}, K=8, λ=1, Δ=0.05: median {best:.3f} s of {sorted(seconds)}")
    print(f"{played.blocks / best:.3g} blocks a second, {replications * horizon / best:.3g} rounds a second")
    ratio = played.blocks / best / cpu_rate
    print(f"{cores()} CPU cores of the same machine: {cpu_rate:.3g} blocks a second; ratio {ratio:.1f}")
    error = some.excess.std() / CPU_GAMES**0.5
    print(f"mean regret {played.excess.mean():.2f}, CPU {some.excess.mean():.2f} ± {error:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=2**20)
    parser.add_argument("--quick", action="store_true", help="speed only")
    parser.add_argument("--match", default="", metavar="TEXT", help="compare only games whose name has TEXT")
    options = parser.parse_args()
    try:
        from holdfast.simulation.cuda import cuda, require_device, run_on_gpu

        require_device()
    except MissingExtra as error:
        print(error, file=sys.stderr)
        return 3
    print(f"{cuda.get_current_device().name}, Python {platform.python_version()}, holdfast {hf.__version__}")
    speed(run_on_gpu, options.replications)
    return 0 if options.quick or compare(run_on_gpu, 4096, options.match) else 1


if __name__ == "__main__":
    sys.exit(main())
