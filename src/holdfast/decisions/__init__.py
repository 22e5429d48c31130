"""Decisions that last: games in a store, asked and told by many processes, late and in any order."""

from holdfast.decisions.decision import Decision
from holdfast.decisions.fleet import Fleet
from holdfast.decisions.hearing import Receipt
from holdfast.decisions.opening import open
from holdfast.decisions.router import Router

__all__ = ["Decision", "Fleet", "Receipt", "Router", "open"]
