"""Adaptive Hedge-Switch: a mixture of paths for who sees the losses of all arms, with a rate that follows its own cost.

Each path costs its losses and its switches. Paths are weighed by exp(−η·cost), the arm is drawn so that it changes as
rarely as these weights allow, and η follows what mixing has cost so far: AdaHedge (de Rooij, van Erven, Grünwald and
Koolen, JMLR 15, 2014) with the switches of the mixture counted in. ``docs/visible.md`` has the algorithm, the theorem
and its proof; `hedge_kernels` has the kernels.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.checks import LARGEST, whole, whole_number
from holdfast.errors import InvalidParameter
from holdfast.layouts import Array, Layout
from holdfast.policies.default_paths import default_paths, made_path
from holdfast.policies.hedge_kernels import HedgeParams, hedge_kernels
from holdfast.policies.path import LONGEST_PERIOD, Path, PathKernels
from holdfast.policies.policy import Announcement, Kernels, WithAllLosses, must_be
from holdfast.policies.switching_costs import CostTable, checked_costs

ANNOUNCED = "announced"


@dataclass(frozen=True)
class OfPaths(WithAllLosses):
    """What mixes paths, or plays one: it knows what switches cost, and which arms are available."""

    switching_cost: float | Literal["announced"] | CostTable = field(kw_only=True)
    """λ, a table with a cost for each pair of arms, or ``"announced"``."""
    stale: int = field(default=0, kw_only=True, metadata=whole(least=0))
    """For how many rounds the last known loss stands for one that is not given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.switching_cost, str) or self.switching_cost != ANNOUNCED:
            self._set("switching_cost", self._checked_switching_cost())

    def _checked_switching_cost(self) -> float | CostTable:
        cost = self.switching_cost
        if isinstance(cost, str):
            raise InvalidParameter("switching_cost", 'must be a number, a table or "announced"', cost)
        if not isinstance(cost, (Sequence, np.ndarray)):
            return self.checked_cost(cost)
        table, detour = checked_costs(cost, self.n_arms, LARGEST * self.unit)
        if detour is not None:
            a, b, c = (arm if self.arms is None else self.arms[arm] for arm in detour)
            warnings.warn(
                f"switching_cost from {a!r} to {c!r} is more than by way of {b!r}: shortest ways are used instead",
                UserWarning,
                stacklevel=6,
            )
        return table

    def __getstate__(self) -> dict[str, Any]:
        """The settings alone: kernels are composed again where they are needed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    @abstractmethod
    def mixed(self) -> tuple[Path, ...]:
        """The paths; those of one kind stand together."""

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are looked at."""
        return 0

    @property
    def announces(self) -> Announcement | None:
        """λ of each round, where it is announced."""
        return "switching_cost" if self.switching_cost == ANNOUNCED else None

    @cached_property
    def kernels(self) -> Kernels:
        """The loop over paths, composed of their kernels."""
        kinds = tuple(kind for kind, _ in groupby(self.mixed, key=_kind))
        return hedge_kernels(kinds, pairs=isinstance(self.switching_cost, tuple))

    @cached_property
    def state_layout(self) -> Layout:
        """Where the numbers of a game with these paths lie."""
        layouts = [path.layout for path in self.mixed]
        sizes = {
            "paths": len(self.mixed),
            "numbers": sum(layout.n_numbers for layout in layouts),
            "vectors": sum(layout.vector_rows(self.n_arms) for layout in layouts),
            "forecast": self.forecast_rows,
            "ahead": max(path.kernels.look_ahead for path in self.mixed),
            "pairs": self.n_arms if isinstance(self.switching_cost, tuple) else 0,
        }
        return self.kernels.state_layout.of_size(sizes)

    def parameters(self) -> HedgeParams:
        """As the kernels take them."""
        own: list[float] = []
        path_sizes: list[int] = []
        places = [[0, 0, 0, 0]]
        for path in self.mixed:
            settings, sizes = path.own(), [path.sizes()[name] for name in path.layout.size_names]
            own += settings
            path_sizes += sizes
            taken = (len(settings), len(sizes), path.layout.n_numbers, path.layout.vector_rows(self.n_arms))
            places.append([begin + more for begin, more in zip(places[-1], taken, strict=True)])
        counts = [len(list(group)) for _, group in groupby(self.mixed, key=_kind)]
        table = self.switching_cost if isinstance(self.switching_cost, tuple) else ()
        costs = [cost / self.unit for row in table for cost in row]
        announced = self.switching_cost == ANNOUNCED
        lam = max(costs) if costs else 0.0 if announced else float(self.switching_cost) / self.unit  # type: ignore[arg-type]
        ln_N = math.log(max(len(self.mixed), 2))  # of one path alone the rate is never used
        return HedgeParams(
            log_paths=ln_N,
            lam=lam,
            varying=float(announced),
            sizes=np.array([self.state_layout.sizes[name] for name in self.state_layout.size_names]),
            kinds=np.cumsum([0, *counts]),
            places=np.array(places, dtype=np.float64).ravel(),
            own=np.array(own),
            path_sizes=np.array(path_sizes),
            costs=np.array(costs),
        )

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        """The mixture of this round."""
        return np.array(state.P)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = super().settings()
        if isinstance(self.switching_cost, tuple):
            values["switching_cost"] = [list(row) for row in self.switching_cost]
        return values

    def check_saved(self, state: Mapping[str, Any], block: Mapping[str, Any] | None) -> None:
        """An error for numbers that no game can have come to."""
        K, N = self.n_arms, len(self.mixed)
        must_be(state["n"] >= 0 and state["n"] == int(state["n"]), "n must be a number of rounds")
        must_be(0 <= state["last"] <= K and (state["last"] > 0) == (state["n"] > 0), "last must be an arm")
        must_be(state["first"] >= 0 and 0 <= state["rows"] <= self.forecast_rows, "rows must be those of a forecast")
        lam = state["lam"]
        must_be(0 <= lam <= LARGEST and 0 <= state["moving"] <= lam * (1 + 1e-9), "lam must be a switching cost")
        if state["n"] == 0:
            return
        must_be(0 < state["delta"] <= LARGEST, "delta must be positive")
        must_be(max(abs(state["gap"]), abs(state["gap_low"])) <= LARGEST, "gap must be a sum")
        must_be(min(state["paid"]) >= 0 and max(state["paid"]) <= lam, "paid must be what a switch costs")
        for name in ("level", "before"):
            must_be(min(state[name]) >= 0 and max(state[name]) <= 1 + 1e-9, f"{name} must be from 0 to 1")
        must_be(all(0 <= arm < K and arm == int(arm) for arm in state["at"]), f"at must be {N} arms")
        must_be(min(state["C"]) >= 0 and max(state["C"]) <= LARGEST, "C must not be negative")
        for name in ("p", "P"):
            must_be(min(state[name]) >= 0 and abs(sum(state[name]) - 1.0) < 1e-9, f"{name} must be weights")
        number = vector = 0
        for path in self.mixed:
            layout = path.layout
            numbers = np.array(state["numbers"][number : number + layout.n_numbers])
            vectors = np.array(state["vectors"][vector : vector + layout.vector_rows(K)])
            rule = layout.broken_rule(layout.saved(numbers, vectors), K)
            must_be(rule is None, f"memory of {path.id}: {rule}")
            number, vector = number + layout.n_numbers, vector + layout.vector_rows(K)


