"""Every policy in every environment, with the compiler off; a few of them compiled, which must give the same bits."""

import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from frozen_policies import WORLDS, policies, table, variants
from shown import table as rows_of

import holdfast as hf
from holdfast.policies.registry import POLICIES

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
HORIZON, REPLICATIONS, SEED = 300, 2, 20
COSTS = (0.0, 0.3)
MEASURES = ("pseudo_regret", "switches", "regret_with_switching", "total_loss", "total_cost")
TSALLIS = ["tsallis-switch", "tsallis-switch-varying", "tsallis-inf", "exp3", "exp3-blocks"]
COMPILED = {
    "bernoulli": ["adaptive", *TSALLIS, "base-arithmetic", "base-geometric", "base-minimax"],
    "constrained-bernoulli": TSALLIS,
    "loss-table": ["adaptive", "tsallis-switch"],
    "reversal": ["adaptive"],
}
"""Few enough to be compiled in a test."""

Frozen = Callable[[str, Any], None]


def bits(given: dict[str, hf.Policy], world: hf.Environment, cost: Any) -> dict[str, str]:
    """By policy: a digest of all measures at all checkpoints, and the switches of each replication."""
    frame = hf.simulate(
        given,
        world,
        horizon=HORIZON,
        switching_cost=cost,
        replications=REPLICATIONS,
        seed=SEED,
        checkpoints=[HORIZON // 4, HORIZON // 2],
        progress=False,
    ).frame
    found = {}
    for name in given:
        rows = frame.filter(frame["policy"] == name)
        columns = np.array([rows[measure].to_numpy().astype("<f8") for measure in MEASURES])
        if isinstance(world, hf.Drifting):  # its sums over many phases are BLAS's, which rounds by processor
            columns = columns.round(9)
        last = rows.filter(rows["round"] == HORIZON)["switches"].to_list()
        found[name] = f"{hashlib.blake2b(columns.tobytes(), digest_size=8).hexdigest()} {last}"
    return found


def playable(given: dict[str, hf.Policy], world: hf.Environment) -> dict[str, hf.Policy]:
    """Those that can play it."""
    return {name: policy for name, policy in given.items() if policy.full_information or not world.closes_arms}


def test_every_policy_is_frozen() -> None:
    assert policies(0.3, HORIZON).keys() == POLICIES.keys()


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="300 compositions take too long to compile")
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_policy_in_every_environment(world: str, cost: float, frozen: Frozen) -> None:
    environment = WORLDS[world](HORIZON)
    frozen(f"{world}, {cost}", bits(playable(policies(cost, HORIZON), environment), environment, cost))


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="takes too long to compile")
@pytest.mark.parametrize("world", ["bernoulli", "loss-table"])
def test_other_options(world: str, frozen: Frozen) -> None:
    frozen(f"{world}, variants", bits(variants(HORIZON), WORLDS[world](HORIZON), 0.3))


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="takes too long to compile")
def test_other_costs(frozen: Frozen) -> None:
    world = WORLDS["bernoulli"](HORIZON)
    names = ("adaptive", "tsallis-switch", "tsallis-switch-varying", "hedge-switch", "threshold")
    given = {name: policies(0.3, HORIZON)[name] for name in names}
    announced = {name: policy for name, policy in variants(HORIZON).items() if "announced" in name}
    frozen("a power of the block", bits(given | announced, world, hf.Power(0.5)))
    frozen("a list", bits(given | announced, world, [0.5 + n % 3 for n in range(HORIZON)]))
    del given["tsallis-switch-varying"]
    pairs = variants(HORIZON)["hedge-switch, pairs"]
    frozen("pairs", bits(given | {"hedge-switch, pairs": pairs}, world, [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]))


@pytest.mark.plain
@pytest.mark.skipif(not PLAIN, reason="takes too long to compile")
def test_rarer_options(net: Callable[[str, Any], None]) -> None:
    """Every number at every checkpoint."""
    world, both = hf.Bernoulli([0.2, 0.5, 0.6]), [hf.Exp3(3), hf.TsallisSwitch(3, switching_cost=0.5)]
    few = {"horizon": 300, "replications": 2, "seed": 5, "progress": False, "checkpoints": [1, 77, 299]}
    lines = []
    given: dict[str, dict[str, Any]] = {
        "paired": {"switching_cost": 0.5, "paired": True},
        "late": {"switching_cost": 0.5, "delay": hf.Delay(2, 9, lost=0.1)},
        "late by arm": {"switching_cost": 0.5, "delay": hf.Delay([0, 3, 5], missing="drop", lost=[0.0, 0.5, 1.0])},
        "a power": {"switching_cost": hf.Power(0.5, 2.0)},
        "by block": {"switching_cost": [0.5 + n % 3 for n in range(300)]},
        "pairs": {"switching_cost": [[0, 1, 2], [1, 0, 1.5], [2, 1, 0]]},
        "short list": {"switching_cost": [0.5, 1.0]},
        "negative": {"switching_cost": -1.0},
        "bad marks": {"switching_cost": 0.5, "checkpoints": [0]},
    }
    for name, options in given.items():
        try:
            lines += [f"== {name}", *rows_of(hf.simulate(both, world, **{**few, **options}).frame)]
        except hf.HoldfastError as error:
            lines.append(str(error))
    net("rarer options", lines)


@pytest.mark.plain
def test_own_units(frozen: Frozen) -> None:
    world = hf.LossTable(table(HORIZON) * 256 - 64, units=(-64, 192))
    frozen("units", bits({"units": hf.TsallisSwitch(3, switching_cost=40.0, units=(-64, 192))}, world, 40.0))


@pytest.mark.skipif(PLAIN, reason="compares compiled games with plain ones")
@pytest.mark.parametrize("world", COMPILED)
def test_compiled_games_are_the_plain_ones(world: str, frozen: Frozen) -> None:
    given = {name: policies(0.3, HORIZON)[name] for name in COMPILED[world]}
    frozen(f"{world}, 0.3", bits(given, WORLDS[world](HORIZON), 0.3))


@pytest.mark.slow
@pytest.mark.skipif(PLAIN, reason="long games")
def test_long_compiled_games(frozen: Frozen) -> None:
    """Late blocks, and binomial draws that are too large for a table."""
    found = {}
    for cost in (0.0, 1.0):
        given: dict[str, hf.Policy] = {
            "adaptive": hf.AdaptiveTsallisSwitch(8, switching_cost=cost),
            "tsallis-switch": hf.TsallisSwitch(8, switching_cost=cost),
        }
        result = hf.simulate(
            given,
            hf.Bernoulli.with_gap(8, 0.05),
            horizon=10**5,
            switching_cost=cost,
            replications=2,
            seed=SEED,
            progress=False,
        )
        for name in given:
            last = result.frame.filter((result.frame["policy"] == name) & (result.frame["round"] == 10**5))
            found[f"{name}, {cost}"] = [value.hex() for value in last["regret_with_switching"].to_list()]
    frozen("long", found)
