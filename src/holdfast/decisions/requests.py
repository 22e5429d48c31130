"""Calls on a game as values: one class for each, shared by the router, HTTP, the client and the shell.

`Router.ask(**options)` makes an `Ask`, the service decodes its body into one, the shell has an option for each of its
fields (`options.py`). `rules.TRANSITIONS` has the rule for each class.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from math import isfinite
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypedDict

from holdfast.checks import different_names, real_number, whole_number
from holdfast.decisions.game import Setup, player_of
from holdfast.decisions.models import Block
from holdfast.decisions.options import Checked, checked_arm, checked_duration, checked_name, given, option
from holdfast.errors import MOMENT, TRUTH, Form, HoldfastError, InvalidParameter, Set, Words, nearest
from holdfast.policies.policy import Policy, outside_range

MOST_AT_ONCE = 100_000
"""Largest number of decisions in one call."""

MOST_DEADLINE = 1e6
"""Longest deadline in seconds; beyond it, leave the deadline out."""


class Request:
    """A call on a game."""

    places: ClassVar[Sequence[tuple[int, int]]] = ()
    """Blocks and rounds whose rows the request needs."""


def content_of(request: Any) -> str:
    """Return a digest of a call with an idempotency key, apart from that."""
    said = {name: value for name, value in given(request).items() if name != "request"}
    if said.get("available") is not None:
        said["available"] = sorted(map(str, said["available"]))
    return hashlib.blake2b(json.dumps(said, sort_keys=True, default=_written_plain).encode(), digest_size=8).hexdigest()


def _written_plain(value: Any) -> Any:
    """Convert a value that JSON does not know."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, Collection) else str(value)


# ---- checks


def _arms(parameter: str, value: Any) -> Collection[int | str]:
    if isinstance(value, str) or not isinstance(value, Collection):
        raise InvalidParameter(parameter, "must be a list of arms", value)
    return value


def _new_names(parameter: str, arms: object) -> tuple[str, ...]:
    listed = arms if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable) else list(arms)
    return tuple(checked_arm(parameter, name) for name in different_names(parameter, listed))


def _by_arm(parameter: str, losses: Any) -> Any:
    if isinstance(losses, Mapping):
        return losses
    if isinstance(losses, (str, bytes)) or not isinstance(losses, Iterable):
        raise InvalidParameter(parameter, "must be numbers by arm, or in the order of the arms", losses)
    return list(losses)


def _with_zone(parameter: str, value: Any) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidParameter(parameter, Words("must be ", MOMENT), value)
    return value


def checked_deadline(parameter: str, seconds: Any) -> float:
    """Return a deadline in seconds, checked."""
    return real_number(parameter, seconds, above=0, most=MOST_DEADLINE)


# ---- ask


class AskOptions(TypedDict, total=False):
    """The fields of `Ask`, for editors and type checkers."""

    request: str | None
    switching_cost: float | None
    loss_bound: float | None
    available: Collection[int | str] | None
    key: str | None
    move_cost: float | None
    key_life: timedelta | str | None
    rule: int | str | None
    forecast: Any
    fallback: int | str | None
    deadline: float | None


