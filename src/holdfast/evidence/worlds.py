"""Where they play: the paper's settings, the hard cases, worlds found by search, and traces of the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.bounds import theorem_1
from holdfast.checks import real_number
from holdfast.environments import Environment, LossTable
from holdfast.environments.environment import UNIT_RANGE
from holdfast.environments.phased import (
    ChangingBest,
    Corrupted,
    Drifting,
    Found,
    JumpingLevels,
    Phased,
    Seasonal,
    UnseenTurn,
    found_worlds,
)
from holdfast.environments.walk import MultiScaleWalk
from holdfast.errors import InvalidParameter, nearest
from holdfast.files import sha256
from holdfast.paper.figures import ARMS, FIGURES
from holdfast.verdicts.settings import RunSettings as PaperSettings

GROUPS: Mapping[str, str] = {
    "paper": "the paper's settings",
    "hard": "hard cases",
    "traces": "traces",
    "found": "worlds found by search",
}
"""The kinds of environments. What was found by searching for a policy's worst case is kept apart in every summary."""

LONG = "long"
"""The games of `holdfast.evidence.growth`: no environments of the tables, so no group."""

COSTS: Mapping[str, float] = {"cheap": 0.05, "costly": 1.0}
"""λ of the hard cases, and what their names end with."""

TRACE_COSTS = (0.1, 0.35, 1.0)
"""λ on traces unless others are given, in the units of their losses."""

LEAST_HORIZON = 1000
"""Rounds of the shortest game: the hard cases are laid out over a hundred steps."""


@dataclass(frozen=True)
class World:
    """One environment of the arena: what is lost there, what a switch costs, and for how long it is played."""

    name: str
    group: str
    environment: Environment
    switching_cost: float
    horizon: int
    source: Mapping[str, Any] = field(default_factory=dict)
    """The file of a trace and its checksum, or nothing."""

    @property
    def bound(self) -> float:
        """Theorem 1's bound, in the units of the losses."""
        unit = self.environment.unit
        cost = self.switching_cost / unit
        return unit * theorem_1(n_arms=self.environment.n_arms, switching_cost=cost, horizon=self.horizon)

    @property
    def plan(self) -> float:
        """What the cheapest plan in hindsight costs more than the best fixed arm: zero, or less where it can move.

        A plan knows the means of every round, moves where they change, and pays for that; its first arm is free. In a
        trace means cannot be told from noise, and in the multi-scale walk one arm is best in every round: zero.
        """
        if not isinstance(self.environment, Phased):
            return 0.0
        starts = self.environment.starts[self.environment.starts < self.horizon]
        rounds = np.diff(np.append(starts, float(self.horizon)))
        losses = self.environment.means[: len(starts)] * rounds[:, None]
        cheapest = np.zeros(losses.shape[1])  # of all plans that end in each arm
        for phase in losses:
            cheapest = np.minimum(cheapest, cheapest.min() + self.switching_cost) + phase
        return min(float(cheapest.min() - losses.sum(axis=0).min()), 0.0)


def paper_worlds(horizon: int, n_arms: int = PaperSettings.n_arms) -> list[World]:
    """The settings of the paper's figures: eight, two of them again with the best arm anywhere; and of its arms' two.

    The ties are those of three best arms, or of as many as there are beside another.
    """
    settings = PaperSettings(horizon=horizon, n_arms=n_arms)

    def world(name: str, figure: str, row: int = 0, place: int = 0) -> World:
        match = FIGURES[figure].rows[row].matches(settings)[place]
        assert isinstance(match.switching_cost, float)
        return World(name, "paper", match.environment, match.switching_cost, horizon)

    once = ("stochastic-easy", "stochastic-hard", "stochastic-free", "constrained-easy", "constrained-hard")
    return [
        *(world(name, name) for name in once),
        *(world(f"{name}-shuffled", name, row=1) for name in ("constrained-easy", "constrained-hard")),
        world("adversarial", "adversarial"),
        *(world(name, name, place=min(2, n_arms - 2)) for name in ("ties-stochastic", "ties-constrained")),
        *(world(f"arms-{ARMS[place]}", "arms", place=place) for place in (0, len(ARMS) - 1)),
    ]


