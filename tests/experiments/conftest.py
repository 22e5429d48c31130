"""One small arena for all tests: four policies, six environments of every group, two horizons."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from arena import Arena, run_arena
from arena_inputs import COST, ENVIRONMENTS, HORIZON, POLICIES, REPLICATIONS, SEED, UNITS


@pytest.fixture(scope="session")
def trace(tmp_path_factory) -> Path:
    """Losses in units of their own, with a column of times."""
    rng = np.random.default_rng(5)
    losses = 500.0 * rng.random((2000, 3)) * [0.5, 0.7, 1.0]
    table = pl.DataFrame({"time": np.arange(2000), **{f"arm {i}": losses[:, i] for i in range(3)}})
    path = tmp_path_factory.mktemp("trace") / "made up.csv"
    table.write_csv(path)
    return path


@pytest.fixture(scope="session")
def options(trace) -> dict[str, object]:
    return {
        "traces": [trace],
        "switching_costs": [COST],
        "units": UNITS,
        "index": "time",
        "policies": POLICIES,
        "environments": ENVIRONMENTS,
        "replications": REPLICATIONS,
        "horizon": HORIZON,
        "seed": SEED,
        "progress": False,
    }


@pytest.fixture(scope="session")
def made(options, tmp_path_factory) -> Arena:
    return run_arena(tmp_path_factory.mktemp("arena") / "out", **options)
