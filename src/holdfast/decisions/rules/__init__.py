"""The rules of a game: what each request changes. No I/O, no clock, no cache.

A decision is one round of a block. A rule takes a `View` and a request, changes the view's head and state, adds to its
events, and returns an answer. A refusal is returned as an error and has changed nothing, except that blocks which were
due are settled; so several calls can be made in one transaction. A game is a function of its seed and of the order of
requests (and of their times, where patience is a time), whoever makes them. `tests/decisions/model.py` says the same
again, slowly.
"""

from collections.abc import Callable
from typing import Any

from holdfast.decisions import requests
from holdfast.decisions.rules import ask, change, conversations, report
from holdfast.decisions.rules.report import View as View

TRANSITIONS: dict[type, Callable[[View, Any], Any]] = {
    requests.Ask: ask.ask,
    requests.Tell: report.tell,
    requests.Observe: report.observe,
    requests.End: conversations.end,
    requests.Settle: conversations.expire,
    requests.Change: change.change,
    requests.SetAvailability: change.set_availability,
    requests.Compact: report.compact,
}
"""The rule for each kind of request."""
