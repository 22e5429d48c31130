"""Decisions that last: games in a store, asked and told by many processes, late and in any order."""

from holdfast.decisions.book import Receipt
from holdfast.decisions.decision import Decision
from holdfast.decisions.opening import open
from holdfast.decisions.router import Router

__all__ = ["Decision", "Receipt", "Router", "open"]
