"""Games in a store: every answer, refusal and number that a router shows, and the rows behind them."""

import pytest
from scripted_games import GAMES, Clock, Script

from holdfast.decisions.stores import store_at


@pytest.mark.parametrize("name", GAMES)
def test_scripted_games(name, net, tokens):
    net(name, Script(name, store_at("memory:"), Clock()).lines())


@pytest.mark.parametrize("name", ["holdback", "scale, drop, time, breaker", "moves, breaker, arms"])
def test_longer_games(name, net, tokens):
    """Of many rounds the status and the totals alone."""
    script = Script(name, store_at("memory:"), Clock(), rounds=2500 if name == "holdback" else 600)
    lines = [line for line in script.lines() if not line[:1].isdigit()]
    net(f"{name}, long", lines[: lines.index("== frame")])
