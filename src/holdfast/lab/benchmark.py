"""The frozen benchmark: settings, rivals and their results, as data, and a policy ranked among them.

A cost is the regret with switching at the horizon, rounded to six digits: what is written is what is compared, and the
last bits of a machine's logarithms do not show. A score is the mean over the settings of cost / Theorem 1's bound.
Differences are taken between replications of the same number, which share a random stream. All comparisons of a track,
with every rival in every setting and over all of them, share an error of 5 % (Bonferroni).

Every number of a result depends on the settings here, on the policy, and on nothing else; a change is a new version.
"""

from __future__ import annotations

import json
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from holdfast.checks import one_of
from holdfast.environments import Bernoulli
from holdfast.errors import BadSavedState, InvalidParameter, parameter_named, printable
from holdfast.lab.judge import COST
from holdfast.lab.plan import Cell, Plan, Setting, hard_setting, paper_settings
from holdfast.numerics.layout import Array
from holdfast.numerics.statistics import Comparison, Estimate, interval
from holdfast.policies.registry import entry_of
from holdfast.runs import document
from holdfast.simulation.backends import find_backend
from holdfast.simulation.contract import check_own
from holdfast.text import counted, number, table

VERSION = 1
SEED = 1_000_003
REPLICATIONS = 64
QUICK = 8
"""Replications of a first look: the first of all, so its games are among those of a whole run."""
CONFIDENCE = 0.95
"""Confidence of each score's interval, and of all comparisons of a track together."""
RIVALS = f"rivals_{VERSION}.json"
OVERALL = "score"
"""The name of the comparison over all settings."""
VERDICTS = ("better", "not decided", "worse")

CostsBySetting = Mapping[str, Sequence[float]]


# ---- the suite ----


@dataclass(frozen=True)
class Track:
    """Feedback of a group of policies, the settings they play, and the rivals by name, as `make_policy` takes them."""

    name: str
    what: str
    settings: tuple[Setting, ...]
    rivals: Mapping[str, Mapping[str, Any]]

    def plan(self, policy: str, entry: Mapping[str, Any], replications: int) -> Plan:
        """Return the games of a policy: a cell for each setting."""

        def cell(setting: Setting) -> Cell:
            return setting.cell([{**entry, "name": policy}], replications=replications, seed=SEED)

        with parameter_named(lambda name: name.removeprefix("policies[0].")):
            return Plan(self.name, tuple(map(cell, self.settings)))

    def head(self, replications: int) -> dict[str, Any]:
        """Return the settings that results of this track depend on, as JSON."""
        settings = [
            {
                "name": setting.name,
                "environment": setting.environment.settings(),
                "switching_cost": setting.switching_cost,
                "horizon": setting.horizon,
                "scale": _scale(setting),
            }
            for setting in self.settings
        ]
        return {
            "suite": VERSION,
            "track": self.name,
            "seed": SEED,
            "replications": replications,
            "settings": settings,
        }


def _scale(setting: Setting) -> float:
    """Return Theorem 1's bound: a score is a share of it."""
    return float(f"{setting.bound:.12g}")


def _settings(T: int) -> tuple[Setting, ...]:
    """Return the settings, with arms shuffled in each replication: preferring the first arm gains nothing."""
    paper = paper_settings(T)
    settings = (
        paper["stochastic-easy"],
        paper["stochastic-hard"],
        paper["stochastic-free"],
        replace(paper["ties-stochastic"], name="three-best-arms"),
        Setting("many-arms", "benchmark", Bernoulli.with_gap(64, 0.2), 0.35, T),
        paper["constrained-easy"],
        paper["constrained-hard"],
        replace(paper["adversarial"], name="reversal"),
        hard_setting("corrupted", T, 1.0),
        hard_setting("drifting", T, 0.35),
        hard_setting("seasonal", T, 0.35),
        hard_setting("changing-best", T, 1.0),
        hard_setting("unseen-turn", T, 1.0),
        hard_setting("jumping-levels", T, 0.05),
        hard_setting("multi-scale-walk", T, 1.0),
    )
    return tuple(replace(one, environment=replace(one.environment, shuffled=True)) for one in settings)


def _by_name(*policies: str) -> dict[str, dict[str, Any]]:
    return {name: {"policy": name} for name in policies}


