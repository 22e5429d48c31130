"""Policies, states and blocks as JSON, and back: what cannot have been written is refused as damage."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.decisions.models import Block
from holdfast.decisions.settings import MISSING, Settings
from holdfast.errors import BadStore, HoldfastError
from holdfast.layouts import Array
from holdfast.players.document import named_numbers, policy_of
from holdfast.players.game import Game as Learner
from holdfast.policies.policy import Policy

MOST_COUNT = 2**53


@contextmanager
def undamaged(what: str, passing: type[Exception] | None = None) -> Iterator[None]:
    """An error of the store for what no game can have come to; one of the type `passing` stays as it is."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if passing is not None and isinstance(error, passing):
            raise
        raise BadStore(f"the store is damaged: {what} cannot be read ({error})") from None


def finite_json(what: str, content: object) -> str:
    """JSON of finite numbers: a game that cannot be read again is worse than an error."""
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError:
        raise HoldfastError(
            f"{what} of the policy's kernels must be finite; got {content}: nothing was changed"
        ) from None


def parts_of(text: str) -> tuple[float, ...]:
    """Numbers that add up to a sum."""
    if text == "[]":
        return ()
    with undamaged("a sum of losses"):
        parts = json.loads(text)
        if not isinstance(parts, list) or not all(type(part) is float and math.isfinite(part) for part in parts):
            raise ValueError(f"not a list of numbers: {text[:40]!r}")
    return tuple(parts)


def settings_of(text: str) -> Settings:
    """The settings that a store describes."""
    settings = Settings(**json.loads(text))
    seconds, rounds, missing, remember = settings.seconds, settings.rounds, settings.missing, settings.remember
    known = missing in MISSING if isinstance(missing, str) else type(missing) is float and math.isfinite(missing)
    whole = type(remember) is int and remember >= 0 and (rounds is None or (type(rounds) is int and rounds > 0))
    if not (known and whole and (seconds is None or (type(seconds) is float and 0 < seconds < math.inf))):
        raise ValueError(f"not settings of a game: {text[:80]!r}")
    return settings


def policy_from(text: str, given: Policy | None) -> Policy:
    """The policy that a store describes. `given` has what a store cannot keep: functions, and where its class is."""
    content = json.loads(text)
    if given is None:
        return policy_of(content, None)
    values = {name: value for name, value in content["policy"].items() if name != "policy"}
    if "arms" in values:
        values["n_arms"] = 0
    return replace(given, **values)


def block_text(policy: Policy, values: Sequence[float]) -> str:
    """What is kept of a block: its numbers by name."""
    return finite_json("a block", dict(zip(policy.kernels.block_layout.names, values, strict=True)))


def block_numbers(policy: Policy, game: str, block: Block) -> dict[str, Any]:
    """The numbers of a block by name."""
    with undamaged(f"block {block.number} of game {game!r}"):
        return named_numbers(json.loads(block.data), policy.kernels.block_layout, 0, "block")


def block_values(policy: Policy, game: str, block: Block) -> Array:
    """A block as the policy's kernels take it."""
    layout = policy.kernels.block_layout
    values = np.zeros(layout.n_numbers)
    layout.restore(block_numbers(policy, game, block), values, np.zeros(0))
    return values


def learner_content(learner: Learner) -> dict[str, Any]:
    """What is kept of a policy's numbers."""
    return {"numbers": learner.saved_state(), "stream": learner.stream.tolist()}


def learner_from(content: Any, policy: Policy, begun: int, block: dict[str, Any] | None, *, strict: bool) -> Learner:
    """A policy's numbers from a store. `strict`: they must agree with the current block."""
    numbers = named_numbers(content["numbers"], policy.kernels.state_layout, policy.n_arms, "state")
    if strict:
        policy.check_saved(numbers, block)
    stream = content["stream"]
    learner = Learner(policy, seed=0)
    if len(stream) != len(learner.stream) or not any(stream):
        raise ValueError("the random stream has another length, or is empty")
    learner.restore(numbers, None, begun, np.array(stream, dtype=np.uint64))
    return learner


def sums_from(values: Any, count: int) -> list[dict[str, Any]]:
    """Sums of `count` arms from a store."""
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"there must be sums of {count} arms")
    for sums in values:
        counts = [sums["blocks"], sums["rounds"], sums["told"]]
        if not all(type(number) is int and 0 <= number <= MOST_COUNT for number in counts):
            raise ValueError("counts of an arm must be whole numbers")
        numbers = [*sums["losses"], *([] if sums["last_used"] is None else [sums["last_used"]])]
        if not all(type(number) is float and math.isfinite(number) for number in numbers):
            raise ValueError("sums of an arm must be numbers")
    return values
