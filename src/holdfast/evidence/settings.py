"""What an arena is played with, and the study that it makes: one cell for each environment and horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.checks import check_fields, whole
from holdfast.evidence.contestants import contestants
from holdfast.evidence.worlds import LEAST_HORIZON, World, laid_out
from holdfast.numerics.random import check_seed
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import checkpoint_rounds
from holdfast.studies.file import Cell, Study

CHECKPOINTS = 10
"""Rounds recorded of each game: enough for a curve, few enough for small files."""

SHORTER = (100, 10)
"""Growth is fitted on horizons this many times shorter, and the horizon itself."""


@dataclass(frozen=True)
class ArenaSettings:
    """The numbers a run is made with."""

    replications: int = field(default=200, metadata=whole(least=2, most=10**6))
    horizon: int = field(default=100_000, metadata=whole(least=LEAST_HORIZON, most=10**9))
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "seed", check_seed(self.seed))

    @classmethod
    def of(cls, replications: int | None, horizon: int | None, seed: int, *, quick: bool) -> ArenaSettings:
        """With what was given, and for the rest the defaults, or those of a first look.

        Eight replications are played one after the other: the games side by side need not be compiled.
        """
        default = cls(8, 10_000) if quick else cls()
        return cls(
            default.replications if replications is None else replications,
            default.horizon if horizon is None else horizon,
            seed,
        )

    @property
    def shorter(self) -> tuple[int, ...]:
        """The horizons below the full one that growth is fitted on."""
        return tuple(T for times in SHORTER if (T := self.horizon // times) >= LEAST_HORIZON)


def cell_name(world: World) -> str:
    """The name of the table of a world at its horizon."""
    return f"{world.name},T={world.horizon}"


def study_of(worlds: Sequence[World], policies: Sequence[str], settings: ArenaSettings) -> tuple[Study, list[World]]:
    """The study that plays all of it, and the world of each of its cells: full horizons first."""
    names = [world.name for world in worlds]
    played = [*worlds, *(world for T in reversed(settings.shorter) for world in laid_out(names, T))]
    written: dict[str, Any] = {
        "name": "arena",
        "replications": settings.replications,
        "horizon": settings.horizon,
        "seed": settings.seed,
        "checkpoints": CHECKPOINTS,
        "policies": list(policies),
        "environments": names,
    }
    return Study("arena", tuple(cell_of(world, policies, settings) for world in played), written), played


def cell_of(
    world: World,
    policies: Sequence[str],
    settings: ArenaSettings,
    replications: int | None = None,
    *,
    checkpoints: tuple[int, ...] | None = None,
    name: str | None = None,
) -> Cell:
    """The games of these policies in a world, as a study has them; unlike the table of that world where it is given."""
    made, code = contestants(policies, world.environment, world.horizon, world.switching_cost)
    columns = {"environment": world.name, "group": world.group, "lambda": world.switching_cost, "T": world.horizon}
    return Cell(
        name=name or cell_name(world),
        values={"environment": world.name, "horizon": world.horizon},
        columns=columns,
        environment=world.environment,
        source=dict(world.source),
        policies=made,
        code=code,
        horizon=world.horizon,
        replications=replications or settings.replications,
        seed=settings.seed,
        costs=Costs.of(world.switching_cost),
        checkpoints=checkpoints or checkpoint_rounds(min(CHECKPOINTS, world.horizon), world.horizon),
    )