TRACKS: Mapping[str, Track] = {
    "own": Track(
        "own",
        "only the loss of the arm in use is seen",
        _settings(100_000),
        {
            **_by_name("adaptive", "tsallis-switch", "tsallis-inf", "exp3", "exp3-blocks", "base-geometric", "ucb1"),
            "ucb1-cooldown-100": {"policy": "ucb1", "cooldown": 100},
            **_by_name("ewma", "fail-over", "threshold-cooldown", "hold-forever"),
        },
    ),
    "all": Track(
        "all",
        "the losses of all arms are seen after each round",
        _settings(10_000),
        _by_name("hedge-switch", "adaptive", "ucb1", "hold-forever"),
    ),
}


# ---- playing ----


def run_benchmark(
    policy: str,
    *,
    track: str | None = None,
    quick: bool = False,
    workers: int | None = None,
    echo: Callable[[str], None] | None = None,
) -> BenchmarkResult:
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
    policy = entry.get("name", policy)
    count = QUICK if quick else REPLICATIONS
    first = TRACKS["own"].plan(policy, entry, count).cells[0]
    check_own(*first.policies.values())
    sees = "all" if first.policies[policy].full_information else "own"
    if sees == "all" and track == "own":
        raise InvalidParameter("track", "must be 'all' for a policy that sees the losses of all arms", track)
    chosen = TRACKS[sees if track is None else one_of("track", track, TRACKS)]
    rivals = frozen_rivals(chosen)
    costs = play_track(chosen, policy, entry, count, workers=workers, echo=echo)
    first_of = {name: {key: values[:count] for key, values in found.items()} for name, found in rivals.items()}
    return BenchmarkResult(policy, chosen, costs, first_of, first.code)


def play_track(
    track: Track,
    policy: str,
    entry: Mapping[str, Any],
    replications: int,
    *,
    workers: int | None = None,
    echo: Callable[[str], None] | None = None,
) -> dict[str, list[float]]:
    """Return the costs of a policy in each setting, one per replication."""
    costs = {}
    with find_backend("threads", workers=workers) as backend:
        for cell in track.plan(policy, entry, replications).cells:
            costs[cell.name] = [_rounded(cost) for cost in cell.play(backend).frame[COST]]
            if echo:
                echo(f"{policy} in {cell.name}")
    return costs


def play_rivals(*, workers: int | None = None, echo: Callable[[str], None] | None = None) -> bytes:
    """Play the rivals again and return the file of their results: the same bytes on every machine."""
    played = {}
    for track in TRACKS.values():
        rivals = {
            name: play_track(track, name, entry, REPLICATIONS, workers=workers, echo=echo)
            for name, entry in track.rivals.items()
        }
        played[track.name] = {**track.head(REPLICATIONS), "rivals": rivals}
    return one_line_lists(document(played))


def frozen_bytes() -> bytes:
    """Return the file of the rivals' results that comes with the package."""
    return pkgutil.get_data(__package__, RIVALS) or b"{}"


@cache
def _frozen() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(frozen_bytes())
    return found


def frozen_rivals(track: Track) -> dict[str, CostsBySetting]:
    """Return the rivals' results as they come with the package; refuse those of another suite."""
    found = _frozen().get(track.name, {})
    head = json.loads(json.dumps(track.head(REPLICATIONS)))
    if {key: found.get(key) for key in head} != head:
        raise BadSavedState(f"{RIVALS} was played with other settings than suite {VERSION} has: a change is a version")
    costs: dict[str, CostsBySetting] = found["rivals"]
    return costs


def one_line_lists(text: bytes) -> bytes:
    """Put each list of numbers in a JSON file on one line."""
    return re.sub(rb"\[\s+([^\[\]{}\"]+?)\s+\]", lambda m: b"[" + b" ".join(m[1].split()) + b"]", text)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


# ---- comparing ----


