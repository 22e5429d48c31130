"""Settings of a game that goes on: what differs from those asked for, and how some of them are changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.checks import address_of, real_number
from holdfast.decisions.book import Book
from holdfast.decisions.names import kept_arm
from holdfast.decisions.options import Options
from holdfast.decisions.rows import NOTHING, Arm, BlockRow, Identity
from holdfast.decisions.stored import undamaged
from holdfast.decisions.stores.store import Rows
from holdfast.errors import InvalidParameter, OtherSettings
from holdfast.players.document import described
from holdfast.policies.policy import Policy
from holdfast.policies.registry import find_policy


class Change(NamedTuple):
    """What is to be changed."""

    switching_cost: float | None
    add_arms: tuple[str, ...]
    retire_arms: tuple[str, ...]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, switching_cost: object, add_arms: object, retire_arms: object, options: Mapping[str, Any]) -> Change:
        """A change, checked as far as it can be without the game."""
        cost = None if switching_cost is None else real_number("switching_cost", switching_cost, least=0)
        return cls(cost, _names("add_arms", add_arms), _names("retire_arms", retire_arms), options)


def _names(parameter: str, arms: object) -> tuple[str, ...]:
    rule = "must be a list of different names"
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Iterable):
        raise InvalidParameter(parameter, rule, arms)
    names = tuple(arms)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidParameter(parameter, rule, list(names))
    return tuple(kept_arm(parameter, name) for name in names)


def same_kind(identity: Identity, policy: Policy) -> None:
    """An error unless the game is played by a policy of the same class."""
    with undamaged(f"the settings of player {identity.name!r}"):
        stored = str(json.loads(identity.policy)["policy"]["policy"])
    given = address_of(policy)
    same = stored == given if ":" in stored + given else find_policy(stored)[0] is type(policy)
    if not same:
        raise OtherSettings(identity.name, {"policy": (stored, given)})


def differences(book: Book, policy: Policy | None, options: Mapping[str, Any]) -> None:
    """An error unless the game has the settings that are given."""
    found: dict[str, tuple[Any, Any]] = {}
    hints = []
    if policy is not None:
        stored, given = _plain(book.policy), _plain(policy)
        for name in dict.fromkeys([*stored, *given]):
            if stored.get(name) != given.get(name):
                found[name] = (stored.get(name), given.get(name))
        if "arms" in found and all(isinstance(arms, list) for arms in found["arms"]):
            hints += _hints_for_arms(*found["arms"], found)
        if "switching_cost" in found:
            hints.append(f"change_switching_cost={found['switching_cost'][1]!r}")
    wanted = book.options.changed(book.policy, options)
    for name in options:
        if getattr(wanted, name) != getattr(book.options, name):
            found[name] = (str(getattr(book.options, name)), str(getattr(wanted, name)))
            hints.append(f"router.change({name}=...)")
    if found:
        raise OtherSettings(book.identity.name, found, hints)


def _plain(policy: Policy) -> dict[str, Any]:
    """Settings as JSON carries them; with named arms their number says nothing more."""
    content = described(policy)
    settings: dict[str, Any] = json.loads(json.dumps({**content["policy"], "functions": content["functions"]}))
    if "arms" in settings:
        settings.pop("n_arms", None)
    return settings


def _hints_for_arms(stored: list[str], given: list[str], found: dict[str, tuple[Any, Any]]) -> list[str]:
    new = [name for name in given if name not in stored]
    gone = [name for name in stored if name not in given]
    if not new and not gone:  # another order: names tell arms apart, so nothing differs
        del found["arms"]
    return ([f"add_arms={new!r}"] if new else []) + ([f"retire_arms={gone!r}"] if gone else [])


def apply_change(book: Book, rows: Rows, change: Change, now: float) -> None:
    """Go on with other settings. What is so already stays so."""
    book.settle_due(rows, now)
    arms = {arm.name: arm for arm in rows.arms()}
    policy, kept = _changed_policy(book, change, arms)
    options = book.options.changed(policy, change.options)
    if policy == book.policy and options == book.options:
        return
    for arm in change.retire_arms:
        _retire(book, rows, arms[arm], max(now, rows.head.clock))
    for name in change.add_arms:
        if name not in arms:
            rows.add(Arm(rows.head.player, len(rows.arms()), name, 0, 0, 0, 0, NOTHING, None))
    if options.patience != book.options.patience:
        _wait_anew(rows, options)
    identity = _renewed(rows, policy, options)
    if policy != book.policy:
        book.turn_to(rows, identity, policy, kept)
    else:
        book.options, book.identity = options, identity


def _changed_policy(book: Book, change: Change, arms: Mapping[str | None, Arm]) -> tuple[Policy, list[int | None]]:
    policy = book.policy
    if change.switching_cost is not None:
        if not hasattr(policy, "switching_cost"):
            rule = f"is not a parameter of {policy.label}, which cannot change it"
            raise InvalidParameter("switching_cost", rule, change.switching_cost)
        policy = replace(policy, switching_cost=change.switching_cost)  # type: ignore[call-arg]  # it has one
    before = list(range(policy.n_arms))
    if not change.add_arms and not change.retire_arms:
        return policy, list(before)
    if policy.arms is None:
        raise InvalidParameter("arms", "must have names to be added or retired", None)
    for name in change.add_arms:
        if name in arms and arms[name].retired:
            raise InvalidParameter("add_arms", "must be new names: an arm that was retired does not come back", name)
    for name in change.retire_arms:
        if name not in arms or name in change.add_arms:
            raise InvalidParameter("retire_arms", f"must be arms of the game, {list(policy.arms)}", name)
    kept: list[int | None] = [i for i in before if policy.arms[i] not in change.retire_arms]
    names = [policy.arms[i] for i in kept if i is not None]
    names += [name for name in change.add_arms if name not in arms]
    if not names:
        raise InvalidParameter("retire_arms", "must leave an arm to play", list(change.retire_arms))
    kept += [None] * (len(names) - len(kept))
    return replace(policy, n_arms=0, arms=names), kept


def _retire(book: Book, rows: Rows, arm: Arm, clock: float) -> None:
    """Never hand out this arm again; blocks of it that are complete now are settled, without the policy."""
    if arm.retired:
        return
    rows.replace(arm, retired=1)
    head = rows.head
    if head.arm == arm.arm and head.handed < head.rounds:
        block = rows.need(BlockRow, head.begun)
        block = rows.replace(block, rounds=head.handed, due=book.options.due(clock, head.asked))
        rows.head = head._replace(rounds=head.handed)
        if block.due is not None:
            due = block.due if head.next_due is None else min(block.due, head.next_due)
            rows.head = rows.head._replace(next_due=due)
        if block.told == block.rounds:
            book.settle(rows, [(block, {})], clock)


def _wait_anew(rows: Rows, options: Options) -> None:
    """Another patience: for blocks that are out it begins now."""
    head = rows.head
    due = options.due(head.clock, head.asked)
    for block in rows.open_blocks():
        if block.number < head.begun or head.handed == head.rounds:
            rows.replace(block, due=due)
    rows.head = head._replace(next_due=due)


def _renewed(rows: Rows, policy: Policy, options: Options) -> Identity:
    identity = rows.need(Identity)
    edition = identity.edition + 1
    rows.head = rows.head._replace(edition=edition)
    return rows.replace(identity, policy=json.dumps(described(policy)), options=options.as_json(), edition=edition)
