"""Games, states and blocks as JSON and back. Reading refuses anything that Holdfast cannot have written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.decisions.models import BY_RULE, MOST_COUNT, PINNED, Block, Game, Head, new_token, undamaged
from holdfast.decisions.moves import Recent
from holdfast.decisions.settings import AUTO, ArmSums, Ids, Settings, Setup, State, checked_arm
from holdfast.errors import BadSavedState, HoldfastError
from holdfast.numerics.layout import Array
from holdfast.players.game import Game as Learner
from holdfast.players.saves import described, named_numbers, policy_of
from holdfast.policies.policy import Policy

Arm = tuple[str | None, bool, int]
"""Name, whether it is retired, and the block after which it was re-added."""

CHOSEN_BY = {0: "policy", PINNED: "operator", BY_RULE: "rule"}


def finite_json(what: str, content: object) -> str:
    """Return JSON, refusing NaN and infinity: a game that cannot be read back is worse than an error."""
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError:
        raise HoldfastError(
            f"{what} of the policy's kernels must be finite; got {content}: nothing was changed"
        ) from None


def policy_from(text: str, given: Policy | None, allow: Iterable[str | type[Policy]] = ()) -> Policy:
    """Return the policy described by a store.

    The user's own policy, `given`, supplies what no store can keep: functions, and its class.

    Without it, user-defined policies that `allow` names are imported.
    """
    content = json.loads(text)
    if given is None:
        return policy_of(content, None, allow)
    values = {name: value for name, value in content["policy"].items() if name not in ("policy", "rule")}
    if "arms" in values:
        values["n_arms"] = 0
    return replace(given, **values)


def block_text(setup: Setup, values: Sequence[float]) -> str:
    """Return a block's numbers by name, as JSON."""
    return finite_json("a block", dict(zip(setup.block_layout.names, values, strict=True)))


def block_numbers(setup: Setup, block: Block) -> dict[str, Any]:
    """Return a block's numbers by name."""
    with undamaged(f"block {block.number} of game {setup.game.name!r}"):
        return named_numbers(json.loads(block.data), setup.block_layout, 0, "block")


def chosen_by(block: Block) -> str | None:
    """Return who chose a block's arm: the policy, the operator or their rule; of a guard also its look, or itself."""
    if block.forced or '"look"' not in block.data:
        return CHOSEN_BY.get(block.forced)
    with undamaged(f"block {block.number}"):
        content = json.loads(block.data)
        return "guard" if content.get("acting") else "look" if content["look"] else CHOSEN_BY[0]


def block_values(setup: Setup, block: Block) -> Array:
    """Return a block as the policy's kernels take it, with the current arm numbers."""
    values = np.zeros(setup.block_layout.n_numbers)
    setup.block_layout.restore(block_numbers(setup, block), values, np.zeros(0))
    if block.arm in setup.active:
        values[0] = setup.active.index(block.arm)
    return values


def _learner_from(content: Any, policy: Policy, begun: int) -> Learner:
    """Return a policy's numbers from a store, all finite and within their ranges."""
    numbers = named_numbers(content["numbers"], policy.state_layout, policy.n_arms, "state")
    stream = content["stream"]
    learner = Learner(policy, seed=0)
    if len(stream) != len(learner.stream) or not any(stream):
        raise ValueError("the random stream has another length, or is empty")
    learner.restore(numbers, None, begun, np.array(stream, dtype=np.uint64))
    return learner


def _sums_from(values: Any, count: int) -> list[ArmSums]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"there must be sums of {count} arms")
    for sums in values:
        counts = [sums["blocks"], sums["rounds"], sums["told"], sums["dropped"], sums["switches"]]
        if not all(type(number) is int and 0 <= number <= MOST_COUNT for number in counts):
            raise ValueError("counts of an arm must be whole numbers")
        numbers = [
            sums["squares"],
            *sums["losses"],
            *sums["stood_in"],
            *([] if sums["last_used"] is None else [sums["last_used"]]),
        ]
        if not all(type(number) is float and math.isfinite(number) for number in numbers):
            raise ValueError("sums of an arm must be numbers")
    return [ArmSums(**sums) for sums in values]


def availability_of(text: str, count: int) -> tuple[tuple[tuple[int, float], ...], tuple[int, float] | None]:
    """Return the paused arms, each with its end, and the pinned arm."""
    content = json.loads(text)
    found = [(int(arm), math.inf if until is None else float(until)) for arm, until in content.get("paused", [])]
    pins = [(int(arm), math.inf if until is None else float(until)) for arm, until in content.get("pin", [])]
    if not all(0 <= arm < count for arm, _ in found + pins):
        raise ValueError(f"there are {count} arms")
    return tuple(found), pins[0] if pins else None