@dataclass(frozen=True)
class BenchmarkResult:
    """A policy's costs on one track, and how it compares with the rivals."""

    policy: str
    track: Track
    costs: CostsBySetting
    rivals: Mapping[str, CostsBySetting]
    code: Mapping[str, str] = field(default_factory=dict)
    """Module of a user-defined policy, and the SHA-256 of its source."""

    @property
    def replications(self) -> int:
        """Games in each setting."""
        return len(next(iter(self.costs.values())))

    @property
    def everyone(self) -> dict[str, CostsBySetting]:
        """The costs of the rivals and of the policy, which may bear a rival's name."""
        return {**self.rivals, self.policy: self.costs}

    def score(self, policy: str) -> Estimate:
        """Return the score of a policy and its interval."""
        return _estimate(self._scores(self.everyone[policy]))

    def _scores(self, costs: CostsBySetting) -> Array:
        shares = [np.array(costs[setting.name]) / _scale(setting) for setting in self.track.settings]
        return np.asarray(sum(shares) / len(shares))

    @property
    def ranking(self) -> list[str]:
        """Everyone by score, the best first."""
        return sorted(self.everyone, key=lambda name: (self.score(name).mean, name))

    def against(self, rival: str, setting: str = OVERALL) -> Comparison:
        """Return the paired difference to a rival: of scores, or of costs in one setting."""
        confidence = 1.0 - (1.0 - CONFIDENCE) / (len(self.rivals) * (len(self.track.settings) + 1))
        if setting == OVERALL:
            own, other = self._scores(self.costs), self._scores(self.rivals[rival])
        else:
            own, other = np.array(self.costs[setting]), np.array(self.rivals[rival][setting])
        horizon = self.track.settings[0].horizon
        difference = _estimate(own - other, confidence)
        return Comparison(self.policy, rival, setting, horizon, *difference, confidence, len(own))

    def verdict(self, rival: str, setting: str = OVERALL) -> str:
        """Return how the policy compares with the rival: ``"better"``, ``"worse"`` or ``"not decided"``."""
        found = self.against(rival, setting)
        return "not decided" if not found.decided else "better" if found.difference < 0 else "worse"

    def ranks(self) -> tuple[int, int]:
        """Return the best and the worst rank that the comparisons leave open."""
        verdicts = [self.verdict(rival) for rival in self.rivals if rival != self.policy]
        return 1 + verdicts.count("worse"), 1 + len(verdicts) - verdicts.count("better")

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON."""

        def compared(setting: str) -> dict[str, dict[str, Any]]:
            found = {rival: self.against(rival, setting) for rival in self.rivals}
            return {
                rival: {
                    "difference": one.difference,
                    "low": one.low,
                    "high": one.high,
                    "verdict": self.verdict(rival, setting),
                }
                for rival, one in found.items()
            }

        return {
            **self.track.head(self.replications),
            "policy": self.policy,
            "code": dict(self.code),
            "score": self.score(self.policy),
            "ranks": self.ranks(),
            "of": len(self.everyone),
            "against": compared(OVERALL),
            "in_each_setting": {
                name: {"cost": _estimate(costs), "against": compared(name)} for name, costs in self.costs.items()
            },
            "costs": {name: list(values) for name, values in self.costs.items()},
        }

    def lines(self) -> Iterator[str]:
        """Yield the ranking, then each setting, in lines for a terminal of 80 columns."""
        track = self.track
        head = (
            f"Suite {VERSION}, track {track.name!r}: {track.what}. {counted(len(track.settings), 'setting')}, "
            f"T = {number(track.settings[0].horizon)}, {counted(self.replications, 'replication')}. Score: regret with "
            "switching as a share of Theorem 1's bound, mean over the settings; less is better. All comparisons "
            "together are wrong with a probability of at most 5 %."
        )
        yield textwrap.fill(head, 80)
        yield ""
        theirs = {"better": "worse", "worse": "better", "not decided": "not decided"}
        ranking = []
        for place, name in enumerate(self.ranking, 1):
            score = self.score(name)
            against = "<" if name == self.policy else theirs[self.verdict(name)]
            ranking.append((str(place), printable(name), f"{number(score.mean, 4)} ± {score.half:.4f}", against))
        yield table(("rank", "policy", "score", "than yours"), ranking, width=80, labels=2)
        best, worst = self.ranks()
        ranks = f"rank {best}" if best == worst else f"rank {best} to {worst}: not decided"
        yield f"{printable(self.policy)}: {ranks}, of {len(self.everyone)}"
        yield ""
        rows = []
        for setting, costs in self.costs.items():
            cost = interval(costs)
            found = [self.verdict(rival, setting) for rival in self.rivals if rival != self.policy]
            counts = [str(found.count(verdict)) for verdict in VERDICTS]
            rows.append((setting, f"{number(cost.mean)} ± {number(cost.half)}", *counts))
        yield table(("setting", "cost", *VERDICTS), rows, width=80)
        yield "In each setting: how many rivals yours is better and worse than."


def _estimate(sample: Any, confidence: float = CONFIDENCE) -> Estimate:
    """Return a mean with its interval, to six digits."""
    return Estimate(*map(_rounded, interval(sample, confidence)))
