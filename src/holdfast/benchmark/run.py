"""Play a policy on the suite and compare it with the rivals' frozen results, game by game.

A cost is the regret with switching at the horizon, rounded to six digits: what is written is what is compared, and the
last bits of a machine's logarithms do not show. A score is the mean over the settings of cost / Theorem 1's bound.
Replication i of every policy meets the same losses, so differences are taken in pairs. All comparisons of a track, with
every rival in every setting and over all of them, share an error of 5 % (Bonferroni).
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdfast.benchmark.suite import CONFIDENCE, QUICK, REPLICATIONS, SEED, TRACKS, VERSION, Setting, Track
from holdfast.checks import one_of
from holdfast.errors import BadSavedState, InvalidParameter, parameter_named
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import Comparison, interval
from holdfast.policies.policy import Policy
from holdfast.policies.registry import entry_of
from holdfast.runs.record import document
from holdfast.simulation.costs import Costs
from holdfast.simulation.run import simulate
from holdfast.studies.policies import study_policy

RIVALS = f"rivals_{VERSION}.json"
OVERALL = "score"
"""The name of the comparison over all settings."""

CostsBySetting = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Standing:
    """A policy's costs on one track, and how it compares with the rivals."""

    policy: str
    track: Track
    costs: CostsBySetting
    rivals: Mapping[str, CostsBySetting]
    code: Mapping[str, str] = field(default_factory=dict)
    """The module of a policy of your own and the SHA-256 of its source."""

    @property
    def replications(self) -> int:
        """Games in each setting."""
        return len(next(iter(self.costs.values())))

    @property
    def everyone(self) -> dict[str, CostsBySetting]:
        """The costs of the rivals and of the policy, which may bear a rival's name."""
        return {**self.rivals, self.policy: self.costs}

    def score(self, policy: str) -> tuple[float, float, float]:
        """The score of a policy and its interval."""
        return estimate(scores(self.track, self.everyone[policy]))

    @property
    def ranking(self) -> list[str]:
        """Everyone by score, the best first."""
        return sorted(self.everyone, key=lambda name: (self.score(name)[0], name))

    def against(self, rival: str, setting: str = OVERALL) -> Comparison:
        """The paired difference to a rival: of scores, or of costs in one setting."""
        confidence = 1.0 - (1.0 - CONFIDENCE) / (len(self.rivals) * (len(self.track.settings) + 1))
        if setting == OVERALL:
            own, other = scores(self.track, self.costs), scores(self.track, self.rivals[rival])
        else:
            own, other = np.array(self.costs[setting]), np.array(self.rivals[rival][setting])
        mean, low, high = estimate(own - other, confidence)
        horizon = self.track.settings[0].horizon
        return Comparison(self.policy, rival, setting, horizon, mean, low, high, confidence, len(own))

    def verdict(self, rival: str, setting: str = OVERALL) -> str:
        """``"better"``, ``"worse"`` or ``"not decided"``: what the policy is, compared with the rival."""
        found = self.against(rival, setting)
        return "not decided" if not found.decided else "better" if found.difference < 0 else "worse"

    def ranks(self) -> tuple[int, int]:
        """The best and the worst rank that the comparisons leave open."""
        verdicts = [self.verdict(rival) for rival in self.rivals if rival != self.policy]
        return 1 + verdicts.count("worse"), 1 + len(verdicts) - verdicts.count("better")

    def plain(self) -> dict[str, Any]:
        """As JSON carries it."""
        return {
            **_head(self.track, self.replications),
            "policy": self.policy,
            "code": dict(self.code),
            "score": self.score(self.policy),
            "ranks": self.ranks(),
            "of": len(self.everyone),
            "against": {rival: _compared(self, rival, OVERALL) for rival in self.rivals},
            "in_each_setting": {
                setting.name: {
                    "cost": estimate(self.costs[setting.name]),
                    "against": {rival: _compared(self, rival, setting.name) for rival in self.rivals},
                }
                for setting in self.track.settings
            },
            "costs": {name: list(values) for name, values in self.costs.items()},
        }


