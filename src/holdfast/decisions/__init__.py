"""Decisions that last: games in a store, asked and told by many processes, late and in any order."""

from holdfast.decisions.decision import Decision
from holdfast.decisions.fleets import fleet_from_store, fleet_to_store
from holdfast.decisions.hearing import Receipt
from holdfast.decisions.opening import open
from holdfast.decisions.router import Router

__all__ = ["Decision", "Receipt", "Router", "fleet_from_store", "fleet_to_store", "open"]
