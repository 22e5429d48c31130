"""Settings of a game: patience, substitutes for missing losses, how many losses are kept, its scale."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import partial
from secrets import token_hex
from time import time_ns
from typing import Any, Literal, NamedTuple, TypedDict

from holdfast.checks import real_number, whole, whole_number
from holdfast.decisions.breaker import Breaker, checked_breaker
from holdfast.decisions.limits import Budget, Shares, checked_budget, checked_shares
from holdfast.decisions.models import MOST_COUNT, Block, Decision, Game, Head, Loss, undamaged
from holdfast.decisions.moves import Recent
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
from holdfast.errors import (
    DURATION,
    TRUTH,
    BadStore,
    Call,
    Form,
    InvalidParameter,
    NoArmAvailable,
    UnknownDecision,
    Words,
    nearest,
)
from holdfast.numerics.layout import Layout
from holdfast.numerics.scales import Scale
from holdfast.numerics.schedules import LONGEST
from holdfast.numerics.sums import exact_sum
from holdfast.players.game import Game as Learner
from holdfast.policies.policy import Policy

REMEMBER = 100_000
"""Default number of rounds of settled blocks whose losses are kept one by one."""

KEEP = 100_000
"""Default number of blocks whose rows are kept."""

KEY_LIFE = timedelta(hours=1)
"""Default idle time of a conversation."""

FAR_AHEAD = 600.0
"""Seconds by which one call may move a game's time without being doubted."""

MISSING = ("highest", "mean", "drop")

AUTO, FOREVER = "auto", "forever"

LEAST_PATIENCE, LEAST_SECONDS, TIMES, WINDOW = 50.0, 60.0, 3.0, 1000
"""``"auto"``: `TIMES` the mean lateness of about the last `WINDOW` losses, in rounds and in seconds; both must pass.

At least `LEAST_PATIENCE` rounds, and as many times those asked at once; at least `LEAST_SECONDS`.

docs/measurements/decisions.md has the measurements.
"""


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
    >>> Settings(patience="1m").due(clock=1000.0, asked=5)
    1060.0
    """

    patience: timedelta | int | str = option(  # noqa: RUF009
        "How long to wait for losses: rounds, such as 50, a time: 30s, 10m, 2h, 1d, auto or forever.",
        _patience,
        default=AUTO,
    )
    missing: str | float = option(
        "What a loss that does not come counts as: highest, mean, drop or a number.", _missing, default="highest"
    )
    remember: int = option(
        "Rounds of settled blocks whose single losses are kept.", partial(whole_number, least=0), default=REMEMBER
    )
    keep: int = option("Blocks whose rows are kept.", partial(whole_number, least=1), default=KEEP)
    scale: Scale | None = option(  # noqa: RUF009
        "How measures become a loss: for each [low, high] or [low, high, weight], and as error the loss of a failure.",
        _scale,
        metavar="NAME=LO:HI:W",
    )
    key_life: timedelta = option(  # noqa: RUF009
        "How long a conversation may be idle: 10m, 2h, 1d.", checked_duration, default=KEY_LIFE
    )
    learn_after: int | None = option(
        "Rounds after which a conversation is learnt from.", partial(whole_number, least=1)
    )
    move_cost: float | str | None = option(
        "What moving a conversation costs: it leaves its arm where another saves more; off: never.", _move_cost
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

    def due(self, clock: float, asked: int) -> float | None:
        """Return when a block runs out of patience if this call handed out its last round.

        A patience that follows lateness is added when the block is checked: `overdue`.
        """
        if self.seconds is not None:
            return clock + self.seconds
        return None if self.forever else float(asked + (self.rounds or 0))

    def overdue(self, clock: float, head: Head, asked: int, waits: bool) -> tuple[float, float]:
        """Return the largest `due` and the largest `last` of a block that has run out of patience.

        `asked` rounds are asked for at once. A policy that `waits` for its losses asks none meanwhile: time counts.
        """
        if self.seconds is not None or self.rounds is not None:
            return (float(head.asked) if self.seconds is None else clock), math.inf
        if not head.heard:
            return -math.inf, -math.inf
        rounds = 0.0 if waits else max(long_wait(head), TIMES * asked)
        return head.asked - rounds, clock - max(LEAST_SECONDS, TIMES * head.delay)

    def plain(self) -> dict[str, Any]:
        """Return the settings as JSON values, from which they can be made again: times as text, such as ``60.0s``."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self) if one.init}


