"""Two limits on what a policy may do: shares, the most that arms are drawn; and a budget of switches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.checks import real_number, whole_number
from holdfast.decisions.options import checked_duration
from holdfast.errors import Form, InvalidParameter, Words, nearest
from holdfast.numerics.layout import Array
from holdfast.text import counted

MOST_COUNTED = 1000
"""Largest budget: the times of so many switches are kept."""


@dataclass(frozen=True)
class Ramp:
    """A share of one arm. It goes from `first` to `last` by equal factors in equal times, and stays there."""

    first: float
    last: float
    over: float = 0.0
    """Seconds."""
    since: float | None = field(default=None, compare=False)
    """When it began, by the game's clock; None until the game knows it."""

    def at(self, clock: float) -> float:
        """Return the share at a time.

        >>> Ramp(0.01, 0.25, over=100.0, since=0.0).at(50.0)
        0.05
        """
        if self.since is None or clock >= self.since + self.over:
            return self.last if self.since is not None or not self.over else self.first
        passed = max(clock - self.since, 0.0) / self.over
        return float(self.first ** (1.0 - passed) * self.last**passed)


@dataclass(frozen=True)
class Shares:
    """The share of each arm that has one. At least one arm of the game has none: it takes what they leave."""

    by_arm: Mapping[str, Ramp]
    """By name, or by number as text."""

    def settings(self) -> dict[str, Any]:
        """Return the shares as they are given: ``{"new": 0.05, "other": [0.01, 0.5, "7d"]}``; a ramp with its start."""
        return {
            arm: [ramp.first, ramp.last, f"{ramp.over!r}s", *([] if ramp.since is None else [ramp.since])]
            if ramp.over
            else ramp.last
            for arm, ramp in self.by_arm.items()
        }

    def caps(self, arms: Iterable[int | str], clock: float) -> Array:
        """Return the most that each of these arms may be drawn with."""
        return np.array([ramp.at(clock) if (ramp := self.by_arm.get(str(arm))) else 1.0 for arm in arms])

    def given(self, p: Array, arms: Iterable[int | str], clock: float, best: int) -> Array:
        """Return the probabilities with which arms get a block that is drawn with `p`; `best` has what exceeds shares.

        >>> Shares({"new": Ramp(0.25, 0.25)}).given(np.array([0.5, 0.125, 0.375]), ["new", "a", "b"], 0.0, 2).tolist()
        [0.25, 0.125, 0.625]
        """
        q = np.minimum(p, self.caps(arms, clock))
        q[best] = min(q[best] + float((p - q).sum()), 1.0)
        return q

    def begun(self, before: Shares | None, now: float | None = None) -> Shares:
        """Return these shares with a start for each ramp: one that is as it was before goes on, others begin now."""
        known = before.by_arm if before is not None else {}
        return Shares({arm: _begun(ramp, known.get(arm), now) for arm, ramp in self.by_arm.items()})

    def without(self, arms: Iterable[str]) -> Shares | None:
        """Return the shares of the other arms; None where none is left."""
        gone = set(arms)
        left = {arm: ramp for arm, ramp in self.by_arm.items() if arm not in gone}
        return Shares(left) if left else None

    def check_arms(self, arms: Iterable[int | str]) -> None:
        """Raise an error unless all are arms, and one is left without a share."""
        known = [str(arm) for arm in arms]
        for arm in self.by_arm:
            if arm not in known:
                rule = f"must be of arms of the game, {', '.join(map(repr, known))}{nearest(arm, known)}"
                raise InvalidParameter("share", rule, arm)
        if len(self.by_arm) == len(known):
            rule = "must leave an arm without a share, which takes what the others leave"
            raise InvalidParameter("share", rule, self.settings())


def _begun(ramp: Ramp, before: Ramp | None, now: float | None) -> Ramp:
    if not ramp.over or ramp.since is not None:
        return ramp
    return before if before == ramp else replace(ramp, since=now)


def checked_shares(parameter: str, given: Any) -> Shares | None:
    """Return shares by arm, each a probability or a ramp; None for no shares."""
    if isinstance(given, Shares):
        return given
    if not isinstance(given, Mapping):
        form = Form(
            'as share={"new": 0.05} or {"new": (0.01, 0.5, "7d")}',
            'as {"new": 0.05} or {"new": [0.01, 0.5, "7d"]}',
            "as new=0.05 or new=0.01:0.5:7d",
        )
        raise InvalidParameter(parameter, Words("must be the most that each of some arms may have, ", form), given)
    return Shares({str(arm): _ramp(parameter, share) for arm, share in given.items()}) if given else None


def _ramp(parameter: str, given: Any) -> Ramp:
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) not in (3, 4):
            raise InvalidParameter(parameter, "must go from a share to a share over a time, as 0.01, 0.5, 7d", given)
        first, last = (real_number(parameter, end, above=0, most=1) for end in given[:2])
        since = None if len(given) == 3 else real_number(parameter, given[3])
        return Ramp(first, last, checked_duration(parameter, given[2]).total_seconds(), since)
    share = real_number(parameter, given, above=0, most=1)
    return Ramp(share, share)


def checked_budget(parameter: str, given: Any) -> Budget | None:
    """Return a budget of switches, such as ``(10, "1d")``; None for no limit."""
    if isinstance(given, Budget):
        return given
    if isinstance(given, Mapping) and set(given) == {"switches", "over"}:
        given = given["switches"], given["over"]
    if isinstance(given, Mapping) and not given:
        given = ()
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (0, 2):
        form = Form('such as (10, "1d")', 'such as {"switches": 10, "over": "1d"}', "such as 10,1d")
        rule = Words("must be a number of switches and a time, ", form, ", or empty for no limit")
        raise InvalidParameter(parameter, rule, given)
    if not given:
        return None
    switches = whole_number(parameter, given[0], least=1, most=MOST_COUNTED)
    return Budget(switches, checked_duration(parameter, given[1]).total_seconds())


@dataclass(frozen=True)
class Budget:
    """The most switches within any stretch of time."""

    switches: int
    over: float
    """Seconds."""

    def settings(self) -> dict[str, Any]:
        """Return the budget as it is given: ``{"switches": 10, "over": "86400.0s"}``."""
        return {"switches": self.switches, "over": f"{self.over!r}s"}

    @property
    def words(self) -> str:
        """Return the budget as a phrase.

        >>> Budget(10, 86400.0).words, Budget(1, 90.0).words
        ('10 switches in 1d', '1 switch in 90s')
        """
        sizes = (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0))
        unit, size = next((one for one in sizes if self.over % one[1] == 0.0), sizes[-1])
        return f"{counted(self.switches, 'switch', 'switches')} in {self.over / size:g}{unit}"

    def kept(self, switched: Sequence[float]) -> list[float]:
        """Return the times of the latest switches that must be known: as many as are allowed."""
        return list(switched[-self.switches :])

    def stays(self, switched: Sequence[float]) -> float:
        """Return the time until which no switch is left.

        >>> Budget(2, 60.0).stays([10.0, 30.0, 35.0])
        90.0
        """
        return switched[-self.switches] + self.over if len(switched) >= self.switches else 0.0

    def left(self, switched: Sequence[float], clock: float) -> int:
        """Return how many switches are left at a time."""
        return max(self.switches - sum(at + self.over > clock for at in switched), 0)