def availability_text(paused: Sequence[tuple[int, float]], pin: tuple[int, float] | None) -> str:
    """Return availability as JSON, the inverse of `availability_of`."""
    plain = [
        [(arm, None if until == math.inf else until) for arm, until in some] for some in (paused, [pin] if pin else [])
    ]
    return json.dumps({"paused": plain[0], "pin": plain[1]})


def setup_of(game: Game, given: Policy | None, allow: Iterable[str | type[Policy]] = ()) -> Setup:
    """Return the setup described by a game's row; `given` and `allow` as in `policy_from`."""
    with undamaged(f"the settings of game {game.name!r}", BadSavedState):  # that names a policy to give
        settings = Settings(**json.loads(game.settings))
        policy = policy_from(game.policy, given, allow)
        arms = json.loads(game.arms)
        names = tuple(number if name is None else name for number, (name, _, _) in enumerate(arms))
        active = tuple(number for number, (_, retired, _) in enumerate(arms) if not retired)
        since = tuple(int(block) for _, _, block in arms)
        paused, pin = availability_of(game.availability, len(names))
        played = [names[arm] for arm in active]
        if played != list(policy.arms or range(policy.n_arms)):
            raise ValueError(f"the arms {played} are not those of the policy")
        ids = Ids(game.uid, game.secret)
    return Setup(
        game=game,
        policy=policy,
        settings=settings,
        names=names,
        active=active,
        since=since,
        paused=paused,
        pin=pin,
        ids=ids,
        bounds=policy.bounds,
        announces=policy.announces,
        sees_all=policy.full_information,
        follows_lateness=settings.patience == AUTO,
        state_layout=policy.state_layout,
        block_layout=policy.kernels.block_layout,
    )


def changed_game(setup: Setup, policy: Policy, settings: Settings, arms: list[Arm]) -> Game:
    """Return a game's row with other settings."""
    for name, _, _ in arms:
        checked_arm("arms", name or "")
    return setup.game._replace(**_texts(policy, settings, arms))


def new_game(name: str, policy: Policy, settings: Settings, now: float, uid: str, secret: str) -> Game:
    """Return the row of a new game. Its decision ids start with `uid` and are signed with `secret`."""
    names: list[str | None] = [None] * policy.n_arms if policy.arms is None else list(policy.arms)
    arms = [(None if arm is None else checked_arm("arms", arm), False, 0) for arm in names]
    return Game(
        id=0, name=name, uid=uid, secret=secret, created=now, availability="{}", **_texts(policy, settings, arms)
    )


def _texts(policy: Policy, settings: Settings, arms: list[Arm]) -> dict[str, Any]:
    return {
        "policy": json.dumps(described(policy)),
        "arms": json.dumps(arms),
        "settings": json.dumps(settings.plain()),
        "settings_version": new_token(),
    }


def first_head(game: Game, now: float) -> Head:
    """Return the head of a new game."""
    return Head(revision=1, settings_version=game.settings_version, state_version=new_token(), clock=now)


def state_text(setup: Setup, state: State) -> str:
    """Return a state as JSON."""
    learner = state.learner
    content = {
        "numbers": setup.state_layout.saved(learner.numbers, learner.vectors),
        "stream": learner.stream.tolist(),
        "arms": [vars(arm) for arm in state.arms],
        "day": state.day,
    }
    if state.switched:
        content["switched"] = state.switched
    if state.recent or state.ended or state.moves:
        counts = {"ended": state.ended, "turns": state.turns, "moves": state.moves}
        content["conversations"] = {"recent": [vars(arm) for arm in state.recent], **counts}
    return finite_json("the state", content)


def state_from(setup: Setup, head: Head, text: str) -> State:
    """Return the state described by a store."""
    with undamaged(f"the state of game {setup.game.name!r}"):
        content: Any = json.loads(text)
        learner = _learner_from(content, setup.policy, head.drawn)
        arms = _sums_from(content["arms"], len(setup.names))
        day = content["day"]
        if type(day) is not int:
            raise ValueError("the day must be a whole number")
        talks = content.get("conversations", {"recent": [], "ended": 0, "turns": 0, "moves": 0})
        recent = [Recent(**arm) for arm in talks["recent"]]
        ended, turns, moves = (talks[name] for name in ("ended", "turns", "moves"))
        whole = [ended, turns, moves, *(count for arm in recent for count in (arm.heard, arm.failures))]
        if not all(type(count) is int and 0 <= count <= MOST_COUNT for count in whole) or not all(
            type(arm.mean) is float and math.isfinite(arm.mean) for arm in recent
        ):
            raise ValueError("what conversations lost of late must be numbers")
        switched = [float(at) for at in content.get("switched", [])]
    return State(learner, arms, day, recent, ended, turns, moves, switched)
