"""Policies, games and blocks as a store has them, in text, and back: what cannot have been written is refused."""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from holdfast.decisions.rows import BlockRow, State
from holdfast.decisions.stores.store import Rows
from holdfast.errors import BadStore, HoldfastError
from holdfast.layouts import Array, Layout
from holdfast.players.document import named_numbers, policy_of
from holdfast.players.game import Game
from holdfast.policies.policy import Policy


@contextmanager
def undamaged(what: str, passing: type[Exception] | None = None) -> Iterator[None]:
    """An error of the store for what no game can have come to; one of the type `passing` stays as it is."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        if passing is not None and isinstance(error, passing):
            raise
        raise BadStore(f"the store is damaged: {what} cannot be read ({error})") from None


def stored_policy(text: str, given: Policy | None) -> Policy:
    """The policy that a store describes. `given` has what a store cannot keep: functions, and where its class is."""
    content = json.loads(text)
    if given is None:
        return policy_of(content, None)
    values = {name: value for name, value in content["policy"].items() if name != "policy"}
    if "arms" in values:
        values["n_arms"] = 0
    return replace(given, **values)


def state_of(game: Game) -> str:
    """What is kept of a policy's numbers."""
    saved = game.saved_state()
    return as_json(("state", "stream"), (as_json(tuple(saved), tuple(saved.values())), game.stream.tolist()))


def blocks_of(game: Game, blocks: Array) -> list[str]:
    """What is kept of blocks: their numbers as they are, after what tells their names, in base 64.

    As JSON they would be most of the work of an ask that begins many.
    """
    names = game.block_layout.names
    if not np.isfinite(blocks).all():
        row, column = np.argwhere(~np.isfinite(blocks))[0]
        raise _not_finite(names[column], blocks[row, column])
    form, mark = struct.Struct(f"<I{len(names)}d").pack, _mark(names)
    return [b64encode(form(mark, *values)).decode() for values in blocks.tolist()]


def numbers_of(text: str, layout: Layout) -> dict[str, Any]:
    """The numbers of a block by name. They were JSON once."""
    if text.startswith("{"):
        return named_numbers(json.loads(text), layout, 0, "block")
    content, form = b64decode(text, validate=True), struct.Struct(f"<I{len(layout.names)}d")
    if len(content) != form.size or form.unpack(content)[0] != _mark(layout.names):
        raise ValueError("it is not one of this policy")
    _, *numbers = form.unpack(content)
    return named_numbers(dict(zip(layout.names, numbers, strict=True)), layout, 0, "block")


@cache
def _mark(names: tuple[str, ...]) -> int:
    return crc32(",".join(names).encode())


def stored_game(policy: Policy, name: str, state: State, rows: Rows, *, arms_left: bool) -> Game:
    """The game of a player that a stored state goes on with; its block is the current one.

    Where arms have left the game, the block may have been drawn among them, and is not what the policy expects of one.
    """
    begun, current = rows.head.begun, rows.get(BlockRow, rows.head.begun)
    game = Game(policy, seed=0)
    with undamaged(f"the state of player {name!r}"):
        content = json.loads(state.data)
        numbers = named_numbers(content["state"], policy.kernels.state_layout, policy.n_arms, "state")
        block = (
            None
            if current is None or current.place is not None
            else numbers_of(current.data, policy.kernels.block_layout)
        )
        if not arms_left:
            policy.check_saved(numbers, block)
        game.restore(numbers, None, begun, np.array(content["stream"], dtype=np.uint64))
    return game


def stored_block(policy: Policy, name: str, block: BlockRow) -> Array:
    """A block of a player as the policy's kernels take it."""
    layout = policy.kernels.block_layout
    values = np.zeros(layout.n_numbers)
    with undamaged(f"block {block.number} of player {name!r}"):
        layout.restore(numbers_of(block.data, layout), values, np.zeros(0))
    return values


def as_json(names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Values by names as JSON: finite numbers and lists of them, which Python writes in the same way, or such JSON."""
    text = _form(names) % values
    if "nan" in text or "inf" in text:  # in a number, or in a name
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, str) and not np.isfinite(value).all():
                raise _not_finite(name, value)
    return text


def _not_finite(name: str, value: object) -> HoldfastError:
    return HoldfastError(f"{name} of the policy's kernels must be finite; got {value}: nothing was changed")


@cache
def _form(names: tuple[str, ...]) -> str:
    return "{" + ",".join(f'"{name}":%s' for name in names) + "}"
