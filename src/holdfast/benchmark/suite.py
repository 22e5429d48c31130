"""The suite, as data: where is played, for how long, how often, and against whom. A change is a new version.

Every number of a result depends on this module, on the policy, and on nothing else. What a track has of the file
`rivals_1.json` must have been played with the settings that are written here; `run.py` checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.bounds import theorem_1
from holdfast.environments import (
    Bernoulli,
    ChangingBest,
    ConstrainedBernoulli,
    Corrupted,
    Drifting,
    Environment,
    JumpingLevels,
    MultiScaleWalk,
    Reversal,
    Seasonal,
    UnseenTurn,
)

VERSION = 1
SEED = 1_000_003
REPLICATIONS = 64
QUICK = 8
"""Replications of a first look: the first of all, so its games are among those of a whole run."""
CONFIDENCE = 0.95
"""Of each score's interval, and of all comparisons of a track together."""


@dataclass(frozen=True)
class Setting:
    """One place of the suite."""

    name: str
    environment: Environment
    switching_cost: float
    horizon: int

    @property
    def scale(self) -> float:
        """Theorem 1's bound here: a score is a share of it."""
        return theorem_1(n_arms=self.environment.n_arms, switching_cost=self.switching_cost, horizon=self.horizon)

    def plain(self) -> dict[str, Any]:
        """As JSON carries it."""
        return {
            "name": self.name,
            "environment": self.environment.settings(),
            "switching_cost": self.switching_cost,
            "horizon": self.horizon,
            "scale": float(f"{self.scale:.12g}"),
        }


@dataclass(frozen=True)
class Track:
    """What policies see, where they play, and the rivals by name, each as `make_policy` takes it."""

    name: str
    what: str
    settings: tuple[Setting, ...]
    rivals: Mapping[str, Mapping[str, Any]]


def _settings(T: int) -> tuple[Setting, ...]:
    """Arms are shuffled in each replication: nothing is gained by preferring the first."""
    K = 8
    settings = (
        Setting("stochastic-easy", Bernoulli.with_gap(K, 0.2), 0.025, T),
        Setting("stochastic-hard", Bernoulli.with_gap(K, 0.05), 1.0, T),
        Setting("stochastic-free", Bernoulli.with_gap(K, 0.05), 0.0, T),
        Setting("three-best-arms", Bernoulli.with_gap(K, 0.2, best_arms=3), 1.0, T),
        Setting("many-arms", Bernoulli.with_gap(64, 0.2), 0.35, T),
        Setting("constrained-easy", ConstrainedBernoulli(K, 0.2), 0.025, T),
        Setting("constrained-hard", ConstrainedBernoulli(K, 0.05), 1.0, T),
        Setting("reversal", Reversal(K, T), 1.0, T),
        Setting("corrupted", Corrupted(K, T, corrupted=T // 30), 1.0, T),
        Setting("drifting", Drifting(K, T), 0.35, T),
        Setting("seasonal", Seasonal(K, T, period=T // 100), 0.35, T),
        Setting("changing-best", ChangingBest(K, T), 1.0, T),
        Setting("unseen-turn", UnseenTurn(K, T), 1.0, T),
        Setting("jumping-levels", JumpingLevels(K, T, stretch=T // 200), 0.05, T),
        Setting("multi-scale-walk", MultiScaleWalk(K, T, switching_cost=1.0), 1.0, T),
    )
    return tuple(replace(one, environment=replace(one.environment, shuffled=True)) for one in settings)


def _by_name(*policies: str) -> dict[str, dict[str, Any]]:
    return {name: {"policy": name} for name in policies}


TRACKS: Mapping[str, Track] = {
    track.name: track
    for track in (
        Track(
            "own",
            "only the loss of the arm in use is seen",
            _settings(100_000),
            {
                **_by_name(
                    "adaptive", "tsallis-switch", "tsallis-inf", "exp3", "exp3-blocks", "base-geometric", "ucb1"
                ),
                "ucb1-cooldown-100": {"policy": "ucb1", "cooldown": 100},
                **_by_name("hold-forever"),
            },
        ),
        Track(
            "all",
            "the losses of all arms are seen after each round",
            _settings(10_000),
            _by_name("hedge-switch", "adaptive", "ucb1", "hold-forever"),
        ),
    )
}
