"""Open Bandit Pipeline: the log of a game as `bandit_feedback`, for off-policy estimators that other policies need.

bandit_feedback(router)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.decisions.router import Router
from holdfast.extras import pl

PLAYED = ("told", "late", "missing")
"""Rounds that the policy has drawn, with a loss that counts."""


def bandit_feedback(router: Router) -> dict[str, Any]:
    """Return the log as obp's ``bandit_feedback``: a row for each block, since rounds of a block were drawn together.

    The reward is one less the mean loss, as a share of the policy's units. Rounds that a pin or your own rule decided,
    and those without a loss, are left out. Rounds in which another arm stood in for the one drawn are a row of their
    own.
    """
    names = list(router.executor.setup.names)
    low, high = router.policy.units
    log = router.history.log.filter(pl.col("status").is_in(PLAYED) & pl.col("loss").is_not_null())
    rows = log.group_by("block", "arm", "probability", maintain_order=True).agg(pl.col("loss").mean(), pl.len())
    reward = (high - rows["loss"].to_numpy()) / (high - low)
    return {
        "n_rounds": len(rows),
        "n_actions": len(names),
        "context": np.zeros((len(rows), 1)),
        "action_context": np.eye(len(names)),
        "action": np.array([names.index(arm) for arm in rows["arm"].to_list()], dtype=np.int64),
        "position": None,
        "reward": reward,
        "expected_reward": None,
        "pscore": rows["probability"].to_numpy(),
    }
