"""One ask and one tell: ours next to a plain NumPy implementation."""

from __future__ import annotations

import time
from statistics import mean, median
from typing import Any

from plain import PlainTsallisInf

import holdfast

LOSSES = (0.25, 0.5, 0.75, 0.4)


def per_step(player: Any, steps: int, batch: int = 20) -> tuple[float, float]:
    """Median and mean time of one ask + tell in microseconds, over batches of `batch` steps."""
    taken = []
    clock = time.perf_counter
    for i in range(steps // batch):
        loss = LOSSES[i % len(LOSSES)]
        begun = clock()
        for _ in range(batch):
            player.ask()
            player.tell(loss)
        taken.append((clock() - begun) / batch)
    return 1e6 * median(taken), 1e6 * mean(taken)


def rows(steps: int = 200_000) -> list[tuple[str, float, float, float]]:
    """Name, median, mean, and the median's ratio to plain NumPy's, after a warm-up of the same length."""
    named = {
        "AdaptiveTsallisSwitch(8, 1.0)": holdfast.AdaptiveTsallisSwitch(8, switching_cost=1.0),
        "AdaptiveTsallisSwitch(8, 0.0)": holdfast.AdaptiveTsallisSwitch(8, switching_cost=0.0),
        "TsallisSwitch(8, 1.0)": holdfast.TsallisSwitch(8, switching_cost=1.0),
        "TsallisInf(8)": holdfast.TsallisInf(8),
        "TsallisInf(8, estimator='reduced-variance')": holdfast.TsallisInf(8, estimator="reduced-variance"),
        "Exp3(8)": holdfast.Exp3(8),
        "BlockExp3(8, 1.0, 100000)": holdfast.BlockExp3(8, switching_cost=1.0, horizon=100_000),
        "BaSE(8, 100000)": holdfast.BaSE(8, horizon=100_000),
    }
    plain = PlainTsallisInf(8, seed=0)
    per_step(plain, 2_000)
    reference = per_step(plain, 10_000)
    table = [("Tsallis-INF in plain NumPy", *reference, 1.0)]
    for name, policy in named.items():
        player = policy.player(seed=0)
        per_step(player, steps)
        middle, average = per_step(player, steps)
        table.append((name, middle, average, reference[0] / middle))
    return table


def main() -> None:
    """Print the table."""
    print(f"{'one ask + tell':46s} {'median µs':>10s} {'mean µs':>10s} {'ratio':>8s}")
    for name, middle, average, ratio in rows():
        print(f"{name:46s} {middle:10.2f} {average:10.2f} {ratio:8.1f}")


if __name__ == "__main__":
    main()