@dataclass(frozen=True)
class Ask(Checked, Request):
    """The next decision, or the next n: of this block, then of the next ones.

    Parameters
    ----------
    n
        Number of decisions. There are fewer only if the policy waits for the losses of one block before the next.
    request
        An idempotency key: a name of this call, unique among all asks. If the answer was lost, the same call with the
        same name gets the same decisions, for as long as their losses are kept one by one (`remember`). Another ask
        under it is refused (`OtherRequest`).
    switching_cost, loss_bound
        Announcement at the start of a block (`policy.announces`), for blocks that begin in this call.
    available
        The arms that can be played now; without it, all that are not paused (`pause`). While the arm of the block is
        not among them, the most likely other one is played, and the block learns what that one lost.
    key
        A conversation: its first ask draws an arm, later ones stay with it, until `end(key)` or for as long as it is
        not idle for longer than `key_life`. It is learnt from when it has ended, or after `learn_after` rounds, by the
        mean of its losses, while others go on. Changing arms between conversations costs nothing, so λ = 0 fits.
    move_cost, key_life
        Cost of moving this conversation now, and how long it may be idle after this ask, instead of the game's
        settings (`holdfast.open`). A cost makes it leave its arm where that pays.
    rule
        The arm that your own rule chooses now: it is played where the block or the conversation is the rule's
        (`holdback`, `shadow`), or followed under a guard (`Guarded`). A conversation stays with the arm of its first
        ask. A block or a conversation that begins without it is the policy's, and is left out of the comparison.
    forecast
        Losses expected in this and the next rounds, for a policy that sees those of all arms: as in
        `FullInformationPlayer.ask`.
    fallback
        The arm to answer with when the store fails, or does not answer within the deadline, or no arm is available, or
        the policy waits for the losses of its last block.
        Such a decision is not recorded (`Decision.recorded` is False): its loss cannot be reported, and nothing is
        learnt from it.
    deadline
        Seconds within which there is an answer: a decision, the fallback, or a `StoreError` without one.

    Examples
    --------
    >>> Ask(n=2, key="chat 7").key
    'chat 7'
    """

    n: int = option("The number of decisions.", partial(whole_number, least=1, most=MOST_AT_ONCE), default=1)
    request: str | None = option("Idempotency key: the same key gets the same decisions.", checked_name, metavar="KEY")
    switching_cost: float | None = option("λ of the blocks that begin now, for a policy that is told it.")
    loss_bound: float | None = option("Highest loss in the blocks that begin now, for a policy that is told it.")
    available: Collection[int | str] | None = option("The arms that can be played now; all that are not paused.", _arms)
    key: str | None = option("The conversation that it belongs to; it stays with its arm.", checked_name)
    move_cost: float | None = option("The cost of moving the conversation now.", partial(real_number, least=0))
    key_life: timedelta | str | None = option(  # noqa: RUF009
        "The time that the conversation may be idle now: 10m, 2h, 1d.", checked_duration
    )
    rule: int | str | None = option("The arm that your own rule chooses, with a holdback or a guard.")
    forecast: Any = option("Losses expected, by arm or in rows, for a policy that sees them all.")  # noqa: RUF009
    fallback: int | str | None = option("The arm to answer with when the store gives none.", local=True)
    deadline: float | None = option("Seconds within which there is an answer.", checked_deadline, local=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("move_cost", "key_life") if self.key is None else ():
            if (value := getattr(self, name)) is not None:
                raise InvalidParameter(name, "is for a conversation: give its key", value)


ONE = Ask()
"""By far the most frequent request."""


# ---- reports of losses: a loss, a reward, an error, or measurements


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


Report = tuple[str, int, int, float | Outcome | AllLosses]
"""The outcome of a round: id, block, round, its loss or what becomes one."""


@dataclass(frozen=True)
class Tell(Request):
    """The losses of decisions; some may have been refused before the store is asked."""

    reports: Sequence[Report | HoldfastError]
    places: Sequence[tuple[int, int]] = ()  # type: ignore[misc]
    one: bool = False
    """True if the answer is that to the only report, instead of a list."""


@dataclass(frozen=True)
class Observe(Checked, Request):
    """The losses of all arms in a round without a decision."""

    losses: Any = option("By arm, or in the order of the arms.", _by_arm, default=MISSING)  # noqa: RUF009
    at: datetime | None = option("When, such as 2026-03-01T12:00:00Z.", _with_zone)  # noqa: RUF009
    switching_cost: float | None = option("λ of the round, where it is announced.")
    request: str | None = option("Idempotency key: the same call again changes nothing.", checked_name, metavar="KEY")
    clip: bool = option("Bring losses into their range.", default=False)


@dataclass(frozen=True)
class End(Checked, Request):
    """End a conversation."""

    key: str = option("The conversation.", checked_name, default=MISSING)


@dataclass(frozen=True)
class Settle(Request):
    """Settle the blocks whose patience has run out, and end conversations that were idle for too long."""


# ---- changes


@dataclass(frozen=True)
class Change(Checked, Request):
    """Continue with other settings; some may only be compared."""

    switching_cost: float | None = option("Another λ.", partial(real_number, least=0))
    add_arms: tuple[str, ...] = option("New arms.", _new_names, default=())
    retire_arms: tuple[str, ...] = option("Arms that shall not be played again.", _new_names, default=())
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings to change, as `given_settings` returns them."""
    policy: Policy | None = None
    """Policy that the game must have afterwards."""
    compared: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the game must have afterwards."""
    reason: str | None = option("Why; kept in the history.", checked_name)

    @property
    def changes_something(self) -> bool:
        """True if anything is to be changed."""
        return self.switching_cost is not None or bool(self.add_arms or self.retire_arms or self.settings)


@dataclass(frozen=True)
class SetAvailability(Checked, Request):
    """Pause or pin an arm until a time, resume it, or take back the pin."""

    kind: str
    """``pause``, ``resume``, ``pin`` or ``unpin``."""
    arm: int | str | None = None
    until: datetime | timedelta | str | None = None
    reason: str | None = option("Why; kept in the history.", checked_name)


@dataclass(frozen=True)
class Compact(Checked, Request):
    """Remove settled blocks but for the last `keep`, at most so many."""

    keep: int = option("Blocks to keep.", partial(whole_number, least=0), default=MISSING)
    most: int = 1000