@dataclass(frozen=True)
class AdaptiveHedgeSwitch(OfPaths):
    """For who sees the losses of all arms after each round: a mixture of simple paths, with a certificate of its own.

    Each path is a strategy such as "stay with arm 3", "move when another arm has been cheaper by λ", "plan the next two
    days on what the last days were like", "plan on the given forecast". On average the policy costs no more than the
    best of its paths plus ``player.certificate``, whatever the losses are; it needs no horizon and no tuning. Use
    `AdaptiveTsallisSwitch` where only the loss of the arm in play is seen.

    Parameters
    ----------
    n_arms, arms, units
        The number of arms K, or their names; the lowest and the highest loss of a round. As for every policy.
    switching_cost
        λ, what one switch costs in the units of `units`; or a table with a row of costs for each arm to leave and
        a column for each arm to go to; or ``"announced"``: then each round's λ is given by
        ``ask(switching_cost=...)``.
    period
        Rounds after which losses repeat, such as 24 for hours; or several, ``(24, 168)``; or none, ``()``. If left out,
        a period of 7, 12, 24 or 48 rounds is looked for in what was seen.
    paths
        The paths to mix instead of the default ones: ``[*default_paths(K), MyPath()]``.
    forecast_rounds
        The most rounds of a forecast in ``ask(forecast=...)`` that are looked at.
    stale
        For how many rounds the last known loss stands for one that is not given. After that it is an error.

    Examples
    --------
    >>> player = AdaptiveHedgeSwitch(arms=["north", "south"], switching_cost=0.5, period=24).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(losses={"north": 0.2, "south": 0.7})
    >>> player.certificate > 0
    True
    """

    id: ClassVar[str] = "hedge-switch"

    period: int | Sequence[int] | None = field(default=None, kw_only=True)
    paths: Sequence[Any] | None = field(default=None, kw_only=True)
    forecast_rounds: int = field(default=48, kw_only=True, metadata=whole(least=0, most=LONGEST_PERIOD))

    def __post_init__(self) -> None:
        super().__post_init__()
        periods = (self.period,) if self.period is None or not isinstance(self.period, Sequence) else self.period
        if self.period is not None:
            checked = tuple(whole_number("period", p, least=2, most=LONGEST_PERIOD) for p in periods)
            self._set("period", checked[0] if len(checked) == 1 else checked)
        if self.paths is not None:
            if isinstance(self.paths, (str, Mapping)) or not isinstance(self.paths, Sequence) or not self.paths:
                raise InvalidParameter("paths", "must be a list of paths such as WorkFunction(2)", self.paths)
            self._set("paths", tuple(made_path(path) for path in self.paths))

    @cached_property
    def mixed(self) -> tuple[Path, ...]:
        """The paths that are mixed; those of one kind stand together."""
        if self.paths is not None:
            order: dict[Any, list[Path]] = {}
            for path in self.paths:
                order.setdefault(_kind(path), []).append(path)
            return tuple(path for group in order.values() for path in group)
        periods = (self.period,) if isinstance(self.period, int) else self.period
        return default_paths(self.n_arms, periods, self.forecast_rounds)

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are looked at."""
        return self.forecast_rounds

    def certificate(self, state: Any) -> float:
        """2Δ: what the game has cost more than the best path, at most and on average, in the units of the losses."""
        return 2.0 * float(state.delta[0]) * self.unit

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values, enough to make this policy again."""
        values = super().settings()
        if self.paths is not None:
            values["paths"] = [path.settings() for path in self.paths]
        return values


def _kind(path: Path) -> PathKernels:
    """What plays a path, the same for all that machine code need not tell apart."""
    return path.kernels._replace(look_ahead=0)
