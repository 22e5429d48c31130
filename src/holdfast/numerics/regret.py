"""The one definition of regret: RS(T, λ) = R_T + λ S_T (the paper, Section 2).

R_T is the pseudo-regret E Σ ℓ_{t,J_t} − min_i E Σ ℓ_{t,i}, and S_T the number of switches. There is no arm before
the first round (J_0 = 0 in the paper), so the first play is always a switch; the comparator pays for none.

A curve needs a value at every round t ≤ T: ours is R_t itself, whose comparator is *the best arm up to t*, not the
one that turns out best at T. Where the same arm is best throughout, the two agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast._numba.compile import kernel
from holdfast.errors import InvalidParameter

NO_ARM = -1
"""J_0: the arm before the first round."""

MEASURES = {
    "pseudo_regret": "pseudo-regret",
    "switches": "switches",
    "regret_with_switching": "regret with switching",
    "total_loss": "total loss",
    "total_cost": "total cost",
}
"""Measures recorded at each checkpoint, with their names in words.

`regret_with_switching` is the paper's RS(t, λ), the pseudo-regret plus the cost of the switches. `total_loss` is the
expected loss of the arms played, for a table of losses what they really lost; `total_cost` adds the cost of the
switches: the bill.
"""

ON_REQUEST = {
    "dynamic": "dynamic regret",
    "realised": "realised regret",
    "pulls": "pulls of each arm",
    "switch_times": "rounds of the switches",
}
"""Measures recorded where `simulate` is asked for them (`record`), by their column, with their names in words.

`dynamic` is `total_cost` less what the cheapest plan of the means costs up to t. A plan names an arm for each round,
knows the means of all rounds, and pays for its switches as a policy does. `realised` is the losses drawn less those of
the arm with the least of them up to t. `pulls` is a list of how often each arm was played up to t, `switch_times` one
of the rounds, from 1, of the switches since the checkpoint before.
"""

LISTS = ("pulls", "switch_times")
"""Those that are lists; they have no mean."""

EVERY_MEASURE = MEASURES | {name: words for name, words in ON_REQUEST.items() if name not in LISTS}


@kernel
def is_switch(previous: int, arm: int) -> bool:
    """Return 1[J_{t−1} ≠ J_t]; the first play, after NO_ARM, is a switch."""
    return arm != previous


def pseudo_regret(excess_played: ArrayLike, excess_of_arms: ArrayLike) -> NDArray[np.float64]:
    """Return R_t: the excess of what was played less that of the best arm up to t, over any one reference arm.

    The last axis of `excess_of_arms` runs over the arms; the rest matches `excess_played`.
    """
    return np.asarray(np.asarray(excess_played) - np.min(excess_of_arms, axis=-1))


def with_cost(regret: ArrayLike, switches: ArrayLike, switching_cost: float) -> NDArray[np.float64]:
    """Return RS(t, λ) = R_t + λ S_t for a constant λ."""
    return np.asarray(np.asarray(regret) + switching_cost * np.asarray(switches))


def total_loss(regret: ArrayLike, least_loss: ArrayLike) -> NDArray[np.float64]:
    """Return the expected loss of the arms played up to t: R_t plus the expected loss of the best arm up to t."""
    return np.asarray(np.asarray(regret) + np.asarray(least_loss))


def regret(expected_losses: ArrayLike, played: ArrayLike, switching_cost: float = 0.0) -> dict[str, Any]:
    """Return R_t, S_t and RS(t, λ) after every round of one game, from its T × K expected losses and the arms played.

    For recorded losses, which are one fixed sequence, give the losses themselves.

    >>> regret([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], played=[0, 0, 1], switching_cost=0.5)["regret_with_switching"]
    array([0.5, 0.5, 1. ])
    """
    try:
        losses = np.ma.asarray(expected_losses, dtype=np.float64).filled(np.nan)
    except (ValueError, TypeError):  # text, or rows of different lengths
        losses = np.full(1, np.nan)
    if losses.ndim != 2 or not np.isfinite(losses).all():
        rule = "must be a table of finite numbers, with one row per round and one column per arm"
        raise InvalidParameter("expected_losses", rule, expected_losses)
    arms = np.asarray(played)
    if arms.shape != losses.shape[:1] or arms.dtype.kind not in "iu":
        raise InvalidParameter("played", f"must be one arm number for each of {losses.shape[0]} rounds", played)
    if len(arms) and not (arms.min() >= 0 and arms.max() < losses.shape[1]):
        raise InvalidParameter("played", f"must be arm numbers from 0 to {losses.shape[1] - 1}", played)
    own = np.cumsum(losses[np.arange(len(arms)), arms])
    value = pseudo_regret(own, np.cumsum(losses, axis=0))
    switches = np.cumsum(np.concatenate([[NO_ARM], arms])[:-1] != arms)
    return {
        "pseudo_regret": value,
        "switches": switches,
        "regret_with_switching": with_cost(value, switches, switching_cost),
    }
