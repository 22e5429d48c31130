"""Settings of a game: how long it waits for losses, what stands for a missing one, how many are kept, its scale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from holdfast.checks import real_number, whole_number
from holdfast.errors import InvalidParameter
from holdfast.policies.policy import Policy
from holdfast.scales import Scale
from holdfast.schedules import LONGEST

REMEMBER = 100_000
"""Rounds of settled blocks whose losses are kept one by one, by default."""

MOST_PATIENCE = timedelta(days=36_500)

MISSING = ("mean", "drop")

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True)
class Settings:
    """How a game waits for losses, checked.

    >>> Settings(seconds=60.0).due(clock=1000.0, asked=5)
    1060.0
    """

    seconds: float | None = None
    """Patience in time."""
    rounds: int | None = None
    """Patience in rounds."""
    missing: str | float = "mean"
    remember: int = REMEMBER
    scale: Scale | None = None
    """How what is measured becomes a loss."""

    @property
    def patience(self) -> timedelta | int | None:
        """As it was given."""
        return self.rounds if self.seconds is None else timedelta(seconds=self.seconds)

    def changed(self, policy: Policy, given: Mapping[str, Any]) -> Settings:
        """These settings with some replaced; an error for an invalid one."""
        changes: dict[str, Any] = {}
        if "patience" in given:
            changes |= _checked_patience(given["patience"])
        if "missing" in given:
            changes["missing"] = _checked_missing(given["missing"], policy)
        if "remember" in given:
            changes["remember"] = whole_number("remember", given["remember"], least=0)
        if "scale" in given:
            changes["scale"] = _checked_scale(given["scale"], policy)
        settings = replace(self, **changes)
        if settings.rounds is not None and policy.waits_for_losses:
            rule = f"must be a time: {policy.label} waits for its losses, so no rounds pass meanwhile"
            raise InvalidParameter("patience", rule, settings.rounds)
        return settings

    def due(self, clock: float, asked: int) -> float | None:
        """When a block whose last round was handed out now runs out of patience."""
        if self.seconds is not None:
            return clock + self.seconds
        return None if self.rounds is None else float(asked + self.rounds)

    def mark(self, clock: float, asked: int) -> float:
        """Now, as `due` counts."""
        return clock if self.seconds is not None else float(asked)

    def until_due(self, asked: int, next_due: float | None) -> float:
        """Rounds after which the first block may run out of patience, where none has by now."""
        if self.rounds is None:
            return math.inf
        return self.rounds if next_due is None else min(self.rounds, next_due - asked)

    def plain(self) -> dict[str, Any]:
        """As values that JSON carries."""
        return {**vars(self), "scale": None if self.scale is None else self.scale.settings()}

    @classmethod
    def from_plain(cls, content: Mapping[str, Any]) -> Settings:
        """From what `plain` gave; a store from before there were scales has none."""
        scale = content.get("scale")
        return cls(**{**content, "scale": None if scale is None else Scale.from_settings(scale)})


def given_settings(**named: object) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in named.items() if value is not None}


def written_patience(text: str) -> int | timedelta:
    """A patience as commands and requests write it.

    >>> written_patience("50"), written_patience("1.5h")
    (50, datetime.timedelta(seconds=5400))
    """
    match = re.fullmatch(r"([0-9]+)|([0-9.]+)([smhd])", text)
    try:
        if match and match[1]:
            return int(match[1])
        if match:
            return timedelta(**{UNITS[match[3]]: float(match[2])})
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter("patience", "must be rounds, such as 50, or a time, such as 30s, 10m, 2h or 1d", text)


def _checked_patience(patience: object) -> dict[str, Any]:
    if isinstance(patience, timedelta):
        if not timedelta(0) < patience <= MOST_PATIENCE:
            rule = f"must be a time above 0 and of at most {MOST_PATIENCE.days} days; without one, it is for ever"
            raise InvalidParameter("patience", rule, str(patience))
        return {"seconds": patience.total_seconds(), "rounds": None}
    if isinstance(patience, float):
        rule = "must be a timedelta, or a whole number of rounds: timedelta(seconds=...)"
        raise InvalidParameter("patience", rule, patience)
    return {"seconds": None, "rounds": whole_number("patience", patience, least=1, most=int(LONGEST))}


def _checked_missing(missing: object, policy: Policy) -> str | float:
    rule = "must be 'mean', 'drop' or a loss"
    if isinstance(missing, str):
        if missing not in MISSING:
            raise InvalidParameter("missing", rule, missing)
        return missing
    low, high = policy.bounds
    try:
        loss = real_number("missing", missing)
    except InvalidParameter:
        raise InvalidParameter("missing", rule, missing) from None
    if not low <= loss <= high:
        raise InvalidParameter("missing", f"{rule} from {low:g} to {high:g}", missing)
    return loss


def _checked_scale(scale: object, policy: Policy) -> Scale:
    if not isinstance(scale, Scale):
        raise InvalidParameter("scale", "must be a holdfast.Scale, such as holdfast.Scale(latency=(0.2, 8.0))", scale)
    if policy.bounds != (0.0, 1.0):
        rule = f"gives losses from 0 to 1, and those of {policy.label} have the units {policy.bounds}: leave units out"
        raise InvalidParameter("scale", rule, scale)
    return scale


def with_missing(
    missing: str | float, parts: Sequence[float], told: int, rounds: int, usual: float
) -> tuple[list[float], int]:
    """Numbers that add up to the loss of a block, and the rounds they stand for, when not all its losses came.

    Parameters
    ----------
    missing
        What stands for a missing loss.
    parts
        Numbers that add up to the losses reported.
    told
        How many losses were reported.
    rounds
        Rounds of the block.
    usual
        The mean loss of the arm so far, for a block without any loss.
    """
    left = rounds - told
    if not left:
        return list(parts), rounds
    if missing == "drop":
        return list(parts), told
    if missing == "mean":
        loss = math.fsum(parts) / told if told else usual
    else:
        loss = float(missing)
    return [*parts, loss * left], rounds