def run_benchmark(
    policy: str,
    *,
    track: str | None = None,
    quick: bool = False,
    workers: int | None = None,
    echo: Callable[[str], None] | None = None,
) -> Standing:
    """Play a policy on every setting of a track and compare it with the rivals.

    Parameters
    ----------
    policy
        A policy's id, or ``"module:Class"`` for your own; with parameters, ``"ucb1:cooldown=100"``.
    track
        ``"own"`` or ``"all"``; by default that of what the policy sees.
    quick
        Eight replications instead of 64: a first look.
    workers
        Threads; all cores by default. The numbers do not depend on it.
    echo
        Called with a line for each setting that was played.
    """
    entry = entry_of(policy, "policy")
    first = TRACKS["own"].settings[0]
    made, code = _made(entry, first)
    sees = made.sees
    if sees == "all" and track == "own":
        raise InvalidParameter("track", "must be 'all' for a policy that sees the losses of all arms", track)
    chosen = TRACKS[sees if track is None else one_of("track", track, TRACKS)]
    count = QUICK if quick else REPLICATIONS
    rivals = frozen_rivals(chosen)
    costs = play(policy, entry, chosen, count, workers=workers, echo=echo)
    first_of = {name: {key: values[:count] for key, values in found.items()} for name, found in rivals.items()}
    return Standing(policy, chosen, costs, first_of, code)


def play(
    name: str,
    entry: Mapping[str, Any],
    track: Track,
    replications: int,
    *,
    workers: int | None = None,
    echo: Callable[[str], None] | None = None,
) -> dict[str, list[float]]:
    """The costs of a policy in each setting, one per replication."""
    costs = {}
    for setting in track.settings:
        result = simulate(
            {name: _made(entry, setting)[0]},
            setting.environment,
            horizon=setting.horizon,
            switching_cost=setting.switching_cost,
            replications=replications,
            seed=SEED,
            checkpoints=[setting.horizon],
            workers=workers,
            progress=False,
        )
        costs[setting.name] = [rounded(cost) for cost in result.frame["regret_with_switching"]]
        if echo:
            echo(f"{name} in {setting.name}")
    return costs


def scores(track: Track, costs: CostsBySetting) -> Array:
    """The score of each replication."""
    shares = [np.array(costs[setting.name]) / setting.plain()["scale"] for setting in track.settings]
    return np.asarray(sum(shares) / len(shares))


def frozen_bytes() -> bytes:
    """The file of the rivals' results that comes with the package."""
    return pkgutil.get_data(__package__, RIVALS) or b"{}"


@cache
def _frozen() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(frozen_bytes())
    return found


def frozen_rivals(track: Track) -> dict[str, CostsBySetting]:
    """The rivals' results as they come with the package; refused where they are those of another suite."""
    found = _frozen().get(track.name, {})
    head = json.loads(json.dumps(_head(track, REPLICATIONS)))
    if {key: found.get(key) for key in head} != head:
        raise BadSavedState(f"{RIVALS} was played with other settings than suite {VERSION} has: a change is a version")
    costs: dict[str, CostsBySetting] = found["rivals"]
    return costs


def play_rivals(*, workers: int | None = None, echo: Callable[[str], None] | None = None) -> bytes:
    """The file of the rivals' results, played anew: the same bytes on every machine."""
    played = {}
    for track in TRACKS.values():
        rivals = {
            name: play(name, entry, track, REPLICATIONS, workers=workers, echo=echo)
            for name, entry in track.rivals.items()
        }
        played[track.name] = {**_head(track, REPLICATIONS), "rivals": rivals}
    return one_line_lists(document(played))


def one_line_lists(text: bytes) -> bytes:
    """JSON with each list of numbers on one line."""
    return re.sub(rb"\[\s+([^\[\]{}\"]+?)\s+\]", lambda m: b"[" + b" ".join(m[1].split()) + b"]", text)


def estimate(sample: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Mean and confidence interval of a sample, to six digits."""
    mean, low, high = map(rounded, interval(sample, confidence))
    return mean, low, high


def rounded(value: float) -> float:
    """To six digits."""
    return float(f"{value:.6g}")


def _made(entry: Mapping[str, Any], setting: Setting) -> tuple[Policy, dict[str, str]]:
    """The policy as it plays in a setting, and its code where it is a user's."""
    costs = Costs.of(setting.switching_cost)
    with parameter_named(lambda name: name.removeprefix("policy.")):
        _, policy, code = study_policy("policy", dict(entry), setting.environment, setting.horizon, costs, Path())
    return policy, code


def _head(track: Track, replications: int) -> dict[str, Any]:
    return {
        "suite": VERSION,
        "track": track.name,
        "seed": SEED,
        "replications": replications,
        "settings": [setting.plain() for setting in track.settings],
    }


def _compared(standing: Standing, rival: str, setting: str) -> dict[str, Any]:
    found = standing.against(rival, setting)
    ends = {"difference": found.difference, "low": found.low, "high": found.high}
    return {**ends, "verdict": standing.verdict(rival, setting)}
