"""A decision: one round with a name."""

from __future__ import annotations

import hashlib
import hmac
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


def signed_id(uid: str, secret: str, place: Place) -> str:
    """The id of a decision."""
    return f"{uid}-{place.block}-{place.round}-{_signature(secret, place)}"


def place_of(text: object, uid: str, secret: str) -> Place:
    """Where the decision with this id is; an error unless this player gave it out."""
    if not isinstance(text, str):
        raise InvalidParameter("id", RULE, text)
    parts = text.split("-")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts[1:3]):
        raise UnknownDecision(text, RULE)
    if parts[0] != uid:
        raise UnknownDecision(text, "is another player's")
    place = Place(int(parts[1]), int(parts[2]))
    if not hmac.compare_digest(parts[3].encode(), _signature(secret, place).encode()):
        raise UnknownDecision(text, "was never handed out by this player")
    return place


def _signature(secret: str, place: Place) -> str:
    message = f"{place.block}-{place.round}".encode()
    return hashlib.blake2b(message, key=secret.encode(), digest_size=8).hexdigest()
