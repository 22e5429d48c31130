"""Objects in our worlds give what `simulate` gives."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import holdfast as hf
from holdfast.adapters.objects import play

WORLDS = [
    hf.Bernoulli([0.3, 0.5, 0.4]),
    hf.Bernoulli([0.3, 0.5, 0.4], shuffled=True),
    hf.LossTable(np.arange(600).reshape(200, 3) % 7, units=(0, 6)),
    hf.RandomChanges(3, every=20),
    hf.Outages(3, every=30, length=10, noise=False, shuffled=True),
]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.id}{'-shuffled' * world.shuffled}")
@pytest.mark.parametrize("policy", [hf.Exp3, hf.TsallisInf, hf.ThompsonSampling])
def test_a_player_gets_what_simulate_gives(world: Any, policy: Any) -> None:
    one = policy(3, units=world.units)
    options: dict[str, Any] = {"horizon": 200, "switching_cost": 0.7, "replications": 6, "seed": 3, "checkpoints": 9}
    found = play({one.label: lambda i: one.player(seed=3, replication=i)}, world, **options)
    assert_frame_equal(found.frame, hf.simulate(one, world, **options).frame, rel_tol=1e-9, abs_tol=1e-9)


class Turns:
    def __init__(self) -> None:
        self.arms: Iterator[int] = iter(np.arange(10**6) % 2)
        self.told: list[float] = []

    def ask(self) -> int:
        return next(self.arms)

    def tell(self, loss: float) -> None:
        self.told.append(loss)


def test_numbers_by_hand() -> None:
    made: list[Turns] = []
    table = hf.LossTable([[1.0, 2.0], [4.0, 6.0], [0.0, 9.0]], units=(0, 10))

    def make(replication: int) -> Turns:
        made.append(Turns())
        return made[-1]

    result = play({"turns": make}, table, switching_cost=10.0, replications=1, checkpoints=3)
    assert made[0].told == [1.0, 6.0, 0.0]
    assert result.frame["total_loss"].to_list() == [1.0, 7.0, 7.0]
    assert result.frame["pseudo_regret"].to_list() == [0.0, 2.0, 2.0]
    assert result.frame["switches"].to_list() == [1, 2, 3]
    assert result.frame["total_cost"].to_list() == [11.0, 27.0, 37.0]


def test_it_stands_beside_a_simulation(tmp_path: Any) -> None:
    world = hf.Bernoulli([0.3, 0.5])
    options: dict[str, Any] = {"horizon": 100, "switching_cost": 0.5, "replications": 4}
    both = hf.Result.concat(
        [hf.simulate(hf.Exp3(2), world, **options), play({"turns": lambda i: Turns()}, world, **options)]
    )
    assert both.frame["policy"].unique(maintain_order=True).to_list() == ["exp3", "turns"]
    assert both.compare("exp3", "turns").difference < 0
    assert hf.Result.read(both.write(tmp_path / "both.parquet")).frame.equals(both.frame)
    assert both.frame.filter(pl.col("policy") == "turns")["switches"].max() == 100


class Wrong:
    def ask(self) -> Any:
        return 7

    def tell(self, loss: float) -> None:
        raise ZeroDivisionError


class Closing(hf.Bernoulli):
    closes_arms = True


class Raises(Wrong):
    def ask(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policies": {}}, "policies must be functions by name"),
        ({"policies": [Turns]}, "policies must be functions by name"),
        ({"policies": {"a": lambda i: Wrong()}}, "arm of a must be a whole number from 0 to 1"),
        ({"policies": {"a": lambda i: Raises()}}, "a failed in round 1: ZeroDivisionError"),
        ({"policies": {"a": lambda i: None}}, "a failed in round 1: AttributeError"),
        ({"environment": 3}, "environment must be"),
        ({"environment": Closing([0.3, 0.5])}, "must neither close arms"),
        ({"switching_cost": [1.0, 2.0]}, "switching_cost must be"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], said: str) -> None:
    options = {"policies": {"a": lambda i: Turns()}, "environment": hf.Bernoulli([0.3, 0.5]), "switching_cost": 1.0}
    options |= given
    with pytest.raises(hf.HoldfastError, match=said):
        play(options.pop("policies"), options.pop("environment"), horizon=10, **options)
