"""The outcome of a round as users report it: a loss, a reward, an error, or measurements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from holdfast.checks import real_number
from holdfast.decisions.all_losses import losses_by_arm
from holdfast.decisions.models import Block
from holdfast.decisions.settings import Setup, players_of
from holdfast.errors import Form, InvalidParameter, Set, Words
from holdfast.players.losses import outside_range

EXAMPLE = Form("holdfast.Scale(latency=(0.2, 8.0), …)", '{"latency": [0.2, 8.0]}', "latency=0.2:8")


class Outcome(NamedTuple):
    """An outcome that is not a loss; the game's scale converts it."""

    reward: float | None
    error: bool
    measures: Mapping[str, float]

    @property
    def written(self) -> str:
        """What was given, as JSON."""
        kinds = {"reward": self.reward, "error": self.error or None, **self.measures}
        return json.dumps({name: value for name, value in kinds.items() if value is not None}, default=float)

    def loss(self, setup: Setup, block: Block | None) -> float:
        """Return the loss of a round of this block, by the game's current scale."""
        if self.reward is not None:
            low, high = bounds = setup.bounds_of(block)
            if not low <= self.reward <= high:
                raise outside_range("reward", bounds, 1, self.reward)
            return low + high - self.reward
        scale = setup.settings.scale
        if scale is None:
            name, value = next(iter(self.measures.items()), ("error", self.error))
            scale_given = Set("scale", EXAMPLE, verb="open the game with ")
            rule = Words("needs a scale: ", scale_given, ", or report a loss")
            raise InvalidParameter(name, rule, value)
        return scale.loss(error=self.error, **self.measures)


class AllLosses(NamedTuple):
    """The losses of all arms in a round."""

    losses: Any

    def by_arm(self, setup: Setup, block: Block | None, round: int) -> tuple[float, dict[int, float]]:
        """Return the loss of the arm that played this round of a block, and those of all arms by number."""
        found = losses_by_arm(setup, self.losses, setup.bounds_of(block))
        if block is None:
            return 0.0, found
        arm = players_of(block, round + 1)[round][0]
        if arm not in found:
            raise InvalidParameter("losses", "must have that of the arm that was played", setup.name_of(arm))
        return found[arm], found


def outcome_of(
    loss: Any = None, reward: Any = None, error: Any = False, losses: Any = None, **measures: Any
) -> float | Outcome | AllLosses:
    """Return a loss, or an outcome to be converted. Raise an error unless exactly one kind is given."""
    kinds = {"loss": loss, "losses": losses, "reward": reward}
    given = {name: value for name, value in kinds.items() if value is not None}
    if measures or error is not False:
        given["measures"] = measures
    if len(given) > 1:
        raise InvalidParameter(", ".join(given), "must not be given together", tuple(given.values()))
    if losses is not None:
        return AllLosses(losses)
    if reward is not None:
        return Outcome(real_number("reward", reward), False, {})
    if loss is None and given:
        return Outcome(None, error, measures)
    return loss if type(loss) is float and isfinite(loss) else real_number("loss", loss)
