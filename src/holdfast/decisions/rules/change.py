"""Changing the settings of an existing game, and comparing them with those asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from holdfast.checks import address_of
from holdfast.decisions.game import Arm, ArmSums, Recent, Setup, availability_text, changed_game, setup_of
from holdfast.decisions.models import MOST_TIME, ChangeMade, Game, new_token, undamaged
from holdfast.decisions.options import written_time
from holdfast.decisions.requests import Change, SetAvailability
from holdfast.decisions.rules import breakers
from holdfast.decisions.rules.conversations import expire
from holdfast.decisions.rules.report import View, settle, wait_for
from holdfast.decisions.settings import Settings
from holdfast.errors import Form, HoldfastError, InvalidParameter, OtherSettings, Words
from holdfast.players.game import Game as Learner
from holdfast.players.saves import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import find_policy

# ---- comparing


def check_same_class(game: Game, policy: Policy) -> None:
    """Raise an error unless the game's policy is of the same class."""
    with undamaged(f"the settings of game {game.name!r}"):
        stored = str(json.loads(game.policy)["policy"]["policy"])
        given = address_of(policy)
        same = stored == given if ":" in stored + given else find_policy(stored)[0] is type(policy)
    if not same:
        raise OtherSettings(game.name, {"policy": (stored, given)})


def difference(setup: Setup, policy: Policy | None, compared: Mapping[str, Any]) -> OtherSettings | None:
    """Raise an error if the game's settings differ from those given."""
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
    were, are = setup.settings.plain(), wanted.plain()
    for name in compared:
        if were[name] != are[name]:
            found[name] = (_shown(setup.settings, name, were), _shown(wanted, name, are))
            changes[name] = None
    return OtherSettings(setup.game.name, found, changes) if found else None


def _shown(settings: Settings, name: str, plain: Mapping[str, Any]) -> str:
    value = getattr(settings, name)
    return repr(value) if hasattr(value, "settings") else str(plain[name])


def as_given(other: OtherSettings, policy: Policy | None, given: Mapping[str, Any]) -> Change:
    """Return the change after which a game has the settings given."""
    named = ("switching_cost", "add_arms", "retire_arms")
    changes: dict[str, Any] = {name: other.wanted[name] for name in named if name in other.wanted}
    settings = {name: given[name] for name in other.wanted if name not in named}
    reason = "the settings of the code that opened it"
    return Change(**changes, settings=settings, policy=policy, compared=given, reason=reason)


def _plain(policy: Policy) -> dict[str, Any]:
    """Return settings as JSON; with named arms, without their number."""
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


def change(view: View, wanted: Change) -> HoldfastError | None:
    """Continue with other settings. Do nothing if none differs."""
    before = view.setup
    try:
        policy, arms = _changed_policy(before, wanted, view.head.block)
        settings = before.settings.without_share(wanted.retire_arms).changed(policy, wanted.settings)
        if settings.scale != before.settings.scale:
            settings = replace(settings, held_since=view.head.block)
        if settings.share is not None:
            settings = replace(settings, share=settings.share.begun(before.settings.share, view.clock))
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
    expire(view)
    for arm in before.active:
        if arm not in after.active:
            _retire(view, arm)
    if policy != before.policy:
        _change_policy(view, after)
    view.with_setup(after)
    if settings.breaker is None:
        view.head = view.head._replace(breakers="")
    breakers.forget(view, {*before.active} - {*after.active})
    if settings.most_switches != before.settings.most_switches:
        _change_budget(view)
    if settings.patience != before.settings.patience:
        _restart_patience(view)
    view.events.changes.append(ChangeMade(view.head.clock, "settings", _detail(before, after), wanted.reason))
    return None


def set_availability(view: View, request: SetAvailability) -> HoldfastError | None:
    """``pause`` or ``pin`` an arm until a time; ``resume`` or ``unpin`` it. Do nothing if it is so already."""
    kind, arm, number = request.kind, request.arm, -1
    try:
        until = _end_of(request.until, view.clock)
        expire(view)
        if kind != "unpin":
            number = view.setup.arm_of("arm", arm)
    except InvalidParameter as refusal:
        return refusal
    setup, clock = view.setup, view.head.clock
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
    woken = kind == "resume" and breakers.forget(view, {number})
    if (paused, pin) == before and not woken:
        return None
    if (paused, pin) != before:
        text = availability_text(sorted(paused.items()), pin)
        game = setup.game._replace(availability=text, settings_version=new_token())
        view.with_setup(replace(setup, game=game, paused=tuple(sorted(paused.items())), pin=pin))
    detail = json.dumps({"arm": arm, "until": None if until == math.inf else until})
    view.events.changes.append(ChangeMade(clock, kind, detail, request.reason))
    return None


