"""Made-up charts shaped like the paper's: roots, cube roots, lines, steps."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from holdfast.report.charts import LineChart, result_chart

Growth = Callable[[np.ndarray], np.ndarray]
HORIZON = 100_000

# policy -> (pseudo-regret, switches) as functions of the round
STOCHASTIC: dict[str, tuple[Growth, Growth]] = {
    "tsallis-switch": (lambda t: 0.7 * t ** (2 / 3), lambda t: 0.35 * t ** (2 / 3)),
    "tsallis-inf": (lambda t: 60 * np.log1p(t), lambda t: 31 * np.log1p(t) ** 1.5),
    "exp3": (lambda t: 5.1 * t**0.5, lambda t: 20 * t**0.6),
    "exp3-blocks": (lambda t: 1.7 * t ** (2 / 3), lambda t: 0.02 * t),
    "base-arithmetic": (lambda t: np.minimum(0.17 * t, 1900 + 0.001 * t), lambda t: 4 * np.log1p(t)),
    "base-geometric": (lambda t: 28 * np.log1p(t), lambda t: 3 * np.log1p(t)),
}
ADVERSARIAL = {
    **STOCHASTIC,
    "base-geometric": (lambda t: 0.245 * t, lambda t: 3 * np.log1p(t)),
    "base-arithmetic": (lambda t: 0.25 * t, lambda t: 3 * np.log1p(t)),
}
TIES = {
    str(n): (
        lambda t, n=n: (9 - n) * 60 * np.log1p(t),
        lambda t, n=n: (0.2 + 0.09 * n) * t ** (2 / 3),
    )
    for n in range(1, 8)
}


def table(
    growths: dict[str, tuple[Growth, Growth]], replications: int = 10, price: float = 1.0, points: int = 240
) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rounds = np.unique(
        np.concatenate([np.geomspace(1, HORIZON, points // 2), np.linspace(1, HORIZON, points // 2)]).astype(int)
    )
    parts = []
    for policy, (regret, switches) in growths.items():
        for replication in range(replications):
            r = regret(rounds) * np.exp(rng.normal(0, 0.12))
            s = np.floor(switches(rounds) * np.exp(rng.normal(0, 0.07))).astype(int) + 1
            parts.append(
                pl.DataFrame(
                    {
                        "policy": policy,
                        "replication": replication,
                        "round": rounds,
                        "pseudo_regret": r,
                        "switches": s,
                        "regret_with_switching": r + price * s,
                    }
                )
            )
    return pl.concat(parts)


@pytest.fixture(scope="session")
def make_table() -> Callable[..., pl.DataFrame]:
    return table


@pytest.fixture(scope="session")
def charts() -> dict[str, LineChart]:
    return {
        "hard": result_chart({"": table(STOCHASTIC)}),
        "two rows": result_chart({"best arm first": table(STOCHASTIC), "best arm at random": table(ADVERSARIAL)}),
        "adversarial": result_chart({"": table(ADVERSARIAL)}),
        "ties": result_chart({"": table(TIES)}, series_label="best arms"),
    }