HARD: Mapping[str, Callable[[int, int, float], Environment]] = {
    "corrupted": lambda K, T, cost: Corrupted(K, T, corrupted=T // 30),
    "corrupted-often": lambda K, T, cost: Corrupted(K, T, corrupted=T // 10, stretches=20),
    "drifting": lambda K, T, cost: Drifting(K, T),
    "seasonal": lambda K, T, cost: Seasonal(K, T, period=max(T // 100, 24)),
    "seasonal-common": lambda K, T, cost: Seasonal(K, T, period=max(T // 100, 24), lag=0.0),
    "changing-best": lambda K, T, cost: ChangingBest(K, T),
    "unseen-turn": lambda K, T, cost: UnseenTurn(K, T),
    "unseen-turn-quiet": lambda K, T, cost: UnseenTurn(K, T, noise=False),
    "jumping-levels": lambda K, T, cost: JumpingLevels(K, T, stretch=max(T // 200, 1)),
    "multi-scale-walk": lambda K, T, cost: MultiScaleWalk(K, T, switching_cost=cost),
}
"""The hard cases from K, T and λ."""


def hard_worlds(horizon: int) -> list[World]:
    """Each hard case with cheap and with costly switches."""
    K = PaperSettings.n_arms
    return [
        World(f"{name}-{word}", "hard", make(K, horizon, cost), cost, horizon)
        for name, make in HARD.items()
        for word, cost in COSTS.items()
    ]


def laid_out(names: Sequence[str], horizon: int) -> list[World]:
    """The environments of these names that can be laid out over any horizon; traces and found worlds cannot."""
    return [world for world in (*paper_worlds(horizon), *hard_worlds(horizon)) if world.name in names]


def searched_worlds() -> list[World]:
    """Worlds found by search, with the costs and rounds they were found with."""
    worlds = [Found(name) for name in found_worlds()]
    return [World(f"found-{world.name}", "found", world, world.switching_cost, world.horizon) for world in worlds]


def trace_worlds(
    files: Iterable[str | Path],
    costs: Sequence[float] = TRACE_COSTS,
    *,
    units: tuple[float, float] = UNIT_RANGE,
    index: str | None = None,
) -> list[World]:
    """Each file of losses with each of these costs; all their rounds are played."""
    worlds: list[World] = []
    prices = [real_number("switching_costs", cost, least=0) for cost in costs]
    for given in files:
        file = Path(given)
        try:
            table = LossTable(file, units=units, index=index)
        except InvalidParameter as error:
            parameter = "trace" if error.parameter == "source" else error.parameter
            where = "" if file.name in f"{error.rule} {error.value}" else f" (in {file.name})"
            raise InvalidParameter(parameter, f"{error.rule}{where}", error.value) from None
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.name.partition(".")[0]).strip("-.") or "trace"
        source = {"source": file.name, "sha256": sha256(file)}
        worlds += [World(f"{stem}-{cost:g}", "traces", table, cost, table.rounds, source) for cost in prices]
    for name in (world.name for world in worlds):
        if sum(world.name == name for world in worlds) > 1:
            raise InvalidParameter("trace", "must have different names and costs", name)
    return worlds


QUICK = (
    "stochastic-easy",
    "stochastic-hard",
    "adversarial",
    "corrupted-costly",
    "drifting-costly",
    "changing-best-cheap",
    "changing-best-costly",
    "unseen-turn-costly",
)
"""A few of one kind for a first look."""


def name_list(parameter: str, given: object, rule: str) -> Sequence[str]:
    """Names that were given as a list, or as a text with commas."""
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",") if name.strip()]
    if not isinstance(given, Sequence) or not given:
        raise InvalidParameter(parameter, rule, given)
    return given


def chosen_worlds(
    horizon: int, traces: Sequence[World] = (), given: object = None, *, quick: bool = False
) -> tuple[list[World], bool]:
    """The environments by name or group, in the order they have, and whether the long games are among them.

    All, or a few, and every trace where no names are given.
    """
    everything = [*paper_worlds(horizon), *hard_worlds(horizon), *traces, *searched_worlds()]
    if given is None:
        return [w for w in everything if not quick or w.name in QUICK or w.group in ("traces", "found")], True
    rule = f"must be a list of names, or of {', '.join(GROUPS)}"
    asked = name_list("environments", given, rule)
    names = name_list("environments", [name for name in asked if name != LONG], rule)
    known = [*GROUPS, LONG, *(world.name for world in everything)]
    for name in names:
        if name not in known:
            rule = f"must be of {', '.join(known)}{nearest(str(name), known)}"
            raise InvalidParameter("environments", rule, name)
    chosen = [w for w in everything if w.name in names or w.group in names]
    if not chosen:
        raise InvalidParameter("environments", "must be some; traces are given with --trace", names)
    return chosen, LONG in asked