SETTINGS = tuple(options_of(Settings))
"""Names of the settings that users give."""


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return written_duration(value)
    return value.settings() if hasattr(value, "settings") else value


def long_wait(head: Head) -> float:
    """Return the rounds after which a missing loss is no longer expected, by the lateness seen."""
    return max(LEAST_PATIENCE, TIMES * head.lateness) if head.heard else math.inf


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


def stand_in_for(missing: str | float, block: Block, usual: float, highest: float) -> float | None:
    """Return the substitute for each missing loss of a block; None if its round is dropped.

    `usual` is the mean of the arm so far, for a block without any loss; `highest` the highest that it can have.
    """
    if missing == "drop":
        return None
    if missing == "mean":
        return math.fsum(block.losses) / block.told if block.told else usual
    return highest if missing == "highest" else float(missing)


# What a game plays, and what it has learnt.


@dataclass(frozen=True)
class Setup:
    """Policy and settings of a game, as its row says."""

    game: Game
    policy: Policy
    settings: Settings
    names: tuple[int | str, ...]
    """All arms that ever existed."""
    active: tuple[int, ...]
    """Arms that are not retired; the policy's arm i is `active[i]`."""
    since: tuple[int, ...]
    """For each arm, the block after which it was re-added; earlier ones are not learnt from."""
    paused: tuple[tuple[int, float], ...]
    """Paused arms with their ends."""
    pin: tuple[int, float] | None
    """The pinned arm and its end."""
    ids: Ids
    bounds: tuple[float, float]
    """Range of a loss, unless announced with a block."""
    announces: str | None
    """Announcement the policy needs at the start of a block."""
    sees_all: bool
    """True for a full-information policy."""
    follows_lateness: bool
    """True if patience depends on the lateness seen."""
    state_layout: Layout
    block_layout: Layout

    def name_of(self, arm: int) -> int | str:
        """Return an arm's name, or its number where arms have none."""
        if not 0 <= arm < len(self.names):
            raise BadStore(f"the store is damaged: game {self.game.name!r} has no arm {arm}")
        return self.names[arm]

    def bounds_of(self, block: Block | None) -> tuple[float, float]:
        """Return the range of a block's losses; for an unknown block, that of the game."""
        return self.bounds if block is None or block.bound is None else (0.0, block.bound)

    def decisions(self, block: Block, rounds: range, at: float) -> list[Decision]:
        """Return the decisions for rounds of a block handed out together."""
        name, probability, id_of, number = self.name_of(block.arm), block.probability, self.ids.id_of, block.number
        if not block.played:
            return [Decision(id_of(number, round), name, probability, number, at) for round in rounds]
        by = players_of(block, rounds.stop)
        return [Decision(id_of(number, r), self.name_of(by[r][0]), by[r][1], number, at) for r in rounds]

    def arm_of(self, parameter: str, name: object) -> int:
        """Return the number of an arm that can be drawn. Raise an error if there is none of this name."""
        known = {self.names[arm]: arm for arm in self.active}
        if name not in list(known):  # whatever it is
            raise self.no_arm(parameter, name)
        return known[name]

    def no_arm(self, parameter: str, name: object) -> InvalidParameter:
        """Return the error for what is no arm that can be drawn."""
        known = [self.names[arm] for arm in self.active]
        rule = f"must be an arm of the game, {', '.join(map(repr, known))}{nearest(str(name), map(str, known))}"
        return InvalidParameter(parameter, rule, name)

    def down(self, clock: float, available: Collection[int | str] | None) -> frozenset[int]:
        """Return the policy's arms that are unavailable now. Raise an error if none is left."""
        down = {arm for arm, until in self.paused if until > clock and arm in self.active}
        if available is not None:
            known = [self.names[arm] for arm in self.active]
            for name in available:
                if name not in known:
                    raise self.no_arm("available", name)
            down |= {arm for arm in self.active if self.names[arm] not in available}
        if len(down) == len(self.active):
            raise NoArmAvailable(Words("no arm can be played: all are paused or not available; use ", Call("resume")))
        return frozenset(down)

    def learns_from(self, block: Block) -> bool:
        """Return True if the policy drew the block and still has its arm."""
        return not block.forced and self.plays(block)

    def plays(self, block: Block) -> bool:
        """Return True if the block's arm has not been retired since."""
        return block.arm in self.active and block.number > self.since[block.arm]


