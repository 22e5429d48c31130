"""Durable decisions: games in a store, asked and told by many processes, late and in any order."""

from holdfast.decisions.copies import backup, fleet_from_store, fleet_to_store, restore
from holdfast.decisions.models import Decision, Receipt
from holdfast.decisions.router import Router, open, open_many

__all__ = [
    "Decision",
    "Receipt",
    "Router",
    "backup",
    "fleet_from_store",
    "fleet_to_store",
    "open",
    "open_many",
    "restore",
]
