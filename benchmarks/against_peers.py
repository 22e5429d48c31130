"""Holdfast next to the public libraries, which run in an environment of their own (`make bench-peers` makes it)."""

from __future__ import annotations

import argparse
import json
import subprocess
from functools import partial
from pathlib import Path

from clock import seconds
from simulations import GAP, LAMBDA, line, ours, simulated

import holdfast as hf


def loop_rate(policy: hf.Policy, horizon: int, replications: int) -> float:
    """Rounds a second of the compiled loop alone."""
    from holdfast.simulation.costs import Costs
    from holdfast.simulation.tasks import Task, run_task

    environment = hf.Bernoulli.with_gap(policy.n_arms, GAP)
    task = Task(policy.label, policy, environment, horizon, Costs.of(LAMBDA), (horizon,), 0, 0, replications)
    return horizon * replications / seconds(partial(run_task, task))


def against_peers(python: Path, quick: bool) -> None:
    """The public libraries, measured by benchmarks/peers.py in their own environment in the same run."""
    print("\nOne core, against the fastest public library in the same run")
    run = subprocess.run(
        [str(python), str(Path(__file__).with_name("peers.py")), *(["--seconds", "0.2"] if quick else [])],
        check=True,
        capture_output=True,
        text=True,
    )
    found = [json.loads(line) for line in run.stdout.splitlines()]
    for row in found:
        if "left_out" in row:
            line(f"left out: {row['library']}", row["left_out"][:60])
    rows = [row for row in found if "rounds_per_second" in row]
    for row in sorted(rows, key=lambda r: -r["rounds_per_second"]):
        name = f"{row['library']} {row['version']}, {row['what']}, {row['interface']}"
        name += f", {row['rounds']:.0e} x {row['batch']}"
        line(name, f"{row['rounds_per_second']:.3g}")
    wanted = {"public": (600, 3000, 40, 40), "compiled loop": (50, 250, 5, 5)}
    for interface, ratios in wanted.items():
        for alone in (False, True):
            those = [row for row in rows if row["interface"] == interface and (row["batch"] == 1 or not alone)]
            if not those:
                continue
            peer = max(those, key=lambda r: r["rounds_per_second"])
            games = "one game each" if alone else "each at its fastest"
            print(f"\n  {interface}, {games}: {peer['library']} with {peer['rounds_per_second']:.3g} rounds a second")
            for (name, policy, T, count), least in zip(ours(alone=alone), ratios, strict=True):
                if interface == "public":
                    rate = T * count / seconds(partial(simulated, policy, T, count))
                else:
                    rate = loop_rate(policy, T, count)
                line(name, f"{rate:.3g}", f"{rate / peer['rounds_per_second']:.1f}", f"x (≥ {least})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, help="Python of the environment with the public libraries")
    parser.add_argument("--quick", action="store_true", help="shorter games: for a look, not for a record")
    given = parser.parse_args()
    against_peers(given.python, given.quick)