def assigned(block: Block) -> tuple[int, float]:
    """Return the arm that plays a block while no arm is down, and its probability."""
    if block.played.startswith(f"[[0, {MOST_COUNT}, "):
        with undamaged(f"block {block.number}"):
            _, _, arm, probability = json.loads(block.played)[0]
            return int(arm), float(probability)
    return block.arm, block.probability


def odds_of(block: Block) -> dict[int, float]:
    """Return the probabilities with which a block was given to each arm; empty unless there were shares."""
    with undamaged(f"block {block.number}"):
        return {int(arm): float(p) for arm, p in json.loads(block.odds)["given"].items()} if block.odds else {}


def stretches_of(block: Block) -> list[tuple[int, int, int, float]]:
    """Return the rounds that other arms played: first round, count, arm, its probability."""
    with undamaged(f"block {block.number}"):
        found = json.loads(block.played or "[]")
        return [(int(first), int(count), int(arm), float(probability)) for first, count, arm, probability in found]


def players_of(block: Block, handed: int) -> list[tuple[int, float]]:
    """Return for each round handed out the arm that plays it and its probability."""
    by = [(block.arm, block.probability)] * handed
    for first, count, arm, probability in stretches_of(block):
        by[first : min(first + count, handed)] = [(arm, probability)] * (min(first + count, handed) - first)
    return by


class Move(NamedTuple):
    """A conversation leaves its arm."""

    round: int
    """The first at the new arm, from 0."""
    arm: int
    reason: str
    """``down``, ``failing`` or ``gain``."""


def moves_of(block: Block) -> list[Move]:
    """Return the moves of a conversation."""
    with undamaged(f"block {block.number}"):
        return [Move(int(round), int(arm), str(reason)) for round, arm, reason in json.loads(block.moves or "[]")]


def player_of(block: Block, round: int) -> tuple[int, float]:
    """Return the arm that plays a round, and its probability."""
    for first, count, arm, probability in reversed(stretches_of(block)):
        if first <= round < first + count:
            return arm, probability
    return block.arm, block.probability


@dataclass
class ArmSums:
    """Sums of one arm so far, without open blocks."""

    blocks: int = 0
    rounds: int = 0
    told: int = 0
    losses: list[float] = field(default_factory=list)
    stood_in: list[float] = field(default_factory=list)
    """Parts of the exact sum of substitutes for missing losses."""
    dropped: int = 0
    """Rounds without a loss that were not counted."""
    squares: float = 0.0
    """Sum of the squares of the losses."""
    switches: int = 0
    """Changes of arm to this one."""
    last_used: float | None = None
    """Start time of its latest block."""

    def add(self, part: Part, block: Block) -> None:
        """Add its part of a settled block."""
        self.blocks += 1
        self.rounds += part.rounds
        self.told += part.told
        self.losses = exact_sum([*self.losses, *part.losses])
        self.squares += part.squares
        missing = part.rounds - part.told
        if missing:
            self._stand_in(missing, block.stand_in)
        self.last_used = block.began if self.last_used is None else max(self.last_used, block.began)

    def hear(self, loss: float, stand_in: float | None) -> None:
        """Count a late loss in place of what stood for it."""
        self.told += 1
        self.losses = exact_sum([*self.losses, loss])
        self.squares += loss * loss
        self._stand_in(-1, stand_in)

    def _stand_in(self, rounds: int, stand_in: float | None) -> None:
        if stand_in is None:
            self.dropped += rounds
        else:
            self.stood_in = exact_sum([*self.stood_in, rounds * stand_in])


class Part(NamedTuple):
    """Rounds of a block played by one arm."""

    rounds: int
    told: int
    losses: Sequence[float]
    squares: float


