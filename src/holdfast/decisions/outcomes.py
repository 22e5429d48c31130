"""The outcome of a round as users report it: a loss, a reward, an error, or measurements."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from holdfast.checks import real_number
from holdfast.decisions.game import Setup, player_of
from holdfast.decisions.models import Block
from holdfast.errors import TRUTH, Form, InvalidParameter, Set, Words, nearest
from holdfast.policies.policy import outside_range

EXAMPLE = Form("holdfast.Scale(latency=(0.2, 8.0), …)", '{"latency": [0.2, 8.0]}', "latency=0.2:8")


class Outcome(NamedTuple):
    """An outcome that is more, or other, than a loss; the game's scale converts what was measured."""

    plain: float | None = None
    """A loss."""
    reward: float | None = None
    failed: bool = False
    """True for the highest loss there is."""
    error: bool = False
    measures: Mapping[str, float] = MappingProxyType({})
    in_time: bool = False
    """True if it is refused where its block was settled without it."""
    clip: bool = False
    """True if it is brought into the range of losses."""

    @property
    def bad(self) -> bool:
        """True if the round failed."""
        return self.failed or self.error

    @property
    def written(self) -> str:
        """Return the report that was given instead of a loss, as JSON; empty for a loss."""
        kinds = {"reward": self.reward, "failed": self.failed or None, "error": self.error or None, **self.measures}
        said = {name: value for name, value in kinds.items() if value is not None}
        return json.dumps(said, default=float) if said else ""

    def loss(self, setup: Setup, block: Block | None) -> float:
        """Return the loss of a round of this block, by the game's current scale."""
        low, high = bounds = setup.bounds_of(block)
        if self.plain is not None:
            return min(max(self.plain, low), high) if self.clip else self.plain
        if self.failed:
            return high
        if self.reward is not None:
            if self.clip:
                return min(max(low + high - self.reward, low), high)
            if not low <= self.reward <= high:
                raise outside_range("reward", bounds, 1, self.reward)
            return low + high - self.reward
        scale = setup.settings.scale
        if scale is None:
            name, value = next(iter(self.measures.items()), ("error", self.error))
            scale_given = Set("scale", EXAMPLE, verb="open the game with ")
            meant = nearest(name, ("loss", "losses", "reward", "failed"))
            rule = Words("needs a scale: ", scale_given, f", or report a loss{meant}")
            raise InvalidParameter(name, rule, value)
        return scale.loss(error=self.error, **self.measures)


class AllLosses(NamedTuple):
    """The losses of all arms in a round: numbers, or outcomes of their own, by arm or in their order."""

    losses: Any
    in_time: bool = False
    clip: bool = False

    def by_arm(self, setup: Setup, block: Block | None, round: int) -> tuple[float, dict[int, float]]:
        """Return the loss of the arm that played this round of a block, and those of all arms by number."""
        found = self.every(setup, block)
        if block is None:
            return 0.0, found
        arm = player_of(block, round)[0]
        if arm not in found:
            raise InvalidParameter("losses", "must have that of the arm that was played", setup.name_of(arm))
        return found[arm], found

    def every(self, setup: Setup, block: Block | None) -> dict[int, float]:
        """Return the losses of all arms by number; what was measured is converted by the game's scale."""

        def loss(value: Any) -> Any:
            if isinstance(value, Mapping):
                value = outcome_of(**value)
            elif self.clip and value is not None:
                value = real_number("losses", value)
            if isinstance(value, AllLosses):
                raise InvalidParameter("losses", "must be one outcome for each arm", value.losses)
            if isinstance(value, Outcome):
                return value._replace(clip=value.clip or self.clip).loss(setup, block)
            return Outcome(value, clip=True).loss(setup, block) if self.clip and value is not None else value

        given = self.losses
        if isinstance(given, Mapping):
            given = {arm: loss(value) for arm, value in given.items()}
        elif isinstance(given, Collection) and not isinstance(given, (str, bytes)):
            given = [loss(value) for value in given]
        return losses_by_arm(setup, given, setup.bounds_of(block))


def losses_by_arm(setup: Setup, given: Any, bounds: tuple[float, float]) -> dict[int, float]:
    """Return losses, given by arm or in the policy's order, keyed by arm number. None is left out."""
    known = {setup.names[arm]: arm for arm in setup.active}
    if not isinstance(given, Mapping):
        try:
            given = dict(zip(known, given, strict=True))
        except (TypeError, ValueError):
            rule = f"must be {len(known)} numbers, one for each arm, or numbers by arm"
            raise InvalidParameter("losses", rule, given) from None
    found: dict[int, float] = {}
    for name, value in given.items():
        if name not in known:
            raise setup.no_arm("losses", name)
        if value is not None:
            loss = real_number(f"loss of {name!r}", value)
            if not bounds[0] <= loss <= bounds[1]:
                raise outside_range(f"loss of {name!r}", bounds, 1, loss)
            found[known[name]] = loss
    return found


def outcome_of(
    loss: Any = None,
    reward: Any = None,
    failed: Any = False,
    error: Any = False,
    losses: Any = None,
    in_time: Any = False,
    clip: Any = False,
    **measures: Any,
) -> float | Outcome | AllLosses:
    """Return a loss, or an outcome to be converted. Raise an error unless exactly one kind is given."""
    for name, value in (("failed", failed), ("in_time", in_time), ("clip", clip)):
        if not isinstance(value, bool):
            raise InvalidParameter(name, Words("must be ", TRUTH), value)
    kinds = {"loss": loss, "losses": losses, "reward": reward, "failed": failed or None}
    given = {name: value for name, value in kinds.items() if value is not None}
    if measures or error is not False:
        given["measures"] = measures
    if len(given) > 1:
        raise InvalidParameter(", ".join(given), "must not be given together", tuple(given.values()))
    if losses is not None:
        return AllLosses(losses, in_time, clip)
    if failed:
        return Outcome(failed=True, in_time=in_time)
    if reward is not None:
        return Outcome(reward=real_number("reward", reward), in_time=in_time, clip=clip)
    if loss is None and given:
        return Outcome(error=error, measures=measures, in_time=in_time)
    if loss is None:
        raise InvalidParameter("loss", "must be a finite number, unless reward, failed or measures are given", loss)
    checked = loss if type(loss) is float and isfinite(loss) else real_number("loss", loss)
    return Outcome(checked, in_time=in_time, clip=clip) if in_time or clip else checked
