"""The speed of simulations and players, printed as ratios: python benchmarks/simulations.py [--quick]"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import online
from clock import seconds
from plain import minimal_loop, play_plain

import holdfast as hf
from holdfast.checks import cores
from holdfast.numerics.random import Stream
from holdfast.numerics.schedules import number_of_blocks

K, GAP, LAMBDA = 8, 0.05, 1.0
HERE = Path(__file__).parent


def simulated(
    policy: hf.Policy, horizon: int, replications: int = 1, *, workers: int | None = 1, **options: Any
) -> hf.Result:
    """One simulation as it is measured: stochastic losses, no checkpoint but the last, one thread."""
    return hf.simulate(
        policy,
        hf.Bernoulli.with_gap(policy.n_arms, GAP),
        horizon=horizon,
        switching_cost=LAMBDA,
        replications=replications,
        checkpoints=1,
        progress=False,
        workers=workers,
        **options,
    )


def paper(horizon: int, n_arms: int, replications: int) -> hf.Result:
    """The paper's policy, measured in a process of its own."""
    return simulated(hf.TsallisSwitch(n_arms, switching_cost=LAMBDA), horizon, replications)


def line(what: str, value: str, ratio: str = "", wanted: str = "") -> None:
    """Print a measurement."""
    print(f"  {what:62s} {value:>16s} {ratio:>10s}  {wanted}")


def blocks(quick: bool) -> None:
    """A block against the minimal loop, and growth with T."""
    print("\nTsallis-Switch, K = 8, λ = 1: one replication through simulate()")
    policy = hf.TsallisSwitch(K, switching_cost=LAMBDA)
    horizons = (10**7, 10**8) if quick else (10**7, 10**9)
    times = {}
    for horizon in horizons:
        N = number_of_blocks(K, LAMBDA, horizon)
        times[horizon] = seconds(partial(simulated, policy, horizon))
        stream, C = Stream(0, "bench"), np.linspace(0.5, 3.0, K)
        least = seconds(partial(minimal_loop, N, C, stream.state))
        line(
            f"T = {horizon:.0e}: {N} blocks",
            f"{times[horizon]:.4f} s",
            f"{times[horizon] / least:.2f}",
            "x minimal loop (≤ 10)",
        )
        line("    a block", f"{times[horizon] / N * 1e9:.1f} ns", f"{least / N * 1e9:.1f} ns", "minimal loop")
    first, last = horizons
    line(f"time from T = {first:.0e} to {last:.0e}", "", f"{times[last] / times[first]:.1f}", "x (≤ 25; blocks 21.6)")


def adaptive() -> None:
    """A replication of the adaptive policy against one of the paper's, which is played alone here."""
    print("\nThe adaptive policy, K = 8, λ = 1, T = 1e7: one replication, in turns with Tsallis-Switch alone")
    policies = (hf.TsallisSwitch(K, switching_cost=LAMBDA), hf.AdaptiveTsallisSwitch(K, switching_cost=LAMBDA))
    times: list[list[float]] = [[], []]
    for _ in range(30):
        for policy, taken in zip(policies, times, strict=True):
            begun = time.perf_counter()
            simulated(policy, 10**7)
            taken.append(time.perf_counter() - begun)
    least = [min(taken[1:]) for taken in times]  # the first may compile
    line("least time", f"{least[1] * 1e3:.2f} ms", f"{least[1] / least[0]:.2f}", "x Tsallis-Switch alone (≤ 1)")


def memory(quick: bool) -> None:
    """Peak memory of fresh processes: it must not grow with T."""
    print("\nPeak memory of a fresh process")
    if not Path("/proc/self/status").exists():
        line("only Linux tells the peak of a process since it began", "")
        return
    script = (
        "import sys; from simulations import paper\n"
        "paper(*(int(float(a)) for a in sys.argv[1:]))\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    for T, arms, count in ((1e5, 8, 1), (1e7 if quick else 1e9, 8, 1), (1e5, 10_000, 1), (1e3, 8, 1_000_000)):
        command = [sys.executable, "-c", script, str(T), str(arms), str(count)]
        for _ in range(2):  # the first may compile
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE).stdout)
        line(f"T = {T:.0e}, K = {arms}, {count} replications", f"{peak / 1024:.0f} MiB")


