"""A path that plans on given forecasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from holdfast._numba.compile import kernel
from holdfast.checks import whole
from holdfast.layouts import PerArm, Scalar
from holdfast.policies.path import LONGEST_PERIOD, Path, PathKernels, first_step

ERROR_WEIGHT, MOST_PERSISTENCE, LEAST_SQUARE = 0.01, 0.98, 1e-12
"""How persistent errors of forecasts are is a moving mean of this weight; never more than this."""


class ForecastMemory(NamedTuple):
    """How wrong the forecast of the last round was, and how much of such an error lasts to the next round."""

    error: PerArm
    squares: Scalar
    products: Scalar
    heard: Scalar  # rounds that were forecast


@kernel
def step_forecast(own: Any, memory: Any, game: Any, costs: Any, here: int) -> int:
    """Plan on the given forecast plus its last error, which fades as errors did so far; stay where there is none."""
    K, rounds = memory.error.shape[0], int(game.rows[0] - game.first[0])
    if rounds <= 0:
        return max(here, 0)
    persistence = memory.products[0] / max(memory.squares[0], LEAST_SQUARE)
    persistence = min(max(persistence, 0.0), MOST_PERSISTENCE)
    row, fade = int(game.first[0]), 1.0
    for h in range(rounds):
        fade *= persistence
        for i in range(K):
            game.ahead[h * K + i, 0] = game.forecast[(row + h) * K + i, 0] + fade * memory.error[i, 0]
    return first_step(game, costs, rounds, here)


@kernel
def learn_forecast(own: Any, memory: Any, game: Any, costs: Any, losses: Any) -> None:
    """The error of this round, and what it has to do with the last one."""
    K = memory.error.shape[0]
    if game.first[0] >= game.rows[0]:
        for i in range(K):
            memory.error[i, 0] = 0.0
        return
    row, products, squares = int(game.first[0]), 0.0, 0.0
    for i in range(K):
        error = losses[i, 0] - game.forecast[row * K + i, 0]
        products += error * memory.error[i, 0]
        squares += memory.error[i, 0] * memory.error[i, 0]
        memory.error[i, 0] = error
    memory.heard[0] += 1.0
    weight = max(ERROR_WEIGHT, 1.0 / memory.heard[0])
    memory.products[0] += weight * (products - memory.products[0])
    memory.squares[0] += weight * (squares - memory.squares[0])


@dataclass(frozen=True)
class GivenForecast(Path):
    """Plans on the forecasts that ``ask(forecast=...)`` gives, corrected by how wrong they just were.

    Between two forecasts it uses what is left of the last one. Without any it stays where it is.

    Parameters
    ----------
    rounds
        The most rounds of a forecast that are looked at.
    """

    id: ClassVar[str] = "given-forecast"
    rounds: int = field(default=48, metadata=whole(least=1, most=LONGEST_PERIOD))

    @property
    def kernels(self) -> PathKernels:
        """The forecast is the game's; its errors are the path's."""
        return PathKernels(step_forecast, learn_forecast, ForecastMemory, look_ahead=self.rounds)