def _end_of(until: object, now: float) -> float:
    """Return a time, or a duration from now by the game's clock, in seconds since 1970."""
    if until is None:
        return math.inf
    until = written_time("until", until) if isinstance(until, str) else until
    end = now + until.total_seconds() if isinstance(until, timedelta) else None
    if isinstance(until, datetime) and until.tzinfo is not None:
        end = until.timestamp()
    if end is None or not now < end < MOST_TIME:
        form = Form("a timedelta, text such as '10m', or a datetime with its zone", "10m, 2h or 2026-03-01T12:00:00Z")
        rule = Words("must be a time to come, before the year 5138: ", form)
        raise InvalidParameter("until", rule, until if isinstance(until, (int, float)) else str(until))
    return end


def _detail(before: Setup, after: Setup) -> str:
    """Return the changes as JSON, old and new value of each."""
    pairs: dict[str, list[Any]] = {}
    for was, now in ((_plain(before.policy), _plain(after.policy)), (before.settings.plain(), after.settings.plain())):
        pairs |= {name: [was.get(name), now.get(name)] for name in {**was, **now} if was.get(name) != now.get(name)}
    pairs.pop("held_since", None)
    return json.dumps(pairs)


def _changed_policy(setup: Setup, wanted: Change, block: int) -> tuple[Policy, list[Arm]]:
    """Return the policy afterwards, and all arms; retired ones that are re-added count from `block`."""
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
    for name in {*wanted.retire_arms} & {*wanted.add_arms}:
        rule = "must not be added in the same change: retire it first, then add it, and it begins as a new arm"
        raise InvalidParameter("retire_arms", rule, name)
    for name in wanted.retire_arms:
        if name not in names:
            raise InvalidParameter("retire_arms", f"must be arms of the game, {list(policy.arms)}", name)
    names += [name for name in wanted.add_arms if name not in names]
    gone = {*wanted.retire_arms, *(name for name in retired if name not in wanted.add_arms)}
    arms = [(name, name in gone, since.get(name, 0)) for name in names]
    left = [str(name) for name, is_gone, _ in arms if not is_gone]
    if not left:
        raise InvalidParameter("retire_arms", "must leave an arm to play", list(wanted.retire_arms))
    return replace(policy, n_arms=0, arms=left), arms


def _retire(view: View, arm: int) -> None:
    """End the current block of this arm with the rounds handed out, without the policy."""
    head = view.head
    if head.handed == head.rounds or arm not in (head.arm, view.block(head.current).arm):
        return
    wait_for(view, view.block(head.current)._replace(rounds=head.handed), head.clock, head.asked)
    view.head, block = view.head._replace(rounds=head.handed), view.block(head.current)
    if block.told == block.rounds:
        view.setup = _without(view.setup, arm)
        settle(view, block, head.clock)


def _without(setup: Setup, arm: int) -> Setup:
    return replace(setup, active=tuple(-1 if other == arm else other for other in setup.active))


def _change_budget(view: View) -> None:
    """Count on under another budget with the switches that are known; without one, forget them."""
    budget, state = view.setup.settings.most_switches, view.state()
    state.switched = [] if budget is None else budget.kept(state.switched)
    view.head = view.head._replace(stays=0.0 if budget is None else budget.stays(state.switched))


def _restart_patience(view: View) -> None:
    """Restart the patience of open blocks, under a new setting, from now."""
    head = view.head
    view.head = head._replace(next_due=None)
    for block in view.reads.blocks("open"):
        block = view.blocks.get(block.number, block)
        whole = block.number != head.current or head.handed == head.rounds
        if whole and block.settled_order is None and not block.live:
            wait_for(view, block, head.clock, head.asked)


def _change_policy(view: View, after: Setup) -> None:
    """Carry over what was learnt: the policy's arm i was kept[i] before, or is new."""
    before, state, head = view.setup, view.state(), view.head
    kept = [before.active.index(arm) if arm in before.active else None for arm in after.active]
    learner = Learner(after.policy, seed=0)
    numbers = after.policy.carried_over(state.learner.saved_state(), kept)
    learner.restore(numbers, None, head.drawn, state.learner.stream)
    new = len(after.names) - len(before.names)
    view.learnt = replace(state, learner=learner, arms=[*state.arms, *(ArmSums() for _ in range(new))])
    for arm in {*after.active} - {*before.active} if state.recent else ():
        view.learnt.recently()[arm] = Recent()