def parts_of(block: Block, handed: int, losses: Callable[[], Iterable[Loss]]) -> dict[int, Part]:
    """Return each arm's part of a block so far. `losses` is called only if there are several arms."""
    if not block.played:
        return {block.arm: Part(handed, block.told, block.losses, block.squares)}
    by = players_of(block, handed)
    lost = {loss.round: loss.loss for loss in losses()}
    parts = {}
    for player in {arm for arm, _ in by}:
        rounds = [n for n in range(handed) if by[n][0] == player]
        told = [lost[n] for n in rounds if n in lost]
        parts[player] = Part(len(rounds), len(told), exact_sum(told), math.fsum(loss * loss for loss in told))
    return parts


@dataclass
class State:
    """Learnt state: the policy's numbers and stream, and sums per arm. Changes once per block."""

    learner: Learner
    arms: list[ArmSums]
    day: int = 0
    """Day of the latest settlement, counted from 1970; 0 before the first."""
    recent: list[Recent] = field(default_factory=list)
    """Latest losses of each arm in conversations that may move; empty without such."""
    ended: int = 0
    """Conversations that might have moved and have ended."""
    turns: int = 0
    """Their turns."""
    moves: int = 0
    """Moves of conversations."""
    switched: list[float] = field(default_factory=list)
    """Times of the latest switches, where there is a budget of them."""

    def recently(self) -> list[Recent]:
        """Return the latest losses of each arm in conversations that may move, for changing."""
        self.recent += [Recent() for _ in range(len(self.arms) - len(self.recent))]
        return self.recent

    def count_conversation(self, turns: int) -> None:
        """Count the turns of a conversation that has ended."""
        self.ended, self.turns = self.ended + 1, self.turns + turns

    def turns_to_come(self, had: int) -> float:
        """Return how many turns a conversation that had so many is expected to have yet."""
        return max(float(had), self.turns / self.ended if self.ended else 0.0)


# Ids of decisions and names: storable, and ids unguessable.

RULE = Words("must be the id of a decision, as ", Call("ask"), " gave it")


def no_id(given: object) -> InvalidParameter:
    """Return the error for what is no text; a whole decision has its id."""
    return InvalidParameter("id", Words(RULE, ": its `.id`") if isinstance(given, Decision) else RULE, given)


NOT_RECORDED = Words("was not recorded: there was no decision, and ", Call("ask"), " answered with its fallback")

UNRECORDED = "unrecorded"
"""Id prefix of decisions that no store has."""


class Ids:
    """Signed ids of one game's decisions: each names a block and a round, counted from 0.

    >>> ids = Ids("a1", "secret")
    >>> ids.parse(ids.id_of(12, 3))
    (12, 3)
    """

    def __init__(self, uid: str, secret: str) -> None:
        self._uid = uid
        self._signing = hashlib.blake2b(key=secret.encode(), digest_size=8)

    def id_of(self, block: int, number: int) -> str:
        """Return the id of a round of a block."""
        signing = self._signing.copy()
        signing.update(b"%d-%d" % (block, number))
        return f"{self._uid}-{block}-{number}-{signing.hexdigest()}"

    def parse(self, text: object) -> tuple[int, int]:
        """Return the block and round of an id. Raise an error unless this game signed it."""
        if not isinstance(text, str):
            raise no_id(text)
        parts = text.split("-") if text.isascii() else []
        if parts[:1] == [UNRECORDED]:
            raise UnknownDecision(text, NOT_RECORDED)
        if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
            raise UnknownDecision(text, RULE)
        uid, block, number, signature = parts
        if uid != self._uid:
            raise UnknownDecision(text, "is another game's")
        signing = self._signing.copy()
        signing.update(f"{block}-{number}".encode())
        if not hmac.compare_digest(signature, signing.hexdigest()):
            raise UnknownDecision(text, "was never handed out by this game")
        return int(block), int(number)


def new_request() -> str:
    """Return a unique request name. Later ones sort later, so that an index of them grows at its end.

    >>> new_request() < new_request()
    True
    """
    return f"{time_ns():016x}{token_hex(4)}"


def checked_name(parameter: str, name: object) -> str:
    """Return the name of a game or request if a store can keep it and a terminal can show it."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidParameter(parameter, "must be a name of 1 to 200 printable characters", name)
    return name


def checked_arm(parameter: str, name: str) -> str:
    """Return the name of an arm: any text that a store can keep."""
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidParameter(parameter, "must be text that can be stored: no NUL, no half of a surrogate pair", name)
    return name
