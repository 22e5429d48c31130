"""A breaker: how often an arm may fail before it is paused, and for how long; and what is known of each arm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, NamedTuple

from holdfast.checks import CHECK, real_number, whole
from holdfast.decisions.models import undamaged
from holdfast.decisions.options import Checked, checked_duration, written_duration
from holdfast.errors import Form, InvalidParameter, Words, nearest

MOST_WITHIN = 1000
"""Longest window of losses."""


@dataclass(frozen=True)
class Breaker(Checked):
    """A breaker: an arm that fails too often is paused, for all processes, and then tried again by a single request.

    A failure is an outcome told as ``failed=True`` or ``error=True``, or a loss of at least `level`.

    Parameters
    ----------
    failures, within
        So many failures among the last so many losses of an arm pause it.
    pause
        For how long: a timedelta, or text such as ``"30s"``. Then one request tries the arm. If that fails, or its loss
        has not come when as much time has passed again, the next pause is twice as long.
    most
        The longest pause.
    level
        Losses from here on are failures too.

    Examples
    --------
    >>> Breaker(failures=3, within=10, pause="1m").settings()
    {'failures': 3, 'within': 10, 'pause': '60.0s', 'most': '600.0s', 'level': None}
    """

    failures: int = field(default=5, metadata=whole(1, MOST_WITHIN))
    within: int = field(default=20, metadata=whole(1, MOST_WITHIN))
    pause: timedelta | str = field(default=timedelta(seconds=30), metadata={CHECK: checked_duration})
    most: timedelta | str = field(default=timedelta(minutes=10), metadata={CHECK: checked_duration})
    level: float | None = field(default=None, metadata={CHECK: real_number})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.failures > self.within:
            raise InvalidParameter("failures", f"must be at most within, {self.within}", self.failures)
        if self._limits[0] > self._limits[1]:
            raise InvalidParameter("pause", f"must not be longer than most, {self.most}", str(self.pause))

    @property
    def _limits(self) -> list[float]:
        return [one.total_seconds() for one in (self.pause, self.most) if isinstance(one, timedelta)]

    def seconds(self, pause: float) -> float:
        """Return the length of a pause: at least the first, at most the longest."""
        first, most = self._limits
        return min(max(pause, first), most)

    def settings(self) -> dict[str, Any]:
        """Return the breaker as plain values for JSON, of which it can be made again."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: written_duration(one) if isinstance(one, timedelta) else one for name, one in found.items()}


def checked_breaker(parameter: str, given: Any) -> Breaker | None:
    """Return a breaker, or that with these fields by name; None for False: no breaker."""
    if isinstance(given, Breaker) or given is False:
        return given or None
    known = [one.name for one in fields(Breaker)]
    if not isinstance(given, Mapping):
        form = Form(
            "a holdfast.Breaker or False",
            'fields by name, such as {"failures": 5}, or false',
            "fields by name, such as failures=5,within=20, or off",
        )
        raise InvalidParameter(parameter, Words("must be ", form), given)
    for name in given:
        if name not in known:
            rule = f"has no field {name!r}, but {', '.join(known)}{nearest(str(name), known)}"
            raise InvalidParameter(parameter, rule, dict(given))
    return Breaker(**given)


class Fuse(NamedTuple):
    """A breaker's record of one arm."""

    recent: str = ""
    """Its latest losses, oldest first: 1 for a failure, 0 for another. It begins with a failure."""
    since: int = 0
    """Rounds that had been asked when it came back; of earlier ones nothing is counted."""
    pause: float = 0.0
    """Length of its pause in seconds; 0 while it is in use."""
    until: float = 0.0
    """End of the pause; while the arm is tried, until when the loss must have come."""
    tried: tuple[int, int] | None = None
    """Block and round of the request that tries it."""
    stays: bool = False
    """True if it fails and stays in use, because no other is left."""

    @property
    def tripped(self) -> bool:
        """True if it is not handed out, but for one request that tries it."""
        return self.pause > 0.0

    def may_be_tried(self, clock: float) -> bool:
        """Return True if its pause is over and no request tries it."""
        return self.tripped and self.tried is None and clock >= self.until

    def heard(self, failed: bool, breaker: Breaker) -> Fuse:
        """Return it after a loss of an arm that is in use."""
        recent = f"{self.recent}{failed:d}"[-breaker.within :].lstrip("0")
        return self._replace(recent=recent, stays=self.stays and recent.count("1") >= breaker.failures)

    def paused(self, at: float, breaker: Breaker) -> Fuse:
        """Return it with a pause from then on: the first one, or one twice as long as the last."""
        pause = breaker.seconds(2.0 * self.pause)
        return Fuse(pause=pause, until=at + pause)


Fuses = dict[int, Fuse]
"""By arm; without those of which nothing is known."""


def fuses_of(text: str) -> Fuses:
    """Read the output of `text_of`."""
    with undamaged("what breakers know"):
        found = {int(arm): Fuse(*parts) for arm, parts in json.loads(text or "{}").items()}
        return {arm: fuse._replace(tried=fuse.tried and (fuse.tried[0], fuse.tried[1])) for arm, fuse in found.items()}


def text_of(fuses: Fuses) -> str:
    """Return the records of the arms as JSON; empty if there are none."""
    known = {arm: fuse for arm, fuse in sorted(fuses.items()) if fuse != Fuse()}
    return json.dumps(known) if known else ""
