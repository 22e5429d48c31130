"""A decision: one round with a name."""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

from holdfast.errors import InvalidParameter, UnknownDecision

RECENT = 256
"""Ids that a process gave out and knows without checking them."""

RULE = "must be the id of a decision, as ask() gave it"


class Decision(NamedTuple):
    """One round that was handed out. All its fields are plain values that JSON carries."""

    id: str
    """What to tell its loss under. It names the player and cannot be guessed."""
    arm: int | str
    """The arm to play: its name, or its number from 0."""
    probability: float
    """With which the arm was drawn, at the beginning of its block: log it."""
    block: int
    """The number of the block, from 1. Decisions of one block were drawn together."""
    asked: float
    """When it was handed out, in seconds since 1970."""


class Ids:
    """The ids of one player's decisions: each names a block and a round of it from 0, and is signed."""

    def __init__(self, uid: str, secret: str) -> None:
        self._uid = uid
        self._signing = hashlib.blake2b(key=secret.encode(), digest_size=8)
        self._recent: dict[str, tuple[int, int]] = {}  # what this process gave out lately, for it to be told soon

    def of(self, block: int, number: int) -> str:
        """The id of the decision that is this round of a block."""
        signing = self._signing.copy()
        signing.update(b"%d-%d" % (block, number))
        id = f"{self._uid}-{block}-{number}-{signing.hexdigest()}"
        if len(self._recent) >= RECENT:
            self._recent.clear()
        self._recent[id] = (block, number)
        return id

    def place_of(self, text: object) -> tuple[int, int]:
        """The block and the round that an id names; an error unless this player gave it out."""
        if not isinstance(text, str):
            raise InvalidParameter("id", RULE, text)
        place = self._recent.pop(text, None)
        return self._checked(text) if place is None else place

    def _checked(self, text: str) -> tuple[int, int]:
        parts = text.split("-") if text.isascii() else []
        if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
            raise UnknownDecision(text, RULE)
        player, block, number, signature = parts
        if player != self._uid:
            raise UnknownDecision(text, "is another player's")
        if not hmac.compare_digest(signature, self._signature(f"{block}-{number}")):
            raise UnknownDecision(text, "was never handed out by this player")
        return int(block), int(number)

    def _signature(self, place: str) -> str:
        signing = self._signing.copy()
        signing.update(place.encode())
        return signing.hexdigest()
