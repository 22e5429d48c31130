"""Settings of a game, each an option: patience, what stands for missing losses, scale, breakers, limits and others."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import partial
from typing import Any, Literal, TypedDict

import numpy as np

from holdfast.checks import CHECK, made, real_number, whole, whole_number
from holdfast.decisions.options import (
    LONGEST_TIME,
    Checked,
    check_known,
    checked_duration,
    duration_of,
    option,
    options_of,
    written_duration,
)
from holdfast.errors import DURATION, TRUTH, Form, InvalidParameter, Words, nearest
from holdfast.numerics.layout import Array
from holdfast.numerics.scales import Scale
from holdfast.numerics.schedules import LONGEST
from holdfast.policies.policy import Policy
from holdfast.text import counted

REMEMBER = 100_000
"""Default number of rounds of settled blocks whose losses are kept one by one."""

KEEP = 100_000
"""Default number of blocks whose rows are kept."""

KEY_LIFE = timedelta(hours=1)
"""Default idle time of a conversation."""

MISSING = ("highest", "mean", "drop")

AUTO, FOREVER = "auto", "forever"

# ---- checks


def _patience(parameter: str, given: Any) -> timedelta | int | str:
    if isinstance(given, str) and given not in (AUTO, FOREVER):
        try:
            return _patience(parameter, int(given) if re.fullmatch("[0-9]+", given) else duration_of(given))
        except (ValueError, OverflowError) as error:
            if isinstance(error, InvalidParameter):
                raise
            rule = "must be rounds, such as 50, a time, such as 30s, 10m, 2h or 1d, auto or forever"
            raise InvalidParameter(parameter, rule, given) from None
    if isinstance(given, timedelta) and not timedelta(0) < given <= LONGEST_TIME:
        rule = f"must be a time above 0 and of at most {LONGEST_TIME.days} days, or 'forever'"
        raise InvalidParameter(parameter, rule, str(given))
    if isinstance(given, float):
        rule = Words("must be ", DURATION, ", a whole number of rounds, 'auto' or 'forever'")
        raise InvalidParameter(parameter, rule, given)
    return given if isinstance(given, (str, timedelta)) else whole_number(parameter, given, least=1, most=int(LONGEST))


def _missing(parameter: str, given: Any) -> str | float:
    rule = "must be 'highest', 'mean', 'drop' or a loss"
    if isinstance(given, str) and given in MISSING:
        return given
    try:
        return real_number(parameter, given)
    except InvalidParameter:
        raise InvalidParameter(parameter, rule, given) from None


def _scale(parameter: str, given: Any) -> Scale:
    """Return a scale, or the one described by its measures by name, or as in `Scale.settings`."""
    if isinstance(given, Scale):
        return given
    if not isinstance(given, Mapping):
        form = Form(
            "a holdfast.Scale, such as holdfast.Scale(latency=(0.2, 8.0))",
            'ranges by name, such as {"latency": [0.2, 8.0]}',
        )
        raise InvalidParameter(parameter, Words("must be ", form), given)
    measures = given.get("measures")
    if not isinstance(measures, Mapping):
        return Scale(**given)
    if "error" in measures or not all(isinstance(one, list) and len(one) == 3 for one in measures.values()):
        raise InvalidParameter("measures", "must be [low, high, share] by name", measures)
    scale = Scale.from_settings(given)
    if abs(math.fsum(share for *_, share in scale.measures.values()) - 1.0) > 1e-9:
        raise InvalidParameter("measures", "must have shares that add up to 1", measures)
    return scale


def _move_cost(parameter: str, given: Any) -> float | None:
    return None if given == "off" else real_number(parameter, given, least=0)


# ---- breakers: when an arm is paused that fails too often

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
    if not isinstance(given, Mapping):
        form = Form(
            "a holdfast.Breaker or False",
            'fields by name, such as {"failures": 5}, or false',
            "fields by name, such as failures=5,within=20, or off",
        )
        raise InvalidParameter(parameter, Words("must be ", form), given)
    return made(Breaker, "a breaker", given)


# ---- limits on what a policy may do: shares, the most that arms are drawn; and a budget of switches

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


# ---- settings


class SettingOptions(TypedDict, total=False):
    """The settings of a game as they are given, for editors and type checkers."""

    patience: timedelta | int | str | None
    missing: str | float | None
    remember: int | None
    keep: int | None
    scale: Scale | Mapping[str, Any] | None
    key_life: timedelta | str | None
    learn_after: int | None
    move_cost: float | str | None
    holdback: float | None
    breaker: Breaker | Mapping[str, Any] | Literal[False] | None
    share: Shares | Mapping[Any, Any] | None
    most_switches: Budget | Mapping[str, Any] | Sequence[Any] | None
    shadow: bool | None


@dataclass(frozen=True)
class Settings(Checked):
    """Settings of a game, as `holdfast.open` and `Router.change` take them.

    Parameters
    ----------
    patience
        Wait for losses after the call that handed out the last round of a block: a timedelta, a number of
        further rounds, ``"auto"`` (the default: three times as many rounds as losses are late on average or as are
        asked for at once, 50 at least; and three times as long as losses take, a minute at least) or ``"forever"``.
        While a policy waits for its losses no rounds pass: for it time alone counts. A loss that comes after that
        counts all the same, in place of what stood for it, and is ``late``.
    missing
        Stand-in for a loss that has not arrived in time: ``"highest"`` (the default: silence is a failure, until the
        loss comes after all), ``"mean"`` (of the block's losses; where there are none, of the arm's so far, else the
        middle of the range), a fixed loss, or ``"drop"`` (the rounds are ignored).
    remember
        Rounds of settled blocks whose losses are kept one by one, to tell a repeated loss from a new one;
        100,000 by default.
    keep
        Blocks whose rows are kept, for the history and the comparison; 100,000 by default. Older ones are in the totals
        and in the sums of their days (`History.days`).
    scale
        Scale that turns latency, price and the like into a loss, so that they can be reported as measured:
        ``router.tell(id, latency=1.3, price=0.004)``.
    key_life
        Time that a conversation (`Router.ask` with a key) may be idle before it ends, so that its next ask draws anew;
        an hour by default. Where it stays with its arm for a cache, as long as that lives.
    learn_after
        Rounds after which an open conversation is learnt from, once their losses are in; by default when it has
        ended. It is then judged by these rounds alone, and earlier.
    move_cost
        Cost of moving a conversation, in the units of a loss. It then leaves its arm where another is expected to
        save more than that in the turns to come, and at once where its arm is down or keeps failing. ``"off"``: never.
    holdback
        Share of blocks and conversations left to your own rule, such as 0.1, so that the two can be
        compared (`History.compare`). Pass the rule's choice to each ``ask(rule=arm)``. Nothing is learnt from these.
    breaker
        A `Breaker`: an arm that fails too often is paused, for all processes, and then tried again by one request.
        False for none, which is the default.
    share
        The most that some arms may be drawn, such as a new one: ``{"new": 0.05}``; or a ramp, ``{"new": (0.01, 0.5,
        "7d")}``, by equal factors in equal times. What is drawn beyond it goes to the arms without a share; there must
        be one. The whole of it is replaced; ``{}`` takes all shares away. See `Router.judge`.
    most_switches
        The most switches within any stretch of time: ``(10, "1d")``. At the limit the arm in use stays, unless it is
        down, and the policy learns what it lost. Conversations neither count nor stay. ``()`` takes it away.
    held_since
        Block after which blocks are comparable: since then the scale is unchanged. No setting: the rules set it.

    Examples
    --------
    >>> Settings(patience="1m").seconds
    60.0
    """

    patience: timedelta | int | str = option(  # noqa: RUF009
        "The wait for losses: rounds, such as 50, a time: 30s, 10m, 2h, 1d, auto or forever.",
        _patience,
        default=AUTO,
    )
    missing: str | float = option(
        "The stand-in for a loss that does not come: highest, mean, drop or a number.", _missing, default="highest"
    )
    remember: int = option(
        "Rounds of settled blocks whose single losses are kept.", partial(whole_number, least=0), default=REMEMBER
    )
    keep: int = option("Blocks whose rows are kept.", partial(whole_number, least=1), default=KEEP)
    scale: Scale | None = option(  # noqa: RUF009
        "Measures that make a loss: for each [low, high] or [low, high, weight], and as error the loss of a failure.",
        _scale,
        metavar="NAME=LO:HI:W",
    )
    key_life: timedelta = option(  # noqa: RUF009
        "The time that a conversation may be idle: 10m, 2h, 1d.", checked_duration, default=KEY_LIFE
    )
    learn_after: int | None = option(
        "Rounds after which a conversation is learnt from.", partial(whole_number, least=1)
    )
    move_cost: float | str | None = option(
        "The cost of moving a conversation, which leaves its arm where another saves more; off: never.", _move_cost
    )
    holdback: float = option(
        "The share of blocks and conversations by your own rule; 1 is a shadow.",
        partial(real_number, least=0, most=1),
        default=0.0,
    )
    breaker: Breaker | None = option(  # noqa: RUF009
        "When a failing arm is paused: failures, within, pause, most and level; off for never.", checked_breaker
    )
    share: Shares | None = option(  # noqa: RUF009
        "The most that each of some arms may be drawn: 0.05, or 0.01:0.5:7d, a ramp; empty for no shares.",
        checked_shares,
        metavar="ARM=SHARE",
    )
    most_switches: Budget | None = option(  # noqa: RUF009
        "The most switches within any stretch of time: 10,1d; empty for no limit.",
        checked_budget,
        metavar="N,TIME",
    )
    held_since: int = field(default=0, metadata=whole(least=0))

    seconds: float | None = field(init=False, repr=False, compare=False)
    """Patience as a time."""
    rounds: int | None = field(init=False, repr=False, compare=False)
    """Patience in rounds."""
    forever: bool = field(init=False, repr=False, compare=False)
    """True to wait without limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        patience = self.patience
        object.__setattr__(self, "seconds", patience.total_seconds() if isinstance(patience, timedelta) else None)
        object.__setattr__(self, "rounds", patience if isinstance(patience, int) else None)
        object.__setattr__(self, "forever", patience == FOREVER)

    def changed(self, policy: Policy, given: Mapping[str, Any]) -> Settings:
        """Return these settings with some replaced. Raise an error for one that is invalid, or not for the policy."""
        settings = replace(self, **given)
        if settings.share is not None:
            settings = replace(settings, share=settings.share.begun(self.share))
        settings.check_with(policy)
        return settings

    def check_with(self, policy: Policy) -> None:
        """Raise an error for a setting that does not go with the policy."""
        (low, high), missing, share = policy.bounds, self.missing, self.holdback
        if not isinstance(missing, str) and not low <= missing <= high:
            rule = f"must be 'highest', 'mean', 'drop' or a loss from {low:g} to {high:g}"
            raise InvalidParameter("missing", rule, missing)
        if self.scale is not None and policy.bounds != (0.0, 1.0):
            rule = (
                f"gives losses from 0 to 1, and those of {policy.label} have the units {policy.bounds}: leave units out"
            )
            raise InvalidParameter("scale", rule, self.scale)
        pairs = isinstance(getattr(policy, "switching_cost", None), tuple)
        if share and ((policy.waits_for_losses and not policy.full_information) or policy.announces or pairs):
            why = f"is told its {policy.announces}" if policy.announces else "waits for the losses of each draw"
            why = "has a cost for each pair of arms" if pairs else why
            raise InvalidParameter("holdback", f"is not for {policy.label}, which {why}", share)
        if self.move_cost is not None and policy.waits_for_losses:
            why = "which has no conversations: it waits for the losses of each draw"
            raise InvalidParameter("move_cost", f"is not for {policy.label}, {why}", self.move_cost)
        for name in ("move_cost", "breaker", "share", "most_switches") if share == 1.0 else ():
            if (given := getattr(self, name)) is not None:
                rule = "is not for a shadow, a holdback of 1: there your rule decides everything"
                raise InvalidParameter(name, rule, _plain(given))
        if self.rounds is not None and policy.waits_for_losses:
            rule = f"must be a time: {policy.label} waits for its losses, so no rounds pass meanwhile"
            raise InvalidParameter("patience", rule, self.rounds)
        if self.breaker is not None:
            self._check_breaker(self.breaker, policy)
        if self.share is not None:
            self._check_share(policy, self.share)

    def _check_breaker(self, breaker: Breaker, policy: Policy) -> None:
        (low, high), level = policy.bounds, breaker.level
        if policy.full_information:
            rule = f"is not for {policy.label}, which sees the losses of all arms, and so that one fails"
            raise InvalidParameter("breaker", rule, breaker.settings())
        if level is not None and not low < level <= high:
            rule = f"must have a level above {low:g} and at most {high:g}, the units of {policy.label}"
            raise InvalidParameter("breaker", rule, breaker.settings())

    def _check_share(self, policy: Policy, share: Shares) -> None:
        if not policy.knows_probabilities or policy.full_information:
            why = "sees the losses of all arms" if policy.full_information else "does not know its probabilities"
            raise InvalidParameter("share", f"is not for {policy.label}, which {why}", share.settings())
        if self.most_switches is not None:
            rule = "must be left out beside share: at the limit the arm in use stays, though it may have had its share"
            raise InvalidParameter("most_switches", rule, self.most_switches.settings())
        share.check_arms(policy.arms or range(policy.n_arms))

    def without_share(self, arms: Iterable[str]) -> Settings:
        """Return these settings without the shares of arms that are retired."""
        return self if self.share is None else replace(self, share=self.share.without(arms))

    def plain(self) -> dict[str, Any]:
        """Return the settings as JSON values, from which they can be made again: times as text, such as ``60.0s``."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self) if one.init}


SETTINGS = tuple(options_of(Settings))
"""Names of the settings that users give."""


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return written_duration(value)
    return value.settings() if hasattr(value, "settings") else value


def given_settings(call: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among the options of a call that were given; a shadow is a holdback of 1."""
    check_known(call, options, (*SETTINGS, "shadow"))
    given = {name: value for name, value in options.items() if value is not None}
    shadow = given.pop("shadow", None)
    if shadow is None:
        return given
    if not isinstance(shadow, bool) or "holdback" in given:
        raise InvalidParameter("shadow", Words("must be ", TRUTH, ", and is not given along with holdback"), shadow)
    return {**given, "holdback": float(shadow)}
