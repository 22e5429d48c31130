"""Adaptive Hedge-Switch: a mixture of experts under full information, with a rate that follows its own cost.

Each expert costs its losses and its switches. Experts are weighed by exp(−η·cost), the arm is drawn so that it changes
as rarely as these weights allow, and η follows what mixing has cost so far: AdaHedge (de Rooij, van Erven, Grünwald and
Koolen, JMLR 15, 2014) with the switches of the mixture counted in. ``docs/theory/full_information.md`` has the
algorithm, the theorem and its proof.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from holdfast._numba.compile import kernel
from holdfast.checks import LARGEST, CostTable, checked_costs, whole, whole_number
from holdfast.errors import InvalidParameter
from holdfast.numerics.layout import (
    ArmIndex,
    Array,
    Layout,
    PerArm,
    Range,
    Scalar,
    Scratch,
    ScratchPerArm,
    Whole,
    extended,
    several,
)
from holdfast.numerics.random import next_uniform
from holdfast.numerics.simplex import exp_of_negative
from holdfast.numerics.sums import two_sum
from holdfast.policies.experts import LONGEST_PERIOD, Expert, ExpertKernels, default_experts, made_expert, price
from holdfast.policies.policy import ANNOUNCED, Announcement, FullInformation, FullInformationState, Kernels, PlainBlock

# Drawing an arm so that it changes as rarely, or as cheaply, as its distribution allows.


@kernel
def drawn(weights: Any, u: float) -> int:
    """Return the first arm at which the sum of `weights` exceeds u times their total, or the last with any."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i, 0]
    arm, reached, target = 0, 0.0, u * total
    for i in range(weights.shape[0]):
        if weights[i, 0] > 0.0 and reached <= target:
            arm = i
        reached += weights[i, 0]
    return arm


@kernel
def coupled_move(P: Any, before: Any, grown: Any, here: int, u: float) -> int:
    """Draw an arm from P given `here`, drawn from `before`, with the fewest switches.

    Stay with probability min(1, P(a)/P_before(a)), else go where probability has `grown`. In the first round `here` is
    −1 and `before` all zeros.
    """
    moved = 0.0
    for i in range(P.shape[0]):
        grown[i, 0] = max(P[i, 0] - before[i, 0], 0.0)
        moved += grown[i, 0]
    if here < 0:
        return drawn(P, u)
    stays = P[here, 0] / before[here, 0] if before[here, 0] > 0.0 else 1.0
    if u < stays or moved == 0.0:
        return here
    return drawn(grown, (u - stays) / (1.0 - stays))


@kernel
def lazy_move(params: Any, game: Any, here: int, u: float) -> int:
    """Make line 3's move with one λ, and return its expected cost."""
    arm, moved = coupled_move(game.P, game.before, game.value, here, u), 0.0
    for i in range(game.P.shape[0]):
        moved += game.value[i, 0]
    game.moving[0] = game.lam[0] * moved if here >= 0 else game.lam[0]
    return arm


@kernel
def flowing_move(params: Any, game: Any, here: int, u: float) -> int:
    """Make line 3's move with a cost for each pair: probability flows along the experts.

    It never flows through an arm that it leaves.

    An expert keeps the smaller of its two weights; what others lost flows to what has grown. Then, where probability
    both enters and leaves an arm, what enters passes on at once and what would leave stays: by the triangle inequality
    that costs no more, and with equal costs it is the lazy move.
    """
    P, flow, lost, grown, K = game.P, game.flow, game.value, game.other, game.P.shape[0]
    if here < 0:
        game.moving[0] = 0.0
        return drawn(P, u)
    total = 0.0
    for a in range(K):
        lost[a, 0], grown[a, 0] = 0.0, 0.0
        for b in range(K):
            flow[a * K + b, 0] = 0.0
    for j in range(game.p.shape[0]):
        origin, arm = int(game.was[j, 0]), int(game.at[j, 0])
        kept = min(game.p[j, 0], game.q[j, 0])
        flow[origin * K + arm, 0] += kept
        lost[origin, 0] += game.q[j, 0] - kept
        grown[arm, 0] += game.p[j, 0] - kept
        total += game.p[j, 0] - kept
    for a in range(K):
        for b in range(K):
            flow[a * K + b, 0] += lost[a, 0] * grown[b, 0] / total if total > 0.0 else 0.0
    for b in range(K):
        enters, leaves = 0.0, 0.0
        for a in range(K):
            enters += flow[a * K + b, 0] if a != b else 0.0
            leaves += flow[b * K + a, 0] if a != b else 0.0
        through = min(enters, leaves)
        if through > 0.0:
            for a in range(K):
                share = flow[a * K + b, 0] / enters if a != b else 0.0
                for c in range(K):
                    flow[a * K + c, 0] += share * (through / leaves) * flow[b * K + c, 0] if c != b else 0.0
                flow[a * K + b, 0] -= share * through
            for c in range(K):
                flow[b * K + c, 0] *= 1.0 - through / leaves if c != b else 1.0
            flow[b * K + b, 0] += through
    cost = 0.0
    for a in range(K):
        for b in range(K):
            cost += max(flow[a * K + b, 0], 0.0) * params.costs[a * K + b]
    game.moving[0] = cost
    return drawn(flow[here * K : (here + 1) * K], u)


