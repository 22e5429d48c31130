"""Full-information policies in a store: each block is one round, observed when the losses of all arms are in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.checks import real_number
from holdfast.decisions.settings import Setup
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import Array
from holdfast.players.game import Game as Learner
from holdfast.players.losses import outside_range
from holdfast.players.player import checked_forecast, refused_loss, use_available, use_forecast


def losses_by_arm(setup: Setup, given: Any, bounds: tuple[float, float]) -> dict[int, float]:
    """Return losses, given by arm or in the policy's order, keyed by arm number. None is left out."""
    known = {setup.names[arm]: arm for arm in setup.active}
    if not isinstance(given, Mapping):
        try:
            given = dict(zip(known, given, strict=True))
        except (TypeError, ValueError):
            rule = f"must be {len(known)} numbers, one for each arm, or numbers by arm"
            raise InvalidParameter("losses", rule, given) from None
    found: dict[int, float] = {}
    for name, value in given.items():
        if name not in known:
            raise setup.no_arm("losses", name)
        if value is not None:
            loss = real_number(f"loss of {name!r}", value)
            if not bounds[0] <= loss <= bounds[1]:
                raise outside_range(f"loss of {name!r}", bounds, 1, loss)
            found[known[name]] = loss
    return found


def look_ahead(setup: Setup, learner: Learner, forecast: Any, down: frozenset[int]) -> None:
    """Tell the policy, before it draws, the forecast and which arms are unavailable."""
    state = learner.state
    if forecast is not None:
        use_forecast(state, checked_forecast(setup.policy, state, forecast))
    if down:
        use_available(state, np.array([[float(arm in down) for arm in setup.active]]))


def learn(setup: Setup, learner: Learner, block: Array, losses: Mapping[int, float]) -> InvalidParameter | None:
    """Let the policy observe a round. Return the complaint if the losses are refused; nothing has changed then."""
    policy = setup.policy
    learner.block[:] = block
    row = np.array([losses.get(arm, math.nan) for arm in setup.active])
    refused = learner.observe_all(row, policy.units[0], policy.unit, float(getattr(policy, "stale", 0)))
    return refused_loss(policy, learner.state, refused, row) if refused else None


def last_known(setup: Setup, learner: Learner) -> dict[int, float]:
    """Return substitutes for losses that never came: the last round's, or at first the middle of the range."""
    low, unit = setup.policy.units[0], setup.policy.unit
    known = learner.state.known if learner.begun > 1 else np.full(len(setup.active), 0.5)
    losses = np.minimum(low + unit * known, setup.bounds[1]).tolist()
    return dict(zip(setup.active, losses, strict=True))
