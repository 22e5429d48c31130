"""Ids of decisions and names: what a store can keep and nobody can guess."""

from __future__ import annotations

import hashlib
import hmac
from secrets import token_hex
from time import time_ns

from holdfast.errors import Call, InvalidParameter, UnknownDecision, Words

RULE = Words("must be the id of a decision, as ", Call("ask"), " gave it")

NOT_RECORDED = Words("was not recorded: there was no decision, and ", Call("ask"), " answered with its fallback")

UNRECORDED = "unrecorded"
"""What the ids of decisions begin with that no store has."""


class Ids:
    """The ids of one game's decisions: each names a block and a round of it from 0, and is signed.

    >>> ids = Ids("a1", "secret")
    >>> ids.parse(ids.id_of(12, 3))
    (12, 3)
    """

    def __init__(self, uid: str, secret: str) -> None:
        self._uid = uid
        self._signing = hashlib.blake2b(key=secret.encode(), digest_size=8)

    def id_of(self, block: int, number: int) -> str:
        """The id of the decision that is this round of a block."""
        signing = self._signing.copy()
        signing.update(b"%d-%d" % (block, number))
        return f"{self._uid}-{block}-{number}-{signing.hexdigest()}"

    def parse(self, text: object) -> tuple[int, int]:
        """The block and the round that an id names; an error unless this game signed it."""
        if not isinstance(text, str):
            raise InvalidParameter("id", RULE, text)
        parts = text.split("-") if text.isascii() else []
        if parts[:1] == [UNRECORDED]:
            raise UnknownDecision(text, NOT_RECORDED)
        if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
            raise UnknownDecision(text, RULE)
        uid, block, number, signature = parts
        if uid != self._uid:
            raise UnknownDecision(text, "is another game's")
        signing = self._signing.copy()
        signing.update(f"{block}-{number}".encode())
        if not hmac.compare_digest(signature, signing.hexdigest()):
            raise UnknownDecision(text, "was never handed out by this game")
        return int(block), int(number)


def new_request() -> str:
    """A name for a call, unlike any other. Later ones sort later: an index of them grows at its end, in few pages.

    >>> new_request() < new_request()
    True
    """
    return f"{time_ns():016x}{token_hex(4)}"


def checked_name(parameter: str, name: object) -> str:
    """The name of a game or a request, if a store can keep it and a terminal show it."""
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidParameter(parameter, "must be a name of 1 to 200 printable characters", name)
    return name


def checked_arm(parameter: str, name: str) -> str:
    """The name of an arm, which may be any text that a store can keep."""
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidParameter(parameter, "must be text that can be stored: no NUL, no half of a surrogate pair", name)
    return name