# The mixture: steps, lessons, weights and the rate. Lines are those of ``docs/theory/full_information.md``.

START = 0.1
"""Δ_0 in units of (1 + λ) ln N: the rate starts at 10/(1 + λ)."""

LEVEL_WEIGHT = 0.1
"""Weight of the last loss in the level that ranks stand-ins for an unavailable arm."""

SMALL = 0.01
"""Bound below which e^−x − 1 + x is summed as a series."""


class HedgeParams(NamedTuple):
    log_experts: float  # ln of the number of experts
    lam: float  # λ, or the largest entry of the table
    varying: float  # whether λ is announced in each round
    sizes: Array  # of the game, see `HedgeGame`
    kinds: Array  # the first expert of each kind, and the number of experts
    places: Array  # where settings, sizes, numbers and vectors of each expert begin, four numbers each; then their ends
    own: Array  # settings of the experts
    expert_sizes: Array  # sizes of the memory of the experts
    costs: Array  # the K × K table, row by row; empty for a single λ


Weight = Range(0.0, 1.0 + 1e-9)

HedgeGame = extended(
    FullInformationState,
    "HedgeGame",
    __name__,
    n=Annotated[Scalar, Whole],  # rounds begun
    lam=Annotated[Scalar, Range(0.0, LARGEST)],  # λ of this round
    last=Annotated[Scalar, Range(0.0, whole=True, arms=0)],  # the arm of the last round, from 1; 0 before the first
    gap=Scalar,  # Σ (A − M): what mixing has cost beyond the mix loss
    gap_low=Scalar,  # what the sum has lost in rounding
    delta=Annotated[Scalar, Range(above=0.0, most=LARGEST)],  # Δ
    moving=Scalar,  # expected cost of this round's switch, less what the experts pay for theirs
    first=Annotated[Scalar, Whole],  # the row of the forecast for this round
    rows=Annotated[Scalar, Whole],  # rows of the forecast
    P=Annotated[PerArm, Weight],  # the distribution of this round's arm
    before=Annotated[PerArm, Weight],  # and of the last round's
    level=Annotated[PerArm, Weight],  # smoothed losses
    closed_rows=Scratch,
    value=ScratchPerArm,
    other=ScratchPerArm,
    C=Annotated[several(Scalar, "experts"), Range(0.0, LARGEST)],  # what each expert has cost, less the least
    p=Annotated[several(Scalar, "experts"), Weight],  # weights
    at=Annotated[several(Scalar, "experts"), ArmIndex],  # the arm of each expert
    paid=Annotated[several(Scalar, "experts"), Range(0.0, LARGEST)],  # what its switch of this round costs
    was=several(Scratch, "experts"),  # the last round's arms
    q=several(Scratch, "experts"),  # and weights
    numbers=several(Scalar, "numbers"),  # the memory of all experts
    vectors=several(Scalar, "vectors"),
    forecast=several(PerArm, "forecast"),
    closed=several(ScratchPerArm, "forecast"),
    ahead=several(ScratchPerArm, "ahead"),
    flow=several(ScratchPerArm, "pairs"),  # K where there is a cost for each pair of arms, otherwise none
)
"""The state: what every full-information policy keeps, and the mixture's own."""


class ExpertPart(NamedTuple):
    """The settings and memory of one expert."""

    own: Any
    sizes: Any
    numbers: Any
    vectors: Any


@kernel
def part_of(params: Any, game: Any, j: int) -> ExpertPart:
    """Return settings and memory of expert j."""
    at = params.places[4 * j : 4 * j + 8]
    return ExpertPart(
        params.own[int(at[0]) : int(at[4])],
        params.expert_sizes[int(at[1]) :],
        game.numbers[int(at[2]) :],
        game.vectors[int(at[3]) :],
    )


