"""Settings of a game that exists: what differs from those asked for, and how some of them are changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.checks import address_of, real_number
from holdfast.decisions.codec import Arm, availability_text, changed_game, setup_of, undamaged
from holdfast.decisions.core import View, arm_of, earliest, expire, settle
from holdfast.decisions.ids import checked_arm
from holdfast.decisions.models import Change, Game, new_token
from holdfast.decisions.settings import ArmSums, Settings, Setup, State
from holdfast.errors import HoldfastError, InvalidParameter, OtherSettings
from holdfast.players.game import Game as Learner
from holdfast.players.saves import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import find_policy


class Wish(NamedTuple):
    """Settings that somebody wants: some to be changed, others only compared."""

    switching_cost: float | None = None
    add_arms: tuple[str, ...] = ()
    retire_arms: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    """To be changed."""
    policy: Policy | None = None
    """What the game must play afterwards."""
    compared: Mapping[str, Any] = {}
    """Settings that it must have afterwards."""
    reason: str | None = None

    @property
    def changes_something(self) -> bool:
        """Whether anything is to be changed."""
        return self.switching_cost is not None or bool(self.add_arms or self.retire_arms or self.settings)


def wish(switching_cost: object, add_arms: object, retire_arms: object, **others: Any) -> Wish:
    """A wish, checked as far as it can be without the game."""
    cost = None if switching_cost is None else real_number("switching_cost", switching_cost, least=0)
    return Wish(cost, _names("add_arms", add_arms), _names("retire_arms", retire_arms), **others)


def _names(parameter: str, arms: object) -> tuple[str, ...]:
    rule = "must be a list of different names"
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable):
        raise InvalidParameter(parameter, rule, arms)
    names = tuple(arms)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidParameter(parameter, rule, list(names))
    return tuple(checked_arm(parameter, name) for name in names)


# ---- what differs


def check_same_class(game: Game, policy: Policy) -> None:
    """An error unless the game is played by a policy of the same class."""
    with undamaged(f"the settings of game {game.name!r}"):
        stored = str(json.loads(game.policy)["policy"]["policy"])
        given = address_of(policy)
        same = stored == given if ":" in stored + given else find_policy(stored)[0] is type(policy)
    if not same:
        raise OtherSettings(game.name, {"policy": (stored, given)})


def difference(setup: Setup, policy: Policy | None, compared: Mapping[str, Any]) -> OtherSettings | None:
    """An error if the game has other settings than those given."""
    found: dict[str, tuple[Any, Any]] = {}
    changes: dict[str, object] = {}
    if policy is not None:
        stored, given = _plain(setup.policy), _plain(policy)
        for name in dict.fromkeys([*stored, *given]):
            if stored.get(name) != given.get(name):
                found[name] = (stored.get(name), given.get(name))
        if "arms" in found and all(isinstance(arms, list) for arms in found["arms"]):
            changes |= _changed_arms(*found["arms"], found)
        if "switching_cost" in found:
            changes["switching_cost"] = found["switching_cost"][1]
    wanted = setup.settings.changed(setup.policy, compared)
    for name in compared:
        if getattr(wanted, name) != getattr(setup.settings, name):
            found[name] = (str(getattr(setup.settings, name)), str(getattr(wanted, name)))
            changes[name] = None
    return OtherSettings(setup.game.name, found, changes) if found else None


def _plain(policy: Policy) -> dict[str, Any]:
    """Settings as JSON carries them; with named arms their number says nothing more."""
    content = described(policy)
    settings: dict[str, Any] = json.loads(json.dumps({**content["policy"], "functions": content["functions"]}))
    if "arms" in settings:
        settings.pop("n_arms", None)
    return settings


def _changed_arms(stored: list[str], given: list[str], found: dict[str, tuple[Any, Any]]) -> dict[str, object]:
    new = [name for name in given if name not in stored]
    gone = [name for name in stored if name not in given]
    if not new and not gone:  # another order: names tell arms apart, so nothing differs
        del found["arms"]
    return {name: arms for name, arms in (("add_arms", new), ("retire_arms", gone)) if arms}


# ---- changing


def change(view: View, again: bool, *, wanted: Wish, now: float) -> HoldfastError | None:
    """Continue with other settings; a no-op if nothing is changed by it."""
    before = view.setup
    try:
        policy, arms = _changed_policy(before, wanted, view.head.block)
        settings = before.settings.changed(policy, wanted.settings)
        if _costs(policy, settings) != _costs(before.policy, before.settings):
            settings = replace(settings, held_since=view.head.block)
        after = before
        if policy != before.policy or settings != before.settings:
            gone = {number for number, (_, retired, _) in enumerate(arms) if retired}
            paused = [(arm, end) for arm, end in before.paused if arm not in gone]
            pin = None if before.pin is None or before.pin[0] in gone else before.pin
            game = changed_game(before, policy, settings, arms)._replace(availability=availability_text(paused, pin))
            after = setup_of(game, policy)
    except InvalidParameter as refusal:
        return refusal
    other = difference(after, wanted.policy, wanted.compared)
    if other is not None or after is before:
        return other
    expire(view, again, now=now)
    for arm in before.active:
        if arm not in after.active:
            _retire(view, arm)
    if settings.patience != before.settings.patience:
        _restart_patience(view, settings)
    if policy != before.policy:
        _change_policy(view, after)
    view.go_on_with(after)
    view.events.changes.append(Change(view.head.clock, "settings", _detail(before, after), wanted.reason))
    return None


def stand(
    view: View, again: bool, *, kind: str, arm: int | str | None, until: float, reason: str | None, now: float
) -> HoldfastError | None:
    """``pause`` or ``pin`` an arm until a time; ``resume`` or ``unpin`` it; a no-op if it is so already."""
    expire(view, again, now=now)
    setup, clock = view.setup, view.head.clock
    number = -1
    if kind != "unpin":
        try:
            number = arm_of("arm", setup, arm)
        except InvalidParameter as refusal:
            return refusal
    paused = {one: end for one, end in setup.paused if end > clock and one in setup.active}
    pin = setup.pin if setup.pin is not None and setup.pin[1] > clock else None
    before = dict(paused), pin
    if kind == "unpin":
        pin = None
    elif kind == "pin":
        pin = number, until
    elif kind == "resume":
        paused.pop(number, None)
    else:
        paused[number] = until
    if len(paused) == len(setup.active):
        return InvalidParameter("arm", "must leave an arm to play: all others are paused", arm)
    if (paused, pin) == before:
        return None
    text = availability_text(sorted(paused.items()), pin)
    game = setup.game._replace(availability=text, settings_version=new_token())
    view.go_on_with(replace(setup, game=game, paused=tuple(sorted(paused.items())), pin=pin))
    detail = json.dumps({"arm": arm, "until": None if until == math.inf else until})
    view.events.changes.append(Change(clock, kind, detail, reason))
    return None


def _costs(policy: Policy, settings: Settings) -> tuple[object, ...]:
    """What must stay the same while a policy and a rule are compared."""
    return getattr(policy, "switching_cost", None), settings.scale, settings.holdback


def _detail(before: Setup, after: Setup) -> str:
    """What was changed, as JSON: what it was and what it is."""
    pairs: dict[str, list[Any]] = {}
    for was, now in ((_plain(before.policy), _plain(after.policy)), (before.settings.plain(), after.settings.plain())):
        pairs |= {name: [was.get(name), now.get(name)] for name in {**was, **now} if was.get(name) != now.get(name)}
    pairs.pop("held_since", None)
    return json.dumps(pairs)


def _changed_policy(setup: Setup, wanted: Wish, block: int) -> tuple[Policy, list[Arm]]:
    """The policy afterwards, and all arms; those that were retired come back after `block`."""
    policy = setup.policy
    if wanted.switching_cost is not None:
        if not hasattr(policy, "switching_cost"):
            rule = f"is not a parameter of {policy.label}, which cannot change it"
            raise InvalidParameter("switching_cost", rule, wanted.switching_cost)
        policy = replace(policy, switching_cost=wanted.switching_cost)  # type: ignore[call-arg]  # it has one
    names: list[str | None] = [name if isinstance(name, str) else None for name in setup.names]
    retired = {name for number, name in enumerate(names) if number not in setup.active}
    since = dict(zip(names, setup.since, strict=True)) | {name: block for name in wanted.add_arms if name in retired}
    if not wanted.add_arms and not wanted.retire_arms:
        known = zip(names, setup.since, strict=True)
        return policy, [(name, number not in setup.active, at) for number, (name, at) in enumerate(known)]
    if policy.arms is None:
        raise InvalidParameter("arms", "must have names to be added or retired", None)
    for name in wanted.retire_arms:
        if name not in names or name in wanted.add_arms:
            raise InvalidParameter("retire_arms", f"must be arms of the game, {list(policy.arms)}", name)
    names += [name for name in wanted.add_arms if name not in names]
    gone = {*wanted.retire_arms, *(name for name in retired if name not in wanted.add_arms)}
    arms = [(name, name in gone, since.get(name, 0)) for name in names]
    left = [str(name) for name, is_gone, _ in arms if not is_gone]
    if not left:
        raise InvalidParameter("retire_arms", "must leave an arm to play", list(wanted.retire_arms))
    return replace(policy, n_arms=0, arms=left), arms


def _retire(view: View, arm: int) -> None:
    """Hand out no more rounds of this arm: its current block ends with those handed out, without the policy."""
    head = view.head
    if head.arm != arm or head.handed == head.rounds:
        return
    due = view.setup.due(head.clock, head.asked)
    block = view.block(head.current)._replace(rounds=head.handed, due=due)
    view.change(block)
    view.head = head._replace(rounds=head.handed, next_due=earliest(due, head.next_due))
    if block.told == block.rounds:
        view.setup = _without(view.setup, arm)
        settle(view, block, head.clock)


def _without(setup: Setup, arm: int) -> Setup:
    """The same, with an arm that the policy does not hear of any more."""
    return replace(setup, active=tuple(-1 if other == arm else other for other in setup.active))


def _restart_patience(view: View, settings: Settings) -> None:
    """Another patience: for blocks that are open it begins now."""
    head = view.head
    due = settings.due(head.clock, head.asked) if settings.waits_in(view.setup.policy) else None
    for block in view.reads.blocks("open"):
        block = view.blocks.get(block.number, block)
        whole = block.number != head.current or head.handed == head.rounds
        if whole and block.settled_order is None and not block.live:
            view.change(block._replace(due=due))
    view.head = head._replace(next_due=due)


def _change_policy(view: View, after: Setup) -> None:
    """Carry over what was learnt: arm i of the policy is arm kept[i] of the one before, or new."""
    before, state, head = view.setup, view.state(), view.head
    kept = [before.active.index(arm) if arm in before.active else None for arm in after.active]
    learner = Learner(after.policy, seed=0)
    numbers = after.policy.carried_over(state.learner.saved_state(), kept)
    learner.restore(numbers, None, head.drawn, state.learner.stream)
    new = len(after.names) - len(before.names)
    view.learnt = State(learner, [*state.arms, *(ArmSums() for _ in range(new))])