def growth(quick: bool) -> None:
    """Time with K and with replications."""
    print("\nGrowth with K and replications (T = 1e5)")
    T = 10**4 if quick else 10**5
    for arms in (2, 8, 32, 128, 1024):
        taken = seconds(partial(simulated, hf.TsallisSwitch(arms, switching_cost=LAMBDA), T, 64), 3) / 64
        N = number_of_blocks(arms, LAMBDA, T)
        line(
            f"K = {arms}: {N} blocks, 64 replications",
            f"{taken * 1e3:.2f} ms each",
            f"{taken / N / arms * 1e9:.1f}",
            "ns a block and arm",
        )
    for count in (1, 8, 32, 100, 1000):
        taken = seconds(partial(simulated, hf.TsallisSwitch(K, switching_cost=LAMBDA), T, count), 3)
        line(f"{count} replications", f"{taken * 1e3:.2f} ms", f"{taken / count * 1e3:.3f}", "ms each")


def spreading(quick: bool) -> None:
    """Two threads against one, two Dask workers against one."""
    print("\nSpreading replications")
    count = 640 if quick else 16_000
    policy = hf.TsallisSwitch(K, switching_cost=LAMBDA)
    one = seconds(partial(simulated, policy, 10**5, count), 3)
    two = seconds(partial(simulated, policy, 10**5, count, workers=2), 3)
    line(f"two threads against one, {count} replications of T = 1e5", f"{two:.2f} s", f"{one / two:.2f}", "x (≥ 1.8)")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        line("Dask is not installed", "")
        return
    taken = []
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
            play = partial(simulated, policy, 10**5, 8 * count, backend="dask", scheduler=cluster.scheduler_address)
            taken.append(seconds(play, 3))
    line(
        f"two Dask workers against one, {8 * count} replications",
        f"{taken[1]:.2f} s",
        f"{taken[0] / taken[1]:.2f}",
        "x (≥ 1.6)",
    )


def starting(horizon: int = 100_000) -> None:
    """Compile time: a first simulation in a fresh cache, and one in a second process."""
    print("\nFrom nothing to a first result, in a process of its own")
    script = (
        "import time; begun = time.perf_counter(); from simulations import paper\n"
        f"paper({horizon}, 8, 10)\n"
        "print(time.perf_counter() - begun)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        for what, wanted in (("fresh cache", "(≤ 15 s)"), ("second process", "(≤ 2 s)")):
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            run = subprocess.run(
                [sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment, cwd=HERE
            )
            line(what, f"{float(run.stdout):.2f} s", "", wanted)


def against_numpy(quick: bool) -> None:
    """The plain NumPy loop a researcher would write."""
    print("\nOne core, rounds a second, against Tsallis-INF in plain NumPy")
    means = [0.5 - GAP] + [0.5] * (K - 1)
    rounds = 3_000 if quick else 20_000
    plain = rounds / seconds(partial(play_plain, means, rounds), 3)
    line("plain NumPy Tsallis-INF", f"{plain:.3g}", "1")
    for name, policy, T, count in ours():
        rate = T * count / seconds(partial(simulated, policy, T, count), 3)
        line(name, f"{rate:.3g}", f"{rate / plain:.0f}")


def ours(*, alone: bool = False) -> list[tuple[str, hf.Policy, int, int]]:
    """Return the games to play: name, policy, rounds and replications, or one replication each."""
    return [
        ("tsallis-switch, T = 1e5", hf.TsallisSwitch(K, switching_cost=LAMBDA), 10**5, 1 if alone else 320),
        ("tsallis-switch, T = 1e7", hf.TsallisSwitch(K, switching_cost=LAMBDA), 10**7, 1 if alone else 32),
        ("tsallis-inf, T = 1e5", hf.TsallisInf(K), 10**5, 1 if alone else 32),
        ("exp3, T = 1e5", hf.Exp3(K), 10**5, 1 if alone else 32),
    ]


def report(*, quick: bool = False) -> None:
    """Print every measurement."""
    print(
        f"holdfast {hf.__version__}, Python {platform.python_version()}, {cores()} cores, {time.strftime('%Y-%m-%d')}"
    )
    blocks(quick)
    adaptive()
    growth(quick)
    memory(quick)
    spreading(quick)
    starting()
    print()
    online.main()
    against_numpy(quick)


if __name__ == "__main__":
    report(quick="--quick" in sys.argv[1:])