@kernel
def no_steps(params: Any, game: Any, stand_in: int, kind: int) -> None:
    """End the chain of kinds of experts."""


@kernel
def no_lessons(params: Any, game: Any, losses: Any, kind: int) -> None:
    """End the chain of kinds of experts."""


@cache
def steps_of(kinds: tuple[ExpertKernels, ...]) -> Any:
    """Return a kernel that moves every expert; each kind has a loop of its own."""
    if not kinds:
        return no_steps
    step, view, rest = kinds[0].step, kinds[0].layout.view, steps_of(kinds[1:])

    @kernel
    def steps(params: Any, game: Any, stand_in: int, kind: int) -> None:
        K = game.P.shape[0]
        for j in range(int(params.kinds[kind]), int(params.kinds[kind + 1])):
            part = part_of(params, game, j)
            memory = view(part, part.numbers, part.vectors, K)
            here = int(game.at[j, 0]) if game.n[0] > 1.0 else -1
            arm = int(step(part.own, memory, game, params.costs, here))
            if arm < 0 or arm >= K or game.shut[arm, 0] > 0.0:
                arm = stand_in
            game.paid[j, 0] = price(game, params.costs, here, arm)
            game.was[j, 0], game.at[j, 0] = here, arm
        rest(params, game, stand_in, kind + 1)

    return steps


@cache
def lessons_of(kinds: tuple[ExpertKernels, ...]) -> Any:
    """Return a kernel that tells every expert the losses."""
    if not kinds:
        return no_lessons
    learn, view, rest = kinds[0].learn, kinds[0].layout.view, lessons_of(kinds[1:])

    @kernel
    def lessons(params: Any, game: Any, losses: Any, kind: int) -> None:
        K = game.P.shape[0]
        for j in range(int(params.kinds[kind]), int(params.kinds[kind + 1])):
            part = part_of(params, game, j)
            learn(part.own, view(part, part.numbers, part.vectors, K), game, params.costs, losses)
        rest(params, game, losses, kind + 1)

    return lessons


@kernel
def stand_in_of(game: Any) -> int:
    """Return the available arm with the least smoothed loss."""
    arm, least = 0, math.inf
    for i in range(game.level.shape[0]):
        if game.shut[i, 0] == 0.0 and game.level[i, 0] < least:
            arm, least = i, game.level[i, 0]
    return arm


@kernel
def weigh(params: Any, game: Any) -> None:
    """Write p ∝ exp(−ηC) to `p`, the last round's to `q`, the arms' distributions to `P` and `before` (line 2)."""
    eta, total = params.log_experts / game.delta[0], 0.0
    C, p, q, P, before = game.C, game.p, game.q, game.P, game.before
    for j in range(p.shape[0]):
        q[j, 0] = p[j, 0]
        p[j, 0] = exp_of_negative(-eta * C[j, 0])
    for j in range(p.shape[0]):
        total += p[j, 0]
    for i in range(P.shape[0]):
        before[i, 0], P[i, 0] = P[i, 0], 0.0
    for j in range(p.shape[0]):
        p[j, 0] /= total
        P[int(game.at[j, 0]), 0] += p[j, 0]


@kernel
def exp_excess(x: float) -> float:
    """Return e^−x − 1 + x without cancellation."""
    if abs(x) > SMALL:
        return math.expm1(-x) + x
    return x * x * (0.5 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120 - x * (1 / 720)))))


@kernel
def settle(params: Any, game: Any, losses: Any) -> None:
    """Charge the round to each expert and to the mixture, and update Δ (lines 4 to 6)."""
    C, p, P, at, paid, stayed = game.C, game.p, game.P, game.at, game.paid, game.other
    eta, mean, own, mixed, least = params.log_experts / game.delta[0], 0.0, 0.0, 0.0, math.inf
    for j in range(p.shape[0]):
        own += p[j, 0] * paid[j, 0]
        C[j, 0] += losses[int(at[j, 0]), 0] + paid[j, 0]
        least = min(least, C[j, 0])
    for i in range(P.shape[0]):
        mean += P[i, 0] * losses[i, 0]
        stayed[i, 0] = P[i, 0]
    mean += own
    for j in range(p.shape[0]):
        C[j, 0] -= least
        if paid[j, 0] > 0.0:  # few experts move; those that stay on one arm cost the same
            arm = int(at[j, 0])
            stayed[arm, 0] -= p[j, 0]
            mixed += p[j, 0] * exp_excess(eta * (losses[arm, 0] + paid[j, 0] - mean))
    for i in range(P.shape[0]):
        if stayed[i, 0] > 0.0:
            mixed += stayed[i, 0] * exp_excess(eta * (losses[i, 0] - mean))
    overhead = (game.moving[0] - own) + math.log1p(mixed) / eta  # A − M, both without the mean loss
    gap, error = two_sum(game.gap[0], overhead)
    game.gap[0], game.gap_low[0] = gap, game.gap_low[0] + error
    game.delta[0] = max(game.delta[0], gap + game.gap_low[0])


