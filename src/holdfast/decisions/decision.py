"""A decision: one round with a name."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.errors import InvalidParameter, UnknownDecision

RULE = "must be the id of a decision, as ask() gave it"


@dataclass(frozen=True, slots=True)
class Decision:
    """One round that was handed out. All its fields are plain values that JSON carries.

    Parameters
    ----------
    id
        What to tell its loss under. It names the player and cannot be guessed.
    arm
        The arm to play: its name, or its number from 0.
    probability
        With which the arm was drawn, at the beginning of its block: log it.
    block
        The number of the block, from 1. Decisions of one block were drawn together.
    asked
        When it was handed out, in seconds since 1970.
    """

    id: str
    arm: int | str
    probability: float
    block: int
    asked: float


class Place(NamedTuple):
    """Where a decision is: a block, and a round of it from 0."""

    block: int
    round: int


def signed_ids(uid: str, secret: str, block: int, rounds: Iterable[int]) -> list[str]:
    """The ids of decisions of one block."""
    places = [f"{block}-{number}" for number in rounds]
    return [f"{uid}-{place}-{_signature(secret, place)}" for place in places]


def place_of(text: object, uid: str, secret: str) -> Place:
    """Where the decision with this id is; an error unless this player gave it out."""
    if not isinstance(text, str):
        raise InvalidParameter("id", RULE, text)
    parts = text.split("-") if text.isascii() else []
    if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
        raise UnknownDecision(text, RULE)
    player, block, number, signature = parts
    if player != uid:
        raise UnknownDecision(text, "is another player's")
    if not hmac.compare_digest(signature, _signature(secret, f"{block}-{number}")):
        raise UnknownDecision(text, "was never handed out by this player")
    return Place(int(block), int(number))


def _signature(secret: str, place: str) -> str:
    return hashlib.blake2b(place.encode(), key=secret.encode(), digest_size=8).hexdigest()