@cache
def hedge_kernels(kinds: tuple[ExpertKernels, ...], pairs: bool) -> Kernels:
    """Return the kernels of a mixture of such experts, with one switching cost or one for each pair of arms."""
    steps, lessons, move = steps_of(kinds), lessons_of(kinds), flowing_move if pairs else lazy_move

    @kernel
    def choose(params: Any, game: Any, announced: float, streams: Any, block: Any) -> None:
        """Run lines 1 to 3: the experts move, their weights, the arm."""
        game.n[0] += 1.0
        game.lam[0] = announced if params.varying > 0.0 else params.lam
        if game.n[0] == 1.0:
            game.delta[0] = START * (1.0 + game.lam[0]) * params.log_experts
        steps(params, game, stand_in_of(game), 0)
        weigh(params, game)
        arm = move(params, game, int(game.last[0]) - 1, next_uniform(streams, 0))
        game.closed_rows[0] = 0.0
        game.last[0] = arm + 1.0
        block.arm[0], block.rounds[0], block.probability[0] = arm, 1.0, min(game.P[arm, 0], 1.0)

    @kernel
    def observe(params: Any, game: Any, block: Any, losses: Any, rounds: float) -> None:
        """Run lines 4 to 6, and let the experts learn from the losses."""
        settle(params, game, losses)
        lessons(params, game, losses, 0)
        weight = max(LEVEL_WEIGHT, 1.0 / game.n[0])
        for i in range(game.known.shape[0]):
            game.known[i, 0] = losses[i, 0]
            game.level[i, 0] += weight * (losses[i, 0] - game.level[i, 0])
            game.shut[i, 0] = 0.0
        game.first[0] += 1.0

    return Kernels(choose, observe, HedgeGame, PlainBlock, params=HedgeParams, full_information=True)


@dataclass(frozen=True)
class ExpertMixture(FullInformation):
    """A policy that mixes experts, or plays one. It knows switching costs and which arms are available."""

    switching_cost: float | Literal["announced"] | CostTable = field(kw_only=True)
    """λ, a table with a cost for each pair of arms, or ``"announced"``."""
    stale: int = field(default=0, kw_only=True, metadata=whole(least=0))
    """Rounds for which the last known loss replaces a missing one."""

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
        """Return the settings alone: kernels are composed again where they are needed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    @abstractmethod
    def mixed(self) -> tuple[Expert, ...]:
        """The experts, grouped by kind."""

    @property
    def forecast_rows(self) -> int:
        """The most rows of a given forecast that are used."""
        return 0

    @property
    def announces(self) -> Announcement | None:
        return "switching_cost" if self.switching_cost == ANNOUNCED else None

    @cached_property
    def kernels(self) -> Kernels:
        kinds = tuple(kind for kind, _ in groupby(self.mixed, key=_kind))
        return hedge_kernels(kinds, pairs=isinstance(self.switching_cost, tuple))

    @cached_property
    def state_layout(self) -> Layout:
        layouts = [expert.layout for expert in self.mixed]
        sizes = {
            "experts": len(self.mixed),
            "numbers": sum(layout.n_numbers for layout in layouts),
            "vectors": sum(layout.vector_rows(self.n_arms) for layout in layouts),
            "forecast": self.forecast_rows,
            "ahead": max(expert.kernels.look_ahead for expert in self.mixed),
            "pairs": self.n_arms if isinstance(self.switching_cost, tuple) else 0,
        }
        return self.kernels.state_layout.of_size(sizes)

    def parameters(self) -> HedgeParams:
        own: list[float] = []
        expert_sizes: list[int] = []
        places = [[0, 0, 0, 0]]
        for expert in self.mixed:
            settings, sizes = expert.own(), [expert.sizes()[name] for name in expert.layout.size_names]
            own += settings
            expert_sizes += sizes
            taken = (len(settings), len(sizes), expert.layout.n_numbers, expert.layout.vector_rows(self.n_arms))
            places.append([begin + more for begin, more in zip(places[-1], taken, strict=True)])
        counts = [len(list(group)) for _, group in groupby(self.mixed, key=_kind)]
        table = self.switching_cost if isinstance(self.switching_cost, tuple) else ()
        costs = [cost / self.unit for row in table for cost in row]
        announced = self.switching_cost == ANNOUNCED
        lam = max(costs) if costs else 0.0 if announced else float(self.switching_cost) / self.unit  # type: ignore[arg-type]
        ln_N = math.log(max(len(self.mixed), 2))  # of one expert alone the rate is never used
        return HedgeParams(
            log_experts=ln_N,
            lam=lam,
            varying=float(announced),
            sizes=np.array([self.state_layout.sizes[name] for name in self.state_layout.size_names]),
            kinds=np.cumsum([0, *counts]),
            places=np.array(places, dtype=np.float64).ravel(),
            own=np.array(own),
            expert_sizes=np.array(expert_sizes),
            costs=np.array(costs),
        )

    def probabilities(self, params: Any, state: Any, block: Any) -> Array:
        return np.array(state.P)

    def settings(self) -> dict[str, Any]:
        values = super().settings()
        if isinstance(self.switching_cost, tuple):
            values["switching_cost"] = [list(row) for row in self.switching_cost]
        return values


@dataclass(frozen=True)
class AdaptiveHedgeSwitch(ExpertMixture):
    """Mix simple experts when the losses of all arms are observed. `player.certificate` bounds the regret so far.

    An expert is a strategy such as "stay with arm 3", "move when another arm has been cheaper by λ", "plan the next two
    days on what the last days were like", "plan on the given forecast". On average the policy costs no more than the
    best of its experts plus ``player.certificate``, whatever the losses are; it needs no horizon and no tuning. Use
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
        a period of 7, 12, 24 or 48 rounds is searched for in past losses.
    experts
        The experts to mix instead of the default ones: ``[*default_experts(K), MyExpert()]``.
    forecast_rounds
        The most rounds of a forecast in ``ask(forecast=...)`` that are used.
    stale
        Rounds for which the last known loss replaces a missing one. After that it is an error.

    Examples
    --------
    >>> player = AdaptiveHedgeSwitch(arms=["north", "south"], switching_cost=0.5, period=24).player(seed=1)
    >>> arm = player.ask()
    >>> player.tell(losses={"north": 0.2, "south": 0.7})
    >>> player.certificate > 0
    True
    """

    id = "hedge-switch"

    period: int | Sequence[int] | None = field(default=None, kw_only=True)
    experts: Sequence[Any] | None = field(default=None, kw_only=True)
    forecast_rounds: int = field(default=48, kw_only=True, metadata=whole(least=0, most=LONGEST_PERIOD))

    def __post_init__(self) -> None:
        super().__post_init__()
        periods = (self.period,) if self.period is None or not isinstance(self.period, Sequence) else self.period
        if self.period is not None:
            checked = tuple(whole_number("period", p, least=2, most=LONGEST_PERIOD) for p in periods)
            self._set("period", checked[0] if len(checked) == 1 else checked)
        if self.experts is not None:
            if isinstance(self.experts, (str, Mapping)) or not isinstance(self.experts, Sequence) or not self.experts:
                raise InvalidParameter("experts", "must be a list of experts such as WorkFunction(2)", self.experts)
            self._set("experts", tuple(made_expert(expert) for expert in self.experts))

    @cached_property
    def mixed(self) -> tuple[Expert, ...]:
        if self.experts is not None:
            order: dict[Any, list[Expert]] = {}
            for expert in self.experts:
                order.setdefault(_kind(expert), []).append(expert)
            return tuple(expert for group in order.values() for expert in group)
        periods = (self.period,) if isinstance(self.period, int) else self.period
        return default_experts(self.n_arms, periods, self.forecast_rounds)

    @property
    def forecast_rows(self) -> int:
        return self.forecast_rounds

    def certificate(self, state: Any) -> float:
        """Return 2Δ, the bound on the mean excess cost over the best expert, in the units of the losses."""
        return 2.0 * float(state.delta[0]) * self.unit

    def settings(self) -> dict[str, Any]:
        values = super().settings()
        if self.experts is not None:
            values["experts"] = [expert.settings() for expert in self.experts]
        return values


def _kind(expert: Expert) -> ExpertKernels:
    """Return the key that groups experts sharing one compiled kernel."""
    return expert.kernels._replace(look_ahead=0)
